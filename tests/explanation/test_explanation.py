"""Explanations against plain loops, and against the model: what they say would happen is done, and does happen."""

import itertools
import json
from io import StringIO

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from scipy.optimize import minimize
from sklearn.exceptions import NotFittedError

import rankwright as rw
from rankwright.models.linear_model import LinearModel
from rankwright.models.stump_model import StumpModel
from rankwright.preparation.formula import Formula

NAMES = ["bm25", "title [tf]", "pagerank", "age", "terms", "unused"]
WEIGHTS = np.array([0.7, -0.4, 1.3, 0.05, 0.9, 0.0])


def linear_model(weights, names=None):
    return LinearModel.of(
        Formula(np.asarray(weights, float), 2.5), feature_names=names, ranker="RankSVM", parameters={}, training={}
    )


def stump_model(stumps, n_features):
    features, thresholds, weights = np.array(stumps, float).reshape(-1, 3).T
    return StumpModel.of(
        features.astype(np.intp),
        thresholds.copy(),
        weights.copy(),
        n_features=n_features,
        feature_names=None,
        ranker="RankBoost",
        parameters={},
        training={},
    )


def drawn_stumps(rng, n_features, n_stumps):
    """Thresholds on a coarse grid, so that some stumps share one, and weights of both signs."""
    return [
        (rng.integers(n_features), np.round(rng.standard_normal() * 1.5) / 2, rng.standard_normal())
        for _ in range(n_stumps)
    ]


def collection(layout="dense", dtype=np.float64):
    """Unsorted rows of six queries; "terms" is the same within a query; one query of one document, one of no use."""
    rng = np.random.default_rng(1)
    qid = np.array([f"q{number}" for number in rng.integers(0, 4, 40)] + ["alone"] + ["bad"] * 5)
    rng.shuffle(qid)
    X = rng.standard_normal((len(qid), 6)) * [1, 3, 0.5, 20, 1, 1]
    X[:, 3] *= rng.random(len(qid)) < 0.5  # for CSR to have something to leave out
    X[:, 4] = [len(q) + 0.1 * int(q[-1] == "1") for q in qid]
    y = np.clip(np.round(X[:, 0] + X[:, 2] + rng.standard_normal(len(qid))), 0, 3)
    y[qid == "bad"] = 0
    X = X.astype(dtype)
    return rw.Queries(
        X if layout == "dense" else sp.csr_array(X),
        y,
        qid,
        feature_names=NAMES,
        doc_ids=[f"d{row}" for row in range(len(qid))],
    )


def dense(queries):
    return queries.X.toarray() if sp.issparse(queries.X) else np.asarray(queries.X)


def with_value(queries, changes):
    """The same queries, in float64, with some values changed: {(row, column): value}."""
    X = dense(queries).astype(np.float64)
    for place, value in changes.items():
        X[place] = value
    return rw.Queries(X, queries.supervision, queries.qid)


def rank_of(model, queries, row):
    """By plain counting, from the model's own scores."""
    scores = model.predict(queries.X)
    mine = [other for other in range(len(scores)) if queries.qid[other] == queries.qid[row]]
    return 1 + sum(scores[o] > scores[row] or (scores[o] == scores[row] and o < row) for o in mine)


@pytest.fixture(name="queries")
def drawn_queries():
    return collection()


@pytest.fixture(name="model")
def weighted_model():
    return linear_model(WEIGHTS)


# Contributions


@pytest.mark.parametrize(
    ("layout", "dtype"), [("dense", np.float64), ("dense", np.float32), ("sparse", np.float64), ("sparse", np.float32)]
)
def test_ranking_and_contributions_by_plain_loops(layout, dtype, model):
    queries = collection(layout, dtype)
    X, scores = dense(queries).astype(float), model.predict(queries.X)
    for query in queries.query_ids.tolist():
        rows = [row for row in range(len(X)) if queries.qid[row] == query]
        explanation = rw.explain(model, queries, query)
        by_score = sorted(rows, key=lambda row: (-scores[row], row))
        assert [document.row for document in explanation.documents] == by_score
        assert [document.rank for document in explanation.documents] == list(range(1, len(rows) + 1))
        assert explanation.features == tuple(NAMES[:5])
        assert explanation.unused_features == ("unused",)
        means = [sum(X[row, j] for row in rows) / len(rows) for j in range(5)]
        mean_score = sum(scores[row] for row in rows) / len(rows)
        for document, contributions in zip(explanation.documents, explanation.contributions, strict=True):
            expected = [WEIGHTS[j] * (X[document.row, j] - means[j]) for j in range(5)]
            np.testing.assert_allclose(contributions, expected, rtol=1e-10, atol=1e-12)
            assert contributions.sum() == pytest.approx(scores[document.row] - mean_score, abs=1e-9)
            better = sum(queries.y[row] > queries.y[document.row] for row in rows)
            alike = sum(queries.y[row] == queries.y[document.row] for row in rows)
            assert document.ideal == (better + 1, better + alike)
            assert (document.doc_id, document.grade) == (f"d{document.row}", queries.y[document.row])


