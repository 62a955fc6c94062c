"""The experiments of paper O, §6; the ranker of paper P on the same folds; and RankSVM beside paper G's figures."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from rankwright.datasets import LetorFold
from rankwright.evaluation.comparison import Comparison
from rankwright.evaluation.evaluation import evaluate
from rankwright.measures import AP, DCG, ERR, MeanNDCG, Measure, P, nDCG
from rankwright.preparation.formula import linear_scores
from rankwright.progress import Progress, Tell
from rankwright.rankers.alpha_path import AlphaPath
from rankwright.rankers.loss_ranker import LossRanker
from rankwright.rankers.order_preserving import OrderPreservingRanker
from rankwright.rankers.ranksvm import RankSVM
from rankwright.reproduce.folds import LETOR, folds_of, on_every_fold
from rankwright.reproduce.published import (
    FOLDS_AND_AVERAGE,
    GREEDY_RESULTS,
    ORDER_PRESERVING_RESULTS,
    YAHOO,
    Fold,
    MeasureTable,
)
from rankwright.selection.search import first_best, search
from rankwright.types import Array

GREATEST_GRADE = {"MQ2007": 2, "MQ2008": 2, YAHOO: 4}
DATASETS = tuple(GREATEST_GRADE)
MEASURES = ("ERR", "DCG", "NDCG")
LETOR_MEASURES: dict[str, Measure] = {"MAP": AP, "P@10": P @ 10, "MeanNDCG": MeanNDCG, "NDCG@10": nDCG @ 10}

# Wide enough for sums over pairs and for losses divided by the number of pairs.
ALPHAS = tuple(2.0**power for power in range(-10, 17, 2))

SVM, SQUARED_SVM, POSITION = "RankSVM", "RankSVM (squared hinge)", "Position"

# So close to the optimum that another solver would print the same figures.
_TOLERANCE = 1e-7

_svm = partial(RankSVM, tol=_TOLERANCE)
_preorder = partial(_svm, loss="huber-hinge")
_consistent = partial(OrderPreservingRanker, loss="huber-hinge", tol=_TOLERANCE)
SYSTEMS: dict[str, Callable[..., LossRanker]] = {
    "PreOrder": _preorder,
    "Consist^DCG": partial(_consistent, standardize="dcg"),
    "Consist^NDCG": partial(_consistent, standardize="ndcg"),
    "PreOrder^Norm": partial(_preorder, weights="per-query"),
    "PreOrder^Norm+DCG": partial(_preorder, weights="gain-per-query"),
    "Consist^Norm+DCG": partial(_consistent, standardize="dcg", normalize=True),
    SVM: partial(_svm, loss="hinge"),
    POSITION: partial(_svm, loss="hinge", margin="position"),
    SQUARED_SVM: partial(_svm, loss="squared-hinge"),
}
# Which systems stand side by side: tables 1 and 2 of paper O, and the ranker of paper P beside one with unit margins.
TABLES = {
    "O1": ("PreOrder", "Consist^DCG", "Consist^NDCG"),
    "O2": ("PreOrder^Norm", "PreOrder^Norm+DCG", "Consist^Norm+DCG"),
    "P": (SVM, POSITION),
}
LETOR_SYSTEMS = (SVM, SQUARED_SVM)
LEVEL = 0.05

_MAP = AP(ties="input")  # as the LETOR 4.0 script has it


def measures_on(dataset: str) -> dict[str, Measure]:
    """The measures of paper O, none cut off; tied documents count their mean over all orders (definition 1)."""
    return {"ERR": ERR(max_grade=GREATEST_GRADE[dataset]), "DCG": DCG, "NDCG": nDCG}


def dcg_unit(dataset: str) -> float:
    """What turns DCG with log₂ into Σ R_k / ln(1 + k), where R_k = (2^y − 1) / 2^gMax is ERR's.

    Paper O leaves the base of its logarithm open (eq. 9). Its figures are nearly the same for gains up to 3 (MQ2007)
    and up to 15 (Yahoo), so gains were probably divided by 2^gMax, and then their size fits the natural logarithm best.
    This is inferred, not known. A constant factor changes neither the choice of λ nor what is significant.
    """
    return 1 / (math.log(2) * 2.0 ** GREATEST_GRADE[dataset])


def run(collections: Mapping[str, str | os.PathLike[str]], *, progress: Tell | None = None) -> Reproduction:
    """Train every system on every fold, with λ chosen on the validation queries by the very measure that is reported.

    λ is one of 4^-5 … 4^8, the smallest of equally good ones. For the comparison with paper G, λ of RankSVM is chosen
    by MAP, and all measures are those of the LETOR 4.0 script.

    Parameters
    ----------
    collections : name → folder
        Some of "MQ2007", "MQ2008" and "Yahoo", as :func:`rankwright.reproduce.folds.find_collections` finds them.
    progress : called with `Progress`: the folds done, in fractions, and the folds in all
    """
    return Reproduction(on_every_fold(collections, _run_fold, progress))


def _run_fold(dataset: str, parts: LetorFold, progress: Tell | None) -> FoldResult:
    result = FoldResult({}, {}, {})
    for done, system in enumerate(SYSTEMS, start=1):
        _run_system(system, dataset, parts, result)
        if progress is not None:
            progress(Progress(system, done, len(SYSTEMS)))
    return result


def _run_system(system: str, dataset: str, parts: LetorFold, result: FoldResult) -> None:
    """One λ path serves all measures."""
    measures = measures_on(dataset)
    ranker = SYSTEMS[system](alpha=search(*ALPHAS), measures=[*measures.values(), _MAP])
    path: AlphaPath = ranker.fit(parts.train, valid=parts.vali).path_
    chosen = {name: _best(path, measure) for name, measure in measures.items()}
    result.values[system] = {
        name: evaluate(_test_scores(path, chosen[name], parts), parts.test, measure).values[measure]
        for name, measure in measures.items()
    }
    result.values[system]["DCG"] *= dcg_unit(dataset)
    if system in LETOR_SYSTEMS and dataset in LETOR:
        chosen["MAP"] = _best(path, _MAP)
        scores = _test_scores(path, chosen["MAP"], parts)
        means = evaluate(scores, parts.test, list(LETOR_MEASURES.values()), "letor4").means
        result.letor[system] = {name: means[measure] for name, measure in LETOR_MEASURES.items()}
    result.alphas[system] = {name: float(path.alphas[place]) for name, place in chosen.items()}


def _best(path: AlphaPath, measure: Measure) -> int:
    """The place of the λ that is best by a measure on the validation queries."""
    return first_best(path.valid[measure], measure.lower_is_better)


def _test_scores(path: AlphaPath, place: int, parts: LetorFold) -> Array:
    return linear_scores(parts.test.X, path.weights[place])


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one fold gave.

    Attributes
    ----------
    values : system → measure → a value for each test query, with the λ chosen by that measure
    alphas : system → measure → that λ; "MAP" is the measure for the comparison with paper G
    letor : system → measure of the LETOR 4.0 script → mean over the test queries, with the λ chosen by MAP
    """

    values: dict[str, dict[str, Array]]
    alphas: dict[str, dict[str, float]]
    letor: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Figure:
    """A figure of ours and the published one: None where there is none.

    ``table`` is "O1" or "O2" for those of paper O, "P" for the position-sensitive ranker, and "G3" … "G10" for those of
    paper G. ``significantly_worse`` than the best of the table is told of averages only.
    """

    table: str
    dataset: str
    fold: Fold
    system: str
    measure: str
    ours: float
    paper: float | None
    significantly_worse: bool | None


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The results of every fold by collection, and the published figures beside ours."""

    results: dict[str, tuple[FoldResult, ...]]

    def figures(self, dataset: str, table: str) -> list[Figure]:
        """A table on a collection: for each system and measure the folds, their average, and the λ chosen on each."""
        return [
            figure
            for system in TABLES[table]
            for measure in MEASURES
            for figure in self._system_figures(dataset, table, system, measure)
        ]

    def _system_figures(self, dataset: str, table: str, system: str, measure: str) -> Iterator[Figure]:
        folds = self.results[dataset]
        means = [float(fold.values[system][measure].mean()) for fold in folds]
        for fold, mean, result in zip(folds_of(dataset), means, folds, strict=True):
            yield Figure(table, dataset, fold, system, measure, mean, None, None)
            alpha = result.alphas[system][measure]
            yield Figure(table, dataset, fold, system, f"lambda by {measure}", alpha, None, None)
        worse = self.comparisons[dataset, table, measure].mark(system) == "▼"
        paper = _published(table, dataset, system, measure)
        yield Figure(table, dataset, "avg", system, measure, float(np.mean(means)), paper, worse)

    @cached_property
    def comparisons(self) -> dict[tuple[str, str, str], Comparison]:
        """By collection, table and measure: its systems against the one with the best average, query by query."""
        return {
            (dataset, table, measure): self._comparison(dataset, table, measure)
            for dataset in self.results
            for table in TABLES
            for measure in MEASURES
        }

    def _comparison(self, dataset: str, table: str, measure: str) -> Comparison:
        values = {name: [fold.values[name][measure] for fold in self.results[dataset]] for name in TABLES[table]}
        best = max(values, key=lambda name: float(np.mean([of_fold.mean() for of_fold in values[name]])))
        pooled = {name: np.concatenate(of_folds) for name, of_folds in values.items()}
        queries = np.arange(len(pooled[best]))
        return Comparison(measures_on(dataset)[measure], queries, pooled, best, "randomisation", LEVEL)

    def letor_figures(self, table: MeasureTable) -> list[Figure]:
        """RankSVM beside the figures for SVM-rank in a table of paper G; none if the collection was not there."""
        folds = self.results.get(table.dataset, ())
        return [figure for system in LETOR_SYSTEMS if folds for figure in _letor_figures(table, system, folds)]

    def all_figures(self) -> list[Figure]:
        """The figures of all tables whose collection was there."""
        ours = [figure for dataset in self.results for table in TABLES for figure in self.figures(dataset, table)]
        return ours + [figure for table in GREEDY_RESULTS for figure in self.letor_figures(table)]


def _letor_figures(table: MeasureTable, system: str, folds: tuple[FoldResult, ...]) -> Iterator[Figure]:
    ours = [fold.letor[system][table.measure] for fold in folds]
    means = [*ours, float(np.mean(ours))]
    for fold, value, paper in zip(FOLDS_AND_AVERAGE, means, table.systems[SVM], strict=True):
        yield Figure(f"G{table.number}", table.dataset, fold, system, table.measure, value, paper, None)


def _published(table: str, dataset: str, system: str, measure: str) -> float | None:
    for published in ORDER_PRESERVING_RESULTS:
        if (f"O{published.number}", published.dataset) == (table, dataset):
            return published.systems[system][MEASURES.index(measure)]
    return None
