"""Ids that are text as UTF-8 in one row of bytes, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.svmlight.parsing import copy_spans
from rankwright.judgments.ids import fits_fixed_width, text_array

_ASCII = 128


def utf8_of(ids: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The bytes of all texts, one after the other, and the length of each."""
    if ids.dtype.kind == "U" and len(ids) and ids.dtype.itemsize:
        characters = np.ascontiguousarray(ids).view(np.uint32).reshape(len(ids), -1)
        if characters.max(initial=0) < _ASCII:
            lengths = np.strings.str_len(ids).astype(np.int64)
            used = np.arange(characters.shape[1]) < lengths[:, np.newaxis]
            return characters[used].astype(np.uint8), lengths
    encoded = [str(text).encode("utf-8", "surrogatepass") for text in ids.tolist()]
    content = np.frombuffer(b"".join(encoded), np.uint8)
    return content, np.fromiter(map(len, encoded), np.int64, len(encoded))


def texts_from(content: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], start: int) -> npt.NDArray[Any]:
    """The texts that end at these places, counted from ``start``, where the first begins."""
    spans = np.empty((len(ends), 2), np.int64)
    spans[:, 1] = ends - start
    spans[:1, 0], spans[1:, 0] = 0, spans[:-1, 1]
    lengths = spans[:, 1] - spans[:, 0]
    if np.any(lengths < 0) or (len(spans) and spans[-1, 1] > len(content)):
        raise ValueError("texts of ids do not lie in the file")
    longest = max(1, int(lengths.max(initial=1)))
    if fits_fixed_width(longest, int(lengths.sum()), len(spans)):
        characters = np.zeros((len(spans), longest), np.uint32)
        if copy_spans(content, spans, characters):
            return characters.view(f"<U{longest}")[:, 0]
    raw = content.tobytes()
    return text_array([raw[a:b].decode("utf-8", "surrogatepass") for a, b in spans.tolist()])
