"""Model files: `save_model` and `load_model`.

A model file is JSON that people can read, compare and keep under version control. Nothing in it is run, so a file from
anywhere can be read: what does not follow the format is refused. Features are counted from 1, as in LETOR files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from rankwright._version import __version__
from rankwright.data.fingerprints import sketch_of
from rankwright.data.normalise import GlobalStandardScaler
from rankwright.data.paths import atomic_path
from rankwright.errors import ParameterError
from rankwright.preparation.formula import Formula
from rankwright.preparation.transforms import Log
from rankwright.rankers.base import LinearRanker
from rankwright.rankers.learned import checked_stumps
from rankwright.rankers.linear_model import LinearModel
from rankwright.rankers.model_reader import FORMAT, ModelReader, excess_of_features, version_of
from rankwright.rankers.pipelines import without_pipeline
from rankwright.rankers.saved_model import SavedModel, plain_parameters
from rankwright.rankers.standardisation import Standardisation, learned_of, standardisation_of
from rankwright.rankers.stump_model import StumpModel, StumpRanker
from rankwright.types import Array

_LISTS = ("weights", "standardisation", "transforms", "missing", "stumps")  # with a line for each entry


# Writing


def save_model(
    ranker: LinearRanker | StumpRanker | Pipeline,
    path: str | os.PathLike[str],
    *,
    scaler: GlobalStandardScaler | None = None,
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write what a fitted ranker has learned to a JSON file, whole or not at all; `load_model` reads it.

    Parameters
    ----------
    ranker : a fitted linear ranker, such as RankRLS or RankSVM, or RankBoost, or a model that was read from a file
        Or a fitted scikit-learn Pipeline that ends in a linear ranker, behind scalers (StandardScaler, MinMaxScaler,
        RobustScaler, MaxAbsScaler, GlobalStandardScaler) and SimpleImputer: these are folded into the weights.
    path : path
        An older file of that name is replaced.
    scaler : a fitted GlobalStandardScaler, optional
        What scaled the features that a linear ranker was trained on. It becomes part of the model, which then takes
        features as they are.
    training : mapping, optional
        Anything worth remembering that JSON can hold, such as the name of the training data. By default nothing; of a
        model that was read, what its file said.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    >>> ranker = rw.RankRLS().fit(queries)
    >>> rw.save_model(ranker, "model.json", training={"data": "made up"})
    >>> (rw.load_model("model.json").coef_ == ranker.coef_).all()
    np.True_
    """
    text = model_text(ranker, scaler=scaler, training=training)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def model_text(
    ranker: LinearRanker | StumpRanker | Pipeline,
    *,
    scaler: GlobalStandardScaler | None = None,
    training: Mapping[str, Any] | None = None,
) -> str:
    """What `save_model` writes."""
    return _as_text(_content(ranker, scaler, training))


def _content(ranker: Any, scaler: Any, training: Mapping[str, Any] | None) -> dict[str, Any]:
    ranker, scaler = without_pipeline(ranker, scaler)
    learned = _stumps_of(ranker, scaler) if isinstance(ranker, StumpRanker) else _formula_of(ranker, scaler)
    if "weights" in learned:
        excess = excess_of_features(ranker.n_features_in_, len(learned["weights"]), version_of(learned))
        if excess is not None:
            raise ParameterError(f"ranker: {excess}")
    is_model = isinstance(ranker, SavedModel)
    names = getattr(ranker, "feature_names_in_", None)
    told = training if training is not None else ranker.training_ if is_model else {}
    return {
        "format": FORMAT,
        "version": version_of(learned),
        "made_by": f"rankwright {__version__}",
        "ranker": ranker.ranker_ if is_model else type(ranker).__name__,
        "parameters": ranker.parameters_ if is_model else plain_parameters(ranker),
        "n_features": ranker.n_features_in_,
        "feature_names": None if names is None else list(map(str, names)),
        **learned,
        "training": _checked_training(told),
        **_seen_by(ranker, learned),
    }


def _seen_by(ranker: Any, learned: Mapping[str, Any]) -> dict[str, Any]:
    """A sample of the queries that it was trained on and chosen by.

    Behind a scaler it knows them by their scaled features, so that the file must have the scale of all of them.
    """
    remembered = getattr(ranker, "_seen_queries", None)
    is_scaled = len(learned.get("standardisation", ())) == ranker.n_features_in_
    if remembered is None or ("standardisation" in learned and not is_scaled):
        return {}
    return {"seen": {role: sketch_of(np.concatenate(known)) for role, known in remembered.items() if known}}


