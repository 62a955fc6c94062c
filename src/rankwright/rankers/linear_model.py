"""`LinearModel`: the weights that a ranker has learned, without what it took to learn them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.measures import CONVENTIONS, parse_measures
from rankwright.rankers.base import LinearRanker

Array = npt.NDArray[np.float64]


class LinearModel(LinearRanker):
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
    ranker_: str
    parameters_: dict[str, Any]
    training_: dict[str, Any]

    def __init__(self, *, measures: Any = "ndcg@10", convention: Any = "default") -> None:
        self.measures = measures
        self.convention = convention

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
        model = cls(**_judged_by(parameters))
        model.coef_ = weights
        model.intercept_ = intercept
        model.n_features_in_ = len(weights)
        if feature_names is not None:
            model.feature_names_in_ = np.array(feature_names, dtype=object)
        model.ranker_ = ranker
        model.parameters_ = dict(parameters)
        model.training_ = dict(training)
        return model

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> NoReturn:
        """Refuse: scikit-learn asks for this method, but what has been read is not to be trained again."""
        raise ParameterError("a LinearModel is read from a file and cannot be trained: train a ranker, such as RankRLS")

    def _scores(self, x: Any) -> Array:
        return super()._scores(x) + self.intercept_

    def __repr__(self) -> str:
        if not hasattr(self, "coef_"):
            return "LinearModel(not read from a file yet)"
        features = f"{self.n_features_in_:,} feature{'s' * (self.n_features_in_ != 1)}"
        return f"LinearModel({self.ranker_}, {features}, {np.count_nonzero(self.coef_):,} with a weight)"


def _judged_by(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The measures and the convention of the ranker that was saved, as far as their texts tell."""
    told = {}
    measures, convention = parameters.get("measures"), parameters.get("convention")
    texts = [measures] if isinstance(measures, str) else measures
    if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
        with suppress(ParameterError):  # of another version, or one's own
            told["measures"] = ", ".join(map(str, parse_measures(", ".join(texts))))
    if isinstance(convention, str) and convention in CONVENTIONS:
        told["convention"] = convention
    return told
