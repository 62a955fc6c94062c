"""Rankers and normalisers among scikit-learn's tools: its own checks, metadata routing, cloning, pickling, frames."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

import rankwright as rw

DOCS = Path(__file__).parents[2] / "docs" / "sklearn.md"

# Cheap settings: the checks are about manners, not about quality.
RANKERS = [
    rw.RegressionRanker(),
    rw.RankRLS(),
    rw.GreedyRankRLS(n_features=1),
    rw.KernelRankRLS(),
    rw.KernelStructuredRanker("ndcg@2", measures="ndcg@10"),
    rw.RankSVM(),
    rw.OrderPreservingRanker(),
    rw.StructuredRanker("ndcg@2", measures="ndcg@10"),
    rw.RankBoost(n_rounds=3),
    rw.BasisRanker(n_terms=1, hinges=2),
    rw.MappedRanker(rw.KernelMap(n_components=4, gamma=0.1, scaling="standard"), rw.RankRLS()),
]
SCALERS = [rw.QueryMinMaxScaler(), rw.GlobalStandardScaler(), rw.GlobalStandardScaler(with_mean=False)]
MAPS = [rw.KernelMap(n_components=4), rw.KernelMap("nystroem", 4, linear=False), rw.BasisMap(hinges=2)]


def name_of(estimator):
    return type(estimator).__name__


# What scikit-learn asks for and ranking cannot give. An exception that is none makes its check fail (xfail_strict).
_ROW_WEIGHTS = "rows of one query have different weights, but a pair of documents has only one: whole queries weigh"
_OF_ROW_WEIGHTS = dict.fromkeys(
    [
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    _ROW_WEIGHTS,
)
EXCEPTIONS = {
    rw.GreedyRankRLS: {
        "check_estimators_nan_inf": "predict does not look at features that were not selected: they need not be known"
    },
    rw.BasisRanker: {
        "check_estimators_nan_inf": "predict does not look at features that were not selected: they need not be known"
    },
    rw.RankSVM: _OF_ROW_WEIGHTS,
    rw.OrderPreservingRanker: _OF_ROW_WEIGHTS,
    rw.StructuredRanker: _OF_ROW_WEIGHTS,
    rw.KernelStructuredRanker: _OF_ROW_WEIGHTS,
    rw.RankBoost: _OF_ROW_WEIGHTS,
    rw.QueryMinMaxScaler: {
        "check_methods_subset_invariance": "a part of a query has another minimum and maximum than the whole query"
    },
}


class Dealt:
    """Deals the rows to three queries in turn: the checks know no qid, and GreedyRankRLS needs two queries."""

    def fit(self, X, y=None):
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return super().fit(X, y, qid=np.arange(n_rows) % 3)


DEALT = [type(f"Dealt{name_of(ranker)}", (Dealt, type(ranker)), {"__module__": __name__}) for ranker in RANKERS]
globals().update({made.__name__: made for made in DEALT})  # where pickle looks for them


def exceptions_of(estimator):
    return next((EXCEPTIONS[kind] for kind in type(estimator).__mro__ if kind in EXCEPTIONS), {})


IN_ONE_QUERY = [ranker for ranker in RANKERS if not isinstance(ranker, rw.GreedyRankRLS | rw.BasisRanker)]
IN_SEVERAL = [made(**ranker.get_params(deep=False)) for made, ranker in zip(DEALT, RANKERS, strict=True)]


IN_TWO_WAYS = ("DealtBasisRanker", "DealtGreedyRankRLS", "DealtRankRLS", "DealtRankSVM")  # the others, dealt, take long


@parametrize_with_checks(
    [*IN_ONE_QUERY, *(made for made in IN_SEVERAL if type(made).__name__ in IN_TWO_WAYS), *SCALERS, *MAPS],
    expected_failed_checks=exceptions_of,
)
def test_scikit_learns_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.slow
@parametrize_with_checks(
    [made for made in IN_SEVERAL if type(made).__name__ not in IN_TWO_WAYS], expected_failed_checks=exceptions_of
)
def test_scikit_learns_checks_in_several_queries(estimator, check):
    run_check(estimator, check)


def run_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tiny data may leave nothing to learn
        check(estimator)


def test_every_exception_is_documented():
    page = DOCS.read_text(encoding="utf-8")
    for kind, checks in EXCEPTIONS.items():
        for check in checks:
            rows = [line for line in page.splitlines() if line.startswith("|") and f"`{check}`" in line]
            assert any(f"`{kind.__name__}`" in row for row in rows), (kind.__name__, check)


# qid on its way through scikit-learn's tools

GRIDS = {
    rw.GreedyRankRLS: {"n_features": [1, 3]},
    rw.RankBoost: {"n_rounds": [1, 9]},
}


def collection(seed=0, rows=90, queries=9, n=4):
    """Queries with text ids, their rows all mixed; one has a single document, one no relevant document."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, n))
    qid = np.array([f"q{number}" for number in rng.integers(0, queries, rows)])
    qid[17] = "alone"
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.standard_normal(rows)), 0, 3)
    y[qid == "q2"] = 0
    return X * [1, 10, 1, 1] + [0, 5, 0, 0], y, qid


