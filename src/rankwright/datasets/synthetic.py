"""Synthetic queries whose best ranker is known, to measure learners against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.arrays import checked_float_type
from rankwright.checks import check_number, check_whole
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError

# The shape of the gamma distribution of query sizes: most are below the mean, a few far above it.
_SIZE_SHAPE = 2.5
# How many informative features a correlated one mixes, and how strongly it correlates with the mixture.
_MOST_MIXED = 3
_CORRELATION = (0.6, 0.95)


@dataclass(frozen=True, eq=False)
class SyntheticCollection:
    """Queries together with the truth they were drawn from.

    Attributes
    ----------
    queries : Queries
    best_weights : array of float64
        w*: no ranker that sees the features alone ranks better in expectation than ``X @ best_weights``.
    informative, correlated, useless : arrays of int
        The columns that make the utility, their noisy mixtures, and the rest.
    """

    queries: Queries
    best_weights: npt.NDArray[np.float64]
    informative: npt.NDArray[np.intp]
    correlated: npt.NDArray[np.intp]
    useless: npt.NDArray[np.intp]


def make_queries(
    n_queries: int = 200,
    documents: int = 40,
    n_features: int = 20,
    *,
    n_informative: int = 5,
    n_correlated: int = 5,
    grade_mix: Sequence[float] = (0.7, 0.2, 0.1),
    noise: float = 1.0,
    query_offset: float = 0.5,
    seed: int = 0,
    dtype: npt.DTypeLike = np.float32,
) -> SyntheticCollection:
    r"""Draw a synthetic collection with a known best ranker.

    A document of query q with features x has the utility

        u = x · w* + c_q + ε,   ε ~ N(0, noise²)

    and its grade is the number of thresholds below u; the thresholds are the same for all queries and
    give the grades the shares asked for. The spread of x · w* within a query is 1, so ``noise`` is the
    ratio of noise to signal. With noise 0 the best ranker orders every query perfectly.

    Why w* is best: given all features of a query, the ε are independent and alike. Take two of its
    documents with x_i · w* ≥ x_j · w*. Because the normal density is log-concave, (u_i, u_j) = (a, b) with
    a ≥ b is at least as likely as (b, a), whatever c_q, the thresholds and the other documents are (the
    thresholds do not change when u_i and u_j are exchanged). So i above j is in expectation at least as
    good as j above i, for every measure that never falls when the better graded of two neighbours moves
    up: DCG with any non-decreasing gain (the case of Cossock and Zhang, 2008), NDCG, AP and ERR among
    them. Correlated features are mixtures of the informative ones plus noise of their own, which tells
    nothing of ε; useless features and offsets tell nothing either.

    Each query shifts each feature by an offset of its own, and the offsets of some features spread wider
    than those of others. They say nothing about relevance, as with term statistics whose range depends on
    the query: comparing documents of one query is immune to them, regression on grades pooled over all
    queries is misled.

    Parameters
    ----------
    n_queries, documents : int
        The number of queries, and the mean number of documents of a query. Sizes follow a gamma
        distribution and are at least 1; the documents number ``n_queries * documents`` in all.
    n_features, n_informative, n_correlated : int
        The number of features, of those that make the utility, and of noisy mixtures of these. The
        others are useless. The three kinds stand in shuffled columns.
    grade_mix : sequence of float
        The shares of the grades 0, 1, 2, …, with sum 1.
    noise : float
        The standard deviation of ε.
    query_offset : float
        The typical standard deviation of the offsets per query, of the features and of the utility.
    seed : int
        The same seed and parameters give the same collection.
    dtype : float32 or float64
        The type of the features.

    Examples
    --------
    For training and test data with one truth, draw one collection and slice it by query:

    >>> import rankwright as rw
    >>> collection = rw.datasets.make_queries(n_queries=300, seed=1)
    >>> train, test = collection.queries[:200], collection.queries[200:]
    >>> test
    Queries(100 queries, 4,263 documents, 20 features, grades 0–2)
    """
    check_amounts(n_queries, documents, seed, noise, query_offset)
    shares = checked_shares(grade_mix)
    float_type = checked_float_type(dtype)

    rng = np.random.default_rng(seed)
    informative, correlated, useless = draw_columns(rng, n_features, n_informative, n_correlated)
    weights = draw_weights(rng, n_features, informative)
    sizes = draw_sizes(rng, n_queries, documents)
    x = rng.standard_normal((n_queries * documents, n_features), dtype=float_type)
    _mix_in(rng, x, informative, correlated)
    offsets = rng.standard_normal((n_queries, n_features)) * rng.uniform(0, 2 * query_offset, n_features)
    x += np.repeat(offsets.astype(float_type), sizes, axis=0)

    # From the features in the precision they are returned in: with noise 0, x · w* and u then order alike.
    shift_of_query = query_offset * rng.standard_normal(n_queries) - offsets @ weights
    utility = x[:, informative].astype(np.float64) @ weights[informative] + np.repeat(shift_of_query, sizes)
    utility += noise * rng.standard_normal(len(utility))
    queries = Queries(x, _grades(utility, shares), qid=np.repeat(np.arange(1, n_queries + 1), sizes))
    for part in (weights, informative, correlated, useless):
        part.setflags(write=False)
    return SyntheticCollection(queries, weights, informative, correlated, useless)


def check_amounts(n_queries: int, documents: int, seed: int, noise: float, query_offset: float) -> None:
    """Refuse what no queries can be made of."""
    for name, whole, least in (("n_queries", n_queries, 1), ("documents", documents, 1), ("seed", seed, 0)):
        check_whole(name, whole, least)
    check_number("noise", noise, 0)
    check_number("query_offset", query_offset, 0)


def draw_columns(
    rng: np.random.Generator, n_features: int, n_informative: int, n_correlated: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Which columns are informative, correlated with these, and useless."""
    check_whole("n_features", n_features, 1)
    check_whole("n_informative", n_informative, 1)
    check_whole("n_correlated", n_correlated, 0)
    if n_informative + n_correlated > n_features:
        raise ParameterError(
            f"n_informative = {n_informative} and n_correlated = {n_correlated} are more than "
            f"n_features = {n_features} together"
        )
    shuffled = np.split(rng.permutation(n_features), [n_informative, n_informative + n_correlated])
    for columns in shuffled:
        columns.sort()
    return shuffled[0], shuffled[1], shuffled[2]


