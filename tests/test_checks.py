"""One wording for every parameter: its name, what it must be, and what it is."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from rankwright.arrays import checked_float_type, finite_numbers
from rankwright.checks import check_bool, check_choice, check_number, check_positive, check_probability, check_whole
from rankwright.errors import ParameterError


@pytest.mark.parametrize("value", [2, np.int32(2), 10**30, np.uint8(255)])
def test_whole_numbers_of_any_type(value):
    check_whole("k", value, 2)


@pytest.mark.parametrize("value", [1, True, np.True_, 2.0, "2", None, nan, [2]])
def test_what_is_no_whole_number(value):
    with pytest.raises(ParameterError) as error:
        check_whole("k", value, 2, or_else="None")
    assert str(error.value) == f"k must be a whole number of at least 2, or None, not {value!r}"


def test_a_range_has_both_ends():
    for value in (1, 3):
        check_whole("k", value, 1, 3)
        check_number("x", value, 1, 3)
    with pytest.raises(ParameterError, match=r"^k must be a whole number from 1 to 3, not 4$"):
        check_whole("k", 4, 1, 3)
    with pytest.raises(ParameterError, match=r"^x must be a number from 1 to 3, not 3\.5$"):
        check_number("x", 3.5, 1, 3)


@pytest.mark.parametrize("value", [inf, -inf, nan, -1, True, "1", None, 1j])
def test_what_is_no_finite_number(value):
    with pytest.raises(ParameterError, match=r"^x must be a finite number of at least 0, not "):
        check_number("x", value, 0)
    with pytest.raises(ParameterError, match=r"^x must be a finite number above 0, or search\(…\), not "):
        check_positive("x", value, or_else="search(…)")
    with pytest.raises(ParameterError, match=r"^x must be a number between 0 and 1, such as 0\.05, not "):
        check_probability("x", value)


def test_zero_is_neither_positive_nor_a_probability():
    check_number("x", 0, 0)
    for check in (check_positive, check_probability):
        check("x", np.float32(0.5))
        with pytest.raises(ParameterError, match=r"^x must be a "):
            check("x", 0.0)
    with pytest.raises(ParameterError, match=r"^x must be "):
        check_probability("x", 1)


@pytest.mark.parametrize("value", [1, 0, None, "True", np.array([True, False])])
def test_what_is_neither_true_nor_false(value):
    for flag in (True, False, np.True_):
        check_bool("flag", flag)
    with pytest.raises(ParameterError, match=r"^flag must be True or False, not "):
        check_bool("flag", value)


@pytest.mark.parametrize("value", ["c", "", None, ["a"], np.array(["a", "b"]), {}])
def test_what_is_no_choice(value):
    check_choice("kind", "a", {"a": 1, "b": 2})
    with pytest.raises(ParameterError, match=r"^kind must be one of 'a', 'b', or a function, not "):
        check_choice("kind", value, {"a": 1, "b": 2}, or_else="a function")


def test_a_finite_number_for_each():
    assert finite_numbers("costs", (1, 2.5), 2, "feature").tolist() == [1.0, 2.5]
    for values in ([1.0], [1.0, inf], [1.0, nan], [[1.0, 2.0]], ["a", "b"], [1.0, 1j], 3.0, None, [0.0, 1.0]):
        with pytest.raises(ParameterError, match=r"^costs must be 2 finite numbers above 0, one for each feature$"):
            finite_numbers("costs", values, 2, "feature", above=0)


@pytest.mark.parametrize("dtype", ["float16", int, "no type", object, 7])
def test_features_are_single_or_double(dtype):
    assert [checked_float_type(known) for known in ("float32", np.float64)] == [np.float32, np.float64]
    with pytest.raises(ParameterError, match=r"^dtype must be float32 or float64, not "):
        checked_float_type(dtype)
