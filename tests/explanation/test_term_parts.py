"""Explanations of formulas: terms add up to scores, and a document that is changed as told passes the other."""

import numpy as np
import pytest

import rankwright as rw
from tests.maps.test_basis import awkward, dense


@pytest.fixture(scope="module")
def queries():
    return awkward()


@pytest.fixture(scope="module")
def ranker(queries):
    return rw.BasisRanker(n_terms=6, hinges=3).fit(queries)


@pytest.fixture(scope="module")
def told(ranker, queries):
    return rw.explain(ranker, queries, "query 2")


def test_terms_add_up_to_scores(ranker, told):
    assert len(told.features) == 6
    assert all(feature in ranker.formula_text() for feature in told.features)
    scores = np.array([document.score for document in told.documents])
    np.testing.assert_allclose(told.contributions.sum(axis=1), scores - scores.mean(), atol=1e-12)
    why = told.why(1, 4)
    assert why.difference == pytest.approx(scores[0] - scores[3])
    weights = ranker.terms_.weights
    np.testing.assert_allclose(why.contributions, weights * (told.values[0] - told.values[3]), atol=1e-12)


def test_features_that_are_not_in_a_term_are_told(ranker, told):
    used = {f"f{column + 1}" for column in ranker.terms_.used}
    assert set(told.used_features) == used
    assert set(told.unused_features) == {f"f{j}" for j in range(1, 9)} - used


@pytest.mark.parametrize("rank", range(2, 9))
def test_a_document_changed_as_told_passes_the_other(ranker, queries, told, rank):
    """Every change of one feature is made, by a little more than told: the document comes to the rank told."""
    rise = told.rise(rank)
    assert rise.joint == ()
    row = rise.document.row
    for change in rise.single:
        x = dense(queries).copy()
        column = int(change.feature[1:]) - 1
        here = ranker.terms_.fill[column] if np.isnan(x[row, column]) else x[row, column]
        beyond = 1e-6 * abs(change.bound - here) + 4 * np.spacing(abs(change.bound))
        direction = 1 if change.goes_up else -1
        before, after = ranker.predict(rw.Queries(x, queries.y, queries.qid))[row], []
        for distance in (beyond, -beyond):
            x[row, column] = change.bound + direction * distance
            after.append(ranker.predict(rw.Queries(x, queries.y, queries.qid))[row])
        assert after[0] > rise.passed.score - 1e-6 * abs(rise.gap)
        assert after[0] - before == pytest.approx(rise.gap, rel=1e-4, abs=1e-9)
        assert after[1] <= after[0]


def test_it_is_told_as_text_and_json(told):
    text = str(told)
    assert "features used" in text
    assert "Smallest single-feature change" in text
    assert "Changes of several features together are not looked for" in " ".join(str(told.rise(3)).split())
    assert set(told.to_dict()["documents"][0]["contributions"]) == set(told.features)
    assert len(told.to_frame()) == len(told.documents) * len(told.features)
