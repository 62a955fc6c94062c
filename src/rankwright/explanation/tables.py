"""How explanations look: tables as plain text of up to a hundred columns, or for a terminal."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankwright.evaluation.tables import plain_table
from rankwright.html import Block, notebook_html
from rankwright.types import Array

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rankwright.explanation.explanation import Explanation
    from rankwright.explanation.rise import Change, RankedDocument, Rise, Why

_TOP = 10  # documents, or features, that a table shows
_FEATURES_PER_DOCUMENT = 3
_MOST_LETTERS = 20  # of a name
_COLUMNS = 100
_SPREADS = (
    "sd: the change in standard deviations of the feature within queries. seen: whether a document of this query has "
    "such a value (query), only documents of other queries (data), or none (never)."
)


Row = Sequence[str]


@dataclass(frozen=True)
class Section(Block):
    """A block of which on a narrow terminal the column ``folds`` is broken into lines."""

    folds: int | None = None


class Told(ABC):
    """What prints as sections, one below the other: as text, on a terminal fitted to its width, and in a notebook."""

    @abstractmethod
    def _sections(self) -> list[Section]:
        """What is shown."""

    def __str__(self) -> str:
        return "\n\n".join(map(_plain_section, self._sections()))

    def __rich__(self) -> RenderableType:
        return rich(self._sections())

    def _repr_html_(self) -> str:
        return notebook_html(*self._sections())

    __repr__ = __str__


def _plain_section(section: Section) -> str:
    lines = textwrap.wrap(section.title, _COLUMNS)
    if section.rows:
        rows = section.rows if section.folds is None else _folded(section.header, section.rows, section.folds)
        lines.append(plain_table(section.header, rows, title="", texts=section.texts))
    for note in section.notes:
        lines += textwrap.wrap(note, _COLUMNS)
    return "\n".join(lines)


def _folded(header: Row, rows: Sequence[Row], column: int) -> list[Row]:
    """The rows with one column broken into lines, so that all columns together fit."""
    others = [max(map(len, cells)) + 2 for i, cells in enumerate(zip(header, *rows, strict=True)) if i != column]
    folded: list[Row] = []
    for row in rows:
        first, *more = textwrap.wrap(row[column], max(20, _COLUMNS - sum(others))) or [""]
        folded.append((*row[:column], first, *row[column + 1 :]))
        folded += [(*[""] * column, line, *[""] * (len(row) - column - 1)) for line in more]
    return folded


def rich(sections: Sequence[Section]) -> RenderableType:
    """Sections for a terminal."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for section in sections:
        parts += [*([Text()] if parts else []), Text(section.title, style="bold")]
        if section.rows:
            parts.append(_rich_table(section))
        parts += [Text(note, style="dim") for note in section.notes]
    return Group(*parts)


def _rich_table(section: Section) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for i, name in enumerate(section.header):
        justify: Literal["left", "right"] = "left" if i in section.texts else "right"
        table.add_column(name, justify=justify, no_wrap=i != section.folds)
    for row in section.rows:
        table.add_row(*map(Text, row))  # as Text, brackets in names are no markup
    return table


# A query


def explanation_sections(explanation: Explanation, top: int = _TOP) -> list[Section]:
    """What is known of a query: its documents, what would make each rise, and what pulls good ones down."""
    sections = [Section(_headline(explanation)), _documents(explanation, top)]
    if len(explanation.documents) > 1:
        sections.append(_rises(explanation, top))
    return [*sections, _pulls(explanation, top)]


def _headline(explanation: Explanation) -> str:
    m, unused = len(explanation.documents), len(explanation.unused_features)
    used = f"{len(explanation.features):,} of {len(explanation.features) + unused:,} features used"
    documents = f"{m:,} document{'s' * (m != 1)}"
    value = f"{explanation.measure} {_measured(explanation.value)}"
    return f"query {explanation.query_id!r}: {documents}, {value}, ranked by {explanation.ranker}, {used}"


