"""`ModelReader`: a model file, checked field by field."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from rankwright._version import __version__
from rankwright.checks import is_number, is_whole
from rankwright.data.fingerprints import Fingerprints, sketched
from rankwright.data.paths import input_file
from rankwright.data.width import MOST_FEATURES
from rankwright.errors import ParseError
from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import Filling
from rankwright.preparation.transforms import Log, Quantile, Transform
from rankwright.rankers.linear_model import LinearModel
from rankwright.rankers.standardisation import Standardisation
from rankwright.rankers.stump_model import StumpModel
from rankwright.types import Array

FORMAT = "rankwright-model"
VERSION = 3  # of models with transforms or missing values
_SCALED_VERSION = 2  # of models behind a scaler; all others are written as version 1, which older readers know
_FIELDS = ("format", "version", "made_by", "ranker", "parameters", "n_features", "feature_names", "training")
_LINEAR_FIELDS = ("intercept", "weights")
_SCALED_FIELDS = (*_LINEAR_FIELDS, "standardisation")
_PREPARED_FIELDS = (*_LINEAR_FIELDS, "transforms", "filling", "missing")
_FIELDS_OF_VERSION = {1: _LINEAR_FIELDS, _SCALED_VERSION: _SCALED_FIELDS, VERSION: _PREPARED_FIELDS}
_STUMP_FIELDS = ("stumps",)
_OPTIONAL_FIELDS = ("seen",)
_MOST_NUMBERED = 2**31 - 1  # as many as text and Parquet can number
# A linear model holds a number for each of its features, so a few bytes of a file could ask for gigabytes. So many
# features it may have anyway, as zeros that are never touched take no memory, and fewer with scales, which are not 0,
# or with missing values, which are looked at together;
# beyond that so many for each one that has a weight.
_FREE_FEATURES, _FREE_SCALED_FEATURES, _FEATURES_PER_WEIGHT = MOST_FEATURES, 2**24, 1000
_MOST_DIGITS = 309  # of a whole number that is finite as float64
_ROUNDING = 1e-9  # of the heights of a quantile transform
_FILLINGS = {"mean": False, "query-mean": True}  # whether it goes by the query


def version_of(learned: Mapping[str, Any]) -> int:
    """The version of the format that what a model has learned is written in: the oldest that has a place for it."""
    if "transforms" in learned:
        return VERSION
    return _SCALED_VERSION if "standardisation" in learned else 1


def excess_of_features(n_features: int, n_weights: int, version: int) -> str | None:
    """Why a linear model of so many features, some with a weight, is neither written nor read; None if it is."""
    free = _FREE_FEATURES if version == 1 else _FREE_SCALED_FEATURES
    if n_features <= max(free, _FEATURES_PER_WEIGHT * n_weights):
        return None
    return (
        f"n_features is {n_features:,}, which takes {8 * n_features / 1e9:,.1f} GB of memory, but {n_weights:,} of "
        f"them have a weight: with more than {free:,} features, one in {_FEATURES_PER_WEIGHT:,} must have one. "
        "Number the features that are used from 1 on"
    )


class ModelReader:
    """The content of a model file; what does not follow the format is a :class:`ParseError`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._content = self._parsed()

    def model(self) -> LinearModel | StumpModel:
        """The model that the file holds."""
        self._check_format()
        self._check_fields()
        n_features = self._n_features()
        names = self._feature_names(n_features)
        about: dict[str, Any] = {
            "ranker": self._text("ranker"),
            "parameters": self._object("parameters"),
            "training": self._object("training"),
            "feature_names": names,
        }
        model: LinearModel | StumpModel
        if self._has_stumps:
            model = StumpModel.of(*self._stumps(n_features), n_features=n_features, **about)
        else:
            formula = self._formula(n_features)
            model = LinearModel.of(formula, standardisation=self._standardisation(n_features), **about)
        if "seen" in self._content:
            model._seen_queries = self._seen()
        return model

    def _seen(self) -> dict[str, list[Fingerprints]]:
        """What the model knows of the queries that it was trained on and chosen by."""
        seen: dict[str, list[Fingerprints]] = {"train": [], "valid": []}
        for role, sketch in self._object("seen").items():
            try:
                seen[role].append(sketched(sketch))
            except (KeyError, TypeError, ValueError):
                self._refuse(f"seen, {role!r}: expected 'train' or 'valid', with fingerprints in hexadecimal digits")
        return seen

    @property
    def _has_stumps(self) -> bool:
        return "stumps" in self._content

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
        if self._content.get("format") != FORMAT:
            self._refuse(f'this is no model file: it has no "format": "{FORMAT}"')
        version = self._whole(self._content.get("version"), "version", least=1)
        if version > VERSION:
            self._refuse(
                f"this model was made by a newer Rankwright: it has version {version} of the format, "
                f"but rankwright {__version__} reads up to version {VERSION}"
            )

    def _check_fields(self) -> None:
        linear = _FIELDS_OF_VERSION[self._content["version"]]
        fields = (*_FIELDS, *(_STUMP_FIELDS if self._has_stumps else linear))
        missing = next((name for name in fields if name not in self._content), None)
        if missing is not None:
            self._refuse(f"the field {missing!r} is missing")
        extra = next((name for name in self._content if name not in (*fields, *_OPTIONAL_FIELDS)), None)
        if extra is not None:
            kind = " with stumps" if self._has_stumps else f" of version {self._content['version']}"
            self._refuse(f"there is no field {extra!r} in a model file{kind}")
        self._text("made_by")

    # Fields

    def _n_features(self) -> int:
        number = self._whole(self._content["n_features"], "n_features", least=0)
        if number > _MOST_NUMBERED:
            self._refuse(f"n_features must be at most {_MOST_NUMBERED}, not {number}")
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

    def _formula(self, n_features: int) -> Formula:
        weights, intercept = self._weights(n_features), self._number(self._content["intercept"], "intercept")
        if self._content["version"] < VERSION:
            return Formula(weights, intercept)
        return Formula(weights, intercept, self._transforms(n_features), *self._missing(n_features))

    def _transforms(self, n_features: int) -> dict[int, Transform]:
        entries = self._list("transforms", "of [feature, name, numbers …]")
        transforms: dict[int, Transform] = {}
        for position, entry in enumerate(entries, start=1):
            what = f"transforms, entry {position}"
            if not isinstance(entry, list) or len(entry) < 2:
                self._refuse(f"{what} must be a list [feature, name, numbers …]")
            column = self._feature(entry[0], what, n_features) - 1
            if column in transforms:
                self._refuse(f"{what}: feature {column + 1} has a transform already")
            transforms[column] = self._transform(entry[1:], what)
        return transforms

    def _transform(self, entry: list[Any], what: str) -> Transform:
        if entry[0] == Log.name and len(entry) == 2:
            unit = self._number(entry[1], f"{what}: the unit")
            if unit <= 0:
                self._refuse(f"{what}: the unit must be above 0, not {unit:g}")
            return Log(unit)
        if entry[0] != Quantile.name or len(entry) != 3:
            self._refuse(f'{what}: expected "log" and a unit, or "quantile", a list of knots and a list of heights')
        knots, heights = (self._numbers(numbers, what) for numbers in entry[1:])
        if len(knots) < 2 or len(knots) != len(heights):
            self._refuse(f"{what}: a quantile transform has at least two knots, and a height for each")
        with np.errstate(over="ignore", invalid="ignore"):
            widths, rises = np.diff(knots), np.diff(heights)
            is_finite = np.isfinite([widths, rises, rises / np.where(widths > 0, widths, 1.0)]).all()
        if not (widths > 0).all() or not (rises > 0).all():
            self._refuse(f"{what}: knots must ascend, and so must heights")
        if not is_finite:
            self._refuse(f"{what}: a line from knot to knot is too long or too steep for float64")
        if abs(np.interp(0.0, knots, heights)) > _ROUNDING * (heights[-1] - heights[0]):
            self._refuse(f"{what}: a quantile transform must take 0 to 0, as features that are not stored are 0")
        return Quantile(tuple(knots), tuple(heights))

    def _missing(self, n_features: int) -> tuple[Filling | None, Array | None]:
        """What stands for missing values, and what being missing adds to the score."""
        by = self._content["filling"]
        if by is None and not self._list("missing", "of [feature, value, score]"):
            return None, None
        if not isinstance(by, str) or by not in _FILLINGS:
            self._refuse(
                f"filling must be one of {', '.join(_FILLINGS)}, or null if missing is empty, not {_shown(by)}"
            )
        values: dict[int, float] = {}
        scores: dict[int, float] = {}
        for _, feature, (value, score) in self._entries("missing", ("value", "score"), n_features):
            values[feature], scores[feature] = value, score
        return Filling(self._spread(values, n_features), _FILLINGS[by]), self._spread(scores, n_features)

    def _list(self, name: str, of: str) -> list[Any]:
        entries = self._content[name]
        if not isinstance(entries, list):
            self._refuse(f"{name} must be a list {of}")
        return entries

    def _numbers(self, values: Any, what: str) -> list[float]:
        if not isinstance(values, list):
            self._refuse(f"{what} must have lists of numbers, not {_shown(values)}")
        return [self._number(value, what) for value in values]

    def _entries(
        self, name: str, numbers: Sequence[str], n_features: int, *, repeats: bool = False
    ) -> Iterator[tuple[str, int, list[float]]]:
        """Each entry of a list of [feature, numbers …]: where it stands, its feature, counted from 1, and its numbers.

        A feature is listed once, unless it ``repeats``.
        """
        form = f"[feature, {', '.join(numbers)}]"
        seen: set[int] = set()
        for position, entry in enumerate(self._list(name, f"of {form}"), start=1):
            what = f"{name}, entry {position}"
            if not isinstance(entry, list) or len(entry) != 1 + len(numbers):
                self._refuse(f"{what} must be a list {form} of {1 + len(numbers)} numbers")
            feature = self._feature(entry[0], what, n_features)
            if feature in seen and not repeats:
                self._refuse(f"{what}: feature {feature} is listed already")
            seen.add(feature)
            values = zip(entry[1:], numbers, strict=True)
            yield what, feature, [self._number(value, f"{what}: the {number}") for value, number in values]

    def _weights(self, n_features: int) -> Array:
        weights = {feature: weight for _, feature, (weight,) in self._entries("weights", ("weight",), n_features)}
        excess = excess_of_features(n_features, len(weights), self._content["version"])
        if excess is not None:
            self._refuse(excess)
        return self._spread(weights, n_features)

    def _spread(self, weights: Mapping[int, float], n_features: int) -> Array:
        spread = np.zeros(n_features)
        spread[np.array(list(weights), dtype=np.intp) - 1] = list(weights.values())
        return spread

    def _standardisation(self, n_features: int) -> Standardisation | None:
        if "standardisation" not in self._content:
            return None
        means: dict[int, float] = {}
        scales = np.ones(n_features)
        for what, feature, (mean, scale) in self._entries("standardisation", ("mean", "scale"), n_features):
            if scale <= 0:
                self._refuse(f"{what}: the scale must be above 0, not {scale:g}")
            means[feature], scales[feature - 1] = mean, scale
        return Standardisation(self._spread(means, n_features), scales)

    def _stumps(self, n_features: int) -> tuple[npt.NDArray[np.intp], Array, Array]:
        """Features from 0, thresholds and weights."""
        entries = self._entries("stumps", ("threshold", "weight"), n_features, repeats=True)
        stumps = [(feature - 1, threshold, weight) for _, feature, (threshold, weight) in entries]
        features, thresholds, weights = np.array(stumps, dtype=np.float64).reshape(-1, 3).T
        return features.astype(np.intp), thresholds.copy(), weights.copy()

    def _feature(self, value: Any, what: str, n_features: int) -> int:
        feature = self._whole(value, f"{what}: the feature", least=1)
        if feature > n_features:
            self._refuse(f"{what}: there is no feature {feature}, n_features is {n_features}")
        return feature

    # Values

    def _whole(self, value: Any, what: str, *, least: int) -> int:
        if not is_whole(value) or value < least:
            self._refuse(f"{what} must be a whole number of at least {least}, not {_shown(value)}")
        return value

    def _number(self, value: Any, what: str) -> float:
        if not is_number(value):
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
