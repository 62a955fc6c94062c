"""``rankwright fit``."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.cli.main import main
from rankwright.fitting.work import Work

FILES = ("leaderboard.csv", "model.json", "report.html")


@pytest.fixture(scope="module", name="folder")
def data_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    made = rw.datasets.make_queries(60, 8, 6, n_informative=3, n_correlated=1, seed=2, dtype=np.float64).queries
    for name, part in (("train", made[:30]), ("vali", made[30:45]), ("test", made[45:])):
        rw.write_svmlight(part, folder / f"{name}.txt")
    frame = made[:30].to_frame("pandas")
    frame = frame.rename(columns={"label": "grade", "qid": "query"})
    frame["url"] = [f"http://example.org/{i}" for i in range(len(frame))]
    frame.to_csv(folder / "train.csv", index=False)
    frame.to_parquet(folder / "other.parquet")
    return folder


def written(out):
    """The files of a fit, but for the time that scoring took, which is measured anew each time."""
    contents = {name: (out / name).read_bytes() for name in FILES}
    report, n_times = re.subn(rb'<span class="measured">[^<]*</span>', b"", contents["report.html"])
    assert n_times == 1
    return contents | {"report.html": report}


def fit_fast(run, folder, out, *more):
    return run("fit", folder / "train.txt", "--ranker", "regression,rankrls", "--out", out, *more)


def test_it_writes_a_model_a_leaderboard_and_a_report(run, folder, tmp_path):
    out = tmp_path / "ranker"
    ran = fit_fast(run, folder, out, "--valid", folder / "vali.txt", "--test", folder / "test.txt")
    assert (ran.code, ran.err) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == list(FILES)
    assert "▶ Chosen: " in ran.out
    assert "at least" in ran.out
    rows = list(csv.DictReader((out / "leaderboard.csv").open()))
    assert {row["ranker"] for row in rows} >= {"regression", "RankRLS"}
    assert [row["chosen"] for row in rows].count("yes") == 1
    model = rw.load_model(out / "model.json")
    test = rw.read_svmlight(folder / "test.txt")
    chosen = next(row for row in rows if row["chosen"])
    told = rw.evaluate(model, test, "ndcg@10").means[rw.nDCG @ 10]
    assert float(chosen["test_mean"]) == pytest.approx(told, abs=1e-6)
    assert model.training_["data"][0]["name"] == "train.txt"
    assert len(model.training_["data"][0]["sha256"]) == 64


def test_json(run, folder, tmp_path):
    ran = fit_fast(run, folder, tmp_path / "out", "--json")
    told = json.loads(ran.out)
    keys = ["chosen", "evaluated_on", "rule", "summary", "leaderboard", "gave_up", "notes", "left_out"]
    assert list(told) == keys
    assert (told["evaluated_on"], told["rule"]) == ("cross-validation", "one-standard-error")
    assert not told["summary"]["certificate"]["guaranteed"]
    means = {row["ranker"]: row["held_out"]["mean"] for row in told["leaderboard"]}
    best, baseline = (
        next(row["held_out"]["mean"] for row in told["leaderboard"] if test(row))
        for test in (lambda row: row["is_best"], lambda row: row["note"] == "baseline")
    )
    assert best == max(means.values())
    for row in told["leaderboard"]:
        is_baseline = row["note"] == "baseline"
        assert (row["alpha"] is None) == is_baseline
        expected = None if is_baseline else pytest.approx(means[row["ranker"]] - baseline)
        assert row["difference_from_baseline"] == expected
        expected = None if row["is_best"] else pytest.approx(means[row["ranker"]] - best)
        assert row["difference_from_best"] == expected


def test_what_the_rule_gave_up_is_in_json(run, folder, tmp_path):
    options = ("--ranker", "rankrls,greedy-rankrls", "--measure", "ndcg@3", "--json", "--out")
    told = json.loads(run("fit", folder / "train.txt", *options, tmp_path / "few").out)["gave_up"]
    best = json.loads(run("fit", folder / "train.txt", "--rule", "best", *options, tmp_path / "best").out)
    assert best["gave_up"] is None
    assert told["ranker"] == best["chosen"]
    (row,) = (row for row in best["leaderboard"] if row["is_chosen"])
    assert (told["setting"], told["alpha"], told["features"]) == (row["setting"], row["alpha"], row["features"])
    assert told["held_out_mean"] == pytest.approx(row["held_out"]["mean"])


def test_csv_and_parquet_with_named_columns(run, folder, tmp_path):
    columns = ("--label", "grade", "--qid", "query", "--doc", "url", "--ranker", "rankrls")
    models = []
    for name in ("train.csv", "other.parquet"):
        out = tmp_path / name
        ran = run("fit", folder / name, *columns, "--out", out)
        assert (ran.code, ran.err) == (0, "")
        assert "http://example.org/" in (out / "report.html").read_text()
        models.append(rw.load_model(out / "model.json"))
    assert models[0].feature_names_in_.tolist() == models[1].feature_names_in_.tolist()
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-4)


def test_the_same_command_gives_the_same_files(run, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = []
    for _ in range(2):
        fit_fast(run, folder, "out")
        contents.append(written(tmp_path / "out"))
    assert contents[0] == contents[1]


def start(folder, out):
    command = [sys.executable, "-m", "rankwright", "fit", folder / "train.txt", "--test", folder / "test.txt"]
    command += ["--ranker", "regression,rankrls,greedy-rankrls", "--out", out]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(folder, out):
    process = start(folder, out)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return written(out), process


def killed_and_resumed(folder, tmp_path, moments, ending):
    """Run it into the same folder again and again, ending it at these moments, then to the end."""
    whole, _ = finished(folder, tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        path.unlink()
    for moment in moments:
        process = start(folder, tmp_path / "out")
        time.sleep(moment)
        process.send_signal(ending)
        process.communicate(timeout=300)
        left = {path.name for path in (tmp_path / "out").glob("*")}
        assert left <= {*FILES, ".rankwright-fit"} or all(
            ".part" in name for name in left - {*FILES, ".rankwright-fit"}
        )
    again, _ = finished(folder, tmp_path / "out")
    assert again == whole
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == list(FILES)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_at_ten_random_moments_and_resumed_it_gives_the_same_files(folder, tmp_path, ending):
    began = time.monotonic()
    finished(folder, tmp_path / "warm")
    longest = time.monotonic() - began
    moments = [random.Random(number).uniform(0.2, 1.1) * longest for number in range(10)]
    killed_and_resumed(folder, tmp_path, moments, ending)


def test_work_that_was_interrupted_is_gone_on_with(run, folder, tmp_path, monkeypatch):
    """Interrupted after a few parts; what is finished then is not done again, and the files are the same."""
    monkeypatch.chdir(tmp_path)
    fit_fast(run, folder, "out")
    whole = written(tmp_path / "out")
    for name in FILES:
        (tmp_path / "out" / name).unlink()
    once, computed = Work.once, []

    def interrupted(self, name, compute):
        if len(computed) == 4:
            raise KeyboardInterrupt
        return once(self, name, lambda: computed.append(name) or compute())

    monkeypatch.setattr(Work, "once", interrupted)

    arguments = ["fit", str(folder / "train.txt"), "--ranker", "regression,rankrls", "--out", "out"]
    assert main(arguments) == 130
    assert not any((tmp_path / "out" / name).exists() for name in FILES)
    monkeypatch.setattr(
        Work, "once", lambda self, name, compute: once(self, name, lambda: computed.append(name) or compute())
    )
    assert main(arguments) == 0
    assert len(computed) == len(set(computed))
    assert written(tmp_path / "out") == whole


# Another fit in the folder


@pytest.mark.parametrize("change", ["data", "--measure", "--seed", "--ranker", "--rule"])
def test_another_fit_is_not_overwritten_unasked(run, folder, tmp_path, computed, change):
    out = tmp_path / "out"
    assert fit_fast(run, folder, out).code == 0
    before = {name: (out / name).read_bytes() for name in FILES}
    computed.clear()
    values = {"--measure": "map", "--seed": "1", "--rule": "best", "--ranker": "rankrls"}
    more = ("--valid", folder / "vali.txt") if change == "data" else (change, values[change])
    ran = fit_fast(run, folder, out, *more)
    assert ran.code == 73
    assert f"{out} holds another fit (" in ran.err
    assert "for nDCG @ 10, trained on train.txt, written 2" in ran.err
    assert "add --overwrite to replace it, or give --out another folder" in ran.err
    assert not computed  # it is told before any work is done
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    ran = fit_fast(run, folder, out, *more, "--overwrite")
    assert (ran.code, ran.err) == (0, "")
    assert (out / "model.json").read_bytes() != before["model.json"]


@pytest.mark.parametrize("more", [("--baseline", "f2"), ("--delta", "0.1"), ("--budget", "1h"), ()])
def test_the_same_fit_writes_its_own_results_again(run, folder, tmp_path, more):
    assert fit_fast(run, folder, tmp_path / "out").code == 0
    assert fit_fast(run, folder, tmp_path / "out", *more).code == 0


def test_a_model_that_another_command_wrote_stays(run, folder, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    assert run("train", folder / "train.txt", "--ranker", "rankrls", "--out", out / "model.json").code == 0
    before = (out / "model.json").read_bytes()
    ran = fit_fast(run, folder, out)
    assert ran.code == 73
    assert "a model that no fit is known to have made (RankRLS" in ran.err
    assert (out / "model.json").read_bytes() == before
    assert [path.name for path in out.iterdir()] == ["model.json"]


# Killed, damaged, changed: the next run


def results(out):
    """What was written, but for the command that names the folder."""
    return {name: re.sub(rb'rankwright fit [^"<]*', b"", content) for name, content in written(out).items()}


@pytest.fixture(name="computed")
def computed_parts(monkeypatch):
    """The names of the parts that were not there yet."""
    once, names = Work.once, []
    monkeypatch.setattr(
        Work, "once", lambda self, name, compute: once(self, name, lambda: names.append(name) or compute())
    )
    return names


def interrupt_after(n_parts, monkeypatch, arguments):
    """Run it until so many parts are finished."""
    once, finished = Work.once, []

    def interrupted(self, name, compute):
        if len(finished) == n_parts:
            raise KeyboardInterrupt
        finished.append(name)
        return once(self, name, compute)

    with monkeypatch.context() as patched:
        patched.setattr(Work, "once", interrupted)
        assert main(list(map(str, arguments))) == 130


def fast(folder, *more):
    return ["fit", folder / "train.txt", "--valid", folder / "vali.txt", "--ranker", "regression,rankrls", *more]


class Killed(BaseException):
    """What no code can catch on its way out."""


@pytest.mark.parametrize("moment", range(10))
def test_killed_at_any_moment_of_writing_it_gives_the_same_files(folder, tmp_path, monkeypatch, moment):
    """Two parts, two models, the scores, three results, and at last the work that goes: killed before each."""
    out, writes = tmp_path / "out", []
    arguments = list(map(str, fast(folder, "--out", out)))
    assert main(arguments) == 0
    whole = results(out)
    shutil.rmtree(out)

    def killing(function):
        def killed(*given, **options):
            writes.append(function)
            if len(writes) > moment:
                raise Killed
            return function(*given, **options)

        return killed

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killing(Path.replace))
        patched.setattr(Work, "clear", killing(Work.clear))
        patched.setattr(Path, "unlink", lambda path, missing_ok=False: None)  # the dead do not tidy up
        if moment < 9:
            with pytest.raises(Killed):
                main(arguments)
        else:
            assert main(arguments) == 0
            assert len(writes) == 9
    assert main(arguments) == 0
    assert sorted(path.name for path in out.iterdir()) == list(FILES)
    assert results(out) == whole


@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: content[:-30], lambda content: content[:50] + b"x" * 9 + content[59:]],
    ids=["empty", "cut", "changed"],
)
def test_work_that_was_damaged_is_done_again(folder, tmp_path, monkeypatch, damage):
    out = tmp_path / "out"
    arguments = list(map(str, fast(folder, "--out", out)))
    assert main(arguments) == 0
    whole = results(out)
    interrupt_after(3, monkeypatch, arguments)
    parts = list(out.rglob("*.rankwright-part"))
    assert len(parts) == 3
    for part in parts:
        part.write_bytes(damage(part.read_bytes()))
    assert main(arguments) == 0
    assert results(out) == whole


def test_parts_of_another_kind_are_done_again(folder, tmp_path, monkeypatch):
    """Whole archives, but with other arrays, or those of another part."""
    out = tmp_path / "out"
    arguments = list(map(str, fast(folder, "--out", out)))
    assert main(arguments) == 0
    whole = results(out)
    interrupt_after(3, monkeypatch, arguments)
    first, second, third = sorted(out.rglob("*.rankwright-part"))
    with first.open("wb") as file:
        np.savez(file, values=np.zeros(3))
    second.write_bytes(third.read_bytes())
    assert main(arguments) == 0
    assert results(out) == whole


def test_files_of_others_stay(run, folder, tmp_path, monkeypatch):
    """In the folder of the results and in that of the work, however like ours they look."""
    out = tmp_path / "out"
    arguments = fast(folder, "--out", out)
    interrupt_after(2, monkeypatch, arguments)
    (job,) = (out / ".rankwright-fit").iterdir()
    others = [
        out / ".model.json.part",
        out / ".model.json.mine.part",
        out / "model.json.bak",
        out / ".rankwright-fit" / "notes.txt",
        out / ".rankwright-fit" / "mine" / "rankrls-valid.rankwright-part",
        job / "notes.txt",
        job / "mine.npz",
    ]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("of another program")
    (out / ".model.json.12-ab12cd34.part").write_text("torn")
    (job / ".rankrls-valid.rankwright-part.12-ab12cd34.part").write_text("torn")
    ran = run(*arguments)
    assert ran.code == 0
    assert "continuing an interrupted run: 2 parts are finished" in ran.err
    left = {path for path in out.rglob("*") if path.is_file()}
    assert left == {*others, *(out / name for name in FILES)}
    assert all(path.read_text() == "of another program" for path in others)


@pytest.mark.parametrize("change", ["data", "--measure", "--seed", "--rule", "--convention"])
def test_another_job_starts_afresh(folder, tmp_path, monkeypatch, computed, change):
    values = {"--measure": "map", "--seed": "1", "--rule": "best", "--convention": "letor4"}
    data = tmp_path / "train.txt"
    shutil.copy(folder / "train.txt", data)
    arguments = ["fit", data, "--valid", folder / "vali.txt", "--ranker", "regression"]
    interrupt_after(2, monkeypatch, [*arguments, "--out", tmp_path / "out"])
    assert len(computed) == 2
    if change == "data":
        data.write_text(data.read_text().partition("\n")[2])  # a document less
    else:
        arguments += [change, values[change]]
    for out in ("out", "other"):
        computed.clear()
        assert main([*map(str, arguments), "--out", str(tmp_path / out)]) == 0
        assert len(computed) == 3
    assert results(tmp_path / "out") == results(tmp_path / "other")


def test_the_same_data_in_another_file_go_on(folder, tmp_path, monkeypatch, computed):
    """What was finished is known by the queries and options, not by the bytes of files, in Python as by the command."""
    data, out = tmp_path / "train.txt", tmp_path / "out"
    shutil.copy(folder / "train.txt", data)
    arguments = ["fit", data, "--valid", folder / "vali.txt", "--ranker", "regression", "--out", out]
    interrupt_after(2, monkeypatch, arguments)
    data.write_text(data.read_text().replace("\n", " # the same, but for a remark\n", 1))
    computed.clear()
    assert main([*map(str, arguments)]) == 0
    assert len(computed) == 1
    result = rw.fit(data, valid=folder / "vali.txt", rankers=["regression"])
    assert rw.load_model(out / "model.json").training_["fingerprint"] == result.fingerprint


def test_more_time_goes_on_from_what_is_finished(run, folder, tmp_path, computed):
    out = tmp_path / "out"
    assert run(*fast(folder, "--out", out, "--budget", "0.000001")).code == 0
    assert "regression-valid" in computed
    assert "rankrls-valid" not in computed
    computed.clear()
    ran = run(*fast(folder, "--out", out, "--budget", "1h"))
    assert ran.code == 0
    assert "continuing an interrupted run" in ran.err
    assert "regression-valid" not in computed
    assert "rankrls-valid" in computed
    assert run(*fast(folder, "--out", tmp_path / "whole")).code == 0
    assert results(out) == results(tmp_path / "whole")
    assert sorted(path.name for path in out.iterdir()) == list(FILES)


def test_a_second_run_into_the_same_folder_is_refused(run, folder, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "out"
    out.mkdir()
    (out / ".model.json.1-ab12cd34.part").write_text("being written")
    first = os.open(out, os.O_RDONLY)
    fcntl.flock(first, fcntl.LOCK_EX)
    ran = run(*fast(folder, "--out", out))
    assert ran.code == 73
    assert f"{out}: another run" in ran.err
    assert [path.name for path in out.iterdir()] == [".model.json.1-ab12cd34.part"]
    os.close(first)
    assert run(*fast(folder, "--out", out)).code == 0
    assert sorted(path.name for path in out.iterdir()) == list(FILES)


def test_a_work_folder_that_cannot_be_written(run, folder, tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied")

    out = tmp_path / "out"
    interrupt_after(1, monkeypatch, fast(folder, "--out", out))
    left = sorted(out.rglob("*"))
    with monkeypatch.context() as patched:
        patched.setattr("rankwright.fitting.work.atomic_path", refused)
        ran = run(*fast(folder, "--out", out))
    assert ran.code == 73
    assert f"{out}: Permission denied" in ran.err
    assert sorted(out.rglob("*")) == left


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("none.txt",), 66, "none.txt"),
        (("train.txt", "--valid", "none.txt"), 66, "none.txt"),
        (("train.txt", "--measure", "speed"), 2, "--measure: 'speed'"),
        (("train.txt", "--measure", "ndcg@10,map"), 2, "--measure"),
        (("train.txt", "--ranker", "magic"), 2, "--ranker"),
        (("train.txt", "--budget", "soon"), 2, "--budget"),
        (("train.txt", "--budget", "0s"), 2, "--budget"),
        (("train.txt", "--folds", "1"), 2, "--folds"),
        (("train.txt", "--rule", "any"), 2, "--rule"),
        (("train.txt", "--delta", "7"), 2, "--delta"),
        (("train.txt", "--seed", "-1"), 2, "--seed"),
        (("train.txt", "--convention", "mine"), 2, "--convention"),
        (("train.txt", "--baseline", "bm25", "--ranker", "rankrls"), 2, "--baseline"),
        (("train.txt", "--label", "grade"), 2, "--label"),
        (("train.csv", "--label", "grade"), 65, "qid"),
        (("train.csv", "--label", "nothing", "--qid", "query"), 65, "nothing"),
        (("train.csv", "--label", "grade", "--qid", "query", "--features", "url"), 65, "url"),
        (("bad.csv",), 65, "bad.csv, line 3"),
        (("train.txt", "--test", "bad.txt"), 65, "bad.txt"),
    ],
)
def test_what_is_wrong_is_told_in_a_line_and_nothing_is_written(run, folder, tmp_path, arguments, code, told):
    (folder / "bad.csv").write_text("label,qid,f1\n1,1,0.5\n0,1\n")
    (folder / "bad.txt").write_text("1 qid:1 1:0.5\nx qid:1 1:2\n")
    paths = [folder / word if word.endswith((".txt", ".csv")) else word for word in arguments]
    ran = run("fit", *paths, "--out", tmp_path / "out")
    assert ran.code == code
    assert told in ran.err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made(run, folder, tmp_path):
    assert run("fit", folder / "train.txt", "--out", tmp_path / "no" / "out").code == 73
    (tmp_path / "file").write_text("")
    assert run("fit", folder / "train.txt", "--out", tmp_path / "file").code == 73
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("measure", ["err@20", "dcg@10"])
def test_a_measure_that_cannot_be_certified_can_be_optimised(run, folder, tmp_path, measure):
    ran = fit_fast(run, folder, tmp_path / "out", "--measure", measure, "--test", folder / "test.txt")
    assert (ran.code, ran.err) == (0, "")
    assert "cannot be certified" in ran.out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == list(FILES)


def test_train_and_fit_write_the_same_record(run, folder, tmp_path):
    files = (folder / "train.txt", "--valid", folder / "vali.txt")
    assert run("fit", *files, "--ranker", "rankrls", "--test", folder / "test.txt", "--out", tmp_path / "out").code == 0
    assert run("train", *files, "--ranker", "rankrls", "--out", tmp_path / "trained.json").code == 0
    fitted = rw.load_model(tmp_path / "out" / "model.json").training_
    trained = rw.load_model(tmp_path / "trained.json").training_
    keys = ["command", "data", "convention", "rule", "judged_on", "measures", "figures", "certificate", "fingerprint"]
    assert list(fitted) == list(trained) == keys
    assert [part["role"] for part in fitted["data"]] == ["train", "valid", "test"]
    assert fitted["data"][:2] == trained["data"]
    assert fitted["judged_on"] == trained["judged_on"] == "valid"
    assert list(fitted["measures"][0]) == list(trained["measures"][0])
    assert {"alpha", "alphas_tried", "features_used"} <= set(fitted["figures"]) & set(trained["figures"])
    assert fitted["certificate"]["guaranteed"]
    assert trained["certificate"] is None
    assert trained["command"] == f"rankwright train {' '.join(map(str, files))} --ranker rankrls --out " + str(
        tmp_path / "trained.json"
    )


def test_the_command_is_that_which_ran_whatever_the_script(folder, tmp_path, monkeypatch):
    """As a script does that calls `main` with words of its own."""
    monkeypatch.setattr(sys, "argv", ["demo.py", "demo-output"])
    words = ["fit", str(folder / "train.txt"), "--ranker", "regression", "--out", str(tmp_path / "two words")]
    assert main(words) == 0
    command = rw.load_model(tmp_path / "two words" / "model.json").training_["command"]
    assert command == f"rankwright {' '.join(words[:-1])} '{tmp_path / 'two words'}'"
    assert "demo-output" not in (tmp_path / "two words" / "report.html").read_text()


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("command", ["fit", "train"])
def test_a_file_that_changes_while_it_is_read_is_refused(run, folder, tmp_path, monkeypatch, command, moment):
    """The hash is that of other bytes than were read, if the file is written to in between."""
    from rankwright.data import files

    data, out, read = tmp_path / "train.txt", tmp_path / "out", files.read_asked
    shutil.copy(folder / "train.txt", data)
    times = data.stat()

    def reading_while_it_is_written(path, columns, **options):
        text = data.read_text()
        changed = text[:-2] + ("2" if text[-2] == "1" else "1") + "\n"  # another digit, and as long as before
        if moment == "before":
            data.write_text(changed)
        queries = read(path, columns, **options)
        if moment == "after":
            data.write_text(changed)
        os.utime(data, ns=(times.st_atime_ns, times.st_mtime_ns))  # as if nothing had been
        return queries

    monkeypatch.setattr(files, "read_asked", reading_while_it_is_written)
    ran = run(command, data, "--ranker", "rankrls", "--out", out)
    assert (ran.code, ran.out) == (65, "")
    assert f"{data}: the file was changed while being read" in ran.err
    assert not out.exists()


def test_certify_warns_of_data_that_the_model_was_trained_on(run, folder, tmp_path):
    fit_fast(run, folder, tmp_path / "out", "--test", folder / "test.txt")
    model = tmp_path / "out" / "model.json"
    assert "trained on these queries" in run("certify", model, folder / "train.txt").err
    assert run("certify", model, folder / "test.txt").err == ""


def test_test_data_that_were_trained_on_are_refused(run, folder, tmp_path):
    ran = fit_fast(run, folder, tmp_path / "out", "--test", folder / "train.txt")
    assert ran.code == 2
    assert "--test" in ran.err
    assert not (tmp_path / "out").exists()


def test_a_model_from_named_columns_is_used_with_named_columns(run, folder, tmp_path):
    columns = ("--label", "grade", "--qid", "query", "--doc", "url")
    run("fit", folder / "train.csv", *columns, "--ranker", "rankrls", "--out", tmp_path / "out")
    model = tmp_path / "out" / "model.json"
    assert len(run("predict", model, folder / "train.csv", *columns).out.splitlines()) > 100
    assert "http://example.org/" in run("explain", model, folder / "train.csv", *columns, "--query", "1").out
