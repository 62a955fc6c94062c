"""What all solvers tell in the end, and what they refuse."""

from dataclasses import dataclass

import numpy as np
import pytest

import rankwright as rw
from rankwright.engines.engine import Engine
from rankwright.engines.local import Local
from rankwright.engines.stream import Stream
from rankwright.losses import OrderPreservingLoss, PreorderLoss, StructuredHinge
from rankwright.solvers.linear_solvers import LINEAR_SOLVERS
from rankwright.solvers.solved import Goal
from rankwright.solvers.structured_solvers import STRUCTURED_SOLVERS
from tests.objectives import linear_objective, structured_objective
from tests.streaming import streamed

CENTER = np.zeros(6)
OPTIONS = {"sgd": {"random_state": 0}}


@pytest.fixture(scope="module")
def queries():
    return rw.datasets.make_queries(
        n_queries=40, documents=12, n_features=6, n_informative=3, n_correlated=2, noise=1.0, seed=0
    ).queries


LINEAR = [(name, loss) for name in LINEAR_SOLVERS for loss in (PreorderLoss("hinge"), OrderPreservingLoss())]
STRUCTURED = [(name, StructuredHinge("ndcg@3")) for name in STRUCTURED_SOLVERS]


def objective_of(queries, name, loss):
    make = linear_objective if name in LINEAR_SOLVERS else structured_objective
    return make(queries, loss, 3.0, CENTER), {**LINEAR_SOLVERS, **STRUCTURED_SOLVERS}[name]


@pytest.mark.parametrize(("name", "loss"), [*LINEAR, *STRUCTURED], ids=lambda one: getattr(one, "phi", one))
def test_what_is_told_is_true(queries, name, loss):
    objective, solve = objective_of(queries, name, loss)
    seen = []
    goal = Goal(1e-2, None, lambda *step: seen.append(step) is not None)
    solved = solve(objective, CENTER, goal, **OPTIONS.get(name, {}))
    scores = queries.X @ solved.weights
    exact = 1.5 * solved.weights @ solved.weights + loss.on(queries).at(scores).value
    assert solved.value == pytest.approx(exact, rel=1e-10)
    assert solved.gap == solved.value - solved.bound >= 0
    assert solved.passes == objective.engine.passes >= solved.steps
    assert solved.steps == len(seen) > 0
    if name != "sgd":
        assert solved.converged
    assert solved.converged == (solved.ended == "the gap is met")
    for weights, value, bound in seen:
        assert bound <= solved.value * (1 + 1e-12)
        assert value >= solved.bound * (1 - 1e-12)
        assert weights.shape == (6,)


@pytest.mark.parametrize(("name", "loss"), [*LINEAR, *STRUCTURED], ids=lambda one: getattr(one, "phi", one))
def test_why_it_ended(queries, name, loss):
    objective, solve = objective_of(queries, name, loss)
    options = OPTIONS.get(name, {})
    stopped = solve(objective, CENTER, Goal(1e-12, None, lambda *step: True), **options)
    assert (stopped.ended, stopped.steps, stopped.converged) == ("it was stopped", 1, False)
    short = solve(objective, CENTER, Goal(1e-12, 1), **options)
    assert (short.ended, short.steps, short.converged) == ("all steps were taken", 1, False)


@dataclass(frozen=True, eq=False)
class _Bent(OrderPreservingLoss):
    """A loss that says it is not convex."""

    @property
    def is_convex(self):
        return False


def test_newton_refuses_what_is_not_convex(queries):
    objective, solve = objective_of(queries, "newton", _Bent())
    with pytest.raises(rw.ParameterError, match="is not convex"):
        solve(objective, CENTER, Goal(1e-3))


def test_newton_refuses_corners_that_it_cannot_smooth(queries):
    objective, solve = objective_of(queries, "newton", StructuredHinge("ndcg@3"))
    with pytest.raises(rw.ParameterError, match="is not smooth"):
        solve(objective, CENTER, Goal(1e-3))


def _in_order(part, carried, factor):
    """Depends on the order of the queries."""
    for q in range(part.n_queries):
        carried = carried * 0.5 + factor * (part.first_query + q)
    return carried


class _Reversed(Stream):
    """Several steps at once, and the last ones first."""

    def _results(self, step, sent):
        from concurrent.futures import ThreadPoolExecutor

        from rankwright.data.part import Part

        parts, before = [], 0
        for queries in self._queries.parts():
            parts.append(Part(queries, before=(before, 0)))
            before += queries.n_queries
        with ThreadPoolExecutor(len(parts)) as pool:
            yield from [future.result() for future in [pool.submit(step, part, *sent) for part in parts[::-1]]]


@pytest.mark.parametrize("n_parts", [1, 2, 7])
@pytest.mark.parametrize("kind", [Stream, _Reversed])
def test_parts_take_turns(queries, n_parts, kind):
    expected = Local(queries).in_turn(_in_order, 1.0, 3.0)
    engine: Engine = kind(streamed(queries, n_parts))
    assert engine.in_turn(_in_order, 1.0, 3.0) == expected
    assert engine.passes == 1


def _fails(part, carried):
    raise ValueError("in the middle")


def test_nobody_waits_for_a_turn_that_has_failed(queries):
    with pytest.raises(ValueError, match="in the middle"):
        _Reversed(streamed(queries, 5)).in_turn(_fails, 0.0)
