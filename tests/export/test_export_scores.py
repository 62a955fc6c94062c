"""Every exported model is run, by its engine or by the engine's rules, and scores as the model does."""

import numpy as np
import pytest

import rankwright as rw
from tests.export import engines
from tests.export.models import linear, stumps

NAMES = (
    "bm25(title)",
    "bm25(body)",
    "attribute(popularity)",
    "nativeRank",
    "attribute(age)",
    "fieldMatch(title).proximity",
)
RANKERS = {
    "dense": lambda: rw.RankRLS(0.5),
    "sparse": lambda: rw.GreedyRankRLS(n_features=2),
    "intercept": lambda: rw.RegressionRanker(2.0),
    "stumps": lambda: rw.RankBoost(40),
}
# The engine, what it computes in, and whether its linear models have an intercept.
ENGINES = {
    "elasticsearch": (engines.elasticsearch, 1e-5, False),
    "opensearch": (engines.elasticsearch, 1e-5, False),
    "solr": (engines.solr, 1e-5, False),
    "vespa": (engines.vespa, 1e-12, True),
    "python": (engines.python, 1e-12, True),
}


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    """Features of float32, as the engines have them, on scales that differ."""
    drawn = rw.datasets.make_queries(30, 8, 6, n_informative=3, n_correlated=2, seed=5, dtype=np.float32).queries
    x = drawn.X * np.array([1, 30, 0.01, 1, 5, 1], np.float32) + np.array([0, 100, 0, -2, 50, 0], np.float32)
    return rw.Queries(x, drawn.y, drawn.qid, feature_names=NAMES)


@pytest.fixture(params=RANKERS, name="ranker")
def fitted_ranker(request, queries):
    return RANKERS[request.param]().fit(queries)


@pytest.fixture(params=["with mean", "without mean"], name="scaled")
def ranker_behind_scaler(request, queries):
    """A scaler, a ranker trained behind it, and the scores of the queries."""
    scaler = rw.GlobalStandardScaler(with_mean=request.param == "with mean").fit(queries.X.astype(np.float64))
    standardised = scaler.transform(queries.X.astype(np.float64))
    ranker = rw.RankSVM(1.0).fit(standardised, queries.y, queries.qid)
    ranker.feature_names_in_ = np.array(NAMES, dtype=object)
    return scaler, ranker, standardised @ ranker.coef_


def documents_of(queries):
    return [dict(zip(NAMES, row, strict=True)) for row in queries.X.astype(np.float64).tolist()]


def assert_same(scores, expected, queries, tolerance):
    """The same scores, and so the same ranking: of two documents of a query, the same is above."""
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    for documents in np.split(np.arange(len(expected)), np.flatnonzero(np.diff(queries.grouping.codes)) + 1):
        own, theirs = expected[documents], np.asarray(scores)[documents]
        assert (np.sign(own[:, None] - own) == np.sign(theirs[:, None] - theirs)).all()


@pytest.mark.parametrize("target", ENGINES)
@pytest.mark.filterwarnings("ignore:linear models of")
def test_engines_score_as_the_model(target, ranker, queries):
    run, tolerance, has_intercept = ENGINES[target]
    text = rw.export_model(ranker, target)
    scores = [run(text, document) for document in documents_of(queries)]
    shift = 0.0 if has_intercept else getattr(ranker, "intercept_", 0.0)
    assert_same(scores, ranker.predict(queries) - shift, queries, tolerance)


@pytest.mark.parametrize("target", ENGINES)
def test_engines_score_features_as_they_are_of_a_model_behind_a_scaler(target, scaled, queries):
    scaler, ranker, expected = scaled
    run, tolerance, _ = ENGINES[target]
    text = rw.export_model(ranker, target, scaler=scaler)
    scores = [run(text, document) for document in documents_of(queries)]
    assert_same(scores, expected, queries, tolerance)


def test_ranklib_scores_as_the_model(ranker, queries):
    text = rw.export_model(ranker, "ranklib")
    assert_same([engines.ranklib(text, row) for row in queries.X], ranker.predict(queries), queries, 1e-12)


def test_ranklib_has_the_scaler_in_its_weights(scaled, queries):
    scaler, ranker, expected = scaled
    text = rw.export_model(ranker, "ranklib", scaler=scaler)
    assert_same([engines.ranklib(text, row) for row in queries.X], expected, queries, 1e-11)


@pytest.mark.parametrize("nulls", ["zero", "null"])
@pytest.mark.parametrize("dialect", ["ansi", "mysql"])  # SQLite takes either
@pytest.mark.parametrize("table", [None, "docs"])
def test_sqlite_scores_as_the_model(ranker, queries, nulls, dialect, table):
    expression = rw.export_model(ranker, "sql", nulls=nulls, dialect=dialect, table=table)
    rows = queries.X.astype(np.float64).tolist()
    assert_same(engines.sqlite(expression, NAMES, rows), ranker.predict(queries), queries, 1e-12)


def test_sqlite_has_the_scaler_in_its_weights(scaled, queries):
    scaler, ranker, expected = scaled
    expression = rw.export_model(ranker, "sql", scaler=scaler)
    rows = queries.X.astype(np.float64).tolist()
    assert_same(engines.sqlite(expression, NAMES, rows), expected, queries, 1e-11)


# What is left out


