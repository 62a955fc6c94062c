"""Groups as LightGBM has them: files of sizes beside text, held against a plain parser, and ``group=`` in Python."""

import gzip
import os
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.svmlight import blocks, reader
from rankwright.data.svmlight.reader import read_parts


def lightgbm_layout(seed=0, n_queries=40, first_index=1, missing=""):
    """Text without qid, and the sizes of its queries, some of one document: what LightGBM's examples look like."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, n_queries)
    lines = []
    for _ in range(sizes.sum()):
        given = np.flatnonzero(rng.random(9) < 0.8)
        values = [missing if missing and rng.random() < 0.1 else f"{rng.normal():.4f}" for _ in given]
        cells = (f"{j + first_index}:{value}" for j, value in zip(given, values, strict=True))
        lines.append(" ".join([str(rng.integers(0, 4)), *cells]))
    return "\n".join(lines) + "\n", "".join(f"{size}\n" for size in sizes)


def plain_reading(text, sizes):
    """The text and the sizes one value at a time."""
    rows = [line.split() for line in text.splitlines()]
    cells = [{int(i): float(v) for i, v in (cell.split(":") for cell in row[1:])} for row in rows]
    used = sorted({index for row in cells for index in row})
    first = 0 if used[0] == 0 else 1
    X = np.zeros((len(rows), used[-1] + 1 - first))
    for i, row in enumerate(cells):
        for index, value in row.items():
            X[i, index - first] = value
    queries = [query for query, size in enumerate(sizes.split(), start=1) for _ in range(int(size))]
    return X, [float(row[0]) for row in rows], queries


@pytest.fixture(name="tiny_blocks", params=[False, True], ids=["one block", "many blocks"])
def blocks_of_a_few_lines(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(blocks, "BLOCK", 300)
        monkeypatch.setattr(blocks, "SAMPLE", 200)


@pytest.mark.parametrize("ending", [".query", ".group", ".query.gz"])
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("first_index", [0, 1])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "CSR"])
def test_agrees_with_a_plain_parser(tmp_path, tiny_blocks, ending, compressed, first_index, sparse):
    text, sizes = lightgbm_layout(first_index=first_index, missing="nan")
    path = tmp_path / ("rank.train.gz" if compressed else "rank.train")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    told = gzip.compress(sizes.encode()) if ending.endswith(".gz") else sizes.encode()
    (tmp_path / f"rank.train{ending}").write_bytes(told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        queries = rw.read_svmlight(path, sparse=sparse, dtype=np.float64)
    X, grades, ids = plain_reading(text, sizes)
    np.testing.assert_array_equal(queries.X.toarray() if sparse else queries.X, X)
    assert queries.y.tolist() == grades
    assert queries.qid.tolist() == ids
    assert rw.read_queries(path).qid.tolist() == ids


@pytest.mark.peers
@pytest.mark.parametrize("first_index", [0, 1])
def test_agrees_with_lightgbm(tmp_path, first_index):
    lightgbm = pytest.importorskip("lightgbm")
    text, sizes = lightgbm_layout(first_index=first_index)
    (tmp_path / "rank.train").write_text(text)
    (tmp_path / "rank.train.query").write_text(sizes)
    dataset = lightgbm.Dataset(str(tmp_path / "rank.train"), params={"verbosity": -1}).construct()
    queries = rw.read_queries(tmp_path / "rank.train")
    np.testing.assert_array_equal(dataset.get_label(), queries.y)
    np.testing.assert_array_equal(dataset.get_group(), queries.sizes)


def test_numbers_have_the_type_they_would_have_with_qid(tmp_path, tiny_blocks):
    """Times differ little within queries, and much between them: as one query they would pass for float32."""
    rng = np.random.default_rng(3)
    sizes = np.full(50, 12)
    query = np.repeat(np.arange(50), 12)
    for name, column in (
        ("times", 1_700_000_000 + 10**8 * query + rng.integers(0, 50, 600)),
        ("scores", rng.random(600)),
    ):
        cells = [f"1:{value}" for value in column.tolist()]
        (tmp_path / f"{name}.qid").write_text("".join(f"1 qid:{q} {c}\n" for q, c in zip(query, cells, strict=True)))
        (tmp_path / name).write_text("".join(f"1 {cell}\n" for cell in cells))
        (tmp_path / f"{name}.query").write_text("".join(f"{size}\n" for size in sizes))
        for sparse in (False, True):
            ours, named = (rw.read_svmlight(tmp_path / n, sparse=sparse).X for n in (name, f"{name}.qid"))
            assert ours.dtype == named.dtype == (np.float64 if name == "times" else np.float32)
            np.testing.assert_array_equal(ours.toarray() if sparse else ours, named.toarray() if sparse else named)


def test_a_file_is_read_once(tmp_path, monkeypatch):
    """The type of the features waits for the groups, without another reading."""
    text, sizes = lightgbm_layout()
    (tmp_path / "rank.train").write_text(text)
    (tmp_path / "rank.train.query").write_text(sizes)
    readings = []
    whole = reader._read
    monkeypatch.setattr(reader, "_read", lambda *parts: readings.append(parts) or whole(*parts))
    assert rw.read_svmlight(tmp_path / "rank.train").X.dtype == np.float32
    assert len(readings) == 1


BROKEN = {
    "too few": ("2\n1\n", "rank.train.query: its sizes of 2 queries add up to 3 rows, but .*rank.train has 4"),
    "too many": ("2\n3\n", "add up to 5 rows, but .*rank.train has 4"),
    "none": ("", "its sizes of 0 queries add up to 0 rows"),
    "a word": ("2\ntwo\n", "rank.train.query, line 2: expected how many rows a query has, .* found 'two'"),
    "zero": ("0\n4\n", "line 1: .* at least 1, found '0'"),
    "below zero": ("5\n-1\n", "line 2: .* found '-1'"),
    "a fraction": ("1.5\n2.5\n", "line 1: .* found '1.5'"),
    "two on a line": ("2 2\n", "line 1: .* found '2 2'"),
    "a gap": ("2\n\n2\n", "line 2: .* found a blank line"),
    "endless": ("9" * 5000, "line 1: .* found '999"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_sizes_that_cannot_be(tmp_path, case):
    sizes, told = BROKEN[case]
    (tmp_path / "rank.train").write_text("1 1:1\n0 1:2\n2 1:3\n0 1:4\n")
    (tmp_path / "rank.train.query").write_text(sizes)
    with pytest.raises(rw.ParseError, match=told):
        rw.read_queries(tmp_path / "rank.train")


NAMED = "1 qid:a 1:1\n0 qid:a 1:2\n2 qid:b 1:3\n0 qid:b 1:4\n1 qid:b 1:5\n"


def test_qid_and_sizes_that_agree(tmp_path):
    (tmp_path / "data.txt").write_text(NAMED)
    (tmp_path / "data.txt.group").write_text("2\n3\n")
    assert rw.read_queries(tmp_path / "data.txt").qid.tolist() == ["a", "a", "b", "b", "b"]


@pytest.mark.parametrize(
    ("text", "sizes", "told"),
    [
        (NAMED, "3\n2\n", "group, line 1: expected 2, the rows of query a by its qid: in .*data.txt, found 3"),
        (NAMED, "2\n2\n1\n", "group, line 2: expected 3, the rows of query b by its qid: in .*data.txt, found 2"),
        (NAMED, "2\n4\n", "add up to 6 rows, but .*data.txt has 5"),
        ("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n", "1\n1\n1\n", "has a qid: whose rows do not stand together"),
    ],
)
def test_qid_and_sizes_that_do_not_agree(tmp_path, text, sizes, told):
    (tmp_path / "data.txt").write_text(text)
    (tmp_path / "data.txt.group").write_text(sizes)
    with pytest.raises(rw.ParseError, match=told):
        rw.read_queries(tmp_path / "data.txt")


def test_two_files_of_sizes(tmp_path):
    (tmp_path / "data.txt").write_text("1 1:1\n0 1:2\n2 1:3\n")
    (tmp_path / "data.txt.query").write_text("2\n1\n")
    (tmp_path / "data.txt.group").write_text("2\n1\n")
    assert rw.read_queries(tmp_path / "data.txt").sizes.tolist() == [2, 1]
    (tmp_path / "data.txt.group").write_text("1\n2\n")
    with pytest.raises(rw.ParseError, match=r"data.txt.group: has other sizes than .*data.txt.query"):
        rw.read_queries(tmp_path / "data.txt")


def test_parts_of_a_collection_have_sizes_of_their_own(tmp_path):
    for name, width, sizes in (("train.txt", 3, [2, 2]), ("test.txt", 5, [1, 3])):
        (tmp_path / name).write_text("".join(f"{i % 2} 1:{i} {width}:1\n" for i in range(4)))
        (tmp_path / f"{name}.query").write_text("".join(f"{size}\n" for size in sizes))
    train, test = read_parts([tmp_path / "train.txt", tmp_path / "test.txt"], dtype=None, missing="zero")
    assert (train.n_features, train.sizes.tolist(), test.sizes.tolist()) == (5, [2, 2], [1, 3])
    assert train.X.dtype == test.X.dtype == np.float32


def test_sizes_that_change_while_the_text_is_read(tmp_path, monkeypatch):
    (tmp_path / "data.txt").write_text("1 1:1\n0 1:2\n2 1:3\n")
    (tmp_path / "data.txt.query").write_text("2\n1\n")
    whole = reader._read

    def changing(*parts):
        (tmp_path / "data.txt.query").write_text("1\n2\n")
        os.utime(tmp_path / "data.txt.query", (1, 1))
        return whole(*parts)

    monkeypatch.setattr(reader, "_read", changing)
    with pytest.raises(rw.ParseError, match=r"data.txt.query: the file was changed while being read"):
        rw.read_svmlight(tmp_path / "data.txt")


def test_a_pipe_has_no_file_beside_it(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "pipe.query").write_text("1\n2\n")
    writer = threading.Thread(target=lambda: pipe.write_text("1 1:1\n0 1:2\n2 1:3\n"))
    writer.start()
    with pytest.warns(rw.OneQueryWarning):
        assert rw.read_queries(pipe).n_queries == 1
    writer.join()


# One query


def test_a_file_that_names_no_queries_says_so(tmp_path):
    (tmp_path / "data.txt").write_text("".join(f"{i % 3} 1:{i}\n" for i in range(3005)))
    with pytest.warns(rw.OneQueryWarning) as told:
        queries = rw.read_queries(tmp_path / "data.txt")
    (warning,) = told
    assert "The file has no qid: column, so all 3,005 rows were read as one query. Put qid:<id>" in str(warning.message)
    assert f"into {tmp_path / 'data.txt'}.query." in str(warning.message)
    assert warning.filename == __file__
    assert queries.n_queries == 1
    with pytest.raises(rw.DataError, match="The file has no qid: column, so all 3,005 rows were read as one query"):
        rw.fit(queries)


@pytest.mark.parametrize("text", ["1 qid:7 1:1\n0 qid:7 1:2\n", "1 1:1\n"], ids=["qid", "one row"])
def test_a_file_of_one_query_is_nothing_to_warn_of(tmp_path, text):
    (tmp_path / "data.txt").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rw.read_queries(tmp_path / "data.txt").n_queries == 1


def test_fit_refuses_one_query_for_the_right_reason():
    X, y = np.eye(4), [0, 1, 2, 0]
    with pytest.raises(rw.DataError, match="No qid was given, so all 4 rows are taken as one query"):
        rw.fit(rw.Queries(X, y))
    with pytest.raises(rw.DataError, match=r"there is only one query, .* or validation data"):
        rw.fit(rw.Queries(X, y, qid=[7, 7, 7, 7]))


# In Python


@pytest.mark.parametrize(
    "group",
    [[3, 1, 4], (3, 1, 4), np.array([3, 1, 4], np.uint8), np.array([3.0, 1.0, 4.0]), pd.Series([3, 1, 4])],
    ids=["list", "tuple", "bytes", "floats", "series"],
)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_sizes_in_python(group, make):
    X, y = np.arange(16.0).reshape(8, 2), np.arange(8) % 3
    queries = rw.Queries(make(X), y, group=group)
    assert queries.qid.tolist() == [1, 1, 1, 2, 3, 3, 3, 3]
    assert queries.query_ids.tolist() == [1, 2, 3]
    assert queries.sizes.tolist() == [3, 1, 4]
    assert queries[2].y.tolist() == y[4:].tolist()
    assert queries.grouping.why_one_query is None


@pytest.mark.parametrize(
    ("group", "told"),
    [
        ([3, 4], "the sizes of 2 queries add up to 7 rows, but there are 8$"),
        ([3, 6], "add up to 9 rows, but there are 8$"),
        ([], "the sizes of 0 queries add up to 0 rows"),
        ([8, 0], "query 2 has 0 rows: leave out queries without rows$"),
        ([9, -1], "query 2 has -1 rows"),
        ([1, 1, 1, 1, 2, 2, 2, 2], "add up to 12 rows, but there are 8; to name the query of each row, pass qid"),
        ([0, 0, 0, 1, 1, 1, 2, 2], "query 1 has 0 rows.*; to name the query of each row, pass qid"),
        ([2.5, 5.5], "group must be a list of whole numbers"),
        ([np.nan, 8], "group must be a list of whole numbers"),
        ([np.inf], "group must be a list of whole numbers"),
        (["3", "5"], "group must be a list of whole numbers"),
        ([[3, 5]], "group must be a list of whole numbers"),
        ([[3], [5, 1]], "group must be a list of whole numbers"),
        (8, "group must be a list of whole numbers"),
        (np.ma.array([3, 5], mask=[0, 1]), "group"),
        ([2**62] * 4, "add up to 18,446,744,073,709,551,616 rows"),
    ],
)
def test_sizes_in_python_that_cannot_be(group, told):
    with pytest.raises(rw.DataError, match=told):
        rw.Queries(np.zeros((8, 1)), np.zeros(8), group=group)


def test_qid_or_group():
    with pytest.raises(rw.ParameterError, match=r"give qid .* or group .*, not both"):
        rw.Queries(np.zeros((2, 1)), [0, 1], qid=[1, 1], group=[2])


def test_no_rows_have_no_groups():
    assert rw.Queries(np.zeros((0, 2)), [], group=[]).n_queries == 0
