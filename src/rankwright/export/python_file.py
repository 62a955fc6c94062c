"""Python: a module that needs no other, in float64."""

from __future__ import annotations

from rankwright._version import __version__
from rankwright.export.content import Linear, Stumps


def to_python(content: Linear | Stumps, name: str) -> str:
    """A module with a function ``score``. Names of features stand in it as literals of ASCII, whatever they are."""
    about = f'"""A model that ranks, written by rankwright {__version__}. It needs nothing but Python."""\n'
    return about + (_stumps(content, name) if isinstance(content, Stumps) else _linear(content.folded, name))


def _linear(content: Linear, name: str) -> str:
    pairs = zip(content.features, content.weights, strict=True)
    weights = "".join(f"    {feature.name!a}: {weight!r},\n" for feature, weight in pairs)
    return f'''
NAME = {name!a}
INTERCEPT = {content.intercept!r}
WEIGHTS = {{
{weights}}}


def score(features):
    """The score of a document, the higher the better, from the values of its features by name."""
    return INTERCEPT + sum(weight * features[name] for name, weight in WEIGHTS.items())
'''


def _stumps(content: Stumps, name: str) -> str:
    own = zip(content.features, content.stumps, content.steps(), strict=True)
    steps = "".join(
        f"    {feature.name!a}: ({[stump.threshold for stump in stumps]!r}, {list(reached)!r}),\n"
        for feature, stumps, reached in own
    )
    return f'''
from bisect import bisect_left

NAME = {name!a}
STEPS = {{  # of each feature: thresholds, and what it adds when it is above 0, 1, 2, ... of them
{steps}}}


def score(features):
    """The score of a document, the higher the better, from the values of its features by name."""
    return sum(reached[bisect_left(above, features[name])] for name, (above, reached) in STEPS.items())
'''
