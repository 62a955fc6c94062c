"""The one-standard-error rule by its definition, model by model: plain, and nothing shared."""

import warnings

import numpy as np
from scipy.stats import sem


def as_good_as_the_best(values, *, lower_is_better=False):
    """Which models (models × held-out queries, NaN where one does not count) are as good as the best, and which is."""
    worth = np.array(values, dtype=float) * (-1 if lower_is_better else 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
        means = np.nan_to_num(np.nanmean(worth, axis=1), nan=-np.inf)
    best = means.tolist().index(max(means))
    if np.isneginf(means[best]):
        return list(range(len(worth))), means
    found = []
    for model, row in enumerate(worth):
        lost = worth[best] - row
        lost = lost[~np.isnan(lost)]
        allowed = sem(lost) if len(lost) > 1 else 0.0
        if len(lost) and (lost.mean() <= allowed or np.isclose(lost.mean(), allowed, rtol=1e-9, atol=0)):
            found.append(model)
    return found, means


def cheapest_as_good(values, costs, *, lower_is_better=False):
    """The position of the cheapest model that is as good as the best; the best of several, and the first of equals."""
    close, means = as_good_as_the_best(values, lower_is_better=lower_is_better)
    least = min(costs[model] for model in close)
    cheapest = [model for model in close if costs[model] == least]
    return max(cheapest, key=lambda model: means[model])
