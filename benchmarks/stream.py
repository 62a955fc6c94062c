"""Data four times the limit of memory: weights as in memory, time beside that of reading the files, peak of memory.

``python -m benchmarks stream`` compares all learners. ``python -m benchmarks.stream --only rankrls-100m`` trains on 100
million documents that are made while they are read, ``--only greedy-10m`` selects 10 of 136 features over 10 million;
``--documents`` tries them with fewer.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

import rankwright as rw
from benchmarks.timing import Row, in_a_process, memory, seconds, table

_THIRTY = np.exp2(np.arange(-15, 15))
_DOCUMENTS, _PER_QUERY, _FEATURES = 800_000, 100, 136
_TIMES_THE_LIMIT = 4
_MB = 1_000_000
_ROOM = 300 * _MB  # for the interpreter, its libraries, and what learners keep
_MOST_TIMES_READING = 3

# A new learner is a line here. Each is given queries, in memory or in files, and returns what it has learned.
LEARNERS: dict[str, Callable[[Any], Any]] = {
    "rankrls": lambda queries: rw.RankRLS(alpha=rw.search(*_THIRTY)).fit(queries),
    "regression": lambda queries: rw.RegressionRanker(alpha=rw.search(*_THIRTY)).fit(queries),
    "ranksvm": lambda queries: rw.RankSVM(alpha=1.0).fit(queries),
    "order": lambda queries: rw.OrderPreservingRanker(alpha=1.0).fit(queries),
    "greedy": lambda queries: rw.GreedyRankRLS(alpha=1.0, n_features=10).fit(queries),
    "structured": lambda queries: rw.StructuredRanker(alpha=100.0, solver="bundle").fit(queries),
}


@dataclass(frozen=True)
class Large:
    """A learner on documents that are made while they are read."""

    learner: str
    documents: int


LARGE = {"rankrls-100m": Large("rankrls", 100_000_000), "greedy-10m": Large("greedy", 10_000_000)}

_IN_A_PROCESS = "import sys; from benchmarks import stream; getattr(stream, sys.argv[1])(*sys.argv[2:])"


def run(repeats: int, names: tuple[str, ...] = tuple(LEARNERS), documents: int = _DOCUMENTS) -> list[Row]:
    """For each learner the time beside that of reading the files as often, and the peak of memory beside the limit."""
    with TemporaryDirectory() as folder:
        file, limit = _written(Path(folder), documents)
        opened = in_a_process(_IN_A_PROCESS, "opened", file, str(limit))
        rows = [_memory_row("opening", opened, limit)]
        for name in names:
            weights = [str(Path(folder) / f"{name}-{where}.npy") for where in ("memory", "stream")]
            known = in_a_process(_IN_A_PROCESS, "measured", name, file, "0", weights[0], str(repeats))
            told = in_a_process(_IN_A_PROCESS, "measured", name, file, str(limit), weights[1], str(repeats))
            rows += [_time_row(name, told, known, *map(np.load, weights)), _memory_row(name, told, limit)]
    return rows


def _time_row(name: str, told: dict[str, float], known: dict[str, float], expected: Any, got: Any) -> Row:
    difference = float(np.abs(got - expected).max() / np.abs(expected).max())
    assert difference <= 1e-8, f"{name}: weights differ by {difference:.1e} of the largest from those in memory"
    passes = int(told["passes"])
    note = (
        f"{passes} × reading the text ({known['reading']:.2f} s; kept arrays {told['reading']:.2f} s); in memory "
        f"{known['seconds']:.2f} s; weights differ by {difference:.0e} of the largest"
    )
    return Row(f"stream {name}", "reading", told["seconds"], passes * known["reading"], 1 / _MOST_TIMES_READING, note)


def _memory_row(name: str, told: dict[str, float], limit: int) -> Row:
    note = f"limit {limit / _MB:.0f} MB and {_ROOM / _MB:.0f} MB"
    return Row(f"stream {name}", "memory", told["bytes"] / _MB, (limit + _ROOM) / _MB, 1, note, "MB")


def _written(folder: Path, documents: int) -> tuple[str, int]:
    """A file of queries, and a quarter of the memory that they take."""
    file = folder / "queries.txt"
    queries = _made(documents, "1GB").in_memory()
    rw.write_queries(queries, file)
    return str(file), queries.X.nbytes // _TIMES_THE_LIMIT


def _made(documents: int, limit: str) -> rw.StreamedQueries:
    n_queries = max(2, documents // _PER_QUERY)
    return rw.datasets.stream_queries(n_queries, _PER_QUERY, _FEATURES, n_informative=30, n_correlated=60, memory=limit)


def opened(file: str, limit: str) -> None:
    """Read the text for the first time in this process, and print what memory that took."""
    rw.open_queries(file, memory=int(limit))
    print(json.dumps({"bytes": memory("VmHWM")}))


def measured(name: str, file: str, limit: str, weights: str, repeats: str) -> None:
    """Train in this process, on data in memory if the limit is 0, and print what it took as a line of JSON."""
    _warm_up(name)
    queries: Any
    if int(limit):
        queries = rw.open_queries(file, memory=int(limit))
        readings = [seconds(lambda: _read(queries)) for _ in range(int(repeats))]
    else:
        readings = [seconds(lambda: rw.read_queries(file)) for _ in range(int(repeats))]
        queries = rw.read_queries(file)
    learned: list[Any] = []
    with _counted_readings() as passes:
        taken = seconds(lambda: learned.append(LEARNERS[name](queries)))
    np.save(weights, learned[0].coef_, allow_pickle=False)
    told = {"seconds": taken, "reading": statistics.median(readings), "passes": len(passes)}
    print(json.dumps({**told, "bytes": memory("VmHWM")}))


def measured_large(name: str, documents: str) -> None:
    """Train in this process on documents that are made meanwhile, and print what it took."""
    _warm_up(LARGE[name].learner)
    queries = _made(int(documents), "1GB")
    with _counted_readings() as readings:
        taken = seconds(lambda: LEARNERS[LARGE[name].learner](queries))
    print(json.dumps({"seconds": taken, "passes": len(readings), "bytes": memory("VmHWM")}))


def _warm_up(name: str) -> None:
    """Kernels are compiled, or loaded, before anything is timed."""
    few = _made(2000, "1MB")
    LEARNERS[name](few)
    LEARNERS[name](few.in_memory())
    Path("/proc/self/clear_refs").write_text("5")  # compiling may take more memory than learning: forget its peak


def _read(queries: rw.StreamedQueries) -> None:
    for _ in queries.parts():
        pass


@contextmanager
def _counted_readings() -> Iterator[list[None]]:
    """How often streams are read, whichever they are."""
    readings: list[None] = []
    plain = rw.StreamedQueries.parts

    def counted(self: rw.StreamedQueries, *arguments: Any) -> Any:
        readings.append(None)
        return plain(self, *arguments)

    with mock.patch.object(rw.StreamedQueries, "parts", counted):
        yield readings


def run_large(name: str, documents: int) -> str:
    """What a large training took, as a sentence."""
    told = in_a_process(_IN_A_PROCESS, "measured_large", name, str(documents))
    return (
        f"{name}: {documents:,} documents × {_FEATURES} features, {int(told['passes'])} readings in "
        f"{told['seconds']:.1f} s ({told['seconds'] / documents * 1e6:.2f} s per million documents), "
        f"peak {told['bytes'] / 1e9:.2f} GB"
    )


def main() -> None:
    """Run the one that is named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stream", description=__doc__)
    parser.add_argument("--only", choices=(*LARGE, *LEARNERS), required=True)
    parser.add_argument("--documents", type=int, help="how many documents, instead of those in the name")
    parser.add_argument("--repeats", type=int, default=5, help="how often a plain reading is timed (default: 5)")
    arguments = parser.parse_args()
    if arguments.only in LARGE:
        print(run_large(arguments.only, arguments.documents or LARGE[arguments.only].documents))
    else:
        print(table(run(arguments.repeats, (arguments.only,), arguments.documents or _DOCUMENTS)))


if __name__ == "__main__":
    main()
