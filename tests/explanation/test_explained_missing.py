"""Explanations of models with missing values and transforms, against the model: what they say would happen does."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.preparation.transforms import Log, Quantile
from tests.export.models import filled
from tests.export.plain_formula import by_hand

NAMES = ["bm25", "clicks", "age", "lengths", "only its absence"]
WEIGHTS = [0.7, -0.4, 1.3, 0.5, 0.0]
FILLS, ADDED = [0.2, 0.3, 0.1, 0.4, 5.0], [0.0, 0.75, -2.5, 0.3, 1.5]
TRANSFORMS = {
    "none": {},
    "log": {1: Log(1.0), 3: Log(0.25)},
    "quantile": {
        1: Quantile((-2.0, 0.0, 0.5, 9.0), (-0.25, 0.0, 0.5, 0.75)),
        2: Quantile((-1.5, -0.5, 0.0, 1.5), (-0.5, -0.25, 0.0, 0.5)),
    },
}
LAYOUTS = {"dense": np.asarray, "CSR": sp.csr_array}


def drawn(seed, store=np.asarray):
    """Unsorted rows of queries of 1 to 9 documents, with values missing here and there and for whole queries."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.array(["few"] * 3 + ["some"] * 6 + ["many"] * 9 + ["alone"]))
    x = np.round(rng.standard_normal((len(qid), 5)) * [1, 4, 1, 3, 1] * (rng.random((len(qid), 5)) < 0.8), 3)
    x[rng.random(x.shape) < 0.35] = np.nan
    x[qid == "few", 0] = np.nan
    ids = [f"d{row}" for row in range(len(qid))]
    return rw.Queries(store(x), rng.integers(0, 3, len(qid)), qid, feature_names=NAMES, doc_ids=ids)


def dense(queries):
    return queries.X.toarray() if sp.issparse(queries.X) else np.array(queries.X)


def model(transform, by_query):
    return filled(
        WEIGHTS, FILLS, ADDED, by_query=by_query, intercept=2.5, transforms=TRANSFORMS[transform], names=NAMES
    )


@pytest.fixture(params=TRANSFORMS, name="transform")
def chosen_transform(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["mean", "query-mean"], name="by_query")
def chosen_filling(request):
    return request.param