def test_contributions_of_stumps_by_plain_loops():
    queries, rng = collection(), np.random.default_rng(4)
    stumps = drawn_stumps(rng, 6, 25)
    model = stump_model(stumps, 6)
    explanation = rw.explain(model, queries, "q2")
    parts = np.array(
        [
            [sum(w for f, t, w in stumps if f == j and queries.X[d.row, j] > t) for j in range(6)]
            for d in explanation.documents
        ]
    )
    used = sorted({f for f, _, _ in stumps})
    assert explanation.features == tuple(NAMES[j] for j in used)
    np.testing.assert_allclose(explanation.contributions, (parts - parts.mean(axis=0))[:, used], atol=1e-12)
    why = explanation.why(1, 3)
    np.testing.assert_allclose(why.contributions, (parts[0] - parts[2])[used], atol=1e-12)
    assert why.difference == pytest.approx(explanation.documents[0].score - explanation.documents[2].score)


def test_why_one_document_is_above_another(model, queries):
    explanation = rw.explain(model, queries, "q0")
    above, below = explanation.documents[0], explanation.documents[4]
    why = explanation.why(above.doc_id, 5)
    np.testing.assert_allclose(why.contributions, WEIGHTS[:5] * (queries.X[above.row] - queries.X[below.row])[:5])
    assert why.difference == pytest.approx(above.score - below.score)
    assert why.to_dict()["contributions"]["pagerank"] == why.contributions[2]
    mean = explanation.why(5)
    assert mean.other is None
    np.testing.assert_array_equal(mean.contributions, explanation.contributions[4])


def test_features_that_pull_good_documents_down_by_every_pair(model, queries):
    for query in ("q0", "q1", "q2", "q3"):
        explanation = rw.explain(model, queries, query)
        documents = explanation.documents
        wrong, right = np.zeros(5), np.zeros(5)
        n_wrong = n_right = 0
        for a, b in itertools.permutations(documents, 2):
            if a.grade > b.grade:
                difference = WEIGHTS[:5] * (queries.X[a.row] - queries.X[b.row])[:5]
                if a.score <= b.score:
                    wrong, n_wrong = wrong + difference, n_wrong + 1
                else:
                    right, n_right = right + difference, n_right + 1
        assert (explanation.n_wrong_pairs, explanation.n_pairs) == (n_wrong, n_wrong + n_right)
        assert n_wrong > 0
        for pull in explanation.pulls:
            j = NAMES.index(pull.feature)
            assert pull.wrong == pytest.approx(wrong[j] / n_wrong, abs=1e-12)
            assert pull.right == pytest.approx(right[j] / n_right, abs=1e-12)
        assert [pull.wrong for pull in explanation.pulls] == sorted(pull.wrong for pull in explanation.pulls)
        assert explanation.pulls[0].wrong < 0


# A document that rises


