"""`Family`: a kind of ranker that `fit` tries, with settings to choose from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from rankwright.data.streams.streamed import AnyQueries
from rankwright.evaluation.tables import regularisation
from rankwright.fitting.data import FitData, Sides
from rankwright.fitting.learned import Learned
from rankwright.fitting.work import Arrays
from rankwright.measures.measure import Measure
from rankwright.progress import Tell

End = Literal["least", "largest"]

# How much there is to understand, and to run, in what a family learns: of rankers that are as good, the simplest is
# chosen, and only among those of the same complexity the one with the fewest features.
LINEAR, FORMULA, BLACK_BOX = 0, 1, 2
KIND_WORDS = {LINEAR: "linear", FORMULA: "a formula", BLACK_BOX: "non-linear"}


class Setting(NamedTuple):
    """λ, and of a selection how many columns: features, and what tells that one is missing."""

    alpha: float
    n_features: int | None = None

    @property
    def told(self) -> dict[str, Any]:
        """By name, for model files."""
        return self._asdict()

    @property
    def short(self) -> str:
        """λ alone: how many features there are is told elsewhere."""
        return f"λ = {regularisation(self.alpha)}"

    def __str__(self) -> str:
        return self.short if self.n_features is None else f"{self.short}, {self.n_features} selected"


@dataclass(frozen=True)
class Drawn:
    """Options of a ranker without a path of λ, by name, as a random search draws them."""

    options: tuple[tuple[str, Any], ...]

    alpha: ClassVar[None] = None
    n_features: ClassVar[None] = None

    @property
    def told(self) -> dict[str, Any]:
        """By name."""
        return dict(self.options)

    @property
    def short(self) -> str:
        """All of it."""
        return str(self)

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {_told(value)}" for name, value in self.options)


def _told(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


AnySetting = Setting | Drawn


@dataclass(frozen=True)
class Family(ABC):
    """A kind of ranker, for a measure. What it learns for settings on some queries is judged by others."""

    measure: Measure
    convention: str

    name: ClassVar[str]
    title: ClassVar[str]
    complexity: ClassVar[int]

    @property
    @abstractmethod
    def ranker_name(self) -> str:
        """The class that is trained, as model files tell it."""

    @abstractmethod
    def side_of(self, data: FitData) -> Sides:
        """What it is trained on and judged by: features as given, or columns prepared from them."""

    @abstractmethod
    def learn(
        self, data: FitData, queries: AnyQueries, settings: Sequence[AnySetting], progress: Tell | None = None
    ) -> Learned:
        """What these queries, of its side of the data, give for each setting."""

    @abstractmethod
    def restored(self, data: FitData, arrays: Arrays) -> Learned:
        """What was learned, from the arrays that it was kept as."""
