"""Queries whose documents have been ranked by scores: where measures meet the kernels that compute them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.arrays import real_numbers
from rankwright.errors import DataError, ParameterError
from rankwright.judgments.judgments import Judgments
from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph
from rankwright.measures import pairwise, positional, sorting
from rankwright.measures.conventions import LARGEST_GRADE, Convention, check_greatest_grade

Values = npt.NDArray[np.float64]


class RankedQueries:
    """Scores against supervision; each arrangement of ties is sorted once, however many measures use it.

    ``scores`` are what `checked_scores` gives.
    """

    def __init__(self, scores: Values, judgments: Judgments) -> None:
        self._judgments = judgments
        self._grouping = judgments.grouping
        self.offsets = judgments.grouping.offsets
        if judgments.n_documents >= 2**31:  # positions are kept in 32 bits
            raise DataError(f"{judgments.n_documents:,} documents are too many to rank at once: evaluate them in parts")
        self._scores = np.ascontiguousarray(self._grouping.gather(scores))
        self._orders: dict[tuple[str, str], npt.NDArray[np.int32]] = {}

    # What the supervision says

    @property
    def has_grades(self) -> bool:
        """Whether documents carry grades."""
        return isinstance(self._judgments.supervision, Grades)

    @cached_property
    def grades(self) -> Values:
        """Grades, each query's documents together."""
        if not self.has_grades:
            kind = self._judgments.supervision.kind
            raise DataError(f"this measure needs grades, but the queries have a {kind}")
        return np.ascontiguousarray(self._grouping.gather(self._judgments.y))

    @cached_property
    def _worth(self) -> Values:
        """Numbers that order the documents of a query as the supervision does: grades, or −rank."""
        supervision = self._judgments.supervision
        if isinstance(supervision, FullRanking):
            return -self._grouping.gather(supervision.ranks).astype(np.float64)
        return self.grades

    def query_id(self, q: int) -> Any:
        """The id of the q-th query, as a plain Python value."""
        return self._grouping.query_id(q)

    def any_relevant(self, level: float) -> npt.NDArray[np.bool_]:
        """Whether each query has a document of at least this grade."""
        relevant = np.concatenate([[0], np.cumsum(self.grades >= level)])
        return relevant[self.offsets[1:]] > relevant[self.offsets[:-1]]

    # How the scores rank the documents

    def order(self, convention: Convention) -> npt.NDArray[np.int32]:
        """The documents of each query from the first place to the last; ~p where p is tied with the one after it."""
        ties = "expected" if convention.ties == "unbroken" else convention.ties
        key = (ties, convention.score_type)
        if key not in self._orders:
            self._orders[key] = self._sorted(*key)
        return self._orders[key]

    def _sorted(self, ties: str, score_type: str) -> npt.NDArray[np.int32]:
        scores = self._scores.astype(np.float32).astype(np.float64) if score_type == "float32" else self._scores
        second, arrangement = self._second_keys(ties)
        order = np.empty(len(scores), np.int32)
        sorting.rank_documents(scores, second, arrangement, self.offsets, 0, self._n_queries, order)
        return order

    def _second_keys(self, ties: str) -> tuple[Values, int]:
        """What arranges tied documents: the smaller, the earlier."""
        if ties == "expected":
            return np.zeros(0), sorting.LEAVE_TIED
        if ties == "input":
            return np.zeros(0), sorting.KEEP_ORDER
        if ties == "doc_id":
            return -self._document_ranks(), sorting.BY_SECOND_KEY
        if isinstance(self._judgments.supervision, PreferenceGraph):
            raise ParameterError(f"ties={ties!r} needs documents with grades or ranks, not a preference graph")
        return (-self._worth if ties == "best" else self._worth), sorting.BY_SECOND_KEY

    def _document_ranks(self) -> Values:
        """Documents numbered by their ids; without ids, by their rows."""
        doc_ids = self._judgments.doc_ids
        numbers = np.arange(len(self._scores)) if doc_ids is None else np.unique(doc_ids, return_inverse=True)[1]
        return np.ascontiguousarray(self._grouping.gather(numbers.astype(np.float64)))

    # Measures by position

    @property
    def _n_queries(self) -> int:
        return len(self.offsets) - 1

    def _run(self, kernel: Callable[..., None], convention: Convention, cutoff: int | None, *arguments: Any) -> Values:
        out, depth = np.empty(self._n_queries), np.iinfo(np.int64).max if cutoff is None else cutoff
        kernel((self.grades, self.order(convention), self.offsets), depth, *arguments, out)
        return out

    def _gain(self, convention: Convention) -> tuple[bool, Values]:
        """Whether gains are 2^y − 1, having made sure that they are finite; and the discounts."""
        if convention.gain == "exponential":
            check_greatest_grade(self._judgments, LARGEST_GRADE, "2^y − 1 overflows: use gain='linear'")
        longest = max(1, int(self._judgments.sizes.max(initial=0)))
        return convention.gain == "exponential", convention.discounts(longest)

    def dcg(self, cutoff: int | None, convention: Convention) -> Values:
        """DCG@k."""
        return self._run(positional.dcg, convention, cutoff, self._gain(convention))

    def ndcg(self, cutoff: int | None, convention: Convention) -> Values:
        """nDCG@k."""
        short_is_zero = convention.short_ndcg == "zero" and cutoff is not None
        known = (self._gain(convention), False, _empty(convention), short_is_zero)
        return self._run(positional.ndcg, convention, cutoff, *known)

    def mean_ndcg(self, cutoff: int | None, convention: Convention) -> Values:
        """The mean of nDCG@1, …, nDCG@m_q."""
        known = (self._gain(convention), True, _empty(convention), False)
        return self._run(positional.ndcg, convention, cutoff, *known)

    def precision(self, cutoff: int | None, convention: Convention) -> Values:
        """P@k."""
        pad = convention.short_precision == "pad"
        return self._run(positional.precision, convention, cutoff, float(convention.relevant_from), pad)

    def recall(self, cutoff: int | None, convention: Convention) -> Values:
        """Recall@k."""
        level = float(convention.relevant_from)
        return self._run(positional.recall, convention, cutoff, level, _empty(convention))

    def average_precision(self, cutoff: int | None, convention: Convention) -> Values:
        """AP@k."""
        unbroken = convention.ties == "unbroken"
        if unbroken and cutoff is not None:
            raise ParameterError("AP with ties='unbroken' (scikit-learn's) has no cutoff: choose other ties")
        level, is_reachable = float(convention.relevant_from), convention.ap_divisor == "reachable"
        known = (level, is_reachable, unbroken, _empty(convention))
        return self._run(positional.average_precision, convention, cutoff, *known)

    def reciprocal_rank(self, cutoff: int | None, convention: Convention) -> Values:
        """RR@k."""
        return self._run(positional.reciprocal_rank, convention, cutoff, float(convention.relevant_from))

    def err(self, cutoff: int | None, convention: Convention) -> Values:
        """ERR@k."""
        given = convention.max_grade
        max_grade = self._judgments.whole.greatest_grade if given is None else float(given)
        limit = min(max_grade, LARGEST_GRADE)
        check_greatest_grade(self._judgments, limit, "ERR needs a max_grade that no document exceeds")
        return self._run(positional.expected_reciprocal_rank, convention, cutoff, max_grade)

    # Measures by pairs

    def _pairs(self, convention: Convention) -> Values:
        """The columns of `count_pairs` for every query."""
        out = np.empty((self._n_queries, pairwise.PAIR_COLUMNS))
        pairwise.count_pairs((self._worth, self.order(convention), self.offsets), out)
        return out

    def pairwise_error(self, cutoff: int | None, convention: Convention) -> Values:
        """(opposed + ½ tied) / pairs with different grades (paper G, eq. 2); NaN if there is no such pair."""
        counts = self._pairs(convention)
        pairs = counts[:, : pairwise.TIED + 1].sum(axis=1)
        return _ratio(counts[:, pairwise.OPPOSED] + counts[:, pairwise.TIED] / 2, pairs)

    def kendall_tau(self, cutoff: int | None, convention: Convention) -> Values:
        """(agreeing − opposed) / √(pairs · pairs with different grades); NaN if all documents are alike.

        With ties="unbroken" the first factor leaves out pairs with one score: SciPy's τ_b.
        """
        counts = self._pairs(convention)
        sizes = self._judgments.sizes
        scored = sizes * (sizes - 1) / 2
        if convention.ties == "unbroken":
            scored = scored - counts[:, pairwise.SAME_SCORE]
        graded = counts[:, : pairwise.TIED + 1].sum(axis=1)
        return _ratio(counts[:, pairwise.AGREEING] - counts[:, pairwise.OPPOSED], np.sqrt(scored * graded))

    def wpd(self, cutoff: int | None, convention: Convention) -> Values:
        """Σ a_ij [j above i], ties counting half (paper O, eq. 12); for grades a_ij = y_i − y_j, for ranks likewise."""
        supervision = self._judgments.supervision
        if not isinstance(supervision, PreferenceGraph):
            return self._pairs(convention)[:, pairwise.DISAGREEMENT].copy()
        order = self.order(convention)
        tie_of_grouped = np.empty(len(order), np.int64)
        ends_tie = (order >= 0).astype(np.int64)  # a negative entry is tied with the one after it
        tie_of_grouped[np.where(order < 0, ~order, order)] = np.cumsum(ends_tie) - ends_tie
        tie = self._grouping.scatter(tie_of_grouped)
        above, below = tie[supervision.preferred], tie[supervision.other]
        cost = supervision.weights * np.where(below < above, 1.0, np.where(below == above, 0.5, 0.0))
        query = self._grouping.codes[supervision.preferred]
        return np.bincount(query, weights=cost, minlength=self._n_queries).astype(np.float64)

    def zero_one(self, cutoff: int | None, convention: Convention) -> Values:
        """1 if the order is not one that the supervision allows (paper O, eq. 13); in expectation over ties."""
        chance = np.empty(self._n_queries)
        pairwise.chance_of_perfect_order((self._worth, self.order(convention), self.offsets), chance)
        return 1 - chance


def checked_scores(scores: npt.ArrayLike, judgments: Judgments) -> Values:
    """One number for each document, in the order of the rows: infinite ones are allowed, NaN is not."""
    checked = real_numbers(scores, "scores")
    if checked.ndim == 2 and checked.shape[1] == 1:
        checked = checked[:, 0]
    if checked.shape != (judgments.n_documents,):
        given = f"{len(checked)} scores" if checked.ndim == 1 else f"scores of shape {checked.shape}"
        raise DataError(f"there are {judgments.n_documents} documents, but {given}")
    if np.isnan(checked).any():
        row = int(np.argmax(np.isnan(checked)))
        raise DataError(f"row {row} (query {judgments.grouping.query_of_row(row)!r}): the score is NaN")
    return checked


def _empty(convention: Convention) -> float:
    return np.nan if convention.empty is None else float(convention.empty)


def _ratio(numerator: Values, denominator: Values) -> Values:
    ratio = np.full(len(numerator), np.nan)
    np.divide(numerator, denominator, out=ratio, where=denominator > 0)
    return ratio
