"""Networks as models: read, checked and computed without PyTorch, against a forward pass written out here."""

import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.models.network import Layer, Network, mean_of_networks
from rankwright.models.network_model import NetworkModel
from rankwright.preparation.missing import Filling
from rankwright.preparation.transforms import Log, Quantile

ACTIVATION = {
    "relu": lambda x: max(x, 0.0),
    "tanh": math.tanh,
    "silu": lambda x: x / (1 + math.exp(-x)),
}


def network(activation="relu", *, seed=0, hidden=(5, 3), filling="mean", within_query=False):
    rng = np.random.default_rng(seed)
    indicated = np.array([1, 3]) if filling else np.zeros(0, np.intp)
    widths = (4 + len(indicated), *hidden, 1)
    layers = tuple(Layer(rng.standard_normal((n, m)), rng.standard_normal(m)) for n, m in pairwise(widths))
    layers[0].weights[2] = 0.0  # a feature that does not count
    transforms = {0: Log(0.5), 1: Quantile((-1.0, 0.0, 2.0), (-0.5, 0.0, 1.0))}
    by = None if filling is None else Filling(rng.standard_normal(4), filling == "query-mean")
    return Network(transforms, by, indicated, layers, activation, within_query)


def model_of(net, names=("bm25", "age", "unused", "clicks")):
    about = {"ranker": "NeuralRanker", "parameters": {}, "training": {}}
    return NetworkModel.of(net, feature_names=list(names), **about)


def documents(seed=1, rows=30, missing=0.3):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 4)) * [3, 1, 1, 10]
    x[rng.random(x.shape) < missing] = np.nan
    return x, rng.choice(["q2", "q10", "a"], rows)


def score_by_hand(net, x, qid):
    """Loops over documents, inputs and outputs."""

    def transformed(j, value):
        return float(net.transforms[j](value)) if j in net.transforms else value

    inputs = []
    for row, query in zip(x, qid, strict=True):
        values = [transformed(j, value) for j, value in enumerate(row)]
        for j, value in enumerate(values):
            if math.isnan(value):
                known = [transformed(j, other) for other in x[qid == query][:, j] if not math.isnan(other)]
                by_query = net.filling.by_query and known
                values[j] = sum(known) / len(known) if by_query else float(net.filling.values[j])
        inputs.append(values + [float(math.isnan(row[j])) for j in net.indicated])
    if net.within_query:
        inputs = [
            [value - np.mean([other[j] for other, own in zip(inputs, qid, strict=True) if own == query])
             for j, value in enumerate(values)]
            for values, query in zip(inputs, qid, strict=True)
        ]  # fmt: skip
    scores = []
    for values in inputs:
        for depth, (weights, biases) in enumerate(net.layers):
            values = [
                math.fsum(value * weight for value, weight in zip(values, column, strict=True)) + bias
                for column, bias in zip(weights.T, biases, strict=True)
            ]
            if depth < len(net.layers) - 1:
                values = [ACTIVATION[net.activation](value) for value in values]
        scores.append(values[0])
    return scores


CASES = [
    {"activation": "relu"},
    {"activation": "tanh", "filling": "query-mean"},
    {"activation": "silu", "within_query": True},
    {"activation": "silu", "within_query": True, "filling": "query-mean", "hidden": (4,)},
    {"hidden": ()},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("layout", ["dense", "float32", "CSR"])
def test_scores_are_those_of_a_forward_pass(case, layout, tmp_path):
    net = network(**case)
    x, qid = documents()
    if layout == "float32":
        x = x.astype(np.float32)
    expected = score_by_hand(net, x.astype(np.float64), qid)
    queries = rw.Queries(sp.csr_array(x) if layout == "CSR" else x, np.zeros(len(x)), qid)
    model = model_of(net)
    np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-12, atol=1e-12)
    rw.save_model(model, tmp_path / "model.json")
    read = rw.load_model(tmp_path / "model.json")
    assert isinstance(read, NetworkModel)
    np.testing.assert_array_equal(read.predict(queries), model.predict(queries))  # the same bits
    assert read.used_features().tolist() == [0, 1, 3]
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 4


@pytest.mark.parametrize("hidden", [(), (5,), (5, 3, 2)])
def test_the_mean_of_networks_is_a_network(hidden):
    nets = [network("tanh", seed=seed, hidden=hidden) for seed in range(3)]
    same = [replace(net, filling=nets[0].filling) for net in nets]
    mean = replace(same[0], layers=mean_of_networks([net.layers for net in same]))
    x, _ = documents()
    expected = np.mean([net.scores(x, None) for net in same], axis=0)
    np.testing.assert_allclose(mean.scores(x, None), expected, rtol=1e-12, atol=1e-12)
    assert mean_of_networks([nets[0].layers]) == nets[0].layers


