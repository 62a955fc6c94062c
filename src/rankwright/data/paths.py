"""Input files that are there, and output files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# How the names of files end while they are written: the process, and something of its own.
TEMPORARY_ENDING = r"\.\d+-[0-9a-f]{8}\.part"
_GROUP_ENDINGS = (".query", ".group", ".query.gz", ".group.gz")
_STREAM_FOLDERS = (("/", "dev"), ("/", "proc"))  # names in them stand for open pipes and devices


def input_file(path: str | os.PathLike[str]) -> Path:
    """The path of a file to read; an OSError that says what is wrong if it is not one."""
    checked = Path(path)
    if checked.is_dir():
        raise IsADirectoryError(f"{checked} is a folder: give the file in it to read")
    if not checked.exists():
        raise FileNotFoundError(f"{checked}: there is no such file")
    return checked


def group_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files beside a data file that give the sizes of its queries: ``rank.train.query`` beside ``rank.train``.

    ``rank.train.gz`` may have ``rank.train.query`` beside it, too.
    """
    data = Path(path)
    names = dict.fromkeys((data.name, data.name.removesuffix(".gz")))
    beside = (data.with_name(name + ending) for name in names for ending in _GROUP_ENDINGS)
    return [file for file in beside if file.is_file()] if data.is_file() else []


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside ``path``: it takes that name when the block ends well, and goes if it fails.

    Its content is on disk before it takes the name. What runs that were killed have left of the same file is removed.
    A link stays a link, and its target is replaced. A pipe or a device cannot be replaced: it is sent the
    finished file.
    """
    given = Path(path)
    is_stream = given.parts[:2] in _STREAM_FOLDERS or (given.exists() and not given.is_file())
    target = given if is_stream else Path(os.path.realpath(given))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {target.parent}")
    folder = Path(tempfile.gettempdir()) if is_stream else target.parent
    _remove_left_behind(folder, target.name)
    temporary, lock = _made_and_locked(folder, target.name)
    try:
        if target.is_file() and not is_stream:
            temporary.chmod(target.stat().st_mode)
        yield temporary
        if not is_stream:
            _sync(temporary)
            temporary.replace(target)
            with suppress(OSError):  # where a folder cannot be synced, the system does it in its own time
                _sync(folder)
        else:
            with temporary.open("rb") as finished, target.open("wb") as stream:
                shutil.copyfileobj(finished, stream)
    finally:
        temporary.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _stem(name: str) -> str:
    """How the names of temporary files for a file of this name begin."""
    return f".{name[:100]}"


def _made_and_locked(folder: Path, name: str) -> tuple[Path, int | None]:
    """A new file, locked while the descriptor is open: others see that it is in use. Without locks, None."""
    while True:
        temporary = folder / f"{_stem(name)}.{os.getpid()}-{secrets.token_hex(4)}.part"
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        is_locked = _locked(descriptor, wait=True)
        if is_locked and temporary.exists():
            return temporary, descriptor
        os.close(descriptor)
        if not is_locked:
            return temporary, None
        # Before it was locked, another run took it for one left behind, and removed it.


def _remove_left_behind(folder: Path, name: str) -> None:
    """Remove temporary files for a file of this name that nobody writes any more: those that are not locked."""
    stem = re.escape(_stem(name))
    with suppress(OSError):
        for path in folder.iterdir():
            if re.fullmatch(stem + TEMPORARY_ENDING, path.name):
                _remove_unless_locked(path)


def _remove_unless_locked(path: Path) -> None:
    with suppress(OSError):  # gone already, or somebody else's
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            if _locked(descriptor, wait=False):
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _locked(descriptor: int, *, wait: bool) -> bool | None:
    """Whether the file could be locked, or None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _sync(path: Path) -> None:
    """Have what was written on disk, as far as the file system knows how."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
