"""`ModelReader`: a model file, checked field by field."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from rankwright._version import __version__
from rankwright.checks import is_number, is_whole
from rankwright.data.fingerprints import Fingerprints, sketched
from rankwright.data.paths import input_file
from rankwright.errors import ParseError
from rankwright.models.kinds import KINDS
from rankwright.models.model import Model
from rankwright.types import Array

FORMAT = "rankwright-model"
VERSION = 4  # the newest; models are written in the oldest that has a place for what they have learned
_FIELDS = ("format", "version", "made_by", "ranker", "parameters", "n_features", "feature_names", "training")
_OPTIONAL_FIELDS = ("seen",)
_MOST_NUMBERED = 2**31 - 1  # as many as text and Parquet can number
_MOST_DIGITS = 309  # of a whole number that is finite as float64


class ModelReader:
    """The content of a model file; what does not follow the format is a :class:`ParseError`.

    Kinds of models read their own fields with it. ``content`` is what the file holds, where that is known already.
    """

    version: int
    n_features: int

    def __init__(self, path: str | os.PathLike[str], content: bytes | None = None) -> None:
        self._path = path
        self.content = self._parsed(input_file(path).read_bytes() if content is None else content)

    def model(self) -> Model:
        """The model that the file holds."""
        self._check_format()
        kind = next((kind for field, kind in KINDS.items() if field in self.content), KINDS["weights"])
        self._check_fields(kind)
        self.n_features = self._n_features()
        names = self._feature_names()
        model = kind.read(
            self,
            ranker=self._text("ranker"),
            parameters=self._object("parameters"),
            training=self._object("training"),
            feature_names=names,
        )
        if "seen" in self.content:
            model._seen_queries = self._seen()
        return model

    def _seen(self) -> dict[str, list[Fingerprints]]:
        """What the model knows of the queries that it was trained on and chosen by."""
        seen: dict[str, list[Fingerprints]] = {"train": [], "valid": []}
        for role, sketch in self._object("seen").items():
            try:
                seen[role].append(sketched(sketch))
            except (KeyError, TypeError, ValueError):
                self.refuse(f"seen, {role!r}: expected 'train' or 'valid', with fingerprints in hexadecimal digits")
        return seen

    def refuse(self, problem: str, *, line: int | None = None, column: int | None = None) -> NoReturn:
        """Say what is wrong with the file."""
        raise ParseError(self._path, problem, line=line, column=column) from None

    # JSON

    def _parsed(self, text: bytes) -> dict[str, Any]:
        try:
            content = json.loads(
                text.decode("utf-8-sig"),
                object_pairs_hook=self._unique,
                parse_float=self._finite,
                parse_int=self._whole_of_text,
                parse_constant=lambda word: self.refuse(f"{word} is no number: all numbers must be finite"),
            )
        except UnicodeDecodeError:
            self.refuse("this is no model file, as it is not UTF-8 text")
        except json.JSONDecodeError as error:
            self.refuse(f"this is no model file, as it is not JSON: {error.msg}", line=error.lineno, column=error.colno)
        except RecursionError:
            self.refuse("this is no model file: its lists and objects are nested too deeply")
        if not isinstance(content, dict):
            self.refuse("this is no model file: it must be a JSON object, in braces")
        return content

    def _unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = _first_repeated(name for name, _ in pairs)
        if twice is not None:
            self.refuse(f"the field {twice!r} is given twice")
        return dict(pairs)

    def _finite(self, text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            self.refuse(f"{text[:40]} is too large: all numbers must be finite")
        return value

    def _whole_of_text(self, text: str) -> int:
        if len(text) > _MOST_DIGITS:
            self.refuse(f"{text[:40]}… is too large: all numbers must be finite")
        return int(text)

    # The format

    def _check_format(self) -> None:
        if self.content.get("format") != FORMAT:
            self.refuse(f'this is no model file: it has no "format": "{FORMAT}"')
        self.version = self.whole(self.content.get("version"), "version", least=1)
        if self.version > VERSION:
            self.refuse(
                f"this model was made by a newer Rankwright: it has version {self.version} of the format, "
                f"but rankwright {__version__} reads up to version {VERSION}"
            )

    def _check_fields(self, kind: type[Model]) -> None:
        known = [version for version in kind.FIELDS if version <= self.version]
        if not known:
            what = next(iter(kind.FIELDS[min(kind.FIELDS)]))
            self.refuse(f"a model with {what} has version {min(kind.FIELDS)} of the format or a later one")
        learned = kind.FIELDS[max(known)]
        fields = (*_FIELDS, *learned)
        missing = next((name for name in fields if name not in self.content), None)
        if missing is not None:
            self.refuse(f"the field {missing!r} is missing")
        extra = next((name for name in self.content if name not in (*fields, *_OPTIONAL_FIELDS)), None)
        if extra is not None:
            what = f"of version {self.version}" if len(kind.FIELDS) > 1 else f"with {learned[0]}"
            self.refuse(f"there is no field {extra!r} in a model file {what}")
        self._text("made_by")

    # Fields

    def _n_features(self) -> int:
        number = self.whole(self.content["n_features"], "n_features", least=0)
        if number > _MOST_NUMBERED:
            self.refuse(f"n_features must be at most {_MOST_NUMBERED}, not {number}")
        return number

    def _feature_names(self) -> list[str] | None:
        names = self.content["feature_names"]
        if names is None:
            return None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self.refuse("feature_names must be null or a list of texts")
        if len(names) != self.n_features:
            self.refuse(f"feature_names has {len(names)} names for {self.n_features} features")
        twice = _first_repeated(names)
        if twice is not None:
            self.refuse(f"feature_names: two features are named {twice!r}")
        return names

    def listed(self, name: str, of: str) -> list[Any]:
        """The field of this name, a list."""
        entries = self.content[name]
        if not isinstance(entries, list):
            self.refuse(f"{name} must be a list {of}")
        return entries

    def numbers(self, values: Any, what: str) -> list[float]:
        """A list of numbers."""
        if not isinstance(values, list):
            self.refuse(f"{what} must have lists of numbers, not {self.shown(values)}")
        return [self.number(value, what) for value in values]

    def entries(
        self, name: str, numbers: Sequence[str], *, repeats: bool = False
    ) -> Iterator[tuple[str, int, list[float]]]:
        """Each entry of a list of [feature, numbers …]: where it stands, its feature, counted from 1, and its numbers.

        A feature is listed once, unless it ``repeats``.
        """
        form = f"[feature, {', '.join(numbers)}]"
        seen: set[int] = set()
        for position, entry in enumerate(self.listed(name, f"of {form}"), start=1):
            what = f"{name}, entry {position}"
            if not isinstance(entry, list) or len(entry) != 1 + len(numbers):
                self.refuse(f"{what} must be a list {form} of {1 + len(numbers)} numbers")
            feature = self.feature(entry[0], what)
            if feature in seen and not repeats:
                self.refuse(f"{what}: feature {feature} is listed already")
            seen.add(feature)
            values = zip(entry[1:], numbers, strict=True)
            yield what, feature, [self.number(value, f"{what}: the {number}") for value, number in values]

    def spread(self, numbers: Mapping[int, float]) -> Array:
        """A number for each feature, 0 for those that have none here; they are counted from 1."""
        spread = np.zeros(self.n_features)
        spread[np.array(list(numbers), dtype=np.intp) - 1] = list(numbers.values())
        return spread

    def feature(self, value: Any, what: str) -> int:
        """The number of a feature, counted from 1."""
        feature = self.whole(value, f"{what}: the feature", least=1)
        if feature > self.n_features:
            self.refuse(f"{what}: there is no feature {feature}, n_features is {self.n_features}")
        return feature

    # Values

    def whole(self, value: Any, what: str, *, least: int) -> int:
        """A whole number, not below the least."""
        if not is_whole(value) or value < least:
            self.refuse(f"{what} must be a whole number of at least {least}, not {self.shown(value)}")
        return value

    def number(self, value: Any, what: str) -> float:
        """A number, as float64."""
        if not is_number(value):
            self.refuse(f"{what} must be a number, not {self.shown(value)}")
        try:
            return float(value)
        except OverflowError:
            self.refuse(f"{what} is too large: all numbers must be finite")

    @staticmethod
    def shown(value: Any) -> str:
        """A value as it stands in the file, cut short."""
        if isinstance(value, list | dict):
            return "a list" if isinstance(value, list) else "an object"
        text = json.dumps(value)
        return text if len(text) <= 40 else f"{text[:39]}…"

    def _text(self, name: str) -> str:
        value = self.content[name]
        if not isinstance(value, str) or not value:
            self.refuse(f"{name} must be a text, not {self.shown(value)}")
        return value

    def _object(self, name: str) -> dict[str, Any]:
        value = self.content[name]
        if not isinstance(value, dict):
            self.refuse(f"{name} must be an object, not {self.shown(value)}")
        return value


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
