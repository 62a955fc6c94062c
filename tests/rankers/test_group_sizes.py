"""Rankers take group sizes as LightGBM's do, and say so when nothing divides the rows into queries."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw

RANKERS = [
    rw.RegressionRanker(),
    rw.RankRLS(),
    rw.GreedyRankRLS(n_features=2),
    rw.KernelRankRLS(),
    rw.RankSVM(),
    rw.OrderPreservingRanker(),
    rw.StructuredRanker("ndcg@2"),
    rw.RankBoost(n_rounds=3),
]
SIZES = [5, 1, 9, 4, 6]


def name_of(ranker):
    return type(ranker).__name__


def collection():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(sum(SIZES), 4))
    return X, np.digitize(X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=len(X)), [0, 1, 2])


@pytest.mark.parametrize("ranker", RANKERS, ids=name_of)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_group_is_qid_in_other_words(ranker, make):
    X, y = collection()
    qid = [query for query, size in enumerate(SIZES) for _ in range(size)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", rw.OneQueryWarning)
        by_group = ranker.fit(make(X), y, group=SIZES).predict(X)
        by_qid = ranker.fit(make(X), y, qid=qid).predict(X)
        by_queries = ranker.fit(rw.Queries(make(X), y, group=SIZES)).predict(X)
    np.testing.assert_array_equal(by_group, by_qid)
    np.testing.assert_array_equal(by_group, by_queries)


@pytest.mark.parametrize("ranker", RANKERS, ids=name_of)
def test_both_or_beside_queries_is_refused(ranker):
    X, y = collection()
    with pytest.raises(rw.ParameterError, match=r"qid .* or group"):
        ranker.fit(X, y, qid=np.zeros(len(y)), group=SIZES)
    with pytest.raises(rw.ParameterError, match="y, qid and group are part of the Queries"):
        ranker.fit(rw.Queries(X, y, group=SIZES), group=SIZES)
    with pytest.raises(rw.DataError, match="add up to 24 rows, but there are 25"):
        ranker.fit(X, y, group=[*SIZES[:-1], 5])


@pytest.mark.parametrize("ranker", [ranker for ranker in RANKERS if name_of(ranker) != "GreedyRankRLS"], ids=name_of)
def test_rows_that_nothing_divides_are_told(ranker):
    X, y = collection()
    with pytest.warns(rw.OneQueryWarning, match="No qid was given, so all 25 rows are taken as one query") as told:
        alone = ranker.fit(X, y).predict(X)
    (warning,) = [one for one in told if issubclass(one.category, rw.OneQueryWarning)]
    assert "qid=" in str(warning.message)
    assert "group=" in str(warning.message)
    assert warning.filename == __file__
    np.testing.assert_array_equal(alone, ranker.fit(X, y, group=[25]).predict(X))


def test_greedy_selection_needs_queries_to_leave_out():
    X, y = collection()
    with pytest.warns(rw.OneQueryWarning), pytest.raises(rw.DataError, match="at least two of them: give qid or group"):
        rw.GreedyRankRLS(n_features=2).fit(X, y)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: rw.RankRLS().fit(rw.Queries(X, y)),
        lambda X, y: rw.RankRLS().fit(X, y, qid=np.zeros(len(y))),
        lambda X, y: rw.RankRLS().fit(X[:1], y[:1]),
        lambda X, y: rw.RankSVM().fit(X, rw.FullRanking(np.arange(1, len(y) + 1))),
    ],
    ids=["Queries", "one qid", "one row", "a full ranking"],
)
def test_where_there_is_no_doubt_nothing_is_told(fit):
    with warnings.catch_warnings():
        warnings.simplefilter("error", rw.OneQueryWarning)
        warnings.filterwarnings("ignore", message="nothing can be learned")
        fit(*collection())


def test_a_stream_of_groups():
    X, y = collection()
    by_group = rw.RankSVM(random_state=0).partial_fit(X, y, group=SIZES)
    by_qid = rw.RankSVM(random_state=0).partial_fit(X, y, qid=np.repeat(np.arange(5), SIZES))
    np.testing.assert_array_equal(by_group.coef_, by_qid.coef_)
