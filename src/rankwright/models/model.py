"""`Model`: what a trained ranker is, apart from how it was trained."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from rankwright.data.fingerprints import sketch_of
from rankwright.errors import ParameterError
from rankwright.maps.kernel_columns import KernelColumns
from rankwright.maps.terms import Terms
from rankwright.measures import CONVENTIONS, parse_measures
from rankwright.models.learned import Stumps
from rankwright.models.network import Network
from rankwright.models.scorer import Scorer
from rankwright.models.standardisation import Standardisation
from rankwright.preparation.formula import Formula
from rankwright.trees.trees import Trees
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.models.kernel_model import KernelSum
    from rankwright.models.model_reader import ModelReader


class NoModel(ParameterError):
    """A ranker has no model: what it has learned cannot be kept apart from what it was trained on."""


class Model(Scorer):
    """What a ranker has learned, as `load_model` reads it from a file: it predicts as the ranker, and is not trained.

    A kind of model is a subclass that computes ``scores``, tells which features these depend on, writes itself as
    fields of JSON and reads them back; `kinds.py` lists it. What a model computes beyond that is asked of it:
    ``formula()``, ``stumps()``, ``mapped()``, ``terms()``, ``trees()``, ``kernel_sum()`` and ``network()`` are None
    unless its scores are of that form, and those who export or bound scores refuse what they have no form for. Two
    questions are about scalers: ``behind_scaler()`` and ``scaled_by()``.
    """

    # Names of the fields that it has in a model file, by the first version of the format with these.
    FIELDS: ClassVar[Mapping[int, tuple[str, ...]]]

    why_no_scaler: ClassVar[str] = "cannot take it in"  # unless it has a formula

    ranker_: str
    parameters_: dict[str, Any]
    training_: dict[str, Any]

    def __init__(self, *, measures: Any = "ndcg@10", convention: Any = "default") -> None:
        self.measures = measures
        self.convention = convention

    @classmethod
    def new(
        cls,
        n_features: int,
        *,
        feature_names: Sequence[str] | None,
        ranker: str,
        parameters: Mapping[str, Any],
        training: Mapping[str, Any],
    ) -> Self:
        """A model with all but what it has learned."""
        model = cls(**_judged_by(parameters))
        model.n_features_in_ = n_features
        if feature_names is not None:
            model.feature_names_in_ = np.array(feature_names, dtype=object)
        model.ranker_ = ranker
        model.parameters_ = dict(parameters)
        model.training_ = dict(training)
        return model

    # What a kind of model has to give

    @abstractmethod
    def used_features(self) -> Columns:
        """The columns that its scores depend on, counted from 0."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """What it has learned, as JSON can hold it: a version of ``FIELDS``, in their order."""

    @classmethod
    @abstractmethod
    def read(cls, file: ModelReader, **told: Any) -> Self:
        """The model whose fields a file has; ``told`` goes to `new`."""

    @abstractmethod
    def cut_to(self, n_features: int) -> Self:
        """The model for data whose features after the first n are all 0, and not there."""

    # What it may be besides

    def formula(self) -> Formula | None:
        """What it computes from features as `predict` takes them, if that is a weighted sum of them."""
        return None

    def behind_scaler(self) -> tuple[Formula, Standardisation] | None:
        """The formula of scaled features, and how they are scaled, if a scaler is part of it."""
        return None

    def stumps(self) -> Stumps | None:
        """Features, thresholds and weights, if its scores are sums of stumps."""
        return None

    def mapped(self) -> tuple[KernelColumns, Array, float] | None:
        """The map, the weights of its columns and the intercept, if it is linear behind a kernel map."""
        return None

    def terms(self) -> Terms | None:
        """A short formula of features, if it is a sum of terms that are more than weighted features."""
        return None

    def trees(self) -> Trees | None:
        """Its trees, if its scores are sums of their leaves."""
        return None

    def kernel_sum(self) -> KernelSum | None:
        """A kernel, documents and their weights, if its scores are sums of kernels."""
        return None

    def scaled_by(self, by: Standardisation) -> Model | None:
        """The model of features that go through a scaler first, for one without a formula that can take it in."""
        return None

    def network(self) -> Network | None:
        """What the layers of a neural network compute, if it is one."""
        return None

    # What all have in common

    def model(self) -> Self:
        """Itself."""
        return self

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> NoReturn:
        """Refuse: scikit-learn asks for this method, but what has been read is not to be trained again."""
        name = type(self).__name__
        raise ParameterError(f"a {name} is read from a file and cannot be trained: train a ranker, such as RankRLS")

    def with_memory_of(self, other: Scorer) -> Self:
        """The same model, which knows the queries that another has seen."""
        if hasattr(other, "_seen_queries"):
            self._seen_queries = other._seen_queries
        return self

    def sketch_of_seen(self) -> dict[str, Any] | None:
        """A sample of the queries that it was trained on and chosen by, for its file; None if it knows of none."""
        remembered = getattr(self, "_seen_queries", None)
        if remembered is None:
            return None
        return {role: sketch_of(np.concatenate(known)) for role, known in remembered.items() if known}

    def about(self, n_features: int | None = None) -> dict[str, Any]:
        """What is known of it beside what it has learned, of the first features or all; goes to `new`."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "feature_names": None if names is None else list(map(str, names[:n_features])),
            "ranker": self.ranker_,
            "parameters": self.parameters_,
            "training": self.training_,
        }

    def _described(self, learned: str) -> str:
        n = self.n_features_in_
        return f"{type(self).__name__}({self.ranker_}, {n:,} feature{'s' * (n != 1)}, {learned})"


def about(ranker: Scorer) -> dict[str, Any]:
    """What is known of a fitted ranker beside what it has learned; goes to `Model.new`."""
    names = getattr(ranker, "feature_names_in_", None)
    return {
        "feature_names": None if names is None else list(map(str, names)),
        "ranker": type(ranker).__name__,
        "parameters": _plain(ranker.get_params(deep=False)),
        "training": {},
    }


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
