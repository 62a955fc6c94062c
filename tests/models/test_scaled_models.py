"""Model files of rankers that were trained behind a scaler: they take features as they are."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    drawn = rw.datasets.make_queries(20, 8, 6, n_informative=3, n_correlated=2, seed=2, dtype=np.float64).queries
    return rw.Queries(drawn.X * [1, 30, 0.01, 1, 5, 1] + [0, 100, 0, -2, 50, 0], drawn.y, drawn.qid)


@pytest.fixture(params=[True, False], ids=["with mean", "without mean"], name="scaler")
def fitted_scaler(request, queries):
    return rw.GlobalStandardScaler(with_mean=request.param).fit(queries.X)


@pytest.fixture(params=[rw.GreedyRankRLS(n_features=3), rw.RegressionRanker()], ids=repr, name="ranker")
def fitted_ranker(request, queries, scaler):
    return request.param.fit(scaler.transform(queries.X), queries.y, queries.qid)


@pytest.fixture(name="path")
def model_path(tmp_path):
    return tmp_path / "model.json"


def test_a_model_scales_features_as_the_scaler_did(ranker, scaler, queries, path):
    rw.save_model(ranker, path, scaler=scaler)
    model, expected = rw.load_model(path), ranker.predict(scaler.transform(queries.X))
    assert json.loads(path.read_text())["version"] == 2
    assert model.coef_.tobytes() == ranker.coef_.tobytes()
    for data in (queries, queries.X, sp.csr_array(queries.X)):
        np.testing.assert_allclose(model.predict(data), expected, rtol=1e-11, atol=1e-12)


def test_only_features_with_a_weight_are_in_the_file(queries, path):
    scaler = rw.GlobalStandardScaler().fit(queries.X)
    ranker = rw.GreedyRankRLS(n_features=3).fit(rw.normalised(queries, scaler))
    rw.save_model(ranker, path, scaler=scaler)
    used = np.flatnonzero(ranker.coef_)
    told = json.loads(path.read_text())["standardisation"]
    assert told == [[j + 1, scaler.mean_[j], scaler.scale_[j]] for j in used.tolist()]


def test_a_model_is_saved_again_with_its_scaler(ranker, scaler, path, tmp_path):
    rw.save_model(ranker, path, scaler=scaler)
    rw.save_model(rw.load_model(path), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text()
    with pytest.raises(rw.ParameterError, match="a scaler of its own"):
        rw.save_model(rw.load_model(path), path, scaler=scaler)


def test_features_that_text_does_not_show_are_zero_before_the_scaler(ranker, scaler, queries, path):
    rw.save_model(ranker, path, scaler=scaler)
    model, x = rw.load_model(path), queries.X.copy()
    x[:, 2:] = 0
    np.testing.assert_allclose(model.cut_to(2).predict(x[:, :2]), model.predict(x), rtol=1e-11, atol=1e-12)


def test_models_without_a_scaler_stay_version_1(queries, path):
    rw.save_model(rw.RankRLS().fit(queries), path)
    content = json.loads(path.read_text())
    assert content["version"] == 1
    assert "standardisation" not in content


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"standardisation": None}, "standardisation must be a list of"),
        ({"standardisation": [[1, 0.0]]}, "standardisation, entry 1 must be a list"),
        ({"standardisation": [[1, 0.0, 0.0]]}, "entry 1: the scale must be above 0, not 0"),
        ({"standardisation": [[1, 0.0, -1.0]]}, "the scale must be above 0, not -1"),
        ({"standardisation": [[7, 0.0, 1.0]]}, "there is no feature 7"),
        ({"standardisation": [[1, "0", 1.0]]}, "entry 1: the mean must be a number"),
        ({"standardisation": [[1, 0.0, True]]}, "entry 1: the scale must be a number"),
        ({"standardisation": [[1, 0.0, 1.0], [1, 0.0, 1.0]]}, "entry 2: feature 1 is listed already"),
        ({"version": 1}, "there is no field 'standardisation' in a model file of version 1"),
        ({"version": 5}, "made by a newer Rankwright"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(queries, path, changes, problem):
    scaler = rw.GlobalStandardScaler().fit(queries.X)
    rw.save_model(rw.RankRLS().fit(rw.normalised(queries, scaler)), path, scaler=scaler)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(rw.ParseError, match=problem):
        rw.load_model(path)


def test_a_version_2_without_its_field_is_refused(queries, path):
    rw.save_model(rw.RankRLS().fit(queries), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 2}))
    with pytest.raises(rw.ParseError, match="the field 'standardisation' is missing"):
        rw.load_model(path)


def test_other_scalers_are_refused_with_the_reason(queries, path):
    ranker = rw.RankRLS().fit(queries)
    with pytest.raises(rw.ParameterError, match="which a model that scores one document at a time does not see"):
        rw.save_model(ranker, path, scaler=rw.QueryMinMaxScaler().fit(queries.X))
    with pytest.raises(rw.ParameterError, match="RankBoost compares features with thresholds"):
        rw.save_model(rw.RankBoost(2).fit(queries), path, scaler=rw.GlobalStandardScaler().fit(queries.X))
    assert not path.exists()


def test_a_scaler_of_other_features_is_refused(queries, path):
    import pandas as pd

    frame = pd.DataFrame(queries.X, columns=list("abcdef"))
    ranker = rw.RankRLS().fit(frame, queries.y, queries.qid)
    with pytest.raises(rw.ParameterError, match="other features than the ranker"):
        rw.save_model(ranker, path, scaler=rw.GlobalStandardScaler().fit(frame[list("bacdef")]))
