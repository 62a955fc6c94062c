"""Text from outside, such as names, ids and paths, as people and spreadsheets get to see it."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

# Characters that do something instead of being seen: control characters, which terminals obey; those without a width or
# that turn the direction of writing, which hide what is there; halves of characters; separators of lines.
_HIDDEN_CATEGORIES = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])

_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def shown(text: str, *, keep: str = "\n") -> str:
    r"""The text with every character that would be obeyed or hidden written out, as ``\x1b`` is; those to keep stay.

    >>> print(shown("red \x1b[31m, turned \u202e"))
    red \x1b[31m, turned \u202e
    """
    if text.translate(dict.fromkeys(map(ord, keep))).isprintable():  # nearly always, and text may be long
        return text
    return "".join(letter if letter in keep else _written_out(letter) for letter in text)


def _written_out(letter: str) -> str:
    hidden = unicodedata.category(letter) in _HIDDEN_CATEGORIES
    return letter.encode("unicode_escape").decode("ascii") if hidden else letter


def spreadsheet_cell(value: Any) -> Any:
    """A cell of CSV that no spreadsheet takes for a formula: text that begins as one gets an apostrophe in front.

    Such text is no number, and begins with ``=``, ``+``, ``-``, ``@`` (also in full width), a tab or a line break.

    >>> [spreadsheet_cell(value) for value in ("=1+1", "-5", "-a", "a=b", -5.0)]
    ["'=1+1", '-5', "'-a", 'a=b', -5.0]
    """
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value
