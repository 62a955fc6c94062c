"""How the ranker came about: features, regularisation, weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwright.maps.terms import where_slog
from rankwright.report import plots
from rankwright.report.markup import (
    MISSING,
    amount,
    count,
    decimal,
    escaped,
    folded,
    name,
    numbers,
    percent,
    strength,
    table,
    words,
)
from rankwright.report.sections.pieces import Report, badge, choice, how, pair

_SHOWN_WEIGHTS = 25


def features(report: Report) -> str:
    """Quality against the number or the cost of features."""
    path = report["feature_path"]
    if not path or not path["points"]:
        return "<p>No features were selected step by step, so there is no path to show.</p>"
    points = path["points"]
    text = (
        "What more features bring. The line is the mean on held-out queries, the band is one standard error to either "
        "side, and the ring marks the choice. Where the line is flat, fewer features do as well."
    )
    x_values = {"Number": ("features", [point["features"] for point in points])}
    if path["has_costs"]:
        x_values["Cost"] = ("cost of features", [point["cost"] or 0.0 for point in points])
    figures = {}
    for label, (x_label, x) in x_values.items():
        drawn = plots.Path(x, [p["mean"] for p in points], [p["error"] for p in points], path["chosen"])
        title = f"{name(report['measure'])} against the {'number' if label == 'Number' else 'cost'} of features"
        rows = [f"step-{i}" for i in range(len(points))]
        figures[label] = plots.path_plot(f"features-{label.lower()}", title, (x_label, report["measure"]), drawn, rows)
    plot = choice("Axis", figures) if len(figures) > 1 else figures["Number"]
    steps = folded("All steps of the selection", _step_table(path), key="steps")
    return "\n".join([how(text), plot, steps, how(_whose(report))])


def _whose(report: Report) -> str:
    """Which rankers the means are of, and which features are named."""
    if any(point["shared"] is not None for point in report["feature_path"]["points"]):
        return (
            "The means come from rankers that were each trained on a part of the queries, and each part selects its "
            "own features. The steps name the features that all training queries select together. <em>Shared</em> is "
            "the share of these that the parts selected as well, on average."
        )
    return (
        "The steps name the features of the rankers that were judged, which were trained on the training queries "
        "alone. The final model selects the chosen number of features again, on training and validation queries "
        "together, so its features may be others."
    )


def _step_table(path: Mapping[str, Any]) -> str:
    costs = numbers("Cost") * path["has_costs"]
    has_shares = any(point["shared"] is not None for point in path["points"])
    shares = numbers("Shared") * has_shares
    columns = numbers("Features") + costs + numbers("Mean", "Standard error") + shares + words("Change")
    rows, before = [], set[str]()
    for i, point in enumerate(path["points"]):
        now = set(point["selected"])
        change = [f"+ {name(feature)}" for feature in point["selected"] if feature not in before]
        change += [f"− {name(feature)}" for feature in sorted(before - now)]
        number = f"{point['features']:,}" + badge("chosen") * (i == path["chosen"])
        cost = [amount(point["cost"])] * path["has_costs"]
        share = [MISSING if point["shared"] is None else percent(round(point["shared"], 2))] * has_shares
        rows.append([number, *cost, decimal(point["mean"]), decimal(point["error"]), *share, ", ".join(change)])
        before = now
    return table("step", columns, rows, label="Steps of the selection")


def regularisation(report: Report) -> str:
    """Quality against the strength of regularisation."""
    paths = [path for path in report["alpha_paths"] if path["alphas"]]
    if not paths:
        return "<p>No ranker had a λ to choose.</p>"
    text = (
        "How much λ, the strength of regularisation, matters to each ranker. The line is the mean on held-out queries, "
        "the band is one standard error to either side, and the ring marks the choice. If the ring is at the end of a "
        "line that still gets better there, a λ beyond that end may do better."
    )
    figures = [_alpha_plot(report, path, i) for i, path in enumerate(paths)]
    columns = numbers("λ", "Mean", "Standard error")
    tables = [
        f"<h3>{name(path['ranker'])}</h3>\n"
        + table(
            f"lambda-{i}",
            columns,
            [
                [strength(a) + badge("chosen") * (j == path["chosen"]), decimal(m), decimal(e)]
                for j, (a, m, e) in enumerate(zip(path["alphas"], path["means"], path["errors"], strict=True))
            ],
            label=f"λ of {path['ranker']}",
        )
        for i, path in enumerate(paths)
    ]
    return "\n".join([how(text), pair(*figures), folded("All values of λ", "\n".join(tables), key="lambda-values")])


def _alpha_plot(report: Report, path: Mapping[str, Any], i: int) -> str:
    drawn = plots.Path(path["alphas"], path["means"], path["errors"], path["chosen"])
    rows = [f"lambda-{i}-{j}" for j in range(len(path["alphas"]))]
    return plots.path_plot(f"lambda-{i}", name(path["ranker"]), ("λ", report["measure"]), drawn, rows)


def weights(report: Report) -> str:
    """What the chosen ranker weighs, most important first."""
    used = [row for row in report["weights"] if row["weight"]]
    if not used and report["formula"]:
        formula = report["formula"]
        return f"<p>The chosen ranker is a formula: <code>{escaped(formula)}</code>{escaped(where_slog(formula))}</p>"
    if not used:
        return f"<p>{escaped(report['no_weights'] or 'The chosen ranker has no weights to show.')}</p>"
    text = (
        "Importance tells how far a feature moves scores. It is the size of the weight times how much the feature "
        "varies among the documents of a query. Features that say nearly the same share their importance, so each of "
        "them may look less important than they are together."
    )
    top = used[:_SHOWN_WEIGHTS]
    rows = [
        plots.Row(row["feature"], row["importance"], None, "better" if row["weight"] > 0 else "worse") for row in top
    ]
    shown = f"The {len(top)} most important of {len(used):,}" if len(top) < len(used) else "Importance of features"
    legend = f"{plots.swatch('better', 'raises scores')} {plots.swatch('worse', 'lowers scores')}"
    plot = plots.bar_plot("weights", f"{shown}; {legend}", "importance", rows, [f"weight-{i}" for i in range(len(top))])
    columns = words("Feature") + numbers("Weight", "Importance")
    lines = [[name(row["feature"]), amount(row["weight"]), amount(row["importance"])] for row in used]
    listed = table("weight", columns, lines, label="Weights", is_sortable=True)
    return "\n".join([how(text), plot, folded(f"All {count(len(used), 'weight')}", listed, key="all-weights")])
