"""How an :class:`~rankwright.data.inspection.Inspection` looks on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rankwright.data.inspection_findings import findings_of, share_text

if TYPE_CHECKING:
    from rankwright.data.inspection import GradeSummary, Inspection
    from rankwright.data.inspection_missing import MissingValues

_MOST_GRADES = 12
_MOST_MISSING = 10


def inspection_tables(found: Inspection) -> RenderableType:
    """What the data hold, their grades, and what looks wrong."""
    parts: list[RenderableType] = [_contents(found), Text()]
    if found.grades is not None and found.n_documents:
        parts += [_grades(found.grades, found.n_documents), Text()]
    if found.features.missing:
        parts += [_missing(found.features.missing, graded=found.grades is not None), Text()]
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
        density = f", {share_text(found.density)} of the values not zero"
    if found.missing_values:
        density += f", {share_text(found.missing_values / (found.n_documents * found.n_features))} missing"
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
        table.add_row(f"{count.grade:g}", f"{count.documents:,}", share_text(count.documents / n_documents))
    rest = grades.histogram[_MOST_GRADES:]
    if rest:
        documents = sum(count.documents for count in rest)
        table.add_row(f"{len(rest):,} more", f"{documents:,}", share_text(documents / n_documents))
    return table


def _missing(features: Sequence[MissingValues], *, graded: bool) -> Table:
    """Where values are missing, and whether the grade is another there; the features with most missing values first."""
    table = _table()
    table.add_column("missing", overflow="fold")
    for header in ("documents", "share", "queries", "wholly", *(("grade without", "grade with") if graded else ())):
        table.add_column(header, justify="right")
    ordered = sorted(features, key=lambda it: -it.documents)
    for it in ordered[:_MOST_MISSING]:
        counts = (f"{it.documents:,}", share_text(it.share), f"{it.queries:,}", f"{it.whole_queries:,}")
        grades = (_grade(it.grade_if_missing), _grade(it.grade_if_given)) if graded else ()
        table.add_row(Text(it.feature), *counts, *grades)
    if len(ordered) > _MOST_MISSING:
        table.add_row(f"{len(ordered) - _MOST_MISSING:,} more")
    return table


def _grade(mean: float | None) -> str:
    return "–" if mean is None else f"{mean:.2f}"


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
