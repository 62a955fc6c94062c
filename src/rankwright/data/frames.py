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

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rankwright.checks import check_choice
from rankwright.data.columns import (
    N_FEATURES,
    Columns,
    check_feature_columns,
    choose_columns,
    columns_of,
    refuse_ambiguous_names,
)
from rankwright.data.from_columns import build_queries, csr_features, dense_features, number_of_features
from rankwright.data.queries import Queries
from rankwright.data.table_columns import FeatureColumn, TableColumns
from rankwright.data.table_features import table_features, tell_left_out
from rankwright.data.to_columns import arrow_schema, arrow_table
from rankwright.errors import DataError, ParameterError

Backend = Literal["pandas", "polars", "pyarrow"]


def from_frame(
    frame: Any,
    *,
    label: str = "label",
    qid: str = "qid",
    features: Sequence[str] | None = None,
    doc: str | None = None,
    one_hot: Sequence[str] | None = None,
    for_model: Any = None,
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
        The feature columns, in order; by default all others. ``*`` and ``?`` are wildcards, ``-name`` leaves a column
        out, and ``column=value`` is 1 where a column has this value. Columns that are not numeric (text, dates, …) are
        left out with a warning, unless they are named here, which is an error, or in ``one_hot``.
        For a frame of CSR features (columns ``indices``, ``values`` and ``n_features``): the names of the
        features, by default ``f1``, ``f2``, …
    doc : str, optional
        The column of document ids; by default ``doc_id``, if there is one.
    one_hot : sequence of str, optional
        Columns to encode: each value becomes a feature ``column=value``, a missing one ``column=``.
    for_model : a fitted ranker or a model, optional
        Take the features that it names, text encoded as it was for training, and do without grades if there are none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import rankwright as rw
    >>> rw.from_frame(pa.table({"qid": ["a", "a", "b"], "label": [0, 2, 1], "bm25": [0.3, 1.5, None]}))
    Queries(2 queries, 3 documents, 1 feature, grades 0–2)
    """
    table = as_narwhals(frame)
    named = None if for_model is not None and label == "label" else label  # else it would have to be there
    asked = TableColumns.of(label=named, qid=qid, doc=doc, features=features, one_hot=one_hot)
    if for_model is not None:
        asked = asked.for_model(for_model)
    return queries_of_table(table, *choose_columns(table.schema, asked))


def queries_of_table(
    table: nw.DataFrame[Any],
    columns: Columns,
    chosen: Iterable[FeatureColumn],
    *,
    decimal_mark: str = ".",
    where: str = "",
) -> Queries:
    """Queries from the chosen columns; ``where`` begins what is told of those that are left out as they are text."""
    if columns.sparse:
        return build_queries(table, columns, csr_features(table, number_of_features(table)))
    found = table_features(table, chosen, decimal_mark=decimal_mark)
    tell_left_out(found.left_out, where)
    return build_queries(table, replace(columns, features=found.names), found.x, decimal_mark=decimal_mark)


def to_frame(queries: Queries, backend: Backend = "pandas") -> Any:
    """A pandas or polars data frame or an Arrow table with one row per document, in the order of the rows.

    The columns are ``qid``, ``label`` (``rank`` for a full ranking, ``preferred_over`` for a preference
    graph), ``doc_id`` if there are document ids, and the features: see :mod:`rankwright.data.frames`.
    A frame of CSR features does not hold their names: ``from_frame(frame, features=names)`` gives them back.
    """
    columns = columns_of(queries)
    refuse_ambiguous_names(columns)
    table = arrow_table(queries, columns, arrow_schema(queries, queries.query_ids, columns))
    if columns.sparse:
        table = table.append_column(N_FEATURES, pa.array(np.full(len(table), queries.n_features)))
    return as_backend(table, backend)


def as_backend(table: Any, backend: Backend) -> Any:
    """An Arrow table as the kind of frame asked for."""
    check_choice("backend", backend, get_args(Backend))
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
    check_feature_columns(table.schema, table.columns)
    return dense_features(table, table.columns), tuple(table.columns)


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
