"""`loss`: any loss of `rankwright.losses` as a module of PyTorch."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from rankwright.checks import check_choice
from rankwright.errors import DataError
from rankwright.judgments.judgments import Judged, Judgments
from rankwright.losses.loss import Loss, LossAtScores, QueryLosses, query_weights
from rankwright.losses.named import loss_of
from rankwright.torch.batches import batch_of

Reduction = Literal["mean", "sum", "none"]
REDUCTIONS = ("mean", "sum", "none")


def loss(loss: str | Loss = "order-preserving", *, reduction: Reduction = "mean", **options: Any) -> RankingLoss:
    """A loss of `rankwright.losses` as a module of PyTorch.

    Parameters
    ----------
    loss : name or Loss
        A name in `rankwright.losses.LOSSES`, such as "order-preserving" or "structured-softmax"; or an object of
        `rankwright.losses`.
    reduction : "mean", "sum" or "none"
        Of the losses of the queries: their mean (weighted, if there are weights), their sum, or all of them.
    options
        Of the class of the loss, such as ``phi="logistic"`` for "preorder".

    Examples
    --------
    >>> import torch
    >>> import rankwright.torch
    >>> scores = torch.tensor([0.5, 0.0, 2.0], requires_grad=True)
    >>> value = rankwright.torch.loss("preorder")(scores, [1, 0, 0], qid=["a", "a", "b"])
    >>> value.backward()
    >>> scores.grad
    tensor([-0.5000,  0.5000,  0.0000])
    """
    return RankingLoss(loss_of(loss, **options), reduction)


class RankingLoss(torch.nn.Module):  # type: ignore[misc]
    """A loss of the scores of a batch of queries, which autograd knows the gradient of.

    Value and gradient are those of `rankwright.losses`, computed by its compiled kernels in float64 on the processor,
    wherever the scores are: no pair of documents is ever stored, and no query is looped over in Python. Where the loss
    is smooth, its second derivatives are known, too.
    """

    def __init__(self, loss: Loss, reduction: Reduction = "mean") -> None:
        super().__init__()
        check_choice("reduction", reduction, REDUCTIONS)
        self.loss, self.reduction = loss, reduction

    def forward(
        self,
        scores: torch.Tensor,
        y: Any,
        *,
        qid: Any = None,
        mask: Any = None,
        lengths: Any = None,
        sample_weight: Any = None,
    ) -> torch.Tensor:
        """The loss of a batch of queries.

        Parameters
        ----------
        scores : tensor
            Flat, the documents of all queries; or padded, queries × documents.
        y : tensor, array or list
            Grades, of the shape of the scores; those of padding are not looked at. Or a `FullRanking` or
            `PreferenceGraph` of the documents, counted one after the other without padding.
        qid : tensor, array or list, optional
            Of flat scores: the query of each document.
        mask : tensor or array of bool, optional
            Of padded scores: where documents are.
        lengths : tensor, array or list, optional
            How many documents each query has: they stand one after the other, or at the beginning of a padded row.
            Without any of these three, flat scores are those of one query, and padded ones are all documents.
        sample_weight : tensor, array or list, optional
            A number ≥ 0 for each query, in the order of their first documents; queries without documents have none.
        """
        batch = batch_of(scores, y, qid=qid, mask=mask, lengths=lengths)
        on_batch = LossOnQueries(self.loss, batch.judgments, _numbers(sample_weight), self.reduction)
        values = on_batch.of_queries(batch.flat(scores))
        return batch.of_queries(values) if self.reduction == "none" else on_batch.reduced(values)

    def on(self, queries: Judgments | Judged, sample_weight: Any = None) -> LossOnQueries:
        """The loss on these queries, prepared once for any number of scores."""
        return LossOnQueries(self.loss, queries, _numbers(sample_weight), self.reduction)

    def extra_repr(self) -> str:
        """The loss and how it is reduced."""
        return f"{self.loss}, reduction={self.reduction!r}"


class LossOnQueries(torch.nn.Module):  # type: ignore[misc]
    """A loss on queries that are known beforehand, as a function of scores, one for each of their rows."""

    def __init__(
        self,
        loss: Loss,
        queries: Judgments | Judged,
        sample_weight: npt.ArrayLike | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        self.reduction = reduction
        judgments = queries if isinstance(queries, Judgments) else queries.judgments
        self._losses = loss.on(judgments, sample_weight)
        self._total = float(query_weights(judgments, sample_weight).sum())

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        """The loss of these scores, reduced."""
        return self.reduced(self.of_queries(scores))

    def of_queries(self, scores: torch.Tensor) -> torch.Tensor:
        """The loss of each query, in the order of their first rows."""
        if not torch.isfinite(scores).all():
            place = int(torch.argmin(torch.isfinite(scores).to(torch.int8)))
            raise DataError(
                f"the score of document {place} is {float(scores.detach()[place])}: losses need finite scores. If "
                "training went well until now, lower the learning rate"
            )
        values: torch.Tensor = _Values.apply(scores, self._losses)
        return values

    def reduced(self, values: torch.Tensor) -> torch.Tensor:
        """The losses of queries as one number, or as they are."""
        if self.reduction == "none":
            return values
        return values.sum() / self._total if self.reduction == "mean" and self._total else values.sum()


class _Values(torch.autograd.Function):  # type: ignore[misc]
    """Losses of queries as a function of scores."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, losses: QueryLosses) -> torch.Tensor:
        at = losses.at(_doubles(scores))
        ctx.save_for_backward(scores)
        ctx.at, ctx.codes = at, losses.grouping.codes
        return _like(scores, at.values)

    @staticmethod
    def backward(ctx: Any, of_values: torch.Tensor) -> tuple[torch.Tensor, None]:
        (scores,) = ctx.saved_tensors
        return _Gradient.apply(scores, of_values, ctx.at, ctx.codes), None


class _Gradient(torch.autograd.Function):  # type: ignore[misc]
    """Σ_q u_q ∂ℓ_q/∂s as a function of scores and of u, so that second derivatives are known."""

    @staticmethod
    def forward(
        ctx: Any, scores: torch.Tensor, u: torch.Tensor, at: LossAtScores, codes: npt.NDArray[np.intp]
    ) -> torch.Tensor:
        ctx.save_for_backward(scores, u)
        ctx.at, ctx.codes = at, codes
        return _like(scores, _doubles(u)[codes] * at.gradient)

    @staticmethod
    def backward(ctx: Any, direction: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None, None]:
        scores, u = ctx.saved_tensors
        v = _doubles(direction)
        curved = _doubles(u)[ctx.codes] * ctx.at.hessian_product(v)
        slopes = np.bincount(ctx.codes, ctx.at.gradient * v, minlength=len(u)).astype(np.float64)
        return _like(scores, curved), _like(u, slopes), None, None


def _doubles(values: torch.Tensor) -> npt.NDArray[np.float64]:
    """In float64, in the memory of the processor."""
    array: npt.NDArray[np.float64] = values.detach().to("cpu", torch.float64).numpy()
    return array


def _like(other: torch.Tensor, values: npt.NDArray[np.float64]) -> torch.Tensor:
    """A tensor of the type and on the device of another."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(other.device, other.dtype)


def _numbers(sample_weight: Any) -> Any:
    return sample_weight.detach().cpu().numpy() if isinstance(sample_weight, torch.Tensor) else sample_weight
