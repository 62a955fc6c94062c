"""Commands on text whose queries stand in a file of group sizes beside it, as in LightGBM's examples."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import rankwright as rw


@pytest.fixture(name="folder")
def lightgbm_folder(tmp_path):
    """rank.train and rank.test without qid, their .query files, and the same with qid."""
    made = rw.datasets.make_queries(30, 8, 6, n_informative=3, n_correlated=2, seed=2, dtype=np.float64).queries
    for name, queries in (("rank.train", made[:20]), ("rank.test", made[20:])):
        rows = [" ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1)) for row in queries.X.tolist()]
        grades, ids = queries.y.astype(int).tolist(), (queries.grouping.codes + 1).tolist()
        (tmp_path / name).write_text("".join(f"{y} {row}\n" for y, row in zip(grades, rows, strict=True)))
        (tmp_path / f"{name}.query").write_text("".join(f"{size}\n" for size in queries.sizes))
        named = zip(grades, ids, rows, strict=True)
        (tmp_path / f"{name}.qid").write_text("".join(f"{y} qid:{q} {row}\n" for y, q, row in named))
    return tmp_path


def test_from_the_layout_to_a_model_and_scores(run, folder):
    """The same models and figures as with qid."""
    told = {}
    for ending in ("", ".qid"):
        files = [folder / f"rank.{part}{ending}" for part in ("train", "test")]
        out = folder / f"out{ending}"
        ran = run("fit", files[0], "--test", files[1], "--ranker", "rankrls", "--out", out, "--json")
        assert (ran.code, ran.err) == (0, "")
        scores = folder / f"scores{ending}"
        assert run("predict", out / "model.json", files[1], "--out", scores).code == 0
        evaluated = run("evaluate", scores, files[1], "--measures", "ndcg@5,map", "--json")
        told[ending] = (
            rw.load_model(out / "model.json").coef_.tolist(),
            json.loads(ran.out)["summary"],
            json.loads(evaluated.out)["measures"],
        )
    assert told[""] == told[".qid"]


def test_the_record_of_training_knows_the_file_of_sizes(run, folder):
    assert run("train", folder / "rank.train", "--ranker", "rankrls", "--out", folder / "model.json").code == 0
    (data,) = rw.load_model(folder / "model.json").training_["data"]
    beside = folder / "rank.train.query"
    assert data["groups"] == {"name": beside.name, "sha256": hashlib.sha256(beside.read_bytes()).hexdigest()}
    assert data["sha256"] == hashlib.sha256((folder / "rank.train").read_bytes()).hexdigest()
    assert run("train", folder / "rank.train.qid", "--ranker", "rankrls", "--out", folder / "model.json").code == 0
    (data,) = rw.load_model(folder / "model.json").training_["data"]
    assert "groups" not in data


def test_the_report_names_the_file_of_sizes(run, folder):
    assert run("fit", folder / "rank.train", "--ranker", "rankrls", "--out", folder / "out").code == 0
    page = (folder / "out" / "report.html").read_text()
    assert hashlib.sha256((folder / "rank.train.query").read_bytes()).hexdigest() in page


def test_parts_of_a_fit_with_other_sizes_are_not_taken(folder):
    """The fingerprint that finished parts are kept under changes with the sizes."""
    from rankwright.cli.training_record import digests_of

    files = {"train": folder / "rank.train"}
    with digests_of(files) as before:
        pass
    sizes = (folder / "rank.train.query").read_text().split()
    (folder / "rank.train.query").write_text("\n".join(reversed(sizes)))
    with digests_of(files) as after:
        pass
    assert before["train"] == after["train"]
    assert before != after
    with pytest.raises(rw.ParseError, match=r"rank.train.query: the file was changed"), digests_of(files):
        (folder / "rank.train.query").write_text("\n".join(sizes))


def test_without_sizes_it_is_told_once(run, folder):
    (folder / "rank.train.query").unlink()
    rows = len((folder / "rank.train").read_text().splitlines())
    words = f"The file has no qid: column, so all {rows:,} rows were read as one query."
    ran = run("inspect", folder / "rank.train")
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert ran.err.startswith(f"warning: {folder / 'rank.train'}: {words}")
    assert f"into {folder / 'rank.train'}.query" in ran.err
    ran = run("fit", folder / "rank.train", "--out", folder / "out")
    assert (ran.code, ran.err.count("\n")) == (65, 1)
    assert ran.err.startswith(f"error: {folder / 'rank.train'}: {words}")


def test_sizes_that_do_not_add_up(run, folder):
    with (folder / "rank.train.query").open("a") as file:
        file.write("7\n")
    for command in (["inspect"], ["fit", "--out", folder / "out"], ["train", "--out", folder / "m"], ["select"]):
        ran = run(command[0], folder / "rank.train", *command[1:])
        assert ran.code == 65
        assert "rank.train.query: its sizes of 21 queries add up to" in ran.err
        assert f"but {folder / 'rank.train'} has" in ran.err
