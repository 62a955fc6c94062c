"""RankLib's text, which Elasticsearch's and OpenSearch's ``model/ranklib`` take too, in float64."""

from __future__ import annotations

from rankwright.errors import ParameterError
from rankwright.export.content import Feature, Linear, Stumps, check_distinct

_MOST = 2**31 - 1  # of Java's int


def to_ranklib(content: Linear | Stumps, mapped: frozenset[str] = frozenset()) -> str:
    """Weights as "Linear Regression", stumps as "RankBoost": features by number, counted from 1.

    Names that are ``mapped`` are the numbers that RankLib is to know features by.
    """
    numbers = [feature_number(feature, mapped) for feature in content.features]
    check_distinct(map(str, numbers))
    if isinstance(content, Stumps):
        of = dict(zip(content.features, numbers, strict=True))
        stumps = [f"{of[feature]}:{stump.threshold!r}:{stump.weight!r}" for feature, stump in content.each()]
        return f"## RankBoost\n## Iteration = {len(stumps)}\n{' '.join(stumps)}\n"
    linear = content.folded
    pairs = [f"{number}:{weight!r}" for number, weight in zip(numbers, linear.weights, strict=True)]
    # RankLib takes as many features as there are pairs but one, so the intercept is there even if it is 0.
    return f"## Linear Regression\n## Lambda = 0.0\n{' '.join(pairs)} 0:{linear.intercept!r}\n"


def feature_number(feature: Feature, mapped: frozenset[str]) -> int:
    """The number that RankLib is to know a feature by."""
    if feature.name not in mapped:
        return feature.number
    if not (feature.name.isascii() and feature.name.isdigit() and 1 <= int(feature.name[:20]) <= _MOST):
        raise ParameterError(
            f"features: RankLib knows features by number, so feature {feature.number} must be mapped to one, "
            f"such as '7', not to {feature.name!r}"
        )
    return int(feature.name)
