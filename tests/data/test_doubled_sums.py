"""Sums that do not depend on the order, against exact fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from rankwright.data.doubled_sums import DoubledSums


def wild(seed, rows=3000):
    """Columns of like sizes, of very different ones, that cancel, and of decimals."""
    rng = np.random.default_rng(seed)
    cancels = rng.standard_normal(rows // 2)
    return np.column_stack(
        [
            rng.standard_normal(rows),
            rng.standard_normal(rows) * 10.0 ** rng.integers(-12, 12, rows),
            rng.permutation(np.concatenate([cancels, -cancels])),
            np.full(rows, 0.1),
            rng.standard_normal(rows) * 1e300,
        ]
    )


def summed(rows, cuts, by_entries):
    total = None
    for begin, end in pairwise([0, *cuts, len(rows)]):
        part, block = DoubledSums(rows.shape[1]), rows[begin:end]
        if by_entries:
            places, columns = np.nonzero(block)
            part.add_entries(columns, block[places, columns])
        else:
            part.add_rows(block)
        total = part if total is None else total + part
    return total.values


@pytest.mark.parametrize("by_entries", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_any_order_and_cut_is_the_exact_sum_rounded_once(seed, by_entries):
    rows = wild(seed)
    exact = [float(sum(map(Fraction, column.tolist()))) for column in rows.T]
    rng = np.random.default_rng(seed)
    for n_cuts in (0, 1, 6, 200):
        cuts = np.sort(rng.choice(np.arange(1, len(rows)), n_cuts, replace=False)).tolist()
        np.testing.assert_array_equal(summed(rows, cuts, by_entries), exact)
        rows = rng.permutation(rows)


def test_what_is_not_finite_stays_so():
    rows = np.array([[1.0, np.inf, 1e308, np.nan], [2.0, 1.0, 1e308, 1.0]])
    for cuts in ([], [1]):
        np.testing.assert_array_equal(summed(rows, cuts, False), [3.0, np.inf, np.inf, np.nan])


def test_parts_are_not_changed_by_adding_them():
    one, other = DoubledSums(2), DoubledSums(2)
    one.add_rows(np.ones((3, 2)))
    other.add_rows(np.ones((1, 2)))
    assert (one + other).values.tolist() == [4, 4]
    assert (one.values.tolist(), other.values.tolist()) == ([3, 3], [1, 1])
