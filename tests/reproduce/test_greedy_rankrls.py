"""The reproduction of paper G: its protocol against a plain one, its figures against the published ones."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import rankwright as rw
from rankwright.reproduce.folds import find_collections
from rankwright.reproduce.greedy_rankrls import Reproduction, run
from rankwright.reproduce.greedy_rankrls_report import write_report
from rankwright.reproduce.published import GREEDY_RESULTS, GREEDY_SELECTIONS
from tests.reproduce.layout import write_real_folds, write_synthetic_folds

MEASURES = {"MAP": rw.AP, "P@10": rw.P @ 10, "MeanNDCG": rw.MeanNDCG, "NDCG@10": rw.nDCG @ 10}


@pytest.fixture(scope="module", name="mq2008")
def on_real_data(real_data, tmp_path_factory) -> Reproduction:
    folder = tmp_path_factory.mktemp("letor") / "MQ2008"
    write_real_folds(folder, real_data)
    return run({"MQ2008": folder})


def test_every_published_figure_of_mq2008(mq2008):
    rows = mq2008.all_rows()
    assert len(rows) == 75  # λ, k and 17 features in table 2; four tables of two systems, five folds and the average
    assert [row for row in rows if row.ours is None or row.paper is None or abs(row.ours - row.paper) > 1e-4] == []
    assert all(row.agrees for row in rows)


def test_the_figures_of_mq2008_peak_at_few_features(mq2008):
    """Paper G, §4: the best validation performances are reached with relatively few features."""
    for measure in ("MAP", "MeanNDCG"):
        curve = mq2008.mean_curve("MQ2008", measure)
        assert curve.shape == (11, 46)
        assert np.argmax(curve.max(axis=0)) + 1 <= 15


def test_published_averages_are_those_of_their_folds():
    """A slip in typing a figure would show here."""
    for table in GREEDY_RESULTS:
        for system, (*folds, average) in table.systems.items():
            assert len(folds) == 5
            assert np.mean(folds) == pytest.approx(average, abs=1.01e-4), (table.number, system)
    for table in GREEDY_SELECTIONS:
        assert [len(selected) for selected in table.selected] == [min(k, 10) for k in table.k]
        assert all(len(set(selected)) == len(selected) for selected in table.selected)
        assert {selected[0] for selected in table.selected} == {39}


# A protocol written out plainly, on a small collection


@pytest.fixture(scope="module", name="collections")
def small_collections(tmp_path_factory):
    root = tmp_path_factory.mktemp("letor")
    write_synthetic_folds(root / "MQ2008", seed=3)
    return find_collections(root)


@pytest.fixture(scope="module", name="reproduction")
def on_small_collections(collections) -> Reproduction:
    return run(collections)


def centred(queries):
    """Features and grades, centred query by query."""
    pairs = [(query.X - query.X.mean(axis=0), query.y - query.y.mean()) for query in queries]
    return [x for x, _ in pairs], [y for _, y in pairs]


def ridge(xs, ys, alpha, columns):
    x, y = np.concatenate(xs)[:, columns], np.concatenate(ys)
    return np.linalg.solve(x.T @ x + alpha * np.eye(len(columns)), x.T @ y)


def left_out_error(xs, ys, alpha, columns):
    """Train without each query in turn; the squared errors on the one that was left out."""
    error = 0.0
    for q in range(len(xs)):
        weights = ridge(xs[:q] + xs[q + 1 :], ys[:q] + ys[q + 1 :], alpha, columns)
        error += np.sum((ys[q] - xs[q][:, columns] @ weights) ** 2)
    return error


def mean(queries, columns, weights, measure):
    return rw.evaluate(queries.X[:, columns] @ weights, queries, measure, "letor4").means[measure]


def plain_path(xs, ys, alpha, n_features):
    """Add the feature with the least error on queries left out, by retraining for every candidate."""
    columns = []
    while len(columns) < n_features:
        rest = [f for f in range(n_features) if f not in columns]
        columns = [*columns, min(rest, key=lambda f: left_out_error(xs, ys, alpha, [*columns, f]))]
        yield columns


@pytest.mark.parametrize("fold", [1, 2, 5])
def test_a_fold_is_what_a_plain_protocol_gives(collections, reproduction, fold):
    train, vali, test = rw.datasets.load_letor(collections["MQ2008"], fold, dtype=np.float64)
    (xs, ys), result = centred(train), reproduction.results["MQ2008"][fold - 1]

    everything = list(range(train.n_features))
    rankers = [ridge(xs, ys, 2.0**power, everything) for power in range(-15, 16)]
    best = max(rankers, key=lambda weights: mean(vali, everything, weights, rw.AP))
    for name, measure in MEASURES.items():
        assert result.results["RankRLS"][name] == pytest.approx(mean(test, everything, best, measure), abs=1e-9)

    steps = [
        (2.0**power, columns, ridge(xs, ys, 2.0**power, columns))
        for power in range(11)
        for columns in plain_path(xs, ys, 2.0**power, train.n_features)
    ]
    for name in ("MAP", "MeanNDCG"):
        values = [mean(vali, columns, weights, MEASURES[name]) for _, columns, weights in steps]
        np.testing.assert_allclose(result.curves[name].ravel(), values, atol=1e-9)
    alpha, columns, weights = max(steps, key=lambda step: round(mean(vali, step[1], step[2], rw.AP), 9))
    assert (result.alpha, result.selected) == (alpha, tuple(column + 1 for column in columns))
    for name, measure in MEASURES.items():
        assert result.results["GRankRLS"][name] == pytest.approx(mean(test, columns, weights, measure), abs=1e-9)


def test_averages_are_those_of_the_folds(reproduction):
    folds = reproduction.results["MQ2008"]
    for row in reproduction.all_rows():
        if row.fold == "avg":
            assert row.ours == pytest.approx(np.mean([fold.results[row.system][row.measure] for fold in folds]))
    np.testing.assert_allclose(
        reproduction.mean_curve("MQ2008", "MAP"), sum(fold.curves["MAP"] for fold in folds) / 5, rtol=1e-12
    )


def test_progress_ends_with_all_folds(collections):
    told = []
    run(collections, progress=lambda now: told.append((now.done, now.total)))
    done = [share for share, _ in told]
    assert done == sorted(done)
    assert told[-1] == (5, 5)
    assert len(set(done)) > 5  # within folds too


# What is found and what is written


def test_results_are_rows_with_ours_and_the_papers(reproduction, tmp_path):
    write_report(reproduction, tmp_path)
    rows = json.loads((tmp_path / "results.json").read_text())
    assert {row["table"] for row in rows} == {2, 7, 8, 9, 10}
    assert all(row["dataset"] == "MQ2008" for row in rows)
    keys = ["table", "dataset", "fold", "system", "measure", "ours", "paper"]
    assert all(list(row) == keys for row in rows)
    (average,) = [row for row in rows if (row["table"], row["fold"], row["system"]) == (7, "avg", "GRankRLS")]
    folds = [fold.results["GRankRLS"]["MAP"] for fold in reproduction.results["MQ2008"]]
    assert average["ours"] == pytest.approx(np.mean(folds))
    assert average["paper"] == 0.4720
    chosen = {row["measure"]: row["ours"] for row in rows if (row["table"], row["fold"]) == (2, 3)}
    third = reproduction.results["MQ2008"][2]
    assert (chosen["lambda"], chosen["k"]) == (third.alpha, len(third.selected))
    assert chosen["selected 1"] == third.selected[0]


def cells_of(text, table):
    """The rows of one table of tables.md."""
    part = text.split(f"## Table {table}:")[1].split("## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if "|" in line]


def test_tables_show_ours_beside_the_papers_and_mark_differences(reproduction, tmp_path):
    write_report(reproduction, tmp_path)
    text = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert re.findall(r"## Table (\d+)", text) == [str(number) for number in range(1, 11)]
    rows = {row.fold: row for row in reproduction.all_rows() if (row.table, row.system) == (8, "RankRLS")}
    for line in cells_of(text, 8)[2:]:
        row = rows[int(line[0]) if line[0].isdecimal() else "avg"]
        differs = abs(row.ours - row.paper) > 1e-4
        assert line[3:5] == [f"{row.ours:.4f}{' ≠' if differs else ''}", f"{row.paper:.4f}"]
    assert cells_of(text, 8)[2][5] == "0.2423"  # RankSVM has the paper's figures alone
    assert "MQ2007 was not there" in text.split("## Table 3")[1].split("## ")[0]
    assert cells_of(text, 3)[2] == ["1", "–", "0.4859", "–", "0.4912", "0.4894"]
    assert "MQ2008 was not there" not in text


def test_figures_have_a_line_for_each_lambda(reproduction, tmp_path):
    names = [path.name for path in write_report(reproduction, tmp_path)]
    assert names == ["tables.md", "results.json", "figure3.svg", "figure4.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    for name, measure in (("figure3.svg", "MAP"), ("figure4.svg", "MeanNDCG")):
        root = ElementTree.parse(tmp_path / name).getroot()
        title = root.findtext("{http://www.w3.org/2000/svg}title")
        assert measure in title
        assert "MQ2008" in title
        lines = [path.findtext("{*}title") for path in root.iter("{http://www.w3.org/2000/svg}path")]
        assert [line for line in lines if line] == [
            f"λ = 2{power}" for power in ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹", "¹⁰"]
        ]


def test_both_collections(collections, tmp_path):
    write_synthetic_folds(tmp_path / "MQ2007", seed=5)
    reproduction = run({"MQ2007": tmp_path / "MQ2007", **collections})
    (tmp_path / "out").mkdir()
    written = write_report(reproduction, tmp_path / "out")
    assert [path.name for path in written[2:]] == [f"figure{number}.svg" for number in (1, 2, 3, 4)]
    assert {row.table for row in reproduction.all_rows()} == set(range(1, 11))
    assert "was not there" not in written[0].read_text(encoding="utf-8")
