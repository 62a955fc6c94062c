"""Pages are parsed and their plots read back: every element closed, every reference met, every dot at its value."""

from __future__ import annotations

import base64
import copy
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rankwright.errors import ParameterError
from rankwright.evaluation.significance import bootstrap_interval
from rankwright.report import render_report
from rankwright.report.colours import DARK, LIGHT
from rankwright.report.markup import data_block
from tests.report.reports import make_preparation, make_report

ROOT = Path(__file__).parents[2]
SECTIONS = ["summary", "leaderboard", "queries", "worst", "improved", "harmed", "features", "regularisation", "weights"]
SECTIONS += ["reliability", "health", "reproduce"]
EMPTY_ELEMENTS = {"meta", "link", "input"}
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&<!--\u202e"


class Page(HTMLParser):
    """What a browser would see: elements with their attributes and texts."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.faults, self.pieces = [], [], [], []
        self.feed(html)
        self.close()
        self.faults += [f"<{element['tag']}> is not closed" for element in self.open]
        self.ids = [element["id"] for element in self.elements if "id" in element]

    def handle_starttag(self, tag, attributes):
        outer = self.open[-1]["within"] if self.open else ()
        within = (*outer, dict(attributes)["id"]) if "id" in dict(attributes) else outer
        element = {"tag": tag, **dict(attributes), "within": within, "from": len(self.pieces), "to": len(self.pieces)}
        self.elements.append(element)
        if tag not in EMPTY_ELEMENTS:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1]["tag"] != tag:
            self.faults.append(f"</{tag}> within {[element['tag'] for element in self.open[-3:]]}")
        else:
            self.open.pop()["to"] = len(self.pieces)

    def handle_data(self, data):
        self.pieces.append(data)

    def handle_comment(self, data):
        self.faults.append(f"comment {data!r}")

    def of(self, *tags, within=None):
        """Elements of some tags, inside the one with an id."""
        return [e for e in self.elements if e["tag"] in tags and (within is None or within in e["within"])]

    def text(self, element):
        return "".join(self.pieces[element["from"] : element["to"]])

    def text_of(self, key):
        """The text of the element with an id, its white space made even."""
        (element,) = (element for element in self.elements if element.get("id") == key)
        return " ".join(self.text(element).split())

    def rows(self, key):
        """The texts of the cells of a table, row by row."""
        rows = {}
        for cell in self.of("th", "td", within=f"{key}-table"):
            rows.setdefault(cell["within"][-1], []).append(" ".join(self.text(cell).split()))
        rows.pop(f"{key}-table")  # the head
        return list(rows.values())


class Plot:
    """A figure whose places can be turned back into values, by its ticks."""

    def __init__(self, html, key):
        self.svg = re.search(rf'<figure class="plot[ \w]*" id="plot-{key}".*?</figure>', html, re.S)[0]
        x_ticks = re.findall(r'd="M([\d.]+),[\d.]+V[\d.]+"/><text class="tick"[^>]*>([^<]*)<', self.svg)
        x_ticks += re.findall(r'<text class="tick" x="([\d.]+)%"[^>]*>([^<]*)<', self.svg)  # of rows, in percent
        y_ticks = re.findall(r'd="M[\d.]+,([\d.]+)H[\d.]+"/>\n<text class="tick"[^>]*>([^<]*)<', self.svg)
        self.x_ticks, self.y_ticks = ([(float(p), number(t)) for p, t in ticks] for ticks in (x_ticks, y_ticks))
        marks = re.search(r'<script type="application/json">(.*?)</script>', self.svg)
        self.marks = json.loads(marks[1]) if marks else []

    def x(self, pixels, *, log=False):
        return values_at(pixels, self.x_ticks, log)

    def y(self, pixels):
        return values_at(pixels, self.y_ticks, False)

    def path(self, kind):
        """The data of the path of a class."""
        return re.search(rf'<path class="{kind}" d="([^"]*)"', self.svg)[1]

    def points(self, kind):
        """The dots of a class, in pixels."""
        return np.array(re.findall(r"M([\d.]+),([\d.]+)h0", self.path(kind)), dtype=float)


RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number(label):
    power = re.fullmatch(r"(10|2)([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", label)
    return (
        float(power[1]) ** int(power[2].translate(RAISED)) if power else float(label.replace("−", "-").replace(",", ""))
    )


def values_at(pixels, ticks, log):
    (first, low), (last, high) = ticks[0], ticks[-1]
    if log:
        low, high = np.log(low), np.log(high)
    values = low + (np.asarray(pixels, dtype=float) - first) / (last - first) * (high - low)
    return np.exp(values) if log else values


# A page is whole


def values_of(chosen, baseline):
    ids = [f"query {i}" for i in range(len(chosen))]
    sizes = {"documents": [3] * len(chosen), "relevant": [0 if value is None else 1 for value in chosen]}
    return {"ids": ids, "chosen": chosen, "baseline": baseline, **sizes}


ONE_STEP = {"features": 1, "cost": None, "mean": 0.4, "error": None, "selected": ["a"]}
AWKWARD = {
    "usual": {},
    "one query": {"n_queries": 1, "n_listed": 1},
    "two equal queries": {"queries": values_of([0.5, 0.5], [0.5, 0.5])},
    "no queries": {"queries": values_of([], []), "worst": [], "improved": [], "harmed": []},
    "nothing relevant": {"queries": values_of([0.0, 0.0], [0.0, 0.0]) | {"relevant": [0, 0]}, "n_queries": 2},
    "queries without values": {"queries": values_of([None, 0.5, 0.25], [None, 0.25, 0.5])},
    "more queries than are listed": {"n_queries": 5_500},
    "500 features": {"n_features": 500},
    "one step": {"feature_path": {"points": [ONE_STEP], "chosen": 0, "has_costs": False}},
    "no step": {"feature_path": None},
    "no rankers": {"leaderboard": [], "left_out": [], "alpha_paths": []},
    "no weights": {"weights": []},
    "nothing known of the data": {"health": {"facts": [], "findings": []}},
    "alpha 0": {
        "alpha_paths": [
            {"ranker": "R", "alphas": [0.0, 1.0], "means": [0.3, 0.3], "errors": [None, 0.0], "chosen": 1},
        ]
    },
    "tiny and huge values": {
        "weights": [{"feature": "f", "weight": w, "importance": abs(w)} for w in (-3e9, 1e-12, 0.0)],
    },
    "many documents": {"n_documents": 300, "n_listed": 2},
}


@pytest.fixture(scope="module", params=AWKWARD, ids=str)
def awkward(request):
    html = render_report(make_report(**AWKWARD[request.param]))
    return html, Page(html)


def test_elements_are_closed_and_references_met(awkward):
    _, page = awkward
    assert page.faults == []
    assert len(page.ids) == len(set(page.ids))
    links = [element["href"] for element in page.of("a")]
    assert all(link.startswith("#") and link[1:] in page.ids for link in links)
    labelled = [element["aria-labelledby"] for element in page.of("section")]
    assert set(labelled) <= set(page.ids)
    blocks = [json.loads(page.text(block)) for block in page.of("script") if "type" in block]
    told = {about for marks in blocks for _, _, about in marks if isinstance(about, str)}
    assert told <= {element["id"] for element in page.of("tr") if "id" in element}


def test_every_section_is_there_and_says_something(awkward):
    _, page = awkward
    assert [section["id"] for section in page.of("section")] == SECTIONS
    assert [link["href"] for link in page.of("a")][1 : 1 + len(SECTIONS)] == [f"#{key}" for key in SECTIONS]
    for key in SECTIONS:
        assert len(page.of("h2", within=key)) == 1
        assert page.of("p", within=key)


def test_nothing_is_drawn_outside_its_plot(awkward):
    for view, body in re.findall(r'<svg[^>]*viewBox="0 0 ([\d.]+ [\d.]+)"[^>]*>(.*?)</svg>', awkward[0], re.S):
        width, height = map(float, view.split())
        xs = re.findall(r'(?:[MHL]|\bc?x=")(-?[\d.]+)', body)
        ys = re.findall(r'(?:[ML]-?[\d.]+,|V|\bc?y=")(-?[\d.]+)', body)
        assert xs
        assert all(0 <= float(x) <= width for x in xs)
        assert all(0 <= float(y) <= height for y in ys)
    for height, body in re.findall(r'<svg width="100%" height="(\d+)"[^>]*>(.*?)</svg>', awkward[0], re.S):
        assert all(0 <= float(x) <= 100 for x in re.findall(r'"(-?[\d.]+)%"', body))
        assert all(0 <= float(y) <= float(height) for y in re.findall(r'\bc?y[12]?="(-?[\d.]+)"', body))


def test_no_number_is_missing(awkward):
    content = awkward[0].partition("<main>")[2].partition("</main>")[0]
    assert not re.search(r"\b(nan|NaN|inf|Infinity|None|null|undefined)\b", content)


def test_nothing_is_fetched_and_nothing_else_runs(awkward):
    _, page = awkward
    assert not any(key == "style" or key.startswith("on") for element in page.elements for key in element)
    assert not any("src" in element for element in page.elements)
    assert [link["href"] for link in page.of("link")] == ["data:,"]
    (policy,) = (meta["content"] for meta in page.of("meta") if meta.get("http-equiv"))
    (style,) = (page.text(element) for element in page.of("style"))
    (script,) = (page.text(element) for element in page.of("script") if "type" not in element)
    for kind, content in (("style", style), ("script", script)):
        fingerprint = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{fingerprint}'" in policy
    assert policy.startswith("default-src 'none'")
    assert not re.search(r"url\(|@import|fetch\(|innerHTML|http://(?!www\.w3\.org/2000/svg)|https://", style + script)


# Texts from outside


def with_texts(value, text, key=None):
    """A report all of whose free texts are one."""
    if isinstance(value, dict):
        return {k: with_texts(v, text, k) for k, v in value.items()}
    if isinstance(value, list):
        return [with_texts(item, text, key) for item in value]
    return text if isinstance(value, str) and key not in ("level", "role", "evaluated_on", "rule") else value


def test_names_are_never_markup():
    report = make_report(n_documents=60, preparation=make_preparation(3))
    report["queries"]["relevant"][0] = 0
    hostile, harmless = (Page(render_report(with_texts(report, text))) for text in (HOSTILE, "x" * len(HOSTILE)))
    assert hostile.faults == []
    assert [element["tag"] for element in hostile.elements] == [element["tag"] for element in harmless.elements]
    assert hostile.text_of("reproduce").count(HOSTILE) == harmless.text_of("reproduce").count("x" * len(HOSTILE)) > 3
    assert hostile.text(hostile.of("title")[0]) == HOSTILE


def test_data_for_scripts_are_never_markup():
    block = data_block([HOSTILE, "]]>"])
    page = Page(block)
    assert page.faults == []
    assert json.loads(page.text(page.of("script")[0])) == [HOSTILE, "]]>"]
    assert block.count("<") == 2


def test_characters_that_html_does_not_allow_are_replaced():
    html = render_report(with_texts(make_report(), "a\0b\ud800c\x1b"))
    assert html.encode()  # a lone surrogate could not be written
    assert "a�b�c�" in html
    assert not re.search("[\0\x1b]", html)


# The same report, the same page


def test_output_does_not_depend_on_the_process():
    program = (
        "import hashlib; from rankwright.report import render_report; from tests.report.reports import make_report; "
        "print(hashlib.sha256(render_report(make_report()).encode()).hexdigest())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    other = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == hashlib.sha256(render_report(make_report()).encode()).hexdigest()


def test_rendering_leaves_the_report_as_it_was():
    report = make_report()
    before = copy.deepcopy(report)
    render_report(report)
    assert report == before


def test_a_page_about_a_thousand_queries_is_small():
    report = make_report(n_queries=1_000, n_features=46, n_listed=10, n_documents=100)
    assert len(render_report(report).encode()) < 1_100_000


def test_a_page_about_very_many_queries_and_documents_is_not_large():
    report = make_report(n_queries=30_000, n_listed=10, n_documents=1_000)
    assert len(render_report(report).encode()) < 5_500_000


# What is told is true


CERTIFICATE = {"bound": 0.392, "delta": 0.05, "method": "betting", "n_queries": 785, "guaranteed": True, "doubts": []}
DOUBTED = CERTIFICATE | {"guaranteed": False, "doubts": ["seen <before>"]}


def summary_report(**changes):
    summary = {
        "mean": 0.412,
        "interval": [0.395, 0.431],
        "baseline_mean": 0.391,
        "gain": 0.021,
        "gain_interval": [0.01, 0.03],
        "p_value": 0.0004,
        "certificate": CERTIFICATE,
        "gain_certificate": None,
    }
    report = make_report(n_features=9, n_queries=20)
    report |= {"summary": summary | changes.pop("summary", {}), "n_features": 46, "n_queries": 785, "chosen": "RankRLS"}
    return report | changes


def test_the_summary_can_be_read_by_anyone():
    text = Page(render_report(summary_report())).text_of("summary")
    assert "The chosen ranker, RankRLS, reaches nDCG @ 10 of 0.412 [0.395, 0.431] on 785 test queries." in text
    assert "That is 0.021 better than the baseline, best single feature (feature 0), which reaches 0.391." in text
    assert "The gain is unlikely to be chance (p < 0.001)." in text
    assert "With 95 % confidence, the mean over new queries of the same kind is at least 0.392." in text
    assert "It uses 9 of 46 features." in text


def test_words_of_statistics_are_explained_before_the_leaderboard_is_over():
    page = Page(render_report(summary_report()))
    summary, leaderboard = page.text_of("summary"), page.text_of("leaderboard")
    assert "bootstrap intervals: the range that the mean stays in" in summary
    assert "The p value is the probability that chance alone gives a difference at least this large." in summary
    assert "The certificate is a bound for the mean over all new queries" in summary
    assert "it may be wrong with a probability of 5 %" in summary
    assert "Holm's method, which makes p values larger to allow for the number of rankers" in leaderboard
    assert "λ is the strength of regularisation: the larger it is, the smaller the weights" in leaderboard
    assert "lpha" not in page.text_of("regularisation") + leaderboard


def test_the_title_is_the_heading_and_the_name_of_the_page():
    page = Page(
        render_report(summary_report(title="greedy RankRLS with 5 of 46 features for nDCG @ 10, from train.txt"))
    )
    for tag in ("title", "h1"):
        (element,) = page.of(tag)
        assert page.text(element) == "greedy RankRLS with 5 of 46 features for nDCG @ 10, from train.txt"


def tiles_of(report):
    """What the tiles of the summary show: name → (value, note)."""
    page = Page(render_report(report))
    names, values = (page.of(tag, within="summary") for tag in ("dt", "dd"))
    notes = [e for e in page.of("span", within="summary") if e["class"] == "note"]
    return {
        page.text(name): (page.text(value).removesuffix(page.text(note)), page.text(note))
        for name, value, note in zip(names, values, notes, strict=True)
    }


@pytest.mark.parametrize(("seconds", "told"), [(0.00012, "120 µs"), (0.0345, "34 ms"), (2.0, "2 s"), (3e-6, "3 µs")])
def test_what_the_model_costs_is_told(seconds, told):
    report = summary_report()
    report["cost"] |= {"seconds": seconds, "of_features": 12.5, "of_all_features": 1234.0}
    tiles = tiles_of(report)
    assert tiles["features"] == ("9", "of 46 features used")
    assert tiles["cost of features"] == ("12.5", "of 1,234")
    assert tiles["scoring time"] == (told, "for 1,000 documents")
    assert "median of 25 calls of model.predict" in Page(render_report(report)).text_of("summary")
    report["cost"] |= {"of_features": None, "of_all_features": None}
    assert "cost of features" not in tiles_of(report)
    del report["cost"]
    assert "scoring time" not in tiles_of(report)


def test_what_the_rule_gave_up_is_told():
    def with_gap(**changes):
        report = summary_report(**changes)
        for row, mean, features in zip(report["leaderboard"], (0.40, 0.4041), (9, 46), strict=False):
            row["held_out"]["mean"] = mean
            row["features"] = features
        report["cost"]["of_features"] = None
        return Page(render_report(report)).text_of("summary")

    text = "On held-out queries, RankRLS with 46 features is 0.0041 better. That is within one standard error"
    assert text in with_gap()
    assert text not in with_gap(rule="best")
    assert text not in with_gap(rule=None)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"summary": {"mean": 0.37, "gain": -0.021, "gain_interval": [-0.03, -0.01]}}, "0.021 worse than"),
        ({"summary": {"mean": 0.37, "gain": -0.021}}, "The loss is unlikely to be chance"),
        ({"summary": {"mean": 0.391, "gain": 0.0}}, "no different from the baseline"),
        ({"summary": {"mean": 0.3914, "gain": 0.0004}}, "0.0004 better than"),
        ({"summary": {"p_value": 0.2}}, "the difference may be chance (p = 0.200)"),
        ({"summary": {"p_value": None}}, "The gain is unlikely to be chance."),
        ({"summary": {"p_value": None, "gain_interval": [-0.1, 0.1]}}, "the difference may be chance."),
        ({"lower_is_better": True, "summary": {"mean": 0.37}}, "new queries of the same kind is at most 0.392"),
        ({"lower_is_better": True, "summary": {"mean": 0.37}}, "Lower is better."),
        ({"evaluated_on": "validation"}, "on 785 validation queries"),
        ({"evaluated_on": "validation"}, "the result may look better than it is"),
        ({"evaluated_on": "cross-validation"}, "on 785 queries by cross-validation"),
        ({"evaluated_on": "cross-validation"}, "Each query was ranked by a model that was trained without it."),
        (
            {"evaluated_on": "cross-validation", "summary": {"certificate": DOUBTED}},
            "is estimated to be at least 0.392. Estimate only: these queries were also used to choose the model. "
            "Pass --test for a guarantee.",
        ),
        ({"summary": {"certificate": DOUBTED}}, "is estimated to be at least 0.392. Estimate only: seen <before>."),
        ({"summary": {"certificate": DOUBTED}}, "The test queries are not a fair test: seen <before>."),
        ({"n_features": None}, "It uses 9 features."),
        ({"summary": {"nothing_learned": "all weights are 0"}}, "Nothing was learned: all weights are 0."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_summary_tells_each_case(changes, expected):
    assert expected in Page(render_report(summary_report(**changes))).text_of("summary")


def test_reliability_says_what_is_certain_and_what_is_assumed():
    report = make_report()
    text = Page(render_report(report)).text_of("reliability")
    assert "drawn independently" in text
    assert ", so it is not certain that there is a gain." in text
    assert "This range shows how much the result depends on which queries were sampled." in text
    for certificate in ("certificate", "gain_certificate"):
        report["summary"][certificate] |= {
            "bound": 0.01,
            "guaranteed": False,
            "delta": 0.1,
            "doubts": ["seen <before>"],
        }
    text = Page(render_report(report)).text_of("reliability")
    assert (
        "The mean over new queries of the same kind is estimated to be at least 0.0100. Estimate only: seen <before>."
        in text
    )
    assert (
        "The mean gain over new queries of the same kind is estimated to be at least +0.0100. Estimate only: seen"
        in text
    )
    assert "Estimate of the gain" in text
    assert "ertificate" not in text
    assert "not certain" not in text
    report["summary"] |= {"certificate": None, "gain_certificate": None}
    text = Page(render_report(report)).text_of("reliability")
    assert "There is none: it needs a measure whose greatest value is known" in text
    assert "Certificate of the gain" not in text


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_the_leaderboard_is_sorted_by_what_it_shows_and_drawn_where_it_is(lower_is_better):
    report = make_report(lower_is_better=lower_is_better)
    if lower_is_better:
        report["summary"]["gain"] *= -1
    html = render_report(report)
    page = Page(html)
    table = [row[0].split(" chosen")[0].split(" best held")[0] for row in page.rows("leaderboard")]
    for kind in ("test", "held_out"):
        best_first = sorted(report["leaderboard"], key=lambda row: row[kind]["mean"], reverse=not lower_is_better)
        plot = Plot(html, f"leaderboard-{kind}")
        ends = np.array(re.findall(r'class="whisker \w*" x1="([\d.]+)%" x2="([\d.]+)%"', plot.svg), dtype=float)
        dots = re.findall(r'class="dot \w*" cx="([\d.]+)%"', plot.svg)
        np.testing.assert_allclose(plot.x(ends), [row[kind]["interval"] for row in best_first], atol=1e-5)
        np.testing.assert_allclose(plot.x(dots), [row[kind]["mean"] for row in best_first], atol=1e-5)
        names = [page.text(e) for e in page.of("bdi", within=f"plot-leaderboard-{kind}") if "title" in e]
        assert names == [row["ranker"] for row in best_first]
        assert [table[int(row.removeprefix("leaderboard-"))] for _, _, row in plot.marks] == names
        heights = np.array(re.findall(r'class="dot \w*" cx="[\d.]+%" cy="([\d.]+)"', plot.svg), dtype=float)
        np.testing.assert_allclose(np.diff(heights), 32)  # that of a name in the style sheet
    assert table == [
        row["ranker"]
        for row in sorted(report["leaderboard"], key=lambda row: row["test"]["mean"], reverse=not lower_is_better)
    ]


def test_bars_of_weights_are_as_long_as_the_features_are_important():
    report = make_report()
    plot = Plot(render_report(report), "weights")
    bars = re.findall(r'<rect class="bar (\w+)" y="[\d.]+" width="([\d.]+)%"', plot.svg)
    np.testing.assert_allclose(
        plot.x([width for _, width in bars]), [row["importance"] for row in report["weights"]], atol=1e-3
    )
    assert [kind for kind, _ in bars] == ["better" if row["weight"] > 0 else "worse" for row in report["weights"]]


def test_lambda_is_a_power_of_two_where_it_is_one():
    report = make_report()
    for row, alpha in zip(report["leaderboard"], (0.125, 1.0, 4096.0, 0.3, 2.0**21, 3e-7, None), strict=True):
        row["alpha"] = alpha
    page = Page(render_report(report))
    told = {row[0].split(" chosen")[0].split(" best held")[0]: row[-1] for row in page.rows("leaderboard")}
    assert [told[row["ranker"]] for row in report["leaderboard"]] == ["2⁻³", "2⁰", "2¹²", "0.3", "2²¹", "3·10⁻⁷", "—"]
    sorted_by = [float(e["value"]) for e in page.of("data", within="leaderboard-table")]
    assert set(sorted_by) == {0.125, 1.0, 4096.0, 2.0**21, 3e-7}  # what stands there as it is needs nothing beside it


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_queries_are_drawn_where_they_are(lower_is_better):
    report = make_report(n_queries=200, lower_is_better=lower_is_better)
    if lower_is_better:
        report["summary"]["gain"] *= -1
    html = render_report(report)
    chosen, baseline = (np.array(report["queries"][key]) for key in ("chosen", "baseline"))
    better_by = baseline - chosen if lower_is_better else chosen - baseline

    plot = Plot(html, "scatter")
    for kind, these in (("better", better_by > 0), ("worse", better_by < 0), ("same", better_by == 0)):
        points = plot.points(f"dots {kind}")
        drawn = sorted(zip(plot.x(points[:, 0]), plot.y(points[:, 1]), strict=True))
        np.testing.assert_allclose(drawn, sorted(zip(baseline[these], chosen[these], strict=True)), atol=1e-4)

    plot = Plot(html, "differences")
    area = [np.array(re.findall(r"V([\d.]+)H", plot.path(f"area {kind}")), dtype=float) for kind in ("worse", "better")]
    np.testing.assert_allclose(plot.y(area[0]) + plot.y(area[1]), np.sort(better_by), atol=1e-4)


def test_marks_stand_for_the_rows_of_their_queries():
    report = make_report(n_queries=150)
    html = render_report(report)
    rows = Page(html).rows("query")
    values = dict(
        zip(
            report["queries"]["ids"],
            zip(report["queries"]["chosen"], report["queries"]["baseline"], strict=True),
            strict=True,
        )
    )
    plot = Plot(html, "scatter")
    assert len(plot.marks) == 150
    for x, y, row in plot.marks:
        query = rows[int(row.removeprefix("query-"))][0]
        assert [plot.y(y), plot.x(x)] == pytest.approx(values[query], abs=2e-3)


def test_histograms_count_every_query():
    report = make_report(n_queries=321)
    plot = Plot(render_report(report), "values")
    edges = np.histogram_bin_edges(report["queries"]["chosen"] + report["queries"]["baseline"], 20)
    for kind, name in (("area chosen", "chosen"), ("line baseline", "baseline")):
        heights = plot.y(re.findall(r"V([\d.]+)H", plot.path(kind)))
        np.testing.assert_allclose(heights, np.histogram(report["queries"][name], edges)[0], atol=0.02)
        np.testing.assert_allclose(plot.x(re.findall(r"H([\d.]+)", plot.path(kind))), edges[1:], atol=1e-4)
    told = [int(re.search(r"[\d,]+", line)[0]) for _, _, lines in plot.marks for line in lines[1:2]]
    assert sum(told) == 321


def test_the_path_is_drawn_against_number_and_cost():
    report = make_report()
    html, path = render_report(report), report["feature_path"]
    for key, x in (("number", "features"), ("cost", "cost")):
        plot = Plot(html, f"features-{key}")
        points = plot.points("dots chosen")
        np.testing.assert_allclose(plot.x(points[:, 0]), [point[x] for point in path["points"]], atol=0.02)
        np.testing.assert_allclose(plot.y(points[:, 1]), [point["mean"] for point in path["points"]], atol=1e-4)
        ring = re.search(r'class="ring" cx="([\d.]+)" cy="([\d.]+)"', plot.svg)
        assert plot.x(ring[1]) == pytest.approx(path["points"][path["chosen"]][x], abs=0.02)


def test_alphas_are_drawn_on_a_logarithmic_axis():
    report = make_report()
    html = render_report(report)
    for i, path in enumerate(report["alpha_paths"]):
        plot = Plot(html, f"lambda-{i}")
        points = plot.points("dots chosen")
        np.testing.assert_allclose(plot.x(points[:, 0], log=True), path["alphas"], rtol=1e-2)
        assert all(re.fullmatch("2[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", label) for label in re.findall(r'middle">(2[^<]*)<', plot.svg))
        np.testing.assert_allclose(plot.y(points[:, 1]), path["means"], atol=1e-4)


def test_bootstrap_draws_agree_with_the_interval():
    report = make_report(n_queries=300)
    gain = np.subtract(report["queries"]["chosen"], report["queries"]["baseline"])
    plot = Plot(render_report(report), "draws-gain")
    ends = re.search(r'class="whisker chosen" d="M([\d.]+),[\d.]+H([\d.]+)"', plot.svg).groups()
    np.testing.assert_allclose(plot.x(ends), bootstrap_interval(gain), atol=1e-4)
    counts = np.array([number(re.search(r"[\d,]+", lines[1])[0]) for _, _, lines in plot.marks])
    below = counts[[x < float(ends[0]) for x, _, _ in plot.marks]].sum() / counts.sum()
    assert counts.sum() == 2000
    assert below == pytest.approx(0.025, abs=0.02)  # the interval leaves out a fortieth on either side


def test_steps_tell_what_was_added_and_what_was_dropped():
    points = [ONE_STEP | {"features": len(names), "selected": list(names)} for names in ("a", "ab", "abc", "bc")]
    report = make_report(feature_path={"points": points, "chosen": 3, "has_costs": False})
    changes = [row[-1] for row in Page(render_report(report)).rows("step")]
    assert changes == ["+ a", "+ b", "+ c", "− a"]


def test_documents_that_stand_high_in_any_ranking_are_shown():
    report = make_report(n_documents=200, n_listed=1)
    (query,) = report["worst"]
    rows = Page(render_report(report)).rows("worst-0-document")
    best = {d["document"]: min(d["ranks"][1], d["baseline_ranks"][1], d["ideal_ranks"][1]) for d in query["documents"]}
    shown = {row[4] for row in rows}
    assert len(shown) == 30
    assert max(best[name] for name in shown) <= min(best[name] for name in best.keys() - shown)
    ranks = [int(row[0]) for row in rows]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("number", [1, 30, 31, 50])
def test_a_query_of_not_too_many_documents_has_all_in_its_table(number):
    page = Page(render_report(make_report(n_documents=number, n_listed=1)))
    assert len(page.rows("worst-0-document")) == number
    assert "worst-0-others" not in page.ids


def test_no_document_is_missing():
    report = make_report(n_documents=200, n_listed=1)
    page = Page(render_report(report))
    for kind in ("worst", "improved", "harmed"):
        rows = page.rows(f"{kind}-0-document")
        (lines,) = page.of("pre", within=f"{kind}-0-others")
        heads, *others = csv.reader(page.text(lines).splitlines())
        assert heads == ["rank", "baseline", "ideal", "grade", "score", "document"]
        told = {row[4]: [*row[:3], float(row[3])] for row in rows}
        told |= {row[5]: [*row[:3], float(row[3])] for row in others}
        assert len(rows) + len(others) == len(told) == 200
        for document in report[kind][0]["documents"]:
            first, last = document["ideal_ranks"]
            expected = [str(document[key][0]) for key in ("ranks", "baseline_ranks")]
            assert told[document["document"]] == [*expected, f"{first}–{last}", document["grade"]]


def test_a_document_that_is_not_tied_has_one_place():
    documents = [
        {"document": str(i), "grade": grade, "ranks": [1, 2], "baseline_ranks": [i + 1] * 2, "ideal_ranks": [i + 1] * 2,
         "score": 0.5, "contributions": []}
        for i, grade in enumerate((1, 0))
    ]  # fmt: skip
    report = make_report(worst=[{"query": "q", "value": 0.5, "baseline": 0.5, "documents": documents}])
    assert [row[:3] for row in Page(render_report(report)).rows("worst-0-document")] == [
        ["1–2", "1", "1"],
        ["1–2", "2", "2"],
    ]


def test_queries_without_relevant_documents_are_counted_and_left_out():
    report = make_report(n_queries=50, n_listed=1)
    queries = report["queries"]
    for i in range(7):
        queries["relevant"][i] = 0
        queries["chosen"][i] = queries["baseline"][i] = 0.0
    html = render_report(report)
    page = Page(html)
    assert "Queries without a relevant document: 7 of 50." in page.text_of("queries")
    assert "The mean counts each of them as 0." in page.text_of("queries")
    assert page.text_of("without-relevant") == f"List of these queries {', '.join(queries['ids'][:7])}"
    assert sorted(row[0] for row in page.rows("query")) == sorted(queries["ids"][7:])
    assert len(Plot(html, "scatter").marks) == 43
    assert sum(int(row[1]) for row in page.rows("counts")) == 43
    for i in range(7):
        queries["chosen"][i] = queries["baseline"][i] = None
    assert "The mean leaves them out, too." in Page(render_report(report)).text_of("queries")
    queries["relevant"] = [1] * 50
    assert "without a relevant" not in Page(render_report(report)).text_of("queries")


def test_of_very_many_queries_the_most_changed_are_in_a_table_and_the_others_in_lines():
    report = make_report(n_queries=5_500)
    change = np.abs(np.subtract(report["queries"]["chosen"], report["queries"]["baseline"]))
    html = render_report(report)
    page = Page(html)
    listed = {row[0] for row in page.rows("query")}
    assert "The 5,000 most changed of 5,500 queries" in html
    assert len(listed) == 5_000
    is_listed = np.array([query in listed for query in report["queries"]["ids"]])
    assert change[is_listed].min() >= change[~is_listed].max()
    (lines,) = page.of("pre", within="other-queries")
    _, *others = csv.reader(page.text(lines).splitlines())
    assert listed | {row[-1] for row in others} == set(report["queries"]["ids"])
    places = {query: i for i, query in enumerate(report["queries"]["ids"])}
    for row in others:
        expected = [report["queries"][key][places[row[-1]]] for key in ("chosen", "baseline")]
        assert [float(value) for value in row[:2]] == pytest.approx(expected, abs=6e-5)


def test_queries_lead_to_their_documents():
    report = make_report()
    page = Page(render_report(report))
    links = {page.text(link): link["href"] for link in page.of("a", within="query-table")}
    for kind in ("improved", "harmed", "worst"):
        for i, query in enumerate(report[kind]):
            assert links[query["query"]] in {f"#worst-{j}" for j in range(4)} | {f"#{kind}-{i}"}
            assert page.text_of(f"{kind}-{i}").startswith(query["query"])


def test_the_most_improved_and_the_most_harmed_are_apart():
    report = make_report(n_listed=6)
    page = Page(render_report(report))
    for kind, sign in (("improved", "+"), ("harmed", "−")):
        told = [re.search(r"difference (\S+),", page.text_of(f"{kind}-{i}"))[1] for i in range(6)]
        assert all(difference.startswith(sign) for difference in told)
        sizes = [float(difference[1:]) for difference in told]
        assert sizes == sorted(sizes, reverse=True)
    nothing = Page(render_report(make_report(improved=[], harmed=[])))
    assert "No query is better than the baseline." in nothing.text_of("improved")
    assert "No query is worse than the baseline." in nothing.text_of("harmed")


def test_how_features_were_prepared_is_told_where_it_is_known():
    prepared = make_preparation(7)
    html = render_report(make_report(preparation=prepared))
    page = Page(html)
    assert page.faults == []
    assert [section["id"] for section in page.of("section")].index("preparation") == SECTIONS.index("features")
    assert "#preparation" in [link["href"] for link in page.of("a")]
    assert f"Chosen: {prepared['chosen']}." in page.text_of("preparation")
    assert page.rows("way") == [
        ["none", "0.4000", "—"],
        ["log chosen", "0.4100", "0.0100"],
        ["quantile", "0.4200", "0.0100"],
    ]
    rows = page.rows("prepared")
    assert len(rows) == 7
    assert rows[0] == ["feature 0", "none", "35.35 %", "mean of the query, and an indicator"]
    assert rows[1] == ["feature 1", "log", "0 %", "—"]
    for absent in (make_report(), make_report(preparation=None)):
        assert "preparation" not in Page(render_report(absent)).ids


# Colours


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "wash"])
@pytest.mark.parametrize("text", ["ink", "faint", "accent", "better", "worse"])
def test_text_can_be_read(theme, ground, text):
    low, high = sorted([luminance(theme[ground]), luminance(theme[text])])
    assert (high + 0.05) / (low + 0.05) >= 4.5


# What is no report


def changed(path, value):
    """A report with one thing changed; ``value`` is `missing` to leave it out."""
    report = copy.deepcopy(make_report())
    *outer, last = path
    part = report
    for key in outer:
        part = part[key]
    if value is missing:
        del part[last]
    else:
        part[last] = value
    return report


missing = object()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["summary"], missing, "summary is missing"),
        (["leaderboard", 2, "ranker"], missing, r"leaderboard\[2\].ranker is missing"),
        (["summary", "mean"], float("nan"), "summary.mean must be a finite number, not nan"),
        (["weights", 1, "weight"], float("inf"), r"weights\[1\].weight must be a finite number"),
        (["n_queries"], True, "n_queries must be a whole number, not True"),
        (["n_queries"], 2.5, "n_queries must be a whole number"),
        (["lower_is_better"], 1, "lower_is_better must be true or false"),
        (["title"], None, "title must be a text"),
        (["queries", "ids"], "abc", "queries.ids must be a list"),
        (["queries", "ids"], ["a"], "the lists of queries differ in length"),
        (["summary", "interval"], [0.1], "summary.interval must be a list of 2"),
        (["evaluated_on"], "training", "evaluated_on must be 'cross-validation' or 'test' or 'validation'"),
        (["health", "findings", 0, "level"], ["warning"], r"health.findings\[0\].level must be"),
        (["alpha_paths", 0, "chosen"], 99, r"alpha_paths\[0\].chosen is 99, and there are 11 points"),
        (["feature_path", "chosen"], -1, "feature_path.chosen is -1"),
        (["preparation"], {"chosen": "none", "tried": []}, "preparation.features is missing"),
        (["preparation"], {"chosen": 1, "tried": [], "features": []}, "preparation.chosen must be a text"),
        (["worst", 0, "documents", 0, "ideal_ranks"], 3, r"worst\[0\].documents\[0\].ideal_ranks must be a list of 2"),
        (["queries", "relevant"], [1], "the lists of queries differ in length"),
        (["rule"], "worst", "rule must be 'best' or 'one-standard-error'"),
        (["cost", "seconds"], float("nan"), "cost.seconds must be a finite number"),
        (["reproduce", "versions"], [], "reproduce.versions must be an object"),
        (["summary", "gain"], -0.5, "summary.gain is -0.5, but the chosen ranker is better by"),
        (["lower_is_better"], True, "a gain above 0 is an improvement"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(path, value, message):
    with pytest.raises(ParameterError, match=message):
        render_report(changed(path, value))


def test_what_may_be_null_may_be_left_out():
    report = make_report()
    for key in ("n_features", "feature_path", "cost", "rule"):
        del report[key]
    del report["summary"]["certificate"], report["leaderboard"][0]["test"], report["leaderboard"][1]["note"]
    assert Page(render_report(report)).rows("leaderboard")[-1][:2] == [
        "GreedyRankRLS chosen fewest features within one standard error of the best",
        "—",  # a ranker without a mean comes last
    ]


def test_numbers_of_numpy_are_numbers():
    report = make_report()
    report["n_queries"] = np.int64(60)
    report["summary"]["mean"] = np.float64(report["summary"]["mean"])
    assert render_report(report) == render_report(make_report())
