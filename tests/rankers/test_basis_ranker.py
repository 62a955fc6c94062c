"""BasisRanker: the terms, errors and weights of greedy selection among all columns written out, wherever data are."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.maps.basis_fitting import fitted_basis
from tests.maps.test_basis import LAYOUTS, awkward, dense
from tests.streaming import query_by_query, streamed


def curved(n_queries=60, seed=0, noise=0.3):
    """Grades that depend on a product, a hinge and a logarithm."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_queries * 12, 6))
    x[:, 3] = np.exp(2 * x[:, 3])
    score = x[:, 0] * x[:, 1] + np.maximum(0, x[:, 2] - 0.5) + 0.5 * np.log1p(x[:, 3])
    grades = np.clip(np.round(score + noise * rng.standard_normal(len(x))), 0, 4)
    names = ["bm25", "freshness", "ctr", "clicks", "noise", "more noise"]
    return rw.Queries(x, grades, np.repeat(np.arange(n_queries), 12), feature_names=names)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_it_selects_what_greedy_selection_among_all_columns_selects(layout, alpha):
    queries = awkward(LAYOUTS[layout])
    basis = fitted_basis(queries, hinges=3, products=True, logarithms=True)
    columns = basis.columns(queries.X, queries.grouping, np.float64)
    explicit = rw.GreedyRankRLS(alpha, n_features=7, method="gram").fit(rw.Queries(columns, queries.y, queries.qid))
    ranker = rw.BasisRanker(alpha, n_terms=7, hinges=3).fit(queries)
    assert ranker.n_candidates_ == basis.n_columns
    assert [step.selected for step in ranker.path_] == [step.selected for step in explicit.path_]
    measure = rw.nDCG @ 10
    for found, expected in zip(ranker.path_, explicit.path_, strict=True):
        assert found.criterion == pytest.approx(expected.criterion, rel=1e-9)
        assert found.squared_error == pytest.approx(expected.squared_error, rel=1e-8)
        assert found.lqo[measure] == pytest.approx(expected.lqo[measure], abs=1e-9)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6)
    difference = ranker.predict(queries) - columns @ explicit.coef_
    centred = [np.ptp(difference[queries.qid == one]) for one in np.unique(queries.qid)]
    assert max(centred) < 1e-6 * np.ptp(columns @ explicit.coef_)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_queries_read_part_by_part_give_the_same_formula(stored):
    queries = query_by_query(awkward(stored))
    expected = rw.BasisRanker(rw.search(), n_terms=rw.search(2, 4), hinges=3).fit(queries, valid=queries[:5])
    for n_parts in (2, 5):
        found = rw.BasisRanker(rw.search(), n_terms=rw.search(2, 4), hinges=3).fit(
            streamed(queries, n_parts), valid=streamed(queries[:5], 2)
        )
        assert found.alpha_ == expected.alpha_
        assert [term.factors for term in found.terms_.terms] == [term.factors for term in expected.terms_.terms]
        np.testing.assert_allclose(found.terms_.weights, expected.terms_.weights, rtol=1e-7)
        np.testing.assert_allclose(found.predict(streamed(queries)), expected.predict(queries), rtol=1e-7)


def test_it_finds_what_grades_are_made_of():
    ranker = rw.BasisRanker(n_terms=3).fit(curved())
    kinds = {tuple(sorted({factor.column for factor in term.factors})) for term in ranker.terms_.terms}
    assert (0, 1) in kinds
    assert (3,) in kinds
    test = curved(seed=1)
    linear = rw.RankRLS(rw.search()).fit(curved())
    assert ranker.score(test) > linear.score(test) + 0.05


def test_the_number_of_terms_is_chosen_by_held_out_queries():
    queries, ndcg = curved(30, noise=1.5), rw.nDCG @ 10
    best = rw.BasisRanker(n_terms=rw.search(range(1, 16))).fit(queries)
    values = [step.lqo[ndcg].mean for step in best.path_]
    assert len(best.terms_.terms) == 1 + int(np.argmax(values))
    short = rw.BasisRanker(n_terms=rw.search(range(1, 16)), rule="one-standard-error").fit(queries)
    assert len(short.terms_.terms) <= len(best.terms_.terms)
    on_valid = rw.BasisRanker(n_terms=rw.search(range(1, 16))).fit(queries, valid=curved(30, seed=5, noise=1.5))
    values = [step.valid[ndcg].mean for step in on_valid.path_]
    assert len(on_valid.terms_.terms) == 1 + int(np.argmax(values))


