"""A map of features as fields of a model file: written, and read with every number checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.maps.kernel_columns import FourierColumns, KernelColumns, NystroemColumns
from rankwright.maps.standardised import Standardised
from rankwright.models.linear_model import FILLINGS
from rankwright.models.transform_fields import read_transforms, transform_entries
from rankwright.preparation.missing import Filling
from rankwright.preparation.preparation import Preparation
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.models.model_reader import ModelReader

_FIELDS = ("kind", "linear", "transforms", "filling", "fills", "indicated", "kept", "shift", "scale")
_OWN_FIELDS = {"fourier": ("n_waves", "turns"), "nystroem": ("gamma", "landmarks")}
_MOST_NUMBERS = 1 << 27  # of frequencies or landmarks


def map_fields(by: KernelColumns) -> dict[str, Any]:
    """A map as JSON can hold it; features and columns are counted from 1."""
    standardised, prepared = by.standardised, by.standardised.preparation
    filling = prepared.filling
    told: dict[str, Any] = {
        "kind": "nystroem" if isinstance(by, NystroemColumns) else "fourier",
        "linear": by.linear,
        "transforms": transform_entries(prepared.transforms),
        "filling": None if filling is None else "query-mean" if filling.by_query else "mean",
        "fills": [] if filling is None else filling.values.tolist(),
        "indicated": (prepared.indicated + 1).tolist(),
        "kept": (standardised.kept + 1).tolist(),
        "shift": standardised.shift.tolist(),
        "scale": standardised.scale.tolist(),
    }
    if isinstance(by, NystroemColumns):
        return {**told, "gamma": by.gamma, "landmarks": _short(by.landmarks)}
    assert isinstance(by, FourierColumns)
    return {**told, "n_waves": by.n_waves, "turns": _short(by.turns)}


def _short(matrix: Array) -> list[list[float]]:
    """Rows of numbers that float32 can hold, each by the fewest digits that tell it there."""
    return [[float(str(value)) for value in row] for row in matrix.astype(np.float32)]


def read_map(file: ModelReader) -> KernelColumns:
    """The map of a model file; what does not follow the format is refused."""
    given = file.content["map"]
    if not isinstance(given, dict):
        file.refuse(f"map must be an object, not {file.shown(given)}")
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in _OWN_FIELDS:
        file.refuse(f"map, kind must be one of {', '.join(_OWN_FIELDS)}, not {file.shown(kind)}")
    _check_names(file, given, (*_FIELDS, *_OWN_FIELDS[kind]))
    linear = given["linear"]
    if not isinstance(linear, bool):
        file.refuse(f"map, linear must be true or false, not {file.shown(linear)}")
    standardised = _read_standardised(file, given)
    if kind == "nystroem":
        gamma = file.number(given["gamma"], "map, gamma")
        if gamma <= 0:
            file.refuse(f"map, gamma must be above 0, not {gamma:g}")
        landmarks = _matrix(file, given["landmarks"], "map, landmarks", n_columns=standardised.n_columns)
        return NystroemColumns(standardised, linear, landmarks, gamma, None)
    n_waves = file.whole(given["n_waves"], "map, n_waves", least=1)
    n_frequencies = -(-n_waves // 2)
    if n_frequencies * max(1, standardised.n_columns) > _MOST_NUMBERS:
        file.refuse(f"map, n_waves is {n_waves}, which is more than a map may have")
    turns = _matrix(file, given["turns"], "map, turns", n_rows=standardised.n_columns, n_columns=n_frequencies)
    return FourierColumns(standardised, linear, turns, n_waves)


def _check_names(file: ModelReader, given: dict[str, Any], names: Sequence[str]) -> None:
    missing = next((name for name in names if name not in given), None)
    if missing is not None:
        file.refuse(f"map: the field {missing!r} is missing")
    extra = next((name for name in given if name not in names), None)
    if extra is not None:
        file.refuse(f"map: there is no field {extra!r} in a map of kind {given['kind']!r}")


def _read_standardised(file: ModelReader, given: dict[str, Any]) -> Standardised:
    n = file.n_features
    by = given["filling"]
    if by is not None and (not isinstance(by, str) or by not in FILLINGS):
        file.refuse(f"map, filling must be one of {', '.join(FILLINGS)}, or null, not {file.shown(by)}")
    fills = np.array(file.numbers(given["fills"], "map, fills"), np.float64)
    if len(fills) != (0 if by is None else n):
        file.refuse(f"map, fills has {len(fills)} numbers, but there must be {0 if by is None else n}")
    indicated = _places(file, given["indicated"], "map, indicated", n)
    if by is None and len(indicated):
        file.refuse("map, indicated must be empty where filling is null")
    filling = None if by is None else Filling(fills, FILLINGS[by])
    preparation = Preparation(
        n, read_transforms(file, given["transforms"], "map, transforms"), filling, indicated, None
    )
    kept = _places(file, given["kept"], "map, kept", n + len(indicated))
    shift, scale = (np.array(file.numbers(given[name], f"map, {name}"), np.float64) for name in ("shift", "scale"))
    for name, numbers in (("shift", shift), ("scale", scale)):
        if len(numbers) != len(kept):
            file.refuse(f"map, {name} has {len(numbers)} numbers for {len(kept)} columns")
    if not (scale > 0).all():
        file.refuse("map, scale: all numbers must be above 0")
    return Standardised(preparation, kept, shift, scale)


def _places(file: ModelReader, values: Any, what: str, most: int) -> Columns:
    """Ascending numbers of features or columns, counted from 1 in the file and from 0 here."""
    if not isinstance(values, list):
        file.refuse(f"{what} must be a list of whole numbers, not {file.shown(values)}")
    places = [file.whole(value, what, least=1) for value in values]
    if any(place > most for place in places) or any(a >= b for a, b in pairwise(places)):
        file.refuse(f"{what}: numbers must ascend, from 1 to {most}")
    return np.array(places, np.intp) - 1


def _matrix(file: ModelReader, rows: Any, what: str, *, n_columns: int, n_rows: int | None = None) -> Array:
    """A list of lists of numbers, each as long as the others."""
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == n_columns for row in rows):
        file.refuse(f"{what} must be a list of lists of {n_columns} numbers")
    if (n_rows is not None and len(rows) != n_rows) or (n_rows is None and not rows):
        file.refuse(f"{what} has {len(rows)} rows, but must have {n_rows or 'at least one'}")
    if not all(isinstance(value, float | int) and not isinstance(value, bool) for row in rows for value in row):
        file.refuse(f"{what} must have lists of numbers")
    matrix = np.array([[float(value) for value in row] for row in rows], np.float64).reshape(len(rows), n_columns)
    largest = math.sqrt(float(np.finfo(np.float32).max))
    if not (np.abs(matrix) <= largest).all():
        file.refuse(f"{what}: a number is beyond ±{largest:.2g}")
    return matrix.astype(np.float32).astype(np.float64)  # its digits tell numbers of float32
