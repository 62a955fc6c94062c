"""Timing two sides fairly on a noisy machine: alternately, many times, medians, and the ratio that counts."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """How long ours and a peer take for the same job: ratio = peer / ours, the more the better."""

    name: str
    peer: str
    ours_s: float
    peer_s: float
    target: float
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.peer_s / self.ours_s

    def to_dict(self) -> dict[str, Any]:
        """The row with its ratio, ready for JSON."""
        return {**asdict(self), "ratio": self.ratio}


def table(rows: list[Row]) -> str:
    """The rows as aligned text."""
    header = ("name", "peer", "ours_s", "peer_s", "ratio", "target", "note")
    cells = [
        (r.name, r.peer, f"{r.ours_s:.4f}", f"{r.peer_s:.4f}", f"{r.ratio:.2f}", f"≥ {r.target:g}", r.note)
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


def in_a_process(script: str, *arguments: str) -> dict[str, float]:
    """Run a script in a Python of its own; it prints what it measured as one line of JSON at the end."""
    finished = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return measured
