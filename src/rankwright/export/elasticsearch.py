"""Elasticsearch and OpenSearch with the Learning to Rank plugin: the body of ``_createmodel``, in float32."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from rankwright.export.content import Feature, Linear, Stump, Stumps, check_text
from rankwright.export.single import above, single, single_or_zero, single_weights


def to_elasticsearch(content: Linear | Stumps, name: str, feature_set: str | None = None) -> str:
    """A linear model as ``model/linear`` with its normalisers, stumps as trees of ``model/xgboost+json``.

    With the name of a feature set, the request line comes first, as consoles take it.
    """
    model = _linear(content) if isinstance(content, Linear) else _trees(content)
    return request_body(model, name, feature_set)


def request_body(model: dict[str, Any], name: str, feature_set: str | None) -> str:
    """The body of the request that stores a model, behind the request line if there is a feature set."""
    body = json.dumps({"model": {"name": name, "model": model}}, indent=2, allow_nan=False)
    if feature_set is None:
        return f"{body}\n"
    path = quote(check_text(feature_set, "feature_set"), safe="")
    return f"POST _ltr/_featureset/{path}/_createmodel\n{body}\n"


def _linear(content: Linear) -> dict[str, Any]:
    model: dict[str, Any] = {"type": "model/linear"}
    if content.scaling is not None:
        model["feature_normalizers"] = {
            feature.name: {
                "standard": {
                    "mean": single_or_zero(scaled.mean, f"the mean of feature {feature.name!r}"),
                    "standard_deviation": single(scaled.scale, f"the scale of feature {feature.name!r}"),
                }
            }
            for feature, scaled in zip(content.features, content.scaling, strict=True)
        }
    return {**model, "definition": json.dumps(single_weights(content), allow_nan=False)}


def _trees(content: Stumps) -> dict[str, Any]:
    trees = [_tree(feature, stump) for feature, stump in content.each()]
    return {"type": "model/xgboost+json", "definition": json.dumps(trees, allow_nan=False)}


def _tree(feature: Feature, stump: Stump) -> dict[str, Any]:
    """Trees go to "yes" where x < split_condition."""
    return {
        "nodeid": 0,
        "depth": 0,
        "split": feature.name,
        "split_condition": above(stump.threshold, f"a threshold of feature {feature.name!r}"),
        "yes": 1,
        "no": 2,
        "missing": 1,
        "children": [
            {"nodeid": 1, "leaf": 0.0},
            {"nodeid": 2, "leaf": single(stump.weight, f"the weight of a stump of feature {feature.name!r}")},
        ],
    }
