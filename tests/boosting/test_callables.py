"""What libraries call in every round: all their interfaces, and data sets that are known again."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import rankwright as rw
import rankwright.lightgbm
import rankwright.xgboost
from rankwright.losses import LOSSES, loss_of


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "1")


def collection(seed=0, n_queries=90):
    """Curved relevance; a query with one document, one without a relevant one, a constant column, missing values."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 25, n_queries)
    sizes[3] = 1
    X = rng.standard_normal((sizes.sum(), 5)).astype(np.float32)
    worth = np.abs(X[:, 0]) - X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X))
    y = np.digitize(worth, [0.3, 1.2, 2.2]).astype(float)
    y[sizes[:5].sum() : sizes[:6].sum()] = 0
    X[:, 4] = 7
    X[::11, 1] = np.nan
    return rw.Queries(X, y, group=sizes)


TRAIN, VALID = collection(0), collection(1)


class DataSet:
    """As both libraries have them."""

    def __init__(self, queries, weight=None):
        self.queries, self.weight = queries, weight

    def get_label(self):
        return self.queries.y.astype(np.float32)

    def get_group(self):
        return self.queries.sizes.astype(np.int32)

    def get_uint_info(self, name):
        assert name == "group_ptr"
        return self.queries.grouping.offsets.astype(np.uint32)

    def get_weight(self):
        if self.weight is None:
            return None if self.is_lightgbm else np.zeros(0, np.float32)
        return self.weight

    is_lightgbm = True


class Matrix(DataSet):
    is_lightgbm = False


def test_all_forms_of_a_call_say_the_same():
    scores = np.random.default_rng(0).standard_normal(TRAIN.n_documents)
    weights = np.random.default_rng(1).integers(1, 4, TRAIN.n_queries).astype(np.float32)
    of_rows = np.repeat(weights, TRAIN.sizes)
    lightgbm, xgboost = rankwright.lightgbm.objective("preorder"), rankwright.xgboost.objective("preorder")
    expected = lightgbm(scores, DataSet(TRAIN, of_rows))
    for told in (
        lightgbm(TRAIN.y.astype(np.float32), scores, of_rows, TRAIN.sizes),
        xgboost(scores, Matrix(TRAIN, weights)),
        rankwright.xgboost.objective("preorder", group=TRAIN.sizes)(TRAIN.y, scores, sample_weight=of_rows),
        rankwright.lightgbm.objective("preorder", group=TRAIN.sizes)(TRAIN.y, scores, of_rows, None),
    ):
        np.testing.assert_array_equal(told, expected)
    unweighted = lightgbm(scores, DataSet(TRAIN))
    assert np.abs(unweighted[0] - expected[0]).max() > 0.01
    np.testing.assert_array_equal(xgboost(scores, Matrix(TRAIN)), unweighted)


def test_data_sets_take_turns_and_changed_ones_are_noticed():
    objective = rankwright.lightgbm.objective("ranksvm")
    made = []
    objective._prepared._make = lambda given, make=objective._prepared._make: made.append(given) or make(given)
    for _ in range(3):
        for queries in (TRAIN, VALID):
            objective(np.zeros(queries.n_documents), DataSet(queries))
    assert len(made) == 2
    changed = rw.Queries(None, np.where(np.arange(TRAIN.n_documents) == 5, 3, TRAIN.y), group=TRAIN.sizes)
    told = objective(np.zeros(TRAIN.n_documents), DataSet(changed))
    assert len(made) == 3
    np.testing.assert_array_equal(
        told, rankwright.lightgbm.objective("ranksvm")(np.zeros(TRAIN.n_documents), DataSet(changed))
    )


def test_evaluations_are_those_of_evaluate():
    scores = np.random.default_rng(0).standard_normal(VALID.n_documents)
    for measure, name in (("ndcg@5", "ndcg@5"), ("map", "map"), ("p@3", "pre@3"), ("pairwiseerror", "pairwiseerror")):
        told = rankwright.lightgbm.evaluation(measure)(scores, DataSet(VALID))
        ((own, expected),) = rw.evaluate(scores, VALID, measure).means.items()
        assert told == (str(own), pytest.approx(expected), measure != "pairwiseerror")
        assert rankwright.xgboost.evaluation(measure)(scores, Matrix(VALID)) == (name, pytest.approx(expected))
    by_letor = rankwright.lightgbm.evaluation("ndcg@10", convention="letor4")(scores, DataSet(VALID))
    assert by_letor[1] == pytest.approx(next(iter(rw.evaluate(scores, VALID, "ndcg@10", "letor4").means.values())))


