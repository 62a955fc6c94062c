"""Files written whole or not at all: synced, alike from run to run, and nothing left of runs that were killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.data.paths import atomic_path

pytest.importorskip("fcntl", reason="locks as Unix has them")

WRITER = """
import sys, time
from rankwright.data.paths import atomic_path
with atomic_path(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    sys.stdin.readline()
"""


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*.part"))


@pytest.fixture(name="start")
def start_writer(tmp_path):
    """Start a process that is in the midst of writing a file; a line on its standard input lets it end."""
    started = []

    def start(name="out.txt"):
        command = [sys.executable, "-c", WRITER, str(tmp_path / name)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "writing\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_what_a_killed_process_has_left_goes(start, tmp_path):
    process = start()
    other = start("other.txt")
    for one in (process, other):
        one.send_signal(signal.SIGKILL)
        one.wait()
    (left_of_other,) = [path for path in parts(tmp_path) if "other" in path.name]
    foreign = [tmp_path / name for name in (".out.txt.part", ".out.txt.1-zz.part", ".out.txt.12-0123abcd.part.bak")]
    for path in foreign:
        path.write_text("not ours")
    assert len(parts(tmp_path)) == 4
    with atomic_path(tmp_path / "out.txt") as temporary:
        temporary.write_text("whole")
    assert parts(tmp_path) == sorted([left_of_other, *foreign[:2]])
    assert foreign[2].exists()
    assert (tmp_path / "out.txt").read_text() == "whole"


def test_what_a_living_process_writes_stays(start, tmp_path):
    process = start()
    with atomic_path(tmp_path / "out.txt") as temporary:
        temporary.write_text("ours")
    assert len(parts(tmp_path)) == 1
    process.communicate("go on\n")
    assert process.returncode == 0
    assert (tmp_path / "out.txt").read_text() == "half"
    assert parts(tmp_path) == []


def test_threads_that_write_the_same_file_at_once(tmp_path):
    failed = []

    def write(text):
        try:
            for _ in range(30):
                with atomic_path(tmp_path / "out.txt") as temporary:
                    temporary.write_text(text)
        except Exception as error:
            failed.append(error)

    texts = [letter * 1000 for letter in "abcd"]
    writers = [threading.Thread(target=write, args=[text]) for text in texts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failed == []
    assert (tmp_path / "out.txt").read_text() in texts
    assert parts(tmp_path) == []


def test_content_is_synced_before_the_name_and_the_folder_after_it(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, os.replace

    def noted_sync(descriptor):
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    def noted_replace(source, target, **options):
        done.append("rename")
        replace(source, target, **options)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc")
    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    with atomic_path(tmp_path / "out.txt") as temporary:
        temporary.write_text("whole")
    assert done == [str(temporary), "rename", str(tmp_path)]


def test_a_file_that_cannot_be_synced_is_not_written(tmp_path, monkeypatch):
    (tmp_path / "out.txt").write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"), atomic_path(tmp_path / "out.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "out.txt").read_text() == "old"
    assert parts(tmp_path) == []


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    left = tmp_path / f".out.txt.{os.getpid()}-0123abcd.part"
    left.touch()

    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with atomic_path(tmp_path / "out.txt") as temporary:
        temporary.write_text("whole")
    assert (tmp_path / "out.txt").read_text() == "whole"
    assert left.exists()  # nobody can tell whether someone is writing it


def test_modes_of_files(tmp_path):
    old = os.umask(0o027)
    try:
        with atomic_path(tmp_path / "new.txt") as temporary:
            temporary.write_text("new")
        (tmp_path / "old.txt").touch(0o600)
        with atomic_path(tmp_path / "old.txt") as temporary:
            temporary.write_text("new")
    finally:
        os.umask(old)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new.txt", "old.txt")] == [0o640, 0o600]


def test_two_runs_give_the_same_bytes(tmp_path, monkeypatch):
    queries = rw.Queries(np.arange(6.0).reshape(3, 2), [0, 1, 2], [1, 1, 2])
    rw.write_svmlight(queries, tmp_path / "first.txt.gz")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 100_000)
    rw.write_svmlight(queries, tmp_path / "second.txt.gz")
    first, second = ((tmp_path / name).read_bytes() for name in ("first.txt.gz", "second.txt.gz"))
    assert first == second
    assert first[3:8] == bytes(5)  # no file name, no time
