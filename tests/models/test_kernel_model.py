"""Models with a kernel: they come back from a file with the same scores, or the fault of the file is named."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import rankwright as rw
from rankwright.models.model_of import model_of
from tests.rankers.test_kernel_structured import dirty

KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "poly": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
    "laplacian": {"gamma": 0.2},
    "cosine": {},
}
RANKERS = [rw.KernelRankRLS, rw.KernelStructuredRanker]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def saved_and_loaded(ranker, path, **options):
    rw.save_model(ranker, path, **options)
    return rw.load_model(path)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, lambda x: x.astype(np.float32)], ids=["", "CSR", "32"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_are_sums_of_kernels_before_and_after_saving(path, kernel, stored):
    queries, fresh = dirty(stored=stored), dirty(seed=2, stored=stored)
    ranker = rw.KernelRankRLS(0.5, kernel=kernel, **KERNELS[kernel]).fit(queries)
    model = saved_and_loaded(ranker, path)
    assert isinstance(model, rw.KernelModel)
    x, known = (np.asarray(some.X.toarray() if sp.issparse(some.X) else some.X, float) for some in (fresh, queries))
    expected = pairwise_kernels(x, known, metric=kernel, **KERNELS[kernel]) @ ranker.dual_coef_
    for one in (ranker, ranker.model(), model, saved_and_loaded(model, path)):
        np.testing.assert_allclose(one.predict(fresh), expected, rtol=1e-10, atol=1e-11 * np.ptp(expected))
        assert one.score(fresh) == pytest.approx(ranker.score(fresh))
        assert one.rank(fresh).tolist() == ranker.rank(fresh).tolist()


def test_a_file_says_what_it_holds(path):
    names = ["bm25", "title [tf]", "constant", "age"]
    queries = dirty()
    named = rw.Queries(queries.X, queries.y, queries.qid, feature_names=names)
    ranker = rw.KernelStructuredRanker("ndcg@5", 0.3, gamma=0.3).fit(named)
    rw.save_model(ranker, path, training={"data": "made up"})
    content = json.loads(path.read_text())
    assert content["version"] == 4
    assert content["kernel"] == {"name": "rbf", "gamma": 0.3}
    assert content["standardisation"] is None
    assert len(content["documents"]) == np.count_nonzero(ranker.dual_coef_)
    weight, features, values = content["documents"][0]
    assert weight == ranker.dual_coef_[0]
    assert dict(zip(features, values, strict=True)) == {j + 1: x for j, x in enumerate(ranker.X_fit_[0]) if x}
    model = rw.load_model(path)
    assert (model.ranker_, model.training_) == ("KernelStructuredRanker", {"data": "made up"})
    assert list(model.feature_names_in_) == names
    assert repr(model).startswith("KernelModel(KernelStructuredRanker, 4 features, kernel rbf of ")
    shuffled = rw.Queries(queries.X[:, ::-1], queries.y, queries.qid, feature_names=names[::-1])
    np.testing.assert_allclose(model.predict(shuffled), model.predict(named), rtol=1e-10)


def test_documents_without_weight_are_left_out(path):
    queries = dirty()
    ranker = rw.KernelRankRLS(0.5).fit(queries)
    alone = np.flatnonzero(queries.sizes[queries.grouping.codes] == 1)
    assert len(alone) > 0
    ranker.dual_coef_[alone] = 0.0
    model = saved_and_loaded(ranker, path)
    assert len(model.dual_coef_) <= queries.n_documents - len(alone)
    np.testing.assert_allclose(model.predict(queries), ranker.predict(queries), atol=1e-12)


def test_scores_are_computed_in_blocks(monkeypatch):
    from rankwright.models import kernels

    queries = dirty()
    ranker = rw.KernelRankRLS(0.5).fit(queries)
    expected = ranker.predict(queries)
    monkeypatch.setattr(kernels, "_MOST_NUMBERS", 300)
    widths, plain = [], kernels.Kernel.matrix
    monkeypatch.setattr(kernels.Kernel, "matrix", lambda self, x, z: widths.append(x.shape[0]) or plain(self, x, z))
    np.testing.assert_allclose(ranker.predict(queries), expected, atol=1e-12)
    assert max(widths) * queries.n_documents <= 300
    assert sum(widths) == queries.n_documents


@pytest.mark.parametrize("ranker", RANKERS)
def test_certificates_know_the_training_queries(path, ranker):
    queries = dirty()
    model = saved_and_loaded(ranker(alpha=0.5).fit(queries), path)
    told = rw.theory.certificate(model, queries, "ndcg@5")
    assert told.doubts
    fresh = dirty(seed=3)
    assert not rw.theory.certificate(model, rw.Queries(fresh.X, fresh.y, [f"new {q}" for q in fresh.qid])).doubts


# Behind a scaler


def scaled(queries, scaler):
    return rw.Queries(scaler.transform(queries.X), queries.y, queries.qid)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_scaler_becomes_part_of_the_model(path, kernel, stored):
    queries = dirty()
    scaler = rw.GlobalStandardScaler().fit(queries.X)
    ranker = rw.KernelRankRLS(0.5, kernel=kernel, **KERNELS[kernel]).fit(scaled(queries, scaler))
    model, fresh = saved_and_loaded(ranker, path, scaler=scaler), dirty(seed=2)
    expected = ranker.predict(scaled(fresh, scaler))
    scores = model.predict(stored(fresh.X))
    shift = scores[0] - expected[0] if kernel == "linear" else 0.0  # a constant of the folded mean
    np.testing.assert_allclose(scores - shift, expected, atol=1e-9 * np.ptp(expected))
    if kernel != "linear":
        assert rw.theory.certificate(model, queries).doubts
        with pytest.raises(rw.ParameterError, match="this model has a scaler of its own"):
            rw.save_model(model, path, scaler=scaler)


@pytest.mark.parametrize("scalers", [(StandardScaler(),), (StandardScaler(), MinMaxScaler())], ids=str)
def test_scalers_of_a_pipeline_become_part_of_the_model(path, scalers):
    queries, fresh = dirty(), dirty(seed=2)
    pipeline = make_pipeline(*scalers, rw.KernelRankRLS(0.5, gamma=0.3))
    with config_context(enable_metadata_routing=True):
        pipeline.fit(queries.X, queries.y, qid=queries.qid)
    model = saved_and_loaded(pipeline, path)
    np.testing.assert_allclose(model.predict(fresh.X), pipeline.predict(fresh.X), atol=1e-10)


def test_features_that_data_lack_are_zeros():
    queries = dirty()
    x = np.column_stack([queries.X, queries.X[:, 0] * (np.arange(queries.n_documents) % 2)])
    for scaler in (None, rw.GlobalStandardScaler().fit(x)):
        train = rw.Queries(x if scaler is None else scaler.transform(x), queries.y, queries.qid)
        model = rw.KernelRankRLS(0.5, gamma=0.3).fit(train).model()
        if scaler is not None:
            model = model_of(model, scaler, "")
        for stored in (np.asarray, sp.csr_array):
            padded = stored(np.column_stack([queries.X, np.zeros(queries.n_documents)]))
            found = model.cut_to(4).predict(stored(queries.X))
            np.testing.assert_allclose(found, model.predict(padded), atol=1e-12)
    with pytest.raises(rw.ParameterError, match="a model that was cut"):
        model.cut_to(4).fields()


# What is refused


def test_what_was_set_to_nonsense_is_named(path):
    ranker = rw.KernelRankRLS(0.5).fit(dirty())
    for weights, told in ((ranker.dual_coef_[1:], "has shape"), (ranker.dual_coef_ * np.nan, "is not all finite")):
        ranker.dual_coef_ = weights
        with pytest.raises(rw.ParameterError, match=f"dual_coef_ of this KernelRankRLS {told}"):
            ranker.predict(dirty())
        with pytest.raises(rw.ParameterError, match=f"dual_coef_ of this KernelRankRLS {told}"):
            rw.save_model(ranker, path)
    assert not path.exists()


FAULTS = [
    ({"version": 3}, "a model with kernel has version 4 of the format or a later one"),
    ({"kernel": "rbf"}, "kernel must be an object with a name, one of linear, rbf, poly, laplacian, cosine"),
    ({"kernel": {"name": "os.system"}}, "kernel must be an object with a name"),
    ({"kernel": {"name": "rbf"}}, "kernel: 'rbf' has gamma beside its name, and nothing else"),
    ({"kernel": {"name": "linear", "gamma": 1.0}}, "kernel: 'linear' has no parameters beside its name"),
    ({"kernel": {"name": "rbf", "gamma": 0}}, "kernel: gamma must be above 0, not 0"),
    ({"kernel": {"name": "rbf", "gamma": "1"}}, 'kernel: gamma must be a number, not "1"'),
    (
        {"kernel": {"name": "poly", "gamma": 1, "degree": 2, "coef0": -1}},
        "kernel: coef0 must be at least 0, not -1",
    ),
    ({"standardisation": [[0.0]]}, "standardisation must be null, or a list of two"),
    ({"standardisation": [[0.0], [1.0]]}, "standardisation must have a mean and a scale for each of the 4 features"),
    ({"standardisation": [[0.0] * 4, [1.0, 1.0, 0.0, 1.0]]}, "standardisation: every scale must be above 0"),
    ({"documents": {}}, "documents must be a list of"),
    ({"documents": [[1.0, [1]]]}, r"documents, entry 1 must be a list \[weight, features, values\]"),
    ({"documents": [[1.0, [1, 5], [1.0, 2.0]]]}, "documents, entry 1: there is no feature 5, n_features is 4"),
    ({"documents": [[1.0, [2, 1], [1.0, 2.0]]]}, "documents, entry 1: features must ascend"),
    ({"documents": [[1.0, [1, 2], [1.0]]]}, "documents, entry 1 has 2 features, but 1 values"),
    ({"documents": [["x", [1], [1.0]]]}, "documents, entry 1: the weight must be a number"),
    ({"documents": [[1.0, [1], [True]]]}, "documents, entry 1 must be a number, not true"),
    ({"surplus": 1}, "there is no field 'surplus'"),
]


@pytest.mark.parametrize(("change", "told"), FAULTS, ids=lambda value: value if isinstance(value, str) else None)
def test_faults_of_a_file_are_named(path, change, told):
    rw.save_model(rw.KernelRankRLS(0.5).fit(dirty()), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(rw.ParseError, match=told):
        rw.load_model(path)


def test_a_few_bytes_do_not_ask_for_gigabytes(path):
    rw.save_model(rw.KernelRankRLS(0.5).fit(dirty()), path)
    content = json.loads(path.read_text()) | {"n_features": 2_000_000_000, "documents": [[1.0, [7], [1.0]]] * 10}
    path.write_text(json.dumps(content))
    model = rw.load_model(path)
    assert sp.issparse(model.X_fit_)
    assert model.X_fit_.nnz == 10


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["", "CSR"])
def test_where_nothing_was_learned_all_scores_are_zero(path, stored):
    x = stored(np.random.default_rng(0).standard_normal((30, 3)))
    queries = rw.Queries(x, np.zeros(30), np.arange(30) // 5)
    model = saved_and_loaded(rw.KernelRankRLS(1.0).fit(queries), path)
    np.testing.assert_array_equal(model.predict(queries), np.zeros(30))
