"""What sections share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwright.report.markup import escaped

Report = Mapping[str, Any]


def how(text: str) -> str:
    """How to read a section, in a sentence or two; ``text`` is HTML."""
    return f'<p class="how">{text}</p>'


def choice(label: str, figures: Mapping[str, str]) -> str:
    """Figures of which a script shows one at a time; without one, all are shown."""
    parts = [f'<div data-choice="{escaped(option)}">{drawing}</div>' for option, drawing in figures.items()]
    return f'<div class="choice" data-label="{escaped(label)}">\n' + "\n".join(parts) + "\n</div>"


def pair(*parts: str) -> str:
    """Side by side, or one below the other where there is no room."""
    return '<div class="pair">\n' + "\n".join(parts) + "\n</div>"
