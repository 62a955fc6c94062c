"""Sums over all queries of products of features and grades that are centred query by query: what RankRLS asks for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.centred import Moments, QueryMoments, centred_by_query, sum_of_moments
from rankwright.data.part import Part
from rankwright.engines.engine import Engine
from rankwright.judgments.judgments import Judgments
from rankwright.types import Array, Columns


class CentredSums:
    """X̂ and ŷ as far as learners know them: by their products, each in one pass over the data."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.n_queries, self.n_documents, self.n_features = engine.n_queries, engine.n_documents, engine.n_features
        self.offsets, self.is_sparse = engine.offsets, engine.is_sparse
        # CSR may be far smaller than the square of its sides, and data with a limit are larger than memory.
        self.has_little_room = engine.is_sparse or engine.memory is not None

    @property
    def passes(self) -> int:
        """How often the features have been read."""
        return self.engine.passes

    @property
    def feature_bytes(self) -> int:
        """How much memory the features take."""
        return int(self.engine.sum(_feature_bytes, reads=False))

    @cached_property
    def judgments(self) -> Judgments:
        """Those of all documents, which stand query by query."""
        return self.engine.whole(
            "a measure as criterion needs all scores at once: use criterion='squared-error'"
        ).judgments

    @cached_property
    def target(self) -> Array:
        """ŷ, each query's documents together."""
        target: Array = self.engine.per_query(target_step, reads=False)
        return target

    def centre(self, values: npt.NDArray[Any]) -> Array:
        """Values of documents, each query's documents together, minus their means in each query."""
        return centred_by_query(values, self.offsets)

    def norms(self) -> Array:
        """c^q = ŷ_qᵀŷ_q of each query."""
        norms: Array = self.engine.per_query(_norms, reads=False)
        return norms

    def moments(self) -> Moments:
        """X̂ᵀX̂ and X̂ᵀŷ, summed up when they are asked for first."""
        return self._summed_moments

    @cached_property
    def _summed_moments(self) -> Moments:
        moments: Moments = self.engine.sum(_moments)
        return moments

    def rough_moments(self) -> tuple[Moments, bool]:
        """The same, of float32 products where that is far faster and exact ones are not known; and whether it is."""
        if "_summed_moments" not in self.__dict__:
            moments, n_rough = self._rough_moments
            if n_rough:
                return moments, True
            self._summed_moments = moments
        return self._summed_moments, False

    @cached_property
    def _rough_moments(self) -> tuple[Moments, int]:
        """And how many parts rounded."""
        found: tuple[Moments, int] = self.engine.sum(_rough_moments)
        return found

    def rough_moments_of_folds(self, fold_of: npt.NDArray[np.intp]) -> list[Moments]:
        """Those of the queries of each fold, in one pass; ``fold_of`` are the folds of queries, counted from 0.

        Their sum serves as the moments of all queries, if these are not known.
        """
        folds, n_rough = self.engine.sum(_rough_moments_of_folds, fold_of)
        self.__dict__.setdefault("_rough_moments", (sum_of_moments(*folds), n_rough))
        return list(folds)

    def residual_products(self, weights: Array) -> Array:
        """X̂ᵀ(ŷ − X̂w) for every column w of ``weights``, from the data themselves."""
        products: Array = self.engine.sum(residual_products_step, weights)
        return products

    def gram_times(self, columns: Array) -> Array:
        """X̂ᵀX̂V."""
        products: Array = self.engine.sum(gram_times_step, columns)
        return products

    def target_products(self) -> Array:
        """X̂ᵀŷ."""
        products: Array = self.engine.sum(target_products_step)
        return products

    def matrix(self) -> Array:
        """X̂ as one array, for data with few documents; dense only."""
        matrix: Array = self.engine.per_query(matrix_step)
        return matrix

    def inner_products(self) -> Array:
        """XXᵀ of all documents, for data with few of them."""
        x = self.engine.per_query(_rows) if not self.is_sparse else _stacked(self.engine.each(_rows))
        product: Any = x @ x.T
        return np.asarray(product.toarray() if self.is_sparse else product)

    def moments_without(self, which: Sequence[int]) -> list[Moments]:
        """X̂ᵀX̂ and X̂ᵀŷ over all queries but one, for each of some queries, in one pass and without subtracting.

        The others are summed up once; to them come those of the some that are not left out.
        """
        others = Moments(np.zeros((self.n_features, self.n_features)), np.zeros(self.n_features))
        own: dict[int, Moments] = {}
        for of_part, of_queries in self.engine.each(_moments_without, which):
            others = sum_of_moments(others, of_part)
            own.update(of_queries)
        return [sum_of_moments(others, *(own[p] for p in which if p != q)) for q in which]

    def moments_and_norms(self) -> tuple[Moments, Array]:
        """X̂ᵀX̂ and X̂ᵀŷ, and c^q of each query, in one pass."""
        moments, norms = self.engine.sum(_moments_and_norms)
        return moments, np.concatenate(norms)

    # What greedy selection asks

    @property
    def products_per_pass(self) -> int:
        """With how many columns `column_products` is little slower than with one."""
        return int(next(self.engine.each(_products_per_pass, reads=False)))

    def query_moments(self) -> QueryMoments:
        """The diagonals of the queries' Gram matrices and the like."""
        moments: QueryMoments = self.engine.per_query(_query_moments)
        return moments

    def query_grams(self, out: Array) -> Array:
        """H^q = X̂_qᵀX̂_q of every query, into out[q]; returns all h^q = X̂_qᵀŷ_q."""
        return np.concatenate(self.engine.fill(_query_grams, out))

    def column_products(self, columns: Columns, slots: Columns, out: Array) -> None:
        """Rows b of H^q for every query q and the columns b = columns[j], into out[slots[j], q]."""
        self.engine.fill(_column_products, out, columns, slots, axis=1, slots=slots)

    def block_products(self, selected: Columns, columns: Columns, out: Array) -> QueryMoments:
        """H^q between selected columns and others, into out[q], and the moments of the others."""
        parts = self.engine.fill(_block_products, out, selected, columns)
        return QueryMoments(*(np.concatenate(numbers) for numbers in zip(*parts, strict=True)))

    def total_squares(self) -> Array:
        """The diagonal of X̂ᵀX̂."""
        squares: Array = self.engine.sum(_total_squares)
        return squares

    def total_column_products(self, column: int) -> Array:
        """Row b of X̂ᵀX̂."""
        products: Array = self.engine.sum(_total_column_products, column)
        return products

    def scores(self, columns: Columns, weights: Array) -> Array:
        """X_{d,columns} · weights[q] for each document d, with the weights of its query, query by query."""
        scores: Array = self.engine.per_query(_scores, columns, weights, reads=False)  # a few columns are no pass
        return scores

    def back_fitting_errors(
        self, columns: Columns, weights: Array, total_rows: Array, totals: tuple[Array, Array], alpha: float
    ) -> Array:
        """How the held-out error changes with each column added to some, while all other weights stay."""
        sent = (columns, weights, total_rows, totals, alpha)
        errors: Array = self.engine.sum(_back_fitting_errors, *sent)
        return errors


