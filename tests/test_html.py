"""Results in notebooks: their own values, hostile names as text, long tables cut, and nothing that a page would run."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from math import floor

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.html import Block, escaped, notebook_html
from rankwright.theory import certificate, rademacher, risk_bound, study_bounds
from rankwright.theory.consistency import Laboratory, demonstrations
from tests.needed import CHROMIUM, needs_chromium
from tests.report.browser import Browser

HOSTILE = [
    "<script>document.title = 'owned'</script>",
    '"><img src=x onerror="document.title = 1">',
    "</td></table><b>&amp;",
    "a\u202eb\x1b[31m\ud800",
    "plain",
]
ALLOWED = {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}


class Parsed(HTMLParser):
    """The tables of some HTML as rows of texts, its paragraphs, and a check that every element is closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.paragraphs: list[str] = []
        self.styles: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        assert {name for name, _ in attrs} <= {"style", "scope", "colspan"}
        self.styles += [value or "" for name, value in attrs if name == "style"]
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "p":
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif self._open[-1] == "p":
            self.paragraphs[-1] += data
        else:
            assert data.strip() == ""


def shown_in_notebook(result: object) -> Parsed:
    return Parsed(result._repr_html_())  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def queries() -> rw.Queries:
    """Unsorted text ids, one query of one document, one without relevant documents, a constant column, float32."""
    rng = np.random.default_rng(0)
    sizes = np.append(rng.integers(3, 9, 58), [1, 4])
    qid = np.repeat([f"<q{q}>" for q in range(60)], sizes)
    x = rng.normal(size=(len(qid), 5)).astype(np.float32)
    x[:, 2] = 1
    y = np.clip(np.round(x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=len(qid))), 0, 3)
    y[qid == "<q59>"] = 0
    shuffled = rng.permutation(len(qid))
    documents = [f"<doc {row}>" for row in range(len(qid))]
    return rw.Queries(x[shuffled], y[shuffled], qid[shuffled], feature_names=HOSTILE, doc_ids=documents)


@pytest.fixture(scope="module")
def results(queries: rw.Queries) -> dict[str, object]:
    ranker = rw.RankSVM().fit(queries[:30])
    explanation = rw.explain(ranker, queries, queries.query_ids[2])
    laboratory = Laboratory([[1, 1, 0], [0, 0, 1]])
    return {
        "queries": queries,
        "inspection": rw.inspect(queries),
        "evaluation": rw.evaluate(ranker, queries, "ndcg@10, map"),
        "comparison": rw.compare({HOSTILE[0]: ranker, HOSTILE[1]: queries.X[:, 1]}, queries),
        "fit": rw.fit(queries[:30], test=queries[30:]),
        "certificate": certificate(ranker, queries[30:]),
        "bound": risk_bound(ranker, queries[:30]),
        "rademacher": rademacher(queries),
        "study": study_bounds(queries, sizes=[20], repeats=1),
        "explanation": explanation,
        "rise": explanation.rise(2),
        "why": explanation.why(1, 2),
        "laboratory": laboratory,
        "gap": laboratory.surrogate_gap(rw.losses.SquaredLoss(), "ndcg"),
        "demonstration": demonstrations("binary")[0],
    }


# The one writer of tables


def test_text_stays_text_and_hidden_characters_are_seen() -> None:
    found = Parsed(notebook_html(Block(HOSTILE[0], HOSTILE[:2], [HOSTILE[1:3], HOSTILE[3:]], notes=[HOSTILE[3]])))
    visible = "a\\u202eb\\x1b[31m\\ud800"
    assert found.paragraphs == [HOSTILE[0], visible]
    assert found.rows == [HOSTILE[:2], HOSTILE[1:3], [visible, HOSTILE[4]]]


def test_escaped_text_fits_an_attribute_and_xml() -> None:
    assert escaped("<a \"b\" 'c' & \x00\ufffe>") == "&lt;a &quot;b&quot; &#x27;c&#x27; &amp; ��&gt;"


