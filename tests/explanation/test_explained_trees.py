"""Explanations of trees: Shapley values by their definition, and moves by trying every value."""

import itertools
import json
import math

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from tests.trees import made

NAMES = ["bm25", "age", "clicks", "length"]
RULES = {"lightgbm": made.goes_left_in_lightgbm, "xgboost": made.goes_left_in_xgboost}
MODELS = {"lightgbm": made.lightgbm_model, "xgboost": made.xgboost_model}


def expected(node, row, known, goes_left):
    """What a tree gives in the mean over the training data, split by split, where features are not known."""
    if node.left is None:
        return node.value
    left, right = (expected(child, row, known, goes_left) for child in (node.left, node.right))
    if node.feature in known:
        return left if goes_left(node, float(row[node.feature])) else right
    return (node.left.cover * left + node.right.cover * right) / node.cover


def shapley_by_definition(trees, row, goes_left, n=4):
    def worth(known):
        return sum(expected(tree, row, known, goes_left) for tree in trees)

    values = np.zeros(n)
    for j in range(n):
        others = [k for k in range(n) if k != j]
        for size in range(n):
            weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for known in itertools.combinations(others, size):
                values[j] += weight * (worth({*known, j}) - worth(set(known)))
    return values


def grown(seed, **options):
    """Trees whose covers add up."""
    trees = made.trees(seed, n_trees=4, n_leaves=9, **options)
    for node in itertools.chain.from_iterable(map(nodes_of, trees)):
        if node.left is not None:
            assert node.cover == node.left.cover + node.right.cover
    return trees


def nodes_of(node):
    yield node
    if node.left is not None:
        yield from nodes_of(node.left)
        yield from nodes_of(node.right)


def queries_of(x, seed=0):
    rng = np.random.default_rng(seed)
    qid = np.array(["red shoes", "b", "one"])[np.minimum(np.arange(len(x)) % 7 % 2 + 2 * (np.arange(len(x)) == 3), 2)]
    return rw.Queries(x, rng.integers(0, 3, len(x)), qid, feature_names=NAMES)


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_contributions_are_shapley_values_relative_to_the_mean_of_the_query(library, seed):
    trees, x = grown(seed), made.documents(seed, n_rows=30)
    queries = queries_of(x)
    explanation = rw.explain(MODELS[library](trees, feature_names=NAMES), queries, "red shoes")
    rows = [document.row for document in explanation.documents]
    values = np.array([shapley_by_definition(trees, x[row], RULES[library]) for row in rows])
    np.testing.assert_allclose(explanation.contributions, values - values.mean(axis=0), atol=1e-12)
    scores = np.array([document.score for document in explanation.documents])
    np.testing.assert_allclose(explanation.contributions.sum(axis=1), scores - scores.mean(), atol=1e-6)
    why = explanation.why(1, 4)
    np.testing.assert_allclose(why.contributions, values[0] - values[3], atol=1e-12)


def test_a_query_of_one_document_has_nothing_to_tell():
    explanation = rw.explain(made.lightgbm_model(grown(1), feature_names=NAMES), queries_of(made.documents(1)), "one")
    assert len(explanation.documents) == 1
    assert not explanation.contributions.any()
    assert "Shapley values of the trees" in str(explanation)


@pytest.mark.parametrize("library", MODELS)
def test_sparse_features_and_features_that_the_data_lack(library):
    x = made.documents(2, missing=0)
    x[np.random.default_rng(0).random(x.shape) < 0.4] = 0
    x[:, 3] = 0
    model = MODELS[library](grown(2), feature_names=NAMES)
    whole = rw.explain(model, queries_of(x), "b")
    sparse = rw.Queries(sp.csr_array(x), queries_of(x).y, queries_of(x).qid, feature_names=NAMES)
    assert np.array_equal(rw.explain(model, sparse, "b").contributions, whole.contributions)
    fewer = rw.Queries(x[:, :3], queries_of(x).y, queries_of(x).qid, feature_names=NAMES[:3])
    cut = rw.explain(model.cut_to(3), fewer, "b")
    assert cut.features == ("bm25", "age", "clicks")
    np.testing.assert_allclose(cut.contributions, whole.contributions[:, :3], atol=1e-12)


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("seed", range(4))
def test_moves_of_one_feature_are_the_nearest_there_are(library, seed):
    """Every value around every threshold is tried, and every feature that can pass is found, no farther than needed."""
    trees, x = grown(seed), np.random.default_rng(seed).normal(size=(30, 4)).round(2)
    x[x == 0] = 0.5  # which may be missing
    model, queries = MODELS[library](trees, feature_names=NAMES), queries_of(x)
    explanation = rw.explain(model, queries, "b")
    edges = np.unique([node.threshold for tree in trees for node in nodes_of(tree) if node.left is not None])
    tried = np.concatenate([edges, edges + 1e-6, edges - 1e-6])
    tried = tried[np.abs(tried) > 1e-30]
    for document in explanation.documents[1:8]:
        rise = explanation.rise(document.rank, 1)
        changes = {change.feature: change for change in rise.single}
        for j, name in enumerate(NAMES):
            rows = np.repeat(x[document.row][None], len(tried), axis=0)
            rows[:, j] = tried
            enough = tried[model.predict(rows) > rise.passed.score + 1e-5]
            assert (name in changes) == (len(enough) > 0)
            if len(enough):
                far = np.abs(enough - x[document.row, j]).min()
                assert abs(abs(changes[name].bound - x[document.row, j]) - far) <= 2.1e-6
        assert rise.joint == ()
        assert "not looked for in trees" in str(rise)


def test_a_feature_that_is_missing_is_not_moved():
    x = made.documents(5, n_rows=40, missing=0.5)
    explanation = rw.explain(made.lightgbm_model(grown(3), feature_names=NAMES), queries_of(x), "b")
    moved = [
        (change.feature, document.row)
        for document in explanation.documents[1:]
        for change in explanation.rise(document.rank).single
    ]
    assert moved
    assert not any(np.isnan(x[row, NAMES.index(name)]) for name, row in moved)


def test_what_is_told_goes_to_json_and_notebooks():
    explanation = rw.explain(made.lightgbm_model(grown(3), feature_names=NAMES), queries_of(made.documents(5)), "b")
    told = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert "Shapley values" in told["note"]
    assert "Shapley values" in explanation._repr_html_()
    assert len(explanation.to_frame()) == 4 * len(explanation.documents)


def test_trees_that_nobody_has_counted_cannot_be_explained():
    trees = grown(0)
    for node in itertools.chain.from_iterable(map(nodes_of, trees)):
        node.cover = 0
    model, queries = made.lightgbm_model(trees, feature_names=NAMES), queries_of(made.documents(0))
    assert np.isfinite(model.predict(queries)).all()
    with pytest.raises(rw.ParameterError, match="how much training data came to each node"):
        str(rw.explain(model, queries, "b"))