def scaled_by_hand(X, qid):
    scaled = np.empty_like(X)
    for query in set(qid):
        rows = qid == query
        spread = np.ptp(X[rows], axis=0)
        scaled[rows] = (X[rows] - X[rows].min(axis=0)) / np.where(spread > 0, spread, 1)
    return scaled


def ndcg(y, scores, qid, k=10):
    return rw.evaluate(scores, rw.Queries(None, y, qid), rw.nDCG @ k).means[rw.nDCG @ k]


@pytest.fixture(name="routing")
def with_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ranker", RANKERS, ids=name_of)
def test_a_pipeline_hands_qid_on(ranker):
    X, y, qid = collection()
    pipeline = make_pipeline(rw.QueryMinMaxScaler(), clone(ranker)).fit(X, y, qid=qid)
    scaled = scaled_by_hand(X, qid)
    by_hand = clone(ranker).fit(scaled, y, qid=qid)
    np.testing.assert_allclose(pipeline.predict(X, qid=qid), by_hand.predict(scaled), rtol=1e-9, atol=1e-9)
    assert pipeline.score(X, y, qid=qid) == pytest.approx(ndcg(y, by_hand.predict(scaled), qid))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ranker", RANKERS, ids=name_of)
def test_a_search_hands_qid_on(ranker):
    """GroupKFold keeps queries whole; each score is that of a loop over folds."""
    X, y, qid = collection()
    grid = GRIDS.get(type(ranker), {"alpha": [0.1, 1e3]})
    search = GridSearchCV(clone(ranker), grid, cv=GroupKFold(3)).fit(X, y, qid=qid, groups=qid)
    ((name, values),) = grid.items()
    for position, value in enumerate(values):
        for fold, (train, test) in enumerate(GroupKFold(3).split(X, y, qid)):
            assert not set(qid[train]) & set(qid[test])
            fitted = clone(ranker).set_params(**{name: value}).fit(X[train], y[train], qid=qid[train])
            told = search.cv_results_[f"split{fold}_test_score"][position]
            assert told == pytest.approx(ndcg(y[test], fitted.predict(X[test]), qid[test]))
    refitted = clone(ranker).set_params(**search.best_params_).fit(X, y, qid=qid)
    assert search.score(X, y, qid=qid) == pytest.approx(ndcg(y, refitted.predict(X), qid))


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"), reason="Pipeline.score gets no qid from scikit-learn"
)
@pytest.mark.usefixtures("routing")
def test_cross_validation_of_a_pipeline_hands_qid_on():
    X, y, qid = collection()
    pipeline, folds = make_pipeline(rw.QueryMinMaxScaler(), rw.RankSVM(0.1)), GroupKFold(3)
    told = cross_validate(pipeline, X, y, params={"qid": qid, "groups": qid}, cv=folds)["test_score"]
    search = GridSearchCV(pipeline, {"ranksvm__alpha": [0.1, 1e3]}, cv=folds).fit(X, y, qid=qid, groups=qid)
    scaled = scaled_by_hand(X, qid)
    for fold, (train, test) in enumerate(folds.split(X, y, qid)):
        fitted = rw.RankSVM(0.1).fit(scaled[train], y[train], qid=qid[train])
        expected = ndcg(y[test], fitted.predict(scaled[test]), qid[test])
        assert told[fold] == pytest.approx(expected)
        assert search.cv_results_[f"split{fold}_test_score"][0] == pytest.approx(expected)


