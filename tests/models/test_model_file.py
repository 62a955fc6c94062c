"""Model files: what is saved comes back the same, and what is no model file is refused with the reason."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import rankwright as rw
from rankwright.models import linear_model
from rankwright.models.linear_model import LinearModel
from rankwright.preparation.formula import Formula

NAMES = ["bm25", "pagerank", "title [tf]", "url “length”", "clicks", "age"]


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    return rw.datasets.make_queries(20, 8, 6, n_informative=3, n_correlated=2, seed=2, dtype=np.float64).queries


@pytest.fixture(scope="module", name="named")
def queries_with_names(queries):
    return rw.Queries(queries.X, queries.y, queries.qid, feature_names=NAMES)


@pytest.fixture(name="path")
def model_path(tmp_path):
    return tmp_path / "model.json"


@pytest.fixture(name="content")
def valid_content(queries, path):
    """What a model file says."""
    rw.save_model(rw.GreedyRankRLS(n_features=3).fit(queries), path)
    return json.loads(path.read_text())


@pytest.fixture(name="stump_content")
def valid_content_with_stumps(queries, path):
    """What a model file with stumps says."""
    rw.save_model(rw.RankBoost(3).fit(queries), path)
    return json.loads(path.read_text())


def model_of(weights):
    return LinearModel.of(Formula(weights), feature_names=None, ranker="RankRLS", parameters={}, training={})


# There and back


@pytest.mark.parametrize(
    "ranker",
    [
        rw.RankRLS(0.3),
        rw.RankRLS(rw.search(), measures="map, ndcg@3", rule="one-standard-error"),
        rw.GreedyRankRLS(n_features=2),
        rw.RegressionRanker(2.0),
        rw.RankSVM(2.0, loss="hinge"),
        rw.OrderPreservingRanker(0.5, cutoff=3),
    ],
)
def test_a_model_predicts_ranks_and_scores_as_the_ranker_did(ranker, queries, path):
    fitted = clone(ranker).fit(queries)
    rw.save_model(fitted, path)
    model = rw.load_model(path)
    assert model.coef_.tobytes() == fitted.coef_.tobytes()
    assert model.n_features_in_ == 6
    assert not hasattr(model, "feature_names_in_")
    for data in (queries, queries.X, sp.csr_array(queries.X)):
        np.testing.assert_array_equal(model.predict(data), fitted.predict(data))
    np.testing.assert_array_equal(model.rank(queries), fitted.rank(queries))
    assert rw.evaluate(model, queries, "map").means == rw.evaluate(fitted, queries, "map").means
    assert model.set_params(measures="map").score(queries) == rw.evaluate(fitted, queries, "map").means[rw.AP]


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_weights_come_back_bit_for_bit(tmp_path_factory, weights, intercept):
    path = tmp_path_factory.getbasetemp() / "bits.json"
    saved = model_of(np.array(weights))
    saved.intercept_ = intercept
    rw.save_model(saved, path)
    read = rw.load_model(path)
    assert read.coef_.tobytes() == saved.coef_.tobytes()
    assert np.float64(read.intercept_).tobytes() == np.float64(intercept).tobytes()


def test_what_a_file_says(queries, path):
    ranker = rw.GreedyRankRLS(alpha=2, n_features=rw.search(1, 2), measures=[rw.AP, "ndcg@3"]).fit(queries)
    rw.save_model(ranker, path, training={"data": "train.txt", "folds": (1, 2)})
    told = json.loads(path.read_text())
    assert (told["format"], told["version"]) == ("rankwright-model", 1)
    assert told["made_by"] == f"rankwright {rw.__version__}"
    assert told["ranker"] == "GreedyRankRLS"
    assert told["parameters"]["alpha"] == 2
    assert told["parameters"]["n_features"] == "search(1, 2)"
    assert told["parameters"]["measures"] == ["AP", "ndcg@3"]
    assert told["parameters"]["feature_costs"] is None
    assert (told["n_features"], told["feature_names"]) == (6, None)
    selected = sorted(ranker.selected_features_.tolist())
    assert told["weights"] == [[column + 1, ranker.coef_[column]] for column in selected]
    assert told["training"] == {"data": "train.txt", "folds": [1, 2]}


def test_numbers_and_other_parameters_of_any_kind(queries, path):
    costs = np.arange(1.0, 7.0)
    convention = rw.CONVENTIONS["letor4"].but(ties="expected")
    rw.save_model(
        rw.GreedyRankRLS(np.float32(0.5), np.int64(2), feature_costs=costs, convention=convention).fit(queries), path
    )
    parameters = rw.load_model(path).parameters_
    assert (parameters["alpha"], parameters["n_features"]) == (0.5, 2)
    assert parameters["feature_costs"] == costs.tolist()
    assert parameters["convention"] == repr(convention)


def test_a_model_can_be_saved_again(named, path, tmp_path):
    rw.save_model(rw.RegressionRanker().fit(named), path, training={"data": "train.txt"})
    again = tmp_path / "again.json"
    rw.save_model(rw.load_model(path), again)
    assert again.read_text() == path.read_text()
    rw.save_model(rw.load_model(path), again, training={"data": "other.txt"})
    assert rw.load_model(again).training_ == {"data": "other.txt"}


def test_stumps_come_back_bit_for_bit(named, path, tmp_path):
    fitted = rw.RankBoost(12, measures="map").fit(named, valid=named)
    rw.save_model(fitted, path, training={"data": "train.txt"})
    model = rw.load_model(path)
    for name in ("stump_features_", "stump_thresholds_", "stump_weights_"):
        assert getattr(model, name).tolist() == getattr(fitted, name).tolist()
    for data in (named, rw.Queries(sp.csr_array(named.X), named.y, named.qid)):
        np.testing.assert_array_equal(model.predict(data), fitted.predict(data))
    np.testing.assert_array_equal(model.rank(named), fitted.rank(named))
    assert model.score(named) == fitted.score(named) == rw.evaluate(fitted, named, "map").means[rw.AP]
    assert (model.ranker_, model.parameters_["n_rounds"], model.training_) == ("RankBoost", 12, {"data": "train.txt"})
    assert repr(model) == f"StumpModel(RankBoost, 6 features, {fitted.n_rounds_} stumps)"
    again = tmp_path / "again.json"
    rw.save_model(model, again)
    assert again.read_text() == path.read_text()
    with pytest.raises(rw.ParameterError, match="StumpModel is read from a file and cannot be trained"):
        model.fit(named)


def test_what_a_file_with_stumps_says(stump_content, queries):
    ranker = rw.RankBoost(3).fit(queries)
    columns = (ranker.stump_features_ + 1, ranker.stump_thresholds_, ranker.stump_weights_)
    assert stump_content["stumps"] == [list(stump) for stump in zip(*columns, strict=True)]
    assert not {"weights", "intercept"} & stump_content.keys()


def test_attributes_and_text(named, path):
    rw.save_model(rw.GreedyRankRLS(n_features=2).fit(named), path, training={"data": "train.txt"})
    model = rw.load_model(path)
    assert (model.ranker_, model.training_) == ("GreedyRankRLS", {"data": "train.txt"})
    assert model.feature_names_in_.tolist() == NAMES
    assert repr(model) == "LinearModel(GreedyRankRLS, 6 features, 2 with a weight)"


def test_a_model_without_weights(queries, path):
    rw.save_model(model_of(np.zeros(6)), path)
    assert rw.load_model(path).predict(queries).tolist() == [0.0] * queries.n_documents


# Features by name


@pytest.mark.parametrize("sparse", [False, True])
def test_queries_with_names_are_taken_by_name(named, path, sparse):
    ranker = rw.RankRLS().fit(named)
    rw.save_model(ranker, path)
    model = rw.load_model(path)
    order = [3, 5, 0, 1, 4, 2]
    x = np.c_[np.full(named.n_documents, np.nan), named.X[:, order]]
    names = ["new", *(NAMES[column] for column in order)]
    shuffled = rw.Queries(sp.csr_array(x) if sparse else x, named.y, named.qid, feature_names=names)
    expected = named.X @ ranker.coef_
    np.testing.assert_allclose(model.predict(shuffled), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.predict(named), expected, rtol=1e-12, atol=1e-12)
    assert model.rank(shuffled).tolist() == model.rank(named).tolist()


def test_names_that_are_missing_or_only_on_one_side(named, queries, path):
    rw.save_model(rw.RankRLS().fit(named), path)
    model = rw.load_model(path)
    narrow = rw.Queries(named.X[:, :5], named.y, named.qid, feature_names=NAMES[:5])
    with pytest.raises(rw.DataError, match="no feature 'age'"):
        model.predict(narrow)
    with pytest.raises(rw.DataError, match="5 features, but the model has 6"):
        model.predict(rw.Queries(queries.X[:, :5], queries.y, queries.qid))
    np.testing.assert_array_equal(model.predict(queries), model.predict(named))
    frame = pd.DataFrame(named.X, columns=NAMES)
    np.testing.assert_allclose(model.predict(frame), model.predict(named), rtol=1e-12, atol=1e-12)


def test_missing_values_are_told(named, path):
    rw.save_model(rw.RankRLS().fit(named), path)
    x = named.X.copy()
    x[7, 2] = np.nan
    with pytest.raises(rw.DataError, match=r"row 7: feature 'title \[tf\]' is missing \(NaN\)\. The training"):
        rw.load_model(path).predict(rw.Queries(x, named.y, named.qid, feature_names=NAMES))


# What cannot be saved


def test_only_fitted_linear_rankers_are_saved(queries, path):
    for ranker, told in (
        (rw.KernelRankRLS().fit(queries), "KernelRankRLS: a kernel ranker needs its training data"),
        (Ridge().fit(queries.X, queries.y), "not Ridge"),
        (rw.RankRLS(), "RankRLS is not fitted"),
        (rw.RankBoost(), "RankBoost is not fitted"),
        (rw.StumpModel(), "StumpModel is not fitted"),
        (LinearModel(), "LinearModel is not fitted"),
        (model_of(np.array([1.0, np.nan])), "finite"),
    ):
        with pytest.raises(rw.ParameterError, match=f"ranker.*{told}"):
            rw.save_model(ranker, path)
    assert not path.exists()


@pytest.mark.parametrize("training", [[1], "train.txt", {"a": object()}, {"a": np.inf}])
def test_training_must_be_json(queries, path, training):
    with pytest.raises(rw.ParameterError, match="training"):
        rw.save_model(rw.RankRLS().fit(queries), path, training=training)
    assert list(path.parent.iterdir()) == []


def test_a_model_is_not_trained(queries, path):
    rw.save_model(rw.RankRLS().fit(queries), path)
    with pytest.raises(rw.ParameterError, match="cannot be trained"):
        rw.load_model(path).fit(queries)
    with pytest.raises(NotFittedError):
        LinearModel().predict(queries)


def test_a_failure_keeps_the_older_file(queries, path, monkeypatch):
    path.write_text("old")

    def full(self, name):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        rw.save_model(rw.RankRLS().fit(queries), path)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


# What is no model file


def refusal(path):
    with pytest.raises(rw.ParseError) as caught:
        rw.load_model(path)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "line 1, column 1: this is no model file, as it is not JSON"),
        (b"1 qid:1 1:0.5\n", "line 1, column 3"),
        (b'{"format": "rankwright-model",\n"version": 1,,}', "line 2, column 14"),
        (b"\x1f\x8b\x08\xff", "not UTF-8"),
        (b"PAR1\xff\x00", "not UTF-8"),
        (b"[1, 2]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b"{}", 'no "format": "rankwright-model"'),
        (b'{"format": "other"}', 'no "format": "rankwright-model"'),
        (b'{"format": ["rankwright-model"]}', 'no "format": "rankwright-model"'),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": -Infinity}', "-Infinity is no number"),
        (b'{"a": 1e999}', "1e999 is too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is too large"),
        (b'{"a": 1, "a": 2}', "'a' is given twice"),
    ],
)
def test_files_of_another_kind(path, text, told):
    path.write_bytes(text)
    assert told in refusal(path)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": 5}, "made by a newer Rankwright"),
        ({"version": 0}, "version must be"),
        ({"version": True}, "version must be a whole number of at least 1, not true"),
        ({"version": "1"}, "version must be"),
        ({"version": None}, "version must be"),
        ({"made_by": 1}, "made_by must be a text, not 1"),
        ({"ranker": ""}, "ranker must be a text"),
        ({"ranker": ["RankRLS"]}, "ranker must be a text, not a list"),
        ({"parameters": []}, "parameters must be an object, not a list"),
        ({"training": None}, "training must be an object, not null"),
        ({"n_features": -1}, "n_features must be a whole number"),
        ({"n_features": 6.0}, "n_features must be a whole number"),
        ({"n_features": False}, "n_features must be a whole number"),
        ({"n_features": 10**12}, "n_features must be at most"),
        ({"n_features": 0}, "there is no feature"),
        ({"feature_names": "abcdef"}, "feature_names must be null or a list of texts"),
        ({"feature_names": [1, 2, 3, 4, 5, 6]}, "feature_names must be null or a list of texts"),
        ({"feature_names": list("abcde")}, "5 names for 6 features"),
        ({"feature_names": list("abcdea")}, "two features are named 'a'"),
        ({"intercept": "0"}, "intercept must be a number"),
        ({"intercept": True}, "intercept must be a number, not true"),
        ({"intercept": 10**308 * 9}, "intercept is too large"),
        ({"weights": {"1": 0.5}}, "weights must be a list"),
        ({"weights": [[1, 0.5], 2]}, "weights, entry 2 must be a list"),
        ({"weights": [[1, 0.5, 1]]}, "weights, entry 1 must be a list"),
        ({"weights": [[0, 0.5]]}, "entry 1: the feature must be a whole number of at least 1, not 0"),
        ({"weights": [[True, 0.5]]}, "the feature must be a whole number"),
        ({"weights": [[1.0, 0.5]]}, "the feature must be a whole number"),
        ({"weights": [["bm25", 0.5]]}, 'not "bm25"'),
        ({"weights": [[7, 0.5]]}, "there is no feature 7, n_features is 6"),
        ({"weights": [[1, 0.5], [2, 1], [1, 0.5]]}, "entry 3: feature 1 is listed already"),
        ({"weights": [[1, True]]}, "the weight must be a number, not true"),
        ({"weights": [[1, "0.5"]]}, 'the weight must be a number, not "0.5"'),
        ({"weights": [[1, None]]}, "the weight must be a number, not null"),
        ({"weights": [[1, [0.5]]]}, "the weight must be a number, not a list"),
        ({"surplus": 1}, "no field 'surplus'"),
    ],
)
def test_fields_that_cannot_be(path, content, changes, told):
    path.write_text(json.dumps({**content, **changes}))
    assert told in refusal(path)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"stumps": {"1": 0.5}}, "stumps must be a list of [feature, threshold, weight]"),
        ({"stumps": None}, "stumps must be a list"),
        ({"stumps": [[1, 0.5, 1], 2]}, "stumps, entry 2 must be a list [feature, threshold, weight]"),
        ({"stumps": [[1, 0.5]]}, "stumps, entry 1 must be a list"),
        ({"stumps": [[0, 0.5, 1]]}, "entry 1: the feature must be a whole number of at least 1, not 0"),
        ({"stumps": [[True, 0.5, 1]]}, "the feature must be a whole number"),
        ({"stumps": [[7, 0.5, 1]]}, "there is no feature 7, n_features is 6"),
        ({"stumps": [[1, "0", 1]]}, 'the threshold must be a number, not "0"'),
        ({"stumps": [[1, 0.5, None]]}, "the weight must be a number, not null"),
        ({"stumps": [[1, 10**308 * 9, 1]]}, "the threshold is too large"),
        ({"weights": []}, "no field 'weights' in a model file with stumps"),
        ({"intercept": 0}, "no field 'intercept' in a model file with stumps"),
        ({"n_features": 10**12}, "n_features must be at most"),
    ],
)
def test_stumps_that_cannot_be(path, stump_content, changes, told):
    path.write_text(json.dumps({**stump_content, **changes}))
    assert told in refusal(path)


def test_a_file_with_neither_weights_nor_stumps(path, stump_content):
    del stump_content["stumps"]
    path.write_text(json.dumps(stump_content))
    assert "the field 'intercept' is missing" in refusal(path)


@pytest.mark.parametrize("name", ["made_by", "ranker", "parameters", "n_features", "intercept", "weights", "training"])
def test_fields_that_are_missing(path, content, name):
    del content[name]
    path.write_text(json.dumps(content))
    assert f"the field {name!r} is missing" in refusal(path)


def test_order_and_form_of_the_text_do_not_matter(path, content):
    expected = rw.load_model(path).coef_
    content["weights"] = content["weights"][::-1]
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(dict(reversed(content.items()))).encode())
    np.testing.assert_array_equal(rw.load_model(path).coef_, expected)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        rw.load_model(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError):
        rw.load_model(tmp_path)


WIDEST = 2**31 - 1


@pytest.mark.parametrize("scaled", [False, True])
def test_a_few_bytes_cannot_ask_for_gigabytes(queries, path, scaled):
    """A linear model has a number for each feature; one of stumps has not, and works however many there are."""
    rw.save_model(rw.RankRLS().fit(queries), path, scaler=rw.GlobalStandardScaler().fit(queries) if scaled else None)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "n_features": WIDEST}))
    tracemalloc.start()
    with pytest.raises(rw.ParseError, match=r"n_features is 2,147,483,647, .* 17.2 GB of memory, but 6 of them"):
        rw.load_model(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e6
    path.write_text(json.dumps({**content, "n_features": 2**22}))
    assert rw.load_model(path).n_features_in_ == 2**22


@pytest.mark.parametrize("scaled", [False, True])
def test_what_could_not_be_read_again_is_not_written(path, monkeypatch, scaled):
    monkeypatch.setattr(linear_model, "_FREE_SCALED_FEATURES" if scaled else "_FREE_FEATURES", 5)
    monkeypatch.setattr(linear_model, "_FEATURES_PER_WEIGHT", 3)
    model, scaler = model_of(np.array([0, 0, 1.0, 0, 0, 0])), rw.GlobalStandardScaler().fit(np.eye(6))
    with pytest.raises(rw.ParameterError, match=r"ranker: n_features is 6, .* with more than 5 features, one in 3"):
        rw.save_model(model, path, scaler=scaler if scaled else None)
    assert not path.exists()
    model.coef_[5] = 1.0
    rw.save_model(model, path, scaler=scaler if scaled else None)
    assert rw.load_model(path).n_features_in_ == 6


def test_stumps_among_very_many_features(queries, path):
    rw.save_model(rw.RankBoost(3).fit(queries), path)
    content = json.loads(path.read_text())
    stumps = [*content["stumps"], [WIDEST, 0.5, 1.0]]
    path.write_text(json.dumps({**content, "n_features": WIDEST, "stumps": stumps}))
    tracemalloc.start()
    model = rw.load_model(path)
    texts = [rw.export_model(model, target, features={"f2147483647": "last"}) for target in ("sql", "python")]
    wide = rw.Queries(sp.csr_array(([1.0], ([1], [5])), shape=(2, 6)), [0, 1])
    explained = rw.explain(model.cut_to(6), wide, wide.query_ids[0])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert all("last" in text for text in texts)
    assert len(explained.documents) == 2
    with pytest.raises(rw.ParameterError, match="the model has no feature 'f2147483648', but 'f1', 'f2', 'f3', …"):
        rw.export_model(model, "sql", features={"f2147483648": "beyond"})