def draw_weights(
    rng: np.random.Generator, n_features: int, informative: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    """Weights of length 1 and either sign, none of the informative ones close to zero."""
    weights = np.zeros(n_features)
    signs = rng.choice([-1.0, 1.0], len(informative))
    weights[informative] = signs * rng.uniform(0.5, 1.5, len(informative))
    return weights / np.linalg.norm(weights)


def draw_sizes(rng: np.random.Generator, n_queries: int, documents: int) -> npt.NDArray[np.int64]:
    """One document per query, and the others shared out in proportion to gamma draws: the mean is exact."""
    draws = np.cumsum(rng.gamma(_SIZE_SHAPE, size=n_queries))
    upto = np.rint(draws / draws[-1] * n_queries * (documents - 1)).astype(np.int64)
    sizes: npt.NDArray[np.int64] = 1 + np.diff(upto, prepend=0)
    return sizes


def _mix_in(
    rng: np.random.Generator,
    x: npt.NDArray[Any],
    informative: npt.NDArray[np.intp],
    correlated: npt.NDArray[np.intp],
) -> None:
    """Turn the noise in the correlated columns into ρ · (mixture of informative ones) + √(1 − ρ²) · noise."""
    mixture, own = draw_mixture(rng, len(informative), len(correlated), x.dtype)
    x[:, correlated] = x[:, informative] @ mixture + own * x[:, correlated]


def draw_mixture(
    rng: np.random.Generator, n_informative: int, n_correlated: int, dtype: np.dtype[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """What of each informative feature goes into each correlated one, and how much noise of its own."""
    mixed = min(_MOST_MIXED, n_informative)
    mixture = np.zeros((n_informative, n_correlated))
    for column in range(n_correlated):
        mixture[rng.choice(n_informative, mixed, replace=False), column] = rng.standard_normal(mixed)
    mixture /= np.linalg.norm(mixture, axis=0)
    rho = rng.uniform(*_CORRELATION, n_correlated)
    return (rho * mixture).astype(dtype), np.sqrt(1 - rho**2).astype(dtype)


def _grades(utility: npt.NDArray[np.float64], shares: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """How many thresholds are below each utility; equal utilities get equal grades."""
    up_to_grade = np.rint(np.cumsum(shares)[:-1] * len(utility)).astype(np.intp)
    ordered = np.concatenate([[-np.inf], np.sort(utility)])
    return np.searchsorted(ordered[up_to_grade], utility, side="left")


def checked_shares(grade_mix: Sequence[float]) -> npt.NDArray[np.float64]:
    """The shares of grades, with sum 1."""
    shares = np.asarray(grade_mix, dtype=np.float64)
    if shares.ndim != 1 or len(shares) < 2 or not np.all(shares >= 0) or not np.isclose(shares.sum(), 1):
        raise ParameterError(
            f"grade_mix must give the shares of the grades 0, 1, …: two or more numbers of at least 0 "
            f"with sum 1, not {grade_mix!r}"
        )
    normalised: npt.NDArray[np.float64] = shares / shares.sum()
    return normalised
