"""`LinearModel`: the weights that a ranker has learned, without what it took to learn them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.rankers.base import LinearRanker
from rankwright.rankers.saved_model import SavedModel

Array = npt.NDArray[np.float64]


class LinearModel(SavedModel, LinearRanker):
    """A trained linear ranker as `load_model` reads it from a file: scores are x · coef_ + intercept_.

    It predicts, ranks and is measured as the ranker that was saved; it cannot be trained.

    Parameters
    ----------
    measures : such as "ndcg@10, map"
        The first one is what ``score`` tells.
    convention : name of a Convention

    Attributes
    ----------
    coef_ : the weights of the features
    intercept_ : what is added to every score; 0 for all rankers but `RegressionRanker`
    n_features_in_, feature_names_in_
        ``feature_names_in_`` is there only if the training data named their features.
    ranker_ : the name of the class that was trained, such as "RankSVM"
    parameters_ : its parameters; those that JSON cannot hold as text
    training_ : what was noted when the model was saved, such as the data and the measures

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    >>> rw.save_model(rw.RankRLS().fit(queries), "model.json")
    >>> rw.load_model("model.json")
    LinearModel(RankRLS, 20 features, 20 with a weight)
    """

    intercept_: float

    @classmethod
    def of(
        cls,
        weights: Array,
        *,
        intercept: float,
        feature_names: Sequence[str] | None,
        ranker: str,
        parameters: Mapping[str, Any],
        training: Mapping[str, Any],
    ) -> LinearModel:
        """The model with these weights."""
        model = cls._of_file(len(weights), feature_names, ranker, parameters, training)
        model.coef_ = weights
        model.intercept_ = intercept
        return model

    def cut_to(self, n_features: int) -> LinearModel:
        """The model for data whose features after the first n are all 0, and not there."""
        return LinearModel.of(
            self.coef_[:n_features],
            intercept=self.intercept_,
            feature_names=None,
            ranker=self.ranker_,
            parameters=self.parameters_,
            training=self.training_,
        )

    def _scores(self, x: Any) -> Array:
        return super()._scores(x) + self.intercept_

    def __repr__(self) -> str:
        if not hasattr(self, "coef_"):
            return "LinearModel(not read from a file yet)"
        features = f"{self.n_features_in_:,} feature{'s' * (self.n_features_in_ != 1)}"
        return f"LinearModel({self.ranker_}, {features}, {np.count_nonzero(self.coef_):,} with a weight)"
