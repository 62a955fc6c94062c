"""What models read from files share: whose they are, and that they cannot be trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, Self

import numpy as np

from rankwright.errors import ParameterError
from rankwright.measures import CONVENTIONS, parse_measures
from rankwright.rankers.base import Ranker


class SavedModel(Ranker):
    """A trained ranker as `load_model` reads it from a file."""

    ranker_: str
    parameters_: dict[str, Any]
    training_: dict[str, Any]

    def __init__(self, *, measures: Any = "ndcg@10", convention: Any = "default") -> None:
        self.measures = measures
        self.convention = convention

    @classmethod
    def _of_file(
        cls,
        n_features: int,
        feature_names: Sequence[str] | None,
        ranker: str,
        parameters: Mapping[str, Any],
        training: Mapping[str, Any],
    ) -> Self:
        """The model with all but what it has learned."""
        model = cls(**_judged_by(parameters))
        model.n_features_in_ = n_features
        if feature_names is not None:
            model.feature_names_in_ = np.array(feature_names, dtype=object)
        model.ranker_ = ranker
        model.parameters_ = dict(parameters)
        model.training_ = dict(training)
        return model

    def _with_memory_of(self, other: SavedModel) -> Self:
        """The same model, which knows the queries that another has seen."""
        if hasattr(other, "_seen_queries"):
            self._seen_queries = other._seen_queries
        return self

    def _names_of(self, n_features: int) -> list[str] | None:
        """The names of the first features, if there are names."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names[:n_features])

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> NoReturn:
        """Refuse: scikit-learn asks for this method, but what has been read is not to be trained again."""
        name = type(self).__name__
        raise ParameterError(f"a {name} is read from a file and cannot be trained: train a ranker, such as RankRLS")


def _judged_by(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The measures and the convention of the ranker that was saved, as far as their texts tell."""
    told = {}
    measures, convention = parameters.get("measures") or parameters.get("measure"), parameters.get("convention")
    texts = [measures] if isinstance(measures, str) else measures
    if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
        with suppress(ParameterError):  # of another version, or one's own
            told["measures"] = ", ".join(map(str, parse_measures(", ".join(texts))))
    if isinstance(convention, str) and convention in CONVENTIONS:
        told["convention"] = convention
    return told


def plain_parameters(ranker: Any) -> dict[str, Any]:
    """The parameters of a ranker as JSON can hold them."""
    return {name: _plain(value) for name, value in ranker.get_params(deep=False).items()}


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it: other objects, such as measures and ``search()``, as their text."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    is_plain = value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_plain else repr(value)
