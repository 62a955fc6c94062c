"""The listwise hinge: sums against all rankings, soft-maxima against all sequences of levels, and what both must be."""

import itertools

import numpy as np
import pytest

import rankwright as rw
from rankwright.losses import ListwiseHinge, StructuredHinge
from tests.losses.rankings import ap_rankings, ndcg_rankings, position_weights, some_scores

CASES = [
    ("ndcg@1", "linear"),
    ("ndcg@2", "linear"),
    ("ndcg@3", "inverse-sqrt"),
    ("ndcg@3", [5.0, 1.0]),
    ("map", "linear"),
]


def drawn(rng, measure, weights, longest):
    m = int(rng.integers(2, longest + 1))
    grades = rng.integers(0, 2 if measure == "map" else 4, m).astype(float)
    grades[:2] = 1.0, 0.0
    if measure == "map":
        return grades, ap_rankings(grades), m
    k = int(measure.partition("@")[2])
    return grades, ndcg_rankings(grades, k, position_weights(weights, k)), max(k, np.size(weights))


def soft_by_enumeration(grades, scores, every, n_ranks, temperature):
    """Sequences of grades at the ranks that count, each with the best of all orders within grades."""
    best = {}
    for order, term in zip(every.orders, every.losses + every.heights(scores, "convex"), strict=True):
        sequence = tuple(grades[order][:n_ranks])
        best[sequence] = max(best.get(sequence, -np.inf), term)
    terms = np.array(list(best.values())) / temperature
    return temperature * (np.log(np.exp(terms - terms.max()).sum()) + terms.max())


