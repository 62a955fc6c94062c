"""Columns of a basis, held against each column written out, and sums of all of them against the columns made."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.centred import centred_by_query
from rankwright.engines import engine_of
from rankwright.maps.basis import ABOVE, BELOW, LOG, MISSING, VALUE
from rankwright.maps.basis_fitting import fitted_basis
from rankwright.maps.basis_sums import products_with, spreads
from tests.streaming import query_by_query, streamed


def awkward(stored=np.asarray, *, with_missing=True):
    """Rows in no order, text ids, scales far apart, a constant, a time, heavy tails, a feature of queries, missing."""
    rng = np.random.default_rng(7)
    qid = rng.permutation(np.array([f"query {q}" for q in np.arange(110) % 12] + ["alone"] + ["none"] * 5))
    x = rng.standard_normal((len(qid), 8)) * [1, 1e3, 1e-4, 1, 50, 1, 1, 1] + [0, -20, 0, 2, 1.6e9, 0, 0, 0]
    x[:, 3] = np.exp(2 * x[:, 3])
    x[:, 5] = 3.0
    x[:, 6] = np.unique(qid, return_inverse=True)[1]
    x[:, 7] = rng.integers(0, 2, len(qid))
    y = np.clip(np.round(x[:, 0] + x[:, 1] * x[:, 7] / 1e3 + rng.standard_normal(len(qid)) / 2), 0, 3) * (qid != "none")
    if with_missing:
        x[rng.random(len(qid)) < 0.3, 1] = np.nan
        x[qid == "query 3", 0] = np.nan
    return rw.Queries(stored(x), y, qid)


LAYOUTS = {
    "dense": np.asarray,
    "float32": lambda x: x.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "CSR": sp.csr_array,
}


def by_hand(basis, x, qid):
    """Every column written out, from features filled in by their means."""
    means = np.array([np.mean(column[~np.isnan(column)]) for column in x.T])
    full = np.where(np.isnan(x), means, x)
    centre = basis.by.centre
    columns = []
    for first, second, kind, number in zip(basis.first, basis.second, basis.kinds, basis.numbers, strict=True):
        own = full[:, first]
        if second >= 0:
            columns.append((own - centre[first]) * (full[:, second] - centre[second]))
        else:
            of_kind = {
                VALUE: own - centre[first],
                ABOVE: np.where(own > number, own - number, 0),
                BELOW: np.where(own < number, number - own, 0),
                LOG: np.sign(own) * np.log(1 + np.abs(own) / (number if kind == LOG else 1)),
                MISSING: np.isnan(x[:, first]).astype(float),
            }
            columns.append(of_kind[kind])
    made = np.column_stack(columns)
    within = np.concatenate([made[qid == one] - made[qid == one].mean(axis=0) for one in np.unique(qid)])
    return made / np.sqrt((within**2).sum(axis=0) / len(x))


@pytest.fixture(params=LAYOUTS)
def queries(request):
    return awkward(LAYOUTS[request.param])


def dense(queries):
    return np.asarray(queries.X.toarray() if sp.issparse(queries.X) else queries.X, np.float64)


def fitted(queries, **options):
    return fitted_basis(queries, **{"hinges": 3, "products": True, "logarithms": True, **options})


def test_columns_are_those_written_out(queries):
    basis = fitted(queries)
    expected = by_hand(basis, dense(queries), queries.qid)
    made = basis.columns(queries.X, queries.grouping, np.float64)
    np.testing.assert_allclose(made, expected, rtol=1e-6, atol=1e-6)
    assert basis.columns(queries.X, queries.grouping).dtype == np.float32


def test_all_columns_that_tell_documents_of_a_query_apart_are_there(queries):
    basis = fitted(queries)
    kinds = np.where(basis.is_product, -1, basis.kinds)
    values = basis.first[kinds == VALUE].tolist()
    assert values == [0, 1, 2, 3, 4, 7]  # not the constant, nor what queries have in common
    assert basis.first[kinds == MISSING].tolist() == [1]  # another one is missing in a whole query
    assert set(basis.first[kinds == ABOVE]) == {0, 1, 2, 3, 4}  # of two values, hinges are the feature itself
    pairs = set(zip(basis.first[basis.is_product].tolist(), basis.second[basis.is_product].tolist(), strict=True))
    assert {(0, 0), (0, 6), (4, 6), (6, 7), (7, 7)} <= pairs  # those with a feature of queries are of use
    assert (6, 6) not in pairs
    assert not any(5 in pair for pair in pairs)


def test_knots_and_centres_have_few_digits():
    basis = fitted(awkward())
    hinges = np.isin(basis.kinds, (ABOVE, BELOW)) & ~basis.is_product
    assert all(len(f"{number:.15g}".lstrip("-0.").replace(".", "")) <= 11 for number in basis.numbers[hinges])
    assert basis.by.centre[4] == pytest.approx(1.6e9, abs=50)
    assert basis.by.centre[0] == round(basis.by.centre[0], 1)


@pytest.mark.parametrize("options", [{}, {"products": False}, {"hinges": 0}, {"logarithms": False}], ids=str)
def test_sums_of_all_columns_are_those_of_the_columns_made(queries, options):
    basis, engine, grouping = fitted(queries, **options), engine_of(queries), queries.grouping
    made = basis.columns(queries.X, grouping, np.float64)
    centred = centred_by_query(grouping.gather(made), grouping.offsets)
    target = centred_by_query(grouping.gather(queries.y), grouping.offsets)
    np.testing.assert_allclose((centred**2).sum(axis=0), len(made), rtol=1e-9)
    np.testing.assert_allclose(products_with(engine, basis), centred.T @ target, atol=1e-7)
    for column in range(0, basis.n_columns, 5):
        np.testing.assert_allclose(products_with(engine, basis, column), centred.T @ centred[:, column], atol=1e-6)


def test_spreads_do_not_drown_in_what_queries_have_in_common():
    """A feature that differs by millions between queries, and by little within."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), 8)
    x = np.column_stack([rng.standard_normal(240) * 1e-3 + 1e4 * qid, rng.standard_normal(240)])
    queries = rw.Queries(x, rng.integers(0, 3, 240), qid)
    basis = fitted(queries)
    centred = centred_by_query(basis.columns(x, None, np.float64), queries.grouping.offsets)
    np.testing.assert_allclose((centred**2).sum(axis=0), 240, rtol=1e-6)
    scale, varies = spreads(engine_of(queries), basis)
    assert varies.all()
    np.testing.assert_allclose(scale, basis.scale, rtol=1e-9)


