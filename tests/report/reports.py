"""Reports as `rankwright fit` makes them, from random data."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.evaluation.significance import bootstrap_interval, randomisation_test

RANKERS = [
    "GreedyRankRLS",
    "RankRLS",
    "RankSVM",
    "OrderPreservingRanker",
    "StructuredRanker",
    "RankBoost",
    "best feature",
]


def make_report(
    *,
    n_queries: int = 60,
    n_features: int = 12,
    n_listed: int = 4,
    n_documents: int = 15,
    seed: int = 0,
    **changes: Any,
) -> dict[str, Any]:
    """A report on so many test queries, with ``n_listed`` worst ones and up to as many improved and harmed ones."""
    rng = np.random.default_rng(seed)
    baseline = np.round(rng.beta(1.2, 1.6, n_queries), 6)
    chosen = np.round(np.clip(baseline + rng.normal(0.03, 0.12, n_queries) * (rng.random(n_queries) < 0.8), 0, 1), 6)
    ids = [str(10_000 + i) for i in range(n_queries)]
    features = [f"feature {i}" for i in range(n_features)]
    by_value = np.argsort(chosen, kind="stable")[:n_listed]
    gain = chosen - baseline
    improved, harmed = (
        [q for q in np.argsort(-sign * gain, kind="stable")[:n_listed] if sign * gain[q] > 0] for sign in (1, -1)
    )

    def listed(place: int) -> dict[str, Any]:
        documents = _documents(rng, n_documents, features)
        return {"query": ids[place], "value": chosen[place], "baseline": baseline[place], "documents": documents}

    report = {
        "title": "Rankers of a small collection",
        "measure": "nDCG @ 10",
        "lower_is_better": False,
        "convention": "default: gain 2^y − 1, ties by expectation",
        "evaluated_on": "test",
        "rule": "one-standard-error",
        "n_queries": n_queries,
        "n_features": 4 * n_features,
        "chosen": RANKERS[0],
        "baseline": "best single feature (feature 0)",
        "summary": _summary(chosen, baseline),
        "cost": {
            "features": n_features,
            "of_features": 3.0 * n_features,
            "of_all_features": 10.0 * n_features,
            "seconds": 0.00012,
            "documents": 1000,
            "calls": 25,
        },
        "leaderboard": _leaderboard(rng, float(chosen.mean()), n_features),
        "left_out": [{"ranker": "KernelRankRLS", "reason": "more than 10,000 documents"}],
        "alpha_paths": [_alpha_path(rng, ranker) for ranker in RANKERS[:4]],
        "feature_path": _feature_path(rng, features, float(chosen.mean())),
        "weights": _weights(rng, features),
        "queries": {
            "ids": ids,
            "chosen": chosen.tolist(),
            "baseline": baseline.tolist(),
            "documents": rng.integers(5, 200, n_queries).tolist(),
            "relevant": rng.integers(1, 6, n_queries).tolist(),
        },
        "worst": [listed(int(place)) for place in by_value],
        "improved": [listed(int(place)) for place in improved],
        "harmed": [listed(int(place)) for place in harmed],
        "health": {
            "facts": [["queries", f"{n_queries:,}"], ["documents per query", "8 to 119"], ["grades", "0, 1, 2"]],
            "findings": [
                {"level": "warning", "text": "12 queries have no relevant document."},
                {"level": "note", "text": "feature 3 and feature 4 are equal in all rows."},
            ],
        },
        "reproduce": {
            "command": "rankwright fit train.txt --valid vali.txt --test test.txt --measure ndcg@10 --out results",
            "versions": {"rankwright": "0.7.0", "numpy": "2.3.0", "python": "3.11.2"},
            "data": [
                {"role": role, "name": f"{role}.txt", "sha256": 8 * f"{seed:08x}", "queries": 471, "documents": 9630}
                for role in ("train", "valid", "test")
            ],
            "seed": seed,
        },
    }
    return report | changes


def _summary(chosen: np.ndarray, baseline: np.ndarray) -> dict[str, Any]:
    gain = chosen - baseline
    certificate = {"delta": 0.05, "method": "betting", "n_queries": len(chosen), "guaranteed": True, "doubts": []}
    return {
        "mean": float(chosen.mean()),
        "interval": list(bootstrap_interval(chosen)),
        "baseline_mean": float(baseline.mean()),
        "gain": float(gain.mean()),
        "gain_interval": list(bootstrap_interval(gain)),
        "p_value": randomisation_test(gain),
        "certificate": certificate | {"bound": float(chosen.mean()) - 0.05},
        "gain_certificate": certificate | {"bound": float(gain.mean()) - 0.04},
    }


def _leaderboard(rng: np.random.Generator, mean: float, n_features: int) -> list[dict[str, Any]]:
    rows = []
    for i, ranker in enumerate(RANKERS):
        estimates = [
            {"mean": m, "interval": [m - 0.02, m + 0.02], "standard_error": 0.01}
            for m in mean - 0.01 * i + rng.normal(0, 0.004, 2)
        ]
        row = {
            "ranker": ranker,
            "alpha": None if ranker == "best feature" else 2.0 ** (i - 3),
            "features": n_features,
            "held_out": estimates[0],
            "test": estimates[1],
            "p_value": None if i == 1 else 0.2 / 3**i,
            "is_best": i == 1,
            "is_chosen": i == 0,
            "note": "fewest features within one standard error of the best" if i == 0 else None,
        }
        rows.append(row)
    return rows


def _alpha_path(rng: np.random.Generator, ranker: str) -> dict[str, Any]:
    alphas = 2.0 ** np.arange(-10, 11, 2)
    means = 0.45 - 0.002 * (np.log2(alphas) / 2 - 1) ** 2 / 2 + rng.normal(0, 0.002, len(alphas))
    errors = np.full(len(alphas), 0.01)
    return {
        "ranker": ranker,
        "alphas": alphas.tolist(),
        "means": means.tolist(),
        "errors": errors.tolist(),
        "chosen": int(means.argmax()),
    }


def _feature_path(rng: np.random.Generator, features: list[str], top: float) -> dict[str, Any]:
    costs = np.cumsum(rng.integers(1, 9, len(features)))
    points = [
        {
            "features": k,
            "cost": float(costs[k - 1]),
            "mean": top - 0.08 / k,
            "error": 0.01,
            "selected": features[:k],
        }
        for k in range(1, len(features) + 1)
    ]
    return {"points": points, "chosen": len(points) * 2 // 3, "has_costs": True}


def _weights(rng: np.random.Generator, features: list[str]) -> list[dict[str, Any]]:
    weights = rng.normal(0, 1, len(features)) * 10.0 ** rng.integers(-6, 3, len(features))
    importances = np.sort(rng.exponential(1, len(features)))[::-1]
    return [
        {"feature": feature, "weight": float(weight), "importance": float(importance)}
        for feature, weight, importance in zip(features, weights, importances, strict=True)
    ]


def _documents(rng: np.random.Generator, number: int, features: list[str]) -> list[dict[str, Any]]:
    grades = rng.choice([0, 0, 0, 1, 2], number)
    ranks, baseline_ranks = rng.permutation(number) + 1, rng.permutation(number) + 1
    return [
        {
            "document": f"GX{i:03}-{rng.integers(10**7):07}",
            "grade": int(grades[i]),
            "ranks": [int(ranks[i])] * 2,
            "baseline_ranks": [int(baseline_ranks[i])] * 2,
            "ideal_ranks": [1 + int((grades > grades[i]).sum()), int((grades >= grades[i]).sum())],
            "score": 1 / float(ranks[i]),
            "contributions": [[feature, float(rng.normal())] for feature in features[:5]],
        }
        for i in range(number)
    ]


def make_preparation(n_features: int) -> dict[str, Any]:
    """How features were prepared: every third one is missing somewhere."""
    transforms = ["none", "log", "quantile"]
    return {
        "chosen": "log of heavy-tailed features, mean within the query where a value is missing",
        "tried": [
            {"name": name, "mean": 0.4 + 0.01 * i, "standard_error": 0.01 if i else None, "is_chosen": i == 1}
            for i, name in enumerate(transforms)
        ],
        "features": [
            {
                "name": f"feature {i}",
                "transform": transforms[i % 3],
                "missing_share": 0.0 if i % 3 else 0.3535,
                "where_missing": None if i % 3 else "mean of the query, and an indicator",
            }
            for i in range(n_features)
        ],
    }
