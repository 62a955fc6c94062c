"""What the documentation shows is run: its Python, its sessions and its commands, and the doctests of the modules.

Each page is read from top to bottom as a reader would follow it: all its blocks share one namespace and one
empty folder. A ``python`` block must run, a ``pycon`` (or ``doctest``) block must print what it shows, and each
``$ rankwright …`` line of a ``console`` block must end with 0 and print what is shown below it, if anything is.
Wherever output is shown, ``...`` stands for anything, and runs of white space are alike. A block is left out only
if the line above it is ``<!-- not run: reason -->``.
"""

import doctest
import importlib
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

import rankwright
from rankwright.cli.main import main
from rankwright.engines import ENGINES
from rankwright.export import TARGETS
from rankwright.solvers.linear_solvers import LINEAR_SOLVERS
from tests.needed import needs_boosting, needs_dask, needs_pyspark, needs_spark, needs_torch

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    "rankwright",
    *(module.name for module in pkgutil.walk_packages(rankwright.__path__, "rankwright.")),
]
# Pages whose examples need other packages and programs.
OF_EXTRAS = {
    "docs/boosting.md": (needs_boosting,),
    "docs/clusters.md": (needs_dask, needs_spark),
    "docs/pytorch.md": (needs_torch,),
}
SHOWN_AS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w-]*)[^`]*")
_NOT_RUN = re.compile(r"<!-- not run: \S.* -->")
_FOR_A_SHELL = re.compile(r"[|&;<>$*?]")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and the number of its first line, counted from 0."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, what is shown below it, and its line number, counted from 0."""

    text: str
    shown: str
    line: int


class WrongPage(AssertionError):
    """A page says what is not so; the message names the page and line."""

    def __init__(self, page: str, line: int, problem: str) -> None:
        super().__init__(f"{page}, line {line + 1}: {problem}")


def blocks_of(text: str, page: str) -> list[Block]:
    """The fenced blocks of a page, without those that are marked as not run."""
    lines = text.splitlines()
    blocks = []
    number = 0
    while number < len(lines):
        opening = _FENCE.fullmatch(lines[number])
        number += 1
        if opening is None:
            continue
        first = number
        while number < len(lines) and lines[number].strip() != opening["ticks"]:
            number += 1
        if number == len(lines):
            raise WrongPage(page, first - 1, "the block is not closed")
        above = next((line for line in reversed(lines[: first - 1]) if line.strip()), "")
        if not _NOT_RUN.fullmatch(above.strip()):
            body = [line.removeprefix(opening["indent"]) for line in lines[first:number]]
            blocks.append(Block(opening["language"], "\n".join(body) + "\n", first))
        number += 1
    return blocks


def commands_of(block: Block) -> list[Command]:
    """The ``$ rankwright …`` commands of a console block; a backslash joins a line to the next."""
    commands = []
    session = re.sub(r"\\\n", lambda _: "\\\0", block.text)  # so that a command is one line
    line = block.line
    for part in re.split(r"^(?=\$ )", session, flags=re.MULTILINE):
        command, _, shown = part.partition("\n")
        if command.startswith("$ rankwright"):
            commands.append(Command(command.removeprefix("$ ").replace("\\\0", " "), shown, line))
        line += part.count("\n") + part.count("\0")
    return commands


def run_page(text: str, page: str, folder: Path) -> None:
    """Run a page in a folder, which must be the working directory."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(text, page):
        if block.language == "python":
            run_python(block, page, namespace)
        elif block.language in ("pycon", "doctest"):
            run_session(block, page, namespace)
        elif block.language == "console":
            for command in commands_of(block):
                run_command(command, page, folder)


def run_python(block: Block, page: str, namespace: dict[str, object]) -> None:
    padding = "\n" * block.line  # so that a traceback tells the line of the page
    exec(compile(padding + block.text, page, "exec"), namespace)


def run_session(block: Block, page: str, namespace: dict[str, object]) -> None:
    session = doctest.DocTestParser().get_doctest(block.text, namespace, page, page, block.line)
    if not session.examples:
        raise WrongPage(page, block.line, "a pycon block needs >>> prompts")
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=SHOWN_AS)
    failed = runner.run(session, out=report.append, clear_globs=False).failed
    namespace.update(session.globs)  # the runner works on a copy
    if failed:
        raise WrongPage(page, block.line, "".join(report))


def run_command(command: Command, page: str, folder: Path) -> None:
    code, printed = _in_a_shell(command.text, folder) if _FOR_A_SHELL.search(command.text) else _here(command.text)
    if code:
        raise WrongPage(page, command.line, f"$ {command.text} ended with {code}:\n{printed}")
    if command.shown.strip() and not doctest.OutputChecker().check_output(
        command.shown.strip(), printed.strip(), SHOWN_AS
    ):
        raise WrongPage(page, command.line, f"$ {command.text} printed:\n{printed}\nnot:\n{command.shown}")


def _here(command: str) -> tuple[int, str]:
    """Exit code and all that is printed, in this process: a new one would spend most of its time importing."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(printed), redirect_stderr(printed):
        code = main(shlex.split(command)[1:])
    printed.seek(0)
    return code, printed.read()


def _in_a_shell(command: str, folder: Path) -> tuple[int, str]:
    """The same of a command with pipes, redirections, variables or patterns of file names."""
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "PYTHONIOENCODING": "utf-8",
    }
    ended = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
    )
    return ended.returncode, ended.stdout


@pytest.fixture(autouse=True)
def _columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(autouse=True)
def _what_pages_add_goes_with_them():
    with mock.patch.dict(ENGINES), mock.patch.dict(LINEAR_SOLVERS), mock.patch.dict(TARGETS):
        yield


def page_of(page):
    """A page as a parameter of a test; one that needs an extra is left to `make test-extras`."""
    name = page.relative_to(ROOT).as_posix()
    return pytest.param(page, id=name, marks=[pytest.mark.peers] * (name in OF_EXTRAS))


@pytest.fixture
def _spark_ends():
    """A page that goes wrong leaves no Spark session to the tests that follow."""
    yield
    if "pyspark.sql" in sys.modules and (session := sys.modules["pyspark.sql"].SparkSession.getActiveSession()):
        session.stop()


@pytest.mark.usefixtures("_spark_ends")
@pytest.mark.parametrize("page", [*map(page_of, PAGES)])
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for needs in OF_EXTRAS.get(page.relative_to(ROOT).as_posix(), ()):
        needs()
    run_page(page.read_text(encoding="utf-8"), page.relative_to(ROOT).as_posix(), tmp_path)


@pytest.mark.parametrize("name", MODULES)
def test_doctests_of_module(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name.startswith("rankwright.dask"):
        needs_dask()
    if name.startswith("rankwright.spark"):
        needs_pyspark()
    if name.startswith("rankwright.torch"):
        needs_torch()
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


# The tests above can fail


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("```python\n1 / 0\n```\n", "division by zero"),
        ("```pycon\n>>> 1 + 1\n3\n```\n", "Got"),
        ("```pycon\n>>> unheard_of\n```\n", "unheard_of"),
        ("```pycon\n1 + 1\n```\n", "prompts"),
        ("```console\n$ rankwright inspect missing.txt\n```\n", "ended with 66"),
        ("```console\n$ rankwright --version\nrankwright 9\n```\n", "printed"),
        (
            "```console\n$ rankwright --version\nrankwright ...\n$ rankwright frobnicate\n```\n",
            "line 4: .* ended with 2",
        ),
        ("<!-- not run: -->\n```python\n1 / 0\n```\n", "division by zero"),
        ("text\n```python\n1\n", "line 2: the block is not closed"),
    ],
)
def test_a_wrong_page_is_noticed(page, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match=problem):
        run_page(page, "page.md", tmp_path)


def test_blocks_share_names_and_folder_and_may_be_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = """
```python
import rankwright as rw
text = "1 qid:1 1:0.5\\n0 qid:1 1:0.25\\n"
```

<!-- not run: it would destroy the world -->

```python
1 / 0
```

```pycon
>>> with open("made.txt", "w") as file:
...     _ = file.write(text)
>>> size = len(text)
```

```console
$ pip install rankwright
$ rankwright convert \\
    made.txt made.parquet
wrote made.parquet: 1 queries, 2 documents, 1 features
```

```python
assert rw.read_parquet("made.parquet").n_documents == 2 and size == 29
```
"""
    run_page(page, "page.md", tmp_path)
