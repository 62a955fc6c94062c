"""What is finished of a long job, kept in a folder, so that the same job can go on after it was interrupted."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.paths import TEMPORARY_ENDING, atomic_path

Arrays = dict[str, npt.NDArray[Any]]

_FOLDER = ".rankwright-fit"
_ENDING = ".rankwright-part"
_DIGEST_BYTES = 32

# The names of what is made here; all else in the folder is someone else's.
_JOB = re.compile(r"[0-9a-f]{16}")
_PART = re.compile(rf"[a-z0-9-]+{_ENDING}|\.[a-z0-9-]+{_ENDING}{TEMPORARY_ENDING}")


def fingerprint(content: Mapping[str, Any]) -> str:
    """A name for a job: the same for the same data, options and version, and for no other."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


class Work:
    """Finished parts of one job, by name. Each is a file that is there whole or not at all.

    A file ends in the SHA-256 of the job, the part and what is before it. One that is damaged, or of another part, is
    not looked into any further, and computed again. Files that are not of this kind are never read and never removed.
    """

    def __init__(self, out: Path | None, job: str) -> None:
        self.job = job
        self._folder = None if out is None else out / _FOLDER / job

    @property
    def is_there(self) -> bool:
        """Whether any job has left work in the folder."""
        return self._folder is not None and any(_parts_of_all_jobs(self._folder.parent))

    @property
    def n_finished(self) -> int:
        """How many parts are there already."""
        if self._folder is None:
            return 0
        names = (path.name.removesuffix(_ENDING) for path in self._folder.glob(f"*{_ENDING}"))
        return sum(self._read(name) is not None for name in names)

    def once(self, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """The part of that name: from its file if it is finished, else computed and kept."""
        if self._folder is None:
            return compute()
        kept = self._read(name)
        if kept is not None:
            return kept
        arrays = compute()
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        self._folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(self._folder / f"{name}{_ENDING}") as temporary:
            temporary.write_bytes(content.getvalue() + self._digest(name, content.getvalue()))
        return arrays

    def _read(self, name: str) -> Arrays | None:
        """The arrays of a part; None if it is not there, or is damaged."""
        if self._folder is None:
            return None
        try:
            content = (self._folder / f"{name}{_ENDING}").read_bytes()
        except OSError:
            return None
        arrays, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
        if digest != self._digest(name, arrays):
            return None
        with np.load(io.BytesIO(arrays), allow_pickle=False) as kept:
            return {key: kept[key] for key in kept.files}

    def _digest(self, name: str, content: bytes) -> bytes:
        return hashlib.sha256(f"{self.job}/{name}\n".encode() + content).digest()

    def clear(self) -> None:
        """Forget this job and all others of the folder: the results are written."""
        if self._folder is None:
            return
        for part in list(_parts_of_all_jobs(self._folder.parent)):
            with suppress(OSError):
                part.unlink()
        for folder in (*_jobs(self._folder.parent), self._folder.parent):
            with suppress(OSError):
                folder.rmdir()  # which is refused where anything is left


def _jobs(folder: Path) -> list[Path]:
    """The folders of jobs, if any."""
    if not folder.is_dir():
        return []
    return [job for job in folder.iterdir() if _JOB.fullmatch(job.name) and job.is_dir()]


def _parts_of_all_jobs(folder: Path) -> Iterator[Path]:
    for job in _jobs(folder):
        yield from (path for path in job.iterdir() if _PART.fullmatch(path.name) and path.is_file())
