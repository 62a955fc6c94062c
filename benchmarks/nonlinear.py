"""Non-linear rankers of ours beside LightGBM's and XGBoost's: after the same training time, and after the same search.

``python -m benchmarks.nonlinear [SET ...] [--draws N] [--out FOLDER] [--write]`` prints two tables; with ``--write`` it
puts them into docs/choose.md, and the shorter one into README.md. With ``--out``, what is done is kept in FOLDER.

- **The same time** (sets mq and mslr: RANKWRIGHT_PEER_DATA names a folder with mq_train.npz, mq_valid.npz,
  mslr_train.npz and mslr_valid.npz). LightGBM's lambdarank and rank_xendcg grow 100 and 500 trees. The slower of the
  two tells how long each of ours may train, which is made as large as fits. Half of the held-out queries choose the
  best of theirs and the best of ours, and the other half compares these two.
- **The same search** (sets mq2008 and ohsumed: RANKWRIGHT_DATA names a folder with MQ2008/Fold1 to Fold5 and
  OHSUMED/Fold1 to Fold5). Every ranker is trained with as many settings, drawn at random, on the training part of a
  fold. The validation part chooses among them (for trees also their number), and the test part compares. λ of linear
  rankers, of kernel maps and of formulas is part of their training.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import rankwright as rw
from benchmarks.nonlinear_systems import MEASURE, System, systems
from benchmarks.nonlinear_time import SETS, TimedCell, timed_cells
from benchmarks.pages import markdown, written
from benchmarks.timing import Row, seconds
from rankwright.data.paths import atomic_path
from rankwright.datasets import LetorFold, load_letor
from rankwright.evaluation.significance import bootstrap_interval, wilcoxon_test
from rankwright.types import Array

COLLECTIONS = {"mq2008": "MQ2008", "ohsumed": "OHSUMED"}
_FOLDS = 5
_DRAWS = 12
_MEASURES = (MEASURE, "map")
_PAGES = {Path("docs/choose.md"): ("same time", "same search"), Path("README.md"): ("beyond linear",)}


@dataclass(frozen=True)
class Searched:
    """A ranker after its search on one fold: the validated NDCG@10 of the chosen draw, its test values, seconds."""

    validated: float
    values: dict[str, list[float]]
    seconds: float


_Folds = list[dict[str, Searched]]  # for each fold, every ranker by name


# The same search


def searched(system: System, parts: LetorFold, draws: int) -> Searched:
    """The draw that ranks the validation part best, on the test part."""
    best: tuple[float, Callable[[rw.Queries], Array]] | None = None
    taken = 0.0
    for number in range(draws):
        found: list[Callable[[rw.Queries], Array]] = []
        drawn = system.draw(number)
        taken += seconds(lambda drawn=drawn, found=found: found.append(system.train(parts.train, parts.vali, drawn)))  # type: ignore[misc]
        validated = float(_values(found[0], parts.vali, MEASURE).mean())
        if best is None or validated > best[0]:
            best = validated, found[0]
    assert best is not None
    values = {measure: _values(best[1], parts.test, measure).tolist() for measure in _MEASURES}
    return Searched(best[0], values, taken)


def _values(scores: Callable[[rw.Queries], Array], queries: rw.Queries, measure: str) -> Array:
    return next(iter(rw.evaluate(scores(queries), queries, measure, convention="letor4").values.values()))


def folds_of(name: str, draws: int, kept: Path | None) -> _Folds:
    """Every ranker on every fold of a collection."""
    found: _Folds = []
    for fold in range(1, _FOLDS + 1):
        parts = load_letor(Path(os.environ["RANKWRIGHT_DATA"]) / COLLECTIONS[name], fold)
        of_fold = {}
        for system in systems():
            file = None if kept is None else kept / f"{name}-{fold}-{draws}-{_plain(system.name)}.json"
            of_fold[system.name] = _once(file, system, parts, draws)
            print(f"{name}, fold {fold}: {system.name} {np.mean(of_fold[system.name].values[MEASURE]):.4f}", flush=True)
        found.append(of_fold)
    return found


def _once(file: Path | None, system: System, parts: LetorFold, draws: int) -> Searched:
    if file is not None and file.is_file():
        return Searched(**json.loads(file.read_text()))
    done = searched(system, parts, draws)
    if file is not None:
        with atomic_path(file) as path:
            path.write_text(json.dumps(asdict(done)))
    return done


def _plain(name: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in name)


def chosen(folds: _Folds, names: Sequence[str], measure: str) -> Array:
    """The values of test queries by whichever of some rankers ranks the validation part of their fold best."""
    best = [max(names, key=lambda name, fold=fold: fold[name].validated) for fold in folds]  # type: ignore[misc]
    return np.concatenate([fold[name].values[measure] for fold, name in zip(folds, best, strict=True)])


def pooled(folds: _Folds, name: str, measure: str) -> Array:
    """The values of the test queries of all folds by one ranker."""
    return np.concatenate([fold[name].values[measure] for fold in folds])


@dataclass(frozen=True)
class Difference:
    """Ours less theirs, query by query: the mean, its 95 % interval, Wilcoxon's p."""

    mean: float
    low: float
    high: float
    p: float

    @classmethod
    def of(cls, ours: Array, theirs: Array) -> Difference:
        """Of values of the same queries."""
        differences = ours - theirs
        return cls(float(differences.mean()), *bootstrap_interval(differences), wilcoxon_test(differences))

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.p >= 0.05:
            return "level"
        return "ours ahead" if self.mean > 0 else "lost"

    def __str__(self) -> str:
        p = "< 0.0001" if self.p < 0.0001 else f"= {self.p:.4f}"
        return f"{self.mean:+.4f} ({self.low:+.4f} to {self.high:+.4f}, p {p}): {self.verdict}"