def ranks_to_try(explanation):
    m = len(explanation.documents)
    return [(low, high) for low in range(2, m + 1) for high in {1, low // 2, low - 1} if high >= 1]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_each_change_of_one_feature_lifts_the_document_and_less_does_not(layout, model):
    queries = collection(layout)
    explanation = rw.explain(model, queries, "q1")
    for low, high in ranks_to_try(explanation):
        rise = explanation.rise(low, high)
        assert (rise.rank, rise.passed.rank) == (high, high)
        assert rise.gap == explanation.documents[high - 1].score - explanation.documents[low - 1].score
        assert {change.feature for change in rise.single} == set(NAMES[:5])
        row = rise.document.row
        for change in rise.single:
            column = NAMES.index(change.feature)
            assert change.goes_up == (WEIGHTS[column] > 0)
            for part, rank in ((1 + 1e-7, {high}), (1 - 1e-7, set(range(high + 1, low + 1)))):
                value = change.value + part * (change.bound - change.value)
                assert rank_of(model, with_value(queries, {(row, column): value}), row) in rank
            assert change.rank == high


def test_the_smallest_joint_change_is_that_of_an_optimiser_and_lifts_the_document(model, queries):
    explanation = rw.explain(model, queries, "q3")
    spreads = within_queries(queries)[:5]
    movable = [0, 1, 2, 3]  # "terms" is the same for all documents of a query
    for low, high in ((2, 1), (6, 2), (len(explanation.documents), 1)):
        rise = explanation.rise(low, high)
        changes = {NAMES.index(change.feature): change for change in rise.joint}
        assert sorted(changes) == movable
        assert len(rise.joint) > 1
        found = minimize(
            lambda z: z @ z,
            np.zeros(4),
            jac=lambda z: 2 * z,
            constraints={
                "type": "eq",
                "fun": lambda z, gap=rise.gap: (WEIGHTS[:4] * spreads[:4]) @ z - gap,
                "jac": lambda z: WEIGHTS[:4] * spreads[:4],
            },
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose([changes[j].spreads for j in movable], found.x, rtol=1e-6, atol=1e-9)
        assert rise.joint_spreads == pytest.approx(np.sqrt(found.fun), rel=1e-6)
        assert sum(change.gain for change in rise.joint) == pytest.approx(rise.gap)
        row = rise.document.row
        for part, lifted in ((1 + 1e-7, True), (1 - 1e-7, False)):
            values = {(row, j): c.value + part * (c.bound - c.value) for j, c in changes.items()}
            assert (rank_of(model, with_value(queries, values), row) == high) == lifted


def within_queries(queries):
    """Standard deviations within queries, by plain loops."""
    X, squares = dense(queries).astype(float), np.zeros(queries.n_features)
    for query in queries.query_ids:
        rows = X[queries.qid == query]
        for row in rows:
            squares += (row - rows.mean(axis=0)) ** 2
    return np.sqrt(squares / len(X))


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_how_far_a_change_goes_and_whether_such_values_were_seen(layout, model):
    queries = collection(layout)
    X, spreads = dense(queries), within_queries(queries)
    explanation = rw.explain(model, queries, "q2")
    of_query = X[queries.qid == "q2"]
    seen = set()
    for low, high in ranks_to_try(explanation):
        rise = explanation.rise(low, high)
        for change in rise.single:
            j = NAMES.index(change.feature)
            assert (change.low, change.high) == (X[:, j].min(), X[:, j].max())
            assert change.value == X[rise.document.row, j]
            if j == 4:
                assert np.isinf(change.spreads)
            else:
                assert change.spreads == pytest.approx((change.bound - change.value) / spreads[j], rel=1e-9)
            sign = 1 if change.goes_up else -1
            in_query = (sign * of_query[:, j] > sign * change.bound).any()
            in_data = (sign * X[:, j] > sign * change.bound).any()
            assert change.seen == ("query" if in_query else "data" if in_data else "never")
            seen.add(change.seen)
        keys = [(change.seen == "never", abs(change.spreads)) for change in rise.single]
        assert keys == sorted(keys)
        assert rise.cheapest == rise.single[0]
    assert seen == {"query", "data", "never"}


@pytest.mark.parametrize("measure", ["ndcg@3", "map", "pairwiseerror"])
def test_what_the_measure_gains(measure, model, queries):
    explanation = rw.explain(model, queries, "q1", measure=measure)
    chosen = rw.parse_measures(measure)[0]
    mine = queries.select(["q1"])
    before = rw.evaluate(model.predict(mine.X), mine, chosen).values[chosen][0]
    assert explanation.value == before
    gained = set()
    for low, high in ranks_to_try(explanation):
        rise = explanation.rise(low, high)
        order = [document.grade for document in explanation.documents]
        order.insert(high - 1, order.pop(low - 1))
        plainly = rw.evaluate(-np.arange(len(order)), rw.Queries(None, order), chosen).values[chosen][0]
        assert (rise.before, rise.after) == (before, pytest.approx(plainly))
        gained.add(np.sign(rise.after - rise.before))
    assert len(gained) > 1


@pytest.mark.parametrize("seed", range(3))
def test_stumps_the_nearest_values_that_suffice_are_found(seed):
    """Every value that could make a difference is tried: each threshold, and just above it."""
    rng = np.random.default_rng(seed)
    stumps = drawn_stumps(rng, 4, 14)
    model, queries = stump_model(stumps, 4), rw.Queries(np.round(rng.standard_normal((9, 4)) * 2) / 2, np.arange(9) % 3)
    explanation = rw.explain(model, queries, 0)
    spreads = within_queries(queries)
    found = 0
    for low, high in ranks_to_try(explanation):
        rise = explanation.rise(low, high)
        row, told = rise.document.row, {int(change.feature[1:]) - 1: change for change in rise.single}
        others = np.delete(model.predict(queries.X), row)
        costs = {}  # of combinations of values that lift the document above the one to pass
        values = [[queries.X[row, j], *(v for f, t, _ in stumps if f == j for v in (t, above(t)))] for j in range(4)]
        combinations = np.array(list(itertools.product(*map(sorted, map(set, values)))))
        enough = model.predict(combinations) > rise.passed.score + 1e-7
        for x in combinations[enough]:
            costs[tuple(x)] = sum(((x - queries.X[row]) / spreads) ** 2)
        for j in range(4):
            alone = [x[j] for x in costs if all(x[k] == queries.X[row, k] for k in range(4) if k != j)]
            assert (j in told) == bool(alone)
            if alone:
                change = told[j]
                nearest = min(abs(value - change.value) for value in alone)
                assert abs(change.bound - change.value) == pytest.approx(nearest, abs=1e-12)
                check_change(model, queries, row, j, change, rise.passed.score, values[j])
                found += 1
        assert bool(rise.joint) == bool(costs)
        if costs:
            assert rise.joint_spreads == pytest.approx(np.sqrt(min(costs.values())), abs=1e-9)
            moved = {(row, int(c.feature[1:]) - 1): c.bound if c.inclusive else above(c.bound) for c in rise.joint}
            changed = with_value(queries, moved)
            assert rank_of(model, changed, row) == rise.joint[0].rank <= high
        assert rise.rank == 1 + (others > rise.passed.score).sum()
    assert found > 10


def above(value):
    return np.nextafter(value, np.inf)


def check_change(model, queries, row, column, change, to_pass, values):
    """The change lifts the document as far as it says, goes on doing so until it says, and then no longer."""
    sign = 1 if change.goes_up else -1
    first = change.bound if change.inclusive else above(change.bound)
    changed = with_value(queries, {(row, column): first})
    assert rank_of(model, changed, row) == change.rank
    assert model.predict(changed.X)[row] - model.predict(queries.X)[row] == pytest.approx(change.gain)
    assert change.seen == ("query" if (sign * queries.X[:, column] >= sign * first).any() else "never")

    def lifts(value):
        return model.predict(with_value(queries, {(row, column): value}).X)[row] > to_pass + 1e-7

    end = change.until if change.goes_up else above(change.until)  # the last that it may be
    assert all(lifts(value) for value in values if sign * first <= sign * value <= sign * end)
    if np.isfinite(change.until):
        assert not lifts(above(end) if change.goes_up else change.until)


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=2, max_size=7),
    st.lists(st.integers(-2, 2), min_size=3, max_size=3),
    st.data(),
)
def test_tied_scores(rows, weights, data):
    """Whole numbers: many ties. A hair more than the gap leads to the rank told, past all that are tied there."""
    X, model = np.array(rows, float), linear_model(weights)
    y = data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X)))
    queries = rw.Queries(X, y)
    explanation = rw.explain(model, queries, 0)
    scores = model.predict(X)
    pairs = [(i, j) for i, j in itertools.permutations(range(len(X)), 2) if y[i] > y[j]]
    wrong = sum(scores[i] <= scores[j] for i, j in pairs)
    assert (explanation.n_wrong_pairs, explanation.n_pairs) == (wrong, len(pairs))
    assert f"{wrong} of {len(pairs)} pairs" in str(explanation) or not wrong
    np.testing.assert_allclose(
        explanation.contributions.sum(axis=1), np.sort(scores)[::-1] - scores.mean(), rtol=0, atol=1e-12
    )
    low = data.draw(st.integers(2, len(X)))
    rise = explanation.rise(low, data.draw(st.integers(1, low - 1)))
    assert rise.gap >= 0
    for change in rise.single:
        column = int(change.feature[1:]) - 1
        hair = 1e-6 if change.goes_up else -1e-6
        changed = with_value(queries, {(rise.document.row, column): change.bound + hair})
        assert rank_of(model, changed, rise.document.row) == rise.rank == change.rank <= rise.passed.rank
    assert len(rise.single) == np.count_nonzero(weights)


