"""Graphs of ONNX: nodes and constants as they are added, and linear models with transforms and missing values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.export.content import Linear, Term
from rankwright.export.single import single
from rankwright.preparation.transforms import Log, Quantile


class Graph:
    """Nodes and constants of a graph, as they are added."""

    def __init__(self, dtype: str, element: int) -> None:
        self.dtype = dtype
        self.element = element
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> None:
        """A node whose output has a name."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))

    def constant(self, name: str, values: npt.ArrayLike, dtype: str | None = None) -> str:
        """A constant under a name, which is returned."""
        from onnx import numpy_helper

        with np.errstate(over="ignore"):
            held = np.asarray(values).astype(dtype or self.dtype)
        if not np.isfinite(held).all():
            raise ParameterError(
                f"{np.abs(values).max():g} is too large for {self.dtype}, in which this target computes"
            )
        self.constants.append(numpy_helper.from_array(held, name))
        return name

    def number(self, value: npt.ArrayLike) -> str:
        """A constant under a name of its own."""
        return self.constant(f"constant{len(self.constants)}", value)

    def apply(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output, under a name of its own."""
        output = f"{operator.lower()}{len(self.nodes)}"
        self.add(operator, list(inputs), output, **attributes)
        return output

    def numbers(self, name: str, values: Sequence[float]) -> dict[str, Any]:
        """An attribute of an operator for trees, which has numbers of float64 under another name than of float32."""
        if self.dtype == "float32":
            return {name: values}
        from onnx import numpy_helper

        return {f"{name}_as_tensor": numpy_helper.from_array(np.array(values, np.float64), name)}

    def rounded(self, by: Callable[[float, str], float]) -> Callable[[float, str], float]:
        """How a number becomes one of this graph: as it is, or as float32."""
        return by if self.dtype == "float32" else lambda value, what: value


def add_prepared(graph: Graph, content: Linear) -> None:
    """Σ_j w_j T_j(x_j) + c, and w_j · value + score where x_j is NaN."""
    terms = content.terms()
    values = "features"
    if any(content.transforms):
        values = graph.apply("Concat", *(_column(graph, place, term) for place, term in enumerate(terms)), axis=1)
    weight = graph.rounded(single)
    weights = graph.number([[weight(term.weight, f"the weight of feature {term.feature.name!r}")] for term in terms])
    total = graph.number([content.folded.intercept])
    if content.missing:
        is_missing = graph.apply("IsNaN", "features")
        fill = graph.number([[one.value for one in content.missing]])
        if content.by_query:
            fill = _query_means(graph, values, is_missing, fill)
        values = graph.apply("Where", is_missing, fill, values)
        scores = graph.number(np.reshape([one.score for one in content.missing], (-1, 1)))
        lacking = graph.apply("Cast", is_missing, to=graph.element)
        total = graph.apply("Add", graph.apply("MatMul", lacking, scores), total)
    graph.add("Add", [graph.apply("MatMul", values, weights), total], "score")


def _query_means(graph: Graph, values: str, is_missing: str, otherwise: str) -> str:
    """The mean of each column over the documents that have it, and another number if none has."""
    axis = graph.constant("documents", [0], "int64")
    zero, one = graph.number([0.0]), graph.number([1.0])
    known = graph.apply("Cast", graph.apply("Not", is_missing), to=graph.element)
    counts = graph.apply("ReduceSum", known, axis, keepdims=1)
    sums = graph.apply("ReduceSum", graph.apply("Where", is_missing, zero, values), axis, keepdims=1)
    means = graph.apply("Div", sums, graph.apply("Max", counts, one))
    return graph.apply("Where", graph.apply("Greater", counts, zero), means, otherwise)


def _column(graph: Graph, place: int, term: Term) -> str:
    """T(x) of one feature, as a column."""
    column = graph.apply("Gather", "features", graph.constant(f"column{place}", [place], "int64"), axis=1)
    if isinstance(term.transform, Log):
        size = graph.apply("Div", graph.apply("Abs", column), graph.number([term.transform.unit]))
        logarithm = graph.apply("Log", graph.apply("Add", size, graph.number([1.0])))
        return graph.apply("Mul", graph.apply("Sign", column), logarithm)
    if isinstance(term.transform, Quantile):
        return _quantile(graph, column, term.transform)
    return column


def _quantile(graph: Graph, column: str, transform: Quantile) -> str:
    """h_0 + Σ_k slope_k · min(max(x − knot_k, 0), knot_{k+1} − knot_k)."""
    knots, heights = np.array(transform.knots), np.array(transform.heights)
    above = graph.apply("Max", graph.apply("Sub", column, graph.number([knots[:-1]])), graph.number([0.0]))
    within = graph.apply("Min", above, graph.number([np.diff(knots)]))
    slopes = graph.number(np.reshape(np.diff(heights) / np.diff(knots), (-1, 1)))
    line = graph.apply("Add", graph.apply("MatMul", within, slopes), graph.number([heights[0]]))
    # What Max makes of NaN is left to runtimes: 0 · NaN is NaN again.
    return graph.apply("Add", line, graph.apply("Mul", column, graph.number([0.0])))
