"""Some features of LETOR text and of CSR in Parquet, however wide they are."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.files import read_asked
from rankwright.data.table_columns import TableColumns
from rankwright.errors import DataError

DENSE = "1 qid:1 1:1 2:2 3:3\n0 qid:1 1:4 2:5 3:6\n"
SPARSE = "1 qid:1 2:2 900:3\n0 qid:1 1:4 40:5\n"
HUGE = "1 qid:1 2:2 2000000000:3\n0 qid:1 1:4\n"


@pytest.mark.parametrize("text", [DENSE, SPARSE])
def test_features_keep_their_numbers_as_names(tmp_path, text):
    (tmp_path / "data.txt").write_text(text)
    whole = rw.read_queries(tmp_path / "data.txt")
    some = rw.read_queries(tmp_path / "data.txt", features=["f2", "1"])
    assert sp.issparse(some.X) == sp.issparse(whole.X)
    assert some.feature_names == ("f2", "f1")
    dense = whole.X.toarray() if sp.issparse(whole.X) else whole.X
    found = some.X.toarray() if sp.issparse(some.X) else some.X
    np.testing.assert_array_equal(found, dense[:, [1, 0]])


@pytest.mark.parametrize("text", [DENSE, SPARSE, HUGE])
def test_features_of_a_model_that_text_does_not_show_are_zero(tmp_path, text):
    """However large their numbers are, and without an array of that size."""
    (tmp_path / "data.txt").write_text(text)
    asked = TableColumns().for_features(["f1700000000", "f2"])
    some = read_asked(tmp_path / "data.txt", asked)
    assert some.feature_names == ("f1700000000", "f2")
    values = some.X.toarray() if sp.issparse(some.X) else some.X
    np.testing.assert_array_equal(values, [[0, 2], [0, 5 if text is DENSE else 0]])
    assert read_asked(tmp_path / "data.txt", TableColumns().for_features([])).n_features == 0
    by_other_names = read_asked(tmp_path / "data.txt", TableColumns().for_features(["bm25"]))
    assert not by_other_names.has_feature_names


def test_patterns_need_a_width_that_is_not_beyond_all_measure(tmp_path):
    (tmp_path / "data.txt").write_text(HUGE)
    with pytest.raises(DataError, match=r"data\.txt: feature 2000000000 makes"):
        rw.read_queries(tmp_path / "data.txt", features=["f*"])


def test_csr_features_of_parquet_by_name(tmp_path):
    x = sp.csr_array(np.arange(12.0).reshape(3, 4) % 5)
    rw.write_parquet(rw.Queries(x, [0, 1, 2], feature_names=list("abcd")), tmp_path / "data.parquet")
    some = rw.read_queries(tmp_path / "data.parquet", features=["-b", "-c"])
    assert some.feature_names == ("a", "d")
    np.testing.assert_array_equal(some.X.toarray(), x.toarray()[:, [0, 3]])
    asked = TableColumns().for_features(["d", "gone", "a"])
    assert read_asked(tmp_path / "data.parquet", asked).feature_names == ("d", "a")
