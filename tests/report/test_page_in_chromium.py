"""Pages as a reader has them: drawn, without a word on the console, and answering to mouse, finger and keyboard."""

from __future__ import annotations

import sys

import pytest

from rankwright.report import render_report
from tests.needed import CHROMIUM, needs_chromium
from tests.report.browser import Browser
from tests.report.reports import make_preparation, make_report
from tests.report.test_page import HOSTILE, SECTIONS, with_texts

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(sys.platform != "linux", reason="Chromium is driven through inherited pipes, as on Linux"),
]

# Texts with less contrast to their ground than 4.5 : 1. Colours are painted on a canvas, which makes any of them RGB.
FAINT_TEXTS = """
(() => {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (colour) => {
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgba(colour).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (rgba(colour)[3] > 0) return colour;
    }
    return "white";
  };
  const faint = [];
  let seen = 0;
  for (const element of document.querySelectorAll("body *:not(script)")) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    if (!element.checkVisibility()) continue;
    seen += 1;
    const style = getComputedStyle(element);
    const pair = [luminance(element.closest("svg") ? style.fill : style.color), luminance(ground(element))];
    if ((Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) < 4.5) faint.push(element.outerHTML.slice(0, 100));
  }
  return { seen, faint };
})()
"""

# Figures that are to be seen, and how many shapes of each are larger than nothing.
SHAPES = """
[...document.querySelectorAll("figure.plot")].filter((plot) => plot.checkVisibility()).map((plot) => {
  const box = (plot.querySelector(".beside") ?? plot.querySelector("svg")).getBoundingClientRect();
  const shapes = [...plot.querySelectorAll("svg :is(.area, .dots, .dot, .bar, .line)")];
  const drawn = shapes.filter((shape) => {
    const { width, height } = shape.getBoundingClientRect();
    return width + height > 0;
  });
  return { id: plot.id, width: box.width, height: box.height, drawn: drawn.length };
})
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    (folder / "large.html").write_text(
        render_report(make_report(n_queries=1_000, n_features=46, n_listed=10, n_documents=60)), encoding="utf-8"
    )
    (folder / "small.html").write_text(render_report(make_report()), encoding="utf-8")
    (folder / "hostile.html").write_text(render_report(with_texts(make_report(), HOSTILE)), encoding="utf-8")
    long_names = with_texts(make_report(preparation=make_preparation(30), n_documents=200), "a_long_name_" * 20)
    (folder / "long_names.html").write_text(render_report(long_names), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    assert CHROMIUM is not None, "CI=true, but there is no Chromium: install the package chromium"
    browser = Browser(CHROMIUM, tmp_path_factory.mktemp("chromium") / "profile")
    yield browser
    browser.close()


@pytest.fixture
def page(browser, folder):
    with browser.page(folder / "small.html") as page:
        yield page
        assert page.messages() == []


def assert_is_shown(page, path, width):
    """Sections and plots are there, in the window's width, and nothing was asked for or complained about."""
    boxes = page.evaluate(
        "[...document.querySelectorAll('section')].map(s => [s.id, s.offsetHeight, s.checkVisibility()])"
    )
    assert [box[0] for box in boxes] == SECTIONS
    assert all(height > 60 and is_visible for _, height, is_visible in boxes)
    plots = page.evaluate(SHAPES)
    assert all(plot["width"] > 250 and plot["height"] > 80 and plot["drawn"] for plot in plots)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.requests() == [path.as_uri()]
    assert page.messages() == []
    return {plot["id"] for plot in plots}


@pytest.mark.parametrize("width", [390, 1200])
def test_long_names_and_opened_parts_do_not_widen_the_page(browser, folder, width):
    with browser.page(folder / "long_names.html", width=width) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.getElementById('preparation').checkVisibility()")


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_everything_is_shown(browser, folder, width, is_dark):
    path = folder / ("small.html" if is_dark else "large.html")
    with browser.page(path, width=width, is_dark=is_dark) as page:
        plots = assert_is_shown(page, path, width)
        assert {"plot-leaderboard-test", "plot-scatter", "plot-features-number", "plot-draws-gain"} <= plots
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == (
            "dark" if is_dark else "light"
        )


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_its_ground(browser, folder, is_dark):
    with browser.page(folder / "small.html", is_dark=is_dark) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        found = page.evaluate(FAINT_TEXTS)
        assert found["seen"] > 500
        assert found["faint"] == []


