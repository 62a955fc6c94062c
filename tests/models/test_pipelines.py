"""scikit-learn pipelines that become one model: it scores raw features as the pipeline does, or the reason is told."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import rankwright as rw
from tests.export import engines

NAMES = ["bm25", "clicks", "age", "constant", "empty", "size"]

SCALERS = {
    "standard": StandardScaler,
    "standard without mean": lambda: StandardScaler(with_mean=False),
    "standard without std": lambda: StandardScaler(with_std=False),
    "nothing at all": lambda: StandardScaler(with_mean=False, with_std=False),
    "min-max": MinMaxScaler,
    "min-max to a range": lambda: MinMaxScaler(feature_range=(-3, 7)),
    "robust": RobustScaler,
    "robust without centre": lambda: RobustScaler(with_centering=False),
    "robust without scale": lambda: RobustScaler(with_scaling=False, quantile_range=(10, 90)),
    "max-abs": MaxAbsScaler,
    "ours": rw.GlobalStandardScaler,
    "ours without mean": lambda: rw.GlobalStandardScaler(with_mean=False),
}
IMPUTERS = {
    "mean": SimpleImputer,
    "median": lambda: SimpleImputer(strategy="median"),
    "most frequent": lambda: SimpleImputer(strategy="most_frequent"),
    "constant": lambda: SimpleImputer(strategy="constant", fill_value=-2.5),
    "constant 0": lambda: SimpleImputer(strategy="constant"),
    "callable": lambda: SimpleImputer(strategy=lambda values: values.max() if len(values) else 0.5),
    "indicators": lambda: SimpleImputer(add_indicator=True),
    "median and indicators": lambda: SimpleImputer(strategy="median", add_indicator=True),
    "empty kept": lambda: SimpleImputer(keep_empty_features=True),
    "empty kept, indicators": lambda: SimpleImputer(keep_empty_features=True, add_indicator=True),
    "constant, empty kept": lambda: SimpleImputer(strategy="constant", fill_value=4.0, keep_empty_features=True),
}
SPARSE = ("standard without mean", "nothing at all", "max-abs", "robust without centre", "ours without mean")


def complete(seed=3):
    """Rows in no order, a constant column, one of zeros, scales that differ, and few relevant documents."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.array([f"query {number}" for number in np.arange(60) % 7] + ["alone"] + ["none"] * 4))
    x = rng.standard_normal((len(qid), 6)) * [1, 30, 0.01, 0, 0, 5] + [0, 100, 0, 2, 0, -7]
    y = np.clip(np.round(x[:, 0] + x[:, 1] / 30 - 3), 0, 2) * (qid != "none")
    return x, y, qid


def holey(seed=3):
    """The same with values missing: here and there, for a whole query, and of one feature altogether."""
    x, y, qid = complete(seed)
    rng = np.random.default_rng(seed + 1)
    x[rng.random(len(x)) < 0.3, 0] = np.nan
    x[(rng.random(len(x)) < 0.5) & (y == 0), 1] = np.nan
    x[qid == "query 2", 2] = np.nan
    x[:, 4] = np.nan
    return x, y, qid


def fitted(pipeline, x, y, qid):
    """Routing hands qid on to those who ask for it."""
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN|Skipping features without|Currently, when|Degrees of|invalid value")
        return pipeline.fit(x, y, qid=qid)


