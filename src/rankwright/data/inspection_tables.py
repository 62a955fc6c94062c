"""How an :class:`~rankwright.data.inspection.Inspection` looks on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rankwright.data.inspection_findings import findings_of

if TYPE_CHECKING:
    from rankwright.data.inspection import GradeSummary, Inspection

_MOST_GRADES = 12


def inspection_tables(found: Inspection) -> RenderableType:
    """What the data hold, their grades, and what looks wrong."""
    parts: list[RenderableType] = [_contents(found), Text()]
    if found.grades is not None and found.n_documents:
        parts += [_grades(found.grades, found.n_documents), Text()]
    return Group(*parts, _findings(found))


def _contents(found: Inspection) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    spread = found.documents_per_query
    sizes = density = ""
    if spread is not None:
        sizes = f"{spread.least:,} to {spread.most:,} per query, median {spread.median:,g}, mean {spread.mean:.1f}"
        if spread.least == spread.most:
            sizes = f"{spread.most:,} per query"
    if found.density is not None:
        density = f", {_share(found.density)} of the values not zero"
    table.add_row("queries", f"{found.n_queries:,}", f"with {found.supervision}")
    table.add_row("documents", f"{found.n_documents:,}", sizes)
    table.add_row("features", f"{found.n_features:,}", f"{found.layout} {found.dtype}{density}")
    return table


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")


def _grades(grades: GradeSummary, n_documents: int) -> Table:
    table = _table()
    for header in ("grade", "documents", "share"):
        table.add_column(header, justify="right")
    for count in grades.histogram[:_MOST_GRADES]:
        table.add_row(f"{count.grade:g}", f"{count.documents:,}", _share(count.documents / n_documents))
    rest = grades.histogram[_MOST_GRADES:]
    if rest:
        documents = sum(count.documents for count in rest)
        table.add_row(f"{len(rest):,} more", f"{documents:,}", _share(documents / n_documents))
    return table


def _findings(found: Inspection) -> RenderableType:
    rows = findings_of(found)
    if not rows:
        return Text("Nothing looks wrong.", style="green")
    table = _table()
    table.add_column("what to look at", style="yellow")
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("which, or why", overflow="fold")
    for what, count, which in rows:
        table.add_row(what, f"{count:,}", Text(which))
    return table


def _share(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{share:.2%}" if share >= 0.00005 else "<0.01%"
