"""Python: a module that needs no other, in float64."""

from __future__ import annotations

from rankwright._version import __version__
from rankwright.export.content import Linear, Stumps, WhereMissing
from rankwright.preparation.transforms import Log, Transform

# The text of a function that modules have which transform features.
TRANSFORMED = '''\
def transformed(transform, x):
    """The logarithm of x in units, its place among quantiles, or x itself."""
    if transform is None:
        return x
    if isinstance(transform, float):
        return copysign(log1p(abs(x) / transform), x)
    knots, heights = transform
    if x <= knots[0]:
        return heights[0]
    for low, high, bottom, top in zip(knots, knots[1:], heights, heights[1:]):
        if x < high:
            return bottom + (top - bottom) / (high - low) * (x - low)
    return heights[-1]
'''


def to_python(content: Linear | Stumps, name: str) -> str:
    """A module with a function ``score``. Names of features stand in it as literals of ASCII, whatever they are."""
    about = f'"""A model that ranks, written by rankwright {__version__}. It needs nothing but Python."""\n'
    if isinstance(content, Stumps):
        return about + _stumps(content, name)
    return about + (_linear(content.folded, name) if content.is_plain else _prepared(content, name))


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


def _prepared(content: Linear, name: str) -> str:
    """With transforms and missing values: None, NaN, or no entry at all."""
    terms = "".join(
        f"    {term.feature.name!a}: "
        f"({term.weight!r}, {transform_literal(term.transform)}, {_where_missing(term.missing)}),\n"
        for term in content.terms()
    )
    head = f'''
from math import copysign, isnan, log1p

NAME = {name!a}
INTERCEPT = {content.folded.intercept!r}
TERMS = {{  # of each feature: weight, transform, and what stands for a missing value: value, and what is added
{terms}}}


{TRANSFORMED}

def value(features, name):
    """The feature after its transform; None if it is missing: None, NaN or not there."""
    x = features.get(name)
    return None if x is None or isnan(x) else transformed(TERMS[name][1], x)
'''
    return head + (_BY_QUERY if content.by_query else _BY_DOCUMENT)


_BY_DOCUMENT = '''

def score(features):
    """The score of a document, the higher the better, from the values of its features by name."""
    total = INTERCEPT
    for name, (weight, _, missing) in TERMS.items():
        x = value(features, name)
        if x is not None:
            total += weight * x
        elif missing is None:
            raise ValueError("feature " + repr(name) + " is missing")
        else:
            total += weight * missing[0] + missing[1]
    return total
'''

_BY_QUERY = '''

def scores(documents):
    """The scores of all documents of one query: a missing value counts as the mean of those that are known."""
    totals = [INTERCEPT] * len(documents)
    for name, (weight, _, (otherwise, added)) in TERMS.items():
        values = [value(features, name) for features in documents]
        known = [x for x in values if x is not None]
        mean = sum(known) / len(known) if known else otherwise
        for place, x in enumerate(values):
            totals[place] += weight * mean + added if x is None else weight * x
    return totals
'''


def transform_literal(transform: Transform | None) -> str:
    """A transform as `transformed` of a module takes it."""
    if transform is None:
        return "None"
    return repr(transform.unit if isinstance(transform, Log) else (transform.knots, transform.heights))


def _where_missing(missing: WhereMissing | None) -> str:
    return "None" if missing is None else repr((missing.value, missing.score))


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
