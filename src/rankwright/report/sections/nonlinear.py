"""Linear rankers beside others: what more complexity buys, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwright.report.markup import (
    MISSING,
    count,
    decimal,
    duration,
    escaped,
    folded,
    interval,
    name,
    numbers,
    p_value,
    signed,
    table,
    words,
)
from rankwright.report.sections.pieces import Report, badge, how


def beside_linear(report: Report) -> str:
    """Every ranker against the best linear one; nothing if all are linear."""
    found = report["beyond_linear"]
    if not found:
        return ""
    is_tested = report["evaluated_on"] == "test"
    queries = "test" if is_tested else "held-out"
    doubt = "" if is_tested else "These queries also chose the settings, so p is too small. "
    text = (
        f"What rankers that are not linear gain over {name(found['linear'])}, the best linear ranker on held-out "
        f"queries. Differences are means over {queries} queries, with their 95 % intervals"
        f"{'; below 0 is better' if report['lower_is_better'] else ''}. p is corrected by Holm's method for the number "
        f"of rankers that are compared. {doubt}Scoring is the median time of <code>model.predict</code> in Python for "
        f"{count(found['documents'], 'document')}, features ready. Export lists the targets that can compute the model."
    )
    figures = numbers(report["measure"], "Against linear", "p (Holm)", "Scoring", "Features")
    columns = words("Ranker") + figures + words("Export")
    compared = table("nonlinear", columns, map(_line, found["rows"]), label="Linear or not", is_sortable=True)
    settings = [[name(row["ranker"]), escaped(row["setting"])] for row in found["rows"]]
    listed = table("setting", words("Ranker", "Setting"), settings, label="Settings")
    return "\n".join([how(text), compared, folded("The settings that were chosen", listed, key="settings")])


def _line(row: Mapping[str, Any]) -> list[str]:
    difference = MISSING
    if row["difference"] is not None:
        difference = f"{signed(row['difference'])} <small>{interval(row['interval'])}</small>"
    return [
        f"{name(row['ranker'])}{badge('chosen') * row['is_chosen']} <small>{escaped(row['kind'])}</small>",
        decimal(row["mean"]),
        difference,
        p_value(row["p_value"]),
        # What the same fit does not give again: a comparison of pages leaves it out.
        f'<span class="measured">{duration(row["seconds"])}</span>',
        f"{row['features']:,}",
        ", ".join(row["targets"]) or "none",
    ]
