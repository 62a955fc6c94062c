"""The command as a whole: help, version, wrong usage, interruption, and how it starts."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import rankwright
from rankwright.cli.main import app
from rankwright.data.files import read_asked

COMMANDS = (
    *("fit", "evaluate", "inspect", "convert", "select", "train", "predict", "explain", "export"),
    *("bounds", "certify", "consistency", "reproduce", "study"),
)
GROUPS = ("reproduce", "study")
STUDIES = ("bounds",)
REPRODUCTIONS = ("greedy-rankrls", "order-preserving", "large-margin")


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "rankwright", *map(str, arguments)], capture_output=True, text=True, **options
    )


def help_of(*name):
    """The help as a terminal of 80 columns shows it."""
    shown = CliRunner().invoke(app, [*name, "--help"], prog_name="rankwright", env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    return shown.output


@pytest.mark.parametrize(
    "name",
    [
        (),
        *((name,) for name in COMMANDS if name not in GROUPS),
        *(("reproduce", name) for name in REPRODUCTIONS),
        *(("study", name) for name in STUDIES),
    ],
)
def test_help_tells_examples_and_exit_codes(name):
    shown = help_of(*name)
    assert f"rankwright {' '.join(name)}".strip() in shown
    assert "Examples:" in shown
    for code in (0, 2, 65, 66, 73, 130, 143):
        assert any(line.split()[:1] == [str(code)] for line in shown.splitlines())


@pytest.mark.parametrize(("name", "commands"), [((), COMMANDS), (("reproduce",), REPRODUCTIONS)])
def test_help_names_every_command_with_its_whole_summary(name, commands):
    listed = help_of(*name).split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed] == list(commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_version(run):
    assert run("--version") == (0, f"rankwright {rankwright.__version__}\n", "")


def test_without_arguments_it_shows_help_as_an_error():
    ran = command()
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Commands:" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["frobnicate"], "frobnicate"),
        (["inspect"], "'DATA'"),
        (["inspect", "--colour", "data.txt"], "--colour"),
        (["convert", "a.txt"], "'OUT'"),
    ],
)
def test_wrong_usage_is_one_line_that_points_to_help(run, arguments, told):
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert "--help)" in ran.err


def test_interruption(run, data, monkeypatch):
    def interrupted(path, columns, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("rankwright.data.files.read_asked", interrupted)
    assert run("inspect", data) == (130, "", "error: interrupted\n")


def test_a_warning_is_one_line_without_source(run, data, monkeypatch):
    def warn_and_read(path, columns, **options):
        warnings.simplefilter("always")
        warnings.warn("query 'a' stands in two places", UserWarning, stacklevel=2)
        return read_asked(path, columns)

    monkeypatch.setattr("rankwright.data.files.read_asked", warn_and_read)
    ran = run("inspect", data)
    assert (ran.code, ran.err) == (0, "warning: query 'a' stands in two places\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_standard_output_that_cannot_be_written(data):
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "rankwright", "inspect", str(data)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ran.returncode == 73
    assert ran.stderr == "error: cannot write to standard output: No space left on device\n"


def test_help_imports_nothing_heavy():
    script = "import sys; from rankwright.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ran.stderr.split()}
    assert loaded.isdisjoint({"numpy", "scipy", "numba", "sklearn", "pyarrow", "pandas", "polars", "rich"})


def test_a_reader_that_goes_away_leaves_no_traceback(data):
    piped = f"{sys.executable} -m rankwright inspect {data} --json | true"
    ran = subprocess.run(piped, shell=True, capture_output=True, text=True)
    assert ran.stderr == ""
