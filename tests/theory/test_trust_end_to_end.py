"""Certificates and risk bounds as users get them, held against a population that is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import rankwright as rw
from rankwright.preparation.formula import Formula

DELTA = 0.1
SIZE, DOCUMENTS = 400, 6


@pytest.fixture(scope="module", name="population")
def known_population():
    """Queries of equal length, and the scores of two rankers."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(SIZE, DOCUMENTS, 3))
    utility = X @ [1.0, -0.5, 0.25] + rng.normal(size=(SIZE, DOCUMENTS))
    grades = np.digitize(utility, [0.5, 1.5]).astype(float)
    return X, grades, X @ [1.0, -0.4, 0.1], X[:, :, 0]


def drawn(population, rng, n, ids):
    """A sample with ids that rise with the number of relevant documents, or tell nothing."""
    X, grades, better, other = population
    chosen = rng.integers(0, SIZE, n)
    names = rng.permutation(n) if ids == "random" else np.argsort(np.argsort(grades[chosen].sum(axis=1), kind="stable"))
    qid = np.repeat(names, DOCUMENTS)
    queries = rw.Queries(X[chosen].reshape(-1, 3), grades[chosen].ravel(), qid)
    return queries, better[chosen].ravel(), other[chosen].ravel()


def whole(population):
    X, grades, better, other = population
    queries = rw.Queries(X.reshape(-1, 3), grades.ravel(), np.repeat(np.arange(SIZE), DOCUMENTS))
    return queries, better.ravel(), other.ravel()


MEASURES = ["ndcg@5", "p@1", "kendalltau", "pairwiseerror"]


def failures(population, measure, gain, ids, repeats, n=40):
    """In how many samples the certificate is on the wrong side of what is true of the population."""
    queries, better, other = whole(population)
    (chosen,) = rw.parse_measures(measure)
    truth = rw.evaluate(better, queries, chosen).means[chosen]
    if gain:
        truth -= rw.evaluate(other, queries, chosen).means[chosen]
        truth *= -1 if chosen.lower_is_better else 1
    rng, failed = np.random.default_rng(len(measure) + gain), 0
    for _ in range(repeats):
        sample, scores, baseline = drawn(population, rng, n, ids)
        found = rw.theory.certificate(scores, sample, chosen, DELTA, baseline=baseline if gain else None)
        failed += found.bound > truth if found.is_lower else found.bound < truth
    return failed


@pytest.mark.parametrize("gain", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_certificates_cover_the_truth(population, measure, gain):
    """So many failures would have a probability of 10⁻⁴ if each had one of δ."""
    assert failures(population, measure, gain, "random", 60) <= binom.isf(1e-4, 60, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("ids", ["random", "telling"])
@pytest.mark.parametrize("gain", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_certificates_cover_the_truth_in_2000_repeats(population, measure, gain, ids):
    assert failures(population, measure, gain, ids, 2000) <= DELTA * 2000


@pytest.mark.parametrize("kind", ["ndcg", "argmax", "softmax", "corollary1"])
def test_risk_bounds_hold_for_rankers_that_were_picked_by_the_sample(population, kind):
    """Of many rankers the one whose empirical risk is most below its true risk, with the bound as it is by default."""
    queries, *_ = whole(population)
    rng = np.random.default_rng(1)
    candidates = [ranker(weights) for weights in rng.normal(size=(40, 3))]
    pairs = kind == "corollary1"
    of_all = np.array([risks(each, queries, pairs) for each in candidates])
    for _ in range(5):
        sample, *_ = drawn(population, rng, 12, "random")
        of_sample = np.array([risks(each, sample, pairs).mean() for each in candidates])
        luckiest = int(np.argmax(of_all.mean(axis=1) - of_sample))
        bound = rw.theory.risk_bound(candidates[luckiest], sample, 0.5, kind)
        assert of_all[luckiest].mean() <= bound.total


def ranker(weights):
    from rankwright.models.linear_model import LinearModel

    return LinearModel.of(Formula(np.array(weights)), feature_names=None, ranker="any", parameters={}, training={})


def risks(model, queries, pairs):
    """The number of pairs in wrong order, or 1 − nDCG@10 with 0 where nothing is relevant, for each query."""
    if pairs:
        order = np.argsort(queries.qid, kind="stable")
        grades, scores = (v[order].reshape(-1, DOCUMENTS) for v in (queries.y, model.predict(queries)))
        better = grades[:, :, None] > grades[:, None, :]
        return (better & (scores[:, :, None] <= scores[:, None, :])).sum(axis=(1, 2))
    values = rw.evaluate(model, queries, "ndcg@10").values[rw.nDCG @ 10]
    relevant = np.array([queries[q].y.any() for q in range(queries.n_queries)])
    return np.where(relevant, 1 - values, 0.0)
