"""Moves: changes of single features of one document, and what they do to its score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.types import Array

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Moves:
    """A change of one feature each, all of the same document.

    Attributes
    ----------
    places : which features, counted among those that the model uses
    values : what they are now
    bounds : how far they must go
    directions : 1 if up, −1 if down
    inclusive : whether the bound itself is far enough; else it must be passed
    untils : how far they may go: infinite, or where a stump takes back what others gave
    gains : what the score gains
    """

    places: Places
    values: Array
    bounds: Array
    directions: Array
    inclusive: npt.NDArray[np.bool_]
    untils: Array
    gains: Array

    def __len__(self) -> int:
        return len(self.places)

    def take(self, which: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Moves:
        """Some of them."""
        return Moves(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def landing(self) -> Array:
        """The nearest values that are far enough."""
        return np.where(self.inclusive, self.bounds, np.nextafter(self.bounds, np.inf * self.directions))

    def in_spreads(self, spreads: Array) -> Array:
        """How far the features go, in units of their spread; infinite for those that have none."""
        distance, unit = self.bounds - self.values, spreads[self.places]
        with np.errstate(over="ignore"):
            far = np.divide(distance, unit, where=unit > 0, out=np.full(len(self), np.inf) * self.directions)
        return np.asarray(far, np.float64)

    def within(self, low: Array, high: Array) -> npt.NDArray[np.bool_]:
        """Whether values that are far enough lie between the least and the greatest of each feature."""
        bounds, least, most = self.bounds, low[self.places], high[self.places]
        inside = np.where(self.directions > 0, bounds < most, bounds > least)
        at_end = self.inclusive & np.where(self.directions > 0, bounds == most, bounds == least)
        result: npt.NDArray[np.bool_] = inside | at_end
        return result
