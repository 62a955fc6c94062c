"""A fit that comes to no more than the baseline says so."""

from __future__ import annotations

import numpy as np
import pytest

import rankwright as rw
from rankwright.data.inspection import inspect
from rankwright.fitting.report_data import report_data
from rankwright.report import render_report

REPRODUCE = {"command": "", "versions": {}, "data": [], "seed": 0}


def assert_told(result, words):
    assert words in result.nothing_learned
    assert f"Nothing was learned: {result.nothing_learned}" in str(result)
    told = report_data(result, inspect(result.data.train), title="t", reproduce=REPRODUCE)
    assert told["summary"]["nothing_learned"] == result.nothing_learned
    assert "<strong>Nothing was learned</strong>" in render_report(told)


@pytest.mark.parametrize("has_test", [True, False])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_ranking_of_one_feature(has_test, sign):
    """A single feature with ties can only be ranked by, whatever its weight: in order, or the other way round."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 6, (240, 1)).astype(float)
    y = np.clip(3 + sign * (x[:, 0] - 3) + rng.integers(-1, 2, 240), 0, None)
    queries = rw.Queries(x, y, np.repeat(np.arange(40), 6))
    parts = {"test": queries[30:]} if has_test else {}
    result = rw.fit(queries[:30], rankers=["rankrls"], folds=3, **parts)
    assert_told(result, "ranked as by the single feature " + ("f1" if sign > 0 else "-f1"))


def test_weights_that_are_0():
    queries = rw.Queries(np.ones((12, 2)), np.tile([0.0, 1.0, 2.0], 4), np.repeat(np.arange(4), 3))
    assert_told(rw.fit(queries, rankers=["rankrls"], folds=2), "no feature has a weight")


def test_a_measure_that_cannot_tell():
    """The best document is first either way, and nothing else counts; the others stand in another order."""
    rng = np.random.default_rng(5)
    y = np.tile([2.0, 1.0, 0.0, 0.0], 30)
    first = np.where(y == 2, 10.0, rng.normal(size=120))
    second = y + rng.normal(size=120)
    queries = rw.Queries(np.column_stack([first, second]), y, np.repeat(np.arange(30), 4))
    result = rw.fit(queries[:20], test=queries[20:], measure="p@1", rankers=["rankrls"], folds=3, baseline="f1")
    assert_told(result, "the same P @ 1 as by the single feature f1")


def test_something_was_learned():
    queries = rw.datasets.make_queries(60, 8, 6, n_informative=3, n_correlated=0, seed=1).queries
    result = rw.fit(queries[:40], test=queries[40:], rankers=["rankrls"], folds=3)
    assert result.nothing_learned is None
    assert "Nothing was learned" not in str(result)
