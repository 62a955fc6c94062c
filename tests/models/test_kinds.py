"""A kind of model is one class and one entry of KINDS: here a made-up one, saved, read, used and refused."""

import inspect
import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.export.exporting import TARGETS
from rankwright.models.kinds import KINDS
from rankwright.models.model import Model, about
from rankwright.rankers.base import Ranker


class PowerModel(Model):
    """Scores are Σ weight · |x_feature| ^ exponent."""

    FIELDS = {1: ("powers",)}  # noqa: RUF012

    @classmethod
    def of(cls, powers, *, n_features, **told):
        model = cls.new(n_features, **told)
        model.powers_ = powers
        return model

    def scores(self, x, grouping):
        values = np.abs(np.asarray(x.todense() if sp.issparse(x) else x, np.float64))
        return sum(weight * values[:, feature] ** exponent for feature, weight, exponent in self.powers_)

    def used_features(self):
        return np.unique([feature for feature, _, _ in self.powers_])

    def cut_to(self, n_features):
        kept = [power for power in self.powers_ if power[0] < n_features]
        return PowerModel.of(kept, n_features=n_features, **self.about(n_features)).with_memory_of(self)

    def fields(self):
        return {"powers": [(feature + 1, weight, exponent) for feature, weight, exponent in self.powers_]}

    @classmethod
    def read(cls, file, **told):
        entries = file.entries("powers", ("weight", "exponent"), repeats=True)
        powers = [(feature - 1, weight, exponent) for _, feature, (weight, exponent) in entries]
        return cls.of(powers, n_features=file.n_features, **told)


class PowerRanker(Ranker):
    """Learns nothing but how many features there are."""

    def __init__(self, *, exponent=2.0, measures="ndcg@5", convention="default"):
        self.exponent, self.measures, self.convention = exponent, measures, convention

    def fit(self, X, y=None, qid=None):
        queries = self._training_queries(X, y, qid)
        self.weights_ = np.arange(1.0, queries.n_features + 1)
        return self

    def model(self):
        powers = [(j, float(w), self.exponent) for j, w in enumerate(self.weights_)]
        return PowerModel.of(powers, n_features=self.n_features_in_, **about(self)).with_memory_of(self)

    def scores(self, x, grouping):
        return self.model().scores(x, grouping)


