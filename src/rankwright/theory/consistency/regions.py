"""Regions of distributions where the same orders are optimal: their centres, and corners of them (see `branching`).

The regions are polytopes: E[value of σ] − E[value of σ'] ≥ 0 is linear in p.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from rankwright.theory.consistency.orders import Distribution, Mask, OrderTable
from rankwright.theory.consistency.programmes import MARGIN, exact_distribution, simplified
from rankwright.theory.consistency.standards import Table, undominated
from rankwright.types import Array

_CENTRE_DENOMINATOR = 1000


def centres(table: OrderTable) -> Iterator[Distribution]:
    """A point within each region, far from its walls and those of the simplex."""
    kinds = np.array(undominated([table.gains(k) for k in range(len(table.orders))]), dtype=np.float64)
    count = kinds.shape[1]
    for k, own in enumerate(kinds):
        walls = np.vstack([np.delete(kinds, k, axis=0) - own, -np.eye(count)])
        solved = linprog(
            np.append(np.zeros(count), -1.0),
            A_ub=np.hstack([walls, np.ones((len(walls), 1))]),
            b_ub=np.zeros(len(walls)),
            A_eq=np.append(np.ones(count), 0.0)[None],
            b_eq=[1.0],
            bounds=(0, None),
            method="highs-ds",
        )
        if solved.status == 0 and solved.x[-1] > MARGIN:
            centre = simplified(solved.x[:-1].tolist(), _CENTRE_DENOMINATOR)
            if centre is not None:
                yield centre


def corner(order: int, direction: Array, table: OrderTable) -> Distribution | None:
    """Of the region where an order is optimal, the corner with the least direction · p."""
    return _corner(_behind(order, table), direction, np.ones(len(direction), dtype=bool), [], table)


def face_corners(p: Distribution, table: OrderTable) -> Iterator[Distribution]:
    """Corners of the least face that p is within: where only more orders are optimal, or fewer supervisions occur."""
    best = np.flatnonzero(table.optimal(p)).tolist()
    behind = _behind(best[0], table)
    tied = [behind[k] for k in best if any(behind[k])]
    support = np.array([share > 0 for share in p])
    for k in np.flatnonzero(support):
        for sign in (1.0, -1.0):
            found = _corner(behind, sign * np.eye(len(p))[k], support, tied, table)
            if found is not None:
                yield found


def _behind(order: int, table: OrderTable) -> Table:
    own = table.gains(order)
    others = (table.gains(k) for k in range(len(table.orders)))
    return [[one - two for one, two in zip(other, own, strict=True)] for other in others]


def _corner(behind: Table, direction: Array, support: Mask, tied: Table, table: OrderTable) -> Distribution | None:
    rows = np.unique(np.array(behind, dtype=np.float64), axis=0)
    equal = np.vstack([np.ones(len(direction)), *np.array(tied, dtype=np.float64)])
    solved = linprog(
        direction,
        A_ub=rows,
        b_ub=np.zeros(len(rows)),
        A_eq=equal,
        b_eq=np.append(1.0, np.zeros(len(tied))),
        bounds=[(0, None if occurs else 0) for occurs in support],
        method="highs-ds",
    )
    if solved.status != 0:
        return None
    tight = [row for row in behind if abs(np.array(row, dtype=np.float64) @ solved.x) < 1e-9]
    return exact_distribution(solved.x, tight, is_exact=table.is_exact)