def search_table(found: dict[str, _Folds], all_systems: Sequence[tuple[str, bool]]) -> str:
    """NDCG@10 and MAP of every ranker, and the best of ours beside the best of theirs."""
    head = ["ranker", *(f"{COLLECTIONS[name]} {told}" for name in found for told in ("NDCG@10", "MAP")), "search, s"]
    rows = []
    for name, _ in all_systems:
        means = [f"{pooled(folds, name, m).mean():.4f}" for folds in found.values() for m in _MEASURES]
        taken = sum(fold[name].seconds for folds in found.values() for fold in folds)
        rows.append([name, *means, f"{taken:.0f}"])
    sides = {is_ours: [name for name, ours in all_systems if ours == is_ours] for is_ours in (False, True)}
    for is_ours, title in ((False, "**theirs, by validation**"), (True, "**ours, by validation**")):
        means = [f"{chosen(folds, sides[is_ours], m).mean():.4f}" for folds in found.values() for m in _MEASURES]
        rows.append([title, *means, ""])
    told = [
        str(Difference.of(chosen(folds, sides[True], m), chosen(folds, sides[False], m)))
        for folds in found.values()
        for m in _MEASURES
    ]
    rows.append(["ours − theirs", *told, ""])
    return markdown(head, rows)


# Both tables


