"""What was found: the summary and the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwright.report import plots
from rankwright.report.markup import (
    MISSING,
    cautious,
    count,
    decimal,
    escaped,
    interval,
    name,
    numbers,
    p_value,
    percent,
    signed,
    table,
    words,
)
from rankwright.report.sections.pieces import Report, choice, how
from rankwright.report.sections.trust import certificate_text

_LEVEL = 0.05


def summary(report: Report) -> str:
    """The result in a few plain sentences, and as figures."""
    found = report["summary"]
    # A small gain would be rounded away.
    digits = 3 if abs(found["gain"]) >= 0.01 else 4
    value = f"<strong>{name(report['measure'])} of {decimal(found['mean'], digits)}</strong>"
    sentences = [
        f"{name(report['chosen'])} reaches {value} {interval(found['interval'], digits)} on {_queries_text(report)}, "
        f"{_gain_text(report, digits)} the baseline, {name(report['baseline'])}, with "
        f"{decimal(found['baseline_mean'], digits)}.",
    ]
    if found["nothing_learned"]:
        sentences.append(f"<strong>Nothing was learned</strong>: {escaped(found['nothing_learned'])}.")
    else:
        sentences.append(_verdict(found))
    if found["certificate"]:
        sentences.append(certificate_text(report, digits))
    sentences.append(f"It uses {_features_text(report)}.")
    return f'<p class="lead">{" ".join(sentences)}</p>\n{_tiles(report, digits)}\n{how(_conditions(report))}'


def _queries_text(report: Report) -> str:
    kind = {"test": "test ", "validation": "validation ", "cross-validation": ""}[report["evaluated_on"]]
    text = count(report["n_queries"], f"{kind}query", f"{kind}queries")
    return f"{text} by cross-validation" if report["evaluated_on"] == "cross-validation" else text


def _gain_text(report: Report, digits: int) -> str:
    gain = report["summary"]["gain"]
    size = decimal(abs(gain), digits)
    if not any(digit in size for digit in "123456789"):
        return "no different from"
    return f"<strong>{size} {'better' if gain > 0 else 'worse'}</strong> than"


def _verdict(found: Mapping[str, Any]) -> str:
    p = "" if found["p_value"] is None else f" (p {_with_sign(p_value(found['p_value']))})"
    if not _is_significant(found):
        return f"With this many queries, the difference may be chance{p}."
    return f"The {'gain' if found['gain'] > 0 else 'loss'} is unlikely to be chance{p}."


def _is_significant(found: Mapping[str, Any]) -> bool:
    if found["p_value"] is not None:
        return bool(found["p_value"] < _LEVEL)
    low, high = found["gain_interval"]
    return bool(low > 0 or high < 0)


def _with_sign(p: str) -> str:
    return p if p.startswith("&lt;") else f"= {p}"


def _features_text(report: Report) -> str:
    used = next((row["features"] for row in report["leaderboard"] if row["is_chosen"]), None)
    if used is None:
        used = sum(1 for row in report["weights"] if row["weight"])
    if report["n_features"] is None:
        return count(used, "feature")
    return f"{used:,} of {count(report['n_features'], 'feature')}"


def _tiles(report: Report, digits: int) -> str:
    found = report["summary"]
    kind = ("better" if found["gain"] > 0 else "worse") if _is_significant(found) else ""
    tiles = [
        (
            name(report["measure"]),
            decimal(found["mean"], digits),
            f"95 % interval {interval(found['interval'], digits)}",
            "",
        ),
        (
            f"gain over {name(report['baseline'])}",
            signed(found["gain"], digits),
            f"95 % interval {interval(found['gain_interval'], digits)}",
            kind,
        ),
    ]
    if found["certificate"]:
        side = "at most" if report["lower_is_better"] else "at least"
        share = percent(1 - found["certificate"]["delta"])
        is_certain = found["certificate"]["guaranteed"]
        text = f"on new queries, {f'with {share} confidence' if is_certain else 'an estimate, not certified'}"
        bound = cautious(found["certificate"]["bound"], digits, is_upper=report["lower_is_better"])
        tiles.append((side, decimal(bound, digits), text, ""))
    used, *of = _features_text(report).split(" ", 1)
    tiles.append(("features", used, "used" if of[0].startswith("feature") else f"{of[0]} used", ""))
    parts = [
        f'<div><dt>{label}</dt><dd class="{kind}">{value}<span>{note}</span></dd></div>'
        for label, value, note, kind in tiles
    ]
    return f'<dl class="tiles">{"".join(parts)}</dl>'


def _conditions(report: Report) -> str:
    lower = " Lower is better." if report["lower_is_better"] else ""
    source = {
        "test": "These queries had no part in training or in any choice.",
        "validation": "The same queries served to choose the ranker, so its value may be too good.",
        "cross-validation": "Each query was ranked by a model trained without it; the choice of the ranker used all "
        "of them, so its value may be a little too good.",
    }[report["evaluated_on"]]
    certificate = report["summary"]["certificate"]
    if report["evaluated_on"] == "test" and certificate and certificate["doubts"]:
        source = f"They are no honest test: {escaped('; '.join(certificate['doubts']))}."
    return f"Brackets are 95 % bootstrap intervals.{lower} {source} Convention: {name(report['convention'])}."


_SETS = {"test": "Test", "held_out": "Held out"}  # of queries, as columns of the leaderboard


def leaderboard(report: Report) -> str:
    """The rankers that were tried, with their intervals."""
    rows = report["leaderboard"]
    text = (
        "Each dot is the mean over queries, its line the 95 % interval. p is the probability of a difference from the "
        "best at least this large by chance alone, on the queries held out, corrected for the number of rankers (Holm)."
    )
    parts = [how(text)]
    sets = [kind for kind in _SETS if any(row[kind] for row in rows)]
    figures = {_SETS[kind]: _leaderboard_plot(report, kind) for kind in sets}
    if figures:
        parts.append(choice("Queries", figures) if len(figures) > 1 else next(iter(figures.values())))
    parts.append(_leaderboard_table(rows, sets) if rows else "<p>No ranker was tried.</p>")
    if report["left_out"]:
        reasons = "".join(f"<li>{name(row['ranker'])}: {escaped(row['reason'])}</li>" for row in report["left_out"])
        parts.append(f"<p>Left out:</p>\n<ul>{reasons}</ul>")
    return "\n".join(parts)


def _leaderboard_plot(report: Report, kind: str) -> str:
    shown = [(i, row) for i, row in enumerate(report["leaderboard"]) if row[kind]]
    rows = [
        plots.Row(row["ranker"], row[kind]["mean"], row[kind]["interval"], "chosen" if row["is_chosen"] else "")
        for _, row in shown
    ]
    title = f"{name(report['measure'])}, queries: {_SETS[kind].lower()}; {plots.swatch('chosen', 'chosen')}"
    return plots.interval_plot(
        f"leaderboard-{kind}", title, report["measure"], rows, [f"leaderboard-{i}" for i, _ in shown]
    )


def _leaderboard_table(rows: Sequence[Mapping[str, Any]], sets: Sequence[str]) -> str:
    has_notes = any(row["note"] for row in rows)
    columns = [*words("Ranker", "Setting"), *numbers("Features")]
    columns += numbers(*(_SETS[kind] for kind in sets), "p") + words("Note") * has_notes
    lines = []
    for row in rows:
        badges = [label for key, label in (("is_chosen", "chosen"), ("is_best", "best")) if row[key]]
        ranker = name(row["ranker"]) + "".join(f' <span class="badge">{label}</span>' for label in badges)
        cells = [ranker, escaped(row["setting"]) or MISSING, f"{row['features']:,}"]
        cells += [_estimate(row[kind]) for kind in sets] + [p_value(row["p_value"])]
        lines.append(cells + [escaped(row["note"] or "")] * has_notes)
    return table("leaderboard", columns, lines, label="Leaderboard", is_sortable=True)


def _estimate(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return MISSING
    error = "" if estimate["standard_error"] is None else f" ± {decimal(estimate['standard_error'])}"
    return f"{decimal(estimate['mean'])}{error} <small>{interval(estimate['interval'])}</small>"
