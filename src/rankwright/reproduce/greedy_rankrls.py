"""The experiments of paper G, §4: RankRLS and greedy RankRLS on MQ2007 and MQ2008 of LETOR 4.0."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.datasets import LetorFold
from rankwright.evaluation.evaluation import evaluate
from rankwright.measures import AP, MeanNDCG, Measure, P, nDCG
from rankwright.progress import Tell
from rankwright.rankers.greedy_rankrls import GreedyRankRLS
from rankwright.rankers.rankrls import RankRLS
from rankwright.reproduce.folds import LETOR, on_every_fold
from rankwright.reproduce.published import (
    FOLDS,
    FOLDS_AND_AVERAGE,
    GREEDY_TABLES,
    Fold,
    MeasureTable,
    SelectionTable,
)
from rankwright.selection.path import SelectionPath
from rankwright.selection.search import search

DATASETS = LETOR
MEASURES: dict[str, Measure] = {"MAP": AP, "P@10": P @ 10, "MeanNDCG": MeanNDCG, "NDCG@10": nDCG @ 10}
CURVES = ("MAP", "MeanNDCG")
GREEDY, PLAIN = "GRankRLS", "RankRLS"

RANKRLS_ALPHAS = tuple(2.0**power for power in range(-15, 16))
GREEDY_ALPHAS = tuple(2.0**power for power in range(11))

TOLERANCE = 1e-4
_MOST_SELECTED = 10  # the tables show the first ten features


def run(collections: Mapping[str, str | os.PathLike[str]], *, progress: Tell | None = None) -> Reproduction:
    """Train on three parts, choose (λ, k) by MAP on the fourth, test on the fifth; five times over (paper G, §4).

    RankRLS chooses among λ = 2^-15 … 2^15, greedy RankRLS among λ = 2^0 … 2^10 and k = 1 … n; of equally good choices
    the first is taken. All measures are those of the LETOR 4.0 script.

    Parameters
    ----------
    collections : name → folder
        "MQ2007", "MQ2008" or both, as :func:`rankwright.reproduce.folds.find_collections` finds them.
    progress : called with `Progress`: the folds done, in fractions, and the folds in all
    """
    return Reproduction(on_every_fold(collections, _run_fold, progress))


def _run_fold(_: str, parts: LetorFold, progress: Tell | None) -> FoldResult:
    plain = RankRLS(alpha=search(*RANKRLS_ALPHAS), measures=AP, convention="letor4")
    plain.fit(parts.train, valid=parts.vali)
    greedy = GreedyRankRLS(
        alpha=search(*GREEDY_ALPHAS),
        n_features=search(),
        measures=[MEASURES[name] for name in CURVES],
        convention="letor4",
        tell="deciding",
    )
    greedy.fit(parts.train, valid=parts.vali, progress=progress)
    means = {
        system: evaluate(ranker, parts.test, list(MEASURES.values()), "letor4").means
        for system, ranker in ((GREEDY, greedy), (PLAIN, plain))
    }
    return FoldResult(
        alpha=greedy.alpha_,
        selected=tuple(int(feature) + 1 for feature in greedy.selected_features_),
        results={system: {name: values[m] for name, m in MEASURES.items()} for system, values in means.items()},
        curves={name: _curve(greedy.paths_, MEASURES[name]) for name in CURVES},
    )


def _curve(paths: tuple[SelectionPath, ...], measure: Measure) -> npt.NDArray[np.float64]:
    return np.array([[step.valid[measure].mean for step in path] for path in paths])


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one fold gave.

    Attributes
    ----------
    alpha : float
        The λ that greedy RankRLS chose.
    selected : tuple of int
        The features that it chose, counted from 1, in the order of selection.
    results : system → measure → mean over the test queries
    curves : measure → array (λ, k)
        Means over the validation queries.
    """

    alpha: float
    selected: tuple[int, ...]
    results: dict[str, dict[str, float]]
    curves: dict[str, npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Reproduced:
    """A figure of a published table, and ours: None where only one side has it."""

    table: int
    dataset: str
    fold: Fold
    system: str
    measure: str
    ours: float | None
    paper: float | None

    @property
    def agrees(self) -> bool:
        """Whether the two differ by no more than 0.0001."""
        return self.ours is not None and self.paper is not None and abs(self.ours - self.paper) <= TOLERANCE + 1e-9


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The results of every fold by collection, and every figure of the paper beside ours."""

    results: dict[str, tuple[FoldResult, ...]]

    def rows(self, table: SelectionTable | MeasureTable) -> list[Reproduced]:
        """The figures of one table, fold by fold; ours are None if its collection was not there."""
        folds = self.results.get(table.dataset)
        if isinstance(table, SelectionTable):
            results = zip(FOLDS, folds or [None] * len(FOLDS), strict=True)
            return [row for fold, result in results for row in _selection_rows(table, fold, result)]
        return [row for system in (GREEDY, PLAIN) for row in _measure_rows(table, system, folds)]

    def all_rows(self) -> list[Reproduced]:
        """The figures of all tables whose collection was there."""
        tables = [table for table in GREEDY_TABLES if table.dataset in self.results]
        return [row for table in tables for row in self.rows(table)]

    def mean_curve(self, dataset: str, measure: str) -> npt.NDArray[np.float64]:
        """The validation values of a collection by (λ, k), averaged over the folds."""
        mean: npt.NDArray[np.float64] = np.mean([fold.curves[measure] for fold in self.results[dataset]], axis=0)
        return mean


def _selection_rows(table: SelectionTable, fold: int, result: FoldResult | None) -> Iterator[Reproduced]:
    def row(measure: str, ours: float | None, paper: float | None) -> Reproduced:
        return Reproduced(table.number, table.dataset, fold, GREEDY, measure, ours, paper)

    yield row("lambda", result.alpha if result else None, 2.0 ** table.log2_alpha[fold - 1])
    yield row("k", len(result.selected) if result else None, table.k[fold - 1])
    ours = result.selected[:_MOST_SELECTED] if result else ()
    paper = table.selected[fold - 1]
    for i in range(max(len(ours), len(paper))):
        yield row(f"selected {i + 1}", _at(ours, i), _at(paper, i))


def _at(features: tuple[int, ...], i: int) -> int | None:
    return features[i] if i < len(features) else None


def _measure_rows(table: MeasureTable, system: str, folds: tuple[FoldResult, ...] | None) -> Iterator[Reproduced]:
    ours: list[float | None] = [None] * (len(FOLDS) + 1)
    if folds is not None:
        values = [fold.results[system][table.measure] for fold in folds]
        ours = [*values, float(np.mean(values))]
    for fold, value, paper in zip(FOLDS_AND_AVERAGE, ours, table.systems[system], strict=True):
        yield Reproduced(table.number, table.dataset, fold, system, table.measure, value, paper)
