"""Compiled kernels on disk: what cannot be kept or read is compiled, and nothing else happens."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

_DIGEST_BYTES = hashlib.sha256().digest_size

_DAMAGED, _NOT_KEPT = "damaged", "not kept"
_told_already: set[str] = set()  # the kinds of problems that there has been a warning of


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, but a failure of any kind means that the kernel is compiled, and one warning says so."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        impl = self._impl
        # Under names of their own: files that Numba's plain cache made have no digest.
        base = f"{impl.filename_base}-whole"
        self._cache_file = _WholeEntries(self._cache_path, base, impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel compiled for these types, or None if it has to be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            where = f"in {self.cache_path} ({_told(error)})"
            _warn_once(f"a compiled kernel {where} is damaged: kernels are compiled again", _DAMAGED)
            self._forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if that can be done."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            warn_not_kept(f"in {self.cache_path} ({_told(error)})")

    def _forget(self) -> None:
        """Begin a new index: saving reads it first."""
        try:
            self.flush()
        except Exception as error:
            warn_not_kept(f"in {self.cache_path} ({_told(error)})")


class _WholeEntries(IndexDataCacheFile):  # type: ignore[misc]
    """Entries that carry their key and a digest: code that is torn, or another kernel's, is never run.

    Numba writes the index before the code, so that after a failure it may name code of an earlier source.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._owner(key), data))

    def load(self, key: Any) -> Any:
        entry = super().load(key)
        if entry is None:
            return None
        owner, data = entry
        return data if owner == self._owner(key) else None

    def _owner(self, key: Any) -> str:
        return repr((key, self._source_stamp))

    def _dump(self, entry: Any) -> bytes:
        content: bytes = super()._dump(entry)
        return content + hashlib.sha256(content).digest()  # what follows the content is not looked at in loading it

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(content[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
            raise ValueError(f"{name} is not as it was written")
        return super()._load_data(name)


def warn_not_kept(where: str) -> None:
    """Tell, once, that the next run will have to compile again."""
    _warn_once(f"compiled kernels cannot be kept {where}: they are compiled anew in each run", _NOT_KEPT)


def _warn_once(problem: str, kind: str) -> None:
    """One line for each kind of problem, whatever the number of kernels."""
    if kind not in _told_already:
        _told_already.add(kind)
        warnings.warn(problem, RuntimeWarning, stacklevel=2)


def _told(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__
