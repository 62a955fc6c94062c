"""Text, numbers and tables as HTML and SVG. Every text from outside passes through `escaped`."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rankwright.html import escaped as escaped
from rankwright.report.axis import SUPERSCRIPTS, as_power, exponent_of_two, power_of_two
from rankwright.text import spreadsheet_cell

MISSING = "—"
_MANY_ROWS = 100


def name(text: str) -> str:
    """A name from outside: ``<bdi>`` keeps its direction of writing from what stands around it."""
    return f"<bdi>{escaped(text) or MISSING}</bdi>"


def data_block(content: Any) -> str:
    """JSON that a script can read and no parser of HTML can mistake for markup."""
    packed = json.dumps(content, separators=(",", ":"))
    for character in "<>&":
        packed = packed.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json">{packed}</script>'


# Numbers


def px(value: float) -> str:
    """A place in a drawing: hundredths of a pixel are enough."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def decimal(value: float | None, decimals: int = 4) -> str:
    """The value of a measure: a fixed number of decimals, fewer where it is large."""
    if value is None:
        return MISSING
    if abs(value) >= 10:
        decimals = max(0, decimals - 2)
    text = f"{value:,.{decimals}f}"
    return (text if any(digit in text for digit in "123456789") else text.lstrip("-")).replace("-", "−")


def cautious(value: float, decimals: int, *, is_upper: bool) -> float:
    """A bound rounded to so many decimals, to the side where it stays true."""
    scale = 10.0**decimals
    return (math.ceil(value * scale - 1e-9) if is_upper else math.floor(value * scale + 1e-9)) / scale


def signed(value: float | None, decimals: int = 4) -> str:
    """A difference: as `decimal`, with its sign."""
    text = decimal(value, decimals)
    return f"+{text}" if value is not None and value > 0 and any(digit in text for digit in "123456789") else text


def amount(value: float | None) -> str:
    """A number of any size, with four significant digits; beside a power of ten stands what a script can sort by."""
    if value is None:
        return MISSING
    text = plain_amount(value)
    return f'<data value="{value:.4g}">{text}</data>' if text[-1] in SUPERSCRIPTS else text


def plain_amount(value: float) -> str:
    """`amount` as text alone."""
    rounded = float(f"{value:.4g}")
    if rounded and not 1e-4 <= abs(rounded) < 1e6:
        return as_power(rounded)
    return f"{rounded:,.10g}".replace("-", "−")


def strength(alpha: float | None) -> str:
    """A value of λ: as a power of two if it is one, with what a script can sort by."""
    if alpha is None:
        return MISSING
    exponent = exponent_of_two(alpha)
    return amount(alpha) if exponent is None else f'<data value="{alpha:.10g}">{power_of_two(exponent)}</data>'


def places(first: int, last: int) -> str:
    """``2–18`` where documents are tied at these places."""
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def duration(seconds: float) -> str:
    """A short time, with two significant digits."""
    size, unit = next(((s, u) for s, u in ((1.0, "s"), (1e-3, "ms")) if seconds >= s), (1e-6, "µs"))
    shown = float(f"{seconds / size:.2g}")
    return f"{shown:,.10g} {unit}"


def interval(ends: Sequence[float] | None, decimals: int = 4) -> str:
    """``[low, high]``, on one line."""
    return "" if ends is None else f"[{decimal(ends[0], decimals)},\u00a0{decimal(ends[1], decimals)}]"


def count(number: int, thing: str, things: str | None = None) -> str:
    """``1 query``, ``2,000 queries``."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def p_value(value: float | None) -> str:
    """A p-value with three decimals."""
    if value is None:
        return MISSING
    return "&lt; 0.001" if value < 0.001 else f"{value:.3f}"


def percent(share: float) -> str:
    """``95 %``."""
    return f"{round(100 * share, 4):g} %"


# Tables and pieces of pages


@dataclass(frozen=True)
class Column:
    """The head of a column; texts stand to the left, numbers to the right."""

    label: str
    is_text: bool


def words(*labels: str) -> list[Column]:
    """Columns of text."""
    return [Column(label, is_text=True) for label in labels]


def numbers(*labels: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(label, is_text=False) for label in labels]


def table(
    key: str, columns: Sequence[Column], rows: Iterable[Sequence[str]], *, label: str, is_sortable: bool = False
) -> str:
    """Rows of cells that are HTML already; row i has the id ``key-i``, by which plots refer to it.

    All rows are shown; only a table of very many scrolls by itself, below its head.
    """
    sortable = ' class="sortable"' if is_sortable else ""
    heads = [f'<th scope="col"{_kind(column)}>{escaped(column.label)}</th>' for column in columns]
    lines = [f'<tr id="{key}-{i}">{_cells(columns, row)}</tr>' for i, row in enumerate(rows)]
    kind = "scroll long" if len(lines) > _MANY_ROWS else "scroll"
    return "\n".join(
        [
            f'<div class="{kind}" tabindex="0" role="region" aria-label="{escaped(label)}">',
            f'<table id="{key}-table"{sortable}>',
            f"<thead><tr>{''.join(heads)}</tr></thead>",
            "<tbody>",
            *lines,
            "</tbody></table></div>",
        ]
    )


def _cells(columns: Sequence[Column], row: Sequence[str]) -> str:
    first, *others = zip(columns, row, strict=True)
    cells = "".join(f"<td{_kind(column)}>{cell}</td>" for column, cell in others)
    return f'<th scope="row"{_kind(first[0])}>{first[1]}</th>{cells}'


def _kind(column: Column) -> str:
    return ' class="t"' if column.is_text else ""


def csv_lines(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows that would make the page too large as a table, as text that a spreadsheet reads."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(heads)
    lines.writerows(map(spreadsheet_cell, row) for row in rows)
    return f'<pre class="lines" tabindex="0">{escaped(text.getvalue())}</pre>'


def folded(summary: str, content: str, *, is_open: bool = False, key: str = "") -> str:
    """What is shown on a click; ``summary`` is HTML."""
    identity = f' id="{key}"' if key else ""
    return f"<details{identity}{' open' if is_open else ''}><summary>{summary}</summary>\n{content}\n</details>"
