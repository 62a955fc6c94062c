"""Losses by name, for boosting: ours, and those that come with a library of trees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rankwright.checks import check_choice
from rankwright.errors import ParameterError
from rankwright.losses.listwise import ListwiseHinge
from rankwright.losses.loss import Loss
from rankwright.losses.pairwise import OrderPreservingLoss, PreorderLoss
from rankwright.losses.pointwise import SquaredLoss
from rankwright.losses.structured import StructuredHinge

Library = Literal["lightgbm", "xgboost"]
LIBRARIES = ("lightgbm", "xgboost")

LOSSES: dict[str, Loss] = {
    "order-preserving": OrderPreservingLoss(standardize="ndcg", cutoff=10),
    "order-preserving-dcg": OrderPreservingLoss(standardize="dcg"),
    "preorder": PreorderLoss("squared-hinge", weights="gain-per-query"),
    "ranksvm": PreorderLoss("squared-hinge", weights="per-query"),
    "hinge": PreorderLoss("hinge", weights="per-query"),
    "logistic": PreorderLoss("logistic", weights="gain-per-query"),
    "position": PreorderLoss("squared-hinge", weights="per-query", margin="position"),
    "structured": StructuredHinge("ndcg@10", "discount"),
    "structured-map": StructuredHinge("map"),
    "structured-softmax": ListwiseHinge("ndcg@10", "softmax", temperature=0.1, position_weights="discount"),
    "squared": SquaredLoss(standardize="ndcg", cutoff=10),
}

# What the libraries call their own losses, by the names that users know.
LIBRARY_LOSSES: dict[str, tuple[Library, str]] = {
    "lambdarank": ("lightgbm", "lambdarank"),
    "xendcg": ("lightgbm", "rank_xendcg"),
    "rank:ndcg": ("xgboost", "rank:ndcg"),
}


def loss_of(given: str | Loss) -> Loss:
    """A loss of ours, by name or as it is."""
    if isinstance(given, str) and given in LIBRARY_LOSSES:
        library, name = LIBRARY_LOSSES[given]
        raise ParameterError(f"loss {given!r} is {library}'s own: give {library} the objective {name!r} itself")
    return _own(given, LOSSES)


def loss_in(given: str | Loss, library: Library) -> Loss | str:
    """A loss of ours, or the name that the library has for one of its own."""
    if not isinstance(given, str) or given not in LIBRARY_LOSSES:
        return _own(given, (*LOSSES, *LIBRARY_LOSSES))
    of_library, name = LIBRARY_LOSSES[given]
    if of_library != library:
        raise ParameterError(f"loss {given!r} is {of_library}'s: set library={of_library!r}, or choose another loss")
    return name


def _own(given: str | Loss, known: Iterable[str]) -> Loss:
    if isinstance(given, Loss):
        return given
    check_choice("loss", given, known, or_else="a loss of rankwright.losses")
    return LOSSES[given]