@pytest.fixture
def queries():
    """Queries whose rows are apart, one of a single document and one without relevant ones, and a constant column."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 3)).astype(np.float32)
    x[:, 1] = 1
    qid = ["b", "a", "b", "c", "a", "b", "d", "d", "a"]
    return rw.Queries(x, [2, 0, 1, 1, 1, 0, 0, 0, 2], qid, feature_names=["bm25", "one", "age"])


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "powers", PowerModel)
    return tmp_path / "model.json"


def scores_by_hand(x):
    return (np.float64(x) ** 2) @ [1.0, 2.0, 3.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_saved_read_and_predicts(queries, path, sparse):
    ranker = PowerRanker().fit(queries)
    rw.save_model(ranker, path, training={"data": "made up"})
    content = json.loads(path.read_text())
    assert content["powers"] == [[1, 1.0, 2.0], [2, 2.0, 2.0], [3, 3.0, 2.0]]
    assert (content["ranker"], content["version"], content["feature_names"]) == (
        "PowerRanker",
        1,
        ["bm25", "one", "age"],
    )
    model = rw.load_model(path)
    assert (type(model), model.ranker_, model.training_) == (PowerModel, "PowerRanker", {"data": "made up"})
    assert model.get_params() == {"measures": "nDCG @ 5", "convention": "default"}
    x = sp.csr_array(queries.X) if sparse else queries.X
    np.testing.assert_allclose(model.predict(x), scores_by_hand(queries.X), rtol=1e-12)
    assert model.score(queries) == rw.evaluate(scores_by_hand(queries.X), queries, "ndcg@5").means[rw.nDCG @ 5]
    swapped = rw.Queries(queries.X[:, ::-1].copy(), queries.y, queries.qid, feature_names=["age", "one", "bm25"])
    np.testing.assert_allclose(model.predict(swapped), scores_by_hand(queries.X), rtol=1e-12)
    assert model.used_features().tolist() == [0, 1, 2]
    again = path.with_name("again.json")
    rw.save_model(model, again)
    assert again.read_text() == path.read_text()


def test_it_remembers_what_it_was_trained_on(queries, path):
    rw.save_model(PowerRanker().fit(queries), path)
    doubts = rw.theory.certificate(rw.load_model(path), queries, "ndcg@5").doubts
    assert len(doubts) == 1
    assert "was trained on these queries (4 of 4 recognised)" in doubts[0]


def test_it_is_cut_to_fewer_features(queries, path):
    rw.save_model(PowerRanker().fit(queries), path)
    cut = rw.load_model(path).cut_to(1)
    np.testing.assert_allclose(cut.predict(queries.X[:, :1]), np.float64(queries.X[:, 0]) ** 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"powers": [[1, 2.0]]}, r"powers, entry 1 must be a list \[feature, weight, exponent\] of 3 numbers"),
        ({"powers": [[4, 2.0, 1.0]]}, "there is no feature 4, n_features is 3"),
        ({"powers": None}, "powers must be a list"),
        ({"intercept": 1.0}, "there is no field 'intercept' in a model file with powers"),
        ({"training": []}, "training must be an object"),
    ],
)
def test_files_that_do_not_follow_the_format(queries, path, change, told):
    rw.save_model(PowerRanker().fit(queries), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(rw.ParseError, match=told):
        rw.load_model(path)


@pytest.mark.parametrize("to", TARGETS)
def test_targets_that_have_no_words_for_it_refuse_it_by_name(queries, path, to):
    rw.save_model(PowerRanker().fit(queries), path)
    out = path.with_name("exported")
    with pytest.raises(rw.ParameterError, match="or what load_model reads, not PowerModel"):
        rw.export_model(rw.load_model(path), to, out=out)
    assert not out.exists()


def test_it_is_explained_by_shapley_values(queries):
    explanation = rw.explain(PowerRanker().fit(queries), queries, "a")
    scores = np.array([document.score for document in explanation.documents])
    np.testing.assert_allclose(explanation.contributions.sum(axis=1), scores - scores.mean(), atol=1e-12)
    assert "Shapley values" in explanation.note


def test_what_else_it_cannot_do_is_told(queries, path):
    ranker = PowerRanker().fit(queries)
    with pytest.raises(rw.ParameterError, match="the bounds are for classes of linear functions, not PowerRanker"):
        rw.theory.risk_bound(ranker, queries)
    with pytest.raises(rw.ParameterError, match="scaler is for linear rankers: PowerRanker cannot take it in"):
        rw.save_model(ranker, path, scaler=rw.GlobalStandardScaler().fit(queries.X))
    with pytest.raises(rw.ParameterError, match="it ends in PowerRanker, but only a linear ranker can take in"):
        rw.save_model(make_pipeline(StandardScaler(), ranker).fit(queries.X, queries.y), path)
    assert not path.exists()


def test_a_file_of_a_kind_that_is_not_listed_is_refused(queries, path, monkeypatch):
    rw.save_model(PowerRanker().fit(queries), path)
    monkeypatch.delitem(KINDS, "powers")
    with pytest.raises(rw.ParseError, match="the field 'intercept' is missing"):
        rw.load_model(path)


def test_the_docstring_of_a_model_names_all_that_may_be_asked_of_it_and_each_has_a_type():
    methods = {name: inspect.signature(each) for name, each in vars(Model).items() if inspect.isfunction(each)}
    assert not [name for name, signature in methods.items() if signature.return_annotation == "Any"]
    may_be_none = {name for name, signature in methods.items() if str(signature.return_annotation).endswith("| None")}
    questions = may_be_none - {"sketch_of_seen"}  # which all models answer
    assert questions >= {"formula", "network", "kernel_sum"}
    assert {name for name in questions if f"``{name}()``" not in Model.__doc__} == set()
