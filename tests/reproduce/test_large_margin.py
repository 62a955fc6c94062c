"""Bounds of NDCG on OHSUMED and MQ2008: the protocol, the tests of differences, and what is written."""

from __future__ import annotations

import gzip
import json
import math
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.stats

import rankwright as rw
from rankwright.reproduce.folds import find_collections
from rankwright.reproduce.large_margin import (
    BASELINES,
    CONVEX,
    DATASETS,
    MEAN_OF_ALL,
    MEAN_OF_PUBLISHED,
    MEASURES,
    NDCG,
    SYSTEMS,
    TIGHT,
    FoldResult,
    Reproduction,
    published,
    run,
)
from rankwright.reproduce.large_margin_report import FILES, figures, tables, write_report
from rankwright.reproduce.published import LETOR_BASELINES
from tests.reproduce.layout import write_folds, write_synthetic_folds


def write_noisy_folds(folder, *, seed):
    """Queries whose grades have nothing to do with the features, each of these on a scale of its own."""
    rng = np.random.default_rng(seed)
    parts = []
    for part in range(5):
        lines = []
        for q in range(6):
            for _ in range(12):
                features = " ".join(f"{j + 1}:{10.0**j * rng.normal():.6f}" for j in range(2))
                lines.append(f"{rng.choice([0, 0, 1, 2])} qid:{10 * part + q} {features}\n")
        parts.append("".join(lines).encode())
    write_folds(folder, parts)


@pytest.fixture(scope="module", name="collections")
def small_collections(tmp_path_factory):
    """One that can be learned, and one that cannot."""
    root = tmp_path_factory.mktemp("letor")
    write_synthetic_folds(root / "MQ2008", seed=3)
    write_noisy_folds(root / "OHSUMED", seed=4)
    return find_collections(root, DATASETS)


@pytest.fixture(scope="module", name="reproduction")
def on_small_collections(collections) -> Reproduction:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        return run(collections)


# The protocol, written out plainly


def scaled(queries):
    """[0, 1] within each query."""
    x = np.array(queries.X, dtype=float)
    for qid in np.unique(queries.qid):
        rows = queries.qid == qid
        low, high = x[rows].min(axis=0), x[rows].max(axis=0)
        x[rows] = (x[rows] - low) / np.where(high > low, high - low, 1)
    return rw.Queries(x, queries.y, queries.qid)


def plain_ndcg(grades, k):
    """By the rules of the LETOR 4.0 script, of the grades as ranked."""
    if len(grades) < k or not np.any(grades):
        return 0.0

    def dcg(ranked):
        return sum((2.0**y - 1) / (1 if place < 3 else math.log2(place)) for place, y in enumerate(ranked[:k], start=1))

    return dcg(grades) / dcg(sorted(grades, reverse=True))


def plain_ap(grades):
    relevant = np.asarray(grades) > 0
    precision = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
    return float(precision[relevant].mean()) if relevant.any() else 0.0


def plain_values(queries, scores):
    """NDCG@1 to 10 and AP of every query; tied documents stay as they stand."""
    rows = queries.grouping.codes
    values = {name: [] for name in MEASURES}
    for q in range(queries.n_queries):
        grades = queries.y[rows == q][np.argsort(-scores[rows == q], kind="stable")]
        for k in range(1, 11):
            values[f"NDCG@{k}"].append(plain_ndcg(grades, k))
        values["MAP"].append(plain_ap(grades))
    return values


def plainly_trained(train, vali):
    common = {"measures": "ndcg@10", "convention": "letor4"}
    regression = rw.RegressionRanker(rw.search(), **common).fit(train, valid=vali)
    return {
        "Regression": regression,
        "RankSVM": rw.RankSVM(rw.search(), loss="hinge", **common).fit(train, valid=vali),
        "RankBoost": rw.RankBoost(300, **common).fit(train, valid=vali),
        "Tight bound": rw.StructuredRanker(
            "ndcg@10",
            rw.search(4.0 ** np.arange(-6, 7)),
            bound="tight",
            solver="conjugate-subgradient",
            center=regression.coef_,
            convention="letor4",
        ).fit(train, valid=vali),
    }


