"""Which column of a frame of queries plays which part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.data.supervision import FullRanking, Grades, PreferenceGraph, Supervision
from rankwright.errors import DataError, ParameterError

Schema = Mapping[str, Any]

# In the order in which `from_frame` looks for them.
LABEL_COLUMNS: dict[type[Supervision], str] = {
    Grades: "label",
    FullRanking: "rank",
    PreferenceGraph: "preferred_over",
}
DOC_ID = "doc_id"
INDICES, VALUES, N_FEATURES = "indices", "values", "n_features"
EDGE = pa.struct([("document", pa.int64()), ("weight", pa.float64())])


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


def choose_columns(schema: Schema, *, label: str, qid: str, features: Sequence[str] | None, doc: str | None) -> Columns:
    """The part of each column of a frame, by the rules of :func:`from_frame`."""
    names = as_names(features)
    label, kind = _label_column(schema, label)
    if doc is None and DOC_ID in schema and DOC_ID not in (names or ()):
        doc = DOC_ID
    sparse = (
        {INDICES, VALUES, N_FEATURES} <= schema.keys()
        and not _is_numeric(schema[INDICES])
        and not _is_numeric(schema[VALUES])
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
    parts += [("sparse features", name) for name in (INDICES, VALUES) if columns.sparse]
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
    check_feature_columns(schema, columns.dense_features())


def check_feature_columns(schema: Schema, names: Iterable[str]) -> None:
    """Raise a :class:`DataError` that names the first column that is not numeric."""
    for name in names:
        if not _is_numeric(schema[name]):
            raise DataError(
                f"column {name!r} is {schema[name]}, not numeric, so it is no feature: name the feature columns "
                f"with features=[…], or drop it, or, if it holds the document ids, pass doc={name!r}"
            )


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


def _told(names: Iterable[str], at_most: int = 20) -> str:
    """Column names for an error message."""
    listed = list(names)
    more = f" and {len(listed) - at_most} more" if len(listed) > at_most else ""
    return (", ".join(map(repr, listed[:at_most])) or "no columns at all") + more


def _is_numeric(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype == nw.Boolean)