@pytest.mark.parametrize(("n_given", "n_rows", "n_shown"), [(30, None, 30), (31, None, 30), (7, 1234, 7), (0, None, 0)])
def test_a_long_table_tells_how_many_rows_are_left(n_given: int, n_rows: int | None, n_shown: int) -> None:
    rows = [[str(i), "x"] for i in range(n_given)]
    found = Parsed(notebook_html(Block(header=["i", "letter"], rows=rows, n_rows=n_rows))).rows
    left = (n_given if n_rows is None else n_rows) - n_shown
    head = [["i", "letter"]] if rows else []
    assert found == [*head, *rows[:n_shown], *([[f"… and {left:,} more"]] if left else [])]


def test_texts_go_to_the_left_and_numbers_to_the_right() -> None:
    html = notebook_html(Block(header=["a", "b", "c"], rows=[["1", "2", "3"]], texts=(0, 2)))
    sides = [
        "left" if "text-align:left" in style else "right" for style in Parsed(html).styles if "text-align" in style
    ]
    assert sides == ["left", "right", "left"] * 2


# What is shown of each result


def test_every_result_is_plain_tables_that_take_their_colours_from_the_page(results: dict[str, object]) -> None:
    for result in results.values():
        found = shown_in_notebook(result)  # which refuses all but tables and paragraphs
        assert found.rows
        assert not any(
            word in style for style in found.styles for word in ("color", "background", "url", "font-family")
        )


@pytest.mark.parametrize("name", ["queries", "inspection", "fit", "why", "rise", "explanation"])
def test_names_of_features_come_out_as_they_are(results: dict[str, object], name: str) -> None:
    found = shown_in_notebook(results[name])
    text = "\n".join([*found.paragraphs, *(cell for row in found.rows for cell in row)])
    assert any(feature[:15] in text for feature in HOSTILE[:3])


def test_queries_show_the_first_of_them(queries: rw.Queries) -> None:
    found = shown_in_notebook(queries)
    assert found.paragraphs[0] == repr(queries)
    assert found.rows[0] == ["query", "documents", "relevant", "highest grade"]
    for row, query_id in zip(found.rows[1:6], queries.query_ids[:5], strict=True):
        grades = queries.y[queries.qid == query_id]
        assert row == [query_id, str(len(grades)), str(np.sum(grades > 0)), f"{max(grades):g}"]
    assert found.rows[6:] == [["… and 55 more"]]
    assert found.paragraphs[-1] == "features: " + ", ".join([*HOSTILE[:3], "a\\u202eb\\x1b[31m\\ud800", "plain"])


def test_queries_of_any_kind_are_shown() -> None:
    wide = rw.Queries(
        sp.random_array((6, 2000), density=0.01, format="csr", rng=0), [0, 1, 2, 0, 1, 0], [3, 3, 3, 1, 1, 2]
    )
    assert shown_in_notebook(wide).paragraphs[-1].endswith("f7, f8 and 1,992 more")
    ranked = rw.Queries(None, rw.FullRanking([1, 2, 1, 2]), [1, 1, 2, 2])
    assert shown_in_notebook(ranked).rows == [["query", "documents"], ["1", "2"], ["2", "2"]]
    assert shown_in_notebook(wide[:0]).rows == []


def test_an_inspection_shows_what_it_found(results: dict[str, object]) -> None:
    inspection = results["inspection"]
    assert isinstance(inspection, rw.Inspection)
    rows = shown_in_notebook(inspection).rows
    assert rows[0] == ["queries", "60", "with grades"]
    assert rows[2][:2] == ["features", "5"]
    assert inspection.grades is not None
    for count in inspection.grades.histogram:
        assert [f"{count.grade:g}", f"{count.documents:,}"] in [row[:2] for row in rows]
    assert ["constant features", "1", HOSTILE[2]] in rows
    assert ["queries of one document", "1", "nothing to rank"] in rows
    fine = rw.inspect(rw.Queries([[1.0], [2.0]], [0, 1]))
    assert shown_in_notebook(fine).paragraphs == ["Nothing looks wrong."]


def test_an_evaluation_shows_its_means(results: dict[str, object]) -> None:
    evaluation = results["evaluation"]
    assert isinstance(evaluation, rw.Evaluation)
    rows = shown_in_notebook(evaluation).rows[1:]
    assert [row[:2] for row in rows] == [[str(m), f"{np.nanmean(v):.4f}"] for m, v in evaluation.values.items()]


