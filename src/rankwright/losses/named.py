"""The losses by their names, for rankers and objectives of other libraries that take any of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rankwright.checks import check_choice
from rankwright.errors import ParameterError
from rankwright.losses.centred import RankRLSLoss
from rankwright.losses.listwise import ListwiseHinge
from rankwright.losses.loss import Loss
from rankwright.losses.pairwise import OrderPreservingLoss, PreorderLoss
from rankwright.losses.pointwise import SquaredLoss
from rankwright.losses.structured import StructuredHinge

# A name, and what makes the loss of options, which are those of its class. The structured ones weigh positions by the
# discount of NDCG: so the ranking that violates a margin most is a sort.
LOSSES: dict[str, Callable[..., Loss]] = {
    "squared": SquaredLoss,
    "rankrls": RankRLSLoss,
    "preorder": partial(PreorderLoss, weights="gain-per-query"),
    "ranksvm": partial(PreorderLoss, weights="per-query"),
    "hinge": partial(PreorderLoss, "hinge", weights="per-query"),
    "logistic": partial(PreorderLoss, "logistic", weights="gain-per-query"),
    "position-sensitive": partial(PreorderLoss, weights="per-query", margin="position"),
    "order-preserving": OrderPreservingLoss,
    "order-preserving-dcg": partial(OrderPreservingLoss, standardize="dcg"),
    "structured": partial(StructuredHinge, position_weights="discount"),
    "structured-map": partial(StructuredHinge, "map"),
    "structured-softmax": partial(ListwiseHinge, reduce="softmax", temperature=0.1, position_weights="discount"),
    "listwise": ListwiseHinge,
}


def loss_of(loss: str | Loss, **options: Any) -> Loss:
    """The loss of this name with options of its class, or a loss object as it is.

    >>> loss_of("order-preserving", standardize="dcg").standardize
    'dcg'
    """
    if isinstance(loss, Loss):
        if options:
            raise ParameterError(f"loss is a {type(loss).__name__}, which has its options already: leave others out")
        return loss
    check_choice("loss", loss, LOSSES, or_else="an object of rankwright.losses")
    try:
        return LOSSES[loss](**options)
    except TypeError as error:
        if not options:
            raise
        raise ParameterError(f"loss {loss!r} does not take these options: {error}") from None