# Awkward ones


def test_a_query_of_one_document(model, queries):
    explanation = rw.explain(model, queries, "alone")
    assert np.abs(explanation.contributions).max() == 0
    assert explanation.documents[0].ideal == (1, 1)
    assert (explanation.n_pairs, explanation.n_wrong_pairs) == (0, 0)
    assert "no document is judged better than another" in str(explanation)
    assert "1 document," in str(explanation)
    with pytest.raises(rw.ParameterError, match="is the first already"):
        explanation.rise(1)
    assert explanation.to_dict()["documents"][0]["rise"] is None


def test_a_query_without_relevant_documents(model, queries):
    explanation = rw.explain(model, queries, "bad")
    assert explanation.value == 0
    assert explanation.n_pairs == 0
    assert explanation.rise(2).after == 0
    left_out = rw.explain(model, queries, "bad", measure=rw.nDCG(empty=None) @ 10)
    assert np.isnan(left_out.value)
    assert left_out.to_dict()["value"] is None
    assert "nDCG(empty=None) @ 10 –" in str(left_out)


@pytest.mark.parametrize("kind", ["weights", "stumps"])
def test_a_model_that_has_learned_nothing(queries, kind):
    model = linear_model(np.zeros(6)) if kind == "weights" else stump_model([], 6)
    explanation = rw.explain(model, queries, "q0")
    assert explanation.unused_features == tuple(NAMES)
    assert explanation.contributions.shape == (len(explanation.documents), 0)
    assert [d.row for d in explanation.documents] == np.flatnonzero(queries.qid == "q0").tolist()
    rise = explanation.rise(3, 2)
    assert (rise.gap, rise.rank, rise.single, rise.joint) == (0, 1, (), ())  # past all that are tied
    assert np.isnan(rise.joint_spreads)
    assert "none is enough" in str(explanation)
    assert "No change of a single feature is enough" in str(rise)
    assert len(explanation.to_frame()) == 0


