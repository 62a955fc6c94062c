"""`inspect`: what a data set holds, and what looks wrong with it, before anything is trained on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.inspection_kernels import ColumnFacts, level_queries, pairwise_errors, scan_column
from rankwright.data.queries import Queries
from rankwright.data.supervision import FullRanking, Grades
from rankwright.engines.threads import map_in_order, thread_count

if TYPE_CHECKING:
    from rich.console import RenderableType

# A feature leaks the label if it orders fewer than this share of the pairs wrongly …
_LEAK_ERROR = 0.001
# … of at least this many: fewer pairs can come out right by chance.
_ENOUGH_PAIRS = 100
# Values that rise in equal steps are a row number if there are at least this many steps.
_ENOUGH_STEPS = 10
# Whole numbers that are all different are an identifier if there are at least this many documents.
_ENOUGH_FOR_AN_IDENTIFIER = 1000
# Outliers are extreme if the range is more than this many times the inter-quartile range.
_EXTREME = 1000
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
class NotFinite:
    """A feature with missing or infinite values, and how many."""

    feature: str
    nan: int
    infinite: int


@dataclass(frozen=True)
class Duplicate:
    """A feature with the same values as an earlier one."""

    feature: str
    of: str


@dataclass(frozen=True)
class Leak:
    """A feature that orders the documents of queries (nearly) as the label does, or the other way round."""

    feature: str
    pairwise_error: float
    direction: Literal["as the label", "against the label"]


@dataclass(frozen=True)
class Identifier:
    """A feature that looks like a number given to documents, not a property of them."""

    feature: str
    kind: Literal["row number", "position in its query", "all different whole numbers"]


@dataclass(frozen=True)
class Outliers:
    """A feature with values so far out that they set its scale."""

    feature: str
    low: float
    high: float
    interquartile_range: float


@dataclass(frozen=True)
class FeatureFindings:
    """What looks wrong with the features, by name.

    ``absent`` counts the features of CSR data that no document has; they are not named among the constant
    ones. ``constant_within_queries`` leaves out those that are constant overall, and ``duplicates`` both:
    such a feature cannot change the order of documents, whatever it equals.
    """

    absent: int = 0
    constant: tuple[str, ...] = ()
    constant_within_queries: tuple[str, ...] = ()
    not_finite: tuple[NotFinite, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    leaks: tuple[Leak, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    outliers: tuple[Outliers, ...] = ()


@dataclass(frozen=True)
class Inspection:
    """What :func:`inspect` found. It prints as tables, and :meth:`to_dict` gives it to machines.

    ``density`` is the share of values that are not zero (None if there are no values). ``duplicate_rows``
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


def inspect(queries: Queries) -> Inspection:
    """Look a data set over: its sizes, its grades, and the features and documents that look wrong.

    Sparse features stay sparse. Duplicates are found by 64-bit fingerprints.

    Examples
    --------
    >>> import rankwright as rw
    >>> found = rw.inspect(rw.Queries([[1, 5], [2, 5], [3, 5]], y=[0, 1, 1], qid=["a", "a", "b"]))
    >>> found.features.constant, found.one_document_queries
    (('f2',), 1)
    """
    x: Any = queries.X
    present = _columns_present(x)
    look = partial(_look_at_columns, queries, _Columns(queries, present), _Labels.of(queries))
    looks = list(map_in_order(look, np.array_split(present, thread_count())))
    columns = [column for some, _ in looks for column in some]
    row_fingerprints = np.zeros(queries.n_documents, dtype=np.uint64)
    for _, fingerprints in looks:
        row_fingerprints += fingerprints
    duplicate_rows, contradictory_rows = _duplicate_rows(queries, row_fingerprints)
    n_values = queries.n_documents * queries.n_features
    return Inspection(
        n_queries=queries.n_queries,
        n_documents=queries.n_documents,
        n_features=queries.n_features,
        supervision=queries.supervision.kind,
        layout="CSR" if sp.issparse(x) else "dense",
        dtype=x.dtype.name,
        density=sum(column.facts.nonzero for column in columns) / n_values if n_values else None,
        documents_per_query=_spread(queries.sizes),
        one_document_queries=int(np.count_nonzero(queries.sizes == 1)),
        grades=_grade_summary(queries),
        features=_feature_findings(columns, absent=queries.n_features - len(present)),
        duplicate_rows=duplicate_rows,
        contradictory_rows=contradictory_rows,
    )


