"""The options for columns: the same on every command that reads data, from training to explanation."""

import csv
import json

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import typer.main

import rankwright as rw
from rankwright.cli.main import app

OPTIONS = ("--label", "--qid", "--doc", "--features", "--one-hot", "--column-description")
COLUMNS = ("--label", "grade", "--qid", "query", "--doc", "url")
NAMES = ["grade", "query", "url", "title", "kind", "bm25", "clicks"]


def rows(seed, kinds):
    rng = np.random.default_rng(seed)
    for q in range(20):
        for d in range(8):
            kind, bm25, clicks = rng.choice(kinds), rng.normal(), int(rng.integers(50))
            grade = int(np.clip(round(bm25 + 2 * (kind == "book")), 0, 3))
            yield {"grade": grade, "query": f"q{q}", "url": f"u{q}-{d}", "title": f"t{d}, {q}", "kind": kind,
                   "bm25": float(bm25), "clicks": clicks}  # fmt: skip


@pytest.fixture(name="folder")
def tables(tmp_path, monkeypatch):
    """Training data, and test data in another order, with other kinds and one more column."""
    monkeypatch.chdir(tmp_path)
    for name, names, made, delimiter in (
        ("train.csv", NAMES, rows(1, ["book", "shoe", "toy"]), ","),
        ("test.csv", [*NAMES[::-1], "new"], rows(2, ["book", "shoe", "garden"]), ";"),
    ):
        with (tmp_path / name).open("w", newline="") as file:
            table = csv.DictWriter(file, names, delimiter=delimiter, restval="x")
            table.writeheader()
            table.writerows(made)
    with (tmp_path / "test.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(2, ["book", "shoe", "garden"]))
    return tmp_path


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_every_command_that_reads_data_has_them():
    with_options = {
        " ".join(path)
        for path, command in commands(typer.main.get_command(app))
        if set(OPTIONS) <= {option for parameter in command.params for option in parameter.opts}
    }
    reading = {"fit", "evaluate", "inspect", "convert", "select", "train", "predict", "explain", "bounds", "certify"}
    assert with_options == reading | {"study bounds"}


def test_a_model_knows_its_features_and_values(run, folder):
    ran = run(
        "fit", "train.csv", "--test", "test.csv", *COLUMNS, "--one-hot", "kind", "--ranker", "rankrls", "--out", "r"
    )
    assert ran.code == 0
    assert ran.err.count("\n") == 1  # nothing of the test data, which follow the training data
    assert ran.err.startswith("warning: train.csv: left out 1 column that is not numeric: 'title' (text, 160 distinct")
    model = rw.load_model("r/model.json")
    assert model.feature_names_in_.tolist() == ["kind=book", "kind=shoe", "kind=toy", "bm25", "clicks"]
    expected = [
        model.coef_ @ [row["kind"] == "book", row["kind"] == "shoe", row["kind"] == "toy", row["bm25"], row["clicks"]]
        for row in rows(2, ["book", "shoe", "garden"])
    ]
    for data in ("test.csv", "test.jsonl"):
        ran = run("predict", "r/model.json", data, *COLUMNS, "--out", "scores.txt")
        assert (ran.code, ran.err) == (0, "")
        np.testing.assert_allclose(np.loadtxt("scores.txt"), expected, rtol=1e-6)
        ran = run("evaluate", "scores.txt", data, *COLUMNS, "--json")
        assert (ran.code, ran.err) == (0, "")
        measured = json.loads(ran.out)["measures"][0]["mean"]
        certified = run("certify", "r/model.json", data, *COLUMNS, "--json")
        assert (certified.code, certified.err) == (0, "")
        assert json.loads(certified.out)["mean"] == pytest.approx(measured)
        explained = run("explain", "r/model.json", data, *COLUMNS, "--query", "q3")
        assert (explained.code, explained.err) == (0, "")
        assert "kind=book" in explained.out
    assert run("bounds", "r/model.json", "train.csv", *COLUMNS).code == 0


def test_the_same_features_for_each_command(run, folder):
    chosen = (*COLUMNS, "--features", "b*,clicks")
    ran = run("inspect", "train.csv", *chosen, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["n_features"] == 2
    assert run("convert", "train.csv", "train.parquet", *chosen).code == 0
    assert rw.read_queries("train.parquet").feature_names == ("bm25", "clicks")
    assert run("convert", "test.csv", "test.txt", *chosen).code == 0
    models = []
    for train, valid, options in (("train.csv", "test.csv", chosen), ("train.parquet", "test.txt", ())):
        if valid == "test.txt":  # text has numbers
            names = ("f1", "f2")
            queries = rw.read_queries(train)
            rw.write_parquet(rw.Queries(queries.X, queries.y, queries.qid, feature_names=names), train)
        ran = run("train", train, "--valid", valid, *options, "--ranker", "rankrls", "--out", "model.json", "--json")
        assert ran.code == 0
        models.append(rw.load_model("model.json").coef_)
    np.testing.assert_allclose(*models)
    ran = run("select", "train.csv", "--valid", "test.csv", *COLUMNS, "--features=-clicks,-title,-kind", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert len(json.loads(ran.out)["path"]) == 1


def test_evaluate_looks_at_no_features(run, folder):
    (folder / "data.csv").write_text("label,qid,price\n1,a,abc\n0,a,5\n1,a,6\n")
    (folder / "scores.txt").write_text("3\n2\n1\n")
    assert run("evaluate", "scores.txt", "data.csv").err == ""
    assert run("inspect", "data.csv").code == 65


def test_features_of_text_by_number(run, folder):
    (folder / "data.txt").write_text("1 qid:1 1:1 3:2\n0 qid:1 1:2 2:5 3:1\n1 qid:2 1:1 3:3\n0 qid:2 1:3 3:1\n")
    (folder / "short.txt").write_text("0 qid:1 1:7 2:1\n")
    for given, names in (("3,f1", ["f3", "f1"]), ("-2", ["f1", "f3"]), ("f*,!f1", ["f2", "f3"])):
        assert run("train", "data.txt", "--features", given, "--ranker", "rankrls", "--out", "model.json").code == 0
        model = rw.load_model("model.json")
        assert model.feature_names_in_.tolist() == names
        ran = run("predict", "model.json", "data.txt")
        columns = [int(name[1:]) - 1 for name in names]
        np.testing.assert_allclose(
            np.loadtxt(ran.out.splitlines()), model.predict(rw.read_queries("data.txt").X[:, columns])
        )
        ran = run("predict", "model.json", "short.txt")  # feature 3 is 0 there
        expected = np.array([[[7, 1, 0][column] for column in columns]])
        np.testing.assert_allclose(float(ran.out), model.predict(expected)[0], rtol=1e-6)


def test_documents_without_grades_are_scored(run, folder):
    run("fit", "train.csv", *COLUMNS, "--one-hot", "kind", "--ranker", "rankrls", "--out", "r")
    judged = run("predict", "r/model.json", "test.csv", *COLUMNS)
    features = ["kind=book", "kind=shoe", "bm25", "clicks"]
    table = rw.read_queries("test.csv", label="grade", qid="query", features=features)
    plain = table.to_frame("pyarrow").drop_columns("label")
    text = ["book" if b else "shoe" if s else "" for b, s in table.X[:, :2]]
    for name, write in (("new.csv", pa_csv.write_csv), ("new.parquet", pq.write_table)):
        write(plain.append_column("kind", [text]), name)
        ran = run("predict", "r/model.json", name)
        assert (ran.code, ran.err) == (0, "")
        np.testing.assert_allclose(np.loadtxt(ran.out.splitlines()), np.loadtxt(judged.out.splitlines()), rtol=1e-6)
        assert run("evaluate", "scores.txt", name).code == 65
        ran = run("predict", "r/model.json", name, "--label", "grade")
        assert "there is no column 'grade' (label)" in ran.err
