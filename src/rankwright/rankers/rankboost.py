"""RankBoost (Freund, Iyer, Schapire & Singer 2003): a weighted sum of stumps, one more in each round."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.checks import check_whole
from rankwright.data.finite import check_features
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import in_memory
from rankwright.errors import DataError, ParameterError
from rankwright.losses.loss import counting_weights
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure
from rankwright.models.model import about
from rankwright.models.stump_model import StumpModel, StumpScorer
from rankwright.progress import Progress, Tell
from rankwright.rankers.base import Ranker
from rankwright.rankers.binned import binned
from rankwright.rankers.boosted_pairs import PairWeights, boosted_pairs
from rankwright.rankers.judged_rounds import JudgedRounds, rounds_frame
from rankwright.selection.search import Estimate, optional_measures
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.data.frames import Backend


# Agreements that differ by less than this part are equal, and those smaller than it are 0: rounding does not decide.
_SAME = 1e-12
# With all pairs right r is 1 and α infinite: no |r| counts for more than this.
_MOST_AGREEMENT = 1 - 2.0**-40


@dataclass(frozen=True, eq=False)
class BoostingPath:
    """Every round that was tried: its stump, the loss after it, and what measures say on the validation queries.

    Attributes
    ----------
    features, thresholds, weights : of the stump that each round added; features are columns, counted from 0
    agreements : r of each round, what the stump had to say on the pairs that weighed most
    losses : Σ w_ij e^{H_j − H_i}, before the first round and after each one
    valid : of each measure, an Estimate after each round
    """

    features: Columns
    thresholds: Array
    weights: Array
    agreements: Array
    losses: Array
    valid: dict[Measure, list[Estimate]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.weights)

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A row for each round: round, feature, threshold, weight, agreement, loss, ``valid nDCG @ 10``, its error."""
        columns = {
            "round": np.arange(1, len(self) + 1),
            "feature": self.features,
            "threshold": self.thresholds,
            "weight": self.weights,
            "agreement": self.agreements,
            "loss": self.losses[1:],
        }
        return rounds_frame(columns, self.valid, backend)


