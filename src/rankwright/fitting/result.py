"""What a fit gives: `FitResult`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankwright.data.streams.streamed import AnyQueries
from rankwright.evaluation.comparison import Comparison
from rankwright.evaluation.per_query import measure_values
from rankwright.fitting.baseline import Baseline
from rankwright.fitting.choice import Entry, GivenUp, Judged, choose, choose_preparation, given_up
from rankwright.fitting.data import FitData
from rankwright.fitting.family import LINEAR, Family
from rankwright.fitting.learned import Learned, Weights
from rankwright.fitting.preparing import Tried
from rankwright.fitting.request import Request
from rankwright.fitting.summary import FitSummary, note_on_search, notes_on_grids
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.models.model import Model
from rankwright.models.terms_model import TermsModel
from rankwright.selection.search import Estimate, Rule, estimate_of
from rankwright.theory.certificates import Certificate, can_certify, certificate
from rankwright.types import Array

if TYPE_CHECKING:
    from rich.console import Group


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
    learned : what the chosen one has learned, in terms of what it was trained on
    baseline : ranking by one feature
    data : the queries, as trained on: with columns prepared from the features as ``data.how`` tells
    tried : the preparations of features that were tried; none if there was only one
    test : test queries, if given
    held_out_scores : of the chosen ranker, for every document of the judged queries; not computed with test queries
    learned_by_split : what these scores come from, for each split; nothing with test queries
    selection : columns in the order that greedy selection takes them on all queries, with the λ chosen for it
    left_out : rankers that were not tried to the end
    rule, delta : how the choice was made, and the probability that a certificate is wrong
    request : the arguments of the fit: queries as given, and options
    """

    measure: Measure
    convention: Convention
    rule: Rule
    delta: float
    judged: tuple[Judged, ...]
    entries: tuple[Entry, ...]
    chosen: int
    models: tuple[Model, ...]
    learned: Learned
    baseline: Baseline
    data: FitData
    tried: tuple[Tried, ...]
    test: AnyQueries | None
    held_out_scores: Array | None
    learned_by_split: tuple[Learned, ...]
    selection: tuple[int, ...]
    left_out: tuple[LeftOut, ...]
    request: Request

    @property
    def fingerprint(self) -> str:
        """What tells this fit from any other: the same for the same data, options and version."""
        return self.request.fingerprint

    @property
    def model(self) -> Model:
        """The chosen ranker, trained on all queries."""
        return self.models[self.chosen]

    @property
    def evaluated_on(self) -> str:
        """What the final figures are from."""
        if self.test is not None:
            return "test"
        return "cross-validation" if self.data.valid is None else "validation"

    @property
    def final_queries(self) -> AnyQueries:
        """The queries of the final figures, with features as they were given."""
        given = self.request.queries
        return given["train" if self.data.valid is None else "valid"] if self.test is None else self.test

    @cached_property
    def final_columns(self) -> AnyQueries:
        """The same queries with columns as rankers see them."""
        return self.data.judged if self.test is None else self.data.by.prepared(self.test)

    @cached_property
    def final_scores(self) -> tuple[Array, Array]:
        """Scores of the chosen ranker and of the baseline for these."""
        scores = self.model.predict(self.final_queries) if self.held_out_scores is None else self.held_out_scores
        return scores, self.baseline.scores(self.final_columns)

    @property
    def column_weights(self) -> Array | None:
        """Weights of the columns that the chosen ranker was trained on; None if it is not linear."""
        return self.learned.weights[0] if isinstance(self.learned, Weights) else None

    @property
    def held_out_weights(self) -> Array | None:
        """The weights that held-out scores come from, a row for each split; None if there are none."""
        weights = [learned.weights[0] for learned in self.learned_by_split if isinstance(learned, Weights)]
        return np.stack(weights) if weights else None

    @property
    def formula_text(self) -> str | None:
        """The chosen ranker as a formula, if it is a short one."""
        return self.model.formula_text() if isinstance(self.model, TermsModel) else None

    def learned_for(self, q: int) -> Learned:
        """What the q-th of the final queries was ranked by."""
        return self.learned if self.test is not None else self.learned_by_split[self.data.split_of_query[q]]

    @property
    def best_linear(self) -> Entry | None:
        """The linear ranker that is best on held-out queries, if any was tried."""
        linear = [entry for entry in self.entries if entry.family.complexity == LINEAR]
        return linear[choose(linear, self.measure, "best")] if linear else None

    @property
    def has_nonlinear(self) -> bool:
        """Whether rankers that are not linear were tried."""
        return any(entry.family.complexity != LINEAR for entry in self.entries)

    def selected_features(self, count: int | None) -> list[str]:
        """The names of the first features that greedy selection takes on all queries."""
        return [self.data.train.feature_names[column] for column in self.selection[:count]]

    @cached_property
    def held_out(self) -> Comparison:
        """The entries and the baseline on held-out queries, tested against the best."""
        values = {entry.family.title: entry.values for entry in self.entries}
        judged = self.request.queries["train" if self.data.valid is None else "valid"]
        return self._compared(judged, self.data.judged, values)

    @cached_property
    def on_test(self) -> Comparison | None:
        """The same on test queries."""
        if self.test is None:
            return None
        named = zip(self.entries, self.models, strict=True)
        values = {entry.family.title: self.values_of(model.predict(self.test), self.test) for entry, model in named}
        return self._compared(self.test, self.final_columns, values)

    def _compared(self, queries: AnyQueries, columns: AnyQueries, values: dict[str, Array]) -> Comparison:
        values = values | {self.baseline_title: self.values_of(self.baseline.scores(columns), queries)}
        return Comparison(self.measure, queries.query_ids, values, None, "wilcoxon", 0.05)

    @property
    def baseline_title(self) -> str:
        """How the baseline is named in tables."""
        return f"single feature {self.baseline.name}"

    def values_of(self, scores: Array, queries: AnyQueries) -> Array:
        """The measure of each query."""
        return measure_values(scores, queries.judgments, [self.measure], self.convention)[self.measure]

    @cached_property
    def certificates(self) -> tuple[Certificate, Certificate] | None:
        """For the chosen ranker, and for its gain over the baseline; estimates unless there are unseen test queries.

        None for a measure without a greatest value, such as DCG, or ERR without its max_grade.
        """
        if not can_certify(self.measure, self.convention):
            return None
        queries, (scores, baseline) = self.final_queries, self.final_scores
        chosen = scores if self.test is None else self.model  # which knows what it was trained on
        options: dict[str, Any] = {"measure": self.measure, "delta": self.delta, "convention": self.convention}
        found = certificate(chosen, queries, **options), certificate(chosen, queries, baseline=baseline, **options)
        mean, gain = (each if self.test is not None else each.doubted(self._doubt()) for each in found)
        return mean, gain

    def _doubt(self) -> str:
        """What speaks against a guarantee where there are no test queries."""
        if self.data.valid is not None:
            return "these queries were also used to choose the model"
        return (
            "these queries were also used to choose the model, "
            "and the rankers of cross-validation share most of their training queries"
        )

    @cached_property
    def given_up(self) -> GivenUp | None:
        """What the rule gave up for a simpler ranker; None if the best of all was chosen."""
        return given_up(self.entries[self.chosen], self.judged, self.measure)

    @cached_property
    def preparation_given_up(self) -> tuple[Tried, Estimate] | None:
        """The preparation that was best for RankRLS, and how that differs from the simpler one that was chosen."""
        chosen = next((each for each in self.tried if each.how == self.data.how), None)
        if chosen is None:
            return None
        best = self.tried[choose_preparation(self.tried, self.measure, "best")]
        return None if best is chosen else (best, estimate_of(best.values - chosen.values))

    @property
    def costs(self) -> Array | None:
        """Of each feature, if they were given."""
        costs = self.request.options.get("costs")
        return None if costs is None else np.asarray(costs, dtype=np.float64)

    @property
    def has_costs(self) -> bool:
        """Whether features were given costs."""
        return self.costs is not None

    def n_features_of(self, entry: Entry) -> int:
        """How many features have a weight, on all queries if it was trained on these, else in the mean over splits."""
        trained, model = next(
            (e, m) for e, m in zip(self.entries, self.models, strict=True) if e.family == entry.family
        )
        return len(model.used_features()) if entry.setting == trained.setting else entry.n_features

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know besides: where the best λ is at an end of all that were tried, and how far a search came."""
        return (*notes_on_grids(self), *note_on_search(self))

    @property
    def ended_for_time(self) -> bool:
        """Whether a larger budget would try more."""
        return any(each.for_time for each in self.left_out) or any(each.ended_for_time for each in self.judged)

    # As files

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write ``model.json``, ``leaderboard.csv`` and ``report.html``, all or none, as ``rankwright fit`` does.

        The folder is made if it is not there. The same fit may be saved again; a folder with the model of another one
        is refused with a FileExistsError, unless ``overwrite`` is True. `load_model` reads the model.

        >>> import rankwright as rw
        >>> queries = rw.datasets.make_queries(n_queries=40, seed=1).queries
        >>> rw.fit(queries, rankers=["rankrls"]).save("ranker")
        >>> rw.load_model("ranker/model.json")
        LinearModel(RankRLS, 20 features, 20 with a weight)
        """
        from rankwright.fitting.folder import Origin, save_fit

        save_fit(self, folder, Origin(self.request.call, self.request.data), overwrite=overwrite)

    @cached_property
    def nothing_learned(self) -> str | None:
        """Why nothing was learned, on the final queries, if that is so.

        Either all weights are 0, or every query has its documents in the same order as by the baseline, tied ones tied,
        or the measure has the same value for every query as by the baseline.
        """
        scores, baseline = self.final_scores
        queries = self.final_queries
        if not len(self.model.used_features()) or _is_same_ranking(scores, np.zeros_like(scores), queries):
            return "no feature has a weight that tells documents of a query apart"
        if _is_same_ranking(scores, baseline, queries):
            return f"every query is ranked as by the {self.baseline_title} alone"
        if np.array_equal(self.values_of(scores, queries), self.values_of(baseline, queries), equal_nan=True):
            return f"every query has the same {self.measure} as by the {self.baseline_title} alone"
        return None

    # For people

    def __str__(self) -> str:
        return str(FitSummary(self))

    def __rich__(self) -> Group:
        return FitSummary(self).__rich__()

    def _repr_html_(self) -> str:
        return FitSummary(self).html()

    __repr__ = __str__


def _is_same_ranking(scores: Array, others: Array, queries: AnyQueries) -> bool:
    """Whether two rankers agree on every two documents of a query: which comes first, or that they are tied."""
    codes = queries.judgments.grouping.codes
    return np.array_equal(_places(scores, codes), _places(others, codes))


def _places(scores: Array, codes: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Query by query, how many different scores come up to that of a document; tied ones have the same place."""
    order = np.lexsort((scores, codes))
    is_next = (np.diff(scores[order]) != 0) | (np.diff(codes[order]) != 0)
    places = np.empty(len(scores), np.int64)
    places[order] = np.concatenate([[0], np.cumsum(is_next)])
    return places
