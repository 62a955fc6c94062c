"""Models with missing values, logarithms and quantiles, run by each target, against a plain loop over the formula."""

import math
import re

import numpy as np
import pytest

import rankwright as rw
from rankwright.models.prepared import model_of_features
from rankwright.preparation.formula import Formula
from rankwright.preparation.preparation import prepare
from rankwright.preparation.transforms import Log, Quantile
from tests.export import engines
from tests.export.models import filled, of_formula
from tests.export.plain_formula import TRANSFORMS, by_hand, holey_documents, nulls

NAMES = ("bm25(title)", "attribute(clicks)", "attribute(age)", "nativeRank", "attribute(size)")


def model(transform="none", *, by_query=False, intercept=0.5, names=NAMES):
    """The weight of the last feature but one is 0: it counts only by being missing."""
    weights, values, scores = [0.7, -0.4, 1.3, 0.0, 0.25], [0.2, 0.3, -1.0, 5.0, 0.125], [0.0, 0.75, -0.5, 2.0, 0.0]
    transforms = TRANSFORMS[transform]
    return filled(weights, values, scores, by_query=by_query, intercept=intercept, transforms=transforms, names=names)


def sql_rows(x, qid):
    return [(str(query), *row) for query, row in zip(qid, nulls(x), strict=True)]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("by_query", [False, True])
def test_the_model_scores_as_the_loop(transform, by_query):
    (x, qid), scorer = holey_documents(), model(transform, by_query=by_query)
    queries = rw.Queries(x, np.zeros(len(x)), qid)
    np.testing.assert_allclose(scorer.predict(queries), by_hand(scorer.formula(), x, qid), rtol=1e-12)


# SQL


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("by_query", [False, True])
@pytest.mark.parametrize("dialect", ["ansi", "mysql"])  # SQLite takes either
@pytest.mark.parametrize("table", [None, "docs"])
def test_sqlite_fills_in_and_indicates(transform, by_query, dialect, table):
    (x, qid), scorer = holey_documents(), model(transform, by_query=by_query)
    query_column = "qid" if by_query else None
    expression = rw.export_model(scorer, "sql", dialect=dialect, table=table, query_column=query_column)
    scores = engines.sqlite(expression, ["qid", *NAMES], sql_rows(x, qid), n_texts=1)
    np.testing.assert_allclose(scores, by_hand(scorer.formula(), x, qid), rtol=1e-12)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("by_query", [False, True])
def test_nulls_may_always_be_zero_or_make_the_score_null(transform, by_query):
    (x, qid), scorer = holey_documents(), model(transform, by_query=by_query)
    rows, zeros = sql_rows(x, qid), np.nan_to_num(x)
    expected = by_hand(scorer.formula(), zeros, qid)
    scores = engines.sqlite(rw.export_model(scorer, "sql", nulls="zero"), ["qid", *NAMES], rows, n_texts=1)
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    scores = engines.sqlite(rw.export_model(scorer, "sql", nulls="null"), ["qid", *NAMES], rows, n_texts=1)
    lacks = np.isnan(x[:, [0, 1, 2, 4]]).any(axis=1)  # the other feature has no weight
    assert [score is None for score in scores] == lacks.tolist()
    np.testing.assert_allclose([score for score in scores if score is not None], expected[~lacks], rtol=1e-12)


def test_a_model_without_weights_is_zero_if_nulls_are():
    scorer = filled([0.0], [1.0], [2.0])
    for nulls_are, expected in (("model", [2.0, 0.0]), ("zero", [0.0, 0.0]), ("null", [0.0, 0.0])):
        assert engines.sqlite(rw.export_model(scorer, "sql", nulls=nulls_are), ["f1"], [(None,), (3.0,)]) == expected


@pytest.mark.parametrize("name", ['q"; DROP TABLE docs; --', "query id", "ORDER", "größe", "a`b"])
@pytest.mark.parametrize("dialect", ["ansi", "mysql"])
def test_any_column_may_hold_the_query_ids(name, dialect):
    (x, qid), scorer = holey_documents(), model(by_query=True)
    expression = rw.export_model(scorer, "sql", dialect=dialect, query_column=name, table="docs")
    scores = engines.sqlite(expression, [name, *NAMES], sql_rows(x, qid), n_texts=1)
    np.testing.assert_allclose(scores, by_hand(scorer.formula(), x, qid), rtol=1e-12)


