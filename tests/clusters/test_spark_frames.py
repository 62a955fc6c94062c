"""Which columns of Spark frames are taken, by their names and types."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pytest

import rankwright as rw

pytestmark = pytest.mark.peers


def frame_of(spark, partitions, names, kinds):
    """A data frame with a partition for each list of rows; names may be any text."""
    rdd = spark.sparkContext.parallelize(partitions, len(partitions)).flatMap(list)
    schema = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds))
    return spark.createDataFrame(rdd, schema).toDF(*names)


# Names

ODD = ["the.grade", "query`id", "a.b", "c`d", "x", "X"]
ROWS = [
    [(1.0, "a", 1.0, 2.0, 3.0, 9.0), (0.0, "a", 2.0, 1.0, 5.0, 8.0)],
    [(2.0, "b", 0.5, 4.0, 1.0, 7.0), (0.0, "b", 2.5, None, 1.0, 5.0), (1.0, "b", 1.5, 3.0, 2.0, 6.0)],
]


@pytest.fixture
def oddly_named(spark):
    return frame_of(spark, ROWS, ODD, ["double", "string", *["double"] * 4])


@pytest.mark.parametrize("features", [None, ["c`d", "a.b"], ["a.*"]])
def test_names_may_have_dots_backticks_and_capitals(oddly_named, features):
    found = rw.spark.queries(oddly_named, label="the.grade", qid="query`id", features=features)
    names = {None: ODD[2:], 2: ["c`d", "a.b"], 1: ["a.b"]}[features and len(features)]
    assert found.feature_names == tuple(names)
    assert found.query_ids.tolist() == ["a", "b"]
    rows = np.array([row[2:] for part in ROWS for row in part], float)
    np.testing.assert_array_equal(found.in_memory().X, rows[:, [ODD[2:].index(name) for name in names]])
    np.testing.assert_array_equal(found.judgments.y, [1, 0, 2, 0, 1])


@pytest.mark.parametrize("missing", ["mean", "query-mean"])
def test_scores_of_oddly_named_columns(oddly_named, missing):
    columns = {"label": "the.grade", "qid": "query`id"}
    known = rw.spark.queries(oddly_named, **columns).in_memory()
    ranker = rw.RankRLS(1.0, missing=missing).fit(known)
    scored = rw.spark.predict(ranker, oddly_named, qid="query`id", column="the.score")
    assert scored.columns == [*ODD, "the.score"]
    found = {row[2]: row[-1] for row in scored.collect()}
    np.testing.assert_allclose([found[x] for x in known.X[:, 0]], ranker.predict(known), rtol=1e-12, atol=1e-12)


def test_vectors_may_have_any_name(spark):
    frame = frame_of(spark, [[(1.0, 1, [1.0, 2.0]), (0.0, 1, [3.0, 4.0])]], ["label", "qid", "a.`v"], KINDS)
    found = rw.spark.queries(frame, features="a.`v").in_memory()
    np.testing.assert_array_equal(found.X, [[1.0, 2.0], [3.0, 4.0]])


KINDS = ["double", "long", "array<double>"]


def test_two_columns_of_one_name_are_refused(spark):
    frame = frame_of(spark, [[(1.0, 1, 1.0, 2.0)]], ["label", "qid", "f", "f"], ["double", "long", "double", "double"])
    with pytest.raises(rw.DataError, match="two columns are named 'f'"):
        rw.spark.queries(frame)
    ranker = rw.RankRLS(1.0).fit(np.array([[1.0], [2.0]]), [0, 1], qid=[1, 1])
    with pytest.raises(rw.DataError, match="two columns are named 'f'"):
        rw.spark.predict(ranker, frame)


# Query ids


def with_ids(spark, kind, *ids):
    """A frame with a partition of one document for each id."""
    rows = [[(1.0, query, float(place))] for place, query in enumerate(ids)]
    return frame_of(spark, rows, ["label", "qid", "f"], ["double", kind, "double"])


@pytest.mark.parametrize(
    ("kind", "ids", "expected"),
    [
        ("decimal(20,0)", [Decimal(70), Decimal(8)], [70, 8]),
        ("decimal(38,10)", [Decimal(70), Decimal(8)], [70, 8]),
        ("date", [datetime.date(2020, 1, 2), datetime.date(1999, 12, 31)], ["2020-01-02", "1999-12-31"]),
        ("timestamp_ntz", [datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.datetime(2021, 1, 1)],
         ["2020-01-02 03:04:05", "2021-01-01 00:00:00"]),
        ("timestamp", [datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.datetime(2021, 1, 1)],
         ["2020-01-02 03:04:05", "2021-01-01 00:00:00"]),
        ("boolean", [True, False], [True, False]),
    ],
)  # fmt: skip
def test_ids_of_other_types(spark, kind, ids, expected):
    found = rw.spark.queries(with_ids(spark, kind, *ids))
    assert found.query_ids.tolist() == expected
    assert found.in_memory().qid.tolist() == expected
    assert rw.RankRLS(1.0).fit(found).coef_.shape == (1,)


@pytest.mark.parametrize("wrong", [Decimal("7.5"), Decimal(10**25)])
def test_decimals_that_are_no_whole_numbers_are_refused(spark, wrong):
    with pytest.raises(rw.DataError, match=r"partition 2: column 'qid' \(qid\) has decimals that are no whole numbers"):
        rw.spark.queries(with_ids(spark, "decimal(38,2)", Decimal(1), wrong))


def test_ids_that_are_bytes_are_refused(spark):
    with pytest.raises(rw.DataError, match=r"column 'qid' \(qid\) is binary: .* cast it to a string"):
        rw.spark.queries(with_ids(spark, "binary", b"a", b"b"))


# Features


@pytest.mark.parametrize("kind", ["array<string>", "array<array<double>>", "array<date>"])
def test_arrays_of_other_than_numbers_are_refused(spark, kind):
    frame = frame_of(spark, [[]], ["label", "qid", "features"], ["double", "long", kind])
    with pytest.raises(rw.DataError, match=f"column 'features' is {kind}: features are arrays of numbers"):
        rw.spark.queries(frame)


def test_what_is_left_out_is_told_once_and_the_same_everywhere(spark):
    names = ["label", "qid", "f", "s", "when", "raw", "yes", "price"]
    kinds = ["double", "long", "double", "string", "date", "binary", "boolean", "decimal(9,2)"]
    frame = frame_of(
        spark,
        [
            [(1.0, 1, 1.0, "red", None, b"x", True, Decimal("1.25")), (0.0, 1, 2.0, "blue", None, b"", None, None)],
            [(1.0, 2, 3.0, "", None, None, False, Decimal(2)), (0.0, 2, 4.0, None, None, None, True, Decimal(3))],
            [(1.0, 3, 5.0, "12", None, None, False, Decimal(2))],
        ],
        names,
        kinds,
    ).selectExpr("*", "interval '1' month as span", "current_timestamp() as now")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = rw.spark.queries(frame)
    left_out = [str(each.message) for each in told if "left out" in str(each.message)]
    assert len(left_out) == 1
    assert left_out[0].startswith(
        "the frame: left out 5 columns that are not numeric: "
        "'s' (text), 'when' (dates or times), 'raw' (Binary), 'span' (Unknown), 'now' (dates or times). To use one,"
    )
    assert found.feature_names == ("f", "yes", "price")
    x = [[1, 1, 1.25], [2, np.nan, np.nan], [3, 0, 2], [4, 1, 3], [5, 0, 2]]
    np.testing.assert_array_equal(found.in_memory().X, x)
    # What is named is read: a value of a column, or numbers that are written as text.
    np.testing.assert_array_equal(
        rw.spark.queries(frame, features=["s=red", "f"]).in_memory().X, [[1, 1], [0, 2], [0, 3], [0, 4], [0, 5]]
    )
    with pytest.raises(rw.DataError, match="partition 1: column 's' is String, not numeric"):
        rw.spark.queries(frame, features=["s"])


@pytest.mark.parametrize("kind", ["array<double>", "struct<a:timestamp>", "map<string,double>"])
def test_nested_columns_that_nobody_names_are_refused_as_in_memory(spark, kind):
    frame = frame_of(spark, [[]], ["label", "qid", "f", "n"], ["double", "long", "double", kind])
    with pytest.raises(rw.DataError, match=r"the frame: column 'n' is .*leave it out with features=\['-n'\]"):
        rw.spark.queries(frame)
    with pytest.raises(rw.DataError, match="there are no documents"):
        rw.spark.queries(frame, features=["-n"])


def test_columns_that_are_not_there_are_named_before_anything_runs(spark):
    frame = with_ids(spark, "long", 1)
    with pytest.raises(rw.DataError, match=r"the frame: there is no column 'nope' \(label\); there are 'label', 'qid'"):
        rw.spark.queries(frame, label="nope")
    with pytest.raises(rw.DataError, match=r"the frame: there is no column 'nope' \(features\)"):
        rw.spark.queries(frame, features="nope")