@pytest.mark.parametrize("layout", LAYOUTS)
def test_contributions_are_the_terms_of_the_formula(transform, by_query, layout):
    """Term by term: the score with the weights of one feature alone, less its mean over the query."""
    ranker, queries = model(transform, by_query), drawn(3, LAYOUTS[layout])
    x, formula = dense(queries), ranker.formula()
    for query in ("few", "some", "many", "alone"):
        told = rw.explain(ranker, queries, query)
        rows = [document.row for document in told.documents]
        scores = by_hand(formula, x, queries.qid)
        np.testing.assert_allclose([document.score for document in told.documents], scores[rows], rtol=1e-12)
        for place, name in enumerate(told.features):
            j = NAMES.index(name)
            only = np.eye(5)[j]
            term = filled(np.array(WEIGHTS) * only, FILLS, np.array(ADDED) * only, by_query=by_query)
            term.transforms_ = TRANSFORMS[transform]
            terms = by_hand(term.formula(), x, queries.qid)[rows]
            np.testing.assert_allclose(told.contributions[:, place], terms - terms.mean(), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(told.values, x[np.ix_(rows, [NAMES.index(name) for name in told.features])])
        assert told.unused_features == ()
        if len(rows) > 1:
            why = told.why(1, 2)
            assert why.difference == pytest.approx(scores[rows[0]] - scores[rows[1]], abs=1e-12)


def changed(queries, document, changes):
    """The queries with a document's features just beyond what was told."""
    x = dense(queries)
    for change in changes:
        margin = 0.0 if change.inclusive else 1e-7 * max(1.0, abs(change.bound)) * (1 if change.goes_up else -1)
        x[document.row, NAMES.index(change.feature)] = change.bound + margin
    return rw.Queries(x, queries.y, queries.qid, feature_names=NAMES)


def rank_of(ranker, queries, row):
    return int(ranker.rank(queries)[row])


@pytest.mark.parametrize("seed", range(6))
def test_what_is_told_to_change_does_lift_the_document(transform, by_query, seed):
    """Single and joint changes, of known and of missing values; nothing short of them does."""
    ranker, queries = model(transform, by_query), drawn(seed)
    n_changes = n_missing = 0
    for query in ("few", "some", "many"):
        told = rw.explain(ranker, queries, query)
        for rank in range(2, len(told.documents) + 1):
            for to_rank in {1, rank - 1}:
                rise = told.rise(rank, to_rank)
                for change in rise.single:
                    assert rank_of(ranker, changed(queries, rise.document, [change]), rise.document.row) == change.rank
                    assert passes(ranker, changed(queries, rise.document, [change]), rise)
                    assert not passes(ranker, short_of(queries, rise.document, change), rise)
                    n_changes += 1
                    n_missing += np.isnan(change.value)
                if rise.joint:
                    after = changed(queries, rise.document, rise.joint)
                    assert passes(ranker, after, rise)
                    assert rank_of(ranker, after, rise.document.row) == rise.joint[0].rank
                if not by_query:
                    assert all(change.rank <= rise.rank for change in (*rise.single, *rise.joint))
    assert n_changes > 60
    assert n_missing > 5


def passes(ranker, queries, rise):
    scores = ranker.predict(queries)
    return scores[rise.document.row] > scores[rise.passed.row]


def short_of(queries, document, change):
    """The value not quite as far as was told; where any value will do, missing as it was."""
    if change.inclusive:
        return queries
    x, margin = dense(queries), 1e-7 * max(1.0, abs(change.bound))
    x[document.row, NAMES.index(change.feature)] = change.bound + (-margin if change.goes_up else margin)
    return rw.Queries(x, queries.y, queries.qid, feature_names=NAMES)


@pytest.mark.parametrize("seed", range(4))
def test_a_feature_that_is_not_told_cannot_lift_the_document_alone(transform, by_query, seed):
    """Tried out on a grid of values far beyond what has been seen."""
    ranker, queries = model(transform, by_query), drawn(seed)
    told = rw.explain(ranker, queries, "many")
    for rank in (2, 5, 9):
        rise = told.rise(rank, 1)
        features = {change.feature for change in rise.single}
        for name in set(NAMES[:4]) - features:
            for value in np.concatenate([-np.geomspace(1e-3, 1e9, 40), np.geomspace(1e-3, 1e9, 40)]):
                x = dense(queries)
                x[rise.document.row, NAMES.index(name)] = value
                assert not passes(ranker, rw.Queries(x, queries.y, queries.qid, feature_names=NAMES), rise)


def test_quantiles_end_where_their_last_knot_is():
    """Two documents that differ in one feature: that which has all of it cannot be passed, only reached."""
    ranker = filled([1.0], [0.0], transforms={0: Quantile((0.0, 4.0), (0.0, 1.0))}, names=["clicks"])
    explanation = rw.explain(ranker, rw.Queries([[9.0], [1.0], [4.0]], [1, 0, 1], feature_names=["clicks"]), 0)
    assert [document.row for document in explanation.documents] == [0, 2, 1]
    rise = explanation.rise(3, 1)
    assert rise.single == rise.joint == ()
    assert rise.cheapest is None
    assert "No change of a single feature is enough" in str(rise)
    assert "none is enough" in str(explanation)


def test_any_value_may_do_where_being_missing_costs_more_than_the_least_quantile():
    ranker = filled([1.0, 1.0], [0.0, 0.0], [-5.0, 0.0], transforms={0: Quantile((0.0, 4.0), (0.0, 1.0))})
    queries = rw.Queries([[np.nan, 0.0], [0.0, -1.0], [0.0, 2.0]], [1, 0, 2])
    explanation = rw.explain(ranker, queries, 0)
    change = next(change for change in explanation.rise(3).single if change.feature == "f1")
    assert (change.bound, change.inclusive, change.goes_up, change.gain) == (0.0, True, True, 5.0)
    assert np.isnan(change.value)
    assert not np.isfinite(change.spreads)
    assert (change.to_dict()["value"], change.to_dict()["spreads"]) == (None, None)
    assert "missing      ≥ 0" in str(explanation.rise(3))


def test_tables_json_and_frames(transform, by_query):
    ranker, queries = model(transform, by_query), drawn(1)
    told = rw.explain(ranker, queries, "many")
    assert "nan" not in str(told)
    for rank in range(2, 10):
        rise = told.rise(rank, 1)
        assert "nan" not in str(rise).replace("finance", "")
        again = json.loads(json.dumps(rise.to_dict(), allow_nan=False))
        lacking = [np.isnan(change.value) for change in rise.single]
        assert [change["value"] is None for change in again["single"]] == lacking
        if any(lacking[:5]):
            assert "missing" in str(rise)
        json.dumps(told.why(rank, 1).to_dict(), allow_nan=False)
        assert "nan" not in str(told.why(rank))
    json.dumps(told.to_dict(), allow_nan=False)
    frame = told.to_frame()
    assert frame["contribution"].notna().all()
    assert frame["value"].isna().sum() == np.isnan(told.values).sum() > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ranges_are_those_of_the_values_that_are_known(layout):
    """Also where sparse data store NaN."""
    ranker, queries = model("none", False), drawn(2, LAYOUTS[layout])
    x = dense(queries)
    changes = [change for rank in (3, 6, 9) for change in rw.explain(ranker, queries, "many").rise(rank, 1).single]
    assert {change.feature for change in changes} == set(NAMES[:4])
    for change in changes:
        values = x[:, NAMES.index(change.feature)]
        known = ~np.isnan(values)
        assert (change.low, change.high) == (values[known].min(), values[known].max())
        squares = [((own - own.mean()) ** 2).sum() for query in set(queries.qid)
                   if len(own := values[known & (queries.qid == query)])]  # fmt: skip
        spread = np.sqrt(sum(squares) / known.sum())
        if not np.isnan(change.value):
            assert change.spreads == pytest.approx((change.bound - change.value) / spread, rel=1e-9)


def test_missing_values_that_the_model_knows_nothing_of_are_refused_by_name():
    queries = drawn(0)
    complete = rw.Queries(np.nan_to_num(queries.X), queries.y, queries.qid, feature_names=NAMES)
    ranker = rw.RankRLS().fit(complete)
    with pytest.raises(rw.DataError, match=r"query 'few', document 'd\d+': feature 'bm25' is nan"):
        rw.explain(ranker, queries, "few")
