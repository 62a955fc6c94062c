"""Queries into columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rankwright.data.columns import EDGE, INDICES, VALUES, Columns
from rankwright.data.queries import Queries
from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph


def arrow_schema(queries: Queries, query_ids: npt.NDArray[Any], columns: Columns) -> Any:
    """The type of every column that queries are written to; there may be more queries with these ids."""
    label = {Grades: pa.float64(), FullRanking: pa.int64(), PreferenceGraph: pa.large_list(EDGE)}
    fields = [(columns.qid, id_type(query_ids)), (columns.label, label[columns.supervision])]
    if columns.doc is not None:
        fields.append((columns.doc, pa.large_string()))
    number = pa.from_numpy_dtype(queries.X.dtype)
    if columns.sparse:
        index = pa.int32() if queries.n_features <= np.iinfo(np.int32).max else pa.int64()
        fields += [(INDICES, pa.large_list(index)), (VALUES, pa.large_list(number))]
    fields += [(name, number) for name in columns.dense_features()]
    return pa.schema(fields)


def id_type(query_ids: npt.NDArray[Any]) -> Any:
    """The type of a column of query ids."""
    try:
        kind = pa.array(query_ids).type
    except (pa.ArrowException, TypeError, UnicodeError) as error:
        raise DataError(f"query ids of these types cannot be a column: {error}; turn them into strings") from None
    if pa.types.is_nested(kind):
        raise DataError(f"query ids such as {query_ids[0]!r} cannot be a column: turn them into strings")
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
        for values, kind in ((x.indices, schema.field(INDICES).type), (x.data, schema.field(VALUES).type)):
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
        [pa.array(position[graph.other[by_row]]), pa.array(graph.weights[by_row])], fields=list(EDGE)
    )
    return pa.LargeListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int64()), edges)