# Queries and grades


def _spread(numbers: npt.NDArray[np.int64]) -> Spread | None:
    if len(numbers) == 0:
        return None
    return Spread(int(numbers.min()), float(np.median(numbers)), float(numbers.mean()), int(numbers.max()))


def _grade_summary(queries: Queries) -> GradeSummary | None:
    if not isinstance(queries.supervision, Grades):
        return None
    grades = queries.y
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


# Features


class _Columns:
    """The columns of X, each as the positions and values of its stored entries, with query rows together.

    Of CSR, only the columns ``present`` are kept: there may be millions without an entry.
    """

    def __init__(self, queries: Queries, present: npt.NDArray[np.int64]) -> None:
        self.grouping = queries.grouping
        self.offsets = np.array(queries.grouping.offsets)
        x: Any = queries.X
        self.present = present
        if sp.issparse(x):
            x = x if self.grouping.order is None else x[self.grouping.order]
            places = np.searchsorted(present, x.indices)
            x = sp.csr_array((x.data, places, x.indptr), shape=(x.shape[0], len(present))).tocsc()
        self.x = x
        self.every_position = np.arange(queries.n_documents)

    def __getitem__(self, j: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        if sp.issparse(self.x):
            place = int(np.searchsorted(self.present, j))
            stored = slice(self.x.indptr[place], self.x.indptr[place + 1])
            return self.x.indices[stored].astype(np.int64), self.x.data[stored].astype(np.float64)
        return self.every_position, self.grouping.gather(self.x[:, j]).astype(np.float64)


@dataclass(frozen=True)
class _Labels:
    """The order that the supervision gives each query's documents: levels 0, 1, … and pairs that differ."""

    levels: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.int64]

    @classmethod
    def of(cls, queries: Queries) -> _Labels | None:
        """The labels of graded or fully ranked queries, if they are enough to tell a leak from chance."""
        if isinstance(queries.supervision, Grades):
            worth = queries.y
        elif isinstance(queries.supervision, FullRanking):
            worth = -queries.supervision.ranks.astype(np.float64)
        else:
            return None
        labels = cls(np.zeros(queries.n_documents, np.int64), np.zeros(queries.n_queries, np.int64))
        grouping = queries.grouping
        level_queries(np.array(grouping.gather(worth)), np.array(grouping.offsets), labels.levels, labels.pairs)
        return labels if labels.pairs.sum() >= _ENOUGH_PAIRS else None


class _Column(NamedTuple):
    """What was found about one feature."""

    name: str
    facts: ColumnFacts
    leak: Leak | None
    identifier: Identifier | None
    outliers: Outliers | None


def _columns_present(x: Any) -> npt.NDArray[np.int64]:
    """The columns that have anything stored: of millions of hashed features, the few that occur."""
    if sp.issparse(x):
        return np.unique(x.indices).astype(np.int64)
    return np.arange(x.shape[1])


def _look_at_columns(
    queries: Queries, columns: _Columns, labels: _Labels | None, chosen: npt.NDArray[np.int64]
) -> tuple[list[_Column], npt.NDArray[np.uint64]]:
    """What is found about some columns, and their part of the fingerprint of each row."""
    row_fingerprints = np.zeros(queries.n_documents, dtype=np.uint64)
    found = []
    for j in chosen.tolist():
        name = queries.feature_name(j)
        positions, values = columns[j]
        bits = values.view(np.uint64)
        facts = ColumnFacts(*scan_column(j, positions, values, bits, columns.offsets, row_fingerprints))
        leak, identifier, outliers = None, None, None
        if facts.varies_in_a_query and labels is not None:
            leak = _leak(name, positions, values, columns.offsets, labels)
        # With zeros in three quarters of the rows, the quartiles are zero and the numbers are not different.
        if facts.low < facts.high and 4 * facts.nonzero > queries.n_documents:
            column = _filled(positions, values, queries.n_documents)
            identifier = _identifier(name, column, facts, queries)
            outliers = _outliers(name, column, facts) if identifier is None else None
        found.append(_Column(name, facts, leak, identifier, outliers))
    return found, row_fingerprints


