"""How trees are grown, in words of our own, and what both libraries offer for it: rounds, one after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from traceback import walk_tb
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.boosting.derivatives import Derivatives
from rankwright.boosting.drawn import DrawnDerivatives
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError, RankwrightError
from rankwright.machine.threads import thread_count
from rankwright.types import Array

OwnObjective = Derivatives | DrawnDerivatives


@dataclass(frozen=True)
class Growth:
    """What a tree may become, and how much of it counts; ``query_share`` is 1 with losses of the libraries."""

    learning_rate: float
    leaves: int
    depth: int | None
    min_documents: int
    query_share: float
    feature_share: float
    l2: float
    seed: int

    @property
    def threads(self) -> int:
        """Of the library, as many as ours."""
        return thread_count()


class Rounds(ABC):
    """Trees that are added one by one to a sum, on the rows of queries that stand together.

    ``objective`` is a loss of ours on these queries, or the name of one that the library has; ``weights`` are those of
    queries. Scores of ``watched`` queries are kept up to date.
    """

    @abstractmethod
    def __init__(
        self,
        queries: Queries,
        objective: OwnObjective | str,
        weights: Array | None,
        growth: Growth,
        watched: Queries | None,
    ) -> None: ...

    @abstractmethod
    def add(self) -> bool:
        """One more tree; false if there is none to add, now and for ever."""

    @abstractmethod
    def watched_scores(self) -> Array:
        """The scores of the rows that are watched."""

    @abstractmethod
    def text(self, n_rounds: int) -> str:
        """The trees of the first rounds, in the library's own format."""


def rows_of(queries: Queries) -> Any:
    """The features with the rows of each query together."""
    order = queries.grouping.order
    return queries.X if order is None else queries.X[order]


def grades_of(queries: Queries, objective: OwnObjective | str) -> npt.NDArray[np.float64]:
    """The grades of the same rows; zeros where none are needed, as our own losses take other supervision, too."""
    if not isinstance(objective, str):
        return np.zeros(queries.n_documents)
    grades: Array = queries.grouping.gather(queries.y)
    return grades


@contextmanager
def errors_of(library: str) -> Iterator[None]:
    """What goes wrong in the library becomes an error of ours that has its message; errors of ours pass as they are."""
    try:
        yield
    except RankwrightError:
        raise
    except Exception as error:
        # LightGBM and XGBoost raise subclasses of Exception and ValueError of their own, and plain ones, too.
        if not _is_raised_in(library, error):
            raise
        told = " ".join(str(error).split())
        if "_count) > (0)" in told:  # LightGBM guesses how many documents a leaf has by their curvature
            raise ParameterError(
                f"min_documents does not suit these data: {library} made a leaf without documents; set min_documents "
                f"to another number, far above 1 and far below the number of documents ({told})"
            ) from error
        raise RankwrightError(f"{library} could not grow trees: {told}") from error


def _is_raised_in(library: str, error: Exception) -> bool:
    """Whether the innermost line of Python that raised it is the library's."""
    frames = list(walk_tb(error.__traceback__))
    return bool(frames) and str(frames[-1][0].f_globals.get("__name__", "")).split(".")[0] == library


def imported(library: str) -> Any:
    """The library, or an error that says how to get it."""
    try:
        return import_module(library)
    except ImportError as error:
        raise ParameterError(f"library={library!r} is not installed: pip install 'rankwright[{library}]'") from error
