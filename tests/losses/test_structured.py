"""What all structured hinges have in common: bounds of the measure's loss, planes, conventions, weights and errors."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.losses import StructuredHinge
from tests.losses.rankings import ndcg_rankings, position_weights
from tests.measures import reference as measures

MEASURES = ["ndcg@1", "ndcg@3", "ndcg@10", "ndcg", "map"]
KINDS = list(itertools.product(["convex", "tight"], ["margin", "slack"]))


@st.composite
def collections(draw):
    """Queries of 1 to 12 documents whose rows stand anyhow, their scores, and weights of queries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = rng.integers(1, 13, rng.integers(1, 6))
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    qid = [f"q {code}" for code in codes] if draw(st.booleans()) else 9 - 2 * codes
    grades = draw(st.sampled_from([rng.integers(0, 5, len(codes)), rng.integers(0, 2, len(codes)), 0 * codes]))
    scores = rng.standard_normal(len(codes)) * draw(st.sampled_from([0.0, 1e-6, 0.01, 0.3, 5.0, 1e4]))
    if draw(st.booleans()):
        scores = np.round(scores, 1)
    weights = rng.choice([0.0, 1.0, 2.5], len(sizes))
    return rw.Queries(None, grades.astype(float), qid), scores, weights


@settings(max_examples=60)
@given(collections(), st.sampled_from(MEASURES), st.sampled_from(KINDS))
def test_bounds_the_loss_of_the_ranking_by_scores(case, measure, kind):
    """Even of the worst order of tied documents."""
    queries, scores, weights = case
    bound, rescale = kind
    at = StructuredHinge(measure, bound=bound, rescale=rescale).on(queries, weights).at(scores)
    worst = rw.CONVENTIONS["default"].but(ties="worst", empty=1.0)
    (quality,) = rw.evaluate(scores, queries, measure, worst).values.values()
    losses = weights * (1 - quality)
    tolerance = 1e-12 * (1 + 100 * np.abs(scores).max())
    assert (at.values >= losses - tolerance).all()
    assert (at.bounds >= at.values - tolerance).all()


@settings(max_examples=60)
@given(collections(), st.sampled_from(MEASURES), st.sampled_from(KINDS))
def test_values_are_planes(case, measure, kind):
    """values = pulls + gradientᵀs, and the gradient does not see what is added to all scores of a query."""
    queries, scores, weights = case
    losses = StructuredHinge(measure, bound=kind[0], rescale=kind[1]).on(queries, weights)
    point, grouped = losses.point(), losses.grouped(scores, "score")
    losses.evaluate(0, losses.n_queries, grouped, point)
    size = 1e-12 * (1 + 1000 * np.abs(scores).max())
    starts = losses.offsets[:-1]
    assert point.values == pytest.approx(point.pulls + np.add.reduceat(point.gradient * grouped, starts), abs=size)
    assert np.add.reduceat(point.gradient, starts) == pytest.approx(0.0, abs=1e-11)
    assert (point.pulls >= 0).all()
    assert (point.pulls <= weights * (1 + 1e-15)).all()
    one_by_one = losses.point()
    for q in range(losses.n_queries):
        losses.evaluate(q, q + 1, grouped, one_by_one)
    assert one_by_one.values.tolist() == point.values.tolist()
    assert one_by_one.gradient.tolist() == point.gradient.tolist()


@settings(max_examples=40)
@given(collections(), st.sampled_from(MEASURES))
def test_tight_is_at_most_convex(case, measure):
    queries, scores, weights = case
    convex, tight = (
        StructuredHinge(measure, bound=bound).on(queries, weights).at(scores) for bound in ("convex", "tight")
    )
    assert (tight.values <= convex.values + 1e-12 * (1 + 100 * np.abs(scores).max())).all()


@settings(max_examples=40)
@given(collections(), st.sampled_from(MEASURES))
def test_convex_is_convex(case, measure):
    """Above each of its planes."""
    queries, scores, _ = case
    losses = StructuredHinge(measure).on(queries)
    other = np.random.default_rng(len(scores)).standard_normal(len(scores))
    here, there = losses.at(scores), losses.at(other)
    plane = here.value + here.gradient @ (other - scores)
    assert there.value >= plane - 1e-11 * (1 + 100 * np.abs(scores).max())


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("bound", "rescale"), KINDS)
def test_shifting_all_scores(measure, bound, rescale):
    rng = np.random.default_rng(3)
    queries = rw.Queries(None, rng.integers(0, 4, 60).astype(float), np.repeat(np.arange(4), 15))
    scores = rng.integers(-2000, 2000, 60) / 1024.0  # sums with 1e8 are exact
    losses = StructuredHinge(measure, bound=bound, rescale=rescale).on(queries)
    here, there = losses.at(scores), losses.at(scores + 1e8)
    assert there.values == pytest.approx(here.values, rel=1e-12)
    assert there.gradient == pytest.approx(here.gradient, abs=1e-15)


