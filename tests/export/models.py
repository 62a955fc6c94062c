"""Models of given weights and stumps."""

import numpy as np

import rankwright as rw
from rankwright.preparation.formula import Formula
from rankwright.rankers.linear_model import LinearModel


def linear(weights, *, intercept=0.0, names=None):
    return LinearModel.of(
        Formula(np.asarray(weights, dtype=float), intercept),
        feature_names=names,
        ranker="RankRLS",
        parameters={},
        training={},
    )


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
