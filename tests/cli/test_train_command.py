"""``rankwright train``: the model it writes is the one that the library trains."""

from __future__ import annotations

import hashlib
import json
import re
import sys

import numpy as np
import pytest
from scipy.optimize import minimize

import rankwright as rw
from rankwright.cli.ranker_options import is_linear
from rankwright.cli.train import RANKERS
from rankwright.cli.training_report import IterationLines
from rankwright.evaluation.tables import regularisation
from rankwright.progress import Iteration, Progress

NAMES = ["bm25", "pagerank", "title [tf]", "url length", "clicks", "age"]
OPTIONS = ("--alpha", "1,16", "--measure", "map,ndcg@5")
ITERATIVE = ("ranksvm", "order-preserving", "structured")
LINEAR = [name for name in RANKERS if is_linear(name)]
ALL_WITH_ALPHA = (
    "ranksvm, order-preserving, rankrls, greedy-rankrls, regression, structured, kernel-rankrls, kernel-structured, "
    "kernel-map and basis"
)
ALL_ITERATIVE = "ranksvm, order-preserving, structured and kernel-structured"


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


@pytest.fixture(name="files")
def text_files(parts, tmp_path):
    paths = tmp_path / "train.txt", tmp_path / "vali.txt"
    for queries, path in zip(parts, paths, strict=True):
        rw.write_svmlight(queries, path)
    return paths


@pytest.fixture(name="out")
def model_path(tmp_path):
    return tmp_path / "model.json"


def fitted(name, parts, *, on_valid=True, alpha=(1, 16), measures="map,ndcg@5", **options):
    """The same ranker, trained by the library."""
    if name == "greedy-rankrls":
        options.setdefault("n_features", rw.search(range(1, 7)))
    if name == "structured":
        options["measure"] = measures.partition(",")[0]
    ranker = getattr(rw, RANKERS[name])(alpha=rw.search(*alpha), measures=measures, **options)
    return ranker.fit(parts[0], valid=parts[1] if on_valid else None)


def estimates_of(ranker):
    """On validation queries, and on held-out ones."""
    if hasattr(ranker, "selected_features_"):
        step = next(s for s in ranker.path_ if list(s.selected) == list(ranker.selected_features_))
        return step.valid, step.lqo
    chosen = list(ranker.path_.alphas).index(ranker.alpha_)
    held_out = ranker.path_.folds or ranker.path_.lqo
    return tuple({m: values[chosen] for m, values in told.items()} for told in (ranker.path_.valid, held_out))


# What is learned and told


@pytest.mark.parametrize("on_valid", [True, False])
@pytest.mark.parametrize("name", LINEAR)
def test_the_model_and_its_measures_are_those_of_the_library(run, parts, files, out, name, on_valid):
    ran = run("train", files[0], *(("--valid", files[1]) if on_valid else ()), "--ranker", name, *OPTIONS, "--out", out)
    assert (ran.code, ran.err) == (0, "")
    ranker, model = fitted(name, parts, on_valid=on_valid), rw.load_model(out)
    np.testing.assert_allclose(model.coef_, ranker.coef_, rtol=1e-6, atol=1e-9)
    assert model.ranker_ == RANKERS[name]
    assert f"{RANKERS[name]}\n" in re.sub(" +\n", "\n", ran.out)
    assert f"{regularisation(ranker.alpha_)}, chosen from 2" in ran.out
    where = "on the validation queries" if on_valid else "on held-out queries"
    for measure, (mean, error) in estimates_of(ranker)[0 if on_valid else 1].items():
        assert re.search(rf"{measure} +{mean:.4f} ± {error:.4f} \(standard error\) {where}", ran.out)
    assert f"{np.count_nonzero(ranker.coef_)} of 6 with a weight" in ran.out
    assert str(out) in re.sub(r"\s", "", ran.out)


