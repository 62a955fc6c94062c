"""`Job`: the steps of a fit. Features are prepared, rankers judged, one chosen, and all trained on all queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf
from typing import cast

import numpy as np
import numpy.typing as npt

from rankwright.arrays import finite_numbers
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError, RankwrightError
from rankwright.evaluation.per_query import measure_values
from rankwright.fitting.baseline import baseline_of
from rankwright.fitting.choice import Entry, Judged, choose, choose_preparation, entry_of
from rankwright.fitting.data import FitData, check_grades, check_same_features
from rankwright.fitting.families import FAMILIES, Greedy, LinearFamily, PairwiseLeastSquares
from rankwright.fitting.family import AnySetting, Family, Setting
from rankwright.fitting.learned import Learned, Weights
from rankwright.fitting.nonlinear import NONLINEAR, SEARCH_SECONDS, NonlinearFamily
from rankwright.fitting.preparing import How, Tried, preparations_of
from rankwright.fitting.request import Request
from rankwright.fitting.result import FitResult, LeftOut
from rankwright.fitting.work import Arrays, Work
from rankwright.models.model import Model
from rankwright.progress import Progress, Tell, part_of
from rankwright.rankers.first_look import FirstLook
from rankwright.selection.judging import Judge, Split
from rankwright.types import Array

_MOST_WIDENINGS = 3  # of a grid of λ whose best value is at an end


class Job:
    """The steps of a fit."""

    def __init__(self, request: Request, work: Work, progress: Tell | None) -> None:
        self.request, self.options, self.work, self.progress = request, request.options, work, progress
        self.budget: float | None = self.options["budget"]
        self.deadline = time.monotonic() + (inf if self.budget is None else self.budget)
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
        """How many parts there are, if nothing is left out, no grid of λ is widened, and each draw is the only one."""
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
        if issubclass(kind, NonlinearFamily):
            return kind(self.measure, self.convention.name, self.options["seed"], self.data.how.missing)
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
        trained = [self._last_learned(entry) for entry in entries]
        models = [self._model(entry, learned) for entry, learned in zip(entries, trained, strict=True)]
        scores, held_out = (None, ()) if self.test is not None else self._held_out_ranker(entries[chosen])
        return FitResult(
            measure=self.measure,
            convention=self.convention,
            rule=self.rule,
            delta=self.options["delta"],
            judged=tuple(judged),
            entries=tuple(entries),
            chosen=chosen,
            models=tuple(models),
            learned=trained[chosen],
            baseline=compared,
            data=self.data,
            tried=tried,
            test=self.test,
            held_out_scores=scores,
            learned_by_split=held_out,
            selection=self._selection(entries, judged),
            left_out=tuple(left_out),
            request=self.request,
        )

    # Judging

    def _judge_all(self) -> tuple[list[Judged], list[LeftOut]]:
        judged: list[Judged] = []
        left_out: list[LeftOut] = []
        for family in self.families:
            if not isinstance(family, LinearFamily):
                continue
            if isinstance(family, Greedy) and self.data.fewest_queries < 2:
                reason = "it leaves queries out to select features, and needs two of them"
                left_out.append(self._left_out(family, reason, n_parts=self.n_splits))
                continue
            found = self._judge(family, may_stop=bool(judged))
            if found is None:
                left_out.append(self._out_of_time(family))
            else:
                judged.append(found)
        nonlinear = [family for family in self.families if isinstance(family, NonlinearFamily)]
        if nonlinear:
            searched, not_searched = self._search(nonlinear, may_stop=bool(judged))
            judged, left_out = judged + searched, left_out + not_searched
        if not judged:
            raise DataError(f"no ranker could be trained: {left_out[0].reason}")
        return judged, left_out

    def _left_out(self, family: Family, reason: str, *, n_parts: int) -> LeftOut:
        """A family that is not tried, which has so many parts to be judged by."""
        self.total -= n_parts + _n_last_parts(type(family))
        return LeftOut(family, reason)

    def _out_of_time(self, family: Family) -> LeftOut:
        """A family that was not judged to the end."""
        self.total -= _n_last_parts(type(family))
        seconds = SEARCH_SECONDS if self.budget is None else self.budget
        return LeftOut(family, f"not finished within {seconds:g} s: raise the budget to try it", for_time=True)

    def _search(self, families: Sequence[NonlinearFamily], *, may_stop: bool) -> tuple[list[Judged], list[LeftOut]]:
        """Random search: in each round, every family is judged with settings drawn for it, until time is out.

        Without a budget, the search has its usual time after all linear rankers are done.
        """
        if self.budget is None:
            self.deadline = time.monotonic() + SEARCH_SECONDS
        found: dict[Family, Judged] = {}
        left_out = [
            self._left_out(family, reason, n_parts=self.n_splits)
            for family in families
            if (reason := family.why_not()) is not None
        ]
        never = {each.family for each in left_out}
        most = max(family.most_draws for family in families)
        for number, family in product(range(most), families):
            if family in never or number >= family.most_draws:
                continue
            self.total += self.n_splits if number else 0
            try:
                judged = self._judge_draw(family, number, may_stop=may_stop or bool(found))
            except RankwrightError as error:
                left_out.append(self._refused(family, number, error))
                never |= set() if number else {family}
                continue
            except OSError:  # of files that are read, or kept: no other settings help
                raise
            except Exception as error:  # of a library, such as LinAlgError: other settings may do
                left_out.append(self._failed(family, number, f"{type(error).__name__}: {error}"))
                continue
            if judged is not None:
                found[family] = found[family].joined(judged) if family in found else judged
            elif family in found:
                found[family] = replace(found[family], ended_for_time=True)
            else:
                left_out.append(self._out_of_time(family))
                never.add(family)
        self.total -= sum(_n_last_parts(type(family)) for family in families if family not in found.keys() | never)
        return list(found.values()), left_out

    def _judge_draw(self, family: NonlinearFamily, number: int, *, may_stop: bool) -> Judged | None:
        """The settings of a draw on all splits; None if time is out before."""
        settings = family.draw(number)
        return self._judge_settings(family, self.data, settings, f"-draw{number + 1}", may_stop=may_stop)

    def _refused(self, family: NonlinearFamily, number: int, error: RankwrightError) -> LeftOut:
        """A family that refuses the data with its usual settings, or other settings that it refuses later."""
        if number == 0:
            return self._left_out(family, str(error).rstrip("."), n_parts=0)
        return self._failed(family, number, str(error))

    def _failed(self, family: NonlinearFamily, number: int, reason: str) -> LeftOut:
        """Settings that could not be judged, whatever becomes of others."""
        first = family.draw(number)[0]
        return LeftOut(family, f"with {first}: {reason.rstrip('.')}")

    def _judge(self, family: LinearFamily, *, may_stop: bool) -> Judged | None:
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
            beyond = family.beyond(cast("Sequence[Setting]", judged.settings), end)
            wider = self._judge_settings(family, self.data, beyond, f"-{end}{widening}", may_stop=True)
            if wider is None:
                return replace(judged, ended_for_time=True)
            judged = judged.joined(wider)
        return judged

    def _judge_settings(
        self, family: Family, data: FitData, settings: Sequence[AnySetting], suffix: str, *, may_stop: bool
    ) -> Judged | None:
        """These settings on all splits; None if time is out before. The suffix tells their parts from others."""
        values = np.empty((len(settings), data.judged.n_queries))
        costs, n_features = np.zeros((2, len(settings)))
        selections = []
        for number, split in enumerate(family.side_of(data).splits(), start=1):
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
        return time.monotonic() > self.deadline

    def _judge_split(
        self, family: Family, data: FitData, split: Split, settings: Sequence[AnySetting], progress: Tell | None
    ) -> Arrays:
        learned = family.learn(data, split.train, settings, progress)
        values = learned.values(split.judged, Judge([self.measure], self.convention))
        used = learned.used_features()
        arrays = {"values": values, "costs": used @ self.costs, "n_features": used.sum(axis=1)}
        if isinstance(family, Greedy) and isinstance(learned, Weights):
            arrays["selected"] = _columns_with_weights(learned.weights)
        return arrays

    # The last training

    def _last_learned(self, entry: Entry) -> Learned:
        family, what = entry.family, f"{entry.family.title}, all queries"
        kept = self._part(self.data, f"{family.name}-model", what, partial(self._train, entry))
        return family.restored(self.data, kept)

    def _model(self, entry: Entry, learned: Learned) -> Model:
        how, told = self.data.how, {"measures": str(self.measure), "convention": self.convention.name}
        model = learned.model(
            feature_names=self.train.feature_names if self.train.has_feature_names else None,
            ranker=entry.family.ranker_name,
            parameters={**entry.setting.told, **told, "missing": how.missing, "transform": how.transform},
            training={},
        )
        model._seen_queries = self.seen
        return model

    def _train(self, entry: Entry, progress: Tell | None) -> Arrays:
        queries = entry.family.side_of(self.data).whole
        return entry.family.learn(self.data, queries, [entry.setting], progress).arrays()

    def _selection(self, entries: Sequence[Entry], judged: Sequence[Judged]) -> tuple[int, ...]:
        """In which order greedy selection takes features on all queries; nothing if it was not tried."""
        for entry, of in zip(entries, judged, strict=True):
            if isinstance(entry.family, Greedy):
                settings = [setting for setting in of.settings if setting.alpha == entry.setting.alpha]
                compute = partial(self._select, entry.family, settings)
                kept = self._part(self.data, "selection", f"{entry.family.title}, order of features", compute)
                return tuple(map(int, kept["columns"]))
        return ()

    def _select(self, family: LinearFamily, settings: Sequence[AnySetting], progress: Tell | None) -> Arrays:
        is_used = family.learn(self.data, self.data.whole, settings, progress).weights != 0
        columns: list[int] = []
        for row in is_used:  # each has the features of the one before, and one more
            columns += [int(column) for column in np.flatnonzero(row) if column not in columns]
        return {"columns": np.array(columns)}

    def _held_out_ranker(self, entry: Entry) -> tuple[Array, tuple[Learned, ...]]:
        """Scores of each judged query by the chosen ranker trained without it, and what was learned in each split."""
        side, family = entry.family.side_of(self.data), entry.family
        scores = np.empty(side.judged.n_documents)
        learned = []
        for number, split in enumerate(side.splits(), start=1):
            what = f"{family.title}, scores{self._of_splits(number)}"
            compute = partial(self._score_split, entry, split)
            kept = self._part(self.data, f"{family.name}-scores-{split.name}", what, compute)
            scores[_rows_of(side.judged, split.is_judged)] = kept["scores"]
            learned.append(family.restored(self.data, kept))
        return scores, tuple(learned)

    def _score_split(self, entry: Entry, split: Split, progress: Tell | None) -> Arrays:
        """What was learned, and scores of the judged documents, query by query."""
        learned = entry.family.learn(self.data, split.train, [entry.setting], progress)
        return {"scores": learned.scores(split.judged), **learned.arrays()}

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


def _rows_of(queries: AnyQueries, is_taken: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """The rows of some of the queries, query by query."""
    places = np.flatnonzero(np.repeat(is_taken, queries.sizes))
    order = queries.grouping.order if isinstance(queries, Queries) else None
    return places if order is None else order[places]


def _kind_of(name: str) -> type[Family]:
    return next(family for family in (*FAMILIES, *NONLINEAR) if family.name == name)


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
