"""CatBoost's column description (``train.cd``): what the columns of a file without a line of names are.

Each line is ``index<TAB>type<TAB>name``, the index counted from 0 and the name optional. Columns that it does not
mention are numeric features, as CatBoost has it.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rankwright.data.content import Content
from rankwright.data.table_columns import TableColumns
from rankwright.errors import ParseError

_LABEL, _GROUP, _DOCUMENT, _NUMBER = "Label", "GroupId", "SampleId", "Num"
_CATEGORIES = ("Categ", "Text")
# What training with CatBoost would go by, and Rankwright does not.
_WEIGHTS = ("Weight", "GroupWeight", "Baseline")
_PASSED_OVER = ("Auxiliary", "SubgroupId", "Timestamp", "Position", "NumVector")
_OTHER_NAMES = {"Target": _LABEL, "QueryId": _GROUP, "DocId": _DOCUMENT}
_TYPES = (_LABEL, _GROUP, _DOCUMENT, _NUMBER, *_CATEGORIES, *_WEIGHTS, *_PASSED_OVER)
_NAME_OF = {_LABEL: "label", _GROUP: "qid", _DOCUMENT: "doc_id"}


@dataclass(frozen=True)
class Description:
    """Type and name of the columns that are described, by their index."""

    path: Path
    types: dict[int, str]
    given_names: dict[int, str]

    def has_names(self, first_row: Sequence[str]) -> bool:
        """Whether the first row of a file is names after all: where the grade stands, there is no number."""
        place = next(index for index, kind in self.types.items() if kind == _LABEL)
        try:
            return place < len(first_row) and math.isnan(float(first_row[place]))
        except ValueError:
            return True

    def names(self, first_row: Sequence[str]) -> tuple[str, ...]:
        """A name for each column of a file with such a first row; features without one are f1, f2, …"""
        width = len(first_row)
        outside = next((index for index in sorted(self.types) if index >= width), None)
        if outside is not None:
            raise ParseError(self.path, f"there is a column {outside}, but rows of the data have {width} fields")
        names: list[str] = []
        n_features = 0
        for index in range(width):
            kind = self.types.get(index, _NUMBER)
            is_feature = kind == _NUMBER or kind in _CATEGORIES
            n_features += is_feature
            usual = _NAME_OF.get(kind, f"f{n_features}" if is_feature else f"{kind}{index}")
            if self.has_names(first_row):
                usual = first_row[index]
            names.append(self.given_names.get(index, usual))
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            raise ParseError(self.path, f"two columns are named {twice!r}")
        return tuple(names)

    def parts(self, asked: TableColumns, names: Sequence[str]) -> TableColumns:
        """What was asked for, with label, qid and doc as described, and the others left out that are no features."""
        of_type = {kind: names[index] for index, kind in self.types.items() if kind in _NAME_OF}
        unused = [names[i] for i, kind in self.types.items() if kind in _WEIGHTS or kind in _PASSED_OVER]
        features = asked.features
        if not asked.exact and unused and (features is None or features[0].startswith(("-", "!"))):
            features = (*(f"-{name}" for name in unused), *(features or ()))
        return replace(
            asked,
            label=asked.label or of_type[_LABEL],
            qid=asked.qid or of_type[_GROUP],
            doc=asked.doc or of_type.get(_DOCUMENT),
            features=features,
        )

    def tell_unused(self, data: Path) -> None:
        """Warn of weights and baselines."""
        unused = [f"{kind} (column {index})" for index, kind in sorted(self.types.items()) if kind in _WEIGHTS]
        if unused:
            warnings.warn(f"{data}: not used: {', '.join(unused)} of {self.path.name}", stacklevel=2)


def description_beside(path: Path) -> Path | None:
    """The description of the same name in the same folder: ``train.cd`` of ``train.tsv``, if there is one."""
    stem = path.name.removesuffix(".gz")
    names = (f"{Path(stem).stem}.cd", f"{stem}.cd")
    return next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)


def read_description(path: str | os.PathLike[str]) -> Description:
    """A column description, checked."""
    content = Content(path)
    types: dict[int, str] = {}
    names: dict[int, str] = {}
    with content.open() as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                fields = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n").split("\t")
            except UnicodeDecodeError:
                raise ParseError(path, "this is not UTF-8 text", line=number) from None
            index, kind = _index_and_type(content.path, fields, number)
            if index in types:
                raise ParseError(path, f"column {index} is described twice", line=number)
            types[index] = kind
            if len(fields) > 2 and fields[2].strip():
                names[index] = fields[2].strip()
    for kind, meaning in ((_LABEL, "the grades"), (_GROUP, "the queries")):
        count = list(types.values()).count(kind)
        if count != 1:
            raise ParseError(path, f"one column must be {kind}, for {meaning}; there are {count}")
    return Description(content.path, types, names)


def _index_and_type(path: Path, fields: Sequence[str], line: int) -> tuple[int, str]:
    if len(fields) not in (2, 3) or not (fields[0].isascii() and fields[0].strip().isdecimal()):
        raise ParseError(path, "expected the index of a column, a tab and its type, such as 0<TAB>Label", line=line)
    kinds = {kind.lower(): kind for kind in _TYPES} | {name.lower(): kind for name, kind in _OTHER_NAMES.items()}
    kind = kinds.get(fields[1].strip().lower())
    if kind is None:
        raise ParseError(path, f"{fields[1].strip()!r} is not one of the types {', '.join(_TYPES)}", line=line)
    return int(fields[0]), kind
