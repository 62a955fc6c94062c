"""What the report of a fit shows, as plain data: `rankwright.report.page` makes a page of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.inspection import Inspection
from rankwright.data.inspection_findings import findings_of
from rankwright.fitting.choice import Judged
from rankwright.fitting.families import Greedy
from rankwright.fitting.result import FitResult
from rankwright.fitting.summary import gave_up_json, rows_of
from rankwright.measures.comparison import Comparison
from rankwright.measures.significance import bootstrap_interval, wilcoxon_test
from rankwright.selection.search import estimate_of
from rankwright.theory.certificates import Certificate

Array = npt.NDArray[np.float64]

_SHOWN_QUERIES = 10  # worst, and most changed
_SHOWN_FEATURES = 5


def report_data(
    result: FitResult, inspection: Inspection, *, title: str, reproduce: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything that the page of a fit tells; only what the same fit gives again, so no times."""
    queries = _Final(result)
    return {
        "title": title,
        "measure": str(result.measure),
        "lower_is_better": result.measure.lower_is_better,
        "convention": result.convention.name,
        "evaluated_on": result.evaluated_on,
        "n_features": result.data.train.n_features,
        "n_queries": len(queries.counted),
        "chosen": result.entries[result.chosen].family.title,
        "baseline": result.baseline_title,
        "summary": _summary(result, queries),
        "leaderboard": leaderboard(result),
        "rule": result.rule,
        "gave_up": gave_up_json(result),
        "notes": list(result.notes),
        "left_out": [{"ranker": each.family.title, "reason": each.reason} for each in result.left_out],
        "alpha_paths": [_alpha_path(each, result) for each in result.judged if each.settings[0].n_features is None],
        "feature_path": _feature_path(result),
        "weights": _weights(result),
        "queries": {
            "ids": [str(name) for name in queries.ids],
            "chosen": queries.chosen.tolist(),
            "baseline": queries.baseline.tolist(),
            "documents": queries.sizes.tolist(),
        },
        "worst": [queries.detail(q) for q in queries.worst()],
        "changed": [queries.detail(q) for q in queries.most_changed()],
        "health": _health(inspection),
        "reproduce": dict(reproduce),
    }


class _Final:
    """The queries of the final figures that count, with the values of the chosen ranker and of the baseline."""

    def __init__(self, result: FitResult) -> None:
        self._result, self._queries = result, result.final_queries
        self._scores, self._baseline_scores = result.final_scores
        chosen, baseline = (result.values_of(scores, self._queries) for scores in result.final_scores)
        self.counted = np.flatnonzero(~np.isnan(chosen))
        self.chosen, self.baseline = chosen[self.counted], baseline[self.counted]
        self.ids, self.sizes = self._queries.query_ids[self.counted], self._queries.sizes[self.counted]
        self.sign = -1.0 if result.measure.lower_is_better else 1.0

    def worst(self) -> list[int]:
        """Positions of the queries that come out worst."""
        return list(map(int, np.argsort(self.sign * self.chosen, kind="stable")[:_SHOWN_QUERIES]))

    def most_changed(self) -> list[int]:
        """Positions of the queries that differ most from the baseline, either way."""
        return list(map(int, np.argsort(-np.abs(self.chosen - self.baseline), kind="stable")[:_SHOWN_QUERIES]))

    def detail(self, q: int) -> dict[str, Any]:
        """A query with its documents, by rank."""
        query = int(self.counted[q])
        rows = np.flatnonzero(self._queries.grouping.codes == query)
        grades, scores = self._queries.y[rows], self._scores[rows]
        ranks, before, ideal = (_ranks(values) for values in (scores, self._baseline_scores[rows], grades))
        contributions = self._contributions(query, rows)
        names = self._queries.feature_names if len(rows) else ()
        order = np.argsort(ranks)
        documents = []
        for i in order:
            top = np.argsort(-np.abs(contributions[i]), kind="stable")[:_SHOWN_FEATURES]
            documents.append(
                {
                    "document": self._name(int(rows[i])),
                    "grade": float(grades[i]),
                    "rank": int(ranks[i]),
                    "baseline_rank": int(before[i]),
                    "ideal_rank": int(ideal[i]),
                    "score": float(scores[i]),
                    "contributions": [[names[j], float(contributions[i, j])] for j in top if contributions[i, j] != 0],
                }
            )
        value, baseline = float(self.chosen[q]), float(self.baseline[q])
        return {"query": str(self.ids[q]), "value": value, "baseline": baseline, "documents": documents}

    def _contributions(self, query: int, rows: npt.NDArray[np.intp]) -> Array:
        """w_j (x_ij − x̄_j) of each document and feature, by the weights that ranked the query."""
        x = self._queries.X[rows]
        dense = (x.toarray() if sp.issparse(x) else x).astype(np.float64)
        contributions: Array = self._result.final_weights(query) * (dense - dense.mean(axis=0))
        return contributions

    def _name(self, row: int) -> str:
        ids = self._queries.doc_ids
        return f"row {row}" if ids is None else str(ids[row])


def _ranks(values: Array) -> npt.NDArray[np.int64]:
    """1 for the largest; of equal ones the first comes first."""
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return ranks


def _summary(result: FitResult, queries: _Final) -> dict[str, Any]:
    gains = queries.sign * (queries.chosen - queries.baseline)
    certified, gain = result.certificates or (None, None)
    return {
        "mean": float(queries.chosen.mean()),
        "interval": list(bootstrap_interval(queries.chosen)),
        "baseline_mean": float(queries.baseline.mean()),
        "gain": float(gains.mean()),
        "gain_interval": list(bootstrap_interval(gains)),
        "p_value": wilcoxon_test(gains, np.maximum(np.abs(queries.chosen), np.abs(queries.baseline))),
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
            "note": "baseline" if row.alpha is None else None,
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


def _weights(result: FitResult) -> list[dict[str, Any]]:
    """Features with a weight, the most important first."""
    weights, names = result.model.coef_, result.data.train.feature_names
    importance = np.abs(weights) * result.data.scale
    return [
        {"feature": names[j], "weight": float(weights[j]), "importance": float(importance[j])}
        for j in np.argsort(-importance, kind="stable")
        if weights[j] != 0
    ]


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
        {"level": "warning", "text": f"{what}: {count:,} ({which})"} for what, count, which in findings_of(found)
    ]
    return {"facts": facts, "findings": findings}
