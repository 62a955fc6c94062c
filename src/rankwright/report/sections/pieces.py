"""What sections share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwright.report.markup import escaped

Report = Mapping[str, Any]


def how(text: str) -> str:
    """How to read a section, in a sentence or two; ``text`` is HTML."""
    return f'<p class="how">{text}</p>'


def badge(label: str) -> str:
    """A mark behind a name, such as that of the chosen ranker."""
    return f' <span class="badge">{escaped(label)}</span>'


def choice(label: str, figures: Mapping[str, str], *, is_wide: bool = False) -> str:
    """Figures of which a script shows one at a time; without one, all are shown, wide ones below each other."""
    parts = [f'<div data-choice="{escaped(option)}">{drawing}</div>' for option, drawing in figures.items()]
    opening = f'<div class="choice{" wide" if is_wide else ""}" data-label="{escaped(label)}">'
    return "\n".join([opening, *parts, "</div>"])


def pair(*parts: str) -> str:
    """Side by side, or one below the other where there is no room."""
    return '<div class="pair">\n' + "\n".join(parts) + "\n</div>"