def test_without_scripts_nothing_is_missing(browser, folder):
    path = folder / "small.html"
    with browser.page(path, width=390, has_scripts=False) as page:
        plots = assert_is_shown(page, path, 390)
        assert {"plot-leaderboard-test", "plot-leaderboard-held_out"} <= plots
        assert {"plot-features-number", "plot-features-cost"} <= plots
        visible = "[...document.querySelectorAll('button, input')].filter(e => e.checkVisibility()).length"
        assert page.evaluate(visible) == 0  # nothing that would not work
        page.evaluate("document.getElementById('all-queries').open = true")
        assert page.evaluate("document.querySelectorAll('#query-table tbody tr').length") == 60


def test_names_do_not_run(browser, folder):
    path = folder / "hostile.html"
    with browser.page(path, width=390) as page:
        assert_is_shown(page, path, 390)
        hover(page, "#plot-scatter svg", mark=0)
        assert page.evaluate("document.querySelectorAll('img, iframe, object').length") == 0
        assert HOSTILE in page.evaluate("document.querySelector('#plot-scatter .tip').textContent")
        assert page.messages() == []


def test_names_do_not_turn_the_numbers_around(browser, folder):
    # HOSTILE ends in a character that reverses what follows it on its line; digits of a number must still ascend.
    with browser.page(folder / "hostile.html") as page:
        places = page.evaluate(
            """(() => {
              const walker = document.createTreeWalker(document.querySelector(".lead"), NodeFilter.SHOW_TEXT);
              const places = [];
              for (let node; (node = walker.nextNode());) {
                const found = node.textContent.match(/\\d\\.\\d{3}/);
                if (!found) continue;
                const range = document.createRange();
                places.push([0, 4].map((i) => {
                  range.setStart(node, found.index + i);
                  range.setEnd(node, found.index + i + 1);
                  return range.getBoundingClientRect().x;
                }));
              }
              return places;
            })()"""
        )
        assert len(places) >= 4
        assert all(first < last for first, last in places)


WIDTHS = [390, 700, 1280]


@pytest.mark.parametrize("name", ["small", "long_names", "hostile"])
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_a_plot_have_their_names_beside_the_axis(browser, folder, width, name):
    with browser.page(folder / f"{name}.html", width=width) as page:
        figures = page.evaluate(
            """[...document.querySelectorAll("figure.rows")].filter((f) => f.checkVisibility()).map((figure) => {
              const box = (e) => e.getBoundingClientRect().toJSON();
              const marks = [...figure.querySelectorAll("svg :is(.dot, .bar)")];
              return {
                section: box(figure.closest("section")), svg: box(figure.querySelector("svg")),
                names: [...figure.querySelectorAll(".names bdi")].map(box), marks: marks.map(box),
              };
            })"""
        )
        assert len(figures) == 2  # leaderboard and weights
        for figure in figures:
            assert figure["svg"]["right"] > figure["section"]["right"] - 30  # the whole width
            assert len(figure["names"]) == len(figure["marks"]) > 1
            for label, mark in zip(figure["names"], figure["marks"], strict=True):
                assert figure["section"]["left"] <= label["left"] < label["right"] <= figure["svg"]["left"]
                assert label["top"] - 1 <= mark["top"] + mark["height"] / 2 <= label["bottom"] + 1
            bottoms = [label["bottom"] for label in figure["names"]]
            tops = [label["top"] for label in figure["names"]]
            assert all(above <= below + 1 for above, below in zip(bottoms, tops[1:], strict=False))


@pytest.mark.parametrize("has_scripts", [True, False])
@pytest.mark.parametrize("name", ["small", "large"])
def test_a_phone_shows_ranker_choice_and_value_without_scrolling_sideways(browser, folder, name, has_scripts):
    with browser.page(folder / f"{name}.html", width=390, has_scripts=has_scripts) as page:
        rows = page.evaluate(
            """[...document.querySelectorAll("#leaderboard-table tr")].map((row) => {
              const ends = [...row.querySelectorAll(".badge"), row.cells[0], row.cells[1]];
              return Math.max(...ends.map((e) => e.getBoundingClientRect().right));
            })"""
        )
        assert len(rows) == 8
        assert max(rows) <= 390


def test_no_row_of_a_table_is_cut(browser, folder):
    """Only a table of very many rows scrolls by itself; with all parts opened, the others show all of theirs."""
    with browser.page(folder / "small.html") as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        tables = page.evaluate(
            "[...document.querySelectorAll('.scroll')].map(s => [s.scrollHeight - s.clientHeight, s.scrollTop])"
        )
        assert len(tables) > 12
        assert all(hidden == 0 for hidden, _ in tables)


# What a reader does


