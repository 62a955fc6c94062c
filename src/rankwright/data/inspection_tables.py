"""How an :class:`~rankwright.data.inspection.Inspection` looks on a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rankwright.data.inspection_findings import findings_of, share_text
from rankwright.html import Block, notebook_html

if TYPE_CHECKING:
    from rankwright.data.inspection import GradeSummary, Inspection
    from rankwright.data.inspection_missing import MissingValues

Row = tuple[str, str, str]

_MOST_GRADES = 12
_MOST_MISSING = 10
_GRADE_HEADER = ("grade", "documents", "share")
_MISSING = "missing"
_FINDING_HEADER = ("what to look at", "count", "which, or why")
_NOTHING = "Nothing looks wrong."


def inspection_tables(found: Inspection) -> RenderableType:
    """What the data hold, their grades, and what looks wrong."""
    contents, *others = _blocks(found)
    return Group(_contents(contents), *(part for block in others for part in (Text(), _table(block))))


def inspection_html(found: Inspection) -> str:
    """The same as HTML."""
    return notebook_html(*_blocks(found))


def _blocks(found: Inspection) -> Iterator[Block]:
    yield Block(rows=_content_cells(found), texts=(0, 2))
    if found.grades is not None and found.n_documents:
        yield Block(header=_GRADE_HEADER, rows=_grade_cells(found.grades, found.n_documents), texts=())
    if found.features.missing:
        graded = found.grades is not None
        yield Block(header=_missing_header(graded), rows=_missing_cells(found.features.missing, graded))
    findings = [(what, f"{count:,}", which) for what, count, which in findings_of(found)]
    yield Block(header=_FINDING_HEADER, rows=findings, texts=(0, 2), notes=[] if findings else [_NOTHING])


def _contents(block: Block) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    for row in block.rows:
        table.add_row(*row)
    return table


def _table(block: Block) -> RenderableType:
    """A table, or that there is nothing to tell."""
    if not block.rows:
        return Text(_NOTHING, style="green")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for place, name in enumerate(block.header):
        if place in block.texts:
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right")
    if block.header == _FINDING_HEADER:
        table.columns[0].style, table.columns[1].no_wrap = "yellow", True
    shown = block.rows[:_MOST_MISSING] if block.header[0] == _MISSING else block.rows
    for row in shown:
        table.add_row(*map(Text, row))
    if len(shown) < len(block.rows):
        table.add_row(f"{len(block.rows) - len(shown):,} more")
    return table


def _content_cells(found: Inspection) -> list[Row]:
    spread = found.documents_per_query
    sizes = density = ""
    if spread is not None:
        sizes = f"{spread.least:,} to {spread.most:,} per query, median {spread.median:,g}, mean {spread.mean:.1f}"
        if spread.least == spread.most:
            sizes = f"{spread.most:,} per query"
    if found.density is not None:
        density = f", {share_text(found.density)} of the values not zero"
    if found.missing_values:
        density += f", {share_text(found.missing_values / (found.n_documents * found.n_features))} missing"
    return [
        ("queries", f"{found.n_queries:,}", f"with {found.supervision}"),
        ("documents", f"{found.n_documents:,}", sizes),
        ("features", f"{found.n_features:,}", f"{found.layout} {found.dtype}{density}"),
    ]


def _grade_cells(grades: GradeSummary, n_documents: int) -> list[Row]:
    counts = [(f"{count.grade:g}", count.documents) for count in grades.histogram[:_MOST_GRADES]]
    rest = grades.histogram[_MOST_GRADES:]
    if rest:
        counts.append((f"{len(rest):,} more", sum(count.documents for count in rest)))
    return [(grade, f"{documents:,}", share_text(documents / n_documents)) for grade, documents in counts]


def _missing_header(graded: bool) -> tuple[str, ...]:
    grades = ("grade without", "grade with") if graded else ()
    return (_MISSING, "documents", "share", "queries", "wholly", *grades)


def _missing_cells(features: Sequence[MissingValues], graded: bool) -> list[tuple[str, ...]]:
    """Where values are missing, and whether the grade is another there; the features with most missing values first."""
    rows = []
    for it in sorted(features, key=lambda each: -each.documents):
        counts = (f"{it.documents:,}", share_text(it.share), f"{it.queries:,}", f"{it.whole_queries:,}")
        grades = (_grade(it.grade_if_missing), _grade(it.grade_if_given)) if graded else ()
        rows.append((it.feature, *counts, *grades))
    return rows


def _grade(mean: float | None) -> str:
    return "–" if mean is None else f"{mean:.2f}"
