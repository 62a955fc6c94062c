"""Structured losses in the feature space of a kernel: the linear ranker on explicit maps, and equation 10 itself."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import rankwright as rw
from rankwright.rankers import kernel_space
from tests.streaming import streamed

MEASURES = ["ndcg@5", "map"]


def dirty(n_queries=25, n_features=4, seed=0, stored=np.asarray):
    """Text ids in no order, one-document queries, queries without relevant documents, a constant column, duplicates."""
    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random(n_queries) < 0.2, 1, rng.integers(2, 9, n_queries))
    qid = rng.permutation(np.repeat([f"q{number}" for number in rng.permutation(n_queries)], sizes))
    x = np.round(rng.standard_normal((len(qid), n_features)), 1)
    x[:, 2] = 1.5
    x[3] = x[0]
    y = np.clip(np.round(x[:, 0] * x[:, 1] + x[:, 3] + 0.5), 0, 3)
    y[qid == qid[0]] = 0
    return rw.Queries(stored(x), y, qid)


def spread(scores, queries):
    """Scores within queries: what all documents of a query share does not matter."""
    return (
        scores
        - np.bincount(queries.grouping.codes, scores)[queries.grouping.codes] / queries.sizes[queries.grouping.codes]
    )


def second_degree(x, gamma, coef0):
    """The map whose products are (γ x · z + c)²."""
    first, second = np.triu_indices(x.shape[1])
    products = gamma * x[:, first] * x[:, second] * np.where(first == second, 1.0, np.sqrt(2.0))
    return np.column_stack([products, np.sqrt(2 * gamma * coef0) * x, np.full(len(x), coef0)])


@pytest.mark.parametrize("solver", ["cutting-plane", "bundle"])
@pytest.mark.parametrize("measure", MEASURES)
def test_the_linear_kernel_is_the_linear_ranker(measure, solver):
    queries = dirty()
    known = rw.StructuredRanker(measure, 0.3, tol=1e-8).fit(queries)
    found = rw.KernelStructuredRanker(measure, 0.3, kernel="linear", solver=solver, tol=1e-8).fit(queries)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-7)
    assert found.lower_bound_ <= known.objective_ * (1 + 1e-9)
    expected = spread(known.predict(queries), queries)
    np.testing.assert_allclose(spread(found.predict(queries), queries), expected, atol=1e-3 * np.ptp(expected))
    weights = found.model().formula().weights
    np.testing.assert_allclose(queries.X @ weights, found.predict(queries), atol=1e-10)
    assert len(found.X_fit_) == 4  # as many documents as span the space of all


@pytest.mark.parametrize("measure", MEASURES)
def test_the_polynomial_kernel_is_its_explicit_map(measure):
    queries = dirty()
    mapped = rw.Queries(second_degree(queries.X, 0.5, 2.0), queries.y, queries.qid)
    np.testing.assert_allclose(mapped.X @ mapped.X.T, polynomial_kernel(queries.X, gamma=0.5, degree=2, coef0=2.0))
    known = rw.StructuredRanker(measure, 0.3, tol=1e-8).fit(mapped)
    of_kernel = {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 2.0}
    found = rw.KernelStructuredRanker(measure, 0.3, tol=1e-8, **of_kernel).fit(queries)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-7)
    assert found.gap_ <= 1e-7 * found.objective_
    expected = spread(known.predict(mapped), queries)
    np.testing.assert_allclose(spread(found.predict(queries), queries), expected, atol=1e-3 * np.ptp(expected))
    fresh = dirty(seed=5)
    expected = spread(known.predict(second_degree(fresh.X, 0.5, 2.0)), fresh)
    np.testing.assert_allclose(spread(found.predict(fresh), fresh), expected, atol=1e-3 * np.ptp(expected))


# Equation (10), from kernels of documents alone


def every_plane(queries, cutoff):
    """b and c of the planes b + c · scores of each query: for all of its rankings y, Δ(y) and A(y) − A(ideal)."""
    planes = []
    for number in range(queries.n_queries):
        rows = np.flatnonzero(queries.grouping.codes == number)
        gains, ranks = 2.0 ** queries.y[rows] - 1, np.arange(1, len(rows) + 1)
        discounts = np.where(ranks <= cutoff, 1 / np.log2(ranks + 1), 0.0)
        best = np.sort(gains)[::-1] @ discounts
        by_position = np.maximum(cutoff + 1 - ranks, 0.0)
        ideal = np.argsort(np.argsort(-gains, kind="stable"))
        own = []
        for ranking in permutations(range(len(rows))):
            places = np.array(ranking)
            coefficients = np.zeros(queries.n_documents)
            coefficients[rows] = by_position[places] - by_position[ideal]
            own.append((1 - gains @ discounts[places] / best, coefficients))
        planes.append(own)
    return planes


def cutting_planes(kernels, planes, alpha):
    """Algorithm 1 of the paper: the best b · α − αᵀGα / 2λ with G_ij = c_iᵀ K c_j, Σ α ≤ 1 in each query, α ≥ 0."""
    chosen = [[] for _ in planes]
    scores, bound = np.zeros(len(kernels)), 0.0
    while True:
        violated = 0
        for own, known in zip(planes, chosen, strict=True):
            heights = [b + c @ scores for b, c in own]
            place = int(np.argmax(heights))
            if place not in known and heights[place] > max([0.0, *(heights[one] for one in known)]) + 1e-9:
                known.append(place)
                violated += 1
        if not violated:
            return bound, scores
        b = np.array([own[one][0] for own, known in zip(planes, chosen, strict=True) for one in known])
        c = np.array([own[one][1] for own, known in zip(planes, chosen, strict=True) for one in known])
        query = np.array([place for place, known in enumerate(chosen) for _ in known])
        gram = c @ kernels @ c.T  # a linear combination of kernel evaluations
        solved = minimize(
            lambda dual, b=b, gram=gram: dual @ gram @ dual / (2 * alpha) - b @ dual,
            np.full(len(b), 1e-3),
            jac=lambda dual, b=b, gram=gram: gram @ dual / alpha - b,
            bounds=[(0, None)] * len(b),
            constraints=[
                {"type": "ineq", "fun": lambda dual, own=query == number: 1 - dual[own].sum()}
                for number in range(len(planes))
            ],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        bound, scores = -solved.fun, -kernels @ (c.T @ solved.x) / alpha


def test_equation_10_of_the_paper_has_the_same_optimum():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((20, 3))
    y = np.argsort(np.argsort((x[:, 0] * x[:, 1] + x[:, 2]).reshape(5, 4))).ravel()  # one ideal ranking of each query
    queries = rw.Queries(x, y, np.repeat(np.arange(5), 4))
    alpha, gamma = 0.7, 0.4
    bound, scores = cutting_planes(rbf_kernel(x, gamma=gamma), every_plane(queries, 3), alpha)
    ranker = rw.KernelStructuredRanker("ndcg@3", alpha, kernel="rbf", gamma=gamma, tol=1e-8).fit(queries)
    assert ranker.objective_ == pytest.approx(bound, rel=1e-6)
    expected = spread(scores, queries)
    np.testing.assert_allclose(spread(ranker.predict(queries), queries), expected, atol=1e-3 * np.ptp(expected))


# What is told and chosen


def test_objective_and_bound_are_those_of_the_feature_space():
    queries = dirty()
    ranker = rw.KernelStructuredRanker("ndcg@5", 1.0, gamma=0.3).fit(queries)
    assert 0 <= ranker.gap_ <= 1e-3 * ranker.objective_
    assert ranker.lower_bound_ == pytest.approx(ranker.objective_ - ranker.gap_)
    norm = ranker.dual_coef_ @ rbf_kernel(ranker.X_fit_, gamma=0.3) @ ranker.dual_coef_
    scored = rw.Queries(ranker.predict(queries)[:, None], queries.y, queries.qid)
    of_scores = rw.StructuredRanker("ndcg@5", 1.0, center=[1.0]).fit(scored)
    losses = of_scores.objective_ + of_scores.gain_  # at w = 1, where there is no penalty
    assert ranker.objective_ == pytest.approx(norm / 2 + losses, rel=1e-7)


def test_alpha_is_chosen_on_validation_queries_and_by_folds():
    queries, valid = dirty(), dirty(seed=1)
    alphas = [0.01, 0.3, 10.0]
    ranker = rw.KernelStructuredRanker("ndcg@5", rw.search(*alphas), gamma=0.3, tol=1e-6).fit(queries, valid=valid)
    each = [rw.KernelStructuredRanker("ndcg@5", alpha, gamma=0.3, tol=1e-6).fit(queries) for alpha in alphas]
    expected = [one.score(valid) for one in each]
    (told,) = ranker.path_.valid.values()
    np.testing.assert_allclose([one.mean for one in told], expected, atol=0.02)
    assert ranker.alpha_ == alphas[int(np.argmax([one.mean for one in told]))]
    for weights, objective, one in zip(ranker.path_.weights, ranker.path_.objectives, each, strict=True):
        assert objective == pytest.approx(one.objective_, rel=1e-5)
        assert weights.shape == ranker.dual_coef_.shape
    linear, kernel = (
        kind("ndcg@5", rw.search(*alphas), tol=1e-6, folds=3, **options).fit(queries)
        for kind, options in ((rw.StructuredRanker, {}), (rw.KernelStructuredRanker, {"kernel": "linear"}))
    )
    (of_linear,), (of_kernel,) = linear.path_.folds.values(), kernel.path_.folds.values()
    np.testing.assert_allclose([one.mean for one in of_kernel], [one.mean for one in of_linear], atol=0.02)


def test_what_is_curved_is_learned():
    queries, valid = dirty(60), dirty(60, seed=1)
    linear = rw.StructuredRanker("ndcg@5", 0.1).fit(queries).score(valid)
    kernel = rw.KernelStructuredRanker("ndcg@5", 0.1, kernel="poly", degree=2).fit(queries).score(valid)
    assert kernel > linear + 0.03


@pytest.mark.parametrize("stored", [sp.csr_array, lambda x: x.astype(np.float32)], ids=["CSR", "float32"])
def test_layouts_learn_the_same(stored):
    known = rw.KernelStructuredRanker("map", 0.3, gamma=0.3, tol=1e-8).fit(dirty())
    found = rw.KernelStructuredRanker("map", 0.3, gamma=0.3, tol=1e-8).fit(dirty(stored=stored))
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-6)
    expected = known.predict(dirty())
    np.testing.assert_allclose(found.predict(dirty(stored=stored)), expected, atol=1e-3 * np.ptp(expected))


def test_weights_of_queries_and_the_tight_bound():
    queries = dirty()
    weights = np.where(np.arange(25) < 10, 2.0, 0.5)
    options = {"bound": "tight", "solver": "subgradient"}
    known = rw.StructuredRanker("ndcg@5", 1.0, tol=1e-8).fit(queries, sample_weight=weights)
    found = rw.KernelStructuredRanker("ndcg@5", 1.0, kernel="linear", tol=1e-8).fit(queries, sample_weight=weights)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-6)
    tight = rw.KernelStructuredRanker("ndcg@5", 1.0, gamma=0.3, **options).fit(queries)
    convex = rw.KernelStructuredRanker("ndcg@5", 1.0, gamma=0.3).fit(queries)
    assert tight.objective_ <= convex.objective_


# What is refused


def test_missing_values_are_named():
    queries = dirty()
    x = queries.X.copy()
    x[5, 1] = np.nan
    with pytest.raises(rw.DataError, match=r"row 5 .*feature 'f2': the value is nan"):
        rw.KernelStructuredRanker().fit(rw.Queries(x, queries.y, queries.qid))
    ranker = rw.KernelStructuredRanker("ndcg@5", gamma=0.3).fit(queries)
    with pytest.raises(rw.DataError, match=r"row 5: feature 'f2' is missing \(NaN\)\. KernelStructuredRanker does not"):
        ranker.predict(x)


def test_too_many_documents_are_refused_before_kernels_are_computed(monkeypatch):
    monkeypatch.setattr(kernel_space, "_MOST_DOCUMENTS", 50)
    with pytest.raises(rw.DataError, match=r"there are \d+ documents, and the kernels .* for 50 documents at most"):
        rw.KernelStructuredRanker().fit(dirty())


def test_streams_are_refused():
    stream = streamed(dirty(), 3)
    with pytest.raises(rw.ParameterError, match=r"KernelStructuredRanker needs all documents in memory"):
        rw.KernelStructuredRanker().fit(stream)
    with pytest.raises(rw.ParameterError, match=r"KernelStructuredRanker needs all documents in memory"):
        rw.KernelStructuredRanker().fit(dirty(), valid=stream)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"kernel": "gaussian"}, "kernel must be one of 'linear', 'rbf', .* or a function, not 'gaussian'"),
        ({"gamma": -1.0}, "gamma must be a finite number above 0, or None, not -1.0"),
        ({"degree": 0}, "degree must be a finite number above 0, not 0"),
        ({"coef0": np.inf}, "coef0 must be a finite number of at least 0.0, not inf"),
        ({"kernel": lambda u, v: -float(u @ v)}, "is not positive semidefinite on these documents"),
        ({"kernel": lambda u, v: float(u[0] * v[0] - u[1] * v[1])}, "is not positive semidefinite on these documents"),
        ({"measure": "err"}, "measure"),
        ({"solver": "newton"}, "solver must be one of"),
    ],
)
def test_bad_parameters_are_named(parameters, told):
    with pytest.raises(rw.ParameterError, match=told):
        rw.KernelStructuredRanker(**parameters).fit(dirty())


def test_a_kernel_that_overflows_is_told():
    queries = dirty()
    with pytest.raises(rw.DataError, match=r"row \d+: kernel 'poly' overflows: rescale the features"):
        rw.KernelStructuredRanker(kernel="poly", degree=5).fit(rw.Queries(queries.X * 1e60, queries.y, queries.qid))
