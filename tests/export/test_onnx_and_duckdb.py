"""Models run by ONNX Runtime and DuckDB themselves."""

import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.preparation.formula import Formula
from rankwright.preparation.transforms import Log, Quantile
from tests.export.models import filled, linear, of_formula, stumps
from tests.export.plain_formula import TRANSFORMS, by_hand, holey_documents, nulls

pytestmark = pytest.mark.peers

NAMES = ("bm25", 'the "title"', "größe", "select", "a b", "clicks")


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    drawn = rw.datasets.make_queries(40, 8, 6, n_informative=3, n_correlated=2, seed=7, dtype=np.float32).queries
    x = drawn.X * np.array([1, 30, 0.01, 1, 5, 1], np.float32) + np.array([0, 100, 0, -2, 50, 0], np.float32)
    return rw.Queries(x, drawn.y, drawn.qid, feature_names=NAMES)


@pytest.fixture(
    params=[rw.RankRLS(0.5), rw.GreedyRankRLS(n_features=2), rw.RegressionRanker(2.0), rw.RankBoost(40)],
    ids=lambda ranker: type(ranker).__name__,
    name="ranker",
)
def fitted_ranker(request, queries):
    return request.param.fit(queries)


def run_onnx(content, x, names=NAMES):
    """Scores of rows of all features: those that the model names are picked."""
    import onnx
    import onnxruntime

    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    used = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    assert session.get_inputs()[0].shape == ["documents", len(used)]
    dtype = np.float32 if session.get_inputs()[0].type == "tensor(float)" else np.float64
    columns = [names.index(name) for name in used]
    (scores,) = session.run(["score"], {"features": np.ascontiguousarray(x[:, columns], dtype=dtype)})
    assert scores.dtype == dtype
    assert scores.shape == (len(x), 1)
    return scores[:, 0]


def run_duckdb(expression, x, names=NAMES, kind="DOUBLE"):
    import duckdb

    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    base = duckdb.connect()
    base.execute(f"CREATE TABLE docs (place INTEGER, {', '.join(f'{name} {kind}' for name in quoted)})")
    rows = [(place, *row) for place, row in enumerate(x)]
    base.executemany(f"INSERT INTO docs VALUES ({', '.join('?' * (len(names) + 1))})", rows)
    return [row[0] for row in base.execute(f"SELECT {expression} FROM docs ORDER BY place").fetchall()]


def assert_same(scores, expected, queries, tolerance):
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    for documents in np.split(np.arange(len(expected)), np.flatnonzero(np.diff(queries.grouping.codes)) + 1):
        own, theirs = expected[documents], np.asarray(scores)[documents]
        assert (np.sign(own[:, None] - own) == np.sign(theirs[:, None] - theirs)).all()


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-12)])
def test_onnx_scores_as_the_model(ranker, queries, dtype, tolerance):
    scores = run_onnx(rw.export_model(ranker, "onnx", dtype=dtype), queries.X)
    assert_same(scores, ranker.predict(queries), queries, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-11)])
