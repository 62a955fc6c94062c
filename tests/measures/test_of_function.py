"""Measures made by users: held against those of Rankwright, and against means over all orders written out plainly."""

import itertools
import pickle

import numpy as np
import pytest

import rankwright as rw
from rankwright.measures import measure as registered
from rankwright.measures.of_function import MOST_ORDERS
from tests.measures import reference as ref


@pytest.fixture(autouse=True)
def _no_measure_stays(monkeypatch):
    monkeypatch.setattr(registered, "_ALIASES", dict(registered._ALIASES))


def reciprocal_rank(grades, cutoff):
    """1 / the place of the first relevant document."""
    relevant = np.flatnonzero(grades[:cutoff] >= 1)
    return 1 / (relevant[0] + 1) if len(relevant) else 0.0


def own_ndcg(grades, cutoff):
    """The reference, for queries with a relevant document."""
    return ref.ndcg(grades, cutoff) if grades.any() else 0.0


def scattered_queries(n_queries, seed, largest=6):
    """Unsorted text ids, queries of one document, and queries without relevant documents."""
    rng = np.random.default_rng(seed)
    qid = np.repeat([f"q{q}" for q in range(n_queries)], rng.integers(1, largest, n_queries))
    qid = rng.permutation(qid)
    return rw.Queries(None, rng.integers(0, 3, len(qid)), qid), rng.integers(0, 4, len(qid)) / 4


@pytest.mark.parametrize("convention", ["default", "letor4", "trec_eval", "lightgbm"])
@pytest.mark.parametrize("cutoff", [None, 1, 3])
def test_agrees_with_the_measure_of_rankwright_at_all_ties(convention, cutoff):
    own = rw.new_measure("OwnRR", reciprocal_rank)
    queries, scores = scattered_queries(300, 3)
    of_queries = rw.evaluate(scores, queries, [own if cutoff is None else own @ cutoff], convention)
    theirs = rw.evaluate(scores, queries, [rw.RR if cutoff is None else rw.RR @ cutoff], convention)
    np.testing.assert_allclose(*(next(iter(e.values.values())) for e in (of_queries, theirs)), rtol=1e-13)


def test_every_order_of_tied_documents_counts_once():
    seen = []
    own = rw.new_measure("Watching", lambda grades, cutoff: seen.append(tuple(grades)) or float(grades[0]))
    value = rw.evaluate([1.0, 1.0, 1.0, 0.5, 0.2, 0.2], [0, 2, 0, 1, 1, 0], own, group=[6]).values[own][0]
    expected = {(*top, 1.0, *end) for top in itertools.permutations([0, 2, 0]) for end in ((1, 0), (0, 1))}
    assert sorted(seen) == sorted(expected)
    assert value == pytest.approx(2 / 3)


def test_large_ties_are_sampled_and_always_alike(monkeypatch):
    own = rw.new_measure("OwnNDCG", own_ndcg)
    rng = np.random.default_rng(5)
    qid = np.repeat(np.arange(400), 40)
    grades = rng.integers(0, 3, len(qid))
    calls = []
    values = {}
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("RANKWRIGHT_THREADS", threads)
        values[threads] = rw.evaluate(np.zeros(len(qid)), rw.Queries(None, grades, qid), own @ 10).values[own @ 10]
    np.testing.assert_array_equal(values["1"], values["2"])
    np.testing.assert_array_equal(values["1"], values["5"])
    alone = rw.evaluate(np.zeros(40), grades[-40:], own @ 10, group=[40]).values[own @ 10]
    assert alone[0] == values["1"][-1]
    exact = rw.evaluate(np.zeros(len(qid)), rw.Queries(None, grades, qid), rw.nDCG @ 10).values[rw.nDCG @ 10]
    assert values["1"].mean() == pytest.approx(exact.mean(), abs=0.002)
    counting = rw.new_measure("Counting", lambda grades, cutoff: calls.append(1) or 0.0)
    rw.evaluate(np.zeros(40), grades[:40], counting, group=[40])
    assert len(calls) == MOST_ORDERS


def test_one_odd_document_among_many_tied():
    """120 orders differ, so all are looked at, and each once."""
    own = rw.new_measure("OwnRR", reciprocal_rank)
    grades = np.zeros(MOST_ORDERS)
    grades[7] = 1
    value = rw.evaluate(np.zeros(MOST_ORDERS), grades, own, group=[MOST_ORDERS]).values[own][0]
    assert value == pytest.approx(sum(1 / p for p in range(1, MOST_ORDERS + 1)) / MOST_ORDERS)


