"""Batches of queries of different lengths: which scores are those of documents, and what is known of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from rankwright.data.queries import Queries
from rankwright.errors import DataError, ParameterError
from rankwright.judgments.judgments import Judgments
from rankwright.judgments.supervision import FullRanking, PreferenceGraph


@dataclass(frozen=True, eq=False)
class Batch:
    """The documents of a batch, flat, and the queries that they belong to.

    Attributes
    ----------
    judgments : of the documents, one after the other
    documents : where they stand among the scores of a padded batch; None if the scores are theirs alone
    filled : which queries of a padded batch have documents; None if the batch is flat
    """

    judgments: Judgments
    documents: torch.Tensor | None = None
    filled: torch.Tensor | None = None

    def flat(self, scores: torch.Tensor) -> torch.Tensor:
        """The scores of the documents alone."""
        return scores if self.documents is None else scores.reshape(-1)[self.documents.to(scores.device)]

    def of_queries(self, values: torch.Tensor) -> torch.Tensor:
        """A value for each query of the batch: 0 for those without documents."""
        if self.filled is None:
            return values
        filled = self.filled.to(values.device)
        return values.new_zeros(len(filled)).index_put((filled.nonzero()[:, 0],), values)


def batch_of(scores: torch.Tensor, y: Any, *, qid: Any, mask: Any, lengths: Any) -> Batch:
    """What a batch says of its documents, checked."""
    if not isinstance(scores, torch.Tensor) or not scores.is_floating_point():
        raise ParameterError("scores must be a tensor of floating-point numbers")
    if scores.ndim == 1:
        return _ragged(scores, y, qid, mask, lengths)
    if scores.ndim == 2:
        return _padded(scores, y, qid, mask, lengths)
    raise ParameterError(
        "scores must have one dimension (the documents of all queries) or two (queries × documents), not "
        f"{scores.ndim}: a network with one output gives documents × 1, so take its [:, 0]"
    )


def _ragged(scores: torch.Tensor, y: Any, qid: Any, mask: Any, lengths: Any) -> Batch:
    if mask is not None:
        raise ParameterError("mask is for scores of two dimensions, queries × documents: give qid or lengths instead")
    supervision = _supervision(y)
    _check_count(supervision, len(scores), "scores")
    return Batch(Queries(None, supervision, _array(qid), group=_array(lengths)).judgments)


def _padded(scores: torch.Tensor, y: Any, qid: Any, mask: Any, lengths: Any) -> Batch:
    if qid is not None:
        raise ParameterError("qid is for flat scores: of two dimensions, the first counts the queries")
    is_document = _is_document(tuple(scores.shape), mask, lengths)
    sizes = is_document.sum(axis=1)
    if not sizes.any():
        raise DataError("the batch has no documents: mask or lengths leave none")
    supervision = _supervision(y)
    if isinstance(supervision, np.ndarray):
        if supervision.shape != is_document.shape:
            raise DataError(f"y has shape {supervision.shape}, but scores have {is_document.shape}")
        supervision = supervision[is_document]
    _check_count(supervision, int(sizes.sum()), "documents, which mask or lengths tell")
    queries = Queries(None, supervision, np.repeat(np.arange(len(sizes)), sizes))
    return Batch(
        queries.judgments, torch.from_numpy(np.flatnonzero(is_document)), torch.from_numpy(np.asarray(sizes > 0))
    )


def _is_document(shape: tuple[int, ...], mask: Any, lengths: Any) -> npt.NDArray[np.bool_]:
    """Which places of a padded batch hold a document."""
    if mask is not None and lengths is not None:
        raise ParameterError("give mask (where documents are) or lengths (how many each query has), not both")
    if mask is not None:
        given = _array(mask)
        if given.dtype != np.bool_ or given.shape != shape:
            raise DataError(f"mask must be of True and False, {shape[0]} × {shape[1]} as the scores are")
        return np.asarray(given)
    if lengths is None:
        return np.ones(shape, np.bool_)
    counts = _array(lengths)
    if counts.shape != shape[:1] or counts.dtype.kind not in "iu" or ((counts < 0) | (counts > shape[1])).any():
        raise DataError(f"lengths must be {shape[0]} whole numbers from 0 to {shape[1]}, one for each query")
    return np.asarray(np.arange(shape[1]) < counts[:, None])


def _supervision(y: Any) -> Any:
    """Grades as an array, and other supervision as it is."""
    if y is None:
        raise ParameterError("y is missing: give the grades of the documents")
    return y if isinstance(y, FullRanking | PreferenceGraph) else np.asarray(_array(y), np.float64)


def _check_count(supervision: Any, n_documents: int, what: str) -> None:
    if len(supervision) != n_documents:
        raise DataError(f"y tells of {len(supervision)} documents, but there are {n_documents} {what}")


def _array(values: Any) -> Any:
    """A tensor of any device as an array; all else as it is, but lists of numbers and truth values as arrays."""
    if isinstance(values, torch.Tensor):
        return values.detach().cpu().numpy()
    return None if values is None else np.asarray(values) if isinstance(values, list | tuple) else values
