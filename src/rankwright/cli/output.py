"""What all commands share: exit codes, reading and writing with errors that tell the file, and printing."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rankwright.errors import ParameterError
from rankwright.plain import without_nan
from rankwright.text import shown

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType


class Exit(IntEnum):
    """The exit codes of the command; the larger ones are those of BSD's sysexits."""

    FINE = 0
    USAGE = 2
    DATA = 65
    NO_INPUT = 66
    NO_MEMORY = 71
    CANNOT_CREATE = 73
    INTERRUPTED = 130
    TERMINATED = 143


class Failure(Exception):
    """A command cannot go on: one line for the user, and the exit code."""

    def __init__(self, problem: str, code: Exit) -> None:
        super().__init__(problem)
        self.code = code


def reading(path: Path) -> AbstractContextManager[None]:
    """While an input file is read: a spinner on a terminal, and a clear line if the file cannot be read."""
    return _watching(f"reading {path.name}", f"cannot read {path}", Exit.NO_INPUT)


def opening(path: Path) -> AbstractContextManager[None]:
    """The same while something else shows how far the work is: only the clear line."""
    return _failing(f"cannot read {path}", Exit.NO_INPUT)


def writing(path: Path) -> AbstractContextManager[None]:
    """While an output file is written: a spinner on a terminal, and a clear line if that cannot be done."""
    return _watching(f"writing {path.name}", f"cannot write {path}", Exit.CANNOT_CREATE)


def writing_into(folder: Path) -> AbstractContextManager[None]:
    """While files are written into a folder, and something else shows how far the work is: only the clear line."""
    return _failing(f"cannot write into {folder}", Exit.CANNOT_CREATE)


def working(what: str) -> AbstractContextManager[Any]:
    """While something takes long: a spinner on a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.text import Text

    return safe_console(stderr=True).status(Text(f"{what} …"))


@contextmanager
def _watching(what: str, problem: str, code: Exit) -> Iterator[None]:
    with working(what), _failing(problem, code):
        yield


@contextmanager
def _failing(problem: str, code: Exit) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(f"{problem}: {error.strerror or error}", code) from error


def check_output(path: Path, *inputs: Path) -> None:
    """Refuse, before any work is done, an output that is also an input or that cannot be created."""
    with _failing(f"cannot write {path}", Exit.CANNOT_CREATE):  # such as a name that is too long to ask about
        for source in inputs:
            if path.exists() and source.exists() and path.samefile(source):
                raise ParameterError(f"{path} is also an input: choose another name for the output")
        if path.is_dir():
            raise Failure(f"cannot write {path}: it is a folder", Exit.CANNOT_CREATE)
        if not path.parent.is_dir():
            raise Failure(f"cannot write {path}: there is no folder {path.parent}", Exit.CANNOT_CREATE)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise Failure(f"cannot write {path}: no permission in folder {path.parent}", Exit.CANNOT_CREATE)


def check_output_folder(folder: Path, names: Sequence[str], *inputs: Path) -> None:
    """Refuse, before any work is done, a folder that cannot be made, or one where these files cannot be written."""
    with _failing(f"cannot write {folder}", Exit.CANNOT_CREATE):
        if folder.is_dir():
            for name in names:
                check_output(folder / name, *inputs)
        elif folder.exists() or folder.is_symlink():
            raise Failure(f"cannot write {folder}: it is not a folder: give --out a folder", Exit.CANNOT_CREATE)
        else:
            check_output(folder)


def print_table(result: RenderableType) -> None:
    """Print a result for people: with colours and fitted to the window on a terminal, plain elsewhere."""
    with _printing():
        safe_console().print(result)


def safe_console(*, stderr: bool = False) -> Console:
    """A console for tables, spinners and bars on which names are no markup, and nothing in them is obeyed."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        """What is to be rendered is text from anywhere; what Rich adds, for colours and cursors, comes after it."""

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(shown(segment.text), segment.style)

    return SafeConsole(stderr=stderr, highlight=False, markup=False, emoji=False)


def print_json(result: Mapping[str, Any]) -> None:
    """Print a result for machines."""
    print_lines(json.dumps(without_nan(result), indent=2, allow_nan=False))


def print_lines(text: str) -> None:
    """Print text for people, and end its last line; nothing in it is obeyed by a terminal."""
    with _printing():
        print(shown(text))


def print_text(file: TextIO) -> None:
    """Print the content of a file of numbers, a little at a time."""
    with _printing():
        shutil.copyfileobj(file, sys.stdout)


def print_code(text: str) -> None:
    """Print text that is to be run: as it is, except on a terminal, where nothing in it is obeyed."""
    with _printing():
        print(shown(text, keep="\n\t") if sys.stdout.isatty() else text)


def tell(line: str) -> None:
    """Print a line on standard error, such as a warning; nothing in it is obeyed by a terminal."""
    print(shown(" ".join(line.splitlines()), keep=""), file=sys.stderr, flush=True)


@contextmanager
def _printing() -> Iterator[None]:
    problem = "cannot write to standard output"
    if not sys.stdout:  # it is None after >&- in a shell
        raise Failure(f"{problem}: it is closed", Exit.CANNOT_CREATE)
    with _failing(problem, Exit.CANNOT_CREATE):
        yield
        sys.stdout.flush()
