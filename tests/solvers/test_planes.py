"""Planes below structured losses, the dual on them, and their soft maximum, against NumPy, SciPy and all rankings."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from scipy.special import logsumexp, softmax

import rankwright as rw
from rankwright.losses import StructuredHinge
from rankwright.solvers import plane_kernels as kernels
from rankwright.solvers.document_planes import DocumentPlanes
from rankwright.solvers.planes import FeaturePlanes, _rounding
from tests.objectives import SeenPlanes, found, structured_objective
from tests.solvers.programme import CENTER, Programme, collection, ndcg

ALPHA = 0.7
KINDS = [FeaturePlanes, DocumentPlanes]


def objective_of(X, y, qid, center=CENTER):
    queries = rw.Queries(X, y, qid)
    return structured_objective(queries, StructuredHinge("ndcg@3"), ALPHA, center)


def with_planes(kind, n_planes=5, seed=0, X=None):
    """Planes that touch the losses at some weights, all with a dual variable, so that none is given up; the weights."""
    data = collection(seed)
    objective = objective_of(data[0] if X is None else X, *data[1:])
    objective.is_wide = kind is DocumentPlanes
    planes, visited = SeenPlanes(kind(objective)), np.random.default_rng(seed).standard_normal((n_planes, 3))
    for weights in visited:
        objective.look(weights)
        planes.add(weights, 0, objective.n_queries, 1e-9)
        for q, count in enumerate(planes.counts):
            planes.duals[q, :count] = 1 / count
    return objective, planes, visited


def with_random_duals(planes, rng):
    for q, count in enumerate(planes.counts):
        planes.duals[q] = 0.0
        planes.duals[q, :count] = rng.dirichlet(np.ones(count))
    return planes


def dual_value(planes, vectors):
    """D written out."""
    combined = np.einsum("qi,qif->f", planes.duals, vectors)
    return np.sum(planes.duals * planes.margins) + CENTER @ combined - combined @ combined / (2 * ALPHA)


def known(planes, q):
    """b and v of a query's planes."""
    count = planes.counts[q]
    return planes.margins[q, :count], planes.vectors[q, :count]


def test_planes_touch_the_losses_and_are_nowhere_above_them():
    X, y, qid = collection()
    programme, rng = Programme(X, y, qid, ndcg(3)), np.random.default_rng(1)
    _, planes, visited = with_planes(FeaturePlanes)
    assert planes.n_planes == planes.counts.sum() - 7 > 7
    for weights in [*visited, *rng.standard_normal((20, 3)), np.zeros(3)]:
        exact = programme.losses(weights)
        highest = np.array([np.max(b + v @ weights) for b, v in (known(planes, q) for q in range(7))])
        assert (highest <= exact + 1e-12).all()
        if any(weights is one for one in visited):
            np.testing.assert_allclose(highest, exact, atol=1e-12)
    for q in range(7):
        b, v = known(planes, q)
        assert b[0] == 0
        assert not v[0].any()
        planes.set_heights(visited[0])
        np.testing.assert_allclose(planes.heights[q, : len(b)], b + v @ visited[0], atol=1e-12)
        np.testing.assert_allclose(planes.gram[q, : len(b), : len(b)], v @ v.T, rtol=1e-12, atol=1e-12)


def test_no_dual_variables_give_more_than_the_optimum():
    X, y, qid = collection()
    least = Programme(X, y, qid, ndcg(3)).optimum(ALPHA, CENTER)
    _, planes, _ = with_planes(FeaturePlanes)
    rng = np.random.default_rng(0)
    for _ in range(20):
        with_random_duals(planes, rng)
        combined = planes.combined()
        np.testing.assert_allclose(combined, np.einsum("qi,qif->f", planes.duals, planes.vectors), atol=1e-12)
        bound = planes.bound(combined, ALPHA, CENTER)
        assert bound == pytest.approx(dual_value(planes, planes.vectors), rel=1e-12)
        assert bound <= least.value


@pytest.mark.parametrize("kind", KINDS)
def test_ascent_raises_the_bound_to_the_optimum(kind):
    X, y, qid = collection()
    least = Programme(X, y, qid, ndcg(3)).optimum(ALPHA, CENTER)
    objective, planes, _ = with_planes(kind, n_planes=0)
    weights, order = CENTER.copy(), np.random.default_rng(0).permutation(7)
    bound = -np.inf
    for _ in range(300):
        objective.look(weights)
        planes.add(weights, 0, 7, 0.0)
        told = planes.ascend(order, ALPHA, weights, 0.0)
        assert told >= -1e-12
        np.testing.assert_allclose(planes.duals.sum(axis=1), 1, rtol=1e-12)
        assert (planes.duals >= 0).all()
        combined = planes.combined()
        np.testing.assert_allclose(weights, CENTER - combined / ALPHA, atol=1e-10)
        before, bound = bound, planes.bound(combined, ALPHA, CENTER)
        assert bound >= before - 1e-12
    assert bound == pytest.approx(least.value, rel=1e-8)
    objective.look(weights)
    assert objective.value(weights) == pytest.approx(least.value, rel=1e-6)


