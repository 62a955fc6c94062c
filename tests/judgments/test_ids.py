"""Ids of any length and any number of digits: none costs its length in every row, none is mistaken for another."""

import tracemalloc

import numpy as np
import pytest

import rankwright as rw
from rankwright.judgments.ids import joined, text_array

LONG = "x" * 1000


def peak_of(make):
    """What is made, and the bytes that were taken while it was."""
    tracemalloc.start()
    try:
        made = make()
        return made, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("place", [0, 15_000, 29_999])
@pytest.mark.parametrize(
    "line", ["1 qid:{long} 1:1 # d{i}\n", "1 qid:q{q} 1:1 #docid = {long}\n"], ids=["query", "document"]
)
def test_one_long_id_in_text(tmp_path, line, place):
    """30,000 rows as wide as the longest id would take 120 MB."""
    lines = [f"1 qid:q{i // 10} 1:1 # d{i}\n" for i in range(30_000)]
    lines[place] = line.format(long=LONG, q=place // 10, i=place)
    (tmp_path / "data.txt").write_text("".join(lines))
    rw.read_svmlight(tmp_path / "data.txt")  # so that kernels are compiled
    queries, peak = peak_of(lambda: rw.read_svmlight(tmp_path / "data.txt"))
    assert peak < 20_000_000
    ids = queries.qid if "{long}" in line.split()[1] else queries.doc_ids
    assert ids[place] == LONG
    assert [ids[i] for i in (1, 29_998)] == ([f"q{1 // 10}", "q2999"] if ids is queries.qid else ["d1", "d29998"])


def test_ids_that_differ_by_a_nul_stay_apart(tmp_path):
    """NumPy drops a NUL at the end of a text: two queries would become one."""
    (tmp_path / "data.txt").write_bytes(b"1 qid:a\0 1:2 #docid = d\0\n0 qid:a 1:1 #docid = d\n2 qid:a 1:3 #docid = e\n")
    queries = rw.read_svmlight(tmp_path / "data.txt")
    assert queries.qid.tolist() == ["a\0", "a", "a"]
    assert queries.n_queries == 2
    assert queries.doc_ids.tolist() == ["d\0", "d", "e"]
    assert joined([np.array(["a"]), text_array(["a\0"])]).tolist() == ["a", "a\0"]
    made = rw.Queries(queries.X, queries.y, ["a\0", "a", "a"], doc_ids=["d\0", "d", "e"])
    assert made.n_queries == 2
    assert made.doc_ids.tolist() == ["d\0", "d", "e"]


def test_one_long_id_in_arrays_and_frames(tmp_path):
    rows = 20_000
    qid = [f"q{i // 10}" for i in range(rows)]
    docs = [f"d{i}" for i in range(rows)]
    qid[-1], docs[5] = LONG, LONG
    x, y = np.arange(float(rows))[:, None], np.arange(rows) % 3

    queries, peak = peak_of(lambda: rw.Queries(x, y, qid, doc_ids=docs))
    assert peak < 20_000_000
    assert queries.qid.tolist() == qid
    assert queries.doc_ids.tolist() == docs
    assert queries.n_queries == rows // 10 + 1
    assert queries.select([LONG]).doc_ids.tolist() == [docs[-1]]
    assert queries[:1].doc_ids.tolist() == docs[:10]
    # What documents are called decides ties in some conventions, whatever holds the names.
    scores = np.zeros(rows)
    short = rw.Queries(x, y, [q[:6] for q in qid], doc_ids=[d[:6] for d in docs])
    assert rw.evaluate(scores, queries, "ndcg@10", convention="trec_eval").means == (
        rw.evaluate(scores, short, "ndcg@10", convention="trec_eval").means
    )
    frame = queries.to_frame("pyarrow")
    (back, peak) = peak_of(lambda: rw.from_frame(frame))
    assert peak < 20_000_000
    rw.write_parquet(queries, tmp_path / "data.parquet")
    rw.write_svmlight(queries, tmp_path / "data.txt")
    for read in (back, rw.read_parquet(tmp_path / "data.parquet"), rw.read_svmlight(tmp_path / "data.txt")):
        assert read.qid.tolist() == qid
        assert read.doc_ids.tolist() == docs


def test_arrays_of_text():
    assert text_array(["a", "bcd"]).dtype == "<U3"
    assert text_array([]).tolist() == []
    many = ["a"] * 1_000_000
    assert text_array([*many, LONG]).dtype == object
    both = joined([text_array(many), text_array([LONG])])
    assert both.dtype == object
    assert both.tolist() == [*many, LONG]
    assert both[0] is both[1]
    assert joined([text_array(["a"]), text_array(["bcd"])]).tolist() == ["a", "bcd"]


# Ids of many digits

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([LARGEST, LARGEST - 1], [LARGEST, LARGEST - 1]),
        ([-LARGEST, 1234567890123456789], [-LARGEST, 1234567890123456789]),
        ([2**53, 2**53 + 1], [2**53, 2**53 + 1]),
        ([LARGEST + 1, LARGEST], [str(LARGEST + 1), str(LARGEST)]),
        ([2**64 - 1, 2**64], [str(2**64 - 1), str(2**64)]),
        ([9999999999999999999, 9999999999999999998], ["9999999999999999999", "9999999999999999998"]),
        ([10**30, 10**30 + 1], [str(10**30), str(10**30 + 1)]),
    ],
)
def test_query_ids_of_many_digits(tmp_path, ids, expected):
    (tmp_path / "data.txt").write_text("".join(f"1 qid:{q} 1:1\n0 qid:{q} 1:2\n" for q in ids))
    (tmp_path / "data.csv").write_text("qid,label,f\n" + "".join(f"{q},1,1\n{q},0,2\n" for q in ids))
    for name in ("data.txt", "data.csv"):
        queries = rw.read_queries(tmp_path / name)
        assert queries.query_ids.tolist() == expected, name
        assert queries.sizes.tolist() == [2, 2]


def test_document_ids_of_many_digits_in_csv(tmp_path):
    ids = [str(10**19 + i) for i in range(3)]
    (tmp_path / "data.csv").write_text("qid,label,f,doc_id\n" + "".join(f"1,1,1,{doc}\n" for doc in ids))
    assert rw.read_queries(tmp_path / "data.csv").doc_ids.tolist() == ids


@pytest.mark.parametrize("number", ["1234567890123456789", "2147483647", "9" * 30])
def test_feature_numbers_of_many_digits(tmp_path, number):
    (tmp_path / "data.txt").write_text(f"1 qid:1 1:1\n1 qid:1 {number}:1\n")
    with pytest.raises(rw.ParseError, match=r"line 2, column 9: .* up to 2147483646, found .*hashes"):
        rw.read_svmlight(tmp_path / "data.txt")
