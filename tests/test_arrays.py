"""Arrays from outside: sparse matrices whose indices lie, masked values, complex numbers, times."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.arrays import checked_features
from rankwright.data.normalise import GlobalStandardScaler, QueryMinMaxScaler
from rankwright.losses.pairwise import PreorderLoss

Y, QID = np.array([0.0, 1.0, 0.0, 1.0]), np.array([1, 1, 2, 2])
DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0], [0.0, 6.0, 7.0]])


def spoiled(kind=sp.csr_array, **parts):
    """A good matrix, some of whose arrays are then replaced."""
    x = kind(DENSE)
    for name, values in parts.items():
        setattr(x, name, np.array(values))
    return x


LIES = {
    "index too large": (lambda: spoiled(indices=[0, 2, 1, 0, 3, 1, 2]), "row 2 has a value in column 3"),
    "index far too large": (lambda: spoiled(indices=[0, 2, 1, 0, 2, 1, 2**31 - 2]), "row 3 has a value in column 214"),
    "index negative": (lambda: spoiled(indices=[0, -1, 1, 0, 2, 1, 2]), "row 0 has a value in column -1"),
    "indptr decreasing": (lambda: spoiled(indptr=[0, 5, 3, 5, 7]), "indptr decreases at row 1"),
    "indptr ending at 0": (lambda: spoiled(indptr=[0, 900000, 3, 5, 0]), "indptr decreases at row 1"),
    "indptr ending too late": (lambda: spoiled(indptr=[0, 2, 3, 5, 8000000]), "end with at most 7"),
    "indptr ending below 0": (lambda: spoiled(indptr=[0, 2, 3, 5, -7]), "indptr decreases at row 3"),
    "indptr beginning late": (lambda: spoiled(indptr=[1, 2, 3, 5, 7]), "begin with 0"),
    "indptr too short": (lambda: spoiled(indptr=[0, 2, 7]), "5 entries for 4 rows"),
    "fewer values than indices": (lambda: spoiled(data=[1.0, 2.0]), "2 values, but 7 indices"),
    "indices that are no whole numbers": (lambda: spoiled(indices=[0.5] * 7), "whole numbers"),
    "CSC": (lambda: spoiled(sp.csc_array, indices=[0, 2, 1, 900000, 0, 2, 3]), "column 1 has a value in row 900000"),
    "COO": (lambda: spoiled(sp.coo_array, row=[0, 0, 1, 2, 2, 900000, 3]), "900000 exceeds"),
    "BSR": (lambda: spoiled(sp.bsr_array, indices=[900000] * 7), "row 0 has a value in column 900000"),
    "BSR whose last row ends late": (lambda: spoiled(sp.bsr_array, indptr=[0, 1, 2, 3, 2**31 - 1]), "end with at most"),
    "BSR without blocks": (lambda: spoiled(sp.bsr_array, data=[1.0]), "blocks of shape .* do not fit"),
}


@pytest.fixture(params=LIES.values(), ids=LIES.keys(), name="lie")
def lying_matrix(request):
    make, told = request.param
    return make(), told


class TestSparse:
    def test_queries_refuse_indices_that_lie(self, lie):
        x, told = lie
        with pytest.raises(rw.DataError, match=f"X is not a valid .*{told}"):
            rw.Queries(x, Y, QID)

    @pytest.mark.parametrize(
        "use",
        [
            lambda x: rw.RankRLS().fit(x, Y, QID),
            lambda x: rw.RankRLS().fit(DENSE, Y, QID).predict(x),
            lambda x: rw.RankRLS().fit(DENSE, Y, QID).rank(x, QID),
            lambda x: rw.RankRLS().fit(DENSE, Y, QID).score(x, Y, QID),
            lambda x: rw.KernelRankRLS().fit(DENSE, Y, QID).predict(x),
            lambda x: rw.RankBoost(n_rounds=2).fit(DENSE, Y, QID).predict(x),
            lambda x: QueryMinMaxScaler().fit(x, qid=QID),
            lambda x: QueryMinMaxScaler().transform(x, qid=QID),
            lambda x: GlobalStandardScaler(with_mean=False).fit(DENSE).transform(x),
        ],
        ids=["fit", "predict", "rank", "score", "kernel", "stumps", "min-max fit", "min-max", "standard"],
    )
    def test_so_do_estimators(self, lie, use):
        x, told = lie
        with pytest.raises(rw.DataError, match=told):
            use(x)

    def test_a_model_from_a_file_refuses_them_too(self, lie, tmp_path):
        x, told = lie
        rw.save_model(rw.RankRLS().fit(DENSE, Y, QID), tmp_path / "model.json")
        with pytest.raises(rw.DataError, match=told):
            rw.load_model(tmp_path / "model.json").predict(x)

    @pytest.mark.parametrize(
        "kind", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.bsr_array, sp.lil_array, sp.dok_array]
    )
    def test_good_ones_of_any_kind_are_taken(self, kind):
        np.testing.assert_array_equal(rw.Queries(kind(DENSE), Y, QID).X.toarray(), DENSE)

    @pytest.mark.parametrize("told", [None, True])
    def test_equal_indices_are_added_and_flags_out_of_date_not_believed(self, told):
        x = sp.csr_array((np.array([1.0, 2.0, 3.0, 9.0]), np.array([2, 0, 2, 1]), np.array([0, 3])), shape=(1, 3))
        if told:
            x.has_sorted_indices = x.has_canonical_format = told
        for found in (rw.Queries(x, [1]).X, checked_features(x)):
            assert found.indices.tolist() == [0, 2]
            assert found.data.tolist() == [2, 4]  # and the value after the end of the last row is none
        assert x.indices.tolist()[:3] == [2, 0, 2]  # the caller's matrix is left alone
        model = rw.RankRLS().fit(DENSE, Y, QID)
        np.testing.assert_allclose(model.predict(x), model.predict([[2.0, 0.0, 4.0]]))


def masked(values, row):
    mask = np.zeros(np.shape(values), bool)
    mask[row] = True
    return np.ma.masked_array(values, mask=mask)


QUERIES = rw.Queries(DENSE, Y, QID)
NOT_A_TIME = np.array([1, 2, 3, "NaT"], "M8[s]")

KINDS = {
    "masked": (lambda values: masked(values, 2), "row 2: {} must not be masked"),
    "complex": (lambda values: values + 1j, "{} must be real numbers, not complex ones"),
    "NaT": (lambda values: NOT_A_TIME, "{} must be numbers, not times"),
    "duration": (lambda values: NOT_A_TIME - NOT_A_TIME[0], "{} must be numbers, not times"),
    "NaT among objects": (lambda values: np.array([*NOT_A_TIME], dtype=object), "{} must be numbers, not times"),
}

USES = {
    "grades": [
        lambda y: rw.Queries(DENSE, y, QID),
        lambda y: rw.RankRLS().fit(DENSE, y, QID),
        lambda y: rw.RankRLS().fit(DENSE, Y, QID).score(DENSE, y, QID),
    ],
    "ranks": [lambda ranks: rw.Queries(DENSE, rw.FullRanking(ranks), QID)],
    "ends of edges": [lambda ends: rw.PreferenceGraph(4, [0, 1, 2, 3], ends)],
    "edge weights": [lambda weights: rw.PreferenceGraph(4, [0] * 4, [1] * 4, weights)],
    "scores": [
        lambda scores: rw.evaluate(scores, QUERIES),
        lambda scores: rw.compare({"a": scores, "b": Y}, QUERIES),
        lambda scores: PreorderLoss("hinge").on(QUERIES).at(scores),
    ],
    "sample weights": [
        lambda weights: rw.RankSVM(1.0).fit(DENSE, Y, QID, sample_weight=weights),
        lambda weights: rw.RankSVM(1.0).fit(DENSE, Y, QID).score(DENSE, Y, QID, sample_weight=weights),
    ],
}


@pytest.mark.parametrize(("spoil", "told"), KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize(
    ("name", "use"),
    [(name, use) for name, uses in USES.items() for use in uses],
    ids=[f"{name}-{i}" for name, uses in USES.items() for i in range(len(uses))],
)
def test_what_are_no_plain_numbers_is_refused(spoil, told, name, use):
    with pytest.raises(rw.DataError, match=told.format(name)):
        use(spoil(np.array([1.0, 2.0, 2.0, 1.0])))


@pytest.mark.parametrize(("spoil", "told"), KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize(
    "use",
    [
        lambda x: rw.Queries(x, Y, QID),
        lambda x: rw.RankRLS().fit(x, Y, QID),
        lambda x: rw.RankRLS().fit(DENSE[:, :1], Y, QID).predict(x),
        lambda x: GlobalStandardScaler().fit(DENSE[:, :1]).transform(x),
    ],
)
def test_nor_as_features(spoil, told, use):
    x = spoil(DENSE[:, 0])[:, None]
    if not np.ma.isMaskedArray(x):
        with pytest.raises(rw.DataError, match=told.format("features")):
            use(x)


def test_masked_features_are_missing_values():
    x = masked(DENSE, (1, 0))
    filled = np.where(x.mask, np.nan, DENSE)
    np.testing.assert_array_equal(rw.RankRLS().fit(x, Y, QID).coef_, rw.RankRLS().fit(filled, Y, QID).coef_)
    with pytest.raises(rw.DataError, match="row 1"):
        rw.RankRLS().fit(DENSE, Y, QID).predict(x)
    scaled = GlobalStandardScaler().fit_transform(x)
    assert np.isnan(scaled).tolist() == x.mask.tolist()
    assert np.isnan(rw.Queries(x, Y, QID).X).tolist() == x.mask.tolist()


@pytest.mark.parametrize(
    ("qid", "told"),
    [
        (np.ma.masked_array(QID, mask=[0, 0, 1, 0]), "row 2: query ids must not be masked"),
        (np.ma.masked_array(list("aabb"), mask=[0, 0, 0, 1]), "row 3: query ids must not be masked"),
        (QID + 1j, "query ids must not be complex"),
        ([1, 1, 2 + 0j, 2 + 0j], "query ids must not be complex"),
        (np.array([1, 1, "NaT", 2], "M8[s]"), "row 2 has no query id"),
    ],
)
def test_nor_query_ids(qid, told):
    for use in (
        lambda: rw.Queries(DENSE, Y, qid),
        lambda: rw.RankRLS().fit(DENSE, Y, qid),
        lambda: QueryMinMaxScaler().fit_transform(DENSE, qid=qid),
    ):
        with pytest.raises(rw.DataError, match=told):
            use()


@pytest.mark.parametrize("ends", [[0.5], [np.nan], [np.inf], [1e300]])
def test_ends_of_edges_are_whole_numbers(ends):
    with pytest.raises(rw.DataError, match="ends of edges must be whole numbers"):
        rw.PreferenceGraph(2, [0], ends)
    with pytest.raises(rw.DataError, match="ranks must be whole numbers"):
        rw.FullRanking(ends)


def test_nor_document_ids():
    with pytest.raises(rw.DataError, match="row 1: document ids must not be masked"):
        rw.Queries(DENSE, Y, QID, doc_ids=masked(list("abcd"), 1))


def test_ids_of_several_lengths_are_refused():
    with pytest.raises(rw.DataError, match="query ids must be single values"):
        rw.Queries(DENSE, Y, [[1], [1], [2, 3], [2]])


def test_a_mask_that_hides_nothing_is_none():
    queries = rw.Queries(masked(DENSE, slice(0)), masked(Y, slice(0)), masked(QID, slice(0)))
    assert queries.y.tolist() == Y.tolist()
    assert queries.query_ids.tolist() == [1, 2]
    assert not np.ma.isMaskedArray(queries.X)


def test_a_frame_with_a_column_of_times():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "t": pandas.to_datetime(["2020-01-01"] * 4)})
    with pytest.raises(rw.DataError, match="features must be numbers: convert columns of times, or leave them out"):
        rw.RankRLS().fit(frame, Y, qid=QID)


@pytest.mark.parametrize("make", [lambda X: rw.Queries(X, Y, QID), lambda X: rw.RankRLS().fit(X, Y, qid=QID)])
def test_lists_are_checked_as_arrays_are(make):
    with pytest.raises(rw.DataError, match="features must be real numbers, not complex ones"):
        make((DENSE + 1j).tolist())
    make(DENSE.tolist())
