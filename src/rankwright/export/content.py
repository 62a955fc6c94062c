"""What every target is written from: the features that a model uses, and what it does with them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

from rankwright.errors import ParameterError
from rankwright.models.learned import Stumps as StumpArrays
from rankwright.models.model import Model
from rankwright.preparation.formula import Formula
from rankwright.preparation.transforms import Transform

_NUMBERED = re.compile("f([1-9][0-9]{0,18})")  # what a feature without a name is called


@dataclass(frozen=True)
class Feature:
    """A feature that a model uses: its number, counted from 1, and what the target calls it."""

    number: int
    name: str


@dataclass(frozen=True)
class Content:
    """What a model does with the features that it uses. A target has a writer for each kind that it can compute.

    ``computes`` names the kind in the message to those whose target has none.
    """

    computes: ClassVar[str]

    features: tuple[Feature, ...]


@dataclass(frozen=True)
class Scaled:
    """(x − mean) / scale, of one feature."""

    mean: float
    scale: float


@dataclass(frozen=True)
class WhereMissing:
    """weight · value + score, which stand for weight · T(x) where x is missing."""

    value: float
    score: float


@dataclass(frozen=True)
class Term:
    """weight · T(x) of one feature, with what stands for it where x is missing, if that is known."""

    feature: Feature
    weight: float
    transform: Transform | None
    missing: WhereMissing | None

    @property
    def default(self) -> float:
        """The x that scores as a missing one does, in a model without transforms; infinite if there is none."""
        if self.missing is None:
            return 0.0
        if self.missing.score == 0:
            return self.missing.value
        return self.missing.value + self.missing.score / self.weight if self.weight else math.inf


@dataclass(frozen=True)
class Linear(Content):
    """Σ_j weight_j · T_j(x_j) + intercept; where there is ``scaling``, x_j goes through it first.

    ``transforms`` and ``missing`` are empty in a model without them. With ``by_query``, the mean of T_j over the
    documents of the query that have x_j stands for a missing value, if there are any.
    """

    computes: ClassVar[str] = "weighted sums of features"

    weights: tuple[float, ...]
    intercept: float
    scaling: tuple[Scaled, ...] | None = None
    unscaled: Linear | None = None
    transforms: tuple[Transform | None, ...] = ()
    missing: tuple[WhereMissing, ...] = ()
    by_query: bool = False

    @property
    def folded(self) -> Linear:
        """The same scores without scaling, for targets that have none."""
        return self if self.unscaled is None else self.unscaled

    @property
    def is_plain(self) -> bool:
        """Whether there are no transforms, and nothing is known of missing values."""
        return not self.missing and not any(self.transforms)

    def terms(self) -> list[Term]:
        """Each feature with all that is known of it, without scaling."""
        linear = self.folded
        n = len(linear.features)
        return [
            Term(*parts)
            for parts in zip(
                linear.features,
                linear.weights,
                linear.transforms or (None,) * n,
                linear.missing or (None,) * n,
                strict=True,
            )
        ]


@dataclass(frozen=True)
class Stump:
    """weight · [x > threshold]."""

    threshold: float
    weight: float


@dataclass(frozen=True)
class Stumps(Content):
    """Σ_j Σ_t weight_t · [x_j > threshold_t]; the thresholds of each feature ascend."""

    computes: ClassVar[str] = "sums of stumps"

    stumps: tuple[tuple[Stump, ...], ...]

    def each(self) -> Iterable[tuple[Feature, Stump]]:
        """Every stump with its feature."""
        return ((feature, stump) for feature, own in zip(self.features, self.stumps, strict=True) for stump in own)

    def steps(self) -> list[tuple[float, ...]]:
        """For each feature, what it adds to the score when it is above 0, 1, 2, … of its thresholds."""
        return [tuple(accumulate((stump.weight for stump in own), initial=0.0)) for own in self.stumps]


def linear_content(model: Model, raw: Formula, names: Mapping[str, str] | None) -> Linear:
    """What a formula computes."""
    used = raw.used  # not those of −0.0
    check_ranks(used)
    features = renamed(used.tolist(), model, names)
    weights, filling, extra = tuple(raw.weights[used].tolist()), raw.filling, raw.extra
    unscaled = Linear(
        features,
        weights,
        raw.intercept,
        transforms=tuple(raw.transforms.get(int(j)) for j in used) if raw.transforms else (),
        missing=() if filling is None else tuple(WhereMissing(float(filling.values[j]), float(extra[j])) for j in used),
        by_query=filling is not None and filling.by_query,
    )
    behind = model.behind_scaler()
    if behind is None:
        return unscaled
    scaled, by = behind
    scaling = tuple(Scaled(float(by.mean[j]), float(by.scale[j])) for j in used)
    return Linear(features, tuple(scaled.weights[used].tolist()), scaled.intercept, scaling, unscaled)


def stumps_content(model: Model, learned: StumpArrays, names: Mapping[str, str] | None) -> Stumps:
    """Stumps of one feature and threshold, which rounds may choose again and again, are one with all their weight."""
    rounds: dict[tuple[int, float], list[float]] = defaultdict(list)
    for column, threshold, weight in zip(*(values.tolist() for values in learned), strict=True):
        rounds[column, threshold].append(weight)
    stumps: dict[int, list[Stump]] = defaultdict(list)
    for (column, threshold), weights in sorted(rounds.items()):
        if weight := math.fsum(weights):
            stumps[column].append(Stump(threshold, weight))
    check_ranks(stumps)
    features = renamed(list(stumps), model, names)
    return Stumps(features, tuple(map(tuple, stumps.values())))


def check_ranks(used: Sized) -> None:
    """Refuse a model that uses no feature."""
    if len(used) == 0:
        raise ParameterError("model: no feature has a weight, so the model cannot rank documents: train another one")


# Names


def renamed(columns: list[int], model: Any, names: Mapping[str, str] | None) -> tuple[Feature, ...]:
    """The features of these columns, with the names that the target knows them by."""
    known = _Names(model)
    other = _checked_map(names, known)
    features = tuple(Feature(column + 1, other.get(known[column], known[column])) for column in columns)
    for feature in features:
        check_text(feature.name, f"the name of feature {feature.number}")
    check_distinct(feature.name for feature in features)
    return features


class _Names:
    """What a model calls its features. Those without names are f1, f2, …, which are not all written out."""

    def __init__(self, model: Any) -> None:
        self._n: int = model.n_features_in_
        self._own = list(map(str, getattr(model, "feature_names_in_", ())))
        self._known = frozenset(self._own)

    def __getitem__(self, column: int) -> str:
        return self._own[column] if self._own else f"f{column + 1}"

    def __contains__(self, name: Any) -> bool:
        if self._own:
            return name in self._known
        number = _NUMBERED.fullmatch(name) if isinstance(name, str) else None
        return number is not None and int(number[1]) <= self._n

    def shown(self) -> str:
        """The first few."""
        return ", ".join(repr(self[column]) for column in range(min(3, self._n))) + ", …" * (self._n > 3)


def _checked_map(names: Any, known: _Names) -> Mapping[str, str]:
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise ParameterError(f"features must map names of features to those of the target, not {names!r}")
    for name, other in names.items():
        if name not in known:
            raise ParameterError(f"features: the model has no feature {name!r}, but {known.shown()}")
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
