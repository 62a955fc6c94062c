"""Solr's Learning to Rank: a model for the model store, in float32."""

from __future__ import annotations

import json
from typing import Any

from rankwright.export.content import Content, Feature, Linear, Scaled, Stump, Stumps, check_text
from rankwright.export.single import reached_by_adding, single, single_or_zero, single_weights

_PACKAGE = "org.apache.solr.ltr"
SLACK = 1e-6  # what Solr adds to the thresholds of trees


def to_solr(content: Linear | Stumps, name: str, store: str | None = None) -> str:
    """A ``LinearModel`` with its normalisers, or stumps as a ``MultipleAdditiveTreesModel``.

    ``store`` names the feature store, if it is not the default one.
    """
    if isinstance(content, Linear):
        return model_body("LinearModel", content, name, store, {"weights": single_weights(content)})
    trees = [{"weight": "1", "root": _root(feature, stump)} for feature, stump in content.each()]
    return model_body("MultipleAdditiveTreesModel", content, name, store, {"trees": trees})


def model_body(kind: str, content: Content, name: str, store: str | None, params: dict[str, Any]) -> str:
    """A model for the model store, with its features, and normalisers if they are scaled."""
    scaling = (isinstance(content, Linear) and content.scaling) or (None,) * len(content.features)
    model = {
        "class": f"{_PACKAGE}.model.{kind}",
        "name": name,
        "features": [_listed(feature, scaled) for feature, scaled in zip(content.features, scaling, strict=True)],
        "params": params,
    }
    if store is not None:
        model = {"store": check_text(store, "store"), **model}
    return json.dumps(model, indent=2, allow_nan=False) + "\n"


def _listed(feature: Feature, scaled: Scaled | None) -> dict[str, Any]:
    if scaled is None:
        return {"name": feature.name}
    mean = single_or_zero(scaled.mean, f"the mean of feature {feature.name!r}")
    scale = single(scaled.scale, f"the scale of feature {feature.name!r}")
    params = {"avg": repr(mean), "std": repr(scale)}
    return {"name": feature.name, "norm": {"class": f"{_PACKAGE}.norm.StandardNormalizer", "params": params}}


def _root(feature: Feature, stump: Stump) -> dict[str, Any]:
    """Trees go left where x ≤ threshold + slack."""
    threshold = reached_by_adding(SLACK, stump.threshold, f"a threshold of feature {feature.name!r}")
    weight = single(stump.weight, f"the weight of a stump of feature {feature.name!r}")
    return {
        "feature": feature.name,
        "threshold": repr(threshold),
        "left": {"value": "0"},
        "right": {"value": repr(weight)},
    }