@pytest.mark.parametrize(("dataset", "fold"), [("MQ2008", 1), ("OHSUMED", 4)])
def test_a_fold_is_what_a_plain_protocol_gives(collections, reproduction, dataset, fold):
    train, vali, test = map(scaled, rw.datasets.load_letor(collections[dataset], fold, dtype=np.float64))
    result = reproduction.results[dataset][fold - 1]
    for system, ranker in plainly_trained(train, vali).items():
        on_valid = np.mean(plain_values(vali, ranker.predict(vali.X))["NDCG@10"])
        assert result.valid[system] == pytest.approx(on_valid, abs=1e-12)
        assert result.chosen[system] == (ranker.n_rounds_ if system == "RankBoost" else ranker.alpha_)
        for name, expected in plain_values(test, ranker.predict(test.X)).items():
            np.testing.assert_allclose(result.values[system][name], expected, atol=1e-12)


def test_no_other_lambda_is_better_on_the_validation_queries(collections, reproduction):
    train, vali, _ = map(scaled, rw.datasets.load_letor(collections["MQ2008"], 2, dtype=np.float64))
    result = reproduction.results["MQ2008"][1]
    for alpha in 2.0 ** np.arange(-15, 16):
        weights = rw.RegressionRanker(alpha).fit(train).coef_
        assert np.mean(plain_values(vali, vali.X @ weights)["NDCG@10"]) <= result.valid["Regression"] + 1e-12


def test_the_convex_bound_is_learned_where_it_can_be(collections, reproduction):
    assert reproduction.folds_not_learned("MQ2008", CONVEX) == 0
    train, vali, test = map(scaled, rw.datasets.load_letor(collections["MQ2008"], 3, dtype=np.float64))
    result = reproduction.results["MQ2008"][2]
    ranker = rw.StructuredRanker("ndcg@10", result.chosen[CONVEX], convention="letor4").fit(train)
    assert result.valid[CONVEX] == pytest.approx(
        np.mean(plain_values(vali, ranker.predict(vali.X))["NDCG@10"]), abs=0.02
    )
    in_file = np.mean(plain_values(test, np.zeros(test.n_documents))["NDCG@5"])
    assert result.values[CONVEX]["NDCG@5"].mean() > in_file + 0.1


def test_documents_stand_as_in_the_file_where_nothing_is_learned(collections, reproduction):
    assert reproduction.folds_not_learned("OHSUMED", CONVEX) > 0
    for fold, result in enumerate(reproduction.results["OHSUMED"], start=1):
        test = rw.datasets.load_letor(collections["OHSUMED"], fold, dtype=np.float64).test
        in_file = plain_values(test, np.zeros(test.n_documents))["NDCG@10"]
        assert np.allclose(result.values[CONVEX]["NDCG@10"], in_file) == (not result.learned[CONVEX])
    assert all(fold.learned[system] for fold in reproduction.results["OHSUMED"] for system in (*BASELINES, TIGHT))


def test_progress_tells_of_every_system(collections):
    told = []
    run({"MQ2008": collections["MQ2008"]}, progress=lambda now: told.append((now.done, now.total)))
    assert told == [*((pytest.approx(i / 5), 5) for i in range(1, 26)), (5, 5)]


# Collections


def test_collections_are_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="OHSUMED and MQ2008"):
        find_collections(tmp_path, DATASETS)
    (tmp_path / "MQ2007").mkdir()
    (tmp_path / "mq2008").mkdir()
    (tmp_path / "Ohsumed").mkdir()
    assert find_collections(tmp_path, DATASETS) == {"OHSUMED": tmp_path / "Ohsumed", "MQ2008": tmp_path / "mq2008"}
    assert find_collections(tmp_path / "Ohsumed", DATASETS) == {"OHSUMED": tmp_path / "Ohsumed"}


# Tests of differences


def fold_of(values):
    """A fold with these values of NDCG for each query, the same at every k."""
    return FoldResult({s: dict.fromkeys(MEASURES, np.asarray(v)) for s, v in values.items()}, {}, {}, {})


