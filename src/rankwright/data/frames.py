"""Data frames in and out: pandas, polars and Arrow, all by one path (narwhals in, Arrow out).

A frame of queries has one row per document and these columns:

=================  =====================================================================================
``qid``            the query of the row, of any type
``label``          its grade; or instead ``rank``, its place in a full ranking, or ``preferred_over``, the
                   list of its edges in a preference graph: structs of ``document`` (the position, from 0,
                   of the other document among the rows of the query) and ``weight``
``doc_id``         its document id, if there are any
one per feature    numbers; for CSR features the lists ``indices`` and ``values`` and the number
                   ``n_features`` stand in their place, so that nothing sparse is ever made dense
=================  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from rankwright.data.grouping import Grouping
from rankwright.data.queries import Features, Queries
from rankwright.data.supervision import FullRanking, Grades, PreferenceGraph, Supervision
from rankwright.errors import DataError, ParameterError

Backend = Literal["pandas", "polars", "pyarrow"]
Schema = Mapping[str, Any]

# In the order in which `from_frame` looks for them.
LABEL_COLUMNS: dict[type[Supervision], str] = {
    Grades: "label",
    FullRanking: "rank",
    PreferenceGraph: "preferred_over",
}
_DOC_ID = "doc_id"
_INDICES, _VALUES, N_FEATURES = "indices", "values", "n_features"
_EDGE = pa.struct([("document", pa.int64()), ("weight", pa.float64())])

# Columns are copied into rows by blocks of this many rows, which stay in the processor's cache meanwhile.
_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Columns:
    """Which column plays which part, and the names of the features.

    Dense features are the columns of these names. Sparse ones are the columns ``indices`` and ``values``,
    and their names are given apart (None: ``f1``, ``f2``, …).
    """

    qid: str
    label: str
    supervision: type[Supervision]
    doc: str | None
    features: tuple[str, ...] | None
    sparse: bool

    def apart_from_dense_features(self) -> list[str]:
        """Every column but the dense features."""
        named = [self.qid, self.label, *([] if self.doc is None else [self.doc])]
        return [*named, _INDICES, _VALUES] if self.sparse else named

    def dense_features(self) -> tuple[str, ...]:
        """The columns that are one feature each."""
        return () if self.sparse or self.features is None else self.features


def from_frame(
    frame: Any,
    *,
    label: str = "label",
    qid: str = "qid",
    features: Sequence[str] | None = None,
    doc: str | None = None,
) -> Queries:
    """Queries from a pandas or polars data frame or an Arrow table, one row per document.

    It reads back what :meth:`Queries.to_frame` gives. The features are float32 if every feature column is,
    and float64 otherwise; a missing feature value becomes NaN.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
    label : str
        The column of grades. If there is no column ``label``, a column ``rank`` is taken as a full
        ranking, or a column ``preferred_over`` as a preference graph.
    qid : str
        The column of query ids: numbers, strings, categories, dates, …
    features : sequence of str, optional
        The feature columns, in order; by default all others, which must then be numeric or boolean.
        For a frame of CSR features (columns ``indices``, ``values`` and ``n_features``): the names of the
        features, by default ``f1``, ``f2``, …
    doc : str, optional
        The column of document ids; by default ``doc_id``, if there is one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import rankwright as rw
    >>> rw.from_frame(pa.table({"qid": ["a", "a", "b"], "label": [0, 2, 1], "bm25": [0.3, 1.5, None]}))
    Queries(2 queries, 3 documents, 1 feature, grades 0–2)
    """
    table = as_narwhals(frame)
    columns = choose_columns(table.schema, label=label, qid=qid, features=features, doc=doc)
    if columns.sparse:
        return build_queries(table, columns, csr_features(table, number_of_features(table)))
    return build_queries(table, columns, _dense_features(table, columns.dense_features()))


def to_frame(queries: Queries, backend: Backend = "pandas") -> Any:
    """A pandas or polars data frame or an Arrow table with one row per document, in the order of the rows.

    The columns are ``qid``, ``label`` (``rank`` for a full ranking, ``preferred_over`` for a preference
    graph), ``doc_id`` if there are document ids, and the features: see :mod:`rankwright.data.frames`.
    A frame of CSR features does not hold their names: ``from_frame(frame, features=names)`` gives them back.
    """
    columns = columns_of(queries)
    _refuse_ambiguous_names(columns)
    table = arrow_table(queries, columns, arrow_schema(queries, columns))
    if columns.sparse:
        table = table.append_column(N_FEATURES, pa.array(np.full(len(table), queries.n_features)))
    return as_backend(table, backend)


def as_backend(table: Any, backend: Backend) -> Any:
    """An Arrow table as the kind of frame asked for."""
    if backend not in get_args(Backend):
        raise ParameterError(f"backend must be one of {', '.join(get_args(Backend))}, not {backend!r}")
    if backend == "pyarrow":
        return table
    frame = nw.from_native(table, eager_only=True)
    try:
        return frame.to_pandas() if backend == "pandas" else frame.to_polars()
    except ModuleNotFoundError:
        raise ParameterError(
            f"backend={backend!r} needs the package {backend}, which is not installed: install it "
            "(pip install 'rankwright[frames]') or take backend='pyarrow'"
        ) from None


def frame_to_matrix(frame: Any) -> tuple[npt.NDArray[np.floating[Any]], tuple[str, ...]]:
    """All columns of a frame as features, and their names: float32 if every column is, float64 otherwise."""
    table = as_narwhals(frame)
    _check_features(table.schema, table.columns)
    return _dense_features(table, table.columns), tuple(table.columns)


def as_narwhals(frame: Any) -> nw.DataFrame[Any]:
    """The frame behind narwhals' interface, with column names that are strings."""
    try:
        table: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
        return table.rename({name: str(name) for name in table.columns if not isinstance(name, str)})
    except TypeError:
        raise DataError(
            f"expected a pandas or polars DataFrame or a pyarrow Table, not {type(frame).__module__}."
            f"{type(frame).__qualname__}; a lazy frame must be collected first"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"the columns of a frame need different names: {error}") from None


