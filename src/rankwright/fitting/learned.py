"""What a family has learned from some queries, for one or several settings: weights of columns, or whole models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.explanation.explanation import explain
from rankwright.explanation.given import dense
from rankwright.fitting.work import Arrays
from rankwright.models.linear_model import LinearModel
from rankwright.models.model import Model
from rankwright.models.model_file import model_text, parse_model
from rankwright.preparation.formula import linear_scores
from rankwright.preparation.preparation import Preparation
from rankwright.selection.judging import Judge
from rankwright.types import Array


class Contributions(NamedTuple):
    """What scores are sums of, by name, and how much of it each document has (documents × names)."""

    names: Sequence[str]
    values: Array


class Learned(ABC):
    """A ranker for each setting, which scores queries of the side that it was trained on."""

    @abstractmethod
    def values(self, queries: AnyQueries, judge: Judge) -> Array:
        """What the first measure of the judge says of each setting and query."""

    @abstractmethod
    def used_features(self) -> npt.NDArray[np.bool_]:
        """Which features each setting makes use of (settings × features)."""

    # Of the first setting alone

    @abstractmethod
    def scores(self, queries: AnyQueries) -> Array:
        """The score of each document, query by query."""

    @abstractmethod
    def contributions(self, given: Queries, columns: Queries) -> Contributions:
        """What each feature adds to the score of each document of a query, beyond the mean of the query.

        The query is given as it is, and with columns prepared from its features.
        """

    @abstractmethod
    def model(self, **about: Any) -> Model:
        """As a model of features as given; ``about`` says what a model file tells beside what was learned."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """As a file keeps it."""


@dataclass(frozen=True, eq=False)
class Weights(Learned):
    """Weights of columns (settings × columns), and how these are prepared from features."""

    by: Preparation
    weights: Array

    def values(self, queries: AnyQueries, judge: Judge) -> Array:
        """The measure of linear scores."""
        return judge.values(queries, self.weights)[:, :, 0].T

    def used_features(self) -> npt.NDArray[np.bool_]:
        """Those with a weight, or one for being missing."""
        return self.by.used_features(self.weights)

    def scores(self, queries: AnyQueries) -> Array:
        """Those of the first weights."""
        scores: Array = engine_of(queries).per_query(_linear_scores, self.weights[0])
        return scores

    def contributions(self, given: Queries, columns: Queries) -> Contributions:
        """w_j (x_ij − x̄_j), of prepared x: what a feature adds by being missing counts as its own."""
        x = dense(columns.X, np.arange(columns.n_features))
        of_columns = self.weights[0] * (x - x.mean(axis=0))
        return Contributions(given.feature_names, self.by.of_features(of_columns))

    def model(self, **about: Any) -> LinearModel:
        """With the preparation folded in."""
        return LinearModel.of(self.by.fold(self.weights[0]), **about)

    def arrays(self) -> Arrays:
        """The first weights."""
        return {"weights": self.weights[:1]}


@dataclass(frozen=True, eq=False)
class Models(Learned):
    """A model of features as given for each setting."""

    models: Sequence[Model]

    def values(self, queries: AnyQueries, judge: Judge) -> Array:
        """The measure of predictions."""
        values: Array = engine_of(queries).per_query(_model_values, self.models, judge)
        return values.T

    def used_features(self) -> npt.NDArray[np.bool_]:
        """Those that scores depend on."""
        used = np.zeros((len(self.models), self.models[0].n_features_in_), bool)
        for row, model in zip(used, self.models, strict=True):
            row[model.used_features()] = True
        return used

    def scores(self, queries: AnyQueries) -> Array:
        """The predictions of the first model."""
        scores: Array = engine_of(queries).per_query(_model_scores, self.models[0])
        return scores

    def contributions(self, given: Queries, columns: Queries) -> Contributions:
        """As `explain` tells them: of features, or of terms of a formula."""
        explanation = explain(self.models[0], given, given.query_ids[0])
        values = np.empty_like(explanation.contributions)
        values[[document.row for document in explanation.documents]] = explanation.contributions
        return Contributions(explanation.features, values)

    def model(self, **about: Any) -> Model:
        """The first model, which knows how it was trained already."""
        return self.models[0]

    def arrays(self) -> Arrays:
        """The file of the first model, byte by byte."""
        return {"model": np.frombuffer(model_text(self.models[0]).encode(), np.uint8)}

    @classmethod
    def restored(cls, arrays: Arrays) -> Models:
        """From its arrays."""
        return cls([parse_model(arrays["model"].tobytes())])


def _linear_scores(part: Part, weights: Array) -> Array:
    scores: Array = part.queries.grouping.gather(linear_scores(part.queries.X, weights))
    return scores


def _model_scores(part: Part, model: Model) -> Array:
    scores: Array = part.queries.grouping.gather(model.predict(part.queries))
    return scores


def _model_values(part: Part, models: Sequence[Model], judge: Judge) -> Array:
    scores = np.stack([model.predict(part.queries) for model in models])
    return judge.values_of_scores(scores, part.queries.judgments)[:, :, 0]
