"""What the report of a fit shows, as plain data: `rankwright.report.page` makes a page of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.inspection import Inspection
from rankwright.data.inspection_findings import findings_of
from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.engines import engine_of
from rankwright.evaluation.comparison import Comparison
from rankwright.evaluation.significance import bootstrap_interval, wilcoxon_test
from rankwright.fitting.choice import Judged
from rankwright.fitting.families import Greedy
from rankwright.fitting.result import FitResult
from rankwright.fitting.serving import beyond_linear, cost_of, in_memory
from rankwright.fitting.summary import gave_up_json, rows_of
from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import missing_counts
from rankwright.selection.search import estimate_of
from rankwright.theory.certificates import Certificate
from rankwright.types import Array

_SHOWN_QUERIES = 10  # in each list: worst, most improved, most harmed
_SHOWN_FEATURES = 5
_ROUNDING = 1e-9  # of the values of a measure
_BINARY = ("P", "Recall", "AP", "RR")  # measures that take a document as relevant or not
# Findings that need no repair.
_NO_FAULTS = ("queries of one document", "queries with nothing relevant", "queries with only one grade")


def report_data(result: FitResult, inspection: Inspection, *, reproduce: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the page of a fit tells.

    The same fit gives the same again, but for the time that scoring takes, which is measured. The title says
    what was done, and from which file.
    """
    queries = _Final(result)
    return {
        "title": _title(result, reproduce["data"]),
        "measure": str(result.measure),
        "lower_is_better": result.measure.lower_is_better,
        "convention": result.convention.name,
        "evaluated_on": result.evaluated_on,
        "rule": result.rule,
        "n_features": result.model.n_features_in_,
        "n_queries": int(queries.is_counted.sum()),
        "chosen": result.entries[result.chosen].family.title,
        "baseline": result.baseline_title,
        "summary": _summary(result, queries),
        "cost": cost_of(result),
        "beyond_linear": beyond_linear(result),
        "leaderboard": leaderboard(result),
        "gave_up": gave_up_json(result),
        "notes": list(result.notes),
        "left_out": [{"ranker": each.family.title, "reason": each.reason} for each in result.left_out],
        "alpha_paths": [_alpha_path(each, result) for each in result.judged if _is_path_of_alpha(each)],
        "feature_path": _feature_path(result),
        "formula": result.formula_text,
        "no_weights": _no_weights(result),
        "weights": _weights(result),
        "preparation": _preparation(result),
        "queries": {
            "ids": [str(name) for name in queries.ids],
            "chosen": _without_nan(queries.chosen),
            "baseline": _without_nan(queries.baseline),
            "documents": queries.sizes.tolist(),
            "relevant": queries.relevant.tolist(),
        },
        "worst": [queries.detail(q) for q in queries.worst()],
        "improved": [queries.detail(q) for q in queries.most_changed(+1)],
        "harmed": [queries.detail(q) for q in queries.most_changed(-1)],
        "health": _health(inspection),
        "reproduce": dict(reproduce),
    }


def _title(result: FitResult, data: Sequence[Mapping[str, Any]]) -> str:
    """What was done: the ranker, its features, the measure and the file."""
    ranker, used = result.entries[result.chosen].family.title, len(result.model.used_features())
    n_features = result.model.n_features_in_
    features = f"{used:,} of {n_features:,} feature{'' if n_features == 1 else 's'}"
    source = next((f", from {part['name']}" for part in data if part["role"] == "train"), "")
    return f"{ranker} with {features} for {result.measure}{source}"


def _without_nan(values: Array) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


class _Shown(NamedTuple):
    """A query in memory, query by query: as given, and with the columns that rankers see."""

    given: Queries
    columns: Queries


