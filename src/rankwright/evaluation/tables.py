"""Tables of results: the first column to the left, all others to the right, unless they are text.

A result that is `Tabled` tells its tables once, and prints as text, on a terminal and in a notebook.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rankwright.html import Block, notebook_html

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table


class Tabled(ABC):
    """A result that prints as blocks, one below the other: titles, tables and notes."""

    _between: ClassVar[str] = "\n\n"  # blocks, in plain text

    @abstractmethod
    def _blocks(self) -> list[Block]:
        """What is shown."""

    def __str__(self) -> str:
        return self._between.join(map(_plain_block, self._blocks()))

    def __rich__(self) -> Group:
        from rich.console import Group, RenderableType
        from rich.text import Text

        parts: list[RenderableType] = []
        for block in self._blocks():
            if block.rows:
                parts.append(rich_table(block.header, block.rows, title=block.title, texts=block.texts))
            elif block.title:
                parts.append(Text(block.title))
            parts += map(Text, block.notes)
        return Group(*parts)

    def _repr_html_(self) -> str:
        return notebook_html(*self._blocks())

    __repr__ = __str__


def _plain_block(block: Block) -> str:
    lines = [block.title] if block.title else []
    if block.rows:
        lines = [plain_table(block.header, block.rows, title=block.title, texts=block.texts)]
    return "\n".join([*lines, *block.notes])


def number(value: float) -> str:
    """Four decimals, or four digits where that would be a long row of them."""
    return f"{value:.4f}" if abs(value) < 1e6 else f"{value:.4g}"


def interval(bounds: tuple[float, float]) -> str:
    """Both ends of an interval."""
    return f"{number(bounds[0])} – {number(bounds[1])}"


def probability(p: float) -> str:
    """Three decimals of a p-value; what is smaller is told as such.

    >>> probability(0.19342), probability(0.0004)
    ('0.193', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def regularisation(alpha: float) -> str:
    """λ, as a power of two where it is one, or the root of one.

    >>> [regularisation(alpha) for alpha in (0.125, 1.0, 2.0, 2.0**2.5, 1024.0, 100.0)]
    ['2^-3', '1', '2', '2^2.5', '2^10', '100']
    """
    exponent = round(2 * math.log2(alpha)) / 2
    if exponent in (0, 1) or not math.isclose(2.0**exponent, alpha, rel_tol=1e-12):
        return f"{alpha:.6g}"
    return f"2^{exponent:g}"


def plain_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str, texts: Sequence[int] = (0,)
) -> str:
    """Aligned text, for consoles and notebooks without Rich; ``texts`` are the columns that go to the left."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if column in texts else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    rule = "  ".join("─" * width for width in widths)
    return "\n".join([*([title] if title else []), line(header), rule, *map(line, rows)])


def rich_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str, texts: Sequence[int] = (0,)
) -> Table:
    """The same for a terminal."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, title_style="dim")
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position in texts else "right")
    for row in rows:
        table.add_row(*row)
    return table
