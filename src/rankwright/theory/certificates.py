"""`certificate`: what a measure is at least, in expectation, on queries that have not been seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice, check_positive, check_probability
from rankwright.data.as_queries import checked_queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError, ParameterError
from rankwright.evaluation.evaluation import Ranker, evaluate
from rankwright.evaluation.tables import Tabled, number
from rankwright.html import Block
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure, Values, one_measure
from rankwright.rankers.leave_query_out import HeldOut
from rankwright.theory.mean_bounds import (
    bernstein_bound,
    betting_bound,
    clopper_pearson_bound,
    hoeffding_bound,
)
from rankwright.theory.seen import doubts_about

Method = Literal["auto", "betting", "clopper-pearson", "bernstein", "hoeffding"]

_BOUNDS: dict[str, Callable[[Values, float], float]] = {
    "betting": betting_bound,
    "bernstein": bernstein_bound,
    "hoeffding": hoeffding_bound,
}
_EXACT = "clopper-pearson"

_UNIT = ("nDCG", "MeanNDCG", "P", "Recall", "AP", "RR", "ERR", "PairwiseError", "ZeroOne")
_RANGES = {**dict.fromkeys(_UNIT, (0.0, 1.0)), "KendallTau": (-1.0, 1.0)}
_TEXTS = (0, 3)  # the columns of the table that are no numbers
_WITHIN = (0.02, 0.01)  # how close to the mean a bound may be wanted


def certificate(
    ranker_or_scores: npt.ArrayLike | Ranker | HeldOut,
    queries: AnyQueries | None = None,
    measure: str | Measure = "ndcg@10",
    delta: float = 0.05,
    *,
    method: Method = "auto",
    convention: str | Convention = "default",
    baseline: npt.ArrayLike | Ranker | HeldOut | None = None,
) -> Certificate:
    """Bound the expected value of a measure on a new query: from below, or from above if lower is better.

    With probability ≥ 1 − delta over the draw of the queries the expectation is on the right side of the bound, if the
    queries are drawn independently from where new ones will come from, and had no part in training or in any choice.
    Where it is known that they had one, the result is an estimate: ``guaranteed`` is False, and ``doubts`` tells why.

    Parameters
    ----------
    ranker_or_scores : a fitted ranker, one score per row of ``queries``, or what `leave_query_out` gave for one alpha
        A ranker knows the queries that it was trained on or chosen by again; of scores nothing is known. Rankers that
        leave a query out share most of their training data, so their values are not independent, and the bound is an
        estimate.
    queries : Queries, in memory or read from files
        Not needed for what `leave_query_out` gave, which has its own.
    measure : such as ``nDCG @ 10`` or ``"ndcg@10"``
        DCG and WPD have no greatest value, and no such bound. ERR must be told its max_grade.
    delta : the probability of being wrong
    method : "auto", "betting", "clopper-pearson", "bernstein" or "hoeffding"
        "clopper-pearson" is for measures that are 0 or 1 for every query: P@1, RR@1 and the 0/1 error (and AP@1 if it
        is divided by what is reachable). "auto" is "clopper-pearson" for these, and "betting" for all others.
    convention : a name from ``CONVENTIONS`` or a Convention
    baseline : ranker, scores or HeldOut, optional
        Bound the mean gain over it, query by query; a gain above 0 is an improvement, whatever the measure.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=400, seed=0).queries
    >>> ranker = rw.RankRLS().fit(queries[:100])
    >>> certified = certificate(ranker, queries[100:], "ndcg@10")
    >>> round(certified.mean, 2), round(certified.bound, 2), certified.method
    (0.7, 0.68, 'betting')
    """
    chosen = one_measure(measure)
    check_probability("delta", delta)
    rules = convention_of(convention).but(**dict(chosen.options))
    low, high = _range(chosen, rules)
    is_gain = baseline is not None
    is_exact = _is_two_valued(chosen, rules) and not is_gain
    used = _method(method, chosen, is_exact=is_exact, is_gain=is_gain)
    judged = _judged_queries(ranker_or_scores, queries)
    values = _values(ranker_or_scores, judged, chosen, convention)
    if is_gain:
        values -= _baseline_values(baseline, judged, chosen, convention)
        values *= -1.0 if chosen.lower_is_better else 1.0
        low, high = low - high, high - low
    counted = values[~np.isnan(values)]
    if len(counted) == 0:
        raise DataError(f"{chosen} is undefined for all {len(values)} queries, so there is nothing to certify")

    # Every method bounds numbers in [0, 1] from below: the larger, the better.
    is_lower = is_gain or not chosen.lower_is_better
    worst, best = (low, high) if is_lower else (high, low)
    worth = np.clip((counted - worst) / (best - worst), 0, 1)  # a sum may leave its range by rounding
    bounds = {name: worst + (best - worst) * bound for name, bound in _bounds(worth, delta, is_exact).items()}
    return Certificate(
        measure=chosen,
        convention=rules.name,
        mean=float(counted.mean()),
        bound=bounds[used],
        delta=float(delta),
        method=used,
        n_queries=len(counted),
        n_left_out=len(values) - len(counted),
        n_tied=int(np.count_nonzero((worth > 0) & (worth < 1))) if used == _EXACT else 0,
        is_lower=is_lower,
        gain=is_gain,
        doubts=(*_doubts("the ranker", ranker_or_scores, judged), *_doubts("the baseline", baseline, judged)),
        bounds=bounds,
    )


def _doubts(who: str, system: Any, queries: AnyQueries) -> list[str]:
    if isinstance(system, HeldOut):
        return ["leave-query-out values are not independent, and the bound is about rankers trained on one query less"]
    return doubts_about(who, system, queries)


def _bounds(worth: Values, delta: float, is_exact: bool) -> dict[str, float]:
    """What each method gives that applies."""
    found = {name: bound(worth, delta) for name, bound in _BOUNDS.items()}
    if not is_exact:
        return found
    # A value between 0 and 1 is an expectation over ties. Counted as 0 it is two-valued, and no larger than it was. So
    # the method follows from the measure alone: had it to be chosen by looking for ties, it could fail more often.
    return {_EXACT: clopper_pearson_bound(int(np.count_nonzero(worth == 1)), len(worth), delta), **found}


# What is asked for


def can_certify(measure: Measure, convention: Convention) -> bool:
    """Whether the measure has a greatest value that does not depend on the queries."""
    rules = convention.but(**dict(measure.options))
    return measure.name in _RANGES and not (measure.name == "ERR" and rules.max_grade is None)


def _range(measure: Measure, rules: Convention) -> tuple[float, float]:
    """The least and greatest value that any query can have."""
    if measure.name not in _RANGES:
        instead = "ndcg@10" if measure.name == "DCG" else "PairwiseError"
        raise ParameterError(
            f"measure: {measure} has no largest possible value, so no bound can be certified for it: use a measure "
            f"between 0 and 1, such as {instead}"
        )
    if measure.name == "ERR" and rules.max_grade is None:
        raise ParameterError(
            "measure: a certificate for ERR needs the largest possible grade: give it, as in err(max_grade=4)"
        )
    return _RANGES[measure.name]


def _is_two_valued(measure: Measure, rules: Convention) -> bool:
    """Whether a query's value is 0 or 1 for every order of its documents, whatever their grades."""
    if measure.name == "AP":
        return measure.cutoff == 1 and rules.ap_divisor == "reachable"
    return measure.name == "ZeroOne" or (measure.name in ("P", "RR") and measure.cutoff == 1)