@pytest.mark.parametrize("name", LINEAR)
def test_json_and_the_file_tell_the_same(run, parts, files, out, name):
    ran = run("train", files[0], "--valid", files[1], "--ranker", name, *OPTIONS, "--out", out, "--json")
    assert (ran.code, ran.err) == (0, "")
    told, ranker, training = json.loads(ran.out), fitted(name, parts), rw.load_model(out).training_
    assert (told.pop("ranker"), told.pop("model")) == (RANKERS[name], str(out))
    data, valid = training["data"]
    assert training["figures"] | {name: training[name] for name in ("judged_on", "measures")} == told
    assert (told["alpha"], told["alphas_tried"], told["judged_on"]) == (ranker.alpha_, 2, "valid")
    assert told["features_used"] == np.count_nonzero(ranker.coef_)
    assert [entry["measure"] for entry in told["measures"]] == ["AP", "nDCG @ 5"]
    for entry, estimate in zip(told["measures"], estimates_of(ranker)[0].values(), strict=True):
        assert (entry["mean"], entry["standard_error"]) == pytest.approx(estimate)
    assert [(part["role"], part["name"]) for part in (data, valid)] == [("train", "train.txt"), ("valid", "vali.txt")]
    assert (data["queries"], data["documents"], valid["queries"]) == (20, parts[0].n_documents, 10)
    assert data["sha256"] == hashlib.sha256(files[0].read_bytes()).hexdigest()
    assert ("passes" in told) == hasattr(ranker, "passes_")


@pytest.mark.parametrize("name", ITERATIVE)
def test_the_certificate(run, parts, files, out, name):
    arguments = ("train", files[0], "--ranker", name, "--alpha", 4, *OPTIONS[2:], "--out", out)
    told = json.loads(run(*arguments, "--json").out)
    ranker = fitted(name, parts, on_valid=False, alpha=(4,))
    assert told["objective"] == pytest.approx(ranker.objective_)
    assert told["relative_gap"] == pytest.approx(told["gap"] / told["objective"])
    assert told["converged"] is True
    ran = run(*arguments)
    told = re.search(r"objective +(\S+), at most (\S+) \(relative: (\S+)\) above the minimum", ran.out)
    assert [float(number) for number in told.groups()] == pytest.approx(
        [ranker.objective_, ranker.gap_, ranker.gap_ / ranker.objective_], rel=0.1
    )
    assert re.search(r"passes +\d+ over the data", ran.out)


@pytest.mark.parametrize("on_valid", [True, False])
def test_rankboost(run, parts, files, out, on_valid):
    arguments = ("--ranker", "rankboost", "--rounds", 30, "--thresholds", 20, "--weights", "per-query")
    valid = ("--valid", files[1]) if on_valid else ()
    ran = run("train", files[0], *valid, *arguments, "--measure", "map,ndcg@5", "--out", out)
    assert (ran.code, ran.err) == (0, "")
    ranker = rw.RankBoost(30, n_thresholds=20, weights="per-query", measures="map, ndcg@5")
    ranker.fit(parts[0], valid=parts[1] if on_valid else None)
    model = rw.load_model(out)
    assert model.ranker_ == "RankBoost"
    np.testing.assert_array_equal(model.stump_features_, ranker.stump_features_)
    np.testing.assert_allclose(model.predict(parts[1]), ranker.predict(parts[1]), rtol=1e-9)
    used = len(np.unique(ranker.stump_features_))
    assert f"{used} of 6 in a stump" in ran.out
    told = json.loads(run("train", files[0], *valid, *arguments, "--out", out, "--json").out)
    assert (told["ranker"], told["rounds_tried"], told["features_used"]) == ("RankBoost", 30, used)
    if not on_valid:
        assert re.search(r"rounds +30\s*\n", ran.out)
        assert re.search(r"measures +not measured: add --valid FILE\s*\n", ran.out)
        assert (told["rounds"], told["judged_on"], told["measures"]) == (30, None, [])
        return
    assert re.search(rf"rounds +{ranker.n_rounds_}, chosen from 30", ran.out)
    for measure, values in ranker.path_.valid.items():
        mean, error = values[ranker.n_rounds_ - 1]
        assert re.search(rf"{measure} +{mean:.4f} ± {error:.4f} \(standard error\) on the validation queries", ran.out)
    assert told["judged_on"] == "valid"


def test_rankboost_that_loses_patience(run, parts, files, out):
    ran = run("train", files[0], "--valid", files[1], "--ranker", "rankboost", "--patience", 2, "--out", out, "--json")
    ranker = rw.RankBoost(patience=2).fit(parts[0], valid=parts[1])
    told = json.loads(ran.out)
    assert (told["rounds"], told["rounds_tried"]) == (ranker.n_rounds_, len(ranker.path_))
    assert len(ranker.path_) < 300


