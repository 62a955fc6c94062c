"""Linear rankers or LambdaMART? `fit` beside LightGBM on the same judged queries, as their number grows.

``python -m benchmarks.choose [SET ...] [--seeds N] [--out FILE]`` prints the tables of docs/choose.md. With ``--out``
every size is kept in FILE once it is done, and not computed again.

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
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import rankwright as rw
from benchmarks.timing import Row
from rankwright.datasets import LetorFold, load_letor, make_queries
from rankwright.fitting.choice import choose, entry_of
from rankwright.fitting.data import joined
from rankwright.fitting.fit import fit
from rankwright.fitting.result import FitResult
from rankwright.measures.significance import bootstrap_interval, wilcoxon_test

Array = npt.NDArray[np.float64]

_MEASURE = "ndcg@10"
_FOLDS = 5
_TESTED = 1000  # queries of a synthetic collection that are tested on
_PART_TRAINED_ON = 0.75
_PATIENCE = 50  # trees without a gain
# Leaves, learning rates, least documents in a leaf, most trees. Many documents get larger leaves, slower learning
# and more trees.
_GRID = ((4, 31), (0.05, 0.1), (20, 100), (500,))
_GRID_FOR_MANY = ((4, 15), (0.05,), (100, 500), (1500,))
_MANY_DOCUMENTS = 20_000
_SERVING_S = 0.2
_THREADS = "RANKWRIGHT_THREADS"

CHOSEN, FEW, TREES, TREES_TRAIN = "fit, best", "fit, few features", "LambdaMART", "LambdaMART, training part"


class _Trained(NamedTuple):
    """A ranker: how it scores, what its training took, and what it needs."""

    scores: Callable[[rw.Queries], Array]
    seconds: float
    n_features: int


class _Run(NamedTuple):
    """One draw or fold: NDCG@10 of each system and test query, and what both sides took."""

    values: dict[str, Array]
    seconds: dict[str, float]
    n_features: dict[str, int]
    nanoseconds: dict[str, float]


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
    result = fit(parts.train, valid=parts.vali, measure=_MEASURE, rule="best")
    taken = time.process_time() - start
    titles = [entry.family.title for entry in result.entries]
    families = {title: _scoring(model.coef_, taken) for title, model in zip(titles, result.models, strict=True)}
    return {CHOSEN: _scoring(result.model.coef_, taken), FEW: _scoring(_few_weights(result), taken), **families}


def _few_weights(result: FitResult) -> Array:
    """What `fit` gives by its default rule, from what it has judged already."""
    entries = [entry_of(judged, result.measure, "one-standard-error") for judged in result.judged]
    entry = entries[choose(entries, result.measure, "one-standard-error")]
    weights: Array = entry.family.weights(result.data.whole, [entry.setting])[0] / result.data.scale
    return weights


def _scoring(weights: Array, taken: float) -> _Trained:
    used = np.flatnonzero(weights)
    return _Trained(lambda queries: queries.X @ weights.astype(queries.X.dtype), taken, len(used))


def _tree_side(parts: LetorFold) -> dict[str, _Trained]:
    """LambdaMART with the leaves, rate and least documents that validate best, and as many trees as do."""
    import lightgbm

    start = time.process_time()
    tried = [_boosted(parts, parameters) for parameters in _grid(parts.train.n_documents)]
    best, parameters = max(tried, key=lambda one: one[0].best_score["valid_0"]["ndcg@10"])
    parameters["num_iterations"] = best.best_iteration
    again = lightgbm.train(parameters, _dataset(joined(parts.train, parts.vali)))
    taken = time.process_time() - start
    return {TREES: _tree_scoring(again, taken), TREES_TRAIN: _tree_scoring(best, taken)}


def _grid(n_documents: int) -> Iterator[dict[str, Any]]:
    for leaves, rate, least, trees in product(*(_GRID if n_documents < _MANY_DOCUMENTS else _GRID_FOR_MANY)):
        yield {
            "objective": "lambdarank",
            "metric": "ndcg",
            "eval_at": [10],
            "num_leaves": leaves,
            "learning_rate": rate,
            "min_data_in_leaf": least,
            "num_iterations": trees,
            "num_threads": 1,
            "verbosity": -1,
        }


def _boosted(parts: LetorFold, parameters: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    import lightgbm

    train = _dataset(parts.train)
    valid = _dataset(parts.vali, reference=train)
    stop = lightgbm.early_stopping(_PATIENCE, verbose=False)
    return lightgbm.train(parameters, train, valid_sets=[valid], callbacks=[stop]), parameters


def _dataset(queries: rw.Queries, **options: Any) -> Any:
    """The gains of grades are 2^y − 1 unless told otherwise."""
    import lightgbm

    return lightgbm.Dataset(queries.X, queries.y, group=queries.sizes, **options)


def _tree_scoring(booster: Any, taken: float) -> _Trained:
    used = int(np.count_nonzero(booster.feature_importance(iteration=booster.best_iteration)))
    return _Trained(lambda queries: booster.predict(queries.X, num_threads=1), taken, used)


# Measuring


def _measured(parts: LetorFold) -> _Run:
    """Both sides on the same parts."""
    with _one_thread():
        trained = {**_linear_side(parts), **_tree_side(parts)}
        return _Run(
            {name: _values(one.scores(parts.test), parts.test) for name, one in trained.items()},
            {name: one.seconds for name, one in trained.items()},
            {name: one.n_features for name, one in trained.items()},
            {name: _serving(trained[name], parts.test) for name in (CHOSEN, FEW, TREES)},
        )


def _values(scores: Array, queries: rw.Queries) -> Array:
    evaluation = rw.evaluate(scores, queries, _MEASURE)
    return next(iter(evaluation.values.values()))


def _serving(trained: _Trained, queries: rw.Queries) -> float:
    """Nanoseconds to score a document, all at once, its features lying ready."""
    calls, start = 0, time.process_time()
    while time.process_time() - start < _SERVING_S:
        trained.scores(queries)
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


def _cell(one: _Set, size: int | None, seeds: int) -> Cell:
    """All draws of a size, or all folds."""
    all_parts = [one.parts(size, seed) for seed in range(seeds)]
    runs = [_measured(parts) for parts in all_parts]
    judged = [parts.train.n_queries + parts.vali.n_queries for parts in all_parts]
    documents = [parts.train.n_documents + parts.vali.n_documents for parts in all_parts]
    less = {name: [run.values[name] - run.values[TREES] for run in runs] for name in (CHOSEN, FEW)}
    return Cell(
        one.name,
        round(float(np.mean(judged))),
        round(float(np.mean(documents))),
        len(runs),
        all_parts[0].test.n_queries if one.same_test else sum(parts.test.n_queries for parts in all_parts),
        {name: float(np.concatenate([run.values[name] for run in runs]).mean()) for name in runs[0].values},
        {name: _tested(_by_query(values, one.same_test)) for name, values in less.items()},
        {name: sum(bool(values.mean() > 0) for values in by_run) for name, by_run in less.items()},
        {name: float(np.median([run.seconds[name] for run in runs])) for name in (CHOSEN, TREES)},
        {name: float(np.mean([run.n_features[name] for run in runs])) for name in (CHOSEN, FEW, TREES)},
        {name: float(np.median([run.nanoseconds[name] for run in runs])) for name in (CHOSEN, FEW, TREES)},
    )


def _by_query(differences: list[Array], same_test: bool) -> Array:
    """One value for each test query: if all draws have the same ones, its mean over draws."""
    return np.mean(differences, axis=0) if same_test else np.concatenate(differences)


def _tested(differences: Array) -> tuple[float, float, float, float]:
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
    """Every size of the collections; those in the file are taken from it, and others added."""
    done = {}
    if kept is not None and kept.is_file():
        for line in kept.read_text().splitlines():
            key, cell = json.loads(line)
            done[tuple(key)] = Cell(**cell)
    _measured(_linear(0.5, 20, 0))  # compiles
    for name in names:
        one = _sets()[name]
        for size, most in one.draws.items():
            key = (name, size, most if size is None else min(seeds, most))
            if key not in done:
                done[key] = _cell(one, size, key[2])
                if kept is not None:
                    with kept.open("a") as file:
                        file.write(json.dumps([key, asdict(done[key])]) + "\n")
            yield done[key]


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choose", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"some of {', '.join(_sets())} (default: all there are)")
    parser.add_argument("--seeds", type=int, default=3, help="draws of each synthetic size at most (default: 3)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep what is done here")
    arguments = parser.parse_args()
    cells = list(_cells(arguments.sets or _available(), arguments.seeds, arguments.out))
    print(quality_table(cells), family_table(cells), cost_table(cells), sep="\n\n")


if __name__ == "__main__":
    main()
