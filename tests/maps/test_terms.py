"""Formulas of few terms: what they compute, how they read, and what is left where features are not there."""

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.maps.terms import Factor, Term, Terms, where_slog

FORMULA = Terms(
    (
        Term(0.7, (Factor(0, "value"),)),
        Term(0.2, (Factor(1, "above", 0.1),)),
        Term(-0.1, (Factor(0, "value", 8.2), Factor(3, "value", -0.5))),
        Term(3.0, (Factor(3, "below", 2.0),)),
        Term(-0.5, (Factor(1, "log", 0.5),)),
        Term(1.5, (Factor(1, "missing"),)),
    ),
    intercept=2.0,
    fill={0: 8.0, 1: 0.25, 3: 1.0},
)
ROWS = np.array([[9.0, 0.3, 77.0, 1.5], [7.0, -0.5, 77.0, 3.0], [np.nan, np.nan, np.nan, np.nan], [0.0, 0.0, 0.0, 0.0]])


def by_hand(bm25, ctr, freshness, is_missing):
    """The formula written out."""
    log = np.sign(ctr) * np.log(1 + abs(ctr) / 0.5)
    hinges = 0.2 * max(0, ctr - 0.1) + 3.0 * max(0, 2.0 - freshness)
    return 2.0 + 0.7 * bm25 + hinges - 0.1 * (bm25 - 8.2) * (freshness + 0.5) - 0.5 * log + 1.5 * is_missing


EXPECTED = [by_hand(9, 0.3, 1.5, 0), by_hand(7, -0.5, 3.0, 0), by_hand(8, 0.25, 1.0, 1), by_hand(0, 0, 0, 0)]


@pytest.mark.parametrize("stored", [np.asarray, np.asfortranarray, sp.csr_array])
def test_scores_are_those_written_out(stored):
    np.testing.assert_allclose(FORMULA.scores(stored(ROWS)), EXPECTED, rtol=1e-14)


def test_float32_is_computed_in_float64():
    rows = ROWS.astype(np.float32)
    np.testing.assert_allclose(FORMULA.scores(rows), FORMULA.scores(rows.astype(np.float64)), rtol=0)


def test_no_rows_have_no_scores():
    assert len(FORMULA.scores(np.zeros((0, 4)))) == 0


def test_what_is_missing_and_unknown_has_no_score_but_unused_features_may_be_missing():
    knows_none = Terms(FORMULA.terms[:5])
    scores = knows_none.scores(np.array([[9.0, 0.3, np.nan, 1.5], [9.0, np.nan, 0.0, 1.5]]))
    assert np.isfinite(scores[0])
    assert np.isnan(scores[1])


def test_it_reads_as_people_write_it():
    names = ["bm25", "ctr", "age", "freshness"]
    assert FORMULA.text(names.__getitem__) == (
        "0.7·bm25 + 0.2·max(0, ctr − 0.1) − 0.1·(bm25 − 8.2)·(freshness + 0.5) + 3·max(0, 2 − freshness) "
        "− 0.5·slog(ctr / 0.5) + 1.5·missing(ctr) + 2"
    )
    square = Terms((Term(-2.0, (Factor(0, "value", 1.0),) * 2), Term(1.0, (Factor(1, "above", -0.5),))))
    assert square.text(names.__getitem__) == "−2·(bm25 − 1)² + 1·max(0, ctr + 0.5)"
    assert Terms((Term(1.0, (Factor(0, "log", 1.0),)),)).text(names.__getitem__) == "1·slog(bm25)"
    assert Terms(()).text(names.__getitem__) == "0"


def test_one_minus_sign_is_written():
    below, above, value = Factor(0, "below", -1.17), Factor(0, "above", 2e-7), Factor(1, "value", -3.0)
    terms = Terms((Term(-1e-9, (below,)), Term(2.0, (above, value))), -1e-5)
    written = terms.text(["bm25", "ctr"].__getitem__)
    assert written == "−1e−09·max(0, −1.17 − bm25) + 2·max(0, bm25 − 2e−07)·(ctr + 3) − 1e−05"


def test_what_is_written_is_what_is_computed_for_negative_values_too():
    """The text itself, read as arithmetic."""
    text = FORMULA.text(["bm25", "ctr", "age", "freshness"].__getitem__)
    assert where_slog(text) == ", where slog(x) = sign(x)·log(1 + |x|)"
    assert where_slog("0.7·bm25") == ""
    for bm25, ctr, freshness in ((9.0, 0.3, 1.5), (-2.0, -0.7, -3.0), (0.0, -5.0, 2.5)):
        names = {"bm25": bm25, "ctr": ctr, "freshness": freshness, "max": max, "missing": lambda x: 0.0}
        names["slog"] = lambda x: np.sign(x) * np.log(1 + abs(x))
        read = eval(text.replace("·", "*").replace("−", "-"), {"__builtins__": {}}, names)
        assert FORMULA.scores(np.array([[bm25, ctr, 0.0, freshness]]))[0] == pytest.approx(read, rel=1e-12)


def test_used_features_are_those_of_terms():
    assert FORMULA.used.tolist() == [0, 1, 3]


@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
def test_features_that_are_not_there_are_0(n_features):
    cut = FORMULA.cut_to(n_features)
    full = np.zeros((2, 4))
    full[:, :n_features] = ROWS[:2, :n_features]
    np.testing.assert_allclose(cut.scores(full[:, :n_features]), FORMULA.scores(full), rtol=1e-14)
    assert cut.used.max(initial=0) < n_features
