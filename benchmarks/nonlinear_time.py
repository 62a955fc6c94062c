"""What rankers reach in the time that LightGBM takes to grow 100 or 500 trees."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rankwright as rw
from benchmarks.nonlinear_peers import Scores, lightgbm_scores
from benchmarks.timing import seconds
from rankwright.data.paths import atomic_path
from rankwright.types import Array

SETS = {"mq": "MQ-like, curved", "mslr": "MSLR-like, curved"}
_MEASURE = "ndcg@10"
_TREES = (100, 500)
_USUAL: dict[str, Any] = {
    "leaves": 31,
    "learning_rate": 0.1,
    "min_documents": 50,
    "query_share": 1.0,
    "feature_share": 1.0,
}
_MORE = 1.05  # of the time that may be taken: timing is no better than this
_TRIES = 4

# A ranker of a size that grows with the time there is.
Sized = Callable[[rw.Queries, int], Scores]


@dataclass(frozen=True)
class Timed:
    """A ranker after training: how long that took, its size, and NDCG@10 of each held-out query."""

    is_ours: bool
    seconds: float
    size: int
    values: list[float]


@dataclass(frozen=True)
class TimedCell:
    """All rankers in the time of so many trees. Even held-out queries choose, odd ones compare."""

    title: str
    n_trees: int
    seconds: float
    rankers: dict[str, Timed]

    def best(self, *, is_ours: bool) -> str:
        """The best of a side on the queries that choose."""
        side = [name for name, timed in self.rankers.items() if timed.is_ours == is_ours]
        return max(side, key=lambda name: np.mean(self.rankers[name].values[::2]))

    def compared(self, name: str) -> Array:
        """A ranker on the queries that compare."""
        return np.array(self.rankers[name].values[1::2])


def timed_cells(name: str, kept: Path | None) -> Iterator[TimedCell]:
    """The rankers of a collection, for each number of trees."""
    train, held_out = (_stored(f"{name}_{part}") for part in ("train", "valid"))
    _warm_up(train[:20])
    for n_trees in _TREES:
        file = None if kept is None else kept / f"{name}-{n_trees}-trees.json"
        if file is not None and file.is_file():
            read = json.loads(file.read_text())
            rankers = {title: Timed(**timed) for title, timed in read.pop("rankers").items()}
            yield TimedCell(rankers=rankers, **read)
            continue
        cell = _cell(SETS[name], n_trees, train, held_out)
        if file is not None:
            with atomic_path(file) as path:
                path.write_text(json.dumps(asdict(cell)))
        yield cell


def _stored(name: str) -> rw.Queries:
    with np.load(Path(os.environ["RANKWRIGHT_PEER_DATA"]) / f"{name}.npz") as data:
        return rw.Queries(data["X"], data["y"].astype(np.float64), data["qid"])


def _cell(title: str, n_trees: int, train: rw.Queries, held_out: rw.Queries) -> TimedCell:
    rankers: dict[str, Timed] = {}
    for objective in ("lambdarank", "rank_xendcg"):
        peer = partial(_peer, objective)
        rankers[f"LightGBM {objective}"] = _timed(peer, n_trees, train, held_out, is_ours=False)[0]
    limit = max(timed.seconds for timed in rankers.values())
    for name, (sized, smallest) in OURS.items():
        rankers[name] = fitted_to(limit, sized, smallest, train, held_out)
        timed = rankers[name]
        print(f"{title}, {limit:.1f} s: {name} of size {timed.size} in {timed.seconds:.1f} s", flush=True)
    return TimedCell(title, n_trees, limit, rankers)


def fitted_to(limit: float, sized: Sized, smallest: int, train: rw.Queries, held_out: rw.Queries) -> Timed:
    """A ranker as large as fits into the time: sizes grow until they take too long, and the last that did not counts.

    How time grows with the size is learned on the way. A ranker whose smallest size takes longer is told as it is.
    """
    if smallest == 0:  # has no size
        return _timed(sized, 0, train, held_out, is_ours=True)[0]
    sizes, taken, best = [], [], None
    size = smallest
    for _ in range(_TRIES):
        timed, scores = _timed(sized, size, train, None, is_ours=True)
        sizes.append(size)
        taken.append(timed.seconds)
        if best is None or (timed.seconds <= _MORE * limit and size > best[0].size):
            best = timed, scores
        if timed.seconds > 0.85 * limit:
            break
        power = 1.0 if len(sizes) == 1 else _power(sizes, taken)
        size = int(size * min(8.0, (0.95 * limit / timed.seconds) ** (1 / power)))
        if size <= sizes[-1]:
            break
    assert best is not None
    timed, scores = best
    return Timed(True, timed.seconds, timed.size, _values(scores, held_out))


def _power(sizes: list[int], taken: list[float]) -> float:
    """b of time = a · sizeᵇ, by the last two."""
    return float(np.clip(np.log(taken[-1] / taken[-2]) / np.log(sizes[-1] / sizes[-2]), 0.5, 3.0))


def _timed(
    sized: Sized, size: int, train: rw.Queries, held_out: rw.Queries | None, *, is_ours: bool
) -> tuple[Timed, Scores]:
    found: list[Scores] = []
    taken = seconds(lambda: found.append(sized(train, size)))
    values = [] if held_out is None else _values(found[0], held_out)
    return Timed(is_ours, taken, size, values), found[0]


def _values(scores: Scores, queries: rw.Queries) -> list[float]:
    values = next(iter(rw.evaluate(scores(queries), queries, _MEASURE).values.values()))
    return [float(value) for value in values]


def _warm_up(few: rw.Queries) -> None:
    """Compile and load everything."""
    for sized, smallest in OURS.values():
        sized(few, min(smallest, 20))
    _peer("lambdarank", few, 2)


# Rankers by size


def _peer(objective: str, train: rw.Queries, n_trees: int) -> Scores:
    return lightgbm_scores(objective, train, None, n_trees, _USUAL)


def _linear(train: rw.Queries, _: int) -> Scores:
    return rw.fit(train, rankers=["rankrls"], rule="best").model.predict


def _kernel_map(linear: Any, train: rw.Queries, components: int) -> Scores:
    ranker = rw.MappedRanker(rw.KernelMap("orthogonal", components, gamma=rw.search()), linear)
    return ranker.fit(train).predict


def _formula(train: rw.Queries, terms: int) -> Scores:
    return rw.BasisRanker(alpha=16.0, n_terms=terms, measures=()).fit(train).predict


def _boosted(loss: str, train: rw.Queries, n_trees: int) -> Scores:
    return rw.BoostedRanker(loss, n_trees=n_trees, measures=(), **_USUAL).fit(train).predict


def _network(train: rw.Queries, epochs: int) -> Scores:
    return rw.NeuralRanker((256, 128), epochs=epochs, validation_share=0.0, measures=()).fit(train).predict


# With the size to begin with: components, terms, trees, epochs; 0 if there is none.
OURS: dict[str, tuple[Sized, int]] = {
    "linear": (_linear, 0),
    "kernel map, RankRLS": (partial(_kernel_map, rw.RankRLS(rw.search())), 250),
    "kernel map, NDCG": (partial(_kernel_map, rw.OrderPreservingRanker(rw.search())), 250),
    "formula": (_formula, 5),
    "boosted, preorder": (partial(_boosted, "preorder"), 20),
    "boosted, order-preserving": (partial(_boosted, "order-preserving"), 20),
    "boosted, softmax": (partial(_boosted, "structured-softmax"), 20),
    "neural network": (_network, 2),
}
