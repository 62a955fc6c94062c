"""What a report must hold: `SHAPE`, and `checked`, which names the place of whatever differs from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwright.checks import is_number, is_whole
from rankwright.errors import ParameterError


@dataclass(frozen=True)
class _Maybe:
    """Null, left out, or of a shape."""

    shape: Any


@dataclass(frozen=True)
class _Named:
    """Names that are not known beforehand, each with something of a shape."""

    shape: Any


_INTERVAL = (float, float)
_PLACES = (int, int)  # first and last: tied documents may stand at any place between
_CERTIFICATE = _Maybe(
    {"bound": float, "delta": float, "method": str, "n_queries": int, "guaranteed": bool, "doubts": [str]}
)
_ESTIMATE = {"mean": float, "interval": _Maybe(_INTERVAL), "standard_error": _Maybe(float)}
_DOCUMENT = {
    "document": str,
    "grade": float,
    "ranks": _PLACES,
    "baseline_ranks": _PLACES,
    "ideal_ranks": _PLACES,
    "score": float,
    "contributions": [(str, float)],
}
_STEP = {
    "features": int,
    "cost": _Maybe(float),
    "mean": float,
    "error": _Maybe(float),
    "selected": [str],
    "shared": _Maybe(float),  # of these, how many the rankers that were judged had, where each had its own
}
_PREPARED = {"name": str, "transform": str, "missing_share": float, "where_missing": _Maybe(str)}
_PREPARATION = {
    "chosen": str,
    "tried": [{"name": str, "mean": float, "standard_error": _Maybe(float), "is_chosen": bool}],
    "features": [_PREPARED],
}
_BESIDE_LINEAR = {
    "ranker": str,
    "kind": str,
    "setting": str,
    "mean": float,
    "difference": _Maybe(float),  # from the best linear ranker: the mean, its interval and a test
    "interval": _Maybe(_INTERVAL),
    "p_value": _Maybe(float),
    "seconds": float,  # to score so many documents
    "features": int,
    "targets": [str],  # that the model can be exported to
    "is_chosen": bool,
}
_QUERY = {"query": str, "value": float, "baseline": float, "documents": [_DOCUMENT]}

# Types stand for themselves (float: any finite number), sets for one of several texts, [shape] for a list of any
# length, (shape, shape) for two values.
SHAPE = {
    "title": str,
    "measure": str,
    "lower_is_better": bool,
    "convention": str,
    "evaluated_on": {"test", "validation", "cross-validation"},
    "rule": _Maybe({"one-standard-error", "best"}),
    "n_queries": int,
    "n_features": _Maybe(int),
    "chosen": str,
    "baseline": str,
    "summary": {
        "mean": float,
        "interval": _INTERVAL,
        "baseline_mean": float,
        "gain": float,  # above 0 is an improvement, whichever way the measure runs
        "gain_interval": _INTERVAL,
        "p_value": _Maybe(float),
        "nothing_learned": _Maybe(str),  # why, if it is so
        "certificate": _CERTIFICATE,
        "gain_certificate": _CERTIFICATE,
    },
    "cost": _Maybe(
        {
            "features": int,
            "of_features": _Maybe(float),  # of those used, where costs were given
            "of_all_features": _Maybe(float),
            "seconds": float,  # to score so many documents: the median of so many calls
            "documents": int,
            "calls": int,
        }
    ),
    "leaderboard": [
        {
            "ranker": str,
            "alpha": _Maybe(float),
            "features": int,
            "held_out": _Maybe(_ESTIMATE),
            "test": _Maybe(_ESTIMATE),
            "p_value": _Maybe(float),
            "is_best": bool,
            "is_chosen": bool,
            "note": _Maybe(str),
        }
    ],
    "beyond_linear": _Maybe({"linear": str, "documents": int, "rows": [_BESIDE_LINEAR]}),
    "left_out": [{"ranker": str, "reason": str}],
    "alpha_paths": [{"ranker": str, "alphas": [float], "means": [float], "errors": [_Maybe(float)], "chosen": int}],
    "feature_path": _Maybe({"points": [_STEP], "chosen": int, "has_costs": bool}),
    "preparation": _Maybe(_PREPARATION),
    "formula": _Maybe(str),  # if the ranker is a short one
    "no_weights": _Maybe(str),  # why there are none, if the ranker has no weights by its nature
    "weights": [{"feature": str, "weight": float, "importance": float}],
    "queries": {
        "ids": [str],
        "chosen": [_Maybe(float)],
        "baseline": [_Maybe(float)],
        "documents": [int],
        "relevant": [int],  # how many of these are relevant
    },
    "worst": [_QUERY],
    "improved": [_QUERY],
    "harmed": [_QUERY],
    "health": {"facts": [(str, str)], "findings": [{"level": {"warning", "note"}, "text": str}]},
    "reproduce": {
        "command": _Maybe(str),
        "versions": _Named(str),
        "data": [
            {
                "role": {"train", "valid", "test"},
                "name": str,
                "sha256": str,
                "queries": int,
                "documents": int,
                "groups": _Maybe({"name": str, "sha256": str}),  # the file of group sizes beside it
            }
        ],
        "seed": int,
    },
}


def checked(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report with every key of `SHAPE`, where what was left out is None."""
    result: dict[str, Any] = _checked(report, SHAPE, "")
    _check_lengths(result["queries"], "queries", "ids", "chosen", "baseline", "documents", "relevant")
    for i, path in enumerate(result["alpha_paths"]):
        _check_lengths(path, f"alpha_paths[{i}]", "alphas", "means", "errors")
        _check_index(path["chosen"], len(path["alphas"]), f"alpha_paths[{i}].chosen")
    if result["feature_path"]:
        _check_index(result["feature_path"]["chosen"], len(result["feature_path"]["points"]), "feature_path.chosen")
    _check_gain(result["summary"], result["lower_is_better"])
    return result