def test_queries_of_all_folds_are_tested_together_by_their_sums(reproduction):
    pooled = {
        system: np.concatenate(
            [sum(fold.values[system][f"NDCG@{k}"] for k in range(1, 11)) for fold in reproduction.results["MQ2008"]]
        )
        for system in SYSTEMS
    }
    tests = reproduction.tests("MQ2008")
    assert [(test.system, test.baseline) for test in tests] == [(s, b) for s in (CONVEX, TIGHT) for b in BASELINES]
    for test in tests:
        differences = pooled[test.system] - pooled[test.baseline]
        assert len(differences) == 30
        assert test.difference == pytest.approx(differences.mean() / 10)
        differences = differences[differences != 0]
        expected = scipy.stats.wilcoxon(differences).pvalue if len(differences) else 1.0
        assert test.p == pytest.approx(expected)


def test_holm_counts_three_baselines():
    """Seven queries that are all better have p = 2/2⁷; two such baselines of three leave it times three."""
    better = np.linspace(0.5, 0.8, 7)
    values = {"Regression": np.zeros(7), "RankSVM": np.zeros(7), "RankBoost": better, CONVEX: better, TIGHT: better}
    tests = Reproduction({"MQ2008": (fold_of(values),)}).tests("MQ2008")
    assert [test.p for test in tests[3:]] == pytest.approx([1 / 64, 1 / 64, 1])
    assert [test.p_holm for test in tests[3:]] == pytest.approx([3 / 64, 3 / 64, 1])
    assert [test.difference for test in tests[3:]] == pytest.approx([better.mean(), better.mean(), 0])


# Figures


def test_averages_are_those_of_the_folds(reproduction):
    told = reproduction.all_figures()
    averages = [f for f in told if f.fold == "avg" and f.ours is not None]
    assert len(averages) == 2 * len(SYSTEMS) * (10 + 1 + 2)
    for average in averages:
        same = [f.ours for f in told if isinstance(f.fold, int) and key(f) == key(average)]
        assert len(same) == 5
        assert average.ours == pytest.approx(np.mean(same), abs=1e-12)
        assert average.ours == reproduction.average(average.dataset, average.system, average.measure)


def key(figure):
    return figure.dataset, figure.system, figure.measure


def test_means_over_k(reproduction):
    def of(measure):
        return reproduction.average("MQ2008", TIGHT, measure)

    assert of(MEAN_OF_PUBLISHED) == pytest.approx((of("NDCG@1") + of("NDCG@3") + of("NDCG@5") + of("NDCG@10")) / 4)
    assert of(MEAN_OF_ALL) == pytest.approx(sum(of(name) for name in NDCG) / 10)
    assert published("OHSUMED", "RankSVM", MEAN_OF_PUBLISHED) == pytest.approx(0.464775)
    assert published("OHSUMED", "RankBoost", MEAN_OF_PUBLISHED) == pytest.approx(0.464025)
    assert published("OHSUMED", "RankSVM", MEAN_OF_ALL) is None


def test_published_figures_stand_beside_averages_on_ohsumed_alone(reproduction):
    told = [f for f in reproduction.all_figures() if f.published is not None]
    assert {(f.dataset, f.fold) for f in told} == {("OHSUMED", "avg")}
    assert len(told) == 5 * (4 + 1 + 1)
    by_place = {(f.system, f.measure): f for f in told}
    assert by_place["RankSVM", "NDCG@10"].published == 0.4411
    assert by_place["RankBoost", "MAP"].published == 0.4403
    assert {f.system for f in told if f.ours is None} == {"FRank", "ListNet", "AdaRank.MAP"}


def test_published_ndcg_falls_with_k():
    for of_system in LETOR_BASELINES.values():
        *at_k, average_precision = of_system.values()
        assert list(of_system) == ["NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP"]
        assert 0.55 > at_k[0] > at_k[1] > at_k[2] > at_k[3] > 0.43  # a slip in a leading digit would show
        assert 0.44 <= average_precision <= 0.45


# What is written