def _method(method: str, measure: Measure, *, is_exact: bool, is_gain: bool) -> str:
    if method == "auto":
        return _EXACT if is_exact else "betting"
    check_choice("method", method, ("auto", _EXACT, *_BOUNDS))
    if method == _EXACT and not is_exact:
        what = f"a gain in {measure}" if is_gain else str(measure)
        raise ParameterError(
            f"method: {_EXACT} is for measures that are 0 or 1 for every query, such as p@1, but {what} has other "
            "values: use betting"
        )
    return method


# The values of the queries


def _judged_queries(system: Any, queries: AnyQueries | None) -> AnyQueries:
    if isinstance(system, HeldOut):
        if queries is not None and queries is not system.queries:
            raise ParameterError("queries: the result of leave_query_out contains its queries: leave this argument out")
        return system.queries
    return checked_queries(queries)


def _values(system: Any, queries: AnyQueries, measure: Measure, convention: str | Convention) -> Values:
    """A value per query, NaN for those left out, by the ids of the queries: the order of rows tells nothing."""
    if isinstance(system, HeldOut):
        if system.queries is not queries:
            raise DataError("the result of leave_query_out is about other queries")
        if len(system.alphas) != 1:
            raise ParameterError(
                f"leave_query_out gave scores for {len(system.alphas)} values of alpha, but a certificate is for one "
                "ranker: call leave_query_out with a single alpha, as in alphas=[1.0]"
            )
        system = system.scores[0]
    values = evaluate(system, queries, measure, convention).values[measure]
    return values[np.argsort(queries.query_ids.astype(str), kind="stable")]


def _baseline_values(baseline: Any, queries: AnyQueries, measure: Measure, convention: str | Convention) -> Values:
    try:
        return _values(baseline, queries, measure, convention)
    except DataError as error:
        raise DataError(f"baseline: {error}") from None


# What is certified


