"""What would have to change for a document to rise, and why one document is above another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rankwright.evaluation.evaluation import json_number
from rankwright.explanation.moves import Moves
from rankwright.explanation.parts import Parts
from rankwright.explanation.ranges import Ranges
from rankwright.explanation.tables import Section, Told, rise_sections, why_sections
from rankwright.measures.measure import Measure
from rankwright.types import Array

Seen = Literal["query", "data", "never"]


@dataclass(frozen=True)
class RankedDocument:
    """A document in its place.

    Attributes
    ----------
    rank : its place by score, from 1; of equal scores, the first row comes first
    row : its row in the data, from 0
    doc_id : its id, if the data have ids
    grade : its grade, or its place in a full ranking; None with a preference graph
    ideal : the first and the last place that it can have in an ideal ranking; None with a preference graph
    score : by the model
    """

    rank: int
    row: int
    doc_id: str | None
    grade: float | None
    ideal: tuple[int, int] | None
    score: float

    @property
    def name(self) -> str:
        """Its id, or its row."""
        return f"row {self.row}" if self.doc_id is None else self.doc_id

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**vars(self), "ideal": None if self.ideal is None else list(self.ideal)}


@dataclass(frozen=True, eq=False, repr=False)
class Why(Told):
    """What each feature adds to the score of a document, beyond another document or the mean of the query.

    Attributes
    ----------
    document, other : other is None for the mean
    features : names
    contributions : of each feature; they add up to the difference of the scores
    values, other_values : what the features are
    """

    document: RankedDocument
    other: RankedDocument | None
    features: tuple[str, ...]
    contributions: Array
    values: Array
    other_values: Array

    @property
    def difference(self) -> float:
        """Of the scores."""
        return float(self.contributions.sum())

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; features in the order of the model."""
        return {
            "document": self.document.to_dict(),
            "other": None if self.other is None else self.other.to_dict(),
            "difference": self.difference,
            "contributions": dict(zip(self.features, self.contributions.tolist(), strict=True)),
        }

    def _sections(self) -> list[Section]:
        return why_sections(self)


@dataclass(frozen=True)
class Change:
    """A feature of a document, and what it must become.

    Attributes
    ----------
    feature : its name
    value : what it is now; NaN if it is missing
    bound : how far it must go
    inclusive : whether the bound itself is far enough; else it must be passed
    until : how far it may go; infinite unless a stump takes back what others gave
    spreads : bound − value, in standard deviations of the feature within queries; infinite if it has none
        (Of a missing feature, from the value that would score the same.)
    seen : whether values that are far enough lie between the least and the greatest of this query, of other queries
        ("data"), or of none
    low, high : the least and the greatest value in the data
    gain : what the score gains
    rank : the place that the document comes to
    """

    feature: str
    value: float
    bound: float
    inclusive: bool
    until: float
    spreads: float
    seen: Seen
    low: float
    high: float
    gain: float
    rank: int

    @property
    def goes_up(self) -> bool:
        """Whether the feature has to rise."""
        return self.until > self.bound

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        told = dict(vars(self))
        for name in ("value", "until", "spreads", "low", "high"):
            told[name] = told[name] if np.isfinite(told[name]) else None
        return {**told, "goes_up": self.goes_up}


@dataclass(frozen=True, eq=False, repr=False)
class Rise(Told):
    """What would have to change for a document to rise, all others staying as they are.

    Attributes
    ----------
    document : which is to rise
    passed : the one that now has the place asked for
    rank : the place that the document comes to, just above it; higher than asked for if others are tied there
    gap : what its score lacks; it needs more than this
    measure, before, after : what a measure says of the query now, and with the document risen
    why : why the one is above the other
    """

    document: RankedDocument
    passed: RankedDocument
    rank: int
    gap: float
    measure: Measure
    before: float
    after: float
    why: Why
    _parts: Parts
    _of_query: Ranges
    _of_data: Ranges
    _rank_after: Callable[[Moves], int]

    @cached_property
    def _single(self) -> Moves:
        """Moves that suffice alone: within what has been seen first, and the shorter first."""
        moves = self._parts.single_moves(self.why.other_values, self.why.values, self.gap)
        distance = np.abs(moves.in_spreads(self._of_data.spread))
        return moves.take(np.lexsort((distance, self._seen(moves) == 2)))

    @property
    def cheapest(self) -> Change | None:
        """The first of ``single``."""
        return next(iter(self._changes(self._single.take(np.arange(min(1, len(self._single)))))), None)

    @cached_property
    def single(self) -> tuple[Change, ...]:
        """Changes that suffice alone, one of each feature that can: those to values that have been seen first, and
        among them the smaller first, in spreads.
        """
        return self._changes(self._single)

    @cached_property
    def _joint(self) -> Moves:
        return self._parts.joint_moves(self.why.other_values, self.why.values, self.gap, self._of_data.spread)

    @cached_property
    def joint(self) -> tuple[Change, ...]:
        """The changes that suffice together with the least Σ spreads², the largest first; none if none suffice.

        Features that are the same for all documents of every query stay as they are.
        """
        moves = self._joint
        by_size = np.argsort(-np.abs(moves.in_spreads(self._of_data.spread)), kind="stable")
        rank = self._rank_after(moves)
        return self._changes(moves.take(by_size), [rank] * len(moves))

    @property
    def why_no_joint(self) -> str:
        """Why changes of several features together are not looked for; empty if they are."""
        return self._parts.why_no_joint

    @property
    def joint_spreads(self) -> float:
        """√Σ spreads² of ``joint``; NaN if there is none."""
        return float(np.linalg.norm([change.spreads for change in self.joint])) if self.joint else np.nan

    def _seen(self, moves: Moves) -> Any:
        """0, 1 or 2: in this query, in the data, never."""
        in_query = moves.within(self._of_query.low, self._of_query.high)
        return np.where(in_query, 0, np.where(moves.within(self._of_data.low, self._of_data.high), 1, 2))

    def _changes(self, moves: Moves, ranks: list[int] | None = None) -> tuple[Change, ...]:
        if ranks is None:
            ranks = [self._rank_after(moves.take(np.array([move]))) for move in range(len(moves))]
        words: tuple[Seen, ...] = ("query", "data", "never")
        columns = (
            [self.why.features[place] for place in moves.places.tolist()],
            self.why.other_values[moves.places].tolist(),
            moves.bounds.tolist(),
            moves.inclusive.tolist(),
            moves.untils.tolist(),
            moves.in_spreads(self._of_data.spread).tolist(),
            [words[code] for code in self._seen(moves).tolist()],
            self._of_data.low[moves.places].tolist(),
            self._of_data.high[moves.places].tolist(),
            moves.gains.tolist(),
            ranks,
        )
        return tuple(Change(*told) for told in zip(*columns, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "document": self.document.to_dict(),
            "passed": self.passed.to_dict(),
            "rank": self.rank,
            "gap": self.gap,
            "measure": str(self.measure),
            "before": json_number(self.before),
            "after": json_number(self.after),
            "why": self.why.to_dict()["contributions"],
            "single": [change.to_dict() for change in self.single],
            "joint": [change.to_dict() for change in self.joint],
            "joint_spreads": json_number(self.joint_spreads),
        }

    def _sections(self) -> list[Section]:
        return rise_sections(self)
