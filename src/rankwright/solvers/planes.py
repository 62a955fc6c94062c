"""Planes below the losses of queries, and the dual variables on them: what structured solvers know of the data.

A plane of query q is b + vᵀw ≤ ξ_q(w) for all weights w: v = X_qᵀ(c(y) − t) and b = Δ(y) of some ranking y (paper L,
eq. 9). Dual variables on a query's planes, not negative and with sum 1, make a lower bound of the objective,

    D = Σ d_i b_i + w₀ᵀv − ‖v‖²/2λ,   v = Σ d_i v_i,

which is the dual (10)–(11) of paper L. Plane 0 of every query is 0, as no loss is negative. Planes do not depend on λ.

They stay with the parts of the data, in the arrays ``planes.…`` of their states: ``margins`` b, ``duals`` d, ``gram``
(the products of a query's v), ``counts``, ``idle`` (for how many rounds a plane has had no dual variable) and ``rooms``
(how many planes a query may have before it gives up idle ones).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.doubled_sums import DoubledSums, doubled_sum
from rankwright.data.part import Part
from rankwright.data.state import State, changes_state
from rankwright.solvers import plane_kernels as kernels
from rankwright.solvers.structured_objective import LossOfParts, StructuredObjective, look_at
from rankwright.types import Array

_FIRST_ROOM = 8
# Steps of dual ascent within a query before the next one has its turn.
MOST_STEPS = 20
_ROWS_PER_BLOCK = 512  # of the Hessian, so that they stay in a core's cache
# The Hessian's diagonal may become so much larger than it was when rows were rounded for it, and so much smaller,
# before they are rounded anew. No power of two, so that rounding of the diagonal decides nothing where it is one.
_MOST_GROWTH, _LEAST_GROWTH = 22.0, 1e-4
_MOST_ROUNDINGS = 4

# Queries in the order of their turns. Those in a row are a range: to parts that are elsewhere it takes few bytes.
Order = npt.NDArray[np.int64] | range


class Ascent(NamedTuple):
    """What one part hands on to the next: the weights, those that the present group is looked at with, and the gap."""

    weights: Array
    looked_with: Array
    gap: float = 0.0


class Planes(ABC):
    """A few planes for each query, with their dual variables; subclasses say how the vectors are kept.

    There is one set of planes at a time: making one forgets the last. Parts must have been read before.
    """

    has_vectors: ClassVar[bool]

    def __init__(self, objective: StructuredObjective) -> None:
        self._engine = objective.engine
        self._engine.change_states(_begin)

    @property
    def n_planes(self) -> int:
        """How many there are besides the zeros."""
        return int(self._engine.sum_of_states(_n_planes))

    @staticmethod
    @abstractmethod
    def add_to(part: Part, weights: Array, first: int, last: int, least: float) -> None:
        """Take over planes that were found for some of a part's own queries."""

    @staticmethod
    @abstractmethod
    def ascend_on(part: Part, order: Order, alpha: float, weights: Array, least: float, gap: float) -> float:
        """Raise D by the dual variables of some of a part's own queries. Adds their gaps before to ``gap``."""

    @abstractmethod
    def add(self, weights: Array, first: int, last: int, least: float) -> None:
        """Take over the planes that have just been found at these weights for queries first … last − 1.

        A plane that is at most ``least`` higher than those known is left.
        """

    @abstractmethod
    def drop_idle(self, rounds: int) -> None:
        """Forget the planes that have had no dual variable for more than so many rounds."""

    def forget_duals(self) -> None:
        """Start anew from the zeros."""
        self._engine.change_states(_forget_duals)

    @abstractmethod
    def ascend(self, queries: Order, alpha: float, weights: Array, least: float, most_steps: int = MOST_STEPS) -> float:
        """Raise D by the dual variables of these queries, each in turn; ``weights`` follow. Returns the gap before."""

    def read_and_ascend(self, objective: StructuredObjective, alpha: float, weights: Array, least: float) -> float:
        """One reading of X, with new planes and dual ascent on each group as it is read; ``weights`` follow.

        Returns the gap as each query saw it when it was read.
        """
        sent = (type(self), objective.loss, objective.groups(), alpha, least)
        done = self._engine.in_turn(_read_and_ascend, Ascent(weights, weights), *sent)
        objective.has_looked(objective.n_queries)
        weights[:] = done.weights
        return float(done.gap)

    @abstractmethod
    def combined(self) -> Array:
        """v = Σ d_i v_i."""

    def mean_size(self) -> float:
        """The mean of ‖v‖² over the first plane of each query that has one, the same bits however parts are cut."""
        total, n_queries = self._engine.sum_of_states(_sizes)
        return total.total / n_queries if n_queries else 0.0

    def bound(self, combined: Array, alpha: float, center: Array) -> float:
        """D, the lower bound that the dual variables give; ``combined`` is their v."""
        margins: DoubledSums = self._engine.sum_of_states(_met_margins)
        return margins.total + float(center @ combined) - float(combined @ combined) / (2 * alpha)