@pytest.mark.parametrize("with_missing", [False, True])
def test_queries_read_part_by_part_have_the_same_columns(with_missing):
    queries = query_by_query(awkward(with_missing=with_missing))
    expected, found = fitted(queries), fitted(streamed(queries, 3))
    for name in ("first", "second", "kinds", "numbers"):
        assert (getattr(found, name) == getattr(expected, name)).all()
    assert (found.by.centre == expected.by.centre).all()
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-9)


def test_infinite_features_are_told_with_their_place():
    x = dense(awkward()).copy()
    x[17, 2] = np.inf
    with pytest.raises(rw.DataError, match=r"row 17 .*feature 'f3': the value is inf"):
        fitted(rw.Queries(x, awkward().y, awkward().qid))


def test_too_many_columns_are_refused_with_what_to_do():
    wide = rw.Queries(sp.csr_array((4, 5000)), [0, 1, 0, 1], [1, 1, 2, 2])
    with pytest.raises(rw.ParameterError, match=r"5,000 features make 12,\d+,\d+ columns, more than .*products=False"):
        fitted(wide)


def test_weights_of_columns_are_a_formula_of_features(queries):
    basis = fitted(queries)
    weights = np.random.default_rng(1).standard_normal(basis.n_columns)
    weights[::3] = 0
    scores = basis.columns(queries.X, None, np.float64) @ weights + 0.5
    terms = basis.terms(weights, 0.5)
    np.testing.assert_allclose(terms.scores(queries.X), scores, atol=1e-5 * np.ptp(scores))
    assert len(terms.terms) == np.count_nonzero(weights)
    assert terms.used.tolist() == basis.used_features(weights).tolist()


@pytest.mark.parametrize("constant", [7.0, 0.3, 1e6 / 3])
def test_a_constant_feature_that_is_missing_somewhere_has_only_a_column_for_that(constant):
    x = np.random.default_rng(0).standard_normal((300, 2))
    x[:, 1] = constant
    x[::9, 1] = np.nan  # the mean that is filled in may differ from the constant by rounding
    queries = rw.Queries(x, np.clip(np.round(x[:, 0] + 1), 0, 3), np.arange(300) // 10, feature_names=["a", "const"])
    ranker = rw.MappedRanker(rw.BasisMap(), rw.RankRLS(1.0)).fit(queries)
    other = rw.Queries(np.where(x == constant, constant + 1, x), queries.y, queries.qid, feature_names=["a", "const"])
    np.testing.assert_array_equal(ranker.predict(other), ranker.predict(queries))
    assert len(np.unique(ranker.predict(queries))) == 300
