"""Line charts as SVG: text that needs no other file, follows a light or dark theme, and can be read out."""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from xml.sax.saxutils import escape

from rankwright.errors import ParameterError

_PLOT_WIDTH, _PLOT_HEIGHT = 640, 380
_TITLE_ROOM, _AXIS_ROOM, _EDGE = 52, 52, 20
_LEGEND_GAP, _SWATCH, _LEGEND_LINE = 20, 29, 22
_FONT, _LETTER = 13, 7.2  # the size of text, and about the width of a letter, in pixels
_UPRIGHT_LABEL_ROOM = 26
_X_TICKS, _Y_TICKS = 8, 10  # at most about so many: labels stand side by side, or one above the other

_MANY = 6  # more lines than this are told apart by dashes too

# Lightness, chroma and hue (OKLCH) of the first and the last line. Lightness never turns back, so the eye sees the
# order of the lines; the ends keep a contrast of at least 3 : 1 to the background.
_LIGHT_RAMP = ((0.34, 0.20, 310.0), (0.66, 0.17, 45.0))
_DARK_RAMP = ((0.56, 0.20, 310.0), (0.90, 0.15, 70.0))
_SAMPLES = 256

_LIGHT = {"paper": "#ffffff", "ink": "#1f2328", "faint": "#59636e", "grid": "#e4e7eb", "frame": "#b6bdc6"}
_DARK = {"paper": "#0d1117", "ink": "#e6edf3", "faint": "#9198a1", "grid": "#21262d", "frame": "#444c56"}

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
    x_axis = _Axis.around("x_log", [x for line in lines for x, _ in line.drawn()], x_log, _X_TICKS)
    y_axis = _Axis.around("y_log", [y for line in lines for _, y in line.drawn()], y_log, _Y_TICKS, to_ticks=True)
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


# Axes


@dataclass(frozen=True)
class _Axis:
    """A range of values, where its ticks are and what they say."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    log: bool

    @classmethod
    def around(cls, name: str, values: list[float], log: bool, most: int, *, to_ticks: bool = False) -> _Axis:
        """The axis for some values: it ends at them, or at the ticks around them."""
        if not values:
            raise ParameterError("series: there is no finite value to draw")
        low, high = min(values), max(values)
        if log and low <= 0:
            raise ParameterError(f"{name}: {low:g} has no place on a logarithmic axis")
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)
        ticks = _log_ticks(low, high, most) if log else _even_ticks(low, high, most)
        if to_ticks:
            low, high = min(low, ticks[0]), max(high, ticks[-1])
        bare = cls(low, high, (), (), log)
        inside = tuple(tick for tick in ticks if -1e-9 <= bare.share(tick) <= 1 + 1e-9)
        return replace(bare, ticks=inside, labels=_tick_labels(inside))

    def share(self, value: float) -> float:
        """Where a value lies between the two ends, 0 to 1."""
        scale: Callable[[float], float] = math.log if self.log else float
        return (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))


def _even_ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten that enclose both ends."""
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [multiple * step for multiple in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten that enclose both ends, and 2 and 5 times them if there are few."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    stride = math.ceil((last - first) / most) or 1
    factors = (1, 2, 5) if last - first <= 2 else (1,)
    ticks = [factor * 10.0**power for power in range(first, last + stride, stride) for factor in factors]
    lowest = max((tick for tick in ticks if tick <= low * (1 + 1e-9)), default=ticks[0])
    highest = min((tick for tick in ticks if tick >= high * (1 - 1e-9)), default=ticks[-1])
    return [tick for tick in ticks if lowest <= tick <= highest]


def _tick_labels(ticks: Sequence[float]) -> tuple[str, ...]:
    """All with the same number of decimals; as powers of ten where that would be a long row of digits."""
    largest = max(map(abs, ticks), default=0.0)
    smallest = min((abs(tick) for tick in ticks if tick), default=1.0)
    if largest >= 1e6 or smallest < 1e-4:
        return tuple(map(_as_power, ticks))
    if any(tick and abs(tick) * 1000 < largest for tick in ticks):  # a logarithmic axis
        return tuple(f"{tick:,.10g}" for tick in ticks)
    decimals = max((_decimals(tick) for tick in ticks), default=0)
    return tuple(f"{tick if tick else 0.0:,.{decimals}f}".replace("-", "−") for tick in ticks)


def _decimals(tick: float) -> int:
    return len(f"{tick:.10f}".rstrip("0").partition(".")[2])


def _as_power(tick: float) -> str:
    if tick == 0:
        return "0"
    digits, _, power = f"{tick:.12e}".partition("e")
    factor = digits.rstrip("0").rstrip(".").replace("-", "−")
    ten = "10" + str(int(power)).translate(_SUPERSCRIPTS)
    return ten if factor == "1" else f"{factor}·{ten}"


# Colours


def colour_ramp(count: int, *, dark: bool = False) -> list[str]:
    """``count`` colours as #rrggbb, from the first to the last in steps that look even, for a light or dark ground."""
    first, last = _DARK_RAMP if dark else _LIGHT_RAMP
    shares = [i / (_SAMPLES - 1) for i in range(_SAMPLES)]
    fine = [_oklab(*((1 - t) * a + t * b for a, b in zip(first, last, strict=True))) for t in shares]
    # Distances in OKLab are differences as the eye sees them.
    length = [0.0, *accumulate(math.dist(*pair) for pair in pairwise(fine))]
    places = [length[-1] * i / max(count - 1, 1) for i in range(count)]
    return [_hex_of(fine[min(bisect_left(length, place), _SAMPLES - 1)]) for place in places]


def _oklab(lightness: float, chroma: float, hue: float) -> tuple[float, float, float]:
    """A colour with as much of its chroma as sRGB can show."""
    angle = math.radians(hue)
    while True:
        colour = lightness, chroma * math.cos(angle), chroma * math.sin(angle)
        if all(0 <= channel <= 1 for channel in _linear_rgb(*colour)):
            return colour
        chroma *= 0.98


def _hex_of(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * _with_gamma(channel)):02x}" for channel in _linear_rgb(*colour))


