"""Input files that are there, and output files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STREAM_FOLDERS = (("/", "dev"), ("/", "proc"))  # names in them stand for open pipes and devices


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
    """Give a temporary file beside ``path``: it takes that name when the block ends well, and goes if it fails.

    A link stays a link, and its target is replaced. A pipe or a device cannot be replaced: it is sent the
    finished file.
    """
    given = Path(path)
    is_stream = given.parts[:2] in _STREAM_FOLDERS or (given.exists() and not given.is_file())
    target = given if is_stream else Path(os.path.realpath(given))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {target.parent}")
    folder = Path(tempfile.gettempdir()) if is_stream else target.parent
    temporary = folder / f".{target.name[:100]}.{os.getpid()}-{secrets.token_hex(4)}.part"
    try:
        temporary.touch(exist_ok=False)
        if target.is_file() and not is_stream:
            temporary.chmod(target.stat().st_mode)
        yield temporary
        if not is_stream:
            temporary.replace(target)
        else:
            with temporary.open("rb") as finished, target.open("wb") as stream:
                shutil.copyfileobj(finished, stream)
    finally:
        temporary.unlink(missing_ok=True)