@pytest.mark.usefixtures("routing")
def test_a_scorer_of_ones_own_gets_qid():
    X, y, qid = collection()
    scorer = make_scorer(ndcg, k=3).set_score_request(qid=True)
    pipeline = make_pipeline(rw.GlobalStandardScaler(), rw.RankRLS())
    params = {"qid": qid, "groups": qid}
    told = cross_validate(pipeline, X, y, params=params, cv=GroupKFold(3), scoring={"mine": scorer})["test_mine"]
    for value, (train, test) in zip(told, GroupKFold(3).split(X, y, qid), strict=True):
        mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
        fitted = rw.RankRLS().fit((X[train] - mean) / deviation, y[train], qid=qid[train])
        expected = ndcg(y[test], fitted.predict((X[test] - mean) / deviation), qid[test], k=3)
        assert value == pytest.approx(expected)


@pytest.mark.usefixtures("routing")
def test_weights_of_queries_are_routed_where_they_are_asked_for():
    X, y, qid = collection()
    weights = np.where(qid == "q1", 3.0, 1.0)
    ranker = rw.RankSVM().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    pipeline = make_pipeline(rw.GlobalStandardScaler(), ranker).fit(X, y, qid=qid, sample_weight=weights)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    by_hand = rw.RankSVM().fit(scaled, y, qid=qid, sample_weight=weights)
    np.testing.assert_allclose(pipeline[-1].coef_, by_hand.coef_, rtol=1e-9)
    expected = by_hand.score(scaled, y, qid=qid, sample_weight=weights)
    assert pipeline.score(X, y, qid=qid, sample_weight=weights) == pytest.approx(expected)
    assert pipeline.score(X, y, qid=qid) == pytest.approx(by_hand.score(scaled, y, qid=qid)) != expected


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ranker", [rw.RankSVM(), rw.OrderPreservingRanker()], ids=name_of)
def test_every_method_with_qid_asks_for_it(ranker):
    asked = ranker.get_metadata_routing()
    assert all(getattr(asked, method).requests["qid"] for method in ("fit", "partial_fit", "score"))


# Without routing