@pytest.mark.parametrize("bound", ["convex", "tight"])
def test_conventions(bound):
    rng = np.random.default_rng(4)
    for _ in range(10):
        grades, scores = rng.integers(0, 4, 5).astype(float), rng.standard_normal(5)
        grades[0] = 2.0
        queries = rw.Queries(None, grades)
        linear = rw.nDCG(gain="linear") @ 3
        for hinge, gain, discount in [
            (StructuredHinge("ndcg@3", "discount", bound, "letor4"), measures.exponential, measures.letor_discount),
            (StructuredHinge("ndcg@3", "discount", bound, "trec_eval"), measures.linear, measures.log2_discount),
            (StructuredHinge(linear, "discount", bound, "letor4"), measures.linear, measures.letor_discount),
        ]:
            every = ndcg_rankings(grades, 3, position_weights("discount", 3, discount), gain, discount)
            assert hinge.on(queries).at(scores).value == pytest.approx(every.margin_rescaled(scores, bound), abs=1e-12)
    three_of_four = StructuredHinge("map", bound=bound, convention="mslr").on(rw.Queries(None, [1.0, 1.0, 2.0, 0.0]))
    as_binary = StructuredHinge("map", bound=bound).on(rw.Queries(None, [0.0, 0.0, 1.0, 0.0]))
    assert three_of_four.at([3.0, 2.0, 1.0, 0.0]).value == as_binary.at([3.0, 2.0, 1.0, 0.0]).value


@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
@pytest.mark.parametrize(("bound", "rescale"), KINDS)
def test_rows_in_any_order(measure, bound, rescale):
    rng = np.random.default_rng(5)
    grades, scores = rng.integers(0, 3, 40).astype(float), rng.standard_normal(40)
    qid, shuffled = np.repeat(["b", "a", "d", "c"], 10), rng.permutation(40)
    hinge = StructuredHinge(measure, bound=bound, rescale=rescale)
    weights = {"a": 1.0, "b": 2.0, "c": 0.0, "d": 0.5}
    straight = hinge.on(rw.Queries(None, grades, qid), [weights[q] for q in qid])
    mixed = hinge.on(rw.Queries(None, grades[shuffled], qid[shuffled]), [weights[q] for q in qid[shuffled]])
    here, there = straight.at(scores), mixed.at(scores[shuffled])
    assert there.gradient == pytest.approx(here.gradient[shuffled], abs=1e-14)
    names = list(dict.fromkeys(qid[shuffled].tolist()))
    assert there.values == pytest.approx(here.values[["badc".index(name) for name in names]], rel=1e-13)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("bound", "rescale"), KINDS)
def test_queries_without_anything_to_order(measure, bound, rescale):
    """One document; no relevant document. Where all are alike and relevant, AP has no loss, and neither has NDCG."""
    queries = rw.Queries(None, [3, 0, 0, 0, 2, 2], [1, 2, 3, 3, 4, 4])
    at = StructuredHinge(measure, bound=bound, rescale=rescale).on(queries).at([5.0, 1.0, 2.0, -1.0, 0.0, 0.0])
    assert at.values == pytest.approx(0.0, abs=1e-15)
    assert not at.gradient[:4].any()


def test_a_perfect_ranking_has_a_loss_of_exactly_zero():
    """However many ranks are summed: the same sums as for the ideal ranking."""
    rng = np.random.default_rng(6)
    grades = rng.integers(0, 5, 200).astype(float)
    losses = StructuredHinge("ndcg@50", bound="tight").on(rw.Queries(None, grades))
    point = losses.point()
    losses.evaluate(0, 1, 1e6 * grades, point)
    assert point.pulls[0] == 0.0


