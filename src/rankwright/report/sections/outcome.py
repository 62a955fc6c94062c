"""What was found: the summary and the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwright.report import plots
from rankwright.report.markup import (
    MISSING,
    amount,
    cautious,
    count,
    decimal,
    duration,
    escaped,
    interval,
    name,
    numbers,
    p_value,
    percent,
    signed,
    strength,
    table,
    words,
)
from rankwright.report.sections.pieces import Report, badge, choice, how
from rankwright.report.sections.trust import certificate_text

_LEVEL = 0.05


def summary(report: Report) -> str:
    """The result in a few plain sentences, as figures, and how to read these."""
    found = report["summary"]
    # A small gain would be rounded away.
    digits = 3 if abs(found["gain"]) >= 0.01 else 4
    value = f"<strong>{name(report['measure'])} of {decimal(found['mean'], digits)}</strong>"
    sentences = [
        f"The chosen ranker, {name(report['chosen'])}, reaches {value} {interval(found['interval'], digits)} on "
        f"{_queries_text(report)}. That is {_gain_text(report, digits)} the baseline, {name(report['baseline'])}, "
        f"which reaches {decimal(found['baseline_mean'], digits)}.",
    ]
    if found["nothing_learned"]:
        sentences.append(f"<strong>Nothing was learned</strong>: {escaped(found['nothing_learned'])}.")
    else:
        sentences.append(_verdict(found))
    if found["certificate"]:
        sentences.append(certificate_text(report, digits))
    sentences += [f"It uses {_features_text(report)}.", *_given_up(report)]
    notes = "".join(f"<li>{note}</li>" for note in _notes(report))
    return f'<p class="lead">{" ".join(sentences)}</p>\n{_tiles(report, digits)}\n<ul class="how">{notes}</ul>'


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


def _given_up(report: Report) -> list[str]:
    """What the rule preferred a simpler ranker, or fewer or cheaper features, to."""
    chosen, best = (next((row for row in report["leaderboard"] if row[key]), None) for key in ("is_chosen", "is_best"))
    if report["rule"] != "one-standard-error" or not chosen or not best or chosen is best or best["note"]:
        return []
    if not (chosen["held_out"] and best["held_out"]):
        return []
    gap = abs(best["held_out"]["mean"] - chosen["held_out"]["mean"])
    preferred = "cheaper" if report["cost"] and report["cost"]["of_features"] is not None else "fewer"
    kinds = {row["ranker"]: row["kind"] for row in (report["beyond_linear"] or {"rows": ()})["rows"]}
    is_simpler = kinds.get(chosen["ranker"]) != kinds.get(best["ranker"])
    taken = "simpler ranker" if is_simpler else f"ranker with {preferred} features"
    return [
        f"On held-out queries, {name(best['ranker'])} with {count(best['features'], 'feature')} is {decimal(gap)} "
        f"better. That is within one standard error of the difference, so the {taken} was chosen."
    ]


def _tiles(report: Report, digits: int) -> str:
    found = report["summary"]
    kind = ("better" if found["gain"] > 0 else "worse") if _is_significant(found) else ""
    of_mean, of_gain = (f"95 % interval {interval(found[ends], digits)}" for ends in ("interval", "gain_interval"))
    tiles = [
        _tile(name(report["measure"]), decimal(found["mean"], digits), of_mean),
        _tile(f"gain over {name(report['baseline'])}", signed(found["gain"], digits), of_gain, kind),
    ]
    if found["certificate"]:
        side = "≤" if report["lower_is_better"] else "≥"
        share = percent(1 - found["certificate"]["delta"])
        is_certain = found["certificate"]["guaranteed"]
        label = "certificate for new queries" if is_certain else "estimate for new queries"
        text = f"with {share} confidence" if is_certain else "estimate only, not guaranteed"
        bound = cautious(found["certificate"]["bound"], digits, is_upper=report["lower_is_better"])
        tiles.append(_tile(label, f"{side} {decimal(bound, digits)}", text))
    return f'<dl class="tiles">{"".join([*tiles, *_cost_tiles(report)])}</dl>'


def _tile(label: str, value: str, note: str, kind: str = "") -> str:
    return f'<div><dt>{label}</dt><dd class="{kind}">{value}<span class="note">{note}</span></dd></div>'


def _cost_tiles(report: Report) -> list[str]:
    """What using the model takes."""
    used, *of = _features_text(report).split(" ", 1)
    tiles = [_tile("features", used, "used" if of[0].startswith("feature") else f"{of[0]} used")]
    cost = report["cost"]
    if cost and cost["of_features"] is not None:
        tiles.append(_tile("cost of features", amount(cost["of_features"]), f"of {amount(cost['of_all_features'])}"))
    if cost:
        # The only figure that the same fit does not give again; its class lets a comparison of pages leave it out.
        time = f'<span class="measured">{duration(cost["seconds"])}</span>'
        tiles.append(_tile("scoring time", time, f"for {count(cost['documents'], 'document')}"))
    return tiles


def _notes(report: Report) -> list[str]:
    """How to read the figures: every word that needs it is explained where it is first used."""
    certificate, cost = report["summary"]["certificate"], report["cost"]
    notes = [
        "Brackets are 95 % bootstrap intervals: the range that the mean stays in, in 95 of 100 cases, when as many "
        "queries are drawn again at random from these." + (" Lower is better." if report["lower_is_better"] else "")
    ]
    if report["summary"]["p_value"] is not None:
        notes.append("The p value is the probability that chance alone gives a difference at least this large.")
    if certificate and certificate["guaranteed"]:
        notes.append(
            "The certificate is a bound for the mean over all new queries of the same kind, not only over those "
            f"tested; it may be wrong with a probability of {percent(certificate['delta'])}."
        )
    notes.append(_source(report))
    if cost:
        notes.append(
            f"The scoring time is the median of {cost['calls']} calls of <code>model.predict</code> in Python, each "
            f"for {count(cost['documents'], 'document')} with features in memory, on the machine that ran the fit. "
            "Computing the features is not included."
        )
    notes.append(f"{name(report['measure'])} follows the convention “{escaped(report['convention'])}”.")
    return notes


def _source(report: Report) -> str:
    """What part the queries of the figures had in the fit."""
    certificate = report["summary"]["certificate"]
    if report["evaluated_on"] == "test" and certificate and certificate["doubts"]:
        return f"The test queries are not a fair test: {escaped('; '.join(certificate['doubts']))}."
    return {
        "test": "The test queries had no part in training or in any choice.",
        "validation": "The validation queries were also used to choose the model, so the result may look better than "
        "it is.",
        "cross-validation": "Each query was ranked by a model that was trained without it. The same queries were used "
        "to choose the model, so the result may look a little better than it is.",
    }[report["evaluated_on"]]


_SETS = {"test": "Test", "held_out": "Held out"}  # of queries, as columns of the leaderboard


def leaderboard(report: Report) -> str:
    """The rankers that were tried, with their intervals."""
    sets = [kind for kind in _SETS if any(row[kind] for row in report["leaderboard"])]
    rows = _best_first(report, sets[0]) if sets else report["leaderboard"]
    text = (
        "Each dot is the mean over queries, and its line is the 95 % interval. p compares a ranker with the best one "
        "on held-out queries. It is corrected by Holm's method, which makes p values larger to allow for the number of "
        "rankers that are compared. λ is the strength of regularisation: the larger it is, the smaller the weights are "
        "kept."
    )
    parts = [how(text)]
    figures = {_SETS[kind]: _leaderboard_plot(report, rows, kind) for kind in sets}
    if figures:
        shown = next(iter(figures.values()))
        parts.append(choice("Queries", figures, is_wide=True) if len(figures) > 1 else shown)
    parts.append(_leaderboard_table(rows, sets) if rows else "<p>No ranker was tried.</p>")
    if report["left_out"]:
        reasons = "".join(f"<li>{name(row['ranker'])}: {escaped(row['reason'])}</li>" for row in report["left_out"])
        parts.append(f"<p>Rankers that were left out:</p>\n<ul>{reasons}</ul>")
    return "\n".join(parts)


def _best_first(report: Report, kind: str) -> list[Mapping[str, Any]]:
    """The rows that have a mean on these queries by it, then the others."""
    sign = 1 if report["lower_is_better"] else -1
    return sorted(
        report["leaderboard"], key=lambda row: (row[kind] is None, sign * row[kind]["mean"] if row[kind] else 0)
    )


def _leaderboard_plot(report: Report, rows: Sequence[Mapping[str, Any]], kind: str) -> str:
    """Best first on the queries that it shows; ``rows`` are those of the table, which marks refer to."""
    place = {id(row): f"leaderboard-{i}" for i, row in enumerate(rows)}
    shown = [row for row in _best_first(report, kind) if row[kind]]
    drawn = [
        plots.Row(row["ranker"], row[kind]["mean"], row[kind]["interval"], "chosen" if row["is_chosen"] else "")
        for row in shown
    ]
    queries = {"test": "test queries", "held_out": "held-out queries"}[kind]
    title = f"{name(report['measure'])} on {queries}, best first; {plots.swatch('chosen', 'chosen')}"
    return plots.interval_plot(
        f"leaderboard-{kind}", title, report["measure"], drawn, [place[id(row)] for row in shown]
    )


def _leaderboard_table(rows: Sequence[Mapping[str, Any]], sets: Sequence[str]) -> str:
    """What matters most stands first, where a phone shows it."""
    columns = words("Ranker") + numbers(*(_SETS[kind] for kind in sets), "p (Holm)", "Features", "λ")
    lines = []
    for row in rows:
        marks = [badge(label) for key, label in (("is_chosen", "chosen"), ("is_best", "best held out")) if row[key]]
        note = f" <small>{escaped(row['note'])}</small>" if row["note"] else ""
        cells = [name(row["ranker"]) + "".join(marks) + note, *(_estimate(row[kind]) for kind in sets)]
        cells += [p_value(row["p_value"]), f"{row['features']:,}", strength(row["alpha"])]
        lines.append(cells)
    return table("leaderboard", columns, lines, label="Leaderboard", is_sortable=True)


def _estimate(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return MISSING
    error = "" if estimate["standard_error"] is None else f" ± {decimal(estimate['standard_error'])}"
    return f"{decimal(estimate['mean'])}{error} <small>{interval(estimate['interval'])}</small>"
