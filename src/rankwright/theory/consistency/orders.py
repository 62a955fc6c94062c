"""All n! orders of a few items, and what a measure says of each under each supervision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from fractions import Fraction
from itertools import permutations, product
from math import factorial, lcm
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_whole
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.evaluation.per_query import measure_values
from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph, Supervision
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure, one_measure
from rankwright.types import Array

Mask = npt.NDArray[np.bool_]
Order = tuple[int, ...]
Distribution = tuple[Fraction, ...]
Number: TypeAlias = Any  # a Fraction or a float: type checkers know no arithmetic of both

MOST_ITEMS = 6
# Orders × supervisions: about a gigabyte of work space.
_MOST_VALUES = 1_000_000

# Measures whose values are fractions of whole numbers wherever the grades are whole numbers.
_RATIONAL = frozenset({"P", "Recall", "AP", "RR", "ERR", "PairwiseError", "WPD", "ZeroOne"})
_LARGEST_DENOMINATOR = 10**6
# Fractions with such denominators are 10⁻¹² apart, so one that is this near is the value itself.
_ROUNDING = 2.0**-49
# What expectations of other measures, which are computed in floating point, may differ by and count as equal.
TOLERANCE = 1e-12


class SupervisionSet:
    """Some supervisions of the same n items: all grades, all full rankings, or all preference graphs."""

    def __init__(self, supervisions: Iterable[npt.ArrayLike | Supervision]) -> None:
        self.members = tuple(_supervision(given) for given in supervisions)
        if not self.members:
            raise ParameterError("supervisions: give at least one")
        kinds, sizes = {member.kind for member in self.members}, {len(member) for member in self.members}
        if len(kinds) > 1:
            raise ParameterError(f"supervisions must be of one kind, not {' and '.join(sorted(kinds))}")
        if len(sizes) > 1:
            raise ParameterError(f"supervisions must be of the same items, but there are {sorted(sizes)} of them")
        self.n_items = check_items(sizes.pop())
        if len(self.members) * factorial(self.n_items) > _MOST_VALUES:
            raise ParameterError(
                f"supervisions: {len(self.members):,} of {self.n_items} items make more than {_MOST_VALUES:,} pairs of "
                "order and supervision to enumerate; take fewer items or labels"
            )
        self.queries(1)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def kind(self) -> str:
        """Grades, full ranking or preference graph."""
        return self.members[0].kind

    def queries(self, copies: int) -> Queries:
        """A query for each supervision, all of them ``copies`` times."""
        n, total = self.n_items, copies * len(self.members)
        qid = np.repeat(np.arange(total), n)
        stacked: Supervision
        first = self.members[0]
        if isinstance(first, PreferenceGraph):
            graphs = [member for member in self.members if isinstance(member, PreferenceGraph)] * copies
            moved = np.repeat(np.arange(total) * n, [len(graph.weights) for graph in graphs])
            ends = (np.concatenate([getattr(graph, end) for graph in graphs]) for end in ("preferred", "other"))
            preferred, other = (end + moved for end in ends)
            stacked = PreferenceGraph(total * n, preferred, other, np.concatenate([graph.weights for graph in graphs]))
        else:
            stacked = type(first)(np.tile(np.concatenate([_numbers(member) for member in self.members]), copies))
        return Queries(None, stacked, qid)

    def text(self, k: int) -> str:
        """A supervision as it is written down, with items numbered from 1."""
        member = self.members[k]
        if isinstance(member, PreferenceGraph):
            edges = zip(member.preferred + 1, member.other + 1, member.weights, strict=True)
            return "{" + ", ".join(f"{i}→{j}" + (f" ({w:g})" if w != 1 else "") for i, j, w in edges) + "}"
        if isinstance(member, FullRanking):
            return order_text(np.argsort(member.ranks).tolist())
        return "(" + ", ".join(f"{grade:g}" for grade in _numbers(member)) + ")"


def check_items(n: int) -> int:
    """Refuse a number of items whose orders cannot be gone through."""
    check_whole("items", n, 1)
    if n > MOST_ITEMS:
        raise ParameterError(
            f"items: {n} are too many. Every one of their {factorial(n):,} orders (n!) is looked at under every "
            f"supervision; take at most {MOST_ITEMS}"
        )
    return int(n)


def _supervision(given: npt.ArrayLike | Supervision) -> Supervision:
    return given if isinstance(given, Grades | FullRanking | PreferenceGraph) else Grades(np.asarray(given))


def _numbers(supervision: Supervision) -> npt.NDArray[Any]:
    assert not isinstance(supervision, PreferenceGraph)
    return supervision.ranks if isinstance(supervision, FullRanking) else supervision.values


# Sets to ask questions about


def all_grades(labels: Iterable[float], n_items: int) -> SupervisionSet:
    """labelsⁿ: every vector of n grades from some labels."""
    levels = sorted(set(labels), reverse=True)
    n = check_items(n_items)
    if len(levels) ** n * factorial(n) > _MOST_VALUES:  # before they are listed
        raise ParameterError(
            f"labels: {len(levels)} labels for {n} items make {len(levels) ** n:,} vectors, too many to enumerate "
            f"with {factorial(n):,} orders each; take fewer items or labels"
        )
    return SupervisionSet(product(levels, repeat=n))


def all_rankings(n_items: int) -> SupervisionSet:
    """Every full ranking of n items."""
    return SupervisionSet(FullRanking(np.array(ranks)) for ranks in permutations(range(1, check_items(n_items) + 1)))


def all_graphs(n_items: int) -> SupervisionSet:
    """Every acyclic preference graph of n ≤ 4 items whose edges have weight 1."""
    n = check_items(n_items)
    if n > 4:
        raise ParameterError(f"items: there are too many preference graphs of {n} items; take at most 4")
    pairs = [(i, j) for i in range(n) for j in range(i)]
    graphs = []
    for choice in product((0, 1, -1), repeat=len(pairs)):
        edges = [(i, j) if way > 0 else (j, i) for (i, j), way in zip(pairs, choice, strict=True) if way]
        if any(all(order.index(i) < order.index(j) for i, j in edges) for order in permutations(range(n))):
            ends = np.array(edges, dtype=np.intp).reshape(-1, 2)
            graphs.append(PreferenceGraph(n, ends[:, 0], ends[:, 1]))
    return SupervisionSet(graphs)


# Orders


def all_orders(n: int) -> npt.NDArray[np.intp]:
    """A row for each order of n items: the items, best first."""
    return np.array(list(permutations(range(n))), dtype=np.intp)


def order_text(order: Sequence[int]) -> str:
    """1 ≻ 3 ≻ 2, with items numbered from 1."""
    return " ≻ ".join(str(item + 1) for item in order)


def orders_of_scores(orders: npt.NDArray[np.intp], scores: Array) -> Mask:
    """Which orders follow the scores: ties may stand in any order (paper O, definition 1)."""
    along = scores[orders]
    return np.asarray(np.all(along[:, :-1] >= along[:, 1:], axis=1))


# Distributions


def distribution_of(probabilities: Iterable[Any] | None, count: int) -> Distribution:
    """Probabilities as fractions that add up to 1; 0.1 means 1/10. By default all are equal."""
    if probabilities is None:
        return (Fraction(1, count),) * count
    try:
        given = tuple(as_fraction(value) for value in probabilities)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"probabilities must be numbers: {error}") from None
    if len(given) != count:
        raise ParameterError(f"probabilities: there are {count} supervisions, but {len(given)} probabilities")
    total = sum(given, Fraction(0))
    if min(given) < 0 or abs(total - 1) > Fraction(1, 10**9):
        raise ParameterError(f"probabilities must be at least 0 and add up to 1, but they add up to {float(total):g}")
    return tuple(value / total for value in given)


def as_fraction(value: Any) -> Fraction:
    """A number as a fraction; a decimal such as 0.1 is taken for 1/10."""
    if not isinstance(value, float | np.floating):
        return Fraction(value)
    near = Fraction(float(value)).limit_denominator(_LARGEST_DENOMINATOR)
    return near if abs(near - Fraction(float(value))) <= Fraction(_ROUNDING) else Fraction(float(value))


def point_mass(k: int, count: int) -> Distribution:
    """All probability on supervision k."""
    return tuple(Fraction(int(other == k)) for other in range(count))


# What a measure says


class OrderTable:
    """The value of every order under every supervision, and which orders are best in expectation.

    ``values`` has a row for each order and a column for each supervision. A supervision that the measure leaves out
    (NaN) tells orders not apart, and has 0. If all values are fractions with denominators up to a million, as those of
    AP, ERR, P, recall, RR and the pairwise and 0/1 errors are, expectations are computed without rounding.
    """

    def __init__(self, measure: str | Measure, supervisions: SupervisionSet, convention: str | Convention) -> None:
        self.measure, self.supervisions = one_measure(measure), supervisions
        n = supervisions.n_items
        self.orders = all_orders(n)
        scores = np.empty((len(self.orders), n))
        np.put_along_axis(scores, self.orders, np.arange(n, 0.0, -1.0)[None], axis=1)
        repeated = np.repeat(scores, len(supervisions), axis=0).ravel()
        judgments = supervisions.queries(len(self.orders)).judgments
        computed = measure_values(repeated, judgments, [self.measure], convention_of(convention))[self.measure]
        self.values: Array = np.nan_to_num(computed.reshape(len(self.orders), -1), nan=0.0)
        self.above: Mask = scores[:, :, None] > scores[:, None, :]  # above[σ, j, i]: j stands above i in order σ
        fractions = _as_fractions(self.values) if self.measure.name in _RATIONAL else None
        self.is_exact = fractions is not None
        self._sign = -1 if self.measure.lower_is_better else 1
        # Greater is better here, and exact values are whole numbers: multiples of 1/denominator.
        self._denominator = 1
        self._gains: npt.NDArray[Any] = self._sign * self.values
        if fractions is not None:
            self._denominator = lcm(*(value.denominator for value in fractions.values()))
            units = {value: int(fraction * self._denominator) for value, fraction in fractions.items()}
            self._gains = np.array(
                [[self._sign * units[value] for value in row] for row in self.values.tolist()], object
            )
        # A whole number too, where values are: 0.0 would turn large ones into floating point.
        self._tolerance: Number = 0 if self.is_exact else TOLERANCE * max(1.0, float(np.abs(self.values).max()))

    def expected(self, p: Distribution) -> list[Number]:
        """E[measure] of each order; fractions if the measure is exact."""
        if not self.is_exact:
            return list((self.values @ np.array(p, dtype=np.float64)).tolist())
        sums, scale = self._units(p)
        return [Fraction(self._sign * int(total), scale * self._denominator) for total in sums]

    def _units(self, p: Distribution) -> tuple[npt.NDArray[Any], int]:
        """Expected gains of orders: whole numbers, to be divided by the second value, if the measure is exact."""
        if not self.is_exact:
            return self._gains @ np.array(p, dtype=np.float64), 1
        scale = lcm(*(share.denominator for share in p))
        kept = [k for k, share in enumerate(p) if share]
        return self._gains[:, kept] @ np.array([int(p[k] * scale) for k in kept], object), scale

    def optimal(self, p: Distribution) -> Mask:
        """Which orders are best in expectation."""
        gains = self._units(p)[0]
        best: Mask = np.asarray(gains >= gains.max() - self._tolerance, dtype=bool)
        return best

    def remaining(self, best: Mask) -> Mask:
        """For each supervision (column), which of the best orders (rows) remain so when p moves towards it a little.

        They are best under (1 − β) p + β times the supervision for all small β > 0.
        """
        gains = self._gains[best]
        remain: Mask = np.asarray(gains >= gains.max(axis=0) - self._tolerance, dtype=bool)
        return remain

    def optimal_towards(self, best: Mask, q: Distribution) -> Mask:
        """Which of the orders that are best at some p remain so when p moves towards q a little."""
        gains = self._units(q)[0]
        remain: Mask = best & np.asarray(gains >= gains[best].max() - self._tolerance, dtype=bool)
        return remain

    def distinct(self) -> tuple[OrderTable, list[int]]:
        """The table of one supervision of all that the measure takes for the same, and which one stands for each."""
        first: dict[tuple[float, ...], int] = {}
        stands = [first.setdefault(tuple(column), k) for k, column in enumerate(self.values.T.tolist())]
        kept = list(first.values())
        table = copy(self)
        table.supervisions = SupervisionSet(self.supervisions.members[k] for k in kept)
        table.values, table._gains = self.values[:, kept], self._gains[:, kept]
        return table, stands

    def gains(self, order: int) -> list[Number]:
        """What an order is worth under each supervision; greater is better, also of an error."""
        row: list[Number] = self._gains[order].tolist()
        return [Fraction(unit, self._denominator) for unit in row] if self.is_exact else row

    def is_equal(self, one: Number, other: Number) -> bool:
        """Whether two numbers made of values are the same, in floating point up to 10⁻⁹ for a few operations."""
        return bool(one == other if self.is_exact else abs(one - other) <= 1e3 * self._tolerance)


def _as_fractions(values: Array) -> dict[float, Fraction] | None:
    """The fraction that each value is, or None if some value is not one with a moderate denominator."""
    fractions = {}
    for value in set(values.ravel().tolist()):
        near = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
        if abs(float(near) - value) > _ROUNDING * max(1.0, abs(value)):
            return None
        fractions[value] = near
    return fractions