@pytest.mark.parametrize(("measure", "weights"), CASES, ids=str)
def test_sums_against_all_rankings(measure, weights):
    rng = np.random.default_rng(1)
    for _ in range(25):
        grades, every, _ = drawn(rng, measure, weights, 6)
        scores = some_scores(rng, len(grades))
        terms = (every.losses + every.heights(scores, "convex"))[~every.is_ideal]
        at = ListwiseHinge(measure, "sum", position_weights=weights).on(rw.Queries(None, grades)).at(scores)
        assert at.value == pytest.approx(np.maximum(terms, 0).sum(), rel=1e-11, abs=1e-9)
        slopes = (every.coefficients - every.target(scores, "convex"))[~every.is_ideal]
        if np.abs(terms).min() > 1e-9:  # away from corners
            assert at.gradient == pytest.approx(slopes[terms > 0].sum(axis=0), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("temperature", [0.02, 1.0, 30.0], ids=str)
@pytest.mark.parametrize(("measure", "weights"), CASES, ids=str)
def test_soft_maxima_against_all_sequences(measure, weights, temperature):
    rng = np.random.default_rng(2)
    for _ in range(25):
        grades, every, n_ranks = drawn(rng, measure, weights, 6)
        scores = some_scores(rng, len(grades))
        hinge = ListwiseHinge(measure, "softmax", temperature, weights)
        at = hinge.on(rw.Queries(None, grades)).at(scores)
        expected = soft_by_enumeration(grades, scores, every, n_ranks, temperature)
        assert at.value == pytest.approx(expected, rel=1e-11, abs=1e-11 * (1 + np.abs(scores).max()))


@pytest.mark.parametrize(("measure", "weights"), [*CASES, ("ndcg@10", "linear"), ("ndcg@4", "discount")], ids=str)
def test_the_gradient_of_soft_maxima_by_differences(measure, weights):
    rng = np.random.default_rng(3)
    grades, qid = rng.integers(0, 4, 40).astype(float), rng.permutation(np.repeat(["a", "b", "c"], [25, 14, 1]))
    queries, scores = rw.Queries(None, grades, qid), rng.standard_normal(40)
    losses = ListwiseHinge(measure, "softmax", 0.3, weights).on(queries, [1.0, 2.0, 0.5])
    gradient, step = losses.at(scores).gradient, 1e-5
    for i in range(40):
        ahead, back = (losses.at(scores + sign * step * np.eye(40)[i]).value for sign in (1, -1))
        assert gradient[i] == pytest.approx((ahead - back) / (2 * step), abs=1e-6 * (1 + np.abs(gradient).max()))


@pytest.mark.parametrize("measure", ["ndcg@3", "ndcg@10", "map"])
def test_soft_maxima_go_to_the_maximum(measure):
    rng = np.random.default_rng(4)
    queries = rw.Queries(None, rng.integers(0, 3, 60).astype(float), np.repeat(np.arange(4), 15))
    scores = rng.standard_normal(60)
    most = StructuredHinge(measure).on(queries).at(scores).values
    assert ListwiseHinge(measure, "max").on(queries).at(scores).values.tolist() == most.tolist()
    values = [ListwiseHinge(measure, "softmax", t).on(queries).at(scores).values for t in (1.0, 0.1, 0.01, 1e-4, 1e-7)]
    for warm, cold in itertools.pairwise(values):
        assert (warm >= cold - 1e-12).all()
    assert values[-1] == pytest.approx(most, abs=1e-5)
    assert (values[-1] >= most - 1e-12).all()


@pytest.mark.parametrize("reduce", ["sum", "softmax"])
@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
def test_planes_below_a_convex_loss(measure, reduce):
    rng = np.random.default_rng(5)
    queries = rw.Queries(None, rng.integers(0, 3, 18).astype(float), rng.permutation(np.repeat([3, 1, 2], 6)))
    losses = ListwiseHinge(measure, reduce, 0.2).on(queries)
    starts = losses.offsets[:-1]
    for _ in range(30):
        here, there = some_scores(rng, 18), some_scores(rng, 18)
        point, grouped = losses.point(), losses.grouped(here, "score")
        for q in range(3):
            losses.evaluate(q, q + 1, grouped, point)
        assert point.values.tolist() == losses.at(here).values.tolist()
        size = 1e-11 * (1 + np.abs(point.gradient).sum() * (np.abs(here).max() + np.abs(there).max()))
        assert point.values == pytest.approx(point.pulls + np.add.reduceat(point.gradient * grouped, starts), abs=size)
        assert np.add.reduceat(point.gradient, starts) == pytest.approx(0.0, abs=1e-9)
        planes = point.pulls + np.add.reduceat(point.gradient * losses.grouped(there, "score"), starts)
        assert (losses.at(there).values >= planes - size).all()


@pytest.mark.parametrize("reduce", ["sum", "softmax"])
@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
def test_nothing_to_order(measure, reduce):
    """No relevant document, one document: no loss. And scores may be shifted."""
    queries = rw.Queries(None, [0, 0, 2, 1, 0, 3], [1, 1, 2, 3, 3, 3])
    losses = ListwiseHinge(measure, reduce).on(queries)
    scores = np.array([5.0, 1.0, 2.0, -1.0, 0.5, 0.25])
    at = losses.at(scores)
    assert at.values[:2].tolist() == [0.0, 0.0]
    assert not at.gradient[:3].any()
    assert at.values[2] > 0
    assert losses.at(scores + 1e8).values == pytest.approx(at.values, rel=1e-12)


def test_large_scores_do_not_overflow():
    grades = np.array([2.0, 1.0, 0.0, 0.0, 1.0])
    for measure in ("ndcg@3", "map"):
        losses = ListwiseHinge(measure, "softmax", 1e-3).on(rw.Queries(None, grades))
        for scores in (1e9 * grades, -1e9 * grades):
            at = losses.at(scores)
            assert np.isfinite(at.value)
            assert np.isfinite(at.gradient).all()


def test_paper_p_feature_map_is_linear():
    """Σ over pairs of (s_i − s_j) sgn(1/π_i − 1/π_j) / (m(m − 1)/2), for any two rankings, up to a constant."""
    rng, m = np.random.default_rng(6), 5
    scores = rng.standard_normal(m)
    ranks = np.array(list(itertools.permutations(range(1, m + 1))))
    pairs = [
        sum((scores[i] - scores[j]) * np.sign(1 / rank[i] - 1 / rank[j]) for i in range(m) for j in range(i))
        for rank in ranks
    ]
    linear = (m - ranks) * 4 / (m * (m - 1)) @ scores
    difference = np.array(pairs) / (m * (m - 1) / 2) - linear
    assert difference == pytest.approx(difference[0], abs=1e-13)


def test_too_long_for_a_sum():
    queries = rw.Queries(None, [1.0, 0.0, *[0.0] * 8, 1.0], ["short", "short", *["long"] * 9])
    with pytest.raises(rw.DataError, match=r"query 'long' has 9 documents.*at most 8"):
        ListwiseHinge("ndcg@3", "sum").on(queries)
    assert ListwiseHinge("ndcg@3", "sum").on(queries, [1.0, 0.0]).at(np.zeros(11)).values[1] == 0.0


def test_too_many_states():
    grades = np.arange(60) % 6.0
    ListwiseHinge("ndcg@10", "softmax").on(rw.Queries(None, grades))
    with pytest.raises(rw.DataError, match=r"query 'b' has 60 documents of 6 levels.*states"):
        ListwiseHinge("ndcg@60", "softmax").on(rw.Queries(None, [1.0, *grades], ["a", *["b"] * 60]))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"reduce": "mean"}, "reduce must be one of 'sum', 'max', 'softmax', not 'mean'"),
        ({"temperature": 0.0}, "temperature must be a finite number above 0, not 0.0"),
        ({"temperature": float("nan")}, "temperature must be a finite number above 0"),
        ({"temperature": "warm"}, "temperature must be a finite number above 0, not 'warm'"),
        ({"measure": "err"}, "measure must be nDCG or AP"),
        ({"measure": "map@3"}, "takes no cutoff"),
        ({"position_weights": [1.0, 2.0]}, "position_weights must not rise"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_bad_parameters(options, told):
    with pytest.raises(rw.ParameterError, match=told):
        ListwiseHinge(**options)


def test_there_is_no_hessian():
    at = ListwiseHinge("ndcg@1", "softmax").on(rw.Queries(None, [1.0, 0.0])).at([0.0, 0.0])
    with pytest.raises(rw.ParameterError, match="Hessian"):
        at.hessian_product([1.0, 0.0])


def test_more_documents_of_one_level_than_16_bits_count():
    grades = np.zeros(33_000)
    grades[0] = 1
    losses = ListwiseHinge("ndcg@2", reduce="softmax").on(rw.Queries(None, grades))
    assert np.isfinite(losses.at(np.zeros(len(grades))).value)


def test_many_levels_are_refused_in_words():
    queries = rw.Queries(None, np.arange(900), ["many"] * 900)
    with pytest.raises(rw.DataError, match="'many' has 900 documents of 900 levels"):
        ListwiseHinge("ndcg", reduce="softmax").on(queries)
