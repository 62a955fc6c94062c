"""What is read from a library's text of a model."""

from __future__ import annotations

from typing import Any, NamedTuple

from rankwright.trees.building import wrong
from rankwright.trees.trees import Trees

_MOST_DIGITS = 18


class ParsedTrees(NamedTuple):
    """The trees, how many features they were trained on, and the names of these, if they have any."""

    trees: Trees
    n_features: int
    feature_names: list[str] | None


def whole(text: Any, name: str) -> int:
    """A whole number of at least 0 that is written as text."""
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        wrong(f"{name} must be a whole number of at least 0, not {str(text)[:40]!r}")
    return int(text)
