"""What a command tells the model file of itself: its words, and the files that it read."""

from __future__ import annotations

import glob
import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.output import opening, reading
from rankwright.data.changes import told_if_changed
from rankwright.data.paths import group_files

if TYPE_CHECKING:
    from rankwright.data.queries import Queries

# The words after `rankwright` of the command that runs.
COMMAND_WORDS: ContextVar[Sequence[str] | None] = ContextVar("COMMAND_WORDS", default=None)


def command_text() -> str | None:
    """The command that runs, as a shell takes it; None where there is none."""
    words = COMMAND_WORDS.get()
    return None if words is None else shlex.join(["rankwright", *words])


def data_records(
    files: Mapping[str, Path], read: Mapping[str, Queries], digests: Mapping[str, str | None]
) -> list[dict[str, Any]]:
    """What is remembered of each data file: its role and name, what it held, and what to know it again by.

    ``groups`` has the name and hash of the file of group sizes beside it, if there is one.
    """
    records: list[dict[str, Any]] = []
    for role, path in files.items():
        record: dict[str, Any] = {
            "role": role,
            "name": path.name,
            "sha256": digests[role],
            "queries": read[role].n_queries,
            "documents": read[role].n_documents,
        }
        for beside in group_files(path):
            record["groups"] = {"name": beside.name, "sha256": digests[groups_of(role)]}
        records.append(record)
    return records


@contextmanager
def digests_of(files: Mapping[str, Path]) -> Iterator[dict[str, str | None]]:
    """SHA-256 of files, true of all that is read from them in the block: if one changes until its end, it is refused.

    A pipe can be read only once, and has None. Of the files of a folder or pattern it is that of their digests. A file
    of group sizes beside a data file stands under `groups_of` its role.
    """
    digests: dict[str, str | None] = {}
    with ExitStack() as watched:
        for role, path in files.items():
            digests[role] = _watched_digest_of_all(path, watched)
            for beside in group_files(path):  # if there are several, they say the same
                digests[groups_of(role)] = _watched_digest(beside, watched)
        yield digests


def _watched_digest_of_all(path: Path, watched: ExitStack) -> str | None:
    from rankwright.data.streams.opening import data_files

    if path.is_file():
        return _watched_digest(path, watched)
    if not path.is_dir() and (path.exists() or not glob.has_magic(str(path))):  # a pipe, or nothing
        return None
    with opening(path):
        digests = [_watched_digest(file, watched) for file in data_files(path)]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _watched_digest(path: Path, watched: ExitStack) -> str:
    watched.enter_context(told_if_changed(path))
    return file_digest(path)


def groups_of(role: str) -> str:
    """The name of the file of group sizes among digests.

    >>> groups_of("train")
    'groups of train'
    """
    return f"groups of {role}"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
