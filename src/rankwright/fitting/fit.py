"""`fit`: every linear ranker judged on held-out queries; one chosen, trained again, and certified."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.errors import DataError, ParameterError
from rankwright.fitting.baseline import Baseline, baseline_of
from rankwright.fitting.choice import Entry, Judged, choose, entry_of
from rankwright.fitting.data import FitData, Split, check_grades, check_same_features
from rankwright.fitting.families import FAMILIES, Family, Greedy, Setting
from rankwright.fitting.work import Arrays, Work
from rankwright.measures.comparison import Comparison
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.evaluation import evaluate
from rankwright.measures.measure import Measure, measures_of
from rankwright.measures.ranked import RankedQueries
from rankwright.rankers.base import linear_scores
from rankwright.rankers.linear_model import LinearModel
from rankwright.selection.search import Rule, checked_rule
from rankwright.theory.certificates import Certificate, can_certify, certificate
from rankwright.theory.checks import check_delta, check_positive, check_whole

if TYPE_CHECKING:
    from rich.console import Group

Array = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

RANKERS = tuple(family.name for family in FAMILIES)


@dataclass(frozen=True)
class LeftOut:
    """A ranker that was not tried, or not to the end, and why; more time may help, or not."""

    family: Family
    reason: str
    for_time: bool = False


@dataclass(frozen=True, eq=False)
class FitResult:
    """What was tried, what was chosen, and how good it is.

    Attributes
    ----------
    measure, convention : what rankers were judged by
    judged : every ranker with the values of all its settings on held-out queries
    entries : every ranker with the setting chosen for it
    chosen : position of the chosen one
    models : every entry trained on all queries, in terms of the features as given
    baseline : ranking by one feature
    data : the queries, as trained on
    test : test queries, if given
    held_out_scores : of the chosen ranker, for every document of the judged queries; not computed with test queries
    selection : columns in the order that greedy selection takes them on all queries, with the λ chosen for it
    left_out : rankers that were not tried to the end
    rule, delta : how the choice was made, and the probability that a certificate is wrong
    """

    measure: Measure
    convention: Convention
    rule: Rule
    delta: float
    judged: tuple[Judged, ...]
    entries: tuple[Entry, ...]
    chosen: int
    models: tuple[LinearModel, ...]
    baseline: Baseline
    data: FitData
    test: Queries | None
    held_out_scores: Array | None
    selection: tuple[int, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def model(self) -> LinearModel:
        """The chosen ranker, trained on all queries."""
        return self.models[self.chosen]

    @property
    def evaluated_on(self) -> str:
        """What the final figures are from."""
        if self.test is not None:
            return "test"
        return "cross-validation" if self.data.valid is None else "validation"

    @property
    def final_queries(self) -> Queries:
        """The queries of the final figures, with features as scaled for training unless they are test queries."""
        return self.data.judged if self.test is None else self.test

    @cached_property
    def final_scores(self) -> tuple[Array, Array]:
        """Scores of the chosen ranker and of the baseline for these."""
        queries = self.final_queries
        scores = self.model.predict(queries) if self.held_out_scores is None else self.held_out_scores
        return scores, self.baseline.scores(queries)

    def selected_features(self, count: int | None) -> list[str]:
        """The names of the first features that greedy selection takes."""
        return [self.data.train.feature_names[column] for column in self.selection[:count]]

    @cached_property
    def held_out(self) -> Comparison:
        """The entries and the baseline on held-out queries, tested against the best."""
        values = {entry.family.title: entry.values for entry in self.entries}
        return self._compared(self.data.judged, values)

    @cached_property
    def on_test(self) -> Comparison | None:
        """The same on test queries."""
        if self.test is None:
            return None
        named = zip(self.entries, self.models, strict=True)
        return self._compared(
            self.test, {e.family.title: self.values_of(m.predict(self.test), self.test) for e, m in named}
        )

    def _compared(self, queries: Queries, values: dict[str, Array]) -> Comparison:
        values = values | {self.baseline_title: self.values_of(self.baseline.scores(queries), queries)}
        return Comparison(self.measure, queries.query_ids, values, None, "wilcoxon", 0.05)

    @property
    def baseline_title(self) -> str:
        """How the baseline is named in tables."""
        return f"single feature {self.baseline.name}"

    def values_of(self, scores: Array, queries: Queries) -> Array:
        """The measure of each query."""
        return evaluate(scores, queries, self.measure, self.convention).values[self.measure]

    @cached_property
    def certificates(self) -> tuple[Certificate, Certificate] | None:
        """For the chosen ranker, and for its gain over the baseline; guaranteed only if there are test queries.

        None for a measure without a greatest value, such as DCG, or ERR without its max_grade.
        """
        chosen, baseline = self.final_scores
        options: dict[str, Any] = {"measure": self.measure, "delta": self.delta, "convention": self.convention}
        queries = self.final_queries
        if not can_certify(self.measure, self.convention):
            return None
        return (
            certificate(chosen, queries, **options),
            certificate(chosen, queries, baseline=baseline, **options),
        )

    # For people

    def _verdict(self) -> str:
        entry, n_used = self.entries[self.chosen], int(np.count_nonzero(self.model.coef_))
        lines = [
            f"chosen: {entry.family.title}, {entry.setting}; {n_used} of {len(self.model.coef_)} features used",
            self._promise(),
            *(f"left out: {each.family.title}: {each.reason}" for each in self.left_out),
        ]
        return "\n".join(lines)

    def _promise(self) -> str:
        if self.certificates is None:
            return f"{self.measure} of new queries cannot be certified: it has no greatest value that is known"
        is_error, bound = self.measure.lower_is_better, self.certificates[0].bound
        told = f"at most {ceil(1e4 * bound) / 1e4:.4f}" if is_error else f"at least {floor(1e4 * bound) / 1e4:.4f}"
        sure = "" if self.test is not None else ", at a guess: the same queries chose it"
        return f"{self.measure} of new queries: {told} with probability {1 - self.delta:g}{sure}"

    @property
    def _final(self) -> Comparison:
        return self.held_out if self.on_test is None else self.on_test

    def __str__(self) -> str:
        return f"on {self.evaluated_on} queries: {self._final}\n\n{self._verdict()}"

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        return Group(Text(f"on {self.evaluated_on} queries", style="dim"), self._final, Text(self._verdict()))

    __repr__ = __str__


def fit(
    train: Queries,
    *,
    valid: Queries | None = None,
    test: Queries | None = None,
    measure: str | Measure = "ndcg@10",
    rankers: Sequence[str] = RANKERS,
    folds: int = 5,
    rule: Rule = "one-standard-error",
    convention: str | Convention = "default",
    baseline: str | None = None,
    costs: Sequence[float] | None = None,
    delta: float = 0.05,
    budget: float | None = None,
    seed: int = 0,
    work: Work | None = None,
    progress: Progress | None = None,
) -> FitResult:
    """Try the linear rankers, choose one by held-out queries, train it on all, and tell how good it is.

    Parameters
    ----------
    train, valid, test : Queries
        Settings and rankers are chosen on ``valid`` if given, else by cross-validation over ``folds`` parts of the
        training queries. ``test`` decides nothing.
    measure, convention : what counts, and whose rules it follows
    rankers : names from ``RANKERS``
    folds, seed : how many parts for cross-validation, and how queries are dealt to them
    rule : "one-standard-error" takes the fewest features whose mean difference from the best is within one standard
        error of that difference, first for each ranker and then among rankers; or "best"
    baseline : the name of a feature to compare with; one that ranks well the smaller it is has a minus in front.
        By default the best single feature.
    costs : of each feature, optional
        The rule then goes by the cost of the features used instead of their number.
    delta : the probability that a certificate is wrong
    budget : seconds, optional
        Rankers that are not done by then are left out; the first one is always tried.
    work : Work, optional
        Where to keep what is finished.
    progress : function, optional
        Called with what is next, how many parts are done, and how many there are.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=60, documents=10, n_features=8, n_correlated=2, seed=1).queries
    >>> result = rw.fit(queries[:40], test=queries[40:], rankers=["regression", "rankrls"])
    >>> result.model, result.evaluated_on
    (LinearModel(RankRLS, 8 features, 8 with a weight), 'test')
    """
    check_delta(delta)
    job = _Job(train, valid, test, measure, rankers, folds, rule, convention, costs, budget, seed, work, progress)
    return job.run(baseline, delta)


class _Job:
    """The steps of a fit."""

    def __init__(
        self,
        train: Queries,
        valid: Queries | None,
        test: Queries | None,
        measure: str | Measure,
        rankers: Sequence[str],
        folds: int,
        rule: Rule,
        convention: str | Convention,
        costs: Sequence[float] | None,
        budget: float | None,
        seed: int,
        work: Work | None,
        progress: Progress | None,
    ) -> None:
        self.measure, self.convention = _one(measure), convention_of(convention)
        self.rule, self.budget, self.started = checked_rule(rule), budget, time.monotonic()
        self.work, self.progress = work or Work(None, ""), progress
        check_whole("folds", folds, 2)
        if budget is not None:
            check_positive("budget", budget)
        self.costs = _checked_costs(costs, train.n_features)
        self.data, self.test = FitData.of(train, valid, folds, seed), test
        if test is not None:
            check_grades("the test data", test)
            check_same_features("the test data", test, train)
        self._check_counted(f"the {'training' if valid is None else 'validation'} data", self.data.judged, least=2)
        if test is not None:
            self._check_counted("the test data", test, least=1)
        has_costs = costs is not None
        self.families = [self._family(name, has_costs) for name in _checked_rankers(rankers)]
        self.done, self.total = 0, len(self.families) * (self.data.n_splits + 1)

    def _check_counted(self, name: str, queries: Queries, least: int) -> None:
        """Refuse to judge by so few queries that there is no mean, or no standard error of it."""
        values = evaluate(np.zeros(queries.n_documents), queries, self.measure, self.convention).values[self.measure]
        counted = int(np.count_nonzero(~np.isnan(values)))
        if counted < least:
            raise DataError(f"{name}: {self.measure} counts {counted} of {len(values)} queries, but {least} are needed")

    def _family(self, name: str, has_costs: bool) -> Family:
        kind = next(family for family in FAMILIES if family.name == name)
        if kind is Greedy:
            costs = tuple(self.costs.tolist()) if has_costs else None
            return Greedy(self.measure, self.convention.name, costs=costs)
        return kind(self.measure, self.convention.name)

    def run(self, baseline: str | None, delta: float) -> FitResult:
        compared = baseline_of(self.data.train, self.measure, self.convention, baseline)
        judged, left_out = self._judge_all()
        entries = [entry_of(each, self.measure, self.rule) for each in judged]
        chosen = choose(entries, self.measure, self.rule)
        models = [self._model(entry) for entry in entries]
        return FitResult(
            self.measure,
            self.convention,
            self.rule,
            delta,
            tuple(judged),
            tuple(entries),
            chosen,
            tuple(models),
            compared,
            self.data,
            self.test,
            self._held_out_scores(entries[chosen]) if self.test is None else None,
            self._selection(entries),
            tuple(left_out),
        )

    # Judging

    def _judge_all(self) -> tuple[list[Judged], list[LeftOut]]:
        judged: list[Judged] = []
        left_out: list[LeftOut] = []
        for family in self.families:
            if isinstance(family, Greedy) and self.data.fewest_queries < 2:
                left_out.append(LeftOut(family, "it leaves queries out to select features, and needs two of them"))
                continue
            found = self._judge(family, may_stop=bool(judged))
            if found is None:
                left_out.append(LeftOut(family, f"not done within {self.budget:g} s: raise the budget", for_time=True))
            else:
                judged.append(found)
        if not judged:
            raise DataError(f"no ranker can be tried: {left_out[0].reason}")
        return judged, left_out

    def _judge(self, family: Family, *, may_stop: bool) -> Judged | None:
        """The family on all splits; None if time is out before."""
        if may_stop and self._is_late():
            return None
        settings = family.settings(self.data.train)
        values = np.empty((len(settings), self.data.judged.n_queries))
        costs = np.zeros(len(settings))
        for split in self.data.splits():
            if may_stop and self._is_late():
                return None
            self._tell(family.title)
            found = self.work.once(f"{family.name}-{split.name}", partial(self._judge_split, family, split, settings))
            values[:, split.positions] = found["values"]
            costs += found["costs"] / self.data.n_splits
        return Judged(family, tuple(settings), values, costs)

    def _is_late(self) -> bool:
        return self.budget is not None and time.monotonic() - self.started > self.budget

    def _judge_split(self, family: Family, split: Split, settings: Sequence[Setting]) -> Arrays:
        weights = family.weights(split.train, settings)
        scores = linear_scores(split.judged.X, weights.T).T
        values = np.stack([self.measure.compute(RankedQueries(row, split.judged), self.convention) for row in scores])
        return {"values": values, "costs": (weights != 0) @ self.costs}

    # The last training

    def _model(self, entry: Entry) -> LinearModel:
        self._tell(f"{entry.family.title} on all queries")
        kept = self.work.once(f"{entry.family.name}-model", partial(self._train, entry))
        queries = self.data.train
        return LinearModel.of(
            kept["weights"] / self.data.scale,
            intercept=0.0,
            feature_names=queries.feature_names if queries.has_feature_names else None,
            ranker=entry.family.ranker.__name__,
            parameters={**entry.setting._asdict(), "measures": str(self.measure), "convention": self.convention.name},
            training={},
        )

    def _train(self, entry: Entry) -> Arrays:
        return {"weights": entry.family.weights(self.data.whole, [entry.setting])[0]}

    def _selection(self, entries: Sequence[Entry]) -> tuple[int, ...]:
        """In which order greedy selection takes features on all queries; nothing if it was not tried."""
        entry = next((entry for entry in entries if isinstance(entry.family, Greedy)), None)
        if entry is None:
            return ()
        kept = self.work.once("selection", partial(self._select, entry))
        return tuple(map(int, kept["columns"]))

    def _select(self, entry: Entry) -> Arrays:
        settings = [s for s in entry.family.settings(self.data.train) if s.alpha == entry.setting.alpha]
        is_used = entry.family.weights(self.data.whole, settings) != 0
        columns: list[int] = []
        for row in is_used:  # each has the features of the one before, and one more
            columns += [int(column) for column in np.flatnonzero(row) if column not in columns]
        return {"columns": np.array(columns)}

    def _held_out_scores(self, entry: Entry) -> Array:
        """Scores of each judged query by the chosen ranker trained without it."""
        scores = np.empty(self.data.judged.n_documents)
        codes = self.data.judged.grouping.codes
        for split in self.data.splits():
            name = f"{entry.family.name}-scores-{split.name}"
            kept = self.work.once(name, partial(self._score_split, entry, split))
            scores[np.isin(codes, split.positions)] = kept["scores"]
        return scores

    def _score_split(self, entry: Entry, split: Split) -> Arrays:
        """Scores of the judged rows, in the order that they stand in among all rows."""
        weights = entry.family.weights(split.train, [entry.setting])[0]
        judged = self.data.judged
        return {"scores": linear_scores(judged.X[np.isin(judged.grouping.codes, split.positions)], weights)}

    def _tell(self, what: str) -> None:
        if self.progress is not None:
            self.progress(what, self.done, self.total)
        self.done += 1


def _one(measure: str | Measure) -> Measure:
    chosen = measures_of(measure)
    if len(chosen) != 1:
        raise ParameterError(f"measure: rankers are chosen by one measure, not by {len(chosen)}")
    return chosen[0]


def _checked_costs(costs: Sequence[float] | None, n_features: int) -> Array:
    if costs is None:
        return np.ones(n_features)
    checked = np.asarray(costs, dtype=np.float64)
    if checked.shape != (n_features,) or not (np.isfinite(checked) & (checked > 0)).all():
        raise ParameterError(f"costs must be {n_features} finite numbers above 0, one for each feature")
    return checked


def _checked_rankers(rankers: Sequence[str]) -> list[str]:
    rankers = [rankers] if isinstance(rankers, str) else rankers
    unknown = next((name for name in rankers if name not in RANKERS), None)
    if unknown is not None or not rankers:
        raise ParameterError(f"rankers must be some of {', '.join(RANKERS)}, not {unknown!r}")
    return [name for name in RANKERS if name in rankers]
