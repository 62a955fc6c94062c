"""Models of given weights and stumps."""

import numpy as np

import rankwright as rw
from rankwright.models.linear_model import LinearModel
from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import Filling


def linear(weights, *, intercept=0.0, names=None):
    return LinearModel.of(
        Formula(np.asarray(weights, dtype=float), intercept),
        feature_names=names,
        ranker="RankRLS",
        parameters={},
        training={},
    )


def of_formula(formula, *, names=None):
    """The model that computes a formula, with transforms and missing values."""
    return LinearModel.of(formula, feature_names=names, ranker="RankRLS", parameters={}, training={})


def filled(weights, values, scores=None, *, by_query=False, intercept=0.0, transforms=None, names=None):
    """weight · value + score is what a missing feature adds to the score."""
    filling = Filling(np.asarray(values, dtype=float), by_query)
    added = np.zeros(len(values)) if scores is None else np.asarray(scores, dtype=float)
    weights = np.asarray(weights, dtype=float)
    return of_formula(Formula(weights, intercept, transforms or {}, filling, added), names=names)


def stumps(features, thresholds, weights=None, *, n_features=None):
    return rw.StumpModel.of(
        np.asarray(features, dtype=np.intp),
        np.asarray(thresholds, dtype=float),
        np.ones(len(thresholds)) if weights is None else np.asarray(weights, dtype=float),
        n_features=n_features or max(features) + 1,
        feature_names=None,
        ranker="RankBoost",
        parameters={},
        training={},
    )
