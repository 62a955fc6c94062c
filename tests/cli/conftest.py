"""Running the command in this process, with the exit code and everything it prints."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from rankwright.cli.main import main

TEXT = """\
2 qid:1 1:0.5 2:3 3:1
0 qid:1 1:0.25 2:1 3:1
1 qid:1 1:0.75 2:2 3:1
0 qid:2 1:0.5 2:1 3:4
1 qid:2 1:1.5 2:3 3:4
0 qid:3 1:2 2:6 3:2
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(name="run")
def run_command(capsys):
    """Call the command with arguments; no error may be more than one line, and none a traceback."""

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        if code:
            *warnings, error = printed.err.splitlines()
            known = ("warning: ", "continuing an interrupted run: ")
            assert all(line.startswith(known) or line.endswith("reading it part by part") for line in warnings)
            assert error.startswith("error: ")
        return Ran(code, printed.out, printed.err)

    return run


@pytest.fixture(name="run_as_is")
def run_command_as_is(run):
    """The same, but linear rankers are trained on features as they are, as the library trains them by itself."""

    def run_as_is(command, *arguments):
        is_linear = command == "select" or (command == "train" and not {"rankboost", "boosted"} & set(arguments))
        return run(command, *arguments, *(("--scale", "none") if is_linear else ()))

    return run_as_is


@pytest.fixture(name="data")
def data_file(tmp_path: Path) -> Path:
    """Three small queries as text."""
    path = tmp_path / "data.txt"
    path.write_text(TEXT)
    return path