class FeaturePlanes(Planes):
    """Each plane with its v, a number for each feature: between readings of X, states are all that is needed."""

    has_vectors = True

    def __init__(self, objective: StructuredObjective) -> None:
        super().__init__(objective)
        self._diagonal = np.zeros(objective.n_features)
        self._foreseen: Array | None = None  # the curvature at the present dual variables, if it is known
        self._engine.change_states(_begin_vectors, objective.n_features)

    @staticmethod
    def add_to(part: Part, weights: Array, first: int, last: int, least: float) -> None:
        """The state has all."""
        _add(part.state, weights, first, last, least)

    @staticmethod
    def ascend_on(part: Part, order: Order, alpha: float, weights: Array, least: float, gap: float) -> float:
        """The state has all."""
        return _ascend(part.state, order, alpha, weights, least, MOST_STEPS, gap)

    def add(self, weights: Array, first: int, last: int, least: float) -> None:
        """Without the data."""
        self._engine.change_states(_add_among, weights, first, last, least)

    def drop_idle(self, rounds: int) -> None:
        """Moves the others together."""
        self._engine.change_states(_drop_idle, rounds)

    def ascend(self, queries: Order, alpha: float, weights: Array, least: float, most_steps: int = MOST_STEPS) -> float:
        """Without the data."""
        sent = (queries, alpha, least, most_steps)
        done = self._engine.in_turn(_ascend_among, Ascent(weights, weights), *sent, states_only=True)
        weights[:] = done.weights
        return float(done.gap)

    def combined(self) -> Array:
        """v = Σ d_i v_i."""
        combined: DoubledSums = self._engine.sum_of_states(_combine)
        return combined.values

    def combined_before_curvature(self) -> Array:
        """The same. Where questions are dear, the curvature, which will probably be asked for next, comes along."""
        if not self._engine.asks_dearly:
            return self.combined()
        combined, self._foreseen = self._engine.sum_of_states(_combine_and_curve, self._rounding())
        values: Array = combined.values
        return values

    # The soft maximum of the planes

    def set_heights(self, weights: Array) -> None:
        """Note b_i + v_iᵀw of each plane: lines begin there."""
        self._engine.change_states(_set_heights, weights)

    def set_slopes(self, direction: Array, temperature: float) -> tuple[float, float, float]:
        """Note v_iᵀd of each plane, and soften at step 1.

        Returns the sum, and the largest of all heights and of all slopes, whatever their sign.
        """
        self._foreseen = None
        totals, highest, steepest = zip(*self._engine.each_state(_set_slopes, direction, temperature), strict=True)
        return sum(totals[1:], totals[0]).total, max(highest), max(steepest)

    def move(self, step: float) -> None:
        """Let lines begin further on: heights + step · slopes."""
        self._engine.change_states(_move, step)

    def soften(self, step: float, temperature: float) -> float:
        """Σ_q T log Σ_i exp(h_i/T), h = heights + step · slopes; the dual variables become its derivatives."""
        (value,) = self.soften_each((step,), temperature)
        return value

    def soften_each(self, steps: Sequence[float], temperature: float) -> list[float]:
        """The same at several steps; the dual variables are those of the last of them."""
        self._foreseen = None
        totals = self._engine.sum_of_states(_soften_each, steps, temperature)
        return [total.total for total in totals]

    def set_duals(self, step: float, temperature: float) -> None:
        """Let the dual variables be those of a step."""
        self._foreseen = None
        self._engine.change_states(_soften, step, temperature)

    def curvature(self) -> Array:
        """T times the Hessian of the soft maximum at the dual variables, the same bits however parts are cut.

        It is a sum of squares of rows. These are rounded so that all their products are multiples of a power of two,
        and the sums of so few digits that nothing is rounded any more: in whatever order they are added. By how much
        they are rounded follows from the diagonal, which changes little from one call to the next.
        """
        for _ in range(_MOST_ROUNDINGS):
            foreseen, self._foreseen = self._foreseen, None
            curvature: Array = (
                self._engine.sum_of_states(_curvature, self._rounding()) if foreseen is None else foreseen
            )
            before, self._diagonal = self._diagonal, np.diag(curvature).copy()
            is_exact = self._diagonal <= _MOST_GROWTH * before
            is_near = self._diagonal >= _LEAST_GROWTH * before
            if (is_exact & (is_near | (self._diagonal == 0))).all():
                break
        return curvature

    def _rounding(self) -> Array:
        return _rounding(_MOST_GROWTH * self._diagonal)

    def extent(self) -> tuple[float, float]:
        """The largest b, and Σ_q log of the number of planes."""
        tallest, log_counts = zip(*self._engine.each_state(_extent), strict=True)
        return max(tallest), sum(log_counts[1:], log_counts[0]).total


