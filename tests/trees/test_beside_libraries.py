"""Beside LightGBM and XGBoost themselves: the same scores bit for bit, and the same Shapley values."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.trees.shapley import TreeShapley

pytestmark = pytest.mark.peers

N, F = 600, 6
SINGLE = np.float32


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, F))
    x[:, 1] = x[:, 1].round()
    x[rng.random(x.shape) < 0.1] = np.nan
    x[:, 2] = np.nan_to_num(x[:, 2])  # nothing is missing here
    x[rng.random(x.shape) < 0.1] = 0
    x[:, 5] = 1.0  # constant
    y = np.clip(np.round(np.nan_to_num(x[:, 0] * x[:, 1] + x[:, 2]) + 1), 0, 4).astype(int)
    return x, y, [30] * (N // 30)


def near(thresholds):
    """Rows of numbers on both sides of thresholds, in float64 and float32."""
    single = thresholds.astype(SINGLE)
    middle = (single.astype(float) + np.nextafter(single, -SINGLE(np.inf))) / 2
    values = [thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf), middle]
    values += [np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
    values += [np.nextafter(single, sign * SINGLE(np.inf)).astype(float) for sign in (1, -1)]
    special = [0.0, 1e-36, -1e-36, 1.0000000180025095e-35, 1e-34, np.nan]
    return np.random.default_rng(1).choice(np.append(np.concatenate(values), special * 20), (2000, F))


@pytest.mark.parametrize(
    "options",
    [{}, {"zero_as_missing": True}, {"use_missing": False}, {"boosting": "dart"}, {"objective": "regression"}],
    ids=str,
)
def test_lightgbm(data, options, tmp_path):
    import lightgbm

    x, y, group = data
    settings = {"objective": "lambdarank", "num_leaves": 15, "min_data_in_leaf": 3, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings | options, lightgbm.Dataset(x, y, group=group), 20)
    model = rw.TreeModel.of_lightgbm(booster.model_to_string())
    trees = model.trees()
    for rows in (x, x.astype(SINGLE), near(trees.thresholds[trees.columns >= 0])):
        rows = np.where(np.isinf(rows), 0, rows)
        assert np.array_equal(model.predict(rows), booster.predict(rows, raw_score=True))
    sparse = np.nan_to_num(x) * (np.random.default_rng(0).random(x.shape) < 0.5)
    wanted = booster.predict(sp.csr_matrix(sparse), raw_score=True)
    assert np.array_equal(model.predict(sp.csr_array(sparse)), wanted)
    rw.save_model(model, tmp_path / "model.json")
    again = lightgbm.Booster(model_str=rw.load_model(tmp_path / "model.json").text_)
    assert np.array_equal(again.predict(x), booster.predict(x))
    contributions = booster.predict(x[:50], pred_contrib=True)
    np.testing.assert_allclose(TreeShapley(trees, np.arange(F)).values(x[:50]), contributions[:, :-1], atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tree_method": "exact", "gamma": 0.5},
        {"objective": "binary:logistic"},
        {"objective": "reg:squarederror", "base_score": 0.7, "num_parallel_tree": 3},
    ],
    ids=str,
)
def test_xgboost(data, options, tmp_path):
    import xgboost

    x, y, group = data
    settings = {"objective": "rank:ndcg", "max_depth": 5, "nthread": 1} | options
    training = xgboost.DMatrix(x, y > 1 if "binary" in settings["objective"] else y, nthread=1)
    if "rank" in settings["objective"]:
        training.set_group(group)
    booster = xgboost.train(settings, training, 20)
    text = booster.save_raw("json").decode()
    model = rw.TreeModel.of_xgboost(text)
    raw = json.loads(text)["learner"]["gradient_booster"]["model"]["trees"]
    conditions = np.concatenate([tree["split_conditions"] for tree in raw]).astype(float)
    for rows in (x, x.astype(SINGLE), near(conditions)):
        wanted = booster.predict(xgboost.DMatrix(rows, nthread=1), output_margin=True)
        assert np.array_equal(model.predict(rows), wanted.astype(float))
    rw.save_model(model, tmp_path / "model.json")
    again = xgboost.Booster(model_file=bytearray(rw.load_model(tmp_path / "model.json").text_.encode()))
    assert np.array_equal(again.predict(training), booster.predict(training))
    contributions = booster.predict(xgboost.DMatrix(x[:50], nthread=1), pred_contribs=True)
    values = TreeShapley(model.trees(), np.arange(F)).values(x[:50])
    np.testing.assert_allclose(values, contributions[:, :-1], atol=2e-5)


@pytest.mark.parametrize("options", [{"booster": "dart"}, {"booster": "gblinear"}], ids=str)
def test_other_boosters_of_xgboost_are_refused(data, options):
    import xgboost

    x, y, _ = data
    booster = xgboost.train({"nthread": 1} | options, xgboost.DMatrix(x, y, nthread=1), 2)
    with pytest.raises(rw.ParameterError, match=f"the booster is '{options['booster']}'"):
        rw.TreeModel.of_xgboost(booster.save_raw("json").decode())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, "averages its trees"),
        ({"linear_tree": True, "objective": "regression"}, "linear models in its leaves"),
        ({"categorical_feature": "1"}, "compares categories"),
        ({"objective": "multiclass", "num_class": 5}, "num_class is '5'"),
    ],
    ids=str,
)
def test_other_models_of_lightgbm_are_refused(data, options, told):
    import lightgbm

    x, y, group = data
    x = np.abs(np.nan_to_num(x))
    settings = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "min_data_per_group": 1, "cat_smooth": 1}
    categories = options.pop("categorical_feature", None)
    dataset = lightgbm.Dataset(x, y, group=group, categorical_feature=[1] if categories else "auto", params=options)
    booster = lightgbm.train(settings | options, dataset, 5)
    with pytest.raises(rw.ParameterError, match=told):
        rw.TreeModel.of_lightgbm(booster.model_to_string())