def test_weights_of_queries_count_in_evaluations():
    scores = np.random.default_rng(0).standard_normal(VALID.n_documents)
    weights = np.arange(VALID.n_queries, dtype=np.float32)
    (values,) = rw.evaluate(scores, VALID, "map").values.values()
    expected = pytest.approx(np.average(values, weights=weights))
    assert rankwright.xgboost.evaluation("map")(scores, Matrix(VALID, weights))[1] == expected
    assert rankwright.lightgbm.evaluation("map")(scores, DataSet(VALID, np.repeat(weights, VALID.sizes)))[1] == expected


def test_one_query_at_a_time_as_xgbranker_asks():
    scores = np.random.default_rng(0).standard_normal(VALID.n_documents)
    (values,) = rw.evaluate(scores, VALID, "ndcg@10").values.values()
    first, last = VALID.grouping.offsets[7:9]
    told = rankwright.xgboost.evaluation("ndcg@10")(VALID.y[first:last], scores[first:last])
    assert told == pytest.approx(values[7])
    assert rankwright.xgboost.evaluation("ndcg@10").__name__ == "ndcg@10"


def test_data_without_groups_are_refused():
    for objective in (rankwright.lightgbm.objective(), rankwright.xgboost.objective()):
        with pytest.raises(rw.ParameterError, match="which rows belong to which query"):
            objective(TRAIN.y, np.zeros(TRAIN.n_documents))


def test_weights_within_a_query_are_refused():
    weights = np.arange(TRAIN.n_documents, dtype=np.float32)
    with pytest.raises(rw.ParameterError, match="differs within query"):
        rankwright.lightgbm.objective()(np.zeros(TRAIN.n_documents), DataSet(TRAIN, weights))


@pytest.mark.parametrize("module", [rankwright.lightgbm, rankwright.xgboost])
def test_copies_leave_what_was_prepared_behind(module):
    objective, evaluation = module.objective("position-sensitive", group=TRAIN.sizes), module.evaluation("err@5")
    scores = np.random.default_rng(0).standard_normal(TRAIN.n_documents)
    told = objective(TRAIN.y, scores)
    packed = pickle.dumps(objective)
    assert len(packed) < 5000
    np.testing.assert_array_equal(pickle.loads(packed)(TRAIN.y, scores), told)
    assert pickle.loads(pickle.dumps(evaluation)).measure == evaluation.measure
    assert repr(objective) == "objective(PreorderLoss(phi='squared-hinge', weights='per-query', margin='position'))"


# In the libraries themselves

