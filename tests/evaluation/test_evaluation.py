"""`evaluate` on whole collections: rows in any order, all kinds of supervision, threads, bad scores."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from tests.measures import reference as ref

SOME = [rw.nDCG @ 3, rw.AP, rw.ERR(max_grade=3), rw.KendallTau, rw.PairwiseError]


@given(st.data())
def test_rows_of_a_query_may_stand_anywhere(data):
    m = data.draw(st.integers(1, 25))
    qid = np.array(data.draw(st.lists(st.sampled_from(["b", "a", "c"]), min_size=m, max_size=m)))
    grades = np.array(data.draw(st.lists(st.integers(0, 3), min_size=m, max_size=m)))
    scores = np.array(data.draw(st.lists(st.integers(0, 4), min_size=m, max_size=m)), dtype=float)
    together = rw.evaluate(scores, rw.Queries(None, grades, qid), SOME)
    for q, query in enumerate(together.query_ids):
        alone = rw.evaluate(scores[qid == query], rw.Queries(None, grades[qid == query]), SOME)
        for measure in SOME:
            assert together.values[measure][q] == pytest.approx(alone.values[measure][0], nan_ok=True)
    assert list(together.query_ids) == list(dict.fromkeys(qid))


@pytest.mark.parametrize("threads", ["1", "2", "3", "7"])
def test_the_number_of_threads_changes_nothing(threads, monkeypatch):
    rng = np.random.default_rng(1)
    qid = np.sort(rng.integers(0, 900, 40_000))
    queries = rw.Queries(None, rng.integers(0, 4, len(qid)), qid)
    scores = rng.standard_normal(len(qid)).round(2)
    monkeypatch.setenv("RANKWRIGHT_THREADS", "1")
    alone = rw.evaluate(scores, queries, SOME)
    monkeypatch.setenv("RANKWRIGHT_THREADS", threads)
    for measure, values in rw.evaluate(scores, queries, SOME).values.items():
        np.testing.assert_array_equal(values, alone.values[measure])


def test_thread_count_must_be_a_number(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "many")
    with pytest.raises(rw.ParameterError, match="RANKWRIGHT_THREADS"):
        rw.evaluate([1.0], rw.Queries(None, [1]))


@given(
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=200),
    st.integers(0, 3),
)
def test_ranking_agrees_with_a_stable_sort_for_all_floats(scores, offset):
    """The DCG of documents with distinct gains tells the whole order; clustered scores differ in the last bits."""
    scores = np.array(scores)
    if offset:
        scores = 1.0 + offset * np.spacing(1.0) * (np.arange(len(scores)) * 7919 % 13)
    grades = np.linspace(0, 5, len(scores))
    order = np.argsort(-scores, kind="stable")
    measure = rw.DCG(ties="input")
    expected = ref.dcg(grades[order])
    assert rw.evaluate(scores, rw.Queries(None, grades), measure).values[measure][0] == pytest.approx(expected)


def test_long_queries_with_scores_that_differ_only_in_their_last_bits():
    rng = np.random.default_rng(0)
    scores = 1.0 + np.spacing(1.0) * rng.integers(0, 50_000, 100_000)
    grades = rng.integers(0, 5, 100_000)
    order = np.argsort(-scores, kind="stable")
    measure = rw.DCG(ties="input")
    value = rw.evaluate(scores, rw.Queries(None, grades), measure).values[measure][0]
    gains, discounts = 2.0 ** grades[order] - 1, 1 / np.log2(np.arange(2, 100_002))
    assert value == pytest.approx(gains @ discounts, rel=1e-12)


def test_zero_and_minus_zero_are_tied_and_infinities_rank():
    measure = rw.nDCG(gain="linear")
    assert rw.evaluate([0.0, -0.0], rw.Queries(None, [0, 1]), measure).values[measure][0] == pytest.approx(
        ref.over_orders(np.mean, lambda g: ref.ndcg(g, gain=ref.linear), [0, 0], [0, 1])
    )
    assert rw.evaluate([-np.inf, np.inf, 0], rw.Queries(None, [0, 2, 1]), measure).values[measure][0] == 1


def test_ranker_objects_are_asked_for_scores():
    class FirstFeature:
        def predict(self, X):
            return X[:, 0]

    queries = rw.Queries([[1.0], [2.0]], [0, 1])
    assert rw.evaluate(FirstFeature(), queries, "ndcg").means[rw.nDCG] == 1


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ([1.0, np.nan, 2.0], r"row 1 \(query 'a'\): the score is NaN"),
        ([1.0, 2.0], "3 documents, but 2 scores"),
        (["x", "y", "z"], "scores must be numbers"),
        (np.zeros((3, 2)), "scores of shape"),
    ],
)
def test_bad_scores(scores, problem):
    with pytest.raises(rw.DataError, match=problem):
        rw.evaluate(scores, rw.Queries(None, [1, 0, 1], ["a", "a", "b"]))


def test_no_queries():
    with pytest.raises(rw.DataError, match="no queries"):
        rw.evaluate([], rw.Queries(None, []))


def test_full_rankings():
    queries = rw.Queries(None, rw.FullRanking([2, 1, 3, 1, 2]), qid=[1, 1, 1, 2, 2])
    result = rw.evaluate([5, 9, 1, 1, 1], queries, [rw.ZeroOne, rw.KendallTau, rw.PairwiseError, rw.WPD])
    np.testing.assert_allclose(result.values[rw.ZeroOne], [0, 0.5])
    np.testing.assert_allclose(result.values[rw.KendallTau], [1, 0])
    np.testing.assert_allclose(result.values[rw.PairwiseError], [0, 0.5])
    np.testing.assert_allclose(result.values[rw.WPD], [0, 0.5])
    with pytest.raises(rw.DataError, match="needs grades, but the queries have a full ranking"):
        rw.evaluate([5, 9, 1, 1, 1], queries, rw.nDCG)


@given(st.data())
def test_weighted_pairwise_disagreement_of_a_graph(data):
    """Σ a_ij [j above i], tied pairs counting half, edge by edge; rows of the two queries interleaved."""
    m = 8
    qid = np.array([0, 1] * 4)
    scores = np.array(data.draw(st.lists(st.integers(0, 3), min_size=m, max_size=m)), dtype=float)
    ends = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1), st.integers(0, 5))
    edges = [(2 * i + q, 2 * j + q, w) for i, j, q, w in data.draw(st.lists(ends, max_size=12)) if i != j]
    preferred, other, weights = ([edge[k] for edge in edges] for k in range(3))
    queries = rw.Queries(None, rw.PreferenceGraph(m, preferred, other, weights), qid)
    expected = [0.0, 0.0]
    for i, j, weight in edges:
        expected[i % 2] += weight * (1 if scores[j] > scores[i] else 0.5 if scores[j] == scores[i] else 0)
    np.testing.assert_allclose(rw.evaluate(scores, queries, rw.WPD).values[rw.WPD], expected)


def test_graph_refuses_ties_by_grade():
    queries = rw.Queries(None, rw.PreferenceGraph(2, [0], [1]))
    with pytest.raises(rw.ParameterError, match="preference graph"):
        rw.evaluate([1, 1], queries, rw.WPD(ties="best"))


def test_table_and_json():
    queries = rw.Queries(None, [1, 0, 0, 0], qid=[1, 1, 2, 2])
    result = rw.evaluate([1, 0, 1, 0], queries, "ndcg@10, map", rw.CONVENTIONS["default"].but(empty=None))
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["queries"] == 2
    assert told["measures"][0] == {"measure": "nDCG @ 10", "mean": 1.0, "interval": [1.0, 1.0], "queries": 1}
    lines = str(result).splitlines()
    assert lines[3].split() == ["nDCG", "@", "10", "1.0000", "1.0000", "–", "1.0000", "1"]
    assert len({len(line) for line in lines[2:]}) == 1


def test_nothing_counts():
    result = rw.evaluate([1, 0], rw.Queries(None, [0, 0]), "map", rw.CONVENTIONS["default"].but(empty=None))
    assert np.isnan(result.means[rw.AP])
    assert result.to_dict()["measures"][0]["mean"] is None


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_values_as_a_frame(backend):
    queries = rw.Queries(None, [1, 0, 0, 1], qid=["a", "a", "b", "b"])
    result = rw.evaluate([1, 0, 1, 0], queries, "ndcg@10, rr")
    frame = result.to_frame(backend)
    rows = (
        frame.to_pylist()
        if backend == "pyarrow"
        else frame.to_dict(orient="records")
        if backend == "pandas"
        else frame.to_dicts()
    )
    assert [row["qid"] for row in rows] == ["a", "b"]
    assert [row["RR"] for row in rows] == [1.0, 0.5]
    assert [row["nDCG @ 10"] for row in rows] == result.values[rw.nDCG @ 10].tolist()
