"""1,500 Fourier features and RankRLS with 30 λ on MSLR-sized queries: time beside the Gram matrix alone, and memory.

The Gram matrix of D columns over m documents takes m · D² operations, as it is symmetric. How fast this machine
multiplies float32 matrices is measured in the same run. Relevance is curved, so that the map has something to find. λ
is chosen on validation queries, and nDCG is told of others, which nothing was chosen on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import rankwright as rw
from benchmarks.collections import mslr_sized
from benchmarks.timing import Row, growth, seconds
from rankwright.rankers.mapped import MappedRanker

_ALPHAS = np.exp2(np.arange(-15, 15))
_COMPONENTS = 1500
_GAMMA = 0.002
_MOST_REPEATS = 3
_ROWS = 4096
_SLOWEST, _LARGEST = 3.0, 2.5


def run(repeats: int) -> list[Row]:
    """Time and memory against the Gram matrix and the data, and what the ranker is worth beside a linear one."""
    train, valid, test = _collections()
    ranker = kernel_ranker()
    times, speeds = [], []
    ranker.fit(train[:50], valid=valid[:50])  # compiles
    for _ in range(min(repeats, _MOST_REPEATS)):
        speeds.append(_multiplications_per_second())
        times.append(seconds(lambda: ranker.fit(train, valid=valid)))
    columns = ranker.map_.n_columns
    operations = train.n_documents * columns**2
    taken, speed = float(np.median(times)), float(np.median(speeds))
    linear = rw.RankRLS(rw.search(*_ALPHAS)).fit(train, valid=valid)
    quality = f"nDCG @ 10 on {test.n_queries:,} other queries {ranker.score(test):.4f}, linear {linear.score(test):.4f}"
    per_thousand = 1000 * seconds(lambda: ranker.predict(test)) / test.n_documents
    told = f"{columns:,} columns, {len(_ALPHAS)} λ, {train.n_documents:,} documents; {speed / 1e9:.0f} GFLOP/s"
    measured = _memory_in_a_process()
    note = f"the data included; predicting 1,000 documents takes {1000 * per_thousand:.1f} ms"
    return [
        Row("kernel_map", "Gram matrix × 3, m·D² by syrk", taken, _SLOWEST * operations / speed, 1, told),
        Row("kernel_map", "Gram matrix × 3, 2·m·D² by GEMM", taken, _SLOWEST * 2 * operations / speed, 1, quality),
        Row("kernel_map", "data × 2.5", measured["fit"] / 1e6, _LARGEST * measured["data"] / 1e6, 1, note, "MB"),
    ]


def kernel_ranker() -> MappedRanker:
    """The ranker that is measured."""
    by = rw.KernelMap("fourier", _COMPONENTS, gamma=_GAMMA, scaling="standard")
    return rw.MappedRanker(by, rw.RankRLS(rw.search(*_ALPHAS)))


def curved(queries: rw.Queries, seed: int = 0) -> rw.Queries:
    """The same documents with grades 0–4 by products, saturation and peaks of some features, and noise."""
    random = np.random.default_rng(seed)
    z = (queries.X - queries.X.mean(axis=0)) / np.maximum(queries.X.std(axis=0), 1e-9)
    chosen = random.permutation(queries.n_features)[:30]
    a, b, c = z[:, chosen[:10]], z[:, chosen[10:20]], z[:, chosen[20:]]
    worth = (a * b).sum(axis=1) + 2 * np.tanh(2 * c).sum(axis=1) - (np.abs(a) > 1).sum(axis=1)
    worth += 0.5 * worth.std() * random.standard_normal(len(worth))
    grades = np.searchsorted(np.quantile(worth, (0.52, 0.84, 0.97, 0.99)), worth)
    return rw.Queries(queries.X, grades, queries.qid)


def _collections() -> tuple[rw.Queries, rw.Queries, rw.Queries]:
    """Five sixths of the queries to train on, a twelfth to choose λ on, and a twelfth to judge on."""
    queries = curved(mslr_sized())
    n = queries.n_queries
    return queries[: n * 10 // 12], queries[n * 10 // 12 : n * 11 // 12], queries[n * 11 // 12 :]


def _multiplications_per_second() -> float:
    """Operations of a product of float32 matrices as tall as blocks of documents, on all threads."""
    block = np.random.default_rng(0).standard_normal((_ROWS, _COMPONENTS)).astype(np.float32)
    other = block.copy()  # so that it is no product of a matrix with itself
    np.matmul(block.T, other)
    return 2 * _ROWS * _COMPONENTS**2 / min(seconds(lambda: np.matmul(block.T, other)) for _ in range(5))


def _memory_in_a_process() -> dict[str, int]:
    """By how many bytes the fit raises the memory of a process that has the data, and how many these take."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured.json"
        subprocess.run([sys.executable, "-m", "benchmarks.kernel_map", str(out)], check=True, env=os.environ.copy())
        measured: dict[str, int] = json.loads(out.read_text())
    return measured


def measure_memory() -> dict[str, Any]:
    """The data are part of what the fit takes."""
    train, valid, _ = _collections()
    kernel_ranker().fit(train[:50], valid=valid[:50])
    data = train.X.nbytes + valid.X.nbytes
    return {"data": data, "fit": data + growth(lambda: kernel_ranker().fit(train, valid=valid))}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(measure_memory()))
