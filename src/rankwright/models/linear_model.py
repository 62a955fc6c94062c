"""`LinearModel`: the weights that a ranker has learned, without what it took to learn them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankwright.data.queries import Queries
from rankwright.data.width import MOST_FEATURES
from rankwright.errors import ParameterError
from rankwright.judgments.grouping import Grouping
from rankwright.models.learned import checked_weights
from rankwright.models.model import Model
from rankwright.models.scorer import Scorer
from rankwright.models.standardisation import Standardisation, checked_standardisation
from rankwright.models.transform_fields import read_transforms, transform_entries
from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import Filling
from rankwright.preparation.transforms import Transforms
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.models.model_reader import ModelReader

_LINEAR_FIELDS = ("intercept", "weights")
# A linear model holds a number for each of its features, so a few bytes of a file could ask for gigabytes. So many
# features it may have anyway, as zeros that are never touched take no memory, and fewer with scales, which are not 0,
# or with missing values, which are looked at together;
# beyond that so many for each one that has a weight.
_FREE_FEATURES, _FREE_SCALED_FEATURES, _FEATURES_PER_WEIGHT = MOST_FEATURES, 2**24, 1000
FILLINGS = {"mean": False, "query-mean": True}  # whether it goes by the query


class LinearScorer(Scorer):
    """Scores are those of a `Formula`."""

    coef_: Array

    @abstractmethod
    def formula(self) -> Formula:
        """What the scores of features are computed by, as `predict` takes them."""

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """Scores of rows whose number of features has been checked, and whose queries may be known."""
        return self.formula().scores(x, grouping)

    def _why_missing_is_refused(self) -> str:
        return "The training data had none missing, so nothing is known to put in its place: fill it in first"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class LinearModel(Model, LinearScorer):
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

    FIELDS: ClassVar[Mapping[int, tuple[str, ...]]] = {
        1: _LINEAR_FIELDS,
        2: (*_LINEAR_FIELDS, "standardisation"),
        3: (*_LINEAR_FIELDS, "transforms", "filling", "missing"),
    }

    intercept_: float
    standardisation_: Standardisation | None
    transforms_: Transforms
    filling_: Filling | None
    where_missing_: Array | None

    @classmethod
    def of(cls, formula: Formula, *, standardisation: Standardisation | None = None, **told: Any) -> Self:
        """The model that computes a formula, of features behind a standardisation if there is one.

        Names of features, ranker, parameters and training are ``told`` as `Model.new` takes them.
        """
        model = cls.new(len(formula.weights), **told)
        model.coef_, model.intercept_ = formula.weights, formula.intercept
        model.transforms_, model.filling_ = formula.transforms, formula.filling
        model.where_missing_ = formula.where_missing
        model.standardisation_ = standardisation
        return model

    def cut_to(self, n_features: int) -> LinearModel:
        """The model for data whose features after the first n are all 0, and not there."""
        cut = LinearModel.of(self.formula().cut_to(n_features), **self.about(n_features))
        return cut.with_memory_of(self)

    # What it computes

    def formula(self) -> Formula:
        """What it computes from features as `predict` takes them: ``standardisation_`` is folded in."""
        behind = self.behind_scaler()
        if behind is None:
            return self._formula_as_trained()
        formula, by = behind
        return by.folded_into(formula)

    def behind_scaler(self) -> tuple[Formula, Standardisation] | None:
        """The formula of features behind ``standardisation_``, and that, if there is one."""
        formula = self._formula_as_trained()
        by = self.standardisation_
        return None if by is None else (formula, checked_standardisation(self, *by))

    def _formula_as_trained(self) -> Formula:
        weights, intercept = checked_weights(self)
        return Formula(weights, intercept, self.transforms_, self.filling_, self.where_missing_)

    def used_features(self) -> Columns:
        """The features that count: by their value, or by being missing."""
        return self.formula().used

    def _columns_trained_on(self, queries: Queries) -> Any:
        x = self._columns_of(queries)
        return x if self.standardisation_ is None else self.standardisation_.of(x)

    # Its file

    def fields(self) -> dict[str, Any]:
        """Weights behind a standardisation if there is one, else of features as they are, with what goes with them."""
        formula, by = self.behind_scaler() or (self.formula(), None)
        columns = _stored(formula.weights)
        told = {"intercept": formula.intercept, "weights": _listed(columns, formula.weights)}
        if by is not None:
            told["standardisation"] = _listed(columns, *by)
        elif not formula.is_plain:
            # Also transforms of features without a weight, which bounds go by.
            told |= {"transforms": transform_entries(formula.transforms), **_missing(formula)}
        excess = _excess_of_features(self.n_features_in_, len(columns), is_plain=len(told) == len(_LINEAR_FIELDS))
        if excess is not None:
            raise ParameterError(f"ranker: {excess}")
        return told

    def sketch_of_seen(self) -> dict[str, Any] | None:
        """A sample of the queries that it has seen.

        Behind a scaler it knows them by their scaled features, so that the file must have the scale of all of them.
        """
        is_known = self.standardisation_ is None or len(_stored(checked_weights(self).weights)) == self.n_features_in_
        return super().sketch_of_seen() if is_known else None

    @classmethod
    def read(cls, file: ModelReader, **told: Any) -> Self:
        """The model whose fields a file has."""
        weights = {feature: weight for _, feature, (weight,) in file.entries("weights", ("weight",))}
        excess = _excess_of_features(file.n_features, len(weights), is_plain=file.version == 1)
        if excess is not None:
            file.refuse(excess)
        formula = Formula(
            file.spread(weights),
            file.number(file.content["intercept"], "intercept"),
            *(
                (read_transforms(file, file.content["transforms"]), *_read_missing(file))
                if "transforms" in file.content
                else ()
            ),
        )
        by = _read_standardisation(file) if "standardisation" in file.content else None
        return cls.of(formula, standardisation=by, **told)

    def __repr__(self) -> str:
        if not hasattr(self, "coef_"):
            return "LinearModel(not read from a file yet)"
        counts = self.coef_ if self.where_missing_ is None else np.logical_or(self.coef_, self.where_missing_)
        return self._described(f"{np.count_nonzero(counts):,} with a weight")


def _excess_of_features(n_features: int, n_weights: int, *, is_plain: bool) -> str | None:
    """Why a linear model of so many features, some with a weight, is neither written nor read; None if it is."""
    free = _FREE_FEATURES if is_plain else _FREE_SCALED_FEATURES
    if n_features <= max(free, _FEATURES_PER_WEIGHT * n_weights):
        return None
    return (
        f"n_features is {n_features:,}, which takes {8 * n_features / 1e9:,.1f} GB of memory, but {n_weights:,} of "
        f"them have a weight: with more than {free:,} features, one in {_FEATURES_PER_WEIGHT:,} must have one. "
        "Number the features that are used from 1 on"
    )


# Writing


def _stored(*numbers: Array) -> Columns:
    """The features with any number but 0.0, so that −0.0 comes back too."""
    return np.flatnonzero(reduce(np.bitwise_or, (values.view(np.int64) for values in numbers)))


def _listed(columns: Columns, *numbers: Array) -> list[tuple[Any, ...]]:
    """Of each of these features its number, counted from 1, and what it has of the numbers."""
    lists = (np.asarray(values[columns], np.float64).tolist() for values in numbers)
    return list(zip((columns + 1).tolist(), *lists, strict=True))


def _missing(formula: Formula) -> dict[str, Any]:
    """How missing values are filled in; of each feature the value that stands in and the score that is added, or 0."""
    if formula.filling is None:
        return {"filling": None, "missing": []}
    numbers = formula.filling.values, formula.extra
    return {
        "filling": "query-mean" if formula.filling.by_query else "mean",
        "missing": _listed(_stored(*numbers), *numbers),
    }


# Reading


def _read_standardisation(file: ModelReader) -> Standardisation:
    means: dict[int, float] = {}
    scales = np.ones(file.n_features)
    for what, feature, (mean, scale) in file.entries("standardisation", ("mean", "scale")):
        if scale <= 0:
            file.refuse(f"{what}: the scale must be above 0, not {scale:g}")
        means[feature], scales[feature - 1] = mean, scale
    return Standardisation(file.spread(means), scales)


def _read_missing(file: ModelReader) -> tuple[Filling | None, Array | None]:
    """What stands for missing values, and what being missing adds to the score."""
    by = file.content["filling"]
    if by is None and not file.listed("missing", "of [feature, value, score]"):
        return None, None
    if not isinstance(by, str) or by not in FILLINGS:
        file.refuse(f"filling must be one of {', '.join(FILLINGS)}, or null if missing is empty, not {file.shown(by)}")
    values: dict[int, float] = {}
    scores: dict[int, float] = {}
    for _, feature, (value, score) in file.entries("missing", ("value", "score")):
        values[feature], scores[feature] = value, score
    return Filling(file.spread(values), FILLINGS[by]), file.spread(scores)