@changes_state
def _read_and_ascend(
    part: Part,
    carried: Ascent,
    kind: type[Planes],
    loss: LossOfParts,
    groups: list[tuple[int, int]],
    alpha: float,
    least: float,
) -> Ascent:
    """A group that ends in another part is looked at with the same weights there: parts may be cut anywhere."""
    weights, looked_with, gap = carried.weights.copy(), carried.looked_with, carried.gap
    losses = loss.on(part)
    for group in groups:
        first, last = part.run_of(*group)
        if first == last:
            continue
        if part.first_query + first == group[0]:
            looked_with = weights.copy()
        look_at(part, losses, looked_with, (first, last), (first, last) if kind.has_vectors else None)
        kind.add_to(part, looked_with, first, last, least)
        gap = kind.ascend_on(part, np.arange(first, last), alpha, weights, least, gap)
    return Ascent(weights, looked_with, gap)


# What is done with the states of parts


@changes_state
def _begin(state: State) -> None:
    for name in [*state]:
        if name.startswith("planes."):
            del state[name]
    n = state.n_queries
    state["planes.margins"], state["planes.duals"] = np.zeros((2, n, _FIRST_ROOM))
    state["planes.gram"] = np.zeros((n, _FIRST_ROOM, _FIRST_ROOM))
    state["planes.idle"], state["planes.counts"] = np.zeros((n, _FIRST_ROOM), np.int64), np.ones(n, np.int64)
    state["planes.rooms"] = np.full(n, _FIRST_ROOM)
    _forget_duals(state)


@changes_state
def _begin_vectors(state: State, n_features: int) -> None:
    state["planes.vectors"] = np.zeros((state.n_queries, _FIRST_ROOM, n_features))


def make_room(state: State) -> None:
    """As many places for planes as the query needs that has the most."""
    more = int(state["planes.rooms"].max()) - state["planes.margins"].shape[1]
    state["planes.gram"] = np.pad(state["planes.gram"], ((0, 0), (0, more), (0, more)))
    for name in ("planes.margins", "planes.duals", "planes.idle"):
        state[name] = np.pad(state[name], ((0, 0), (0, more)))
    if "planes.vectors" in state:
        state["planes.vectors"] = np.pad(state["planes.vectors"], ((0, 0), (0, more), (0, 0)))


def _n_planes(state: State) -> int:
    return int(state["planes.counts"].sum()) - state.n_queries


@changes_state
def _forget_duals(state: State) -> None:
    state["planes.duals"][:] = 0.0
    state["planes.duals"][:, 0] = 1.0


def _sizes(state: State) -> tuple[DoubledSums, int]:
    sizes = state["planes.gram"][state["planes.counts"] > 1, 1, 1]
    return doubled_sum(sizes), len(sizes)


def _met_margins(state: State) -> DoubledSums:
    return doubled_sum(state["planes.duals"] * state["planes.margins"])


def _add(state: State, weights: Array, first: int, last: int, least: float) -> None:
    new = (state["found.vectors"], state["found.pulls"], state["found.values"])
    while True:
        uses = (state["planes.idle"], state["planes.rooms"])
        first = kernels.add_planes(first, last, weights, new, least, _known(state), uses)
        if first >= last:
            return
        make_room(state)


@changes_state
def _add_among(state: State, weights: Array, first: int, last: int, least: float) -> None:
    _add(state, weights, *state.run_of(first, last), least)