def test_a_comparison_shows_systems_by_their_means(results: dict[str, object]) -> None:
    comparison = results["comparison"]
    assert isinstance(comparison, rw.Comparison)
    rows = shown_in_notebook(comparison).rows[1:]
    assert [row[:2] for row in rows] == [[name, f"{mean:.4f}"] for name, mean in comparison.means.items()]
    assert {row[0] for row in rows} == set(HOSTILE[:2])


def test_a_fit_shows_its_table_and_its_verdict(results: dict[str, object]) -> None:
    fit = results["fit"]
    assert isinstance(fit, rw.FitResult)
    assert fit.on_test is not None
    assert fit.certificates is not None
    found = shown_in_notebook(fit)
    assert {f"{mean:.4f}" for mean in fit.on_test.means.values()} <= {cell for row in found.rows for cell in row}
    text = "\n".join(found.paragraphs)
    assert fit.entries[fit.chosen].family.title in text
    assert f"{floor(1e4 * fit.certificates[0].bound) / 1e4:.4f}" in text


def test_a_certificate_shows_its_bounds(results: dict[str, object]) -> None:
    certified = results["certificate"]
    assert isinstance(certified, rw.theory.Certificate)
    found = shown_in_notebook(certified)
    shown = {row[0]: row[1] for row in found.rows[1:]}
    assert shown == {name: f"{floor(1e4 * bound) / 1e4:.4f}" for name, bound in certified.bounds.items()}
    assert shown[certified.method] in found.paragraphs[0]


def test_a_risk_bound_shows_its_terms_and_constants(results: dict[str, object]) -> None:
    bound = results["bound"]
    assert isinstance(bound, rw.theory.RiskBound)
    found = shown_in_notebook(bound)
    names = [row[0] for row in found.rows]
    assert names[1:4] == [term.name for term in bound.terms]
    assert names[-len(bound.constants) :] == [constant.symbol for constant in bound.constants]
    assert f"risk: the {bound.risk}" in found.paragraphs


def test_an_explanation_shows_documents_by_score(results: dict[str, object]) -> None:
    explanation = results["explanation"]
    assert isinstance(explanation, rw.Explanation)
    rows = shown_in_notebook(explanation).rows
    names = [document.doc_id for document in explanation.documents]
    assert [row[1] for row in rows[1 : len(names) + 1]] == names


def test_the_laboratory_shows_its_distribution(results: dict[str, object]) -> None:
    assert shown_in_notebook(results["laboratory"]).rows[1:] == [["(1, 1, 0)", "1/2"], ["(0, 0, 1)", "1/2"]]
    assert shown_in_notebook(results["gap"]).rows[-1] == ["consistent here", "yes"]


# In a browser


@needs_chromium
@pytest.mark.skipif(sys.platform != "linux", reason="Chromium is driven through inherited pipes, as on Linux")
def test_a_page_of_all_results_runs_nothing_and_is_drawn_in_its_own_colours(results, tmp_path) -> None:
    dark = "body { background: rgb(17, 17, 17); color: rgb(230, 230, 230) }"
    body = "<hr>".join(result._repr_html_() for result in results.values())
    head = "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><title>quiet</title>"
    page_file = tmp_path / "all.html"
    page_file.write_text(f"{head}<style>{dark}</style>{body}")
    browser = Browser(CHROMIUM, tmp_path / "profile")
    try:
        with browser.page(page_file, is_dark=True) as page:
            assert page.messages() == []
            assert page.requests() == [page_file.as_uri()]
            assert page.evaluate("document.title") == "quiet"
            assert page.evaluate("document.querySelectorAll('script, img, b').length") == 0
            colours = "[...new Set([...document.querySelectorAll('td, th, p')].map((e) => getComputedStyle(e).color))]"
            assert page.evaluate(colours) == ["rgb(230, 230, 230)"]
            tables = page.evaluate("document.querySelectorAll('table').length")
            assert tables == body.count("<table")
            page.resize(390, 800)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
    finally:
        browser.close()
