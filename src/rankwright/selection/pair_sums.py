"""Held-out errors of sets of features from products of pairs of them, H^q_ab = x̂_aᵀx̂_b of each query.

The error of a set S on query q by the model trained without q takes no more than the products of pairs of S: those of
q, and their sums over the other queries. Parts keep the products of the pairs that were looked at as their state, N
numbers for each pair, in memory or on disk; X is read for further pairs only. Nothing depends on λ.

A query that outweighs all others is not subtracted from a sum: sums over the others are added up from both ends, of
the queries of a part, and of the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankwright.data.part import Part
from rankwright.data.state import State, changes_state
from rankwright.engines.centred_sums import CentredSums
from rankwright.engines.driver import share
from rankwright.selection.greedy import sum_over_others
from rankwright.selection.pair_kernels import solve
from rankwright.types import Array, Columns

# A pair of columns, the lower one first, or (c,): the products of a column with the target.
Key = tuple[int, ...]

# Candidates that are rated together: their products are in memory at the same time, for the queries of a part.
_TOGETHER = 32


class PairSums:
    """Products of pairs of columns for every query, wherever the queries are, and what follows from them.

    ``moments`` are those of all queries, ``norms`` ŷ_qᵀŷ_q of each query.
    """

    def __init__(self, data: CentredSums) -> None:
        self._data = data
        self.moments, self.norms = data.moments_and_norms()
        self._sums: dict[Key, Array] = {}  # over the queries of each part
        self._places: dict[Key, tuple[int, int]] = {}  # in which pass it was computed, and as which of its products
        self._n_passes = 0
        self._first_queries = np.zeros(0, np.int64)  # of the parts

    def lacks(self, rows: Iterable[int], column: int) -> bool:
        """Whether products of a column with some others are not at hand."""
        return any(key not in self._sums for key in _row(rows, column))

    def read(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Have the products of all rows with all columns at hand, by one pass over the data if some are not."""
        blocks: dict[tuple[int, ...], list[int]] = {}  # columns by the rows that they lack
        for column in columns:
            if self.lacks(rows, column):
                lacking = tuple(row for row in rows if _pair(row, column) not in self._sums)
                blocks.setdefault(lacking, []).append(column)
        if not blocks:
            return
        wanted = dict.fromkeys(key for some, block in blocks.items() for column in block for key in _row(some, column))
        new = [key for key in wanted if key not in self._sums]
        sent = [(np.array(some, np.intp), np.array(block, np.intp)) for some, block in blocks.items()]
        found = self._data.engine.each(_kept_sums, sent, new, self._n_passes)
        first_queries, sums = zip(*found, strict=True)
        self._first_queries = np.array(first_queries)
        self._sums.update(zip(new, np.stack(sums, axis=1), strict=True))
        self._places.update((key, (self._n_passes, place)) for place, key in enumerate(new))
        self._n_passes += 1

    def errors_with(self, selected: Sequence[int], columns: Columns, alpha: float) -> Array:
        """The squared leave-query-out errors of the selected columns with each of some others."""
        errors = np.empty(len(columns))
        for begin in range(0, len(columns), _TOGETHER):
            together = columns[begin : begin + _TOGETHER].tolist()
            sent = self._sent(selected, together, alpha)
            errors[begin : begin + _TOGETHER] = self._data.engine.sum_of_states(_errors, *sent)
        return errors

    def query_errors(self, selected: Sequence[int], alpha: float) -> Array:
        """The error of each query by the model on the selected columns trained without it."""
        found = self._data.engine.each_state(_query_errors, *self._sent(selected, [], alpha))
        return np.concatenate(found)

    def held_out_weights(self, selected: Sequence[int], alpha: float) -> PairWeights:
        """The weights of these models."""
        return PairWeights(self._sent(selected, [], alpha))

    def final_weights(self, selected: Sequence[int], alpha: float) -> Array:
        """The weights of the model trained on all queries."""
        pairs, targets = (np.array([[self._sums[key].sum() for key in some]]) for some in _keys(selected, []))
        weights: Array = np.empty((1, len(selected)))
        held = np.zeros_like(pairs), np.zeros_like(targets)
        solve(*held, pairs, targets, np.zeros(1), alpha, len(selected), 0, 1, np.empty((1, 1)), weights)
        final: Array = weights[0]
        return final

    def _sent(self, selected: Sequence[int], candidates: Sequence[int], alpha: float) -> tuple[Any, ...]:
        keys = _keys(selected, candidates)
        elsewhere = tuple(sum_over_others(np.stack([self._sums[key] for key in some], axis=1)) for some in keys)
        places = tuple([self._places[key] for key in some] for some in keys)
        return places, elsewhere, self._first_queries, len(selected), alpha


