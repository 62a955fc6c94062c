"""Scores held against grades and query ids, without Queries: the same values as with them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankwright as rw

# Unsorted text ids, a query of one document, one without relevant documents.
QID = ["b", "a", "b", "c", "a", "b", "d", "d"]
GRADES = [2, 0, 1, 1, 3, 0, 0, 0]
SCORES = [0.5, 2.0, 0.5, -1.0, 1.0, 0.75, 3.0, 4.0]
ORDER = np.argsort(np.array([1, 0, 1, 2, 0, 1, 3, 3]), kind="stable")  # by query a, b, c, d
SIZES = [2, 3, 1, 2]


def series(backend: str, values: list) -> object:
    if backend == "pandas":
        return pd.Series(values, index=range(100, 100 + len(values)))
    if backend == "pandas frame":
        return pd.DataFrame({"one": values})
    if backend == "polars":
        return pl.Series(values)
    if backend == "polars frame":
        return pl.DataFrame({"one": values})
    return pa.chunked_array([values[:3], values[3:]])


def test_the_mean_is_that_of_the_definition():
    """Tied documents of b, both relevant, stand at 2 and 3; d has no relevant one and counts 0."""
    found = rw.evaluate(SCORES, GRADES, rw.AP, qid=QID)
    expected = [(1 / 2 + 2 / 3) / 2, 1 / 2, 1.0, 0.0]
    np.testing.assert_allclose(found.values[rw.AP], expected)
    assert list(found.query_ids) == ["b", "a", "c", "d"]


@pytest.mark.parametrize("backend", ["list", "pandas", "pandas frame", "polars", "polars frame", "arrow"])
def test_columns_of_any_frame_are_taken_by_position(backend):
    expected = rw.evaluate(SCORES, rw.Queries(None, GRADES, QID))
    scores, grades, qid = ((v if backend == "list" else series(backend, v)) for v in (SCORES, GRADES, QID))
    found = rw.evaluate(scores, grades, qid=qid)
    assert found.measures == expected.measures
    assert list(found.query_ids) == list(expected.query_ids)
    for measure, values in found.values.items():
        np.testing.assert_array_equal(values, expected.values[measure])


@pytest.mark.parametrize("backend", ["list", "pandas", "polars", "arrow"])
def test_sizes_of_queries_divide_the_rows(backend):
    scores, grades, qid = (np.array(values)[ORDER] for values in (SCORES, GRADES, QID))
    group = SIZES if backend == "list" else series(backend, SIZES)
    found, expected = rw.evaluate(scores, grades, group=group), rw.evaluate(scores, grades, qid=qid)
    assert found.query_ids.tolist() == [1, 2, 3, 4]
    for measure, values in found.values.items():
        np.testing.assert_array_equal(values, expected.values[measure])


def test_other_supervision_than_grades():
    found = rw.evaluate([1.0, 2.0, 5.0, 4.0], rw.FullRanking([1, 2, 1, 2]), "kendalltau", qid=[0, 0, 1, 1])
    assert found.values[rw.KendallTau].tolist() == [-1.0, 1.0]


def test_without_query_ids_all_rows_are_one_query_and_a_warning_says_so():
    with pytest.warns(UserWarning, match=r"all 8 rows are taken as one query.*qid=.*group=") as caught:
        found = rw.evaluate(SCORES, GRADES)
    assert caught[0].filename == __file__
    assert len(found.query_ids) == 1
    with pytest.warns(UserWarning, match="all 8 rows are taken as one query") as caught:
        rw.compare({"a": SCORES, "b": GRADES}, GRADES)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "call",
    [
        lambda: rw.evaluate(SCORES, GRADES, qid=QID),
        lambda: rw.evaluate(SCORES, GRADES, group=[8]),
        lambda: rw.evaluate(SCORES, rw.Queries(None, GRADES)),
        lambda: rw.evaluate([1.0], [1]),
        lambda: rw.evaluate([1.0, 2.0], rw.FullRanking([1, 2]), "kendalltau"),
    ],
)
def test_no_warning_where_the_queries_are_known(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


@pytest.mark.parametrize(
    ("arguments", "options", "error", "problem"),
    [
        ((SCORES[:-1], GRADES), {"qid": QID}, rw.DataError, "8 documents, but 7 scores"),
        ((SCORES, GRADES[:-1]), {"qid": QID}, rw.DataError, "qid must give one query id for each of the 7 rows"),
        ((SCORES, GRADES), {"qid": QID[:-1]}, rw.DataError, "qid must give one query id for each of the 8 rows"),
        ((SCORES, GRADES), {"group": [5, 2]}, rw.DataError, "2 queries add up to 7 rows, but there are 8"),
        ((SCORES, GRADES), {"group": [9, -1]}, rw.DataError, "group"),
        ((SCORES, GRADES), {"group": ["a", "b"]}, rw.DataError, "group must be"),
        ((SCORES, GRADES), {"group": 8}, rw.DataError, "group must be"),
        ((SCORES, GRADES), {"qid": QID, "group": SIZES}, rw.ParameterError, "qid .* or group .*, not both"),
        ((SCORES, [-1, *GRADES[1:]]), {"qid": QID}, rw.DataError, r"row 0 \(query 'b'\): the grade is -1"),
        ((SCORES, pd.DataFrame({"a": GRADES, "b": GRADES})), {"qid": QID}, rw.DataError, "one number per row"),
        ((pd.DataFrame({"a": SCORES, "b": SCORES}), GRADES), {"qid": QID}, rw.DataError, r"scores of shape \(8, 2\)"),
        ((SCORES, rw.Queries(None, GRADES, QID)), {"qid": QID}, rw.ParameterError, "leave them out"),
        ((rw.RankRLS(), GRADES), {"qid": QID}, rw.ParameterError, "a ranker needs features"),
    ],
)
def test_errors_say_what_does_not_fit(arguments, options, error, problem):
    with pytest.raises(error, match=problem):
        rw.evaluate(*arguments, **options)


def test_systems_are_compared_on_grades_and_query_ids():
    systems = {"one": SCORES, "other": pd.Series(SCORES)[::-1]}
    found = rw.compare(systems, GRADES, "map", qid=QID)
    expected = rw.compare(systems, rw.Queries(None, GRADES, QID), "map")
    assert found.to_dict() == expected.to_dict()
    scores = {name: np.asarray(values)[ORDER] for name, values in systems.items()}
    by_size = rw.compare(scores, np.array(GRADES)[ORDER], "map", group=SIZES)
    assert by_size.means == pytest.approx(expected.means)


def test_a_comparison_names_the_system_that_does_not_fit():
    with pytest.raises(rw.DataError, match="system 'short': there are 8 documents, but 7 scores"):
        rw.compare({"long": SCORES, "short": SCORES[:-1]}, GRADES, qid=QID)
    with pytest.raises(rw.ParameterError, match="a ranker needs features"):
        rw.compare({"scores": SCORES, "ranker": rw.RankRLS()}, GRADES, qid=QID)
