"""The comparison with LambdaMART: both sides see the same queries, and a difference has the right sign."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import choose, lambdamart
from rankwright.datasets import LetorFold, make_queries
from rankwright.fitting.fit import fit


@pytest.fixture(scope="module")
def parts() -> LetorFold:
    made = make_queries(60, 12, 6, n_informative=2, n_correlated=1, seed=3).queries
    return LetorFold(made[:30], made[30:40], made[40:])


def test_both_rules_and_every_family_are_scored(parts: LetorFold) -> None:
    sides = choose._linear_side(parts)
    for name, rule in ((choose.CHOSEN, "best"), (choose.FEW, "one-standard-error")):
        model = fit(parts.train, valid=parts.vali, rule=rule).model
        np.testing.assert_array_equal(sides[name].scorers[0](parts.test), model.predict(parts.test))
    assert {"RankRLS", "structured"} < set(sides)


def test_judged_queries_are_divided_and_none_is_tested_on() -> None:
    parts = choose._linear(0.5, 50, 0)
    ids = [set(part.query_ids.tolist()) for part in parts]
    assert [len(part) for part in ids] == [37, 13, 1000]
    assert not ids[0] & ids[1]
    assert not (ids[0] | ids[1]) & ids[2]


def test_a_larger_sample_contains_the_smaller_one_and_is_tested_alike() -> None:
    small, large = (choose._linear(0.5, size, 0) for size in (50, 100))
    assert set(small.train.query_ids.tolist()) < set(large.train.query_ids.tolist())
    np.testing.assert_array_equal(small.test.X, large.test.X)


def test_positive_differences_say_that_linear_is_ahead() -> None:
    mean, low, high, p = choose._difference(np.linspace(0.01, 0.2, 50))
    assert 0 < low < mean < high
    assert p < 0.001


def test_a_query_that_every_draw_tests_counts_once() -> None:
    draws = [np.array([1.0, 2.0]), np.array([3.0, -2.0])]
    np.testing.assert_array_equal(choose._by_query(draws, same_test=True), [2.0, 0.0])
    np.testing.assert_array_equal(choose._by_query(draws, same_test=False), [1.0, 2.0, 3.0, -2.0])


def test_the_tables_show_who_is_ahead() -> None:
    names = (choose.CHOSEN, choose.FEW, choose.TREES)
    cell = choose.Cell(
        "a set",
        1200,
        48_000,
        3,
        300,
        dict(zip((*names, "RankRLS"), (0.5, 0.4, 0.6, 0.45), strict=True)),
        {choose.CHOSEN: (-0.1, -0.15, -0.05, 0.00001), choose.FEW: (-0.2, -0.3, -0.1, 0.03)},
        {choose.CHOSEN: 1},
        {choose.CHOSEN: 2.0, choose.TREES: 5.0},
        dict(zip(names, (9.0, 3.0, 12.0), strict=True)),
        dict(zip(names, (4.0, 4.0, 400.0), strict=True)),
    )
    expected = "| a set | 1,200 | 0.5000 | 0.4000 | 0.6000 | -0.1000 | -0.1500 to -0.0500 | < 0.0001 | 1 of 3 "
    expected += "| -0.2000 | 0.0300 |"
    assert choose.quality_table([cell]).splitlines()[-1] == expected
    assert choose.cost_table([cell]).splitlines()[-1] == "| a set | 1,200 | 2.0 | 5.0 | 2.5 | 9 | 3 | 12 | 4 | 400 |"
    assert choose.family_table([cell]).splitlines()[-1] == "| a set | 1,200 | 0.6000 | 0.4500 |"


def test_the_threads_of_the_environment_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankwright.machine.threads import thread_count

    monkeypatch.setenv("RANKWRIGHT_THREADS", "3")
    with choose._one_thread():
        assert thread_count() == 1
    assert thread_count() == 3


def test_the_values_of_a_ranker_are_means_over_its_seeds(parts: LetorFold) -> None:
    import rankwright as rw

    columns = [lambda queries: queries.X[:, 0], lambda queries: queries.X[:, 1]]
    expected = [rw.evaluate(parts.test.X[:, j], parts.test, "ndcg@10").values[rw.nDCG @ 10] for j in (0, 1)]
    tested = choose._tested(choose._Trained(columns, 1.0, 2.0), parts.test)
    np.testing.assert_allclose(tested.values, (expected[0] + expected[1]) / 2)


def test_a_side_that_is_done_is_not_measured_again(
    parts: LetorFold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its file is gone, a side is measured again, and the other is not."""
    measured = []

    def measure(side: str, _: LetorFold) -> dict[str, choose._Tested]:
        measured.append(side)
        return {f"ranker of {side}": choose._Tested([0.25, 1 / 3], 1.5, 4.0, 10.0)}

    monkeypatch.setattr(choose, "_measured", measure)
    first = choose._run("a-50-0", parts, tmp_path)
    assert choose._run("a-50-0", parts, tmp_path) == first
    assert measured == ["linear", "LambdaMART"]
    (tmp_path / "a-50-0-linear.json").unlink()
    assert choose._run("a-50-0", parts, tmp_path) == first
    assert measured == ["linear", "LambdaMART", "linear"]


@pytest.mark.parametrize("n_documents", [1000, 100_000])
def test_the_grid_has_trees_on_all_data_and_on_parts_of_it(n_documents: int) -> None:
    tried = list(lambdamart.configurations(lambdamart.grid_for(n_documents)))
    assert len(tried) == len({tuple(map(str, one.values())) for one in tried}) == 18
    samples = {(one["bagging_fraction"], one["feature_fraction"]) for one in tried}
    assert (1.0, 1.0) in samples
    assert any(queries < 1 and features < 1 for queries, features in samples)
    assert all(one["bagging_by_query"] and one["bagging_freq"] for one in tried)


@pytest.mark.peers
def test_lambdamart_takes_the_configuration_that_validates_best(parts: LetorFold) -> None:
    """Held against training each again: none has a greater mean over seeds."""
    grid = lambdamart.grid_for(parts.train.n_documents)
    found = lambdamart.tuned(parts)
    reached = {}
    for one in lambdamart.configurations(grid):
        boosters = [lambdamart._stopped(parts, one, seed) for seed in range(grid.seeds)]
        key = tuple(one[name] for name in ("num_leaves", "min_data_in_leaf", "bagging_fraction"))
        reached[key] = np.mean([booster.best_score["valid_0"]["ndcg@10"] for booster in boosters])
    chosen = tuple(found.parameters[name] for name in ("num_leaves", "min_data_in_leaf", "bagging_fraction"))
    assert reached[chosen] == max(reached.values())
    assert all(one.num_trees() == found.parameters["num_iterations"] for one in found.on_all)


@pytest.mark.peers
def test_lambdamart_learns_a_truth_of_one_step(parts: LetorFold) -> None:
    """Grades that one threshold tells are found by trees, and the parameters are taken from the grid."""
    import rankwright as rw

    stepped = LetorFold(*(rw.Queries(part.X, (part.X[:, 0] > 0.5).astype(float), part.qid) for part in parts))
    trained = choose._tree_side(stepped)
    by_query = np.split(stepped.test.y, np.cumsum(stepped.test.sizes)[:-1])
    has_both = [0 < grades.sum() < len(grades) for grades in by_query]
    values = np.array(choose._tested(trained[choose.TREES], stepped.test).values)
    assert values[np.array(has_both)].mean() > 0.95
    assert trained[choose.TREES].n_features < 6
