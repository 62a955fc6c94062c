"""Parquet files: exact round trips, row groups as pyarrow itself sees them, and files that are not what they seem."""

import json
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from test_frames import any_queries, assert_same_queries, text

import rankwright as rw
from rankwright.data import parquet
from rankwright.errors import DataError, ParameterError, ParseError

awkward_names = (
    st.sampled_from(["qid", "_qid", "label", "rank", "doc_id", "indices", "a.b", "a", "qid.x", "", "ß"]) | text
)


def written(queries, folder):
    path = Path(folder) / "queries.parquet"
    rw.write_parquet(queries, path)
    return path


@pytest.fixture
def small(tmp_path):
    """A file of two queries and two features."""
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    return written(rw.Queries(x, [0, 1, 2, 0], ["b", "b", "a", "a"], doc_ids=list("wxyz")), tmp_path)


# There and back


@settings(max_examples=150, deadline=None)
@given(queries=any_queries(names=awkward_names, rows_together=True))
def test_what_is_written_is_read_back_exactly(queries):
    with TemporaryDirectory() as folder:
        read = rw.read_parquet(written(queries, folder))
    assert_same_queries(read, queries)
    assert sp.issparse(read.X) or read.X.flags.c_contiguous


@settings(max_examples=50, deadline=None)
@given(queries=any_queries(names=awkward_names), group_rows=st.integers(1, 6))
def test_row_groups_hold_whole_queries_in_order_of_first_appearance(queries, group_rows):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "_GROUP_ROWS", group_rows)
        path = written(queries, folder)
        assert_same_queries(rw.read_parquet(path), queries[:])
        file = pq.ParquetFile(path)
        qid_column = json.loads(file.metadata.metadata[b"rankwright"])["qid"]
        groups = [file.read_row_group(group)[qid_column].to_pylist() for group in range(file.num_row_groups)]
        file.close()
    rows = [query for group in groups for query in group]
    assert list(dict.fromkeys(rows)) == list(dict.fromkeys(queries.qid.tolist()))
    assert sorted(map(str, rows)) == sorted(map(str, queries.qid.tolist()))
    for earlier, later in pairwise(groups):
        assert not set(earlier) & set(later)
        # A group ends only because the next query would not fit in it.
        assert len(earlier) + later.count(later[0]) > group_rows
    for group in groups:
        assert len(group) <= group_rows or len(set(group)) == 1


def test_row_groups_of_wide_rows_hold_fewer_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_GROUP_BYTES", 3 * 10 * 8)
    queries = rw.Queries(np.ones((9, 10)), np.zeros(9), np.arange(9))
    metadata = pq.ParquetFile(written(queries, tmp_path)).metadata
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [3, 3, 3]
    assert_same_queries(rw.read_parquet(tmp_path / "queries.parquet"), queries)


@pytest.mark.parametrize("x", [None, np.zeros((3, 0), np.float32), np.zeros((0, 2)), sp.csr_array((0, 5))])
def test_no_features_or_no_rows(tmp_path, x):
    queries = rw.Queries(x, np.zeros(3 if x is None else x.shape[0]))
    assert_same_queries(rw.read_parquet(written(queries, tmp_path)), queries)


def test_dates_as_query_ids(tmp_path):
    queries = rw.Queries([[1.0], [2.0]], [0, 1], np.array(["2024-02-29", "1999-01-01"], "datetime64[D]"))
    assert_same_queries(rw.read_parquet(written(queries, tmp_path)), queries)


def test_csr_features_are_lists_in_the_file(tmp_path):
    x = sp.csr_array(([1.5, np.nan], ([0, 2], [70_000, 0])), shape=(3, 100_000), dtype=np.float32)
    table = pq.read_table(written(rw.Queries(x, [0, 1, 2]), tmp_path))
    assert table["indices"].to_pylist() == [[70_000], [], [0]]
    assert table.column_names == ["qid", "label", "indices", "values"]


def test_other_programs_read_the_file(small):
    frame = pl.read_parquet(small)
    assert frame.columns == ["qid", "label", "doc_id", "f1", "f2"]
    assert frame["f2"].to_list() == [1, 3, 5, 7]


