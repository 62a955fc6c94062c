"""Exported trees score as the model does, by the rules of each target."""

import sqlite3

import numpy as np
import pytest

import rankwright as rw
from rankwright.export import TARGETS
from rankwright.export.trees import Trees
from tests.export import engines
from tests.trees import made

THRESHOLDS = (-1.5, -0.5, 0.1, 0.25, 1.0)
MODELS = {"lightgbm": made.lightgbm_model, "xgboost": made.xgboost_model}
NAMES = ["bm25", "age", "clicks", "length"]


def model_of(library, *, types=("none", "nan"), seed=2):
    return MODELS[library](made.trees(seed, 6, 9, thresholds=THRESHOLDS, types=types), feature_names=NAMES)


def documents(missing=0.15, kind=np.float64):
    return made.documents(4, thresholds=THRESHOLDS, missing=missing).astype(kind)


def named(row):
    return dict(zip(NAMES, row.tolist(), strict=True))


def assert_same_order_of_leaves(got, wanted):
    """Sums of the same leaves differ by rounding only; a document that takes another way differs by far more."""
    np.testing.assert_allclose(got, wanted, atol=5e-6)


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("to", ["elasticsearch", "solr"])
def test_search_engines_go_the_same_way_where_nothing_is_missing(library, to):
    model, x = model_of(library, types=("none",)), documents(missing=0, kind=np.float32)
    if to == "solr":  # around 0 its thresholds are no finer than 1e-7 or so
        x = np.where(np.abs(x) < 0.3, np.float32(0.7), x)
    with np.errstate(over="ignore"):
        text = _quietly(model, to)
    got = [getattr(engines, to)(text, named(row)) for row in x]
    assert_same_order_of_leaves(got, model.predict(x))


@pytest.mark.parametrize("library", MODELS)
def test_ranklib(library):
    model, x = model_of(library, types=("none",)), documents(missing=0, kind=np.float32)
    text = _quietly(model, "ranklib")
    assert_same_order_of_leaves([engines.ranklib(text, row) for row in x], model.predict(x))


