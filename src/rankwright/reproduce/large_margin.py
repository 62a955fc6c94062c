"""The experiment of paper L, §5.3, on OHSUMED, and the same on MQ2008: two bounds of NDCG@10 beside three baselines."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rankwright.data.normalise import QueryMinMaxScaler
from rankwright.data.queries import Queries
from rankwright.datasets import LetorFold
from rankwright.evaluation.evaluation import evaluate
from rankwright.evaluation.significance import holm, wilcoxon_test
from rankwright.measures import AP, Measure, nDCG
from rankwright.progress import Progress, Tell
from rankwright.rankers.rankboost import RankBoost
from rankwright.rankers.ranksvm import RankSVM
from rankwright.rankers.regression import RegressionRanker
from rankwright.rankers.structured import StructuredRanker
from rankwright.reproduce.folds import folds_of, on_every_fold
from rankwright.reproduce.published import LETOR_BASELINES, OHSUMED, Fold
from rankwright.selection.search import search
from rankwright.types import Array

DATASETS = (OHSUMED, "MQ2008")
NDCG: dict[str, Measure] = {f"NDCG@{k}": nDCG @ k for k in range(1, 11)}
MEASURES: dict[str, Measure] = {**NDCG, "MAP": AP}
DECIDING = nDCG @ 10  # "which gives a more stable indicator of the quality of a solution" than each k of its own

# Means over several k; published figures have four of them.
PUBLISHED_NDCG = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")
MEAN_OF_PUBLISHED, MEAN_OF_ALL = "mean of NDCG@1, 3, 5, 10", "mean of NDCG@1 to 10"
MEANS = {MEAN_OF_PUBLISHED: PUBLISHED_NDCG, MEAN_OF_ALL: tuple(NDCG)}

REGRESSION, SVM, BOOSTING, CONVEX, TIGHT = "Regression", "RankSVM", "RankBoost", "Convex bound", "Tight bound"
BASELINES = (REGRESSION, SVM, BOOSTING)
STRUCTURED = (CONVEX, TIGHT)
SYSTEMS = (*BASELINES, *STRUCTURED)

# Of the tight bound; the others have a grid of their own, which is cheaper to go through.
TIGHT_ALPHAS = tuple(4.0**power for power in range(-6, 7))
_ROUNDS = 300
_CONVENTION = "letor4"


def run(collections: Mapping[str, str | os.PathLike[str]], *, progress: Tell | None = None) -> Reproduction:
    """Train every system on every fold, with λ or the number of rounds chosen by NDCG@10 on the validation queries.

    Features are scaled to [0, 1] within each query, as LETOR's own baselines had them. The tight bound is descended by
    conjugate subgradients from the weights of the regression, and stays near them, as in paper L, §5.3.

    Parameters
    ----------
    collections : name → folder
        Some of "OHSUMED" and "MQ2008", as :func:`rankwright.reproduce.folds.find_collections` finds them.
    progress : called with `Progress`: the folds done, in fractions, and the folds in all
    """
    return Reproduction(on_every_fold(collections, _run_fold, progress))


def _run_fold(dataset: str, parts: LetorFold, progress: Tell | None) -> FoldResult:
    scaled = LetorFold(*map(_scaled, parts))
    result = FoldResult({}, {}, {}, {})
    for done, (system, ranker) in enumerate(_trained(scaled), start=1):
        _judge(system, ranker, scaled, result)
        if progress is not None:
            progress(Progress(system, done, len(SYSTEMS)))
    return result


def _scaled(queries: Queries) -> Queries:
    return Queries(QueryMinMaxScaler().fit_transform(queries.X, qid=queries.qid), queries.y, queries.qid)


def _trained(parts: LetorFold) -> Iterator[tuple[str, Any]]:
    """The systems in their order, each when it is asked for."""
    told: dict[str, Any] = {"measures": DECIDING, "convention": _CONVENTION}
    regression = RegressionRanker(search(), **told).fit(parts.train, valid=parts.vali)
    yield REGRESSION, regression
    yield SVM, RankSVM(search(), loss="hinge", **told).fit(parts.train, valid=parts.vali)
    yield BOOSTING, RankBoost(_ROUNDS, **told).fit(parts.train, valid=parts.vali)
    with warnings.catch_warnings():
        # That nothing is learned is a result here, and told as one.
        warnings.filterwarnings("ignore", message=".*no weights have a lower convex bound")
        convex = StructuredRanker(DECIDING, search(), **told).fit(parts.train, valid=parts.vali)
    yield CONVEX, convex
    tight = StructuredRanker(
        DECIDING,
        search(*TIGHT_ALPHAS),
        bound="tight",
        solver="conjugate-subgradient",
        center=regression.coef_,
        **told,
    )
    yield TIGHT, tight.fit(parts.train, valid=parts.vali)


def _judge(system: str, ranker: Any, parts: LetorFold, result: FoldResult) -> None:
    on_valid = evaluate(ranker, parts.vali, DECIDING, _CONVENTION)
    on_test = evaluate(ranker, parts.test, list(MEASURES.values()), _CONVENTION)
    result.values[system] = {name: on_test.values[measure] for name, measure in MEASURES.items()}
    result.valid[system] = on_valid.means[DECIDING]
    result.chosen[system] = float(ranker.n_rounds_ if system == BOOSTING else ranker.alpha_)
    result.learned[system] = not (system == CONVEX and ranker.stays_at_center_)


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one fold gave.

    Attributes
    ----------
    values : system → measure → a value for each test query
    valid : system → NDCG@10 on the validation queries
    chosen : system → the λ that was best there; of RankBoost, the number of rounds
    learned : system → False if no weights have a lower bound than w = 0, so that all scores are 0
    """

    values: dict[str, dict[str, Array]]
    valid: dict[str, float]
    chosen: dict[str, float]
    learned: dict[str, bool]


