"""`LinearModel`: the weights that a ranker has learned, without what it took to learn them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import Filling
from rankwright.preparation.transforms import Transforms
from rankwright.rankers.base import LinearRanker
from rankwright.rankers.learned import checked_weights
from rankwright.rankers.saved_model import SavedModel
from rankwright.rankers.standardisation import Standardisation, folded, standardisation_of
from rankwright.types import Array


class LinearModel(SavedModel, LinearRanker):
    """A trained linear ranker as `load_model` reads it from a file: scores are x · coef_ + intercept_.

    It predicts, ranks and is measured as the ranker that was saved; it cannot be trained. Whatever was done to
    features before they were trained on is part of it: ``formula()`` tells what it computes from features as they are.

    Parameters
    ----------
    measures : such as "ndcg@10, map"
        The first one is what ``score`` tells.
    convention : name of a Convention

    Attributes
    ----------
    coef_ : the weights of the features, behind ``standardisation_`` or ``transforms_``
    intercept_ : what is added to every score; 0 for all rankers but `RegressionRanker`
    standardisation_ : mean and scale of each feature, which x goes through first, or None
    transforms_ : logarithms or quantiles of some features, by column
    filling_, where_missing_ : what stands for missing values, and what being missing adds to the score; or None
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
    standardisation_: Standardisation | None
    transforms_: Transforms
    filling_: Filling | None
    where_missing_: Array | None

    @classmethod
    def of(
        cls,
        formula: Formula,
        *,
        standardisation: Standardisation | None = None,
        feature_names: Sequence[str] | None,
        ranker: str,
        parameters: Mapping[str, Any],
        training: Mapping[str, Any],
    ) -> LinearModel:
        """The model that computes a formula, of features behind a standardisation if there is one."""
        model = cls._of_file(len(formula.weights), feature_names, ranker, parameters, training)
        model.coef_, model.intercept_ = formula.weights, formula.intercept
        model.transforms_, model.filling_ = formula.transforms, formula.filling
        model.where_missing_ = formula.where_missing
        model.standardisation_ = standardisation
        return model

    def cut_to(self, n_features: int) -> LinearModel:
        """The model for data whose features after the first n are all 0, and not there."""
        return LinearModel.of(
            self.formula().cut_to(n_features),
            feature_names=self._names_of(n_features),
            ranker=self.ranker_,
            parameters=self.parameters_,
            training=self.training_,
        )._with_memory_of(self)

    def formula(self) -> Formula:
        """What it computes from features as `predict` takes them: ``standardisation_`` is folded in."""
        weights, intercept = folded(checked_weights(self), standardisation_of(self, None))
        return Formula(weights, intercept, self.transforms_, self.filling_, self.where_missing_)

    def __repr__(self) -> str:
        if not hasattr(self, "coef_"):
            return "LinearModel(not read from a file yet)"
        features = f"{self.n_features_in_:,} feature{'s' * (self.n_features_in_ != 1)}"
        counts = self.coef_ if self.where_missing_ is None else np.logical_or(self.coef_, self.where_missing_)
        return f"LinearModel({self.ranker_}, {features}, {np.count_nonzero(counts):,} with a weight)"
