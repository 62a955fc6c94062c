"""--memory: data that take more than the limit are read part by part, and the results are those in memory."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
import typer.main

import rankwright as rw
from rankwright.cli.main import app

SMALL = ("--memory", "1MB")
FORMATS = ("text", "gzip", "sparse", "csv", "parquet", "folder")


def dirty_queries():
    """Text ids in no order, one-document queries, some without a relevant one, constant and missing features."""
    rng = np.random.default_rng(7)
    sizes = np.where(rng.random(500) < 0.2, 1, rng.integers(2, 50, 500))
    n = sizes.sum()
    x = rng.normal(size=(n, 14))
    y = np.clip(np.round(x[:, 0] + rng.normal(size=n)), 0, 3) + 0.0
    y[np.repeat(rng.random(500) < 0.1, sizes)] = 0
    x[:, 2] = 7
    x[:, 3] = np.repeat(rng.normal(size=500), sizes)
    x[rng.random(n) < 0.3, 4] = np.nan
    x[rng.random(n) < 0.2 + 0.2 * (y > 0), 5] = np.nan
    x[:, 6] = x[:, 7]
    x[5, 8] = 1e9
    x[:, 9] = np.arange(n)
    x[:, 10] = np.concatenate([np.arange(size) for size in sizes])
    x[:, 11] = 3 * y
    qid = np.repeat([f"q{number}-ü" for number in rng.permutation(500)], sizes)
    return rw.Queries(x, y, qid, doc_ids=[f"d{row}" for row in range(n)])


@pytest.fixture(name="data", scope="module")
def data_files(tmp_path_factory):
    """The same queries in every format: the path of the data, and of a file that needs no parts to be read."""
    folder = tmp_path_factory.mktemp("data")
    queries = dirty_queries()
    paths = {name: folder / f"data.{ending}" for name, ending in
             {"text": "txt", "gzip": "txt.gz", "parquet": "parquet", "csv": "csv"}.items()}  # fmt: skip
    for name in ("text", "gzip", "parquet"):
        rw.write_queries(queries, paths[name])
    queries.to_frame().to_csv(paths["csv"], index=False)
    paths["sparse"] = folder / "sparse.txt"
    kept = np.random.default_rng(1).random(queries.X.shape) < 0.5
    sparse = sp.csr_array(np.where(kept, queries.X, 0))
    rw.write_queries(rw.Queries(sparse, queries.y, queries.qid), paths["sparse"])
    lines = paths["sparse"].read_text().splitlines()
    paths["sparse"].write_text("\n".join(lines + [f"1 qid:last 400:{i}" for i in range(3)]) + "\n")  # stays CSR
    paths["folder"] = folder / "several"
    paths["folder"].mkdir()
    for part, (first, last) in enumerate(((0, 100), (100, 101), (101, 500))):
        rw.write_queries(queries[first:last], paths["folder"] / f"part-{part}.txt")
    return {**{name: (path, path) for name, path in paths.items()}, "folder": (paths["folder"], paths["text"])}


@pytest.fixture(name="both")
def run_in_both_ways(run, tmp_path):
    """Run a command in memory and part by part, and give what both printed."""

    def both(command, data, *arguments, before=()):
        path, whole = data
        in_memory = run(command, *before, whole, *arguments)
        in_parts = run(command, *before, path, *arguments, *SMALL, "--cache", tmp_path / "cache")
        assert (in_memory.code, in_parts.code) == (0, 0)
        assert "reading it part by part" in in_parts.err
        assert "part by part" not in in_memory.err
        return in_memory.out.replace(str(whole), str(path)), in_parts.out

    return both


def assert_close(one, other):
    """Equal, but for the last digits of numbers that are means."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_close(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_close(*pair)
    elif isinstance(one, float):
        assert other == pytest.approx(one, rel=1e-13)
    else:
        assert one == other


@pytest.mark.parametrize("name", FORMATS)
def test_inspect(both, data, name):
    in_memory, in_parts = (json.loads(told) for told in both("inspect", data[name], "--json"))
    assert_close(in_memory, in_parts)
    assert in_memory["layout"] == ("CSR" if name == "sparse" else "dense")
    if name != "sparse":
        assert [leak["feature"] for leak in in_memory["features"]["leaks"]] == ["f12"]
        assert len(in_memory["features"]["identifiers"]) == 2
    assert len(set(both("inspect", data[name]))) == 1


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "parquet"])
@pytest.mark.parametrize("name", FORMATS)
def test_convert_gives_the_same_file(run, data, tmp_path, name, ending):
    path, whole = data[name]
    assert run("convert", whole, tmp_path / f"one.{ending}").code == 0
    ran = run("convert", path, tmp_path / f"other.{ending}", *SMALL, "--cache", tmp_path)
    assert ran.code == 0
    one, other = (rw.read_queries(tmp_path / f"{file}.{ending}", dtype="float64") for file in ("one", "other"))
    if ending != "parquet":
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"other.{ending}").read_bytes()
    assert type(one.X) is type(other.X)
    assert one.X.dtype == other.X.dtype
    np.testing.assert_array_equal(*(x.toarray() if sp.issparse(x) else x for x in (one.X, other.X)))
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.qid, other.qid)
    assert (one.doc_ids is None) == (other.doc_ids is None)
    assert one.doc_ids is None or list(one.doc_ids) == list(other.doc_ids)