def test_the_gap_that_ascent_tells():
    """Σ_q max_i h_i − Σ_i d_i h_i, where nothing moves since nothing is above ``least``."""
    _, planes, visited = with_planes(FeaturePlanes)
    with_random_duals(planes, np.random.default_rng(0))
    weights, duals = visited[0].copy(), planes.duals.copy()
    expected = 0.0
    for q in range(7):
        b, v = known(planes, q)
        heights = b + v @ weights
        expected += heights.max() - planes.duals[q, : len(b)] @ heights
    assert planes.ascend(np.arange(7), ALPHA, weights, 1e9) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(planes.duals, duals)
    np.testing.assert_array_equal(weights, visited[0])
    assert planes.ascend(np.array([2, 4]), ALPHA, weights, 1e9) < expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("first", "last"), [(0, 7), (2, 5), (3, 3)])
def test_queries_in_a_row_have_their_turns_as_a_range(kind, first, last):
    ascended = []
    for queries in (range(first, last), np.arange(first, last)):
        _, planes, visited = with_planes(kind)
        weights = visited[0].copy()
        ascended.append((planes.ascend(queries, ALPHA, weights, 0.0), weights, planes.duals.copy()))
    for of_range, of_array in zip(*ascended, strict=True):
        np.testing.assert_array_equal(of_range, of_array)


@pytest.mark.parametrize(
    "kind", [np.array, sp.csr_array, lambda x: x.astype(np.float32)], ids=["dense", "csr", "float32"]
)
def test_planes_of_documents_are_those_of_features(kind):
    X = collection()[0].astype(np.float32).astype(float)
    ours, theirs = (with_planes(which, n_planes=12, X=kind(X)) for which in KINDS)
    (_, features, _), (_, documents, _) = ours, theirs
    np.testing.assert_array_equal(features.counts, documents.counts)
    assert features.counts.max() > 8  # room for more has been made
    np.testing.assert_allclose(features.margins, documents.margins, atol=1e-12)
    np.testing.assert_allclose(features.gram, documents.gram, atol=1e-10)
    np.testing.assert_allclose(features.combined(), documents.combined(), atol=1e-10)
    weights = [CENTER - planes.combined() / ALPHA for planes in (features, documents)]
    told = [
        planes.ascend(np.arange(7), ALPHA, own, 1e-9, 1)
        for planes, own in zip((features, documents), weights, strict=True)
    ]
    assert told[0] == pytest.approx(told[1], rel=1e-10)
    np.testing.assert_allclose(features.duals, documents.duals, atol=1e-10)
    np.testing.assert_allclose(*weights, atol=1e-10)
    # After more steps, rounding decides which of two planes of one height is taken; the optimum is the same.
    for planes, own in zip((features, documents), weights, strict=True):
        for _ in range(300):
            planes.ascend(np.arange(7), ALPHA, own, 0.0)
    bounds = [planes.bound(planes.combined(), ALPHA, CENTER) for planes in (features, documents)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_only_idle_planes_are_dropped(kind):
    objective, planes, _ = with_planes(kind, n_planes=12)
    weights = CENTER.copy()
    for _ in range(10):
        planes.ascend(np.arange(7), ALPHA, weights, 1e-10)
        objective.look(weights)
        planes.add(weights, 0, 7, 1e-10)
    count, bound, duals = planes.n_planes, planes.bound(planes.combined(), ALPHA, CENTER), planes.duals.copy()
    planes.drop_idle(1000)
    assert planes.n_planes == count
    planes.drop_idle(3)
    assert 0 < planes.n_planes < count
    assert planes.n_planes >= np.sum(duals[:, 1:] > 0)
    assert planes.bound(planes.combined(), ALPHA, CENTER) == pytest.approx(bound, rel=1e-12)
    for q in range(7):
        assert sorted(planes.duals[q][planes.duals[q] > 0]) == sorted(duals[q][duals[q] > 0])
        if kind is FeaturePlanes:
            b, v = known(planes, q)
            np.testing.assert_allclose(planes.gram[q, : len(b), : len(b)], v @ v.T, rtol=1e-12, atol=1e-12)


def test_a_plane_that_tells_nothing_new_is_left():
    objective, planes, visited = with_planes(FeaturePlanes)
    before = planes.n_planes
    objective.look(visited[0])
    planes.add(visited[0], 0, 7, 1e-9)
    assert planes.n_planes == before
    new = 5 * np.ones(3)
    objective.look(new)
    planes.add(new, 0, 7, 1e9)
    assert planes.n_planes == before
    planes.add(new, 0, 3, 0.0)  # of the first queries only
    assert before < planes.n_planes <= before + 3
    for q in range(3):
        b, v = known(planes, q)
        assert np.max(b + v @ new) == pytest.approx(found(objective, "values")[q], rel=1e-12)


def test_the_soft_maximum_and_its_derivatives():
    _, planes, visited = with_planes(FeaturePlanes)
    weights, direction, temperature = visited[1], np.array([0.3, -0.2, 0.5]), 0.2

    def softened(at):
        total = 0.0
        for q in range(7):
            b, v = known(planes, q)
            total += temperature * logsumexp((b + v @ at) / temperature)
        return total

    planes.set_heights(weights)
    heights, (at_one, *largest) = np.abs(planes.heights).max(), planes.set_slopes(direction, temperature)
    assert largest == [heights, np.abs(planes.slopes).max()]
    assert at_one == pytest.approx(softened(weights + direction), rel=1e-12)
    tried = planes.soften_each((0.5, 0.25), temperature)
    assert tried == pytest.approx([softened(weights + step * direction) for step in (0.5, 0.25)], rel=1e-12)
    for step in (0.0, 0.7):
        at = weights + step * direction
        assert planes.soften(step, temperature) == pytest.approx(softened(at), rel=1e-12)
        for q in range(7):
            b, v = known(planes, q)
            np.testing.assert_allclose(planes.duals[q, : len(b)], softmax((b + v @ at) / temperature), atol=1e-12)
        np.testing.assert_allclose(planes.combined(), approx_fprime(at, softened, 1e-7), atol=1e-5)

    def gradient(at):
        planes.set_heights(at)
        planes.soften(0.0, temperature)
        return planes.combined()

    expected = approx_fprime(weights, gradient, 1e-6)
    gradient(weights)
    np.testing.assert_allclose(planes.curvature() / temperature, expected, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-140, 1e-5, 1.0, 1e140])
