"""Sums of kernels: what targets that compute them are written from, a module of Python, and a graph of ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from rankwright._version import __version__
from rankwright.export.content import Content, Feature, Scaled, check_ranks, renamed
from rankwright.export.onnx_file import onnx_model
from rankwright.export.onnx_graph import Graph
from rankwright.models.kernel_model import KernelSum
from rankwright.models.model import Model
from rankwright.types import Array


@dataclass(frozen=True, eq=False)
class Kernels(Content):
    """Σ_i weight_i k(document_i, x); where there is ``scaling``, x goes through it first."""

    computes: ClassVar[str] = "kernels of documents"

    features: tuple[Feature, ...]
    kernel: str
    parameters: Mapping[str, float]
    documents: Array
    weights: Array
    scaling: tuple[Scaled, ...] | None


def kernels_content(model: Model, learned: KernelSum, names: Mapping[str, str] | None) -> Kernels:
    """What a model with a kernel computes."""
    check_ranks(learned.weights)
    by, documents = learned.standardisation, learned.documents
    return Kernels(
        renamed(list(range(model.n_features_in_)), model, names),
        str(learned.kernel.name),
        learned.kernel.parameters,
        documents.toarray() if sp.issparse(documents) else documents,
        learned.weights,
        None if by is None else tuple(map(Scaled, by.mean.tolist(), by.scale.tolist())),
    )


# Python

_KERNELS = {
    "rbf": "exp(-gamma * sum((u - v) ** 2 for u, v in zip(x, z)))",
    "laplacian": "exp(-gamma * sum(abs(u - v) for u, v in zip(x, z)))",
    "poly": "(gamma * sum(u * v for u, v in zip(x, z)) + coef0) ** degree",
    "cosine": "sum(u * v for u, v in zip(x, z)) / ((norm(x) or 1.0) * (norm(z) or 1.0))",
}


def kernels_to_python(content: Kernels, name: str) -> str:
    """A module with a function ``score``, which needs no other."""
    pairs = zip(content.weights.tolist(), content.documents.tolist(), strict=True)
    documents = "".join(f"    ({weight!r}, {row!r}),\n" for weight, row in pairs)
    scaling = content.scaling or tuple(Scaled(0.0, 1.0) for _ in content.features)
    features = "".join(
        f"    ({feature.name!a}, {scaled.mean!r}, {scaled.scale!r}),\n"
        for feature, scaled in zip(content.features, scaling, strict=True)
    )
    parameters = "".join(f"{parameter} = {value!r}\n" for parameter, value in content.parameters.items())
    return f'''"""A model that ranks, written by rankwright {__version__}. It needs nothing but Python."""

from math import exp, hypot, isinf, isnan

NAME = {name!a}
{parameters}FEATURES = [  # the name of each, its mean and its scale
{features}]
DOCUMENTS = [  # the weight of each, and its features after scaling
{documents}]


def norm(x):
    """The length of a vector."""
    return hypot(*x)


def kernel(x, z):
    """How alike two documents are."""
    return {_KERNELS[content.kernel]}


def value(features, name):
    """A feature of a document; it is missing if it is None, NaN or not there."""
    x = features.get(name)
    if x is None or isnan(x):
        raise ValueError("feature " + repr(name) + " is missing")
    if isinf(x):
        raise ValueError("feature " + repr(name) + " is not finite")
    return x


def score(features):
    """The score of a document, the higher the better, from the values of its features by name."""
    x = [(value(features, name) - mean) / scale for name, mean, scale in FEATURES]
    return sum(weight * kernel(x, z) for weight, z in DOCUMENTS)
'''


# ONNX


def kernels_to_onnx(content: Kernels, name: str, dtype: str = "float32") -> bytes:
    """A model with the input ``features`` (documents × features) and the output ``score`` (documents × 1)."""
    return onnx_model(content, name, dtype, lambda graph: _add_kernels(graph, content))


def _add_kernels(graph: Graph, content: Kernels) -> None:
    x, rows = "features", content.documents
    if content.scaling is not None:
        x = graph.apply("Sub", x, graph.number([[scaled.mean for scaled in content.scaling]]))
        x = graph.apply("Div", x, graph.number([[scaled.scale for scaled in content.scaling]]))
    matrix = _MATRICES[content.kernel](graph, x, rows, content.parameters)
    graph.add("MatMul", [matrix, graph.number(content.weights[:, None])], "score")


def _rbf(graph: Graph, x: str, rows: Array, parameters: Mapping[str, float]) -> str:
    """exp(−γ(‖x‖² + ‖z‖² − 2x · z)), from the middle of the documents, so that little is lost to rounding."""
    middle = rows.mean(axis=0, keepdims=True)
    rows, x = rows - middle, graph.apply("Sub", x, graph.number(middle))
    axis = graph.constant("across", [1], "int64")
    squares = graph.apply("ReduceSum", graph.apply("Mul", x, x), axis, keepdims=1)
    both = graph.apply("Add", squares, graph.number((rows**2).sum(axis=1)[None]))
    distances = graph.apply("Add", both, graph.apply("MatMul", x, graph.number(-2 * rows.T)))
    positive = graph.apply("Max", distances, graph.number([0.0]))
    return graph.apply("Exp", graph.apply("Mul", positive, graph.number([-parameters["gamma"]])))


def _laplacian(graph: Graph, x: str, rows: Array, parameters: Mapping[str, float]) -> str:
    each = graph.apply("Unsqueeze", x, graph.constant("between", [1], "int64"))
    sizes = graph.apply("Abs", graph.apply("Sub", each, graph.number(rows[None])))
    sums = graph.apply("ReduceSum", sizes, graph.constant("across", [2], "int64"), keepdims=0)
    return graph.apply("Exp", graph.apply("Mul", sums, graph.number([-parameters["gamma"]])))


def _poly(graph: Graph, x: str, rows: Array, parameters: Mapping[str, float]) -> str:
    products = graph.apply("MatMul", x, graph.number(parameters["gamma"] * rows.T))
    moved = graph.apply("Add", products, graph.number([parameters["coef0"]]))
    return graph.apply("Pow", moved, graph.number([parameters["degree"]]))


def _cosine(graph: Graph, x: str, rows: Array, parameters: Mapping[str, float]) -> str:
    """Of a document without any feature it is 0."""
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    axis = graph.constant("across", [1], "int64")
    norm = graph.apply("Sqrt", graph.apply("ReduceSum", graph.apply("Mul", x, x), axis, keepdims=1))
    is_none = graph.apply("Equal", norm, graph.number([0.0]))
    divisor = graph.apply("Where", is_none, graph.number([1.0]), norm)
    products = graph.apply("MatMul", x, graph.number((rows / np.where(lengths > 0, lengths, 1.0)).T))
    return graph.apply("Div", products, divisor)


_MATRICES: dict[str, Any] = {"rbf": _rbf, "laplacian": _laplacian, "poly": _poly, "cosine": _cosine}