# Which column is what


def columns_of(queries: Queries) -> Columns:
    """The columns that queries are written to."""
    sparse = sp.issparse(queries.X)
    names: tuple[str, ...] | None = queries.feature_names
    if sparse and names == tuple(f"f{j}" for j in range(1, queries.n_features + 1)):
        names = None
    kind = type(queries.supervision)
    return Columns("qid", LABEL_COLUMNS[kind], kind, None if queries.doc_ids is None else _DOC_ID, names, sparse)


def choose_columns(schema: Schema, *, label: str, qid: str, features: Sequence[str] | None, doc: str | None) -> Columns:
    """The part of each column of a frame, by the rules of :func:`from_frame`."""
    names = as_names(features)
    label, kind = _label_column(schema, label)
    if doc is None and _DOC_ID in schema and _DOC_ID not in (names or ()):
        doc = _DOC_ID
    sparse = (
        {_INDICES, _VALUES, N_FEATURES} <= schema.keys()
        and not _is_numeric(schema[_INDICES])
        and not _is_numeric(schema[_VALUES])
    )
    if names is None and not sparse:
        names = tuple(name for name in schema if name not in (qid, label, doc))
    columns = Columns(qid, label, kind, doc, names, sparse)
    check_columns(schema, columns)
    return columns


def as_names(features: Sequence[str] | None) -> tuple[str, ...] | None:
    """The parameter ``features``, checked for the one mistake that is easily made."""
    if isinstance(features, str):
        raise ParameterError(f"features must be a sequence of column names, not the string {features!r}")
    return None if features is None else tuple(features)


def _label_column(schema: Schema, label: str) -> tuple[str, type[Supervision]]:
    if label == LABEL_COLUMNS[Grades]:
        for kind, name in LABEL_COLUMNS.items():
            if name in schema:
                return name, kind
    return label, Grades


