"""Greedy RankRLS: the whole (λ, k) grid, ten of 136 features on a large collection, its memory, and paper G anew.

Peers are algorithm 1 of paper G, which selects the same features, and RLScore's greedy least squares, the nearest
thing that exists: it leaves out single documents instead of queries. RLScore itself runs where it is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import rankwright as rw
from benchmarks import rlscore_numpy as rlscore
from benchmarks.algorithm1 import Selection, as_printed, greedy_rankrls
from benchmarks.collections import mq2007_sized, mslr_sized
from benchmarks.timing import (
    Row,
    alternate,
    fastest_threads,
    in_a_process,
    seconds,
    threads_note,
    with_blas_threads,
)

_ALPHAS = tuple(2.0**power for power in range(11))
_STEPS = 10
_MOST_REPEATS = 3  # the peers take many seconds
_AS_PRINTED = "algorithm 1 of paper G, line by line"
_ALGORITHM_1 = "algorithm 1 of paper G, tuned NumPy"
_RLS_PLAIN = "RLScore's greedy RLS, plain NumPy"
_RLS_TUNED = "RLScore's greedy RLS, tuned NumPy"
_FEW_STEPS = 2  # of peers as they were printed: more would take minutes
_ESTIMATE = f"the peer's time from the first {_FEW_STEPS} steps"
_BUDGET_S = 15

# The data come from files, so that nothing but the fit can raise the peak above them.
_MEMORY = """
import json, sys
import numpy as np
import rankwright as rw
from benchmarks.timing import memory

def fit(x, y, qid, n_features):
    rw.GreedyRankRLS(alpha=1.0, n_features=n_features, measures=()).fit(x, y, qid)

x, y, qid = (np.load(f"{sys.argv[1]}/{name}.npy", mmap_mode="r") for name in ("x", "y", "qid"))
few = slice(0, np.searchsorted(qid, qid[0] + 20))
fit(np.array(x[few]), np.array(y[few]), np.array(qid[few]), 2)
del x, y, qid
before = memory("VmRSS")
fit(*(np.load(f"{sys.argv[1]}/{name}.npy") for name in ("x", "y", "qid")), int(sys.argv[2]))
print(json.dumps({"grown": memory("VmHWM") - before}))
"""


def run(repeats: int) -> list[Row]:
    """All four; paper G's experiment only where its data are."""
    few = min(repeats, _MOST_REPEATS)
    large = mslr_sized()
    return [*_grid(mq2007_sized(), few), *_ten_features(large, few), _memory(large), *_reproduction()]


def _grid(queries: rw.Queries, repeats: int) -> list[Row]:
    answers: dict[str, Any] = {}
    count = queries.n_features
    data = (queries.X, queries.y, queries.grouping.offsets)

    def ours() -> None:
        ranker = rw.GreedyRankRLS(alpha=rw.search(*_ALPHAS), n_features=count, measures=())
        answers["ours"] = ranker.fit(queries).paths_

    def peer() -> None:
        answers["peer"] = [greedy_rankrls(*data, alpha, count) for alpha in _ALPHAS]

    def printed() -> None:
        answers["printed"] = as_printed(*data, _ALPHAS[0], _FEW_STEPS)

    threads = fastest_threads(lambda: greedy_rankrls(*data, _ALPHAS[0], count))
    printed_threads = fastest_threads(printed)
    taken = alternate({"ours": ours, "peer": with_blas_threads(threads, peer)}, repeats)
    for path, selection in zip(answers["ours"], answers["peer"], strict=True):
        _check_same(path, selection)
    scale = len(_ALPHAS) * _steps_to_few(count, count)  # each λ takes as long as the others
    taken["printed"] = scale * seconds(with_blas_threads(printed_threads, printed))
    _check_same(answers["ours"][0][:_FEW_STEPS], answers["printed"])
    note = f"{len(_ALPHAS)} λ, k to {count}, {queries.n_documents:,} documents; same features and criteria"
    estimate = f"{_ESTIMATE} for one λ; {threads_note(printed_threads)}"
    tuned = f"{note}; {threads_note(threads)}"
    return [
        Row("greedy, whole grid", _AS_PRINTED, taken["ours"], taken["printed"], 50, f"{note}; {estimate}"),
        Row("greedy, whole grid", _ALGORITHM_1, taken["ours"], taken["peer"], 1, tuned),
    ]