def test_position_weights_can_be_exchanged():
    rng = np.random.default_rng(7)
    queries = rw.Queries(None, rng.integers(0, 3, 30).astype(float), np.repeat([1, 2, 3], 10))
    scores = rng.standard_normal(30)
    for bound in ("convex", "tight"):
        given = StructuredHinge("ndcg@3", [2.0, 0.5, 0.0], bound).on(queries)
        changed = StructuredHinge("ndcg@3", "linear", bound).on(queries).with_position_weights([2.0, 0.5, 0.0])
        assert changed.at(scores).values.tolist() == given.at(scores).values.tolist()
    with pytest.raises(rw.ParameterError, match="position_weights must be 3 numbers, not 2"):
        changed.with_position_weights([2.0, 1.0])


def test_other_targets():
    rng = np.random.default_rng(8)
    queries = rw.Queries(None, rng.integers(0, 3, 30).astype(float), np.repeat([1, 2, 3], 10))
    scores = rng.standard_normal(30)
    for measure in ("ndcg@3", "map"):
        tight = StructuredHinge(measure, bound="tight").on(queries)
        fixed = tight.with_targets(tight.predicted_targets(scores))
        assert fixed.at(scores).values == pytest.approx(tight.at(scores).values, abs=1e-13)
        assert tight.targets is None
        ideal = StructuredHinge(measure).on(queries)
        assert ideal.with_targets(None).at(scores).values.tolist() == tight.at(scores).values.tolist()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"measure": "err"}, "measure must be nDCG or AP.*'err'"),
        ({"measure": "ndcg@10, map"}, "measure must be nDCG or AP"),
        ({"bound": "loose"}, "bound must be one of 'convex', 'tight', not 'loose'"),
        ({"rescale": "both"}, "rescale must be one of 'margin', 'slack', not 'both'"),
        ({"position_weights": "sqrt"}, "position_weights must be one of 'linear'.*not 'sqrt'"),
        ({"position_weights": [1.0, 2.0]}, "position_weights must not rise"),
        ({"position_weights": [1.0, -1.0]}, "position_weights must not rise with the rank, nor be negative"),
        ({"position_weights": [0.0, 0.0]}, "position_weights .* begin above 0"),
        ({"position_weights": [1.0, np.nan]}, "position_weights must be finite numbers"),
        ({"position_weights": []}, "position_weights must be finite numbers"),
        ({"position_weights": [[1.0]]}, "position_weights must be finite numbers"),
        ({"position_weights": None}, "position_weights must be finite numbers"),
        ({"convention": "mine"}, "convention must be one of"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_bad_parameters(options, told):
    with pytest.raises(rw.ParameterError, match=told):
        StructuredHinge(**options)


def test_bad_data():
    with pytest.raises(rw.DataError, match="query 'b' has a document of grade 2000"):
        StructuredHinge().on(rw.Queries(None, [1.0, 2000.0], ["a", "b"]))
    with pytest.raises(rw.DataError, match="not grades"):
        StructuredHinge("map").on(rw.Queries(None, rw.FullRanking([1, 2])))
    losses = StructuredHinge().on(rw.Queries(None, [1.0, 0.0]))
    with pytest.raises(rw.DataError, match="row 1: the score is not a finite number"):
        losses.at([1.0, np.nan])
    with pytest.raises(rw.ParameterError, match="sample_weight"):
        StructuredHinge().on(rw.Queries(None, [1.0, 0.0]), [-1.0])


def test_ranks_that_count_for_nothing_leave_the_others_exact():
    random = np.random.default_rng(5)
    for _ in range(40):
        grades, scores = random.integers(0, 4, 7), random.normal(size=7).round(1)
        queries = rw.Queries(None, grades)
        longer = StructuredHinge("ndcg@3", [5, 4, 3, 2, 1], "tight").on(queries)
        short = StructuredHinge("ndcg@3", "linear", "tight").on(queries)
        with_zeros = longer.with_position_weights([3, 2, 1, 0, 0])
        assert with_zeros.at(scores).value == pytest.approx(short.at(scores).value, abs=1e-12)


def test_targets_of_tied_scores_are_an_ideal_ranking():
    queries = rw.Queries(None, [0, 2, 1, 0])
    losses = StructuredHinge("ndcg@2", bound="tight").on(queries)
    assert losses.predicted_targets(np.zeros(4)).tolist() == [0, 2, 1, 0]
    relevant_first = StructuredHinge("map", bound="tight").on(queries).predicted_targets(np.zeros(4))
    assert np.sign(relevant_first).tolist() == [-1, 1, 1, -1]
