"""Limits of memory as people write them, and how many bytes rows take."""

from __future__ import annotations

import re
from typing import Any

import scipy.sparse as sp

from rankwright.checks import is_whole
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError

_LIMIT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)
_LEAST = 1_000_000


def memory_limit(memory: int | str) -> int:
    """A number of bytes, or text such as "4GB", "500MB" or "2GiB", as a number of bytes."""
    if isinstance(memory, str):
        found = _LIMIT.fullmatch(memory)
        if found is None:
            raise ParameterError(f"memory must be a number of bytes, or as '4GB', '500MB' or '2GiB', not {memory!r}")
        number, unit, binary = found.groups()
        power = "kmgt".index(unit.lower()) + 1 if unit else 0
        limit = int(float(number) * (1024 if binary else 1000) ** power)
    elif is_whole(memory):
        limit = int(memory)
    else:
        raise ParameterError(f"memory must be a number of bytes, or as '4GB', '500MB' or '2GiB', not {memory!r}")
    if limit < _LEAST:
        raise ParameterError(f"memory must be at least 1MB, not {memory!r}: write the unit, as in '4GB'")
    return limit


def told_bytes(count: float) -> str:
    """A number of bytes for people."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"


def bytes_of(queries: Queries) -> int:
    """The memory that queries take: features, grades, query ids and document ids."""
    x: Any = queries.X
    features = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes if sp.issparse(x) else x.nbytes
    ids = queries.qid.nbytes + (0 if queries.doc_ids is None else queries.doc_ids.nbytes)
    return int(features) + ids + 8 * queries.n_documents
