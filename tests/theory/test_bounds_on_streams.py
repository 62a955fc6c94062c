"""Risk bounds of queries that are read part by part, held against those of the same queries in memory."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.streams import source


def queries_with_holes(layout):
    """Text ids, queries of one document and without a relevant one; one query alone lacks a feature in part."""
    rng = np.random.default_rng(5)
    sizes = np.where(rng.random(60) < 0.2, 1, rng.integers(2, 12, 60))
    x = rng.normal(size=(sizes.sum(), 4)).astype(np.float32)
    y = (x[:, 0] + rng.normal(size=len(x)) > 0).astype(float)
    x[-3:-1, 3] = np.nan
    sizes[-1], sizes[-2] = 4, sizes[-2] + sizes[-1] - 4
    qid = np.repeat([f"query {i * 31 % 97}" for i in range(60)], sizes)
    return rw.Queries(sp.csr_array(x) if layout == "sparse" else x, y, qid)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("corollary1", {}),
        ("corollary2", {}),
        ("theorem4", {}),
        ("corollary3", {}),
        ("argmax", {"measure": "map"}),
        ("softmax", {}),
        ("ndcg", {}),
        ("ndcg", {"constants": "largest", "B": 0.5}),
    ],
)
def test_bounds_part_by_part_are_those_in_memory(tmp_path, monkeypatch, layout, kind, options):
    queries = queries_with_holes(layout)
    monkeypatch.setattr(source, "_LARGEST_PART", 3_000)
    rw.write_queries(queries, tmp_path / "queries.parquet")
    stream = rw.open_queries(tmp_path / "queries.parquet", memory="1MB")
    assert stream.n_parts > 3
    ranker = rw.RankRLS().fit(queries)
    in_memory, by_parts = (rw.theory.risk_bound(ranker, each, kind=kind, **options) for each in (queries, stream))
    assert str(in_memory) == str(by_parts)
    assert [term.log_value for term in by_parts.terms] == pytest.approx(
        [term.log_value for term in in_memory.terms], rel=1e-9
    )


def test_rademacher_averages_are_refused_by_name(tmp_path):
    rw.write_queries(queries_with_holes("dense"), tmp_path / "queries.parquet")
    stream = rw.open_queries(tmp_path / "queries.parquet", memory="1MB")
    with pytest.raises(rw.ParameterError, match=r"rademacher needs all documents in memory.*risk_bound"):
        rw.theory.rademacher(stream, B=1.0)
