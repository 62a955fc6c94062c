"""``rankwright train --ranker structured``: what is optimised, what is told of it, and when nothing is learned."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import rankwright as rw
from rankwright.cli.options import parse_alphas

ALPHAS = ("--alpha", "1,16")


@pytest.fixture(name="run")
def run_on_features_as_they_are(run_as_is):
    return run_as_is


@pytest.fixture(scope="module", name="parts")
def training_and_validation():
    drawn = rw.datasets.make_queries(
        30, 8, 6, n_informative=3, n_correlated=2, noise=0.5, seed=2, dtype=np.float64
    ).queries
    read_alike = rw.Queries(drawn.X.astype(np.float32), drawn.y, drawn.qid)
    return read_alike[:20], read_alike[20:]


@pytest.fixture(name="train")
def train_command(run, parts, tmp_path, monkeypatch):
    """Run the command on both parts; gives what was printed, and the model."""
    monkeypatch.setenv("COLUMNS", "500")  # so that no line is folded
    paths = tmp_path / "train.txt", tmp_path / "vali.txt"
    for queries, path in zip(parts, paths, strict=True):
        rw.write_svmlight(queries, path)

    def train(*options, on_valid=True, data=paths[0]):
        out = tmp_path / "model.json"
        valid = ("--valid", paths[1]) if on_valid else ()
        ran = run("train", data, *valid, "--ranker", "structured", *options, "--out", out)
        assert ran.code == 0
        return ran, rw.load_model(out)

    return train


def told_lines(ran):
    """The table as a mapping."""
    return dict(re.split(" {2,}", line.rstrip(), maxsplit=1) for line in ran.out.splitlines())


# What is optimised


@pytest.mark.parametrize(("measure", "others"), [("ndcg@3", ",map"), ("ndcg", ""), ("map", ",ndcg@3")])
def test_the_first_measure_is_optimised_and_decides(train, parts, measure, others):
    ran, model = train(*ALPHAS, "--measure", measure + others, "--tol", 1e-5, "--json")
    told, alpha = json.loads(ran.out), model.training_["figures"]["alpha"]
    rankers = {tried: rw.StructuredRanker(measure, tried, tol=1e-5).fit(parts[0]) for tried in (1.0, 16.0)}
    np.testing.assert_allclose(model.coef_, rankers[alpha].coef_, atol=0.01)
    worth = {tried: ranker.score(parts[1]) for tried, ranker in rankers.items()}
    assert worth[alpha] == pytest.approx(max(worth.values()), abs=0.01)
    losses = rw.losses.StructuredHinge(measure).on(parts[0])
    objective = 0.5 * alpha * model.coef_ @ model.coef_ + losses.at(parts[0].X @ model.coef_).value
    assert told["objective"] == pytest.approx(objective, rel=1e-9)


def test_no_weights_are_below_the_lower_bound_that_is_told(train, parts):
    told = json.loads(train("--alpha", 4, "--measure", "ndcg@3", "--json")[0].out)
    assert told["gap"] == pytest.approx(told["objective"] - told["lower_bound"])
    assert (told["converged"], told["argmax_gap"], told["stays_at_center"]) == (True, 0.0, False)
    losses = rw.losses.StructuredHinge("ndcg@3").on(parts[0])
    near = rw.StructuredRanker("ndcg@3", 4.0, tol=1e-7).fit(parts[0]).coef_
    random = np.random.default_rng(0)
    for weights in (near, np.zeros(6), *(near + random.normal(size=(50, 6)) * 0.1)):
        value = 0.5 * 4 * weights @ weights + losses.at(parts[0].X @ weights).value
        assert value >= told["lower_bound"]


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (("--solver", "frank-wolfe", "--tol", "1e-5"), {"solver": "frank-wolfe", "tol": 1e-5}),
        (("--solver", "conjugate-subgradient"), {"solver": "conjugate-subgradient"}),
        (("--bound", "tight"), {"bound": "tight"}),
        (("--position-weights", "discount"), {"position_weights": "discount"}),
        (("--position-weights", "3, 1,0.5"), {"position_weights": [3.0, 1.0, 0.5]}),
        (("--position-weights", "2"), {"position_weights": [2.0]}),
        (("--position-weights", "learned"), {"position_weights": "learned"}),
        (("--rescale", "slack", "--max-iter", 50), {"rescale": "slack", "max_iter": 50}),
        (("--early-stopping",), {"early_stopping": True}),
        (("--convention", "letor4"), {"convention": "letor4"}),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_options_reach_the_library(train, parts, options, parameters):
    model = train(*ALPHAS, "--measure", "ndcg@3", *options)[1]
    ranker = rw.StructuredRanker("ndcg@3", rw.search(1, 16), **parameters).fit(parts[0], valid=parts[1])
    np.testing.assert_allclose(model.coef_, ranker.coef_, rtol=1e-5, atol=1e-7)
    assert model.parameters_["measure"] == "nDCG @ 3"
    for name, value in parameters.items():
        assert model.parameters_[name] == value


# What is told


def test_the_table_of_a_convex_bound(train):
    options = ("--alpha", 4, "--measure", "ndcg@3,map")
    told, lines = json.loads(train(*options, "--json")[0].out), told_lines(train(*options)[0])
    names = "ranker, optimised, alpha, objective, lower bound, gained, features, passes, nDCG @ 3, AP, model"
    assert list(lines) == names.split(", ")
    assert lines["optimised"] == "nDCG @ 3, through its convex bound"
    assert lines["objective"].startswith(f"{told['objective']:.8g}, at most {told['gap']:.2g} (")
    assert lines["lower bound"] == f"{told['lower_bound']:.8g} for any weights"
    effort = f"{told['passes']:,} over the data, {told['argmax_calls']:,} searches for a most violating ranking"
    assert lines["passes"] == effort
    assert told["argmax_calls"] >= 20 * told["passes"] / 2


@pytest.mark.parametrize(("steps", "ended"), [(1000, "converged"), (1, "was stopped early")])
def test_the_tight_bound_has_no_lower_bound_but_0(train, steps, ended):
    options = ("--alpha", 4, "--bound", "tight", "--max-iter", steps)
    lines = told_lines(train(*options)[0])
    assert lines["objective"].endswith(f"; descent {ended}")
    assert lines["lower bound"] == "0; the tight bound is not convex, so no better one is known"
    told = json.loads(train(*options, "--json")[0].out)
    assert (told["lower_bound"], told["converged"]) == (0.0, steps > 1)


def test_learned_position_weights(train, parts):
    options = ("--alpha", 4, "--measure", "ndcg@3", "--position-weights", "learned")
    learned = rw.StructuredRanker("ndcg@3", 4.0, position_weights="learned").fit(parts[0]).position_weights_
    assert json.loads(train(*options, "--json")[0].out)["position_weights"] == pytest.approx(learned.tolist())
    assert (
        told_lines(train(*options)[0])["positions"]
        == ", ".join(f"{a:.4g}" for a in learned) + " (learned weights of the ranks)"
    )
    fixed = ("--alpha", 4, "--measure", "ndcg@3")
    assert "position_weights" not in json.loads(train(*fixed, "--json")[0].out)
    assert "positions" not in told_lines(train(*fixed)[0])


def test_of_many_learned_position_weights_ten_are_shown(train):
    told = told_lines(train("--alpha", 4, "--measure", "ndcg@15", "--position-weights", "learned")[0])["positions"]
    assert re.fullmatch(r"(\S+, ){10}… \(learned weights of the ranks\)", told)


def test_what_a_search_may_have_missed(train):
    options = ("--alpha", 4, "--measure", "ndcg@3", "--rescale", "slack")
    told = json.loads(train(*options, "--json")[0].out)
    assert told["argmax_gap"] > 0
    assert told["gap"] == pytest.approx(told["objective"] - told["lower_bound"] + told["argmax_gap"])
    lines = told_lines(train(*options)[0])
    assert lines["search"] == f"rankings that were not found could add {told['argmax_gap']:.2g} to the objective"


def test_weights_that_stay_at_0(train, parts, tmp_path):
    """Each query comes with its mirror image, so that 0 is the minimum of the convex bound."""
    X, y, qid = parts[0].X, parts[0].y, parts[0].qid
    mirrored = tmp_path / "mirrored.txt"
    rw.write_svmlight(rw.Queries(np.vstack([X, -X]), np.tile(y, 2), np.append(qid, qid.max() + 1 + qid)), mirrored)
    options = ("--alpha", "1", "--measure", "ndcg@3")
    ran, model = train(*options, data=mirrored)
    assert re.fullmatch(
        "warning: no weights have a lower convex bound than all-zero weights.* --bound tight\n", ran.err
    )
    assert told_lines(ran)["learned"] == "nothing: the bound of zero weights is as low"
    assert "gained" not in told_lines(ran)
    np.testing.assert_array_equal(model.coef_, 0)
    ran, model = train(*options, "--json", data=mirrored)
    assert ran.err.startswith("warning: no weights")
    assert json.loads(ran.out)["stays_at_center"] is model.training_["figures"]["stays_at_center"] is True
    ran, _ = train(*options, "--bound", "tight", data=mirrored)
    assert ran.err == ""
    assert "learned" not in told_lines(ran)


def test_what_is_gained_over_0_is_told_even_if_it_is_little(train, parts):
    """A large alpha leaves little to gain: all but 0.1 % of it is."""
    options = ("--alpha", "1e6", "--measure", "ndcg@3")
    ran, model = train(*options)
    assert ran.err == ""
    losses = rw.losses.StructuredHinge("ndcg@3").on(parts[0])
    at_zero = losses.at(np.zeros(parts[0].n_documents)).value
    gained = json.loads(train(*options, "--json")[0].out)["gain"]
    here = 5e5 * model.coef_ @ model.coef_ + losses.at(parts[0].X @ model.coef_).value
    assert 0 < gained < 1e-3 * at_zero
    assert gained == pytest.approx(at_zero - here, rel=1e-6)
    least, most = re.fullmatch("(.*) over zero weights; at most (.*) is possible", told_lines(ran)["gained"]).groups()
    assert float(least) == pytest.approx(gained, rel=1e-3)
    assert float(most) == pytest.approx(gained, rel=2e-3)


# While it trains


def test_iterations_are_told(train):
    ran, model = train(*ALPHAS, "--measure", "ndcg@3", "--verbose")
    header, *lines = ran.err.splitlines()
    assert header.split() == ["alpha", "iteration", "objective", "relative", "gap", "passes", "nDCG", "@", "3"]
    cells = [line.split() for line in lines]
    last = [row for row in cells if parse_alphas(row[0]) == (model.training_["figures"]["alpha"],)][-1]
    assert float(last[2]) == pytest.approx(model.training_["figures"]["objective"], rel=1e-6)
    assert float(last[3]) == pytest.approx(model.training_["figures"]["relative_gap"], rel=0.1)
    assert float(last[5]) == pytest.approx(model.training_["measures"][0]["mean"], abs=1e-4)


def test_iterations_of_the_tight_bound_have_no_gap_and_never_rise(train):
    ran, _ = train("--alpha", 4, "--bound", "tight", "--verbose")
    header, *lines = ran.err.splitlines()
    assert {line.split()[3] for line in lines} == {"–"}
    assert len({len(line) for line in (header, *lines)}) == 1
    values = [float(line.split()[2]) for line in lines]
    assert len(values) > 1
    assert values == sorted(values, reverse=True)


def test_folds_are_told_where_there_is_no_validation_data(train):
    ran, model = train(*ALPHAS, "--verbose", on_valid=False)
    assert {line.split()[-1] for line in ran.err.splitlines()[1:]} == {"1", "2", "3", "4", "5", "all"}
    assert model.training_["judged_on"] == "held-out"


# The model


def test_the_model_scores_as_the_ranker(run, train, parts, tmp_path):
    model = train("--alpha", 4, "--measure", "map")[1]
    ran = run("predict", tmp_path / "model.json", tmp_path / "vali.txt")
    assert (ran.code, ran.err) == (0, "")
    scores = np.array(ran.out.split(), dtype=float)
    np.testing.assert_allclose(scores, parts[1].X @ model.coef_, rtol=1e-12)
    assert rw.evaluate(scores, parts[1], "map").means[rw.AP] == pytest.approx(model.training_["measures"][0]["mean"])


def test_parameters_of_any_type_are_kept_as_json(parts, tmp_path):
    ranker = rw.StructuredRanker(
        rw.nDCG(gain="linear") @ 3, 4.0, position_weights=np.array([1.0, 0.5]), center=np.ones(6)
    ).fit(parts[0])
    rw.save_model(ranker, tmp_path / "model.json")
    kept = json.loads((tmp_path / "model.json").read_text())["parameters"]
    assert rw.measures.parse_measures(kept["measure"]) == (ranker.measure,)
    assert (kept["position_weights"], kept["center"]) == ([1.0, 0.5], [1.0] * 6)
    assert kept["tricks"] == ["hot-start", "drop-inactive", "inexact", "single-update"]