def check_columns(schema: Schema, columns: Columns) -> None:
    """Raise a :class:`DataError` that names the first column that is not there or cannot play its part."""
    part_of: dict[str, str] = {}
    parts = [("qid", columns.qid), ("label", columns.label), ("doc", columns.doc)]
    parts += [("features", name) for name in columns.dense_features()]
    parts += [("sparse features", name) for name in (_INDICES, _VALUES) if columns.sparse]
    for part, name in parts:
        if name is None:
            continue
        if name not in schema:
            hint = f": name the right one with {part}=…" if part in ("qid", "label", "doc", "features") else ""
            raise DataError(f"there is no column {name!r} ({part}); there are {_told(schema)}{hint}")
        if name in part_of:
            raise DataError(f"column {name!r} is named twice, as {part_of[name]} and as {part}")
        part_of[name] = part
    if columns.supervision is not PreferenceGraph and not _is_numeric(schema[columns.label]):
        raise DataError(
            f"column {columns.label!r} ({columns.supervision.kind}) is {schema[columns.label]}, not numeric"
        )
    _check_features(schema, columns.dense_features())


def _check_features(schema: Schema, names: Iterable[str]) -> None:
    for name in names:
        if not _is_numeric(schema[name]):
            raise DataError(
                f"column {name!r} is {schema[name]}, not numeric, so it is no feature: name the feature columns "
                f"with features=[…], or drop it, or, if it holds the document ids, pass doc={name!r}"
            )


def _refuse_ambiguous_names(columns: Columns) -> None:
    """Features must not have a name that :func:`from_frame` would take for something else."""
    kinds = list(LABEL_COLUMNS)
    labels = [LABEL_COLUMNS[kind] for kind in kinds[: kinds.index(columns.supervision) + 1]]
    reserved = {columns.qid, _DOC_ID, *labels}
    for name in columns.dense_features():
        if name in reserved:
            raise DataError(
                f"a feature is named {name!r}, which a frame of queries keeps for itself: "
                "make Queries with other feature_names first, or write Parquet, where this is no problem"
            )


def _told(names: Iterable[str], at_most: int = 20) -> str:
    """Column names for an error message."""
    listed = list(names)
    more = f" and {len(listed) - at_most} more" if len(listed) > at_most else ""
    return (", ".join(map(repr, listed[:at_most])) or "no columns at all") + more


