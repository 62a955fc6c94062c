"""Line charts as SVG: text that needs no other file, follows a light or dark theme, and can be read out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rankwright.errors import ParameterError
from rankwright.report.axis import Axis
from rankwright.report.colours import DARK, LIGHT, colour_ramp
from rankwright.report.markup import escaped, px

_PLOT_WIDTH, _PLOT_HEIGHT = 640, 380
_TITLE_ROOM, _AXIS_ROOM, _EDGE = 52, 52, 20
_LEGEND_GAP, _SWATCH, _LEGEND_LINE = 20, 29, 22
_FONT, _LETTER = 13, 7.2  # the size of text, and about the width of a letter, in pixels
_UPRIGHT_LABEL_ROOM = 26
_X_TICKS, _Y_TICKS = 8, 10  # at most about so many: labels stand side by side, or one above the other

_MANY = 6  # more lines than this are told apart by dashes too


def line_chart(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_log: bool = False,
    y_log: bool = False,
) -> str:
    """One line per series, as SVG; the colours run evenly from the first series to the last.

    Parameters
    ----------
    series : name → (x values, y values)
        In the order of the legend. A line is broken where a value is NaN or infinite.
    title, x_label, y_label : str
    x_log, y_log : bool
        Logarithmic axes; all values must then be above 0.

    Examples
    --------
    >>> svg = line_chart({"λ = 1": ([1, 2, 3], [0.4, 0.5, 0.45])}, title="MAP", x_label="features", y_label="MAP")
    >>> svg[:4], svg[-7:]
    ('<svg', '</svg>\\n')
    """
    lines = [_Line(name, *_points(name, *values)) for name, values in series.items()]
    x_axis = Axis.around("x_log", [x for line in lines for x, _ in line.drawn()], x_log, _X_TICKS)
    y_axis = Axis.around("y_log", [y for line in lines for _, y in line.drawn()], y_log, _Y_TICKS, to_ticks=True)
    return _Chart(lines, x_axis, y_axis, title, x_label, y_label).svg()


@dataclass(frozen=True)
class _Line:
    name: str
    x: list[float]
    y: list[float]

    def runs(self) -> Iterator[list[tuple[float, float]]]:
        """The points between two gaps."""
        run: list[tuple[float, float]] = []
        for point in zip(self.x, self.y, strict=True):
            if all(map(math.isfinite, point)):
                run.append(point)
            elif run:
                yield run
                run = []
        if run:
            yield run

    def drawn(self) -> Iterator[tuple[float, float]]:
        return (point for run in self.runs() for point in run)


def _points(name: str, x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    if len(x) != len(y):
        raise ParameterError(f"series: {name!r} has {len(x)} x values and {len(y)} y values")
    return [float(value) for value in x], [float(value) for value in y]


@dataclass(frozen=True)
class _Chart:
    """Where everything stands, in pixels from the top left corner."""

    lines: list[_Line]
    x_axis: Axis
    y_axis: Axis
    title: str
    x_label: str
    y_label: str

    @property
    def left(self) -> float:
        return _UPRIGHT_LABEL_ROOM + 14 + _LETTER * max(map(len, self.y_axis.labels), default=0)

    @property
    def right(self) -> float:
        return self.left + _PLOT_WIDTH

    @property
    def bottom(self) -> float:
        return _TITLE_ROOM + max(_PLOT_HEIGHT, _LEGEND_LINE * len(self.lines))

    @property
    def width(self) -> float:
        legend = _SWATCH + 8 + _LETTER * max(len(line.name) for line in self.lines)
        title = self.left + 1.3 * _LETTER * len(self.title)
        return math.ceil(max(self.right + _LEGEND_GAP + legend, title) + _EDGE)

    @property
    def height(self) -> float:
        return self.bottom + _AXIS_ROOM

    def x(self, value: float) -> float:
        return self.left + self.x_axis.share(value) * _PLOT_WIDTH

    def y(self, value: float) -> float:
        return self.bottom - self.y_axis.share(value) * (self.bottom - _TITLE_ROOM)

    def svg(self) -> str:
        body = "\n".join([*self._grid(), *self._lines(), *self._legend()])
        # Names of its own, so that several charts can stand in one page: styles there reach all of them.
        name = "chart-" + hashlib.sha256((self._description() + body).encode()).hexdigest()[:10]
        size = f'width="{px(self.width)}" height="{px(self.height)}" viewBox="0 0 {px(self.width)} {px(self.height)}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" {size} role="img" '
                f'aria-labelledby="{name}-title {name}-desc">',
                f'<title id="{name}-title">{escaped(self.title)}</title>',
                f'<desc id="{name}-desc">{escaped(self._description())}</desc>',
                f"<style>\n{self._style(name)}\n</style>",
                '<rect class="paper" width="100%" height="100%"/>',
                f'<text class="title" x="{px(self.left)}" y="30">{escaped(self.title)}</text>',
                body,
                "</svg>\n",
            ]
        )

    def _description(self) -> str:
        drawn = [(line.name, [y for _, y in line.drawn()]) for line in self.lines]
        ranges = [f"{name}: {min(ys):.4g} to {max(ys):.4g}" if ys else f"{name}: no value" for name, ys in drawn]
        return f"Lines of {self.y_label} against {self.x_label}. {'; '.join(ranges)}."

    def _style(self, name: str) -> str:
        fixed = f"""\