@dataclass(frozen=True)
class Figure:
    """A figure of ours and the published one: None where there is none.

    ``fold`` is "all" for tests over the test queries of all folds.
    """

    dataset: str
    fold: Fold | Literal["all"]
    system: str
    measure: str
    ours: float | None
    published: float | None


@dataclass(frozen=True)
class SignedRanks:
    """A structured ranker against a baseline by the sum of NDCG@1 to 10 of each query (paper L, §5.1).

    ``difference`` is the mean over queries of NDCG@1 to 10, the ranker's less the baseline's; ``p`` the two-sided
    p-value of Wilcoxon's test, ``p_holm`` after Holm's correction for the three baselines.
    """

    system: str
    baseline: str
    difference: float
    p: float
    p_holm: float


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The results of every fold by collection, and the published figures beside ours."""

    results: dict[str, tuple[FoldResult, ...]]

    def average(self, dataset: str, system: str, measure: str) -> float:
        """The mean over folds of a measure, or of one of ``MEANS``."""
        return float(np.mean(self._of_folds(dataset, system, measure)))

    def _of_folds(self, dataset: str, system: str, measure: str) -> list[float]:
        names = MEANS.get(measure, (measure,))
        return [float(np.mean([fold.values[system][name].mean() for name in names])) for fold in self.results[dataset]]

    def folds_not_learned(self, dataset: str, system: str) -> int:
        """On how many folds w = 0 is the solution."""
        return sum(not fold.learned[system] for fold in self.results[dataset])

    def tests(self, dataset: str) -> list[SignedRanks]:
        """Each structured ranker against each baseline, over the test queries of all folds."""
        sums = {system: self._sums(dataset, system) for system in SYSTEMS}
        return [test for system in STRUCTURED for test in _against_baselines(system, sums)]

    def _sums(self, dataset: str, system: str) -> Array:
        """NDCG@1 + … + NDCG@10 of each test query, fold after fold."""
        folds = [np.sum([fold.values[system][name] for name in NDCG], axis=0) for fold in self.results[dataset]]
        return np.concatenate(folds)

    def figures(self, dataset: str) -> list[Figure]:
        """Everything about a collection: measures, what was chosen, tests, and systems that only others have run."""
        ours = [figure for system in SYSTEMS for figure in self._system_figures(dataset, system)]
        return [*ours, *self._test_figures(dataset), *_figures_of_others(dataset)]

    def _system_figures(self, dataset: str, system: str) -> Iterator[Figure]:
        folds = folds_of(dataset)
        for measure in (*MEASURES, *MEANS):
            values = self._of_folds(dataset, system, measure)
            for fold, value in zip(folds, values, strict=True):
                yield Figure(dataset, fold, system, measure, value, None)
            average = float(np.mean(values))
            yield Figure(dataset, "avg", system, measure, average, published(dataset, system, measure))
        for fold, result in zip(folds, self.results[dataset], strict=True):
            chosen = "rounds" if system == BOOSTING else "lambda"
            yield Figure(dataset, fold, system, chosen, result.chosen[system], None)
            yield Figure(dataset, fold, system, "validation NDCG@10", result.valid[system], None)
            if system == CONVEX:
                yield Figure(dataset, fold, system, "stays at w = 0", float(not result.learned[system]), None)

    def _test_figures(self, dataset: str) -> Iterator[Figure]:
        for test in self.tests(dataset):
            yield Figure(dataset, "all", test.system, f"p against {test.baseline}", test.p, None)
            yield Figure(dataset, "all", test.system, f"p against {test.baseline}, Holm", test.p_holm, None)

    def all_figures(self) -> list[Figure]:
        """The figures of every collection that was there."""
        return [figure for dataset in self.results for figure in self.figures(dataset)]


def published(dataset: str, system: str, measure: str) -> float | None:
    """A figure of LETOR's baselines, or a mean over k of such figures if all of them are known."""
    figures = LETOR_BASELINES.get(system, {}) if dataset == OHSUMED else {}
    names = MEANS.get(measure, (measure,))
    return float(np.mean([figures[name] for name in names])) if all(name in figures for name in names) else None


def _figures_of_others(dataset: str) -> Iterator[Figure]:
    for system in LETOR_BASELINES:
        for measure in (*PUBLISHED_NDCG, MEAN_OF_PUBLISHED, "MAP"):
            figure = published(dataset, system, measure)
            if system not in SYSTEMS and figure is not None:
                yield Figure(dataset, "avg", system, measure, None, figure)


def _against_baselines(system: str, sums: Mapping[str, Array]) -> Iterator[SignedRanks]:
    differences = [sums[system] - sums[baseline] for baseline in BASELINES]
    p_values = np.array([wilcoxon_test(difference) for difference in differences])
    for baseline, difference, p, p_holm in zip(BASELINES, differences, p_values, holm(p_values), strict=True):
        yield SignedRanks(system, baseline, float(difference.mean()) / len(NDCG), float(p), float(p_holm))
