"""Query by query: how values and differences from the baseline are distributed, and the list of all queries."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwright.report import plots
from rankwright.report.markup import (
    count,
    csv_lines,
    decimal,
    escaped,
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


def queries(report: Report) -> str:
    """How values and differences are distributed over queries, and the list of them."""
    values = QueryValues.of(report).with_relevant()
    without = _without_relevant(report)
    if not len(values):
        return "\n".join(["<p>There are no values of single queries to show.</p>", *without])
    text = (
        "A mean does not tell which queries a ranker helps and which it harms. A difference above 0 means that the "
        f"chosen ranker is better than the baseline, {name(report['baseline'])}."
    )
    return "\n".join([how(text), *without, pair(*_plots(report, values), _counts(values)), *_lists(report, values)])


def _without_relevant(report: Report) -> list[str]:
    """How many queries have no relevant document, and what became of them."""
    listed = report["queries"]
    without = [i for i, relevant in enumerate(listed["relevant"]) if not relevant]
    if not without:
        return []
    values = {listed["chosen"][i] for i in without}
    counted = "The mean leaves them out, too." if values == {None} else "The mean includes them."
    if len(values) == 1 and None not in values:
        counted = f"The mean counts each of them as {plain_amount(*values)}."
    text = (
        f"<strong>Queries without a relevant document: {len(without):,} of {len(listed['relevant']):,}.</strong> "
        "There, no order of documents is better than another, so the figures of this section leave them out. "
        f"{counted}"
    )
    names = ", ".join(name(listed["ids"][i]) for i in without)
    return [
        f"<p>{text}</p>",
        folded("List of these queries", f"<p>{names}</p>", key="without-relevant"),
    ]


def _plots(report: Report, values: QueryValues) -> list[str]:
    measure = report["measure"]
    about = {place: f"query-{row}" for row, place in enumerate(values.in_table)}
    sides = f"{plots.swatch('better', 'better')} {plots.swatch('worse', 'worse')}"
    rankers = f"{plots.swatch('chosen', 'chosen')} {plots.swatch('baseline', 'baseline')}"
    counted = f"How many queries have which value; {rankers}"
    ascending = f"Difference from the baseline, sorted; {sides}"
    each = f"Chosen ranker against baseline, a dot for each query; {sides}"
    labels, points = (f"{measure}, baseline", f"{measure}, chosen"), (values.baseline, values.chosen)
    return [
        plots.value_histogram("values", counted, measure, values.chosen, values.baseline),
        plots.difference_plot("differences", ascending, f"difference in {measure}", values.difference, about),
        plots.scatter_plot("scatter", each, labels, points, values.difference, about),
    ]


def _counts(values: QueryValues) -> str:
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


def _lists(report: Report, values: QueryValues) -> list[str]:
    """All queries: as a table, and of very many those that changed least as plain lines."""
    in_table = values.in_table
    others = sorted(set(range(len(values))) - set(in_table))
    total = count(len(values), "query", "queries")
    title = f"The {len(in_table):,} most changed of {total}" if others else f"List of {total}"
    parts = [folded(title, _search() + _table(values, _documents_of(report)), key="all-queries")]
    if others:
        heads = ("chosen", "baseline", "difference", "documents", "relevant", "query")
        lines = (
            [
                *(f"{column[i]:.4f}" for column in values.columns()),
                values.documents[i],
                values.relevant[i],
                values.ids[i],
            ]
            for i in others
        )
        title = f"The other {count(len(others), 'query', 'queries')}, as lines of CSV"
        parts.append(folded(escaped(title), csv_lines(heads, lines), key="other-queries"))
    return parts


def _documents_of(report: Report) -> dict[str, str]:
    """Where the documents of a query are shown."""
    kinds = ("improved", "harmed", "worst")
    return {query["query"]: f"{kind}-{i}" for kind in kinds for i, query in enumerate(report[kind])}


def _search() -> str:
    return (
        '<p class="search" hidden><label>Find a query <input type="search" autocomplete="off" '
        'data-table="query-table"></label> <output aria-live="polite"></output></p>\n'
    )


def _table(values: QueryValues, documents: Mapping[str, str]) -> str:
    columns = words("Query") + numbers("Chosen", "Baseline", "Difference", "Documents", "Relevant")
    rows = []
    for i in values.in_table:
        place = documents.get(values.ids[i])
        query = f'<a href="#{place}">{name(values.ids[i])}</a>' if place else name(values.ids[i])
        cells = [decimal(values.chosen[i]), decimal(values.baseline[i]), signed(values.difference[i])]
        rows.append([query, *cells, f"{values.documents[i]:,}", f"{values.relevant[i]:,}"])
    return table("query", columns, rows, label="Queries", is_sortable=True)
