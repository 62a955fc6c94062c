"""`MappedModel`: weights of columns that a map makes of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankwright.errors import ParameterError
from rankwright.judgments.grouping import Grouping
from rankwright.maps.kernel_columns import KernelColumns
from rankwright.models.map_fields import map_fields, read_map
from rankwright.models.model import Model
from rankwright.models.scorer import Scorer
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.models.model_reader import ModelReader


class MappedScorer(Scorer):
    """Scores are weighted sums of the columns that a map makes, and an intercept."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _why_missing_is_refused(self) -> str:
        return "The training data had none missing, so nothing is known to put in its place: fill it in first"


def mapped_scores(x: Any, grouping: Grouping | None, by: KernelColumns, weights: Array, intercept: float) -> Array:
    """φ(x) · weights + intercept in float64."""
    return by.scores(by.standardised.rows(x, grouping, np.float64), weights) + intercept


class MappedModel(Model, MappedScorer):
    """A linear ranker behind a `KernelMap`, as `load_model` reads it from a file.

    It predicts, ranks and is measured as the ranker that was saved; it cannot be trained.

    Parameters
    ----------
    measures : such as "ndcg@10, map"
        The first one is what ``score`` tells.
    convention : name of a Convention

    Attributes
    ----------
    map_ : what makes columns of features
    coef_, intercept_ : the weights of the columns, and what is added to every score
    n_features_in_, feature_names_in_
        ``feature_names_in_`` is there only if the training data named their features.
    ranker_ : the name of the class that was trained, "MappedRanker"
    parameters_ : its parameters; those that JSON cannot hold as text
    training_ : what was noted when the model was saved, such as the data and the measures

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    >>> rw.save_model(rw.MappedRanker(rw.KernelMap(n_components=50), rw.RankRLS(1.0)).fit(queries), "model.json")
    >>> rw.load_model("model.json")
    MappedModel(MappedRanker, 20 features, 70 columns)
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, ...]]] = {4: ("map", "intercept", "weights")}
    why_no_scaler: ClassVar[str] = "puts features on one scale itself, so train it on the features as they are"

    map_: KernelColumns
    coef_: Array
    intercept_: float

    @classmethod
    def of(cls, by: KernelColumns, weights: Array, intercept: float, **told: Any) -> Self:
        """The model with these weights of columns; the rest is ``told`` as `Model.new` takes it."""
        model = cls.new(by.n_features, **told)
        model.map_, model.coef_ = by.folded(weights)
        model.intercept_ = intercept
        return model

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """In float64."""
        return mapped_scores(x, grouping, self.map_, self.coef_, self.intercept_)

    def mapped(self) -> tuple[KernelColumns, Array, float]:
        """The map, the weights of its columns and the intercept."""
        return self.map_, self.coef_, self.intercept_

    def used_features(self) -> Columns:
        """All that vary, unless the kernel has no weight at all."""
        return self.map_.used_features(self.coef_)

    def cut_to(self, n_features: int) -> MappedModel:
        """The model for data whose features after the first n are all 0, and not there."""
        model = MappedModel.of(self.map_, self.coef_, self.intercept_, **self.about(n_features))
        model.n_features_in_ = n_features
        return model.with_memory_of(self)

    def fields(self) -> dict[str, Any]:
        """The map as an object, and the weights of its columns in their order."""
        if not np.isfinite(self.coef_).all() or not np.isfinite(self.intercept_):
            raise ParameterError("ranker: its weights must be finite numbers: train it again")
        if self.n_features_in_ != self.map_.n_features:
            raise ParameterError(f"ranker: it was cut to {self.n_features_in_} features: save it as it was read")
        return {"map": map_fields(self.map_), "intercept": self.intercept_, "weights": self.coef_.tolist()}

    @classmethod
    def read(cls, file: ModelReader, **told: Any) -> Self:
        """The model whose fields a file has."""
        by = read_map(file)
        intercept = file.number(file.content["intercept"], "intercept")
        weights = np.array(file.numbers(file.listed("weights", "of numbers"), "weights"))
        if len(weights) != by.n_columns:
            file.refuse(f"weights has {len(weights)} numbers, but the map has {by.n_columns} columns")
        return cls.of(by, weights, intercept, **told)

    def __repr__(self) -> str:
        if not hasattr(self, "coef_"):
            return "MappedModel(not read from a file yet)"
        return self._described(f"{len(self.coef_):,} columns")
