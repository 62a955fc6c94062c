"""Columns of text as features, the same for training data and for whatever a model is used on."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankwright as rw
from rankwright.data.as_queries import as_parts
from rankwright.data.table_columns import TableColumns
from rankwright.errors import DataError

FRAME = pd.DataFrame(
    {
        "label": [1, 0, 2, 0, 1],
        "qid": ["x", "x", "y", "y", "y"],
        "colour": ["red", "blue", None, "red", "a=b"],
        "size": [3, 2, 3, 3, 2],
        "a": [0.5, 1.5, 2.5, np.nan, 4.5],
    }
)


def files_of(frame, tmp_path):
    """The same table in all formats that hold tables."""
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_csv(tmp_path / "data.tsv", index=False, sep="\t")
    frame.to_json(tmp_path / "data.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "data.parquet")
    return [tmp_path / f"data.{ending}" for ending in ("csv", "tsv", "jsonl", "parquet")]


def dummies(frame, column):
    """What pandas makes of a column; a missing value is one of its own."""
    encoded = pd.get_dummies(frame[column].fillna("").astype(str))
    return {f"{column}={value}": encoded[value].to_numpy(float) for value in sorted(encoded.columns)}


def test_all_formats_encode_alike_and_as_pandas_does(tmp_path):
    expected = dummies(FRAME, "colour") | dummies(FRAME, "size") | {"a": FRAME["a"].to_numpy()}
    everything = [rw.from_frame(FRAME, one_hot=["colour", "size"])]
    everything += [rw.from_frame(pa.Table.from_pandas(FRAME), one_hot=["colour", "size"])]
    everything += [rw.read_queries(path, one_hot=["colour", "size"]) for path in files_of(FRAME, tmp_path)]
    for queries in everything:
        assert queries.feature_names == tuple(expected)
        np.testing.assert_array_equal(queries.X, np.column_stack(list(expected.values())))


def test_levels_are_those_of_training(tmp_path):
    other = pd.DataFrame(
        {"colour": ["green", "red"], "new": ["t", "u"], "qid": [1, 1], "a": [1.0, 2.0], "label": [0, 1]}
    )
    for path in files_of(other, tmp_path):
        train, parts = as_parts(FRAME, TableColumns(one_hot=("colour",), features=("colour", "a")), test=path)
        assert train.feature_names == ("colour=", "colour=a=b", "colour=blue", "colour=red", "a")
        assert parts["test"].feature_names == train.feature_names
        np.testing.assert_array_equal(parts["test"].X, [[0, 0, 0, 0, 1], [0, 0, 0, 1, 2]])


def test_a_value_can_be_asked_for_by_name():
    queries = rw.from_frame(FRAME, features=["a", "colour=red", "colour=a=b", "colour=never"])
    assert queries.feature_names == ("a", "colour=red", "colour=a=b", "colour=never")
    np.testing.assert_array_equal(queries.X[:, 1:], [[1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_float32_stays_float32():
    frame = FRAME.astype({"a": np.float32}).drop(columns="size")
    assert rw.from_frame(frame, one_hot=["colour"]).X.dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"one_hot": ["none"]}, r"no column 'none' \(one_hot\)"),
        ({"one_hot": ["qid"]}, "'qid' is named twice"),
        ({"one_hot": ["a"], "features": ["a", "b=c"]}, r"no column 'b=c' \(features\)"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(DataError, match=message):
        rw.from_frame(FRAME, **arguments)


def test_too_many_values_are_refused(tmp_path):
    frame = pd.DataFrame({"label": 1, "qid": 1, "sku": [f"s{i}" for i in range(1001)]})
    for data in (frame, *files_of(frame, tmp_path)):
        with pytest.raises(DataError, match="column 'sku' has 1,001 distinct values, but at most 1,000"):
            as_parts(data, TableColumns(one_hot=("sku",)))
    assert rw.from_frame(frame[:1000], one_hot=["sku"]).n_features == 1000


def test_columns_of_lists_are_refused(tmp_path):
    table = pa.table({"label": [1], "qid": [1], "tags": [["a"]]})
    pq.write_table(table, tmp_path / "data.parquet")
    for read in (lambda **given: rw.from_frame(table, **given),
                 lambda **given: rw.read_queries(tmp_path / "data.parquet", **given)):  # fmt: skip
        for given in ({}, {"one_hot": ["tags"]}):
            with pytest.raises(DataError, match="column 'tags'"):
                read(**given)
        assert read(features=["-tags"]).n_features == 0
