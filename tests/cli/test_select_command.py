"""``rankwright select``: what it tells is what the library found."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import rankwright as rw
from rankwright.cli.select import parse_alphas
from rankwright.evaluation.tables import regularisation

NAMES = ["bm25", "pagerank", "title [tf]", "url length", "clicks", "age"]


@pytest.fixture(name="run")
def run_on_features_as_they_are(run_as_is):
    return run_as_is


@pytest.fixture(scope="module", name="parts")
def training_and_validation():
    drawn = rw.datasets.make_queries(
        30, 8, 6, n_informative=3, n_correlated=2, noise=0.5, seed=2, dtype=np.float64
    ).queries
    return drawn[:20], drawn[20:]


@pytest.fixture(name="files")
def text_files(parts, tmp_path):
    paths = tmp_path / "train.txt", tmp_path / "vali.txt"
    for queries, path in zip(parts, paths, strict=True):
        rw.write_svmlight(queries, path)
    return paths


@pytest.fixture(name="named")
def parquet_with_names(parts, tmp_path):
    queries = parts[0]
    path = tmp_path / "train.parquet"
    rw.write_parquet(rw.Queries(queries.X, queries.y, queries.qid, feature_names=NAMES), path)
    return path


def fitted(parts, *, on_valid=True, most=4, alphas=(1, 16), measures="map,ndcg@5", **options):
    """The same selection, by the library."""
    n_features = rw.search(*range(1, most + 1))
    ranker = rw.GreedyRankRLS(alpha=rw.search(*alphas), n_features=n_features, measures=measures, **options)
    return ranker.fit(parts[0], valid=parts[1] if on_valid else None)


OPTIONS = ("--max-features", 4, "--alpha", "1,16", "--measures", "map,ndcg@5")
_STEP = re.compile(r"(?P<mark>[▶>]?)[ |]*(?P<step>\d+)[ |]+(?P<feature>[+-]\d+(?: [^\s|]+)*)[ |]{2,}(?P<rest>\d.*)")


def steps_of(out):
    """The lines of the path that is printed, as (mark, step, feature, numbers and bar)."""
    found = [_STEP.fullmatch(line.rstrip()) for line in out.partition("chosen:")[0].splitlines()]
    return [(m["mark"], int(m["step"]), m["feature"], re.split(r"[ |]+", m["rest"])) for m in found if m]


@pytest.mark.parametrize("on_valid", [True, False])
def test_prints_the_path_of_the_library(run, parts, files, on_valid):
    train, vali = files
    ran = run("select", train, *(("--valid", vali) if on_valid else ()), *OPTIONS)
    assert (ran.code, ran.err) == (0, "")
    ranker = fitted(parts, on_valid=on_valid)
    printed = steps_of(ran.out)
    assert [step for _, step, _, _ in printed] == list(range(1, len(ranker.path_) + 1))
    for (mark, _, feature, cells), step in zip(printed, ranker.path_, strict=True):
        estimates = step.valid if on_valid else step.lqo
        numbers = [step.criterion, estimates[rw.AP].mean, estimates[rw.nDCG @ 5].mean]
        assert feature == f"+{step.feature + 1}"
        assert cells[:3] == [f"{value:.4f}" for value in numbers]
        assert mark == ("▶" if list(step.selected) == list(ranker.selected_features_) else "")
    chosen = f"alpha {ranker.alpha_:g}, {len(ranker.selected_features_)} feature"
    assert chosen in ran.out
    assert ("validation queries" in ran.out) == on_valid


def test_bars_reach_from_the_lowest_to_the_highest(run, files):
    ran = run("select", files[0], "--valid", files[1], "--alpha", "1", "--max-features", 6)
    values = [float(cells[1]) for _, _, _, cells in steps_of(ran.out)]
    bars = [cells[3] if len(cells) > 3 else "" for _, _, _, cells in steps_of(ran.out)]
    low, high = min(values), max(values)
    assert high > low
    for value, bar in zip(values, bars, strict=True):
        part = "▏▎▍▌▋▊▉".find(bar[-1:]) + 1 if bar and bar[-1] != "█" else 0
        length = bar.count("█") + part / 8
        assert length == pytest.approx(16 * (value - low) / (high - low), abs=0.1 + 16 * 1e-4 / (high - low))


def test_without_unicode_it_prints_ascii(files):
    ran = subprocess.run(
        [sys.executable, "-m", "rankwright", "select", *files[:1], "--alpha", "1"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert ran.returncode == 0
    out = ran.stdout.decode("ascii")
    assert "?" not in out
    assert "#" * 16 in out
    assert [mark for mark, *_ in steps_of(out)].count(">") == 1


def test_weights_and_pareto_front(run, parts, files):
    ran = run("select", files[0], "--valid", files[1], *OPTIONS)
    ranker = fitted(parts)
    weights = {int(n): float(w) for n, w in re.findall(r"(\d+) ([+-][\d.e-]+)", ran.out.split("weights:")[1])}
    assert weights == pytest.approx({f + 1: ranker.coef_[f] for f in ranker.selected_features_}, rel=1e-3)
    assert [abs(weight) for weight in weights.values()] == sorted(map(abs, weights.values()), reverse=True)
    lines = [line.split() for line in ran.out.split("Pareto front")[1].splitlines()[3:] if line.strip()]
    points = ranker.pareto_front_
    assert [line[:3] for line in lines] == [
        [str(p.n_features), f"{p.value:.4f}", regularisation(p.alpha)] for p in points
    ]
    assert [line[3:] for line in lines] == [[str(f + 1) for f in p.step.selected] for p in points]


def test_json_has_the_numbers_of_the_library(run, parts, files):
    ran = run("select", files[0], "--valid", files[1], *OPTIONS, "--json")
    assert (ran.code, ran.err) == (0, "")
    told, ranker = json.loads(ran.out), fitted(parts)
    assert (told["judged_on"], told["measures"]) == ("valid", ["AP", "nDCG @ 5"])
    assert (told["alpha"], told["n_features"]) == (ranker.alpha_, len(ranker.selected_features_))
    assert [item["feature"] - 1 for item in told["features"]] == list(ranker.selected_features_)
    np.testing.assert_allclose([i["weight"] for i in told["features"]], ranker.coef_[ranker.selected_features_])
    assert told["path"][told["chosen_step"] - 1]["selected"] == [item["feature"] for item in told["features"]]
    assert [row["criterion"] for row in told["path"]] == pytest.approx([step.criterion for step in ranker.path_])
    front = [(p.alpha, p.n_features, p.value) for p in ranker.pareto_front_]
    assert [(p["alpha"], p["n_features"], p["AP"]) for p in told["pareto_front"]] == front


def test_options_reach_the_library(run, parts, files):
    asked = (
        *("--convention", "letor4", "--rule", "one-standard-error", "--criterion", "ndcg@3", "--floating"),
        *("--candidates", 3, "--seed", 7, "--json"),
    )
    told = json.loads(run("select", files[0], "--valid", files[1], *OPTIONS, *asked).out)
    ranker = fitted(
        parts,
        convention="letor4",
        rule="one-standard-error",
        criterion=rw.nDCG @ 3,
        floating=True,
        candidates=3,
        random_state=7,
    )
    assert told["alpha"] == ranker.alpha_
    assert [item["feature"] - 1 for item in told["features"]] == list(ranker.selected_features_)
    assert [row["selected"] for row in told["path"]] == [[f + 1 for f in step.selected] for step in ranker.path_]
    assert [row["action"] for row in told["path"]] == [step.action for step in ranker.path_]
    assert [row["criterion"] for row in told["path"]] == pytest.approx([step.criterion for step in ranker.path_])


def test_auto_is_the_grid_of_the_library(run, parts, files):
    told = json.loads(run("select", files[0], "--max-features", 4, "--measures", "map,ndcg@5", "--json").out)
    assert told["alpha"] == fitted(parts, on_valid=False, alphas=()).alpha_


def test_ten_features_at_most_or_all_there_are(run, files):
    assert len(json.loads(run("select", files[0], "--alpha", "1", "--json").out)["path"]) == 6


# The file of all paths


def expected_rows(ranker):
    return [(path.alpha, number, step) for path in ranker.paths_ for number, step in enumerate(path, start=1)]


def test_paths_as_csv(run, parts, files, tmp_path):
    path = tmp_path / "path.csv"
    assert run("select", files[0], "--valid", files[1], *OPTIONS, "--out", path).code == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = expected_rows(fitted(parts))
    assert {alpha for alpha, _, _ in expected} == {1.0, 16.0}
    for row, (alpha, number, step) in zip(rows, expected, strict=True):
        assert (float(row["alpha"]), int(row["step"]), row["action"]) == (alpha, number, "add")
        assert (int(row["feature"]), row["name"]) == (step.feature + 1, f"f{step.feature + 1}")
        assert [int(word) for word in row["selected"].split()] == [feature + 1 for feature in step.selected]
        np.testing.assert_allclose([float(word) for word in row["weights"].split()], step.weights)
        assert float(row["criterion"]) == pytest.approx(step.criterion)
        assert float(row["valid AP"]) == pytest.approx(step.valid[rw.AP].mean)
        assert float(row["valid AP standard error"]) == pytest.approx(step.valid[rw.AP].standard_error)


def test_paths_as_json(run, parts, files, tmp_path):
    path = tmp_path / "path.JSON"
    assert run("select", files[0], *OPTIONS, "--out", path).code == 0
    rows = json.loads(path.read_text())
    for row, (alpha, number, step) in zip(rows, expected_rows(fitted(parts, on_valid=False)), strict=True):
        assert (row["alpha"], row["step"], row["feature"]) == (alpha, number, step.feature + 1)
        assert row["selected"] == [feature + 1 for feature in step.selected]
        assert row["lqo nDCG @ 5"] == pytest.approx(step.lqo[rw.nDCG @ 5].mean)


def test_a_path_file_that_cannot_be(run, files, tmp_path):
    none = tmp_path / "none.txt"
    assert run("select", none, "--out", tmp_path / "path.xlsx").code == 2
    assert run("select", none, "--out", tmp_path / "none" / "path.csv").code == 73
    own = tmp_path / "data.csv"
    own.write_bytes(files[0].read_bytes())
    assert run("select", own, "--out", own).code == 2
    assert own.read_bytes() == files[0].read_bytes()


# Costs


def write_costs(path, costs):
    path.write_text("feature,cost\n" + "".join(f"{feature},{cost}\n" for feature, cost in costs))
    return path


def test_costs_by_number(run, parts, files, tmp_path):
    costs = [5, 1, 2.5, 8, 0.5, 1]
    path = write_costs(tmp_path / "costs.csv", [(i + 1, cost) for i, cost in enumerate(costs)][::-1])
    ran = run("select", files[0], "--valid", files[1], *OPTIONS, "--costs", path)
    assert ran.code == 0
    ranker = fitted(parts, feature_costs=costs)
    printed = [float(cells[3]) for *_, cells in steps_of(ran.out)]
    assert printed == pytest.approx([sum(costs[f] for f in step.selected) for step in ranker.path_])
    told = json.loads(run("select", files[0], "--valid", files[1], *OPTIONS, "--costs", path, "--json").out)
    assert [point["cost"] for point in told["pareto_front"]] == [point.cost for point in ranker.pareto_front_]


def test_names_are_told_and_cost_by_name(run, named, tmp_path):
    path = write_costs(tmp_path / "costs.csv", [(name, i + 1) for i, name in enumerate(NAMES)])
    ran = run("select", named, "--alpha", "1", "--costs", path)
    assert (ran.code, ran.err) == (0, "")
    features = [feature for _, _, feature, _ in steps_of(ran.out)]
    assert sorted(features) == [f"+{i + 1} {name}" for i, name in enumerate(NAMES)]
    assert float(steps_of(ran.out)[-1][3][3]) == 1 + 2 + 3 + 4 + 5 + 6


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("number,price\n1,2\n", "line 1"),
        ("feature,cost\n1,2\n9,1\n", "line 3"),
        ("feature,cost\n1,2\n0,1\n", "line 3"),
        ("feature,cost\n1,2\n1,1\n", "is listed twice"),
        ("feature,cost\n1,0\n", "above 0"),
        ("feature,cost\n1,cheap\n", "cheap"),
        ("feature,cost\n1\n", "line 2"),
        ("feature,cost\n1,1,5\n", "more fields"),
        ("feature,cost\n1,1\n2,1\n3,1\n5,1\n6,1\n", "no cost for feature 4"),
        ("", "line 1"),
    ],
)
def test_malformed_costs(run, files, tmp_path, text, told):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    ran = run("select", files[0], "--costs", path)
    assert (ran.code, ran.out) == (65, "")
    assert told in ran.err
    assert "costs.csv" in ran.err


# Alphas


@pytest.mark.parametrize(
    ("text", "alphas"),
    [
        ("auto", ()),
        ("1,2,4", (1, 2, 4)),
        ("0.5", (0.5,)),
        ("2^-1, 1e3", (0.5, 1000)),
        ("2^0..2^10", tuple(2**power for power in range(11))),
        ("10^-2..10^1", (0.01, 0.1, 1, 10)),
        ("0.25,2^3..2^4,100", (0.25, 8, 16, 100)),
    ],
)
def test_alphas(text, alphas):
    assert parse_alphas(text) == pytest.approx(alphas)


@pytest.mark.parametrize(
    "text", ["", "1,,2", "many", "1..4", "2^0..3^4", "2^4..2^0", "2^1.5", "2^99999", "1^0..1^9", "0", "-1", "nan"]
)
def test_what_is_no_alpha(run, tmp_path, text):
    ran = run("select", tmp_path / "none.txt", "--alpha", text)
    assert (ran.code, ran.out) == (2, "")
    assert "--alpha" in ran.err


# What cannot be


@pytest.mark.parametrize(
    "option",
    [
        ("--measures", "ndgc@10"),
        ("--convention", "letor5"),
        ("--rule", "worst"),
        ("--criterion", "squared"),
        ("--criterion", "map,ndcg@10"),
        ("--max-features", "0"),
        ("--seed", "-1"),
    ],
)
def test_wrong_options_are_told_before_anything_is_read(run, tmp_path, option):
    ran = run("select", tmp_path / "none.txt", *option)
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize("option", [("--max-features", 7), ("--candidates", 0)])
def test_options_that_the_data_or_the_library_refuse(run, files, option):
    ran = run("select", files[0], *option)
    assert (ran.code, ran.out) == (2, "")


def test_missing_files(run, files, tmp_path):
    none = tmp_path / "none"
    for arguments in ((none,), (files[0], "--valid", none), (files[0], "--costs", none)):
        ran = run("select", *arguments)
        assert (ran.code, ran.out) == (66, "")
        assert str(none) in ran.err


def test_features_that_a_text_does_not_show_are_zero(run, parts, files):
    """The last feature is 0 in all validation queries, and so not in the text."""
    train, vali = parts
    x = vali.X.copy()
    x[:, -1] = 0
    held_out = rw.Queries(x, vali.y, vali.qid)
    lines = [line.rpartition(" 6:")[0] or line for line in files[1].read_text().splitlines()]
    files[1].write_text("\n".join(lines) + "\n")
    told = json.loads(run("select", files[0], "--valid", files[1], *OPTIONS, "--json").out)
    ranker = fitted((train, held_out))
    assert [row["valid AP"] for row in told["path"]] == pytest.approx([s.valid[rw.AP].mean for s in ranker.path_])


def test_validation_data_in_another_order_are_matched_by_name(run, parts, named, tmp_path):
    vali = parts[1]
    told = []
    for order in (slice(None), slice(None, None, -1)):
        path = tmp_path / "vali.parquet"
        rw.write_parquet(rw.Queries(vali.X[:, order], vali.y, vali.qid, feature_names=NAMES[order]), path)
        told.append(run("select", named, "--valid", path, *OPTIONS, "--json"))
    assert told[0].code == 0
    assert told[0] == told[1]


def test_validation_data_with_other_features(run, parts, named, tmp_path):
    vali, narrow = parts[1], tmp_path / "narrow.parquet"
    rw.write_parquet(rw.Queries(vali.X[:, :4], vali.y, vali.qid, feature_names=NAMES[:4]), narrow)
    ran = run("select", named, "--valid", narrow)
    assert (ran.code, ran.out) == (65, "")
    assert f"narrow.parquet does not have the same features as {named}: '{NAMES[4]}' is missing" in ran.err