def test_lost_query_ids_are_told():
    """Without routing, scikit-learn hands qid on to fit alone."""
    X, y, qid = collection()
    with pytest.warns(UserWarning, match="score was given no qid"):
        cross_validate(rw.RankRLS(), X, y, params={"qid": qid}, groups=qid, cv=GroupKFold(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = rw.RankRLS().fit(X, y, qid=qid)
        ranker.score(X, y, qid=qid)
        ranker.score(rw.Queries(X, y, qid))
        rw.RankRLS().fit(X, y, group=[len(y)]).score(X, y)  # one query in training, too


@pytest.mark.parametrize("ranker", [rw.RankRLS(), rw.RankSVM()], ids=name_of)
def test_queries_are_split_by_query(ranker):
    queries = rw.Queries(*collection())
    search = GridSearchCV(ranker, {"alpha": [0.1, 1e3]}, cv=4).fit(queries)
    for fold, (train, test) in enumerate(KFold(4).split(np.arange(queries.n_queries))):
        for position, alpha in enumerate([0.1, 1e3]):
            fitted = clone(ranker).set_params(alpha=alpha).fit(queries[train])
            expected = ndcg(queries[test].y, fitted.predict(queries[test].X), queries[test].qid)
            assert search.cv_results_[f"split{fold}_test_score"][position] == pytest.approx(expected)
    assert search.predict(queries).shape == (queries.n_documents,)
    train, test = train_test_split(queries, test_size=3, random_state=0)
    assert sorted([*train.query_ids, *test.query_ids]) == sorted(queries.query_ids)
    assert test.n_queries == 3


def test_parameters_of_steps_without_routing():
    X, y, qid = collection()
    pipeline = make_pipeline(rw.QueryMinMaxScaler(), rw.RankRLS())
    pipeline.fit(X, y, queryminmaxscaler__qid=qid, rankrls__qid=qid)
    expected = rw.RankRLS().fit(scaled_by_hand(X, qid), y, qid=qid)
    np.testing.assert_allclose(pipeline[-1].coef_, expected.coef_, rtol=1e-9)


# Weights: what holds of queries instead of rows


@pytest.mark.parametrize(
    "ranker",
    [
        rw.RankSVM(tol=1e-10),
        rw.OrderPreservingRanker(tol=1e-10),
        rw.StructuredRanker("ndcg@2", alpha=0.1, tol=1e-7, measures="ndcg@10"),
        rw.RankBoost(5),
    ],
    ids=name_of,
)
def test_a_weight_is_a_number_of_copies(ranker):
    """Weight 0 is a query that is not there, weight 3 one that is there three times, under three ids."""
    X, y, qid = collection()
    copies = {query: (2 * position) % 4 for position, query in enumerate(sorted(set(qid)))}
    copies["q1"] = 3
    weights = np.array([float(copies[query]) for query in qid])
    weighed = clone(ranker).fit(X, y, qid=qid, sample_weight=weights)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    number = np.concatenate([np.arange(copies[query]) for query in qid])
    repeated = clone(ranker).fit(X[rows], y[rows], qid=np.char.add(qid[rows], number.astype(str)))
    np.testing.assert_allclose(weighed.predict(X[rows]), repeated.predict(X[rows]), rtol=1e-3, atol=1e-4)
    assert np.abs(weighed.predict(X) - clone(ranker).fit(X, y, qid=qid).predict(X)).max() > 1e-2
    expected = ndcg(y[rows], weighed.predict(X[rows]), np.char.add(qid[rows], number.astype(str)))
    assert weighed.score(X, y, qid=qid, sample_weight=weights) == pytest.approx(expected)


def test_weights_of_scores():
    X, y, qid = collection()
    ranker = rw.RankRLS(measures="pairwiseerror", convention="lightgbm").fit(X, y, qid=qid)
    queries = rw.Queries(X, y, qid)
    (values,) = rw.evaluate(ranker, queries, rw.PairwiseError, "lightgbm").values.values()
    weights = np.arange(queries.n_queries, dtype=float)
    counted = ~np.isnan(values)
    expected = -(weights[counted] @ values[counted]) / weights[counted].sum()
    assert ranker.score(queries, sample_weight=weights) == pytest.approx(expected)
    assert 0 < counted.sum() < len(values)  # some queries have no pairs, and do not count
    assert np.isnan(ranker.score(queries, sample_weight=np.where(counted, 0.0, 1.0)))
    with pytest.raises(rw.ParameterError, match="sample_weight is zero"):
        ranker.score(queries, sample_weight=0 * weights)
    with pytest.raises(rw.ParameterError, match="y is missing"):
        ranker.score(X)


# Normalisers and frames


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(("backend", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_columns_keep_their_names(backend, frame):
    X, y, qid = collection()
    names = ["bm25", "length", "clicks", "age"]
    data = frame(dict(zip(names, X.T, strict=True)))
    columns = ColumnTransformer(
        [
            ("query", rw.QueryMinMaxScaler(), ["length", "bm25"]),
            ("global", rw.GlobalStandardScaler(), ["age"]),
            ("as-is", "passthrough", ["clicks"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform=backend)
    made = columns.fit_transform(data, y, qid=qid)
    assert isinstance(made, frame)
    assert list(made.columns) == list(columns.get_feature_names_out()) == ["length", "bm25", "age", "clicks"]
    age = (X[:, 3] - X[:, 3].mean()) / X[:, 3].std()
    expected = np.column_stack([scaled_by_hand(X, qid)[:, [1, 0]], age, X[:, 2]])
    np.testing.assert_allclose(made.to_numpy(), expected, rtol=1e-9, atol=1e-12)
    ranker = make_pipeline(columns, rw.RankRLS()).fit(data, y, qid=qid)
    assert list(ranker[-1].feature_names_in_) == ["length", "bm25", "age", "clicks"]
    by_hand = rw.RankRLS().fit(expected, y, qid=qid)
    np.testing.assert_allclose(ranker.predict(data, qid=qid), by_hand.predict(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_names_of_scaled_features(scaler):
    with pytest.raises(NotFittedError):
        clone(scaler).get_feature_names_out()
    fitted = clone(scaler).fit(np.ones((3, 2)))
    assert fitted.get_feature_names_out().tolist() == ["x0", "x1"]
    assert fitted.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    named = clone(scaler).fit(pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]}))
    assert named.get_feature_names_out().tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="input_features"):
        named.get_feature_names_out(["b", "a"])


# Copies

COPIED = [
    rw.RegressionRanker(rw.search(0.1, 1)),
    rw.RankRLS(rw.search(), measures=(rw.AP, rw.nDCG @ 3), rule="one-standard-error"),
    rw.GreedyRankRLS(n_features=rw.search(), feature_costs={"f1": 1.0, "f2": 2.0, "f3": 1.0, "f4": 0.5}, floating=True),
    rw.KernelRankRLS(kernel="poly", degree=2, convention=rw.CONVENTIONS["letor4"]),
    rw.KernelStructuredRanker("map", kernel="poly", degree=2),
    rw.RankSVM(rw.search(0.1, 1), center=np.ones(4), folds=3, loss="huber-hinge"),
    rw.OrderPreservingRanker(solver="sgd", random_state=0, max_iter=2),
    rw.StructuredRanker("map", solver="cutting-plane", tricks=("hot-start",)),
    rw.RankBoost(4, weights="per-query"),
]


@pytest.mark.parametrize("ranker", COPIED, ids=name_of)
def test_copies_of_fitted_rankers(ranker):
    X, y, qid = collection()
    fitted = clone(ranker).fit(X, y, qid=qid)
    pickled = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(pickled.predict(X), fitted.predict(X))
    assert pickled.score(X, y, qid=qid) == fitted.score(X, y, qid=qid)
    assert vars(pickled).keys() == vars(fitted).keys()
    copy = clone(fitted)
    assert vars(copy).keys() == ranker.get_params().keys()
    assert repr(copy.get_params()) == repr(ranker.get_params())
    with pytest.raises(NotFittedError):
        copy.predict(X)
    np.testing.assert_array_equal(copy.fit(X, y, qid=qid).predict(X), fitted.predict(X))


def test_a_stream_goes_on_after_pickling():
    X, y, qid = collection()
    first, second = qid < "q4", qid >= "q4"
    at_once = rw.RankSVM(random_state=0).partial_fit(X[first], y[first], qid=qid[first])
    pickled = pickle.loads(pickle.dumps(at_once)).partial_fit(X[second], y[second], qid=qid[second])
    at_once.partial_fit(X[second], y[second], qid=qid[second])
    np.testing.assert_array_equal(pickled.coef_, at_once.coef_)
    assert pickled.n_queries_seen_ == len(set(qid))


@pytest.mark.parametrize("ranker", [rw.RankSVM(), rw.RankBoost(3)], ids=name_of)
def test_models_of_files_are_copied_frozen(ranker, tmp_path):
    """clone forgets what was learned, of any estimator; FrozenEstimator keeps it."""
    X, y, qid = collection()
    fitted = clone(ranker).fit(X, y, qid=qid)
    rw.save_model(fitted, tmp_path / "model.json")
    model = rw.load_model(tmp_path / "model.json")
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    frozen = clone(FrozenEstimator(model)).fit(X, y)
    np.testing.assert_array_equal(frozen.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), fitted.predict(X))
    with pytest.raises(rw.ParameterError, match="cannot be trained"):
        model.fit(X, y, qid=qid)
