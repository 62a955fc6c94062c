"""`Job`: the steps of a fit. Features are prepared, rankers judged, one chosen, and all trained on all queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from rankwright.arrays import finite_numbers
from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.errors import DataError
from rankwright.evaluation.per_query import measure_values
from rankwright.fitting.baseline import baseline_of
from rankwright.fitting.choice import Entry, Judged, choose, choose_preparation, entry_of
from rankwright.fitting.data import FitData, check_grades, check_same_features
from rankwright.fitting.families import FAMILIES, Family, Greedy, PairwiseLeastSquares, Setting
from rankwright.fitting.preparing import How, Tried, preparations_of
from rankwright.fitting.request import Request
from rankwright.fitting.result import FitResult, LeftOut
from rankwright.fitting.work import Arrays, Work
from rankwright.models.linear_model import LinearModel
from rankwright.preparation.formula import linear_scores
from rankwright.progress import Progress, Tell, part_of
from rankwright.rankers.first_look import FirstLook
from rankwright.selection.judging import Judge, Split
from rankwright.types import Array

_MOST_WIDENINGS = 3  # of a grid of λ whose best value is at an end


class Job:
    """The steps of a fit."""

    def __init__(self, request: Request, work: Work, progress: Tell | None) -> None:
        self.request, self.options, self.work, self.progress = request, request.options, work, progress
        self.started = time.monotonic()
        self.measure, self.convention, self.rule = (self.options[name] for name in ("measure", "convention", "rule"))
        self.train, self.valid = request.queries["train"], request.queries.get("valid")
        self.test = request.queries.get("test")
        looks = self._look_at_queries()
        self.costs = _checked_costs(self.options["costs"], self.train.n_features)
        self.seen = {role: [looks[role].fingerprints] if role in looks else [] for role in ("train", "valid")}
        self.hows = preparations_of(request.queries, self.options["missing"], self.options["transform"])
        self.n_splits = min(self.options["folds"], self.train.n_queries) if self.valid is None else 1
        self.done, self.total = 0, self._n_parts()

    def _look_at_queries(self) -> dict[str, FirstLook]:
        """Refuse queries that cannot be learned from, or judged by, before any work is done."""
        looks = FitData.look_at(self.train, self.valid)
        if self.valid is None:
            self._check_counted("the training data", self.train, least=2)
        else:
            self._check_counted("the validation data", self.valid, least=2)
        if self.test is not None:
            check_grades("the test data", self.test)
            check_same_features("the test data", self.test, self.train)
            self._check_counted("the test data", self.test, least=1)
        return looks

    def _prepared(self, how: How) -> FitData:
        return FitData.of(self.train, self.valid, how, self.options["folds"], self.options["seed"])

    def _choose_preparation(self) -> tuple[FitData, tuple[Tried, ...]]:
        """The data prepared as is best for RankRLS, whose path of λ takes little time; and what was tried."""
        if len(self.hows) == 1:
            return self._prepared(self.hows[0]), ()
        scout = PairwiseLeastSquares(self.measure, self.convention.name)
        tried: list[Tried] = []
        for position, how in enumerate(self.hows):
            if tried and self._is_late():
                self.total -= self.n_splits * (len(self.hows) - position)
                break
            data = self._prepared(how)
            judged = self._judge_settings(scout, data, scout.settings(data.train), "-scout", may_stop=bool(tried))
            if judged is not None:
                tried.append(Tried(how, judged.values[judged.chosen(self.measure, "best")]))
        chosen = self.hows[choose_preparation(tried, self.measure, self.rule)]
        return data if data.how == chosen else self._prepared(chosen), tuple(tried)

    def _check_counted(self, name: str, queries: AnyQueries, least: int) -> None:
        """Refuse to judge by so few queries that there is no mean, or no standard error of it."""
        tied = np.zeros(queries.n_documents)
        values = measure_values(tied, queries.judgments, [self.measure], self.convention)[self.measure]
        counted = int(np.count_nonzero(~np.isnan(values)))
        if counted < least:
            raise DataError(
                f"{name}: {self.measure} is defined for {counted} of {len(values)} queries, but at least {least} are "
                "needed"
            )

    def _n_parts(self) -> int:
        """How many parts there are, if nothing is left out and no grid of λ is widened."""
        n_splits = self.n_splits
        of_families = sum(n_splits + _n_last_parts(_kind_of(name)) for name in self.options["rankers"])
        of_preparations = n_splits * len(self.hows) if len(self.hows) > 1 else 0
        return of_preparations + of_families + (n_splits if self.test is None else 0)

    def _family(self, name: str) -> Family:
        kind = _kind_of(name)
        if kind is Greedy:
            has_costs = self.options["costs"] is not None
            costs = tuple(self.data.by.of_columns(self.costs).tolist()) if has_costs else None
            return Greedy(self.measure, self.convention.name, costs=costs)
        return kind(self.measure, self.convention.name)

    def run(self) -> FitResult:
        """Prepare, judge, choose, and train on all queries."""
        self.data, tried = self._choose_preparation()
        self.families = [self._family(name) for name in self.options["rankers"]]
        columns, n_features = self.data.train, self.data.by.n_features
        compared = baseline_of(columns, n_features, self.measure, self.convention, self.options["baseline"])
        judged, left_out = self._judge_all()
        entries = [entry_of(each, self.measure, self.rule) for each in judged]
        chosen = choose(entries, self.measure, self.rule)
        trained = [self._last_weights(entry) for entry in entries]
        models = [self._model(entry, weights) for entry, weights in zip(entries, trained, strict=True)]
        scores, weights = (None, None) if self.test is not None else self._held_out_ranker(entries[chosen])
        return FitResult(
            measure=self.measure,
            convention=self.convention,
            rule=self.rule,
            delta=self.options["delta"],
            judged=tuple(judged),
            entries=tuple(entries),
            chosen=chosen,
            models=tuple(models),
            column_weights=trained[chosen],
            baseline=compared,
            data=self.data,
            tried=tried,
            test=self.test,
            held_out_scores=scores,
            held_out_weights=weights,
            selection=self._selection(entries, judged),
            left_out=tuple(left_out),
            request=self.request,
        )

    # Judging

    def _judge_all(self) -> tuple[list[Judged], list[LeftOut]]:
        judged: list[Judged] = []
        left_out: list[LeftOut] = []
        for family in self.families:
            if isinstance(family, Greedy) and self.data.fewest_queries < 2:
                left_out.append(LeftOut(family, "it leaves queries out to select features, and needs two of them"))
                self.total -= self.n_splits + _n_last_parts(Greedy)
                continue
            found = self._judge(family, may_stop=bool(judged))
            if found is None:
                reason = f"not finished within {self.options['budget']:g} s: raise the budget to try it"
                left_out.append(LeftOut(family, reason, for_time=True))
                self.total -= _n_last_parts(type(family))
            else:
                judged.append(found)
        if not judged:
            raise DataError(f"no ranker could be trained: {left_out[0].reason}")
        return judged, left_out

    def _judge(self, family: Family, *, may_stop: bool) -> Judged | None:
        """The family on all splits, with more λ where the best is at an end of its grid; None if time is out before."""
        if may_stop and self._is_late():
            self.total -= self.n_splits
            return None
        judged = self._judge_settings(family, self.data, family.settings(self.data.train), "", may_stop=may_stop)
        for widening in range(1, _MOST_WIDENINGS + 1):
            end = None if judged is None else judged.end_of_grid(self.measure)
            if judged is None or end is None:
                break
            self.total += self.n_splits
            beyond = family.beyond(judged.settings, end)
            wider = self._judge_settings(family, self.data, beyond, f"-{end}{widening}", may_stop=True)
            if wider is None:
                return replace(judged, ended_for_time=True)
            judged = judged.joined(wider)
        return judged

    def _judge_settings(
        self, family: Family, data: FitData, settings: Sequence[Setting], suffix: str, *, may_stop: bool
    ) -> Judged | None:
        """These settings on all splits; None if time is out before. The suffix tells their parts from others."""
        values = np.empty((len(settings), data.judged.n_queries))
        costs, n_features = np.zeros((2, len(settings)))
        selections = []
        for number, split in enumerate(data.splits(), start=1):
            if may_stop and self._is_late():
                self.total -= self.n_splits - number + 1
                return None
            found = self._part(
                data,
                f"{family.name}-{split.name}{suffix}",
                f"{family.title}{self._of_splits(number)}",
                partial(self._judge_split, family, data, split, settings),
            )
            values[:, split.is_judged] = found["values"]
            costs += found["costs"] / self.n_splits
            n_features += found["n_features"] / self.n_splits
            selections += [found["selected"]] if "selected" in found else []
        return Judged(family, tuple(settings), values, costs, n_features, tuple(selections))

    def _of_splits(self, number: int) -> str:
        return "" if self.n_splits == 1 else f", fold {number} of {self.n_splits}"

    def _is_late(self) -> bool:
        budget = self.options["budget"]
        return budget is not None and time.monotonic() - self.started > budget

    def _judge_split(
        self, family: Family, data: FitData, split: Split, settings: Sequence[Setting], progress: Tell | None
    ) -> Arrays:
        weights = _weights(family, data, split.train, settings, progress)
        values = Judge([self.measure], self.convention).values(split.judged, weights)[:, :, 0].T
        used = data.by.used_features(weights)
        selected = {"selected": _columns_with_weights(weights)} if isinstance(family, Greedy) else {}
        return {"values": values, "costs": used @ self.costs, "n_features": used.sum(axis=1), **selected}

    # The last training

    def _last_weights(self, entry: Entry) -> Array:
        what = f"{entry.family.title}, all queries"
        return self._part(self.data, f"{entry.family.name}-model", what, partial(self._train, entry))["weights"]

    def _model(self, entry: Entry, weights: Array) -> LinearModel:
        how, told = self.data.how, {"measures": str(self.measure), "convention": self.convention.name}
        model = LinearModel.of(
            self.data.by.fold(weights),
            feature_names=self.train.feature_names if self.train.has_feature_names else None,
            ranker=entry.family.ranker.__name__,
            parameters={**entry.setting._asdict(), **told, "missing": how.missing, "transform": how.transform},
            training={},
        )
        model._seen_queries = self.seen
        return model

    def _train(self, entry: Entry, progress: Tell | None) -> Arrays:
        return {"weights": _weights(entry.family, self.data, self.data.whole, [entry.setting], progress)[0]}

    def _selection(self, entries: Sequence[Entry], judged: Sequence[Judged]) -> tuple[int, ...]:
        """In which order greedy selection takes features on all queries; nothing if it was not tried."""
        for entry, of in zip(entries, judged, strict=True):
            if isinstance(entry.family, Greedy):
                settings = [setting for setting in of.settings if setting.alpha == entry.setting.alpha]
                compute = partial(self._select, entry.family, settings)
                kept = self._part(self.data, "selection", f"{entry.family.title}, order of features", compute)
                return tuple(map(int, kept["columns"]))
        return ()

    def _select(self, family: Family, settings: Sequence[Setting], progress: Tell | None) -> Arrays:
        is_used = _weights(family, self.data, self.data.whole, settings, progress) != 0
        columns: list[int] = []
        for row in is_used:  # each has the features of the one before, and one more
            columns += [int(column) for column in np.flatnonzero(row) if column not in columns]
        return {"columns": np.array(columns)}

    def _held_out_ranker(self, entry: Entry) -> tuple[Array, Array]:
        """Scores of each judged query by the chosen ranker trained without it, and the weights of each split."""
        judged = self.data.judged
        scores = np.empty(judged.n_documents)
        weights = []
        for number, split in enumerate(self.data.splits(), start=1):
            name = f"{entry.family.name}-scores-{split.name}"
            what = f"{entry.family.title}, scores{self._of_splits(number)}"
            kept = self._part(self.data, name, what, partial(self._score_split, entry, split))
            scores[_rows_of(judged, split.is_judged)] = kept["scores"]
            weights.append(kept["weights"])
        return scores, np.stack(weights)

    def _score_split(self, entry: Entry, split: Split, progress: Tell | None) -> Arrays:
        """Weights, and scores of the judged documents, query by query."""
        weights = _weights(entry.family, self.data, split.train, [entry.setting], progress)[0]
        scores = engine_of(split.judged).per_query(_scores, weights)
        return {"scores": scores, "weights": weights}

    def _part(self, data: FitData, name: str, what: str, compute: Callable[[Tell | None], Arrays]) -> Arrays:
        """A part of the work by its name: computed, or kept from before. Progress is told what it is."""
        if len(self.hows) > 1:
            name = f"{data.how.name}-{name}"
        progress = part_of(self.progress, what, self.done, self.total)
        if progress is not None:
            progress(Progress("", 0, None))
        found = self.work.once(name, lambda: compute(progress))
        self.done += 1
        return found


def _scores(part: Part, weights: Array) -> Array:
    """The score of each document, query by query."""
    scores: Array = part.queries.grouping.gather(linear_scores(part.queries.X, weights))
    return scores


def _rows_of(queries: AnyQueries, is_taken: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """The rows of some of the queries, query by query."""
    places = np.flatnonzero(np.repeat(is_taken, queries.sizes))
    order = queries.grouping.order if isinstance(queries, Queries) else None
    return places if order is None else order[places]


def _weights(
    family: Family, data: FitData, queries: AnyQueries, settings: Sequence[Setting], progress: Tell | None
) -> Array:
    """Weights (settings × columns) that some of the queries give."""
    weights = family.weights(queries, settings, progress)
    return data.by.of_ranking(weights) if family.is_pairwise else weights


def _kind_of(name: str) -> type[Family]:
    return next(family for family in FAMILIES if family.name == name)


def _n_last_parts(kind: type[Family]) -> int:
    """How many parts come after judging: the model, and the order in which features are selected."""
    return 2 if kind is Greedy else 1


def _columns_with_weights(weights: Array) -> npt.NDArray[np.int64]:
    """The columns that each row of weights uses, and −1 where it uses fewer than others."""
    used = [np.flatnonzero(row) for row in weights]
    columns = np.full((len(weights), max(map(len, used))), -1, np.int64)
    for row, found in zip(columns, used, strict=True):
        row[: len(found)] = found
    return columns


def _checked_costs(costs: Sequence[float] | None, n_features: int) -> Array:
    if costs is None:
        return np.ones(n_features)
    return finite_numbers("costs", costs, n_features, "feature", above=0)
