"""CatBoost's files: tabs, no line of names, and a description of the columns beside them."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.errors import ParseError

DESCRIPTION = "0\tLabel\n1\tQueryId\n2\tDocId\n4\tCateg\tcolour\n5\tWeight\n6\tAuxiliary\n7\tNum\tbm25\n\n"
ROWS = "2\tq1\td1\t0.5\tred\t1\tx\t\n0\tq1\td2\tnan\tblue\t1\ty\t-3\n1\tq2\td3\t2\tred\t1\tz\t1e2\n"


@pytest.fixture(name="folder")
def described(tmp_path):
    (tmp_path / "train.tsv").write_text(ROWS)
    (tmp_path / "pool.cd").write_text(DESCRIPTION)
    return tmp_path


def test_columns_are_what_the_description_says(folder):
    with pytest.warns(UserWarning, match=r"train\.tsv: ") as told:
        queries = rw.read_queries(folder / "train.tsv", column_description=folder / "pool.cd")
    assert queries.feature_names == ("f1", "bm25")
    np.testing.assert_array_equal(queries.X, [[0.5, np.nan], [np.nan, -3], [2, 100]])
    assert queries.qid.tolist() == ["q1", "q1", "q2"]
    assert queries.doc_ids.tolist() == ["d1", "d2", "d3"]
    assert queries.y.tolist() == [2, 0, 1]
    assert "not used: Weight (column 5) of pool.cd" in str(told[0].message)
    assert "'colour' (text, 2 distinct values)" in str(told[1].message)


@pytest.mark.filterwarnings("ignore:.*not used")
def test_categories_are_encoded_on_request(folder):
    queries = rw.read_queries(folder / "train.tsv", column_description=folder / "pool.cd", one_hot=["colour"])
    assert queries.feature_names == ("f1", "colour=blue", "colour=red", "bm25")
    assert queries.X[:, 2].tolist() == [1, 0, 1]


@pytest.mark.filterwarnings("ignore")
def test_a_description_of_the_same_name_is_found_where_there_are_no_names(folder):
    expected = rw.read_queries(folder / "train.tsv", column_description=folder / "pool.cd")
    (folder / "pool.cd").rename(folder / "train.cd")
    np.testing.assert_array_equal(rw.read_queries(folder / "train.tsv").X, expected.X)
    (folder / "train.tsv").write_text("label\tqid\ta\n1\tx\t5\n")  # it has names
    assert rw.read_queries(folder / "train.tsv").feature_names == ("a",)


@pytest.mark.filterwarnings("ignore")
def test_a_line_of_names_may_be_there_too(folder):
    names = "\t".join(["y", "query", "doc", "first", "c", "w", "aux", "last"])
    (folder / "train.tsv").write_text(f"{names}\n{ROWS}")
    queries = rw.read_queries(folder / "train.tsv", column_description=folder / "pool.cd")
    assert queries.feature_names == ("first", "bm25")
    assert queries.n_documents == 3


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ("0\tLabel\n", "one column must be GroupId, for the queries; there are 0"),
        ("0\tLabel\n1\tTarget\n2\tGroupId\n", "one column must be Label, for the grades; there are 2"),
        ("0\tLabel\n0\tGroupId\n", "line 2: column 0 is described twice"),
        ("0 Label\n", "line 1: expected the index"),
        ("a\tLabel\n", "line 1: expected the index"),
        ("0\tLabel\n1\tGroupId\n2\tMood\n", "line 3: 'Mood' is not one of the types"),
        ("0\tLabel\n1\tGroupId\n20\tNum\n", "there is a column 20, but rows of the data have 8 fields"),
        ("0\tLabel\n1\tGroupId\n3\tNum\ta\n7\tNum\ta\n", "two columns are named 'a'"),
    ],
)
def test_wrong_descriptions(folder, description, told):
    (folder / "pool.cd").write_text(description)
    with pytest.raises(ParseError, match=told) as raised:
        rw.read_queries(folder / "train.tsv", column_description=folder / "pool.cd")
    assert raised.value.path == str(folder / "pool.cd")
