"""What paper O proves, computed on distributions small enough to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from textwrap import fill
from typing import Any

import numpy as np

from rankwright.errors import ParameterError
from rankwright.evaluation.tables import plain_table
from rankwright.html import Block, notebook_html
from rankwright.judgments.supervision import FullRanking, PreferenceGraph
from rankwright.losses import PHIS, OrderPreservingLoss, PreorderLoss, SquaredLoss
from rankwright.losses.loss import Loss
from rankwright.losses.pairwise import Weights
from rankwright.theory.consistency.laboratory import Laboratory, SurrogateGap
from rankwright.theory.consistency.orders import order_text
from rankwright.theory.consistency.spaces import is_low_noise, mallows, order_preserving_chain, plackett_luce
from rankwright.theory.consistency.standardisation import has_standardization
from rankwright.types import Array

_WIDTH = 88


@dataclass(frozen=True)
class Demonstration:
    """A statement of the paper, and a table of what was computed."""

    name: str
    title: str
    shows: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: each row by the names of its columns."""
        rows = [dict(zip(self.header, row, strict=True)) for row in self.rows]
        return {"name": self.name, "title": self.title, "shows": self.shows, "rows": rows}

    def __str__(self) -> str:
        table = plain_table(list(self.header), [list(row) for row in self.rows], title="")
        return "\n".join([fill(self.title, _WIDTH), fill(self.shows, _WIDTH), "", table])

    def _repr_html_(self) -> str:
        return notebook_html(Block(self.title, self.header, self.rows, notes=[self.shows]))

    __repr__ = __str__


def demonstrations(name: str | None = None) -> list[Demonstration]:
    """All of them, or the one of this name."""
    if name is None:
        return [show() for show in _DEMONSTRATIONS.values()]
    if name not in _DEMONSTRATIONS:
        raise ParameterError(f"there is no demonstration {name!r}; there are {', '.join(_DEMONSTRATIONS)}")
    return [_DEMONSTRATIONS[name]()]


# Theorem 3


def theorem_3() -> Demonstration:
    """ERR and AP have no standardisation function."""
    laboratory = Laboratory([(1, 1, 0, 0), (0, 0, 1, 1)])
    rows = []
    for measure in ("ERR", "AP"):
        mixed, blocks = (laboratory.expected_by_order(measure)[order] for order in ((0, 2, 1, 3), (0, 1, 2, 3)))
        answer = has_standardization(measure, [0, 1], 4)
        exists = "exists" if answer.exists else "proved: none" if answer.verify() else "undecided"
        rows.append((measure, str(mixed), str(blocks), str(mixed - blocks), exists))
    return Demonstration(
        "theorem-3",
        "Theorem 3: no standardisation function for ERR and AP",
        "Grades are (1, 1, 0, 0) or (0, 0, 1, 1), each half of the time. A standardisation function r would have to "
        "expect the same of all four items, but not all orders are optimal. (The differences that the paper prints, "
        "1/24 and −1/12, are of sums over the two supervisions.)",
        ("measure", "E of 1 ≻ 3 ≻ 2 ≻ 4", "E of 1 ≻ 2 ≻ 3 ≻ 4", "difference", "r"),
        tuple(rows),
    )


# Losses