def test_the_curvature_is_exact_in_any_order(scale):
    """Of rows that have been rounded, products are added without rounding: in fractions they are the same."""
    rng = np.random.default_rng(0)
    n_queries, room, n = 40, 6, 3
    vectors = scale * rng.standard_normal((n_queries, room, n)) * [1.0, 1e-3, 1e4]
    duals, counts = rng.dirichlet(np.full(room, 0.5), n_queries), np.full(n_queries, room)
    squares = (vectors[:, 1:] ** 2).max(axis=1).sum(axis=0)
    rows = np.empty((n_queries * room, n))
    used, _ = kernels.hessian_rows(vectors, duals, counts, 0, n_queries, _rounding(squares), np.empty(n), rows)
    exact = [[sum(Fraction(r[f]) * Fraction(r[g]) for r in rows[:used]) for g in range(n)] for f in range(n)]
    assert [[Fraction(number) for number in line] for line in (rows[:used].T @ rows[:used]).tolist()] == exact
    vectors[:, 0] = 0
    away = vectors - np.einsum("qi,qif->qf", duals, vectors)[:, None]
    plain = np.einsum("qi,qif,qig->fg", duals, away, away)
    size = np.sqrt(np.diag(plain))
    relative = rows[:used].T @ rows[:used] / size / size[:, None]
    np.testing.assert_allclose(relative, plain / size / size[:, None], rtol=0, atol=1e-7)


def test_one_query_of_another_size_does_not_hide_the_others():
    """Rows are rounded by the curvature as it is, in which a query that has settled has no part."""
    made = rw.datasets.make_queries(200, 15, 6, n_informative=4, n_correlated=0, seed=2).queries
    X = made.X.copy()
    X[made.qid == made.qid[0]] *= 1e6
    ranker = rw.StructuredRanker("ndcg@10", 1.0, tol=1e-3, max_iter=300).fit(X, made.y, qid=made.qid)
    assert ranker.gap_ <= 1e-2 * ranker.objective_


def test_a_soft_maximum_of_high_planes_does_not_overflow():
    _, planes, visited = with_planes(FeaturePlanes)
    weights = 1e6 * visited[0]
    exact = sum(np.max(b + v @ weights) for b, v in (known(planes, q) for q in range(7)))
    planes.set_heights(weights)
    assert planes.soften(0.0, 1e-8) == pytest.approx(exact, rel=1e-12)
    assert np.isfinite(planes.curvature()).all()


def test_parts_are_read_as_the_whole():
    X, y, qid = collection()
    whole, parts = objective_of(X, y, qid), objective_of(X, y, qid)
    weights = np.array([0.3, -0.5, 0.1])
    whole.look(weights)
    for first, last in ((0, 3), (3, 4), (4, 7)):
        parts.look(weights, first, last)
    np.testing.assert_array_equal(found(whole, "vectors"), found(parts, "vectors"))
    np.testing.assert_array_equal(found(whole, "values"), found(parts, "values"))
    assert whole.argmax_calls == parts.argmax_calls == 7
    assert whole.engine.passes == parts.engine.passes == 1
    exact = Programme(X, y, qid, ndcg(3)).value(weights, ALPHA, CENTER)
    assert whole.value(weights) == pytest.approx(exact, rel=1e-12)
    point = whole.losses.point()
    assert whole.losses_at(whole.scores_of(weights), point) + whole.penalty(weights) == pytest.approx(exact, rel=1e-12)
    margin, vector = whole.plane_of(point)
    np.testing.assert_allclose(vector, found(whole, "vectors").sum(axis=0), atol=1e-12)
    assert margin + vector @ weights + whole.penalty(weights) == pytest.approx(exact, rel=1e-12)