def _checked(value: Any, shape: Any, place: str) -> Any:
    match shape:
        case _Maybe():
            return None if value is None else _checked(value, shape.shape, place)
        case _Named():
            _demand(isinstance(value, Mapping), value, "an object", place)
            return {str(key): _checked(item, shape.shape, f"{place}.{key}") for key, item in value.items()}
        case dict():
            return _checked_object(value, shape, place)
        case list():
            _demand(isinstance(value, Sequence) and not isinstance(value, str), value, "a list", place)
            return [_checked(item, shape[0], f"{place}[{i}]") for i, item in enumerate(value)]
        case tuple():
            pair = isinstance(value, Sequence) and not isinstance(value, str) and len(value) == len(shape)
            _demand(pair, value, f"a list of {len(shape)}", place)
            parts = zip(value, shape, strict=True)
            return [_checked(item, part, f"{place}[{i}]") for i, (item, part) in enumerate(parts)]
        case set():
            _demand(isinstance(value, str) and value in shape, value, " or ".join(map(repr, sorted(shape))), place)
            return value
    return _checked_value(value, shape, place)


def _checked_object(value: Any, shape: Mapping[str, Any], place: str) -> dict[str, Any]:
    _demand(isinstance(value, Mapping), value, "an object", place)
    for key, part in shape.items():
        if key not in value and not isinstance(part, _Maybe):
            raise ParameterError(f"report: {_joined(place, key)} is missing")
    return {key: _checked(value.get(key), part, _joined(place, key)) for key, part in shape.items()}


def _checked_value(value: Any, kind: type, place: str) -> Any:
    if kind is float:
        _demand(is_number(value) and math.isfinite(value), value, "a finite number", place)
        return float(value)
    if kind is int:
        _demand(is_whole(value), value, "a whole number", place)
        return int(value)
    _demand(isinstance(value, kind), value, {str: "a text", bool: "true or false"}[kind], place)
    return value


def _joined(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _demand(is_met: bool, value: Any, expected: str, place: str) -> None:
    if not is_met:
        raise ParameterError(f"report: {place or 'it'} must be {expected}, not {value!r:.60}")


def _check_lengths(part: Mapping[str, Any], place: str, *keys: str) -> None:
    lengths = {key: len(part[key]) for key in keys}
    if len(set(lengths.values())) > 1:
        raise ParameterError(f"report: the lists of {place} differ in length: {lengths}")


def _check_index(index: int, length: int, place: str) -> None:
    if not 0 <= index < length:
        raise ParameterError(f"report: {place} is {index}, and there are {length} points")


def _check_gain(summary: Mapping[str, Any], lower_is_better: bool) -> None:
    """A loss must not be told as a gain because a difference was taken the wrong way round."""
    better_by = summary["mean"] - summary["baseline_mean"]
    if lower_is_better:
        better_by = -better_by
    if better_by * summary["gain"] < 0 and min(abs(better_by), abs(summary["gain"])) > 1e-9:
        raise ParameterError(
            f"report: summary.gain is {summary['gain']:g}, but the chosen ranker is better by {better_by:g}; "
            "a gain above 0 is an improvement, whichever way the measure runs"
        )
