"""`BasisRanker`: greedy RankRLS among hinges, products and logarithms of features; the result is a short formula."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rankwright.data.fingerprints import Fingerprints, query_fingerprints
from rankwright.data.finite import check_features
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.errors import DataError
from rankwright.maps.basis import Basis
from rankwright.maps.basis_fitting import check_known
from rankwright.maps.basis_map import basis_of, check_basis
from rankwright.maps.basis_selector import BasisScores, BasisSelector, BasisSums
from rankwright.maps.terms import Terms
from rankwright.measures.conventions import convention_of
from rankwright.models.learned import Unfitted
from rankwright.models.model import about
from rankwright.models.terms_model import TermsModel, TermsScorer
from rankwright.progress import Tell
from rankwright.rankers.base import Ranker
from rankwright.selection.forward import SearchPlan, SquaredError
from rankwright.selection.greedy_paths import checked_sizes, greedy_paths
from rankwright.selection.path import SelectionPath, Step, all_steps, choose, pareto_front
from rankwright.selection.recorder import Recorder
from rankwright.selection.search import Rule, Search, checked_alphas, checked_rule, optional_measures
from rankwright.types import Array

# Columns have the same spread, and few of them are selected: λ matters little.
ALPHAS: Array = 2.0 ** np.arange(0.0, 13.0, 4.0)
_MOST_TERMS = 30  # that search() tries


class BasisRanker(TermsScorer, Ranker):
    """A short formula of few terms: features, hinges, logarithms and products of two features, selected greedily.

    Each step adds the term with the least squared leave-query-out error, among tens of thousands of candidates, none of
    which is stored: the result is that of `GreedyRankRLS` on all of them as columns, each divided by its spread within
    queries. What has been learned can be read, explained and exported as arithmetic.

    Parameters
    ----------
    alpha : float or search()
        λ. `search()` chooses it from 1, 16, 256 and 4096.
    n_terms : int or search()
        How many terms to select. `search()` chooses their number from 1 … 30, `search(5, 10)` from these.
    hinges : int
        How many knots t a feature has for hinges max(0, x − t) and max(0, t − x), at quantiles of its values. 0: none.
    products : bool
        Whether products of two features, and squares, are candidates. Features are taken less their mean.
    logarithms : bool
        Whether sign(x) · log(1 + |x| / unit) are candidates.
    measures : such as "ndcg@10, map"
        What to tell of every step in ``path_``, by leave-query-out and on the validation queries given to ``fit``.
        The first one decides what is searched for: on validation queries if there are any, else by leave-query-out.
        With () it is the squared error that decides.
    convention : name of a Convention
    rule : "best" or "one-standard-error"
        Take the best model, or the shortest formula that is as good: whose mean difference from the best, query by
        query, is within one standard error of that difference.

    Attributes
    ----------
    terms_ : Terms, the formula; ``formula_text()`` writes it with the names of features
    alpha_ : the λ used
    path_ : SelectionPath, every step for that λ; its features are the candidates
    paths_ : the paths of all λ
    pareto_front_ : the models that none beats in both number of terms and the deciding measure
    n_candidates_ : among how many terms it selected
    passes_ : how often X was read
    n_features_in_, feature_names_in_

    Missing values (NaN) of the training data are filled in by the mean of the feature, and whether a feature is missing
    is a candidate of its own.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.Queries(
    ...     [[1.0, 2.0], [2.0, 5.0], [4.0, 1.0], [1.0, 1.0], [3.0, 3.0], [5.0, 0.0]],
    ...     y=[2, 10, 4, 1, 9, 0],
    ...     qid=[1, 1, 1, 2, 2, 2],
    ...     feature_names=["bm25", "clicks"],
    ... )
    >>> ranker = rw.BasisRanker(n_terms=1, hinges=0, measures=()).fit(queries)
    >>> ranker.n_candidates_
    7
    """

    _takes_powers = True

    terms_: Terms

    def __init__(
        self,
        alpha: float | Search = 1.0,
        n_terms: int | Search = 10,
        *,
        hinges: int = 8,
        products: bool = True,
        logarithms: bool = True,
        measures: Any = "ndcg@10",
        convention: Any = "default",
        rule: Rule = "best",
    ) -> None:
        self.alpha = alpha
        self.n_terms = n_terms
        self.hinges = hinges
        self.products = products
        self.logarithms = logarithms
        self.measures = measures
        self.convention = convention
        self.rule = rule

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
        """Select terms and learn their weights.

        X may be `Queries`, which bring y and qid with them. ``group`` is how many rows each query has, instead of qid.
        ``progress`` is called with `Progress` after each step.
        """
        alphas, rule = checked_alphas(self.alpha, ALPHAS), checked_rule(self.rule)
        measures, convention = optional_measures(self.measures), convention_of(self.convention)
        check_basis(self.hinges, self.products, self.logarithms)
        queries = self._training_queries(X, y, qid, group)
        if queries.n_queries < 2:
            raise DataError(
                "greedy selection leaves queries out, so it needs at least two of them: give qid or group "
                f"(n_queries={queries.n_queries}, n_samples={queries.n_documents})"
            )
        held_out = self._validation_queries(valid)
        basis = basis_of(queries, self.hinges, self.products, self.logarithms)
        sizes = self._sizes(basis.n_columns)
        data = BasisSums(engine_of(queries), basis)
        plan = SearchPlan(SquaredError(), max(sizes), np.ones(basis.n_columns))
        kept = frozenset[int]() if rule == "best" else sizes
        noting = Recorder(
            data.engine, held_out, measures, convention, tell_all=True, kept_sizes=kept, scores=BasisScores(basis)
        )
        names = basis.names(queries.feature_names)
        with closing(noting) as recorder:
            selector = BasisSelector(data, plan.n_features)
            paths = greedy_paths(selector, plan, alphas, recorder, names, progress=progress, what="term")
            candidates, deciding = all_steps(paths, sizes), measures[0] if measures else None
            chosen = candidates[choose(candidates, deciding, rule, recorder.values_of)]
        self.pareto_front_ = pareto_front(all_steps(paths, frozenset(range(1, plan.n_features + 1))), deciding)
        self.paths_ = tuple(paths)
        self._keep(basis, *chosen)
        self.passes_ = data.passes
        return self

    def _note_preparation(self, queries: AnyQueries, *, has_missing: bool) -> None:
        self._has_missing = has_missing

    def _checked_fingerprints(self, valid: Queries) -> Fingerprints:
        """A missing value is filled in if there were any in training; else it is refused, as infinity is."""
        check = check_known if self._has_missing else check_features
        check(valid, "valid: ")
        return query_fingerprints(valid)

    def _keep(self, basis: Basis, path: SelectionPath, step: Step) -> None:
        self.path_, self.alpha_, self.n_candidates_ = path, path.alpha, basis.n_columns
        # What all documents share ranks nothing.
        self.terms_ = replace(basis.take(step.selected).terms(step.weights), intercept=0.0)

    def _sizes(self, n_candidates: int) -> frozenset[int]:
        """The allowed numbers of terms; where there are fewer candidates than terms asked for, all of them."""
        most = range(1, min(_MOST_TERMS, n_candidates) + 1)
        asked = checked_sizes("n_terms", self.n_terms, 1 << 31, "candidate", most)
        return frozenset(min(size, n_candidates) for size in asked)

    def terms(self) -> Terms:
        """The formula."""
        if not hasattr(self, "terms_"):
            raise Unfitted("ranker: this BasisRanker is not fitted yet: call fit first")
        return self.terms_

    def model(self) -> TermsModel:
        """What it has learned, apart from how it was trained."""
        return TermsModel.of(self.terms(), n_features=self.n_features_in_, **about(self)).with_memory_of(self)
