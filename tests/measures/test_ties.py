"""Every measure against its definition, averaged over the full enumeration of tie-breaking orders."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from tests.measures import reference as ref

MEASURES = [
    (rw.DCG, ref.dcg),
    (rw.DCG(gain="linear", discount="letor") @ 3, partial(ref.dcg, k=3, gain=ref.linear, discount=ref.letor_discount)),
    (rw.nDCG, ref.ndcg),
    (rw.nDCG @ 2, partial(ref.ndcg, k=2)),
    (rw.nDCG(gain="linear") @ 4, partial(ref.ndcg, k=4, gain=ref.linear)),
    (rw.MeanNDCG, ref.mean_ndcg),
    (rw.P @ 3, partial(ref.precision, k=3)),
    (rw.P(relevant_from=2, short_precision="pad") @ 4, partial(ref.precision, k=4, level=2, pad=True)),
    (rw.Recall @ 2, partial(ref.recall, k=2)),
    (rw.AP, ref.average_precision),
    (rw.AP(relevant_from=2) @ 3, partial(ref.average_precision, k=3, level=2)),
    (rw.AP(ap_divisor="reachable") @ 2, partial(ref.average_precision, k=2, reachable=True)),
    (rw.RR, ref.reciprocal_rank),
    (rw.RR(relevant_from=3) @ 3, partial(ref.reciprocal_rank, k=3, level=3)),
    (rw.ERR(max_grade=4), ref.err),
    (rw.ERR(max_grade=5) @ 3, partial(ref.err, k=3, max_grade=5)),
    (rw.PairwiseError, ref.pairwise_error),
    (rw.WPD, ref.disagreement),
    (rw.ZeroOne, ref.zero_one),
    (rw.KendallTau, ref.kendall),
]

documents = st.lists(
    st.tuples(st.sampled_from([-1.5, 0.0, 0.25, 1e300]), st.sampled_from([0, 1, 2, 3, 4, 0.5, 3.25])),
    min_size=1,
    max_size=6,
)


def _value(measure, scores, grades, **options) -> float:
    queries = rw.Queries(None, grades)
    return rw.evaluate(scores, queries, measure(**options)).values[measure(**options)][0]


@pytest.mark.parametrize(
    ("measure", "definition"),
    MEASURES,
    ids=lambda value: "plain" if callable(value) and not isinstance(value, rw.Measure) else str(value),
)
@given(documents=documents)
def test_value_at_ties_is_the_mean_over_all_orders(measure, definition, documents):
    scores, grades = zip(*documents, strict=True)
    expected = ref.over_orders(lambda values: math.fsum(values) / len(values), definition, scores, grades)
    assert _value(measure, scores, grades) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("measure", "definition"),
    MEASURES,
    ids=lambda value: "plain" if callable(value) and not isinstance(value, rw.Measure) else str(value),
)
@given(documents=documents)
def test_best_and_worst_are_the_extremes_over_all_orders(measure, definition, documents):
    scores, grades = zip(*documents, strict=True)
    greatest = ref.over_orders(max, definition, scores, grades)
    least = ref.over_orders(min, definition, scores, grades)
    best, worst = (least, greatest) if measure.lower_is_better else (greatest, least)
    assert _value(measure, scores, grades, ties="best") == pytest.approx(best, abs=1e-12, nan_ok=True)
    assert _value(measure, scores, grades, ties="worst") == pytest.approx(worst, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("measure", "definition"),
    MEASURES,
    ids=lambda value: "plain" if callable(value) and not isinstance(value, rw.Measure) else str(value),
)
@given(documents=documents)
def test_input_order_keeps_tied_documents_as_they_stand(measure, definition, documents):
    scores, grades = zip(*documents, strict=True)
    stable = [grades[i] for i in sorted(range(len(scores)), key=lambda i: -scores[i])]
    assert _value(measure, scores, grades, ties="input") == pytest.approx(definition(stable), abs=1e-12, nan_ok=True)


@given(documents=documents, data=st.data())
def test_doc_id_order_puts_the_greater_id_first(documents, data):
    scores, grades = zip(*documents, strict=True)
    ids = data.draw(st.lists(st.text("abé", max_size=3), min_size=len(scores), max_size=len(scores), unique=True))
    order = sorted(range(len(scores)), key=lambda i: (scores[i], ids[i].encode()), reverse=True)
    queries = rw.Queries(None, grades, doc_ids=ids)
    measure = rw.DCG(ties="doc_id")
    assert rw.evaluate(scores, queries, measure).values[measure][0] == pytest.approx(
        ref.dcg([grades[i] for i in order]), abs=1e-12
    )


@given(documents=documents, seed=st.integers(0, 99))
def test_expected_value_does_not_depend_on_the_row_order(documents, seed):
    shuffled = [documents[i] for i in np.random.default_rng(seed).permutation(len(documents))]
    for measure in (rw.nDCG @ 3, rw.AP, rw.ERR(max_grade=4), rw.RR, rw.KendallTau):
        before, after = (_value(measure, *zip(*rows, strict=True)) for rows in (documents, shuffled))
        assert before == pytest.approx(after, rel=1e-13, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("sizes", [(40, 10), (100, 3), (5, 60)])
def test_err_of_a_large_tie_against_the_exact_sum_in_fractions(sizes):
    """All documents tied: E = Σ_s (E_s − E_{s+1})/(s+1) with E_s = e_s / C(t, s) in exact arithmetic."""
    from fractions import Fraction

    grades = [0] * sizes[0] + [1, 2, 3, 4, 4] * (sizes[1] // 5) + [1] * (sizes[1] % 5)
    symmetric = [Fraction(1)]
    for y in grades:
        stay = 1 - Fraction(2**y - 1, 16)
        symmetric = [a + stay * b for a, b in zip([*symmetric, Fraction(0)], [Fraction(0), *symmetric], strict=True)]
    means = [e / math.comb(len(grades), s) for s, e in enumerate(symmetric)]
    expected = sum((a - b) / (s + 1) for s, (a, b) in enumerate(itertools.pairwise(means)))
    assert _value(rw.ERR(max_grade=4), [1.0] * len(grades), grades) == pytest.approx(float(expected), rel=1e-12)


def test_err_of_a_hundred_thousand_tied_documents_against_sampled_orders():
    rng = np.random.default_rng(0)
    grades = rng.choice(5, 100_000, p=[0.6, 0.2, 0.1, 0.07, 0.03])
    tied = _value(rw.ERR(max_grade=4), np.zeros(100_000), grades)
    sampled = [ref.err(rng.choice(grades, 100, replace=False), max_grade=4) for _ in range(300)]
    assert tied == pytest.approx(np.mean(sampled), abs=4 * np.std(sampled) / math.sqrt(300))
    measure = rw.ERR(max_grade=4) @ 100
    assert _value(measure, np.zeros(100_000), grades) == pytest.approx(tied, abs=1e-5)
