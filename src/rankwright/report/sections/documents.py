"""Single queries with their documents: the worst, the most improved and the most harmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwright.report import plots
from rankwright.report.markup import (
    amount,
    count,
    csv_lines,
    decimal,
    folded,
    name,
    numbers,
    places,
    plain_amount,
    signed,
    table,
    words,
)
from rankwright.report.sections.pieces import Report, how

Document = Mapping[str, Any]

_ALL_UP_TO, _OF_MORE = 50, 30  # documents of a query in its table: all, or of more than 50 so many
_RANKINGS = {"Rank": "ranks", "Baseline": "baseline_ranks", "Ideal": "ideal_ranks"}


def worst(report: Report) -> str:
    """The queries with the lowest values, and how to read such lists."""
    side = "highest" if report["lower_is_better"] else "lowest"
    text = (
        f"The queries with the {side} {name(report['measure'])} by the chosen ranker, among those that have a relevant "
        f"document. Strips show the grades at ranks 1 to {plots.STRIP_RANKS}: the stronger the colour, the higher the "
        "grade. Tied documents share a range of places: 2–18 stands for any place from 2 to 18. A contribution is "
        "what a feature adds to the score of a document, compared with the mean of its query."
    )
    return _query_list(report, "worst", text, "No query with a relevant document has a value.")


def improved(report: Report) -> str:
    """The queries that gain most over the baseline."""
    return _query_list(report, "improved", _changed_text(report, "better"), "No query is better than the baseline.")


def harmed(report: Report) -> str:
    """The queries that lose most against the baseline."""
    return _query_list(report, "harmed", _changed_text(report, "worse"), "No query is worse than the baseline.")


def _changed_text(report: Report, side: str) -> str:
    return (
        f"The queries on which the chosen ranker is {side} than the baseline, {name(report['baseline'])}, by the most. "
        'Read the documents as under <a href="#worst">Worst queries</a>.'
    )


def _query_list(report: Report, kind: str, text: str, otherwise: str) -> str:
    shown: list[Mapping[str, Any]] = report[kind]
    if not shown:
        return f"<p>{otherwise}</p>"
    parts = []
    for i, query in enumerate(shown):
        key, is_open = f"{kind}-{i}", kind == "worst" and i == 0  # one is enough to see what there is
        parts.append(folded(_query_title(query, report), _documents(query, key), is_open=is_open, key=key))
    return "\n".join([how(text), *parts])


def _query_title(query: Mapping[str, Any], report: Report) -> str:
    difference = query["value"] - query["baseline"]
    better_by = -difference if report["lower_is_better"] else difference
    kind = "better" if better_by > 0 else "worse" if better_by < 0 else ""
    return (
        f'{name(query["query"])} <span class="facts">{decimal(query["value"])}, baseline {decimal(query["baseline"])}, '
        f'difference <span class="{kind}">{signed(better_by)}</span>, '
        f"{count(len(query['documents']), 'document')}</span>"
    )


def _documents(query: Mapping[str, Any], key: str) -> str:
    documents: Sequence[Document] = query["documents"]
    if not documents:
        return "<p>No document is listed.</p>"
    # Those that stand high in any ranking are those that matter to a measure; a tied one may stand at the last place.
    by_interest = sorted(documents, key=lambda d: (min(d[ranks][1] for ranks in _RANKINGS.values()), d["ranks"]))
    n_shown = len(documents) if len(documents) <= _ALL_UP_TO else _OF_MORE
    shown, others = (sorted(part, key=_by_rank) for part in (by_interest[:n_shown], by_interest[n_shown:]))
    parts = [_strips(documents), _document_table(shown, key)]
    if others:
        title = f"The other {count(len(others), 'document')}, as lines of CSV"
        parts.append(folded(title, _document_lines(others), key=f"{key}-others"))
    return "\n".join(parts)


def _by_rank(document: Document) -> tuple[Sequence[int], Sequence[int]]:
    return document["ranks"], document["baseline_ranks"]


def _strips(documents: Sequence[Document]) -> str:
    rankings = {
        label: [document["grade"] for document in sorted(documents, key=lambda d: d[ranks])]
        for label, ranks in (("chosen", "ranks"), ("baseline", "baseline_ranks"), ("ideal", "ideal_ranks"))
    }
    return plots.grade_strips(rankings, max(rankings["ideal"]))


def _document_table(documents: Sequence[Document], key: str) -> str:
    columns = numbers(*_RANKINGS, "Grade") + words("Document") + numbers("Score") + words("Contributions")
    rows = [
        [
            *(places(*document[ranks]) for ranks in _RANKINGS.values()),
            amount(document["grade"]),
            name(document["document"]),
            amount(document["score"]),
            _contributions(document["contributions"]),
        ]
        for document in documents
    ]
    return table(f"{key}-document", columns, rows, label="Documents", is_sortable=True)


def _document_lines(documents: Sequence[Document]) -> str:
    heads = ("rank", "baseline", "ideal", "grade", "score", "document")
    return csv_lines(
        heads,
        (
            [
                *(places(*document[ranks]) for ranks in _RANKINGS.values()),
                f"{document['grade']:g}",
                f"{document['score']:.4g}",
                document["document"],
            ]
            for document in documents
        ),
    )


def _contributions(contributions: Sequence[tuple[str, float]]) -> str:
    """Each in one piece with its comma, which must not begin a line."""
    told = [f"{name(feature)} {'+' if value > 0 else ''}{plain_amount(value)}" for feature, value in contributions]
    commas = [","] * (len(told) - 1) + [""]
    return " ".join(f"<span>{text}{comma}</span>" for text, comma in zip(told, commas, strict=False))