def _linear_rgb(lightness: float, a: float, b: float) -> tuple[float, float, float]:
    """OKLab to linear sRGB (Ottosson, 2020)."""
    l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    )


def _with_gamma(channel: float) -> float:
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055


# Drawing


@dataclass(frozen=True)
class _Chart:
    """Where everything stands, in pixels from the top left corner."""

    lines: list[_Line]
    x_axis: _Axis
    y_axis: _Axis
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
        size = f'width="{_n(self.width)}" height="{_n(self.height)}" viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" {size} role="img" '
                f'aria-labelledby="{name}-title {name}-desc">',
                f'<title id="{name}-title">{_text(self.title)}</title>',
                f'<desc id="{name}-desc">{_text(self._description())}</desc>',
                f"<style>\n{self._style(name)}\n</style>",
                '<rect class="paper" width="100%" height="100%"/>',
                f'<text class="title" x="{_n(self.left)}" y="30">{_text(self.title)}</text>',
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
        theme = _DARK if dark else _LIGHT
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
        left, right, top, bottom = _n(self.left), _n(self.right), _n(_TITLE_ROOM), _n(self.bottom)
        for value, label in zip(self.y_axis.ticks, self.y_axis.labels, strict=True):
            y = self.y(value)
            yield f'<path class="grid" d="M{left},{_n(y)}H{right}"/>'
            yield f'<text class="tick" x="{_n(self.left - 8)}" y="{_n(y + 4.5)}" text-anchor="end">{label}</text>'
        for value, label in zip(self.x_axis.ticks, self.x_axis.labels, strict=True):
            x = _n(self.x(value))
            yield f'<path class="grid" d="M{x},{top}V{bottom}"/>'
            yield f'<text class="tick" x="{x}" y="{_n(self.bottom + 19)}" text-anchor="middle">{label}</text>'
        yield f'<path class="frame" d="M{left},{top}V{bottom}H{right}"/>'
        middle_x, middle_y = _n((self.left + self.right) / 2), _n((_TITLE_ROOM + self.bottom) / 2)
        x_place = f'x="{middle_x}" y="{_n(self.height - 11)}"'
        yield f'<text {x_place} text-anchor="middle">{_text(self.x_label)}</text>'
        y_place = f'transform="translate(20 {middle_y}) rotate(-90)"'
        yield f'<text {y_place} text-anchor="middle">{_text(self.y_label)}</text>'

    def _lines(self) -> Iterator[str]:
        for i, line in enumerate(self.lines):
            for run in line.runs():
                points = [f"{_n(self.x(x))},{_n(self.y(y))}" for x, y in run]
                # A point alone is a line of no length, which round ends make a dot.
                kind = self._kind(i) if len(run) > 1 else f"line dot line{i}"
                path = f"M{points[0]}L{' '.join(points[1:] or points)}"
                yield f'<path class="{kind}" d="{path}"><title>{_text(line.name)}</title></path>'

    def _kind(self, i: int) -> str:
        return f"line dashed line{i}" if len(self.lines) > _MANY and i % 2 else f"line line{i}"

    def _legend(self) -> Iterator[str]:
        x = self.right + _LEGEND_GAP
        for i, line in enumerate(self.lines):
            y = _TITLE_ROOM + _LEGEND_LINE * (i + 0.5)
            yield f'<path class="{self._kind(i)}" d="M{_n(x)},{_n(y)}h{_SWATCH}"/>'
            yield f'<text x="{_n(x + _SWATCH + 8)}" y="{_n(y + 4.5)}">{_text(line.name)}</text>'


def _n(value: float) -> str:
    """A coordinate: hundredths of a pixel are enough."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(text: str) -> str:
    return escape(_NOT_IN_XML.sub("�", text))
