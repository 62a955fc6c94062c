"""Formulas of few terms in every target that computes arithmetic, run by its rules; others refuse them by name."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.maps.terms import Factor, Term, Terms
from tests.export import engines
from tests.export.test_onnx_and_duckdb import run_duckdb, run_onnx

NAMES = ["bm25", "ctr", "unused", "freshness"]
TERMS = (
    Term(0.7, (Factor(0, "value"),)),
    Term(0.2, (Factor(1, "above", 0.1),)),
    Term(-0.1, (Factor(0, "value", 8.2), Factor(3, "value", -0.5))),
    Term(3.0, (Factor(3, "below", 2.0),)),
    Term(-0.5, (Factor(1, "log", 0.5),)),
    Term(0.01, (Factor(0, "value", 8.2),) * 2),
    Term(0.0, (Factor(2, "value"),)),
)
FILL = {0: 8.0, 1: 0.25, 3: 1.0}


def model_of(terms, names=NAMES):
    about = {"ranker": "BasisRanker", "parameters": {}, "training": {}}
    return rw.TermsModel.of(terms, n_features=4, feature_names=names, **about)


COMPLETE = model_of(Terms(TERMS, intercept=-1.5))
HOLEY = model_of(Terms((*TERMS, Term(1.5, (Factor(1, "missing"),))), -1.5, {**FILL, 2: 0.0}))


def documents(*, with_missing=False):
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.normal(8, 3, 40), rng.normal(0, 0.5, 40), np.zeros(40), rng.normal(1, 2, 40)])
    x[0] = [8.2, 0.1, 0, 2.0]  # at the knots
    x[1] = 0
    x = x.astype(np.float32).astype(np.float64)
    if with_missing:
        x[rng.random(x.shape) < 0.3] = np.nan
        x[2] = np.nan
    return x


def rows(x):
    return [dict(zip(NAMES, row, strict=True)) for row in x.tolist()]


EXACT = {"vespa": engines.vespa, "python": engines.python, "painless": engines.painless}


@pytest.mark.parametrize("to", [*EXACT, "lucene"])
def test_engines_score_as_the_model(to):
    x, run = documents(), {**EXACT, "lucene": engines.lucene}[to]
    text = rw.export_model(COMPLETE, to)
    np.testing.assert_allclose([run(text, row) for row in rows(x)], COMPLETE.predict(x), rtol=1e-12, atol=1e-12)
    assert "unused" not in text


@pytest.mark.parametrize("to", EXACT)
def test_engines_fill_in_what_is_missing(to):
    x = documents(with_missing=True)
    text = rw.export_model(HOLEY, to)
    np.testing.assert_allclose([EXACT[to](text, row) for row in rows(x)], HOLEY.predict(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", [COMPLETE, HOLEY], ids=["complete", "holey"])
def test_function_queries_of_solr_score_as_the_model(model):
    x = documents(with_missing=model is HOLEY)
    text = rw.export_model(model, "solr-function")
    scores = [engines.solr_function(text, row) for row in rows(x)]
    np.testing.assert_allclose(scores, model.predict(x), rtol=0, atol=1e-5)


def test_python_refuses_what_the_model_refuses():
    text = rw.export_model(COMPLETE, "python")
    with pytest.raises(ValueError, match="feature 'ctr' is missing"):
        engines.python(text, {"bm25": 1.0, "freshness": 1.0})
    filled = engines.python(rw.export_model(HOLEY, "python"), {"bm25": None})
    assert filled == pytest.approx(HOLEY.predict(np.full((1, 4), np.nan))[0])


def nulls_of(x):
    return [[None if np.isnan(value) else value for value in row] for row in x.tolist()]


@pytest.mark.parametrize("model", [COMPLETE, HOLEY], ids=["complete", "holey"])
@pytest.mark.parametrize("nulls", ["model", "zero", "null"])
def test_sqlite_scores_as_the_model(model, nulls):
    x = documents(with_missing=True)
    found = engines.sqlite(rw.export_model(model, "sql", table="docs", nulls=nulls), NAMES, nulls_of(x))
    used = x[:, [0, 1, 3]]
    if nulls == "null":
        assert [score is None for score in found] == np.isnan(used).any(axis=1).tolist()
        known = ~np.isnan(used).any(axis=1)
        found, x = np.array(found, object)[known].astype(float), np.where(np.isnan(x), 0, x)[known]
    elif nulls == "zero" or model is COMPLETE:
        x = np.where(np.isnan(x), 0, x)
    np.testing.assert_allclose(found, model.predict(x), rtol=1e-12, atol=1e-12)


def test_mysql_quotes_names_its_own_way():
    assert "`bm25`" in rw.export_model(COMPLETE, "sql", dialect="mysql")


@pytest.mark.peers
@pytest.mark.parametrize("model", [COMPLETE, HOLEY], ids=["complete", "holey"])
def test_duckdb_scores_as_the_model(model):
    x = documents(with_missing=model is HOLEY)
    found = run_duckdb(rw.export_model(model, "sql"), nulls_of(x), NAMES)
    np.testing.assert_allclose(np.array(found, float), model.predict(x), rtol=1e-12, atol=1e-12)


@pytest.mark.peers
@pytest.mark.parametrize("model", [COMPLETE, HOLEY], ids=["complete", "holey"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-12)])
def test_onnx_scores_as_the_model(model, dtype, tolerance):
    x = documents(with_missing=model is HOLEY)
    scores = run_onnx(rw.export_model(model, "onnx", dtype=dtype), x, NAMES)
    np.testing.assert_allclose(np.ravel(scores), model.predict(x), rtol=0, atol=tolerance)


@pytest.mark.peers
def test_onnx_gives_nan_where_the_model_knows_no_missing_values():
    x = documents(with_missing=True)
    scores = np.ravel(run_onnx(rw.export_model(COMPLETE, "onnx", dtype="float64"), x, NAMES))
    assert (np.isnan(scores) == np.isnan(x[:, [0, 1, 3]]).any(axis=1)).all()


@pytest.mark.parametrize("to", ["solr", "elasticsearch", "opensearch", "ranklib"])
def test_targets_that_only_multiply_refuse_by_name(to):
    message = f"{to} cannot compute products, hinges and logarithms of features: export to vespa, sql, onnx, python"
    with pytest.raises(rw.ParameterError, match=message):
        rw.export_model(COMPLETE, to)


def test_a_lucene_expression_cannot_tell_what_is_missing_and_says_which_defaults_are_needed():
    refused = pytest.raises(rw.ParameterError, match="feature 'ctr' counts by being missing")
    with refused, pytest.warns(UserWarning, match="ctr 0.25"):
        rw.export_model(HOLEY, "lucene")
    filled = model_of(Terms(TERMS[:1], 0.0, {0: 8.0}))
    with pytest.warns(UserWarning, match="bm25 8"):
        rw.export_model(filled, "lucene")


HOSTILE = ["it's", 'say "hi"', "back\\slash", "ünï çødé"]


@pytest.mark.parametrize(("to", "run"), [("painless", engines.painless), ("solr-function", engines.solr_function)])
def test_names_never_become_code(to, run):
    terms = Terms(tuple(Term(1.0 + j, (Factor(j, "value", 0.5),)) for j in range(4)))
    model = model_of(terms, HOSTILE)
    document = dict(zip(HOSTILE, [1.0, 2.0, 3.0, 4.0], strict=True))
    expected = model.predict(np.array([[1.0, 2.0, 3.0, 4.0]]))[0]
    assert run(rw.export_model(model, to), document) == pytest.approx(expected)


@pytest.mark.parametrize("to", ["painless", "solr-function", "lucene"])
def test_names_that_a_target_has_no_place_for_are_refused(to):
    model = model_of(Terms((Term(1.0, (Factor(0, "value"),)),)), ["new\nline", "b", "c", "d"])
    with pytest.raises(rw.ParameterError, match="rename it by the map of features"):
        rw.export_model(model, to)
    assert "renamed" in rw.export_model(model, to, features={"new\nline": "renamed"})


@pytest.mark.parametrize("to", ["painless", "lucene", "solr-function"])
def test_linear_models_are_expressions_too(to):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 4)).astype(np.float32).astype(np.float64)
    queries = rw.Queries(x, rng.integers(0, 3, 40), np.arange(40) % 5, feature_names=NAMES)
    ranker = rw.RegressionRanker(1.0).fit(queries)
    run = {"painless": engines.painless, "lucene": engines.lucene, "solr-function": engines.solr_function}[to]
    text = rw.export_model(ranker, to)
    np.testing.assert_allclose([run(text, row) for row in rows(x)], ranker.predict(x), atol=1e-6)


def test_linear_models_with_missing_values_are_expressions_too():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    x[rng.random(x.shape) < 0.3] = np.nan
    queries = rw.Queries(x, rng.integers(0, 3, 60), np.arange(60) % 5, feature_names=NAMES)
    ranker = rw.RankRLS(1.0).fit(queries)
    text = rw.export_model(ranker, "painless")
    np.testing.assert_allclose([engines.painless(text, row) for row in rows(x)], ranker.predict(queries), atol=1e-12)


def test_a_model_without_terms_cannot_rank():
    with pytest.raises(rw.ParameterError, match="no feature has a weight"):
        rw.export_model(model_of(Terms(())), "sql")
