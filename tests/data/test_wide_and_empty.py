"""Small files that ask for much: one feature with a huge number, and a great many blank lines."""

import gzip
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.cli.main import Exit, main
from rankwright.data.svmlight import blocks
from rankwright.data.width import check_width

WIDE = "1 qid:1 2:1 2147483646:1\n0 qid:2 2:1\n1 qid:2 2:3\n"


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "--missing", "nan"],
        ["train", "--out", "model.json"],
        ["select"],
        ["fit", "--out", "fitted"],
    ],
    ids=lambda words: words[0],
)
def test_a_huge_feature_number_in_commands(tmp_path, monkeypatch, capsys, words):
    """Memory that is missing would be another error, with another code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text(WIDE)
    assert main([words[0], "data.txt", *words[1:]]) == Exit.DATA
    told = " ".join(capsys.readouterr().err.split())
    assert "feature 2147483646" in told
    assert "2,147,483,646" in told
    assert "if the numbers are hashes, keep fewer bits of them" in told


def test_a_huge_feature_number_is_inspected(tmp_path):
    (tmp_path / "data.txt").write_text(WIDE)
    tracemalloc.start()
    found = rw.inspect(rw.read_svmlight(tmp_path / "data.txt"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000_000
    assert found.n_features == 2_147_483_646
    assert found.features.absent == 2_147_483_644
    narrow = rw.inspect(rw.Queries(sp.csr_array(np.array([[1.0, 1], [1, 0], [3, 0]])), [1, 0, 1], [1, 2, 2]))
    assert (found.features.constant, found.duplicate_rows) == (narrow.features.constant, narrow.duplicate_rows)
    assert len(found.features.outliers) == len(narrow.features.outliers)


@pytest.mark.parametrize("options", [{"missing": "nan"}, {"sparse": False}])
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_dense_arrays_beyond_all_measure(tmp_path, options, compress):
    (tmp_path / "data.txt").write_bytes(compress(WIDE.encode()))
    with pytest.raises(rw.ParseError, match=r"2,147,483,646 columns, and a dense array of 3 × .* 25\.8 GB"):
        rw.read_svmlight(tmp_path / "data.txt", **options)
    with pytest.raises(rw.ParseError, match=r"n_features=2147483647 asks for .* a dense array of 1 × .* 8\.6 GB"):
        rw.read_svmlight(tmp_path / "data.txt", n_features=2**31 - 1, **options)
    assert rw.read_svmlight(tmp_path / "data.txt", n_features=2**31 - 1).X.shape == (3, 2**31 - 1)


def test_the_line_of_the_huge_number_is_told(tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 1:1\n" * 300_000 + WIDE)
    with pytest.raises(rw.ParseError, match=r"line 300001, column 13: feature 2147483646 needs"):
        rw.read_svmlight(tmp_path / "data.txt", missing="nan")


@pytest.mark.parametrize("ranker", [rw.RankRLS(), rw.RankSVM(), rw.GreedyRankRLS(), rw.RankBoost(2)])
@pytest.mark.parametrize(("n_features", "size"), [(2**31 - 2, "17.2"), (2**27, "1.1"), (2**22 + 1, "0.0")])
def test_rankers_say_how_many_weights_they_would_need(ranker, n_features, size):
    """A few values do not make a ranker of gigabytes, however large the number of a feature is."""
    x = sp.csr_array(([1.0, 2, 3], [0, n_features - 1, 5], [0, 1, 2, 3]), shape=(3, n_features))
    told = (
        rf"{n_features:,} features, of which 3 occur; .* \({size} GB, .* At most 4,194,304 are taken for data of 3 val"
    )
    with pytest.raises(rw.DataError, match=told):
        ranker.fit(rw.Queries(x, [0, 1, 2], [1, 1, 2]))


def test_data_that_are_not_small_may_have_as_many_features():
    n_features = 2**22 + 1000
    x = sp.csr_array(np.ones((2**16 + 100, 1)))
    x = sp.csr_array((x.data, (np.arange(x.nnz) * 61) % n_features, x.indptr), shape=(x.shape[0], n_features))
    check_width(rw.Queries(x, np.zeros(x.shape[0])), x.nnz)
    with pytest.raises(rw.DataError, match="At most"):
        check_width(rw.Queries(x[:100], np.zeros(100)), x[:100].nnz)


# Blank lines


def peak_of_reading(path, read):
    tracemalloc.start()
    try:
        return read(path), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_gzip_file_of_nothing_but_newlines(tmp_path):
    path = tmp_path / "data.txt.gz"
    path.write_bytes(gzip.compress(b"\n" * 30_000_000))
    with pytest.raises(
        rw.ParseError, match=r"data\.txt\.gz: the file holds no documents, only comments or blank lines"
    ):
        peak_of_reading(path, rw.read_queries)


def test_documents_among_very_many_newlines(tmp_path):
    path = tmp_path / "data.txt.gz"
    rows = b"".join(b"1 qid:%d 1:%d 2:1\n" % (i // 10, i) for i in range(10_000))
    path.write_bytes(gzip.compress(rows + b"\n" * 20_000_000 + rows))
    rw.read_queries(path)
    queries, peak = peak_of_reading(path, rw.read_queries)
    assert queries.X[:, 0].tolist() == [*range(10_000), *range(10_000)]
    assert peak < 40_000_000


def test_scores_and_very_many_newlines(tmp_path):
    queries = rw.Queries(None, [0, 1, 2])
    path = tmp_path / "scores.txt.gz"
    path.write_bytes(gzip.compress(b"1\n2\n3\n" + b"\n" * 21_000_000))
    scores, peak = peak_of_reading(path, lambda path: rw.read_scores(path, queries))
    assert scores.tolist() == [1, 2, 3]
    assert peak < 20_000_000
    path.write_bytes(gzip.compress(b"1\n" * 300_000))
    with pytest.raises(rw.DataError, match="300,000 scores for 3 documents"):
        rw.read_scores(path, queries)
    path.write_bytes(gzip.compress(b"1\n" + b"\n" * 300_000 + b"2\n"))
    with pytest.raises(rw.ParseError, match="line 2: expected one number, found ''"):
        rw.read_scores(path, queries)


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_line_without_end(tmp_path, monkeypatch, compress):
    monkeypatch.setattr(blocks, "BLOCK", 1000)
    monkeypatch.setattr(blocks, "LONGEST_LINE", 100_000)
    (tmp_path / "data.txt").write_bytes(compress(b"1 qid:1 1:1\n" + b"0" * 1_000_000))
    with pytest.raises(rw.ParseError, match="a line is longer than 100,000 bytes"):
        rw.read_svmlight(tmp_path / "data.txt")