# Files of other programs


@pytest.mark.parametrize("row_group_size", [2, 100])
def test_files_of_other_programs(tmp_path, row_group_size):
    path = tmp_path / "foreign.parquet"
    columns = {
        "url": list("abcde"),
        "x": [1, None, 3, 4, 5],
        "q": list("uuvvu"),
        "y": [0, 1, 2, 3, 4],
        "z": [True] * 5,
    }
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size)
    queries = rw.read_parquet(path, label="y", qid="q", doc="url")
    np.testing.assert_array_equal(queries.X, [[1, 1], [np.nan, 1], [3, 1], [4, 1], [5, 1]])
    assert queries.X.dtype == np.float64
    assert queries.feature_names == ("x", "z")
    np.testing.assert_array_equal(queries.y, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(queries.qid, list("uuvvu"))
    np.testing.assert_array_equal(queries.doc_ids, list("abcde"))
    assert rw.read_parquet(path, label="y", qid="q", features=["z", "x"]).feature_names == ("z", "x")


def test_a_frame_written_by_polars(tmp_path):
    x = sp.csr_array(([1.0, 2.0], ([0, 1], [1, 3])), shape=(2, 6))
    queries = rw.Queries(x, rw.FullRanking([2, 1]), doc_ids=["a", "b"])
    queries.to_frame("polars").write_parquet(tmp_path / "polars.parquet")
    assert_same_queries(rw.read_parquet(tmp_path / "polars.parquet"), queries)


def test_arguments_override_what_the_file_says(tmp_path):
    queries = rw.Queries(np.arange(6.0).reshape(3, 2), rw.FullRanking([1, 2, 3]), feature_names=["a", "b"])
    path = written(queries, tmp_path)
    read = rw.read_parquet(path, label="b", features=["a"])
    np.testing.assert_array_equal(read.y, [1, 3, 5])
    np.testing.assert_array_equal(read.X, [[0], [2], [4]])
    assert read.feature_names == ("a",)
    assert_same_queries(rw.read_parquet(path, label="rank"), queries)
    with pytest.raises(DataError, match="'b' is named twice, as label and as features"):
        rw.read_parquet(path, label="b")
    with pytest.raises(ParameterError, match="not the string 'a'"):
        rw.read_parquet(path, features="a")


# Refused


def replace_note(path, note):
    """Write the file anew, with this note in its metadata."""
    table = pq.read_table(path)
    text = note if isinstance(note, bytes) else json.dumps(note).encode()
    pq.write_table(table.replace_schema_metadata({b"rankwright": text}), path)


GOOD_NOTE = {
    "version": 1,
    "supervision": "grades",
    "qid": "qid",
    "label": "label",
    "doc": "doc_id",
    "sparse": False,
    "n_features": 2,
    "features": ["f1", "f2"],
}


def test_the_note_is_as_documented(small):
    assert json.loads(pq.read_metadata(small).metadata[b"rankwright"]) == GOOD_NOTE
    before = rw.read_parquet(small)
    replace_note(small, GOOD_NOTE)
    assert_same_queries(rw.read_parquet(small), before)


@pytest.mark.parametrize(
    ("note", "message"),
    [
        (b"\xff", "is damaged"),
        (b"{", "is damaged"),
        (b"[" * 100_000, "is damaged"),
        ([], "not what write_parquet writes"),
        ({}, "not what write_parquet writes"),
        (
            GOOD_NOTE | {"version": 2},
            "layout 2, but this version of Rankwright reads layouts up to 1: upgrade",
        ),
        (GOOD_NOTE | {"version": 0}, "not what write_parquet writes"),
        (GOOD_NOTE | {"version": "1"}, "not what write_parquet writes"),
        (GOOD_NOTE | {"supervision": "clicks"}, "not what write_parquet writes"),
        (GOOD_NOTE | {"qid": None}, "not what write_parquet writes"),
        (GOOD_NOTE | {"doc": 3}, "not what write_parquet writes"),
        (GOOD_NOTE | {"sparse": "no"}, "not what write_parquet writes"),
        (GOOD_NOTE | {"n_features": 3}, "not what write_parquet writes"),
        (GOOD_NOTE | {"features": None}, "not what write_parquet writes"),
        (GOOD_NOTE | {"features": ["f1", 2]}, "not what write_parquet writes"),
        (GOOD_NOTE | {"features": ["f1", "f9"]}, "no column 'f9'"),
        (GOOD_NOTE | {"features": ["f1", "f1"]}, "'f1' is named twice"),
        (GOOD_NOTE | {"features": ["f1", "doc_id"]}, "'doc_id' is named twice"),
        (GOOD_NOTE | {"label": "doc_id", "doc": None}, "column 'doc_id' .* not numeric"),
        (GOOD_NOTE | {"supervision": "preference graph"}, "column 'label' must hold lists"),
        (GOOD_NOTE | {"supervision": "full ranking"}, "each rank from 1 to 2 exactly once"),
        (GOOD_NOTE | {"sparse": True}, "no column 'indices'"),
    ],
)
def test_notes_that_are_not_what_was_written(small, note, message):
    replace_note(small, note)
    with pytest.raises(ParseError, match=message) as raised:
        rw.read_parquet(small)
    assert str(raised.value).startswith(str(small))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"1 qid:1 1:0.5\n", b"PAR1" + bytes(100) + b"PAR1"])