@pytest.mark.parametrize("name", FORMATS)
def test_predict_and_evaluate(both, run, data, tmp_path, name):
    path, whole = data[name]
    model, scores = tmp_path / "model.json", tmp_path / "scores.txt"
    assert run("train", whole, "--ranker", "rankrls", "--out", model).code == 0
    in_memory, in_parts = both("predict", data[name], before=(model,))
    np.testing.assert_allclose(*(np.array(told.split(), float) for told in (in_memory, in_parts)), rtol=1e-12)
    ran = run("predict", model, path, "--out", scores, *SMALL, "--cache", tmp_path / "cache")
    assert (ran.code, scores.read_text()) == (0, in_parts)
    in_memory, in_parts = both("evaluate", data[name], "--json", "--measures", "ndcg@10,map,err", before=(scores,))
    assert in_memory == in_parts
    for values, arguments in (("one.csv", (whole,)), ("other.csv", (path, *SMALL, "--cache", tmp_path / "cache"))):
        assert run("evaluate", scores, *arguments, "--per-query", tmp_path / values).code == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: lines[:-1], "scores for"),
        (lambda lines: [*lines, "1"], "scores for"),
        (lambda lines: [*lines[:-5], "nan", *lines[-4:]], "the score is NaN"),
        (lambda lines: [*lines[:-5], "", *lines[-4:]], "expected one number, found ''"),
    ],
)
def test_wrong_scores_are_told_alike(run, data, tmp_path, change, told):
    queries, scores = rw.read_queries(data["text"][0]), tmp_path / "scores.txt"
    scores.write_text("\n".join(change(["0.5"] * queries.n_documents)))
    errors = [run("evaluate", scores, data["text"][0], *more).err.splitlines()[-1]
              for more in ((), (*SMALL, "--cache", tmp_path))]  # fmt: skip
    assert told in errors[0]
    assert errors[0] == errors[1]


# Which data are read part by part


def test_every_command_that_reads_data_has_the_options():
    def commands(group, path=()):
        for name, command in group.commands.items():
            yield from commands(command, (*path, name)) if hasattr(command, "commands") else [((*path, name), command)]

    options = {path: {option for each in command.params for option in each.opts}
               for path, command in commands(typer.main.get_command(app))}  # fmt: skip
    reading = {path for path, known in options.items() if "--qid" in known}
    assert reading == {path for path, known in options.items() if {"--memory", "--cache", "--sort"} & known}
    assert all({"--memory", "--cache", "--sort"} <= options[path] for path in reading)


def test_what_fits_is_read_into_memory(run, data, tmp_path):
    path = tmp_path / "small.txt"
    path.write_text("1 qid:1 1:2\n0 qid:1 1:1\n")
    assert run("inspect", path, *SMALL, "--cache", tmp_path / "cache").err == ""
    assert run("inspect", data["text"][0], "--memory", "1GB").err == ""
    assert not (tmp_path / "cache").exists()


def test_without_a_limit_half_of_the_free_memory_is_one(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr("rankwright.data.streams.estimates.available_memory", lambda: 2_000_000)
    ran = run("inspect", data["text"][0], "--cache", tmp_path)
    assert ran.code == 0
    assert "more than 1 MB: reading it part by part" in ran.err


def test_several_files_that_fit_are_read_as_one(run, data, tmp_path):
    folder, text = data["folder"]
    told = [json.loads(run("inspect", path, "--json", "--cache", tmp_path).out) for path in (folder, text)]
    assert told[0].pop("data") != told[1].pop("data")
    assert told[0] == told[1]
    pattern = json.loads(run("inspect", folder / "part-[02].txt", "--json", "--cache", tmp_path).out)
    assert pattern["n_queries"] == 499


@pytest.mark.parametrize("pattern", ["", "part-*.txt"], ids=["folder", "pattern"])
def test_a_fit_of_several_files_is_that_of_one(run, data, tmp_path, pattern):
    folder, text = data["folder"]
    told = {}
    for name, path in (("one", text), ("several", folder / pattern)):
        out = tmp_path / name
        ran = run(
            "fit", path, "--ranker", "rankrls", "--folds", "2", "--out", out, *SMALL, "--cache", tmp_path / "cache"
        )
        assert ran.code == 0, ran.err
        assert (out / "report.html").exists()
        told[name] = json.loads((out / "model.json").read_text())
    np.testing.assert_array_equal(told["one"]["weights"], told["several"]["weights"])
    (digest,) = (part["sha256"] for part in told["several"]["training"]["data"])
    of_files = (hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("part-*.txt")))
    assert digest == hashlib.sha256("".join(of_files).encode()).hexdigest()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--memory", "much"), "--memory must be a number of bytes, or as '4GB'"),
        (("--memory", "10"), "--memory must be at least 1MB"),
    ],
)
def test_a_wrong_limit_is_refused(run, data, arguments, told):
    ran = run("inspect", data["text"][0], *arguments)
    assert ran.code == 2
    assert told in ran.err


