"""Commands on Spark, and what Ctrl-C does to them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from tests.clusters.made import commands_told, dirty_queries, run, written

pytestmark = pytest.mark.peers


def test_commands_do_on_spark_what_they_do_here(spark, tmp_path, capsys):
    known = dirty_queries(60)
    train, test = tmp_path / "train", tmp_path / "test.txt"
    train.mkdir()
    written(known[:40], train, 3, "txt")
    rw.write_queries(known[40:], test)
    found = []
    for engine in ("local", "spark=local[2]"):
        out = tmp_path / engine[:5]
        out.mkdir()
        fit = ("--valid", test, "--ranker", "rankrls", "--transform", "none")
        ranker = ("--ranker", "rankrls")
        found.append(commands_told(engine, train, test, out, capsys, n_features=2, ranker=ranker, fit=fit))
    (told, scores), (told_on_spark, scores_on_spark) = found
    assert told_on_spark == told
    np.testing.assert_allclose(scores_on_spark, scores, rtol=1e-9)


def test_one_file_is_cut_for_all_cores_and_text_is_made_alike(spark, tmp_path):
    from rankwright.clusters.loading import Reading
    from rankwright.data.table_columns import TableColumns

    known = dirty_queries(30)
    (path,) = written(known, tmp_path, 1, "txt")
    queries = rw.spark.load(path, Reading(TableColumns()), None, shuffle=False, memory="1GB")
    assert queries.n_parts == 2
    np.testing.assert_array_equal(queries.in_memory().X, rw.read_queries(path).X)
    with (tmp_path / "wide.txt").open("w") as file:
        file.write("1 qid:other 12:1.5\n0 qid:other 1:7\n")
    both = rw.spark.load(tmp_path, Reading(TableColumns()), None, shuffle=False, memory="1GB")
    assert both.n_features == 12
    assert both.n_queries == 31


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("1 qid:1 1:1\n0 qid:1 1:oops\n", "a.txt, line 2, column "),
        ("1 qid:1 1:1\n0 qid:2 1:1\n", "query 2 is split: some of its rows are in a.txt and some in b.txt"),
    ],
)
def test_bad_files_are_told_in_the_same_words(spark, tmp_path, capsys, content, told):
    (tmp_path / "a.txt").write_text(content)
    (tmp_path / "b.txt").write_text("1 qid:2 1:1\n0 qid:3 1:1\n")
    assert run("train", tmp_path, "--engine", "spark", "--out", tmp_path / "model.json") == 65
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("ranker", ["rankrls", "ranksvm", "structured"])
def test_equal_parts_give_equal_bits_on_dask_and_spark(spark, client, tmp_path, ranker):
    written(dirty_queries(40), tmp_path, 2, "txt")
    models = []
    for engine in ("spark", f"dask={client.scheduler.address}"):
        models.append(tmp_path / f"{engine[:4]}.json")
        options = ("--alpha", "100", "--engine", engine, "--out", models[-1])
        assert run("train", tmp_path / "part-*.txt", "--ranker", ranker, *options) == 0
    on_spark, on_dask = (rw.load_model(model).coef_ for model in models)
    np.testing.assert_array_equal(on_spark, on_dask)


def test_another_master_is_refused_while_a_session_is_active(spark, tmp_path, capsys):
    (path,) = written(dirty_queries(5), tmp_path, 1, "txt")
    assert run("train", path, "--engine", "spark=spark://127.0.0.1:1", "--out", tmp_path / "model.json") == 2
    assert "a Spark session at 'local[2]' is active" in capsys.readouterr().err


@pytest.mark.parametrize("pause", [0.0, 15.0])
def test_ctrl_c_ends_the_work_and_spark(spark, tmp_path, pause):
    """``spark`` says whether there is one; the command starts its own."""
    psutil = pytest.importorskip("psutil")
    data = tmp_path / "train.parquet"
    rw.write_queries(rw.datasets.make_queries(n_queries=300, documents=40, n_features=20, seed=1).queries, data)
    command = [Path(sys.executable).with_name("rankwright"), "train", data, "--engine", "spark=local[1]"]
    process = subprocess.Popen(
        [*command, "--ranker", "structured", "--out", tmp_path / "model.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 60
        while not (children := psutil.Process(process.pid).children(recursive=True)):
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(pause)
        children = psutil.Process(process.pid).children(recursive=True) or children
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 130
        assert told.splitlines()[-1] == "error: interrupted"
        _, alive = psutil.wait_procs(children, timeout=20)
        assert not alive
    finally:
        process.kill()
    assert not (tmp_path / "model.json").exists()
