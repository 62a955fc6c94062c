"""Timing two sides fairly on a noisy machine: alternately, many times, medians, and the ratio that counts."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from rankwright.machine.threads import thread_count


@dataclass(frozen=True)
class Row:
    """What ours and a peer take for the same job: ratio = peer / ours, at least the target, the more the better."""

    name: str
    against: str
    ours: float
    peer: float
    target: float
    note: str = ""
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """How many times as much the peer takes."""
        return self.peer / self.ours

    def to_dict(self) -> dict[str, Any]:
        """The row with its ratio, ready for JSON."""
        return {**asdict(self), "ratio": self.ratio}


def table(rows: list[Row]) -> str:
    """The rows as aligned text."""
    header = ("name", "against", "ours", "peer", "unit", "ratio", "target", "note")
    cells = [
        (r.name, r.against, f"{r.ours:.4f}", f"{r.peer:.4f}", r.unit, f"{r.ratio:.2f}", f"≥ {r.target:g}", r.note)
        for r in rows
    ]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)) for row in (header, *cells)]
    return "\n".join(line.rstrip() for line in lines)


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternate(sides: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The median seconds of each side, timed in turns so that a slow spell of the machine hits all alike."""
    for work in sides.values():
        work()  # compiles, loads and warms up
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, work in sides.items():
            times[name].append(seconds(work))
    return {name: statistics.median(taken) for name, taken in times.items()}


def with_blas_threads(count: int, work: Callable[[], object]) -> Callable[[], object]:
    """The same work while BLAS and LAPACK use so many threads."""

    def limited() -> object:
        with threadpool_limits(limits=count, user_api="blas"):
            return work()

    return limited


def fastest_threads(work: Callable[[], object]) -> int:
    """The number of BLAS threads with which one call takes less time: 1, or as many as ours may use."""
    taken = {count: seconds(with_blas_threads(count, work)) for count in (1, thread_count())}
    return min(taken, key=taken.__getitem__)


def threads_note(count: int) -> str:
    """What a row says of a peer's threads."""
    return f"peer on {count} BLAS thread{'s' if count > 1 else ''}, its faster choice"


def in_a_process(script: str, *arguments: str) -> dict[str, float]:
    """Run a script in a Python of its own; it prints what it measured as one line of JSON at the end."""
    finished = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return measured


def growth(work: Callable[[], object]) -> int:
    """By how many bytes a call raises the memory of this process above what it has before, at its peak."""
    Path("/proc/self/clear_refs").write_text("5")  # forget earlier peaks
    before = memory("VmRSS")
    work()
    return memory("VmHWM") - before


def memory(field: str) -> int:
    """Bytes that this process has now (``VmRSS``) or had at most (``VmHWM``), as Linux tells it."""
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))