def test_what_is_not_parquet(tmp_path, content):
    path = tmp_path / "data.parquet"
    path.write_bytes(content)
    with pytest.raises(ParseError, match=r"data\.parquet: not a Parquet file"):
        rw.read_parquet(path)


@settings(max_examples=30, deadline=None)
@given(kept=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short(kept):
    with TemporaryDirectory() as folder:
        path = written(rw.Queries(np.random.default_rng(0).random((50, 3)), np.zeros(50)), folder)
        content = path.read_bytes()
        path.write_bytes(content[: int(kept * len(content))])
        with pytest.raises(ParseError, match="not a Parquet file, or cut short"):
            rw.read_parquet(path)


def test_damaged_pages(tmp_path):
    path = written(rw.Queries(np.random.default_rng(0).random((50, 3)), np.zeros(50)), tmp_path)
    chunk = pq.read_metadata(path).row_group(0).column(2)
    content = bytearray(path.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.write_bytes(content)
    with pytest.raises(ParseError, match="damaged"):
        rw.read_parquet(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.parquet: there is no such file"):
        rw.read_parquet(tmp_path / "none.parquet")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        rw.read_parquet(tmp_path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"qid": [1], "x": [1.0]}, r"no column 'label' \(label\); there are 'qid', 'x'"),
        ({"qid": [1], "label": ["a"]}, r"column 'label' \(grades\) is String, not numeric"),
        ({"qid": [1, 1], "label": [0, None]}, r"row 1: there is no value in column 'label'"),
        ({"qid": [1, 1], "label": [0, -2]}, r"row 1 \(query 1\): the grade is -2"),
    ],
)
def test_wrong_columns(tmp_path, columns, message):
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(ParseError, match=message) as raised:
        rw.read_parquet(path)
    assert str(raised.value).startswith(str(path))


def test_two_columns_of_one_name(tmp_path):
    pq.write_table(pa.table([[1], [0], [1.0], [2.0]], names=["qid", "label", "x", "x"]), tmp_path / "twice.parquet")
    with pytest.raises(ParseError, match="need different names"):
        rw.read_parquet(tmp_path / "twice.parquet")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(small, monkeypatch):
    before = small.read_bytes()

    def fail(*_):
        raise RuntimeError("disk full")

    monkeypatch.setattr(parquet, "arrow_table", fail)
    with pytest.raises(RuntimeError, match="disk full"):
        rw.write_parquet(rw.Queries([[1.0]], [0]), small)
    assert small.read_bytes() == before
    assert [path.name for path in small.parent.iterdir()] == [small.name]


def test_query_ids_that_no_column_can_hold(tmp_path):
    qid = np.array([7, "7"], dtype=object)
    with pytest.raises(DataError, match="turn them into strings"):
        rw.write_parquet(rw.Queries([[1.0], [2.0]], [0, 1], qid), tmp_path / "mixed.parquet")
    assert not list(tmp_path.iterdir())
