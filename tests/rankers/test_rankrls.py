"""RankRLS, its kernel version and the regression baseline as estimators."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline

import rankwright as rw
from tests import retraining
from tests.choosing import cheapest_as_good


def collection(seed=0, rows=150, queries=15, n=5):
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((rows, n)), rng.integers(0, queries, rows)
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.standard_normal(rows) + 1), 0, 3)
    return X, y, qid


def test_the_objective_of_the_paper_is_least():
    """Paper G, eq. 3, summed over pairs: no step away from the weights lowers it."""
    X, y, qid = collection(rows=60)

    def objective(w):
        total = 3.0 * w @ w
        for query in np.unique(qid):
            s, t = X[qid == query] @ w, y[qid == query]
            pairs = t[:, None] - t - s[:, None] + s
            total += np.sum(pairs**2) / (2 * len(t))
        return total

    w = rw.RankRLS(alpha=3.0).fit(X, y, qid=qid).coef_
    least = objective(w)
    for direction in np.random.default_rng(0).standard_normal((50, 5)):
        assert objective(w + 1e-4 * direction) > least
        gradient = (objective(w + 1e-4 * direction) - objective(w - 1e-4 * direction)) / 2e-4
        assert abs(gradient) < 1e-6


@pytest.mark.parametrize("ids", [lambda q: q, lambda q: [f"query {i}" for i in q], lambda q: np.array(q, object)])
def test_query_ids_of_any_type_in_any_order(ids):
    X, y, qid = collection()
    expected = rw.RankRLS(0.3).fit(X, y, qid=qid).coef_
    shuffled = np.random.default_rng(1).permutation(len(y))
    ours = rw.RankRLS(0.3).fit(X[shuffled], y[shuffled], qid=ids(qid[shuffled].tolist())).coef_
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_queries_frames_and_csr_are_taken_alike():
    X, y, qid = collection()
    expected = rw.RankRLS(0.3).fit(X, y, qid=qid)
    frame = pd.DataFrame(X, columns=list("abcde"))
    by_frame = rw.RankRLS(0.3).fit(frame, y, qid=qid)
    assert by_frame.feature_names_in_.tolist() == list("abcde")
    queries = rw.Queries(X, y, qid, feature_names=list("abcde"))
    by_queries = rw.RankRLS(0.3).fit(queries)
    assert by_queries.feature_names_in_.tolist() == list("abcde")
    by_csr = rw.RankRLS(0.3).fit(sp.csr_matrix(X), y, qid=qid)
    for ranker, data in ((by_frame, frame), (by_queries, X), (by_csr, sp.csr_array(X))):
        np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-12)
        np.testing.assert_allclose(ranker.predict(data), X @ expected.coef_, rtol=1e-9, atol=1e-12)
    with pytest.raises(rw.ParameterError, match="leave them out"):
        rw.RankRLS().fit(queries, y)


def test_scores_of_float32_features_are_summed_in_float64():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30)).astype(np.float32)
    y, qid = rng.integers(0, 3, 20_000), np.repeat(np.arange(200), 100)
    ranker = rw.RankRLS().fit(X, y, qid=qid)
    np.testing.assert_allclose(ranker.predict(X), X.astype(np.float64) @ ranker.coef_, rtol=1e-12, atol=1e-13)


def test_rank_and_score():
    X, y, qid = collection()
    ranker = rw.RankRLS(measures="map").fit(X, y, qid=qid)
    ranks, scores = ranker.rank(X, qid), ranker.predict(X)
    for query in np.unique(qid):
        rows = qid == query
        assert ranks[rows].tolist() == rankdata(-scores[rows], method="ordinal").tolist()
    assert ranker.score(X, y, qid=qid) == rw.evaluate(ranker, rw.Queries(X, y, qid), "map").means[rw.AP]
    wrong = rw.RankRLS(measures=rw.PairwiseError).fit(X, y, qid=qid)
    assert wrong.score(X, y, qid=qid) < 0  # an error, negated: the more the better


def test_lambda_by_validation_is_the_first_best():
    X, y, qid = collection()
    valid = rw.Queries(*collection(seed=1, rows=60))
    ranker = rw.RankRLS(rw.search(), measures="map, ndcg@3").fit(X, y, qid=qid, valid=valid)
    assert len(ranker.path_.alphas) == 31
    values = []
    for alpha, told in zip(ranker.path_.alphas, ranker.path_.valid[rw.AP], strict=True):
        scores = valid.X @ retraining.rankrls(X, y, qid, alpha)
        values.append(rw.evaluate(scores, valid, rw.AP).means[rw.AP])
        assert told.mean == pytest.approx(values[-1], abs=1e-12)
    assert ranker.alpha_ == ranker.path_.alphas[int(np.argmax(values))]
    np.testing.assert_allclose(ranker.coef_, retraining.rankrls(X, y, qid, ranker.alpha_), rtol=1e-9)
    assert list(ranker.path_.to_frame("polars").columns)[:3] == ["alpha", "valid AP", "valid AP standard error"]


def test_lambda_by_leave_query_out():
    X, y, qid = collection(rows=60, queries=6)
    queries = rw.Queries(X, y, qid)
    ranker = rw.RankRLS(rw.search(0.01, 1, 100), measures="ndcg").fit(queries)
    values = [
        rw.evaluate(retraining.held_out_scores(X, y, qid, alpha), queries, "ndcg").means[rw.nDCG]
        for alpha in (0.01, 1, 100)
    ]
    assert ranker.alpha_ == [0.01, 1, 100][int(np.argmax(values))]
    np.testing.assert_allclose([value.mean for value in ranker.path_.lqo[rw.nDCG]], values, atol=1e-9)


def dirty(seed=0):
    """Text qids in no order, queries of one document and without relevant ones, a constant column."""
    X, y, qid = collection(seed, queries=12)
    X[:, 3], y[np.isin(qid, [1, 4])], qid[:2] = 7.5, 0, [50, 60]
    return X, y, np.array([f"query {number}" for number in qid])


@pytest.mark.parametrize("with_valid", [False, True])
@pytest.mark.parametrize("measure", [rw.AP, rw.PairwiseError, rw.KendallTau])
@pytest.mark.parametrize("seed", range(4))
def test_one_standard_error_takes_the_largest_lambda_that_is_as_good(seed, measure, with_valid):
    """Query by query, with every ranker retrained."""
    X, y, qid = dirty(seed)
    valid = rw.Queries(*dirty(seed + 10)) if with_valid else None
    ranker = rw.RankRLS(rw.search(), measures=(measure, rw.nDCG), rule="one-standard-error")
    ranker.fit(X, y, qid=qid, valid=valid)
    alphas, values = ranker.path_.alphas, []
    for alpha in alphas:
        if valid is None:
            scores = retraining.held_out_scores(X, y, qid, alpha)
        else:
            scores = valid.X @ retraining.rankrls(X, y, qid, alpha)
        values.append(rw.evaluate(scores, valid or rw.Queries(X, y, qid), measure).values[measure])
    assert np.isnan(values).any() == (measure != rw.AP)  # which leaves no query out
    assert ranker.alpha_ == alphas[cheapest_as_good(values, -alphas, lower_is_better=measure.lower_is_better)]


def test_one_validation_query_cannot_tell_how_much_chance_there_is():
    X, y, qid = collection()
    valid = rw.Queries(*collection(seed=1))[0]
    rankers = [rw.RankRLS(rw.search(), measures="ndcg", rule=rule) for rule in ("best", "one-standard-error")]
    best, simple = (ranker.fit(X, y, qid=qid, valid=valid) for ranker in rankers)
    means = np.array([value.mean for value in best.path_.valid[rw.nDCG]])
    assert means.min() < means.max()
    assert simple.alpha_ == best.path_.alphas[means == means.max()].max()


def test_regression_is_ridge_regression():
    X, y, qid = collection()
    ours, theirs = rw.RegressionRanker(2.0).fit(X, y, qid=qid), Ridge(2.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)
    assert ours.intercept_ == pytest.approx(theirs.intercept_)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_a_kernel_against_its_own_normal_equations():
    """Paper G, eq. 6, solved plainly; and the linear kernel is RankRLS."""
    X, y, qid = collection(rows=50, queries=5)
    L = np.eye(50)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        L[np.ix_(rows, rows)] -= 1 / len(rows)
    K = rbf_kernel(X, gamma=0.3)
    a = np.linalg.solve(L @ K @ L + 0.7 * np.eye(50), L @ y)
    ours = rw.KernelRankRLS(0.7, kernel="rbf", gamma=0.3).fit(X, y, qid=qid)
    np.testing.assert_allclose(ours.predict(X[:9]), K[:9] @ a, rtol=1e-9, atol=1e-12)
    linear = rw.KernelRankRLS(0.7, kernel="linear").fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(linear, rw.RankRLS(0.7).fit(X, y, qid=qid).predict(X), rtol=1e-8)
    own = rw.KernelRankRLS(0.7, kernel=lambda u, v: float(u @ v)).fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(own, linear, rtol=1e-8)


def test_a_kernel_learns_what_no_line_can():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y, qid = (np.hypot(*X.T) > 1.2).astype(float), np.repeat(np.arange(20), 20)
    queries = rw.Queries(X, y, qid)
    kernel = rw.leave_query_out(rw.KernelRankRLS(kernel="rbf"), queries).evaluate("map")[0].means[rw.AP]
    linear = rw.leave_query_out(rw.RankRLS(), queries).evaluate("map")[0].means[rw.AP]
    assert kernel > 0.95 > 0.8 > linear


def test_in_scikit_learns_tools():
    X, y, qid = collection()
    ranker = rw.RankRLS(alpha=rw.search(1, 2), measures="map")
    assert clone(ranker).get_params() == ranker.get_params()
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(rw.QueryMinMaxScaler(), rw.RankRLS())
        pipeline.fit(X, y, qid=qid)
        folds = GroupKFold(3).split(X, y, qid)
        splits = list(folds)
        search = GridSearchCV(rw.RankRLS(), {"alpha": [0.1, 1e4]}, cv=splits).fit(X, y, qid=qid)
    scaled = rw.QueryMinMaxScaler().fit_transform(X, qid=qid)
    np.testing.assert_allclose(pipeline[-1].coef_, rw.RankRLS().fit(scaled, y, qid=qid).coef_)
    for alpha, told in zip([0.1, 1e4], search.cv_results_["mean_test_score"], strict=True):
        by_hand = [
            rw.RankRLS(alpha).fit(X[train], y[train], qid=qid[train]).score(X[test], y[test], qid=qid[test])
            for train, test in splits
        ]
        assert told == pytest.approx(np.mean(by_hand))


@pytest.mark.parametrize("ranker", [rw.RankRLS, rw.RegressionRanker, rw.KernelRankRLS])
def test_bad_input(ranker):
    X, y, qid = collection(rows=20, queries=4)
    with pytest.raises(rw.ParameterError, match="alpha"):
        ranker(alpha=-1.0).fit(X, y, qid=qid)
    with pytest.raises(rw.ParameterError, match="alpha"):
        ranker(alpha=rw.search(1, np.inf)).fit(X, y, qid=qid)
    with pytest.raises(rw.ParameterError, match="rule"):
        ranker(rule="worst").fit(X, y, qid=qid)
    with pytest.raises(rw.ParameterError, match="measures"):
        ranker(alpha=rw.search(), measures=()).fit(X, y, qid=qid)
    with pytest.raises(rw.ParameterError, match="y is missing"):
        ranker().fit(X)
    with pytest.raises(rw.ParameterError, match="valid must be Queries"):
        ranker().fit(X, y, qid=qid, valid=X)
    with pytest.raises(rw.DataError, match="valid has 1 features"):
        ranker().fit(X, y, qid=qid, valid=rw.Queries(X[:, :1], y, qid))
    with pytest.raises(rw.DataError, match="only one query"):
        ranker(alpha=rw.search()).fit(X, y, group=[len(y)])
    with pytest.raises(rw.DataError, match="grades"):
        ranker().fit(X, -y - 1, qid=qid)
    with pytest.raises(ValueError, match="features"):
        ranker().fit(X, y, qid=qid).predict(X[:, :2])
    bad = X.copy()
    bad[7, 3] = np.inf
    for store in (np.asarray, sp.csr_array):
        with pytest.raises(rw.DataError, match="row 7"):
            ranker().fit(store(bad), y, qid=qid)


def test_a_wrong_kernel_is_named():
    X, y, qid = collection(rows=20, queries=4)
    for kernel in ("magic", "precomputed", "sigmoid"):
        with pytest.raises(rw.ParameterError, match="kernel must be one of"):
            rw.KernelRankRLS(kernel=kernel).fit(X, y, qid=qid)
    with pytest.raises(rw.ParameterError, match="not positive semidefinite"):
        rw.KernelRankRLS(0.001, kernel=lambda u, v: -float(u @ v)).fit(X, y, qid=qid)


def test_one_document_queries_teach_nothing_and_hurt_nothing():
    X, y, qid = collection(rows=40, queries=5)
    more = np.vstack([X, [[9.0] * 5, [1e5] * 5]])
    ours = rw.RankRLS().fit(more, np.append(y, [3, 0]), qid=np.append(qid, [100, 101]))
    np.testing.assert_allclose(ours.coef_, rw.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-10)
    only = rw.RankRLS().fit(X[:3], y[:3], qid=[1, 2, 3])
    assert not only.coef_.any()
    assert only.rank(X[:3]).tolist() == [1, 2, 3]


def test_search_prints_as_it_is_typed():
    assert repr(rw.search()) == "search()"
    assert repr(rw.search(0.5, 2)) == "search(0.5, 2)"
    assert rw.search([1, 2]) == rw.search(1, 2)
    with pytest.raises(rw.ParameterError, match="at least one value"):
        rw.search([])


def test_csr_with_large_offsets_is_centred_as_exactly_as_dense():
    rng = np.random.default_rng(0)
    X, qid = rng.standard_normal((60, 4)), np.repeat(np.arange(10), 6)
    y = rng.integers(0, 3, 60).astype(float)
    for offset in (1e4, 1e6, 1e8):
        shifted = X + np.array([0, offset, 0, 0])
        shifted[:, 3] = offset + 0.1  # constant: nothing is left of it
        expected = retraining.rankrls(shifted, y, qid, 1.0)
        ours = rw.RankRLS().fit(sp.csr_array(shifted), y, qid=qid).coef_
        np.testing.assert_allclose(ours, expected, rtol=1e-15 * offset + 1e-9, atol=1e-12)


def test_queries_in_place_of_arrays():
    queries = rw.Queries(*collection())
    ranker = rw.RankRLS().fit(queries)
    np.testing.assert_array_equal(ranker.predict(queries), ranker.predict(queries.X))
    np.testing.assert_array_equal(ranker.rank(queries), ranker.rank(queries.X, queries.qid))
    assert ranker.score(queries) == ranker.score(queries.X, queries.y, queries.qid)


@pytest.mark.parametrize("ranker", [rw.RankRLS(), rw.RegressionRanker(), rw.KernelRankRLS()], ids=str)
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_features_that_are_not_finite_cannot_be_scored(ranker, store):
    X, y, qid = collection(rows=30)
    ranker.fit(store(X), y, qid=qid)
    X[4, 2] = np.nan
    with pytest.raises(rw.DataError, match=r"row 4: feature 'f3' is missing \(NaN\)"):
        ranker.predict(store(X))
    with pytest.raises(rw.DataError, match=r"valid: row 4 .* feature 'f3'"):
        ranker.fit(store(np.nan_to_num(X)), y, qid=qid, valid=rw.Queries(store(X), y, qid))


def test_a_feature_that_is_not_selected_may_be_missing():
    X, y, qid = collection()
    ranker = rw.GreedyRankRLS(1.0, 4, measures=()).fit(X, y, qid=qid)
    unused = next(i for i in range(5) if i not in ranker.selected_features_)
    expected = ranker.predict(X)
    X[:, unused] = np.nan
    np.testing.assert_array_equal(ranker.predict(X), expected)


def test_validation_queries_with_other_features():
    X, y, qid = collection()
    train = rw.Queries(X, y, qid, feature_names=list("abcde"))
    valid = rw.Queries(X[:, ::-1], y, qid, feature_names=list("edcba"))
    for ranker in (rw.RankRLS(rw.search()), rw.GreedyRankRLS(1.0, 2)):
        with pytest.raises(rw.DataError, match="another order"):
            ranker.fit(train, valid=valid)


def test_dual_weights_are_in_the_order_of_the_rows():
    X, y, qid = collection(rows=40)
    kernel = rw.KernelRankRLS(2.0, kernel="linear").fit(X, y, qid=qid)
    np.testing.assert_allclose(X.T @ kernel.dual_coef_, rw.RankRLS(2.0).fit(X, y, qid=qid).coef_, rtol=1e-8)


def test_iteration_that_does_not_converge_is_told(monkeypatch):
    from sklearn.exceptions import ConvergenceWarning

    from rankwright.solvers import conjugate_gradient, ridge

    monkeypatch.setattr(ridge, "_MOST_FEATURES_OF_MATRIX", 2)
    monkeypatch.setattr(conjugate_gradient, "_ROUNDS", 0)
    few = lambda *parts: conjugate_gradient.shifted_conjugate_gradients(*parts, most_products=2)  # noqa: E731
    monkeypatch.setattr(ridge, "shifted_conjugate_gradients", few)
    X, y, qid = collection()
    with pytest.warns(ConvergenceWarning, match="alpha = 1"):
        assert rw.RankRLS(1.0).fit(sp.csr_array(X), y, qid=qid).solver_ == "cg"


@pytest.mark.parametrize("ranker", [rw.RankRLS(rw.search(0.1, 10)), rw.GreedyRankRLS(1.0, 3)], ids=str)
def test_many_threads_give_the_same_every_time_and_what_one_gives(ranker, monkeypatch):
    from rankwright.machine import threads

    X, y, qid = collection(rows=400, queries=40)
    monkeypatch.setenv("RANKWRIGHT_THREADS", "1")
    one = clone(ranker).fit(X, y, qid=qid)
    monkeypatch.setenv("RANKWRIGHT_THREADS", "4")
    monkeypatch.setattr(threads, "_DOCUMENTS_WORTH_A_THREAD", 1)
    several = [clone(ranker).fit(X, y, qid=qid) for _ in range(10)]
    np.testing.assert_allclose(several[0].coef_, one.coef_, rtol=1e-12)
    for other in several:
        np.testing.assert_array_equal(other.coef_, several[0].coef_)


def rank_deficient(dtype, columns=300, rank=12, scale=None):
    """More columns than directions in which documents differ."""
    rng = np.random.default_rng(4)
    basis, qid = rng.standard_normal((400, rank)), np.repeat(np.arange(20), 20)
    X = basis @ rng.standard_normal((rank, columns))
    X = X if scale is None else X * scale
    y = np.clip(np.round(basis[:, 0] + rng.standard_normal(400)), 0, 2)
    return rw.Queries(X.astype(dtype), y, qid)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [None, np.geomspace(1e-3, 1e3, 300)], ids=["one scale", "many scales"])
def test_folds_of_collinear_columns_say_what_retraining_says(dtype, scale):
    queries = rank_deficient(dtype, scale=scale)
    largest = np.linalg.norm(retraining.centred(queries.X, queries.qid), 2) ** 2
    alphas = largest * np.array([1e-5, 1e-3, 1e-1])  # above the rounding of float32 products
    path = rw.RankRLS(rw.search(*alphas), folds=4, measures="ndcg@10").fit(queries).path_
    ((measure, estimates),) = path.folds.items()
    fold_of = np.arange(queries.n_queries) % 4
    for at, alpha in enumerate(alphas):
        values = np.empty(queries.n_queries)
        for fold in range(4):
            train, judged = queries[fold_of != fold], queries[fold_of == fold]
            weights = retraining.rankrls(train.X.astype(np.float64), train.y, train.qid, alpha)
            scores = judged.X.astype(np.float64) @ weights
            values[fold_of == fold] = rw.evaluate(scores, judged, "ndcg@10").values[measure]
        assert estimates[at].mean == pytest.approx(np.nanmean(values), abs=1e-3 if dtype == np.float32 else 1e-12)


def test_folds_of_collinear_float32_columns_end_for_every_lambda():
    ranker = rw.RankRLS(rw.search(), folds=5).fit(rank_deficient(np.float32))
    assert np.isfinite([estimate.mean for estimate in next(iter(ranker.path_.folds.values()))]).all()
