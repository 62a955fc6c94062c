"""CSV as people have it: any separator, blanks, text columns, quotes, encodings, row numbers."""

import csv
import gzip
import io
import random

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from rankwright.data.missing import MISSING_SPELLINGS
from rankwright.errors import ParseError

ROWS = [
    ["1", "shoes", "0.5", "-3"],
    ["0", "shoes", "", "1e3"],
    ["2", "red, hats", "NaN", "+.25"],
]


def written(path, rows, delimiter=",", **options):
    with path.open("w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        csv.writer(file, delimiter=delimiter, **options).writerows(rows)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.txt", "data"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_the_line_of_names_tells_the_separator(tmp_path, delimiter, name, encoding, ends):
    rows = [["label", "qid", "a", "b"], *ROWS]
    path = written(tmp_path / name, rows, delimiter, encoding=encoding, lineterminator=ends)
    queries = rw.read_queries(path)
    assert queries.feature_names == ("a", "b")
    np.testing.assert_array_equal(queries.X, [[0.5, -3], [np.nan, 1000], [np.nan, 0.25]])
    assert queries.qid.tolist() == ["shoes", "shoes", "red, hats"]
    assert queries.y.tolist() == [1, 0, 2]


def test_a_separator_in_names_does_not_count(tmp_path):
    path = written(tmp_path / "data.csv", [["label", "qid", "a|b|c", "d|e|f"], ["1", "x", "1", "2"]])
    assert rw.read_queries(path).feature_names == ("a|b|c", "d|e|f")
    path = written(tmp_path / "data.csv", [["label", "qid", "a;b;c;d;e;f", "g"], ["1", "x", "1", "2"]], quoting=1)
    assert rw.read_queries(path).feature_names == ("a;b;c;d;e;f", "g")


def test_compressed_whatever_its_name(tmp_path):
    text = b"label,qid,a\n1,x,2\n"
    (tmp_path / "data.csv").write_bytes(gzip.compress(text))
    (tmp_path / "data.csv.gz").write_bytes(text)
    for name in ("data.csv", "data.csv.gz"):
        assert rw.read_queries(tmp_path / name).X.tolist() == [[2]]


@pytest.mark.parametrize("spelling", MISSING_SPELLINGS)
@pytest.mark.parametrize("changed", [str, str.upper, str.title, lambda text: f" {text} "])
def test_every_spelling_of_a_missing_value(tmp_path, spelling, changed):
    rows = [["label", "qid", "a", "b"], ["1", "x", changed(spelling), "7"], ["0", "x", "1", "8"]]
    queries = rw.read_queries(written(tmp_path / "data.csv", rows))
    np.testing.assert_array_equal(queries.X, [[np.nan, 7], [1, 8]])


def test_a_column_without_any_value_is_a_feature(tmp_path):
    rows = [["label", "qid", "a", "b"], ["1", "x", "", "7"], ["0", "x", "NA", "8"]]
    queries = rw.read_queries(written(tmp_path / "data.csv", rows))
    assert queries.feature_names == ("a", "b")
    assert np.isnan(queries.X[:, 0]).all()


def test_random_tables_are_read_as_python_reads_them(tmp_path):
    rng = random.Random(3)
    for delimiter, decimal in ((",", "."), (";", "."), (";", ","), ("\t", "."), ("|", ".")):
        numbers = [
            [rng.choice(["", "?", repr(rng.gauss(0, 10**power)), str(rng.randint(-9, 9))]) for power in (0, 3, 30)]
            for _ in range(200)
        ]
        cells = [[cell.replace(".", decimal) for cell in row] for row in numbers]
        rows = [[str(i % 3), f"q{i % 17}", f'a "{i}",\n;', *row] for i, row in enumerate(cells)]
        path = written(tmp_path / "data.csv", [["label", "qid", "text", "u", "v", "w"], *rows], delimiter)
        with pytest.warns(UserWarning, match="left out 1 column that is not numeric: 'text' "):
            queries = rw.read_queries(path)
        expected = np.array([[float(cell.strip("?") or "nan") for cell in row] for row in numbers])
        np.testing.assert_array_equal(queries.X, expected.astype(queries.X.dtype))
        assert queries.qid.tolist() == [row[1] for row in rows]


def test_text_columns_are_left_out_and_told(tmp_path):
    rows = [["label", "qid", "a", "title", "day", "sale"]]
    rows += [["1", "x", str(i), f"t{i % 4}", "2024-02-03", str(i % 2 == 0)] for i in range(6)]
    path = written(tmp_path / "data.csv", rows)
    with pytest.warns(UserWarning, match="left out") as told:
        queries = rw.read_queries(path)
    assert len(told) == 1
    assert "data.csv: left out 2 columns" in str(told[0].message)
    assert "'title' (text, 4 distinct values), 'day' (dates or times, 1 distinct value)" in str(told[0].message)
    assert queries.feature_names == ("a", "sale")
    assert queries.X[:, 1].tolist() == [1, 0, 1, 0, 1, 0]


@pytest.mark.filterwarnings("error")
def test_columns_that_are_not_asked_for_are_not_looked_at(tmp_path):
    rows = [["label", "qid", "a", "title", "price"], ["1", "x", "1", "t", "abc"], ["0", "x", "2", "u", "3"]]
    path = written(tmp_path / "data.csv", rows)
    for features in (["a"], ["-title", "-price"], ["a*"], ["!t*", "-p?ice"]):
        assert rw.read_queries(path, features=features).feature_names == ("a",)


def test_a_cell_that_is_no_number_is_named_with_its_line(tmp_path):
    rows = [["label", "qid", "title", "price"], ["1", "x", "two\nlines", "1"], [], ["0", "x", "t", "2"]]
    path = written(tmp_path / "data.csv", [*rows, ["0", "x", "t", "abc"], ["0", "x", "t", "3"]])
    with pytest.raises(ParseError, match=r"column 'price' is 'abc', .*3 of its 4 values are") as raised:
        rw.read_queries(path)
    assert raised.value.line == 6
    assert path.read_text().splitlines()[5] == "0,x,t,abc"


@pytest.mark.parametrize(("n_words", "is_text"), [(4, False), (5, True)])
def test_most_values_decide_whether_a_column_is_text(tmp_path, n_words, is_text):
    """Of 9 values, as missing ones do not count."""
    cells = ["w"] * n_words + ["1"] * (9 - n_words) + [""] * 20
    path = written(tmp_path / "data.csv", [["label", "qid", "a", "b"], *(["1", "x", cell, "0"] for cell in cells)])
    if is_text:
        with pytest.warns(UserWarning, match="'a' "):
            assert rw.read_queries(path).feature_names == ("b",)
    else:
        with pytest.raises(ParseError, match="line 2: column 'a' is 'w'"):
            rw.read_queries(path)


@pytest.mark.parametrize(
    ("rows", "line", "told"),
    [
        ([["1", "x", "1"], ["", "x", "2"]], 3, "there is no value in column 'label'"),
        ([["1", "x", "1"], ["NA", "x", "2"]], 3, "there is no value in column 'label'"),
        ([["1", "x", "1"], ["0", "", "2"]], 3, "there is no value in column 'qid'"),
        ([["1", "7", "1"], ["0", "null", "2"]], 3, "there is no value in column 'qid'"),
        ([["1", "x", "1"], ["good", "x", "2"]], 3, "column 'label' is 'good', which is not a number"),
    ],
)
def test_grades_and_queries_must_be_there(tmp_path, rows, line, told):
    path = written(tmp_path / "data.csv", [["label", "qid", "a"], *rows])
    with pytest.raises(ParseError, match=told) as raised:
        rw.read_queries(path)
    assert raised.value.line == line


def test_ids_keep_their_letters(tmp_path):
    rows = [["label", "qid", "doc_id", "a"], ["1", "null", "007", "1"], ["0", "NA", "1.0", "2"], ["0", "x", "", "2"]]
    queries = rw.read_queries(written(tmp_path / "data.csv", rows))
    assert queries.qid.tolist() == ["null", "NA", "x"]
    assert queries.doc_ids.tolist() == ["007", "1.0", ""]
    queries = rw.read_queries(written(tmp_path / "data.csv", [["label", "qid"], ["1", "-7"], ["0", "12"]]))
    assert queries.qid.tolist() == [-7, 12]
    assert rw.read_queries(written(tmp_path / "data.csv", [["label", "qid"], ["1", "007"]])).qid.tolist() == ["007"]


def test_row_numbers_that_pandas_writes_are_no_feature(tmp_path):
    frame = pd.DataFrame({"label": [1, 0], "qid": ["x", "x"], "a": [0.5, 2.0]})
    frame.to_csv(tmp_path / "data.csv")
    with pytest.warns(UserWarning, match="column 1, which has no name"):
        queries = rw.read_queries(tmp_path / "data.csv")
    assert queries.feature_names == ("a",)
    assert queries.X.tolist() == [[0.5], [2.0]]


@pytest.mark.parametrize("text", ["1,2,3\n4,5,6\n", "0,q1,0.5\n1,q1,2\n"])
def test_a_file_without_names_says_so(tmp_path, text):
    (tmp_path / "data.csv").write_text(text)
    with pytest.raises(
        ParseError, match=r"line 1: the first line contains numbers, not column names.*column-description"
    ):
        rw.read_queries(tmp_path / "data.csv")


def test_names_may_have_blanks_around_them_and_numbers_too(tmp_path):
    (tmp_path / "data.csv").write_text("label, qid , 0,1\n 1, x, 5 , 7\n")
    queries = rw.read_queries(tmp_path / "data.csv", features=["0", "1"])
    assert queries.feature_names == ("0", "1")
    assert queries.X.tolist() == [[5, 7]]


def test_large_files_with_line_breaks_in_quotes(tmp_path):
    """They are read in several blocks, none of which may begin within quotes."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["label", "qid", "title", "a"])
    table.writerows([i % 2, i // 10, "x\n1,2,3,4\n" * 20, i] for i in range(20_000))
    (tmp_path / "data.csv").write_text(text.getvalue())
    with pytest.warns(UserWarning, match="1 distinct value"):
        queries = rw.read_queries(tmp_path / "data.csv")
    np.testing.assert_array_equal(queries.X[:, 0], np.arange(20_000))


def test_a_comma_in_a_number_is_decimal_between_semicolons_only(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("label;qid;a;b\n0,5;x;1,5;\n1;x;-2,25e1;3\n")
    queries = rw.read_queries(path)
    assert queries.y.tolist() == [0.5, 1]
    np.testing.assert_array_equal(queries.X, [[1.5, np.nan], [-22.5, 3]])
    path.write_text("label;qid;a;b\n1;x;1,5;2.5\n")
    with pytest.raises(ParseError, match=r"line 2: column 'b' is '2.5', but numbers in this file have decimal commas"):
        rw.read_queries(path)
    path.write_text('label,qid,a\n1,x,"0,5"\n')
    with pytest.raises(ParseError, match=r"line 2: column 'a' is '0,5', which is not a number.*semicolons"):
        rw.read_queries(path)
