"""The letor4 preset on real data: RankRLS in six lines of NumPy gives the published test results on MQ2008.

The figures are the RankRLS columns of tables 7 to 10 of paper G: trained on three parts, λ = 2^-15 … 2^15 chosen
by MAP on the fourth, tested on the fifth.
"""

import numpy as np
import pytest

import rankwright as rw

PUBLISHED = {
    rw.AP: [0.4524, 0.4300, 0.4542, 0.5225, 0.5006],
    rw.P @ 10: [0.2391, 0.2217, 0.2325, 0.2949, 0.2503],
    rw.MeanNDCG: [0.4633, 0.4269, 0.4741, 0.5407, 0.5138],
    rw.nDCG @ 10: [0.2145, 0.1669, 0.2489, 0.2874, 0.2165],
}


def _gram(part):
    """X̂ᵀX̂ and X̂ᵀŷ of one part, centred query by query."""
    gram, target = np.zeros((part.n_features, part.n_features)), np.zeros(part.n_features)
    for query in part:
        X, y = query.X - query.X.mean(0), query.y - query.y.mean()
        gram, target = gram + X.T @ X, target + X.T @ y
    return gram, target


def test_rankrls_on_mq2008(real_data):
    parts = [rw.read_svmlight(real_data / "MQ2008" / f"S{i}.txt.gz", dtype=np.float64) for i in range(1, 6)]
    sums = [_gram(part) for part in parts]
    for fold in range(5):
        *train, valid, test = [(fold + i) % 5 for i in range(5)]
        gram, target = (sum(sums[i][k] for i in train) for k in range(2))
        rankers = [np.linalg.solve(gram + 2.0**e * np.eye(len(gram)), target) for e in range(-15, 16)]
        chosen = max(rankers, key=lambda w: rw.evaluate(parts[valid].X @ w, parts[valid], rw.AP, "letor4").means[rw.AP])
        means = rw.evaluate(parts[test].X @ chosen, parts[test], list(PUBLISHED), "letor4").means
        for measure, published in PUBLISHED.items():
            assert means[measure] == pytest.approx(published[fold], abs=1e-4), (measure, fold + 1)
