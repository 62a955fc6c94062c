"""Writing text: what is written reads back the same, with as few digits as Python's own repr."""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rankwright as rw


@given(
    X=st.sampled_from([np.float32, np.float64]).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6))
    ),
    sparse=st.booleans(),
    zero_based=st.booleans(),
    compressed=st.booleans(),
    data=st.data(),
)
def test_round_trip(tmp_path_factory, X, sparse, zero_based, compressed, data):
    m = len(X)
    ids = st.one_of(st.integers(0, 10**15), st.text("abé7-", min_size=1, max_size=4))
    kind = data.draw(st.sampled_from([int, str]))
    qid = np.array(
        [kind(q) if kind is str else abs(hash(q)) % 10**9 for q in data.draw(st.lists(ids, min_size=m, max_size=m))]
    )
    grades = data.draw(st.lists(st.sampled_from([0, 1, 2, 0.1, 31, 1e-7, 12345678.9]), min_size=m, max_size=m))
    docs = data.draw(st.one_of(st.none(), st.lists(st.sampled_from(["", "D-1", "#7", "ü"]), min_size=m, max_size=m)))
    queries = rw.Queries(sp.csr_array(X) if sparse else X, grades, qid, doc_ids=docs)
    path = tmp_path_factory.mktemp("written") / ("data.txt.gz" if compressed else "data.txt")
    rw.write_svmlight(queries, path, zero_based=zero_based)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == compressed
    back = rw.read_svmlight(path, dtype=X.dtype, sparse=sparse, zero_based=zero_based, n_features=X.shape[1])
    np.testing.assert_array_equal(back.X.toarray() if sparse else back.X, X)
    np.testing.assert_array_equal(back.y, queries.y)
    np.testing.assert_array_equal(back.qid.astype(str), queries.qid.astype(str))
    told = [""] * m if docs is None else docs
    assert (back.doc_ids.tolist() if back.doc_ids is not None else [""] * m) == told


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False), st.floats(width=32, allow_nan=False, allow_infinity=False)
    )
)
def test_numbers_are_as_short_as_python_writes_them(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("digits")

    def digits(text):
        mantissa = text.lower().split("e")[0].lstrip("-").replace(".", "")
        return len(mantissa.strip("0")) or 1

    for dtype in (np.float64, np.float32):
        number = dtype(value) if abs(value) < 3e38 else dtype(1)
        rw.write_svmlight(rw.Queries(np.array([[number]]), [1], [1]), folder / "data.txt")
        text = (folder / "data.txt").read_text().rsplit(" 1:")[1].strip()
        assert dtype(float(text)) == number
        assert digits(text) <= digits(str(number))


def test_the_text_itself(tmp_path):
    queries = rw.Queries(
        np.array([[0.25, 3.0, -0.0], [1e-7, 123456.5, np.nan]], np.float32), [2, 0.5], ["q1", "q2"], doc_ids=["d1", ""]
    )
    rw.write_svmlight(queries, tmp_path / "data.txt")
    assert (tmp_path / "data.txt").read_text() == (
        "2 qid:q1 1:0.25 2:3 3:-0 #docid = d1\n0.5 qid:q2 1:1e-7 2:123456.5 3:nan\n"
    )


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "CSR"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_come_back(tmp_path, sparse, dtype):
    """Beside zeros, which CSR does not store, and numbers so small that only Python writes them."""
    X = np.array([[np.nan, 0, 2], [0, -np.nan, 5e-324], [0, 0, np.nan], [1, 2, 3]], dtype)
    rw.write_svmlight(rw.Queries(sp.csr_array(X) if sparse else X, [1, 0, 2, 0], [1, 1, 2, 2]), tmp_path / "data.txt")
    back = rw.read_svmlight(tmp_path / "data.txt", dtype=dtype, sparse=sparse)
    np.testing.assert_array_equal(back.X.toarray() if sparse else back.X, X)
    if sparse:
        assert back.X.nnz == np.count_nonzero(X)


def test_csr_writes_what_is_stored(tmp_path):
    stored = sp.csr_array((np.array([1.5, 0.0]), np.array([2, 40_000]), np.array([0, 1, 2])), shape=(2, 50_000))
    rw.write_svmlight(rw.Queries(stored, [1, 0], [3, 3]), tmp_path / "data.txt")
    assert (tmp_path / "data.txt").read_text() == "1 qid:3 3:1.5\n0 qid:3 40001:0\n"


def test_large_files_are_written_in_order(tmp_path):
    rng = np.random.default_rng(0)
    queries = rw.Queries(rng.random((30_000, 12)), rng.integers(0, 5, 30_000), np.arange(30_000) // 10)
    rw.write_svmlight(queries, tmp_path / "data.txt")
    np.testing.assert_array_equal(rw.read_svmlight(tmp_path / "data.txt", dtype=np.float64).X, queries.X)


def test_scikit_learn_reads_it(tmp_path):
    from sklearn.datasets import load_svmlight_file

    rng = np.random.default_rng(0)
    queries = rw.Queries(rng.standard_normal((50, 4)), rng.integers(0, 3, 50), np.arange(50) // 5)
    rw.write_svmlight(queries, tmp_path / "data.txt")
    X, y, qid = load_svmlight_file(str(tmp_path / "data.txt"), query_id=True)
    np.testing.assert_array_equal(X.toarray(), queries.X)
    np.testing.assert_array_equal(y, queries.y)
    np.testing.assert_array_equal(qid, queries.qid)


@pytest.mark.parametrize("qid", ["a b", "", "x#y", "tab\there"])
def test_query_ids_that_text_cannot_hold(tmp_path, qid):
    with pytest.raises(rw.DataError, match="query id"):
        rw.write_svmlight(rw.Queries([[1.0]], [1], [qid]), tmp_path / "data.txt")
    assert list(tmp_path.iterdir()) == []


def test_document_ids_that_text_cannot_hold(tmp_path):
    with pytest.raises(rw.DataError, match="row 0: document id 'a b'"):
        rw.write_svmlight(rw.Queries([[1.0]], [1], doc_ids=["a b"]), tmp_path / "data.txt")


def test_text_holds_grades_only(tmp_path):
    with pytest.raises(rw.DataError, match="full ranking"):
        rw.write_svmlight(rw.Queries([[1.0], [2.0]], rw.FullRanking([1, 2])), tmp_path / "data.txt")


def test_nothing_to_write(tmp_path):
    with pytest.raises(rw.DataError, match="no documents"):
        rw.write_svmlight(rw.Queries(np.zeros((0, 3)), []), tmp_path / "data.txt")
    assert list(tmp_path.iterdir()) == []


def test_failure_leaves_the_old_file(tmp_path, monkeypatch):
    from rankwright.data.svmlight import writer

    path = tmp_path / "data.txt"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(writer, "format_rows", fail)
    with pytest.raises(OSError, match="disk full"):
        rw.write_svmlight(rw.Queries([[1.0]], [1]), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["data.txt"]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        rw.write_svmlight(rw.Queries([[1.0]], [1]), tmp_path / "none" / "data.txt")


def test_gzip_is_plain_gzip(tmp_path):
    rw.write_svmlight(rw.Queries([[1.0]], [1], [4]), tmp_path / "data.txt.gz")
    with gzip.open(tmp_path / "data.txt.gz", "rt") as file:
        assert file.read() == "1 qid:4 1:1\n"


def test_ids_that_are_different_but_alike_as_text(tmp_path):
    with pytest.raises(rw.DataError, match="query ids 7 and '7' would be the same id"):
        rw.write_svmlight(rw.Queries([[1.0], [2.0]], [1, 0], [7, "7"]), tmp_path / "data.txt")
    with pytest.raises(rw.DataError, match="bytes"):
        rw.write_svmlight(rw.Queries([[1.0]], [1], np.array([b"a"])), tmp_path / "data.txt")


def test_many_rows_that_only_python_can_write(tmp_path):
    X = np.full((3000, 2), 1e-300)
    X[::3, 0] = 0.5
    rw.write_svmlight(rw.Queries(X, np.ones(3000)), tmp_path / "data.txt")
    np.testing.assert_array_equal(rw.read_svmlight(tmp_path / "data.txt", dtype=np.float64).X, X)


def test_links_and_pipes_are_kept(tmp_path):
    import os
    import threading

    queries = rw.Queries([[1.0]], [1], [4])
    (tmp_path / "target.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("target.txt")
    rw.write_svmlight(queries, tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_text() == "1 qid:4 1:1\n"
    os.mkfifo(tmp_path / "pipe.txt")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe.txt").read_text()))
    reader.start()
    rw.write_svmlight(queries, tmp_path / "pipe.txt")
    reader.join()
    assert read == ["1 qid:4 1:1\n"]
    assert (tmp_path / "pipe.txt").is_fifo()


def test_ids_that_the_reader_would_refuse(tmp_path):
    for name in ("x" * 1001, "é" * 501, "\ud800"):
        with pytest.raises(rw.DataError, match="query id"):
            rw.write_svmlight(rw.Queries([[1.0]], [1], [name]), tmp_path / "data.txt")
        with pytest.raises(rw.DataError, match="document id"):
            rw.write_svmlight(rw.Queries([[1.0]], [1], doc_ids=[name]), tmp_path / "data.txt")


def test_permissions_are_kept(tmp_path):
    path = tmp_path / "data.txt"
    path.touch(0o600)
    path.chmod(0o600)
    rw.write_svmlight(rw.Queries([[1.0]], [1], [4]), path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_open_pipe_by_its_number(tmp_path):
    import os

    reading, writing = os.pipe()
    rw.write_svmlight(rw.Queries([[1.0]], [1], [4]), f"/proc/self/fd/{writing}")
    os.close(writing)
    assert os.read(reading, 100) == b"1 qid:4 1:1\n"
    os.close(reading)