def test_query_columns_that_cannot_be():
    scorer = model(by_query=True)
    with pytest.raises(rw.ParameterError, match="name the column of query ids by query_column"):
        rw.export_model(scorer, "sql")
    for name, told in (("", "query_column must be a text"), (3, "query_column must be a text"), ("a\0", "zero bytes")):
        with pytest.raises(rw.ParameterError, match=told):
            rw.export_model(scorer, "sql", query_column=name)
    with pytest.raises(rw.ParameterError, match="query_column is for sql, not for python"):
        rw.export_model(scorer, "python", query_column="qid")
    with pytest.raises(rw.ParameterError, match="nulls must be one of 'model', 'zero', 'null', not 'skip'"):
        rw.export_model(scorer, "sql", nulls="skip")


def test_integers_are_divided_as_numbers_with_a_fraction():
    scorer = filled([1.0], [0.0], transforms={0: Log(4.0)})
    (score,) = engines.sqlite(rw.export_model(scorer, "sql"), ["f1"], [(3,)], n_texts=0)
    assert score == pytest.approx(math.log(1.75), rel=1e-15)


@pytest.mark.parametrize("transform", ["none", "log", "quantile"])
@pytest.mark.parametrize("by_query", [False, True])
def test_wide_models_are_not_nested_too_deep(transform, by_query):
    rng = np.random.default_rng(0)
    n = 1900
    x = rng.normal(size=(12, n))
    x[rng.random(x.shape) < 0.3] = np.nan
    qid = np.array(["a", "b"] * 6)
    knots = np.linspace(-3, 3, 33).tolist()
    made = {"none": None, "log": Log(0.5), "quantile": Quantile(tuple(knots), tuple(knot / 6 for knot in knots))}[
        transform
    ]
    transforms = {} if made is None else dict.fromkeys(range(0, n, 3), made)
    scorer = filled(*rng.normal(size=(3, n)), by_query=by_query, transforms=transforms)
    names = [f"f{number}" for number in range(1, n + 1)]
    expected = by_hand(scorer.formula(), x, qid)
    expression = rw.export_model(scorer, "sql", query_column="qid" if by_query else None)
    scores = engines.sqlite(expression, ["qid", *names], sql_rows(x, qid), n_texts=1)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    if not by_query:
        text = rw.export_model(scorer, "vespa")
        scores = [engines.vespa(text, dict(zip(names, row, strict=True))) for row in x[:2]]
        np.testing.assert_allclose(scores, expected[:2], rtol=1e-9, atol=1e-9)
        assert engines.Vespa(text, {}).depth < 10


# Vespa


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_vespa_tells_missing_values_by_nan(transform):
    (x, qid), scorer = holey_documents(), model(transform)
    text = rw.export_model(scorer, "vespa")
    scores = [engines.vespa(text, dict(zip(NAMES, row, strict=True))) for row in x.tolist()]
    np.testing.assert_allclose(scores, by_hand(scorer.formula(), x, qid), rtol=1e-12)


def test_expressions_of_ones_own_are_taken_whole_in_every_place():
    scorer = filled([2.0, 1.0], [0.5, 0.5], [1.0, 0.0], transforms={0: Log(2.0), 1: TRANSFORMS["quantile"][1]})
    text = rw.export_model(scorer, "vespa", features={"f1": "a - b", "f2": "a * 2 - 3"})
    for a, b in ((3.0, 1.0), (0.5, 4.0), (math.nan, 1.0)):
        x = np.array([[a - b, a * 2 - 3]])
        assert engines.vespa(text, {"a": a, "b": b}) == pytest.approx(by_hand(scorer.formula(), x, np.array(["q"]))[0])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_vespa_gives_nan_where_the_model_knows_no_missing_values(transform):
    """And not the score of the highest quantile, because NaN is not below any knot."""
    scorer = of_formula(Formula(np.ones(3), 0.0, {j: t for j, t in TRANSFORMS[transform].items() if j < 3}))
    text = rw.export_model(scorer, "vespa")
    for lacking in ("f1", "f2", "f3"):
        assert math.isnan(engines.vespa(text, {"f1": 1.0, "f2": 1.0, "f3": 1.0, lacking: math.nan}))
    assert engines.vespa(text, dict.fromkeys(("f1", "f2", "f3"), 1.0)) == pytest.approx(scorer.predict(np.ones((1, 3))))


