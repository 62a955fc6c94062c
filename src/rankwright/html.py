"""Results as HTML for notebooks: small tables that take their colours from the page and need nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from rankwright.text import shown

_MOST_ROWS = 30

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Colours are inherited, so that tables suit light and dark pages. Long names are broken, numbers are not.
_SCROLLS = "overflow-x:auto"
_TITLE = "margin:0.6em 0 0.2em;max-width:60em;font-weight:bold;white-space:pre-wrap"
_NOTE = "margin:0.2em 0;max-width:60em;opacity:0.8;white-space:pre-wrap"
_TABLE = "border-collapse:collapse;margin:0.3em 0 0.6em;font-variant-numeric:tabular-nums"
_CELL = "padding:0.15em 0.8em;vertical-align:top"
_TEXT = f"{_CELL};text-align:left;max-width:32em;overflow-wrap:anywhere"
_NUMBER = f"{_CELL};text-align:right;white-space:nowrap"
_HEAD = "border-bottom:1px solid"
_ROW_HEAD = "font-weight:normal"


def escaped(text: str) -> str:
    """Text for the inside of an element or a quoted attribute, without characters that XML does not allow."""
    return escape(_NOT_IN_XML.sub("�", text))


@dataclass(frozen=True)
class Block:
    """A title, a table if there are rows, and notes below it, all of them plain text.

    Of the columns, ``texts`` go to the left. ``n_rows`` tells how many rows there are, if not all of them are given.
    """

    title: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    texts: Sequence[int] = (0,)
    notes: Sequence[str] = ()
    n_rows: int | None = None


def notebook_html(*blocks: Block) -> str:
    """The blocks one below the other; of a long table the first rows, and how many more there are.

    Whatever the text is, it stays text: markup is escaped, and characters that would be obeyed or hidden are written
    out.
    """
    return "\n".join([f'<div style="{_SCROLLS}">', *(line for block in blocks for line in _lines(block)), "</div>"])


def _lines(block: Block) -> Iterator[str]:
    if block.title:
        yield f'<p style="{_TITLE}">{_safe(block.title)}</p>'
    if block.rows:
        yield f'<table style="{_TABLE}">'
        if block.header:
            yield f"<thead><tr>{_heads(block)}</tr></thead>"
        yield "<tbody>"
        yield from (f"<tr>{_cells(block, row)}</tr>" for row in block.rows[:_MOST_ROWS])
        yield from _more(block)
        yield "</tbody></table>"
    yield from (f'<p style="{_NOTE}">{_safe(note)}</p>' for note in block.notes)


def _heads(block: Block) -> str:
    cells = enumerate(block.header)
    return "".join(f'<th scope="col" style="{_style(block, i)};{_HEAD}">{_safe(cell)}</th>' for i, cell in cells)


def _cells(block: Block, row: Sequence[str]) -> str:
    first, *others = row
    head = f'<th scope="row" style="{_style(block, 0)};{_ROW_HEAD}">{_safe(first)}</th>'
    cells = enumerate(others, start=1)
    return head + "".join(f'<td style="{_style(block, i)}">{_safe(cell)}</td>' for i, cell in cells)


def _more(block: Block) -> Iterator[str]:
    n_rows = len(block.rows) if block.n_rows is None else block.n_rows
    left = n_rows - len(block.rows[:_MOST_ROWS])
    if left:
        yield f'<tr><td colspan="{len(block.rows[0])}" style="{_TEXT}">… and {left:,} more</td></tr>'


def _style(block: Block, column: int) -> str:
    return _TEXT if column in block.texts else _NUMBER


def _safe(text: str) -> str:
    return escaped(shown(text))
