"""`Queries`: the one data type that everything in Rankwright takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.arrays import checked_features, real_numbers, refuse_masked
from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping, check_qid_or_group, own_and_frozen
from rankwright.judgments.ids import text_array
from rankwright.judgments.judgments import Judgments
from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph, Supervision
from rankwright.judgments.whole import Whole

if TYPE_CHECKING:
    from rankwright.data.frames import Backend

Features: TypeAlias = Any  # a dense NumPy array or a scipy.sparse.csr_array: SciPy brings no types


class Queries:
    """N queries with their documents: features X, supervision, query ids and names. It never changes.

    Parameters
    ----------
    X : array, sparse matrix, data frame or None
        One row of features per document: float32 and float64 are kept as they are, other numbers become
        float64, sparse input becomes CSR and is never made dense. A pandas, polars or Arrow frame gives
        its column names too. None: no features, for evaluating scores alone. A dense array is not copied:
        what is done to it later shows here.
    y : array, FullRanking or PreferenceGraph
        The supervision; a plain array is grades.
    qid : array or None
        The query of each row, of any type. The rows of a query need not stand together; rows keep
        the order they are given in. None: all rows are one query, unless there is a ``group``.
    feature_names, doc_ids : sequences of str, optional
    group : array, optional
        Instead of qid: how many rows each query has, one query after the other, as LightGBM takes them. The
        queries get the ids 1, 2, …

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.Queries([[1.0], [2.0], [3.0]], y=[0, 1, 2], qid=["b", "a", "b"])
    >>> queries
    Queries(2 queries, 3 documents, 1 feature, grades 0–2)
    >>> queries[0].y, queries[0].qid
    (array([0., 2.]), array(['b', 'b'], dtype='<U1'))
    >>> rw.Queries([[1.0], [2.0], [3.0]], y=[0, 1, 2], group=[2, 1]).qid
    array([1, 1, 2])
    """

    __slots__ = ("_feature_names", "_grouping", "_supervision", "_whole_of", "_x", "doc_ids")

    _x: Features
    _supervision: Supervision
    _grouping: Grouping
    _feature_names: tuple[str, ...] | None
    doc_ids: npt.NDArray[Any] | None
    _whole_of: Callable[[], Whole] | None

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike | Supervision,
        qid: npt.ArrayLike | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        doc_ids: npt.ArrayLike | None = None,
        group: npt.ArrayLike | None = None,
    ) -> None:
        check_qid_or_group(qid, group)
        supervision = y if isinstance(y, FullRanking | PreferenceGraph | Grades) else Grades(y)  # type: ignore[arg-type]
        x, names = _features(X, len(supervision))
        if x.shape[0] != len(supervision):
            raise DataError(f"X has {x.shape[0]} rows, but the supervision has {len(supervision)}")
        self._set(
            x,
            supervision,
            Grouping(qid, len(supervision)) if group is None else Grouping.of_group(group, len(supervision)),
            _feature_names(names if feature_names is None else feature_names, x.shape[1]),
            _doc_ids(doc_ids, len(supervision)),
        )
        supervision.validate(self._grouping)

    def _set(
        self,
        x: Features,
        supervision: Supervision,
        grouping: Grouping,
        feature_names: tuple[str, ...] | None,
        doc_ids: npt.NDArray[Any] | None,
        whole_of: Callable[[], Whole] | None = None,
    ) -> None:
        names = ("_x", "_supervision", "_grouping", "_feature_names", "doc_ids", "_whole_of")
        parts = (x, supervision, grouping, feature_names, doc_ids, whole_of)
        for name, value in zip(names, parts, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def _build(cls, *parts: Any) -> Queries:
        queries = cls.__new__(cls)
        queries._set(*parts)
        return queries

    @classmethod
    def of_parts(
        cls,
        x: Features,
        supervision: Supervision,
        grouping: Grouping,
        feature_names: tuple[str, ...] | None,
        doc_ids: npt.NDArray[Any] | None,
    ) -> Queries:
        """Queries of parts that are known to fit together; only the indices of CSR are looked at."""
        x = checked_features(x) if sp.issparse(x) else x
        doc_ids = None if doc_ids is None else _read_only(doc_ids)
        return cls._build(_read_only(x), supervision, grouping, feature_names, doc_ids)

    def as_part(self, whole_of: Callable[[], Whole]) -> Queries:
        """The same as a part of more queries, whose extremes measures and losses have to know."""
        parts = (self._x, self._supervision, self._grouping, self._feature_names, self.doc_ids)
        return Queries._build(*parts, whole_of)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Queries never change: make new ones instead of setting {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_remade, (self._x, self._supervision, self.qid, self._feature_names, self.doc_ids))

    # What they hold

    @property
    def X(self) -> Features:
        """The features, one row per document, as a read-only array or a CSR array."""
        return self._x

    @property
    def supervision(self) -> Supervision:
        """Grades, a full ranking or a preference graph."""
        return self._supervision

    @property
    def y(self) -> npt.NDArray[np.float64]:
        """The grades of the documents."""
        if not isinstance(self.supervision, Grades):
            raise DataError(f"these queries have a {self.supervision.kind}, not grades: see .supervision")
        return self.supervision.values

    @property
    def judgments(self) -> Judgments:
        """All but the features: supervision, grouping and document ids."""
        return Judgments(self._supervision, self._grouping, self.doc_ids, self._whole_of)

    @property
    def grouping(self) -> Grouping:
        """Which rows belong to which query."""
        return self._grouping

    @property
    def qid(self) -> npt.NDArray[Any]:
        """The query id of each row."""
        return self.grouping.qid

    @property
    def query_ids(self) -> npt.NDArray[Any]:
        """The id of each query, in the order of first appearance."""
        return self.grouping.query_ids

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of documents of each query."""
        return np.diff(self.grouping.offsets)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features: as given, or ``f1``, ``f2``, …"""
        return tuple(map(self.feature_name, range(self.n_features)))

    @property
    def has_feature_names(self) -> bool:
        """Whether the features were given names."""
        return self._feature_names is not None

    def feature_name(self, column: int) -> str:
        """The name of one feature."""
        return f"f{column + 1}" if self._feature_names is None else self._feature_names[column]

    @property
    def n_queries(self) -> int:
        """N."""
        return len(self.query_ids)

    @property
    def n_documents(self) -> int:
        """m, the number of rows."""
        return len(self.supervision)

    @property
    def n_features(self) -> int:
        """n, the number of columns."""
        return int(self.X.shape[1])

    # Slicing by query

    @property
    def shape(self) -> tuple[int]:
        """(N,): a sequence of queries, which scikit-learn's tools then split by query."""
        return (self.n_queries,)

    def __len__(self) -> int:
        return self.n_queries

    def __iter__(self) -> Iterator[Queries]:
        return (self[q] for q in range(self.n_queries))

    def __getitem__(self, which: int | slice | npt.ArrayLike) -> Queries:
        """The queries at a position, a slice, a list of positions, or where a mask with one entry per query is true."""
        if isinstance(which, tuple) and len(which) == 2 and which[1] is Ellipsis:
            which = which[0]  # scikit-learn asks so
        if isinstance(which, tuple):
            raise TypeError("Queries are indexed by query alone: take columns from .X")
        if isinstance(which, str):
            raise TypeError(f"Queries are indexed by position: take queries by their ids with .select([{which!r}])")
        if isinstance(which, int | np.integer):
            if not -self.n_queries <= which < self.n_queries:
                raise IndexError(f"query {which} of {self.n_queries}")
            which = slice(int(which) % self.n_queries, int(which) % self.n_queries + 1)
        if isinstance(which, slice):
            first, last, step = which.indices(self.n_queries)
            if step == 1 and self.grouping.order is None:
                return self._run(first, max(first, last))
        index: Any = which if isinstance(which, slice) else np.asarray(which, dtype=None if np.size(which) else np.intp)
        positions = np.atleast_1d(np.arange(self.n_queries)[index])
        if len(np.unique(positions)) < len(positions):
            raise DataError("a query is taken twice: Queries hold each query once")
        offsets = self.grouping.offsets
        rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in positions] or [np.zeros(0, np.intp)])
        if self.grouping.order is not None:
            rows = self.grouping.order[rows]
        return self._take(rows, Grouping.of_sizes(self.query_ids[positions], self.sizes[positions]))

    def _run(self, first: int, last: int) -> Queries:
        """Queries first … last − 1 of rows that stand together: a view, nothing is copied but CSR indices."""
        offsets = self.grouping.offsets
        rows = slice(int(offsets[first]), int(offsets[last]))
        return self._take(rows, Grouping.of_sizes(self.query_ids[first:last], np.diff(offsets[first : last + 1])))

    def _take(self, rows: npt.NDArray[np.intp] | slice, grouping: Grouping) -> Queries:
        return Queries._build(
            _read_only(self.X[rows]),
            self.supervision.take(rows),
            grouping,
            self._feature_names,
            None if self.doc_ids is None else _read_only(self.doc_ids[rows]),
        )

    def select(self, query_ids: Iterable[Any]) -> Queries:
        """The queries with the given ids, in the order given.

        >>> import rankwright as rw
        >>> rw.Queries([[1], [2], [3]], [0, 1, 0], qid=["a", "b", "c"]).select(["c", "a"]).query_ids
        array(['c', 'a'], dtype='<U1')
        """
        wanted, known = list(query_ids), self.query_ids.tolist()
        if self.query_ids.dtype.kind == "M":  # exactly, to the nanosecond
            known = self.query_ids.astype(np.int64).tolist()
            wanted = np.array(wanted, self.query_ids.dtype).astype(np.int64).tolist()
        position = {query: q for q, query in enumerate(known)}
        unknown = [query for query in wanted if query not in position]
        if unknown:
            raise DataError(f"there is no query {unknown[0]!r}")
        return self[np.array([position[query] for query in wanted], dtype=np.intp)]

    # The way out

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A pandas or polars data frame or an Arrow table: columns qid, label, doc_id if there are any, features."""
        from rankwright.data.frames import to_frame

        return to_frame(self, backend)

    def _repr_html_(self) -> str:
        from rankwright.data.preview import queries_html

        return queries_html(self)

    def __repr__(self) -> str:
        supervision = self.supervision
        told: str = supervision.kind
        if isinstance(supervision, Grades) and len(supervision):
            told = f"grades {supervision.values.min() + 0.0:g}–{supervision.values.max() + 0.0:g}"  # 0, not −0
        storage = ", CSR" if sp.issparse(self.X) else ""
        return (
            f"Queries({_count(self.n_queries, 'query', 'queries')}, {_count(self.n_documents, 'document')}, "
            f"{_count(self.n_features, 'feature')}{storage}, {told})"
        )


def _remade(x: Features, supervision: Supervision, qid: Any, names: Any, doc_ids: Any) -> Queries:
    return Queries(x, supervision, qid, feature_names=names, doc_ids=doc_ids)


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def _features(X: Any, n_rows: int) -> tuple[Features, Sequence[str] | None]:
    """Features as a read-only float array or CSR array, and the column names of a frame."""
    if X is None:
        return _read_only(np.zeros((n_rows, 0), dtype=np.float32)), None
    names: Sequence[str] | None = None
    if not isinstance(X, np.ndarray) and not sp.issparse(X) and (hasattr(X, "columns") or hasattr(X, "schema")):
        from rankwright.data.frames import frame_to_matrix

        X, names = frame_to_matrix(X)
    x: Features = checked_features(X)
    if sp.issparse(x):
        return _read_only(x), names
    if not isinstance(x, np.ndarray) or x.dtype not in (np.float32, np.float64):
        x = real_numbers(x, "features")
    if x.ndim != 2:
        raise DataError(f"X must have two dimensions (documents × features), not {x.ndim}")
    return _read_only(np.asarray(x)), names


def _read_only(x: Features) -> Features:
    """The same numbers through a view that cannot be written to; the caller's own array stays writable."""
    if sp.issparse(x):
        # Kernels take indices for bounds, so the caller must not be able to change them.
        parts = (_read_only(x.data), own_and_frozen(x.indices), own_and_frozen(x.indptr))
        frozen = sp.csr_array(parts, shape=x.shape, copy=False)
        frozen.has_canonical_format = True
        return frozen
    view = x.view()
    view.setflags(write=False)
    return view


def _feature_names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    told = tuple(map(str, names))
    if len(told) != n_features:
        raise DataError(f"{len(told)} feature names for {n_features} features")
    if len(set(told)) < len(told):
        twice = next(name for position, name in enumerate(told) if name in told[:position])
        raise DataError(f"two features are named {twice!r}")
    return told


def _doc_ids(doc_ids: npt.ArrayLike | None, n_rows: int) -> npt.NDArray[Any] | None:
    if doc_ids is None:
        return None
    given = np.asanyarray(doc_ids) if isinstance(doc_ids, np.ndarray) else np.array(doc_ids, dtype=object)
    refuse_masked(given, "document ids")
    ids = np.asarray(given)
    if ids.dtype.kind == "U":
        ids = own_and_frozen(ids)
    elif ids.ndim == 1:
        ids = text_array(list(map(str, ids.tolist())))
    if ids.shape != (n_rows,):
        raise DataError(f"doc_ids must give one id for each of the {n_rows} rows, not an array of shape {ids.shape}")
    ids.setflags(write=False)
    return ids
