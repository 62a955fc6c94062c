"""The rules of choice among models, by their values on held-out queries."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.selection.search import choose_by, estimate_of
from tests.choosing import as_good_as_the_best, cheapest_as_good

NAN = np.nan


def chosen(values, costs, *, lower_is_better=False, rule="one-standard-error"):
    values = np.array(values, dtype=float)
    return choose_by(rule, [estimate_of(row) for row in values], values.__getitem__, costs, lower_is_better)


def noisy(rng, n_models, n_queries):
    """Queries that differ far more than models do; few values, so that many are equal; some models are all alike."""
    hard = rng.integers(0, 20, n_queries) / 4
    values = hard + rng.integers(-1, 2, (n_models, n_queries)) / 4
    values[rng.integers(n_models)] = values[0]
    return values


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("holes", ["none", "of queries", "of models"])
@pytest.mark.parametrize("n_queries", [1, 2, 3, 30])
def test_the_cheapest_that_is_as_good_query_by_query(n_queries, holes, lower_is_better):
    rng = np.random.default_rng([n_queries, len(holes), lower_is_better])
    n_choices = set()
    for _ in range(200):
        values, costs = noisy(rng, 8, n_queries), rng.integers(1, 5, 8)
        if holes == "of queries":
            values[:, rng.random(n_queries) < 0.4] = NAN
        elif holes == "of models":
            values[rng.random(values.shape) < 0.4] = NAN
        if np.isnan(values).all():
            continue
        found = chosen(values, costs, lower_is_better=lower_is_better)
        assert found == cheapest_as_good(values, costs, lower_is_better=lower_is_better)
        n_choices.add(len(as_good_as_the_best(values, lower_is_better=lower_is_better)[0]))
    assert len(n_choices) > 2  # the rule has few models to choose from, or many


def test_queries_of_any_difficulty_do_not_hide_that_one_model_is_worse():
    """The standard error of the best mean is 10 times the difference, and yet every query has it."""
    hard = np.linspace(0, 1, 11)
    values = [hard, hard - 0.01, hard - 0.01 + 0.1 * np.tile([1, -1], 6)[:11]]
    assert estimate_of(hard).standard_error > 0.09
    assert chosen(values, [3, 1, 2]) == 2
    assert chosen(np.negative(values), [3, 1, 2], lower_is_better=True) == 2
    assert chosen(values[:2], [3, 1]) == 0


@pytest.mark.parametrize("n_queries", [2, 3, 7, 30, 1001])
def test_a_difference_in_one_query_is_within_one_standard_error(n_queries):
    """It is d/N, and so is its standard error, whatever d and N are: rounding must not decide."""
    rng = np.random.default_rng(n_queries)
    for _ in range(50):
        values = np.tile(rng.random(n_queries), (2, 1))
        values[1, rng.integers(n_queries)] -= rng.random()
        assert chosen(values, [2, 1]) == 1
        assert chosen(-values, [2, 1], lower_is_better=True) == 1
    values[1, 2:] = values[0, 2:]
    values[1, :2] = values[0, :2] - 1.0  # as much in two queries is more
    assert chosen(values, [2, 1]) == 0


def test_a_single_query_has_no_standard_error_so_only_equals_are_as_good():
    assert chosen([[0.5], [0.5], [0.4]], [3, 2, 1]) == 1
    assert chosen([[0.5, NAN], [0.5, NAN], [0.4, NAN]], [3, 2, 1]) == 1
    assert chosen([[0.5], [0.5], [0.4]], [3, 2, 1], lower_is_better=True) == 2


def test_a_model_without_any_value_is_never_as_good():
    assert chosen([[0.5, 0.7], [NAN, NAN]], [2, 1]) == 0
    assert chosen([[NAN, NAN], [0.5, 0.7]], [1, 2]) == 1


def test_a_model_that_shares_no_query_with_the_best_is_not_as_good():
    assert chosen([[0.9, NAN, NAN], [NAN, 0.1, 0.2]], [2, 1]) == 0


def test_a_model_that_is_better_where_both_have_values_is_as_good():
    """The best mean may be that of fewer queries: what counts is the difference on those that both have."""
    assert chosen([[0.9, 0.8, NAN, NAN], [0.95, 0.85, 0.1, 0.1]], [2, 1]) == 1


@pytest.mark.parametrize("rule", ["best", "one-standard-error"])
def test_nothing_is_chosen_where_no_query_counts(rule):
    with pytest.raises(rw.DataError, match="none of the held-out queries"):
        chosen([[NAN, NAN]] * 3, [3, 1, 2], rule=rule)


def test_the_best_of_the_cheapest_and_the_first_of_equals():
    base = np.tile([0.0, 1.0], 4)
    noise = np.repeat([1.0, -1.0], 4)
    values = [base, base + noise - 0.02, base + noise - 0.01, base - noise - 0.01]
    assert chosen(values, [2, 1, 1, 1]) == 2
    assert chosen(values, [1, 1, 1, 1]) == 0


def test_the_best_rule_asks_for_no_values():
    estimates = [estimate_of(np.array(row)) for row in ([0.1, 0.2], [0.2, 0.3], [0.2, 0.3])]
    assert choose_by("best", estimates, lambda at: pytest.fail("asked"), [1, 2, 3], False) == 1
    assert choose_by("best", estimates, lambda at: pytest.fail("asked"), [1, 2, 3], True) == 0
