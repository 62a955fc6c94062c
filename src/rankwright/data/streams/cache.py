"""What has been read from files, kept in a binary file beside them, and never trusted when the files have changed.

A cache belongs to certain files, read with certain options: both are in its name. In it stand the size, the time of
the last writing and a digest of each file, those of group sizes and column descriptions beside them included. The
digest is of the whole content up to 8 MB, and of larger files of their first and last megabyte and of 64 stretches of
64 kB in between.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from rankwright.data.changes import CHANGED
from rankwright.data.paths import atomic_path
from rankwright.data.streams.store import NotAStore, Store, unnamed_file
from rankwright.errors import ParameterError, ParseError

ENDING = ".rankwright"
_WHOLE = 8 << 20
_EDGE = 1 << 20
_STRETCH, _STRETCHES = 1 << 16, 64

# Writes the rows into an open file; takes what is to be noted, and a folder for what is needed on the way.
Fill = Callable[[BinaryIO, Path, dict[str, Any]], Store]


class Cache:
    """The place of what is read from some files, with some options."""

    def __init__(self, files: Sequence[Path], options: dict[str, Any], folder: str | os.PathLike[str] | None) -> None:
        self.files = files
        self.folder = _folder(files, folder)
        self.path = self.folder / f"{_stem(files)}-{_short(options)}{ENDING}"

    def opened(self, fill: Fill, beside: Sequence[Path], told: str) -> Store:
        """What the cache holds, if it is of the files as they are now; else what is read from them."""
        state = _state([*self.files, *beside])
        store = self._kept(state)
        if store is None:
            store = self._written(fill, state) or self._for_now(fill, state)
            if _state([*self.files, *beside]) != state:
                store.file.close()
                self.path.unlink(missing_ok=True)
                raise ParseError(self.files[0], CHANGED)
        store.named(told)
        weakref.finalize(store, store.file.close)
        return store

    def _kept(self, state: list[dict[str, Any]]) -> Store | None:
        try:
            file = self.path.open("rb", buffering=0)
        except OSError:
            return None
        try:
            store = Store(cast(BinaryIO, file))
            if store.note.get("files") == state:
                return store
        except NotAStore:
            pass
        file.close()
        return None

    def _written(self, fill: Fill, state: list[dict[str, Any]]) -> Store | None:
        """Read the files into the cache; None if it cannot be written."""
        if not os.access(self.folder, os.W_OK | os.X_OK):
            return None
        with atomic_path(self.path) as temporary, temporary.open("r+b") as file:
            fill(cast(BinaryIO, file), self.folder, {"files": state})
        return Store(cast(BinaryIO, self.path.open("rb", buffering=0)))

    def _for_now(self, fill: Fill, state: list[dict[str, Any]]) -> Store:
        """Read the files into a file without a name, which is gone when the program ends."""
        folder = Path(tempfile.gettempdir())
        warnings.warn(
            f"{self.folder} cannot be written to, so what is read is kept in {folder} until the program ends, and read "
            "again next time: name a folder to keep it in with cache= (--cache)",
            stacklevel=2,
        )
        file = unnamed_file(folder)
        try:
            return fill(file, folder, {"files": state})
        except BaseException:
            file.close()
            raise


def remove_caches(files: Sequence[Path], folder: str | os.PathLike[str] | None) -> list[Path]:
    """Remove all that was kept of these files, whatever the options."""
    found = sorted(_folder(files, folder).glob(f"{_escaped(_stem(files))}-*{ENDING}"))
    for path in found:
        path.unlink(missing_ok=True)
    return found


def _folder(files: Sequence[Path], folder: str | os.PathLike[str] | None) -> Path:
    if folder is None:
        return Path(os.path.realpath(files[0])).parent
    given = Path(folder)
    if given.exists() and not given.is_dir():
        raise ParameterError(f"cache must be a folder, and {given} is a file")
    try:
        given.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"cache: the folder {given} cannot be made: {error.strerror}") from None
    return given


def _stem(files: Sequence[Path]) -> str:
    return f"{files[0].name[:100]}.{_short([os.path.realpath(file) for file in files])}"


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _short(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def _state(files: Sequence[Path]) -> list[dict[str, Any]]:
    """What tells that a file is the one that was read."""
    told = []
    for path in files:
        with path.open("rb") as file:
            seen = os.fstat(file.fileno())
            told.append(
                {
                    "path": os.path.realpath(path),
                    "size": seen.st_size,
                    "time": seen.st_mtime_ns,
                    "digest": _digest(cast(BinaryIO, file), seen.st_size),
                }
            )
    return told


def _digest(file: BinaryIO, size: int) -> str:
    digest = hashlib.sha256()
    if size <= _WHOLE:
        digest.update(file.read())
        return digest.hexdigest()
    between = [_EDGE + place * (size - 2 * _EDGE) // _STRETCHES for place in range(_STRETCHES)]
    for place, length in [(0, _EDGE), *((place, _STRETCH) for place in between), (size - _EDGE, _EDGE)]:
        file.seek(place)
        digest.update(file.read(length))
    return digest.hexdigest()
