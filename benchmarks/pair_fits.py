"""What the benchmarks of pairwise rankers share: fits to a stated tolerance, and peers' times restated in passes.

C and C++ programs are not run here. What they took on one machine is restated as a number of passes, where one pass is
X·w over the same matrix in float32 with two threads (6.6 ms there); so is what we take, by the time of a pass here and
now. A product with Xᵀ is a pass, too: where a fit reads X once for both products, that counts as two.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import rankwright as rw
from benchmarks.collections import mslr_sized
from benchmarks.timing import Row, alternate
from rankwright.engines import engine_of
from rankwright.selection.search import checked_alphas
from rankwright.solvers.linear_objective import LinearObjective
from rankwright.solvers.sent_loss import SentLoss

PEERS_PASS_S = 0.0066
_PASSES_TIMED = 10
# liblinear's RankSVM stops where the gradient is this part of what it was at w = 0.
GRADIENT_TOLERANCE = 1e-3
# SVM-rank's seconds to a gap of 0.1 to 0.3 %, by C per pair, on 17.5 million pairs.
SVM_RANK_S = {1e-5: 36.0, 1e-4: 96.0, 1e-3: 332.0}
# liblinear's RankSVM (tree and trust region, two threads) at C = 1e-4.
LIBLINEAR_S = 2.26
# The same on 500 × 100 documents with 50,000 sparse features, at C = 0.01.
LIBLINEAR_SPARSE_S = 0.18


def collection() -> rw.Queries:
    """The set that the C programs were timed on, if RANKWRIGHT_PEER_DATA has mslr_train.npz; else one of its size."""
    folder = os.environ.get("RANKWRIGHT_PEER_DATA")
    if folder is None:
        return mslr_sized()
    with np.load(Path(folder) / "mslr_train.npz") as data:
        return rw.Queries(data["X"], data["y"].astype(np.float64), data["qid"])


def sparse_collection() -> rw.Queries | None:
    """Text features in CSR that liblinear was timed on, if RANKWRIGHT_PEER_DATA has sparse_train.npz."""
    path = Path(os.environ.get("RANKWRIGHT_PEER_DATA", "")) / "sparse_train.npz"
    if not path.is_file():
        return None
    with np.load(path) as data:
        x = sp.csr_array((data["data"], data["indices"], data["indptr"]), shape=tuple(data["shape"]))
        return rw.Queries(x, data["y"].astype(np.float64), data["qid"])


def timed_beside_passes(queries: rw.Queries, work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The median seconds of a call and of one pass, timed in turns. A pass is NumPy's X·w in float32."""
    x, weights = queries.X, np.ones(queries.n_features, np.float32)

    def passes() -> None:
        for _ in range(_PASSES_TIMED):
            x @ weights

    taken = alternate({"work": work, "passes": passes}, repeats)
    return taken["work"], taken["passes"] / _PASSES_TIMED


def tolerance_of(ranker: rw.RankSVM | rw.OrderPreservingRanker, queries: rw.Queries) -> float:
    """The relative gap of a point whose gradient is GRADIENT_TOLERANCE of that at w = 0: gaps go as its square."""
    zero = np.zeros(queries.n_features)
    alpha = checked_alphas(ranker.alpha, zero)[0]
    objective = LinearObjective(engine_of(queries), SentLoss(ranker._loss(), np.ones(queries.n_queries)), alpha, zero)
    at_zero = objective.gap(objective.at(zero))
    at_end: float = clone(ranker).set_params(tol=1e-4).fit(queries).objective_
    return GRADIENT_TOLERANCE**2 * at_zero / at_end


def compared_with_squared_hinge(
    name: str, ranker: rw.RankSVM | rw.OrderPreservingRanker, queries: rw.Queries, repeats: int
) -> Row:
    """A fit against twice the time of RankSVM with a squared hinge and unit margins, to the same gradient tolerance."""
    plain = rw.RankSVM(alpha=1e4)
    ranker, plain = (one.set_params(tol=tolerance_of(one, queries)) for one in (ranker, plain))
    fits: dict[str, int] = {}

    def fit(side: str) -> None:
        fits[side] = clone(ranker if side == "ours" else plain).fit(queries).passes_

    taken = alternate({side: partial(fit, side) for side in ("ours", "plain")}, repeats)
    note = f"{fits['ours']} and {fits['plain']} reads of X"
    return Row(name, "twice the squared hinge", taken["ours"], 2 * taken["plain"], 1, note)


def hinge_rows(queries: rw.Queries, margin: Literal["unit", "position"], repeats: int) -> list[Row]:
    """The plain hinge to a gap of 0.1 % for falling λ, against SVM-rank with a unit margin."""
    rows = []
    for c, peer_seconds in SVM_RANK_S.items():
        fits: list[rw.RankSVM] = []
        ranker = rw.RankSVM(alpha=1 / c, loss="hinge", margin=margin, tol=1e-3)

        def fit(ranker: rw.RankSVM = ranker, fits: list[rw.RankSVM] = fits) -> None:
            fits.append(clone(ranker).fit(queries))

        taken, one_pass = timed_beside_passes(queries, fit, repeats)
        gap = fits[-1].gap_ / fits[-1].objective_
        note = f"C = {c:g}, gap {gap:.2%}, {fits[-1].passes_} reads of X; {peer_seconds:g} s of the peer restated"
        name = f"hinge, {margin} margin"
        rows.append(Row(name, "SVM-rank", taken / one_pass, peer_seconds / PEERS_PASS_S, 10, note, "passes"))
    return rows