def test_values_that_are_not_finite(model, queries):
    X = queries.X.copy()
    rows = np.flatnonzero(queries.qid == "q0")
    X[rows[2], 5] = np.nan  # a feature without a weight
    elsewhere = np.flatnonzero(queries.qid == "q1")[0]
    X[elsewhere, 0] = np.inf
    changed = rw.Queries(X, queries.y, queries.qid, feature_names=NAMES, doc_ids=queries.doc_ids)
    change = next(c for c in rw.explain(model, changed, "q0").rise(2).single if c.feature == "bm25")
    assert (change.low, change.high) == (np.delete(X[:, 0], elsewhere).min(), np.delete(X[:, 0], elsewhere).max())
    told = rf"query 'q1', document 'd{elsewhere}': feature 'bm25' is inf, .* fill in"
    with pytest.raises(rw.DataError, match=told):
        rw.explain(model, changed, "q1")
    with pytest.raises(rw.DataError, match=f"query 'q1', row {elsewhere}: feature 'bm25' is inf"):
        rw.explain(model, rw.Queries(sp.csr_array(X), queries.y, queries.qid, feature_names=NAMES), "q1")
    dense, sparse = (rw.explain(model, rw.Queries(x, queries.y, queries.qid), "q0") for x in (X, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.contributions, dense.contributions, atol=1e-12)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_spreads_leave_out_what_is_not_finite_and_what_tells_of_the_query(layout):
    X = np.array([[0.1, 1.0], [0.1, 3.0], [0.1, 0.0], [0.7, 2.0], [0.7, 4.0], [0.7, np.nan]])
    x = sp.csr_array(X) if layout == "sparse" else X
    rise = rw.explain(linear_model([1, 1]), rw.Queries(x, [0, 1, 0, 0, 1, 0], [1, 1, 1, 2, 2, 2]), 1).rise(3)
    by_name = {change.feature: change for change in rise.single}
    assert np.isinf(by_name["f1"].spreads)
    assert [change.feature for change in rise.joint] == ["f2"]
    if layout == "dense":  # 1, 3, 0 around 4/3; 2, 4 around 3; five values
        assert by_name["f2"].spreads == pytest.approx(1 / np.sqrt((14 / 3 + 2) / 5))


def test_other_supervision(model, queries):
    mine = queries.select(["q0"])
    scores = model.predict(mine.X)
    m = len(scores)
    ranks = np.argsort(np.argsort(scores)) + 1  # the worst order there is
    explanation = rw.explain(model, rw.Queries(mine.X, rw.FullRanking(ranks)), 0)
    assert [d.grade for d in explanation.documents] == list(range(m, 0, -1))
    assert [d.ideal for d in explanation.documents] == [(rank, rank) for rank in range(m, 0, -1)]
    assert (explanation.n_wrong_pairs, explanation.n_pairs) == (m * (m - 1) // 2, m * (m - 1) // 2)
    assert explanation.measure == rw.WPD
    best, second, last = np.argsort(-scores)[[0, 1, -1]]
    edges = rw.PreferenceGraph(m, [second, best, last], [best, last, second], [2.0, 1.0, 0.0])
    explanation = rw.explain(model, rw.Queries(mine.X, edges), 0)
    assert (explanation.n_wrong_pairs, explanation.n_pairs) == (1, 2)
    difference = WEIGHTS[:5] * (mine.X[second] - mine.X[best])[:5]
    assert {p.feature: p.wrong for p in explanation.pulls} == pytest.approx(
        {f"f{j + 1}": difference[j] for j in range(5)}
    )
    assert (explanation.documents[0].grade, explanation.documents[0].ideal) == (None, None)
    assert (explanation.value, explanation.rise(2).after) == (2.0, 0.0)


def test_features_are_picked_by_name(queries):
    model, order = linear_model(WEIGHTS, NAMES), [3, 5, 0, 1, 4, 2]
    shuffled = rw.Queries(
        np.c_[queries.y, queries.X[:, order]],
        queries.y,
        queries.qid,
        feature_names=["new", *(NAMES[j] for j in order)],
        doc_ids=queries.doc_ids,
    )
    assert str(rw.explain(model, shuffled, "q1")) == str(rw.explain(model, queries, "q1"))
    plain = rw.Queries(queries.X, queries.y, queries.qid)
    assert rw.explain(model, plain, "q1").features == tuple(NAMES[:5])  # the model's own names


def test_documents_by_rank_id_and_row(model, queries):
    explanation = rw.explain(model, queries, "q0")
    third = explanation.documents[2]
    for name in (3, np.int64(3), third.doc_id, "3", "rank:3", f"row:{third.row}"):
        assert explanation.find(name) == 3
    ids = ["7", "7", "1"]
    odd = rw.explain(linear_model([1.0]), rw.Queries([[3], [2], [1]], [0, 1, 2], doc_ids=ids), 0)
    assert odd.find("1") == 3  # an id before a rank
    assert odd.find("rank:1") == 1
    with pytest.raises(rw.ParameterError, match=r"2 documents '7': .*rank:1"):
        odd.find("7")
    for name, problem in ((0, "rank 0"), (99, "rank 99"), ("d", "no document 'd'"), (True, "rank or an id")):
        with pytest.raises(rw.ParameterError, match=problem):
            explanation.find(name)
    with pytest.raises(rw.ParameterError, match="no document 'row:99'"):
        explanation.find("row:99")


@pytest.mark.parametrize("to_rank", [0, 3, 4, 1.0, True, "1"])
def test_ranks_that_cannot_be_risen_to(model, queries, to_rank):
    with pytest.raises(rw.ParameterError, match="to_rank must be a whole number from 1 to 2"):
        rw.explain(model, queries, "q0").rise(3, to_rank)


def test_queries_that_are_not_there(model, queries):
    for query in ("q00", "query 0", "all one"):
        near = "alone" if query == "all one" else "q0"
        with pytest.raises(rw.ParameterError, match=rf"no query '{query}': (near it|there) are .*{near}"):
            rw.explain(model, queries, query)
    with pytest.raises(rw.ParameterError, match=r"near it are alone$"):
        rw.explain(model, queries, "all one")
    with pytest.raises(rw.ParameterError, match=r"no query 17: there are .* and 1 more"):
        rw.explain(model, queries, 17)
    numbered = rw.Queries(queries.X, queries.y, np.unique(queries.qid, return_inverse=True)[1])
    with pytest.raises(rw.ParameterError, match="no query '3': near it are 3"):
        rw.explain(model, numbered, "3")
    with pytest.raises(rw.ParameterError, match=r"no query \[1\]"):
        rw.explain(model, queries, [1])
    assert rw.explain(model, numbered, np.int32(3)).query_id == 3


def test_rankers_that_cannot_be_explained(queries):
    with pytest.raises(rw.ParameterError, match=r"linear one, .* not KernelRankRLS"):
        rw.explain(rw.KernelRankRLS(kernel=lambda u, v: float(u @ v)).fit(queries), queries, "q0")
    with pytest.raises(NotFittedError):
        rw.explain(rw.RankRLS(), queries, "q0")
    with pytest.raises(rw.DataError, match="6 features, but the model has 2"):
        rw.explain(linear_model([1, 2]), queries, "q0")
    with pytest.raises(rw.ParameterError, match="measure: give one measure, not 2"):
        rw.explain(linear_model(WEIGHTS), queries, "q0", measure="map, ndcg@5")


# The way out


def test_frame_and_dictionary(model, queries):
    explanation = rw.explain(model, queries, "q3")
    frame = explanation.to_frame()
    assert len(frame) == len(explanation.documents) * 5
    row = frame[(frame["rank"] == 2) & (frame["feature"] == "age")].iloc[0]
    second = explanation.documents[1]
    assert (row["doc_id"], row["grade"], row["score"]) == (second.doc_id, second.grade, second.score)
    assert (row["value"], row["contribution"]) == (queries.X[second.row, 3], explanation.contributions[1, 3])
    told = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert told["documents"][1]["contributions"]["age"] == explanation.contributions[1, 3]
    assert told["documents"][1]["rise"]["change"] == explanation.rise(2).cheapest.to_dict()
    assert (told["query"], told["value"]) == ("q3", explanation.value)
    rise = json.loads(json.dumps(explanation.rise(4, 1).to_dict(), allow_nan=False))
    fixed = next(change for change in rise["single"] if change["feature"] == "terms")
    assert (fixed["spreads"], fixed["until"]) == (None, None)


def rendered(told, width):
    console = Console(file=StringIO(), width=width, highlight=False)
    console.print(told)
    return console.file.getvalue()


@pytest.mark.parametrize("kind", ["weights", "stumps"])
def test_tables_fit_and_say_what_is_known(queries, kind):
    long_names = [f"{name} of a name that is much too long" for name in NAMES]
    renamed = rw.Queries(
        queries.X,
        queries.y,
        queries.qid,
        feature_names=long_names,
        doc_ids=[f"https://example.org/{d}" * 3 for d in queries.doc_ids],
    )
    model = (
        linear_model(WEIGHTS) if kind == "weights" else stump_model(drawn_stumps(np.random.default_rng(0), 6, 30), 6)
    )
    explanation = rw.explain(model, renamed, "q0")
    for told in (explanation, explanation.rise(4, 1), explanation.why(1, 3), explanation.why(2)):
        assert max(map(len, str(told).splitlines())) <= 115
        assert max(map(len, rendered(told, 80).splitlines())) <= 80
    short = rw.explain(model, queries, "q0")
    for told in (short, short.rise(4, 1), short.why(1, 3), short.why(2)):
        assert max(map(len, str(told).splitlines())) <= 100
        assert "title [tf]" in str(told)  # brackets are no markup
        assert "title [tf]" in rendered(told, 100)
        assert repr(told) == str(told)
    assert f"query 'q0': {len(short.documents)} documents" in str(short)
