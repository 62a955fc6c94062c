"""How far the result can be trusted: samples of queries, certificates, data, and how to get it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rankwright.evaluation.significance import RESAMPLES, bootstrap_means
from rankwright.report import plots
from rankwright.report.markup import (
    cautious,
    count,
    decimal,
    escaped,
    interval,
    name,
    numbers,
    percent,
    signed,
    table,
    words,
)
from rankwright.report.query_values import QueryValues
from rankwright.report.sections.pieces import Report, how, pair


def certificate_text(report: Report, digits: int = 4) -> str:
    """What is certain of the mean on new queries, or what is estimated of it."""
    certificate = report["summary"]["certificate"]
    side = "at most" if report["lower_is_better"] else "at least"
    bound = cautious(certificate["bound"], digits, is_upper=report["lower_is_better"])
    told = f"{side} <strong>{decimal(bound, digits)}</strong>"
    if certificate["guaranteed"]:
        return f"{_confidence(certificate)}, the mean over new queries of the same kind is {told}."
    return f"The mean over new queries of the same kind is estimated to be {told}. {_caveat(report, certificate)}"


def _confidence(certificate: Mapping[str, Any]) -> str:
    return f"With {percent(1 - certificate['delta'])} confidence"


def _caveat(report: Report, certificate: Mapping[str, Any]) -> str:
    """Why a bound is no guarantee."""
    if report["evaluated_on"] == "test":
        return f"Estimate only: {escaped('; '.join(certificate['doubts']))}."
    return "Estimate only: these queries were also used to choose the model. Pass <code>--test</code> for a guarantee."


def reliability(report: Report) -> str:
    """Bootstrap and certificates, each in a plain sentence, and what they assume."""
    found, values = report["summary"], QueryValues.of(report)
    text = (
        f"Would the same hold on other queries? Each histogram shows the means of {RESAMPLES:,} samples, drawn at "
        "random from the queries at hand."
    )
    parts = [how(text)]
    if len(values) > 1 and np.ptp(values.difference) + np.ptp(values.chosen) > 0:
        parts.append(pair(*_draws(report, values)))
    parts.append(
        f"<p><strong>Bootstrap.</strong> The mean gain lies within {interval(found['gain_interval'])} in 95 of 100 "
        "samples. This range shows how much the result depends on which queries were sampled. It assumes that the "
        "queries are independent of each other, and that there are enough of them to stand for others.</p>"
    )
    parts.append(f"<p><strong>{_kind(found['certificate'])}.</strong> {_certificate(report)}</p>")
    gain = found["gain_certificate"]
    if gain:
        parts.append(f"<p><strong>{_kind(gain)} of the gain.</strong> {_gain_certificate(report, gain)}</p>")
    return "\n".join(parts)


def _draws(report: Report, values: QueryValues) -> list[str]:
    found = report["summary"]
    drawn = []
    gain_lines = {"zero": 0.0}
    kind = _kind(found["certificate"]).lower()
    if found["gain_certificate"]:
        gain_lines["bound"] = found["gain_certificate"]["bound"]
    mean_lines = {"bound": found["certificate"]["bound"]} if found["certificate"] else {}
    for key, title, label, sample, ends, lines in (
        ("gain", "Gain over the baseline", "gain", values.difference, found["gain_interval"], gain_lines),
        ("mean", f"Mean {name(report['measure'])}", report["measure"], values.chosen, found["interval"], mean_lines),
    ):
        legend = plots.swatch("chosen", "bootstrap, with its 95 % interval")
        if "bound" in lines:
            legend += f" {plots.swatch('bound', kind)}"
        if np.ptp(sample) > 0:
            drawn.append(
                plots.draws_plot(f"draws-{key}", f"{title}; {legend}", label, bootstrap_means(sample), ends, lines)
            )
    return drawn


def _kind(certificate: Mapping[str, Any] | None) -> str:
    return "Estimate" if certificate and not certificate["guaranteed"] else "Certificate"


def _certificate(report: Report) -> str:
    certificate = report["summary"]["certificate"]
    if not certificate:
        return "There is none: it needs a measure whose greatest value is known, and queries to compute it from."
    return f"{certificate_text(report)} {_assumed(certificate)}"


def _gain_certificate(report: Report, certificate: Mapping[str, Any]) -> str:
    bound = certificate["bound"]
    told = f"at least <strong>{signed(cautious(bound, 4, is_upper=False))}</strong>"
    if bound <= 0:
        told += ", so it is not certain that there is a gain"
    if certificate["guaranteed"]:
        said = f"{_confidence(certificate)}, the mean gain over new queries of the same kind is {told}."
    else:
        said = (
            f"The mean gain over new queries of the same kind is estimated to be {told}. {_caveat(report, certificate)}"
        )
    return f"{said} {_assumed(certificate)}"


def _assumed(certificate: Mapping[str, Any]) -> str:
    """What a bound is computed from, and under which conditions it holds."""
    queries_text = count(certificate["n_queries"], "query", "queries")
    basis = f"It is computed from {queries_text} by the method “{escaped(certificate['method'])}”"
    if not certificate["guaranteed"]:
        return f"{basis}."
    return (
        f"{basis}. It assumes that these queries were drawn independently from the same source as new ones, and that "
        "they had no part in training or in any choice. It assumes nothing about how values are distributed."
    )


def health(report: Report) -> str:
    """What is odd about the data."""
    facts, findings = report["health"]["facts"], report["health"]["findings"]
    parts = [how("What the training data are like, and what in them may mislead a ranker or a measure.")]
    if findings:
        items = [
            f'<li class="{level}"><strong>{level.capitalize()}:</strong> {escaped(text)}</li>'
            for level, text in ((finding["level"], finding["text"]) for finding in findings)
        ]
        parts.append(f'<ul class="findings">{"".join(items)}</ul>')
    else:
        parts.append("<p>Nothing unusual was found.</p>")
    if facts:
        rows = [[escaped(label), escaped(value)] for label, value in facts]
        parts.append(table("fact", words("Fact", "Value"), rows, label="Facts about the data"))
    return "\n".join(parts)


def _file_rows(part: Mapping[str, Any]) -> Iterator[list[str]]:
    """A data file, and the file of group sizes beside it, if there is one."""
    role = {"train": "training", "valid": "validation", "test": "test"}[part["role"]]
    counts = [f"{part['queries']:,}", f"{part['documents']:,}"]
    yield [name(part["name"]), role, *counts, f"<code>{escaped(part['sha256'])}</code>"]
    if part["groups"] is not None:
        groups = part["groups"]
        yield [name(groups["name"]), f"{role}, group sizes", *counts, f"<code>{escaped(groups['sha256'])}</code>"]


def reproduce(report: Report) -> str:
    """The command, versions and data that give the same result."""
    made = report["reproduce"]
    versions = [[name(package), escaped(version)] for package, version in made["versions"].items()]
    files = [row for part in made["data"] for row in _file_rows(part)]
    columns = words("File", "Role") + numbers("Queries", "Documents") + words("SHA-256")
    command = f'<pre tabindex="0"><code>{escaped(made["command"])}</code></pre>' if made["command"] else ""
    return "\n".join(
        [
            how(
                f"The same command, files and versions give the same result; only the scoring time is measured anew. "
                f"The seed of random numbers is {made['seed']}."
            ),
            command,
            table("file", columns, files, label="Data files") if files else "",
            table("version", words("Package", "Version"), versions, label="Versions") if versions else "",
        ]
    )