def time_table(cells: Sequence[TimedCell]) -> str:
    """What each ranker reaches in the time that LightGBM takes."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.rankers))
    head = ["collection", "LightGBM", "seconds", *names, "best of ours − best of theirs"]
    rows = []
    for cell in cells:
        told = [
            f"{np.mean(cell.rankers[name].values):.4f} ({cell.rankers[name].seconds:.0f} s)"
            if name in cell.rankers
            else "—"
            for name in names
        ]
        ours, theirs = cell.best(is_ours=True), cell.best(is_ours=False)
        difference = Difference.of(cell.compared(ours), cell.compared(theirs))
        rows.append(
            [cell.title, f"{cell.n_trees} trees", f"{cell.seconds:.0f}", *told, f"{ours} − {theirs}: {difference}"]
        )
    return markdown(head, rows)


def short_table(found: dict[str, _Folds], cells: Sequence[TimedCell], all_systems: Sequence[tuple[str, bool]]) -> str:
    """A row for each collection: linear, the best of ours, the best of theirs."""
    head = ["collection", "linear", "best of ours", "best of LightGBM and XGBoost", "ours − theirs"]
    rows = []
    for name, folds in found.items():
        ours, theirs = ([title for title, is_ours in all_systems if is_ours == side] for side in (True, False))
        best = [chosen(folds, side, MEASURE) for side in (ours, theirs)]
        means = [f"{values.mean():.4f}" for values in (pooled(folds, "linear", MEASURE), *best)]
        rows.append([f"{COLLECTIONS[name]}, the same search", *means, str(Difference.of(*best))])
    for cell in cells:
        ours_name, theirs_name = cell.best(is_ours=True), cell.best(is_ours=False)
        best = [cell.compared(name) for name in (ours_name, theirs_name)]
        linear = f"{cell.compared('linear').mean():.4f}"
        means = [f"{values.mean():.4f} ({name})" for values, name in zip(best, (ours_name, theirs_name), strict=True)]
        title = f"{cell.title}, the time of {cell.n_trees} trees ({cell.seconds:.0f} s)"
        rows.append([title, linear, *means, str(Difference.of(*best))])
    return markdown(head, rows)


def _available() -> list[str]:
    data, peer = (Path(os.environ.get(name, "")) for name in ("RANKWRIGHT_DATA", "RANKWRIGHT_PEER_DATA"))
    there = {name: (data / title / "Fold1").is_dir() for name, title in COLLECTIONS.items()}
    there |= {name: (peer / f"{name}_train.npz").is_file() for name in SETS}
    return [name for name, is_there in there.items() if is_there]


def _measured(
    names: Sequence[str], draws: int, kept: Path | None
) -> tuple[dict[str, _Folds], list[TimedCell], list[tuple[str, bool]]]:
    found = {name: folds_of(name, draws, kept) for name in names if name in COLLECTIONS}
    cells = [cell for name in names if name in SETS for cell in timed_cells(name, kept)]
    return found, cells, [(system.name, system.is_ours) for system in systems()]


def run(repeats: int) -> list[Row]:
    """What is lost (1 − NDCG@10) by the best of ours and by the best of theirs, for every collection that is there."""
    return list(_rows(*_measured(_available(), _DRAWS, None)))


def _rows(
    found: dict[str, _Folds], cells: Sequence[TimedCell], all_systems: Sequence[tuple[str, bool]]
) -> Iterator[Row]:
    for name, folds in found.items():
        ours, theirs = (
            chosen(folds, [title for title, is_ours in all_systems if is_ours == side], MEASURE)
            for side in (True, False)
        )
        yield _row(f"{COLLECTIONS[name]}, the same search", "best of theirs", ours, theirs)
    for cell in cells:
        best = [cell.best(is_ours=side) for side in (True, False)]
        title = f"{cell.title}, time of {cell.n_trees} trees: {best[0]}"
        yield _row(title, best[1], *(cell.compared(name) for name in best))


def _row(name: str, against: str, ours: Array, theirs: Array) -> Row:
    note = str(Difference.of(ours, theirs))
    return Row(name, against, 1 - float(ours.mean()), 1 - float(theirs.mean()), 1, note, "1 − NDCG@10")


def main() -> None:
    """Print the tables, and write them into pages if asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nonlinear", description=__doc__)
    known = [*COLLECTIONS, *SETS]
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"some of {', '.join(known)} (default: all there are)")
    parser.add_argument("--draws", type=int, default=_DRAWS, help=f"settings of each ranker (default: {_DRAWS})")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="keep what is done here")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/choose.md and README.md")
    arguments = parser.parse_args()
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
    found, cells, all_systems = _measured(arguments.sets or _available(), arguments.draws, arguments.out)
    tables = {
        "same time": time_table(cells) if cells else "",
        "same search": search_table(found, all_systems) if found else "",
        "beyond linear": short_table(found, cells, all_systems),
    }
    print("", *tables.values(), sep="\n\n")
    if arguments.write:
        for page, names in _PAGES.items():
            page.write_text(written(page.read_text(), {name: tables[name] for name in names if tables[name]}))


if __name__ == "__main__":
    main()
