"""Attributes that anyone can set are checked before anything is computed from them: compiled loops trust them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rankwright as rw
from tests.export.models import linear, stumps

QUERIES = rw.datasets.make_queries(6, 5, 4, n_informative=2, n_correlated=1, seed=1, dtype=np.float64).queries

USES = {
    "predict": lambda ranker, _: ranker.predict(QUERIES),
    "predict CSR": lambda ranker, _: ranker.predict(sp.csr_array(QUERIES.X)),
    "rank": lambda ranker, _: ranker.rank(QUERIES),
    "score": lambda ranker, _: ranker.score(QUERIES),
    "evaluate": lambda ranker, _: rw.evaluate(ranker, QUERIES, "map"),
    "explain": lambda ranker, _: rw.explain(ranker, QUERIES, QUERIES.query_ids[0]),
    "export": lambda ranker, _: rw.export_model(ranker, "sql"),
    "save": lambda ranker, path: rw.save_model(ranker, path / "model.json"),
}
LINEAR_USES = {**USES, "risk_bound": lambda ranker, _: rw.theory.risk_bound(ranker, QUERIES)}

WRONG_WEIGHTS = [
    ("coef_", np.ones(3), r"coef_ of this \w+ has shape \(3,\), but must have one number for each of its 4 features"),
    ("coef_", np.ones(5), r"has shape \(5,\)"),
    ("coef_", np.ones((1, 4)), r"has shape \(1, 4\)"),
    ("coef_", np.float64(1.0), r"has shape \(\)"),
    ("coef_", np.array(list("abcd")), "coef_ of this .* must be an array of real numbers, not of <U1"),
    ("coef_", np.ones(4, complex), "not of complex128"),
    ("coef_", [1.0, [2.0], 3.0, 4.0], "must be an array of real numbers"),
    ("coef_", None, "not of object"),
    ("coef_", np.array([1.0, np.nan, 0.0, 0.0]), "coef_ of this .* is not all finite"),
    ("intercept_", np.inf, "intercept_ of this .* is not all finite"),
    ("intercept_", [1.0, 2.0], "intercept_ of this .* must be one number"),
]
WRONG_STUMPS = [
    (
        "stump_features_",
        np.array([0, 4]),
        "stump_features_ of this .* has 4 at place 1, but its 4 features are columns",
    ),
    ("stump_features_", np.array([-1, 0]), "has -1 at place 0"),
    ("stump_features_", np.array([2**62, 0]), "has 4611686018427387904 at place 0"),
    ("stump_features_", np.array([0.0, 1.0]), "must hold whole numbers, not float64"),
    ("stump_features_", np.array([0, 1, 1]), r"has shape \(3,\), but must have one number for each of its 2 stumps"),
    ("stump_features_", np.array([[0, 1]]), r"has shape \(1, 2\)"),
    ("stump_thresholds_", np.zeros(1), r"stump_thresholds_ of this .* has shape \(1,\)"),
    ("stump_thresholds_", np.array([0.0, np.nan]), "stump_thresholds_ of this .* is not all finite"),
    ("stump_weights_", np.zeros((2, 1)), r"stump_weights_ of this .* has shape \(2, 1\)"),
    ("stump_weights_", np.zeros(3), r"stump_thresholds_ of this .* has shape \(2,\), but must have .* of its 3 stumps"),
    ("stump_weights_", np.array(["x", "y"]), "stump_weights_ of this .* must be an array of real numbers, not of <U1"),
]


def check_refused(uses, ranker, problem, path):
    for use in uses.values():
        with pytest.raises(rw.ParameterError, match=problem):
            use(ranker, path)
    assert not list(path.iterdir())


@pytest.mark.parametrize(("attribute", "value", "problem"), WRONG_WEIGHTS)
@pytest.mark.parametrize("made", ["RankRLS", "LinearModel"])
def test_weights(made, attribute, value, problem, tmp_path):
    ranker = rw.RankRLS().fit(QUERIES) if made == "RankRLS" else linear(np.ones(4))
    setattr(ranker, attribute, value)
    check_refused(LINEAR_USES, ranker, problem, tmp_path)


@pytest.mark.parametrize(("attribute", "value", "problem"), WRONG_STUMPS)
@pytest.mark.parametrize("made", ["RankBoost", "StumpModel"])
def test_stumps(made, attribute, value, problem, tmp_path):
    ranker = stumps([0, 1], [0.5, 0.0], n_features=4)
    if made == "RankBoost":
        ranker, model = rw.RankBoost(2).fit(QUERIES), ranker
        ranker.stump_features_, ranker.stump_thresholds_ = model.stump_features_, model.stump_thresholds_
        ranker.stump_weights_ = model.stump_weights_
    setattr(ranker, attribute, value)
    check_refused(USES, ranker, problem, tmp_path)


@pytest.mark.parametrize(
    ("mean", "scale", "problem"),
    [
        (np.zeros(3), np.ones(4), "a finite number for each of the 4 features"),
        (np.zeros(4), np.ones((4, 1)), "a finite number for each of the 4 features"),
        (np.array([0, 0, 0, np.nan]), np.ones(4), "a finite number for each of the 4 features"),
        (np.zeros(4), np.array([1.0, 1.0, 0.0, 1.0]), "the scale of every feature must be above 0"),
    ],
)
def test_a_scaler_of_a_model(mean, scale, problem, tmp_path):
    model = linear(np.ones(4))
    model.standardisation_ = (mean, scale)
    check_refused(LINEAR_USES, model, problem, tmp_path)


def test_numbers_of_other_kinds_that_mean_the_same_are_taken(tmp_path):
    ranker = rw.RankRLS().fit(QUERIES)
    ranker.coef_ = [1, 0, 2, 0]
    np.testing.assert_array_equal(ranker.predict(QUERIES), QUERIES.X @ [1.0, 0.0, 2.0, 0.0])
    rw.save_model(ranker, tmp_path / "model.json")
    assert rw.load_model(tmp_path / "model.json").coef_.tolist() == [1.0, 0.0, 2.0, 0.0]
    boosted = stumps([0, 1], [0.5, 0.0], n_features=4)
    expected = boosted.predict(QUERIES)
    boosted.stump_features_, boosted.stump_weights_ = [0, 1], np.ones(2, np.float32)
    np.testing.assert_array_equal(boosted.predict(QUERIES), expected)


def test_weights_alone_do_not_make_a_ranker(tmp_path):
    ranker = clone(rw.RankRLS())
    ranker.coef_ = np.ones(4)
    with pytest.raises(rw.ParameterError, match="n_features_in_ of this RankRLS is missing: fit sets it"):
        ranker.predict(QUERIES.X)
    with pytest.raises(rw.ParameterError, match="n_features_in_ of this RankRLS is missing: fit sets it"):
        rw.save_model(ranker, tmp_path / "model.json")
