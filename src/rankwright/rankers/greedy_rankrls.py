"""Greedy RankRLS (paper G, section 3): few features, chosen one by one for what they add on held-out queries."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from rankwright.arrays import finite_numbers
from rankwright.checks import check_bool, check_choice, check_whole
from rankwright.data.streams.sizes import told_bytes
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.engines.centred_sums import CentredSums
from rankwright.errors import DataError, ParameterError
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure, measures_of
from rankwright.preparation.missing import MissingName
from rankwright.progress import Tell
from rankwright.rankers.base import LinearRanker
from rankwright.selection.forward import HeldOutMeasure, SearchPlan, SquaredError
from rankwright.selection.greedy_paths import checked_sizes, greedy_paths
from rankwright.selection.pair_selector import PairSelector
from rankwright.selection.path import SelectionPath, Step, all_steps, choose, pareto_front
from rankwright.selection.recorder import Recorder
from rankwright.selection.search import Rule, Search, checked_alphas, checked_rule, optional_measures
from rankwright.selection.selectors import (
    BackFittingSelector,
    DirectSelector,
    GramSelector,
    KeepingSelector,
    OrthogonalSelector,
    Selector,
    StreamSelector,
)
from rankwright.types import Array

Method = Literal["auto", "gram", "stream", "direct"]

# The grid of paper G's experiments.
ALPHAS: Array = 2.0 ** np.arange(0.0, 11.0)

# "auto" keeps the Gram matrices of all queries if they take no more than this, or a quarter of X, …
_GRAM_BYTES = 1 << 26
# … and the state of all candidates, if that takes no more than this or twice X.
_STATE_BYTES = 1 << 30

# Of queries that are read part by part, X̂ᵀX̂ of all of them may take this share of the limit of memory.
_TOTAL_SHARE = 8

_SELECTORS: dict[str, type[OrthogonalSelector]] = {
    "gram": GramSelector,
    "stream": StreamSelector,
    "direct": DirectSelector,
}


class GreedyRankRLS(LinearRanker):
    """RankRLS on few features: each step adds the one with the least squared leave-query-out error (paper G, eq. 7).

    The result is that of retraining RankRLS for every candidate feature and every query left out. It costs at most
    one pass over X for each selected feature; or one for all λ and k, if the Gram matrices of queries fit in memory.

    Parameters
    ----------
    alpha : float or search()
        λ. `search()` chooses it from 2^0 … 2^10.
    n_features : int or search()
        k, the number of features to select. `search()` chooses it from 1 … all of them, `search(5, 10)` from these.
    measures : such as "ndcg@10, map"
        What to tell of every step in ``path_``, by leave-query-out and on the validation queries given to ``fit``.
        The first one decides what is searched for: on validation queries if there are any, else by leave-query-out.
        With () it is the squared error that decides.
    convention : name of a Convention
    tell : "all" or "deciding"
        Tell measures both by leave-query-out and on validation queries, or only what decides: where there are
        validation queries, that takes about half the time.
    rule : "best" or "one-standard-error"
        Take the best model, or the cheapest that is as good: whose mean difference from the best, query by query, is
        within one standard error of that difference.
    criterion : "squared-error" or a measure, such as "ndcg@10"
        What a step is to improve: the squared leave-query-out error, or the leave-query-out mean of a measure.
    floating : bool
        After each step, drop features again as long as that gives the best set of its size so far (Pudil et al. 1994).
    candidates : int, optional
        Look at so many features in each step, drawn at random, instead of all.
    feature_costs : array or mapping from feature name to cost, optional
        What each feature costs. A step then takes the feature that improves the criterion most for its cost, and
        ``rule`` and ``pareto_front_`` go by the cost of models instead of their number of features.
    fitting : "pre" or "back"
        Rate a candidate by refitting all weights, exactly, or by fitting its own weight only (all weights are refitted
        once it is chosen), which for wide sparse data is much faster.
    method : "auto", "gram", "stream" or "direct"
        Keep the Gram matrices of the queries; or read X in each step; or keep nothing of candidates and read X for
        each. All give the same; "auto" goes by size.
    random_state : int, optional
        The seed for ``candidates``.
    missing : "mean" or "query-mean"
        What stands for a missing value (NaN): the mean of the feature over all training documents that have it, or
        over those of the same query. A column of its own tells besides where a feature was missing. Such a column is
        selected as a feature is: its number is beyond those of the features.

    Attributes
    ----------
    coef_ : the weights of all features, 0 for those not selected
    selected_features_ : the features selected, in the order of their selection
    selected_columns_ : the same, but what tells that a feature is missing is a column of its own, behind all features
    alpha_ : the λ used
    path_ : SelectionPath, every step for that λ
    paths_ : the paths of all λ
    pareto_front_ : the models that none beats in both cost (or number of features) and the deciding measure
    passes_ : how often X was read
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import rankwright as rw
    >>> collection = rw.datasets.make_queries(n_queries=100, n_features=12, n_informative=3, n_correlated=0)
    >>> ranker = rw.GreedyRankRLS(n_features=3).fit(collection.queries)
    >>> sorted(ranker.selected_features_.tolist()) == collection.informative.tolist()
    True
    """

    _takes_powers = True

    def __init__(
        self,
        alpha: float | Search = 1.0,
        n_features: int | Search = 10,
        *,
        measures: Any = "ndcg@10",
        convention: Any = "default",
        tell: Literal["all", "deciding"] = "all",
        rule: Rule = "best",
        criterion: str | Measure = "squared-error",
        floating: bool = False,
        candidates: int | None = None,
        feature_costs: npt.ArrayLike | Mapping[str, float] | None = None,
        fitting: Literal["pre", "back"] = "pre",
        method: Method = "auto",
        random_state: int | None = None,
        missing: MissingName = "mean",
    ) -> None:
        self.alpha = alpha
        self.n_features = n_features
        self.measures = measures
        self.convention = convention
        self.tell = tell
        self.rule = rule
        self.criterion = criterion
        self.floating = floating
        self.candidates = candidates
        self.feature_costs = feature_costs
        self.fitting = fitting
        self.method = method
        self.random_state = random_state
        self.missing = missing

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: npt.ArrayLike | None = None,
        *,
        group: npt.ArrayLike | None = None,
        valid: AnyQueries | None = None,
        progress: Tell | None = None,
    ) -> Self:
        """Select features and learn their weights.

        X may be `Queries`, which bring y and qid with them. ``group`` is how many rows each query has, instead of qid.
        ``progress`` is called with `Progress` after each step.
        """
        alphas, rule = checked_alphas(self.alpha, ALPHAS), checked_rule(self.rule)
        measures, convention = optional_measures(self.measures), convention_of(self.convention)
        queries = self._training_queries(X, y, qid, group)
        if queries.n_queries < 2:
            raise DataError(
                "greedy selection leaves queries out, so it needs at least two of them: give qid or group "
                f"(n_queries={queries.n_queries}, n_samples={queries.n_documents})"
            )
        check_choice("tell", self.tell, ("all", "deciding"))
        held_out, tell_all = self._validation_queries(valid), self.tell == "all"
        sizes = self._sizes(queries.n_features)
        plan = self._plan(queries, max(sizes), convention)
        data = CentredSums(engine_of(queries))
        selector = self._selector(data, plan)
        kept = frozenset[int]() if rule == "best" else sizes
        noting = Recorder(data.engine, held_out, measures, convention, tell_all=tell_all, kept_sizes=kept)
        with closing(noting) as recorder:
            names = queries.feature_names
            paths = greedy_paths(selector, plan, alphas, recorder, names, seed=self.random_state, progress=progress)
            candidates, deciding = all_steps(paths, sizes), measures[0] if measures else None
            chosen = candidates[choose(candidates, deciding, rule, recorder.values_of)]
        self._keep(paths, *chosen, deciding, queries.n_features)
        self.passes_ = data.passes
        return self

    def _keep(
        self, paths: list[SelectionPath], path: SelectionPath, step: Step, deciding: Measure | None, n: int
    ) -> None:
        """Note what has been learned: all paths, and the step of one of them that was chosen."""
        self.paths_ = tuple(paths)
        self.path_ = path
        self.alpha_ = path.alpha
        self.selected_columns_ = np.array(step.selected, np.intp)
        self.selected_features_ = self._features_of(self.selected_columns_)
        self.coef_ = np.zeros(n)
        self.coef_[self.selected_columns_] = step.weights
        self.pareto_front_ = pareto_front(all_steps(paths, frozenset(range(1, n + 1))), deciding)

    def _features_of(self, columns: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The features that columns are made of, each once, in the order in which they were selected."""
        if self.preparation_ is None:
            return columns
        return np.array(list(dict.fromkeys(self.preparation_.sources[columns].tolist())), np.intp)

    # Parameters, checked

    def _sizes(self, n: int) -> frozenset[int]:
        """The allowed numbers of features."""
        return checked_sizes("n_features", self.n_features, n, "feature", range(1, n + 1))

    def _plan(self, queries: AnyQueries, size: int, convention: Convention) -> SearchPlan:
        criterion: SquaredError | HeldOutMeasure = SquaredError()
        if self.criterion != "squared-error":
            named = measures_of(self.criterion) if isinstance(self.criterion, str | Measure) else ()
            if len(named) != 1:
                raise ParameterError(f"criterion must be 'squared-error' or one measure, not {self.criterion!r}")
            criterion = HeldOutMeasure(named[0], convention)
        check_bool("floating", self.floating)
        for name, least in (("candidates", 1), ("random_state", 0)):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least, or_else="None")
        return SearchPlan(criterion, size, self._costs(queries), bool(self.floating), self.candidates)

    def _costs(self, queries: AnyQueries) -> Array:
        """Of each column: whether a feature is missing costs as much as its value."""
        given, n = self.feature_costs, self.n_features_in_
        if given is None:
            return np.ones(queries.n_features)
        if isinstance(given, Mapping):
            names = queries.feature_names[:n]
            missing = [name for name in names if name not in given]
            unknown = set(given) - set(names)
            if missing or unknown:
                what = f"has no cost for {missing[0]!r}" if missing else f"names {min(unknown)!r}, which is no feature"
                raise ParameterError(f"feature_costs {what}")
            given = [given[name] for name in names]
        costs = finite_numbers("feature_costs", given, n, "feature", above=0)
        return costs if self.preparation_ is None else self.preparation_.of_columns(costs)

    def _selector(self, data: CentredSums, plan: SearchPlan) -> Selector:
        check_choice("fitting", self.fitting, ("pre", "back"))
        check_choice("method", self.method, ("auto", *_SELECTORS))
        if self.fitting == "back" and self.method != "auto":
            raise ParameterError("method is about fitting='pre': leave it at 'auto' for fitting='back'")
        by_measure = isinstance(plan.criterion, HeldOutMeasure)
        if by_measure:
            data.engine.whole(
                f"criterion={self.criterion!r} needs the scores of all documents for every candidate: use "
                "criterion='squared-error'"
            )
        method = self._method(data, plan, by_measure)
        if method == "stream" and data.engine.memory is not None and self.fitting == "pre":
            return PairSelector(data, plan.n_features, costs=plan.costs)
        kind = BackFittingSelector if self.fitting == "back" else _SELECTORS[method]
        if by_measure and not issubclass(kind, KeepingSelector):
            raise ParameterError(
                "criterion: a measure needs what only method='gram' and 'stream' keep, with fitting='pre'"
            )
        return kind(data, plan.n_features, can_drop=plan.floating)

    def _method(self, data: CentredSums, plan: SearchPlan, by_measure: bool) -> str:
        """The fastest one that fits: by the sizes of X, of the Gram matrices, and of the state."""
        n, memory = data.n_features, data.engine.memory
        per_feature = 8 * data.n_queries * n
        if memory is not None and self.method == "gram" and per_feature * n > memory:
            raise ParameterError(
                f"method='gram' keeps {told_bytes(per_feature * n)} of Gram matrices, and the limit of memory is "
                f"{told_bytes(memory)}: use method='stream', which comes to the same features, or a higher limit"
            )
        if self.method != "auto":
            return self.method
        if memory is not None:
            return "stream" if 8 * n * n <= memory // _TOTAL_SHARE else "direct"
        if plan.n_candidates is not None and plan.n_candidates * plan.n_features < n and not by_measure:
            return "direct"
        data_bytes = data.feature_bytes
        if 2 * per_feature * plan.n_features > max(_STATE_BYTES, 2 * data_bytes) and not by_measure:
            return "direct"
        return "gram" if per_feature * n <= max(_GRAM_BYTES, data_bytes // 4) else "stream"