def _known(state: State) -> tuple[Array, Array, Array, Array, npt.NDArray[np.int64]]:
    vectors, margins, duals = state["planes.vectors"], state["planes.margins"], state["planes.duals"]
    return vectors, margins, duals, state["planes.gram"], state["planes.counts"]


@changes_state
def _drop_idle(state: State, rounds: int) -> None:
    kernels.drop_idle(rounds, _known(state), state["planes.idle"])


def _ascend(
    state: State, order: Order, alpha: float, weights: Array, least: float, most_steps: int, gap: float
) -> float:
    return float(kernels.ascend(order, alpha, least, most_steps, weights, gap, _known(state)))


@changes_state
def _ascend_among(state: State, carried: Ascent, queries: Order, alpha: float, least: float, most_steps: int) -> Ascent:
    if isinstance(queries, range):
        own = np.arange(*state.run_of(queries.start, queries.stop))
    else:
        own = queries - state.first_query
        own = own[(own >= 0) & (own < state.n_queries)]
    weights = carried.weights.copy()
    return Ascent(weights, weights, _ascend(state, own, alpha, weights, least, most_steps, carried.gap))


def _combine(state: State) -> DoubledSums:
    vectors, _, duals, _, counts = _known(state)
    return state.doubled_sums_over_runs(
        lambda first, last, total: kernels.combine(vectors, duals, counts, first, last, total.arrays), vectors.shape[2]
    )


@changes_state
def _set_heights(state: State, weights: Array) -> None:
    vectors, margins, _, _, counts = _known(state)
    heights = state["planes.heights"] = np.zeros_like(margins)
    state["planes.slopes"] = np.zeros_like(margins)
    state.over_runs(lambda first, last: kernels.heights(weights, vectors, margins, counts, first, last, heights))


@changes_state
def _set_slopes(state: State, direction: Array, temperature: float) -> tuple[DoubledSums, float, float]:
    vectors, counts, slopes = state["planes.vectors"], state["planes.counts"], state["planes.slopes"]
    state.over_runs(lambda first, last: kernels.slopes(direction, vectors, counts, first, last, slopes))
    soft = _soften(state, 1.0, temperature)
    return soft, float(np.abs(state["planes.heights"]).max()), float(np.abs(slopes).max())


@changes_state
def _move(state: State, step: float) -> None:
    state["planes.heights"] += step * state["planes.slopes"]


@changes_state
def _soften(state: State, step: float, temperature: float) -> DoubledSums:
    line = (state["planes.heights"], state["planes.slopes"], step, temperature)
    counts, duals = state["planes.counts"], state["planes.duals"]
    return state.doubled_sums_over_runs(
        lambda first, last, total: kernels.add_soft_maxima(line, counts, first, last, duals, total.arrays), 1
    )


@changes_state
def _soften_each(state: State, steps: Sequence[float], temperature: float) -> tuple[DoubledSums, ...]:
    return tuple(_soften(state, step, temperature) for step in steps)


def _rounding(squares: Array) -> Array:
    """What leaves multiples of u when it is added and taken off, u² being 2⁻⁵² of a power of two above ``squares``.

    Where no diagonal entry of the Hessian is above ``squares``, no sum of products |r_f r_g| is above 2⁵² u_f u_g.
    Squares that are 0 leave everything as it is.
    """
    _, exponents = np.frexp(squares)
    return np.where(squares > 0, np.ldexp(1.5, 52 - 26 + -(-exponents // 2)), 0.0)


def _curvature(state: State, rounding: Array) -> Array:
    vectors, _, duals, _, counts = _known(state)

    def add(first: int, last: int, out: Array) -> None:
        n = len(rounding)
        mean, rows = np.empty(n), np.empty((max(_ROWS_PER_BLOCK, vectors.shape[1]), n))
        while first < last:
            used, first = kernels.hessian_rows(vectors, duals, counts, first, last, rounding, mean, rows)
            out += rows[:used].T @ rows[:used]

    return state.sum_over_runs(add, 2 * rounding.shape)


def _combine_and_curve(state: State, rounding: Array) -> tuple[DoubledSums, Array]:
    return _combine(state), _curvature(state, rounding)


def _extent(state: State) -> tuple[float, DoubledSums]:
    return float(state["planes.margins"].max()), doubled_sum(np.log(state["planes.counts"]))
