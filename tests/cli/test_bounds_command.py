"""``rankwright bounds`` and ``rankwright study bounds``."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankwright as rw


@pytest.fixture(scope="module", name="files")
def trained_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bounds")
    queries = rw.datasets.make_queries(60, 7, 6, n_informative=3, n_correlated=2, seed=2, dtype=np.float64).queries
    rw.write_svmlight(queries, folder / "train.txt")
    ranker = rw.RankRLS().fit(queries)
    rw.save_model(ranker, folder / "model.json")
    rw.save_model(rw.RankBoost(n_rounds=3).fit(queries), folder / "boosted.json")
    return folder, ranker, queries


def test_terms_constants_and_verdict_are_printed(run, files):
    folder, *_ = files
    ran = run("bounds", folder / "model.json", folder / "train.txt", "--delta", "0.1")
    assert (ran.code, ran.err) == (0, "")
    for word in ("empirical risk", "complexity", "confidence", "Λ₀", "probability 0.9", "vacuous", "note:"):
        assert word in ran.out


def test_json_has_what_python_has(run, files):
    folder, ranker, queries = files
    ran = run("bounds", folder / "model.json", folder / "train.txt", "--kind", "corollary1,theorem4,argmax", "--json")
    found = json.loads(ran.out)["bounds"]
    assert [bound["kind"] for bound in found] == ["corollary1", "theorem4", "argmax"]
    for told in found:
        bound = rw.theory.risk_bound(ranker, queries, kind=told["kind"])
        assert told["bound"]["log10"] == pytest.approx(bound.log_total / np.log(10))
        assert told["vacuous"] == bound.is_vacuous
        assert {c["symbol"] for c in told["constants"]} >= {"B", "δ_B"}


def test_all_leaves_out_what_does_not_fit_and_says_so(run, files):
    folder, *_ = files
    ran = run("bounds", folder / "model.json", folder / "train.txt", "--kind", "all", "--json")
    told = json.loads(ran.out)
    assert set(told["left_out"]) == {"theorem3", "corollary2"}
    assert "full rankings" in told["left_out"]["theorem3"]
    assert [bound["kind"] for bound in told["bounds"]] == [
        *("corollary1", "theorem4", "corollary3", "argmax", "softmax")
    ]
    assert "left out: theorem3" in run("bounds", folder / "model.json", folder / "train.txt", "--kind", "all").out


def test_the_measure_is_that_asked_for(run, files):
    folder, ranker, queries = files
    ran = run("bounds", folder / "model.json", folder / "train.txt", "--measure", "ndcg@3", "--json")
    bound = rw.theory.risk_bound(ranker, queries, measure="ndcg@3")
    assert json.loads(ran.out)["bounds"][0]["bound"]["value"] == pytest.approx(bound.total)
    assert "nDCG @ 3" in ran.out


def test_given_constants_are_used(run, files):
    folder, _, queries = files
    longest = np.linalg.norm(queries.X, axis=1).max()
    ran = run(
        "bounds",
        folder / "model.json",
        folder / "train.txt",
        "--kind",
        "corollary1",
        "--B",
        "4",
        "--M",
        longest + 1,
        "--json",
    )
    constants = {c["symbol"]: c["value"] for c in json.loads(ran.out)["bounds"][0]["constants"]}
    assert (constants["B"], constants["M"], constants["δ_B"]) == (4.0, longest + 1, 0.05)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("model.json", "train.txt", "--kind", "theorem9"), 2, "--kind"),
        (("model.json", "train.txt", "--delta", "2"), 2, "delta"),
        (("model.json", "train.txt", "--B", "-1"), 2, "B must"),
        (("model.json", "train.txt", "--M", "100"), 2, "M has no effect"),
        (("model.json", "train.txt", "--temperature", "2"), 2, "temperature has no effect"),
        (("model.json", "train.txt", "--measure", "bogus"), 2, "bogus"),
        (("model.json", "train.txt", "--measure", "map"), 2, "nDCG"),
        (("model.json", "train.txt", "--kind", "corollary1", "--measure", "map"), 2, "measure has no effect"),
        (("model.json", "train.txt", "--kind", "corollary1", "--M", "0.001"), 2, "M ="),
        (("model.json", "train.txt", "--constants", "some"), 2, "constants"),
        (("model.json", "train.txt", "--kind", "argmax", "--measure", "err"), 2, "measure"),
        (("model.json", "train.txt", "--kind", "theorem3"), 65, "train.txt: query"),
        (("boosted.json", "train.txt"), 2, "linear"),
        (("none.json", "train.txt"), 66, "none.json"),
        (("model.json", "none.txt"), 66, "none.txt"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(run, files, arguments, code, told):
    folder, *_ = files
    paths = [folder / word for word in arguments[:2]]
    ran = run("bounds", *paths, *arguments[2:])
    assert ran.code == code
    assert told in ran.err


def test_study_writes_a_table_and_a_picture(run, files, tmp_path):
    folder, *_ = files
    ran = run("study", "bounds", folder / "train.txt", "--sizes", "30,40", "--repeats", "1", "--out", tmp_path / "out")
    assert (ran.code, ran.err) == (0, "")
    assert "corollary 1" in ran.out
    assert (tmp_path / "out" / "bounds.csv").read_text().count("\n") == 3
    assert (tmp_path / "out" / "bounds.svg").read_text().startswith("<svg")


def test_study_as_json(run, files):
    folder, *_ = files
    ran = run("study", "bounds", folder / "train.txt", "--sizes", "30", "--repeats", "1", "--json")
    assert json.loads(ran.out)["points"][0]["queries"] == 30


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--sizes", "many"), "--sizes"),
        (("--sizes", "0"), "--sizes"),
        (("--sizes", "1000"), "sizes"),
        (("--repeats", "0"), "--repeats"),
        (("--delta", "0"), "delta"),
        (("--measure", "err"), "measure"),
    ],
)
def test_study_tells_what_is_wrong_and_writes_nothing(run, files, tmp_path, options, told):
    folder, *_ = files
    ran = run("study", "bounds", folder / "train.txt", *options, "--out", tmp_path / "out")
    assert ran.code == 2
    assert told in ran.err
    assert not (tmp_path / "out").exists()


def test_study_does_not_take_a_file_for_its_folder(run, files):
    folder, *_ = files
    assert "--out" in run("study", "bounds", folder / "train.txt", "--out", folder / "model.json").err