def test_nan_and_conventions_leave_queries_out():
    own = rw.new_measure("Grade", lambda grades, cutoff: grades[0] or float("nan"))
    evaluation = rw.evaluate([2, 1, 1, 2], [3, 0, 1, 0], own, qid=["b", "b", "a", "a"])
    np.testing.assert_array_equal(evaluation.values[own], [3.0, np.nan])
    assert evaluation.means[own] == 3
    constant = rw.new_measure("Constant", lambda grades, cutoff: 1.0)
    left_out = rw.evaluate([2, 1, 1], [3, 0, 0], constant(empty=None), qid=["b", "b", "a"])
    np.testing.assert_array_equal(left_out.values[constant(empty=None)], [1.0, np.nan])


def test_by_name_in_text_and_after_pickling():
    own = rw.new_measure("Own_RR2", reciprocal_rank, lower_is_better=True)
    assert rw.parse_measures("own_rr2@3, ndcg@10") == (own @ 3, rw.nDCG @ 10)
    assert own.lower_is_better
    assert not rw.RR.lower_is_better
    assert pickle.loads(pickle.dumps(own @ 2)) == own @ 2
    kept = pickle.dumps(own)
    registered._ALIASES.pop("own_rr2")
    with pytest.raises(rw.ParameterError, match="'Own_RR2' is not known here: define it with new_measure first"):
        pickle.loads(kept)


def test_defined_again_it_is_replaced():
    rw.new_measure("Mine", lambda grades, cutoff: 1.0)
    rw.new_measure("mine", lambda grades, cutoff: 2.0)
    (now,) = rw.parse_measures("MINE")
    assert rw.evaluate([1.0], [1], now, qid=[1]).means[now] == 2


def test_cutoffs_are_as_defined():
    with pytest.raises(rw.ParameterError, match="takes no cutoff"):
        rw.new_measure("Whole", reciprocal_rank, cutoff="none") @ 3
    with pytest.raises(rw.ParameterError, match="needs a cutoff"):
        rw.evaluate([1.0], [1], rw.new_measure("First", reciprocal_rank, cutoff="required"), qid=[1])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nDCG", reciprocal_rank), "is a measure of Rankwright"),
        (("MAP", reciprocal_rank), "is a measure of Rankwright"),
        (("of mine", reciprocal_rank), "name must be letters"),
        (("", reciprocal_rank), "name must be letters"),
        ((3, reciprocal_rank), "name must be letters"),
        (("Mine", 3), "function must be a function"),
    ],
)
def test_refusals(arguments, problem):
    with pytest.raises(rw.ParameterError, match=problem):
        rw.new_measure(*arguments)
    with pytest.raises(rw.ParameterError, match="cutoff must be one of 'none', 'optional', 'required', not 10"):
        rw.new_measure("Mine", reciprocal_rank, cutoff=10)


@pytest.mark.parametrize("given", ["much", None, float("inf"), [1.0, 2.0]])
def test_what_is_no_number_names_the_measure_and_the_query(given):
    own = rw.new_measure("Odd", lambda grades, cutoff: given if len(grades) > 1 else 0.0)
    with pytest.raises(rw.ParameterError, match=r"measure Odd: .* for query 'b'"):
        rw.evaluate([1.0, 2.0, 3.0], [1, 0, 1], own, qid=["a", "b", "b"])


def test_needs_grades():
    own = rw.new_measure("OwnRR", reciprocal_rank)
    with pytest.raises(rw.DataError, match="needs grades, but the queries have a full ranking"):
        rw.evaluate([1.0, 2.0], rw.FullRanking([1, 2]), own, qid=["a", "a"])


def test_rankers_and_fit_choose_by_it():
    """With λ and features chosen by a measure that is nDCG by another name, everything is as with nDCG."""
    own = rw.new_measure("OwnNDCG", own_ndcg)
    queries = rw.datasets.make_queries(60, 6, 10, seed=4).queries
    train, test = queries[:40], queries[40:]
    by_own, by_theirs = (
        rw.RankRLS(alpha=rw.search(0.01, 1, 100, 1e6), measures=measure).fit(train) for measure in (own @ 5, "ndcg@5")
    )
    np.testing.assert_array_equal(by_own.coef_, by_theirs.coef_)
    fits = [
        rw.fit(train, test=test, measure=measure, rankers=["rankrls", "greedy-rankrls"], seed=0)
        for measure in (own @ 5, rw.nDCG @ 5)
    ]
    np.testing.assert_allclose(fits[0].model.coef_, fits[1].model.coef_)
    assert fits[0].entries[fits[0].chosen].setting == fits[1].entries[fits[1].chosen].setting
    np.testing.assert_allclose(fits[0].judged[0].values, fits[1].judged[0].values, rtol=1e-13)
    assert "OwnNDCG @ 5" in str(fits[0])
