"""The kernels on disk: whatever is wrong with them, the work is done, and one line tells of it."""

import os
import runpy
import subprocess
import sys
import tempfile
import warnings

import numba
import pytest

from rankwright.machine import cache

SOURCE = """
from rankwright.machine.compile import kernel

@kernel
def twice(x):
    return 2 * x

@kernel
def thrice(x):
    return twice(x) + x

found = thrice(7), sum(thrice.stats.cache_hits.values())
print(*found)
"""


class Program:
    """A program with two kernels that keeps them in a folder of its own."""

    def __init__(self, folder):
        self.cache, self.source = folder / "cache", folder / "program.py"
        self.source.write_text(SOURCE)

    def run(self):
        """What it found, the number of kernels read from disk last, and the warnings."""
        cache._told_already.clear()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = runpy.run_path(str(self.source))["found"]
        return found, [str(warning.message) for warning in told]

    def run_alone(self, before=""):
        """The same in a process of its own: what it printed, and the lines with warnings."""
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(self.cache)}
        start = f"import runpy\n{before}\nrunpy.run_path({str(self.source)!r})"
        command = [sys.executable, "-c", start]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
        return done.stdout.strip(), [line for line in done.stderr.splitlines() if "Warning: " in line]

    def damage(self, suffix, change):
        for path in self.cache.rglob(f"*{suffix}"):
            path.write_bytes(change(path.read_bytes()))


@pytest.fixture(name="program")
def program_that_was_never_run(tmp_path, monkeypatch):
    program = Program(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(program.cache))
    return program


def zeroed(content):
    """As after a loss of power: the length is there, the middle is not."""
    third = len(content) // 3
    return content[:third] + bytes(third) + content[2 * third :]


def test_kernels_are_kept(program):
    assert program.run() == ((21, 0), [])
    assert program.run() == ((21, 1), [])


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize(
    "change",
    [lambda _: b"", lambda _: b"garbage\n" * 99, lambda content: content[: len(content) // 2], zeroed],
    ids=["empty", "garbage", "cut off", "zeroed"],
)
def test_damaged_files_are_made_again(program, suffix, change):
    program.run()
    program.damage(suffix, change)
    found, told = program.run()
    assert found == (21, 0)
    if change is not zeroed or suffix == ".nbc":  # an index with zeros in it may look like one of another source
        assert len(told) == 1
    assert all("is damaged: kernels are compiled again" in line for line in told)
    assert program.run() == ((21, 1), [])


def test_code_of_another_kernel_is_not_run(program):
    program.run()
    first, second = program.cache.rglob("*.nbc")
    whole = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(whole)
    assert program.run() == ((21, 0), [])


def test_nowhere_to_write_is_no_reason_to_fail(program, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)  # by which Numba finds out where it may write
    found, told = program.run()
    assert found == (21, 0)
    assert len(told) == 1
    assert "cannot be kept" in told[0]


def test_a_folder_that_can_no_longer_be_written_to_is_no_reason_to_fail(program, monkeypatch):
    program.run()
    program.damage(".nbi", lambda _: b"")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cache._WholeEntries, "_open_for_write", refuse)
    found, told = program.run()
    assert found == (21, 0)
    assert [line.partition(" in ")[0] for line in told] == ["a compiled kernel", "compiled kernels cannot be kept"]


def test_processes_of_their_own(program):
    """A full disk (no file longer than 64 bytes), what it leaves behind, and files that are empty."""
    pytest.importorskip("resource")
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))"
    printed, told = program.run_alone(before=full)
    assert printed == "21 0"
    assert len(told) == 1
    assert "cannot be kept in" in told[0]
    assert "File too large" in told[0]
    assert program.run() == ((21, 0), [])
    for suffix in (".nbi", ".nbc"):
        program.damage(suffix, lambda _: b"")
    printed, told = program.run_alone()
    assert printed == "21 0"
    assert len(told) == 1
    assert program.run() == ((21, 1), [])
