"""How reproductions write: Markdown tables, rows of JSON, and files that are whole or not there at all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from rankwright.data.paths import atomic_path

Cells: TypeAlias = tuple[list[str], list[list[str]]]  # the head and the rows of a table

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def write_texts(contents: Mapping[str, str], folder: Path) -> list[Path]:
    """Write texts by file name into a folder: all of them, or none if one cannot be written."""
    with ExitStack() as files:
        for name, content in contents.items():
            files.enter_context(atomic_path(folder / name)).write_text(content, encoding="utf-8")
    return [folder / name for name in contents]


def json_rows(rows: Iterable[Any]) -> str:
    """Dataclasses as a JSON list, one to a line."""
    return "[\n  " + ",\n  ".join(json.dumps(asdict(row)) for row in rows) + "\n]\n"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown: the first column to the left, all others to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *rows))


def figure_text(figure: float | None) -> str:
    """Four decimals, or a dash for a figure that is not there."""
    return "–" if figure is None else f"{figure:.4f}"


def power_of_two(value: float) -> str:
    """Every λ of the experiments is a power of two, and so written."""
    return "2" + str(round(math.log2(value))).translate(_SUPERSCRIPTS)
