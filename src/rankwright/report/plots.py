"""The plots of a page, as inline SVG that is complete without a script.

They get their colours from the page's style sheet. Most are drawn 400 pixels wide, so that their text can be read on a
phone; plots of rows take the whole width, with places in percent of it. With each plot comes a list of marks,
(x, y, row of a table or lines of text): a script may tell of the one that is pointed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.report.axis import Axis, exponent_of_two
from rankwright.report.markup import count, data_block, decimal, escaped, px

Values = npt.NDArray[np.float64]
Mark = tuple[float, float, str | list[str]]

WIDTH = 400
_HEIGHT = 270
_LETTER = 6.6  # about the width of a letter, in pixels
_TOP, _BOTTOM, _RIGHT = 32, 44, 16
_X_TICKS, _Y_TICKS = 6, 7
_ROW = 32  # its height, which the style sheet gives to the names, too
_BINS, _DRAW_BINS = 20, 40
_CELL, _CELL_GAP, _STRIP_LABEL = 11, 2, 66
STRIP_RANKS = (WIDTH - _STRIP_LABEL) // (_CELL + _CELL_GAP)


def _figure(
    key: str, title: str, description: str, body: Sequence[str], marks: Sequence[Mark], along: str = "x"
) -> str:
    """A drawing with its caption. ``along`` says how the nearest mark is found: "x", "y" or by both."""
    block = data_block([[round(x, 1), round(y, 1), about] for x, y, about in marks]) if marks else ""
    return "\n".join(
        [
            f'<figure class="plot" id="plot-{key}" data-along="{along}">',
            f"<figcaption>{title}</figcaption>",
            f'<svg viewBox="0 0 {WIDTH} {_HEIGHT}" role="img" aria-label="{escaped(description)}">',
            *body,
            f"</svg>{block}</figure>",
        ]
    )


def swatch(kind: str, label: str) -> str:
    """A piece of a legend, for a caption."""
    return f'<span class="legend"><span class="swatch {kind}" aria-hidden="true"></span> {escaped(label)}</span>'


@dataclass(frozen=True)
class _Canvas:
    """Two axes, and where their values are in pixels."""

    x_axis: Axis
    y_axis: Axis
    x_label: str
    y_label: str

    @property
    def left(self) -> float:
        return 12 + _LETTER * max(map(len, self.y_axis.labels))

    @property
    def bottom(self) -> float:
        return _HEIGHT - _BOTTOM

    def x(self, value: float) -> float:
        return self.left + self.x_axis.share(value) * (WIDTH - _RIGHT - self.left)

    def y(self, value: float) -> float:
        return self.bottom - self.y_axis.share(value) * (self.bottom - _TOP)

    def grid(self) -> Iterator[str]:
        for value, label in zip(self.y_axis.ticks, self.y_axis.labels, strict=True):
            y = self.y(value)
            yield f'<path class="grid" d="M{px(self.left)},{px(y)}H{WIDTH - _RIGHT}"/>'
            yield f'<text class="tick" x="{px(self.left - 6)}" y="{px(y + 4)}" text-anchor="end">{label}</text>'
        for value, label in zip(self.x_axis.ticks, self.x_axis.labels, strict=True):
            yield _x_tick(self.x(value), _TOP, self.bottom, label)
        yield f'<text class="label" x="2" y="16">{escaped(self.y_label)}</text>'
        yield _x_label((self.left + WIDTH - _RIGHT) / 2, _HEIGHT, self.x_label)

    def line(self, points: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{px(self.x(x))},{px(self.y(y))}" for x, y in points)

    def dot(self, x: float, y: float) -> str:
        """A line of no length, which round ends make a dot."""
        return f"M{px(self.x(x))},{px(self.y(y))}h0"

    def upright(self, value: float, kind: str) -> str:
        return f'<path class="{kind}" d="M{px(self.x(value))},{_TOP}V{px(self.bottom)}"/>'


def _x_tick(x: float, top: float, bottom: float, label: str) -> str:
    grid = f'<path class="grid" d="M{px(x)},{px(top)}V{px(bottom)}"/>'
    room = len(label) * _LETTER / 2
    middle = min(max(x, room), WIDTH - room)
    return f'{grid}<text class="tick" x="{px(middle)}" y="{px(bottom + 16)}" text-anchor="middle">{label}</text>'


def _x_label(middle: float, height: float, label: str) -> str:
    return f'<text class="label" x="{px(middle)}" y="{px(height - 8)}" text-anchor="middle">{escaped(label)}</text>'


def _axis(values: Sequence[float], most: int, *, log: bool = False) -> Axis:
    return Axis.around("alphas", [float(value) for value in values], log, most, to_ticks=True)


# Rows: one below the other, each with its name to the left of the axis


@dataclass(frozen=True)
class Row:
    """A value with its interval, or a bar, in a plot of rows."""

    label: str
    value: float
    interval: Sequence[float] | None = None
    kind: str = ""


def interval_plot(key: str, title: str, x_label: str, rows: Sequence[Row], about: Sequence[str]) -> str:
    """A dot for each value, on a line from end to end of its interval."""
    axis = _axis([end for row in rows for end in (row.value, *(row.interval or ()))], _X_TICKS)

    def drawn(row: Row, y: float) -> str:
        low, high = (_across(axis, end) for end in row.interval or (row.value, row.value))
        whisker = f'<line class="whisker {row.kind}" x1="{low}" x2="{high}" y1="{px(y)}" y2="{px(y)}"/>'
        return f'{whisker}<circle class="dot {row.kind}" cx="{_across(axis, row.value)}" cy="{px(y)}" r="5"/>'

    return _row_plot(key, title, x_label, rows, about, axis, drawn)


def bar_plot(key: str, title: str, x_label: str, rows: Sequence[Row], about: Sequence[str]) -> str:
    """A bar from 0 for each value, none of which is below 0."""
    axis = _axis([0, *(row.value for row in rows)], _X_TICKS)

    def drawn(row: Row, y: float) -> str:
        return f'<rect class="bar {row.kind}" y="{px(y - 6)}" width="{_across(axis, row.value)}" height="12"/>'

    return _row_plot(key, title, x_label, rows, about, axis, drawn)


def _across(axis: Axis, value: float) -> str:
    return f"{px(100 * axis.share(value))}%"


def _row_plot(
    key: str,
    title: str,
    x_label: str,
    rows: Sequence[Row],
    about: Sequence[str],
    axis: Axis,
    drawn: Callable[[Row, float], str],
) -> str:
    bottom = _ROW * len(rows)
    body = []
    for value, label in zip(axis.ticks, axis.labels, strict=True):
        x = _across(axis, value)
        body.append(f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{bottom}"/>')
        body.append(f'<text class="tick" x="{x}" y="{bottom + 16}" text-anchor="middle">{label}</text>')
    body.append(
        f'<text class="label" x="50%" y="{bottom + _BOTTOM - 8}" text-anchor="middle">{escaped(x_label)}</text>'
    )
    middles = [_ROW * (i + 0.5) for i in range(len(rows))]
    body += [drawn(row, y) for row, y in zip(rows, middles, strict=True)]
    # The style sheet cuts a name that is longer than its place; the table below has it whole.
    names = [
        f'<div class="{row.kind}"><bdi title="{escaped(row.label)}">{escaped(row.label)}</bdi></div>' for row in rows
    ]
    marks = [
        [round(100 * axis.share(row.value), 2), round(y, 1), row_id]
        for row, y, row_id in zip(rows, middles, about, strict=True)
    ]
    description = f"{len(rows)} rows against {x_label}; the same values are in the table."
    return "\n".join(
        [
            f'<figure class="plot rows" id="plot-{key}" data-along="y">',
            f"<figcaption>{title}</figcaption>",
            f'<div class="beside"><div class="names" aria-hidden="true">{"".join(names)}</div>',
            f'<svg width="100%" height="{bottom + _BOTTOM}" role="img" aria-label="{escaped(description)}">',
            *body,
            f"</svg></div>{data_block(marks)}</figure>",
        ]
    )


# Queries


def value_histogram(key: str, title: str, x_label: str, chosen: Values, baseline: Values) -> str:
    """How many queries have which value: the chosen ranker as bars, the baseline as a line above them."""
    edges = np.histogram_bin_edges(np.concatenate([chosen, baseline]), _BINS)
    counts = [np.histogram(values, edges)[0] for values in (chosen, baseline)]
    canvas = _Canvas(_axis(list(edges), _X_TICKS), _axis([0, *np.concatenate(counts)], _Y_TICKS), x_label, "queries")
    body = [
        *canvas.grid(),
        f'<path class="area chosen" d="{_steps(canvas, edges, counts[0])}z"/>',
        f'<path class="line baseline" d="{_steps(canvas, edges, counts[1])}"/>',
    ]
    marks: list[Mark] = []
    for low, high, ours, theirs in zip(edges[:-1], edges[1:], *counts, strict=True):
        about = [f"{decimal(low)} to {decimal(high)}", f"chosen: {count(int(ours), 'query', 'queries')}"]
        about.append(f"baseline: {count(int(theirs), 'query', 'queries')}")
        marks.append((canvas.x((low + high) / 2), canvas.y(max(ours, theirs)), about))
    description = f"Histogram of {x_label} over queries, for the chosen ranker and the baseline."
    return _figure(key, title, description, body, marks)


def _steps(canvas: _Canvas, edges: npt.NDArray[Any], heights: npt.NDArray[Any]) -> str:
    """The outline of a histogram, from the ground and back to it."""
    path = [f"M{px(canvas.x(edges[0]))},{px(canvas.y(0))}"]
    path += [f"V{px(canvas.y(y))}H{px(canvas.x(x))}" for x, y in zip(edges[1:], heights, strict=True)]
    return "".join(path) + f"V{px(canvas.y(0))}"


def difference_plot(key: str, title: str, y_label: str, differences: Values, about: dict[int, str]) -> str:
    """The ascending differences, as an area around 0. ``about`` names the rows of the queries that are listed."""
    places = np.arange(len(differences) + 1)
    canvas = _Canvas(
        Axis.around("queries", [0, len(differences)], False, _X_TICKS),
        _axis([0, *differences], _Y_TICKS),
        "queries, from most harmed to most improved",
        y_label,
    )
    body = [
        *canvas.grid(),
        f'<path class="area worse" d="{_steps(canvas, places, np.minimum(differences, 0))}z"/>',
        f'<path class="area better" d="{_steps(canvas, places, np.maximum(differences, 0))}z"/>',
        f'<path class="zero" d="M{px(canvas.left)},{px(canvas.y(0))}H{WIDTH - _RIGHT}"/>',
    ]
    marks: list[Mark] = [(canvas.x(i + 0.5), canvas.y(differences[i]), row) for i, row in about.items()]
    description = f"{y_label}, query by query in ascending order: {_counts(differences)}."
    return _figure(key, title, description, body, marks)


def scatter_plot(
    key: str,
    title: str,
    labels: tuple[str, str],
    points: tuple[Values, Values],
    differences: Values,
    about: dict[int, str],
) -> str:
    """A dot for each query, and the diagonal on which nothing changes."""
    x_values, y_values = points
    axes = [_axis(list(np.concatenate(points)), most) for most in (_X_TICKS, _Y_TICKS)]
    canvas = _Canvas(axes[0], axes[1], *labels)
    low, high = max(axis.low for axis in axes), min(axis.high for axis in axes)
    body = [*canvas.grid(), f'<path class="zero" d="{canvas.line([(low, low), (high, high)])}"/>']
    for kind, chosen in (("same", differences == 0), ("worse", differences < 0), ("better", differences > 0)):
        dots = "".join(map(canvas.dot, x_values[chosen], y_values[chosen]))
        if dots:
            body.append(f'<path class="dots {kind}" d="{dots}"/>')
    marks: list[Mark] = [(canvas.x(x_values[i]), canvas.y(y_values[i]), row) for i, row in about.items()]
    description = f"{labels[1]} against {labels[0]}, one dot for each query: {_counts(differences)}."
    return _figure(key, title, description, body, marks, along="xy")


def _counts(differences: Values) -> str:
    better, worse = int((differences > 0).sum()), int((differences < 0).sum())
    return f"{better:,} better, {worse:,} worse, {len(differences) - better - worse:,} the same"


# Paths


@dataclass(frozen=True)
class Path:
    """Means with their standard errors, along something; one of them was chosen."""

    x: Sequence[float]
    means: Sequence[float]
    errors: Sequence[float | None]
    chosen: int


def path_plot(key: str, title: str, labels: tuple[str, str], path: Path, about: Sequence[str]) -> str:
    """A line of means within a band of one standard error, with a ring around the one that was chosen.

    The axis is logarithmic where values above 0 span more than a factor of 50, and goes by powers of two where all of
    them are such.
    """
    errors = [error or 0.0 for error in path.errors]
    lows = [mean - error for mean, error in zip(path.means, errors, strict=True)]
    highs = [mean + error for mean, error in zip(path.means, errors, strict=True)]
    canvas = _Canvas(_path_axis(path.x), _axis([*lows, *highs], _Y_TICKS), *labels)
    points = sorted(zip(path.x, path.means, lows, highs, about, strict=True))
    ring_x, ring_y = canvas.x(path.x[path.chosen]), canvas.y(path.means[path.chosen])
    around = [(x, high) for x, _, _, high, _ in points] + [(x, low) for x, _, low, _, _ in reversed(points)]
    body = [
        *canvas.grid(),
        f'<path class="band" d="{canvas.line(around)}z"/>',
        f'<path class="line chosen" d="{canvas.line([point[:2] for point in points])}"/>',
        f'<path class="dots chosen" d="{"".join(canvas.dot(*point[:2]) for point in points)}"/>',
        f'<circle class="ring" cx="{px(ring_x)}" cy="{px(ring_y)}" r="8"/>',
    ]
    marks: list[Mark] = [(canvas.x(x), canvas.y(mean), row) for x, mean, _, _, row in points]
    description = f"{labels[1]} against {labels[0]}: {decimal(min(path.means))} to {decimal(max(path.means))}."
    return _figure(key, title, description, body, marks)


def _path_axis(values: Sequence[float]) -> Axis:
    is_log = min(values) > 0 and max(values) > 50 * min(values)
    if is_log and all(exponent_of_two(value) is not None for value in values):
        return Axis.of_powers_of_two(values, _X_TICKS)
    return _axis(values, _X_TICKS, log=is_log)


# Reliability


def draws_plot(
    key: str, title: str, x_label: str, draws: Values, interval: Sequence[float], lines: dict[str, float]
) -> str:
    """The histogram of bootstrap means, the interval below it, and upright lines of the given kinds."""
    counts, edges = np.histogram(draws, _DRAW_BINS)
    values = [*edges, *interval, *lines.values()]
    canvas = _Canvas(_axis(values, _X_TICKS), _axis([0, *counts], _Y_TICKS), x_label, f"of {len(draws):,} samples")
    ground = canvas.y(0)
    body = [
        *canvas.grid(),
        f'<path class="area chosen" d="{_steps(canvas, edges, counts)}z"/>',
        f'<path class="whisker chosen" d="M{px(canvas.x(interval[0]))},{px(ground)}H{px(canvas.x(interval[1]))}"/>',
        *(canvas.upright(value, kind) for kind, value in lines.items()),
    ]
    marks: list[Mark] = []
    for low, high, number in zip(edges[:-1], edges[1:], counts, strict=True):
        about = [f"{decimal(low)} to {decimal(high)}", count(int(number), "sample")]
        marks.append((canvas.x((low + high) / 2), canvas.y(number), about))
    description = f"Histogram of bootstrap means of {x_label}, from {decimal(edges[0])} to {decimal(edges[-1])}."
    return _figure(key, title, description, body, marks)


# Documents


def grade_strips(rankings: Mapping[str, Sequence[float]], highest: float) -> str:
    """One line of cells for each ranking, with the grades from the first rank on: the higher, the stronger the colour.

    There is room for `STRIP_RANKS` of them.
    """
    body = []
    for line, (label, grades) in enumerate(rankings.items()):
        y = line * (_CELL + 6)
        body.append(f'<text class="tick" x="0" y="{y + 10}">{escaped(label)}</text>')
        for place, grade in enumerate(grades[:STRIP_RANKS]):
            x = _STRIP_LABEL + place * (_CELL + _CELL_GAP)
            shade = 0.08 + 0.92 * max(0.0, grade) / highest if highest > 0 else 0.08
            body.append(
                f'<rect class="cell" x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill-opacity="{shade:.2f}"/>'
            )
    height = len(rankings) * (_CELL + 6)
    description = f"Grades by rank, for {', '.join(rankings)}; the same are in the table."
    opening = f'<svg class="strips" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{description}">'
    return f"{opening}{''.join(body)}</svg>"
