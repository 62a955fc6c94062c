"""Which columns are features: names, patterns, what is left out, and what matches nothing."""

import pytest

from rankwright.data.table_columns import TableColumns, chosen_features
from rankwright.errors import DataError, ParameterError

NAMES = ("qid", "label", "bm25_title", "bm25_body", "clicks", "-odd", "a*", "ab", "x.y", "c=d")
TAKEN = ("qid", "label")
FREE = NAMES[2:]


def columns(*features, **more):
    return [each.column for each in chosen_features(NAMES, TableColumns(features=features, **more), TAKEN)]


def test_all_that_are_free_by_default():
    found = chosen_features(NAMES, TableColumns(), TAKEN)
    assert tuple(each.column for each in found) == FREE
    assert not any(each.is_named for each in found)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (["clicks", "ab"], ["clicks", "ab"]),
        (["bm25_*"], ["bm25_title", "bm25_body"]),
        (["*body", "bm25_*"], ["bm25_body", "bm25_title"]),
        (["?lic*"], ["clicks"]),
        (["*", "-bm25_*", "!ab"], ["clicks", "-odd", "a*", "x.y", "c=d"]),
        (["-bm25_*", "-clicks", "!c=d"], ["-odd", "a*", "ab", "x.y"]),
        (["-odd"], ["-odd"]),  # a column of this name is meant itself
        (["--odd", "-*", "clicks"], ["clicks"]),
        (["a*"], ["a*"]),
        (["x?y"], ["x.y"]),
        (["c=d"], ["c=d"]),
        (["*", "clicks"], [name for name in FREE if name != "clicks"] + ["clicks"]),
        ([], []),
    ],
)
def test_names_and_patterns(features, expected):
    assert columns(*features) == expected


@pytest.mark.parametrize("word", ["none", "z*", "-none", "!z?", "qid*", "none=x"])
def test_what_matches_nothing_is_named(word):
    with pytest.raises(DataError, match=r"there is no column '.*' \(features\); there are ") as raised:
        columns(word)
    assert repr(word) in str(raised.value)


def test_a_named_column_is_known_to_be_named():
    found = chosen_features(NAMES, TableColumns(features=("*", "clicks")), TAKEN)
    assert [each.column for each in found if each.is_named] == ["clicks"]


def test_values_of_columns():
    found = chosen_features(NAMES, TableColumns(features=("clicks", "ab=x=y", "c=d=e")), TAKEN)
    assert [(each.column, each.values) for each in found] == [("clicks", None), ("ab", ("x=y",)), ("c=d", ("e",))]


def test_encoded_columns_are_features_whether_they_are_listed_or_not():
    assert columns("clicks", one_hot=("ab",)) == ["clicks", "ab"]
    found = chosen_features(NAMES, TableColumns(one_hot=("ab",)), TAKEN)
    assert [each.column for each in found] == list(FREE)
    assert [each.values for each in found if each.column == "ab"] == [()]


def test_exactly_these_features_as_far_as_they_are_there():
    asked = TableColumns(one_hot=("ab",)).for_features(["ab=1", "ab=2", "none", "clicks", "z*", "ab=", "-x"])
    found = chosen_features(NAMES, asked, TAKEN)
    assert [(each.column, each.values) for each in found] == [("ab", ("1", "2")), ("clicks", None), ("ab", ("",))]


@pytest.mark.parametrize("parameter", ["features", "one_hot"])
def test_a_string_is_no_list_of_names(parameter):
    with pytest.raises(ParameterError, match=f"{parameter} must be a sequence"):
        TableColumns.of(**{parameter: "clicks"})
