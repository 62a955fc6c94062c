"""Linear rankers behind a map: against the same ranker on columns in memory, against exact kernels, on files."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.rankers.rankrls import folds_worth
from tests.maps.dirty import dirty_queries

SVM = rw.RankSVM(4.0, tol=1e-9)
RANKERS = [
    rw.RankRLS(2.0),
    rw.RankRLS(rw.search(0.5, 2.0, 8.0)),
    SVM,
    rw.OrderPreservingRanker(4.0, tol=1e-9),
    rw.RegressionRanker(2.0),
    rw.GreedyRankRLS(2.0, n_features=4),
    rw.StructuredRanker("ndcg@5", 40.0, tol=1e-9, center=np.zeros(50)),
]
MAP = rw.KernelMap(n_components=40, gamma=0.1, scaling="standard")


@pytest.fixture(scope="module")
def train():
    return dirty_queries(60, seed=1)


@pytest.fixture(scope="module")
def test():
    return dirty_queries(50, seed=2)


def columns_in_memory(by, queries):
    return rw.Queries(by.columns(queries.X, queries.grouping), queries.supervision, queries.qid)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_the_weights_are_those_of_columns_in_memory(train, test, ranker):
    mapped = rw.MappedRanker(MAP, ranker).fit(train, valid=test)
    by = clone(MAP).fit(train).map_
    plain = clone(ranker).fit(columns_in_memory(by, train), valid=columns_in_memory(by, test))
    assert mapped.alpha_ == plain.alpha_
    np.testing.assert_allclose(mapped.ranker_.coef_, plain.coef_, rtol=1e-4, atol=1e-5 * np.abs(plain.coef_).max())
    expected = plain.predict(by.columns(test.X, test.grouping, np.float64))
    np.testing.assert_allclose(mapped.predict(test), expected, atol=1e-5 * np.abs(expected).max())
    assert mapped.score(test) > 0.6


def test_it_ranks_what_no_linear_ranker_can(train, test):
    linear = rw.RankRLS(rw.search()).fit(train).score(test)
    assert rw.MappedRanker(rw.KernelMap(n_components=400)).fit(train).score(test) > linear + 0.1


def test_many_waves_are_the_kernel():
    train, test = (dirty_queries(50, seed=seed, missing=0, dtype=np.float64) for seed in (1, 2))
    scaler = StandardScaler().fit(train.X[:, :5])
    exact = rw.KernelRankRLS(0.5, kernel="rbf", gamma=0.1)
    exact.fit(scaler.transform(train.X[:, :5]), train.y, qid=train.qid)
    expected = exact.predict(scaler.transform(test.X[:, :5]))
    errors = []
    for kind, n in (("fourier", 200), ("fourier", 3000), ("nystroem", 10**6)):
        by = rw.KernelMap(kind, n, gamma=0.1, linear=False, scaling="standard")
        errors.append(np.abs(rw.MappedRanker(by, rw.RankRLS(0.5)).fit(train).predict(test) - expected).max())
    # A score is known up to what all documents of a query share, which neither ranker adds.
    assert errors[0] > 2 * errors[1]
    assert errors[1] < 0.1 * np.abs(expected).max()
    assert errors[2] < 1e-3 * np.abs(expected).max()


@pytest.mark.parametrize("ranker", [rw.RankRLS(rw.search(1.0, 4.0)), SVM], ids=repr)
def test_files_are_read_part_by_part(train, test, ranker, tmp_path):
    for name, queries in (("train", train), ("test", test)):
        rw.write_parquet(queries[:], tmp_path / f"{name}.parquet")
    opened = [rw.open_queries(tmp_path / f"{name}.parquet", memory="1MB") for name in ("train", "test")]
    streamed = rw.MappedRanker(rw.KernelMap(n_components=300), ranker).fit(opened[0], valid=opened[1])
    whole = rw.MappedRanker(rw.KernelMap(n_components=300), ranker).fit(train[:], valid=test[:])
    assert streamed.setting_["scaling"] == whole.setting_["scaling"]
    assert streamed.setting_["gamma"] == pytest.approx(whole.setting_["gamma"])
    np.testing.assert_allclose(streamed.predict(test), whole.predict(test), atol=1e-5)
    np.testing.assert_allclose(streamed.predict(opened[1]), whole.predict(opened[1].in_memory()), atol=1e-5)


def test_sparse_and_dense_features_are_the_same(train, test):
    dense, sparse = (
        rw.MappedRanker(MAP, rw.RankRLS(2.0)).fit(rw.Queries(kind(np.nan_to_num(train.X)), train.y, train.qid))
        for kind in (np.asarray, sp.csr_array)
    )
    x = np.nan_to_num(test.X)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(x)), dense.predict(x), atol=1e-5)


def test_query_means_are_filled_in(train, test):
    ranker = rw.MappedRanker(rw.KernelMap(n_components=20, gamma=0.1, missing="query-mean"), rw.RankRLS(2.0)).fit(train)
    assert np.isfinite(ranker.predict(test)).all()
    with pytest.raises(rw.DataError, match="so it must know the queries"):
        ranker.predict(test.X)


# The choice of the map


@pytest.mark.parametrize("has_valid", [True, False])
def test_the_map_is_chosen_with_its_best_alpha(train, test, has_valid):
    valid = test if has_valid else None
    gammas, alphas = (0.02, 0.1, 0.5), rw.search(0.25, 1.0, 4.0)
    chosen = rw.MappedRanker(
        rw.KernelMap(n_components=60, gamma=rw.search(*gammas), scaling="standard"), rw.RankRLS(alphas)
    )
    chosen.fit(train, valid=valid)
    assert [choice.setting["gamma"] for choice in chosen.choices_] == list(gammas)
    means = []
    for gamma in gammas:
        alone = rw.MappedRanker(
            rw.KernelMap(n_components=60, gamma=gamma, scaling="standard"), rw.RankRLS(alphas, folds=5)
        )
        path = alone.fit(train, valid=valid).ranker_.path_
        ((_, estimates),) = (path.valid or path.folds).items()
        means.append(max(estimate.mean for estimate in estimates))
        assert alone.choices_ == []
    assert [choice.estimate.mean for choice in chosen.choices_] == pytest.approx(means, abs=1e-9)
    assert chosen.setting_["gamma"] == gammas[int(np.argmax(means))]


def test_the_map_may_be_chosen_on_some_queries(train):
    few = rw.MappedRanker(
        rw.KernelMap(n_components=30, gamma=rw.search(0.1, 0.2), scaling="quantile"), choose_on=100
    ).fit(train)
    some = train[:: -(-train.n_documents // 100)]
    alike = rw.MappedRanker(rw.KernelMap(n_components=30, gamma=rw.search(0.1, 0.2), scaling="quantile"))
    alike._values = lambda by, *rest: rw.MappedRanker._values(few, by, some, None, *rest[-2:])
    assert [choice.estimate for choice in alike.fit(train).choices_] == [choice.estimate for choice in few.choices_]


def test_folds_of_one_pass_are_those_of_training_again(train):
    queries = columns_in_memory(clone(MAP).fit(train).map_, train)
    alphas = [0.5, 2.0, 8.0]
    path = rw.RankRLS(rw.search(*alphas), folds=4).fit(queries).path_
    ((measure, estimates),) = path.folds.items()
    fold_of = np.arange(queries.n_queries) % 4
    for alpha, estimate in zip(alphas, estimates, strict=True):
        values = np.empty(queries.n_queries)
        for fold in range(4):
            ranker = rw.RankRLS(alpha).fit(queries[fold_of != fold])
            values[fold_of == fold] = rw.evaluate(ranker, queries[fold_of == fold], "ndcg@10").values[measure]
        assert estimate.mean == pytest.approx(np.nanmean(values), abs=1e-9)


def test_folds_of_a_regression_are_trained_again(train):
    queries = columns_in_memory(clone(MAP).fit(train).map_, train)
    path = rw.RegressionRanker(rw.search(1.0, 4.0), folds=3).fit(queries).path_
    assert not path.lqo
    assert path.folds


def test_folds_must_be_two():
    with pytest.raises(rw.ParameterError, match="folds must be"):
        rw.RankRLS(folds=1).fit([[0.0], [1.0]], [0, 1], qid=[1, 1])


def test_leaving_out_is_done_in_folds_where_it_is_dear():
    queries = rw.Queries(np.zeros((40, 3)), np.arange(40) % 2, np.arange(40) // 4)
    assert folds_worth(queries) is None
    wide = rw.Queries(sp.csr_array((40, 30_000)), np.arange(40) % 2, np.arange(40) // 4)
    assert folds_worth(wide) == 5


def test_a_given_lambda_is_scaled_to_the_documents_that_the_map_is_chosen_on(train):
    """A collection twice over, of which every other query is looked at, with twice the λ: all sums are double."""
    half = rw.Queries(train.X, train.y, np.unique(train.qid, return_inverse=True)[1])
    half = half[np.argsort(half.query_ids)]
    numbers = np.concatenate([2 * half.qid, 2 * half.qid + 1])  # each query stands beside its copy
    order = np.argsort(numbers, kind="stable")
    twice = rw.Queries(np.tile(half.X, (2, 1))[order], np.tile(half.y, 2)[order], numbers[order])
    by = rw.KernelMap(n_components=30, gamma=rw.search(0.1, 0.5), scaling="standard")
    whole = rw.MappedRanker(by, rw.RankRLS(3.0)).fit(half)
    shared = rw.MappedRanker(by, rw.RankRLS(6.0), choose_on=half.n_documents).fit(twice)
    assert [choice.alpha for choice in shared.choices_] == [6.0, 6.0]
    np.testing.assert_allclose(shared.ranker_.coef_, whole.ranker_.coef_, rtol=1e-4, atol=1e-6)
    told = [[choice.estimate.mean for choice in ranker.choices_] for ranker in (shared, whole)]
    assert told[0] == pytest.approx(told[1], abs=1e-9)


def test_infinity_in_validation_is_told_with_its_feature(train, test):
    x = test.X.copy()
    x[3, 1] = np.inf
    valid = rw.Queries(x, test.y, test.qid, feature_names=test.feature_names)
    with pytest.raises(rw.DataError, match=r"valid: .*\bb\b.*inf"):
        rw.MappedRanker(MAP, rw.RankRLS(2.0)).fit(train, valid=valid)


# Structured losses


@pytest.mark.parametrize("has_valid", [True, False])
def test_structured_rankers_stay_near_rankrls(train, test, has_valid):
    valid = test if has_valid else None
    structured = rw.StructuredRanker("ndcg@5", rw.search(1e9))
    ranker = rw.MappedRanker(MAP, structured).fit(train, valid=valid)
    near = rw.MappedRanker(MAP, rw.RankRLS(rw.search(), measures="ndcg@5")).fit(train, valid=valid)
    np.testing.assert_allclose(ranker.ranker_.coef_, near.ranker_.coef_, atol=1e-4 * np.abs(near.ranker_.coef_).max())


def test_near_rankrls_is_a_center_of_its_own(train):
    x = rw.Queries(np.nan_to_num(train.X), train.y, train.qid)
    by_name = rw.StructuredRanker("ndcg@5", 5.0, center="rankrls").fit(x)
    weights = rw.RankRLS(rw.search(), measures="ndcg@5").fit(x).coef_
    by_number = rw.StructuredRanker("ndcg@5", 5.0, center=weights.astype(np.float32)).fit(x)
    np.testing.assert_allclose(by_name.coef_, by_number.coef_, rtol=1e-3, atol=1e-6)
    with pytest.raises(rw.ParameterError, match="center must be"):
        rw.StructuredRanker(center="regression").fit(x)


# What is refused, and what is told


def test_weights_of_queries_reach_the_ranker(train):
    weights = np.random.default_rng(0).random(train.n_queries)
    mapped = rw.MappedRanker(MAP, SVM).fit(train, sample_weight=weights)
    columns = columns_in_memory(mapped.map_, train)
    np.testing.assert_allclose(mapped.ranker_.coef_, clone(SVM).fit(columns, sample_weight=weights).coef_, atol=1e-3)
    with pytest.raises(rw.ParameterError, match="RankRLS does not weigh queries"):
        rw.MappedRanker(MAP, rw.RankRLS()).fit(train, sample_weight=weights)


def test_progress_is_told(train):
    told = []
    rw.MappedRanker(rw.KernelMap(n_components=9), SVM).fit(train, progress=told.append)
    assert [now.done for now in told if now.what == "choosing the map"] == list(range(1, 13))
    assert any(now.iteration is not None for now in told)


def test_other_things_are_refused(train):
    with pytest.raises(rw.ParameterError, match="ranker must be a linear one"):
        rw.MappedRanker(MAP, rw.RankBoost()).fit(train)
    with pytest.raises(rw.ParameterError, match="map must be a map of features"):
        rw.MappedRanker(StandardScaler()).fit(train)
    with pytest.raises(rw.ParameterError, match="choose_on must be"):
        rw.MappedRanker(MAP, choose_on=0).fit(train)


def test_missing_values_that_training_never_had_are_told(train, test):
    whole = rw.Queries(np.nan_to_num(train.X), train.y, train.qid, feature_names=list("abcdef"))
    with pytest.raises(rw.DataError, match="valid: row"):
        rw.MappedRanker(MAP, rw.RankRLS()).fit(whole, valid=test)
    with pytest.raises(rw.DataError, match="is missing"):
        rw.MappedRanker(MAP, rw.RankRLS()).fit(whole).predict(test)


def test_infinity_is_told(train):
    x = np.nan_to_num(train.X)
    x[3, 1] = np.inf
    with pytest.raises(rw.DataError, match="feature 2"):
        rw.MappedRanker(MAP, rw.RankRLS()).fit(rw.Queries(x, train.y, train.qid))


def test_folds_choose_lambda_on_collinear_columns_of_a_basis():
    queries = rw.datasets.make_queries(n_queries=36, seed=0).queries
    ranker = rw.MappedRanker(rw.BasisMap(), rw.RankRLS(rw.search(), folds=5)).fit(queries)
    assert np.isfinite([estimate.mean for estimate in next(iter(ranker.ranker_.path_.folds.values()))]).all()
