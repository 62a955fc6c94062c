"""Rankers behind a kernel map, as ONNX and as Python: others have no cosines, or would need thousands of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwright._version import __version__
from rankwright.errors import ParameterError
from rankwright.export.content import Content, check_ranks, renamed
from rankwright.export.onnx_file import onnx_model
from rankwright.export.onnx_graph import Graph, transformed_column
from rankwright.export.python_file import TRANSFORMED, transform_literal
from rankwright.maps.kernel_columns import FourierColumns, KernelColumns, NystroemColumns
from rankwright.models.model import Model
from rankwright.preparation.transforms import Transform
from rankwright.types import Array


@dataclass(frozen=True, eq=False)
class Prepared:
    """z_j = (T(x) − shift) / scale of one feature, or (1 − shift) / scale where it is missing, if ``indicates`` so."""

    place: int
    transform: Transform | None
    fill: float | None
    indicates: bool
    shift: float
    scale: float


@dataclass(frozen=True, eq=False)
class Mapped(Content):
    """z · linear + intercept + Σ_k weight_k · (a wave of z, or a Gaussian around a landmark)."""

    computes: ClassVar[str] = "kernel maps"

    prepared: tuple[Prepared, ...]
    linear: Array
    weights: Array
    intercept: float
    by: KernelColumns


def mapped_content(
    model: Model, learned: tuple[KernelColumns, Array, float], names: Mapping[str, str] | None
) -> Mapped:
    """What a `MappedModel` computes, from the features that it uses alone."""
    by, weights, intercept = learned
    standardised, preparation = by.standardised, by.standardised.preparation
    if standardised.needs_queries:
        raise ParameterError(
            "model: it fills in a missing value by the mean of its query, which no target computes for a kernel map: "
            "train it with missing='mean'"
        )
    used = np.unique(standardised.sources)  # all that vary: each is part of every wave
    check_ranks(by.used_features(weights))
    place = {int(feature): at for at, feature in enumerate(used)}
    filling = preparation.filling
    prepared = tuple(
        Prepared(
            place[int(feature)],
            preparation.transforms.get(int(feature)),
            None if filling is None else float(filling.values[feature]),
            bool(column >= preparation.n_features),
            float(shift),
            float(scale),
        )
        for feature, column, shift, scale in zip(
            standardised.sources, standardised.kept, standardised.shift, standardised.scale, strict=True
        )
    )
    n = by.n_linear
    linear = weights[:n] if by.linear else np.zeros(standardised.n_columns)
    return Mapped(renamed(used.tolist(), model, names), prepared, linear, weights[n:], intercept, by)


# ONNX


def mapped_to_onnx(content: Mapped, name: str, dtype: str = "float32") -> bytes:
    """A model with the input ``features`` and the output ``score``, as linear models have; NaN is a missing value."""
    return onnx_model(content, name, dtype, lambda graph: _add_mapped(graph, content))


def _add_mapped(graph: Graph, content: Mapped) -> None:
    columns = [_column(graph, one) for one in content.prepared]
    z = graph.apply("Concat", *columns, axis=1)
    shift = graph.number([[one.shift for one in content.prepared]])
    scale = graph.number([[one.scale for one in content.prepared]])
    z = graph.apply("Div", graph.apply("Sub", z, shift), scale)
    linear = graph.apply("MatMul", z, graph.number(content.linear[:, None]))
    # A factor beside a product would be folded into it by runtimes, in float32: so the size of waves is in the weights.
    size = content.by.size if isinstance(content.by, FourierColumns) else 1.0
    weights = graph.number(size * content.weights[:, None])
    kernel = graph.apply("MatMul", _kernel(graph, z, content.by), weights)
    graph.add("Add", [graph.apply("Add", linear, kernel), graph.number([content.intercept])], "score")


def _column(graph: Graph, one: Prepared) -> str:
    """What stands for a feature before it is put on one scale, as a column."""
    column = graph.apply("Gather", "features", graph.constant_of_its_own([one.place], "int64"), axis=1)
    if one.indicates:
        return graph.apply("Cast", graph.apply("IsNaN", column), to=graph.element)
    value = transformed_column(graph, column, one.transform)
    if one.fill is None:
        return value
    return graph.apply("Where", graph.apply("IsNaN", column), graph.number([one.fill]), value)


def _kernel(graph: Graph, z: str, by: KernelColumns) -> str:
    """The columns of the kernel; waves of size 1."""
    if isinstance(by, FourierColumns):
        turns = graph.apply("MatMul", z, graph.number(by.turns))
        # Whole turns are taken off first, which is exact: runtimes then have small angles.
        rest = graph.apply("Sub", turns, graph.apply("Round", turns))
        angles = graph.apply("Mul", rest, graph.number([2 * np.pi]))
        n_sines = graph.constant_of_its_own(np.arange(by.n_waves - by.turns.shape[1]), "int64")
        sines = graph.apply("Gather", graph.apply("Sin", angles), n_sines, axis=1)
        return graph.apply("Concat", graph.apply("Cos", angles), sines, axis=1)
    assert isinstance(by, NystroemColumns)
    norms = graph.apply("ReduceSum", graph.apply("Mul", z, z), graph.constant_of_its_own([1], "int64"), keepdims=1)
    products = graph.apply("MatMul", z, graph.number(2 * by.landmarks.T))
    own = graph.number([np.einsum("ij,ij->i", by.landmarks, by.landmarks)])
    squares = graph.apply("Sub", graph.apply("Add", norms, own), products)
    positive = graph.apply("Max", squares, graph.number([0.0]))
    return graph.apply("Exp", graph.apply("Mul", positive, graph.number([-by.gamma])))


# Python


def mapped_to_python(content: Mapped, name: str) -> str:
    """A module with a function ``score`` that needs nothing but Python."""
    columns = "".join(
        f"    ({content.features[one.place].name!a}, {transform_literal(one.transform)}, {one.fill!r}, "
        f"{one.indicates!r}, {one.shift!r}, {one.scale!r}, {weight!r}),\n"
        for one, weight in zip(content.prepared, content.linear.tolist(), strict=True)
    )
    head = f'''"""A model that ranks, written by rankwright {__version__}. It needs nothing but Python."""

from math import copysign, cos, exp, isinf, isnan, log1p, pi, sin

NAME = {name!a}
INTERCEPT = {content.intercept!r}
COLUMNS = [  # name, transform, what stands for a missing value, whether it tells that, shift, scale, weight
{columns}]
'''
    return f"{head}{_kernel_of_python(content)}\n\n{TRANSFORMED}\n{_SCORE}"


def _kernel_of_python(content: Mapped) -> str:
    by, weights = content.by, content.weights
    if isinstance(by, FourierColumns):
        n = by.turns.shape[1]
        sines = np.zeros(n)
        sines[: by.n_waves - n] = weights[n:]
        rows = zip(by.turns.T.tolist(), (by.size * weights[:n]).tolist(), (by.size * sines).tolist(), strict=True)
        listed = "".join(f"    ({turns!r}, {cosine!r}, {sine!r}),\n" for turns, cosine, sine in rows)
        return f'''WAVES = [  # frequencies in turns, the weight of the cosine and that of the sine
{listed}]


def kernel(z):
    """The sum of all waves at a document."""
    total = 0.0
    for turns, cosine, sine in WAVES:
        angle = 2 * pi * (sum(a * b for a, b in zip(turns, z)) % 1.0)
        total += cosine * cos(angle) + sine * sin(angle)
    return total
'''
    assert isinstance(by, NystroemColumns)
    pairs = zip(by.landmarks.tolist(), weights.tolist(), strict=True)
    listed = "".join(f"    ({landmark!r}, {weight!r}),\n" for landmark, weight in pairs)
    return f'''GAMMA = {by.gamma!r}
LANDMARKS = [  # documents, and their weights
{listed}]


def kernel(z):
    """The sum of the Gaussians around all landmarks at a document."""
    return sum(
        weight * exp(-GAMMA * sum((a - b) ** 2 for a, b in zip(landmark, z))) for landmark, weight in LANDMARKS
    )
'''


_SCORE = '''
def score(features):
    """The score of a document, the higher the better, from the values of its features by name.

    A feature is missing if it is None, NaN or not there.
    """
    z, total = [], INTERCEPT
    for name, transform, fill, indicates, shift, scale, weight in COLUMNS:
        x = features.get(name)
        is_missing = x is None or isnan(x)
        if not is_missing and isinf(x):
            raise ValueError("feature " + repr(name) + " is not finite")
        if indicates:
            value = float(is_missing)
        elif not is_missing:
            value = transformed(transform, x)
        elif fill is None:
            raise ValueError("feature " + repr(name) + " is missing")
        else:
            value = fill
        z.append((value - shift) / scale)
        total += weight * z[-1]
    return total + kernel(z)
'''
