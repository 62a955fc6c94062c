"""A loss on runs of queries adds up to the loss on all, wherever they are cut."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.losses import ListwiseHinge, OrderPreservingLoss, PreorderLoss, SquaredLoss, StructuredHinge
from rankwright.losses.position_weights import PositionPlanes, lowest_position_weights
from rankwright.machine.threads import split_by_size

RNG = np.random.default_rng(11)
SIZES = np.array([1, 7, 3, 2, 12, 1, 5, 4, 9, 2])  # the longest in the middle: some runs have no query as long
QID = RNG.permutation(np.repeat([f"q{q}" for q in range(len(SIZES))], SIZES))
GRADED = rw.Queries(None, RNG.choice([0.0, 0.5, 1.0, 2.0], len(QID)), QID)
SCORES = RNG.standard_normal(len(QID))


def _graph():
    grouping = GRADED.grouping
    edges = [
        (int(rows[i]), int(rows[j]), (10.0 if q == 4 else 1.0) * (1 + i))
        for q in range(len(SIZES))
        for rows in [grouping.order[grouping.offsets[q] : grouping.offsets[q + 1]]]
        for i in range(len(rows))
        for j in range(i + 1, len(rows))
    ]
    return rw.Queries(None, rw.PreferenceGraph(len(QID), *zip(*edges, strict=True)), QID)


GRAPH = _graph()
CASES = [
    (PreorderLoss("squared-hinge", "gain-per-query", "position"), GRADED),
    (PreorderLoss("logistic", "per-query"), GRAPH),
    (OrderPreservingLoss(standardize="ndcg"), GRADED),
    (OrderPreservingLoss(standardize="wpd"), GRAPH),
    (SquaredLoss("wpd"), GRAPH),
    (StructuredHinge("ndcg"), GRADED),
    (StructuredHinge("ndcg", "inverse-sqrt", "tight", rescale="slack"), GRADED),
    (StructuredHinge("ndcg@3", [2.0, 1.0, 0.5, 0.25, 0.0]), GRADED),
    (StructuredHinge("map"), GRADED),
    (ListwiseHinge("ndcg@3", "softmax"), GRADED),
]


def runs(queries, parts):
    """Judgments, scores and weights of runs of whole queries."""
    grouping = queries.grouping
    for first, last in split_by_size(grouping.offsets, parts):
        rows = grouping.order[grouping.offsets[first] : grouping.offsets[last]]
        yield queries.judgments.run(first, last), SCORES[rows], np.arange(1.0, len(SIZES) + 1)[first:last], rows


@pytest.mark.parametrize("parts", [2, 3, 10])
@pytest.mark.parametrize(("loss", "queries"), CASES, ids=lambda case: type(case).__name__)
def test_runs_add_up(loss, queries, parts):
    whole = loss.on(queries, np.arange(1.0, len(SIZES) + 1)).at(SCORES)
    values, gradient = [], np.empty(len(QID))
    for judgments, scores, weights, rows in runs(queries, parts):
        at = loss.on(judgments, weights).at(scores)
        values.append(at.values)
        gradient[rows] = at.gradient
    np.testing.assert_allclose(np.concatenate(values), whole.values, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(gradient, whole.gradient, rtol=1e-12, atol=1e-14)


def test_planes_of_runs_add_up():
    """Position weights learned from planes of parts are those learned from all queries."""
    loss = StructuredHinge("ndcg@4")
    whole = loss.on(GRADED)
    parts = [
        PositionPlanes(losses, losses.grouped(scores, "score"))
        for judgments, scores, _, _ in runs(GRADED, 3)
        for losses in [loss.on(judgments)]
    ]
    learned = lowest_position_weights(lambda a: np.sum([part.at(a) for part in parts], axis=0), whole.position_weights)
    least = whole.with_position_weights(rw.losses.learned_position_weights(whole, SCORES)).at(SCORES).value
    assert whole.with_position_weights(learned).at(SCORES).value == pytest.approx(least, rel=2e-4)


def test_a_grade_too_great_names_the_same_query_in_every_run():
    queries = rw.Queries(None, [1.0, 1500.0, 0.0, 2000.0, 1.0, 0.0], ["a", "a", "b", "b", "c", "c"])
    for judgments in (queries.judgments, queries.judgments.run(0, 1), queries.judgments.run(2, 3)):
        with pytest.raises(rw.DataError, match="query 'b' has a document of grade 2000, above 1000"):
            OrderPreservingLoss(standardize="dcg").on(judgments)