def _feature_bytes(part: Part) -> int:
    return int(part.x.data.nbytes if part.is_sparse else part.x.nbytes)


def target_step(part: Part) -> Array:
    """ŷ."""
    return part.centred.target


def _norms(part: Part) -> Array:
    return part.centred.norms()


def _moments(part: Part) -> Moments:
    return part.centred.moments()


def _rough_moments(part: Part) -> tuple[Moments, int]:
    return part.centred.rough_moments(), int(part.centred.are_worth_rounding)


def _rough_moments_of_folds(part: Part, fold_of: npt.NDArray[np.intp]) -> tuple[tuple[Moments, ...], int]:
    n, own = part.n_features, fold_of[part.first_query : part.first_query + part.n_queries]
    folds = [Moments(np.zeros((n, n)), np.zeros(n))] * (int(fold_of.max()) + 1)
    for fold in np.unique(own).tolist():
        some = Part(part.queries[own == fold])
        folds[fold] = some.centred.rough_moments()
        some.release()
    return tuple(folds), int(part.centred.are_worth_rounding)


def _moments_and_norms(part: Part) -> tuple[Moments, list[Array]]:
    return part.centred.moments(), [part.centred.norms()]  # the sum of lists is one behind the other


def residual_products_step(part: Part, weights: Array) -> Array:
    """X̂ᵀ(ŷ − X̂w)."""
    return part.centred.residual_products(weights)


def gram_times_step(part: Part, columns: Array) -> Array:
    """X̂ᵀX̂V."""
    return part.centred.transposed_product(part.centred.product(columns))


def target_products_step(part: Part) -> Array:
    """X̂ᵀŷ."""
    return part.centred.transposed_product(part.centred.target[:, None])[:, 0]


def matrix_step(part: Part) -> Array:
    """X̂."""
    return part.centred.matrix()


def _rows(part: Part) -> Any:
    x = part.x[part.rows].astype(np.float64)
    part.centred.check_finite(x.data if part.is_sparse else x)
    return x


def _stacked(matrices: Any) -> Any:
    import scipy.sparse as sp

    return sp.vstack(list(matrices), format="csr")


def _moments_without(part: Part, which: Sequence[int]) -> tuple[Moments, dict[int, Moments]]:
    """Those of a part's queries without some, and of each of these."""
    own = part.places_of(which)
    others = part.centred.moments_without(own.values()) if own else part.centred.moments()
    return others, {q: part.centred.query_moments_of(place) for q, place in own.items()}


def _products_per_pass(part: Part) -> int:
    return part.centred.products_per_pass


def _query_moments(part: Part) -> QueryMoments:
    return part.centred.query_moments()


def _query_grams(part: Part, room: Array) -> Array:
    return part.centred.query_grams(room)


def _column_products(part: Part, room: Array, columns: Columns, slots: Columns) -> None:
    part.centred.column_products(columns, slots, room)


def _block_products(part: Part, room: Array, selected: Columns, columns: Columns) -> QueryMoments:
    return part.centred.block_products(selected, columns, room)


def _total_squares(part: Part) -> Array:
    return part.centred.total_squares()


def _total_column_products(part: Part, column: int) -> Array:
    return part.centred.total_column_products(column)


def _own(part: Part, weights: Array) -> Array:
    """The rows of a part's own queries."""
    return weights[part.first_query : part.first_query + part.n_queries]


def _scores(part: Part, columns: Columns, weights: Array) -> Array:
    return part.centred.scores(columns, _own(part, weights))


def _back_fitting_errors(
    part: Part, columns: Columns, weights: Array, total_rows: Array, totals: tuple[Array, Array], alpha: float
) -> Array:
    own, data = _own(part, weights), part.centred
    residual = data.target - data.centre(data.scores(columns, own))
    return data.back_fitting_errors(residual, own, total_rows, totals, alpha)