@pytest.mark.parametrize("with_mean", [True, False])
def test_onnx_has_the_scaler(queries, dtype, tolerance, with_mean):
    x = queries.X.astype(np.float64)
    scaler = rw.GlobalStandardScaler(with_mean=with_mean).fit(x)
    ranker = rw.RankSVM(1.0).fit(rw.normalised(rw.Queries(x, queries.y, queries.qid, feature_names=NAMES), scaler))
    scores = run_onnx(rw.export_model(ranker, "onnx", dtype=dtype, scaler=scaler), queries.X)
    assert_same(scores, scaler.transform(x) @ ranker.coef_, queries, tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_value_at_a_threshold_is_not_above_it(dtype):
    import onnxruntime

    for exact in (0.0, 0.1, 1 / 3, 1e-7, -2.5, 123456.789):
        content = rw.export_model(stumps([0], [exact]), "onnx", dtype=dtype)
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        nearest = np.dtype(dtype).type(exact)
        values = np.array([np.nextafter(nearest, -np.inf), nearest, np.nextafter(nearest, np.inf), np.nan], dtype)
        (scores,) = session.run(["score"], {"features": values[:, None].astype(dtype)})
        assert scores[:, 0].tolist() == (values.astype(np.float64) > exact).tolist()


def test_no_documents_have_no_scores():
    assert run_onnx(rw.export_model(linear([1.0, 2.0], names=NAMES[:2]), "onnx"), np.empty((0, 6))).shape == (0,)


def test_onnx_in_float32_refuses_what_it_cannot_hold():
    with pytest.raises(rw.ParameterError, match="too large for float32"):
        rw.export_model(linear([1e39]), "onnx")
    model = linear([1e39, 1.0], names=NAMES[:2])
    assert run_onnx(rw.export_model(model, "onnx", dtype="float64"), np.ones((1, 6))) == [1e39]


@pytest.mark.parametrize("nulls", ["zero", "null"])
@pytest.mark.parametrize("table", [None, "docs"])
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_duckdb_scores_as_the_model(ranker, queries, nulls, table, kind):
    expression = rw.export_model(ranker, "sql", nulls=nulls, table=table)
    scores = run_duckdb(expression, queries.X.astype(np.float64).tolist(), kind=kind)
    assert_same(scores, ranker.predict(queries), queries, 1e-12)


def test_duckdb_takes_integers_and_decimal_fractions():
    expression = rw.export_model(linear([1 / 3, 1e-9]), "sql")
    for kind in ("BIGINT", "DECIMAL(18, 3)"):
        (score,) = run_duckdb(expression, [(7, 123456789012)], ["f1", "f2"], kind)
        assert score == pytest.approx(7 / 3 + 123.456789012, rel=1e-14)


@pytest.mark.parametrize("kind", ["linear", "stumps"])
def test_duckdb_takes_nulls_as_sqlite_does(kind):
    model = linear([2.0, 3.0]) if kind == "linear" else stumps([0, 1], [-1.0, 0.5], [2.0, 3.0])
    rows = [(None, 1.0), (5.0, None), (1.0, 1.0)]
    expected = model.predict([[0.0, 1.0], [5.0, 0.0], [1.0, 1.0]]).tolist()
    assert run_duckdb(rw.export_model(model, "sql"), rows, ["f1", "f2"]) == expected
    nulls = run_duckdb(rw.export_model(model, "sql", nulls="null"), rows, ["f1", "f2"])
    assert nulls == [None, None, expected[-1]]


def test_duckdb_is_not_nested_too_deep():
    rng = np.random.default_rng(0)
    names, x = [f"f{number}" for number in range(1, 1501)], rng.normal(size=(2, 1500))
    model = linear(rng.normal(size=1500))
    scores = run_duckdb(rw.export_model(model, "sql"), x.tolist(), names)
    np.testing.assert_allclose(scores, model.predict(x), rtol=1e-9)


# Missing values, logarithms and quantiles


def holey_model(transforms, *, by_query=False):
    weights, values, scores = [0.7, -0.4, 1.3, 0.0, 0.25], [0.2, 0.3, -1.0, 5.0, 0.125], [0.0, 0.75, -0.5, 2.0, 0.0]
    model = filled(weights, values, scores, by_query=by_query, intercept=0.5, transforms=transforms)
    model.feature_names_in_ = np.array(NAMES[:5], dtype=object)
    return model


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("transforms", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("by_query", [False, True])
def test_onnx_fills_in_and_indicates(transforms, by_query, dtype, tolerance):
    (x, qid), model = holey_documents(), holey_model(transforms, by_query=by_query)
    expected = by_hand(model.formula(), x, qid)
    content = rw.export_model(model, "onnx", dtype=dtype)
    atol = tolerance * np.ptp(expected)
    if not by_query:
        np.testing.assert_allclose(run_onnx(content, x), expected, rtol=0, atol=atol)
        return
    for query in set(qid):  # the documents of one query at a time
        rows = qid == query
        np.testing.assert_allclose(run_onnx(content, x[rows]), expected[rows], rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("transforms", TRANSFORMS.values(), ids=TRANSFORMS)
def test_onnx_gives_nan_where_the_model_knows_no_missing_values(transforms, dtype):
    model = of_formula(Formula(np.ones(5), 0.0, transforms), names=NAMES[:5])
    x = np.ones((6, 5))
    x[range(5), range(5)] = np.nan
    scores = run_onnx(rw.export_model(model, "onnx", dtype=dtype), x)
    assert np.isnan(scores).tolist() == [True] * 5 + [False]
    assert scores[5] == pytest.approx(model.predict(rw.Queries(x[5:], [0]))[0], rel=1e-6)


def test_onnx_in_float32_refuses_numbers_of_missing_values_that_it_cannot_hold():
    for model in (filled([1e39], [0.0]), filled([1.0], [1e39]), filled([1.0], [0.0], [-1e39])):
        with pytest.raises(rw.ParameterError, match=r"1e\+39.* too large for float32, in which this target computes"):
            rw.export_model(model, "onnx")
        rw.export_model(model, "onnx", dtype="float64")
    with pytest.raises(rw.ParameterError, match="the weight of feature 'f1' is 1e-41, which is too small for float32"):
        rw.export_model(filled([1e-41], [0.0]), "onnx")


def test_a_wide_onnx_graph_is_small_without_transforms():
    import onnx

    model = filled(*np.random.default_rng(0).normal(size=(3, 2000)))
    assert len(onnx.load_from_string(rw.export_model(model, "onnx")).graph.node) < 10


@pytest.mark.parametrize("transforms", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("by_query", [False, True])
@pytest.mark.parametrize("table", [None, "docs"])
def test_duckdb_fills_in_and_indicates(transforms, by_query, table):
    (x, qid), model = holey_documents(), holey_model(transforms, by_query=by_query)
    codes = np.unique(qid, return_inverse=True)[1]
    rows = np.column_stack([codes, nulls(x)]).tolist()
    expression = rw.export_model(model, "sql", table=table, query_column='the "query"' if by_query else None)
    scores = run_duckdb(expression, rows, ['the "query"', *NAMES[:5]])
    np.testing.assert_allclose(scores, by_hand(model.formula(), x, qid), rtol=1e-12)


@pytest.mark.parametrize("kind", ["BIGINT", "DECIMAL(18, 3)", "FLOAT"])
def test_duckdb_takes_logarithms_and_quantiles_of_any_number(kind):
    model = filled([1.0, 2.0], [0.5, 0.25], transforms={0: Log(4.0), 1: Quantile((0.0, 2.0, 8.0), (0.0, 0.5, 1.0))})
    expression = rw.export_model(model, "sql")
    scores = run_duckdb(expression, [(3, 5), (-3, None), (None, 9)], ["f1", "f2"], kind)
    assert scores == pytest.approx([np.log(1.75) + 1.5, 0.5 - np.log(1.75), 2.5], rel=1e-14)


@pytest.mark.parametrize("by_query", [False, True])
def test_wide_models_with_missing_values_are_not_nested_too_deep_in_duckdb(by_query):
    rng = np.random.default_rng(0)
    n = 1200
    x = rng.normal(size=(4, n))
    x[rng.random(x.shape) < 0.4] = np.nan
    model, qid = filled(*rng.normal(size=(3, n)), by_query=by_query), np.zeros(4)
    rows = np.column_stack([qid, nulls(x)]).tolist()
    expression = rw.export_model(model, "sql", query_column="qid" if by_query else None)
    scores = run_duckdb(expression, rows, ["qid", *(f"f{number}" for number in range(1, n + 1))])
    np.testing.assert_allclose(scores, by_hand(model.formula(), x, qid), rtol=1e-9, atol=1e-9)
