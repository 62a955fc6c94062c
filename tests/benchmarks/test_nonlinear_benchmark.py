"""The comparison of non-linear rankers: who chooses on what, how sizes fit a time, and what the tables say."""

from __future__ import annotations

import numpy as np
import pytest

import rankwright as rw
from benchmarks import nonlinear, nonlinear_time
from benchmarks.nonlinear import Difference, Searched, chosen, pooled, search_table, searched, time_table
from benchmarks.nonlinear_systems import System, draw_trees, systems
from benchmarks.nonlinear_time import Timed, TimedCell, fitted_to
from rankwright.datasets import LetorFold, make_queries


@pytest.fixture(scope="module", name="parts")
def made_parts() -> LetorFold:
    made = make_queries(40, 8, 4, n_informative=2, n_correlated=1, seed=3).queries
    return LetorFold(made[:20], made[20:30], made[30:])


def one_feature(is_ours: bool = True) -> System:
    """Ranks by one feature: the draw is its column."""

    def train(train: rw.Queries, valid: rw.Queries, drawn):
        return lambda queries: np.asarray(queries.X[:, drawn["column"]], np.float64)

    return System("column", is_ours, lambda number: {"column": number}, train)


def test_the_validation_part_chooses_and_the_test_part_is_told(parts: LetorFold) -> None:
    found = searched(one_feature(), parts, 4)
    validated = [
        rw.evaluate(np.asarray(parts.vali.X[:, j], float), parts.vali, "ndcg@10", convention="letor4").means
        for j in range(4)
    ]
    means = [next(iter(each.values())) for each in validated]
    assert found.validated == pytest.approx(max(means))
    column = np.asarray(parts.test.X[:, int(np.argmax(means))], float)
    told = rw.evaluate(column, parts.test, "map", convention="letor4").values
    np.testing.assert_allclose(found.values["map"], next(iter(told.values())))


def test_the_same_draws_for_all_trees_and_none_twice() -> None:
    drawn = [tuple(draw_trees(number).items()) for number in range(30)]
    assert len(set(drawn)) == 30
    assert draw_trees(0)["leaves"] == 15


def test_both_sides_are_there() -> None:
    names = {system.name: system.is_ours for system in systems()}
    assert [name for name, is_ours in names.items() if not is_ours] == [
        "LightGBM lambdarank",
        "LightGBM rank_xendcg",
        "XGBoost rank:ndcg",
    ]
    assert {"linear", "kernel map", "neural network", "boosted, order-preserving"} < set(names)


def fold(first: float, second: float, third: float) -> dict[str, Searched]:
    def told(value: float) -> Searched:
        return Searched(value, {"ndcg@10": [value, value], "map": [value / 2, value / 2]}, 1.0)

    return {"a": told(first), "b": told(second), "linear": told(third)}


def test_the_best_of_a_side_is_chosen_fold_by_fold() -> None:
    folds = [fold(0.5, 0.6, 0.1), fold(0.8, 0.7, 0.1)]
    np.testing.assert_array_equal(chosen(folds, ["a", "b"], "ndcg@10"), [0.6, 0.6, 0.8, 0.8])
    np.testing.assert_array_equal(pooled(folds, "a", "map"), [0.25, 0.25, 0.4, 0.4])
    table = search_table({"mq2008": folds}, [("a", True), ("b", False), ("linear", True)])
    assert "| a | 0.6500 | 0.3250 | 2 |" in table
    assert "| **theirs, by validation** | 0.6500 |" in table
    assert "ours − theirs" in table


@pytest.mark.parametrize(("shift", "verdict"), [(0.1, "ours ahead"), (-0.1, "lost"), (0.0, "level")])
def test_a_loss_is_told_as_one(shift: float, verdict: str) -> None:
    rng = np.random.default_rng(0)
    theirs = rng.random(200)
    difference = Difference.of(theirs + shift + 0.01 * rng.standard_normal(200), theirs)
    assert difference.verdict == verdict
    assert difference.mean == pytest.approx(shift, abs=0.01)


def test_a_size_that_fits_the_time(parts: LetorFold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time grows with the square of the size here, and 10 s are enough for a size of 100."""
    sizes = []

    def fake_timed(sized, size, train, held_out, *, is_ours):
        sizes.append(size)
        return Timed(is_ours, (size / 100) ** 2 * 10, size, []), sized

    monkeypatch.setattr(nonlinear_time, "_timed", fake_timed)
    monkeypatch.setattr(nonlinear_time, "_values", lambda scores, queries: [1.0])
    found = fitted_to(10.0, lambda queries: queries, 10, parts.train, parts.test)
    assert 85 <= found.size <= 100
    assert found.seconds <= 10.5
    assert sizes == sorted(sizes)


def test_half_of_the_queries_choose_and_the_other_half_compares() -> None:
    rankers = {
        "linear": Timed(True, 1.0, 0, [0.1, 0.9] * 10),
        "ours": Timed(True, 2.0, 5, [0.2, 0.3] * 10),
        "theirs": Timed(False, 2.0, 5, [0.3, 0.2] * 10),
    }
    cell = TimedCell("a set", 100, 2.0, rankers)
    assert (cell.best(is_ours=True), cell.best(is_ours=False)) == ("ours", "theirs")
    np.testing.assert_allclose(cell.compared("ours"), 0.3)
    table = time_table([cell])
    assert "ours − theirs: +0.1000" in table
    assert "0.2500 (2 s)" in table
    rows = list(nonlinear._rows({}, [cell], []))
    assert rows[0].ratio == pytest.approx(0.8 / 0.7)


@pytest.mark.peers
@pytest.mark.parametrize("system", systems(), ids=lambda system: system.name)
def test_every_ranker_is_trained_and_scores(parts: LetorFold, system: System) -> None:
    drawn = dict(system.draw(0)) | ({"components": 50} if system.name == "kernel map" else {})
    scores = system.train(parts.train, parts.vali, drawn)(parts.test)
    assert scores.shape == (parts.test.n_documents,)
    assert np.isfinite(scores).all()


@pytest.mark.peers
def test_all_sizes_are_trained(parts: LetorFold) -> None:
    nonlinear_time._warm_up(parts.train)