def _gap_rows(laboratory: Laboratory, losses: Sequence[tuple[str, Loss]], measure: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, loss in losses:
        gap = laboratory.surrogate_gap(loss, measure)
        told = (scores_text(gap.minimum.scores), f"{float(gap.regret):.4f}", gap_text(gap))
        rows.append((name, str(gap.measure), *told, "yes" if gap.is_consistent else "no"))
    return rows


_GAP_HEADER = ("loss", "measure", "its order", "regret", "gap", "consistent")


def preorder() -> Demonstration:
    """Every variant of the preorder loss misses the best order of DCG and nDCG; the order-preserving loss does not."""
    laboratory = _three_grades()
    weights: tuple[Weights, ...] = ("unit", "per-query", "gain-per-query")
    variants = [
        (f"{phi}, {weight}", PreorderLoss(phi, weight))
        for phi in ("squared-hinge", "hinge", "logistic")
        for weight in weights
    ]
    rows = []
    for measure in ("DCG", "nDCG"):
        rows += _gap_rows(laboratory, variants, measure)
        rows += _gap_rows(laboratory, [("order-preserving", OrderPreservingLoss(standardize=measure.lower()))], measure)
    return Demonstration(
        "preorder",
        "The preorder loss is not consistent with DCG and nDCG; the order-preserving loss is (theorems 1 and 2)",
        f"Grades are {_text(laboratory)}. {_best(laboratory, 'DCG')} {_best(laboratory, 'nDCG')} The gap is how much "
        "greater the expected loss of all scores is that rank worse: 0 means that minimising the loss does not tell. "
        "Preorder losses are named by φ and weights.",
        _GAP_HEADER,
        tuple(rows),
    )


def binary() -> Demonstration:
    """Footnote 3: with two grades the preorder loss is not consistent with the pairwise disagreement either."""
    laboratory = _two_grades()
    losses: list[tuple[str, Loss]] = [(f"preorder, {phi}", PreorderLoss(phi)) for phi in PHIS]
    losses.append(("order-preserving, r = y", OrderPreservingLoss(standardize="dcg")))
    return Demonstration(
        "binary",
        "Two grades: the preorder loss is not consistent with the pairwise disagreement (footnote 3)",
        f"Grades are {_text(laboratory)}. {_best(laboratory, 'WPD')} E[Y] is "
        f"({_numbers(laboratory.expected_standardised('dcg'))}): sorting by it is optimal, and the order-preserving "
        "loss does so, with 2^y − 1 = y as weights.",
        _GAP_HEADER,
        tuple(_gap_rows(laboratory, losses, "WPD")),
    )


def _three_grades() -> Laboratory:
    return Laboratory([(1, 2, 0), (2, 0, 1), (2, 2, 0)], [Fraction(5, 10), Fraction(3, 10), Fraction(2, 10)])


def _two_grades() -> Laboratory:
    return Laboratory([(0, 0, 1), (0, 1, 1), (1, 1, 0)], [Fraction(4, 10), Fraction(3, 10), Fraction(3, 10)])


def squared() -> Demonstration:
    """The squared loss on standardised supervision is consistent (Cossock and Zhang 2008)."""
    laboratory = _three_grades()
    rows = []
    for measure in ("DCG", "nDCG"):
        name = measure.lower()
        gap = laboratory.surrogate_gap(SquaredLoss(standardize=name), measure)
        mean = laboratory.expected_standardised(name)
        told = (_numbers(mean), _numbers(gap.minimum.scores), f"{float(gap.regret):.4f}", gap_text(gap))
        rows.append((measure, *told, "yes" if gap.is_consistent else "no"))
    return Demonstration(
        "squared",
        "Regression on standardised supervision is consistent with DCG and nDCG (Cossock and Zhang 2008)",
        f"Grades are {_text(laboratory)}. The scores with the least expected squared loss are E[r(Y)].",
        ("measure", "E r(Y)", "minimiser", "regret", "gap", "consistent"),
        tuple(rows),
    )


# Preference graphs and permutations


def _by_expectation(laboratory: Laboratory, standardize: str, measure: str) -> tuple[str, str, str, str]:
    """The best orders, that by E[r(Y)], its regret, and whether the order-preserving loss is consistent here."""
    mean = laboratory.expected_standardised(standardize)
    gap = laboratory.surrogate_gap(OrderPreservingLoss(standardize=standardize), measure)
    best = ", ".join(map(order_text, laboratory.optimal_orders(measure)))
    return best, scores_text(mean), str(laboratory.regret(measure, mean)), "yes" if gap.is_consistent else "no"


def low_noise() -> Demonstration:
    """r^WPD ranks best under low noise (section 5.3), and need not otherwise."""
    edges = ([[(0, 1), (0, 2), (1, 2)], [(1, 0), (0, 2)]], [[(0, 1), (1, 2)], [(1, 0), (1, 2)]])
    chances = (Fraction(3, 5), Fraction(2, 5))
    laboratories = [Laboratory([_graph(3, one) for one in both], chances) for both in edges]
    told = [f"({letter}) {_text(laboratory)}" for letter, laboratory in zip("ab", laboratories, strict=True)]
    rows = []
    for letter, laboratory in zip("ab", laboratories, strict=True):
        rows.append((letter, "yes" if is_low_noise(laboratory) else "no", *_by_expectation(laboratory, "wpd", "WPD")))
    return Demonstration(
        "low-noise",
        "Preference graphs: r_i = nC + Σ_k (a_ik − a_ki) ranks best under low noise (section 5.3)",
        "Low noise: if i is preferred to k and k to j in expectation, i is preferred to j by at least the sum of "
        f"both. Graphs are {'; or '.join(told)}.",
        ("graphs", "low noise", "best WPD", "by E r(Y)", "regret", "loss consistent"),
        tuple(rows),
    )


def zero_one() -> Demonstration:
    """r^ZO recovers the likeliest ranking in order-preserving spaces (section 5.4), and need not otherwise."""
    spaces = {
        "Plackett–Luce": plackett_luce([3, 2, 1]),
        "Mallows": mallows(3, Fraction(1, 2)),
        "other": Laboratory(
            [FullRanking(np.array(ranks)) for ranks in ((1, 2, 3), (3, 1, 2), (3, 2, 1))],
            [Fraction(4, 10), Fraction(3, 10), Fraction(3, 10)],
        ),
    }
    rows = []
    for name, laboratory in spaces.items():
        chain = order_preserving_chain(laboratory)
        told = "no" if chain is None else order_text(chain)
        rows.append((name, told, *_by_expectation(laboratory, "zero-one", "ZeroOne")))
    return Demonstration(
        "zero-one",
        "Full rankings: r_i = n + 1 − rank recovers the likeliest order in order-preserving spaces (section 5.4)",
        "A space is order-preserving along a chain of items if exchanging neighbours of the chain makes an order that "
        f"has them right less likely (definition 5). The last one is {_text(spaces['other'])}.",
        ("distribution", "chain", "best 0/1", "by E r(Y)", "regret", "loss consistent"),
        tuple(rows),
    )


_DEMONSTRATIONS: dict[str, Callable[[], Demonstration]] = {
    "theorem-3": theorem_3,
    "preorder": preorder,
    "binary": binary,
    "squared": squared,
    "low-noise": low_noise,
    "zero-one": zero_one,
}
NAMES = tuple(_DEMONSTRATIONS)


# Texts


def scores_text(scores: Array) -> str:
    """The order by scores, with ~ between items that are tied."""
    by_score = np.argsort(-scores, kind="stable").tolist()
    ties = groupby(by_score, key=lambda item: float(scores[item]))
    return " ≻ ".join(" ~ ".join(str(item + 1) for item in tie) for _, tie in ties)


def gap_text(gap: SurrogateGap) -> str:
    """A gap that is certain, or 0."""
    return f"{gap.value:.2g}" if gap.is_consistent else "0"


def _text(laboratory: Laboratory) -> str:
    shares = zip(laboratory.probabilities, range(len(laboratory.supervisions)), strict=True)
    return ", ".join(f"{laboratory.supervisions.text(k)}: {share}" for share, k in shares)


def _best(laboratory: Laboratory, measure: str) -> str:
    return f"{measure} wants {' or '.join(map(order_text, laboratory.optimal_orders(measure)))}."


def _numbers(values: Array) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _graph(n: int, edges: Sequence[tuple[int, int]]) -> PreferenceGraph:
    ends = np.array(edges, dtype=np.intp)
    return PreferenceGraph(n, ends[:, 0], ends[:, 1])