def test_lambda_is_chosen_with_the_number_of_terms():
    ranker = rw.BasisRanker(rw.search(0.1, 1e4), n_terms=rw.search(1, 4), measures=()).fit(curved(20))
    errors = {(path.alpha, len(step.selected)): step.squared_error.mean for path in ranker.paths_ for step in path}
    allowed = {key: error for key, error in errors.items() if key[1] in (1, 4)}
    assert (ranker.alpha_, len(ranker.terms_.terms)) == min(allowed, key=allowed.get)


def test_there_may_be_fewer_candidates_than_terms():
    queries = rw.Queries([[0.0], [1.0], [1.0], [0.0]], [0, 1, 1, 0], [1, 1, 2, 2])
    ranker = rw.BasisRanker(n_terms=10, measures=()).fit(queries)
    assert len(ranker.terms_.terms) == ranker.n_candidates_ == 1  # of two values less their mean, squares are alike


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_terms": 0}, "n_terms"),
        ({"n_terms": 2.5}, "n_terms"),
        ({"hinges": -1}, "hinges"),
        ({"products": 1}, "products"),
        ({"alpha": 0.0}, "alpha"),
        ({"rule": "first"}, "rule"),
    ],
    ids=str,
)
def test_parameters_are_checked(options, message):
    with pytest.raises(rw.ParameterError, match=message):
        rw.BasisRanker(**options).fit(curved(5))


def test_data_that_nothing_can_be_learned_from_are_refused():
    with pytest.raises(rw.DataError, match="needs at least two"):
        rw.BasisRanker().fit(np.eye(3), [0, 1, 2], [1, 1, 1])
    with pytest.raises(rw.DataError, match="no feature differs between documents"):
        rw.BasisRanker().fit(np.ones((4, 2)), [0, 1, 0, 1], [1, 1, 2, 2])


def test_missing_values_need_to_have_been_in_training():
    ranker = rw.BasisRanker(n_terms=2).fit(curved(10))
    row = np.full((1, 6), np.nan)
    with pytest.raises(rw.DataError, match="The training data had none missing"):
        ranker.predict(row)
    assert np.isfinite(rw.BasisRanker(n_terms=5).fit(awkward()).predict(np.full((1, 8), np.nan))).all()


def test_validation_queries_are_looked_at():
    ranker, queries = rw.BasisRanker(n_terms=2), awkward()
    x = dense(queries).copy()
    x[3, 0] = np.inf
    with pytest.raises(rw.DataError, match=r"valid: row 3 .*inf"):
        ranker.fit(queries, valid=rw.Queries(x, queries.y, queries.qid))
    with pytest.raises(rw.DataError, match=r"valid: row .*nan"):
        ranker.fit(awkward(with_missing=False), valid=queries)


def test_progress_is_told_term_by_term():
    told = []
    rw.BasisRanker(rw.search(1, 10), n_terms=3).fit(curved(10), progress=told.append)
    assert [progress.what for progress in told] == [f"term {k} of 3" for k in (1, 2, 3)] * 2


def test_all_columns_in_front_of_a_linear_ranker_are_a_formula_too():
    train, test = curved(), curved(seed=1)
    ranker = rw.MappedRanker(rw.BasisMap(hinges=4), rw.RankRLS(rw.search())).fit(train)
    assert ranker.score(test) > rw.RankRLS(rw.search()).fit(train).score(test) + 0.05
    model = ranker.model()
    assert isinstance(model, rw.TermsModel)
    columns = ranker.map_.columns(test.X, None, np.float64)
    np.testing.assert_allclose(model.predict(test), columns @ ranker.ranker_.coef_, atol=1e-9)
    np.testing.assert_allclose(ranker.predict(test), model.predict(test), rtol=0, atol=0)


def test_a_transformer_makes_the_same_columns_of_queries_and_arrays():
    queries = awkward()
    by = rw.BasisMap(hinges=2).fit(queries)
    names = by.get_feature_names_out([f"f{j}" for j in range(1, 9)]).tolist()
    made = by.transform(queries)
    assert list(made.feature_names) == names
    np.testing.assert_array_equal(made.X, by.transform(dense(queries)))
    assert "f1" in names
    assert any("max(0, " in name for name in names)
