"""LETOR text read part by part is what `read_queries` reads as a whole, however odd the files are."""

import gzip

import numpy as np
import pytest

import rankwright as rw
from rankwright.data.svmlight import blocks
from rankwright.errors import OneQueryWarning, ParseError
from tests.data.streams.alike import assert_streams_as, concatenated, grouped

SMALL = "1MB"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that a small file has many blocks, and queries go on from one block to the next."""
    monkeypatch.setattr(blocks, "BLOCK", 1 << 14)


def _letor(rng, n_queries, n_features, *, given=1.0, qid="{}", scale=1.0, docs=True, spread=1.0, first=1):
    lines = []
    for q in range(n_queries):
        for d in range(int(rng.integers(1, 30))):
            values = scale + spread * rng.standard_normal(n_features)
            cells = " ".join(f"{j + first}:{values[j]:.9g}" for j in range(n_features) if rng.random() < given)
            comment = f" # docid = D-{q}-{d}" if docs and rng.random() < 0.9 else ""
            lines.append(f"{rng.integers(0, 3)} qid:{qid.format(q * 7 % 10007)} {cells}{comment}")
    return lines


def _written(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


CASES = {
    "plain": {},
    "text ids": {"qid": "q-ü{}"},
    "zero-based": {"first": 0},
    "no document ids": {"docs": False},
    "sparse": {"given": 0.1, "n_features": 60},
    "sparse in double": {"given": 0.1, "n_features": 60, "scale": 1e9, "spread": 3.0},
    "double": {"scale": 1e9, "spread": 3.0},
    "beyond single": {"scale": 1e300, "spread": 1e300},
    "sparse beyond single": {"given": 0.1, "n_features": 60, "scale": 1e300, "spread": 1e300},
    "half given": {"given": 0.5},
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_what_read_queries_gives(tmp_path, case):
    options = {"n_features": 9, **CASES[case]}
    path = _written(tmp_path / "data.txt", _letor(np.random.default_rng(1), 900, **options))
    expected = rw.read_queries(path)
    for _ in range(2):  # from the text, and from what was kept of it
        assert_streams_as(rw.open_queries(path, memory=SMALL), expected, least_parts=2)


@pytest.mark.parametrize("options", [{"dtype": "float64"}, {"dtype": "float32"}, {"missing": "nan"}], ids=str)
def test_options_are_those_of_read_queries(tmp_path, options):
    path = _written(tmp_path / "data.txt", _letor(np.random.default_rng(2), 300, 9, given=0.7))
    assert_streams_as(rw.open_queries(path, memory=SMALL, **options), rw.read_queries(path, **options))


@pytest.mark.parametrize("features", [["3", "f1"], ["-2"], ["f*"], []], ids=str)
def test_some_features(tmp_path, features):
    path = _written(tmp_path / "data.txt", _letor(np.random.default_rng(2), 300, 9))
    assert_streams_as(rw.open_queries(path, memory=SMALL, features=features), rw.read_queries(path, features=features))


def test_compressed_text(tmp_path):
    lines = _letor(np.random.default_rng(3), 400, 9)
    path = tmp_path / "data.txt.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert_streams_as(rw.open_queries(path, memory=SMALL), rw.read_queries(path))


def test_a_wide_row_where_no_sample_is_taken(tmp_path):
    lines = _letor(np.random.default_rng(4), 3000, 9, docs=False)
    lines[len(lines) // 3] += " 15:2.5"
    path = _written(tmp_path / "data.txt", lines)
    assert_streams_as(rw.open_queries(path, memory=SMALL), rw.read_queries(path))


def test_dirty_text(tmp_path):
    path = tmp_path / "dirty.txt"
    path.write_bytes(
        b"\xef\xbb\xbf# a comment\n\n2 qid:9 1:NULL 3:1e-3 # x\r\n0 qid:9 2:nan\n\n"
        b"# more\n1 qid:007 1:5\n0 qid:a 3:7 #docid = \xff\n"
    )
    assert_streams_as(rw.open_queries(path), rw.read_queries(path))


def test_several_files_are_read_as_one(tmp_path):
    rng = np.random.default_rng(5)
    lines = _letor(rng, 900, 9)
    places = sorted(rng.choice(len(lines), 2, replace=False))  # within queries, most likely
    folder = tmp_path / "data"
    folder.mkdir()
    files = [
        _written(folder / f"part-{i}.txt", part)
        for i, part in enumerate((lines[: places[0]], lines[places[0] : places[1]], lines[places[1] :]))
    ]
    expected = rw.read_queries(concatenated(files, tmp_path / "all.txt"))
    assert_streams_as(rw.open_queries(files, memory=SMALL), expected, least_parts=2)
    assert_streams_as(rw.open_queries(folder, memory=SMALL), expected)  # what is kept there is no data file
    assert_streams_as(rw.open_queries(folder / "part-*.txt", memory=SMALL), expected)


def test_files_of_different_kinds_are_one(tmp_path):
    """One has text as ids, one numbers features from 0, one has more features, one is sparse."""
    rng = np.random.default_rng(6)
    files = [
        _written(tmp_path / "a.txt", _letor(rng, 50, 9, qid="1{}")),
        _written(tmp_path / "b.txt", _letor(rng, 50, 9, qid="b{}", first=0)),
        _written(tmp_path / "c.txt", _letor(rng, 50, 30, qid="3{}", given=0.2)),
    ]
    expected = rw.read_queries(concatenated(files, tmp_path / "all.txt"))
    assert_streams_as(rw.open_queries(files, memory=SMALL), expected)


def test_group_files(tmp_path):
    rng = np.random.default_rng(7)
    sizes = [rng.integers(1, 30, 80), rng.integers(1, 30, 50)]
    files = []
    for i, each in enumerate(sizes):
        lines = [
            f"{rng.integers(3)} " + " ".join(f"{j}:{rng.random():.8g}" for j in range(1, 6)) for _ in range(each.sum())
        ]
        files.append(_written(tmp_path / f"rank{i}.train", lines))
        _written(tmp_path / f"rank{i}.train.query", map(str, each))
    assert_streams_as(rw.open_queries(files[0], memory=SMALL), rw.read_queries(files[0]))
    both = concatenated(files, tmp_path / "both.train")
    concatenated([tmp_path / f"rank{i}.train.query" for i in range(2)], tmp_path / "both.train.query")
    assert_streams_as(rw.open_queries(files, memory=SMALL), rw.read_queries(both))


@pytest.mark.parametrize(("sizes", "told"), [("2\n1\n", "add up to 3 rows"), ("1\n3\n", "expected 2")])
def test_group_files_that_contradict_the_text(tmp_path, sizes, told):
    path = _written(tmp_path / "rank.train", ["1 qid:4 1:1", "0 qid:4 1:2", "0 qid:6 1:2", "0 qid:6 1:2"])
    (tmp_path / "rank.train.query").write_text(sizes)
    with pytest.raises(ParseError, match=told) as whole:
        rw.read_queries(path)
    with pytest.raises(ParseError) as streamed:
        rw.open_queries(path)
    assert str(streamed.value) == str(whole.value)


def test_text_without_queries_is_one_query_and_that_is_told(tmp_path):
    path = _written(tmp_path / "data.txt", ["1 1:1", "0 1:2", "0 2:2"])
    for _ in range(2):
        with pytest.warns(OneQueryWarning, match=r"data\.txt"):
            streamed = rw.open_queries(path)
    with pytest.warns(OneQueryWarning):
        assert_streams_as(streamed, rw.read_queries(path))


@pytest.mark.parametrize("line", ["1 qid:3 2:5 1:7", "x qid:3 1:5", "1 1:4", "1 qid:3 1:abc"])
def test_a_faulty_line_is_told_as_by_read_queries(tmp_path, line):
    lines = _letor(np.random.default_rng(8), 400, 9)
    lines.insert(2 * len(lines) // 3, line)
    path = _written(tmp_path / "data.txt", lines)
    with pytest.raises(ParseError) as whole:
        rw.read_queries(path)
    with pytest.raises(ParseError) as streamed:
        rw.open_queries(path)
    assert str(streamed.value) == str(whole.value)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data.txt"]


def test_the_line_of_a_fault_is_counted_in_its_own_file(tmp_path):
    a = _written(tmp_path / "a.txt", ["1 qid:1 1:1"] * 5)
    b = _written(tmp_path / "b.txt", ["1 qid:2 1:1", "1 qid:2 1:oh"])
    with pytest.raises(ParseError, match=r"b\.txt, line 2, column 11: expected a number"):
        rw.open_queries([a, b])


# Rows that stand apart


def test_rows_apart_are_an_error_that_names_the_query_and_says_what_to_do(tmp_path):
    path = _written(tmp_path / "data.txt", ["1 qid:4 1:1", "0 qid:6 1:2", "0 qid:4 1:2"])
    with pytest.raises(rw.DataError, match=r"data\.txt: the rows of query 4 .* row 3 .*sort=True"):
        rw.open_queries(path)
    other = _written(tmp_path / "other.txt", ["1 qid:5 1:1", "0 qid:6 1:2"])
    with pytest.raises(rw.DataError, match=r"other\.txt: .* query 6 .* others are in .*third\.txt"):
        rw.open_queries([_written(tmp_path / "third.txt", ["1 qid:6 1:1"]), other])


@pytest.mark.parametrize("case", CASES)
def test_sorting_brings_rows_together(tmp_path, case):
    rng = np.random.default_rng(9)
    lines = _letor(rng, 500, **{"n_features": 9, **CASES[case]})
    path = _written(tmp_path / "data.txt", rng.permutation(lines).tolist())
    expected = grouped(rw.read_queries(path))
    for memory in (SMALL, "100MB"):
        assert_streams_as(rw.open_queries(path, memory=memory, sort=True, cache=tmp_path / memory), expected)


def test_sorting_what_stands_together_changes_nothing(tmp_path):
    path = _written(tmp_path / "data.txt", _letor(np.random.default_rng(9), 300, 9))
    assert_streams_as(rw.open_queries(path, memory=SMALL, sort=True), rw.read_queries(path))


def test_real_data(real_data, tmp_path):
    files = sorted((real_data / "MQ2008").glob("S*.txt.gz"))[:2]
    expected = rw.read_queries(concatenated(files, tmp_path / "all.txt.gz"))
    assert_streams_as(rw.open_queries(files, memory=SMALL, cache=tmp_path / "kept"), expected, least_parts=2)