@pytest.mark.parametrize("target", ["solr", "elasticsearch", "vespa", "sql", "python"])
def test_only_features_with_a_weight_are_named(target, queries):
    ranker = rw.GreedyRankRLS(n_features=2).fit(queries)
    text = rw.export_model(ranker, target)
    used = [NAMES[column] for column in np.flatnonzero(ranker.coef_)]
    assert len(used) == 2
    assert [name for name in NAMES if name in text] == used


def test_a_weight_of_minus_zero_is_none():
    model = linear([1.0, -0.0, 0.0])
    assert rw.export_model(model, "ranklib").splitlines()[-1] == "1:1.0 0:0.0"


@pytest.mark.parametrize("target", ["solr", "elasticsearch", "opensearch"])
def test_an_intercept_that_is_left_out_is_told(target, queries):
    ranker = rw.RegressionRanker().fit(queries)
    with pytest.warns(
        UserWarning, match=f"of {target} have no intercept: all scores will be lower by {ranker.intercept_:g}"
    ):
        rw.export_model(ranker, target)


# Nulls and odd values


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (linear([2.0, 3.0], intercept=1.0), [4.0, 11.0, 6.0]),
        (stumps([0, 0, 1], [-1.0, 0.5, 0.5], [2.0, 3.0, 5.0]), [7.0, 5.0, 10.0]),
    ],
    ids=["linear", "stumps"],
)
def test_nulls_are_zero_or_make_the_score_null(model, expected):
    rows = [(None, 1.0), (5.0, None), (1.0, 1.0)]
    assert engines.sqlite(rw.export_model(model, "sql"), ["f1", "f2"], rows) == expected
    nulls = rw.export_model(model, "sql", nulls="null")
    assert engines.sqlite(nulls, ["f1", "f2"], rows) == [None, None, expected[-1]]
    assert engines.sqlite(nulls, ["f1", "f2"], [(-2.0, 0.0)]) == model.predict([[-2.0, 0.0]]).tolist()


def test_a_column_that_is_not_there_is_an_error_if_the_table_is_named():
    import sqlite3

    expression = rw.export_model(linear([2.0, 3.0]), "sql", table="docs")
    with pytest.raises(sqlite3.OperationalError, match=r"no such column: docs\.f2"):
        engines.sqlite(expression, ["f1"], [(1.0,)])


def test_integers_are_multiplied_as_numbers_with_a_fraction():
    assert engines.sqlite(rw.export_model(linear([0.5, 2.0]), "sql"), ["f1", "f2"], [(3, 2**53)]) == [2**54 + 1.5]


@pytest.mark.parametrize("kind", ["linear", "stumps"])
def test_as_many_features_as_sqlite_has_columns_are_not_nested_too_deep(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1900))
    names = [f"f{number}" for number in range(1, 1901)]
    model = linear(rng.normal(size=1900)) if kind == "linear" else stumps(range(1900), rng.normal(size=1900))
    scores = engines.sqlite(rw.export_model(model, "sql"), names, x.tolist())
    np.testing.assert_allclose(scores, model.predict(x), rtol=1e-9)
    np.testing.assert_allclose(
        [engines.vespa(rw.export_model(model, "vespa"), dict(zip(names, row, strict=True))) for row in x[:3]],
        model.predict(x[:3]),
        rtol=1e-9,
    )


def test_a_thousand_thresholds_of_one_feature():
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=1500)
    model, x = stumps([0] * 1500, thresholds), rng.normal(size=(50, 1))
    scores = engines.sqlite(rw.export_model(model, "sql"), ["f1"], x.tolist())
    np.testing.assert_allclose(scores, model.predict(x), rtol=1e-9)
    text = rw.export_model(model, "python")
    np.testing.assert_allclose([engines.python(text, {"f1": value}) for (value,) in x], model.predict(x), rtol=1e-9)


@pytest.mark.parametrize("target", ["elasticsearch", "solr", "vespa", "python", "ranklib", "sql"])
def test_a_value_at_a_threshold_is_not_above_it(target):
    thresholds = np.array([0.0, 0.1, 1 / 3, 1e-7, -2.5, 1e6, 123456.789]).astype(np.float32)
    for threshold in thresholds:
        values = [np.nextafter(threshold, np.float32(-np.inf)), threshold, np.nextafter(threshold, np.float32(np.inf))]
        if target == "solr" and 0 < threshold < 1e-6:  # it adds 1e-6, and the sum is spaced wider than here
            values[-1] = np.float32(threshold * 1.001)
        # Between two numbers of float32, too, as the thresholds of features of float64 are.
        for exact in (float(threshold), (float(threshold) + float(values[2])) / 2):
            text = rw.export_model(stumps([0], [exact]), target)
            if target == "sql":
                scores = engines.sqlite(text, ["f1"], [(float(value),) for value in values])
            elif target == "ranklib":
                scores = [engines.ranklib(text, [value]) for value in values]
            else:
                scores = [getattr(engines, target)(text, {"f1": float(value)}) for value in values]
            assert scores == [0, 0, 1], (threshold, exact)


def test_stumps_of_one_threshold_are_one(queries):
    model = stumps([1, 0, 1, 2, 2], [0.5, 1.0, 0.5, 2.0, 2.0], [1.0, 2.0, 4.0, 3.0, -3.0], n_features=3)
    assert rw.export_model(model, "ranklib").splitlines()[-1] == "1:1.0:2.0 2:0.5:5.0"
