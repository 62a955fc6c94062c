"""Input files that are there, and output files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def input_file(path: str | os.PathLike[str]) -> Path:
    """The path of a file to read; an OSError that says what is wrong if it is not one."""
    checked = Path(path)
    if checked.is_dir():
        raise IsADirectoryError(f"{checked} is a folder: give the file in it to read")
    if not checked.exists():
        raise FileNotFoundError(f"{checked}: there is no such file")
    return checked


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside ``path``: it takes that name when the block ends well, and goes if it fails."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}")
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
