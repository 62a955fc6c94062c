"""`MappedRanker`: a linear ranker behind a map of features, which makes its columns while documents are read."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from rankwright.checks import check_whole
from rankwright.data.fingerprints import Fingerprints, query_fingerprints
from rankwright.data.finite import check_features
from rankwright.data.queries import Queries
from rankwright.data.streams.resident import mapped_queries
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries
from rankwright.errors import ParameterError
from rankwright.judgments.grouping import Grouping
from rankwright.losses.loss import counting_weights
from rankwright.maps.basis import Basis
from rankwright.maps.basis_fitting import check_known
from rankwright.maps.feature_map import ColumnMap, FeatureMap
from rankwright.maps.kernel_map import KernelMap
from rankwright.measures.conventions import convention_of
from rankwright.measures.measure import Measure
from rankwright.models.learned import checked_weights
from rankwright.models.mapped_model import MappedModel, MappedScorer, mapped_scores
from rankwright.models.model import about
from rankwright.models.terms_model import TermsModel
from rankwright.progress import Progress, Tell
from rankwright.rankers.alpha_path import ALPHAS, choose_alpha
from rankwright.rankers.base import LinearRanker, Ranker
from rankwright.rankers.first_look import FirstLook
from rankwright.rankers.rankrls import RankRLS, folds_worth
from rankwright.rankers.structured import StructuredRanker
from rankwright.selection.judging import Judge
from rankwright.selection.search import Estimate, Search, checked_alphas, choose_by, search
from rankwright.types import Array

_FOLDS = 5  # by which the map is chosen where there are no validation queries


class Choice(NamedTuple):
    """A setting of the map that was tried, with the best λ for it and what the deciding measure says of both."""

    setting: Mapping[str, Any]
    alpha: float
    estimate: Estimate


class MappedRanker(MappedScorer, Ranker):
    r"""A linear ranker on columns that a map makes of the features: not linear in the features (paper L, section 6).

        f(x) = wᵀφ(x) + c

    The columns φ(x) are made part by part while documents are read, used and dropped, also where all documents are in
    memory. So they take little memory however many there are, and data larger than memory are read from files, or stay
    on a cluster, as for a linear ranker.

    Parameters
    ----------
    map : KernelMap or BasisMap, optional
        What makes the columns; ``KernelMap()`` by default. What is `search()` in it is chosen here, with the λ that is
        best for it, by the first measure of the ranker: on the validation queries given to ``fit``, else by
        cross-validation over five folds, whose sums come from one reading of the data. RankRLS is what is trained for
        that choice, whatever the ranker, on ``choose_on`` documents.
    ranker : a linear ranker, optional
        What is trained on the columns: RankRLS, RankSVM, OrderPreservingRanker, StructuredRanker, RegressionRanker or
        GreedyRankRLS. By default ``RankRLS(search())``. Where leave-query-out would take RankRLS far longer than
        training, its λ is chosen by five folds. StructuredRanker stays near the weights of RankRLS, unless it is given
        a ``center``: on noisy grades its bound alone may be least at 0.
    choose_on : int
        About how many documents the map is chosen on at most, of queries that are evenly spaced. A λ that is given
        counts there in proportion to their share of all documents.

    Attributes
    ----------
    map_ : the map as it was fitted
    ranker_ : the linear ranker as it was trained on the columns
    choices_ : list of Choice, what was tried for the map; empty if nothing in it was to be chosen
    setting_ : what was chosen, such as {"gamma": 0.01, "scaling": "standard"}
    alpha_ : the λ of ``ranker_``
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=50, seed=0).queries
    >>> ranker = rw.MappedRanker(rw.KernelMap(n_components=200), rw.RankRLS(rw.search())).fit(queries)
    >>> ranker.score(queries) > 0.7
    True
    """

    _takes_powers = True

    def __init__(
        self, map: FeatureMap | None = None, ranker: LinearRanker | None = None, *, choose_on: int = 50_000
    ) -> None:
        self.map = map
        self.ranker = ranker
        self.choose_on = choose_on

    # What it is judged by is that of the linear ranker.

    @property
    def measures(self) -> Any:
        """Those of the linear ranker."""
        return self._ranker().measures

    @property
    def convention(self) -> Any:
        """That of the linear ranker."""
        return self._ranker().convention

    def _told_measures(self) -> tuple[Measure, ...]:
        return self._ranker()._told_measures()

    def _ranker(self) -> LinearRanker:
        ranker = RankRLS(search()) if self.ranker is None else self.ranker
        if not isinstance(ranker, LinearRanker):
            raise ParameterError(f"ranker must be a linear one, such as RankRLS(search()), not {self.ranker!r}")
        return ranker

    def _map(self) -> FeatureMap:
        by = KernelMap() if self.map is None else self.map
        if not isinstance(by, FeatureMap):
            raise ParameterError(f"map must be a map of features, such as KernelMap(), not {self.map!r}")
        return by

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: npt.ArrayLike | None = None,
        *,
        group: npt.ArrayLike | None = None,
        valid: AnyQueries | None = None,
        sample_weight: npt.ArrayLike | None = None,
        progress: Tell | None = None,
    ) -> Self:
        """Choose and fit the map, and train the linear ranker on its columns. X may be `Queries`, in memory or not.

        ``group`` is how many rows each query has, instead of qid. What is searched for, in the map and in the ranker,
        is chosen on ``valid`` if given. ``sample_weight`` weighs queries, and ``progress`` is called, as by the ranker.
        """
        by, ranker = self._map(), self._ranker()
        check_whole("choose_on", self.choose_on, 1)
        queries, held_out = self._training_queries(X, y, qid, group), self._validation_queries(valid)
        chosen = self._chosen_map(by, queries, held_out, progress)
        self.map_, self.setting_ = chosen.column_map(queries), chosen.told()
        extra = self._extra(ranker, queries, sample_weight, progress)
        columns = self._mapped(queries, self.map_)
        on_valid = None if held_out is None else self._mapped(held_out, self.map_)
        self.ranker_ = self._to_train(ranker, columns, on_valid).fit(columns, valid=on_valid, **extra)
        self.alpha_ = self.ranker_.alpha_
        return self

    def _extra(
        self, ranker: LinearRanker, queries: AnyQueries, sample_weight: Any, progress: Tell | None
    ) -> dict[str, Any]:
        """What else the linear ranker is given: it may have no steps to tell of, or no weights of queries."""
        takes = signature(ranker.fit).parameters
        extra: dict[str, Any] = {}
        if progress is not None and "progress" in takes:
            extra["progress"] = progress
        if sample_weight is not None:
            if "sample_weight" not in takes:
                raise ParameterError(f"sample_weight: {type(ranker).__name__} does not weigh queries: leave it out")
            # A weight for each query: rows stand in another order where columns are made.
            extra["sample_weight"] = counting_weights(queries.judgments, sample_weight)
        return extra

    def _checked_fingerprints(self, valid: Queries) -> Fingerprints:
        """A missing value is filled in if there were any in training; else it is refused, as infinity is."""
        check = check_known if self._has_missing else check_features
        check(valid, "valid: ")
        return query_fingerprints(valid)

    def _note_preparation(self, queries: AnyQueries, *, has_missing: bool) -> None:
        self._has_missing = has_missing

    # The map

    def _chosen_map(
        self, by: FeatureMap, queries: AnyQueries, valid: AnyQueries | None, progress: Tell | None
    ) -> FeatureMap:
        settings = by.settings(queries)
        self.choices_: list[Choice] = []
        if len(settings) == 1:
            return settings[0]
        measures = self._told_measures()[:1]
        if not measures:
            raise ParameterError("measures: name the one that the map is to be chosen by")
        judge = Judge(measures, convention_of(self.convention))
        train, judged = self._some(queries), None if valid is None else self._some(valid)
        alphas, best = self._alphas(), list[Array]()
        # Sums over fewer documents are smaller, so a λ that is given would weigh more beside them.
        weighed = alphas * (train.n_documents / queries.n_documents) if len(alphas) == 1 else alphas
        for done, setting in enumerate(settings, start=1):
            values = self._values(setting.column_map(queries), train, judged, weighed, judge)
            estimates = judge.estimates(values)
            at = choose_alpha(alphas, values, estimates, "best")
            self.choices_.append(Choice(setting.told(), float(alphas[at]), estimates[measures[0]][at]))
            best.append(values[:, at, 0])
            if progress is not None:
                progress(Progress("choosing the map", done, len(settings)))
        of_settings = [choice.estimate for choice in self.choices_]
        return settings[choose_by("best", of_settings, best.__getitem__, range(len(best)), measures[0].lower_is_better)]

    def _some(self, queries: AnyQueries) -> AnyQueries:
        """Evenly spaced queries that have about as many documents as the map is chosen on."""
        step = -(-queries.n_documents // self.choose_on)
        return queries[::step] if 1 < step < queries.n_queries else queries

    def _alphas(self) -> Array:
        """The λ that RankRLS is tried with for a choice."""
        ranker = self._ranker()
        return checked_alphas(ranker.alpha if isinstance(ranker, RankRLS) else search(), ALPHAS)

    def _values(self, by: ColumnMap, train: AnyQueries, valid: AnyQueries | None, alphas: Array, judge: Judge) -> Array:
        """What the measure says of RankRLS on these columns for every λ, queries × λ × 1."""
        solution = RankRLS()._closed_form(self._mapped(train, by))
        if valid is None:
            return solution.folded_values(alphas, judge, _FOLDS)
        return judge.values(self._mapped(valid, by), solution.weights(alphas))

    def _mapped(self, queries: AnyQueries, by: ColumnMap) -> StreamedQueries:
        return mapped_queries(queries, by.mapped)

    # The ranker

    def _to_train(self, ranker: LinearRanker, columns: AnyQueries, valid: AnyQueries | None) -> Any:
        """A clone of the linear ranker, with what is known of the columns."""
        trained: Any = _informed(clone(ranker))
        is_searched = isinstance(trained.alpha, Search) and valid is None
        if isinstance(trained, RankRLS) and is_searched and trained.folds is None:
            trained.set_params(folds=folds_worth(columns))
        if isinstance(trained, StructuredRanker) and trained.center is None and trained.bound == "convex":
            near: Any = "rankrls"  # of the same queries: no fold must know the grades of the others
            if not is_searched:
                told = {"measures": trained._told_measures()[:1], "convention": trained.convention}
                by = _informed(RankRLS(search(), folds=folds_worth(columns), **told)).fit(columns, valid=valid)
                near = by.coef_.astype(np.float32).astype(np.float64)  # the last digits depend on how data are cut
            trained.set_params(center=near)
        return trained

    # What it has learned

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """Those of its model."""
        weights, intercept = checked_weights(self.ranker_)
        if isinstance(self.map_, Basis):
            return self.map_.terms(weights, intercept).scores(x)
        by, own = self.map_.folded(weights)  # type: ignore[attr-defined]
        return mapped_scores(x, grouping, by, own, intercept)

    def model(self) -> MappedModel | TermsModel:
        """What it has learned, apart from how it was trained."""
        weights, intercept = checked_weights(self.ranker_)
        told = about(self)
        told["parameters"] |= about(self.ranker_)["parameters"] | {"ranker": type(self.ranker_).__name__}
        by: Any = self.map_
        if isinstance(by, Basis):
            return TermsModel.of(by.terms(weights, intercept), n_features=by.n_features, **told).with_memory_of(self)
        return MappedModel.of(by, weights, intercept, **told).with_memory_of(self)


def _informed(ranker: Any) -> Any:
    """A ranker that does not look for what columns of a map never have: missing values, and numbers beyond measure."""
    ranker._known_look = FirstLook(np.zeros(0, np.uint64), None, has_missing=False)
    return ranker
