"""How reproductions write: Markdown tables, rows of JSON, and files that are whole or not there at all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rankwright.data.paths import atomic_path

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


def table_head(names: Sequence[str]) -> list[str]:
    """The first two lines of a Markdown table: the first column to the left, all others to the right."""
    return [table_line(names), table_line(["---", *["---:"] * (len(names) - 1)])]


def table_line(cells: Sequence[str]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def power_of_two(value: float) -> str:
    """Every λ of the experiments is a power of two, and so written."""
    return "2" + str(round(math.log2(value))).translate(_SUPERSCRIPTS)
