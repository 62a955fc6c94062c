"""How the memory of the driver grows with the documents on a cluster.

``python -m benchmarks.scale_memory`` loads and learns from collections of two sizes, and tells by how many bytes the
peak of what this process has allocated rises for each document, once with 20 documents for each query and once with
120. ``--engine spark`` is for Spark, whose Java process is not counted. ``--write docs/scale.md`` puts the table into
the page.
"""

from __future__ import annotations

import argparse
import gc
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rankwright as rw
from benchmarks.local_clusters import dask_client, on_spark
from benchmarks.pages import markdown, written
from benchmarks.scale import learners
from rankwright.datasets import make_queries

_PER_QUERY = (20, 120)
_DOCUMENTS = (60_000, 180_000)
_FEATURES = 20


@contextmanager
def _on_dask() -> Iterator[Callable[[Path], Any]]:
    with dask_client(2) as client:
        yield lambda file: rw.dask.queries(file, client=client, parts=2)


@contextmanager
def _on_spark() -> Iterator[Callable[[Path], Any]]:
    yield lambda file: on_spark([file], 2)


ENGINES = {"dask": _on_dask, "spark": _on_spark}


def peak(work: Callable[[], object]) -> int:
    """The most bytes that a call has allocated at a time, of what Python and NumPy allocate."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def rises(engine: str) -> dict[str, list[float]]:
    """Bytes for each document by what is done, for each number of documents of a query."""
    found: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder, ENGINES[engine]() as load:
        for per_query in _PER_QUERY:
            peaks: list[dict[str, int]] = []
            for documents in _DOCUMENTS:
                made = make_queries(documents // per_query, per_query, _FEATURES, n_correlated=0, seed=1).queries
                file = Path(folder) / f"{per_query}-{documents}.parquet"
                rw.write_queries(made, file)
                work = {"load": lambda _: None, **learners(made)}
                del made
                peaks.append({name: _peak_of(load, file, each) for name, each in work.items()})
            for name in peaks[0]:
                rise = (peaks[1][name] - peaks[0][name]) / (_DOCUMENTS[1] - _DOCUMENTS[0])
                found.setdefault(name, []).append(rise)
    return found


def _peak_of(load: Callable[[Path], Any], file: Path, learn: Callable[[Any], object]) -> int:
    learn(load(file))  # imports and compiles
    return peak(lambda: learn(load(file)))


def table(found: dict[str, list[float]]) -> str:
    """Bytes for each document, in Markdown."""
    rows: list[Sequence[str]] = [(name, *(f"{rise:.1f}" for rise in of_name)) for name, of_name in found.items()]
    return markdown(("", *(f"{per_query} documents for each query" for per_query in _PER_QUERY)), rows)


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_memory", description=__doc__)
    parser.add_argument("--engine", choices=tuple(ENGINES), default="dask")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page of the documentation")
    arguments = parser.parse_args()
    content = table(rises(arguments.engine))
    print(content)
    if arguments.write:
        page = arguments.write.read_text()
        arguments.write.write_text(written(page, {f"memory on {arguments.engine}": content}))


if __name__ == "__main__":
    main()
