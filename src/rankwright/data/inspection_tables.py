"""How an :class:`~rankwright.data.inspection.Inspection` looks on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rankwright.data.inspection import FeatureFindings, GradeSummary, Inspection

_MOST_GRADES = 12
_MOST_NAMES = 6

Finding = tuple[str, int, str]


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
    rows = [*_judgment_findings(found), *_feature_findings(found.features)]
    if not rows:
        return Text("Nothing looks wrong.", style="green")
    table = _table()
    table.add_column("what to look at", style="yellow")
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("which, or why", overflow="fold")
    for what, count, which in rows:
        table.add_row(what, f"{count:,}", Text(which))
    return table


def _judgment_findings(found: Inspection) -> Iterator[Finding]:
    """What to look at among queries and documents."""
    findings = [("queries of one document", found.one_document_queries, "nothing to rank")]
    if found.grades is not None:
        grades = found.grades
        findings += [
            ("queries with nothing relevant", grades.queries_without_relevant, "no grade above 0"),
            ("queries with only one grade", grades.queries_with_one_grade, "no pair to learn from"),
            ("fractional grades", grades.fractional, "some tools refuse or round them"),
            ("grades above 31", grades.above_31, "too large for gains of 2^grade"),
        ]
    findings.append(("repeated documents", found.duplicate_rows, "same query, same features"))
    if found.contradictory_rows is not None:
        findings.append(("contradictory judgments", found.contradictory_rows, "repeated with another grade"))
    return (finding for finding in findings if finding[1])


def _feature_findings(features: FeatureFindings) -> Iterator[Finding]:
    """What to look at among features, with the names of the first few."""
    findings: list[tuple[str, Sequence[str]]] = [
        ("constant features", features.constant),
        ("constant within every query", features.constant_within_queries),
        (
            "features with NaN or infinity",
            [f"{it.feature} ({_not_finite(it.nan, it.infinite)})" for it in features.not_finite],
        ),
        ("duplicate features", [f"{it.feature} = {it.of}" for it in features.duplicates]),
        ("features that leak the label", [f"{it.feature} ({it.direction})" for it in features.leaks]),
        ("features that number documents", [f"{it.feature} ({it.kind})" for it in features.identifiers]),
        ("extreme outliers", [f"{it.feature} ({it.low:.3g} to {it.high:.3g})" for it in features.outliers]),
    ]
    if features.absent:
        yield "features that are never there", features.absent, "no document has them"
    yield from ((what, len(names), _listed(names)) for what, names in findings if names)


def _listed(names: Sequence[str]) -> str:
    told = ", ".join(names[:_MOST_NAMES])
    return told if len(names) <= _MOST_NAMES else f"{told} and {len(names) - _MOST_NAMES:,} more"


def _not_finite(nan: int, infinite: int) -> str:
    return " and ".join(f"{count:,} {what}" for count, what in ((nan, "NaN"), (infinite, "infinite")) if count)


def _share(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{share:.2%}" if share >= 0.00005 else "<0.01%"