class _Final:
    """The queries of the final figures, with the values of the chosen ranker and of the baseline."""

    def __init__(self, result: FitResult) -> None:
        self._result, self._queries = result, result.final_queries
        self._judgments = self._queries.judgments
        self._scores, self._baseline_scores = result.final_scores
        self.chosen, self.baseline = (result.values_of(scores, self._queries) for scores in result.final_scores)
        self.is_counted = ~np.isnan(self.chosen)
        self.ids, self.sizes = self._queries.query_ids, self._queries.sizes
        self.relevant = self._relevant_documents()
        self.sign = -1.0 if result.measure.lower_is_better else 1.0
        self._shown = self._taken([*self.worst(), *self.most_changed(+1), *self.most_changed(-1)])

    def _relevant_documents(self) -> npt.NDArray[np.int64]:
        """How many documents of each query are relevant, as the measure has it."""
        measure, grades = self._result.measure, self._judgments.y
        level = self._result.convention.but(**dict(measure.options)).relevant_from
        is_relevant = grades >= level if measure.name in _BINARY else grades > 0
        return np.bincount(self._judgments.grouping.codes[is_relevant], minlength=self._queries.n_queries)

    def _taken(self, positions: Sequence[int]) -> dict[int, _Shown]:
        """The queries at some positions in memory, with features as they were given and as rankers see them."""
        if not positions:
            return {}
        places = np.unique(positions)
        given, columns = (in_memory(of[places]) for of in (self._queries, self._result.final_columns))
        return {int(q): _Shown(given[k], columns[k]) for k, q in enumerate(places)}

    @property
    def gains(self) -> Array:
        """How much better than the baseline the chosen ranker is, query by query."""
        gains: Array = self.sign * (self.chosen - self.baseline)
        return gains

    def worst(self) -> list[int]:
        """The queries that come out worst. Where nothing is relevant, no order of documents is worse than another."""
        ranked = np.flatnonzero(self.is_counted & (self.relevant > 0))
        order = np.argsort(self.sign * self.chosen[ranked], kind="stable")
        return list(map(int, ranked[order[:_SHOWN_QUERIES]]))

    def most_changed(self, sign: int) -> list[int]:
        """The queries that the chosen ranker improves most over the baseline, or with sign −1 harms most."""
        changes = sign * np.where(self.is_counted, self.gains, 0.0)
        order = np.argsort(-changes, kind="stable")[:_SHOWN_QUERIES]
        return [int(q) for q in order if changes[q] > _ROUNDING]

    def detail(self, query: int) -> dict[str, Any]:
        """A query with its documents, by rank."""
        grouping, shown = self._judgments.grouping, self._shown[query]
        rows = np.arange(*grouping.offsets[query : query + 2])
        rows = rows if grouping.order is None else grouping.order[rows]
        grades, scores = shown.given.y, self._scores[rows]
        ranks, before, ideal = (_places(values) for values in (scores, self._baseline_scores[rows], grades))
        names, contributions = self._result.learned_for(query).contributions(shown.given, shown.columns)
        doc_ids = shown.given.doc_ids
        documents = []
        for i in np.argsort(-scores, kind="stable"):
            top = np.argsort(-np.abs(contributions[i]), kind="stable")[:_SHOWN_FEATURES]
            documents.append(
                {
                    "document": f"row {rows[i]}" if doc_ids is None else str(doc_ids[i]),
                    "grade": float(grades[i]),
                    "ranks": ranks[i].tolist(),
                    "baseline_ranks": before[i].tolist(),
                    "ideal_ranks": ideal[i].tolist(),
                    "score": float(scores[i]),
                    "contributions": [[names[j], float(contributions[i, j])] for j in top if contributions[i, j] != 0],
                }
            )
        value, baseline = float(self.chosen[query]), float(self.baseline[query])
        return {"query": str(self.ids[query]), "value": value, "baseline": baseline, "documents": documents}


def _places(values: Array) -> npt.NDArray[np.int64]:
    """The first and the last place of each, 1 for the largest: tied ones may stand at any place between."""
    descending = np.sort(-values)
    places = [np.searchsorted(descending, -values, side=side) for side in ("left", "right")]
    return np.stack([places[0] + 1, places[1]], axis=1)


