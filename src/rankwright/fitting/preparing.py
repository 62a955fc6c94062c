"""How the features of a fit can be prepared, and which preparations there is a reason to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from rankwright.data.streams.streamed import AnyQueries
from rankwright.preparation.heavy_tails import heavy_tailed
from rankwright.preparation.missing import MISSING, MissingName
from rankwright.preparation.preparation import some_missing
from rankwright.preparation.transforms import TRANSFORMS, TransformName
from rankwright.selection.search import Estimate, estimate_of
from rankwright.types import Array

Auto = Literal["auto"]
MISSING_OPTIONS = (*get_args(Auto), *MISSING)
TRANSFORM_OPTIONS = (*get_args(Auto), *TRANSFORMS)

_MISSING_WORDS = {
    "mean": "missing values filled in by the mean of all documents, and indicated",
    "query-mean": "missing values filled in by the mean of their query, and indicated",
}
_TRANSFORM_WORDS = {
    "none": "features as they are",
    "log": "logarithms of features with heavy tails",
    "quantile": "quantiles of features with heavy tails",
}


class How(NamedTuple):
    """How features are prepared; ``has_missing`` tells whether values are missing at all."""

    missing: MissingName
    transform: TransformName
    has_missing: bool

    @property
    def name(self) -> str:
        """In one word, for files."""
        return f"{self.missing}-{self.transform}"

    def __str__(self) -> str:
        told = _TRANSFORM_WORDS[self.transform]
        return f"{told}; {_MISSING_WORDS[self.missing]}" if self.has_missing else told


@dataclass(frozen=True, eq=False)
class Tried:
    """A preparation, and the values of the measure on held-out queries with the best λ of RankRLS."""

    how: How
    values: Array

    @property
    def estimate(self) -> Estimate:
        """The mean over held-out queries, and its standard error."""
        return estimate_of(self.values)


def preparations_of(
    queries: Mapping[str, AnyQueries], missing: MissingName | Auto, transform: TransformName | Auto
) -> list[How]:
    """What to try, the simplest first: only what these data give a reason for, or what was asked for.

    Test queries give no reason to try anything; if values are missing in them alone, training still tells what stands
    for these.
    """
    with_holes = [role for role, part in queries.items() if some_missing(part)]
    fillings: Sequence[Any] = [missing]
    if missing == "auto":
        fillings = MISSING if set(with_holes) - {"test"} else MISSING[:1]
    transforms: Sequence[Any] = [transform]
    if transform == "auto":
        transforms = TRANSFORMS if len(heavy_tailed(queries["train"])) else TRANSFORMS[:1]
    return [How(filling, one, bool(with_holes)) for one in transforms for filling in fillings]
