"""Scores of trees are those of the library that made them, computed here from its own rules."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.errors import DataError
from tests.trees import made


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(4))
def test_scores_of_lightgbm(seed, kind):
    trees = made.trees(seed, n_trees=7, n_leaves=1 + 4 * seed)
    x = made.documents(seed).astype(kind)
    assert np.array_equal(made.lightgbm_model(trees).predict(x), made.plain_scores(trees, x))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(4))
def test_scores_of_xgboost(seed, kind):
    trees = made.trees(seed, n_trees=7, n_leaves=1 + 4 * seed)
    x = made.documents(seed).astype(kind)
    plain = made.plain_scores(trees, x, made.goes_left_in_xgboost, base=0.5)
    assert np.array_equal(made.xgboost_model(trees).predict(x), plain)


@pytest.mark.parametrize("model", [made.lightgbm_model, made.xgboost_model])
def test_what_a_sparse_matrix_does_not_store_is_zero(model):
    trees = made.trees(3)
    x = made.documents(3)
    x[np.random.default_rng(0).random(x.shape) < 0.5] = 0
    sparse = sp.csr_array(x)
    assert sparse.nnz < x.size
    assert np.array_equal(model(trees).predict(sparse), model(trees).predict(x))


def test_a_threshold_of_infinity_parts_missing_values_from_others():
    leaf = made.Node(value=1.0, cover=1)
    tree = made.Node(0, np.inf, "nan", False, leaf, made.Node(value=2.0, cover=1), cover=2)
    text = made.lightgbm_text([tree], 1)
    assert rw.TreeModel.of_lightgbm(text).predict([[1e300], [np.nan], [-5.0]]).tolist() == [1, 2, 1]


def test_thresholds_next_to_zero_are_those_of_numbers_that_lightgbm_takes_for_zero():
    trees = [
        made.Node(0, threshold, "none", False, made.Node(value=1.0, cover=1), made.Node(value=2.0, cover=1), cover=2)
        for threshold in (0.0, 1e-36, -1e-36, made.ZERO, -made.ZERO)
    ]
    x = np.array([[0.0], [1e-36], [-1e-36], [made.ZERO], [-made.ZERO], [1.1e-35], [-1.1e-35]])
    assert np.array_equal(made.lightgbm_model(trees, 1).predict(x), made.plain_scores(trees, x))


@pytest.mark.parametrize("model", [made.lightgbm_model, made.xgboost_model])
def test_infinite_features_are_refused_if_they_are_used(model):
    tree = made.trees(0, n_trees=1, n_leaves=3, n_features=1)
    x = np.array([[1.0, np.inf], [-np.inf, 0.0]])
    told = model(tree, n_features=2)
    assert np.isfinite(told.predict(x[:1])).all()
    with pytest.raises(DataError, match="row 1: feature 'f1' is -inf"):
        told.predict(x)


def test_trees_without_splits_score_all_documents_alike():
    model = made.lightgbm_model(made.trees(0, n_trees=2, n_leaves=1))
    assert len(model.used_features()) == 0
    assert len(set(model.predict(made.documents(0)).tolist())) == 1


def test_it_is_cut_to_data_whose_last_features_are_zero():
    trees = made.trees(5, n_trees=9, n_leaves=9)
    x = made.documents(1)
    x[:, 2:] = 0
    cut = made.lightgbm_model(trees).cut_to(2)
    assert np.array_equal(cut.predict(x[:, :2]), made.plain_scores(trees, x))
    assert np.array_equal(cut.predict(sp.csr_array(x[:, :2])), made.plain_scores(trees, x))


@pytest.mark.parametrize("base", ["5E-1", "[5E-1]"])
@pytest.mark.parametrize(
    ("objective", "begins"), [("rank:ndcg", 0.5), ("binary:logistic", 0.0), ("count:poisson", np.log(0.5))]
)
def test_what_scores_of_xgboost_begin_with(base, objective, begins):
    text = made.xgboost_json(made.trees(0, n_trees=0), 4, base, objective)
    assert rw.TreeModel.of_xgboost(text).predict(np.zeros((1, 4))) == pytest.approx([begins], rel=1e-7)


def test_nodes_that_xgboost_has_pruned_do_not_count():
    tree = made.trees(1, n_trees=1, n_leaves=5)
    content = json.loads(made.xgboost_json(tree, 4))
    raw = content["learner"]["gradient_booster"]["model"]["trees"][0]
    for name, values in raw.items():
        if isinstance(values, list):
            values.append({"split_indices": 2**31 - 1, "split_type": 0}.get(name, -1))
    raw["tree_param"] |= {"num_deleted": "1", "num_nodes": str(len(raw["split_indices"]))}
    x = made.documents(0)
    assert np.array_equal(rw.TreeModel.of_xgboost(json.dumps(content)).predict(x), made.xgboost_model(tree).predict(x))


def test_names_come_from_the_library_or_are_told():
    trees, names = made.trees(0), ["bm25", "age", "clicks", "length"]
    assert rw.TreeModel.of_lightgbm(made.lightgbm_text(trees, 4, names)).feature_names_in_.tolist() == names
    assert rw.TreeModel.of_xgboost(made.xgboost_json(trees, 4, names=names)).feature_names_in_.tolist() == names
    assert not hasattr(made.lightgbm_model(trees), "feature_names_in_")
    assert made.lightgbm_model(trees, feature_names=names).feature_names_in_.tolist() == names
    with pytest.raises(rw.ParameterError, match="feature_names has 2 names for 4 features"):
        made.lightgbm_model(trees, feature_names=["a", "b"])