def _formula_of(ranker: Any, scaler: Any) -> dict[str, Any]:
    """Weights behind a standardisation if there is one, else of features as they are, with all that goes with them."""
    if not isinstance(ranker, LinearRanker):
        name = type(ranker).__name__
        why = ": a kernel ranker needs its training data to score with" if hasattr(ranker, "kernel") else ""
        raise ParameterError(f"ranker must be a linear one, such as RankRLS, or RankBoost, not {name}{why}")
    learned = learned_of(ranker, scaler)
    formula, by = learned.formula, learned.standardisation
    weights = _pairs(formula.weights)
    told = {"intercept": formula.intercept, "weights": weights}
    if by is not None:
        return {**told, "standardisation": _scaled_features(weights, by)}
    if formula.is_plain:
        return told
    return {**told, "transforms": _transforms(formula), **_missing(formula)}


def _transforms(formula: Formula) -> list[list[Any]]:
    """Feature, the name of its transform, and its numbers; also of features without a weight, which bounds go by."""
    return [
        [column + 1, one.name, *([one.unit] if isinstance(one, Log) else [list(one.knots), list(one.heights)])]
        for column, one in sorted(formula.transforms.items())
    ]


def _missing(formula: Formula) -> dict[str, Any]:
    """How missing values are filled in; of each feature the value that stands in and the score that is added, or 0."""
    filling, extra = formula.filling, formula.extra
    if filling is None:
        return {"filling": None, "missing": []}
    columns = np.flatnonzero(filling.values.view(np.int64) | extra.view(np.int64))  # −0.0 comes back too
    told = [[int(column) + 1, float(filling.values[column]), float(extra[column])] for column in columns]
    return {"filling": "query-mean" if filling.by_query else "mean", "missing": told}


def _stumps_of(ranker: Any, scaler: Any) -> dict[str, Any]:
    """Features from 1, thresholds and weights, in the order of the rounds."""
    standardisation_of(ranker, scaler)  # which refuses a scaler
    features, thresholds, weights = checked_stumps(ranker)
    return {"stumps": list(zip((features + 1).tolist(), thresholds.tolist(), weights.tolist(), strict=True))}


def _pairs(weights: Array) -> list[tuple[int, float]]:
    """The numbers of the features, from 1, and their weights; all but 0.0, so that −0.0 comes back too."""
    columns = np.flatnonzero(weights.view(np.int64))
    return list(zip((columns + 1).tolist(), weights[columns].tolist(), strict=True))


def _scaled_features(weights: list[tuple[int, float]], by: Standardisation) -> list[tuple[int, float, float]]:
    """Feature, mean and scale, of those with a weight."""
    return [(feature, float(by.mean[feature - 1]), float(by.scale[feature - 1])) for feature, _ in weights]


def _checked_training(training: Any) -> Any:
    if not isinstance(training, Mapping):
        raise ParameterError(f"training must be a mapping, such as {{'data': 'train.txt'}}, not {training!r}")
    try:
        return json.loads(json.dumps(dict(training), indent=2, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(f"training: JSON cannot hold it: {error}") from None


def _as_text(content: Mapping[str, Any]) -> str:
    """JSON with a line for each weight or stump."""
    lines = [f'  "{name}": {_field_text(name, value)}' for name, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _field_text(name: str, value: Any) -> str:
    if name in _LISTS and value:
        return "[\n    " + ",\n    ".join(map(json.dumps, value)) + "\n  ]"
    return json.dumps(value, indent=2, allow_nan=False).replace("\n", "\n  ")


# Reading


def load_model(path: str | os.PathLike[str]) -> LinearModel | StumpModel:
    """Read a model file; a :class:`ParseError` names the file and what is wrong with it.

    A file of `RankBoost` is read as a `StumpModel`, all others as a `LinearModel`.

    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    >>> rw.save_model(rw.GreedyRankRLS(n_features=5).fit(queries), "model.json")
    >>> rw.load_model("model.json")
    LinearModel(GreedyRankRLS, 20 features, 5 with a weight)
    """
    return ModelReader(path).model()