def predicted(pipeline, x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Skipping features without|Currently, when")
        return pipeline.predict(x)


def check_leaves_python(pipeline, x, tmp_path, seen=None):
    """What is read from the file, and SQL, score raw features as the pipeline does; also features anew."""
    rw.save_model(pipeline, tmp_path / "model.json")
    model = rw.load_model(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    rw.save_model(model, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == text
    raw = x.toarray() if sp.issparse(x) else np.asarray(x, dtype=float)
    names = list(getattr(model, "feature_names_in_", [f"f{j}" for j in range(1, raw.shape[1] + 1)]))
    expression = rw.export_model(pipeline, "sql")
    module = {}
    exec(rw.export_model(pipeline, "python"), module)
    for data in (x, *(() if seen is None else (seen,))):
        expected = predicted(pipeline, data)
        assert np.ptp(expected) > 0
        atol = 1e-11 * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(model.predict(data), expected, rtol=1e-10, atol=atol)
        dense = data.toarray() if sp.issparse(data) else np.asarray(data, dtype=float)
        np.testing.assert_allclose(engines.sqlite(expression, names, dense.tolist()), expected, rtol=1e-10, atol=atol)
        rows = [dict(zip(names, row, strict=True)) for row in dense.tolist()]
        np.testing.assert_allclose([module["score"](row) for row in rows], expected, rtol=1e-10, atol=atol)
    return model


@pytest.mark.parametrize("scaler", SCALERS)
@pytest.mark.parametrize(
    "ranker", [rw.RankRLS(0.5), rw.RegressionRanker(2.0), rw.GreedyRankRLS(n_features=2)], ids=repr
)
def test_a_scaler_in_front(scaler, ranker, tmp_path):
    x, y, qid = complete()
    pipeline = fitted(make_pipeline(SCALERS[scaler](), ranker), x, y, qid)
    model = check_leaves_python(pipeline, x, tmp_path, seen=complete(9)[0])
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 2
    assert model.ranker_ == type(ranker).__name__
    assert model.parameters_["alpha"] == ranker.alpha


@pytest.mark.parametrize("first", ["standard", "min-max to a range", "robust without scale", "ours"])
@pytest.mark.parametrize("second", ["standard without std", "min-max", "max-abs", "ours without mean"])
def test_two_scalers_in_front(first, second, tmp_path):
    x, y, qid = complete()
    pipeline = fitted(make_pipeline(SCALERS[first](), SCALERS[second](), rw.RankRLS(0.5)), x, y, qid)
    check_leaves_python(pipeline, x, tmp_path, seen=complete(9)[0])


@pytest.mark.parametrize("scaler", SCALERS)
def test_a_scaler_that_lets_missing_values_through(scaler, tmp_path):
    """To a ranker that fills them in itself; of one feature it has never seen a value."""
    x, y, qid = holey()
    pipeline = fitted(make_pipeline(SCALERS[scaler](), rw.RankRLS(0.5)), x, y, qid)
    anew = holey(9)[0]
    anew[:5, 4] = 7.0  # for once it has a value, which counts for nothing
    model = check_leaves_python(pipeline, x, tmp_path, seen=anew)
    assert model.where_missing_.any()


@pytest.mark.parametrize("imputer", IMPUTERS)
@pytest.mark.parametrize("scaler", ["standard", "min-max to a range", "robust without centre", "ours"])
@pytest.mark.parametrize("order", ["imputer", "imputer, scaler", "scaler, imputer", "scaler, imputer, scaler"])
def test_imputers_and_scalers_in_any_order(imputer, scaler, order, tmp_path):
    x, y, qid = holey()
    steps = [(IMPUTERS[imputer] if name == "imputer" else SCALERS[scaler])() for name in order.split(", ")]
    pipeline = fitted(make_pipeline(*steps, rw.RankRLS(0.5)), x, y, qid)
    anew = holey(9)[0]
    anew[:5, 4] = 7.0
    anew[5:20, 5] = np.nan  # which was never missing in training
    check_leaves_python(pipeline, x, tmp_path, seen=anew)


def test_an_imputer_behind_an_imputer_has_nothing_to_do(tmp_path):
    x, y, qid = holey()
    steps = SimpleImputer(add_indicator=True), StandardScaler(), SimpleImputer(strategy="median", add_indicator=True)
    check_leaves_python(fitted(make_pipeline(*steps, rw.RankSVM(1.0)), x, y, qid), x, tmp_path, seen=holey(9)[0])


@pytest.mark.parametrize("scaler", SPARSE)
@pytest.mark.parametrize("with_missing", [False, True])
def test_csr(scaler, with_missing, tmp_path):
    x, y, qid = holey() if with_missing else complete()
    stored = sp.csr_array(x * (np.random.default_rng(0).random(x.shape) < 0.6))
    check_leaves_python(fitted(make_pipeline(SCALERS[scaler](), rw.RankRLS(0.5)), stored, y, qid), stored, tmp_path)


@pytest.mark.parametrize("imputer", ["mean", "median", "constant", "empty kept"])
def test_csr_with_an_imputer(imputer, tmp_path):
    x, y, qid = holey()
    stored = sp.csr_array(x * (np.random.default_rng(0).random(x.shape) < 0.6))
    steps = IMPUTERS[imputer](), MaxAbsScaler()
    check_leaves_python(fitted(make_pipeline(*steps, rw.RankRLS(0.5)), stored, y, qid), stored, tmp_path)


@pytest.mark.parametrize("frames_all_through", [False, True])
@pytest.mark.parametrize("with_missing", [False, True])
def test_frames_give_names(frames_all_through, with_missing, tmp_path):
    x, y, qid = holey() if with_missing else complete()
    frame = pd.DataFrame(x, columns=NAMES)
    steps = [SimpleImputer(add_indicator=True)] if with_missing else []
    pipeline = make_pipeline(*steps, StandardScaler(), rw.RankRLS(0.5))
    if frames_all_through:
        pipeline.set_output(transform="pandas")
    pipeline = fitted(pipeline, frame, y, qid)
    model = check_leaves_python(pipeline, frame, tmp_path)
    assert model.feature_names_in_.tolist() == NAMES
    shuffled = rw.Queries(x[:, ::-1], y, qid, feature_names=NAMES[::-1])
    np.testing.assert_allclose(model.predict(shuffled), predicted(pipeline, frame), rtol=1e-10, atol=1e-11)


def test_queries_through_our_scaler(tmp_path):
    """Which gives Queries on to the ranker, names and all."""
    queries = rw.Queries(*complete(), feature_names=NAMES)
    pipeline = Pipeline([("scale", rw.GlobalStandardScaler()), ("rank", rw.RankRLS(0.5))]).fit(queries)
    rw.save_model(pipeline, tmp_path / "model.json")
    model = rw.load_model(tmp_path / "model.json")
    np.testing.assert_allclose(model.predict(queries), pipeline.predict(queries), rtol=1e-11, atol=1e-12)
    assert model.feature_names_in_.tolist() == NAMES


def test_steps_that_do_nothing_and_pipelines_within(tmp_path):
    x, y, qid = holey()
    inner = Pipeline([("nothing", "passthrough"), ("fill", SimpleImputer()), ("none", None)])
    outer = Pipeline([("inner", inner), ("skipped", None), ("scale", StandardScaler()), ("rank", rw.RankRLS(0.5))])
    check_leaves_python(fitted(outer, x, y, qid), x, tmp_path)
    last = make_pipeline(SimpleImputer(), make_pipeline(StandardScaler(), rw.RankRLS(0.5)))
    check_leaves_python(fitted(last, x, y, qid), x, tmp_path)


@pytest.mark.parametrize("ranker", [rw.RankRLS(0.5), rw.RankBoost(5)], ids=repr)
def test_a_pipeline_of_a_ranker_alone_is_that_ranker(ranker, tmp_path):
    x, y, qid = complete()
    pipeline = fitted(Pipeline([("nothing", "passthrough"), ("rank", ranker)]), x, y, qid)
    rw.save_model(pipeline, tmp_path / "model.json")
    rw.save_model(pipeline[-1], tmp_path / "ranker.json")
    assert (tmp_path / "model.json").read_text() == (tmp_path / "ranker.json").read_text()


def test_a_loaded_model_at_the_end(tmp_path):
    """With a scaler of its own, or with missing values, behind one more scaler."""
    for data, has_scaler in ((complete(), True), (holey(), False)):
        x, y, qid = data
        first = StandardScaler(with_std=False).fit(x)
        second = rw.GlobalStandardScaler().fit(first.transform(x)) if has_scaler else None
        z = first.transform(x) if second is None else second.transform(first.transform(x))
        ranker = rw.RankRLS(0.5).fit(z, y, qid)
        rw.save_model(ranker, tmp_path / "inner.json", scaler=second, training={"data": "x"})
        pipeline = make_pipeline(first, rw.load_model(tmp_path / "inner.json"))
        model = check_leaves_python(pipeline, x, tmp_path)
        np.testing.assert_allclose(model.predict(x), ranker.predict(z), rtol=1e-9, atol=1e-9)
        assert (model.ranker_, model.training_) == ("RankRLS", {"data": "x"})


def test_query_means_are_folded_behind_a_scaler_but_not_behind_an_imputer(tmp_path):
    x, y, qid = holey()
    pipeline = fitted(make_pipeline(MinMaxScaler(), rw.RankRLS(0.5, missing="query-mean")), x, y, qid)
    rw.save_model(pipeline, tmp_path / "model.json")
    expected = pipeline[-1].predict(rw.Queries(pipeline[0].transform(x), y, qid))
    np.testing.assert_allclose(
        rw.load_model(tmp_path / "model.json").predict(rw.Queries(x, y, qid)), expected, atol=1e-11
    )
    filled = fitted(make_pipeline(SimpleImputer(), rw.RankRLS(0.5, missing="query-mean")), x, y, qid)
    check_leaves_python(filled, x, tmp_path)  # nothing was missing any more


# What is refused


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (
            [PCA(2), rw.RankRLS()],
            "pipeline: PCA cannot be folded into the weights: only StandardScaler, MinMax",
        ),
        (
            [rw.QueryMinMaxScaler(), rw.RankRLS()],
            r"QueryMinMaxScaler cannot be folded .* \(it scales each query by",
        ),
        ([ColumnTransformer([("a", StandardScaler(), [0, 1])]), rw.RankRLS()], "ColumnTransformer cannot be folded"),
        ([MinMaxScaler(clip=True), rw.RankRLS()], r"MinMaxScaler\(clip=True\) is not linear"),
        ([SimpleImputer(missing_values=0.0), rw.RankRLS()], "only if missing_values is NaN"),
        ([StandardScaler(), rw.RankBoost(5)], "pipeline: it ends in RankBoost, but only a linear ranker can take in"),
        ([SimpleImputer(), rw.KernelRankRLS()], "pipeline: it ends in KernelRankRLS, but only a linear ranker"),
        ([StandardScaler(), Ridge()], "pipeline: it ends in Ridge, but only a linear ranker"),
        ([StandardScaler(), MinMaxScaler()], "pipeline: it ends in MinMaxScaler, but only a linear ranker"),
        ([rw.KernelRankRLS(kernel=lambda u, v: float(u @ v))], "its kernel is a function of yours"),
    ],
    ids=lambda value: "-".join(type(step).__name__ for step in value) if isinstance(value, list) else None,
)
def test_what_cannot_be_folded_is_named(steps, told, tmp_path):
    x, y, qid = complete()
    takes_qid = isinstance(steps[-1], rw.RankRLS | rw.RankBoost | rw.KernelRankRLS)
    pipeline = fitted(make_pipeline(*steps), x, y, qid) if takes_qid else make_pipeline(*steps).fit(x, y)
    for use in (lambda: rw.save_model(pipeline, tmp_path / "m.json"), lambda: rw.export_model(pipeline, "sql")):
        with pytest.raises(rw.ParameterError, match=told):
            use()
    assert not (tmp_path / "m.json").exists()


def test_what_is_not_fitted_is_named(tmp_path):
    x, y, qid = complete()
    for pipeline, told in (
        (
            make_pipeline(StandardScaler(), rw.RankRLS()),
            "pipeline: its StandardScaler is not fitted yet: call",
        ),
        (make_pipeline(StandardScaler().fit(x), rw.RankRLS()), "pipeline: its RankRLS is not fitted yet"),
        (make_pipeline(rw.RankRLS()), "this RankRLS is not fitted yet"),
        (Pipeline([("nothing", "passthrough")]), "not Pipeline"),
    ):
        with pytest.raises(rw.ParameterError, match=told):
            rw.save_model(pipeline, tmp_path / "m.json")
    pipeline = fitted(make_pipeline(StandardScaler(), rw.RankRLS()), x, y, qid)
    with pytest.raises(rw.ParameterError, match="scaler: a pipeline has its scalers already, so leave it out"):
        rw.save_model(pipeline, tmp_path / "m.json", scaler=rw.GlobalStandardScaler().fit(x))


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize(("scale", "weight"), [(1e-320, 1.0), (1e308, 1e-20), (1e-200, 1e200)])
def test_weights_that_folding_would_lose_are_refused(with_missing, scale, weight):
    x, y, qid = holey() if with_missing else complete()
    pipeline = fitted(make_pipeline(StandardScaler(), rw.RankRLS(0.5)), x, y, qid)
    pipeline[0].scale_[0], pipeline[-1].coef_[0] = scale, weight
    with pytest.raises(rw.ParameterError, match="too large or too small for float64"):
        rw.export_model(pipeline, "sql")


# Explanations, certificates and bounds


@pytest.mark.parametrize("with_missing", [False, True])
def test_pipelines_are_explained_and_bounded_as_the_model_they_become(with_missing, tmp_path):
    x, y, qid = holey() if with_missing else complete()
    pipeline = fitted(make_pipeline(StandardScaler(), rw.RankRLS(0.5)), x, y, qid)
    queries = rw.Queries(x, y, qid)
    rw.save_model(pipeline, tmp_path / "m.json")
    model = rw.load_model(tmp_path / "m.json")
    told, expected = (rw.explain(ranker, queries, "query 2") for ranker in (pipeline, model))
    assert str(told) == str(expected)
    np.testing.assert_allclose(
        [one.score for one in told.documents], np.sort(predicted(pipeline, x[qid == "query 2"]))[::-1]
    )
    bound, expected = (rw.theory.risk_bound(ranker, queries, kind="ndcg") for ranker in (pipeline, model))
    assert bound.log_total == expected.log_total
    for use in (
        lambda it: rw.explain(it, queries, "query 2"),
        lambda it: rw.theory.risk_bound(it, queries, kind="ndcg"),
    ):
        with pytest.raises(rw.ParameterError, match="pipeline: PCA cannot be folded"):
            use(fitted(make_pipeline(PCA(2), rw.RankRLS()), *complete()))


@pytest.mark.parametrize(
    ("scaler", "dtype"),
    [
        *((scaler, np.float64) for scaler in ("standard", "standard without mean", "robust", "max-abs", "ours")),
        *((scaler, np.float32) for scaler in ("max-abs", "ours")),  # others round in between
    ],
)
def test_a_certificate_knows_the_training_queries_again(scaler, dtype, tmp_path):
    x, y, qid = complete()
    x = x[:, [0, 1, 2, 5]].astype(dtype)  # all of them have a weight
    pipeline = fitted(make_pipeline(SCALERS[scaler](), rw.RankRLS(0.5)), x, y, qid)
    rw.save_model(pipeline, tmp_path / "m.json")
    for judged in (pipeline, rw.load_model(tmp_path / "m.json")):
        found = rw.theory.certificate(judged, rw.Queries(x, y, qid), "ndcg@5")
        assert found.doubts == ("the ranker was trained on these queries (9 of 9 recognised)",)


@pytest.mark.parametrize("scaler", ["min-max", "standard"])
def test_no_query_is_known_by_features_that_cannot_be_computed_again(scaler, tmp_path):
    """Neither behind a scaler that multiplies and adds, nor with missing values, which are folded in."""
    x, y, qid = complete() if scaler == "min-max" else holey()
    rw.save_model(fitted(make_pipeline(SCALERS[scaler](), rw.RankRLS(0.5)), x, y, qid), tmp_path / "m.json")
    assert "seen" not in json.loads((tmp_path / "m.json").read_text())