def test_rankboost_with_features_that_tell_nothing(run, files, out):
    files[0].write_text("1 qid:1 1:2\n0 qid:1 1:2\n")
    ran = run("train", files[0], "--valid", files[0], "--ranker", "rankboost", "--out", out)
    assert (ran.code, ran.err) == (0, "")
    assert "not measured" in ran.out
    assert len(rw.load_model(out).stump_weights_) == 0


@pytest.mark.peers
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosted_trees(run, parts, files, out, library, monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "1")
    arguments = ("--ranker", "boosted", "--loss", "order-preserving", "--library", library, "--trees", 20)
    options = ("--leaves", 4, "--learning-rate", 0.3, "--patience", 5, "--measure", "map,ndcg@5", "--out", out)
    ran = run("train", files[0], "--valid", files[1], *arguments, *options)
    assert (ran.code, ran.err) == (0, "")
    ranker = rw.BoostedRanker("order-preserving", library, n_trees=20, leaves=4, learning_rate=0.3, patience=5)
    ranker.set_params(measures="map, ndcg@5").fit(parts[0], valid=parts[1])
    model = rw.load_model(out)
    assert (model.ranker_, model.library_) == ("BoostedRanker", library)
    np.testing.assert_array_equal(model.predict(parts[1]), ranker.predict(parts[1]))
    assert f"order-preserving, by {library}" in ran.out
    assert re.search(rf"trees +{ranker.n_trees_}, chosen from {len(ranker.path_)}", ran.out)
    for measure, values in ranker.path_.valid.items():
        mean, error = values[ranker.n_trees_ - 1]
        assert re.search(rf"{measure} +{mean:.4f} ± {error:.4f} \(standard error\) on the validation queries", ran.out)
    told = json.loads(run("train", files[0], *arguments, "--out", out, "--json").out)
    assert (told["trees"], told["library"], told["judged_on"]) == (20, library, None)


@pytest.mark.peers
def test_boosted_trees_chosen_by_a_share_of_queries(run, files, out, monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "1")
    options = ("--trees", 20, "--validation-share", 0.5, "--patience", 5, "--seed", 3)
    ran = run("train", files[0], "--ranker", "boosted", *options, "--out", out, "--json")
    assert (ran.code, ran.err) == (0, "")
    train = rw.read_queries(files[0])
    ranker = rw.BoostedRanker(n_trees=20, validation_share=0.5, patience=5, random_state=3).fit(train)
    assert len(ranker.path_.valid) == 1
    assert rw.load_model(out).predict(train).tolist() == ranker.predict(train).tolist()
    told = json.loads(ran.out)
    assert (told["judged_on"], told["trees"]) == ("held-out", ranker.n_trees_)


