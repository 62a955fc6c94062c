"""What a ranker looks at before it learns, in one reading of the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwright.data.fingerprints import Fingerprints, query_fingerprints
from rankwright.data.finite import check_magnitude
from rankwright.data.learnable import says_an_order, why_nothing_to_learn
from rankwright.data.part import Part
from rankwright.data.streams.streamed import AnyQueries
from rankwright.data.width import check_width, n_values
from rankwright.engines import engine_of
from rankwright.preparation.missing import has_missing


class FirstLook(NamedTuple):
    """``fingerprints`` of the queries; why nothing can be learned, if so; whether features are missing."""

    fingerprints: Fingerprints
    nothing_to_learn: str | None
    has_missing: bool


class _Seen(NamedTuple):
    fingerprints: Fingerprints
    n_values: int
    says_an_order: bool
    has_missing: bool


def first_look(queries: AnyQueries, *, takes_powers: bool, name: str = "") -> FirstLook:
    """Look at training data; refuses more features than the data are worth, and if ``takes_powers`` too large ones.

    ``name`` is what errors begin with.
    """
    parts: list[_Seen] = list(engine_of(queries).each(_look, takes_powers))
    check_width(queries, sum(part.n_values for part in parts), name)
    return FirstLook(
        np.unique(np.concatenate([part.fingerprints for part in parts])),
        None if any(part.says_an_order for part in parts) else why_nothing_to_learn(queries),
        any(part.has_missing for part in parts),
    )


def _look(part: Part, takes_powers: bool) -> _Seen:
    queries = part.queries
    if takes_powers:
        check_magnitude(queries)
    return _Seen(query_fingerprints(queries), n_values(queries.X), says_an_order(queries), has_missing(queries.X))


def any_missing(queries: AnyQueries) -> bool:
    """Whether features are missing somewhere, where nothing else has to be known."""
    return any(list(engine_of(queries).each(_any_missing)))


def _any_missing(part: Part) -> bool:
    return has_missing(part.queries.X)
