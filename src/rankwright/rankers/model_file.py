"""Model files: `save_model` and `load_model`.

A model file is JSON that people can read, compare and keep under version control. Nothing in it is run, so a file from
anywhere can be read: what does not follow the format is refused. Features are counted from 1, as in LETOR files.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from rankwright._version import __version__
from rankwright.data.paths import atomic_path, input_file
from rankwright.errors import ParameterError, ParseError
from rankwright.rankers.base import LinearRanker
from rankwright.rankers.linear_model import LinearModel

Array = npt.NDArray[np.float64]

_FORMAT = "rankwright-model"
_VERSION = 1
_FIELDS = (
    "format",
    "version",
    "made_by",
    "ranker",
    "parameters",
    "n_features",
    "feature_names",
    "intercept",
    "weights",
    "training",
)
_MOST_FEATURES = 2**31 - 1  # as many as text and Parquet can number
_MOST_DIGITS = 309  # of a whole number that is finite as float64


# Writing


def save_model(
    ranker: LinearRanker, path: str | os.PathLike[str], *, training: Mapping[str, Any] | None = None
) -> None:
    """Write the weights of a fitted linear ranker to a JSON file, whole or not at all; `load_model` reads it.

    Parameters
    ----------
    ranker : a fitted linear ranker, such as RankRLS or GreedyRankRLS, or a LinearModel
    path : path
        An older file of that name is replaced.
    training : mapping, optional
        Anything worth remembering that JSON can hold, such as the name of the training data. By default nothing; of a
        `LinearModel`, what its file said.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    >>> ranker = rw.RankRLS().fit(queries)
    >>> rw.save_model(ranker, "model.json", training={"data": "made up"})
    >>> (rw.load_model("model.json").coef_ == ranker.coef_).all()
    np.True_
    """
    text = _as_text(_content(ranker, training))
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _content(ranker: Any, training: Mapping[str, Any] | None) -> dict[str, Any]:
    weights = _weights_of(ranker)
    is_model = isinstance(ranker, LinearModel)
    names = getattr(ranker, "feature_names_in_", None)
    told = training if training is not None else ranker.training_ if is_model else {}
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "made_by": f"rankwright {__version__}",
        "ranker": ranker.ranker_ if is_model else type(ranker).__name__,
        "parameters": ranker.parameters_ if is_model else _plain(ranker.get_params(deep=False)),
        "n_features": len(weights),
        "feature_names": None if names is None else list(map(str, names)),
        "intercept": float(getattr(ranker, "intercept_", 0.0)),
        "weights": _pairs(weights),
        "training": _checked_training(told),
    }


def _weights_of(ranker: Any) -> Array:
    name = type(ranker).__name__
    if not isinstance(ranker, LinearRanker):
        why = ": a kernel ranker needs its training data to score with" if hasattr(ranker, "kernel") else ""
        raise ParameterError(f"ranker must be a linear one, such as RankRLS or GreedyRankRLS, not {name}{why}")
    if not hasattr(ranker, "coef_"):
        raise ParameterError(f"ranker: this {name} is not fitted yet: call fit first")
    weights = np.ascontiguousarray(ranker.coef_, dtype=np.float64)
    if not np.isfinite(weights).all() or not math.isfinite(getattr(ranker, "intercept_", 0.0)):
        raise ParameterError(f"ranker: the weights of this {name} are not all finite, so it cannot rank")
    return weights


def _pairs(weights: Array) -> list[tuple[int, float]]:
    """The numbers of the features, from 1, and their weights; all but 0.0, so that −0.0 comes back too."""
    columns = np.flatnonzero(weights.view(np.int64))
    return list(zip((columns + 1).tolist(), weights[columns].tolist(), strict=True))


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it: other objects, such as measures and ``search()``, as their text."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    is_plain = value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_plain else repr(value)


def _checked_training(training: Any) -> Any:
    if not isinstance(training, Mapping):
        raise ParameterError(f"training must be a mapping, such as {{'data': 'train.txt'}}, not {training!r}")
    try:
        return json.loads(json.dumps(dict(training), indent=2, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(f"training: JSON cannot hold it: {error}") from None


def _as_text(content: Mapping[str, Any]) -> str:
    """JSON with a line for each weight."""
    lines = [f'  "{name}": {_field_text(name, value)}' for name, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _field_text(name: str, value: Any) -> str:
    if name == "weights" and value:
        return "[\n    " + ",\n    ".join(map(json.dumps, value)) + "\n  ]"
    return json.dumps(value, indent=2, allow_nan=False).replace("\n", "\n  ")


# Reading


def load_model(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model file; a :class:`ParseError` names the file and what is wrong with it.

    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    >>> rw.save_model(rw.GreedyRankRLS(n_features=5).fit(queries), "model.json")
    >>> rw.load_model("model.json")
    LinearModel(GreedyRankRLS, 20 features, 5 with a weight)
    """
    return _Reader(path).model()