def test_results_are_rows(reproduction, tmp_path):
    assert [path.name for path in write_report(reproduction, tmp_path)] == list(FILES)
    rows = json.loads((tmp_path / "results.json").read_text())
    assert all(list(row) == ["dataset", "fold", "system", "measure", "ours", "published"] for row in rows)
    assert {row["dataset"] for row in rows} == {"OHSUMED", "MQ2008"}
    by_place = {(row["dataset"], row["fold"], row["system"], row["measure"]): row["ours"] for row in rows}
    assert len(by_place) == len(rows)
    result = reproduction.results["MQ2008"][3]
    assert by_place["MQ2008", 4, TIGHT, "lambda"] == result.chosen[TIGHT]
    assert by_place["MQ2008", 4, "RankBoost", "rounds"] == result.chosen["RankBoost"]
    assert by_place["MQ2008", 4, "RankSVM", "validation NDCG@10"] == result.valid["RankSVM"]
    stays = [by_place["OHSUMED", fold, CONVEX, "stays at w = 0"] for fold in range(1, 6)]
    assert stays == [float(not fold.learned[CONVEX]) for fold in reproduction.results["OHSUMED"]]
    test = reproduction.tests("OHSUMED")[4]
    assert by_place["OHSUMED", "all", TIGHT, "p against RankSVM"] == test.p
    assert by_place["OHSUMED", "all", TIGHT, "p against RankSVM, Holm"] == test.p_holm


def section(text, title):
    part = text.split(f"## {title}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]


def test_tables_show_ours_and_the_published_ones(reproduction):
    text = tables(reproduction)
    rows = section(text, "OHSUMED")
    assert rows[0] == ["system", "NDCG@1", "@3", "@5", "@10", "mean", "@1–10", "MAP"]
    assert ["RankSVM†", "0.4952", "0.4649", "0.4579", "0.4411", "0.4648", "–", "0.4469"] in rows
    measures = ["NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", MEAN_OF_PUBLISHED, MEAN_OF_ALL, "MAP"]
    for system in SYSTEMS:
        assert [system, *(f"{reproduction.average('OHSUMED', system, m):.4f}" for m in measures)] in rows
    assert "†" not in text.split("## MQ2008")[1]
    stays = reproduction.folds_not_learned("OHSUMED", CONVEX)
    assert f"On {stays} of 5 folds no weights have a lower convex bound than w = 0" in text
    assert "The convex bound is below that of w = 0 on all 5 folds." in text.split("## MQ2008")[1]


def test_charts_have_a_line_for_each_system_that_learned(reproduction):
    charts = figures(reproduction)
    words = {
        name: {element.text for element in ElementTree.fromstring(chart).iter("{http://www.w3.org/2000/svg}text")}
        for name, chart in charts.items()
    }
    assert reproduction.folds_not_learned("OHSUMED", CONVEX) == 5
    assert set(SYSTEMS) & words["ohsumed.svg"] == {*BASELINES, TIGHT}
    assert set(SYSTEMS) <= words["mq2008.svg"]
    assert {"RankSVM, published", "RankBoost, published"} <= words["ohsumed.svg"]
    assert not any(word.endswith("published") for word in words["mq2008.svg"])


# On real data


@pytest.fixture(scope="module", name="ohsumed")
def on_real_data(real_data, tmp_path_factory) -> Reproduction:
    folder = tmp_path_factory.mktemp("letor") / "OHSUMED"
    write_folds(folder, [gzip.decompress((real_data / "OHSUMED" / f"S{i}.txt.gz").read_bytes()) for i in range(1, 6)])
    return run({"OHSUMED": folder})


@pytest.mark.slow
def test_the_tight_bound_is_above_the_published_baselines(ohsumed):
    assert ohsumed.average("OHSUMED", TIGHT, "NDCG@10") >= 0.4411
    ours = ohsumed.average("OHSUMED", TIGHT, MEAN_OF_PUBLISHED)
    assert ours > published("OHSUMED", "RankSVM", MEAN_OF_PUBLISHED)
    assert ours > published("OHSUMED", "RankBoost", MEAN_OF_PUBLISHED)


@pytest.mark.slow
def test_our_ranksvm_is_about_the_published_one(ohsumed):
    assert ohsumed.average("OHSUMED", "RankSVM", "NDCG@10") == pytest.approx(0.4411, abs=0.01)
    assert ohsumed.average("OHSUMED", "RankSVM", "MAP") == pytest.approx(0.4469, abs=0.01)


@pytest.mark.slow
def test_the_convex_bound_stays_at_zero_as_the_paper_tells(ohsumed):
    assert ohsumed.folds_not_learned("OHSUMED", CONVEX) == 5