def test_a_library_of_trees_that_is_not_installed(run, files, out, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    ran = run("train", files[0], "--ranker", "boosted", "--library", "xgboost", "--out", out)
    assert ran.code == 2
    assert "pip install 'rankwright[xgboost]'" in ran.err
    assert not out.exists()


def test_ranksvm_is_the_default_and_auto_its_own_grid(run, parts, files, out):
    assert run("train", files[0], "--valid", files[1], "--out", out).code == 0
    model = rw.load_model(out)
    ranker = rw.RankSVM(alpha=rw.search()).fit(parts[0], valid=parts[1])
    assert (model.ranker_, model.training_["figures"]["alpha"]) == ("RankSVM", ranker.alpha_)
    assert model.training_["figures"]["alphas_tried"] == len(ranker.path_.alphas)


def test_one_alpha_without_validation_data_is_not_measured(run, files, out):
    arguments = ("train", files[0], "--ranker", "rankrls", "--alpha", "0.1", "--out", out)
    assert "not measured: add --valid FILE" in run(*arguments).out
    told = json.loads(run(*arguments, "--json").out)
    assert (told["alpha"], told["judged_on"], told["measures"]) == (0.1, None, [])
    assert rw.load_model(out).parameters_["alpha"] == 0.1


def test_a_standard_error_that_is_infinite_is_null(run, parts, files, out):
    rw.write_svmlight(parts[1][:1], files[1])
    ran = run("train", files[0], "--valid", files[1], "--ranker", "rankrls", "--out", out, "--json")
    assert json.loads(ran.out)["measures"][0]["standard_error"] is None


def test_names_of_features_are_kept(run, parts, out, tmp_path):
    train, path = parts[0], tmp_path / "train.parquet"
    rw.write_parquet(rw.Queries(train.X, train.y, train.qid, feature_names=NAMES), path)
    assert run("train", path, "--ranker", "rankrls", "--out", out).code == 0
    assert rw.load_model(out).feature_names_in_.tolist() == NAMES


def test_features_that_a_text_does_not_show_are_zero(run, parts, files, out):
    """The last feature is 0 in all validation queries, and so not in the text."""
    lines = [line.rpartition(" 6:")[0] for line in files[1].read_text().splitlines()]
    files[1].write_text("\n".join(lines) + "\n")
    assert run("train", files[0], "--valid", files[1], "--ranker", "rankrls", *OPTIONS, "--out", out).code == 0
    x = parts[1].X.copy()
    x[:, -1] = 0
    ranker = fitted("rankrls", (parts[0], rw.Queries(x, parts[1].y, parts[1].qid)))
    model = rw.load_model(out)
    np.testing.assert_allclose(model.coef_, ranker.coef_, rtol=1e-9)
    assert model.training_["measures"][0]["mean"] == pytest.approx(estimates_of(ranker)[0][rw.AP].mean)


# Options


@pytest.mark.parametrize(
    ("name", "options", "parameters"),
    [
        ("ranksvm", ("--loss", "hinge"), {"loss": "hinge"}),
        ("ranksvm", ("--loss", "logistic", "--weights", "per-query"), {"loss": "logistic", "weights": "per-query"}),
        ("ranksvm", ("--margin", "position", "--tol", "0.01"), {"margin": "position", "tol": 0.01}),
        ("ranksvm", ("--early-stopping",), {"early_stopping": True}),
        ("order-preserving", ("--standardize", "dcg", "--cutoff", 5), {"standardize": "dcg", "cutoff": 5}),
        ("order-preserving", ("--loss", "squared", "--normalize"), {"loss": "squared", "normalize": True}),
        ("rankrls", ("--rule", "one-standard-error"), {"rule": "one-standard-error"}),
        ("regression", ("--convention", "letor4"), {"convention": "letor4"}),
        ("greedy-rankrls", ("--max-features", 2), {"n_features": rw.search(1, 2)}),
    ],
)
def test_options_reach_the_library(run, parts, files, out, name, options, parameters):
    ran = run("train", files[0], "--valid", files[1], "--ranker", name, *OPTIONS, *options, "--out", out)
    assert ran.code == 0
    ranker, model = fitted(name, parts, **parameters), rw.load_model(out)
    np.testing.assert_allclose(model.coef_, ranker.coef_, rtol=1e-5, atol=1e-7)
    for parameter, value in parameters.items():
        assert model.parameters_[parameter] == (value if isinstance(value, str | int | float) else repr(value))


@pytest.mark.parametrize(("measure", "convention", "cutoff"), [("ndcg@2", "letor4", 2), ("ndcg", "sklearn", None)])
def test_the_order_preserving_loss_is_that_of_the_measure(run, parts, files, out, measure, convention, cutoff):
    options = ("--ranker", "order-preserving", "--alpha", 1, "--measure", measure, "--convention", convention)
    assert run("train", files[0], *options, "--out", out).code == 0
    weights, train = rw.load_model(out).coef_, parts[0]
    loss = rw.losses.OrderPreservingLoss(standardize="ndcg", cutoff=cutoff, convention=convention).on(train)

    def objective(w):
        at = loss.at(train.X @ w)
        return at.value + w @ w / 2, train.X.T @ at.gradient + w

    least = minimize(objective, weights, jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 0.0}).fun
    assert least <= objective(weights)[0] <= least * (1 + 1e-4)  # the default tolerance


