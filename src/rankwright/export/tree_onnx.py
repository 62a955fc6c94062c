"""Trees for ONNX: the operator TreeEnsembleRegressor, whose nodes know where NaN goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.export.onnx_file import onnx_model
from rankwright.export.onnx_graph import Graph
from rankwright.export.single import at_most, single_or_zero
from rankwright.export.trees import Split, Trees
from rankwright.trees.trees import ZERO

_NODE_COLUMNS = (
    *("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids"),
    *("missing_value_tracks_true", "values"),
)


def trees_to_onnx(content: Trees, name: str, dtype: str = "float32") -> bytes:
    """A model with the input ``features`` (documents × used features) and the output ``score`` (documents × 1)."""

    def fill(graph: Graph) -> None:
        source = _with_zeros_missing(graph, content)
        leaves = graph.apply("TreeEnsembleRegressor", source, domain="ai.onnx.ml", **_nodes(graph, content))
        graph.add("Cast", [leaves], "score", to=graph.element)  # the operator has sums of float32 alone

    return onnx_model(content, name, dtype, fill, 1 if dtype == "float32" else 3)


def _with_zeros_missing(graph: Graph, content: Trees) -> str:
    """The features, and behind them the same with NaN for 0, if there are splits that take 0 for missing."""
    if not any(split.zero_is_missing for split in content.splits()):
        return "features"
    is_zero = graph.apply("Not", graph.apply("Greater", graph.apply("Abs", "features"), graph.number([ZERO])))
    nan = graph.apply("Div", graph.number([0.0]), graph.number([0.0]))
    return graph.apply("Concat", "features", graph.apply("Where", is_zero, nan, "features"), axis=1)


def _nodes(graph: Graph, content: Trees) -> dict[str, Any]:
    places = {feature: place for place, feature in enumerate(content.features)}
    threshold, value = graph.rounded(at_most), graph.rounded(single_or_zero)
    columns: dict[str, list[Any]] = {key: [] for key in _NODE_COLUMNS}
    leaves: list[tuple[int, int, float]] = []
    for number, tree in enumerate(content.trees):
        for place, node in enumerate(tree.nodes):
            if isinstance(node, Split):
                feature = places[node.feature] + len(places) * node.zero_is_missing
                what = f"a threshold of feature {node.feature.name!r}"
                row = (feature, "BRANCH_LEQ", place + 1, node.right, int(node.missing_left))
                told = (number, place, *row, threshold(node.threshold, what))
            else:
                told = (number, place, 0, "LEAF", 0, 0, 0, 0.0)
                leaves.append((number, place, value(node, "a leaf")))
            for column, entry in zip(columns.values(), told, strict=True):
                column.append(entry)
    trees, nodes, weights = zip(*leaves, strict=True)
    return {
        **{f"nodes_{key}": entries for key, entries in columns.items() if key != "values"},
        **graph.numbers("nodes_values", columns["values"]),
        "target_treeids": trees,
        "target_nodeids": nodes,
        "target_ids": np.zeros(len(leaves), np.int64),
        **graph.numbers("target_weights", weights),
        "n_targets": 1,
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }
