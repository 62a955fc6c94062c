"""What was asked for of a table: which columns are what, and which of them are features.

Names of features can be patterns: ``*`` stands for any letters and ``?`` for one, and ``-name`` or ``!name`` leaves
out. A column that has exactly the name that was asked for is always meant itself. ``column=value`` is 1 where the
column has this value, and 0 elsewhere: that is how columns of text are encoded (one-hot).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn

from rankwright.errors import DataError, ParameterError

_LEAVE_OUT = ("-", "!")


@dataclass(frozen=True)
class TableColumns:
    """The columns that were named; None: by their usual names.

    ``exact``: ``features`` are those of a model or of training data, so that none of them is a pattern, and those that
    the table lacks are simply not read. ``must_be_judged``: without a column of grades there is an error; else, if none
    is named, all grades are 0.
    """

    label: str | None = None
    qid: str | None = None
    doc: str | None = None
    features: tuple[str, ...] | None = None
    one_hot: tuple[str, ...] = ()
    exact: bool = False
    must_be_judged: bool = True

    @classmethod
    def of(
        cls,
        *,
        label: str | None = None,
        qid: str | None = None,
        doc: str | None = None,
        features: Sequence[str] | None = None,
        one_hot: Sequence[str] | None = None,
    ) -> TableColumns:
        """The same from the parameters of a function, checked for the one mistake that is easily made."""
        return cls(label, qid, doc, _names("features", features), _names("one_hot", one_hot) or ())

    def for_features(self, names: Iterable[str]) -> TableColumns:
        """The same columns, but exactly these features, as far as they are there."""
        return replace(self, features=tuple(names), one_hot=(), exact=True)

    def for_model(self, model: Any) -> TableColumns:
        """The same of documents that a model is to score: with the features that it names, and perhaps no grades."""
        if self.features is not None or self.one_hot:
            raise ParameterError("for_model: the model tells which features to take: leave features and one_hot out")
        names = getattr(model, "feature_names_in_", None)
        asked = self if names is None else self.for_features(map(str, names))
        return replace(asked, must_be_judged=False)

    def named(self) -> dict[str, str]:
        """The label, query and document columns that were named, by their parameters."""
        columns = {"label": self.label, "qid": self.qid, "doc": self.doc}
        return {parameter: name for parameter, name in columns.items() if name is not None}


def _names(parameter: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(given, str):
        raise ParameterError(f"{parameter} must be a sequence of column names, not the string {given!r}")
    return None if given is None else tuple(given)


class FeatureColumn(NamedTuple):
    """A column that was chosen.

    ``is_named``: by its own name, not by a pattern, so that it must be a feature. ``values``: None for numbers; those
    that become a feature each, where the column is encoded; none of them: all that are there.
    """

    column: str
    is_named: bool = False
    values: tuple[str, ...] | None = None


def chosen_features(names: Sequence[str], asked: TableColumns, taken: Collection[str]) -> list[FeatureColumn]:
    """The columns that are features, among columns of these names of which some are taken for another part."""
    if asked.exact:
        return _exactly(names, asked.features or ())
    free = [name for name in names if name not in taken]
    for name in asked.one_hot:
        if name not in names:
            raise DataError(f"there is no column {name!r} (one_hot); there are {listed(names)}")
        if name in taken:
            raise DataError(f"column {name!r} is named twice, as one_hot and as label, qid or doc")
    wanted = _wanted(names, free, asked.features)
    columns = {each.column for each in wanted}
    wanted += [FeatureColumn(name) for name in asked.one_hot if name not in columns]
    return [FeatureColumn(each.column, True, ()) if each.column in asked.one_hot else each for each in wanted]


def _wanted(names: Sequence[str], free: Sequence[str], words: Sequence[str] | None) -> list[FeatureColumn]:
    if words is None:
        return [FeatureColumn(name) for name in free]
    begins_with_all = bool(words) and _is_left_out(words[0], names)
    chosen = [FeatureColumn(name) for name in free] if begins_with_all else []
    for word in words:
        if _is_left_out(word, names):
            gone = set(_matching(word[1:], names, word))
            chosen = [each for each in chosen if each.column not in gone]
        elif word in names:
            chosen = [each for each in chosen if each.column != word or each.is_named]
            chosen.append(FeatureColumn(word, True))
        elif "*" in word or "?" in word:
            known = {each.column for each in chosen}
            chosen += [FeatureColumn(name) for name in _matching(word, free, word) if name not in known]
        else:
            chosen.append(_of_value(word, names) or _unknown(word, names))
    return chosen


def _is_left_out(word: str, names: Collection[str]) -> bool:
    return word.startswith(_LEAVE_OUT) and word not in names


def _matching(pattern: str, names: Sequence[str], word: str) -> list[str]:
    wild = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    found = [name for name in names if name == pattern or re.fullmatch(wild, name, re.DOTALL)]
    return found or _unknown(word, names)


def _exactly(names: Sequence[str], features: Sequence[str]) -> list[FeatureColumn]:
    known = set(names)
    found: list[FeatureColumn] = []
    for feature in features:
        each = FeatureColumn(feature, True) if feature in known else _of_value(feature, known)
        if each is None:
            continue
        before = found[-1] if found else None
        if each.values and before is not None and before.values and before.column == each.column:
            found[-1] = FeatureColumn(each.column, True, before.values + each.values)  # looked at only once
        else:
            found.append(each)
    return found


def _of_value(feature: str, names: Collection[str]) -> FeatureColumn | None:
    """``column=value``; where both have a ``=``, the column of the longest name."""
    for end in range(len(feature) - 1, 0, -1):
        if feature[end] == "=" and feature[:end] in names:
            return FeatureColumn(feature[:end], True, (feature[end + 1 :],))
    return None


def _unknown(word: str, names: Sequence[str]) -> NoReturn:
    raise DataError(f"there is no column {word!r} (features); there are {listed(names)}: name the right one")


def listed(names: Iterable[str], at_most: int = 20) -> str:
    """Column names for an error message."""
    told = list(names)
    more = f" and {len(told) - at_most} more" if len(told) > at_most else ""
    return (", ".join(map(repr, told[:at_most])) or "no columns at all") + more
