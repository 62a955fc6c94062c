"""Reading LETOR and SVMlight text: against a plain reader, scikit-learn, and a list of broken files."""

import gzip
import itertools
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from rankwright.data.missing import MISSING_SPELLINGS
from rankwright.data.svmlight import blocks, reader


def read(folder, text, name="data.txt", **options):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return rw.read_svmlight(path, **options)


def test_a_letor_file(tmp_path):
    queries = read(
        tmp_path,
        "2 qid:10002 1:0.007477 2:-1.5e-3 3:1 #docid = GX008-86-4444840 inc = 1 prob = 0.086622\n"
        "0 qid:10002 1:0.603738 2:0.0 3:.5 #docid = GX037-06-11625428 inc = 0.00315 prob = 0.0897452\n"
        "1 qid:10032 1:3 2:4e2 3:NULL #docid = GX044\n",
        dtype=np.float64,
    )
    np.testing.assert_array_equal(queries.X, [[0.007477, -0.0015, 1], [0.603738, 0, 0.5], [3, 400, np.nan]])
    np.testing.assert_array_equal(queries.y, [2, 0, 1])
    np.testing.assert_array_equal(queries.qid, [10002, 10002, 10032])
    assert queries.qid.dtype == np.int64
    assert queries.doc_ids.tolist() == ["GX008-86-4444840", "GX037-06-11625428", "GX044"]


# Against a reader so plain that it is plainly right

numbers = st.one_of(
    st.floats(-3e38, 3e38).map(repr),
    st.integers(-(10**9), 10**9).map(str),
    st.decimals(-1000, 1000, places=6, allow_nan=False).map("{:f}".format),
    st.floats(-1e6, 1e6).map("{:.3e}".format),
    st.floats(0, 1).map("{:.19f}".format),
    st.sampled_from(["0", "-0", "1.", ".5", "+2.5", "-.25", "nan", "-NaN", "inf", "-INF", "Infinity", "1E5"]),
    st.sampled_from(["NULL", "null", "NaN", "NA", "n/a", "N/A", "None", "missing", "Missing", "?", ""]),
)
blanks = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def lines(draw):
    indices = sorted(draw(st.sets(st.integers(1, 30), max_size=12)))
    features = [(i, draw(numbers)) for i in indices]
    grade = draw(st.sampled_from(["0", "1", "2", "0.5", "31", "40", "1e2", "3.0"]))
    qid = draw(st.sampled_from(["1", "7", "100200300"]))
    blank = draw(blanks)
    comment = draw(
        st.sampled_from(["", "#", "# some words here", "#docid = A-1 inc = 2", "# B2", " #DOCID=C", "#docid : D"])
    )
    text = blank.join([grade, f"qid:{qid}", *(f"{i}:{value}" for i, value in features)])
    text = draw(st.sampled_from(["", " "])) + text + draw(st.sampled_from(["", " ", "\t"])) + comment
    doc = {"#docid = A-1 inc = 2": "A-1", "# B2": "B2", " #DOCID=C": "C", "#docid : D": "D"}.get(comment, "")
    return text, float(grade), int(qid), features, doc


def plain(value):
    return np.nan if value.lower() in ("null", "nan", "na", "n/a", "none", "missing", "?", "") else float(value)