@pytest.mark.parametrize(
    ("name", "option", "others"),
    [
        ("rankrls", ("--margin", "unit"), "ranksvm"),
        ("order-preserving", ("--margin", "unit"), "ranksvm"),
        ("ranksvm", ("--standardize", "dcg"), "order-preserving"),
        ("ranksvm", ("--cutoff", "5"), "order-preserving"),
        ("regression", ("--normalize",), "order-preserving"),
        ("greedy-rankrls", ("--loss", "hinge"), "ranksvm, order-preserving, neural and boosted"),
        ("rankrls", ("--valid", "none.txt", "--early-stopping"), ALL_ITERATIVE),
        ("ranksvm", ("--max-features", "3"), "greedy-rankrls"),
        ("rankrls", ("--max-iter", "3"), ALL_ITERATIVE),
        ("rankrls", ("--weights", "unit"), "ranksvm and rankboost"),
        ("ranksvm", ("--rounds", "3"), "rankboost"),
        ("regression", ("--thresholds", "3"), "rankboost"),
        ("greedy-rankrls", ("--valid", "none.txt", "--patience", "3"), "rankboost, neural and boosted"),
        ("rankboost", ("--trees", "3"), "boosted"),
        ("ranksvm", ("--library", "xgboost"), "boosted"),
        ("structured", ("--leaves", "3"), "boosted"),
        ("regression", ("--learning-rate", "0.1"), "neural and boosted"),
        ("boosted", ("--rounds", "3"), "rankboost"),
        ("boosted", ("--alpha", "1"), ALL_WITH_ALPHA),
        ("ranksvm", ("--hidden", "8,4"), "neural"),
        ("rankboost", ("--epochs", "3"), "neural"),
        ("neural", ("--alpha", "1"), ALL_WITH_ALPHA),
        ("rankboost", ("--alpha", "1"), ALL_WITH_ALPHA),
        ("rankboost", ("--rule", "best"), ALL_WITH_ALPHA),
        ("rankboost", ("--tol", "0.1"), ALL_ITERATIVE),
        ("rankboost", ("--valid", "none.txt", "--early-stopping"), ALL_ITERATIVE),
        ("rankrls", ("--solver", "sgd"), ALL_ITERATIVE),
        ("ranksvm", ("--bound", "tight"), "structured and kernel-structured"),
        ("order-preserving", ("--position-weights", "1,0.5"), "structured and kernel-structured"),
        ("rankboost", ("--rescale", "slack"), "structured and kernel-structured"),
        ("structured", ("--loss", "hinge"), "ranksvm, order-preserving, neural and boosted"),
        ("structured", ("--cutoff", "5"), "order-preserving"),
    ],
)
def test_options_of_other_rankers_are_refused(run, tmp_path, out, name, option, others):
    ran = run("train", tmp_path / "none.txt", "--ranker", name, *option, "--out", out)
    assert (ran.code, ran.out) == (2, "")
    option = next(word for word in option if word.startswith("--") and word != "--valid")
    assert f"{option} is for {others}, not for {name}" in ran.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--ranker", "ranknet"), "--ranker must be one of 'ranksvm', "),
        (("--measure", "ndgc@10"), "ndgc@10"),
        (("--alpha", "0"), "--alpha"),
        (("--convention", "letor5"), "convention"),
        (("--rule", "worst"), "rule"),
        (("--cutoff", "0", "--ranker", "order-preserving"), "--cutoff must be a whole number of at least 1"),
        (("--max-features", "0", "--ranker", "greedy-rankrls"), "--max-features must be a whole number of at least 1"),
        (("--max-iter", "0"), "--max-iter must be a whole number of at least 1"),
        (("--early-stopping",), "--early-stopping measures validation queries: add --valid"),
        (("--rounds", "0", "--ranker", "rankboost"), "--rounds must be a whole number of at least 1"),
        (("--thresholds", "0", "--ranker", "rankboost"), "--thresholds must be a whole number of at least 1"),
        (("--patience", "0", "--ranker", "rankboost"), "--patience must be a whole number of at least 1"),
        (("--patience", "3", "--ranker", "rankboost"), "--patience measures validation queries: add --valid"),
        (("--measure", "err,ndcg@5", "--ranker", "structured"), "must be ndcg, ndcg@K or map, not ERR"),
        (("--measure", "map@5", "--ranker", "structured"), "must be ndcg, ndcg@K or map, not AP @ 5"),
        (("--position-weights", "linaer", "--ranker", "structured"), "--position-weights must be one of linear, "),
    ],
)
def test_wrong_values_are_told_before_anything_is_read(run, tmp_path, out, options, told):
    ran = run("train", tmp_path / "none.txt", *options, "--out", out)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--loss", "squared-hing"), "loss"),
        (("--weights", "heavy"), "weights"),
        (("--margin", "wide"), "margin"),
        (("--ranker", "order-preserving", "--standardize", "err"), "standardize"),
        (("--ranker", "rankboost", "--weights", "gain-per-query"), "weights"),
        (("--ranker", "greedy-rankrls", "--max-features", "7"), "--max-features is 7"),
        (("--ranker", "structured", "--solver", "newton"), "solver must be one of 'bundle', "),
        (("--ranker", "structured", "--bound", "loose"), "bound"),
        (("--ranker", "structured", "--rescale", "gap"), "rescale"),
        (("--ranker", "structured", "--position-weights", "1,2"), "position_weights must not rise"),
        (("--ranker", "structured", "--position-weights", "1,nan"), "position_weights must be finite"),
        (("--ranker", "structured", "--measure", "map", "--position-weights", "discount"), "position_weights"),
    ],
)
def test_values_that_the_library_or_the_data_refuse(run, files, out, options, told):
    ran = run("train", files[0], *options, "--out", out)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert not out.exists()


