"""Value, gradient and curvature of every loss against its definition, a double loop over pairs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.losses import PHIS, OrderPreservingLoss, PreorderLoss, SquaredLoss
from tests.losses import reference as ref

SMOOTH = ["squared-hinge", "huber-hinge", "logistic"]
SCORES = ["grid", "plain", "large", "tiny", "offset", "tied", "apart"]


class Case:
    """Some queries with scores; the rows of a query need not stand together."""

    def __init__(self, rng, ids, kind_of_grades, kind_of_scores):
        self.told = (ids, kind_of_grades, kind_of_scores)
        sizes = rng.integers(1, 13, rng.integers(1, 6))
        n = int(sizes.sum())
        codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        self.qid = [f"q {code}" for code in codes] if ids == "strings" else (7 - 3 * codes).tolist()
        self.n, self.rng = n, rng
        self.grades = {
            "levels": lambda: rng.integers(0, 5, n).astype(float),
            "binary": lambda: rng.integers(0, 2, n).astype(float),
            "equal": lambda: np.full(n, 2.0),
            "fractional": lambda: rng.choice([0.0, 0.5, 1.25, 2.75, 3.1], n),
            "many": lambda: rng.permutation(n) / 8.0,
        }[kind_of_grades]()
        self.ranks = np.empty(n, int)
        for rows in ref.rows_by_query(self.qid):
            self.ranks[rows] = rng.permutation(len(rows)) + 1
        self.edges = [
            (i, j, float(weight))
            for rows in ref.rows_by_query(self.qid)
            for i, j in itertools.permutations(rows, 2)
            if rng.random() < 0.3
            for weight in [rng.choice([0.0, 0.5, 1.0, 2.3])]
        ]
        self.scores = {
            # Quarters: pairs stand exactly at t = ½, 1 and 1½, where φ or its derivatives have corners.
            "grid": lambda: rng.integers(-8, 9, n) / 4.0,
            "plain": lambda: rng.standard_normal(n),
            "large": lambda: 1e6 * rng.standard_normal(n),
            "tiny": lambda: 1e-6 * rng.standard_normal(n),
            "offset": lambda: 1e6 * codes + rng.standard_normal(n),
            "tied": lambda: np.full(n, 0.3),
            "apart": lambda: rng.standard_normal(n) + 30 * rng.integers(-2, 3, n),
        }[kind_of_scores]()
        self.sample_weight = rng.choice([0.0, 1.0, 2.5], len(sizes)) if rng.random() < 0.3 else None

    def __repr__(self):
        return f"Case{self.told}({self.qid}, {self.grades.tolist()}, {self.scores.tolist()})"

    @property
    def offsets(self):
        """A number for each row, the same throughout a query."""
        names = sorted(set(self.qid))
        return np.array([float(names.index(query)) for query in self.qid])

    @property
    def graded(self):
        return rw.Queries(None, self.grades, self.qid)

    @property
    def ranked(self):
        return rw.Queries(None, rw.FullRanking(self.ranks), self.qid)

    @property
    def graph(self):
        ends = np.array([edge[:2] for edge in self.edges], dtype=int).reshape(-1, 2)
        weights = np.array([edge[2] for edge in self.edges], dtype=float)
        return rw.Queries(None, rw.PreferenceGraph(self.n, ends[:, 0], ends[:, 1], weights), self.qid)


@st.composite
def cases(draw, scores=SCORES):
    return Case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.sampled_from(["numbers", "strings"])),
        draw(st.sampled_from(["levels", "binary", "equal", "fractional", "many"])),
        draw(st.sampled_from(scores)),
    )


def full_hessian(at, n):
    return np.array([at.hessian_product(unit) for unit in np.eye(n)]).T


def within(actual, interval, error):
    low, high = interval
    assert (actual >= low - error).all(), (low - actual).max()
    assert (actual <= high + error).all(), (actual - high).max()


def check(case, loss, queries, phi, pairs):
    """Everything that a pairwise loss says, against the pairs."""
    at = loss.on(queries, case.sample_weight).at(case.scores)
    expected = ref.evaluate(pairs, phi, case.scores, case.qid)
    assert at.values.shape == expected.values.shape
    assert (np.abs(at.values - expected.values) <= expected.value_error).all()
    assert at.value == pytest.approx(expected.values.sum(), rel=1e-12, abs=expected.value_error.sum())
    within(at.gradient, expected.gradient, expected.gradient_error)
    hessian, error = full_hessian(at, case.n), expected.hessian_error
    # Off the diagonal every entry is that of one or two pairs; on it, what makes the rows sum to 0.
    off = ~np.eye(case.n, dtype=bool)
    within(hessian[off], (expected.hessian[0][off], expected.hessian[1][off]), error)
    assert np.abs(hessian.sum(axis=1)).max() <= case.n * error
    assert np.abs(hessian - hessian.T).max() <= 2 * error
    assert np.linalg.eigvalsh((hessian + hessian.T) / 2).min() >= -case.n * error
    direction = case.rng.standard_normal(case.n)
    allowed = 1e-13 * case.n * np.abs(hessian).max(initial=0) * np.abs(direction).max() + case.n * error * 4
    np.testing.assert_allclose(at.hessian_product(direction), hessian @ direction, rtol=0, atol=allowed)


@pytest.mark.parametrize("phi", list(PHIS))
@settings(max_examples=50)
@given(case=cases())
def test_preorder_loss_of_grades(phi, case):
    for weights, margin in itertools.product(["unit", "per-query", "gain-per-query"], ["unit", "position"]):
        pairs = ref.preorder_pairs(case.grades, case.qid, weights, margin, case.sample_weight)
        check(case, PreorderLoss(phi, weights, margin), case.graded, phi, pairs)


@pytest.mark.parametrize("phi", list(PHIS))
@settings(max_examples=40)
@given(case=cases())
def test_preorder_loss_of_full_rankings(phi, case):
    """ρ is the rank itself, c = m."""
    for weights, margin in itertools.product(["unit", "per-query"], ["unit", "position"]):
        pairs = ref.preorder_pairs((-case.ranks).tolist(), case.qid, weights, margin, case.sample_weight)
        if margin == "position":
            sizes = {row: len(rows) for rows in ref.rows_by_query(case.qid) for row in rows}
            for i, j, _, wanted, _ in pairs:
                assert wanted == sizes[i] / case.ranks[i] - sizes[j] / case.ranks[j]
        check(case, PreorderLoss(phi, weights, margin), case.ranked, phi, pairs)


@pytest.mark.parametrize("phi", list(PHIS))
@settings(max_examples=40)
@given(case=cases())
def test_preorder_loss_of_preference_graphs(phi, case):
    for weights in ("unit", "per-query"):
        pairs = ref.edge_pairs(case.edges, case.qid, weights, case.sample_weight)
        check(case, PreorderLoss(phi, weights), case.graph, phi, pairs)


@pytest.mark.parametrize("phi", ["squared-hinge", "huber-hinge"])
@settings(max_examples=40)
@given(case=cases(), cutoff=st.sampled_from([None, 1, 3, 10, 100]), normalize=st.booleans())
def test_order_preserving_loss(phi, case, cutoff, normalize):
    supervised = [
        ("dcg", case.graded, ref.dcg_r(case.grades, case.qid), cutoff),
        ("ndcg", case.graded, ref.ndcg_r(case.grades, case.qid, cutoff), cutoff),
        ("zero-one", case.ranked, ref.zero_one_r(case.ranks, case.qid), None),
        ("wpd", case.graph, ref.wpd_r(case.edges, case.qid), None),
    ]
    for name, queries, r, at in supervised:
        pairs = ref.order_preserving_pairs(r, case.qid, normalize, case.sample_weight)
        check(case, OrderPreservingLoss(phi, name, at, normalize), queries, phi, pairs)


@settings(max_examples=40)
@given(case=cases(), cutoff=st.sampled_from([None, 1, 3]), normalize=st.booleans())
def test_squared_loss(case, cutoff, normalize):
    supervised = [
        ("dcg", case.graded, ref.dcg_r(case.grades, case.qid), cutoff),
        ("ndcg", case.graded, ref.ndcg_r(case.grades, case.qid, cutoff), cutoff),
        ("zero-one", case.ranked, ref.zero_one_r(case.ranks, case.qid), None),
        ("wpd", case.graph, ref.wpd_r(case.edges, case.qid), None),
    ]
    for name, queries, r, at in supervised:
        ours = SquaredLoss(name, at, normalize).on(queries, case.sample_weight).at(case.scores)
        values, gradient, diagonal = ref.squared(r, case.qid, case.scores, normalize, case.sample_weight)
        np.testing.assert_allclose(ours.values, values, rtol=1e-12)
        # 2c (s − r) is a difference, as exact as r: a few roundings of what is subtracted may be left of it.
        roundings = 1e-15 * np.max(diagonal) * max(1.0, np.abs(case.scores).max(), np.abs(r).max())
        np.testing.assert_allclose(ours.gradient, gradient, rtol=1e-12, atol=roundings)
        direction = case.rng.standard_normal(case.n)
        np.testing.assert_allclose(ours.hessian_product(direction), diagonal * direction, rtol=1e-12)


def losses_of(case):
    """Smooth losses of all kinds with queries that they are for."""
    for phi in SMOOTH:
        for weights, margin in itertools.product(["unit", "gain-per-query"], ["unit", "position"]):
            yield PreorderLoss(phi, weights, margin), case.graded
        yield PreorderLoss(phi, "per-query", "position"), case.ranked
        yield PreorderLoss(phi), case.graph
    for phi in ("squared-hinge", "huber-hinge"):
        yield OrderPreservingLoss(phi, "ndcg", 3), case.graded
        yield OrderPreservingLoss(phi, "zero-one", normalize=True), case.ranked
        yield OrderPreservingLoss(phi, "wpd"), case.graph
    yield SquaredLoss("ndcg"), case.graded


@settings(max_examples=30)
@given(case=cases(scores=["plain", "tied", "grid"]))
def test_gradients_are_central_differences_of_values(case):
    """φ is smooth, and quadratic in pieces or analytic: differences are off by h times the curvature at most."""
    step = 1e-5
    direction = case.rng.standard_normal(case.n)
    for loss, queries in losses_of(case):
        on = loss.on(queries, case.sample_weight)
        before, here, after = (on.at(case.scores + t * direction) for t in (-step, 0, step))
        bend = max(abs(float(direction @ at.hessian_product(direction))) for at in (before, here, after))
        size = max(abs(here.value), 1.0)
        slope = (after.value - before.value) / (2 * step)
        assert slope == pytest.approx(here.gradient @ direction, abs=2 * step * bend + 1e-14 * size / step)
        # And the Hessian is the gradient's difference, where no pair crosses a corner in between.
        if all(np.allclose(at.hessian_product(direction), here.hessian_product(direction)) for at in (before, after)):
            change = (after.gradient - before.gradient) / (2 * step)
            curved = here.hessian_product(direction)
            scale = np.abs(here.gradient).max(initial=1.0)
            # Third derivatives of the logistic function leave h² of its size.
            np.testing.assert_allclose(change, curved, rtol=1e-4, atol=1e-13 * scale * case.n / step)


@settings(max_examples=30)
@given(case=cases(scores=["grid", "plain"]), offset=st.sampled_from([0.25, -3.0, 1024.0]))
def test_a_constant_added_to_a_querys_scores_changes_nothing(case, offset):
    shifted = case.scores + offset * case.offsets
    for loss, queries in losses_of(case):
        if isinstance(loss, SquaredLoss):
            continue  # it asks for certain scores, not for differences
        on = loss.on(queries, case.sample_weight)
        one, other = on.at(case.scores), on.at(shifted)
        size = max(one.value, 1.0)
        np.testing.assert_allclose(other.values, one.values, rtol=1e-10, atol=1e-11 * size)
        np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-9, atol=1e-10 * size)
        direction = case.rng.standard_normal(case.n)
        if np.array_equal(case.scores * 4, np.round(case.scores * 4)):
            continue  # pairs at corners may fall on either side
        curved = one.hessian_product(direction)
        np.testing.assert_allclose(other.hessian_product(direction), curved, rtol=1e-9, atol=1e-10 * size)
        lifted = direction + 1e6 * case.offsets
        np.testing.assert_allclose(one.hessian_product(lifted), curved, rtol=1e-6, atol=1e-8 * size)


def test_values_at_the_corners_of_phi():
    """The formulas at their very joints: t = ½, 1, 1½ for one pair, done by hand."""
    queries = rw.Queries(None, [1, 0])
    told = {
        "hinge": {0.5: 0.5, 1.0: 0.0, 1.5: 0.0, -2.0: 3.0},
        "squared-hinge": {0.5: 0.25, 1.0: 0.0, 1.5: 0.0, -2.0: 9.0},
        "huber-hinge": {0.5: 0.5, 1.0: 0.125, 1.5: 0.0, -2.0: 3.0, 1.25: 0.03125},
        "logistic": {0.0: np.log(2), 800.0: 0.0, -800.0: 800.0},
    }
    for phi, values in told.items():
        on = PreorderLoss(phi).on(queries)
        for t, value in values.items():
            assert on.at([t, 0.0]).value == pytest.approx(value, rel=1e-15, abs=1e-300)


# Long lists, against NumPy with a matrix of all pairs


def dense(phi, s, weight, margin):
    """Value, gradient and a Hessian of all pairs: weight and margin are m × m."""
    u = margin - (s[:, None] - s[None, :])
    if phi == "squared-hinge":
        value, slope, bend = np.maximum(u, 0) ** 2, -2 * np.maximum(u, 0), 2.0 * (u > 0)
    elif phi == "hinge":
        value, slope, bend = np.maximum(u, 0), -1.0 * (u > 0), 0.0 * u
    elif phi == "huber-hinge":
        middle = np.abs(u) < 0.5
        value = np.where(middle, (u + 0.5) ** 2 / 2, np.maximum(u, 0))
        slope, bend = -np.clip(u + 0.5, 0, 1), 1.0 * middle
    else:
        value = np.logaddexp(0, u)
        slope = -np.exp(-np.logaddexp(0, -u))
        bend = np.exp(-np.abs(u)) / (1 + np.exp(-np.abs(u))) ** 2
    gradient = (weight * slope).sum(axis=1) - (weight * slope).sum(axis=0)
    bend = weight * bend
    hessian = -(bend + bend.T)
    hessian[np.diag_indices_from(hessian)] += bend.sum(axis=0) + bend.sum(axis=1)
    return float((weight * value).sum()), gradient, hessian


def check_dense(at, expected, m, rng):
    value, gradient, hessian = expected
    assert at.value == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(at.gradient, gradient, rtol=1e-10, atol=1e-13 * m * np.abs(gradient).max())
    for direction in rng.standard_normal((3, m)):
        curved = hessian @ direction
        atol = 1e-14 * m * np.abs(hessian).max(initial=0) * np.abs(direction).max()
        np.testing.assert_allclose(at.hessian_product(direction), curved, rtol=1e-10, atol=atol)


@pytest.mark.parametrize("phi", list(PHIS))
@pytest.mark.parametrize("spread", [0.1, 1.0, 50.0])
def test_a_full_ranking_of_500_documents(phi, spread):
    m, rng = 500, np.random.default_rng(7)
    ranks, scores = rng.permutation(m) + 1, spread * rng.standard_normal(m)
    queries = rw.Queries(None, rw.FullRanking(ranks))
    better = (ranks[:, None] < ranks[None, :]).astype(float)
    unit = np.full((m, m), 0.0 if phi == "logistic" else 1.0)
    position = m / ranks[:, None] - m / ranks[None, :]
    for weights, factor in (("unit", 1.0), ("per-query", 2 / (m * (m - 1)))):
        for name, margin in (("unit", unit), ("position", position)):
            at = PreorderLoss(phi, weights, name).on(queries).at(scores)
            check_dense(at, dense(phi, scores, factor * better, margin), m, rng)
    if phi in ("squared-hinge", "huber-hinge"):
        at = OrderPreservingLoss(phi, "zero-one").on(queries).at(scores)
        r = np.tile((m + 1.0 - ranks)[:, None], m)
        check_dense(at, dense(phi, scores, r, unit), m, rng)


@pytest.mark.parametrize("phi", list(PHIS))
def test_2000_documents_of_five_grades(phi):
    m, rng = 2000, np.random.default_rng(3)
    grades, scores = rng.choice(5, m, p=[0.5, 0.3, 0.1, 0.06, 0.04]), 2 * rng.standard_normal(m)
    queries = rw.Queries(None, grades)
    gain = 2.0**grades
    better = grades[:, None] > grades[None, :]
    weight = better * (gain[:, None] - gain[None, :]) / better.sum()
    unit = np.full((m, m), 0.0 if phi == "logistic" else 1.0)
    at = PreorderLoss(phi, "gain-per-query").on(queries).at(scores)
    check_dense(at, dense(phi, scores, weight, unit), m, rng)
    c_over_rho = 5.0 / (5 - grades)
    at = PreorderLoss(phi, margin="position").on(queries).at(scores)
    margin = c_over_rho[:, None] - c_over_rho[None, :]
    check_dense(at, dense(phi, scores, 1.0 * better, margin), m, rng)
    if phi in ("squared-hinge", "huber-hinge"):
        at = OrderPreservingLoss(phi, "dcg").on(queries).at(scores)
        check_dense(at, dense(phi, scores, np.tile((gain - 1)[:, None], m), unit), m, rng)


@pytest.mark.parametrize("phi", SMOOTH)
def test_hessian_products_are_blind_to_large_offsets(phi):
    """The direction is a multiple of 1/8, so that adding 2³⁰ to it is exact: nothing may be lost to cancellation."""
    m, rng = 500, np.random.default_rng(0)
    queries = rw.Queries(None, rng.integers(0, 5, m), rng.integers(0, 2, m))
    direction = rng.integers(-16, 17, m) / 8.0
    losses = [PreorderLoss(phi), PreorderLoss(phi, "gain-per-query", "position")]
    if phi != "logistic":
        losses.append(OrderPreservingLoss(phi))
    for loss in losses:
        at = loss.on(queries).at(rng.standard_normal(m))
        curved = at.hessian_product(direction)
        atol = 1e-12 * np.abs(curved).max()
        np.testing.assert_allclose(at.hessian_product(direction + 2.0**30), curved, rtol=1e-10, atol=atol)


def test_scores_must_be_one_finite_number_for_each_row():
    on = PreorderLoss().on(rw.Queries(None, [1, 0, 2]))
    with pytest.raises(rw.DataError, match="each of the 3 rows"):
        on.at([1.0, 2.0])
    with pytest.raises(rw.DataError, match="row 1"):
        on.at([1.0, np.nan, 0.0])


def test_sample_weights():
    queries = rw.Queries(None, [1, 0, 2, 0, 1], ["a", "b", "a", "b", "a"])
    scores = [0.1, 0.2, -0.3, 0.4, 0.5]
    plain = PreorderLoss().on(queries).at(scores).values
    np.testing.assert_allclose(PreorderLoss().on(queries, [2, 5]).at(scores).values, plain * [2, 5])
    by_row = PreorderLoss().on(queries, [2, 5, 2, 5, 2]).at(scores).values
    np.testing.assert_allclose(by_row, plain * [2, 5])
    with pytest.raises(rw.ParameterError, match="sample_weight differs within query 'a'"):
        PreorderLoss().on(queries, [2, 5, 2, 5, 3])
    for bad in ([1, -1], [1, np.nan], [1, np.inf], [[1, 2]], [1, 2, 3]):
        with pytest.raises(rw.ParameterError, match="sample_weight"):
            PreorderLoss().on(queries, bad)


def test_many_threads_give_what_one_gives(monkeypatch):
    from rankwright.machine import threads

    rng = np.random.default_rng(0)
    queries = rw.Queries(None, rng.integers(0, 4, 600), rng.integers(0, 30, 600))
    scores, direction = rng.standard_normal((2, 600))
    monkeypatch.setenv("RANKWRIGHT_THREADS", "1")
    losses = [PreorderLoss("huber-hinge", "gain-per-query", "position"), PreorderLoss("logistic"), SquaredLoss()]
    one = [loss.on(queries).at(scores) for loss in losses]
    curved = [at.hessian_product(direction) for at in one]
    monkeypatch.setenv("RANKWRIGHT_THREADS", "3")
    monkeypatch.setattr(threads, "_DOCUMENTS_WORTH_A_THREAD", 1)
    for loss, expected, bent in zip(losses, one, curved, strict=True):
        at = loss.on(queries).at(scores)
        np.testing.assert_array_equal(at.values, expected.values)
        np.testing.assert_array_equal(at.gradient, expected.gradient)
        np.testing.assert_array_equal(at.hessian_product(direction), bent)
