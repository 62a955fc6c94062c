"""Sums of stumps as scores, and `StumpModel`: the stumps that a ranker has learned, without what it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from rankwright.engines.driver import share_by_size
from rankwright.judgments.grouping import Grouping
from rankwright.models import stump_kernels as kernels
from rankwright.models.learned import Stumps, checked_stumps
from rankwright.models.model import Model
from rankwright.models.scorer import Scorer
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.models.model_reader import ModelReader

# Rows that a thread scores at least.
_ROWS_PER_BLOCK = 1024


class StumpScorer(Scorer):
    """Scores are Σ_t weight_t [x_{feature_t} > threshold_t]."""

    stump_features_: Columns
    stump_thresholds_: Array
    stump_weights_: Array

    def stumps(self) -> Stumps:
        """Features, thresholds and weights; an error tells if they were set to what no score can be computed from."""
        return checked_stumps(self)

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """Scores of rows whose number of features has been checked."""
        return stump_scores(x, *self.stumps())


class StumpModel(Model, StumpScorer):
    """A trained `RankBoost` as `load_model` reads it: scores are Σ_t weight_t [x_{feature_t} > threshold_t].

    It predicts, ranks and is measured as the ranker that was saved; it cannot be trained.

    Parameters
    ----------
    measures : such as "ndcg@10, map"
        The first one is what ``score`` tells.
    convention : name of a Convention

    Attributes
    ----------
    stump_features_ : columns, counted from 0
    stump_thresholds_, stump_weights_
    n_features_in_, feature_names_in_
        ``feature_names_in_`` is there only if the training data named their features.
    ranker_ : the name of the class that was trained, "RankBoost"
    parameters_ : its parameters; those that JSON cannot hold as text
    training_ : what was noted when the model was saved, such as the data and the measures

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    >>> rw.save_model(rw.RankBoost(n_rounds=9).fit(queries), "model.json")
    >>> rw.load_model("model.json")
    StumpModel(RankBoost, 20 features, 9 stumps)
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, ...]]] = {1: ("stumps",)}
    why_no_scaler: ClassVar[str] = (
        "compares features with thresholds, whatever their scale, so train it on the features as they are"
    )

    _n_features_uncut: int  # of a model that was cut: its stumps may still ask for all of them

    @classmethod
    def of(cls, features: Columns, thresholds: Array, weights: Array, *, n_features: int, **told: Any) -> Self:
        """The model with these stumps; the rest is ``told`` as `Model.new` takes it."""
        model = cls.new(n_features, **told)
        model.stump_features_ = features
        model.stump_thresholds_, model.stump_weights_ = thresholds, weights
        return model

    def cut_to(self, n_features: int) -> StumpModel:
        """The model for data whose features after the first n are all 0, and not there."""
        model = StumpModel.of(*self.stumps(), n_features=n_features, **self.about(n_features))
        model._n_features_uncut = getattr(self, "_n_features_uncut", self.n_features_in_)
        return model.with_memory_of(self)

    def stumps(self) -> Stumps:
        """Features, thresholds and weights, also those of features that the model was cut by."""
        return checked_stumps(self, getattr(self, "_n_features_uncut", None))

    def used_features(self) -> Columns:
        """The features that stumps compare."""
        return np.unique(self.stumps().features)

    def fields(self) -> dict[str, Any]:
        """Features from 1, thresholds and weights, in the order of the rounds."""
        features, thresholds, weights = checked_stumps(self)
        return {"stumps": list(zip((features + 1).tolist(), thresholds.tolist(), weights.tolist(), strict=True))}

    @classmethod
    def read(cls, file: ModelReader, **told: Any) -> Self:
        """The model whose fields a file has."""
        entries = file.entries("stumps", ("threshold", "weight"), repeats=True)
        stumps = [(feature - 1, threshold, weight) for _, feature, (threshold, weight) in entries]
        features, thresholds, weights = np.array(stumps, dtype=np.float64).reshape(-1, 3).T
        learned = features.astype(np.intp), thresholds.copy(), weights.copy()
        return cls.of(*learned, n_features=file.n_features, **told)

    def __repr__(self) -> str:
        if not hasattr(self, "stump_weights_"):
            return "StumpModel(not read from a file yet)"
        stumps = len(self.stump_weights_)
        return self._described(f"{stumps:,} stump{'s' * (stumps != 1)}")


def stump_scores(x: Any, features: Columns, thresholds: Array, weights: Array) -> Array:
    """Σ_t weight_t [x_{feature_t} > threshold_t] in float64; features that X lacks are 0, others are not looked at."""
    n_rows, n_columns = x.shape
    used, columns = np.unique(features, return_inverse=True)
    scores, blocks = np.empty(n_rows), np.append(np.arange(0, n_rows, _ROWS_PER_BLOCK), n_rows)
    stumps = (columns, thresholds, weights)
    if sp.issparse(x):
        place = np.full(n_columns, -1)
        place[used[used < n_columns]] = np.flatnonzero(used < n_columns)

    def work(first: int, last: int) -> None:
        rows = (int(blocks[first]), int(blocks[last]))
        if sp.issparse(x):
            kernels.sparse_stump_scores((x.data, x.indices, x.indptr), place, len(used), *stumps, *rows, scores)
        else:
            kernels.dense_stump_scores(x, used, *stumps, *rows, scores)

    share_by_size(work, blocks)
    return scores
