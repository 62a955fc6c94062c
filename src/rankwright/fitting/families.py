"""The linear rankers that `fit` tries. Each trains a path of settings on some queries, so that others can judge it."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from rankwright.data.streams.streamed import AnyQueries
from rankwright.fitting.data import FitData, Sides, of_columns
from rankwright.fitting.family import LINEAR, AnySetting, End, Family, Setting
from rankwright.fitting.learned import Weights
from rankwright.fitting.work import Arrays
from rankwright.measures.measure import Measure
from rankwright.preparation.spread import varies_within_queries
from rankwright.progress import Tell
from rankwright.rankers.greedy_rankrls import GreedyRankRLS
from rankwright.rankers.order_preserving import OrderPreservingRanker
from rankwright.rankers.rankrls import RankRLS
from rankwright.rankers.ranksvm import RankSVM
from rankwright.rankers.regression import RegressionRanker
from rankwright.rankers.structured import StructuredRanker
from rankwright.selection.search import Search, search
from rankwright.types import Array

_MOST_FEATURES = 30  # that greedy selection goes to
_ALPHAS: Array = 2.0 ** np.arange(-6.0, 15.0)
_FEW_ALPHAS: Array = 2.0 ** np.arange(0.0, 11.0, 2.5)
_TOL = 1e-3  # of the objective


@dataclass(frozen=True)
class LinearFamily(Family):
    """A linear ranker with a path of λ: all settings are weights of the same columns, which are trained together."""

    ranker: ClassVar[type[Any]]
    complexity = LINEAR
    is_pairwise: ClassVar[bool] = True  # what all documents of a query share plays no part
    n_wider: ClassVar[int]  # so many more λ are tried at a time where the best one is at an end of its grid

    @abstractmethod
    def settings(self, queries: AnyQueries) -> list[Setting]:
        """What to try, from all training queries: the same for every part of them."""

    @abstractmethod
    def weights(self, queries: AnyQueries, settings: Sequence[Setting], progress: Tell | None = None) -> Array:
        """The weights (settings × features) that these queries give."""

    def beyond(self, settings: Sequence[Setting], end: End) -> list[Setting]:
        """More of the same settings, with λ beyond an end of their grid, in steps as in the grid."""
        exponents = np.log2(sorted({setting.alpha for setting in settings}))
        steps = (exponents[1] - exponents[0]) * np.arange(1, self.n_wider + 1)
        wider = exponents[-1] + steps if end == "largest" else (exponents[0] - steps)[::-1]
        sizes = dict.fromkeys(setting.n_features for setting in settings)
        return [Setting(float(alpha), size) for alpha in np.exp2(wider) for size in sizes]

    # As the steps of a fit ask for it

    @property
    def ranker_name(self) -> str:
        """That of the linear ranker."""
        return self.ranker.__name__

    def side_of(self, data: FitData) -> Sides:
        """Columns that were prepared from the features."""
        return data

    def learn(
        self, data: FitData, queries: AnyQueries, settings: Sequence[AnySetting], progress: Tell | None = None
    ) -> Weights:
        """The weights of all settings."""
        weights = self.weights(queries, cast("Sequence[Setting]", settings), progress)
        return Weights(data.by, data.by.of_ranking(weights) if self.is_pairwise else weights)

    def restored(self, data: FitData, arrays: Arrays) -> Weights:
        """What was learned, from its arrays."""
        return Weights(data.by, arrays["weights"])


@dataclass(frozen=True)
class _LambdaPath(LinearFamily):
    """A ranker whose only setting is λ."""

    def settings(self, queries: AnyQueries) -> list[Setting]:
        """A grid of λ."""
        return [Setting(float(alpha)) for alpha in self._grid(queries)]

    def weights(self, queries: AnyQueries, settings: Sequence[Setting], progress: Tell | None = None) -> Array:
        """The whole path at once."""
        alphas = [setting.alpha for setting in settings]
        with _quiet():
            weights: Array = self._for(queries, search(*alphas)).path(queries, alphas, **self._watched(progress))
        return weights

    def _watched(self, progress: Tell | None) -> dict[str, Any]:
        """What to give to the ranker so that it tells of its steps; nothing for one that has none."""
        return {}

    @abstractmethod
    def _grid(self, queries: AnyQueries) -> Array:
        """Values of λ, ascending."""

    def _for(self, queries: AnyQueries, alpha: Search) -> Any:
        """The ranker with these values of λ, to be trained on these queries."""
        return self.ranker(alpha=alpha, measures=self.measure, convention=self.convention)


class _ClosedForm(_LambdaPath):
    n_wider = 4

    def _grid(self, queries: AnyQueries) -> Array:
        return _ALPHAS


class Regression(_ClosedForm):
    """Ridge regression on the grades."""

    name, title, ranker = "regression", "regression", RegressionRanker
    is_pairwise = False


class PairwiseLeastSquares(_ClosedForm):
    """RankRLS."""

    name, title, ranker = "rankrls", "RankRLS", RankRLS


@dataclass(frozen=True)
class Greedy(LinearFamily):
    """RankRLS on few features."""

    costs: tuple[float, ...] | None = None

    name, title, ranker = "greedy-rankrls", "greedy RankRLS", GreedyRankRLS
    n_wider = 1

    def settings(self, queries: AnyQueries) -> list[Setting]:
        """Five λ, each with up to 30 features."""
        most = max(1, min(_MOST_FEATURES, int(varies_within_queries(queries).sum())))
        return [Setting(float(alpha), k) for alpha in _FEW_ALPHAS for k in range(1, most + 1)]

    def weights(self, queries: AnyQueries, settings: Sequence[Setting], progress: Tell | None = None) -> Array:
        """One selection for each λ has the weights of all numbers of features.

        A feature that is constant within queries can have no weight. It is no candidate: it would count as one of k
        features where all others do harm. If fewer than k features vary within these queries, all of them are taken.
        """
        found = np.zeros((len(settings), queries.n_features))
        columns = np.flatnonzero(varies_within_queries(queries))
        most = min(max(setting.n_features or 1 for setting in settings), len(columns))
        if most == 0:
            return found
        alphas = search(*sorted({setting.alpha for setting in settings}))
        costs = None if self.costs is None else np.array(self.costs)[columns]
        ranker = GreedyRankRLS(alphas, most, measures=(), feature_costs=costs)
        ranker.fit(of_columns(queries, columns), progress=progress)
        taken = {(path.alpha, len(step.selected)): step for path in ranker.paths_ for step in path}
        for row, setting in zip(found, settings, strict=True):
            step = taken[setting.alpha, min(setting.n_features or 1, most)]
            row[columns[list(step.selected)]] = step.weights
        return found


class _Iterative(_LambdaPath):
    """One that finds its own scale of λ."""

    n_wider = 2

    def _grid(self, queries: AnyQueries) -> Array:
        return self._for(queries, search()).alpha_grid(queries)[::2]  # type: ignore[no-any-return]

    def _watched(self, progress: Tell | None) -> dict[str, Any]:
        return {"progress": progress}


class PairwiseHinge(_Iterative):
    """RankSVM, each query with the same weight."""

    name, title, ranker = "ranksvm", "RankSVM", RankSVM

    def _for(self, queries: AnyQueries, alpha: Search) -> Any:
        return RankSVM(alpha, weights="per-query", measures=self.measure, convention=self.convention, tol=_TOL)


class OrderPreserving(_Iterative):
    """The loss that is consistent with NDCG at the cutoff of the measure."""

    name, title, ranker = "order-preserving", "order-preserving", OrderPreservingRanker

    def _for(self, queries: AnyQueries, alpha: Search) -> Any:
        return OrderPreservingRanker(alpha, measures=self.measure, convention=self.convention, tol=_TOL)


class Structured(_Iterative):
    """The measure itself, by a convex bound of its loss; NDCG@10 where there is none for the measure.

    w stays near that of RankRLS the more, the larger λ is. On noisy grades the bound alone may be least at 0.
    """

    name, title, ranker = "structured", "structured", StructuredRanker

    def _for(self, queries: AnyQueries, alpha: Search) -> Any:
        told: dict[str, Any] = {"measures": self.measure, "convention": self.convention}
        near = RankRLS(search(*_ALPHAS), **told).fit(queries).coef_
        near = near.astype(np.float32).astype(np.float64)  # its last digits depend on how the data are cut into parts
        return StructuredRanker(bounded_measure(self.measure), alpha, center=near, tol=_TOL, **told)


def bounded_measure(measure: Measure) -> Measure | str:
    """The measure that structured rankers are trained for: itself if it has a bound, else NDCG@10."""
    is_bounded = measure.name == "nDCG" or (measure.name == "AP" and measure.cutoff is None)
    return measure if is_bounded else "ndcg@10"


FAMILIES: tuple[type[LinearFamily], ...] = (
    Regression,
    PairwiseLeastSquares,
    Greedy,
    PairwiseHinge,
    OrderPreserving,
    Structured,
)


@contextmanager
def _quiet() -> Iterator[None]:
    """Solvers may stop early for some λ, and say so: held-out queries judge the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