def _quietly(model, to, **options):
    """What they lack is told in another test."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rw.export_model(model, to, **options)


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("types", [("none", "nan"), ("zero", "nan", "none")])
def test_vespa(library, types):
    model, x = model_of(library, types=types), documents()
    text = rw.export_model(model, "vespa")
    assert_same_order_of_leaves([engines.vespa(text, named(row)) for row in x], model.predict(x))


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("types", [("none", "nan"), ("zero", "nan", "none")])
def test_python(library, types):
    model, x = model_of(library, types=types), documents()
    text = rw.export_model(model, "python")
    assert_same_order_of_leaves([engines.python(text, named(row)) for row in x], model.predict(x))
    lacking = dict.fromkeys(NAMES[1:], 1.0)
    assert engines.python(text, lacking) == pytest.approx(model.predict([[np.nan, 1, 1, 1]])[0], abs=5e-6)
    assert engines.python(text, lacking | {"bm25": None}) == engines.python(text, lacking)


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("types", [("none", "nan"), ("zero", "nan", "none")])
def test_sql(library, types):
    model, x = model_of(library, types=types), documents()
    rows = [[None if np.isnan(value) else value for value in row] for row in x.tolist()]
    assert_same_order_of_leaves(engines.sqlite(rw.export_model(model, "sql"), NAMES, rows), model.predict(x))
    filled = engines.sqlite(rw.export_model(model, "sql", nulls="zero"), NAMES, rows)
    assert_same_order_of_leaves(filled, model.predict(np.nan_to_num(x)))
    strict = engines.sqlite(rw.export_model(model, "sql", nulls="null"), NAMES, rows)
    assert [score is None for score in strict] == np.isnan(x).any(axis=1).tolist()
    mysql = rw.export_model(model, "sql", dialect="mysql", table="docs")
    base = sqlite3.connect(":memory:")  # takes names in backticks as well
    base.execute("CREATE TABLE docs (bm25 REAL, age REAL, clicks REAL, length REAL)")
    base.executemany("INSERT INTO docs VALUES (?, ?, ?, ?)", rows)
    got = [row[0] for row in base.execute(f"SELECT {mysql} FROM docs ORDER BY rowid")]
    assert_same_order_of_leaves(got, model.predict(x))


@pytest.mark.peers
@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("types", [("none", "nan"), ("zero", "nan", "none")])
def test_onnx(library, dtype, types):
    import onnxruntime

    model, x = model_of(library, types=types), documents(kind=dtype)
    session = onnxruntime.InferenceSession(rw.export_model(model, "onnx", dtype=dtype))
    assert_same_order_of_leaves(session.run(["score"], {"features": x})[0].ravel(), model.predict(x))


@pytest.mark.peers
@pytest.mark.parametrize("library", MODELS)
def test_duckdb(library):
    import duckdb

    model, x = model_of(library), documents()
    base = duckdb.connect()
    base.execute(f"CREATE TABLE docs ({', '.join(f'{name} DOUBLE' for name in NAMES)})")
    base.executemany(
        "INSERT INTO docs VALUES (?, ?, ?, ?)",
        [[None if value != value else value for value in row] for row in x.tolist()],
    )
    got = [row[0] for row in base.execute(f"SELECT {rw.export_model(model, 'sql')} FROM docs").fetchall()]
    assert_same_order_of_leaves(got, model.predict(x))


@pytest.mark.parametrize("to", [to for to, target in TARGETS.items() if to != "onnx" and Trees in target.writers])
def test_a_deep_tree_is_written(to):
    node = made.Node(value=0.5, cover=1)
    for depth in range(60 if to == "vespa" else 240):  # reading Vespa's conditions takes Python several calls each
        leaf = made.Node(value=float(depth), cover=1)
        node = made.Node(depth % 4, depth / 7, "none", False, leaf, node, cover=depth + 2)
    model = made.lightgbm_model([node], feature_names=NAMES)
    x = np.random.default_rng(0).uniform(0, 40, (20, 4)).astype(np.float32)
    text = _quietly(model, to)
    if to == "sql":
        got = engines.sqlite(text, NAMES, x.tolist())
    else:
        score = getattr(engines, {"opensearch": "elasticsearch"}.get(to, to))
        got = [score(text, row if to == "ranklib" else named(row)) for row in x]
    assert_same_order_of_leaves(got, model.predict(x))


@pytest.mark.parametrize("to", ["elasticsearch", "opensearch", "solr", "ranklib"])
def test_engines_without_missing_values_say_so(to):
    with pytest.warns(UserWarning, match="no place for missing values, which count as 0 there"):
        rw.export_model(model_of("xgboost"), to)
    with pytest.raises(rw.ParameterError, match="cannot send a feature that is 0 where missing values go"):
        rw.export_model(model_of("lightgbm", types=("zero",)), to)


def test_what_has_no_feature_or_no_place_is_refused():
    with pytest.raises(rw.ParameterError, match="no feature has a weight"):
        rw.export_model(made.lightgbm_model(made.trees(0, 2, 1)), "python")
    with pytest.raises(rw.ParameterError, match="query_column is for models"):
        rw.export_model(model_of("lightgbm"), "sql", query_column="qid")


def test_a_target_that_lacks_a_writer_names_those_that_have_one(monkeypatch):
    from rankwright.export import Trees

    lacking = TARGETS["solr"]._replace(writers={})
    monkeypatch.setitem(TARGETS, "solr", lacking)
    with pytest.raises(
        rw.ParameterError, match=r"solr cannot compute sums of trees: export to elasticsearch, .* or python"
    ):
        rw.export_model(model_of("lightgbm"), "solr")
    for name in TARGETS.keys() - {"python"}:
        writers = {kind: writer for kind, writer in TARGETS[name].writers.items() if kind is not Trees}
        monkeypatch.setitem(TARGETS, name, TARGETS[name]._replace(writers=writers))
    with pytest.raises(rw.ParameterError, match=r"sql cannot compute sums of trees: export to python$"):
        rw.export_model(model_of("lightgbm"), "sql")