def _documents(explanation: Explanation, top: int) -> Section:
    shown = explanation.documents[:top]
    scores = _aligned([document.score for document in shown])
    rows = [
        (*_document_cells(document), score, _strongest(explanation.features, contributions))
        for document, score, contributions in zip(shown, scores, explanation.contributions, strict=False)
    ]
    return Section(
        "Documents by score, and the features that move each score away from the mean score of the query, "
        f"{explanation.mean_score:.4g}",
        ("rank", "document", "grade", "ideal", "score", "by"),
        rows,
        texts=(1, 5),
        folds=5,
        notes=[*_further_down(explanation, top), *([explanation.note] if explanation.note else [])],
    )


def _document_cells(document: RankedDocument) -> tuple[str, str, str, str]:
    grade = "–" if document.grade is None else f"{document.grade:g}"
    return str(document.rank), _short(document.name), grade, _ideal(document)


def _ideal(document: RankedDocument) -> str:
    if document.ideal is None:
        return "–"
    first, last = document.ideal
    return str(first) if first == last else f"{first}–{last}"


def _strongest(features: Sequence[str], contributions: Array) -> str:
    """The features that contribute most, as text."""
    places = _largest(contributions, _FEATURES_PER_DOCUMENT)
    return ", ".join(f"{_short(features[place])} {_signed(contributions[place])}" for place in places)


def _further_down(explanation: Explanation, top: int) -> list[str]:
    """How many documents are not shown, and which of them ought to be."""
    rest = explanation.documents[top:]
    if not rest:
        return []
    missed = [document for document in rest if document.ideal is not None and document.ideal[1] <= top]
    told = f"{len(rest):,} more document{'s' * (len(rest) != 1)}"
    if missed:
        names = ", ".join(f"{_short(document.name)} (rank {document.rank})" for document in missed[:top])
        told += f"; an ideal ranking has {names} among the first {top}"
    return [told]


def _rises(explanation: Explanation, top: int) -> Section:
    rows = []
    for document in explanation.documents[1:top]:
        rise = explanation.rise(document.rank)
        change = rise.cheapest
        told = ("none is enough", "", "", "", "") if change is None else _change_cells(change)
        rows.append((f"{document.rank} → {rise.rank}", f"{rise.gap:.4g}", *told, _signed(rise.after - rise.before)))
    return Section(
        "Smallest single-feature change that moves each document up one place.",
        ("rank", "gap", "feature", "now", "must be", "sd", "seen", f"Δ {explanation.measure}"),
        rows,
        texts=(2,),
        notes=[_SPREADS],
    )


def _pulls(explanation: Explanation, top: int) -> Section:
    wrong, pairs = explanation.n_wrong_pairs, explanation.n_pairs
    if not wrong:
        told = (
            f"all {pairs:,} pairs of documents are in the right order"
            if pairs
            else "no document is judged better than another"
        )
        return Section(f"No feature pulls good documents down: {told}")
    rows = [
        (_short(pull.feature), _signed(pull.wrong), _signed(pull.right) if pairs > wrong else "–")
        for pull in explanation.pulls[:top]
        if pull.wrong < 0
    ]
    return Section(
        f"Features that pull good documents down: {wrong:,} of {pairs:,} pairs of documents are in the wrong order or "
        "tied",
        ("feature", "wrong pairs", "other pairs"),
        rows,
        notes=[
            "What the feature adds to the score of the better document of a pair minus what it adds to the score of "
            "the worse one, as a mean over the pairs."
        ],
    )


# A document


def why_sections(why: Why, top: int = _TOP) -> list[Section]:
    """What puts a document above or below another, or the mean."""
    other = "the mean" if why.other is None else _short(why.other.name)
    side = "above" if why.difference >= 0 else "below"
    title = f"Why {_short(why.document.name)} (rank {why.document.rank}) is {abs(why.difference):.4g} {side} {other}"
    if why.other is not None:
        title += f" (rank {why.other.rank})"
    places = [place for place in _largest(why.contributions, top) if why.contributions[place]]
    contributions = _aligned([why.contributions[place] for place in places], "+")
    rows = [
        (_short(why.features[place]), told, _value(why.values[place]), _value(why.other_values[place]))
        for place, told in zip(places, contributions, strict=True)
    ]
    more = np.count_nonzero(why.contributions) - len(places)
    rest = why.difference - sum(why.contributions[place] for place in places)
    notes = [f"{more:,} more features together add {_signed(rest)}"] if more else []
    return [Section(title, ("feature", "adds", "its value", other), rows, notes=notes)]


