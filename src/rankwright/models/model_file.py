"""Model files: `save_model` and `load_model`.

A model file is JSON that people can read, compare and keep under version control. Nothing in it is run, so a file from
anywhere can be read: what does not follow the format is refused. Features are counted from 1, as in LETOR files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from sklearn.pipeline import Pipeline

from rankwright._version import __version__
from rankwright.data.normalise import GlobalStandardScaler
from rankwright.data.paths import atomic_path
from rankwright.errors import ParameterError
from rankwright.models.model import Model
from rankwright.models.model_of import model_of
from rankwright.models.model_reader import FORMAT, ModelReader
from rankwright.models.scorer import Scorer

# Writing


def save_model(
    ranker: Scorer | Pipeline,
    path: str | os.PathLike[str],
    *,
    scaler: GlobalStandardScaler | None = None,
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write what a fitted ranker has learned to a JSON file, whole or not at all; `load_model` reads it.

    Parameters
    ----------
    ranker : a fitted linear ranker, such as RankRLS or RankSVM, RankBoost, one with a kernel, or a model that was read
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
    ranker: Scorer | Pipeline,
    *,
    scaler: GlobalStandardScaler | None = None,
    training: Mapping[str, Any] | None = None,
) -> str:
    """What `save_model` writes."""
    model = model_of(ranker, scaler, "ranker must be a linear one, such as RankRLS, or RankBoost")
    learned, seen = model.fields(), model.sketch_of_seen()
    told = model.about()
    content = {
        "format": FORMAT,
        "version": next(version for version, names in model.FIELDS.items() if names == tuple(learned)),
        "made_by": f"rankwright {__version__}",
        "ranker": told["ranker"],
        "parameters": told["parameters"],
        "n_features": model.n_features_in_,
        "feature_names": told["feature_names"],
        **learned,
        "training": _checked_training(told["training"] if training is None else training),
        **({} if seen is None else {"seen": seen}),
    }
    lines = [f'  "{name}": {_field_text(value, by_line=name in learned)}' for name, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _checked_training(training: Any) -> Any:
    if not isinstance(training, Mapping):
        raise ParameterError(f"training must be a mapping, such as {{'data': 'train.txt'}}, not {training!r}")
    try:
        return json.loads(json.dumps(dict(training), indent=2, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(f"training: JSON cannot hold it: {error}") from None


def _field_text(value: Any, *, by_line: bool) -> str:
    """JSON; what has been learned with a line for each entry, such as a weight, a stump or an array of a map."""
    if by_line and isinstance(value, list) and value:
        return "[\n    " + ",\n    ".join(map(json.dumps, value)) + "\n  ]"
    if by_line and isinstance(value, dict):
        return (
            "{\n    "
            + ",\n    ".join(f"{json.dumps(name)}: {json.dumps(own)}" for name, own in value.items())
            + "\n  }"
        )
    return json.dumps(value, indent=2, allow_nan=False).replace("\n", "\n  ")


# Reading


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file; a :class:`ParseError` names the file and what is wrong with it.

    Each kind of ranker has its kind of model: those of linear rankers are a `LinearModel`, `RankBoost` a `StumpModel`,
    trees a `TreeModel`, formulas a `TermsModel`, kernel maps a `MappedModel`, kernels a `KernelModel`, networks a
    `NetworkModel`.

    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    >>> rw.save_model(rw.GreedyRankRLS(n_features=5).fit(queries), "model.json")
    >>> rw.load_model("model.json")
    LinearModel(GreedyRankRLS, 20 features, 5 with a weight)
    """
    return ModelReader(path).model()


def parse_model(content: bytes, name: str = "model.json") -> Model:
    """The model that a file of this content and name holds, as `load_model` reads it."""
    return ModelReader(name, content).model()
