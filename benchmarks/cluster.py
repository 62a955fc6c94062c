"""Learners on a cluster of two workers with a thread each, beside the same in memory on two threads.

``python -m benchmarks cluster`` takes the MSLR-sized collection, once it is in the workers' memory. ``python -m
benchmarks.cluster --only ranksvm`` takes one learner.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

import rankwright as rw
from benchmarks.local_clusters import dask_client, on_spark
from benchmarks.pair_fits import collection
from benchmarks.timing import Row, alternate, table

_THREADS = 2
_MOST_TIMES = 2  # what local takes
_THIRTY = np.exp2(np.arange(-15, 15))

LEARNERS: dict[str, Callable[[Any], Any]] = {
    "rankrls": lambda queries: rw.RankRLS(alpha=rw.search(*_THIRTY)).fit(queries),
    "regression": lambda queries: rw.RegressionRanker(alpha=rw.search(*_THIRTY)).fit(queries),
    "greedy": lambda queries: rw.GreedyRankRLS(alpha=1.0, n_features=10).fit(queries),
    "ranksvm": lambda queries: rw.RankSVM(alpha=1.0).fit(queries),
    "order-preserving": lambda queries: rw.OrderPreservingRanker(alpha=1.0).fit(queries),
    "structured": lambda queries: rw.StructuredRanker(alpha=100.0).fit(queries),
}


@contextmanager
def _on_dask(files: list[Path]) -> Iterator[rw.StreamedQueries]:
    with dask_client(_THREADS) as client:
        yield rw.dask.queries(files, client=client)


@contextmanager
def _on_spark(files: list[Path]) -> Iterator[rw.StreamedQueries]:
    yield on_spark(files, _THREADS)


# A further engine is a line here: the queries of files on it, while it is there, and what local may take at least. What
# Spark takes is told, whatever it is: its jobs take 15 to 30 ms each.
ENGINES = {"dask": (_on_dask, 1 / _MOST_TIMES), "spark": (_on_spark, 0.0)}


def run(repeats: int, names: tuple[str, ...] = tuple(LEARNERS), engines: tuple[str, ...] = tuple(ENGINES)) -> list[Row]:
    """A row for each learner and engine."""
    rows: list[Row] = []
    in_memory = collection()
    with TemporaryDirectory() as folder, mock.patch.dict(os.environ, RANKWRIGHT_THREADS=str(_THREADS)):
        files = _written(in_memory, Path(folder))
        for engine in engines:
            with ENGINES[engine][0](files) as queries:
                rows += [_row(engine, name, queries, in_memory, repeats) for name in names]
    return rows


def _row(engine: str, name: str, queries: rw.StreamedQueries, in_memory: rw.Queries, repeats: int) -> Row:
    learned: dict[str, Any] = {}

    def learn(where: str, given: Any) -> None:
        learned[where] = LEARNERS[name](given)

    taken = alternate({"local": lambda: learn("local", in_memory), engine: lambda: learn(engine, queries)}, repeats)
    known, found = learned["local"].coef_, learned[engine].coef_
    difference = float(np.abs(found - known).max() / np.abs(known).max())
    assert difference <= 1e-6, f"{name}: weights differ by {difference:.1e} of the largest from those in memory"
    n_passes = getattr(learned[engine], "passes_", None)
    passes = "" if n_passes is None else f"{n_passes} passes; "
    note = f"{passes}weights differ by {difference:.0e} of the largest"
    return Row(f"cluster {name}", f"local, not {engine}", taken[engine], taken["local"], ENGINES[engine][1], note)


def _written(queries: rw.Queries, folder: Path) -> list[Path]:
    """A file for each worker."""
    cuts = np.linspace(0, queries.n_queries, _THREADS + 1).astype(int)
    files = [folder / f"part-{number}.parquet" for number in range(_THREADS)]
    for file, first, last in zip(files, cuts[:-1], cuts[1:], strict=True):
        rw.write_queries(queries[int(first) : int(last)], file)
    return files


def main() -> None:
    """Run the learner that is named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--only", choices=tuple(LEARNERS), required=True)
    parser.add_argument("--engine", choices=tuple(ENGINES), help="on this one alone")
    parser.add_argument("--repeats", type=int, default=5, help="how often each side is timed (default: 5)")
    arguments = parser.parse_args()
    engines = tuple(ENGINES) if arguments.engine is None else (arguments.engine,)
    print(table(run(arguments.repeats, (arguments.only,), engines)))


if __name__ == "__main__":
    main()
