"""Formulas of few terms as graphs of ONNX."""

from __future__ import annotations

from rankwright.export.onnx_file import onnx_model
from rankwright.export.onnx_graph import Graph, logarithm
from rankwright.export.single import single_or_zero
from rankwright.export.terms import TermSum
from rankwright.maps.terms import Factor


def terms_to_onnx(content: TermSum, name: str, dtype: str = "float32") -> bytes:
    """A model with the input ``features`` (documents × used features) and the output ``score`` (documents × 1).

    NaN is a missing value.
    """
    return onnx_model(content, name, dtype, lambda graph: _add(graph, content))


def _add(graph: Graph, content: TermSum) -> None:
    """Each term is a column; the score is their product with the weights."""
    columns = {}
    for place, feature in enumerate(content.features):
        index = graph.constant(f"column{place}", [place], "int64")
        columns[feature.number - 1] = graph.apply("Gather", "features", index, axis=1)
    factors = {factor: _factor(graph, content, factor, columns[factor.column]) for factor in _factors(content)}
    terms = []
    for term in content.terms.terms:
        own = [factors[factor] for factor in term.factors]
        terms.append(own[0] if len(own) == 1 else graph.apply("Mul", *own))
    values = terms[0] if len(terms) == 1 else graph.apply("Concat", *terms, axis=1)
    rounded = graph.rounded(single_or_zero)
    weights = graph.number([[rounded(term.weight, "the weight of a term")] for term in content.terms.terms])
    graph.add("Add", [graph.apply("MatMul", values, weights), graph.number([content.terms.intercept])], "score")


def _factors(content: TermSum) -> list[Factor]:
    return list(dict.fromkeys(factor for term in content.terms.terms for factor in term.factors))


def _factor(graph: Graph, content: TermSum, factor: Factor, column: str) -> str:
    if factor.kind == "missing":
        return graph.apply("Cast", graph.apply("IsNaN", column), to=graph.element)
    fill = content.fill_of(content.of(factor))
    if fill is not None:
        column = graph.apply("Where", graph.apply("IsNaN", column), graph.number([fill]), column)
    if factor.kind == "log":
        return logarithm(graph, column, factor.number)
    if factor.kind == "value" and factor.number == 0:
        return column
    number = graph.number([factor.number])
    if factor.kind == "value":
        return graph.apply("Sub", column, number)
    difference = (column, number) if factor.kind == "above" else (number, column)
    hinge = graph.apply("Relu", graph.apply("Sub", *difference))
    # What Relu makes of NaN is left to runtimes: 0 · NaN is NaN again.
    return hinge if fill is not None else graph.apply("Add", hinge, graph.apply("Mul", column, graph.number([0.0])))