def rise_sections(rise: Rise, top: int = _TOP) -> list[Section]:
    """What is missing, why, and what would do: one feature, or several together."""
    return [Section(_rise_headline(rise)), *why_sections(rise.why, top), _single(rise, top), _joint(rise, top)]


def _rise_headline(rise: Rise) -> str:
    name, passed = _short(rise.document.name), _short(rise.passed.name)
    gap = f"by more than {rise.gap:.4g}" if rise.gap else "by any amount, because the two are tied"
    value = f"{rise.measure} {_measured(rise.before)} → {_measured(rise.after)}"
    return f"{name} from rank {rise.document.rank} to {rise.rank}, past {passed}: its score must rise {gap}; {value}"


def _single(rise: Rise, top: int) -> Section:
    if not rise.single:
        return Section("No change of a single feature is enough")
    reaches_further = any(change.rank != rise.rank for change in rise.single[:top])
    rows = [
        (*_change_cells(change), _range(change), *([str(change.rank)] if reaches_further else []))
        for change in rise.single[:top]
    ]
    more = len(rise.single) - len(rows)
    return Section(
        "Changes of a single feature that are enough",
        ("feature", "now", "must be", "sd", "seen", "range in the data", *(["to rank"] if reaches_further else [])),
        rows,
        notes=[(f"{more:,} more features could do it. " if more else "") + _SPREADS],
    )


def _joint(rise: Rise, top: int) -> Section:
    if rise.why_no_joint:
        return Section(rise.why_no_joint)
    if not rise.joint:
        return Section("No change of several features is enough")
    rows = [(*_change_cells(change), _signed(change.gain)) for change in rise.joint[:top]]
    more = len(rise.joint) - len(rows)
    further = f"; it reaches rank {rise.joint[0].rank}" if rise.joint[0].rank != rise.rank else ""
    return Section(
        f"The smallest change of all features together, {rise.joint_spreads:.3g} sd{further}",
        ("feature", "now", "must be", "sd", "seen", "adds"),
        rows,
        notes=[f"and smaller changes of {more:,} more"] if more else [],
    )


def _change_cells(change: Change) -> tuple[str, str, str, str, str]:
    return (_short(change.feature), *_from_to(change), _spreads(change), change.seen)


def _from_to(change: Change) -> tuple[str, str]:
    """The value now and the one needed, with as many digits as it takes to tell them apart."""
    digits = next((n for n in range(4, 17) if f"{change.value:.{n}g}" != f"{change.bound:.{n}g}"), 4)
    sign = ("≥" if change.inclusive else ">") if change.goes_up else ("≤" if change.inclusive else "<")
    told = f"{sign} {change.bound:.{digits}g}"
    if np.isfinite(change.until):
        told += f", {'≤' if change.goes_up else '>'} {change.until:.{digits}g}"
    return _value(change.value, digits), told


def _spreads(change: Change) -> str:
    return f"{change.spreads:+.3g}" if np.isfinite(change.spreads) else "–"


def _range(change: Change) -> str:
    return f"{change.low:.4g} – {change.high:.4g}" if change.low <= change.high else "–"


# Cells


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}…"


def _value(value: float, digits: int = 4) -> str:
    return "missing" if np.isnan(value) else f"{value:.{digits}g}"


def _signed(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:+.3g}" if value else "0"


def _measured(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.4f}"


def _largest(values: Array, most: int) -> list[int]:
    """Places of the values farthest from 0, the first of equals first; values of 0 are left out."""
    places = np.argsort(-np.abs(values), kind="stable")[:most].tolist()
    return [place for place in places if values[place]]


def _aligned(values: Sequence[float], sign: str = "") -> list[str]:
    """Numbers with the same decimals, so that the largest has four digits."""
    largest = max(map(abs, values), default=0.0)
    if largest and not 1e-4 <= largest < 1e7:
        return [f"{value:{sign}.3e}" for value in values]
    decimals = max(0, 3 - int(np.floor(np.log10(largest)))) if largest else 1
    return [f"{value:{sign}.{decimals}f}" for value in values]
