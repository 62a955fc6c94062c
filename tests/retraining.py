"""RankRLS by its definition, retrained for every set of features and every query left out: slow, and nothing shared.

Weights come from an orthogonal least-squares solver (LAPACK's gelsd) on the stacked system [X̂; √λ I]w = [ŷ; 0], not
from normal equations; only data ten times wider than long are solved by eq. 6 of paper G.
"""

import numpy as np


def centred(values, qid):
    values = np.array(values, dtype=np.float64)
    for query in set(np.asarray(qid).tolist()):
        rows = np.asarray(qid) == query
        values[rows] -= values[rows].mean(axis=0)
    return values


def ridge(X, y, alpha):
    n = X.shape[1]
    if n > 10 * len(X):  # eq. 6 of paper G: the system above would be huge
        return X.T @ np.linalg.solve(X @ X.T + alpha * np.eye(len(X)), y)
    system = np.vstack([X, np.sqrt(alpha) * np.eye(n)])
    return np.linalg.lstsq(system, np.append(y, np.zeros(n)), rcond=None)[0]


def rankrls(X, y, qid, alpha):
    return ridge(centred(X, qid), centred(y, qid), alpha)


def held_out_scores(X, y, qid, alpha, train=rankrls):
    """Scores of each query by the weights trained without it."""
    scores = np.empty(len(y))
    for query in set(np.asarray(qid).tolist()):
        rows = np.asarray(qid) == query
        scores[rows] = X[rows] @ train(X[~rows], y[~rows], np.asarray(qid)[~rows], alpha)
    return scores


def held_out_error(X, y, qid, alpha):
    """The squared leave-query-out error, paper G's eq. 7."""
    errors = centred(y, qid) - centred(held_out_scores(X, y, qid, alpha), qid)
    return float(errors @ errors)


def greedy(X, y, qid, alpha, k, rate=held_out_error):
    """Wrapper selection: in each step the feature whose set has the least rating, the first of equals."""
    selected, ratings = [], []
    for _ in range(k):
        left = [i for i in range(X.shape[1]) if i not in selected]
        rated = [rate(X[:, [*selected, i]], y, qid, alpha) for i in left]
        best = next(place for place, value in enumerate(rated) if value <= min(rated) * (1 + 1e-12) + 1e-300)
        selected.append(left[best])
        ratings.append(rated[best])
    return selected, ratings
