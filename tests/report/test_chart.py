"""Charts are read back: from the places of their ticks, the points of their lines must be the data."""

from __future__ import annotations

import itertools
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankwright.errors import ParameterError
from rankwright.report.chart import line_chart
from rankwright.report.colours import colour_ramp

SVG = "{http://www.w3.org/2000/svg}"
LABELS = {"title": "A chart", "x_label": "across", "y_label": "up"}
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


class Chart:
    """What a reader sees: ticks, lines and the legend."""

    def __init__(self, svg: str) -> None:
        self.root = ElementTree.fromstring(svg)
        ticks = [text for text in self.root.iter(f"{SVG}text") if text.get("class") == "tick"]
        self.x_ticks = [(float(t.get("x")), number(t.text)) for t in ticks if t.get("text-anchor") == "middle"]
        self.y_ticks = [(float(t.get("y")) - 4.5, number(t.text)) for t in ticks if t.get("text-anchor") == "end"]
        self.paths = [path for path in self.root.iter(f"{SVG}path") if "line" in path.get("class").split()]

    def runs(self, name):
        """The points of a series in pixels, gap by gap."""
        named = [path for path in self.paths if path.findtext(f"{SVG}title") == name]
        points = [re.findall(r"([-\d.]+),([-\d.]+)", path.get("d")) for path in named]
        return [np.array(run, dtype=float) for run in points]

    def legend(self):
        """Names, and where their swatches begin."""
        swatches = [path for path in self.paths if path.find(f"{SVG}title") is None]
        return [float(re.match(r"M([\d.]+)", path.get("d"))[1]) for path in swatches]


def number(label):
    """The value that a tick tells."""
    label = label.replace("−", "-").replace(",", "")
    factor, ten, power = label.rpartition("10") if re.search("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]", label) else (label, "", "")
    if not ten:
        return float(label)
    return float(factor.rstrip("·") or 1) * 10.0 ** int(power.translate(SUPERSCRIPTS))


def values_at(pixels, ticks, *, log=False):
    """Read values off an axis: a straight line through its first and last tick."""
    (first, low), (last, high) = ticks[0], ticks[-1]
    scale, back = (math.log, np.exp) if log else (float, np.asarray)
    return back(scale(low) + (pixels - first) / (last - first) * (scale(high) - scale(low)))


def test_lines_are_the_data():
    x, y = [1, 2, 5, 9], [0.41, 0.47, 0.44, 0.49]
    chart = Chart(line_chart({"a": (x, y)}, **LABELS))
    (points,) = chart.runs("a")
    np.testing.assert_allclose(values_at(points[:, 0], chart.x_ticks), x, atol=1e-3)
    np.testing.assert_allclose(values_at(points[:, 1], chart.y_ticks), y, atol=1e-5)


def test_lines_are_the_data_on_logarithmic_axes():
    x = 2.0 ** np.arange(-15, 16)
    y = 300 / (1 + x)
    chart = Chart(line_chart({"a": (x, y)}, x_log=True, y_log=True, **LABELS))
    (points,) = chart.runs("a")
    np.testing.assert_allclose(values_at(points[:, 0], chart.x_ticks, log=True), x, rtol=1e-3)
    np.testing.assert_allclose(values_at(points[:, 1], chart.y_ticks, log=True), y, rtol=1e-3)


finite = st.floats(-1e9, 1e9).map(lambda value: round(value, 6))


