"""Transforms of features in model files: how they are written, and how they are read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.preparation.transforms import Log, Quantile, Transform, Transforms

if TYPE_CHECKING:
    from rankwright.models.model_reader import ModelReader

_ROUNDING = 1e-9  # of the heights of a quantile transform


def transform_entries(transforms: Transforms) -> list[list[Any]]:
    """Feature, counted from 1, the name of its transform, and its numbers."""
    return [
        [column + 1, one.name, *([one.unit] if isinstance(one, Log) else [list(one.knots), list(one.heights)])]
        for column, one in sorted(transforms.items())
    ]


def read_transforms(file: ModelReader, entries: Any, name: str = "transforms") -> dict[int, Transform]:
    """Transforms by column, of the entries of a field."""
    if not isinstance(entries, list):
        file.refuse(f"{name} must be a list of [feature, name, numbers …]")
    transforms: dict[int, Transform] = {}
    for position, entry in enumerate(entries, start=1):
        what = f"{name}, entry {position}"
        if not isinstance(entry, list) or len(entry) < 2:
            file.refuse(f"{what} must be a list [feature, name, numbers …]")
        column = file.feature(entry[0], what) - 1
        if column in transforms:
            file.refuse(f"{what}: feature {column + 1} has a transform already")
        transforms[column] = _read_transform(file, entry[1:], what)
    return transforms


def _read_transform(file: ModelReader, entry: list[Any], what: str) -> Transform:
    if entry[0] == Log.name and len(entry) == 2:
        unit = file.number(entry[1], f"{what}: the unit")
        if unit <= 0:
            file.refuse(f"{what}: the unit must be above 0, not {unit:g}")
        return Log(unit)
    if entry[0] != Quantile.name or len(entry) != 3:
        file.refuse(f'{what}: expected "log" and a unit, or "quantile", a list of knots and a list of heights')
    knots, heights = (file.numbers(numbers, what) for numbers in entry[1:])
    if len(knots) < 2 or len(knots) != len(heights):
        file.refuse(f"{what}: a quantile transform has at least two knots, and a height for each")
    with np.errstate(over="ignore", invalid="ignore"):
        widths, rises = np.diff(knots), np.diff(heights)
        is_finite = np.isfinite([widths, rises, rises / np.where(widths > 0, widths, 1.0)]).all()
    if not (widths > 0).all() or not (rises > 0).all():
        file.refuse(f"{what}: knots must ascend, and so must heights")
    if not is_finite:
        file.refuse(f"{what}: a line from knot to knot is too long or too steep for float64")
    if abs(np.interp(0.0, knots, heights)) > _ROUNDING * (heights[-1] - heights[0]):
        file.refuse(f"{what}: a quantile transform must take 0 to 0, as features that are not stored are 0")
    return Quantile(tuple(knots), tuple(heights))
