"""Models behind a kernel map: saved, read, used as others are, and refused where their file is not as it must be."""

import json

import numpy as np
import pytest

import rankwright as rw
from tests.maps.dirty import dirty_queries

MAPS = [
    rw.KernelMap(n_components=21, scaling="standard"),
    rw.KernelMap("orthogonal", 20, scaling="quantile", linear=False),
    rw.KernelMap("nystroem", 15, scaling="within-query-spread", missing="query-mean"),
]


@pytest.fixture(scope="module")
def train():
    return dirty_queries(60, seed=1)


@pytest.fixture(scope="module")
def test():
    return dirty_queries(50, seed=2)


@pytest.fixture(params=MAPS, ids=repr)
def ranker(request, train):
    return rw.MappedRanker(request.param, rw.RegressionRanker(rw.search())).fit(train)


def test_it_comes_back_the_same(ranker, test, tmp_path):
    rw.save_model(ranker, tmp_path / "model.json", training={"data": "made up"})
    model = rw.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(model.predict(test), ranker.predict(test))
    assert model.score(test) == ranker.score(test)
    assert (model.ranker_, model.training_) == ("MappedRanker", {"data": "made up"})
    assert model.used_features().tolist() == [0, 1, 2, 3, 4]
    rw.save_model(model, tmp_path / "again.json")
    assert rw.load_model(tmp_path / "again.json").predict(test).tolist() == model.predict(test).tolist()


def test_it_predicts_documents_one_by_one(ranker, test):
    some = test[:6]
    alone = [ranker.predict(some[q]) for q in range(some.n_queries)]
    np.testing.assert_allclose(np.concatenate(alone), some.grouping.gather(ranker.predict(some)), atol=1e-10)


def test_it_is_certified_as_others(ranker, train, test, tmp_path):
    rw.save_model(ranker, tmp_path / "model.json")
    model = rw.load_model(tmp_path / "model.json")
    certified = rw.theory.certificate(model, test)
    assert not certified.doubts
    assert certified.mean == pytest.approx(rw.evaluate(model, test, "ndcg@10").means[rw.nDCG @ 10])
    assert rw.theory.certificate(model, train).doubts  # it knows what it was trained on


def test_features_at_the_end_that_are_not_there_are_0(train, test):
    queries = rw.Queries(np.nan_to_num(train.X), train.y, train.qid)
    model = rw.MappedRanker(MAPS[0], rw.RankRLS()).fit(queries).model()
    x = np.nan_to_num(test.X)
    x[:, 3:] = 0
    np.testing.assert_allclose(model.cut_to(3).predict(x[:, :3]), model.predict(x), atol=1e-12)
    with pytest.raises(rw.ParameterError, match="cut to 3 features"):
        rw.save_model(model.cut_to(3), "model.json")


CHANGES = [
    (lambda content: content["map"].pop("scale"), "map: the field 'scale' is missing"),
    (lambda content: content["map"].update(more=1), "map: there is no field 'more'"),
    (lambda content: content.update(map=[]), "map must be an object"),
    (lambda content: content["map"].update(kind="poly"), "map, kind must be one of"),
    (lambda content: content["map"].update(linear=1), "map, linear must be true or false"),
    (lambda content: content["map"].update(n_waves=0), "map, n_waves must be a whole number"),
    (lambda content: content["map"].update(n_waves=10**9), "more than a map may have"),
    (lambda content: content["map"]["turns"].pop(), "map, turns has 9 rows, but must have 10"),
    (lambda content: content["map"]["turns"][0].pop(), "map, turns must be a list of lists of 11 numbers"),
    (lambda content: content["map"]["turns"][0].__setitem__(0, "x"), "map, turns must have lists of numbers"),
    (lambda content: content["map"]["turns"][0].__setitem__(0, 1e300), "map, turns: a number is beyond"),
    (lambda content: content["map"]["scale"].__setitem__(0, 0.0), "map, scale: all numbers must be above 0"),
    (lambda content: content["map"]["shift"].pop(), "map, shift has 9 numbers for 10 columns"),
    (lambda content: content["map"]["kept"].__setitem__(0, 99), "map, kept: numbers must ascend"),
    (lambda content: content["map"]["kept"].__setitem__(0, 0), "map, kept must be a whole number"),
    (lambda content: content["map"].update(indicated="all"), "map, indicated must be a list"),
    (lambda content: content["map"].update(filling=None), "map, fills has 6 numbers, but there must be 0"),
    (lambda content: content["map"].update(filling="zero"), "map, filling must be one of"),
    (lambda content: content["map"].update(transforms=[[9, "log", 1.0]]), "there is no feature 9"),
    (lambda content: content["weights"].pop(), "weights has 30 numbers, but the map has 31 columns"),
    (lambda content: content["weights"].__setitem__(0, None), "weights must be a number, not null"),
    (lambda content: content.update(version=3), "a model with map has version 4"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES, ids=[told for _, told in CHANGES])
def test_a_file_that_is_not_so_is_refused(train, change, told, tmp_path):
    rw.save_model(rw.MappedRanker(MAPS[0], rw.RankRLS()).fit(train), tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    change(content)
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(rw.ParseError, match=told):
        rw.load_model(tmp_path / "model.json")


def test_weights_that_are_no_numbers_are_not_saved(train, tmp_path):
    model = rw.MappedRanker(MAPS[0], rw.RankRLS()).fit(train).model()
    model.coef_[3] = np.nan
    with pytest.raises(rw.ParameterError, match="must be finite numbers"):
        rw.save_model(model, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()
