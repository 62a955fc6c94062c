"""RankSVM on 3,000 queries × 120 documents × 136 features, some 17 million pairs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.svm import LinearSVC

import rankwright as rw
from benchmarks.pair_fits import (
    LIBLINEAR_S,
    LIBLINEAR_SPARSE_S,
    PEERS_PASS_S,
    collection,
    hinge_rows,
    sparse_collection,
    timed_beside_passes,
    tolerance_of,
)
from benchmarks.timing import Row, in_a_process, seconds
from rankwright.losses.pairwise import levels_of

_C = 1e-4
_MOST_PASSES = 60
_TIMES_THE_PASSES = 3
_PEERS_PAIRS = 1_750_000  # all of them would take 19 GB
_PEERS_TOLERANCE = 2e-3  # LinearSVC halves it where the classes are even: the gradient tolerance of our fit
_MOST_REPEATS = 5
_MEMORY = """
import json, sys
import numpy as np
import rankwright as rw
from benchmarks.timing import growth

x, y, qid = (np.load(f"{sys.argv[1]}/{name}.npy") for name in ("x", "y", "qid"))
queries = rw.Queries(x, y, qid)
rw.RankSVM(alpha=1e4).fit(queries[:20])
print(json.dumps({"grown": growth(lambda: rw.RankSVM(alpha=1e4).fit(queries))}))
"""


def run(repeats: int) -> list[Row]:
    """The squared hinge to liblinear's tolerance, then the plain hinge to a gap of 0.1 %."""
    queries, few = collection(), min(repeats, _MOST_REPEATS)
    return [*_squared_hinge(queries, few), *_sparse(queries, few), *hinge_rows(queries, "unit", few)]


def _sparse(dense: rw.Queries, repeats: int) -> list[Row]:
    """The squared hinge on sparse text features; a pass is that of the dense set, as for the others."""
    queries = sparse_collection()
    if queries is None:
        return []
    ranker = rw.RankSVM(alpha=100.0)
    ranker.set_params(tol=tolerance_of(ranker, queries))
    ours, one_pass = timed_beside_passes(dense, lambda: clone(ranker).fit(queries), repeats)
    note = f"50,000 features, {ours:.2f} s; {LIBLINEAR_SPARSE_S} s of the peer restated"
    restated = LIBLINEAR_SPARSE_S / PEERS_PASS_S
    return [Row("ranksvm, squared hinge, CSR", "liblinear's RankSVM", ours / one_pass, restated, 1, note, "passes")]


def _squared_hinge(queries: rw.Queries, repeats: int) -> list[Row]:
    fits: list[rw.RankSVM] = []
    ranker = rw.RankSVM(alpha=1 / _C)
    ranker.set_params(tol=tolerance_of(ranker, queries))

    def fit() -> None:
        fits.append(clone(ranker).fit(queries))

    ours, one_pass = timed_beside_passes(queries, fit, repeats)
    grown, passes = _memory(queries), 2 * fits[-1].passes_  # X·w and Xᵀv each time
    n_pairs = float(levels_of(queries.judgments).pairs().sum())
    differences = _pair_differences(queries, _PEERS_PAIRS)
    peer = seconds(lambda: _linear_svc(differences, n_pairs))
    name = "ranksvm, squared hinge"
    part = f"the peer on {_PEERS_PAIRS / n_pairs:.1%} of {n_pairs / 1e6:.1f} million pairs, their making not counted"
    restated = LIBLINEAR_S / PEERS_PASS_S
    return [
        Row(name, "passes allowed", passes, _MOST_PASSES, 1, "to liblinear's gradient tolerance", "passes"),
        Row(name, "3 × passes × time of X·w", ours, _TIMES_THE_PASSES * passes * one_pass, 1, "the same fit"),
        Row(name, "LinearSVC on explicit pairs", ours, peer, 50, part),
        Row(
            name, "liblinear's RankSVM", ours / one_pass, restated, 1, f"{LIBLINEAR_S} s of the peer restated", "passes"
        ),
        Row(f"{name}, memory", "8 bytes per pair", grown / 1e9, 8 * n_pairs / 1e9, 1, "beyond the data", "GB"),
    ]


def _memory(queries: rw.Queries) -> float:
    """By how much a fit raises the memory of a process that has compiled it before, but not used it on such data."""
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (("x", queries.X), ("y", queries.y), ("qid", queries.qid)):
            np.save(Path(folder) / f"{name}.npy", values)
        return in_a_process(_MEMORY, folder)["grown"]


def _pair_differences(queries: rw.Queries, count: int) -> npt.NDArray[np.float64]:
    """x_i − x_j of pairs drawn at random from all pairs with y_i > y_j."""
    random, offsets, y = np.random.default_rng(0), queries.grouping.offsets, queries.y
    x, sizes = queries.X, np.diff(offsets).astype(np.float64)
    drawn: list[npt.NDArray[np.float64]] = []
    while sum(map(len, drawn)) < count:
        query = random.choice(len(sizes), size=count, p=sizes**2 / (sizes**2).sum())
        i, j = (offsets[query] + (random.random(count) * sizes[query]).astype(np.int64) for _ in range(2))
        better = y[i] > y[j]
        drawn.append(x[i[better]].astype(np.float64) - x[j[better]])
    return np.concatenate(drawn)[:count]


def _linear_svc(differences: npt.NDArray[np.float64], n_pairs: float) -> Any:
    """Every other pair is turned round, as a classifier needs two classes; C is that of all pairs on a part of them."""
    labels = np.where(np.arange(len(differences)) % 2 == 0, 1.0, -1.0)
    svc = LinearSVC(C=_C * n_pairs / len(differences), fit_intercept=False, dual=False, tol=_PEERS_TOLERANCE)
    return svc.fit(differences * labels[:, None], labels)
