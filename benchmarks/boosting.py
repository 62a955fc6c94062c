"""A boosting round with our objectives against a round of LightGBM's own lambdarank, on MSLR-sized data."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import rankwright as rw
from benchmarks.collections import mslr_sized
from benchmarks.timing import Row, seconds
from rankwright.lightgbm import objective
from rankwright.losses import LOSSES
from rankwright.machine.threads import thread_count

_MOST_TIMES = 1.5  # that a round of ours may take of a round of lambdarank
_ROUNDS_PER_REPEAT = 4
_PEER = "lambdarank"


def run(repeats: int) -> list[Row]:
    """All losses take turns with the peer, round by round, so that a slow spell of the machine hits all alike."""
    return rows_of(mslr_sized(), repeats * _ROUNDS_PER_REPEAT)


def rows_of(queries: rw.Queries, rounds: int) -> list[Row]:
    """The medians over so many rounds; the first one of each, which prepares the data, is not counted."""
    sides = {name: _Side(queries, name) for name in (_PEER, *LOSSES)}
    for side in sides.values():
        side.round()
    for side in sides.values():
        side.forget()
    for _ in range(rounds):
        for side in sides.values():
            side.round()
    peer = sides.pop(_PEER)
    return [_row(name, side, peer) for name, side in sides.items()]


class _Side:
    """A booster with one objective, and what its rounds took."""

    def __init__(self, queries: rw.Queries, name: str) -> None:
        import lightgbm

        own = name in LOSSES
        parameters = {"objective": "none" if own else name, "num_threads": thread_count(), "verbosity": -1}
        data = lightgbm.Dataset(queries.X, queries.y, group=queries.sizes, params=parameters)
        self._booster = lightgbm.Booster(parameters, data)
        self._objective = self._timed(objective(name)) if own else None
        self.forget()

    def forget(self) -> None:
        """What was noted."""
        self.rounds: list[float] = []
        self.of_objective: list[float] = []

    def round(self) -> None:
        """One more tree."""
        self.rounds.append(seconds(lambda: self._booster.update(fobj=self._objective)))

    def _timed(self, function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
        def timed(scores: np.ndarray[Any, Any], data: Any) -> Any:
            derivatives: list[Any] = []
            self.of_objective.append(seconds(lambda: derivatives.append(function(scores, data))))
            return derivatives[0]

        return timed


def _row(name: str, side: _Side, peer: _Side) -> Row:
    ours, theirs = statistics.median(side.rounds), statistics.median(peer.rounds)
    objective_s = statistics.median(side.of_objective)
    verdict = "" if ours <= _MOST_TIMES * theirs else "lost: "
    note = f"{verdict}{ours / theirs:.2f} × a round of the peer; of it {objective_s * 1e3:.0f} ms for the loss"
    return Row(f"a boosting round, {name}", "LightGBM's lambdarank", ours, theirs, round(1 / _MOST_TIMES, 2), note)
