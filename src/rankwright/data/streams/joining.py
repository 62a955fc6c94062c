"""Parts of whole queries, put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.ids import joined
from rankwright.judgments.judgments import Judgments
from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph, Supervision


def joined_queries(parts: Iterable[Queries], n_documents: int, empty: Queries) -> Queries:
    """All parts as one; dense features are written into one array while the parts are read."""
    dense = None if sp.issparse(empty.X) else np.empty((n_documents, empty.n_features), empty.X.dtype)
    sparse: list[Any] = []
    judgments: list[Judgments] = []
    row = 0
    for part in parts:
        if dense is None:
            sparse.append(part.X)
        else:
            dense[row : row + part.n_documents] = part.X
        row += part.n_documents
        judgments.append(part.judgments)
    known = joined_judgments(judgments) if judgments else empty.judgments
    doc_ids = [each.doc_ids for each in judgments if each.doc_ids is not None]
    return Queries(
        dense if dense is not None else sp.vstack(sparse, format="csr") if sparse else empty.X,
        known.supervision,
        known.grouping.qid,
        feature_names=empty.feature_names if empty.has_feature_names else None,
        doc_ids=joined(doc_ids) if doc_ids else None,
    )


def joined_judgments(parts: Sequence[Judgments]) -> Judgments:
    """The judgments of parts in a row, without document ids."""
    ids = joined_ids([part.grouping.query_ids for part in parts])
    sizes = np.concatenate([np.zeros(0, np.int64), *(part.sizes for part in parts)])
    # Rows of parts stand query by query, or are brought into that order.
    supervisions = [
        part.supervision if part.grouping.order is None else part.supervision.take(part.grouping.order)
        for part in parts
    ]
    return Judgments(_joined_supervision(supervisions), Grouping.of_sizes(ids, sizes))


def joined_ids(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Query ids of several parts: text where any part has text, else as they are."""
    if not parts:
        return np.zeros(0, np.int64)
    would_round = all(part.dtype.kind in "iu" for part in parts) and np.result_type(*parts).kind == "f"
    if would_round or any(part.dtype.kind in "UO" for part in parts):
        return joined([part if part.dtype.kind in "UO" else part.astype(np.str_) for part in parts])
    return np.concatenate(parts)


def _joined_supervision(parts: Sequence[Supervision]) -> Supervision:
    if not parts:
        return Grades(np.zeros(0))
    if isinstance(parts[0], Grades):
        return Grades(np.concatenate([part.values for part in parts if isinstance(part, Grades)]))
    if isinstance(parts[0], FullRanking):
        return FullRanking(np.concatenate([part.ranks for part in parts if isinstance(part, FullRanking)]))
    graphs = [part for part in parts if isinstance(part, PreferenceGraph)]
    starts = np.cumsum([0, *(len(part) for part in graphs)])
    shifted = list(zip(graphs, starts, strict=False))
    return PreferenceGraph(
        int(starts[-1]),
        np.concatenate([graph.preferred + start for graph, start in shifted]),
        np.concatenate([graph.other + start for graph, start in shifted]),
        np.concatenate([graph.weights for graph in graphs]),
    )
