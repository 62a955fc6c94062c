"""Files of trees come back bit for bit, or the fault is named; whatever follows from a model works with trees."""

import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.errors import ParseError
from tests.trees import made

MODELS = {"lightgbm": made.lightgbm_model, "xgboost": made.xgboost_model}


@pytest.mark.parametrize("library", MODELS)
def test_a_file_comes_back_as_it_was(library, tmp_path):
    model = MODELS[library](made.trees(1), feature_names=["ä", "b c", "x=y", "f4"], training={"data": "made up"})
    path, again = tmp_path / "model.json", tmp_path / "again.json"
    rw.save_model(model, path)
    read = rw.load_model(path)
    x = made.documents(0)
    assert np.array_equal(read.predict(x), model.predict(x))
    assert (read.library_, read.text_, read.training_) == (library, model.text_, {"data": "made up"})
    assert read.feature_names_in_.tolist() == ["ä", "b c", "x=y", "f4"]
    assert repr(read) == f"TreeModel({model.ranker_}, 4 features, 5 trees)"
    rw.save_model(read, again)
    assert again.read_bytes() == path.read_bytes()
    assert json.loads(path.read_text())["version"] == 4


def test_a_model_that_was_cut_can_be_saved(tmp_path):
    trees = made.trees(0, n_features=2)
    cut = made.lightgbm_model(trees, n_features=4).cut_to(3)
    rw.save_model(cut, tmp_path / "cut.json")
    assert rw.load_model(tmp_path / "cut.json").n_features_in_ == 3


def test_it_is_measured_ranked_and_certified():
    rng = np.random.default_rng(0)
    x = made.documents(3, n_rows=200)
    queries = rw.Queries(x, rng.integers(0, 3, 200), qid=np.array([f"q{i % 23}" for i in range(200)]))
    model = made.lightgbm_model(made.trees(1))
    assert 0 <= model.score(queries) <= 1
    assert np.array_equal(model.rank(queries), model.rank(x, qid=queries.qid))
    assert rw.evaluate(model, queries, "ndcg@10").means
    with pytest.raises(rw.ParameterError, match="cannot be trained"):
        model.fit(x)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"library": "catboost"}, "library must be 'lightgbm' or 'xgboost', not \"catboost\""),
        ({"trees": 3}, "trees must be a list of lines of text"),
        ({"trees": ["tree", 3]}, "trees must be a list of lines of text"),
        ({"trees": ["hello"]}, "no text of a LightGBM model"),
        ({"library": "xgboost"}, "no JSON of an XGBoost model"),
        ({"version": 3}, "version 4 of the format or a later one"),
        ({"n_features": 1, "feature_names": None}, "n_features is 1"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(changed, told, tmp_path):
    path = tmp_path / "model.json"
    rw.save_model(made.lightgbm_model(made.trees(0)), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    with pytest.raises(ParseError, match=told):
        rw.load_model(path)


# Broken texts

TEXT = made.lightgbm_text(made.trees(0, n_trees=2, n_leaves=4), 4)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("version=v4", "version=v9", "version 'v9'"),
        ("num_class=1", "num_class=3", "num_class is '3'"),
        ("label_index=0", "average_output", "averages its trees"),
        ("max_feature_idx=3", "max_feature_idx=0", "names of features|not among the 1 features"),
        ("max_feature_idx=3", "max_feature_idx=x", "max_feature_idx must be a whole number"),
        ("num_cat=0", "num_cat=1", "compares categories"),
        ("is_linear=0", "is_linear=1", "linear models in its leaves"),
        ("num_leaves=4", "num_leaves=5", "numbers, but there must be"),
        ("num_leaves=4", "num_leaves=0", "no leaf"),
        ("num_leaves=4", "num_leaves=99999999999999999999999", "num_leaves must be a whole number"),
        ("left_child=", "left_child=7 ", "left_child has"),
        ("Tree=1", "Tree=5", "must be 1"),
        ("leaf_value=", "leaf_value=x ", "leaf_value"),
        ("threshold=", "limit=", "no field 'threshold'"),
        ("end of trees", "", "no text of a LightGBM model"),
        ("num_cat=0", "num_cat=0\nnum_cat=0", "given twice"),
    ],
)
def test_broken_text_of_lightgbm_is_refused(old, new, told):
    with pytest.raises(rw.ParameterError, match=told):
        rw.TreeModel.of_lightgbm(TEXT.replace(old, new))


