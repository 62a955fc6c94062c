"""Which column of a frame of queries plays which part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import pyarrow as pa
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.data.table_columns import FeatureColumn, TableColumns, chosen_features, listed
from rankwright.errors import DataError
from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph, Supervision

Schema = Mapping[str, Any]

# In the order in which `from_frame` looks for them.
LABEL_COLUMNS: dict[type[Supervision], str] = {
    Grades: "label",
    FullRanking: "rank",
    PreferenceGraph: "preferred_over",
}
QID, DOC_ID = "qid", "doc_id"
INDICES, VALUES, N_FEATURES = "indices", "values", "n_features"
EDGE = pa.struct([("document", pa.int64()), ("weight", pa.float64())])


@dataclass(frozen=True)
class Columns:
    """Which column plays which part, and the names of the features.

    Dense features are the columns of these names. Sparse ones are the columns ``indices`` and ``values``,
    and their names are given apart (None: ``f1``, ``f2``, …). Without a ``label``, all grades are 0.
    """

    qid: str
    label: str | None
    supervision: type[Supervision]
    doc: str | None
    features: tuple[str, ...] | None
    sparse: bool

    def apart_from_dense_features(self) -> list[str]:
        """Every column but the dense features."""
        named = [name for name in (self.qid, self.label, self.doc) if name is not None]
        return [*named, INDICES, VALUES] if self.sparse else named

    def dense_features(self) -> tuple[str, ...]:
        """The columns that are one feature each."""
        return () if self.sparse or self.features is None else self.features


def columns_of(queries: Queries) -> Columns:
    """The columns that queries are written to."""
    sparse = sp.issparse(queries.X)
    names = None if sparse and not queries.has_feature_names else queries.feature_names
    kind = type(queries.supervision)
    return Columns("qid", LABEL_COLUMNS[kind], kind, None if queries.doc_ids is None else DOC_ID, names, sparse)


def choose_columns(schema: Schema, asked: TableColumns) -> tuple[Columns, list[FeatureColumn]]:
    """The part of each column of a frame, by the rules of :func:`from_frame`, and which are chosen as features.

    ``features`` of the first are names for CSR features only: whether a chosen column is numbers, its cells tell.
    """
    label: str | None
    label, kind = _label_column(schema, asked.label or LABEL_COLUMNS[Grades])
    if label not in schema and asked.label is None and not asked.must_be_judged:
        label = None
    qid, doc = asked.qid or QID, asked.doc
    if doc is None and DOC_ID in schema and DOC_ID not in (asked.features or ()):
        doc = DOC_ID
    sparse = (
        {INDICES, VALUES, N_FEATURES} <= schema.keys()
        and not is_numeric(schema[INDICES])
        and not is_numeric(schema[VALUES])
    )
    columns = Columns(qid, label, kind, doc, asked.features if sparse else None, sparse)
    check_parts(schema, columns)
    taken = [name for name in (qid, label, doc) if name is not None]
    chosen = [] if sparse else chosen_features(tuple(schema), asked, taken)
    names = [each.column for each in chosen if each.values is None]
    check_parts(schema, replace(columns, features=columns.features if sparse else tuple(names)))
    return columns, chosen


def numeric_features(schema: Schema, chosen: Iterable[FeatureColumn]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Which of the chosen columns are of a numeric type, and of what kind those are that are none and left out."""
    names, left_out = [], {}
    for each in chosen:
        if is_numeric(schema[each.column]):
            names.append(each.column)
        elif each.is_named or schema[each.column].is_nested():
            raise DataError(not_numbers(each.column, schema[each.column]))
        else:
            left_out[each.column] = kind_of(schema[each.column])
    return tuple(names), left_out


def _label_column(schema: Schema, label: str) -> tuple[str, type[Supervision]]:
    if label == LABEL_COLUMNS[Grades]:
        for kind, name in LABEL_COLUMNS.items():
            if name in schema:
                return name, kind
    return label, Grades


def check_columns(schema: Schema, columns: Columns) -> None:
    """Raise a :class:`DataError` that names the first column that is not there or cannot play its part."""
    check_parts(schema, columns)
    label = None if columns.supervision is PreferenceGraph else columns.label
    if label is not None and not is_numeric(schema[label]):
        raise DataError(f"column {label!r} ({columns.supervision.kind}) is {schema[label]}, not numeric")
    check_feature_columns(schema, columns.dense_features())


def check_parts(schema: Schema, columns: Columns) -> None:
    """Raise a :class:`DataError` that names the first column that is not there, or that is to play two parts."""
    part_of: dict[str, str] = {}
    parts = [("qid", columns.qid), ("label", columns.label), ("doc", columns.doc)]
    parts += [("features", name) for name in columns.dense_features()]
    parts += [("sparse features", name) for name in (INDICES, VALUES) if columns.sparse]
    for part, name in parts:
        if name is None:
            continue
        if name not in schema:
            hint = (
                f": name the right one with {part}=… (--{part})" if part in ("qid", "label", "doc", "features") else ""
            )
            raise DataError(f"there is no column {name!r} ({part}); there are {listed(schema)}{hint}")
        if name in part_of:
            raise DataError(f"column {name!r} is named twice, as {part_of[name]} and as {part}")
        part_of[name] = part


def check_feature_columns(schema: Schema, names: Iterable[str]) -> None:
    """Raise a :class:`DataError` that names the first column that is not numeric."""
    for name in names:
        if not is_numeric(schema[name]):
            raise DataError(not_numbers(name, schema[name]))


def refuse_ambiguous_names(columns: Columns) -> None:
    """Features must not have a name that :func:`from_frame` would take for something else."""
    kinds = list(LABEL_COLUMNS)
    labels = [LABEL_COLUMNS[kind] for kind in kinds[: kinds.index(columns.supervision) + 1]]
    reserved = {columns.qid, DOC_ID, *labels}
    for name in columns.dense_features():
        if name in reserved:
            raise DataError(
                f"a feature is named {name!r}, which a frame of queries keeps for itself: "
                "make Queries with other feature_names first, or write Parquet, where this is no problem"
            )


def is_numeric(dtype: Any) -> bool:
    """Whether a type of narwhals is one of numbers, or of true and false."""
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def kind_of(dtype: Any) -> str:
    """A type of narwhals in plain words."""
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return "text"
    return "dates or times" if dtype.is_temporal() else str(dtype)


def not_numbers(name: str, dtype: Any) -> str:
    """That a column cannot be a feature, and what to do."""
    if dtype.is_nested() or dtype == nw.Object:
        return f"column {name!r} is {dtype}, not numeric, so it is no feature: leave it out with features=['-{name}']"
    return (
        f"column {name!r} is {dtype}, not numeric, so it is no feature: one-hot encode it with one_hot=[{name!r}], "
        f"leave it out, or, if it holds the document ids, pass doc={name!r}"
    )