@given(low=finite, high=finite)
def test_ticks_are_round_and_neither_few_nor_many(low, high):
    low, high = sorted([low, high])
    assume(high - low > 1e-6 * max(abs(low), abs(high)))
    chart = Chart(line_chart({"a": ([low, high], [low, high])}, **LABELS))
    for ticks in (chart.x_ticks, chart.y_ticks):
        values = [value for _, value in ticks]
        assert 2 <= len(values) <= 11
        steps = np.diff(values)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-3)
        digits = steps.mean() / 10 ** math.floor(math.log10(steps.mean() * (1 + 1e-6)))
        assert min(abs(digits - nice) for nice in (1, 2, 5)) < 1e-3
        pixels = np.diff([pixel for pixel, _ in ticks])
        np.testing.assert_allclose(pixels, pixels[0], atol=0.05)
    y_values = [value for _, value in chart.y_ticks]
    assert y_values[0] <= low + 1e-6 * (high - low)
    assert y_values[-1] >= high - 1e-6 * (high - low)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.4, 0.47], ["0.40", "0.41", "0.42", "0.43", "0.44", "0.45", "0.46", "0.47"]),
        ([-1, 1], ["−1.0", "−0.5", "0.0", "0.5", "1.0"]),
        ([0, 30_000], ["0", "5,000", "10,000", "15,000", "20,000", "25,000", "30,000"]),
        ([0, 6e7], ["0", "10⁷", "2·10⁷", "3·10⁷", "4·10⁷", "5·10⁷", "6·10⁷"]),
        ([0, 2e-5], ["0", "5·10⁻⁶", "10⁻⁵", "1.5·10⁻⁵", "2·10⁻⁵"]),
    ],
)
def test_tick_labels(values, labels):
    svg = line_chart({"a": ([0, 1], values)}, **LABELS)
    assert re.findall(r'text-anchor="end">([^<]+)<', svg) == labels


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.001, 100], ["0.001", "0.01", "0.1", "1", "10", "100"]),
        ([3, 70], ["2", "5", "10", "20", "50", "100"]),
        ([1e-8, 1e8], ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "10⁰", "10²", "10⁴", "10⁶", "10⁸"]),
    ],
)
def test_tick_labels_of_logarithmic_axes(values, labels):
    svg = line_chart({"a": ([0, 1], values)}, y_log=True, **LABELS)
    assert re.findall(r'text-anchor="end">([^<]+)<', svg) == labels


@pytest.mark.parametrize("gap", [math.nan, math.inf, -math.inf])
def test_a_line_has_a_gap_where_a_value_is_missing(gap):
    series = {"a": ([1, 2, 3, 4, 5], [1, 2, gap, 3, 2]), "b": ([1, 2, 3], [gap, 1.5, gap])}
    chart = Chart(line_chart(series, **LABELS))
    assert [len(run) for run in chart.runs("a")] == [2, 2]
    (alone,) = chart.runs("b")  # a line of no length, which is drawn as a dot
    assert alone[0].tolist() == alone[-1].tolist()
    assert values_at(alone[0, 1], chart.y_ticks) == pytest.approx(1.5, abs=1e-3)


def test_a_series_without_values_is_told_in_the_legend_only():
    chart = Chart(line_chart({"a": ([1], [2]), "empty": ([1], [math.nan])}, **LABELS))
    assert chart.runs("empty") == []
    assert len(chart.legend()) == 2


@pytest.mark.parametrize("value", [0.0, -3.0, 7e-9, 12345.0])
def test_one_value_alone_stands_between_ticks(value):
    chart = Chart(line_chart({"a": ([value], [value])}, **LABELS))
    ((point, _),) = chart.runs("a")
    for pixel, ticks in zip(point, (chart.x_ticks, chart.y_ticks), strict=True):
        assert values_at(pixel, ticks) == pytest.approx(value, rel=1e-3, abs=1e-3)
        places = [place for place, _ in ticks]
        assert min(places) <= pixel <= max(places)


def test_the_legend_stands_right_of_all_lines_and_inside():
    names = [f"λ = {i}" for i in range(30)]
    svg = line_chart({name: ([1, 2], [i, 2 * i]) for i, name in enumerate(names)}, **LABELS)
    chart = Chart(svg)
    right = max(point[0] for name in names for run in chart.runs(name) for point in run)
    assert min(chart.legend()) > right
    texts = [text for text in chart.root.iter(f"{SVG}text") if text.text in names]
    assert [text.text for text in texts] == names
    assert max(float(text.get("y")) for text in texts) < float(chart.root.get("height"))


