"""What every target is written from: the features that a model uses, and what it does with them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from rankwright.errors import ParameterError
from rankwright.rankers.base import LinearRanker
from rankwright.rankers.standardisation import Standardisation, folded, standardisation_of
from rankwright.rankers.stump_model import StumpRanker


@dataclass(frozen=True)
class Feature:
    """A feature that a model uses: its number, counted from 1, and what the target calls it."""

    number: int
    name: str


@dataclass(frozen=True)
class Scaled:
    """(x − mean) / scale, of one feature."""

    mean: float
    scale: float


@dataclass(frozen=True)
class Linear:
    """Σ_j weight_j · x_j + intercept; where there is ``scaling``, x_j goes through it first."""

    features: tuple[Feature, ...]
    weights: tuple[float, ...]
    intercept: float
    scaling: tuple[Scaled, ...] | None

    def folded(self) -> Linear:
        """The same scores without scaling, for targets that have none."""
        if self.scaling is None:
            return self
        by = Standardisation(*(np.array([getattr(one, part) for one in self.scaling]) for part in ("mean", "scale")))
        weights, intercept = folded(np.array(self.weights), self.intercept, by)
        return Linear(self.features, tuple(weights.tolist()), intercept, None)


@dataclass(frozen=True)
class Stump:
    """weight · [x > threshold]."""

    threshold: float
    weight: float


@dataclass(frozen=True)
class Stumps:
    """Σ_j Σ_t weight_t · [x_j > threshold_t]; the thresholds of each feature ascend."""

    features: tuple[Feature, ...]
    stumps: tuple[tuple[Stump, ...], ...]

    def each(self) -> Iterable[tuple[Feature, Stump]]:
        """Every stump with its feature."""
        return ((feature, stump) for feature, own in zip(self.features, self.stumps, strict=True) for stump in own)

    def steps(self) -> list[tuple[float, ...]]:
        """For each feature, what it adds to the score when it is above 0, 1, 2, … of its thresholds."""
        return [tuple(accumulate((stump.weight for stump in own), initial=0.0)) for own in self.stumps]


def content_of(model: Any, scaler: Any, names: Mapping[str, str] | None) -> Linear | Stumps:
    """What a model computes, checked: all numbers are finite, and some feature counts."""
    if not isinstance(model, LinearRanker | StumpRanker):
        why = ": a kernel ranker needs its training data to score with" if hasattr(model, "kernel") else ""
        raise ParameterError(
            "model must be a fitted linear ranker or RankBoost, or what load_model reads, "
            f"not {type(model).__name__}{why}"
        )
    if not hasattr(model, "coef_" if isinstance(model, LinearRanker) else "stump_weights_"):
        raise ParameterError(f"model: this {type(model).__name__} is not fitted yet: call fit first")
    standardisation = standardisation_of(model, scaler)
    known = _names_of(model)
    if isinstance(model, StumpRanker):
        return _stumps(model, known, names)
    return _linear(model, standardisation, known, names)


def _linear(model: Any, by: Standardisation | None, known: list[str], names: Mapping[str, str] | None) -> Linear:
    weights, intercept = model.coef_, float(getattr(model, "intercept_", 0.0))
    used = np.flatnonzero(weights)  # not those of −0.0
    _check_numbers(used, weights, intercept, *(by or ()))
    features = _renamed(used.tolist(), known, names)
    scaling = None if by is None else tuple(Scaled(float(by.mean[j]), float(by.scale[j])) for j in used)
    return Linear(features, tuple(weights[used].tolist()), intercept, scaling)


def _stumps(model: Any, known: list[str], names: Mapping[str, str] | None) -> Stumps:
    """Stumps of one feature and threshold, which rounds may choose again and again, are one with all their weight."""
    _check_numbers(model.stump_features_, model.stump_thresholds_, model.stump_weights_)
    columns = (model.stump_features_.tolist(), model.stump_thresholds_.tolist(), model.stump_weights_.tolist())
    rounds: dict[tuple[int, float], list[float]] = defaultdict(list)
    for column, threshold, weight in zip(*columns, strict=True):
        rounds[column, threshold].append(weight)
    stumps: dict[int, list[Stump]] = defaultdict(list)
    for (column, threshold), weights in sorted(rounds.items()):
        if weight := math.fsum(weights):
            stumps[column].append(Stump(threshold, weight))
    _check_numbers(list(stumps))
    features = _renamed(list(stumps), known, names)
    return Stumps(features, tuple(map(tuple, stumps.values())))


def _check_numbers(used: Any, *numbers: Any) -> None:
    if not all(np.isfinite(values).all() for values in numbers):
        raise ParameterError("model: its numbers are not all finite, so it cannot rank")
    if len(used) == 0:
        raise ParameterError("model: no feature has a weight, so it cannot rank")


# Names


def _names_of(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    return [f"f{number}" for number in range(1, model.n_features_in_ + 1)] if names is None else list(map(str, names))


def _renamed(columns: list[int], known: list[str], names: Mapping[str, str] | None) -> tuple[Feature, ...]:
    """The features of these columns, with the names that the target knows them by."""
    renamed = _checked_map(names, known)
    features = tuple(Feature(column + 1, renamed.get(known[column], known[column])) for column in columns)
    for feature in features:
        check_text(feature.name, f"the name of feature {feature.number}")
    check_distinct(feature.name for feature in features)
    return features


def _checked_map(names: Any, known: list[str]) -> Mapping[str, str]:
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise ParameterError(f"features must map names of features to those of the target, not {names!r}")
    everything = set(known)
    for name, other in names.items():
        if name not in everything:
            shown = ", ".join(map(repr, known[:3])) + ", …" * (len(known) > 3)
            raise ParameterError(f"features: the model has no feature {name!r}, but {shown}")
        if not isinstance(other, str):
            raise ParameterError(f"features: {name!r} must be mapped to a text, not {other!r}")
    return names


def check_text(text: Any, what: str) -> str:
    """Refuse what is no text, empty, or cannot be written as UTF-8."""
    if not isinstance(text, str) or not text:
        raise ParameterError(f"{what} must be a text that is not empty, not {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParameterError(f"{what} is {text!r}, which is half a character: UTF-8 cannot hold it") from None
    return text


def check_distinct(names: Iterable[str], alike: str = "") -> None:
    """Refuse features that the target would take for one."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ParameterError(f"features: two features are named {twice[0]!r}{alike}: rename one by the map of features")