#{name} text {{ font: {_FONT}px system-ui, "Segoe UI", Helvetica, Arial, sans-serif }}
#{name} .title {{ font-size: 17px; font-weight: 600 }}
#{name} .tick {{ font-variant-numeric: tabular-nums }}
#{name} .grid, #{name} .frame {{ fill: none; stroke-width: 1; shape-rendering: crispEdges }}
#{name} .line {{ fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }}
#{name} .dashed {{ stroke-dasharray: 7 4; stroke-linecap: butt }}
#{name} .dot {{ stroke-width: 6 }}
#{name} .line:hover {{ stroke-width: 4 }}"""
        light, dark = self._colours(name, dark=False), self._colours(name, dark=True)
        return f"{fixed}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"

    def _colours(self, name: str, *, dark: bool) -> str:
        theme = DARK if dark else LIGHT
        rules = [
            f"#{name} .paper {{ fill: {theme['paper']} }}",
            f"#{name} text {{ fill: {theme['ink']} }}",
            f"#{name} .tick {{ fill: {theme['faint']} }}",
            f"#{name} .grid {{ stroke: {theme['grid']} }}",
            f"#{name} .frame {{ stroke: {theme['frame']} }}",
        ]
        for i, colour in enumerate(colour_ramp(len(self.lines), dark=dark)):
            rules.append(f"#{name} .line{i} {{ stroke: {colour} }}")
        return "\n".join(rules)

    def _grid(self) -> Iterator[str]:
        left, right, top, bottom = px(self.left), px(self.right), px(_TITLE_ROOM), px(self.bottom)
        for value, label in zip(self.y_axis.ticks, self.y_axis.labels, strict=True):
            y = self.y(value)
            yield f'<path class="grid" d="M{left},{px(y)}H{right}"/>'
            yield f'<text class="tick" x="{px(self.left - 8)}" y="{px(y + 4.5)}" text-anchor="end">{label}</text>'
        for value, label in zip(self.x_axis.ticks, self.x_axis.labels, strict=True):
            x = px(self.x(value))
            yield f'<path class="grid" d="M{x},{top}V{bottom}"/>'
            yield f'<text class="tick" x="{x}" y="{px(self.bottom + 19)}" text-anchor="middle">{label}</text>'
        yield f'<path class="frame" d="M{left},{top}V{bottom}H{right}"/>'
        middle_x, middle_y = px((self.left + self.right) / 2), px((_TITLE_ROOM + self.bottom) / 2)
        x_place = f'x="{middle_x}" y="{px(self.height - 11)}"'
        yield f'<text {x_place} text-anchor="middle">{escaped(self.x_label)}</text>'
        y_place = f'transform="translate(20 {middle_y}) rotate(-90)"'
        yield f'<text {y_place} text-anchor="middle">{escaped(self.y_label)}</text>'

    def _lines(self) -> Iterator[str]:
        for i, line in enumerate(self.lines):
            for run in line.runs():
                points = [f"{px(self.x(x))},{px(self.y(y))}" for x, y in run]
                # A point alone is a line of no length, which round ends make a dot.
                kind = self._kind(i) if len(run) > 1 else f"line dot line{i}"
                path = f"M{points[0]}L{' '.join(points[1:] or points)}"
                yield f'<path class="{kind}" d="{path}"><title>{escaped(line.name)}</title></path>'

    def _kind(self, i: int) -> str:
        return f"line dashed line{i}" if len(self.lines) > _MANY and i % 2 else f"line line{i}"

    def _legend(self) -> Iterator[str]:
        x = self.right + _LEGEND_GAP
        for i, line in enumerate(self.lines):
            y = _TITLE_ROOM + _LEGEND_LINE * (i + 0.5)
            yield f'<path class="{self._kind(i)}" d="M{px(x)},{px(y)}h{_SWATCH}"/>'
            yield f'<text x="{px(x + _SWATCH + 8)}" y="{px(y + 4.5)}">{escaped(line.name)}</text>'