def test_texts_are_escaped_and_told_to_screen_readers():
    rude = 'a < b & "c" \x00 ]]>'
    chart = Chart(line_chart({rude: ([1, 2], [3, 4])}, title=rude + "1", x_label=rude + "2", y_label=rude + "3"))
    told = rude.replace("\x00", "�")
    shown = [text.text for text in chart.root.iter(f"{SVG}text")]
    assert {told, told + "1", told + "2", told + "3"} <= set(shown)
    assert chart.root.get("role") == "img"
    title, description = chart.root.find(f"{SVG}title"), chart.root.find(f"{SVG}desc")
    assert chart.root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert title.text == told + "1"
    assert f"{told}: 3 to 4" in description.text


def test_charts_in_one_page_do_not_style_each_other():
    first, second = (line_chart({"a": ([1, 2], [3, y])}, **LABELS) for y in (4, 5))
    ids = [set(re.findall(r'id="([^"]+)"', svg)) for svg in (first, second)]
    assert ids[0].isdisjoint(ids[1])
    name = ElementTree.fromstring(first).get("id")
    rules = re.search(r"<style>(.*)</style>", first, re.DOTALL)[1]
    selectors = [part for rule in re.findall(r"^([^@{}\n]+) \{", rules, re.MULTILINE) for part in rule.split(",")]
    assert selectors
    assert all(selector.strip().startswith(f"#{name} ") for selector in selectors)


def test_it_needs_nothing_from_outside_and_is_always_the_same():
    svg, again = (line_chart({"a": ([1, 2], [3, 4])}, **LABELS) for _ in range(2))
    assert svg == again
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in svg


def luminance(colour):
    """Relative luminance, as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def rules_of(svg, *, dark):
    """Colour by class, as a reader with this theme sees it."""
    light, _, darker = svg.partition("@media (prefers-color-scheme: dark)")
    return dict(re.findall(r"\.(\w+) \{ (?:fill|stroke): (#\w{6}) \}", darker if dark else light))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("count", [1, 2, 12, 20])
def test_colours_are_in_order_and_stand_out(dark, count):
    svg = line_chart({f"s{i}": ([1, 2], [i, i]) for i in range(count)}, **LABELS)
    rules = rules_of(svg, dark=dark)
    colours = [rules[f"line{i}"] for i in range(count)]
    assert colours == colour_ramp(count, dark=dark)
    lights = [luminance(colour) for colour in colours]
    assert lights == sorted(lights)
    paper = luminance(rules["paper"])
    for light in [*lights, luminance(rules["tick"])]:
        assert (max(light, paper) + 0.05) / (min(light, paper) + 0.05) >= 3
    rgb = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours])
    if count == 12:
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(rgb, 2)) > 25


def test_every_second_of_many_lines_is_dashed():
    many, few = (Chart(line_chart({f"s{i}": ([1, 2], [i, i]) for i in range(n)}, **LABELS)) for n in (12, 5))
    dashed = ["dashed" in path.get("class").split() for path in many.paths]
    assert dashed == [False, True] * 12  # twelve lines, and twelve swatches
    assert not any("dashed" in path.get("class") for path in few.paths)


@pytest.mark.parametrize(
    ("series", "options", "told"),
    [
        ({}, {}, "no finite value"),
        ({"a": ([1, 2], [math.nan, math.nan])}, {}, "no finite value"),
        ({"a": ([1, 2], [3])}, {}, "'a' has 2 x values and 1 y values"),
        ({"a": ([0, 2], [3, 4])}, {"x_log": True}, "x_log: 0"),
        ({"a": ([1, 2], [3, -4])}, {"y_log": True}, "y_log: -4"),
    ],
)
def test_what_cannot_be_drawn(series, options, told):
    with pytest.raises(ParameterError, match=re.escape(told)):
        line_chart(series, **options, **LABELS)
