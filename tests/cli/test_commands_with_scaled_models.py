"""Commands with a model that was saved with its scaler, beside the same model with weights of raw features."""

import json

import numpy as np
import pytest

import rankwright as rw
from tests.export.models import linear

COMMANDS = {
    "predict": ("predict", "MODEL", "DATA"),
    "explain a query": ("explain", "MODEL", "DATA", "--query", "3", "--json"),
    "explain a document": ("explain", "MODEL", "DATA", "--query", "3", "--document", "4", "--to-rank", "1", "--json"),
    "bounds": ("bounds", "MODEL", "DATA", "--kind", "corollary1,corollary3,theorem4,argmax,softmax,ndcg", "--json"),
    "certify": ("certify", "MODEL", "DATA", "--json"),
    "export": ("export", "MODEL", "--to", "python"),
}


@pytest.fixture(scope="module", name="folder")
def folder_with_models(tmp_path_factory):
    """Two files of one model, and data: some have all features, others lack the last, which is 0 in all their lines."""
    folder = tmp_path_factory.mktemp("scaled")
    drawn = rw.datasets.make_queries(30, 5, 6, n_informative=3, n_correlated=2, seed=4, dtype=np.float64).queries
    x = drawn.X * [1, 40, 3, 1, 5, 0.01] + [0, 1e5, 7, -2, 50, 0]
    queries = rw.Queries(x, drawn.y, drawn.qid)
    scaler = rw.GlobalStandardScaler()
    ranker = rw.RankRLS(0.5).fit(scaler.fit_transform(queries))
    rw.save_model(ranker, folder / "scaled.json", scaler=scaler)
    raw = ranker.coef_ / scaler.scale_
    rw.save_model(linear(raw, intercept=-raw @ scaler.mean_), folder / "by_hand.json")
    rw.write_svmlight(queries, folder / "whole.txt")
    rw.write_svmlight(rw.Queries(x[:, :5], drawn.y, drawn.qid), folder / "without.txt")
    return folder


def numbers_of(out):
    """All numbers of JSON or text by their place, and what is around them."""
    try:
        told = json.loads(out)
    except json.JSONDecodeError:
        words = out.replace(":", " : ").replace(",", " , ").split()
        told = dict(enumerate(words))
    return flat(told)


def flat(told, place=""):
    if isinstance(told, dict | list):
        pairs = told.items() if isinstance(told, dict) else enumerate(told)
        return {key: value for name, part in pairs for key, value in flat(part, f"{place}/{name}").items()}
    try:
        return {place: float(told)}
    except (TypeError, ValueError):
        return {place: told}


@pytest.mark.parametrize("data", ["whole.txt", "without.txt"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_tells_the_same_of_both(run, folder, command, data):
    told = []
    for model in ("scaled.json", "by_hand.json"):
        files = {"MODEL": folder / model, "DATA": folder / data}
        ran = run(*(files.get(word, word) for word in COMMANDS[command]))
        assert (ran.code, ran.err) == (0, "")
        told.append(numbers_of(ran.out))
    assert list(told[0]) == list(told[1])
    for place, value in told[1].items():
        if isinstance(value, float):
            assert told[0][place] == pytest.approx(value, rel=1e-6, abs=1e-8), place
        else:
            assert place.endswith(("ranker", "origin")) or told[0][place] == value


def test_a_bound_counts_the_weights_of_features_that_the_data_do_not_show(run, folder):
    """New queries may have them, so the ranker is as long as it is."""
    whole, without = (
        json.loads(run("bounds", folder / "scaled.json", folder / data, "--kind", "corollary1", "--json").out)
        for data in ("whole.txt", "without.txt")
    )
    lengths = [
        next(constant["origin"] for constant in told["bounds"][0]["constants"] if constant["symbol"] == "B")
        for told in (whole, without)
    ]
    assert lengths[0] == lengths[1]
    assert f"‖w‖ = {np.linalg.norm(rw.load_model(folder / 'scaled.json').formula().weights):.4g}" in lengths[0]
