"""Rows that nothing divides into queries are taken as one query: a warning says so, and what to do."""

from __future__ import annotations

import sys
import warnings

from rankwright.data.queries import Queries
from rankwright.errors import OneQueryWarning
from rankwright.judgments.supervision import FullRanking


def warn_of_one_query(queries: Queries) -> None:
    """Warn if all rows are one query because nobody has said which query they belong to.

    A single row is one query, and ranks 1, 2, … of all rows leave no doubt either.
    """
    if not isinstance(queries.supervision, FullRanking):
        warn_of_reason(queries.grouping.why_one_query, queries.n_documents)


def warn_of_reason(why: str | None, n_documents: int) -> None:
    """Warn for this reason, if there is one."""
    if why is not None and n_documents > 1:
        warnings.warn(why, OneQueryWarning, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """How far up the line is that called this library: rankers and readers get here by ways of different length."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "rankwright":
        frame, level = frame.f_back, level + 1
    return level
