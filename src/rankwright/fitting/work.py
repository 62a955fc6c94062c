"""What is finished of a long job, kept in a folder, so that the same job can go on after it was interrupted."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.paths import atomic_path

Arrays = dict[str, npt.NDArray[Any]]

_FOLDER = ".rankwright-fit"


def fingerprint(content: Mapping[str, Any]) -> str:
    """A name for a job: the same for the same data, options and version, and for no other."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


class Work:
    """Finished parts of one job, by name. Each is a file that is there whole or not at all."""

    def __init__(self, out: Path | None, job: str) -> None:
        self._folder = None if out is None else out / _FOLDER / job

    @property
    def is_there(self) -> bool:
        """Whether any job has left work in the folder."""
        return self._folder is not None and self._folder.parent.exists()

    @property
    def n_finished(self) -> int:
        """How many parts are there already."""
        return 0 if self._folder is None else len(list(self._folder.glob("*.npz")))

    def once(self, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """The part of that name: from its file if it is finished, else computed and kept."""
        if self._folder is None:
            return compute()
        path = self._folder / f"{name}.npz"
        kept = _read(path)
        if kept is not None:
            return kept
        arrays = compute()
        self._folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        return arrays

    def clear(self) -> None:
        """Forget this job and all others of the folder: the results are written."""
        if self._folder is not None:
            shutil.rmtree(self._folder.parent, ignore_errors=True)


def _read(path: Path) -> Arrays | None:
    """The arrays of a file; None if it is not there, or is damaged."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except Exception:  # whatever is wrong with it, it is computed again
        return None