def test_commands_that_need_all_data_say_so(run, data, tmp_path):
    path, _ = data["text"]
    model = tmp_path / "model.json"
    assert run("train", path, "--ranker", "rankrls", "--out", model).code == 0
    for command in (("explain", model, path, "--query", "q1-ü"), ("study", "bounds", path)):
        ran = run(*command, *SMALL)
        assert ran.code == 2
        assert f"--memory: {path} takes about" in ran.err
        assert f"{command[0]} " in ran.err
        assert "leave --memory out" in ran.err
    assert run("explain", model, path, "--query", "q1-ü", "--memory", "1GB").code == 0


def test_rows_of_a_query_that_stand_apart(run, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "apart.txt"
    lines = [f"{row % 3} qid:{row % 97} 1:{rng.random()} 2:{rng.random()} 3:{row}" for row in range(30_000)]
    path.write_text("\n".join(lines) + "\n")
    ran = run("inspect", path, *SMALL)
    assert ran.code == 65
    assert "--sort" in ran.err
    ran = run("inspect", path, *SMALL, "--sort")
    assert ran.code == 0


# Interrupted


ENDINGS = {signal.SIGINT: (130, "error: interrupted\n"), signal.SIGTERM: (143, "error: terminated\n")}
SLOW_PARTS = """
from rankwright.data.streams.streamed import StreamedQueries
parts = StreamedQueries.parts
def slow(self, *given):
    for part in parts(self, *given):
        wait()
        yield part
StreamedQueries.parts = slow
"""
SLOW_CACHE = """
from rankwright.data.streams.store import StoreWriter
append = StoreWriter.append
def slow(self, rows):
    append(self, rows)
    self._file.flush()
    wait()
StoreWriter.append = slow
"""
STATES_IN_FILES = """
from rankwright.engines import states, stream
stream._STATES = 10**9
filed = states.States._filed
def slow(self, state):
    written = filed(self, state)
    wait()
    return written
states.States._filed = slow
"""
COMMAND = """
from rankwright.cli.main import main
raise SystemExit(main(sys.argv[1:]))
"""
WAIT = """
import sys, time
def wait():
    print('waiting', file=sys.stderr, flush=True)
    time.sleep(60)
"""


def ended(slowly, ending, *words, **options):
    """End a command while it waits, and check what it tells; returns what it has told before."""
    command = [str(word) for word in (sys.executable, "-c", WAIT + slowly + COMMAND, *words, *SMALL)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    before = []
    while (line := process.stderr.readline()) != "waiting\n":
        assert line, "it ended by itself"
        before.append(line)
    time.sleep(0.2)
    process.send_signal(ending)
    out, err = process.communicate(timeout=60)
    code, told = ENDINGS[ending]
    assert (process.returncode, out, err) == (code, "", told)
    return before


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("command", ["convert", "predict", "inspect"])
def test_an_interrupted_command_leaves_nothing_behind(data, tmp_path, command, run, ending):
    """Wherever it is: it begins with reading into the cache, and ends with writing."""
    path = tmp_path / "data" / "data.txt"
    path.parent.mkdir()
    path.write_text(data["text"][0].read_text())
    model = tmp_path / "model.json"
    assert run("train", path, "--ranker", "rankrls", "--out", model).code == 0
    arguments = {
        "convert": (path, tmp_path / "out.txt"),
        "predict": (model, path, "--out", tmp_path / "out.txt"),
        "inspect": (path,),
    }[command]
    before = {file for file in tmp_path.rglob("*") if file.is_file()}
    told = ended(SLOW_PARTS, ending, command, *arguments, "--cache", tmp_path / "cache")
    assert "part by part" in told[0]
    left = {file for file in tmp_path.rglob("*") if file.is_file()} - before
    assert {file.parent.name for file in left} <= {"cache"}  # what is read to the end is whole, and used again
    assert all(file.suffix == ".rankwright" for file in left)


@pytest.mark.parametrize("ending", ENDINGS)
def test_half_a_cache_is_not_left_behind(data, tmp_path, ending):
    ended(SLOW_CACHE, ending, "inspect", data["text"][0], "--cache", tmp_path / "cache")
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.parametrize("ending", ENDINGS)
def test_states_of_parts_are_not_left_behind(data, tmp_path, ending):
    for folder in ("temporary", "cache"):
        (tmp_path / folder).mkdir()
    ended(
        STATES_IN_FILES,
        ending,
        *("train", data["text"][0], "--ranker", "structured", "--alpha", "1"),
        *("--out", tmp_path / "model.json", "--cache", tmp_path / "cache"),
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )
    assert not [*(tmp_path / "temporary").iterdir()]
    assert not (tmp_path / "model.json").exists()