class RankBoost(StumpScorer, Ranker):
    r"""H = Σ_t α_t [x_{f_t} > θ_t], to make Σ over pairs y_i > y_j of w_ij e^{H_j − H_i} small (Freund et al. 2003).

        r = Σ_{y_i > y_j} D_ij (h(x_i) − h(x_j)),   α = ½ ln((1 + r) / (1 − r))

    Each round takes the stump h = [x_f > θ] with the largest \|r\| (their section 3.2, third method), and makes the
    pairs that are still wrong weigh more: D ∝ w_ij e^{H_j − H_i}. The loss falls at least by the factor √(1 − r²). No
    pair is ever stored: a round takes a pass over the features, one byte each, and time linear in the documents.
    Features need no scaling: only their order counts. Supervision may be grades, full rankings or preference graphs,
    whose edges are then the pairs.

    Parameters
    ----------
    n_rounds : int
        Rounds at most. With validation queries, the number with the best first measure is kept, the least of equals.
    n_thresholds : int, optional
        θ per feature at most. Up to 255, features take a byte of memory each. A feature with few values has a θ between
        any two of them; one with more has them where they part the documents evenly. None: between all values.
    weights : "unit" or "per-query"
        Of pairs, before the first round: 1, or one over the number of pairs in the query.
    patience : int, optional
        End after so many rounds in which the validation queries were ranked no better than before.
    measures : such as "ndcg@10, map"
        What to tell of every round in ``path_``; the first one decides.
    convention : name of a Convention

    Attributes
    ----------
    stump_features_ : f_t of each round that was kept, columns counted from 0
    stump_thresholds_, stump_weights_ : θ_t and α_t
    n_rounds_ : how many were kept
    loss_ : Σ w_ij e^{H_j − H_i} after them
    path_ : BoostingPath, every round that was tried
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=50, seed=0).queries
    >>> ranker = rw.RankBoost(n_rounds=100).fit(queries[:30], valid=queries[30:])
    >>> bool(0 < ranker.n_rounds_ <= len(ranker.path_) == 100)
    True
    """

    def __init__(
        self,
        n_rounds: int = 300,
        *,
        n_thresholds: int | None = 255,
        weights: PairWeights = "unit",
        patience: int | None = None,
        measures: Any = "ndcg@10",
        convention: Any = "default",
    ) -> None:
        self.n_rounds = n_rounds
        self.n_thresholds = n_thresholds
        self.weights = weights
        self.patience = patience
        self.measures = measures
        self.convention = convention

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: npt.ArrayLike | None = None,
        *,
        group: npt.ArrayLike | None = None,
        valid: Queries | None = None,
        sample_weight: npt.ArrayLike | None = None,
        progress: Tell | None = None,
    ) -> Self:
        """Learn the stumps. X may be `Queries`, which bring y and qid with them.

        ``group`` is how many rows each query has, instead of qid. ``sample_weight`` weighs queries: a number for each
        of them, in the order of their first rows, or one for each row. ``progress`` is called with `Progress` after
        each round.
        """
        self._check_parameters()
        measures, convention = optional_measures(self.measures), convention_of(self.convention)
        why = ("RankBoost", "RankSVM or another linear ranker")
        queries = in_memory(self._training_queries(in_memory(X, *why), y, qid, group), *why)
        valid_queries = None if valid is None else self._validation_queries(in_memory(valid, *why))
        held_out = None if valid_queries is None else in_memory(valid_queries, *why)
        if self.patience is not None and (held_out is None or not measures):
            raise ParameterError("patience needs validation queries (fit(…, valid=…)) and a measure")
        if queries.n_documents == 0 or queries.n_features == 0:
            raise DataError(f"there are no {'features' if queries.n_documents else 'documents'} to learn from")
        check_features(queries)
        judge = None if held_out is None or not measures else _Judge(held_out, measures, convention)
        self.path_ = self._boosted(queries, counting_weights(queries.judgments, sample_weight), judge, progress)
        self._keep(len(self.path_) if judge is None else judge.best)
        return self

    def _check_parameters(self) -> None:
        check_whole("n_rounds", self.n_rounds, 1)
        for name in ("n_thresholds", "patience"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1, or_else="None")

    def _boosted(self, queries: Queries, of_query: Array, judge: _Judge | None, progress: Tell | None) -> BoostingPath:
        """All rounds, until there are enough, nothing is left to gain, or validation has not gained for long."""
        pairs = boosted_pairs(queries, of_query, self.weights)
        features = binned(queries.X, pairs.rows, self.n_thresholds)
        scores = np.zeros(queries.n_documents)
        potentials, log_loss = pairs.potentials(scores)
        chosen: list[int] = []
        agreements: list[float] = []
        losses = [math.exp(log_loss)]
        while len(chosen) < self.n_rounds and not (judge and judge.has_waited(self.patience)):
            best, r = _first_largest(features.agreements(potentials))
            if abs(r) < _SAME:
                break
            weight = _weight(r)
            scores += np.where(features.above(best), weight, 0.0)
            potentials, log_loss = pairs.potentials(scores)
            chosen.append(best)
            agreements.append(r)
            losses.append(math.exp(log_loss))
            if judge is not None:
                judge.hear_stump(int(features.features[best]), float(features.thresholds[best]), weight)
            if progress is not None:
                progress(Progress("boosting", len(chosen), self.n_rounds))
            if abs(r) >= _MOST_AGREEMENT:  # all pairs are right, and would be by the same stump for ever
                break
        return BoostingPath(
            features.features[chosen],
            features.thresholds[chosen],
            np.array([_weight(r) for r in agreements]),
            np.array(agreements),
            np.array(losses),
            {} if judge is None else judge.told,
        )

    def _keep(self, n_rounds: int) -> None:
        path = self.path_
        self.stump_features_, self.stump_thresholds_ = path.features[:n_rounds], path.thresholds[:n_rounds]
        self.stump_weights_, self.n_rounds_ = path.weights[:n_rounds], n_rounds
        self.loss_ = float(path.losses[n_rounds])

    def model(self) -> StumpModel:
        """What it has learned, apart from how it was trained."""
        stumps = self.stumps()
        return StumpModel.of(*stumps, n_features=self.n_features_in_, **about(self)).with_memory_of(self)


def _first_largest(agreements: Array) -> tuple[int, float]:
    """The first of those with the largest |r|, and its r; r = 0 if there are none."""
    if len(agreements) == 0:
        return 0, 0.0
    sizes = np.abs(agreements)
    best = int(np.argmax(sizes >= (1 - _SAME) * sizes.max()))
    return best, float(agreements[best])


def _weight(r: float) -> float:
    """α = ½ ln((1 + r) / (1 − r))."""
    return math.atanh(min(max(r, -_MOST_AGREEMENT), _MOST_AGREEMENT))


class _Judge(JudgedRounds):
    """Scores validation queries round by round, as the ranker would."""

    def __init__(self, queries: Queries, measures: tuple[Measure, ...], convention: Convention) -> None:
        super().__init__(queries.judgments, measures, convention)
        self._columns = queries.X.tocsc() if sp.issparse(queries.X) else queries.X
        self._scores = np.zeros(queries.n_documents)

    def hear_stump(self, feature: int, threshold: float, weight: float) -> None:
        """One more stump."""
        column = self._columns[:, [feature]]
        values = column.toarray()[:, 0] if sp.issparse(column) else column[:, 0]
        self._scores += np.where(values > np.float64(threshold), weight, 0.0)
        self.hear(self._scores)
