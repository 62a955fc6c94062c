"""Data files opened by name and content, and files of scores."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from rankwright.data.files import read_queries, write_queries
from rankwright.data.queries import Queries
from rankwright.data.scores import read_scores
from rankwright.errors import DataError, ParameterError, ParseError

QUERIES = Queries([[1.0, 0.0], [2.0, 5.0], [0.5, 0.25]], [0, 1, 2], qid=["a", "a", "b"])


@pytest.mark.parametrize("written", ["data.parquet", "data.txt.gz", "data.letor"])
def test_the_content_decides_how_a_file_is_read(tmp_path, written):
    write_queries(QUERIES, tmp_path / written)
    misnamed = (tmp_path / written).rename(tmp_path / ("data.txt" if "parquet" in written else "data.parquet"))
    back = read_queries(misnamed)
    np.testing.assert_array_equal(back.X, QUERIES.X)
    np.testing.assert_array_equal(back.y, QUERIES.y)


@pytest.mark.parametrize("name", ["data", "data.csv", "data.parquet.gz", "data.gz", "txt"])
def test_unknown_endings_cannot_be_written(tmp_path, name):
    with pytest.raises(ParameterError, match=r"\.libsvm.*\.parquet"):
        write_queries(QUERIES, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_scores(tmp_path, pack):
    path = tmp_path / "scores"
    path.write_bytes(pack(b"0.5\r\n -1e-3 \ninf\n\n \n"))
    np.testing.assert_array_equal(read_scores(path, QUERIES), [0.5, -0.001, np.inf])


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"1\nx\n3\n", 2), (b"1\n\n3\n", 2), (b"1\n2\n1 2\n", 3), (b"1\n1_0\n3", 2), (b"", 1), (b"1\n2\nnan\n", 3)],
)
def test_a_malformed_score_is_named_by_its_line(tmp_path, content, line):
    path = tmp_path / "scores.txt"
    path.write_bytes(content)
    with pytest.raises(ParseError) as caught:
        read_scores(path, QUERIES)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_too_few_scores_are_counted(tmp_path):
    path = tmp_path / "scores.txt"
    path.write_text("1\n2\n")
    with pytest.raises(DataError, match=r"scores\.txt: 2 scores for 3 documents"):
        read_scores(path, QUERIES)


def test_damaged_gzip_scores(tmp_path):
    path = tmp_path / "scores.gz"
    path.write_bytes(gzip.compress(b"1\n2\n3\n")[:-6])
    with pytest.raises(ParseError, match="gzip"):
        read_scores(path, QUERIES)
