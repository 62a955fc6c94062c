"""Kernel maps: inner products of columns against the kernel itself, scales against NumPy, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.maps import wave_kernels
from rankwright.maps.standardised import SCALINGS, standardise
from tests.maps.dirty import dirty_queries


@pytest.mark.parametrize(
    ("dtype", "waves", "exact"),
    [(np.float32, wave_kernels.single_waves, 4e-7), (np.float64, wave_kernels.double_waves, 2e-15)],
)
def test_waves_are_cosines_and_sines(dtype, waves, exact):
    turns = np.concatenate([np.random.default_rng(0).standard_normal(997) * 3, [0.0, 0.25, -0.5, 0.75, 2.0**20 + 0.25]])
    turns = turns.astype(dtype)[None]
    out = np.empty((1, 2 * turns.shape[1] - 1), dtype)
    waves(turns, dtype(0.5), out)
    rest = turns.astype(np.float64) - np.rint(turns.astype(np.float64))
    expected = 0.5 * np.concatenate([np.cos(2 * np.pi * rest), np.sin(2 * np.pi * rest)], axis=1)[:, :-1]
    np.testing.assert_allclose(out, expected, atol=exact, rtol=0)


def test_waves_of_what_is_no_number_are_none():
    out = np.empty((1, 6))
    wave_kernels.double_waves(np.array([[np.nan, np.inf, -np.inf]]), 1.0, out)
    assert np.isnan(out).all()


def scaled(queries):
    return StandardScaler().fit_transform(queries.X.astype(np.float64)[:, :5])


def test_fourier_features_tend_to_the_kernel():
    queries = dirty_queries(missing=0, dtype=np.float64)
    exact = rbf_kernel(scaled(queries), gamma=0.1)
    errors = []
    for n in (100, 1000, 10_000):
        columns = rw.KernelMap("fourier", n, gamma=0.1, linear=False).fit_transform(queries).X
        errors.append(np.sqrt(np.mean((columns @ columns.T - exact) ** 2)))
    assert columns.shape[1] == 10_000
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[2] < 0.012


def test_orthogonal_frequencies_are_nearer_to_the_kernel():
    queries = dirty_queries(missing=0, dtype=np.float64)
    exact = rbf_kernel(scaled(queries), gamma=0.1)
    errors = {"fourier": [], "orthogonal": []}
    for kind, found in errors.items():
        for seed in range(20):
            columns = rw.KernelMap(kind, 40, gamma=0.1, linear=False, random_state=seed).fit_transform(queries).X
            found.append(np.mean((columns @ columns.T - exact) ** 2))
    assert np.mean(errors["orthogonal"]) < 0.8 * np.mean(errors["fourier"])


def test_all_documents_as_landmarks_are_the_kernel():
    queries = dirty_queries(missing=0, dtype=np.float64)
    columns = rw.KernelMap("nystroem", 10**6, gamma=0.3, linear=False).fit_transform(queries).X
    np.testing.assert_allclose(columns @ columns.T, rbf_kernel(scaled(queries), gamma=0.3), atol=1e-5)


def test_an_odd_number_of_columns_has_one_sine_less():
    queries = dirty_queries(missing=0)
    assert rw.KernelMap(n_components=7, linear=False).fit_transform(queries).X.shape[1] == 7


# Scales


def test_standard_columns_come_first_and_are_those_of_numpy():
    queries = dirty_queries(dtype=np.float64)
    made = rw.KernelMap(n_components=10).fit(queries)
    columns = made.transform(queries.X)
    x = queries.X[:, :5]
    filled = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    expected = np.column_stack([filled, np.isnan(x)])
    expected = (expected - expected.mean(axis=0)) / expected.std(axis=0)
    np.testing.assert_allclose(columns[:, :10], expected, atol=1e-10)
    names = made.get_feature_names_out()
    assert names[:10].tolist() == [*"abcde", *(f"{name} is missing" for name in "abcde")]  # f is constant
    assert names[10] == "wave 1"


def test_quantiles_do_not_feel_a_heavy_tail():
    queries = dirty_queries(dtype=np.float64, missing=0)
    by = standardise(queries, "quantile", "mean")
    stretched = queries.X.copy()
    stretched[:, 4] = np.exp(stretched[:, 4])
    with np.errstate(over="ignore"):
        far = rw.Queries(np.minimum(stretched, 1e60), queries.y, queries.qid)
    rows, others = (
        by.rows(queries.X, None, np.float64),
        standardise(far, "quantile", "mean").rows(far.X, None, np.float64),
    )
    assert np.abs(rows).max() < 3
    np.testing.assert_allclose(others[:, 4], rows[:, 4], atol=0.15)


def test_within_query_columns_have_unit_spread_within_queries():
    queries = dirty_queries(dtype=np.float64, missing=0)
    rows = standardise(queries, "within-query-spread", "mean").rows(queries.X, queries.grouping, np.float64)
    centred = rows - np.stack([rows[queries.qid == name].mean(axis=0) for name in queries.qid])
    np.testing.assert_allclose((centred**2).mean(axis=0), 1, rtol=1e-10)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("missing", ["mean", "query-mean"])
def test_sparse_features_are_mapped_as_dense_ones(scaling, missing):
    queries = dirty_queries(dtype=np.float64)
    x = np.where(np.abs(queries.X) < 0.5, 0.0, queries.X)
    dense = rw.Queries(x, queries.y, queries.qid)
    sparse = rw.Queries(sp.csr_array(x), queries.y, queries.qid)
    made = rw.KernelMap(n_components=20, gamma=0.1, scaling=scaling, missing=missing)
    columns = [made.fit(each).transform(each).X for each in (dense, sparse)]
    np.testing.assert_allclose(columns[0], columns[1], atol=1e-9)


def test_a_time_in_float64_keeps_its_digits():
    times = 1.7e9 + np.arange(50.0)
    made = rw.KernelMap(n_components=4).fit(times[:, None])
    columns = made.map_.columns(times[:, None], None, np.float32)
    np.testing.assert_allclose(columns[:, 0], (times - times.mean()) / times.std(), atol=1e-6)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_map_does_not_depend_on_the_cut_into_parts(scaling, tmp_path):
    queries = dirty_queries()
    rw.write_parquet(queries, tmp_path / "train.parquet")
    streamed = rw.open_queries(tmp_path / "train.parquet", memory="1MB")
    whole, cut = (standardise(each, scaling, "mean") for each in (streamed.in_memory(), streamed))
    np.testing.assert_array_equal(whole.shift, cut.shift)
    np.testing.assert_array_equal(whole.scale, cut.scale)
    np.testing.assert_array_equal(whole.kept, cut.kept)


# Settings


def test_gammas_go_by_the_median_distance():
    queries = dirty_queries(missing=0, dtype=np.float64)
    z = scaled(queries)
    distances = ((z[:, None] - z) ** 2).sum(axis=2)[np.triu_indices(len(z), 1)]
    made = rw.KernelMap(n_components=8, scaling="standard").settings(queries)
    found = np.array([setting.gamma for setting in made])
    np.testing.assert_allclose(found * np.median(distances), [0.125, 0.25, 0.5, 1], rtol=1e-6)
    assert {setting.scaling for setting in made} == {"standard"}


def test_every_scaling_goes_with_every_gamma():
    made = rw.KernelMap(gamma=rw.search(0.2, 0.1), scaling=rw.search()).settings(dirty_queries())
    assert [(one.scaling, one.gamma) for one in made] == [(scaling, g) for scaling in SCALINGS for g in (0.1, 0.2)]


def test_documents_that_are_all_alike_have_columns_that_say_nothing():
    columns = rw.KernelMap(n_components=5).fit_transform(np.ones((4, 3)))
    assert columns.shape == (4, 5)
    assert (columns == columns[0]).all()


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"kind": "poly"}, "kind must be"),
        ({"n_components": 0}, "n_components must be"),
        ({"gamma": 0}, "gamma must be"),
        ({"gamma": rw.search(1, -1)}, "gamma must be"),
        ({"scaling": "none"}, "scaling must be"),
        ({"linear": 2}, "linear must be"),
        ({"missing": "zero"}, "missing must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"gamma": rw.search(1, 2)}, "is for MappedRanker to choose"),
        ({"scaling": rw.search("standard")}, "is for MappedRanker to choose"),
    ],
)
def test_parameters_are_checked(parameters, told):
    with pytest.raises(rw.ParameterError, match=told):
        rw.KernelMap(**parameters).fit([[0.0], [1.0]])


def test_what_was_not_missing_in_training_is_refused():
    made = rw.KernelMap(n_components=5).fit([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(rw.DataError, match=r"row 1: feature 2 is missing \(NaN\)"):
        made.transform([[0.0, 1.0], [1.0, np.nan]])
    with pytest.raises(rw.DataError, match="feature 1 is inf"):
        made.transform([[np.inf, 1.0]])


def test_means_of_queries_need_queries():
    queries = dirty_queries()
    made = rw.KernelMap(n_components=5, missing="query-mean").fit(queries)
    assert np.isfinite(made.transform(queries.X, qid=queries.qid)).all()
    with pytest.raises(rw.DataError, match="so it must know the queries"):
        made.transform(queries.X)


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_a_feature_that_is_missing_everywhere_is_left_out(scaling):
    x = np.random.default_rng(0).standard_normal((60, 3))
    x[:, 2] = np.nan
    own = rw.KernelMap(n_components=4, gamma=0.1, scaling=scaling)
    mapped = own.fit(rw.Queries(x, np.arange(60) % 3, np.arange(60) // 6)).transform(x)
    without = rw.KernelMap(n_components=4, gamma=0.1, scaling=scaling)
    queries = rw.Queries(x[:, :2], np.arange(60) % 3, np.arange(60) // 6)
    np.testing.assert_allclose(mapped, without.fit(queries).transform(x[:, :2]), rtol=1e-6, atol=1e-7)