def _summary(result: FitResult, queries: _Final) -> dict[str, Any]:
    chosen, baseline, gains = (v[queries.is_counted] for v in (queries.chosen, queries.baseline, queries.gains))
    certified, gain = result.certificates or (None, None)
    return {
        "mean": float(chosen.mean()),
        "interval": list(bootstrap_interval(chosen)),
        "baseline_mean": float(baseline.mean()),
        "gain": float(gains.mean()),
        "gain_interval": list(bootstrap_interval(gains)),
        "p_value": wilcoxon_test(gains, np.maximum(np.abs(chosen), np.abs(baseline))),
        "nothing_learned": result.nothing_learned,
        "certificate": _certificate(certified),
        "gain_certificate": _certificate(gain),
    }


def _certificate(found: Certificate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "bound": found.bound,
        "delta": found.delta,
        "method": found.method,
        "n_queries": found.n_queries,
        "guaranteed": found.guaranteed,
        "doubts": list(found.doubts),
    }


def leaderboard(result: FitResult) -> list[dict[str, Any]]:
    """A row for each ranker and the baseline, best first."""
    held_out, on_test = result.held_out, result.on_test
    entries = {entry.family.title: entry for entry in result.entries}
    return [
        {
            "ranker": row.name,
            "setting": str(entries[row.name].setting) if row.name in entries else "",
            "alpha": row.alpha,
            "features": row.n_features,
            "held_out": _figures(held_out, row.name),
            "test": None if on_test is None else _figures(on_test, row.name),
            "difference_from_baseline": row.from_baseline,
            "difference_from_best": row.from_best,
            "p_value": row.p_value,
            "is_best": row.name == held_out.reference,
            "is_chosen": row.is_chosen,
            "note": "baseline" if row.is_baseline else None,
        }
        for row in rows_of(result)
    ]


def _figures(comparison: Comparison, name: str) -> dict[str, Any]:
    error = estimate_of(comparison.values[name]).standard_error
    return {
        "mean": comparison.means[name],
        "interval": list(comparison.intervals[name]),
        "standard_error": error if np.isfinite(error) else None,
    }


def _is_path_of_alpha(judged: Judged) -> bool:
    first = judged.settings[0]
    return first.alpha is not None and first.n_features is None


def _alpha_path(judged: Judged, result: FitResult) -> dict[str, Any]:
    estimates = judged.estimates
    return {
        "ranker": judged.family.title,
        "alphas": [setting.alpha for setting in judged.settings],
        "means": [estimate.mean for estimate in estimates],
        "errors": [estimate.standard_error for estimate in estimates],
        "chosen": judged.chosen(result.measure, result.rule),
    }


def _feature_path(result: FitResult) -> dict[str, Any] | None:
    """Quality against the number of features, for the λ that was chosen."""
    at = next((i for i, judged in enumerate(result.judged) if judged.settings[0].n_features is not None), None)
    if at is None:
        return None
    judged, entry = result.judged[at], result.entries[at]
    shown = [i for i, setting in enumerate(judged.settings) if setting.alpha == entry.setting.alpha]
    estimates = judged.estimates
    points = []
    for i in shown:
        selected, shared = _judged_features(result, judged, i)
        points.append(
            {
                "features": judged.settings[i].n_features,
                "cost": float(judged.costs[i]),
                "mean": estimates[i].mean,
                "error": estimates[i].standard_error,
                "selected": selected,
                "shared": shared,
            }
        )
    has_costs = isinstance(judged.family, Greedy) and judged.family.costs is not None
    chosen = shown.index(judged.settings.index(entry.setting))
    return {"points": points, "chosen": chosen, "has_costs": has_costs}


def _judged_features(result: FitResult, judged: Judged, at: int) -> tuple[list[str], float | None]:
    """The features that belong to a mean.

    On validation queries one ranker was judged, and these are its own. In cross-validation each part has its own
    selection: then they are those that all training queries give, and the share of them that the parts had on average.
    """
    names = result.data.train.feature_names
    if result.data.valid is not None:
        (selection,) = judged.selections
        return [names[column] for column in selection[at] if column >= 0], None
    selected = result.selected_features(judged.settings[at].n_features)
    taken = [{names[column] for column in selection[at] if column >= 0} for selection in judged.selections]
    shares = [len(part & set(selected)) / max(1, len(selected)) for part in taken]
    return selected, float(np.mean(shares))


