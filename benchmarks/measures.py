"""Evaluating NDCG@10, AP and ERR over 3,000 queries × 120 documents, from arrays in memory to values per query.

The peers compute NDCG@10 and AP only (none has ERR), their preparation included. LightGBM's figure is its
internal evaluation alone, on data that it has already taken in, with the same number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rankwright as rw
from benchmarks.timing import Row, alternate, seconds
from rankwright.machine.threads import thread_count

_QUERIES, _DOCUMENTS = 3000, 120


def run(repeats: int) -> list[Row]:
    """Time ours and each peer in turns."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(_QUERIES), _DOCUMENTS)
    grades = rng.choice(5, len(qid), p=[0.52, 0.32, 0.13, 0.02, 0.01])
    scores = rng.standard_normal(len(qid)) + 0.3 * grades
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: rw.evaluate(scores, rw.Queries(None, grades, qid), [rw.nDCG @ 10, rw.AP, rw.ERR]).values,
        "ours, NDCG@10 + AP only": lambda: rw.evaluate(scores, rw.Queries(None, grades, qid), [rw.nDCG @ 10, rw.AP]),
        "lightgbm": _lightgbm(qid, grades, scores),
        "pytrec_eval": lambda: _pytrec_eval(qid, grades, scores),
        "ir_measures": lambda: _ir_measures(qid, grades, scores),
        "ranx": lambda: _ranx(qid, grades, scores),
    }
    taken = alternate(sides, max(repeats, 5))
    taken["scikit-learn"] = seconds(lambda: _sklearn(qid, grades, scores))
    name = "measures"
    rows = [Row(name, p, taken["ours"], taken[p], 15) for p in ("pytrec_eval", "ir_measures", "ranx", "scikit-learn")]
    note = f"{thread_count()} threads; ours includes grouping and ERR"
    rows.append(Row(name, "lightgbm", taken["ours"], taken["lightgbm"], 1, note))
    same = taken["ours, NDCG@10 + AP only"]
    rows.append(Row(name, "lightgbm", same, taken["lightgbm"], 1, f"{thread_count()} threads; NDCG@10 + AP alike"))
    return rows


def _lightgbm(qid: Any, grades: Any, scores: Any) -> Callable[[], object]:
    import lightgbm

    data = lightgbm.Dataset(np.zeros((len(qid), 1)), grades, group=np.bincount(qid), init_score=scores)
    options = {
        "objective": "lambdarank",
        "metric": ["ndcg", "map"],
        "eval_at": [10],
        "verbosity": -2,
        "num_threads": thread_count(),
    }
    evaluate: Callable[[], object] = lightgbm.Booster(options, data).eval_train
    return evaluate


def _as_text(qid: Any, grades: Any, scores: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    run: dict[str, Any] = {}
    qrels: dict[str, Any] = {}
    rows = zip(qid.tolist(), range(len(qid)), grades.tolist(), scores.tolist(), strict=True)
    for query, document, grade, score in rows:
        run.setdefault(str(query), {})[str(document)] = score
        qrels.setdefault(str(query), {})[str(document)] = grade
    return run, qrels


def _pytrec_eval(qid: Any, grades: Any, scores: Any) -> object:
    import pytrec_eval

    run, qrels = _as_text(qid, grades, scores)
    return pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map"}).evaluate(run)


def _ir_measures(qid: Any, grades: Any, scores: Any) -> object:
    import ir_measures

    run, qrels = _as_text(qid, grades, scores)
    return list(ir_measures.iter_calc([ir_measures.nDCG @ 10, ir_measures.AP], qrels, run))


def _ranx(qid: Any, grades: Any, scores: Any) -> object:
    import ranx

    run, qrels = _as_text(qid, grades, scores)
    return ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["ndcg@10", "map"], return_mean=False)


def _sklearn(qid: Any, grades: Any, scores: Any) -> object:
    from sklearn.metrics import average_precision_score, ndcg_score

    values = []
    for start in range(0, len(qid), _DOCUMENTS):
        y, s = grades[start : start + _DOCUMENTS], scores[start : start + _DOCUMENTS]
        values.append((ndcg_score([y], [s], k=10), average_precision_score(y >= 1, s)))
    return values