@pytest.mark.parametrize("n", [2, 3, 4, 1000])
def test_many_knots_nest_little(n):
    knots = np.sort(np.random.default_rng(n).normal(size=n))
    knots[n // 2] = 0.0
    knots.sort()
    heights = np.cumsum(np.arange(1.0, n + 1))
    heights -= heights[knots == 0]
    scorer = filled([1.0], [0.0], transforms={0: Quantile(tuple(knots.tolist()), tuple(heights.tolist()))})
    x = np.concatenate([knots, knots[:-1] + np.diff(knots) / 3, [-9.0, 9.0]])[:, None]
    expected = by_hand(scorer.formula(), x, np.zeros(len(x)))
    text = rw.export_model(scorer, "vespa")
    assert engines.Vespa(text, {}).depth <= 3 + math.ceil(math.log2(n + 1))
    some = range(0, len(x), max(1, len(x) // 40))
    scores = [engines.vespa(text, {"f1": x[row, 0]}) for row in some]
    np.testing.assert_allclose(scores, expected[list(some)], rtol=1e-9, atol=1e-9)
    scores = engines.sqlite(rw.export_model(scorer, "sql"), ["f1"], x.tolist())
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


# Python


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("lacking", ["NaN", "None", "no entry"])
def test_python_takes_none_nan_and_no_entry_as_missing(transform, lacking):
    (x, qid), scorer = holey_documents(), model(transform)
    text = rw.export_model(scorer, "python")
    rows = [dict(zip(NAMES, row, strict=True)) for row in x.tolist()]
    if lacking == "None":
        rows = [{name: None if math.isnan(value) else value for name, value in row.items()} for row in rows]
    elif lacking == "no entry":
        rows = [{name: value for name, value in row.items() if not math.isnan(value)} for row in rows]
    np.testing.assert_allclose(
        [engines.python(text, row) for row in rows], by_hand(scorer.formula(), x, qid), rtol=1e-12
    )


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_python_scores_the_documents_of_a_query_together_where_means_of_queries_fill_in(transform):
    (x, qid), scorer = holey_documents(), model(transform, by_query=True)
    module = {}
    exec(rw.export_model(scorer, "python"), module)
    assert "score" not in module
    expected = by_hand(scorer.formula(), x, qid)
    for query in set(qid):
        rows = [dict(zip(NAMES, row, strict=True)) for row in x[qid == query].tolist()]
        np.testing.assert_allclose(module["scores"](rows), expected[qid == query], rtol=1e-12)
    assert module["scores"]([]) == []


def test_python_names_a_missing_feature_that_the_model_cannot_do_without():
    text = rw.export_model(of_formula(Formula(np.ones(2), 0.0, {1: Log(1.0)}), names=["bm25", "clicks"]), "python")
    assert engines.python(text, {"bm25": 2.0, "clicks": 1.0}) == pytest.approx(2 + math.log(2))
    for document in ({"bm25": 2.0}, {"bm25": 2.0, "clicks": None}, {"bm25": 2.0, "clicks": math.nan}):
        with pytest.raises(ValueError, match="feature 'clicks' is missing"):
            engines.python(text, document)


# Engines that know weights and nothing else


def defaults_told(scorer, target):
    with pytest.warns(UserWarning, match=f"a model of {target} has no place for missing values") as caught:
        text = rw.export_model(scorer, target)
    (message,) = (str(one.message) for one in caught if "no place for missing" in str(one.message))
    return text, [float(number) for number in re.findall(r" (-?[0-9][0-9.e+-]*)(?:,|$)", message.split("): ")[1])]


@pytest.mark.parametrize("target", ["solr", "elasticsearch", "opensearch", "ranklib"])
@pytest.mark.filterwarnings("ignore:linear models of")
def test_with_the_defaults_that_are_told_engines_score_as_the_model(target):
    x, qid = holey_documents()
    scorer = filled(
        [0.7, -0.4, 1.3, 0.5, 1e-3], [0.2, 30, -1, 5, 0], [0, 0.75, -0.5, 0, 0.25], intercept=0.5, names=NAMES
    )
    text, defaults = defaults_told(scorer, target)
    assert len(defaults) == 5
    full = np.where(np.isnan(x), defaults, x)
    if target == "ranklib":
        scores = np.array([engines.ranklib(text, row) for row in full])
    else:
        run = engines.solr if target == "solr" else engines.elasticsearch
        scores = np.array([run(text, dict(zip(NAMES, row, strict=True))) for row in full]) + 0.5
    expected = by_hand(scorer.formula(), x, qid)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5 * np.ptp(expected))


@pytest.mark.parametrize("target", ["solr", "elasticsearch", "opensearch", "ranklib"])
def test_what_weights_cannot_tell_is_refused_by_name(target):
    for scorer, told in (
        (
            model("log"),
            f"{target} cannot compute the log of feature '.*clicks.*SQL, Vespa, ONNX and Python can; or train",
        ),
        (model("quantile"), f"{target} cannot compute the quantile of feature '.*clicks.*--transform none"),
        (
            model(),
            f"feature 'nativeRank' counts only by being missing, which {target} cannot tell: SQL, Vespa, ONNX and",
        ),
        (filled([1e-40], [0.0], [1.0]), "feature 'f1' counts only by being missing"),
        (filled([1.0], [0.0], by_query=True), f"{target} cannot fill in a missing value by the mean .*--missing mean"),
    ):
        with pytest.raises(rw.ParameterError, match=told):
            rw.export_model(scorer, target)


def test_vespa_refuses_means_of_queries():
    with pytest.raises(
        rw.ParameterError, match="cannot fill in a missing value by the mean of its query: SQL, ONNX and"
    ):
        rw.export_model(model(by_query=True), "vespa")


# A model file, and a scaler


@pytest.mark.parametrize("target", ["sql", "vespa", "python", "solr"])
@pytest.mark.filterwarnings("ignore:a model of", "ignore:linear models of")
def test_a_scaler_goes_with_a_model_that_was_trained_on_missing_values(target, tmp_path):
    """Whether the ranker is in memory or has been through a file."""
    x, qid = holey_documents()
    scaler = rw.GlobalStandardScaler().fit(x)
    scaled = rw.Queries(scaler.transform(x), np.arange(len(x)) % 3, qid)
    ranker = rw.RankRLS(0.5).fit(scaled)
    assert ranker.formula().extra.any()
    rw.save_model(ranker, tmp_path / "unscaled.json")
    loaded = rw.load_model(tmp_path / "unscaled.json")
    text = rw.export_model(ranker, target, scaler=scaler)
    assert rw.export_model(loaded, target, scaler=scaler) == text
    rw.save_model(loaded, tmp_path / "scaled.json", scaler=scaler)
    whole = rw.load_model(tmp_path / "scaled.json")
    assert rw.export_model(whole, target) == text
    np.testing.assert_allclose(whole.predict(x), ranker.predict(scaled), rtol=1e-10, atol=1e-12)


def test_a_model_with_transforms_is_not_put_behind_a_scaler():
    scaler = rw.GlobalStandardScaler().fit(np.eye(5))
    with pytest.raises(rw.ParameterError, match="logarithms or quantiles takes features as they are"):
        rw.export_model(model("log", names=None), "sql", scaler=scaler)


@pytest.mark.parametrize("transform", ["none", "log", "quantile"])
@pytest.mark.parametrize("missing", ["mean", "query-mean"])
def test_trained_models_score_in_sqlite_as_they_predict(transform, missing):
    rng = np.random.default_rng(4)
    qid = np.repeat(np.arange(40), 8)
    x = np.exp(2 * rng.standard_normal((320, 4))) * [1, -1, 1, 1]
    y = np.clip(np.round(np.log(x[:, 0]) + rng.standard_normal(320)), 0, 4)
    x[(rng.random(320) < 0.4) & (y == 0), 0] = np.nan
    x[rng.random(x.shape) < 0.2] = np.nan
    queries = rw.Queries(x, y, qid)
    by, columns = prepare(queries, transform=transform, missing=missing)
    assert (len(by.transforms) > 2) == (transform != "none")
    scorer = model_of_features(rw.RankRLS(1.0).fit(columns), by, queries)
    expression = rw.export_model(scorer, "sql", query_column="qid" if missing == "query-mean" else None)
    names = ["qid", "f1", "f2", "f3", "f4"]
    scores = engines.sqlite(expression, names, sql_rows(x, qid), n_texts=1)
    np.testing.assert_allclose(scores, scorer.predict(queries), rtol=1e-9, atol=1e-9)
