"""Query by query: how values are distributed, the worst and the most changed with their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwright.report import plots
from rankwright.report.markup import (
    amount,
    count,
    decimal,
    folded,
    name,
    numbers,
    percent,
    plain_amount,
    signed,
    table,
    words,
)
from rankwright.report.query_values import QueryValues
from rankwright.report.sections.pieces import Report, how, pair

_SHOWN_DOCUMENTS = 30


def queries(report: Report) -> str:
    """How values and differences are distributed over queries, and the list of them."""
    values = QueryValues.of(report)
    if not len(values):
        return "<p>There are no values of single queries.</p>"
    text = (
        "A mean hides which queries a ranker helps and which it harms. Differences are counted so that above 0 is "
        f"better than the baseline, {name(report['baseline'])}."
    )
    measure, documents = report["measure"], _documents_of(report)
    about = {place: f"query-{row}" for row, place in enumerate(values.listed)}
    legend = f"{plots.swatch('better', 'better')} {plots.swatch('worse', 'worse')}"
    histogram = plots.value_histogram(
        "values",
        f"Values of queries; {plots.swatch('chosen', 'chosen')} {plots.swatch('baseline', 'baseline')}",
        measure,
        values.chosen,
        values.baseline,
    )
    differences = plots.difference_plot(
        "differences", f"Chosen against baseline, sorted; {legend}", "difference", values.difference, about
    )
    scatter = plots.scatter_plot(
        "scatter",
        f"Chosen against baseline, query by query; {legend}",
        (f"{measure}, baseline", f"{measure}, chosen"),
        (values.baseline, values.chosen),
        values.difference,
        about,
    )
    return "\n".join(
        [
            how(text),
            pair(histogram, differences, scatter, _query_counts(values)),
            folded(values.list_title(), _query_search() + _query_table(values, documents), key="all-queries"),
        ]
    )


def _documents_of(report: Report) -> dict[str, str]:
    """Where the documents of a query are shown."""
    places = [(query["query"], f"{kind}-{i}") for kind in ("changed", "worst") for i, query in enumerate(report[kind])]
    return dict(places)


def _query_counts(values: QueryValues) -> str:
    rows = [
        [label, f"{number:,}", percent(round(number / len(values), 3))]
        for label, number in (
            ("better than the baseline", int((values.difference > 0).sum())),
            ("the same", int((values.difference == 0).sum())),
            ("worse than the baseline", int((values.difference < 0).sum())),
        )
    ]
    counts = table("counts", words("Queries") + numbers("Number", "Share"), rows, label="Better and worse")
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    lines = [
        [percent(share), *map(decimal, ends[:2]), signed(ends[2])]
        for share, *ends in zip(shares, *(np.quantile(v, shares) for v in values.columns()), strict=True)
    ]
    columns = words("Share of queries below") + numbers("Chosen", "Baseline", "Difference")
    return f"<div>{counts}\n{table('quantiles', columns, lines, label='Quantiles')}</div>"


def _query_search() -> str:
    return (
        '<p class="search" hidden><label>Find a query <input type="search" autocomplete="off" '
        'data-table="query-table"></label> <output aria-live="polite"></output></p>\n'
    )


def _query_table(values: QueryValues, documents: Mapping[str, str]) -> str:
    columns = words("Query") + numbers("Chosen", "Baseline", "Difference", "Documents")
    rows = []
    for i in values.listed:
        place = documents.get(values.ids[i])
        query = f'<a href="#{place}">{name(values.ids[i])}</a>' if place else name(values.ids[i])
        cells = [decimal(values.chosen[i]), decimal(values.baseline[i]), signed(values.difference[i])]
        rows.append([query, *cells, f"{values.documents[i]:,}"])
    return table("query", columns, rows, label="Queries", is_sortable=True)


def worst(report: Report) -> str:
    """The queries with the lowest values."""
    return _query_list(
        report, "worst", "Queries on which the chosen ranker does worst, and where it puts their documents."
    )


def changed(report: Report) -> str:
    """The queries that differ most from the baseline."""
    return _query_list(report, "changed", "Queries whose value differs most from the baseline's, in either direction.")


def _query_list(report: Report, kind: str, text: str) -> str:
    shown: list[Mapping[str, Any]] = report[kind]
    if not shown:
        return "<p>No query is listed.</p>"
    explained = (
        f"{text} Strips show grades from rank 1 on: the stronger the colour, the more relevant. Contributions are what "
        "a feature adds to a document's score, against the mean of its query."
    )
    parts = [
        folded(_query_title(query, report), _documents(query, f"{kind}-{i}"), is_open=i == 0, key=f"{kind}-{i}")
        for i, query in enumerate(shown)
    ]
    return "\n".join([how(explained), *parts])


def _query_title(query: Mapping[str, Any], report: Report) -> str:
    difference = query["value"] - query["baseline"]
    better_by = -difference if report["lower_is_better"] else difference
    kind = "better" if better_by > 0 else "worse" if better_by < 0 else ""
    return (
        f'{name(query["query"])} <span class="facts">{decimal(query["value"])}, baseline {decimal(query["baseline"])}, '
        f'<span class="{kind}">{signed(better_by)}</span>, {count(len(query["documents"]), "document")}</span>'
    )


def _documents(query: Mapping[str, Any], key: str) -> str:
    documents = query["documents"]
    if not documents:
        return "<p>No document is listed.</p>"
    # Those that stand high in any ranking are those that matter to a measure.
    by_interest = sorted(documents, key=lambda d: (min(d["rank"], d["baseline_rank"], d["ideal_rank"]), d["rank"]))
    shown = sorted(by_interest[:_SHOWN_DOCUMENTS], key=lambda d: (d["rank"], d["baseline_rank"]))
    grades = [document["grade"] for document in documents]
    rankings = {
        label: [document[rank] for document in documents]
        for label, rank in (("chosen", "rank"), ("baseline", "baseline_rank"), ("ideal", "ideal_rank"))
    }
    parts = [plots.grade_strips(grades, rankings, max(grades)), _document_table(shown, key)]
    if len(shown) < len(documents):
        parts.append(
            f"<p>{len(shown)} of {count(len(documents), 'document')}: those highest in any of the rankings.</p>"
        )
    return "\n".join(parts)


def _document_table(documents: Sequence[Mapping[str, Any]], key: str) -> str:
    columns = (
        numbers("Rank", "Baseline", "Ideal", "Grade") + words("Document") + numbers("Score") + words("Contributions")
    )
    rows = [
        [
            f"{document['rank']:,}",
            f"{document['baseline_rank']:,}",
            f"{document['ideal_rank']:,}",
            amount(document["grade"]),
            name(document["document"]),
            amount(document["score"]),
            ", ".join(_contribution(*contribution) for contribution in document["contributions"]),
        ]
        for document in documents
    ]
    return table(f"{key}-document", columns, rows, label="Documents", is_sortable=True)


def _contribution(feature: str, value: float) -> str:
    return f"<span>{name(feature)} {'+' if value > 0 else ''}{plain_amount(value)}</span>"
