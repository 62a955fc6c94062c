"""How much memory data files would take, before any of them is read; and how much there is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_GZIP_MAGIC = b"\x1f\x8b"
_PARQUET_MAGIC = b"PAR1"
_UNPACKED = 6  # times larger than packed: what gzip makes of LETOR text
_NUMBER = 8


def estimated_bytes(files: Iterable[Path]) -> int:
    """About how much memory the queries in some files take once they are read.

    A number in text takes about as many letters as a number in memory takes bytes; a table of Parquet knows its size.
    """
    return sum(_of_file(file) for file in files)


def _of_file(file: Path) -> int:
    with file.open("rb") as opened:
        magic = opened.read(len(_PARQUET_MAGIC))
    size = file.stat().st_size
    if magic == _PARQUET_MAGIC:
        return max(size, _of_parquet(file))
    return size * _UNPACKED if magic.startswith(_GZIP_MAGIC) else size


def _of_parquet(file: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        known = pq.read_metadata(file)
    except (pa.ArrowException, OSError):  # the reader tells what is wrong with it
        return 0
    return int(known.num_rows * known.num_columns * _NUMBER)


def available_memory() -> int:
    """The memory of the machine that is free, or can be made so; without a limit if the system does not tell."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as told:
            return next(int(line.split()[1]) * 1024 for line in told if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows
        return 2**62
