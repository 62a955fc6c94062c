"""Arrays of ids that are text.

NumPy keeps text in arrays as wide as the longest of them, which is quick and small for ids of about one length. Where
a few are much longer than the rest, an array of references to the texts takes their place: one long id must not
cost its length in every row. The same holds of texts with a NUL, which NumPy drops at the end of a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_AT_MOST_TIMES_THE_TEXT = 4
_CHARACTERS_THAT_DO_NOT_MATTER = 1 << 18


def fits_fixed_width(longest: int, characters: int, count: int) -> bool:
    """Whether an array as wide as the longest of ``count`` texts takes little more room than the texts do."""
    return longest * count <= _AT_MOST_TIMES_THE_TEXT * characters + _CHARACTERS_THAT_DO_NOT_MATTER


def text_array(texts: Sequence[str]) -> npt.NDArray[Any]:
    """The texts as an array of fixed width, or of references; equal texts are then one and the same."""
    lengths = list(map(len, texts))
    if fits_fixed_width(max(lengths, default=0), sum(lengths), len(lengths)) and not _any_nul(texts):
        return np.array(texts, dtype=np.str_)
    return _references(texts, len(texts))


def joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The arrays of texts one after the other, as one array of the kind that suits all of them."""
    longest = characters = count = 0
    has_nul = any(part.dtype.kind == "O" and _any_nul(part) for part in parts)
    for part in parts:
        lengths = (
            np.strings.str_len(part) if part.dtype.kind == "U" else np.fromiter(map(len, part), np.int64, len(part))
        )
        longest, characters = max(longest, int(lengths.max(initial=0))), characters + int(lengths.sum())
        count += len(part)
    if fits_fixed_width(longest, characters, count) and not has_nul:
        return np.concatenate([part.astype(np.str_, copy=False) for part in parts])
    return _references((text for part in parts for text in part.tolist()), count)


def _any_nul(texts: Iterable[str]) -> bool:
    return any("\0" in text for text in texts)


def _references(texts: Iterable[str], count: int) -> npt.NDArray[Any]:
    kept: dict[str, str] = {}
    array = np.empty(count, dtype=object)
    for place, text in enumerate(texts):
        array[place] = kept.setdefault(text, text)
    return array
