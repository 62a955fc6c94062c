"""How greedy RankRLS grows with documents, features and steps: linearly, says paper G (section 3, O(kmn)).

``python -m benchmarks.growth [FOLDER]`` prints every point and, given a folder, draws greedy_growth_*.svg there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, in_a_process
from rankwright.report.chart import line_chart

# Memory that a process touches for the first time can take longer than the fit: the first fit is not timed.
_FIT = """
import json, statistics, sys, time
import numpy as np
import rankwright as rw
from benchmarks.timing import memory

def draw(n_queries, n_documents, n_features):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_queries * n_documents, n_features), dtype=np.float32)
    noise = rng.standard_normal(len(x), dtype=np.float32)
    y = np.digitize(x[:, :8] @ np.arange(1, 9, dtype=np.float32) + 8 * noise, [10, 25])
    return rw.Queries(x, y, np.repeat(np.arange(n_queries), n_documents))

def fit(queries, n_features):
    start = time.perf_counter()
    rw.GreedyRankRLS(alpha=1.0, n_features=n_features, measures=(), method="stream").fit(queries)
    return time.perf_counter() - start

n_queries, n_documents, n_features, n_steps, repeats = map(int, sys.argv[1:])
fit(draw(20, 100, 10), 2)
before = memory("VmRSS")
queries = draw(n_queries, n_documents, n_features)
fit(queries, n_steps)
seconds = statistics.median(fit(queries, n_steps) for _ in range(repeats))
print(json.dumps({"seconds": seconds, "bytes": memory("VmHWM") - before}))
"""

_DOCUMENTS = 200  # of each query: many more than steps, so that the state's part N·n·k² stays small


@dataclass(frozen=True)
class _Size:
    """What is varied."""

    queries: int = 1000
    features: int = 100
    steps: int = 20

    @property
    def documents(self) -> int:
        """m."""
        return _DOCUMENTS * self.queries


_MIDDLE = _Size()
_PANELS = {
    "documents": tuple(replace(_MIDDLE, queries=count) for count in (200, 400, 800, 1600, 3200)),
    "features": tuple(replace(_MIDDLE, features=count) for count in (64, 128, 256, 512, 1024)),
    "steps": tuple(replace(_MIDDLE, steps=count) for count in (4, 8, 16, 32, 64)),
}


@dataclass(frozen=True)
class _Panel:
    """Time and memory at five sizes that differ in one respect."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    bytes: tuple[float, ...]

    def slope(self, values: tuple[float, ...]) -> float:
        """The power with which the values grow: the slope of a line fitted to their logarithms."""
        return float(np.polyfit(np.log(self.sizes), np.log(values), 1)[0])

    @property
    def title(self) -> str:
        """What is shown, with the two powers."""
        return f"grows as {self.name}^{self.slope(self.seconds):.2f} in time, ^{self.slope(self.bytes):.2f} in memory"

    def row(self) -> Row:
        """The time at the largest size beside the smallest one's times as much as there is more to do."""
        factor = self.sizes[-1] / self.sizes[0]
        name = f"greedy, {factor:g} × {self.name}"
        return Row(name, "linear growth", self.seconds[-1], factor * self.seconds[0], 0.8, self.title)

    def lines(self) -> Iterator[str]:
        """A line of text for each point."""
        yield f"greedy {self.title}"
        for size, seconds, peak in zip(self.sizes, self.seconds, self.bytes, strict=True):
            yield f"{size:>9,} {self.name:<10} {seconds:8.3f} s {peak / 1e6:8.0f} MB"

    def svg(self) -> str:
        """Time and memory against the size, in multiples of the first point."""
        start = self.sizes[0]
        measured = {"time": self.seconds, "peak memory": self.bytes}
        series = {name: (self.sizes, [value / values[0] for value in values]) for name, values in measured.items()}
        series["linear"] = (self.sizes, [size / start for size in self.sizes])
        return line_chart(
            series,
            title=f"Greedy RankRLS {self.title}",
            x_label=self.name,
            y_label=f"multiple of what {start:,} {self.name} take",
            x_log=True,
            y_log=True,
        )


def run(repeats: int) -> list[Row]:
    """One row for each panel."""
    return [panel.row() for panel in _measured(repeats)]


def _measured(repeats: int) -> Iterator[_Panel]:
    for name, points in _PANELS.items():
        taken = [in_a_process(_FIT, *map(str, (p.queries, _DOCUMENTS, p.features, p.steps, repeats))) for p in points]
        sizes = tuple(getattr(point, name) for point in points)
        yield _Panel(name, sizes, tuple(t["seconds"] for t in taken), tuple(t["bytes"] for t in taken))


def main() -> None:
    """Print every point, and draw them where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="where greedy_growth_*.svg go")
    parser.add_argument("--repeats", type=int, default=3, help="how often each fit is timed (default: 3)")
    arguments = parser.parse_args()
    for panel in _measured(arguments.repeats):
        print(*panel.lines(), sep="\n")
        if arguments.folder:
            arguments.folder.mkdir(parents=True, exist_ok=True)
            (arguments.folder / f"greedy_growth_{panel.name}.svg").write_text(panel.svg())


if __name__ == "__main__":
    main()