def place(page, selector):
    """The middle of an element that is scrolled into view."""
    page.evaluate(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    box = page.evaluate(f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def mark_place(page, selector, mark):
    """Where a mark of a plot is in the window."""
    place(page, selector)
    return page.evaluate(
        f"""(() => {{
          const svg = document.querySelector({selector!r});
          const [x, y] = JSON.parse(svg.closest("figure").querySelector("script").textContent)[{mark}];
          const box = svg.getBoundingClientRect();
          if (!svg.hasAttribute("viewBox")) return [box.x + x * box.width / 100, box.y + y];
          const point = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
          return [point.x, point.y];
        }})()"""
    )


def hover(page, selector, mark):
    page.move(*mark_place(page, selector, mark))


def tip(page, figure):
    """The lines of a tip that is shown."""
    lines = "t => t.hidden ? null : [...t.children].map(line => line.textContent)"
    return page.evaluate(f"({lines})(document.querySelector('#{figure} .tip'))")


def column(page, table, i):
    return page.evaluate(f"[...document.querySelectorAll('#{table} tbody tr')].map(r => r.cells[{i}].textContent)")


def test_tables_are_sorted_by_a_click(page):
    page.evaluate("document.getElementById('all-weights').open = true")
    weights = {row["feature"]: row["weight"] for row in make_report()["weights"]}
    for expected in (sorted(weights.values(), reverse=True), sorted(weights.values())):
        page.click(*place(page, "#weight-table thead th:nth-child(2) button"))
        assert [weights[name] for name in column(page, "weight-table", 0)] == expected
    assert page.evaluate("document.querySelector('#weight-table th:nth-child(2)').ariaSort") == "ascending"
    page.click(*place(page, "#leaderboard-table thead th:nth-child(1) button"))
    names = column(page, "leaderboard-table", 0)
    assert names == sorted(names, key=str.lower)
    page.click(*place(page, "#leaderboard-table thead th:nth-child(4) button"))
    p_values = column(page, "leaderboard-table", 3)
    assert p_values[0] == "0.200"
    assert p_values[-1] == "—"  # what is not known comes last
    page.click(*place(page, "#leaderboard-table thead th:nth-child(6) button"))
    assert column(page, "leaderboard-table", 5) == ["2²", "2¹", "2⁰", "2⁻¹", "2⁻²", "2⁻³", "—"]


def test_queries_are_found_by_their_name(page):
    page.evaluate("document.getElementById('all-queries').open = true")
    page.click(*place(page, "#all-queries input"))
    page.call("Input.insertText", text="1000")
    shown = "[...document.querySelectorAll('#query-table tbody th')].filter(h => h.checkVisibility())"
    assert sorted(page.evaluate(f"{shown}.map(h => h.textContent)")) == [str(10_000 + i) for i in range(10)]
    assert page.evaluate("document.querySelector('#all-queries output').textContent") == "10 of 60"


@pytest.mark.parametrize(
    ("section", "other"),
    [("leaderboard", "leaderboard-held_out"), ("features", "features-cost")],
    ids=lambda value: value,
)
def test_one_of_two_figures_is_chosen(page, section, other):
    figures = f"[...document.querySelectorAll('#{section} figure')].filter(f => f.checkVisibility()).map(f => f.id)"
    assert len(page.evaluate(figures)) == 1
    page.click(*place(page, f"#{section} .buttons button:nth-child(2)"))
    assert page.evaluate(figures) == [f"plot-{other}"]
    assert page.evaluate(SHAPES.replace('"figure.plot"', f'"#plot-{other}"'))[0]["drawn"]
    pressed = f"[...document.querySelectorAll('#{section} .buttons button')].map(b => b.ariaPressed)"
    assert page.evaluate(pressed) == ["false", "true"]


def by_test(report):
    """The leaderboard, best first on test queries."""
    return sorted(report["leaderboard"], key=lambda row: -row["test"]["mean"])


def test_a_mark_tells_its_row_and_lights_it(page):
    row = by_test(make_report())[2]
    hover(page, "#plot-leaderboard-test svg", mark=2)
    lines = tip(page, "plot-leaderboard-test")
    assert lines[0] == row["ranker"]
    assert any(line.startswith(f"Test: {row['test']['mean']:.4f}") for line in lines)
    assert page.evaluate("[...document.querySelectorAll('tr.lit')].map(r => r.id)") == ["leaderboard-2"]
    page.move(5, 5)
    assert tip(page, "plot-leaderboard-test") is None
    assert page.evaluate("document.querySelectorAll('tr.lit, .cursor').length") == 0


def test_a_mark_tells_what_its_numbers_are(page):
    point = make_report()["feature_path"]["points"][3]
    hover(page, "#plot-features-number svg", mark=3)
    assert tip(page, "plot-features-number")[:3] == [
        "Features: 4",
        f"Cost: {point['cost']:g}",
        f"Mean: {point['mean']:.4f}",
    ]
    hover(page, "#plot-values svg", mark=0)
    assert [line.partition(":")[0] for line in tip(page, "plot-values")[1:]] == ["chosen", "baseline"]


def test_tips_stay_within_the_window(browser, folder):
    with browser.page(folder / "small.html", width=390) as page:
        for mark in (0, 30, 59):
            hover(page, "#plot-differences svg", mark)
            box = page.evaluate("document.querySelector('#plot-differences .tip').getBoundingClientRect().toJSON()")
            assert box["left"] >= 0
            assert box["right"] <= 390
            assert box["top"] >= 0


def test_a_click_on_a_dot_opens_the_documents_of_its_query(page):
    # The most worsened query is among those with documents; the query in the middle is not, and leads to its row.
    page.click(*mark_place(page, "#plot-differences svg", 0))
    opened = page.evaluate("location.hash.slice(1)")
    assert opened.startswith(("worst-", "harmed-"))
    assert page.evaluate(f"document.getElementById({opened!r}).open")
    query = page.evaluate("document.querySelector('#query-0 th').textContent")
    assert page.evaluate(f"document.querySelector('#{opened} summary').textContent").startswith(query)
    assert 0 <= page.evaluate(f"document.getElementById({opened!r}).getBoundingClientRect().top") < 900

    page.click(*mark_place(page, "#plot-differences svg", 30))
    assert page.evaluate("location.hash") == "#query-30"
    assert page.evaluate("document.getElementById('query-30').checkVisibility()")
    assert page.evaluate("document.activeElement.id") == "query-30"


def test_a_row_that_the_search_hides_is_shown_again(page):
    page.evaluate("document.getElementById('all-queries').open = true")
    page.click(*place(page, "#all-queries input"))
    page.call("Input.insertText", text="no such query")
    assert not page.evaluate("document.getElementById('query-30').checkVisibility()")
    page.click(*mark_place(page, "#plot-differences svg", 30))
    assert page.evaluate("document.getElementById('query-30').checkVisibility()")


def test_plots_answer_to_keys(page):
    page.evaluate("document.querySelector('#leaderboard .buttons button:nth-child(2)').focus()")
    page.press("Tab")
    assert page.evaluate("document.activeElement.closest('figure').id") == "plot-leaderboard-test"
    rows = by_test(make_report())
    assert tip(page, "plot-leaderboard-test")[0].startswith(rows[0]["ranker"])
    page.press("ArrowRight")
    assert tip(page, "plot-leaderboard-test")[0].startswith(rows[1]["ranker"])
    page.press("End")
    assert tip(page, "plot-leaderboard-test")[0] == rows[-1]["ranker"]
    page.press("ArrowLeft")
    page.press("Enter")
    assert page.evaluate("location.hash") == f"#leaderboard-{len(rows) - 2}"


def test_a_finger_first_sees_and_then_follows(browser, folder):
    with browser.page(folder / "small.html", width=390) as page:
        for expected in ("", "#query-30"):
            page.touch(*mark_place(page, "#plot-differences svg", 30))
            assert tip(page, "plot-differences") or expected
            assert page.evaluate("location.hash") == expected


@pytest.mark.parametrize("fragment", ["#%E0%A4%A", "#%", "#worst-0%", "#no-such-place", "#%00"])
def test_an_address_that_names_no_place_breaks_nothing(browser, folder, fragment):
    with browser.page(folder / "small.html", fragment=fragment) as page:
        assert page.messages() == []
        hover(page, "#plot-scatter svg", mark=0)
        assert tip(page, "plot-scatter")
        page.evaluate(f"location.hash = {fragment + '%E0%A4%A'!r}")  # and neither when it changes
        page.click(*mark_place(page, "#plot-differences svg", 30))
        assert page.evaluate("location.hash") == "#query-30"
        assert page.messages() == []


def test_an_address_names_a_place_in_any_spelling(browser, folder):
    with browser.page(folder / "small.html", fragment="#%77orst-1") as page:
        assert page.evaluate("document.getElementById('worst-1').open")


def test_colours_are_switched(page):
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.click(*place(page, "#theme"))
    assert page.evaluate(ground) == "rgb(13, 17, 23)"
    assert page.evaluate("document.getElementById('theme').textContent") == "Light colours"
    page.click(*place(page, "#theme"))
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_the_policy_keeps_other_scripts_out(browser, folder):
    attacked = folder / "attacked.html"
    html = (folder / "small.html").read_text(encoding="utf-8")
    attacked.write_text(html.replace("</main>", "</main><script>document.title = 'taken'</script>"), encoding="utf-8")
    with browser.page(attacked) as page:
        assert page.evaluate("document.title") == make_report()["title"]
        assert any("Content Security Policy" in message for message in page.messages())
