"""`render_report`: one page that needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any

from rankwright.report.colours import DARK, LIGHT
from rankwright.report.markup import escaped
from rankwright.report.schema import checked
from rankwright.report.sections import documents, nonlinear, outcome, preparation, queries, training, trust
from rankwright.report.sections.pieces import Report

_SECTIONS: dict[str, tuple[str, Callable[[Report], str]]] = {
    "summary": ("Summary", outcome.summary),
    "leaderboard": ("Leaderboard", outcome.leaderboard),
    "nonlinear": ("Linear or not", nonlinear.beside_linear),
    "queries": ("Queries", queries.queries),
    "worst": ("Worst queries", documents.worst),
    "improved": ("Most improved queries", documents.improved),
    "harmed": ("Most harmed queries", documents.harmed),
    "preparation": ("How features were prepared", preparation.preparation),
    "features": ("Features", training.features),
    "regularisation": ("Regularisation", training.regularisation),
    "weights": ("Weights", training.weights),
    "reliability": ("Reliability", trust.reliability),
    "health": ("Data health", trust.health),
    "reproduce": ("How to reproduce", trust.reproduce),
}


def render_report(report: Mapping[str, Any]) -> str:
    """A report as one HTML page: readable and printable without a script, which adds only interaction.

    Parameters
    ----------
    report : mapping of plain JSON values
        As `rankwright.report.schema.SHAPE` says; where something differs from it, the error names the place. The same
        report always gives the same text.
    """
    content = checked(report)
    found = {key: inside(content) for key, (_, inside) in _SECTIONS.items()}
    shown = {key: inside for key, inside in found.items() if inside}
    body = "\n".join(_section(key, _SECTIONS[key][0], inside) for key, inside in shown.items())
    style, script = _colours() + _file("page.css"), _file("page.js")
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{escaped(content["title"])}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#summary">Skip to the summary</a>
<header>
<h1>{escaped(content["title"])}</h1>
<button type="button" id="theme" hidden></button>
</header>
<nav aria-label="Sections"><ul>{_links(shown)}</ul></nav>
<main>
{body}
</main>
<script>{script}</script>
</body>
</html>
"""


def _section(key: str, title: str, inside: str) -> str:
    return (
        f'<section id="{key}" aria-labelledby="{key}-title">\n<h2 id="{key}-title">{title}</h2>\n{inside}\n</section>'
    )


def _links(shown: Iterable[str]) -> str:
    return "".join(f'<li><a href="#{key}">{_SECTIONS[key][0]}</a></li>' for key in shown)


def _file(name: str) -> str:
    return files("rankwright.report").joinpath(name).read_text(encoding="utf-8")


def _colours() -> str:
    """The colours as CSS variables: by the reader's system, unless the button on the page says otherwise."""
    light, dark = ("".join(f"--{key}:{value};" for key, value in theme.items()) for theme in (LIGHT, DARK))
    return (
        f"\n:root{{color-scheme:light;{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
    )


def _policy(style: str, script: str) -> str:
    """Nothing may be fetched, and nothing may run but this style sheet and this script."""
    return (
        f"default-src 'none'; style-src {_fingerprint(style)}; script-src {_fingerprint(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _fingerprint(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
