"""`export_model`: a trained model for the place where it is to rank."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

from rankwright.checks import check_choice
from rankwright.data.normalise import GlobalStandardScaler
from rankwright.data.paths import atomic_path
from rankwright.errors import ParameterError
from rankwright.export.content import Content, Linear, Stumps, check_text
from rankwright.export.elasticsearch import to_elasticsearch
from rankwright.export.engine_defaults import check_weights_suffice
from rankwright.export.forms import content_of
from rankwright.export.kernels import Kernels, kernels_to_onnx, kernels_to_python
from rankwright.export.onnx_file import to_onnx
from rankwright.export.python_file import to_python
from rankwright.export.ranklib import to_ranklib
from rankwright.export.solr import to_solr
from rankwright.export.sql import to_sql
from rankwright.export.tree_engines import trees_to_elasticsearch, trees_to_ranklib, trees_to_solr
from rankwright.export.tree_expressions import trees_to_python, trees_to_sql, trees_to_vespa
from rankwright.export.tree_onnx import trees_to_onnx
from rankwright.export.trees import Trees
from rankwright.export.vespa import to_vespa
from rankwright.models.scorer import Scorer

Writer = Callable[..., str | bytes]


class Target(NamedTuple):
    """Where a model may go: who writes which content, with which parameters of `export_model`, and what it lacks.

    A target computes the kinds of content that it has ``writers`` for, and refuses all others. Writers that do not know
    features ``by_name`` are told which names were ``mapped``. A target that only multiplies must be given what stands
    for missing values: ``default`` says where.
    """

    writers: Mapping[type[Content], Writer]
    takes: tuple[str, ...] = ()
    by_name: bool = True
    has_intercept: bool = True
    default: str | None = None


_plugin = partial(
    Target,
    {Linear: to_elasticsearch, Stumps: to_elasticsearch, Trees: trees_to_elasticsearch},
    ("name", "feature_set"),
    has_intercept=False,
)

TARGETS: dict[str, Target] = {
    "solr": Target(
        {Linear: to_solr, Stumps: to_solr, Trees: trees_to_solr},
        ("name", "store"),
        has_intercept=False,
        default='Solr: "defaultValue" of a FieldValueFeature',
    ),
    "elasticsearch": _plugin(default='Elasticsearch: "missing" of field_value_factor'),
    "opensearch": _plugin(default='OpenSearch: "missing" of field_value_factor'),
    "vespa": Target({Linear: to_vespa, Stumps: to_vespa, Trees: trees_to_vespa}, ("name",), by_name=False),
    "sql": Target({Linear: to_sql, Stumps: to_sql, Trees: trees_to_sql}, ("table", "dialect", "nulls", "query_column")),
    "onnx": Target(
        {Linear: to_onnx, Stumps: to_onnx, Trees: trees_to_onnx, Kernels: kernels_to_onnx}, ("name", "dtype")
    ),
    "ranklib": Target(
        {Linear: to_ranklib, Stumps: to_ranklib, Trees: trees_to_ranklib},
        by_name=False,
        default="RankLib: write it into the file of documents",
    ),
    "python": Target(
        {Linear: to_python, Stumps: to_python, Trees: trees_to_python, Kernels: kernels_to_python}, ("name",)
    ),
}


def export_model(
    model: Scorer | Pipeline,
    to: str,
    *,
    out: str | os.PathLike[str] | None = None,
    name: str | None = None,
    features: Mapping[str, str] | None = None,
    scaler: GlobalStandardScaler | None = None,
    store: str | None = None,
    feature_set: str | None = None,
    table: str | None = None,
    dialect: str | None = None,
    nulls: str | None = None,
    query_column: str | None = None,
    dtype: str | None = None,
) -> str | bytes:
    """A trained model as a search engine, a database or a runtime takes it: text, or bytes for ONNX.

    Only features with a weight are in it. Features without names are f1, f2, …

    Parameters
    ----------
    model : a fitted linear ranker, RankBoost or a ranker of trees, or a model that `load_model` has read
        Or a fitted scikit-learn Pipeline of scalers, SimpleImputer and a linear ranker.
    to : "solr", "elasticsearch", "opensearch", "vespa", "sql", "onnx", "ranklib" or "python"
    out : path, optional
        Write it there too, whole or not at all.
    name : text, "rankwright" by default
        The name of the model or rank profile; SQL and RankLib have none.
    features : mapping, optional
        From names of features to what the target calls them. For Vespa they may be expressions, for RankLib they are
        numbers as text.
    scaler : a fitted GlobalStandardScaler, optional
        What scaled the features that the model was trained on. Engines with normalisers of their own are given it, for
        others it is folded into the weights. A model file that was saved with a scaler has it already.
    store : text, optional
        Solr: the feature store.
    feature_set : text, optional
        Elasticsearch, OpenSearch: put the request that stores the model for this feature set in front.
    table : text, optional
        SQL: the table or alias that the columns belong to.
    dialect : "ansi" (the default) or "mysql"
        SQL: how names are quoted.
    nulls : "model" (the default), "zero" or "null"
        SQL: NULL is what missing values are to the model, and 0 if it knows of none; or always 0; or it makes the score
        NULL.
    query_column : text, optional
        SQL: the column of query ids, for a model that fills in missing values by the mean of their query.
    dtype : "float32" (the default) or "float64"
        ONNX: the type of features and scores.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.Queries([[1.0, 3.0], [0.0, 5.0]], y=[1, 0], feature_names=["bm25", "clicks"])
    >>> print(rw.export_model(rw.RankRLS(1.0).fit(queries), "sql", table="docs").strip())  # doctest: +ELLIPSIS
    (
      0.14...e0 * COALESCE("docs"."bm25", 0)
      + -0.28...e0 * COALESCE("docs"."clicks", 0)
    )
    """
    check_choice("to", to, TARGETS)
    target = TARGETS[to]
    options = _given(
        to,
        name=name,
        store=store,
        feature_set=feature_set,
        table=table,
        dialect=dialect,
        nulls=nulls,
        query_column=query_column,
        dtype=dtype,
    )
    if "name" in target.takes:
        options["name"] = check_text("rankwright" if name is None else name, "name")
    content = content_of(model, scaler, features)
    write = _writer(content, to)
    if target.default is not None and isinstance(content, Linear):
        check_weights_suffice(content, to, target.default)
    if not target.by_name:
        options["mapped"] = frozenset((features or {}).values())
    written = write(content, **options)
    if not target.has_intercept and isinstance(content, Linear):
        _tell_of_intercept(content, to)
    if out is not None:
        with atomic_path(out) as temporary:
            temporary.write_bytes(written.encode() if isinstance(written, str) else written)
    return written


def takers_of(parameter: str) -> tuple[str, ...]:
    """The targets that take a parameter."""
    return tuple(name for name, target in TARGETS.items() if parameter in target.takes)


def _writer(content: Content, to: str) -> Writer:
    """Who writes a content for a target; an error names the targets that can compute it if this one cannot."""
    kind = type(content)
    if kind in TARGETS[to].writers:
        return TARGETS[to].writers[kind]
    *others, last = [name for name, target in TARGETS.items() if kind in target.writers]
    able = f"{', '.join(others)} or {last}" if others else last
    raise ParameterError(f"{to} cannot compute {content.computes}: export to {able}")


def _given(to: str, **options: Any) -> dict[str, Any]:
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in TARGETS[to].takes:
            raise ParameterError(f"{option} is for {', '.join(takers_of(option))}, not for {to}")
    return given


def _tell_of_intercept(content: Linear, to: str) -> None:
    if content.intercept:
        warnings.warn(
            f"linear models of {to} have no intercept: all scores will be lower by {content.intercept:g}, "
            "in the same order",
            stacklevel=3,
        )
