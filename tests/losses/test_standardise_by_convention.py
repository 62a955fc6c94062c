"""Standardised supervision for measures as other tools compute them: consistent with each, in the laboratory."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.losses import OrderPreservingLoss, SquaredLoss
from rankwright.losses.standardise import standardised
from rankwright.measures import CONVENTIONS
from rankwright.theory.consistency import Laboratory

OWN = rw.Convention("own", gain="linear", discount="letor", empty=1.0)


@st.composite
def distributions(draw):
    n, count = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    vectors = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    shares = draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    return draw(st.lists(vectors, min_size=count, max_size=count)), [Fraction(one, sum(shares)) for one in shares]


@settings(max_examples=25)
@given(distributions(), st.sampled_from([1, 2, None]), st.sampled_from(["dcg", "ndcg"]))
@pytest.mark.parametrize("convention", [*CONVENTIONS.values(), OWN], ids=lambda convention: convention.name)
def test_the_order_of_what_is_expected_is_the_best_order(convention, drawn, cutoff, name):
    """E[r] has no regret in the measure of the same convention (paper O, definition 4)."""
    laboratory = Laboratory(*drawn, convention=convention)
    measure = rw.DCG if name == "dcg" else rw.nDCG
    expected = laboratory.expected_standardised(name, cutoff)
    assert laboratory.regret(measure if cutoff is None else measure @ cutoff, expected) <= 1e-12


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, None]))
@pytest.mark.parametrize("convention", [*CONVENTIONS.values(), OWN], ids=lambda convention: convention.name)
def test_the_measure_is_the_sum_of_weights_times_discounts(convention, seed, cutoff):
    """nDCG@K = Σ r_i D(rank of i) and DCG@K likewise, for queries of at least K documents with some gain."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 7, 4)
    qid = np.repeat(np.arange(4), sizes)
    shuffled = rng.permutation(len(qid))
    y = rng.integers(0, 4, len(qid))
    y[np.cumsum(sizes) - 1] = 1
    queries = rw.Queries(None, y[shuffled], qid[shuffled])
    scores = rng.permutation(len(qid)).astype(float)  # no ties
    grouping = queries.grouping
    for name, measure in (("dcg", rw.DCG), ("ndcg", rw.nDCG)):
        r = standardised(queries.judgments, name, cutoff, convention)
        told = rw.evaluate(scores, queries, measure if cutoff is None else measure @ cutoff, convention)
        (values,) = told.values.values()
        for query, value in enumerate(values):
            own = slice(grouping.offsets[query], grouping.offsets[query + 1])
            best_first = np.argsort(-grouping.gather(scores)[own])[:cutoff]
            by_hand = r[own][best_first] @ convention.discounts(len(best_first))
            assert value == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(("convention", "measure", "supervisions", "first"), [
    # The judges' first grades halve by 2^y − 1 what they do not by y, or by LETOR's discount of the second place.
    ("sklearn", rw.nDCG @ 2, [[0, 2, 3], [3, 2, 0]], Fraction(4, 9)),
    ("trec_eval", rw.nDCG @ 2, [[0, 2, 3], [3, 2, 0]], Fraction(4, 9)),
    ("letor4", rw.nDCG @ 2, [[0, 1, 0], [1, 0, 1]], Fraction(3, 8)),
    ("letor4", rw.nDCG, [[0, 1, 0], [1, 0, 1]], Fraction(3, 8)),
])  # fmt: skip
@pytest.mark.parametrize("phi", ["squared-hinge", "huber-hinge", "squared"])
def test_a_loss_for_another_convention_has_regret_and_that_for_its_own_has_none(
    convention, measure, supervisions, first, phi
):
    def made(**told):
        target = {"standardize": "ndcg", "cutoff": measure.cutoff, **told}
        return SquaredLoss(**target) if phi == "squared" else OrderPreservingLoss(phi, **target)

    laboratory = Laboratory(supervisions, [first, 1 - first], convention=convention)
    own = laboratory.surrogate_gap(made(convention=convention), measure)
    assert own.is_consistent
    assert own.regret <= 1e-9
    other = laboratory.surrogate_gap(made(), measure)
    assert not other.is_consistent
    assert other.regret > 0.01


def test_queries_that_a_convention_leaves_out_have_no_weight():
    """mslr's AP-relevance begins at 2, and empty=None leaves out queries without such a document."""
    queries = rw.Queries(None, [1, 0, 2, 0], ["a", "a", "b", "b"])
    leaves_out = CONVENTIONS["mslr"].but(empty=None)
    for name, own in (("dcg", 3.0), ("ndcg", 1.0)):
        assert standardised(queries.judgments, name, None, leaves_out).tolist() == [0, 0, own, 0]
        assert standardised(queries.judgments, name, None, "mslr")[0] == 1


def test_a_convention_that_does_not_exist_is_named():
    for loss in (OrderPreservingLoss, SquaredLoss):
        with pytest.raises(rw.ParameterError, match=r"^convention must be one of 'default'"):
            loss(convention="letor5")
