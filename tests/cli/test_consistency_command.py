"""``rankwright consistency``."""

from __future__ import annotations

import json

import pytest

from rankwright.theory.consistency.demonstrations import NAMES


def test_one_demonstration(run):
    ran = run("consistency", "low-noise")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Preference graphs")
    assert "Full rankings" not in ran.out


def test_all_demonstrations_as_json(run):
    ran = run("consistency", "--json")
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)["demonstrations"]
    assert tuple(one["name"] for one in told) == NAMES
    assert [row["difference"] for row in told[0]["rows"]] == ["1/48", "-1/24"]


def test_a_question(run):
    ran = run("consistency", "--measure", "err", "--labels", "0,1", "--items", 4)
    assert ran.code == 0
    assert "43/96 for 1 ≻ 3 ≻ 2 ≻ 4" in ran.out
    assert ran.out.endswith("The proof was checked.\n")


@pytest.mark.parametrize(
    ("measure", "labels", "exists"), [("p@1", "0,1,2", True), ("zeroone", "rankings", False), ("wpd", "graphs", False)]
)
def test_questions_as_json(run, measure, labels, exists):
    told = json.loads(run("consistency", "--measure", measure, "--labels", labels, "--json").out)
    assert (told["exists"], told["verified"]) == (exists, True)
    assert ("r" in told, "comparisons" in told) == (exists, not exists)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["frobnicate"], "there are theorem-3, preorder"),
        (["preorder", "--measure", "ap"], "not both"),
        (["--measure", "ap", "--items", 7], "5,040 orders (n!)"),
        (["--measure", "ap", "--labels", "low,high"], "numbers separated by commas"),
        (["--measure", "frobnicate"], "not a measure"),
        (["--measure", "wpd", "--labels", "graphs", "--items", 5], "at most 4"),
    ],
)
def test_what_is_refused(run, arguments, problem):
    ran = run("consistency", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err


def test_help_has_examples(run):
    ran = run("consistency", "--help")
    assert ran.code == 0
    assert "rankwright consistency --measure ap --labels 0,1 --items 4" in ran.out


@pytest.mark.parametrize("options", [("--labels", "0,1,2"), ("--items", "4")])
def test_labels_and_items_without_a_measure_are_refused(run, options):
    ran = run("consistency", *options)
    assert ran.code == 2
    assert "--measure" in ran.err