_GROWTH = {"learning_rate": 0.2, "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 10, "num_leaves": 8}


def ndcg(scores, queries):
    return next(iter(rw.evaluate(scores, queries, "ndcg@10").means.values()))


def by_lightgbm(loss, n_trees=25, **options):
    import lightgbm

    data = lightgbm.Dataset(TRAIN.X, TRAIN.y, group=TRAIN.sizes)
    valid = data.create_valid(VALID.X, VALID.y, group=VALID.sizes)
    told = {}
    booster = lightgbm.train(
        {**_GROWTH, "objective": rankwright.lightgbm.objective(loss), **options},
        data,
        n_trees,
        valid_sets=[valid],
        feval=rankwright.lightgbm.evaluation("ndcg@10"),
        callbacks=[lightgbm.record_evaluation(told)],
    )
    return booster, told["valid_0"]["nDCG @ 10"]


def by_xgboost(loss, n_trees=25):
    import xgboost

    data, valid = (xgboost.DMatrix(each.X, each.y, group=each.sizes) for each in (TRAIN, VALID))
    told = {}
    booster = xgboost.train(
        {"learning_rate": 0.2, "nthread": 1, "max_depth": 3, "base_score": 0.0},
        data,
        n_trees,
        obj=rankwright.xgboost.objective(loss),
        custom_metric=rankwright.xgboost.evaluation("ndcg@10"),
        evals=[(valid, "valid")],
        evals_result=told,
        verbose_eval=False,
    )
    scores = [booster.predict(matrix, output_margin=True) for matrix in (data, valid)]
    return scores, told["valid"]["ndcg@10"]


@pytest.mark.peers
@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_falls_and_ranks_new_queries_better_with_lightgbm(name):
    booster, told = by_lightgbm(name)
    losses = loss_of(name).on(TRAIN)
    assert losses.at(booster.predict(TRAIN.X)).value < losses.at(np.zeros(TRAIN.n_documents)).value
    assert told[-1] == pytest.approx(ndcg(booster.predict(VALID.X), VALID))
    assert told[-1] > ndcg(np.zeros(VALID.n_documents), VALID) + 0.1


@pytest.mark.peers
@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_falls_and_ranks_new_queries_better_with_xgboost(name):
    (on_train, on_valid), told = by_xgboost(name)
    losses = loss_of(name).on(TRAIN)
    assert losses.at(on_train).value < losses.at(np.zeros(TRAIN.n_documents)).value
    assert told[-1] == pytest.approx(ndcg(on_valid, VALID), abs=1e-6)
    assert told[-1] > ndcg(np.zeros(VALID.n_documents), VALID) + 0.1


@pytest.mark.peers
def test_scikit_learns_interface_of_lightgbm_grows_the_same_trees():
    import lightgbm

    options = {"learning_rate": 0.2, "verbosity": -1, "n_jobs": 1, "min_child_samples": 10, "num_leaves": 8}
    objective, evaluation = rankwright.lightgbm.objective("preorder"), rankwright.lightgbm.evaluation("ndcg@10")
    ranker = clone(lightgbm.LGBMRanker(objective=objective, n_estimators=25, **options))
    ranker.fit(
        TRAIN.X, TRAIN.y, group=TRAIN.sizes, eval_X=VALID.X, eval_y=VALID.y, eval_group=[VALID.sizes],
        eval_metric=evaluation,
    )  # fmt: skip
    booster, told = by_lightgbm("preorder")
    np.testing.assert_array_equal(ranker.predict(VALID.X), booster.predict(VALID.X))
    assert next(iter(ranker.evals_result_.values()))["nDCG @ 10"][-1] == pytest.approx(told[-1], abs=0.05)


@pytest.mark.peers
def test_scikit_learns_interface_of_xgboost_grows_the_same_trees():
    import xgboost

    objective = rankwright.xgboost.objective("preorder", group=TRAIN.sizes)
    options = {"learning_rate": 0.2, "n_jobs": 1, "max_depth": 3, "base_score": 0.0}
    regressor = clone(xgboost.XGBRegressor(n_estimators=25, objective=objective, **options))
    regressor.fit(TRAIN.X, TRAIN.y)
    (_, on_valid), _ = by_xgboost("preorder")
    np.testing.assert_allclose(regressor.predict(VALID.X), on_valid, rtol=1e-5, atol=1e-5)
    ranker = xgboost.XGBRanker(n_estimators=3, n_jobs=1, eval_metric=rankwright.xgboost.evaluation("map"))
    ranker.fit(TRAIN.X, TRAIN.y, group=TRAIN.sizes, eval_set=[(VALID.X, VALID.y)], eval_group=[VALID.sizes])
    told = ranker.evals_result()["validation_0"]["map"][-1]
    (values,) = rw.evaluate(ranker.predict(VALID.X), VALID, "map").values.values()
    values = np.where(VALID.sizes == 1, 1.0, values)  # as XGBoost counts them, which may also weigh them by documents
    assert told in (pytest.approx(values.mean()), pytest.approx(np.average(values, weights=VALID.sizes), abs=1e-5))


@pytest.mark.peers
def test_a_measure_of_ours_and_one_of_lightgbm_are_told_apart():
    import lightgbm

    ranker = lightgbm.LGBMRanker(objective=rankwright.lightgbm.objective("preorder"), n_estimators=6, verbosity=-1)
    watched = {"eval_set": [(VALID.X, VALID.y)], "eval_group": [VALID.sizes]}
    ours = rankwright.lightgbm.evaluation("ndcg@5")
    ranker.fit(TRAIN.X, TRAIN.y, group=TRAIN.sizes, eval_metric=ours, callbacks=[lightgbm.early_stopping(2)], **watched)
    told = ranker.evals_result_["valid_0"]
    assert len(told["nDCG @ 5"]) == len(told["ndcg@5"]) <= 6
