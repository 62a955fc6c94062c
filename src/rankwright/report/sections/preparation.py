"""How features were prepared before training, where that was chosen."""

from __future__ import annotations

from rankwright.report.markup import MISSING, count, decimal, escaped, folded, name, numbers, percent, table, words
from rankwright.report.sections.pieces import Report, badge, how

_FEW_ROWS = 20


def preparation(report: Report) -> str:
    """The choice, what else was tried, and each feature; nothing for a report that does not tell of it."""
    prepared = report["preparation"]
    if not prepared:
        return ""
    text = (
        f"Chosen: {escaped(prepared['chosen'])}. The preparation is part of the model, which takes the features as "
        "they are in the data."
    )
    parts = [f"<p>{text}</p>"]
    if prepared["tried"]:
        rows = [
            [
                name(way["name"]) + badge("chosen") * way["is_chosen"],
                decimal(way["mean"]),
                decimal(way["standard_error"]),
            ]
            for way in prepared["tried"]
        ]
        parts.append(how(f"What was tried, with the mean {name(report['measure'])} on held-out queries."))
        parts.append(table("way", words("Preparation") + numbers("Mean", "Standard error"), rows, label="Preparations"))
    if prepared["features"]:
        rows = [
            [
                name(feature["name"]),
                escaped(feature["transform"]),
                percent(round(feature["missing_share"], 4)),
                MISSING if feature["where_missing"] is None else escaped(feature["where_missing"]),
            ]
            for feature in prepared["features"]
        ]
        columns = words("Feature", "Transform") + numbers("Missing values") + words("Used where missing")
        listed = table("prepared", columns, rows, label="Features as prepared", is_sortable=True)
        is_open = len(rows) <= _FEW_ROWS
        parts.append(folded(f"All {count(len(rows), 'feature')}", listed, is_open=is_open, key="all-prepared"))
    return "\n".join(parts)
