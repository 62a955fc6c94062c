"""ONNX: a graph from the used features, one row per document, to a column of scores."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from rankwright._version import __version__
from rankwright.checks import check_choice
from rankwright.errors import ParameterError
from rankwright.export.content import Content, Linear, Stumps
from rankwright.export.onnx_graph import Graph, add_prepared
from rankwright.export.single import at_most, single, single_or_zero, single_weights

DTYPES = ("float32", "float64")

# Old enough for runtimes of several years ago.
_IR_VERSION = 8
_OPERATORS = 13


class LacksPackage(ParameterError):
    """What writes a file for a target is not installed."""


def to_onnx(content: Linear | Stumps, name: str, dtype: str = "float32") -> bytes:
    """A model with the input ``features`` (documents × used features) and the output ``score`` (documents × 1).

    The names of the features, in the order of the columns, are the list ``features`` of the metadata, as JSON. NaN is
    a missing value. A model that fills in means of queries takes the documents of one query at a time.
    """

    def fill(graph: Graph) -> None:
        if isinstance(content, Stumps):
            _add_stumps(graph, content)
        elif not content.is_plain:
            add_prepared(graph, content)
        elif dtype == "float32":
            _add_regressor(graph, content)
        else:
            _add_product(graph, content)

    return onnx_model(content, name, dtype, fill)


def onnx_model(
    content: Content, name: str, dtype: str, fill: Callable[[Graph], None], learning_operators: int = 1
) -> bytes:
    """A model whose graph is filled by a function, from the input ``features`` to the output ``score``.

    ``learning_operators`` is the version of those of machine learning that it needs.
    """
    check_choice("dtype", dtype, DTYPES)
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise LacksPackage("to='onnx' needs the package onnx: pip install 'rankwright[onnx]'") from None
    element = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
    graph = Graph(dtype, element)
    fill(graph)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            name,
            [helper.make_tensor_value_info("features", element, ["documents", len(content.features)])],
            [helper.make_tensor_value_info("score", element, ["documents", 1])],
            graph.constants,
        ),
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid("", _OPERATORS), helper.make_opsetid("ai.onnx.ml", learning_operators)],
        producer_name="rankwright",
        producer_version=__version__,
    )
    helper.set_model_props(model, {"features": json.dumps([feature.name for feature in content.features])})
    return bytes(model.SerializeToString(deterministic=True))


def _add_regressor(graph: Graph, content: Linear) -> None:
    source = "features"
    if content.scaling is not None:
        graph.add(
            "Scaler",
            [source],
            "scaled",
            domain="ai.onnx.ml",
            offset=[single_or_zero(scaled.mean, "the mean of a feature") for scaled in content.scaling],
            scale=[single(1 / scaled.scale, "1 / the scale of a feature") for scaled in content.scaling],
        )
        source = "scaled"
    graph.add(
        "LinearRegressor",
        [source],
        "score",
        domain="ai.onnx.ml",
        coefficients=list(single_weights(content).values()),
        intercepts=[single_or_zero(content.intercept, "the intercept")],
        targets=1,
    )


def _add_product(graph: Graph, content: Linear) -> None:
    """In float64, which LinearRegressor has not."""
    linear = content.folded
    graph.add("MatMul", ["features", graph.constant("weights", np.reshape(linear.weights, (-1, 1)))], "product")
    graph.add("Add", ["product", graph.constant("intercept", [linear.intercept])], "score")


def _add_stumps(graph: Graph, content: Stumps) -> None:
    """[x > threshold] for every stump, times the weights."""
    column = {feature: place for place, feature in enumerate(content.features)}
    each = list(content.each())
    threshold, weight = graph.rounded(at_most), graph.rounded(single)
    thresholds = [threshold(stump.threshold, f"a threshold of feature {feature.name!r}") for feature, stump in each]
    weights = [weight(stump.weight, f"the weight of a stump of feature {feature.name!r}") for feature, stump in each]
    columns = graph.constant("columns", [column[feature] for feature, _ in each], "int64")
    graph.add("Gather", ["features", columns], "values", axis=1)
    graph.add("Greater", ["values", graph.constant("thresholds", thresholds)], "above")
    graph.add("Cast", ["above"], "passed", to=graph.element)
    graph.add("MatMul", ["passed", graph.constant("weights", np.reshape(weights, (-1, 1)))], "score")
