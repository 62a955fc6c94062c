"""The option --costs: what each feature costs, from a CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rankwright.cli.output import reading
from rankwright.errors import DataError, ParseError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries

_MOST_DIGITS = 10  # of a feature's number


def read_costs(path: Path, queries: Queries) -> list[float]:
    """The cost of every feature from a CSV file with the columns feature (a number from 1, or a name) and cost."""
    with reading(path):
        return _costs(path, queries)


def _costs(path: Path, queries: Queries) -> list[float]:
    names = {name: column for column, name in enumerate(queries.feature_names)}
    costs: dict[int, float] = {}
    for line, feature, cost in _cost_lines(path):
        column = names.get(feature, _number_of(feature) - 1)
        if not 0 <= column < queries.n_features:
            raise ParseError(path, f"the data have no feature {feature!r}", line=line)
        if column in costs:
            raise ParseError(path, f"feature {feature!r} is listed twice", line=line)
        costs[column] = _cost(cost, path, line)
    missing = next((column for column in range(queries.n_features) if column not in costs), None)
    if missing is not None:
        raise DataError(f"{path}: there is no cost for feature {missing + 1}")
    return [costs[column] for column in range(queries.n_features)]


def _cost_lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, feature and cost, as they stand in the file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, restval="")
            if not {"feature", "cost"} <= set(table.fieldnames or ()):
                raise ParseError(path, "the first line must name the columns feature and cost", line=1)
            for row in table:
                if None in row:
                    raise ParseError(path, "the line has more fields than the first one", line=table.line_num)
                yield table.line_num, row["feature"].strip(), row["cost"].strip()
    except (UnicodeDecodeError, csv.Error) as error:
        raise ParseError(path, f"this is not a CSV file: {error}") from None


def _number_of(feature: str) -> int:
    """A feature's number; 0, which no feature has, if it is none."""
    return int(feature) if feature.isdecimal() and len(feature) <= _MOST_DIGITS else 0


def _cost(text: str, path: Path, line: int) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = math.nan
    if not 0 < cost < math.inf:
        raise ParseError(path, f"a cost must be a number above 0, not {text!r}", line=line)
    return cost