def changed_field(name, change):
    lines = TEXT.split("\n")
    place = next(place for place, line in enumerate(lines) if line.startswith(f"{name}="))
    values = lines[place].split("=")[1].split()
    lines[place] = f"{name}={' '.join(map(str, change(values)))}"
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("left_child", lambda values: [0, *values[1:]], "child of two nodes, or of itself"),
        ("left_child", lambda values: [9, *values[1:]], "that of no node"),
        ("left_child", lambda values: [-9, *values[1:]], "that of no node"),
        ("right_child", lambda values: [values[1], *values[1:]], "child of two nodes|not reached"),
        ("threshold", lambda values: ["nan", *values[1:]], "not a finite number"),
        ("leaf_value", lambda values: ["inf", *values[1:]], "not a finite number"),
        ("split_feature", lambda values: [4, *values[1:]], "not among the 4 features"),
        ("split_feature", lambda values: [-1, *values[1:]], "not among the 4 features"),
        ("split_feature", lambda values: ["1.5", *values[1:]], "must be a list of numbers"),
        ("split_feature", lambda values: [10**30, *values[1:]], "must be a list of numbers"),
        ("decision_type", lambda values: [1, *values[1:]], "compares categories"),
        ("decision_type", lambda values: [12, *values[1:]], "decision_type has 12"),
        ("decision_type", lambda values: [-8, *values[1:]], "decision_type has -8"),
        ("decision_type", lambda values: [64, *values[1:]], "decision_type has 64"),
        ("leaf_count", lambda values: [-1, *values[1:]], "cover of a node"),
    ],
)
def test_nodes_that_are_no_tree_are_refused(name, change, told):
    with pytest.raises(rw.ParameterError, match=told):
        rw.TreeModel.of_lightgbm(changed_field(name, change))


def test_a_tree_that_is_too_deep_is_refused():
    node = made.Node(value=0.5, cover=1)
    for _ in range(251):
        node = made.Node(0, 1.0, "none", False, made.Node(value=1.0, cover=1), node, cover=2)
    with pytest.raises(rw.ParameterError, match="251 splits deep"):
        made.lightgbm_model([node])


def xgboost_content():
    return json.loads(made.xgboost_json(made.trees(0, n_trees=2, n_leaves=4), 4))


def _of(path, value):
    def change(content):
        *way, last = path
        for step in way:
            content = content[step]
        content[last] = value

    return change


_TREE = ("learner", "gradient_booster", "model", "trees", 0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_of(("learner",), []), "there is no 'learner'"),
        (_of(("learner", "gradient_booster", "name"), "dart"), "the booster is 'dart'"),
        (_of(("learner", "gradient_booster", "model", "trees"), [3]), "no JSON of an XGBoost model"),
        (_of(("learner", "learner_model_param", "num_class"), "3"), "several scores for each document"),
        (_of(("learner", "learner_model_param", "num_target"), "2"), "several scores for each document"),
        (_of(("learner", "learner_model_param", "num_feature"), "1"), "not among the 1 features"),
        (_of(("learner", "learner_model_param", "base_score"), "[1,2]"), "base_score must be a number"),
        (_of(("learner", "learner_model_param", "base_score"), "nan"), "cannot begin with"),
        (_of(("learner", "objective", "name"), "multi:softmax"), "objective 'multi:softmax' is not known"),
        (_of(("learner", "feature_names"), ["a"]), "feature_names must be a list of 4 texts"),
        (_of((*_TREE, "left_children"), [0, 3, 5, -1, -1, -1, -1]), "child of two nodes, or of itself"),
        (_of((*_TREE, "left_children"), [1, 99, 5, -1, -1, -1, -1]), "not among its 7 nodes"),
        (_of((*_TREE, "left_children"), [-1] * 7), "6 nodes are not reached"),
        (_of((*_TREE, "left_children"), ["a"] * 7), "left_children must be a list of numbers"),
        (_of((*_TREE, "left_children"), [10**40] * 7), "out of range"),
        (_of((*_TREE, "left_children"), [10**400] * 7), "out of range"),
        (_of((*_TREE, "left_children"), [1.5, 3, 5, -1, -1, -1, -1]), "left_children must be a list of whole numbers"),
        (_of((*_TREE, "tree_param", "num_nodes"), "9000000000"), "must be a list of 9,000,000,000 numbers"),
        (_of((*_TREE, "split_conditions"), [float("nan")] * 7), "not a finite number"),
        (_of((*_TREE, "split_conditions"), [1e300] * 7), "not a finite number"),
        (_of((*_TREE, "split_type"), [1] * 7), "compares categories"),
        (_of((*_TREE, "sum_hessian"), [1.0]), "sum_hessian must be a list of 7 numbers"),
        (_of((*_TREE, "tree_param", "size_leaf_vector"), "3"), "several numbers in each leaf"),
        (_of((*_TREE, "tree_param", "num_deleted"), "1"), "not reached"),
        (_of((*_TREE, "tree_param", "num_nodes"), "8"), "must be a list of 8 numbers"),
    ],
)
def test_broken_json_of_xgboost_is_refused(change, told):
    content = xgboost_content()
    change(content)
    with pytest.raises(rw.ParameterError, match=told):
        rw.TreeModel.of_xgboost(json.dumps(content))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000])
def test_what_is_no_model_at_all_is_refused(text):
    with pytest.raises(rw.ParameterError, match="XGBoost"):
        rw.TreeModel.of_xgboost(text)
    with pytest.raises(rw.ParameterError, match="LightGBM"):
        rw.TreeModel.of_lightgbm(text)
    with pytest.raises(rw.ParameterError, match="must be a text, not bytes"):
        rw.TreeModel.of_lightgbm(b"tree")
