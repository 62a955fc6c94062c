"""What using the models of a fit takes: features, time, and a place to run. Linear and non-linear rankers compared."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.evaluation.comparison import Comparison
from rankwright.evaluation.significance import bootstrap_interval, holm, wilcoxon_test
from rankwright.export.takers import targets_for
from rankwright.fitting.choice import Entry
from rankwright.fitting.family import KIND_WORDS, LINEAR
from rankwright.fitting.result import FitResult
from rankwright.models.model import Model
from rankwright.types import Array

_TIMED_DOCUMENTS, _TIMED_CALLS = 1000, 25


def cost_of(result: FitResult) -> dict[str, Any]:
    """What using the chosen model takes: features, what they cost if that was told, and time."""
    is_used = result.model.used_features()
    return {
        "features": len(is_used),
        "of_features": None if result.costs is None else float(result.costs[is_used].sum()),
        "of_all_features": None if result.costs is None else float(result.costs.sum()),
        "seconds": _scoring_seconds(_timed_documents(result), result.model),
        "documents": _TIMED_DOCUMENTS,
        "calls": _TIMED_CALLS,
    }


def _timed_documents(result: FitResult) -> Queries:
    """1,000 of the final documents in memory, again from the first if there are fewer."""
    enough = int(np.searchsorted(np.cumsum(result.final_queries.sizes), _TIMED_DOCUMENTS)) + 1
    queries = in_memory(result.final_queries[:enough])
    rows = np.resize(np.arange(queries.n_documents), _TIMED_DOCUMENTS)
    names = queries.feature_names if queries.has_feature_names else None
    return Queries(queries.X[rows], queries.y[rows], feature_names=names)


def _scoring_seconds(documents: Queries, model: Model) -> float:
    """The median time of a call that scores the documents."""
    model.predict(documents)  # the first call may have to load something
    seconds = []
    for _ in range(_TIMED_CALLS):
        started = time.perf_counter()
        model.predict(documents)
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))


def in_memory(queries: AnyQueries) -> Queries:
    """A few queries."""
    return queries if isinstance(queries, Queries) else queries.in_memory()


def beyond_linear(result: FitResult) -> dict[str, Any] | None:
    """Every ranker beside the best linear one, on test queries if there are any; None if all are linear.

    Tests of the non-linear rankers against the best linear one are corrected by Holm's method.
    """
    linear = result.best_linear
    if linear is None or not result.has_nonlinear:
        return None
    compared = result.held_out if result.on_test is None else result.on_test
    documents = _timed_documents(result)
    differences = {
        entry.family.title: _differences(compared, entry, linear)
        for entry in result.entries
        if entry.family.complexity != LINEAR
    }
    tests = [wilcoxon_test(each) for each in differences.values()]
    p_values = dict(zip(differences, holm(np.array(tests)).tolist(), strict=True))
    rows: list[dict[str, Any]] = []
    for entry, model in zip(result.entries, result.models, strict=True):
        title = entry.family.title
        from_linear = differences.get(title)
        rows.append(
            {
                "ranker": title,
                "kind": KIND_WORDS[entry.family.complexity],
                "setting": str(entry.setting),
                "mean": compared.means[title],
                "difference": None if from_linear is None else float(np.nanmean(from_linear)),
                "interval": None if from_linear is None else list(bootstrap_interval(from_linear)),
                "p_value": p_values.get(title),
                "seconds": _scoring_seconds(documents, model),
                "features": len(model.used_features()),
                "targets": list(targets_for(model)),
                "is_chosen": entry is result.entries[result.chosen],
            }
        )
    rows.sort(key=lambda row: row["mean"], reverse=not result.measure.lower_is_better)
    return {"linear": linear.family.title, "documents": _TIMED_DOCUMENTS, "rows": rows}


def _differences(compared: Comparison, entry: Entry, linear: Entry) -> Array:
    """How an entry differs from the best linear one, on queries that count."""
    differences: Array = compared.values[entry.family.title] - compared.values[linear.family.title]
    return differences[~np.isnan(differences)]
