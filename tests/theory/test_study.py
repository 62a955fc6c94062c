"""Learning curves of risks and bounds."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.errors import DataError, ParameterError
from rankwright.theory.study import study_bounds


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    return rw.datasets.make_queries(700, 6, 5, n_informative=2, n_correlated=1, noise=0.3, seed=5).queries


@pytest.fixture(scope="module", name="study")
def small_study(queries):
    return study_bounds(queries, sizes=[400, 100], repeats=2, seed=1)


def test_points_are_sizes_times_repeats(study):
    assert [(p.queries, p.repeat) for p in study.points] == [(100, 0), (400, 0), (100, 1), (400, 1)]
    assert study.n_held_out == 210


def test_bounds_hold_and_are_sums_of_their_terms(study):
    for p in study.points:
        assert p.bound == pytest.approx(p.hinge + p.complexity + p.confidence)
        assert p.training_risk <= p.hinge <= 1
        assert p.held_out_risk <= p.bound < 10**p.log10_theorem_4
        assert p.held_out_pairs <= p.worst_pairs < p.corollary_1
    assert study.violations == 0


def test_bounds_fall_as_queries_grow(study):
    few, many = study.means
    assert (few.queries, many.queries) == (100, 400)
    assert many.bound < few.bound
    assert many.confidence < few.confidence


def test_risks_are_those_of_the_ranker_that_is_told(queries):
    """The largest size leaves no choice of training queries but the split itself."""
    study = study_bounds(queries, sizes=[490], repeats=1, seed=3)
    shuffled = np.random.default_rng(3).permutation(700)
    held_out, train = queries[np.sort(shuffled[:210])], queries[np.sort(shuffled[210:])]
    ranker = rw.RankSVM(alpha=49.0, loss="hinge", margin="position").fit(train)
    for part, told in ((train, study.points[0].training_risk), (held_out, study.points[0].held_out_risk)):
        scores = ranker.predict(part)
        risks = []
        for q in part.query_ids:
            rows = part.qid == q
            if part.y[rows].any():  # else there is nothing to lose
                own = rw.Queries(None, part.y[rows])
                risks.append(1 - rw.evaluate(scores[rows], own, "ndcg@10").means[rw.nDCG @ 10])
            else:
                risks.append(0.0)
        assert told == pytest.approx(np.mean(risks), abs=1e-9)


def test_average_precision_too(queries):
    study = study_bounds(queries, measure="map", sizes=[60], repeats=1)
    assert study.violations == 0
    assert "1 − AP" in str(study)


def test_where_it_begins_to_tell_something(study):
    informative = [all(p.bound < p.worst_risk for p in study.points if p.queries == n) for n in (100, 400)]
    assert study.first_informative == next((n for n, is_so in zip((100, 400), informative, strict=True) if is_so), None)


@pytest.mark.slow
def test_the_bound_is_informative_for_a_realistic_number_of_synthetic_queries():
    study = study_bounds(sizes=[2_500, 18_200], repeats=2)
    assert study.first_informative == 2_500
    assert study.means[-1].bound < 0.45


def test_a_small_version_of_it():
    easy = rw.datasets.make_queries(4_000, 8, 4, n_informative=2, n_correlated=0, noise=0.1, seed=1).queries
    study = study_bounds(easy, sizes=[2_800], repeats=1)
    assert study.first_informative == 2_800


def test_tables_csv_json_and_chart(study):
    assert "theorem 4" in str(study)
    assert "above" in str(study)
    rows = list(csv.DictReader(io.StringIO(study.to_csv())))
    assert [int(row["queries"]) for row in rows] == [100, 400, 100, 400]
    assert float(rows[0]["bound"]) == study.points[0].bound
    assert json.loads(json.dumps(study.to_dict(), allow_nan=False))["points"][0]["bound"] == study.points[0].bound
    assert study.chart().startswith("<svg")
    assert "held-out risk" in study.chart()


def test_progress_is_told(queries):
    calls = []
    study_bounds(queries, sizes=[40, 50], repeats=2, progress=lambda now: calls.append((now.done, now.total)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"sizes": [491]}, "sizes"),
        ({"sizes": []}, "sizes"),
        ({"sizes": [0]}, "sizes"),
        ({"repeats": 0}, "repeats"),
        ({"delta": 1.0}, "delta"),
        ({"seed": -1}, "seed"),
        ({"measure": "err"}, "measure"),
    ],
)
def test_bad_parameters_are_named(queries, options, named):
    with pytest.raises(ParameterError, match=named):
        study_bounds(queries, **options)


def test_too_few_queries(queries):
    with pytest.raises(DataError, match="learning curve"):
        study_bounds(queries[:20])