@dataclass(frozen=True, repr=False)
class Certificate(Tabled):
    """A bound for the expected value of a measure on a new query, and what it rests on.

    Attributes
    ----------
    measure, convention : what is measured, and the name of the convention
    mean : the mean over the queries that count
    bound : what the expectation is at least, or at most if not ``is_lower``
    delta : the probability of being wrong
    method : how the bound was found
    n_queries, n_left_out : the queries that count, and those without a value, about which nothing is said
    n_tied : the queries whose value is an expectation over ties, which "clopper-pearson" took for the worst
    is_lower : whether the bound is one from below
    gain : whether it is about the mean gain over a baseline
    doubts : what speaks against a guarantee, such as that queries were trained on; nothing, if it is one
    bounds : what each method gives; only that of ``method`` is certified
    """

    measure: Measure
    convention: str
    mean: float
    bound: float
    delta: float
    method: str
    n_queries: int
    n_left_out: int
    n_tied: int
    is_lower: bool
    gain: bool
    doubts: tuple[str, ...]
    bounds: dict[str, float]

    @property
    def guaranteed(self) -> bool:
        """Whether nothing is known that speaks against it: else the bound is an estimate."""
        return not self.doubts

    def doubted(self, *reasons: str) -> Certificate:
        """The same as an estimate, for one who knows what speaks against a guarantee."""
        return replace(self, doubts=(*self.doubts, *reasons))

    def queries_needed(self, within: float) -> int:
        """About how many queries bring the bound this close to the mean, as its distance shrinks with 1/√n.

        It takes new values to spread as these do. For few queries, where the distance shrinks faster, it is too many.
        """
        check_positive("within", within)
        return max(1, math.ceil(self.n_queries * ((self.mean - self.bound) / within) ** 2))

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known to read the bound rightly."""
        told = [f"No guarantee: {doubt}." for doubt in self.doubts]
        if self.n_left_out:
            told.append(
                f"The measure is undefined for {self.n_left_out:,} queries, which are left out: "
                "the bound is about new queries for which it is defined."
            )
        if self.n_tied:
            told.append(f"{self.n_tied:,} queries with tied documents are counted in the worst order of the ties.")
        if self.gain and self.bound <= 0:
            told.append("The bound is not above 0, so an improvement is not certified.")
        return tuple(told)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "measure": str(self.measure),
            "convention": self.convention,
            "gain": self.gain,
            "mean": self.mean,
            "bound": self.bound,
            "side": "lower" if self.is_lower else "upper",
            "delta": self.delta,
            "method": self.method,
            "guaranteed": self.guaranteed,
            "queries": self.n_queries,
            "left_out": self.n_left_out,
            "tied": self.n_tied,
            "bounds": dict(self.bounds),
            "queries_needed": {f"{within:g}": self.queries_needed(within) for within in _WITHIN},
            "notes": list(self.notes),
        }

    # As text

    _between = "\n"

    def _blocks(self) -> list[Block]:
        mean = f"{self.mean:+.4f}" if self.gain else number(self.mean)
        basis = f"mean {mean} over {self.n_queries:,} queries (convention: {self.convention})"
        mark = "◀ certified" if self.guaranteed else "◀ estimate"
        rows = [
            (name, self._shown(bound), f"{bound - self.mean:+.4f}", mark if name == self.method else "")
            for name, bound in self.bounds.items()
        ]
        header = ("method", self._side(), "from the mean", "")
        return [Block(self._sentence()), Block(basis, header, rows, _TEXTS, self._remarks())]

    def _shown(self, bound: float) -> str:
        """Four decimals, rounded to the safe side."""
        rounded = math.floor(bound * 1e4) if self.is_lower else math.ceil(bound * 1e4)
        return f"{rounded / 1e4:+.4f}" if self.gain else f"{rounded / 1e4:.4f}"

    def _side(self) -> str:
        return "at least" if self.is_lower else "at most"

    def _sentence(self) -> str:
        what = f"the gain in {self.measure} over the baseline" if self.gain else str(self.measure)
        bound = f"{self._side()} {self._shown(self.bound)}"
        told, confidence = f"n new queries {what} is {bound} on average", f"{100 * (1 - self.delta):.6g} %"
        if self.guaranteed:
            return f"O{told}, with confidence {confidence}."
        return f"Estimate only: o{told}, but the confidence of {confidence} is not guaranteed."

    def _remarks(self) -> list[str]:
        near, nearer = _WITHIN
        return [
            "Use only the marked bound. To choose the best of several methods, divide delta by their number first.",
            f"For a bound within {near:g} of the mean you need about {self.queries_needed(near):,} judged queries, for "
            f"one within {nearer:g} about {self.queries_needed(nearer):,}, if they vary as much as these.",
            *self.notes,
        ]
