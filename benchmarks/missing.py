"""What missing values cost, and what filling them in wins back: ``python -m benchmarks.missing``.

Values are taken out of synthetic collections, at random or more often from bad documents. The complete-case fit is
trained on the documents that have all values. All are tested on queries with holes of the same kind; rankers that know
nothing of missing values get the means of training there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import rankwright as rw
from rankwright.evaluation.tables import plain_table
from rankwright.types import Array

_MEASURE = rw.nDCG @ 10
_TESTED = 300
_DRAWS = 6
_N_FEATURES = 10
_SEARCH = rw.search(*(2.0**exponent for exponent in range(-6, 13, 2)))

HOLES: dict[str, Callable[[Array], Array]] = {
    "at random": lambda y: np.full(len(y), 0.15),
    "by meaning": lambda y: np.where(y == 0, 0.25, 0.05),
}


def drawn(n_queries: int, holes: str, seed: int) -> tuple[rw.Queries, rw.Queries]:
    """Training and test queries with holes."""
    complete = rw.datasets.make_queries(
        n_queries + _TESTED, 30, _N_FEATURES, n_informative=5, n_correlated=3, seed=seed
    ).queries
    x = np.array(complete.X)
    x[np.random.default_rng(seed).random(x.shape) < HOLES[holes](complete.y)[:, None]] = np.nan
    queries = rw.Queries(x, complete.y, complete.qid)
    return queries[:n_queries], queries[n_queries:]


def filled(queries: rw.Queries, values: npt.ArrayLike) -> rw.Queries:
    """The same queries with these values in place of missing ones."""
    return rw.Queries(np.where(np.isnan(queries.X), values, queries.X), queries.y, queries.qid)


def complete_case(train: rw.Queries, test: rw.Queries) -> Array:
    """RankRLS on documents that have all values; test documents get the means of training."""
    whole = ~np.isnan(train.X).any(axis=1)
    ranker = rw.RankRLS(_SEARCH).fit(rw.Queries(train.X[whole], train.y[whole], train.qid[whole]))
    return _values(ranker, filled(test, np.nanmean(train.X, axis=0)))


def _zeros(train: rw.Queries, test: rw.Queries) -> Array:
    return _values(rw.RankRLS(_SEARCH).fit(filled(train, 0.0)), filled(test, 0.0))


def _means(train: rw.Queries, test: rw.Queries) -> Array:
    means = np.nanmean(train.X, axis=0)
    return _values(rw.RankRLS(_SEARCH).fit(filled(train, means)), filled(test, means))


def _ours(missing: str) -> Callable[[rw.Queries, rw.Queries], Array]:
    return lambda train, test: _values(rw.RankRLS(_SEARCH, missing=missing).fit(train), test)  # type: ignore[arg-type]


def by_fit(train: rw.Queries, test: rw.Queries) -> Array:
    """`fit`, which chooses how to fill in on held-out queries."""
    return _values(rw.fit(train, rankers=["rankrls"], rule="best").model, test)


WAYS = {
    "complete documents only": complete_case,
    "zeros": _zeros,
    "means": _means,
    'means and indicators (missing="mean")': _ours("mean"),
    'means of queries and indicators (missing="query-mean")': _ours("query-mean"),
    "fit": by_fit,
}


def _values(ranker: object, test: rw.Queries) -> Array:
    values: Array = rw.evaluate(ranker, test, _MEASURE).values[_MEASURE]  # type: ignore[arg-type]
    return values


def main() -> None:
    """Print a table for each kind of holes and size of the training data."""
    for n_queries in (50, 200):
        for holes in HOLES:
            parts = [drawn(n_queries, holes, seed) for seed in range(_DRAWS)]
            found = {name: np.concatenate([way(*part) for part in parts]) for name, way in WAYS.items()}
            rows = [_row(name, values, found["complete documents only"]) for name, values in found.items()]
            title = f"values missing {holes}, {n_queries} training queries, mean over {_DRAWS} collections"
            print(plain_table(["what stands for a missing value", str(_MEASURE), "difference"], rows, title=title))
            print()


def _row(name: str, values: Array, reference: Array) -> list[str]:
    difference = values - reference
    error = difference.std() / np.sqrt(len(difference))
    return [name, f"{values.mean():.4f}", f"{difference.mean():+.4f} ± {error:.4f}" if error else ""]


if __name__ == "__main__":
    main()