# Files


def test_an_output_is_asked_for_and_possible(run, files, tmp_path):
    ran = run("train", files[0])
    assert ran.code == 2
    assert "--out" in ran.err
    before = files[0].read_bytes()
    assert run("train", files[0], "--out", files[0]).code == 2
    assert run("train", files[0], "--valid", files[1], "--out", files[1]).code == 2
    assert run("train", tmp_path / "none.txt", "--out", tmp_path / "none" / "model.json").code == 73
    assert files[0].read_bytes() == before


def test_missing_and_malformed_files(run, files, out, tmp_path):
    none = tmp_path / "none.txt"
    for arguments in ((none,), (files[0], "--valid", none)):
        ran = run("train", *arguments, "--out", out)
        assert (ran.code, ran.out) == (66, "")
        assert str(none) in ran.err
    files[0].write_text("1 qid:1 1:x\n")
    assert run("train", files[0], "--out", out).code == 65
    assert not out.exists()


# While it trains


def test_iterations_are_told_where_asked_for(run, files, out):
    arguments = ("train", files[0], "--valid", files[1], *OPTIONS, "--out", out)
    assert run(*arguments).err == ""
    ran = run(*arguments, "--verbose")
    assert ran.code == 0
    header, *lines = ran.err.splitlines()
    assert header.split() == ["alpha", "iteration", "objective", "relative", "gap", "passes", "AP"]
    assert len({len(line) for line in (header, *lines)}) == 1
    assert {line.split()[0] for line in lines} == {"1", "2^4"}
    assert all(float(line.split()[3]) >= 0 for line in lines)


def test_a_line_for_each_iteration(capsys):
    tell = IterationLines("nDCG @ 10")
    tell(Progress("", 0, None, iteration=Iteration(0.03125, 1, 123.456, 12.3456, 2, None)))
    tell(Progress("", 0, None, iteration=Iteration(0.03125, 2, 100.0, 1e-5, 14, 0.51239)))
    assert capsys.readouterr().err.splitlines() == [
        "      alpha  iteration       objective  relative gap  passes  nDCG @ 10",
        "       2^-5          1         123.456       1.0e-01       2          –",
        "       2^-5          2             100       1.0e-07      14     0.5124",
    ]
    tell = IterationLines(None)
    tell(Progress("", 0, None, iteration=Iteration(1.0, 1, 0.0, 0.0, 1, None, fold=3)))
    tell(Progress("", 0, None, iteration=Iteration(1.0, 1, 0.0, 0.0, 2, None)))
    assert capsys.readouterr().err.splitlines() == [
        "      alpha  iteration       objective  relative gap  passes     fold",
        "          1          1               0       0.0e+00       1        3",
        "          1          1               0       0.0e+00       2      all",
    ]


def test_steps_and_gap_can_be_set(run, files, out):
    ran = run("train", files[0], "--alpha", "2^-10", "--max-iter", "1", "--tol", "1e-12", "--out", out, "--verbose")
    assert ran.code == 0
    assert len([line for line in ran.err.splitlines() if line.endswith("all")]) == 1
    assert "warning: alpha = 0.000976562: after 1 steps" in ran.err
    assert run("train", files[0], "--tol", "-1", "--out", out).code == 2


def test_training_that_does_not_converge_is_told(run, files, out, monkeypatch):
    impatient = {**rw.RankSVM.__init__.__kwdefaults__, "max_iter": 1, "tol": 1e-12}
    monkeypatch.setattr(rw.RankSVM.__init__, "__kwdefaults__", impatient)
    ran = run("train", files[0], "--alpha", "2^-10", "--out", out)
    assert ran.code == 0
    assert re.fullmatch("warning: .*after 1 steps.*\n", ran.err)
    assert rw.load_model(out).training_["figures"]["converged"] is False
