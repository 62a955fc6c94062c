"""Linear equations in fractions: what a linear programme found in floating point, as it is exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = list[Fraction]


def reduced(rows: Sequence[Sequence[Fraction]]) -> dict[int, Row]:
    """Gauss–Jordan: rows that span the same space, by the column that is 1 in this row and 0 in all others."""
    pivots: dict[int, Row] = {}
    for given in rows:
        row = list(given)
        for column, other in pivots.items():
            row = _without(row, other, column)
        lead = next((column for column, value in enumerate(row) if value), None)
        if lead is not None:
            row = [value / row[lead] for value in row]
            pivots = {column: _without(other, row, lead) for column, other in pivots.items()}
            pivots[lead] = row
    return pivots


def _without(row: Row, other: Row, column: int) -> Row:
    factor = row[column]
    return [value - factor * part if part else value for value, part in zip(row, other, strict=True)] if factor else row


def solution(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> Row | None:
    """The only x with rows · x = right; None if there is none, or more than one."""
    if not rows:
        return None
    size = len(rows[0])
    pivots = reduced([[*row, value] for row, value in zip(rows, right, strict=True)])
    return [pivots[column][size] for column in range(size)] if sorted(pivots) == list(range(size)) else None


def corrected(x: Sequence[Fraction], pivots: dict[int, Row]) -> Row:
    """Reduced rows · x = 0: the components at the pivots follow from the others."""
    exact = list(x)
    for column, row in pivots.items():
        exact[column] = -sum((part * x[k] for k, part in enumerate(row) if part and k != column), Fraction(0))
    return exact
