"""Sums over all documents as if they were one query: what regression, which ignores queries, asks for.

Documents are taken in groups, whatever queries they are of. The squares around the mean of all are those around the
means of the groups, and those of these means, each as often as its group has documents. Nothing is subtracted, so no
digits are lost, and all that has to be known of a group beside its own sums are its means.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.centred import Moments, sum_of_moments
from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.engines.centred_sums import (
    CentredSums,
    gram_times_step,
    matrix_step,
    residual_products_step,
    target_products_step,
    target_step,
)
from rankwright.engines.engine import Step
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.supervision import Grades
from rankwright.types import Array

# Threads share the groups of a part: there are at most so many, of no fewer documents than this.
_MOST_GROUPS = 16
_LEAST_DOCUMENTS = 1024
# Of so many columns of CSR, what documents lack is looked for at once.
_COLUMNS_AT_A_TIME = 64


class _Groups(NamedTuple):
    """How many documents each group has, and the means of their features and grades."""

    sizes: Array
    features: Array
    grades: Array

    def means(self) -> tuple[Array, float]:
        """The means of features and grades over all documents of the groups."""
        return self.sizes @ self.features / self.sizes.sum(), float(self.sizes @ self.grades / self.sizes.sum())

    def around_the_mean(self) -> tuple[Array, Array, Array]:
        """The means of groups minus that of all, of features and of grades, and the sizes of the groups."""
        features, grade = self.means()
        return self.features - features, self.grades - grade, self.sizes


class _Pooled(NamedTuple):
    """The moments of documents around the means of their groups, and the groups."""

    within: Moments
    groups: _Groups

    def with_more(self, more: _Pooled) -> _Pooled:
        """Together with other documents."""
        return _Pooled(sum_of_moments(self.within, more.within), _joined([self.groups, more.groups]))

    def moments(self) -> Moments:
        """The moments around the mean of all these documents."""
        rows, targets, sizes = self.groups.around_the_mean()
        gram, products = (rows.T * sizes) @ rows, rows.T @ (sizes * targets)
        return sum_of_moments(self.within, Moments(gram, products))


class PooledSums(CentredSums):
    """As `CentredSums`, with X and y centred around the means of all documents."""

    @cached_property
    def _summed_moments(self) -> Moments:
        parts = (_Pooled(*found) for found in self.engine.each(_moments_and_groups))
        total = reduce(_Pooled.with_more, parts)
        self._groups = total.groups
        return total.moments()

    def rough_moments(self) -> tuple[Moments, bool]:
        """As exact as the others."""
        return self.moments(), False

    def moments_without(self, which: Sequence[int]) -> list[Moments]:
        """Those of all documents but those of one query, for each of some queries, in one pass."""
        others: list[_Pooled] = []
        own: dict[int, _Pooled] = {}
        for of_part, of_queries in self.engine.each(_pooled_without, which):
            others = [reduce(_Pooled.with_more, [*others, *of_part])] if of_part else others
            own.update(of_queries)
        return [reduce(_Pooled.with_more, [*others, *(own[p] for p in which if p != q)]).moments() for q in which]

    @cached_property
    def _groups(self) -> _Groups:
        return _joined(list(self.engine.each(_groups_of)))

    @cached_property
    def feature_means(self) -> Array:
        """The mean of each feature over all documents."""
        return self._groups.means()[0]

    @cached_property
    def mean_grade(self) -> float:
        """The mean of all grades."""
        return self._groups.means()[1]

    @cached_property
    def _around_the_mean(self) -> tuple[Array, Array, Array]:
        return self._groups.around_the_mean()

    @cached_property
    def target(self) -> Array:
        """Grades minus their mean, in the order of rows."""
        within: Array = self.engine.per_query(_on_pooled, target_step, reads=False)
        _, targets, sizes = self._around_the_mean
        return within + np.repeat(targets, sizes.astype(np.intp))

    def residual_products(self, weights: Array) -> Array:
        """X̂ᵀ(ŷ − X̂w) for every column w of ``weights``, from the data themselves."""
        within: Array = self.engine.sum(_on_pooled, residual_products_step, weights)
        rows, targets, sizes = self._around_the_mean
        return within + (rows.T * sizes) @ (targets[:, None] - rows @ weights)

    def gram_times(self, columns: Array) -> Array:
        """X̂ᵀX̂V."""
        within: Array = self.engine.sum(_on_pooled, gram_times_step, columns)
        rows, _, sizes = self._around_the_mean
        return within + (rows.T * sizes) @ (rows @ columns)

    def target_products(self) -> Array:
        """X̂ᵀŷ."""
        within: Array = self.engine.sum(_on_pooled, target_products_step)
        rows, targets, sizes = self._around_the_mean
        return within + rows.T @ (sizes * targets)

    def matrix(self) -> Array:
        """X̂ as one array in the order of rows, for data with few documents; dense only."""
        within: Array = self.engine.per_query(_on_pooled, matrix_step)
        rows, _, sizes = self._around_the_mean
        return within + np.repeat(rows, sizes.astype(np.intp), axis=0)


def _joined(parts: list[_Groups]) -> _Groups:
    return _Groups(*(np.concatenate(values) for values in zip(*parts, strict=True)))


class _PooledPart(Part):
    """The rows of a part as they stand, in groups, with features that may be shifted."""

    def __init__(self, part: Part) -> None:
        self.shift: Array | float
        x, self.shift = _with_full_columns_centred(part.x) if part.is_sparse else (part.x, 0.0)
        sizes = _group_sizes(part)
        grouping = Grouping.of_sizes(np.arange(len(sizes)), sizes)
        super().__init__(Queries.of_parts(x, Grades(part.queries.y), grouping, None, None))
        self._pooled = part

    def check_features(self) -> None:
        """Those of the part, whose queries have names."""
        self._pooled.check_features()

    @cached_property
    def groups(self) -> _Groups:
        """What is known of the groups."""
        sizes = np.diff(self.offsets)
        grades = np.add.reduceat(self.queries.y, self.offsets[:-1]) / sizes
        return _Groups(sizes.astype(np.float64), self.centred.means() + self.shift, grades)


def _group_sizes(part: Part) -> npt.NDArray[np.int64]:
    """Products of CSR do not run on several threads: there, one group is enough."""
    n_groups = 1 if part.is_sparse else min(_MOST_GROUPS, max(1, part.n_documents // _LEAST_DOCUMENTS))
    bounds = np.linspace(0, part.n_documents, n_groups + 1).astype(np.int64)
    return np.diff(bounds)


def _with_full_columns_centred(x: Any) -> tuple[Any, Array]:
    """CSR is centred by differences of sums, in which a feature loses its digits that is large beside its spread.

    Such a feature, a time for instance, is one that most documents have: its mean is subtracted at once, from the zeros
    of the others too. What half of the documents lack has a spread no smaller than its mean. Returns what was
    subtracted as well.
    """
    n_rows, n_columns = x.shape
    is_full = np.bincount(x.indices, minlength=n_columns) > n_rows / 2
    if not is_full.any():
        return x, np.zeros(n_columns)
    shift: Array = np.where(is_full, np.bincount(x.indices, x.data, minlength=n_columns) / n_rows, 0.0)
    with np.errstate(invalid="ignore"):  # infinity is told with its place when the sums are checked
        shifted = sp.csr_array((x.data - shift[x.indices], x.indices, x.indptr), shape=x.shape)
    full = np.flatnonzero(is_full)
    for begin in range(0, len(full), _COLUMNS_AT_A_TIME):
        some = full[begin : begin + _COLUMNS_AT_A_TIME]
        stored = sp.csr_array((np.ones(len(x.data), bool), x.indices, x.indptr), shape=x.shape)[:, some]
        rows, places = np.nonzero(~stored.toarray())
        if len(rows):
            shifted = shifted + sp.csr_array((-shift[some[places]], (rows, some[places])), shape=x.shape)
    return shifted, shift


def _pooled(part: Part) -> _PooledPart:
    return part.kept("pooled", lambda: _PooledPart(part))


def _on_pooled(part: Part, step: Step, *sent: Any) -> Any:
    return step(_pooled(part), *sent)


def _groups_of(part: Part) -> _Groups:
    return _pooled(part).groups


def _moments_and_groups(part: Part) -> tuple[Moments, _Groups]:
    pooled = _pooled(part)
    return pooled.centred.moments(), pooled.groups


def _pooled_without(part: Part, which: Sequence[int]) -> tuple[list[_Pooled], dict[int, _Pooled]]:
    """A part's documents without those of some queries, if any are left, and those of each of these queries."""
    own = part.places_of(which)
    others = np.delete(np.arange(part.n_queries), list(own.values()))
    left = part if not own else Part(part.queries[others])
    return (
        [_Pooled(*_moments_and_groups(left))] if len(others) else [],
        {q: _Pooled(*_moments_and_groups(Part(part.queries[place]))) for q, place in own.items()},
    )