class _Reader:
    """The content of a model file, checked field by field."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._content = self._parsed()

    def model(self) -> LinearModel:
        self._check_format()
        self._check_fields()
        n_features = self._n_features()
        return LinearModel.of(
            self._weights(n_features),
            intercept=self._number(self._content["intercept"], "intercept"),
            feature_names=self._feature_names(n_features),
            ranker=self._text("ranker"),
            parameters=self._object("parameters"),
            training=self._object("training"),
        )

    def _refuse(self, problem: str, *, line: int | None = None, column: int | None = None) -> NoReturn:
        raise ParseError(self._path, problem, line=line, column=column) from None

    # JSON

    def _parsed(self) -> dict[str, Any]:
        try:
            content = json.loads(
                input_file(self._path).read_bytes().decode("utf-8-sig"),
                object_pairs_hook=self._unique,
                parse_float=self._finite,
                parse_int=self._whole_of_text,
                parse_constant=lambda word: self._refuse(f"{word} is no number: all numbers must be finite"),
            )
        except UnicodeDecodeError:
            self._refuse("this is no model file, as it is not UTF-8 text")
        except json.JSONDecodeError as error:
            self._refuse(
                f"this is no model file, as it is not JSON: {error.msg}", line=error.lineno, column=error.colno
            )
        except RecursionError:
            self._refuse("this is no model file: its lists and objects are nested too deeply")
        if not isinstance(content, dict):
            self._refuse("this is no model file: it must be a JSON object, in braces")
        return content

    def _unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = _first_repeated(name for name, _ in pairs)
        if twice is not None:
            self._refuse(f"the field {twice!r} is given twice")
        return dict(pairs)

    def _finite(self, text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            self._refuse(f"{text[:40]} is too large: all numbers must be finite")
        return value

    def _whole_of_text(self, text: str) -> int:
        if len(text) > _MOST_DIGITS:
            self._refuse(f"{text[:40]}… is too large: all numbers must be finite")
        return int(text)

    # The format

    def _check_format(self) -> None:
        if self._content.get("format") != _FORMAT:
            self._refuse(f'this is no model file: it has no "format": "{_FORMAT}"')
        version = self._whole(self._content.get("version"), "version", least=1)
        if version > _VERSION:
            self._refuse(
                f"this model was made by a newer Rankwright: it has version {version} of the format, "
                f"but rankwright {__version__} reads up to version {_VERSION}"
            )

    def _check_fields(self) -> None:
        missing = next((name for name in _FIELDS if name not in self._content), None)
        if missing is not None:
            self._refuse(f"the field {missing!r} is missing")
        extra = next((name for name in self._content if name not in _FIELDS), None)
        if extra is not None:
            self._refuse(f"there is no field {extra!r} in a model file")
        self._text("made_by")

    # Fields

    def _n_features(self) -> int:
        number = self._whole(self._content["n_features"], "n_features", least=0)
        if number > _MOST_FEATURES:
            self._refuse(f"n_features must be at most {_MOST_FEATURES}, not {number}")
        return number

    def _feature_names(self, n_features: int) -> list[str] | None:
        names = self._content["feature_names"]
        if names is None:
            return None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._refuse("feature_names must be null or a list of texts")
        if len(names) != n_features:
            self._refuse(f"feature_names has {len(names)} names for {n_features} features")
        twice = _first_repeated(names)
        if twice is not None:
            self._refuse(f"feature_names: two features are named {twice!r}")
        return names

    def _weights(self, n_features: int) -> Array:
        pairs = self._content["weights"]
        if not isinstance(pairs, list):
            self._refuse("weights must be a list of [feature, weight]")
        weights: dict[int, float] = {}
        for position, pair in enumerate(pairs, start=1):
            what = f"weights, entry {position}"
            if not isinstance(pair, list) or len(pair) != 2:
                self._refuse(f"{what} must be a list [feature, weight] of two numbers")
            feature = self._whole(pair[0], f"{what}: the feature", least=1)
            if feature > n_features:
                self._refuse(f"{what}: there is no feature {feature}, n_features is {n_features}")
            if feature in weights:
                self._refuse(f"{what}: feature {feature} has a weight already")
            weights[feature] = self._number(pair[1], f"{what}: the weight")
        return self._spread(weights, n_features)

    def _spread(self, weights: Mapping[int, float], n_features: int) -> Array:
        try:
            spread = np.zeros(n_features)
        except MemoryError:
            self._refuse(f"there is not enough memory for n_features = {n_features}")
        spread[np.array(list(weights), dtype=np.intp) - 1] = list(weights.values())
        return spread

    # Values

    def _whole(self, value: Any, what: str, *, least: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self._refuse(f"{what} must be a whole number of at least {least}, not {_shown(value)}")
        return value

    def _number(self, value: Any, what: str) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            self._refuse(f"{what} must be a number, not {_shown(value)}")
        try:
            return float(value)
        except OverflowError:
            self._refuse(f"{what} is too large: all numbers must be finite")

    def _text(self, name: str) -> str:
        value = self._content[name]
        if not isinstance(value, str) or not value:
            self._refuse(f"{name} must be a text, not {_shown(value)}")
        return value

    def _object(self, name: str) -> dict[str, Any]:
        value = self._content[name]
        if not isinstance(value, dict):
            self._refuse(f"{name} must be an object, not {_shown(value)}")
        return value


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _shown(value: Any) -> str:
    """A value as it stands in the file, cut short."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