def _is_numeric(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


# From columns to queries


def build_queries(table: nw.DataFrame[Any], columns: Columns, x: Features) -> Queries:
    """Queries with the given features; all the rest is read from the table."""
    qid = _ids(_column(table, columns.qid), columns.qid)
    supervision = _supervision(_column(table, columns.label), columns, qid)
    doc_ids = None if columns.doc is None else _ids(_column(table, columns.doc), columns.doc)
    return Queries(x, supervision, qid, feature_names=columns.features, doc_ids=doc_ids)


def _supervision(label: Any, columns: Columns, qid: npt.NDArray[Any]) -> Supervision:
    _refuse_nulls(label, columns.label)
    if columns.supervision is PreferenceGraph:
        return _preference_graph(label, columns.label, Grouping(qid, len(qid)))
    numbers = floats(label, np.float64)
    return FullRanking(numbers) if columns.supervision is FullRanking else Grades(numbers)


def feature_dtype(schema: Schema, names: Iterable[str]) -> type[np.float32] | type[np.float64]:
    """float32 if every feature is, float64 otherwise."""
    return np.float32 if all(schema[name] == nw.Float32 for name in names) else np.float64


def _dense_features(table: nw.DataFrame[Any], names: Sequence[str]) -> npt.NDArray[np.floating[Any]]:
    dtype = feature_dtype(table.schema, names)
    matrix = np.empty((len(table), len(names)), dtype=dtype)
    fill_rows(matrix, [floats(_column(table, name), dtype) for name in names])
    return matrix


def fill_rows(matrix: npt.NDArray[Any], columns: Sequence[npt.NDArray[Any]]) -> None:
    """Set the columns of a row-major matrix, block by block of rows: much faster than column by column."""
    for start in range(0, len(matrix), _BLOCK_ROWS):
        block = matrix[start : start + _BLOCK_ROWS]
        for j, values in enumerate(columns):
            block[:, j] = values[start : start + _BLOCK_ROWS]


def floats(column: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An Arrow column of numbers or booleans as a NumPy array, without a copy where possible; null is NaN."""
    wanted = pa.from_numpy_dtype(dtype)
    numbers = column if column.type == wanted else column.cast(wanted, safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def csr_features(table: nw.DataFrame[Any], n_features: int) -> sp.csr_array:
    """The CSR features whose rows are the lists in ``indices`` and ``values``, checked."""
    indices, lengths = _lists(_column(table, _INDICES), _INDICES)
    values, value_lengths = _lists(_column(table, _VALUES), _VALUES)
    uneven = lengths != value_lengths
    if uneven.any():
        row = int(np.argmax(uneven))
        raise DataError(f"row {row} has {lengths[row]} {_INDICES} but {value_lengths[row]} {_VALUES}")
    if indices.null_count or not (pa.types.is_integer(indices.type) or len(indices) == 0):
        raise DataError(f"column {_INDICES!r} must hold lists of whole numbers without nulls, not of {indices.type}")
    if len(values) and not _are_numbers(values):
        raise DataError(f"column {_VALUES!r} must hold lists of numbers, not of {values.type}")
    columns = np.asarray(indices.to_numpy(zero_copy_only=False))
    if columns.dtype != np.int32:
        columns = columns.astype(np.int64)
    outside = (columns < 0) | (columns >= n_features)
    if outside.any():
        entry = int(np.argmax(outside))
        row = int(np.searchsorted(np.cumsum(lengths), entry, side="right"))
        raise DataError(
            f"row {row} has a value for feature {columns[entry]}, but features go from 0 to {n_features - 1}"
        )
    dtype = np.float32 if values.type == pa.float32() else np.float64
    row_ends = np.concatenate([[0], np.cumsum(lengths)])
    matrix = sp.csr_array((floats(values, dtype), columns, row_ends), shape=(len(lengths), n_features))
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # the arrays may be Arrow's own
        matrix.sum_duplicates()
    return matrix


def number_of_features(table: nw.DataFrame[Any]) -> int:
    """The one value of the column ``n_features``; a frame without rows has no features."""
    column = _column(table, N_FEATURES)
    numbers = column.unique().to_pylist()
    if len(numbers) > 1 or not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise DataError(f"column {N_FEATURES!r} must hold one whole number, the same in every row")
    return numbers[0] if numbers else 0


def _preference_graph(column: Any, name: str, grouping: Grouping) -> PreferenceGraph:
    edges, lengths = _lists(column, name)
    preferred = np.repeat(np.arange(len(lengths)), lengths)
    if len(edges) == 0:
        return PreferenceGraph(len(lengths), preferred, preferred)
    if not pa.types.is_struct(edges.type) or {field.name for field in edges.type} != {field.name for field in _EDGE}:
        raise DataError(f"column {name!r} must hold lists of structs {{document, weight}}, not {column.type}")
    document, weight = (edges.field(field.name) for field in _EDGE)
    if not pa.types.is_integer(document.type) or document.null_count or edges.null_count or not _are_numbers(weight):
        raise DataError(
            f"column {name!r}: every edge needs a document, the position of a row among its query's rows, "
            "and a weight, a number"
        )
    position = document.to_numpy(zero_copy_only=False).astype(np.int64)
    query = grouping.codes[preferred]
    outside = (position < 0) | (position >= np.diff(grouping.offsets)[query])
    if outside.any():
        edge = int(np.argmax(outside))
        raise DataError(
            f"row {preferred[edge]}: column {name!r} names document {position[edge]} of query "
            f"{grouping.query_of_row(int(preferred[edge]))!r}, which has documents 0 to "
            f"{np.diff(grouping.offsets)[query[edge]] - 1}"
        )
    other = grouping.gather(np.arange(len(lengths)))[grouping.offsets[query] + position]
    return PreferenceGraph(len(lengths), preferred, other, floats(weight, np.float64))


def _lists(column: Any, name: str) -> tuple[Any, npt.NDArray[np.int64]]:
    """The items of a column of lists, one after the other, and the length of each list."""
    _refuse_nulls(column, name)
    if pa.types.is_null(column.type):  # pandas knows no type of a column without rows
        return pa.array([], pa.float32()), np.zeros(0, np.int64)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise DataError(f"column {name!r} must hold lists, not {column.type}")
    return column.flatten(), column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)


def _are_numbers(items: Any) -> bool:
    return bool(pa.types.is_floating(items.type) or pa.types.is_integer(items.type))


def _ids(column: Any, name: str) -> npt.NDArray[Any]:
    """Query or document ids as an array; equal strings are made only once."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    _refuse_nulls(column, name)
    if pa.types.is_nested(column.type):
        raise DataError(f"column {name!r} holds {column.type}: ids must be single values")
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    encoded = column.dictionary_encode()
    distinct = encoded.dictionary.to_numpy(zero_copy_only=False).astype(np.str_)
    return np.asarray(distinct[encoded.indices.to_numpy()])


def _column(table: nw.DataFrame[Any], name: str) -> Any:
    """A column as one Arrow array."""
    try:
        return table.get_column(name).to_arrow()
    except (pa.ArrowException, TypeError) as error:
        raise DataError(f"column {name!r} is not a column of one plain type: {error}") from None


def _refuse_nulls(column: Any, name: str) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(f"row {row} has no value in column {name!r}: give it one, or drop the row")


# From queries to columns


def arrow_schema(queries: Queries, columns: Columns) -> Any:
    """The type of every column that queries are written to."""
    label = {Grades: pa.float64(), FullRanking: pa.int64(), PreferenceGraph: pa.large_list(_EDGE)}
    fields = [(columns.qid, _id_type(queries)), (columns.label, label[columns.supervision])]
    if columns.doc is not None:
        fields.append((columns.doc, pa.large_string()))
    number = pa.from_numpy_dtype(queries.X.dtype)
    if columns.sparse:
        index = pa.int32() if queries.n_features <= np.iinfo(np.int32).max else pa.int64()
        fields += [(_INDICES, pa.large_list(index)), (_VALUES, pa.large_list(number))]
    fields += [(name, number) for name in columns.dense_features()]
    return pa.schema(fields)


def _id_type(queries: Queries) -> Any:
    try:
        kind = pa.array(queries.query_ids).type
    except (pa.ArrowException, TypeError, UnicodeError) as error:
        raise DataError(f"query ids of these types cannot be a column: {error}; turn them into strings") from None
    if pa.types.is_nested(kind):
        raise DataError(f"query ids such as {queries.query_ids[0]!r} cannot be a column: turn them into strings")
    return pa.large_string() if pa.types.is_string(kind) else kind


def arrow_table(queries: Queries, columns: Columns, schema: Any) -> Any:
    """Queries as an Arrow table of the given schema, one row per document in the order of the rows."""
    supervision = queries.supervision
    if isinstance(supervision, PreferenceGraph):
        label = _edge_lists(supervision, queries.grouping)
    else:
        label = pa.array(supervision.values if isinstance(supervision, Grades) else supervision.ranks)
    arrays = [pa.array(queries.qid, schema.field(0).type), label]
    if queries.doc_ids is not None:
        arrays.append(pa.array(queries.doc_ids, pa.large_string()))
    if columns.sparse:
        x: Any = queries.X
        for values, kind in ((x.indices, schema.field(_INDICES).type), (x.data, schema.field(_VALUES).type)):
            items = pa.array(values, kind.value_type)
            arrays.append(pa.LargeListArray.from_arrays(pa.array(x.indptr, pa.int64()), items))
    else:
        arrays += [pa.array(feature) for feature in np.ascontiguousarray(queries.X.T)]
    return pa.table(arrays, schema=schema)


def _edge_lists(graph: PreferenceGraph, grouping: Grouping) -> Any:
    """For each row its edges, as positions in the query, so that they hold wherever the query stands."""
    by_row = np.argsort(graph.preferred, kind="stable")
    ends = np.cumsum(np.bincount(graph.preferred, minlength=len(graph)))
    in_query = np.arange(len(graph)) - np.repeat(grouping.offsets[:-1], np.diff(grouping.offsets))
    position = grouping.scatter(in_query)
    edges = pa.StructArray.from_arrays(
        [pa.array(position[graph.other[by_row]]), pa.array(graph.weights[by_row])], fields=list(_EDGE)
    )
    return pa.LargeListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int64()), edges)
