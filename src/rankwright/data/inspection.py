"""`inspect`: what a data set holds, and what looks wrong with it, before anything is trained on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.inspection_features import FeatureFindings, FeatureLook
from rankwright.data.parts import parts_of
from rankwright.data.queries import Queries
from rankwright.errors import DataError
from rankwright.judgments.supervision import Grades

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rankwright.data.streams.streamed import StreamedQueries

# The largest grade y for which the gain 2^y − 1 of the common tools is an integer that they accept.
LARGEST_COMMON_GRADE = 31


@dataclass(frozen=True)
class Spread:
    """The least, median, mean and greatest of some numbers."""

    least: int
    median: float
    mean: float
    most: int


@dataclass(frozen=True)
class GradeCount:
    """How many documents have a grade."""

    grade: float
    documents: int


@dataclass(frozen=True)
class GradeSummary:
    """The grades of a data set.

    ``fractional`` and ``above_31`` count documents; a query without a relevant document has no grade above
    0, and one with a single grade has no pair to learn from.
    """

    histogram: tuple[GradeCount, ...]
    fractional: int
    above_31: int
    queries_without_relevant: int
    queries_with_one_grade: int


@dataclass(frozen=True)
class Inspection:
    """What :func:`inspect` found. It prints as tables, and :meth:`to_dict` gives it to machines.

    ``density`` is the share of values that are neither zero nor missing (None if there are no values), and
    ``missing_values`` the number of those that are missing. ``duplicate_rows``
    counts documents with exactly the features of an earlier document of their query;
    ``contradictory_rows`` those of them with another grade than that document. What is told of grades is
    None when the supervision is a full ranking or a preference graph.
    """

    n_queries: int
    n_documents: int
    n_features: int
    supervision: str
    layout: Literal["dense", "CSR"]
    dtype: str
    density: float | None
    missing_values: int
    documents_per_query: Spread | None
    one_document_queries: int
    grades: GradeSummary | None
    features: FeatureFindings
    duplicate_rows: int
    contradictory_rows: int | None

    def to_dict(self) -> dict[str, Any]:
        """All of it as dictionaries, lists, numbers and text, ready for JSON."""
        return asdict(self)

    def __rich__(self) -> RenderableType:
        from rankwright.data.inspection_tables import inspection_tables

        return inspection_tables(self)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=80, color_system=None, force_terminal=False)
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    def _repr_html_(self) -> str:
        from rankwright.data.inspection_tables import inspection_html

        return inspection_html(self)


def inspect(queries: Queries | StreamedQueries) -> Inspection:
    """Look a data set over: its sizes, its grades, and the features and documents that look wrong.

    Sparse features stay sparse. Duplicates are found by 64-bit fingerprints. Queries that are read from files are
    looked at part by part, in one reading, with the same result, but for two things if they have more than 8 million
    values: a sample of the rows tells the inter-quartile range, and whether whole numbers of different parts differ.

    Examples
    --------
    >>> import rankwright as rw
    >>> found = rw.inspect(rw.Queries([[1, 5], [2, 5], [3, 5]], y=[0, 1, 1], qid=["a", "a", "b"]))
    >>> found.features.constant, found.one_document_queries
    (('f2',), 1)
    """
    is_whole = isinstance(queries, Queries)
    look = FeatureLook(None if is_whole else float((queries.sizes * (queries.sizes - 1.0)).sum() / 2))
    parts = [_inspect_part(part, look) for part in parts_of(queries)]
    if not parts:
        raise DataError("there are no queries to inspect")
    (nonzero, missing), n_values = look.values(), queries.n_documents * queries.n_features
    graded = [part.grades for part in parts if part.grades is not None]
    contradictory = [part.contradictory_rows for part in parts if part.contradictory_rows is not None]
    return Inspection(
        n_queries=queries.n_queries,
        n_documents=queries.n_documents,
        n_features=queries.n_features,
        supervision=parts[0].supervision,
        layout=parts[0].layout,
        dtype=parts[0].dtype,
        density=nonzero / n_values if n_values else None,
        missing_values=missing,
        documents_per_query=_spread(queries.sizes),
        one_document_queries=int(np.count_nonzero(queries.sizes == 1)),
        grades=_joined_grades(graded) if graded else None,
        features=look.findings(queries.n_features, queries.feature_name),
        duplicate_rows=sum(part.duplicate_rows for part in parts),
        contradictory_rows=sum(contradictory) if contradictory else None,
    )


class _Part(NamedTuple):
    """What one part tells of its documents."""

    supervision: str
    layout: Literal["dense", "CSR"]
    dtype: str
    grades: GradeSummary | None
    duplicate_rows: int
    contradictory_rows: int | None


def _inspect_part(part: Queries, look: FeatureLook) -> _Part:
    x: Any = part.X
    duplicate_rows = _duplicate_rows(part, look.add(part))
    layout: Literal["dense", "CSR"] = "CSR" if sp.issparse(x) else "dense"
    return _Part(part.supervision.kind, layout, x.dtype.name, _grade_summary(part), *duplicate_rows)


# Queries and grades


def _spread(numbers: npt.NDArray[np.int64]) -> Spread | None:
    if len(numbers) == 0:
        return None
    return Spread(int(numbers.min()), float(np.median(numbers)), float(numbers.mean()), int(numbers.max()))


def _grade_summary(queries: Queries) -> GradeSummary | None:
    if not isinstance(queries.supervision, Grades):
        return None
    grades = queries.y + 0.0  # not −0
    starts = queries.grouping.offsets[:-1]
    grouped = queries.grouping.gather(grades)
    highest = np.maximum.reduceat(grouped, starts) if len(starts) else np.zeros(0)
    lowest = np.minimum.reduceat(grouped, starts) if len(starts) else np.zeros(0)
    histogram = zip(*(part.tolist() for part in np.unique(grades, return_counts=True)), strict=True)
    return GradeSummary(
        histogram=tuple(GradeCount(grade, documents) for grade, documents in histogram),
        fractional=int(np.count_nonzero(grades != np.floor(grades))),
        above_31=int(np.count_nonzero(grades > LARGEST_COMMON_GRADE)),
        queries_without_relevant=int(np.count_nonzero(highest == 0)),
        queries_with_one_grade=int(np.count_nonzero(highest == lowest)),
    )


def _joined_grades(parts: Sequence[GradeSummary]) -> GradeSummary:
    documents: Counter[float] = Counter()
    for part in parts:
        documents.update({count.grade: count.documents for count in part.histogram})
    return GradeSummary(
        histogram=tuple(GradeCount(grade, count) for grade, count in sorted(documents.items())),
        fractional=sum(part.fractional for part in parts),
        above_31=sum(part.above_31 for part in parts),
        queries_without_relevant=sum(part.queries_without_relevant for part in parts),
        queries_with_one_grade=sum(part.queries_with_one_grade for part in parts),
    )


def _duplicate_rows(queries: Queries, fingerprints: npt.NDArray[np.uint64]) -> tuple[int, int | None]:
    """How many documents repeat an earlier one of their query, and how many of those with another grade."""
    graded = isinstance(queries.supervision, Grades)
    if queries.n_features == 0 or queries.n_documents == 0:
        return 0, 0 if graded else None
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    order = np.lexsort((fingerprints, query))  # stable: alike documents stay in the order they came
    repeats = np.zeros(len(order), dtype=bool)
    repeats[1:] = (np.diff(query[order]) == 0) & (np.diff(fingerprints[order]) == 0)
    if not graded:
        return int(np.count_nonzero(repeats)), None
    grades = queries.grouping.gather(queries.y)[order]
    first_alike = np.maximum.accumulate(np.where(repeats, 0, np.arange(len(order))))
    return int(np.count_nonzero(repeats)), int(np.count_nonzero(grades != grades[first_alike]))
