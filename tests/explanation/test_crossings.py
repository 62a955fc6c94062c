"""The cheapest threshold crossings against all combinations of them."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwright.explanation.crossings import cheapest_crossings
from rankwright.explanation.moves import Moves

# Few different numbers, so that many choices are equally good; a distance of 0 is a threshold that is stood on.
_OPTION = st.tuples(st.integers(0, 5), st.integers(-3, 6))
_FEATURES = st.lists(st.lists(_OPTION, min_size=1, max_size=4), max_size=4)


@settings(max_examples=100)
@given(_FEATURES, st.integers(0, 15), st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=4, max_size=4))
def test_no_combination_is_cheaper(features, needed, spreads):
    places = np.array([k for k, options in enumerate(features) for _ in options], np.intp)
    distances, gains = np.array([o for options in features for o in options], float).reshape(-1, 2).T
    n = len(places)
    moves = Moves(places, np.zeros(n), distances, np.ones(n), np.zeros(n, bool), np.full(n, np.inf), gains)
    chosen = cheapest_crossings(moves, needed, np.array(spreads))

    def cost(distance, k):
        return (distance / spreads[k]) ** 2 if spreads[k] else np.inf

    choices = [[(0.0, 0.0), *((cost(d, k), g) for d, g in options)] for k, options in enumerate(features)]
    combinations = [list(combination) for combination in itertools.product(*choices)]
    enough = [combination for combination in combinations if sum(gain for _, gain in combination) > needed]
    costs = [total for total in (sum(cost for cost, _ in each) for each in enough) if total < np.inf]
    assert bool(len(chosen)) == bool(costs)
    if costs:
        assert len(set(chosen.places.tolist())) == len(chosen)
        assert chosen.gains.sum() > needed
        found = sum(cost(d, k) for d, k in zip(chosen.bounds, chosen.places, strict=True))
        np.testing.assert_allclose(found, min(costs), rtol=1e-9)
