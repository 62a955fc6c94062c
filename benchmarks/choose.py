"""Linear rankers or LambdaMART? `fit` beside LightGBM on the same judged queries, as their number grows.

``python -m benchmarks.choose [SET ...] [--seeds N] [--out FOLDER]`` prints the tables of docs/choose.md, and before
that each row of the first as soon as it is known. With ``--out`` each side of each draw or fold is a file in FOLDER
once it is done, and not computed again: remove ``*-linear.json`` to have that side alone measured anew.

Both sides get the same queries: three quarters to train on and one to choose by, or the parts of a fold. Both are
trained again on all of them with what was chosen, and tested on queries that decided nothing. Both run on one thread,
and seconds are those of the processor, so that other work on the machine hardly counts.

Collections with a linear truth are made here. Others are tested where they are: RANKWRIGHT_DATA names a folder with
MQ2008/Fold1 to Fold5 and OHSUMED/Fold1 to Fold5; RANKWRIGHT_PEER_DATA one with mq_train.npz, mq_valid.npz,
mslr_train.npz and mslr_valid.npz (X, y, qid).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import rankwright as rw
from benchmarks.lambdamart import tuned
from benchmarks.timing import Row
from rankwright.data.paths import atomic_path
from rankwright.datasets import LetorFold, load_letor, make_queries
from rankwright.evaluation.significance import bootstrap_interval, wilcoxon_test
from rankwright.fitting.fit import fit
from rankwright.models.linear_model import LinearModel
from rankwright.types import Array

_MEASURE = "ndcg@10"
_FOLDS = 5
_TESTED = 1000  # queries of a synthetic collection that are tested on
_PART_TRAINED_ON = 0.75
_SERVING_S = 0.2
_THREADS = "RANKWRIGHT_THREADS"

CHOSEN, FEW, TREES, TREES_TRAIN = "fit, best", "fit, few features", "LambdaMART", "LambdaMART, training part"


class _Trained(NamedTuple):
    """A ranker: how it scores, once for each seed it was trained with, what training took, and what it needs."""

    scorers: Sequence[Callable[[rw.Queries], Array]]
    seconds: float
    n_features: float


@dataclass(frozen=True)
class _Tested:
    """A ranker on the test queries of a draw or fold: NDCG@10 of each, the mean over seeds; and what it took."""

    values: list[float]
    seconds: float
    n_features: float
    nanoseconds: float


_Run = dict[str, _Tested]  # the systems of both sides on one draw or fold, by name


@dataclass(frozen=True)
class Cell:
    """A collection at one number of judged queries, over all draws or folds.

    ``differences`` and their like are of `fit` less LambdaMART: mean, ends of the 95 % bootstrap interval, p.
    """

    name: str
    judged: int
    documents: int
    runs: int
    tested: int
    means: dict[str, float]
    differences: dict[str, tuple[float, float, float, float]]
    ahead: dict[str, int]
    seconds: dict[str, float]
    n_features: dict[str, float]
    nanoseconds: dict[str, float]


# Collections


class _Set(NamedTuple):
    """How often each size of a collection is drawn at most, None for that of its folds; its parts for a seed."""

    name: str
    draws: dict[int | None, int]
    parts: Callable[[int | None, int], LetorFold]
    same_test: bool = False


def _sets() -> dict[str, _Set]:
    return {
        "mq2008": _Set("MQ2008", {None: _FOLDS}, partial(_fold, "MQ2008")),
        "ohsumed": _Set("OHSUMED", {None: _FOLDS}, partial(_fold, "OHSUMED")),
        "linear": _Set("linear truth", {50: 3, 100: 3, 300: 3, 1000: 1, 3000: 1}, partial(_linear, 0.5)),
        "level": _Set("linear truth, no offsets", {100: 3, 300: 3, 1000: 1}, partial(_linear, 0.0)),
        "mq": _Set("curved truth, 46 features", {100: 3, 300: 3, 1000: 1}, partial(_stored, "mq"), same_test=True),
        "mslr": _Set("curved truth, 136 features", {100: 2, 300: 1}, partial(_stored, "mslr"), same_test=True),
    }


def _fold(name: str, _: int | None, seed: int) -> LetorFold:
    return load_letor(Path(os.environ["RANKWRIGHT_DATA"]) / name, seed + 1)


def _linear(offset: float, size: int | None, seed: int) -> LetorFold:
    """The first queries of a collection whose best ranker is linear; its last are tested on."""
    everything = _linear_collection(offset, seed)
    return _divided(everything[:size], everything[-_TESTED:])


@cache
def _linear_collection(offset: float, seed: int) -> rw.Queries:
    options = {"n_informative": 12, "n_correlated": 24, "query_offset": offset, "seed": seed}
    return make_queries(4000, 40, 46, **options).queries  # type: ignore[arg-type]


def _stored(name: str, size: int | None, seed: int) -> LetorFold:
    """Some queries of a stored collection, drawn anew for each seed."""
    train, valid = _stored_part(f"{name}_train"), _stored_part(f"{name}_valid")
    drawn = np.random.default_rng(seed).permutation(train.n_queries)[:size]
    return _divided(train[drawn], valid[:_TESTED])


@cache
def _stored_part(name: str) -> rw.Queries:
    with np.load(Path(os.environ["RANKWRIGHT_PEER_DATA"]) / f"{name}.npz") as data:
        return rw.Queries(data["X"], data["y"].astype(np.float64), data["qid"])


def _divided(judged: rw.Queries, test: rw.Queries) -> LetorFold:
    cut = int(_PART_TRAINED_ON * judged.n_queries)
    return LetorFold(judged[:cut], judged[cut:], test)


# The two sides


def _linear_side(parts: LetorFold) -> dict[str, _Trained]:
    """The best linear ranker, that with few features, and every family with its best setting."""
    start = time.process_time()
    best = fit(parts.train, valid=parts.vali, measure=_MEASURE, rule="best")
    taken = time.process_time() - start
    few = fit(parts.train, valid=parts.vali, measure=_MEASURE)
    titles = [entry.family.title for entry in best.entries]
    families = {title: _scoring(model, taken) for title, model in zip(titles, best.models, strict=True)}
    return {CHOSEN: _scoring(best.model, taken), FEW: _scoring(few.model, taken), **families}


def _scoring(model: LinearModel, taken: float) -> _Trained:
    return _Trained([model.predict], taken, float(len(model.formula().used)))


def _tree_side(parts: LetorFold) -> dict[str, _Trained]:
    """LambdaMART, tuned on the validation queries."""
    start = time.process_time()
    found = tuned(parts)
    taken = time.process_time() - start
    return {TREES: _tree_scoring(found.on_all, taken), TREES_TRAIN: _tree_scoring(found.on_training_part, taken)}


def _tree_scoring(boosters: Sequence[Any], taken: float) -> _Trained:
    used = [np.count_nonzero(booster.feature_importance(iteration=booster.best_iteration)) for booster in boosters]
    scorers = [partial(_tree_scores, booster) for booster in boosters]
    return _Trained(scorers, taken, float(np.mean(used)))


def _tree_scores(booster: Any, queries: rw.Queries) -> Array:
    scores: Array = booster.predict(queries.X, num_threads=1)
    return scores


_SIDES = {"linear": _linear_side, "LambdaMART": _tree_side}


# Measuring


def _measured(side: str, parts: LetorFold) -> _Run:
    """The rankers of one side, trained and tested."""
    with _one_thread():
        return {name: _tested(trained, parts.test) for name, trained in _SIDES[side](parts).items()}


def _tested(trained: _Trained, queries: rw.Queries) -> _Tested:
    values = np.mean([_values(scores(queries), queries) for scores in trained.scorers], axis=0)
    nanoseconds = _serving(trained.scorers[0], queries)
    return _Tested(values.tolist(), trained.seconds, trained.n_features, nanoseconds)


def _values(scores: Array, queries: rw.Queries) -> Array:
    evaluation = rw.evaluate(scores, queries, _MEASURE)
    return next(iter(evaluation.values.values()))


def _serving(scores: Callable[[rw.Queries], Array], queries: rw.Queries) -> float:
    """Nanoseconds to score a document, all at once, its features lying ready."""
    calls, start = 0, time.process_time()
    while time.process_time() - start < _SERVING_S:
        scores(queries)
        calls += 1
    return 1e9 * (time.process_time() - start) / (calls * queries.n_documents)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        del os.environ[_THREADS]
        if before is not None:
            os.environ[_THREADS] = before


def _cell(one: _Set, all_parts: Sequence[LetorFold], runs: Sequence[_Run]) -> Cell:
    """All draws of a size, or all folds."""
    judged = [parts.train.n_queries + parts.vali.n_queries for parts in all_parts]
    documents = [parts.train.n_documents + parts.vali.n_documents for parts in all_parts]
    values = {name: [np.array(run[name].values) for run in runs] for name in runs[0]}
    less = {
        name: [ours - trees for ours, trees in zip(values[name], values[TREES], strict=True)] for name in (CHOSEN, FEW)
    }
    return Cell(
        one.name,
        round(float(np.mean(judged))),
        round(float(np.mean(documents))),
        len(runs),
        all_parts[0].test.n_queries if one.same_test else sum(parts.test.n_queries for parts in all_parts),
        {name: float(np.concatenate(by_run).mean()) for name, by_run in values.items()},
        {name: _difference(_by_query(by_run, one.same_test)) for name, by_run in less.items()},
        {name: sum(bool(differences.mean() > 0) for differences in by_run) for name, by_run in less.items()},
        {name: float(np.median([run[name].seconds for run in runs])) for name in (CHOSEN, TREES)},
        {name: float(np.mean([run[name].n_features for run in runs])) for name in (CHOSEN, FEW, TREES)},
        {name: float(np.median([run[name].nanoseconds for run in runs])) for name in (CHOSEN, FEW, TREES)},
    )


def _by_query(differences: list[Array], same_test: bool) -> Array:
    """One value for each test query: if all draws have the same ones, its mean over draws."""
    return np.mean(differences, axis=0) if same_test else np.concatenate(differences)


def _difference(differences: Array) -> tuple[float, float, float, float]:
    return (float(differences.mean()), *bootstrap_interval(differences), wilcoxon_test(differences))


# Tables


def quality_table(cells: Sequence[Cell]) -> str:
    """NDCG@10 of the linear rankers and of LambdaMART, and whether they differ."""
    best = ("best − LambdaMART", "95 % interval", "p", "ahead in")
    header = ("collection", "judged queries", CHOSEN, FEW, TREES, *best, "few − LambdaMART", "p")
    rows = []
    for cell in cells:
        (mean, low, high, p), few = cell.differences[CHOSEN], cell.differences[FEW]
        values = [f"{cell.means[name]:.4f}" for name in (CHOSEN, FEW, TREES)]
        told = [f"{mean:+.4f}", f"{low:+.4f} to {high:+.4f}", _p(p), f"{cell.ahead[CHOSEN]} of {cell.runs}"]
        rows.append([cell.name, f"{cell.judged:,}", *values, *told, f"{few[0]:+.4f}", _p(few[3])])
    return _markdown(header, rows)


def family_table(cells: Sequence[Cell]) -> str:
    """NDCG@10 of every family, and of LambdaMART without the last training."""
    names = [name for name in cells[0].means if name not in (CHOSEN, FEW)]
    rows = [[c.name, f"{c.judged:,}", *(f"{c.means[name]:.4f}" for name in names)] for c in cells]
    return _markdown(("collection", "judged queries", *names), rows)


def cost_table(cells: Sequence[Cell]) -> str:
    """Seconds to train, features that are needed, nanoseconds to score a document."""
    training = ("training: fit, s", "LambdaMART, s", "ratio")
    features = ("features: best", "few", "LambdaMART")
    header = ("collection", "judged queries", *training, *features, "scoring: linear, ns", "LambdaMART, ns")
    rows = []
    for cell in cells:
        ours, theirs = cell.seconds[CHOSEN], cell.seconds[TREES]
        used = [f"{cell.n_features[name]:.0f}" for name in (CHOSEN, FEW, TREES)]
        serving = [f"{cell.nanoseconds[name]:.0f}" for name in (CHOSEN, TREES)]
        times = [f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.1f}"]
        rows.append([cell.name, f"{cell.judged:,}", *times, *used, *serving])
    return _markdown(header, rows)


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in header[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def run(repeats: int) -> list[Row]:
    """What is lost (1 − NDCG@10) and what training takes, for every collection that is there."""
    rows = []
    for cell in _cells(_available(), repeats, None):
        name, p = f"{cell.name}, {cell.judged:,} queries", cell.differences[CHOSEN][3]
        lost = {side: 1 - cell.means[side] for side in (CHOSEN, TREES)}
        rows.append(Row(name, TREES, lost[CHOSEN], lost[TREES], 0, f"p = {_p(p)}", "1 − NDCG@10"))
        rows.append(Row(f"{name}, training", TREES, cell.seconds[CHOSEN], cell.seconds[TREES], 0, "CPU, one thread"))
    return rows


def _available() -> list[str]:
    data, peer = (Path(os.environ.get(name, "")) for name in ("RANKWRIGHT_DATA", "RANKWRIGHT_PEER_DATA"))
    there = {name.lower(): (data / name / "Fold1").is_dir() for name in ("MQ2008", "OHSUMED")}
    there |= {name: (peer / f"{name}_train.npz").is_file() for name in ("mq", "mslr")}
    return [name for name in _sets() if there.get(name, True)]


def _cells(names: Sequence[str], seeds: int, kept: Path | None) -> Iterator[Cell]:
    """Every size of the collections, one after the other."""
    _measured("linear", _linear(0.5, 20, 0))  # compiles
    for name in names:
        one = _sets()[name]
        for size, most in one.draws.items():
            draws = range(most if size is None else min(seeds, most))
            all_parts = [one.parts(size, seed) for seed in draws]
            keys = [f"{name}-{'folds' if size is None else size}-{seed}" for seed in draws]
            yield _cell(one, all_parts, [_run(key, parts, kept) for key, parts in zip(keys, all_parts, strict=True)])


def _run(key: str, parts: LetorFold, kept: Path | None) -> _Run:
    """Both sides; one that has its file in the folder is taken from there, another gets one."""
    run: _Run = {}
    for side in _SIDES:
        file = None if kept is None else kept / f"{key}-{side}.json"
        if file is not None and file.is_file():
            run |= {name: _Tested(**tested) for name, tested in json.loads(file.read_text()).items()}
            continue
        measured = _measured(side, parts)
        if file is not None:
            with atomic_path(file) as path:
                path.write_text(json.dumps({name: asdict(tested) for name, tested in measured.items()}))
        run |= measured
    return run


def main() -> None:
    """Print rows as they come, and then the three tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choose", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"some of {', '.join(_sets())} (default: all there are)")
    parser.add_argument("--seeds", type=int, default=3, help="draws of each synthetic size at most (default: 3)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="keep what is done here")
    arguments = parser.parse_args()
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
    cells: list[Cell] = []
    for cell in _cells(arguments.sets or _available(), arguments.seeds, arguments.out):
        cells.append(cell)
        print(quality_table([cell]).splitlines()[-1], flush=True)
    print("", quality_table(cells), family_table(cells), cost_table(cells), sep="\n\n")


if __name__ == "__main__":
    main()