def _no_weights(result: FitResult) -> str | None:
    """Why there are no weights to show, if the ranker is not linear."""
    if result.column_weights is not None:
        return None
    title = result.entries[result.chosen].family.title
    return f"The chosen ranker, {title}, is no weighted sum of features, so there are no weights to show."


def _weights(result: FitResult) -> list[dict[str, Any]]:
    """Columns with a weight, the most important first: features, some transformed, and those that tell of absence."""
    by, names, of_columns = result.data.by, result.data.train.feature_names, result.column_weights
    if of_columns is None:
        return []
    importance = np.abs(of_columns)
    weights = of_columns if by.scale is None else of_columns / by.scale
    titles = {j: f"{names[j]} ({transform.name})" for j, transform in by.transforms.items()}
    return [
        {"feature": titles.get(int(j), names[j]), "weight": float(weights[j]), "importance": float(importance[j])}
        for j in np.argsort(-importance, kind="stable")
        if weights[j] != 0
    ]


def _preparation(result: FitResult) -> dict[str, Any] | None:
    """What was done to features besides scaling, and what else was tried; None if there was no reason for any of it.

    Rankers that are not linear take features as they are given.
    """
    by, formula = result.data.by, result.model.formula()
    if formula is None or (not result.tried and not by.transforms and by.filling is None):
        return None
    missing = engine_of(result.request.queries["train"]).sum(_missing_counts)
    counts = missing / result.data.train.n_documents
    names = result.data.train.feature_names
    told = [j for j in range(by.n_features) if j in by.transforms or counts[j] > 0]
    return {
        "chosen": str(result.data.how),
        "tried": [
            {
                "name": str(each.how),
                "mean": each.estimate.mean,
                "standard_error": each.estimate.standard_error,
                "is_chosen": each.how == result.data.how,
            }
            for each in result.tried
        ],
        "features": [
            {
                "name": names[j],
                "transform": str(by.transforms.get(j, "none")),
                "missing_share": float(counts[j]),
                "where_missing": _where_missing(formula, j) if counts[j] > 0 else None,
            }
            for j in told
        ],
    }


def _missing_counts(part: Part) -> npt.NDArray[np.int64]:
    return missing_counts(part.queries.X)


def _where_missing(formula: Formula, column: int) -> str:
    """What a missing value counts as, and what it adds besides."""
    if formula.filling is None or (formula.weights[column] == 0 and formula.extra[column] == 0):
        return "not used"
    transform, value = formula.transforms.get(column), formula.filling.values[column]
    raw = float(value if transform is None else transform.inverse(value))
    told = "the mean of the query" if formula.filling.by_query else f"{raw:.4g}"
    extra = formula.extra[column]
    return f"{told}, and {extra:+.3g} to the score" if extra else told


def _health(found: Inspection) -> dict[str, Any]:
    spread = found.documents_per_query
    facts: list[Sequence[str]] = [
        ["queries", f"{found.n_queries:,}"],
        ["documents", f"{found.n_documents:,}"],
        ["features", f"{found.n_features:,} ({found.layout}, {found.dtype})"],
    ]
    if spread is not None:
        facts.append(["documents per query", f"{spread.least:,} to {spread.most:,}, median {spread.median:g}"])
    if found.grades is not None:
        shares = (f"{count.grade:g}: {count.documents / found.n_documents:.1%}" for count in found.grades.histogram)
        facts.append(["grades", ", ".join(shares)])
    findings = [
        {"level": "note" if what in _NO_FAULTS else "warning", "text": f"{what}: {count:,} ({which})"}
        for what, count, which in findings_of(found)
    ]
    return {"facts": facts, "findings": findings}
