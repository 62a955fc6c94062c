"""`study_bounds`: risk bounds beside what happens, as the number of training queries grows.

Paper P leaves an empirical validation of its bounds to others. Here it is: its position-sensitive max-margin ranker
(definition 1) is trained on more and more queries; its risk on other queries stands beside the bounds that the training
queries alone give.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from math import log
from typing import Any

import numpy as np

from rankwright.checks import check_probability, check_whole
from rankwright.data.queries import Queries
from rankwright.datasets.synthetic import make_queries
from rankwright.errors import DataError, ParameterError
from rankwright.evaluation.evaluation import evaluate
from rankwright.evaluation.tables import Tabled
from rankwright.html import Block
from rankwright.losses.pairwise import levels_of
from rankwright.losses.structured import StructuredHinge, checked_measure
from rankwright.measures import PairwiseError
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure
from rankwright.progress import Progress, Tell
from rankwright.rankers.ranksvm import RankSVM
from rankwright.report.chart import line_chart
from rankwright.theory.bound import shown
from rankwright.theory.risk_bounds import Kind, risk_bound

_TEST_SHARE = 0.3
_FEWEST, _STEP = 30, 10**0.5  # training queries at least, and from one size to the next by default
_REGULARISATION = 0.1  # λ = 0.1 N for a sum of N losses: the same trade at every N
_LOG_10 = log(10)
_KINDS: tuple[Kind, Kind] = ("argmax", "theorem4")


@dataclass(frozen=True)
class StudyPoint:
    """A position-sensitive max-margin ranker, trained on ``queries`` queries drawn at random.

    Attributes
    ----------
    queries, repeat : how many training queries, and which draw of them
    training_risk, held_out_risk, worst_risk : mean of 1 − measure, and that of the worst rankings
    hinge, complexity, confidence, bound : the terms of the bound by vector contraction or comparison, and their sum
    log10_theorem_4 : the base-10 logarithm of paper P's bound for the same ranker
    training_pairs, held_out_pairs, worst_pairs : mean number of pairs in wrong order, and of all
    corollary_1 : paper P's bound for the pairs, corrected
    """

    queries: int
    repeat: int
    training_risk: float
    held_out_risk: float
    worst_risk: float
    hinge: float
    complexity: float
    confidence: float
    bound: float
    log10_theorem_4: float
    training_pairs: float
    held_out_pairs: float
    worst_pairs: float
    corollary_1: float


def study_bounds(
    queries: Queries | None = None,
    *,
    measure: str | Measure = "ndcg@10",
    sizes: Sequence[int] | None = None,
    repeats: int = 3,
    delta: float = 0.05,
    convention: str | Convention = "default",
    seed: int = 0,
    progress: Tell | None = None,
) -> BoundStudy:
    """Train on more and more queries; hold bound, training risk and held-out risk against each other.

    Parameters
    ----------
    queries : Queries, optional
        Three tenths of them, drawn at random, are for the held-out risk. By default a synthetic collection of 26,000
        queries with ten documents on average.
    measure : nDCG, or AP without a cutoff
    sizes : numbers of training queries, optional
        By default up to all of them, each about three times as large as the one before.
    repeats : int
        How often to draw training queries anew.
    delta : float
        Each bound holds with probability 1 − delta.
    seed : int
    progress : function, optional
        Called with `Progress`: how many points are done, and how many there are.
    """
    check_probability("delta", delta)
    check_whole("repeats", repeats, 1)
    check_whole("seed", seed, 0)
    chosen = checked_measure(measure)
    given = synthetic_queries(seed) if queries is None else queries
    generator = np.random.default_rng(seed)
    shuffled = generator.permutation(given.n_queries)
    n_test = round(_TEST_SHARE * given.n_queries)
    held_out, pool = given[np.sort(shuffled[:n_test])], shuffled[n_test:]
    steps = _checked_sizes(sizes, len(pool))
    points = []
    for repeat in range(repeats):
        drawn = generator.permutation(pool)
        for size in steps:
            experiment = _Experiment(given[np.sort(drawn[:size])], held_out, chosen, convention, delta)
            points.append(experiment.point(repeat))
            if progress is not None:
                progress(Progress(f"{size:,} queries", len(points), repeats * len(steps)))
    return BoundStudy(str(chosen), delta, held_out.n_queries, tuple(points))


def synthetic_queries(seed: int = 0) -> Queries:
    """What is studied where no queries are given: short lists, and features that tell most of the relevance."""
    return make_queries(
        26_000,
        documents=10,
        n_features=10,
        n_informative=3,
        n_correlated=2,
        grade_mix=(0.6, 0.25, 0.15),
        noise=0.3,
        seed=seed,
    ).queries


def _checked_sizes(sizes: Sequence[int] | None, most: int) -> list[int]:
    if most < _FEWEST:
        raise DataError(f"there are {most} queries to train on, but a learning curve needs at least {_FEWEST}")
    if sizes is None:
        steps = [most]
        while steps[-1] / _STEP >= _FEWEST:
            steps.append(round(steps[-1] / _STEP))
        return steps[::-1]
    for size in sizes:
        check_whole("sizes", size, 1)
        if size > most:
            raise ParameterError(f"sizes: {size:,} is more than the {most:,} queries there are to train on")
    if len(sizes) == 0:
        raise ParameterError("sizes: give at least one")
    return sorted(set(map(int, sizes)))


@dataclass(frozen=True, eq=False)
class _Experiment:
    """Rankers trained on some queries and held against others."""

    train: Queries
    held_out: Queries
    measure: Measure
    convention: str | Convention
    delta: float

    def point(self, repeat: int) -> StudyPoint:
        alpha = _REGULARISATION * self.train.n_queries
        ranker = RankSVM(alpha=alpha, loss="hinge", margin="position").fit(self.train)
        return StudyPoint(self.train.n_queries, repeat, **self._of_measure(ranker), **self._of_pairs(ranker))

    def _of_measure(self, ranker: RankSVM) -> dict[str, float]:
        bound, printed = (
            risk_bound(ranker, self.train, self.delta, kind, measure=self.measure, convention=self.convention)
            for kind in _KINDS
        )
        return {
            "training_risk": self._risk(ranker, self.train),
            "held_out_risk": self._risk(ranker, self.held_out),
            "worst_risk": float(np.exp(bound.log_worst)),
            "hinge": bound.empirical,
            "complexity": bound.complexity,
            "confidence": bound.confidence,
            "bound": bound.total,
            "log10_theorem_4": printed.log_total / _LOG_10,
        }

    def _risk(self, ranker: RankSVM, queries: Queries) -> float:
        """1 − measure as the bound counts it: short lists as they are, 0 for a query that has nothing to lose."""
        rules = convention_of(self.convention).but(short_ndcg="as is")
        values = evaluate(ranker, queries, self.measure, rules).values[self.measure]
        counts = StructuredHinge(self.measure, convention=self.convention).on(queries).weights > 0
        return float(np.where(counts, 1 - values, 0.0).mean())

    def _of_pairs(self, ranker: RankSVM) -> dict[str, float]:
        bound = risk_bound(ranker, self.train, self.delta, "corollary1")
        return {
            "training_pairs": _wrong_pairs(ranker, self.train),
            "held_out_pairs": _wrong_pairs(ranker, self.held_out),
            "worst_pairs": float(np.exp(bound.log_worst)),
            "corollary_1": bound.total,
        }


def _wrong_pairs(ranker: RankSVM, queries: Queries) -> float:
    pairs = levels_of(queries.judgments).pairs()
    shares = evaluate(ranker, queries, PairwiseError).values[PairwiseError]
    return float(np.where(pairs > 0, shares * pairs, 0.0).mean())


@dataclass(frozen=True, eq=False, repr=False)
class BoundStudy(Tabled):
    """Learning curves of risks and their bounds; prints as two tables, draws itself as SVG."""

    measure: str
    delta: float
    n_held_out: int
    points: tuple[StudyPoint, ...]

    @cached_property
    def means(self) -> tuple[StudyPoint, ...]:
        """The mean over repeats at each size."""
        return tuple(_mean(list(group)) for group in self._groups())

    def _groups(self) -> Iterator[list[StudyPoint]]:
        for size in sorted({point.queries for point in self.points}):
            yield [point for point in self.points if point.queries == size]

    @property
    def violations(self) -> int:
        """In how many points the held-out risk, itself an estimate, is above its bound."""
        return sum(p.held_out_risk > p.bound or p.held_out_pairs > p.corollary_1 for p in self.points)

    @property
    def first_informative(self) -> int | None:
        """From how many training queries on all bounds are below the risk of the worst rankings."""
        first = None
        for group in self._groups():
            is_informative = all(point.bound < point.worst_risk for point in group)
            first = (first or group[0].queries) if is_informative else None
        return first

    def to_csv(self) -> str:
        """A line for each point."""
        text = io.StringIO()
        table = csv.DictWriter(text, [field.name for field in fields(StudyPoint)], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(point) for point in self.points)
        return text.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "measure": self.measure,
            "delta": self.delta,
            "held_out_queries": self.n_held_out,
            "violations": self.violations,
            "first_informative": self.first_informative,
            "points": [asdict(point) for point in self.points],
        }

    def chart(self) -> str:
        """Bound, worst rankings, held-out and training risk against the number of training queries, as SVG."""
        x = [point.queries for point in self.means]
        lines = {
            "bound": [point.bound for point in self.means],
            "worst rankings": [point.worst_risk for point in self.means],
            "hinge on training queries": [point.hinge for point in self.means],
            "held-out risk": [point.held_out_risk for point in self.means],
            "training risk": [point.training_risk for point in self.means],
        }
        return line_chart(
            {name: (x, y) for name, y in lines.items()},
            title=f"Risk 1 − {self.measure} and its bound (probability {1 - self.delta:g})",
            x_label="training queries",
            y_label="risk",
            x_log=True,
        )

    # For people

    def _blocks(self) -> list[Block]:
        return [self._listwise(), self._pairwise(), Block(notes=self._closing())]

    def _listwise(self) -> Block:
        title = f"risk, the mean of 1 − {self.measure} (each bound holds with probability {1 - self.delta:g})"
        header = ("queries", "train", "test", "bound", "hinge", "class", "draw", "worst", "theorem 4")
        rows = []
        for p in self.means:
            risks = (p.training_risk, p.held_out_risk, p.bound, p.hinge, p.complexity, p.confidence, p.worst_risk)
            rows.append([f"{p.queries:,}", *(f"{risk:.3f}" for risk in risks), shown(p.log10_theorem_4 * _LOG_10)])
        return Block(title, header, rows)

    def _pairwise(self) -> Block:
        rows = []
        for p in self.means:
            wrong = (f"{pairs:.2f}" for pairs in (p.training_pairs, p.held_out_pairs))
            rows.append([f"{p.queries:,}", *wrong, f"{p.corollary_1:,.0f}", f"{p.worst_pairs:.2f}"])
        header = ("queries", "training", "held out", "corollary 1", "all pairs")
        return Block("mean number of pairs in the wrong order, per query", header, rows)

    def _closing(self) -> list[str]:
        first, n = self.first_informative, len(self.points)
        informative = (
            "The bound is above the risk of the worst possible rankings at all sizes, so it is vacuous here."
            if first is None
            else f"The bound is below the risk of the worst possible rankings from {first:,} queries on."
        )
        return [
            "bound = hinge (training loss) + class (complexity of the rankers) + draw (chance in the sample of "
            "queries); worst: the worst possible rankings",
            informative,
            f"The held-out risk ({self.n_held_out:,} queries) is above a bound in {self.violations} of {n} trainings.",
        ]


def _mean(points: list[StudyPoint]) -> StudyPoint:
    names = [field.name for field in fields(StudyPoint) if field.name not in ("queries", "repeat")]
    means = {name: float(np.mean([getattr(point, name) for point in points])) for name in names}
    return StudyPoint(points[0].queries, -1, **means)
