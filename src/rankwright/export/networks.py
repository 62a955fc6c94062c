"""Networks of fully connected layers for targets: what they compute, as nodes of ONNX and as a Python module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rankwright._version import __version__
from rankwright.export.content import Content, check_ranks, renamed
from rankwright.export.onnx_file import onnx_model
from rankwright.export.onnx_graph import Graph, feature_column, query_means, transformed_column
from rankwright.export.python_file import TRANSFORMED, transform_literal
from rankwright.models.model import Model
from rankwright.models.network import Network
from rankwright.types import Array


@dataclass(frozen=True)
class NetworkContent(Content):
    """A network of the features that it uses, in their order."""

    computes: ClassVar[str] = "the layers of a network"

    network: Network


def network_content(model: Model, network: Network, names: Mapping[str, str] | None) -> NetworkContent:
    """What a network computes."""
    used = network.used
    check_ranks(used)
    return NetworkContent(renamed(used.tolist(), model, names), network.of_features(used))


# ONNX


def network_to_onnx(content: NetworkContent, name: str, dtype: str = "float32") -> bytes:
    """A model from used features to scores; a network that compares documents takes those of one query at a time."""
    return onnx_model(content, name, dtype, lambda graph: _add_network(graph, content))


def _add_network(graph: Graph, content: NetworkContent) -> None:
    """Inputs from features, then layer by layer; what is missing and not filled in, or not finite, makes NaN."""
    network = content.network
    h = _first_layer(graph, network, _inputs(graph, network))
    axis = graph.constant("outputs", [1], "int64")
    # What activations make of NaN is left to runtimes: 0 · NaN is NaN again, and so is 0 · ∞.
    nothing = graph.apply("ReduceSum", graph.apply("Mul", h, graph.number([0.0])), axis, keepdims=1)
    for weights, biases in network.layers[1:]:
        h = _affine(graph, _activated(graph, network.activation, h), weights, biases)
    graph.add("Add", [h, nothing], "score")


def _inputs(graph: Graph, network: Network) -> str:
    """Features, transformed and filled in, and then where some of them are missing."""
    inputs = "features"
    if network.transforms:
        columns = [
            transformed_column(graph, feature_column(graph, j), network.transforms.get(j))
            for j in range(network.n_features)
        ]
        inputs = graph.apply("Concat", *columns, axis=1)
    if network.filling is None:
        return inputs
    is_missing = graph.apply("IsNaN", "features")
    fill = graph.number([network.filling.values])
    if network.filling.by_query:
        fill = query_means(graph, inputs, is_missing, fill)
    inputs = graph.apply("Where", is_missing, fill, inputs)
    if not len(network.indicated):
        return inputs
    lacking = graph.apply("Cast", is_missing, to=graph.element)
    indicated = graph.apply("Gather", lacking, graph.constant("indicated", network.indicated, "int64"), axis=1)
    return graph.apply("Concat", inputs, indicated, axis=1)


def _first_layer(graph: Graph, network: Network, inputs: str) -> str:
    if network.within_query:
        inputs = graph.apply("Sub", inputs, graph.apply("ReduceMean", inputs, axes=[0], keepdims=1))
    return _affine(graph, inputs, *network.layers[0])


def _affine(graph: Graph, h: str, weights: Array, biases: Array) -> str:
    return graph.apply("Add", graph.apply("MatMul", h, graph.number(weights)), graph.number(biases))


def _activated(graph: Graph, activation: str, h: str) -> str:
    if activation == "silu":
        return graph.apply("Mul", h, graph.apply("Sigmoid", h))
    return graph.apply({"relu": "Relu", "tanh": "Tanh"}[activation], h)


# Python


def network_to_python(content: NetworkContent, name: str) -> str:
    """A module with a function ``score``, or ``scores`` if documents are compared with the others of their query."""
    network = content.network
    fills = [None] * network.n_features if network.filling is None else network.filling.values.tolist()
    features = "".join(
        f"    {feature.name!a}: ({transform_literal(network.transforms.get(j))}, {fills[j]!r}),\n"
        for j, feature in enumerate(content.features)
    )
    layers = "".join(
        "    (\n        [\n"
        + "".join(f"            {row!r},\n" for row in weights.T.tolist())
        + f"        ],\n        {biases.tolist()!r},\n    ),\n"
        for weights, biases in network.layers
    )
    by_query = network.filling is not None and network.filling.by_query
    return f'''"""A network that ranks, written by rankwright {__version__}. It needs nothing but Python."""

from math import copysign, exp, isfinite, isnan, log1p, tanh

NAME = {name!a}
FEATURES = {{  # of each feature: transform, and what stands for a missing value
{features}}}
INDICATED = {[content.features[j].name for j in network.indicated]!a}  # inputs of their own, 1 where missing
LAYERS = [  # weights of the inputs, a list for each output, and biases
{layers}]

{TRANSFORMED}

{_ACTIVATIONS[network.activation]}


def is_missing(features, name):
    """Whether a feature is None, NaN or not there."""
    x = features.get(name)
    return x is None or isnan(x)


def score_of_inputs(h):
    """The score of a document, from its inputs."""
    for depth, (weights, biases) in enumerate(LAYERS):
        if depth:
            h = [activated(x) for x in h]
        h = [sum(x * w for x, w in zip(h, row)) + bias for row, bias in zip(weights, biases)]
    return h[0]

{
        _BY_QUERY.replace("MEAN_OF_QUERY", repr(by_query)).replace("WITHIN_QUERY", repr(network.within_query))
        if network.needs_queries
        else _BY_DOCUMENT
    }'''


_ACTIVATIONS = {
    "relu": '''
def activated(x):
    """What a hidden layer gives."""
    return max(x, 0.0)''',
    "tanh": '''
def activated(x):
    """What a hidden layer gives."""
    return tanh(x)''',
    "silu": '''
def activated(x):
    """What a hidden layer gives."""
    return x / (1 + exp(-x)) if x > -700 else 0.0''',
}

_INPUT = '''
def value(features, name, otherwise):
    """The feature after its transform, or what stands for it where it is missing."""
    if is_missing(features, name):
        if otherwise is None:
            raise ValueError("feature " + repr(name) + " is missing")
        return otherwise
    if not isfinite(features[name]):
        raise ValueError("feature " + repr(name) + " is not finite")
    return transformed(FEATURES[name][0], features[name])
'''

_BY_DOCUMENT = (
    _INPUT
    + '''

def score(features):
    """The score of a document, the higher the better, from the values of its features by name."""
    inputs = [value(features, name, fill) for name, (_, fill) in FEATURES.items()]
    return score_of_inputs(inputs + [float(is_missing(features, name)) for name in INDICATED])
'''
)

_BY_QUERY = (
    _INPUT
    + '''

def mean(values):
    """Of some numbers."""
    return sum(values) / len(values)


def column(documents, name):
    """The values of a feature, those that are missing filled in."""
    fill = FEATURES[name][1]
    known = [value(document, name, fill) for document in documents if not is_missing(document, name)]
    if MEAN_OF_QUERY and known:
        fill = mean(known)
    return [value(document, name, fill) for document in documents]


def scores(documents):
    """The scores of all documents of one query, the higher the better, from the values of their features by name."""
    columns = [column(documents, name) for name in FEATURES]
    columns += [[float(is_missing(document, name)) for document in documents] for name in INDICATED]
    if WITHIN_QUERY:
        columns = [[x - mean(values) for x in values] for values in columns]
    return [score_of_inputs(list(inputs)) for inputs in zip(*columns)]
'''
)
