"""What `prepare` makes of features, against plain loops over documents and queries."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from rankwright.preparation.heavy_tails import heavy_tailed
from rankwright.preparation.preparation import prepare
from rankwright.preparation.transforms import Log, Quantile


def holey(seed=0, n_queries=12, n_features=5, share=0.3, store=np.asarray, dtype=float):
    """Queries of 1 to 9 documents, rows in no order; a whole column, and a column for a whole query, are missing."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 10, n_queries)
    qid = rng.permutation(np.repeat([f"q{q}" for q in range(n_queries)], sizes))
    x = np.round(rng.standard_normal((len(qid), n_features)) * 4) / 4 * (rng.random((len(qid), n_features)) < 0.8)
    x[rng.random(x.shape) < share] = np.nan
    x[:, 3] = np.nan
    x[qid == "q4", 1] = np.nan
    return rw.Queries(store(x.astype(dtype)), rng.integers(0, 3, len(qid)), qid)


def with_tails(seed):
    """The same with heavy tails in two features, one of them below 0 too."""
    queries = holey(seed, n_queries=80, share=0.2)
    x, rng = np.array(queries.X), np.random.default_rng(seed)
    x[:, 0] = np.where(np.isnan(x[:, 0]), np.nan, np.exp(4 * rng.standard_normal(len(x))))
    signs = rng.choice([-1.0, 1.0], len(x))
    x[:, 2] = np.where(np.isnan(x[:, 2]), np.nan, signs * np.exp(4 * rng.standard_normal(len(x))))
    return rw.Queries(x, queries.y, queries.qid)


def dense(x):
    return (x.toarray() if sp.issparse(x) else x).astype(float)


def known(values):
    return [value for value in values if not math.isnan(value)]


def mean(values, otherwise=0.0):
    return sum(values) / len(values) if values else otherwise


def by_hand(queries, missing):
    """Columns filled in and indicated, document by document; and which features are indicated."""
    x, qid = dense(queries.X), list(queries.qid)
    overall = [mean(known(x[:, j])) for j in range(x.shape[1])]
    of_query = {query: [i for i in range(len(qid)) if qid[i] == query] for query in set(qid)}
    indicated = [
        j for j in range(x.shape[1]) if any(0 < len(known(x[rows, j])) < len(rows) for rows in of_query.values())
    ]
    columns = []
    for i, row in enumerate(x):
        filled = []
        for j, value in enumerate(row):
            if math.isnan(value):
                value = overall[j]
                if missing == "query-mean":
                    value = mean(known(x[of_query[qid[i]], j]), overall[j])
            filled.append(value)
        columns.append([*filled, *(float(math.isnan(row[j])) for j in indicated)])
    return np.array(columns), indicated


@pytest.mark.parametrize("missing", ["mean", "query-mean"])
@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_are_filled_in_and_indicated(missing, store, dtype):
    queries = holey(store=store, dtype=dtype)
    by, columns = prepare(queries, missing=missing, scale=False)
    expected, indicated = by_hand(queries, missing)
    assert by.indicated.tolist() == indicated
    assert columns.X.dtype == dtype
    assert sp.issparse(columns.X) == sp.issparse(queries.X)
    np.testing.assert_allclose(dense(columns.X), expected, rtol=1e-6 if dtype == np.float32 else 1e-12)
    names = [f"f{j + 1}" for j in range(5)] + [f"f{j + 1} is missing" for j in indicated]
    assert list(columns.feature_names) == names
    assert (columns.qid == queries.qid).all()


@given(st.integers(0, 10_000), st.sampled_from(["mean", "query-mean"]), st.sampled_from(["none", "log", "quantile"]))
def test_the_formula_scores_features_as_the_weights_score_columns(seed, missing, transform):
    queries = with_tails(seed)
    by, columns = prepare(queries, missing=missing, transform=transform)
    assert sorted(by.transforms) == ([] if transform == "none" else [0, 2])
    weights = np.random.default_rng(seed).standard_normal(columns.n_features)
    expected = columns.X @ weights
    for x in (queries.X, sp.csr_array(queries.X)):
        np.testing.assert_allclose(by.fold(weights).scores(x, queries.grouping), expected, rtol=0, atol=1e-10)
    features, own = by.fold(weights).as_linear(queries.X, queries.grouping)
    np.testing.assert_allclose(features @ own, expected, rtol=0, atol=1e-10)


def test_scale_is_the_spread_within_queries():
    queries = holey()
    unscaled = dense(prepare(queries, scale=False)[1].X)
    by, columns = prepare(queries)
    for j in range(unscaled.shape[1]):
        squares = 0.0
        for query in set(queries.qid):
            own = unscaled[queries.qid == query, j]
            squares += ((own - own.mean()) ** 2).sum()
        spread = math.sqrt(squares / len(unscaled)) or 1.0
        assert by.scale[j] == pytest.approx(spread, rel=1e-12)
        np.testing.assert_allclose(dense(columns.X)[:, j], unscaled[:, j] / spread, rtol=1e-12)


def test_complete_data_are_not_changed_without_scaling():
    queries = rw.datasets.make_queries(n_queries=5, seed=0).queries
    by, columns = prepare(queries, scale=False)
    assert columns is queries
    assert by.changes_nothing
    assert by.fold(np.ones(20)).is_plain