def _filled(
    positions: npt.NDArray[np.int64], values: npt.NDArray[np.float64], n_documents: int
) -> npt.NDArray[np.float64]:
    """One column with its zeros."""
    if len(values) == n_documents:
        return values
    column = np.zeros(n_documents)
    column[positions] = values
    return column


def _leak(
    name: str,
    positions: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.int64],
    labels: _Labels,
) -> Leak | None:
    n_pairs = int(labels.pairs.sum())
    limit = _LEAK_ERROR * n_pairs
    upwards, downwards = pairwise_errors(positions, values, offsets, labels.levels, labels.pairs, limit)
    if min(upwards, downwards) >= limit:
        return None
    if upwards < downwards:
        return Leak(name, upwards / n_pairs, "as the label")
    return Leak(name, downwards / n_pairs, "against the label")


def _identifier(name: str, column: npt.NDArray[np.float64], facts: ColumnFacts, queries: Queries) -> Identifier | None:
    """Whether whole numbers count rows, count the documents of each query, or name each document."""
    if not facts.whole or facts.nan or facts.infinite:
        return None
    steps = np.diff(queries.grouping.scatter(column))
    if len(steps) >= _ENOUGH_STEPS and np.all(steps == steps[0]):
        return Identifier(name, "row number")
    within = np.ones(max(len(column) - 1, 0), dtype=bool)
    within[queries.grouping.offsets[1:-1] - 1] = False
    steps = np.diff(column)[within]
    starts = column[queries.grouping.offsets[:-1]]
    if len(steps) >= _ENOUGH_STEPS and np.all(steps == steps[0]) and np.all(starts == starts[0]):
        return Identifier(name, "position in its query")
    if len(column) >= _ENOUGH_FOR_AN_IDENTIFIER and facts.high - facts.low >= len(column) - 1:
        in_order = np.sort(column)
        if np.all(in_order[1:] > in_order[:-1]):
            return Identifier(name, "all different whole numbers")
    return None


def _outliers(name: str, column: npt.NDArray[np.float64], facts: ColumnFacts) -> Outliers | None:
    finite = column[np.isfinite(column)] if facts.nan or facts.infinite else column
    lower, upper = (len(finite) - 1) // 4, 3 * (len(finite) - 1) // 4
    in_part = np.partition(finite, (lower, upper))
    spread = float(in_part[upper]) - float(in_part[lower])
    if 0 < spread * _EXTREME < facts.high - facts.low:
        return Outliers(name, facts.low, facts.high, spread)
    return None


def _feature_findings(columns: list[_Column], absent: int) -> FeatureFindings:
    constant, within_queries, useful = [], [], []
    for column in columns:
        if column.facts.varies_in_a_query:
            useful.append(column)
        elif column.facts.constant:
            constant.append(column.name)
        else:
            within_queries.append(column.name)
    return FeatureFindings(
        absent=absent,
        constant=tuple(constant),
        constant_within_queries=tuple(within_queries),
        not_finite=tuple(
            NotFinite(name, facts.nan, facts.infinite) for name, facts, *_ in columns if facts.nan or facts.infinite
        ),
        duplicates=tuple(_duplicates(useful)),
        leaks=tuple(column.leak for column in columns if column.leak),
        identifiers=tuple(column.identifier for column in columns if column.identifier),
        outliers=tuple(column.outliers for column in columns if column.outliers),
    )


def _duplicates(columns: list[_Column]) -> Iterator[Duplicate]:
    """Each column with the fingerprint of an earlier one."""
    first_with: dict[np.uint64, str] = {}
    for column in columns:
        of = first_with.setdefault(column.facts.fingerprint, column.name)
        if of != column.name:
            yield Duplicate(column.name, of)
