"""Inspection part by part, held against the inspection of all queries at once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.data import inspection_columns
from rankwright.data.inspection import inspect
from rankwright.data.queries import Queries
from rankwright.judgments.supervision import FullRanking, PreferenceGraph

N_QUERIES = 60


class InParts:
    """Queries that are handed out in parts, as those that are read from files are."""

    def __init__(self, queries, ends):
        self.queries, self.ends = queries, [0, *ends, queries.n_queries]

    def __getattr__(self, name):
        return getattr(self.queries, name)

    def parts(self):
        for first, last in zip(self.ends, self.ends[1:], strict=False):
            if first < last:
                yield self.queries[first:last]


def planted(seed, layout="dense", supervision="grades"):
    """All that inspection looks for, in queries of one to thirty documents."""
    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random(N_QUERIES) < 0.3, 1, rng.integers(2, 30, N_QUERIES))
    n = sizes.sum()
    y = rng.integers(0, 3, n) + np.where(rng.random(n) < 0.05, 0.5, 0.0)
    x = rng.normal(size=(n, 16))
    x[:, 0] = np.arange(n)
    x[:, 1] = np.concatenate([np.arange(size) for size in sizes])
    x[:, 2] = 7
    x[:, 3] = np.repeat(rng.normal(size=N_QUERIES), sizes)
    x[:, 4] = x[:, 5]
    x[rng.random(n) < 0.3, 6] = np.nan
    x[rng.random(n) < 0.1 + 0.4 * (y > 0), 7] = np.nan
    x[:, 8] = np.nan
    x[3, 9] = np.inf
    x[n // 2, 10] = 1e9
    x[:, 11] = 2 * y
    x[:, 12] = -y
    x[:, 13] *= rng.random(n) < 0.1
    x[: n // 2, 14] = 0  # not there in the first parts of CSR
    x[n // 2 :, 15] = 0
    if layout == "repeated":
        x[1::3] = x[:-1:3][: len(x[1::3])]
    if layout == "CSR":
        x = sp.csr_array(x)
    given = {
        "grades": y,
        "ranking": FullRanking(np.concatenate([rng.permutation(size) + 1 for size in sizes])),
        "graph": PreferenceGraph(n, *(np.zeros(0, np.int64),) * 2),
    }[supervision]
    return Queries(x, given, np.repeat([f"q{number}" for number in rng.permutation(N_QUERIES)], sizes))


def assert_same(one, other):
    if isinstance(one, dict):
        for key, value in one.items():
            assert_same(value, other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    elif isinstance(one, float):
        assert other == pytest.approx(one, rel=1e-12)
    else:
        assert one == other


@pytest.mark.parametrize("supervision", ["grades", "ranking", "graph"])
@pytest.mark.parametrize("layout", ["dense", "CSR", "repeated"])
@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_cut_the_findings_are_the_same(seed, layout, supervision):
    queries = planted(seed, layout, supervision)
    whole = inspect(queries).to_dict()
    some = sorted(np.random.default_rng(seed).integers(1, N_QUERIES, 4).tolist())
    for ends in ([], [1], [N_QUERIES - 1], some, range(1, N_QUERIES)):
        assert_same(whole, inspect(InParts(queries, ends)).to_dict())


def test_the_planted_problems_are_found_in_parts():
    found = inspect(InParts(planted(0), [10, 30])).features
    assert [each.feature for each in found.leaks] == ["f12", "f13"]
    assert [(each.feature, each.kind) for each in found.identifiers] == [
        ("f1", "row number"),
        ("f2", "position in its query"),
    ]
    assert [each.feature for each in found.outliers] == ["f11"]
    assert (found.constant, found.constant_within_queries, found.missing_throughout) == (("f3",), ("f4",), ("f9",))
    assert (found.duplicates[0].feature, found.duplicates[0].of) == ("f6", "f5")


@pytest.mark.parametrize("layout", ["dense", "CSR"])
def test_quartiles_of_many_values_are_those_of_a_sample(monkeypatch, layout):
    """The sample is the same for every cut, and its quartiles are near those of all values."""
    monkeypatch.setattr(inspection_columns, "_SAMPLED_VALUES", 20_000)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40_000, 3))
    x[7] = 1e6
    x[:, 2] = rng.permutation(40_000) * 2.0
    queries = Queries(sp.csr_array(x) if layout == "CSR" else x, rng.integers(0, 2, 40_000), np.arange(40_000) // 20)
    whole = inspect(queries).features
    samples = [inspect(InParts(queries, ends)).features for ends in ([1], [3, 500, 1999], range(0, 2000, 100))]
    assert samples[0] == samples[1] == samples[2]
    for exact, sampled in zip(whole.outliers, samples[0].outliers, strict=True):
        assert sampled.interquartile_range == pytest.approx(exact.interquartile_range, rel=0.05)
        assert (sampled.low, sampled.high) == (exact.low, exact.high)
    assert samples[0].identifiers == whole.identifiers
    assert len(whole.identifiers) == 1