def test_features_used_are_told_whether_by_value_or_by_absence():
    by, columns = prepare(holey())
    weights = np.zeros((2, columns.n_features))
    weights[0, 0] = weights[1, -1] = 1.0
    expected = np.zeros((2, 5), bool)
    expected[0, 0] = expected[1, by.indicated[-1]] = True
    np.testing.assert_array_equal(by.used_features(weights), expected)


# Transforms


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e3))
def test_logarithms_grow_and_come_back(x, unit):
    log = Log(unit)
    assert float(log(x)) == pytest.approx(math.copysign(math.log(1 + abs(x) / unit), x), abs=1e-9)
    assert float(log.inverse(log(x))) == pytest.approx(x, rel=1e-9, abs=1e-9 * unit)
    assert float(log(0.0)) == 0.0
    assert math.isnan(log(math.nan))


def test_quantiles_are_the_share_of_documents_below():
    rng = np.random.default_rng(0)
    values = np.exp(2 * rng.standard_normal(4000))
    queries = rw.Queries(values[:, None], rng.integers(0, 2, 4000), np.arange(4000) // 20)
    by, _ = prepare(queries, transform="quantile")
    for x in np.quantile(values, [0.01, 0.2, 0.5, 0.77, 0.99]):
        share = float(by.transforms[0](x) - by.transforms[0](values.min()))
        assert share == pytest.approx((values < x).mean(), abs=1 / 32)  # as far as two knots are apart
    assert by.transforms[0](1e9) == by.transforms[0](values.max())
    assert by.transforms[0](0.0) == 0.0


def test_quantiles_come_back_within_their_range_alone():
    quantile = Quantile((0.0, 1.0, 4.0), (0.0, 0.5, 1.0))
    assert float(quantile(2.5)) == 0.75
    assert float(quantile.inverse(0.75)) == 2.5
    assert math.isnan(quantile.inverse(1.1))
    assert math.isnan(quantile(math.nan))
    assert quantile(math.inf) == math.inf  # which is refused as it is without a transform


def test_many_equal_values_are_one_knot_at_the_middle_of_their_share():
    """Half of the values are 0, so 0 stands for the share up to its middle, and everything is counted from there."""
    values = np.concatenate([np.zeros(500), np.exp(3 * np.random.default_rng(1).standard_normal(500))])
    queries = rw.Queries(values[:, None], np.arange(1000) % 2, np.arange(1000) % 10)
    transform = prepare(queries, transform="quantile")[0].transforms[0]
    assert transform(0.0) == 0.0
    assert float(transform(values.max())) == pytest.approx(0.75, abs=0.01)


def test_only_heavy_tails_are_transformed():
    rng = np.random.default_rng(0)
    n = 3000
    columns = {
        "normal": rng.standard_normal(n),
        "uniform": rng.random(n),
        "exponential": rng.exponential(size=n),
        "rare flag": (rng.random(n) < 0.003).astype(float),
        "log-normal": np.exp(1.5 * rng.standard_normal(n)),
        "count": np.floor(rng.pareto(1.2, n)),
        "bytes": np.round(2 ** (10 + 4 * rng.standard_normal(n))),
        "constant": np.ones(n),
        "missing": np.full(n, np.nan),
    }
    x = np.column_stack(list(columns.values()))
    queries = rw.Queries(x, np.arange(n) % 3, np.arange(n) // 30, feature_names=list(columns))
    assert [queries.feature_names[j] for j in heavy_tailed(queries)] == ["log-normal", "count", "bytes"]
    assert heavy_tailed(queries[:2]).size == 0  # too few documents to tell
    by, _ = prepare(queries, transform="log")
    assert {queries.feature_names[j]: one.unit for j, one in by.transforms.items()}["bytes"] == 1.0


def test_small_heavy_tailed_values_have_a_unit_of_their_own():
    """log(1 + x) of values far below 1 would be x again."""
    values = 1e-6 * np.exp(2 * np.random.default_rng(0).standard_normal(2000))
    queries = rw.Queries(values[:, None], np.arange(2000) % 2, np.arange(2000) // 20)
    unit = prepare(queries, transform="log")[0].transforms[0].unit
    assert unit == pytest.approx(np.quantile(values, 0.1))


def test_infinite_values_are_not_heavy_tails():
    x = np.random.default_rng(0).standard_normal((500, 1))
    x[3] = np.inf
    assert heavy_tailed(rw.Queries(x, np.arange(500) % 2, np.arange(500) // 10)).size == 0


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_heavy_tails_do_not_depend_on_the_order_of_rows_or_on_zeros(store):
    """Of two features that are mostly 0, the one whose other values have a tail is heavy, wherever they stand."""
    rng = np.random.default_rng(0)
    n = 15_000
    x = np.column_stack([np.exp(2 * rng.standard_normal(n)), 1 + rng.random(n)]) * (np.arange(n) > 12_000)[:, None]
    qid = np.arange(n) // 10
    for order in (np.arange(n), rng.permutation(n)):
        queries = rw.Queries(store(x[order]), np.zeros(n), qid[order])
        assert heavy_tailed(queries).tolist() == [0]