@given(
    rows=st.lists(lines(), min_size=1, max_size=12),
    ending=st.sampled_from(["\n", "\r\n"]),
    fillers=st.lists(st.sampled_from(["", "   ", "# a comment of its own", "\t"]), max_size=3),
    final_newline=st.booleans(),
    compressed=st.booleans(),
    missing=st.sampled_from(["zero", "nan"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_agrees_with_a_plain_reader(tmp_path_factory, rows, ending, fillers, final_newline, compressed, missing, dtype):
    texts = list(itertools.chain(*itertools.zip_longest([row[0] for row in rows], fillers, fillvalue="")))
    content = (ending.join(texts) + (ending if final_newline else "")).encode()
    queries = read(
        tmp_path_factory.mktemp("plain"),
        gzip.compress(content) if compressed else content,
        dtype=dtype,
        missing=missing,
        sparse=False,
    )
    fill = 0.0 if missing == "zero" else np.nan
    width = max((i for _, _, _, features, _ in rows for i, _ in features), default=0)
    expected = np.full((len(rows), width), fill)
    for r, (_, _, _, features, _) in enumerate(rows):
        for i, value in features:
            expected[r, i - 1] = plain(value)
    np.testing.assert_array_equal(queries.X, expected.astype(dtype))
    np.testing.assert_array_equal(queries.y, [row[1] for row in rows])
    np.testing.assert_array_equal(queries.qid, [row[2] for row in rows])
    docs = [row[4] for row in rows]
    assert (queries.doc_ids.tolist() if queries.doc_ids is not None else [""] * len(rows)) == docs


@given(
    st.lists(st.one_of(st.integers(0, 2**64 - 1), st.just(0), st.just(1)), min_size=1, max_size=50), st.integers(15, 21)
)
def test_every_double_is_read_correctly_rounded(tmp_path_factory, patterns, digits):
    values = [v for p in patterns if np.isfinite(v := struct.unpack("<d", struct.pack("<Q", p))[0])]
    texts = [repr(v) for v in values] + [f"{v:.{digits}e}" for v in values]
    text = "1 qid:1 " + " ".join(f"{i}:{t}" for i, t in enumerate(texts, 1)) + " 9999:1\n"
    row = read(tmp_path_factory.mktemp("doubles"), text, dtype=np.float64, sparse=False).X[0]
    np.testing.assert_array_equal(
        row[: len(texts)].view(np.uint64), np.array([float(t) for t in texts]).view(np.uint64)
    )


@pytest.mark.parametrize(
    "text",
    [
        "18446744073709551616",
        "36893488147419103232.5",
        "0" * 30,
        "0" * 30 + "7.25",
        "0." + "0" * 40 + "3",
        "1e0000000012",
    ],
)
def test_long_numbers(tmp_path, text):
    """2^64 and its multiples leave nothing in a 64-bit word: they must not be taken for zero."""
    assert read(tmp_path, f"1 qid:1 1:{text} 2:1\n", dtype=np.float64, sparse=False).X[0, 0] == float(text)


@pytest.mark.parametrize("sparse", [False, True])
def test_agrees_with_scikit_learn(tmp_path, sparse):
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    rng = np.random.default_rng(0)
    X = sp.random_array((500, 80), density=0.1, rng=rng, format="csr")
    y, qid = rng.integers(0, 5, 500), np.repeat(np.arange(50), 10)
    dump_svmlight_file(X, y, str(tmp_path / "data.txt"), query_id=qid, zero_based=False)
    theirs, their_y, their_qid = load_svmlight_file(str(tmp_path / "data.txt"), query_id=True, zero_based=False)
    ours = rw.read_svmlight(tmp_path / "data.txt", dtype=np.float64, sparse=sparse)
    assert sp.issparse(ours.X) == sparse
    np.testing.assert_array_equal(ours.X.toarray() if sparse else ours.X, theirs.toarray())
    np.testing.assert_array_equal(ours.y, their_y)
    np.testing.assert_array_equal(ours.qid, their_qid)


# Large enough for many blocks


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Blocks of a few lines, so that small files are read in many pieces."""
    monkeypatch.setattr(blocks, "BLOCK", 300)
    monkeypatch.setattr(blocks, "SAMPLE", 200)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_many_blocks(tmp_path, tiny_blocks, monkeypatch, compressed, threads):
    monkeypatch.setenv("RANKWRIGHT_THREADS", threads)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 9)).round(3)
    rows = [
        f"{i % 3} qid:{i // 7} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x)) + (f" # d{i}" if i % 5 else "")
        for i, x in enumerate(X)
    ]
    rows.insert(200, "# a comment between")
    content = ("\n".join(rows) + "\n").encode()
    queries = read(tmp_path, gzip.compress(content) if compressed else content, dtype=np.float64)
    np.testing.assert_array_equal(queries.X, X)
    np.testing.assert_array_equal(queries.qid, np.arange(400) // 7)
    assert queries.doc_ids.tolist() == [f"d{i}" if i % 5 else "" for i in range(400)]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("wide", [0, 1000, 1777, 2999])
def test_one_row_is_wider(tmp_path, tiny_blocks, wide, compressed):
    rows = [f"1 qid:{i} 1:{i} 2:1" for i in range(3000)]
    rows[wide] = "0 qid:x 1:1 2:2 3:3 4:4"
    content = "\n".join(rows).encode()
    X = read(tmp_path, gzip.compress(content) if compressed else content).X
    assert X.shape == (3000, 4)
    np.testing.assert_array_equal(X[wide], [1, 2, 3, 4])
    np.testing.assert_array_equal(X[wide - 1 if wide else 1], [wide - 1 if wide else 1, 1, 0, 0])


def test_gaps_are_closed(tmp_path, tiny_blocks):
    rng = np.random.default_rng(0)
    rows = [f"{i % 5} qid:{i // 10} 1:{i} 2:{i / 4}" for i in range(2000)]
    for place in sorted(rng.integers(0, 2000, 60), reverse=True):
        rows.insert(place, rng.choice(["", "# a comment", "   "]))
    X = read(tmp_path, "\n".join(["# header", *rows, "", ""]), dtype=np.float64).X
    np.testing.assert_array_equal(X, [[i, i / 4] for i in range(2000)])


def test_a_pipe(tmp_path):
    import os
    import threading

    for content in (b"2 qid:1 1:5\n", gzip.compress(b"2 qid:1 1:5\n")):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
        writer.start()
        assert rw.read_queries(tmp_path / "pipe").X.tolist() == [[5.0]]
        writer.join()
        (tmp_path / "pipe").unlink()


def test_ids_that_are_too_long(tmp_path):
    text = "1 qid:1 1:1 # d\n" * 50
    with pytest.raises(rw.ParseError, match="line 51, column 7: expected a query id of at most 1000"):
        read(tmp_path, text + "1 qid:" + "x" * 1001 + " 1:1\n")
    with pytest.raises(rw.ParseError, match="line 51, column 20: expected a document id of at most 1000"):
        read(tmp_path, text + "1 qid:1 1:1 #docid=" + "x" * 1001 + "\n")
    assert read(tmp_path, text + "1 qid:1 1:1 #" + "x" * 10_000_000 + "\n").doc_ids[-1] == ""
    assert read(tmp_path, text + "1 qid:1 1:1 # " + "x" * 1000 + "\n").doc_ids[-1] == "x" * 1000


def test_ids_that_are_not_utf8(tmp_path):
    with pytest.raises(rw.ParseError, match="line 2, column 7: expected a query id in UTF-8"):
        read(tmp_path, b"1 qid:ok 1:1\n1 qid:caf\xe9 1:1\n")
    assert read(tmp_path, b"1 qid:1 1:1 # caf\xe9\n1 qid:1 1:1 # caf\xe8\n").doc_ids.tolist() == [
        "caf\\xe9",
        "caf\\xe8",
    ]


def test_dense_rows_beyond_all_memory(tmp_path):
    problem = r"line 1, column 13: feature 2147483646 needs 2,147,483,646 columns, and a dense array of .* GB"
    with pytest.raises(rw.ParseError, match=problem + ".* as CSR, with sparse=True"):
        read(tmp_path, "1 qid:1 1:1 2147483646:1\n" * 40_000, sparse=False)


def test_query_ids_turn_to_text_in_a_later_block(tmp_path, tiny_blocks):
    text = "".join(f"1 qid:{i} 1:1\n" for i in range(300)) + "0 qid:x7 1:1\n"
    assert read(tmp_path, text).qid.tolist() == [*map(str, range(300)), "x7"]


@pytest.mark.parametrize("compressed", [False, True])
def test_error_in_a_later_block_has_the_right_line(tmp_path, tiny_blocks, compressed):
    text = "".join(f"1 qid:{i} 1:{i} 2:1\n" for i in range(300)) + "\n# comment\n0 qid:300 1:1 2:x\n"
    with pytest.raises(rw.ParseError, match=r"line 303, column 17: expected a number or NULL, found 'x'"):
        read(tmp_path, gzip.compress(text.encode()) if compressed else text)


def test_the_first_error_of_the_file_is_told(tmp_path, tiny_blocks):
    lines = [f"1 qid:{i} 1:{i}" for i in range(500)]
    lines[100] = lines[400] = "oops"
    with pytest.raises(rw.ParseError) as caught:
        read(tmp_path, "\n".join(lines))
    assert (caught.value.line, caught.value.column) == (101, 1)


# Options


def test_zero_based_is_found_out(tmp_path, tiny_blocks):
    text = "".join(f"1 qid:1 1:1 2:{i}\n" for i in range(200)) + "0 qid:1 0:5 2:7\n"
    np.testing.assert_array_equal(read(tmp_path, text).X[-1], [5, 0, 7])
    assert read(tmp_path, text, zero_based=True).X.shape == (201, 3)
    with pytest.raises(rw.ParseError, match="line 201, column 9: expected a feature number of at least 1, found '0:5'"):
        read(tmp_path, text, zero_based=False)
    assert read(tmp_path, "1 qid:1 1:1 2:2\n", zero_based=True).X.tolist() == [[0, 1, 2]]


def test_missing_features(tmp_path):
    text = "1 qid:1 1:1 3:NULL\n0 qid:1 2:5 3:6\n"
    np.testing.assert_array_equal(read(tmp_path, text, missing="nan").X, [[1, np.nan, np.nan], [np.nan, 5, 6]])
    np.testing.assert_array_equal(read(tmp_path, text, missing="zero").X, [[1, 0, np.nan], [0, 5, 6]])
    csr = read(tmp_path, text, sparse=True).X
    assert csr.nnz == 4  # a missing value is stored, a feature that is not mentioned is not
    np.testing.assert_array_equal(csr.toarray(), [[1, 0, np.nan], [0, 5, 6]])
    with pytest.raises(rw.ParameterError, match="missing='nan' needs a dense array"):
        read(tmp_path, text, missing="nan", sparse=True)


@pytest.mark.parametrize("word", [*MISSING_SPELLINGS, *(word.upper() for word in MISSING_SPELLINGS), "-nan", "+NaN"])
@pytest.mark.parametrize(("sparse", "missing"), [(True, "zero"), (False, "zero"), (False, "nan")])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "#d\n", ""])
def test_a_missing_value_is_nan_wherever_it_stands(tmp_path, word, sparse, missing, ending):
    text = f"1 qid:1 1:{word} 2:1\t3:{word}\t4:2 7:{word}{ending}"
    absent = np.nan if missing == "nan" else 0
    row = read(tmp_path, text, sparse=sparse, missing=missing).X
    row = row.toarray()[0] if sparse else row[0]
    np.testing.assert_array_equal(row, [np.nan, 1, np.nan, 2, absent, absent, np.nan])


def test_short_cells_without_values_are_not_taken_for_a_sparse_file(tmp_path, tiny_blocks):
    """A cell of three characters, as short as it can be: a dense file may have more cells than it seems."""
    text = "".join("1 qid:1 1: 2: 3:\n" for _ in range(200))
    queries = read(tmp_path, text)
    assert not sp.issparse(queries.X)
    assert queries.X.shape == (200, 3)
    assert np.isnan(queries.X).all()


def test_sparse_files_become_csr_by_themselves(tmp_path, tiny_blocks):
    thin = "".join(f"1 qid:1 {j}:1 {j + 50}:2\n" for j in range(1, 100))
    queries = read(tmp_path, thin)
    assert sp.issparse(queries.X)
    assert queries.X.shape == (99, 149)
    assert queries.X.nnz == 198
    assert not sp.issparse(read(tmp_path, thin, sparse=False).X)
    np.testing.assert_array_equal(queries.X.toarray(), read(tmp_path, thin, sparse=False).X)
    # One far index late in a dense file must not make a huge array.
    late = "".join(f"1 qid:1 1:1 2:{j}\n" for j in range(400)) + "1 qid:1 1:1 2000000000:1\n"
    assert read(tmp_path, late).X.shape == (401, 2_000_000_000)


def test_n_features(tmp_path):
    assert read(tmp_path, "1 qid:1 1:1\n", n_features=5).X.shape == (1, 5)
    assert read(tmp_path, "1 qid:1 1:1\n", n_features=5, sparse=True).X.shape == (1, 5)
    for sparse in (False, True):
        with pytest.raises(rw.ParseError, match="line 2, column 13: feature 7 does not fit n_features=5"):
            read(tmp_path, "1 qid:1 1:1 # 7:\n1\tqid:1\t1:1\t7:2\t9:1\n1 qid:1 12:1\n", n_features=5, sparse=sparse)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"dtype": np.int32}, "dtype"),
        ({"missing": "drop"}, "missing"),
        ({"n_features": 0}, "n_features"),
        ({"zero_based": "maybe"}, "zero_based"),
    ],
)
def test_bad_options_are_named(tmp_path, options, named):
    with pytest.raises(rw.ParameterError, match=named):
        read(tmp_path, "1 qid:1 1:1\n", **options)


# Query ids


def test_query_ids_of_all_kinds(tmp_path):
    assert read(tmp_path, "1 qid:a-b 1:1\n0 qid:7 1:1\n").qid.tolist() == ["a-b", "7"]
    assert read(tmp_path, "1 qid:007 1:1\n0 qid:7 1:1\n").qid.tolist() == ["007", "7"]
    assert read(tmp_path, "1 qid:-3 1:1\n1 qid:4 1:1\n").qid.tolist() == [-3, 4]
    assert read(tmp_path, "1 qid:-0 1:1\n1 qid:- 1:1\n").qid.tolist() == ["-0", "-"]
    assert read(tmp_path, "1 qid:123456789012345678901 1:1\n").qid.tolist() == ["123456789012345678901"]
    assert read(tmp_path, "1 qid:100000000000000000 1:1\n").qid.tolist() == [100000000000000000]
    assert read(tmp_path, "1 qid:zürich 1:1 # ✓\n").qid.tolist() == ["zürich"]
    assert read(tmp_path, "1 qid:zürich 1:1 # ✓\n").doc_ids.tolist() == ["✓"]


def test_text_ids_on_a_line_that_is_not_read_to_its_end(tmp_path):
    assert read(tmp_path, "1 qid:a 0:1 1:2\n0 qid:b 0:3 1:2\n").X.tolist() == [[1, 2], [3, 2]]
    with pytest.raises(rw.ParseError, match="line 1, column 11: expected a number"):
        read(tmp_path, "1 qid:a 1:x\n")


def test_a_long_head_of_comments(tmp_path):
    for compress in (bytes, gzip.compress):
        with pytest.warns(rw.OneQueryWarning):
            assert read(tmp_path, compress(b"# c\n" * 30_000 + b"1 1:1\n0 1:2\n")).n_queries == 1
        assert read(tmp_path, compress(b"# c\n" * 30_000 + b"1 qid:1 1:1\n0 qid:2 1:2\n")).n_queries == 2


def test_few_wide_rows_need_no_more_memory_than_they_take(tmp_path):
    assert read(tmp_path, "1 qid:a 1:1\n1 qid:b 1:1 3000000:1\n", missing="nan").X.shape == (2, 3_000_000)


def test_comments_between_all_rows_leave_no_room_behind(tmp_path, tiny_blocks):
    X = read(tmp_path, "".join(f"1 qid:1 1:{i} 2:1\n# comment\n\n" for i in range(2000))).X
    np.testing.assert_array_equal(X[:, 0], np.arange(2000))
    assert X.base.nbytes < 1.3 * X.nbytes + 10_000


def test_no_qid_at_all_is_one_query(tmp_path):
    with pytest.warns(rw.OneQueryWarning, match="all 3 rows were read as one query"):
        queries = read(tmp_path, "1 1:1 2:3\n0 1:2\n0\n")
    assert queries.n_queries == 1
    np.testing.assert_array_equal(queries.X, [[1, 3], [2, 0], [0, 0]])


def test_a_query_split_in_two_places(tmp_path):
    queries = read(tmp_path, "1 qid:5 1:1\n2 qid:6 1:2\n0 qid:5 1:3\n")
    assert queries.query_ids.tolist() == [5, 6]
    np.testing.assert_array_equal(queries[0].X, [[1], [3]])
    np.testing.assert_array_equal(queries.X, [[1], [2], [3]])


# Broken files: the place, and what was expected

BROKEN = {
    "a word for a grade": ("good qid:1 1:1", 1, 1, "expected a grade (a number), found 'good'"),
    "no grade": ("\n\nqid:1 1:1", 3, 1, "expected a grade (a number), found 'qid:1'"),
    "NULL grade": ("NULL qid:1 1:1", 1, 1, "expected a grade (a number), found 'NULL'"),
    "negative grade": ("1 qid:1 1:1\n-1 qid:1 1:1", 2, 1, "finite and at least 0, found '-1'"),
    "NaN grade": ("nan qid:1 1:1", 1, 1, "expected a grade (a number), found 'nan'"),
    "infinite grade": ("inf qid:1 1:1", 1, 1, "finite and at least 0, found 'inf'"),
    "overflowing grade": ("1e999 qid:1 1:1", 1, 1, "finite and at least 0, found '1e999'"),
    "qid missing on one line": ("1 qid:1 1:1\n1 1:1", 2, 3, "expected qid:<id>, as on the first line, found '1:1'"),
    "qid on one line only": ("1 1:1\n1 qid:1 1:1", 2, 3, "found 'qid:1': the first line names no query"),
    "empty qid": ("1 qid: 1:1", 1, 7, "expected a query id after qid:, found nothing"),
    "qid twice": ("1 qid:1 qid:2 1:1", 1, 9, "expected <index>:<value>, found 'qid:2'"),
    "duplicate index": ("1 qid:1 1:1 1:2", 1, 13, "numbers that rise along the line, found '1:2'"),
    "descending index": ("1 qid:1 2:1 1:2", 1, 13, "numbers that rise along the line, found '1:2'"),
    "index 0 and zero": ("1 qid:1 0:1 0:2", 1, 13, "numbers that rise along the line, found '0:2'"),
    "huge index": ("1 qid:1 99999999999:1", 1, 9, "expected a feature number up to 2147483646"),
    "blank before a value": ("1 qid:1 1: 2", 1, 12, "expected <index>:<value>, found '2'"),
    "sign alone": ("1 qid:1 1:- 2:1", 1, 11, "expected a number or NULL, found '-'"),
    "signed NULL": ("1 qid:1 1:-NULL", 1, 11, "expected a number or NULL, found '-NULL'"),
    "point before nan": ("1 qid:1 1:.nan", 1, 11, "expected a number or NULL, found '.nan'"),
    "control character for a slash": ("1 qid:1 1:n\x0fa", 1, 11, "expected a number or NULL"),
    "more than a spelling": ("1 qid:1 1:NULLS", 1, 11, "expected a number or NULL, found 'NULLS'"),
    "less than a spelling": ("1 qid:1 1:nul 2:1", 1, 11, "expected a number or NULL, found 'nul'"),
    "no colon": ("1 qid:1 1 2:1", 1, 9, "expected <index>:<value>, found '1'"),
    "word for a value": ("1 qid:1 1:abc", 1, 11, "expected a number or NULL, found 'abc'"),
    "two points": ("1 qid:1 1:1.2.3", 1, 11, "expected a number or NULL, found '1.2.3'"),
    "bare exponent": ("1 qid:1 1:1e", 1, 11, "expected a number or NULL, found '1e'"),
    "comma": ("1 qid:1 1:1,5", 1, 11, "expected a number or NULL, found '1,5'"),
    "hexadecimal": ("1 qid:1 1:0x10", 1, 11, "expected a number or NULL, found '0x10'"),
    "negative index": ("1 qid:1 -1:5", 1, 9, "expected <index>:<value>, found '-1:5'"),
    "CSV": ("label,qid,f1\n1,1,0.5", 1, 1, "expected a grade (a number), found 'label,qid,f1'"),
    "control character": ("1 qid:1 1:1\x01 2:2", 1, 11, "expected a number or NULL"),
    "lone carriage return": ("1 qid:1 1:1\r1 qid:1 1:2\n", 1, 12, "found a carriage return within the line"),
}


@pytest.mark.parametrize(("text", "line", "column", "problem"), BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("newline", ["", "\n"])
def test_broken_files(tmp_path, text, line, column, problem, newline):
    with pytest.raises(rw.ParseError) as caught:
        read(tmp_path, text + newline)
    assert problem in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "data.txt" in str(caught.value)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("number", ["1e39", "-3.5e38", "1e400", "123456789012345678901234567890e20"])
def test_numbers_that_overflow_are_not_made_infinite(tmp_path, number, sparse):
    with pytest.raises(rw.ParseError, match=r"line 2, column 15: expected a number that fits float32, found"):
        read(tmp_path, f"1 qid:1 1:1\n1 qid:1 1:1 2:{number}\n", sparse=sparse, dtype=np.float32)
    if "e4" in number:
        with pytest.raises(rw.ParseError, match=r"line 1, column 11: expected a number that fits float64, found"):
            read(tmp_path, f"1 qid:1 1:{number}\n", sparse=sparse)
    else:
        found = read(tmp_path, f"1 qid:1 1:{number}\n", sparse=sparse).X
        assert found.dtype == np.float64
        assert found.sum() == float(number)
        value = read(tmp_path, f"1 qid:1 1:{number}\n", sparse=False, dtype=np.float64).X[0, 0]
        assert value == float(number)
    largest = "3.4028235e38"  # above the greatest float32, but nearer to it than to infinity
    single = read(tmp_path, f"1 qid:1 1:{largest}\n", sparse=False, dtype=np.float32).X
    assert single[0, 0] == np.finfo(np.float32).max


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", " \t\r\n"])
def test_files_without_documents(tmp_path, text):
    with pytest.raises(rw.ParseError, match=r"data\.txt: the file (is empty|holds no documents)"):
        read(tmp_path, text)
    with pytest.raises(rw.ParseError, match=r"data\.txt: the file (is empty|holds no documents)"):
        read(tmp_path, gzip.compress(text.encode()))


def test_truncated_and_damaged_gzip(tmp_path):
    rng = np.random.default_rng(0)
    whole = gzip.compress("".join(f"1 qid:1 1:{v}\n" for v in rng.random(5000)).encode())
    with pytest.raises(rw.ParseError, match="truncated"):
        read(tmp_path, whole[: len(whole) // 2])
    with pytest.raises(rw.ParseError, match="damaged"):
        read(tmp_path, whole[:2000] + bytes(50) + whole[2050:])


@given(st.binary(max_size=300))
def test_binary_junk_is_an_error_or_data_but_never_a_crash(tmp_path_factory, junk):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", 40)
        patch.setattr(blocks, "SAMPLE", 30)
        check_reading_junk(tmp_path_factory, junk)


def check_reading_junk(tmp_path_factory, junk):
    try:
        queries = read(tmp_path_factory.mktemp("junk"), junk)
    except rw.DataError:
        return
    assert queries.n_documents >= 1


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("rows", [1, 3, 50])
def test_a_byte_order_mark_is_passed_over(tmp_path, compressed, rows):
    content = b"\xef\xbb\xbf" + b"2 qid:1 1:0.5\n" * rows
    assert read(tmp_path, gzip.compress(content) if compressed else content).y.tolist() == [2.0] * rows


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        rw.read_svmlight(tmp_path / "none.txt")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        rw.read_svmlight(tmp_path)


# Extremes


def test_a_ten_megabyte_line(tmp_path):
    features = " ".join(f"{i}:{i % 10}" for i in range(1, 1_200_001))
    text = f"1 qid:1 1:1\n1 qid:1 {features} #docid = long\n0 qid:2 1:2\n"
    assert len(text) > 10_000_000
    queries = read(tmp_path, text)
    assert queries.X.shape == (3, 1_200_000)
    assert queries.doc_ids.tolist() == ["", "long", ""]
    assert queries.X[[1]].sum() == sum(i % 10 for i in range(1, 1_200_001))
    with pytest.raises(rw.ParseError, match="line 2, column 10000012: expected <index>:<value>"):
        read(tmp_path, "1 qid:1 1:1\n1 qid:1 1:1" + " " * 10_000_000 + "x\n")


def test_a_ten_megabyte_comment_without_newline(tmp_path):
    assert read(tmp_path, "1 qid:1 1:1 # " + "word " * 2_000_000).n_documents == 1


def test_a_hundred_thousand_documents_in_one_query(tmp_path):
    queries = read(tmp_path, "".join(f"{i % 2} qid:1 1:{i}\n" for i in range(100_000)))
    assert queries.sizes.tolist() == [100_000]
    assert queries.X[-1, 0] == 99_999


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 63, 64])
def test_file_that_ends_at_a_page_boundary(tmp_path, size):
    """The kernels look a few bytes ahead: that must not leave the memory map."""
    import mmap

    line = "1 qid:1 1:1 2:0.5\n"
    count = (mmap.PAGESIZE - size) // len(line)
    text = line * count
    text += "#" + "x" * (mmap.PAGESIZE - size - len(text) - 2) + "\n"
    queries = read(tmp_path, text if size else text[:-1] + "\n")
    assert queries.n_documents == count


def test_real_collections(real_data):
    mq2008 = [rw.read_svmlight(real_data / "MQ2008" / f"S{i}.txt.gz") for i in range(1, 6)]
    assert sum(part.n_documents for part in mq2008) == 15_211
    assert sum(part.n_queries for part in mq2008) == 784
    assert {part.n_features for part in mq2008} == {46}
    path = real_data / "OHSUMED" / "S1.txt.gz"
    ours = rw.read_svmlight(path, dtype=np.float64)
    with gzip.open(path, "rt") as file:
        for row, line in enumerate(file):
            words, comment = line.split("#")
            grade, qid, *cells = words.split()
            assert ours.y[row] == float(grade)
            assert ours.qid[row] == int(qid.removeprefix("qid:"))
            assert ours.X[row].tolist() == [float(cell.split(":")[1]) for cell in cells]
            assert ours.doc_ids[row] == comment.split("=")[1].strip()


def test_nothing_is_read_twice_without_need(tmp_path, monkeypatch):
    calls = []
    original = reader._read
    monkeypatch.setattr(reader, "_read", lambda *asked: calls.append(asked) or original(*asked))
    read(tmp_path, "1 qid:1 1:1 2:2\n0 qid:1 1:1 2:2\n")
    assert len(calls) == 1