class PairWeights(NamedTuple):
    """Weights without each query. Parts find them from what they have: all of them are never in one place."""

    sent: tuple[Any, ...]

    @property
    def nbytes(self) -> int:
        """Of sums over the parts."""
        return sum(sums.nbytes for sums in self.sent[1])

    def of(self, part: Part) -> Array:
        """Those of a part's queries."""
        return _solved(part.state, *self.sent)[1]


def _pair(one: int, other: int) -> Key:
    return min(one, other), max(one, other)


def _row(rows: Iterable[int], column: int) -> list[Key]:
    """What is needed of a column: products with the target, itself and the rows."""
    return [(column,), (column, column), *(_pair(row, column) for row in rows)]


def _keys(selected: Sequence[int], candidates: Sequence[int]) -> tuple[list[Key], list[Key]]:
    """Pairs and targets as `pair_kernels.solve` takes them."""
    rows = [(selected[:i], column) for i, column in enumerate(selected)]
    rows += [(selected, column) for column in candidates]
    pairs = [key for before, column in rows for key in [*_row(before, column)[2:], (column, column)]]
    return pairs, [(column,) for _, column in rows]


@changes_state
def _kept_sums(part: Part, blocks: list[tuple[Columns, Columns]], new: list[Key], number: int) -> tuple[int, Array]:
    """Note products of a part's queries in its state; returns its first query and the sums of the products."""
    places = {key: place for place, key in enumerate(new)}
    kept = np.empty((len(new), part.n_queries))
    for rows, columns in blocks:
        for key, products in _products(part, rows, columns):
            if key in places:
                kept[places[key]] = products
    part.state[number] = kept
    part.state["norms"] = part.centred.norms()
    return part.first_query, kept.sum(axis=1)


def _products(part: Part, rows: Columns, columns: Columns) -> Iterator[tuple[Key, Array]]:
    """The products of rows with columns, and what else is needed of the columns, for each query of a part."""
    products = np.empty((part.n_queries, len(rows), len(columns)))
    moments = part.centred.block_products(rows, columns, products)
    for j, column in enumerate(columns.tolist()):
        yield (column,), moments.products[:, j]
        yield (column, column), moments.squares[:, j]
        for i, row in enumerate(rows.tolist()):
            yield _pair(row, column), products[:, i, j]


def _errors(state: State, *sent: Any) -> Array:
    total: Array = _solved(state, *sent)[0].sum(axis=0)
    return total


def _query_errors(state: State, *sent: Any) -> Array:
    errors: Array = _solved(state, *sent)[0][:, 0]
    return errors


def _solved(
    state: State,
    places: tuple[list[tuple[int, int]], list[tuple[int, int]]],
    elsewhere: tuple[Array, Array],
    first_queries: Columns,
    n_selected: int,
    alpha: float,
) -> tuple[Array, Array]:
    """Errors of each query with every candidate, or of the selected columns, and then their weights."""
    own_part, norms = int(np.searchsorted(first_queries, state.first_query)), state["norms"]
    held = [np.stack([state[number][place] for number, place in some], axis=1) for some in places]
    rest = [sum_over_others(own) + sums[own_part] for own, sums in zip(held, elsewhere, strict=True)]
    n_columns = held[1].shape[1]
    errors = np.empty((len(norms), max(1, n_columns - n_selected)))
    weights = np.empty((len(norms), n_selected))

    def work(first: int, last: int) -> None:
        solve(held[0], held[1], rest[0], rest[1], norms, alpha, n_selected, first, last, errors, weights)

    share(work, len(norms), n_columns)
    return errors, weights