def _ten_features(queries: rw.Queries, repeats: int) -> list[Row]:
    answers: dict[str, Any] = {}
    data = (queries.X, queries.y, queries.grouping.offsets)

    def ours() -> None:
        answers["ours"] = rw.GreedyRankRLS(alpha=1.0, n_features=_STEPS, measures=()).fit(queries).path_

    def algorithm_1() -> None:
        answers["algorithm 1"] = greedy_rankrls(*data, 1.0, _STEPS)

    def tuned() -> None:
        answers["tuned"] = rlscore.greedy_rls(queries.X, queries.y, 1.0, _STEPS)

    threads, tuned_threads = fastest_threads(algorithm_1), fastest_threads(tuned)
    sides: dict[str, Callable[[], object]] = {
        "ours": ours,
        "algorithm 1": with_blas_threads(threads, algorithm_1),
        "tuned": with_blas_threads(tuned_threads, tuned),
    }
    taken = alternate(sides, repeats)
    _check_same(answers["ours"], answers["algorithm 1"])
    name = f"greedy, k = {_STEPS}"
    size = f"{queries.n_documents:,} documents"
    by_document = f"{size}; the peer leaves out documents, not queries"
    same = f"{size}; same features and criteria; {threads_note(threads)}"
    how_tuned = f"tuned: a contiguous row per feature, no temporary arrays; {threads_note(tuned_threads)}"
    slower = [*_rlscore_itself(queries, answers["tuned"]), _rlscore_plain(queries, answers["tuned"])]
    return [
        *(Row(name, peer, taken["ours"], time, 20, f"{by_document}; {note}") for peer, time, note in slower),
        Row(name, _RLS_TUNED, taken["ours"], taken["tuned"], 1, f"{by_document}; {how_tuned}"),
        Row(name, _ALGORITHM_1, taken["ours"], taken["algorithm 1"], 1, same),
    ]


def _rlscore_itself(queries: rw.Queries, tuned: Selection) -> list[tuple[str, float, str]]:
    """The peer's name, its seconds and how they were found; nothing where RLScore is not installed."""
    try:
        release = version("rlscore")
    except PackageNotFoundError:
        return []
    learner = import_module("rlscore.learner").GreedyRLS
    answers: dict[str, Any] = {}

    def rls() -> None:
        answers["rls"] = learner(queries.X, queries.y, _STEPS, regparam=1.0, bias=0.0)

    taken = seconds(rls)
    _check_features(answers["rls"].selected, tuned.features)
    np.testing.assert_allclose(np.array(answers["rls"].performances) * queries.n_documents, tuned.criteria, rtol=1e-8)
    return [(f"RLScore {release}, GreedyRLS", taken, "timed once")]


def _rlscore_plain(queries: rw.Queries, tuned: Selection) -> tuple[str, float, str]:
    """The same for its algorithm as it was published."""
    answers: dict[str, Selection] = {}

    def plain() -> None:
        answers["plain"] = rlscore.greedy_rls_plain(queries.X, queries.y, 1.0, _FEW_STEPS)

    threads = fastest_threads(plain)
    taken = _steps_to_few(queries.n_features, _STEPS) * seconds(with_blas_threads(threads, plain))
    _check_features(answers["plain"].features, tuned.features[:_FEW_STEPS])
    np.testing.assert_allclose(answers["plain"].criteria, tuned.criteria[:_FEW_STEPS], rtol=1e-8)
    return _RLS_PLAIN, taken, f"{_ESTIMATE}; {threads_note(threads)}"


def _steps_to_few(n_features: int, n_steps: int) -> float:
    """How many times as long as the first few steps ``n_steps`` take: a step takes as long as it has candidates."""
    candidates = np.arange(n_features, 0, -1)
    return float(candidates[:n_steps].sum() / candidates[:_FEW_STEPS].sum())


def _check_same(path: Any, selection: Selection) -> None:
    _check_features([step.feature for step in path], selection.features)
    np.testing.assert_allclose([step.criterion for step in path], selection.criteria, rtol=1e-8)


def _check_features(found: list[int], expected: list[int]) -> None:
    if found != expected:
        raise AssertionError(f"features {found}, {expected}")


def _memory(queries: rw.Queries) -> Row:
    """How far memory rose for the data and the fit, and what paper-and-pencil allows."""
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (("x", queries.X), ("y", queries.y), ("qid", queries.qid)):
            np.save(Path(folder) / f"{name}.npy", values)
        grown = in_a_process(_MEMORY, folder, str(_STEPS))["grown"]
    state = 2 * queries.n_queries * queries.n_features * _STEPS * 8
    allowed = 1.5 * queries.X.nbytes + state
    note = f"the peak is the data + {(grown - queries.X.nbytes) / state:.2f} × 2·N·n·k float64 numbers"
    return Row(f"greedy, k = {_STEPS}, memory", "1.5 × data + state", grown / 1e9, allowed / 1e9, 1, note, "GB")


def _reproduction() -> list[Row]:
    """Paper G's experiment on MQ2008 from the command line, against the time it may take."""
    shared = Path(os.environ.get("RANKWRIGHT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    with tempfile.TemporaryDirectory() as folder:
        folds = shared
        if not (shared / "MQ2008" / "Fold1").is_dir():
            if not (shared / "make_folds").is_file():
                print("no MQ2008: set RANKWRIGHT_DATA to a folder with MQ2008/Fold1 to Fold5", file=sys.stderr)
                return []
            folds = Path(folder) / "data"
            subprocess.run([sys.executable, str(shared / "make_folds"), str(folds)], check=True)
        command = [str(Path(sys.executable).with_name("rankwright")), "reproduce", "greedy-rankrls"]
        command += ["--data", str(folds), "--out", str(Path(folder) / "out")]
        taken = seconds(lambda: subprocess.run(command, check=True, capture_output=True))
    return [Row("greedy, reproduction on MQ2008", "budget", taken, _BUDGET_S, 1, "five folds, in a process of its own")]