def test_many_rows_are_scored_block_by_block():
    net = network(within_query=True)
    x, _ = documents(rows=20_000)
    qid = np.arange(20_000) % 7  # no query's rows stand together
    queries = rw.Queries(x, np.zeros(len(x)), qid)
    some = np.flatnonzero(qid == 3)
    expected = model_of(net).predict(rw.Queries(x[some], np.zeros(len(some)), qid[some]))
    np.testing.assert_allclose(model_of(net).predict(queries)[some], expected, rtol=1e-9)


def test_rows_without_queries_are_refused_where_queries_count():
    x, _ = documents()
    with pytest.raises(rw.DataError, match="compares documents with the others of their query"):
        model_of(network(within_query=True)).predict(x)
    with pytest.raises(rw.DataError, match="by the mean of its query"):
        model_of(network(filling="query-mean")).predict(x)


@pytest.mark.parametrize("activation", ACTIVATION)
def test_values_that_have_no_score(activation):
    model = model_of(network(activation, filling=None))
    x, _ = documents(missing=0)
    x[:, 2] = np.nan  # does not count
    assert np.isfinite(model.predict(x)).all()
    x[4, 3] = -np.inf
    with pytest.raises(rw.DataError, match="row 4: feature 'clicks' is -inf"):
        model.predict(x)
    x[4, 2:] = 0, np.nan
    with pytest.raises(rw.DataError, match=r"row 4: feature 'clicks' is missing.*training data had none missing"):
        model.predict(x)


def test_features_that_are_not_there_are_zero():
    model = model_of(network())
    x, _ = documents(missing=0)
    x[:, 2:] = 0
    np.testing.assert_allclose(model.cut_to(2).predict(x[:, :2]), model.predict(x), rtol=1e-12)


def test_it_is_shown_and_refused():
    model = model_of(network())
    assert repr(model) == "NetworkModel(NeuralRanker, 4 features, layers 6 → 5 → 3 → 1)"
    assert repr(NetworkModel()) == "NetworkModel(not read from a file yet)"
    with pytest.raises(rw.ParameterError, match="cannot be trained"):
        model.fit([[1.0]])
    with pytest.raises(rw.ParameterError, match="scales features itself"):
        rw.save_model(model, "never.json", scaler=rw.GlobalStandardScaler().fit(np.eye(4)))


def change(content, path, value):
    *places, last = path
    for place in places:
        content = content[place]
    content[last] = value


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (["layers"], {}, "layers must be a list"),
        (["layers"], [], "the last layer must have one output"),
        (["layers", 0], [1], "layer 1 must be an object with weights and biases"),
        (["layers", 0, "weights"], [[1.0]], "layer 1: weights must have a list for each of its 6 inputs, not 1"),
        (["layers", 0, "weights"], 3, "layer 1: weights must have a list for each of its 6 inputs, not 3"),
        (["layers", 0, "weights", 2], [1.0], "layer 1: input 3 has 1 weights for 5 outputs"),
        (["layers", 1, "weights", 2, 1], "1", 'layer 2: weights must be a number, not "1"'),
        (["layers", 1, "weights", 2, 1], True, "layer 2: weights must be a number, not true"),
        (["layers", 1, "biases"], [], "layer 2: there must be at least one output"),
        (["layers", 2, "biases"], [1.0, 2.0], "layer 3: input 1 has 1 weights for 2 outputs"),
        (["layers", 0, "biases", 0], 10**400, "too large"),
        (["activation"], "eval", "activation must be one of relu, silu, tanh, not .eval"),
        (["within_query"], 1, "within_query must be true or false, not 1"),
        (["filling"], "median", "filling must be one of mean, query-mean"),
        (["filling"], None, "filling must be one of"),
        (["missing", 0], [5, 1.0], "there is no feature 5, n_features is 4"),
        (["missing", 0], [2, 1.0], "feature 2 is listed already"),
        (["indicated"], [4, 2], "ascending order"),
        (["indicated"], [2, 2], "ascending order"),
        (["indicated"], [0], "at least 1, not 0"),
        (["indicated"], [2], "layer 1: weights must have a list for each of its 5 inputs, not 6"),
        (["transforms", 0], [1, "exp", 2.0], "expected .log. and a unit"),
        (["version"], 3, "a model with layers has version 4"),
        (["n_features"], 5, "feature_names has 4 names for 5 features"),
        (["extra"], 1, "there is no field 'extra'"),
    ],
)
def test_files_that_are_no_networks(path, value, problem, tmp_path):
    file = tmp_path / "model.json"
    rw.save_model(model_of(network()), file)
    content = json.loads(file.read_text())
    change(content, path, value)
    file.write_text(json.dumps(content))
    with pytest.raises(rw.ParseError, match=problem):
        rw.load_model(file)
    content.pop("layers", None)
    file.write_text(json.dumps(content))
    with pytest.raises(rw.ParseError):
        rw.load_model(file)
