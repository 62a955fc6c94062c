"""Awkward arrays in all the places that take them, drawn from a seed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.normalise import GlobalStandardScaler, QueryMinMaxScaler

_ODD = (np.nan, np.inf, -np.inf, 1e200, -1e308, 1e-310, -0.0, 3.4e38, 2**53 + 1)


def fit_and_score(seed: int) -> None:
    """Train a ranker on arrays that may be anything, and use it on others."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    m, n = rng.choice((0, 1, 2, 5, 12, 40)), rng.choice((0, 1, 2, 3, 7))
    X, y, qid = features(rng, numbers, m, n), grades(rng, numbers, m), ids(rng, numbers, m)
    ranker = ranker_of(rng)
    use = rng.randrange(4)
    if use == 0:
        scaler = rng.choice((QueryMinMaxScaler(), GlobalStandardScaler(), GlobalStandardScaler(with_mean=False)))
        scaler.fit_transform(X, qid=qid)
    elif use == 1:
        queries = rw.Queries(X, y, qid)
        str(rw.inspect(queries))
        rw.evaluate(grades(rng, numbers, m), queries, "ndcg@3, map, err, p@2, rr")
    else:
        ranker.fit(X, y, qid)
        other = features(rng, numbers, rng.choice((m, 3)), n)
        scores = ranker.predict(other)
        if scores.shape != (np.shape(other)[0],) or not np.isfinite(scores).all():
            raise AssertionError(f"scores {scores!r}")
        ranker.score(X, y, qid)


def ranker_of(rng: random.Random) -> Any:
    """One of the rankers, with little to do."""
    return rng.choice((
        rw.RankRLS(1.0), rw.RankRLS(), rw.RegressionRanker(), rw.RankSVM(1.0), rw.RankBoost(n_rounds=3),
        rw.GreedyRankRLS(n_features=1), rw.KernelRankRLS(1.0), rw.OrderPreservingRanker(1.0),
    ))  # fmt: skip


def features(rng: random.Random, numbers: np.random.Generator, m: int, n: int) -> Any:
    """X: mostly as it should be, sometimes of another type, layout or shape, sometimes with indices that lie."""
    X = np.round(numbers.normal(size=(m, n)), rng.choice((0, 1, 9)))
    X *= rng.choice((1.0, 1.0, 1e-9, 1e6))
    if X.size and rng.random() < 0.2:
        X[rng.randrange(m), rng.randrange(n)] = rng.choice(_ODD)
    kind = rng.randrange(12)
    with np.errstate(all="ignore"):
        if kind < 5:
            return sparse(rng, X)
        others = {
            5: lambda: X.astype(rng.choice((np.float32, np.float16, np.longdouble))),
            6: lambda: np.nan_to_num(X, posinf=0, neginf=0).clip(-100, 100).astype(rng.choice((int, bool, "u1", "O"))),
            7: lambda: np.asfortranarray(X)[:, ::-1],
            8: lambda: X.astype(rng.choice(("c16", "U", "S"))),
            9: lambda: np.ma.masked_array(X, mask=numbers.random(X.shape) < rng.choice((0.0, 0.1))),
            10: lambda: X[0] if m else X[None],
        }
        return others.get(kind, lambda: X)()


def sparse(rng: random.Random, X: Any) -> Any:
    """CSR or another format; its arrays may then be spoiled."""
    x = rng.choice((sp.csr_array, sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.bsr_array))(X)
    if rng.random() < 0.5 or x.nnz == 0:
        return x
    name = rng.choice(("indices", "indptr", "data") if hasattr(x, "indptr") else ("data", "row"))
    values = np.array(getattr(x, name))
    if values.size and rng.random() < 0.8:
        put = rng.choice((-1, 0, 1, x.shape[0], x.shape[1], 2**31 - 1, -(2**31), 10**6))
        values.reshape(-1)[rng.randrange(values.size)] = put
    else:
        values = values[: rng.randrange(len(values) + 1)]
    setattr(x, name, values)
    return x


def grades(rng: random.Random, numbers: np.random.Generator, m: int) -> Any:
    """Grades or scores, one for each row, mostly."""
    y: Any = numbers.integers(0, rng.choice((1, 2, 5)), m).astype(float)
    kind = rng.randrange(14)
    if kind == 0 and m:
        y[rng.randrange(m)] = rng.choice((*_ODD, -1.0, 5000.0))
    elif kind == 1:
        y = np.ma.masked_array(y, mask=numbers.random(m) < 0.1)
    elif kind == 2:
        y = y.astype(rng.choice(("c16", "M8[s]", "U", "O", "i1", "f2")))
    elif kind == 3:
        y = y[:-1]
    elif kind == 4:
        y = y[:, None]
    elif kind == 5:
        y = [*y.tolist()[:-1], rng.choice((None, "x", [1.0], 10**400, True, float("nan")))]
    elif kind == 6 and m:
        return rw.FullRanking(numbers.permutation(m) + 1)
    return y


def ids(rng: random.Random, numbers: np.random.Generator, m: int) -> Any:
    """Query ids of many types."""
    qid: Any = np.sort(numbers.integers(0, 1 + m // 3, m))
    kind = rng.randrange(14)
    if kind == 0:
        return None
    if kind == 1:
        return rng.sample(qid.tolist(), m)
    if kind == 2:
        return qid.astype(rng.choice(("U3", "S3", "f4", "c16", "M8[s]", "m8[D]", "O", "bool", "u8")))
    if kind == 3:
        return np.ma.masked_array(qid, mask=numbers.random(m) < 0.1)
    if kind == 4:
        return [rng.choice((1, "1", None, 1.5, (1, 2), [1], float("nan"), b"1", "a\0", "a", 10**30)) for _ in range(m)]
    if kind == 5:
        return qid[: rng.randrange(m + 1)]
    return qid
