"""The non-linear rankers that `fit` can try beside the linear ones. Their settings are drawn by a random search."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from rankwright.data.streams.streamed import AnyQueries
from rankwright.fitting.data import FitData, Sides
from rankwright.fitting.family import BLACK_BOX, AnySetting, Drawn, Family
from rankwright.fitting.learned import Models
from rankwright.fitting.work import Arrays
from rankwright.models.model import Model
from rankwright.progress import Tell

SEARCH_SECONDS = 300.0  # for the search of all non-linear rankers together, where no budget is given
_MOST_DRAWS = 12


@dataclass(frozen=True)
class NonlinearFamily(Family):
    """A ranker whose settings are drawn at random from a space. It is trained on features as they are given."""

    complexity = BLACK_BOX
    extra: ClassVar[str | None] = None  # the library that it needs, which is also the name of the extra
    space: ClassVar[Mapping[str, Sequence[Any]]]  # values of each option, those of the first draw in front

    def why_not(self) -> str | None:
        """Why it cannot be tried, and what to do; None if it can."""
        if self.extra is None or find_spec(self.extra) is not None:
            return None
        return f"{self.extra} is not installed: pip install 'rankwright[{self.extra}]'"

    @property
    def most_draws(self) -> int:
        """How often settings are drawn at most: the space may have fewer."""
        return min(_MOST_DRAWS, int(np.prod([len(values) for values in self.space.values()])))

    def draw(self, number: int, seed: int) -> list[AnySetting]:
        """The settings of a draw, counted from 0: none is drawn twice, and the first is always the usual one."""
        usual, *others = product(*self.space.values())
        shuffled = np.random.default_rng([seed, crc32(self.name.encode())]).permutation(len(others))
        options = usual if number == 0 else others[shuffled[number - 1]]
        return [Drawn(tuple(zip(self.space, options, strict=True)))]

    @abstractmethod
    def trained(self, queries: AnyQueries, setting: Mapping[str, Any], progress: Tell | None) -> Model:
        """The model that queries give with a setting."""

    # As the steps of a fit ask for it

    def side_of(self, data: FitData) -> Sides:
        """Features as they are given."""
        return data.given

    def learn(
        self, data: FitData, queries: AnyQueries, settings: Sequence[AnySetting], progress: Tell | None = None
    ) -> Models:
        """A model for each setting."""
        return Models([self.trained(queries, setting.told, progress) for setting in settings])

    def restored(self, data: FitData, arrays: Arrays) -> Models:
        """The model that was kept."""
        return Models.restored(arrays)


class _Stumps(NonlinearFamily):
    """STAND-IN."""

    name, title = "rankboost", "RankBoost"
    ranker_name = "RankBoost"
    space = {"rounds": (100, 30, 300)}  # noqa: RUF012

    def trained(self, queries: AnyQueries, setting: Mapping[str, Any], progress: Tell | None) -> Model:
        from rankwright.rankers.rankboost import RankBoost

        return RankBoost(n_rounds=setting["rounds"]).fit(queries).model()


NONLINEAR: tuple[type[NonlinearFamily], ...] = (_Stumps,)
