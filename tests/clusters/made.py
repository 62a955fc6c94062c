"""Queries in files, as they are read by a cluster and in memory, and what must be alike of both."""

from itertools import pairwise

import numpy as np
import pytest

import rankwright as rw
from rankwright.cli.main import main

CONSTANT = 3  # the feature that is the same in all documents


def dirty_queries(n_queries=120, n_features=8, seed=0):
    """Text ids in no order, queries of one document, without relevant documents, a constant column."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, n_queries)
    ids = np.array([f"q{number}" for number in rng.permutation(n_queries)])
    x = rng.normal(size=(sizes.sum(), n_features)) * rng.uniform(0.1, 10.0, n_features)
    x[:, CONSTANT] = 2.5
    y = np.clip(np.round(x @ rng.normal(size=n_features) / 5 + rng.normal(size=len(x))), 0, 4)
    y[: sizes[0] + sizes[1]] = 0.0
    return rw.Queries(x, y, np.repeat(ids, sizes))


def written(queries, folder, n_files=3, ending="parquet"):
    """The queries in some files, one after the other."""
    cuts = np.linspace(0, queries.n_queries, n_files + 1).astype(int)
    paths = []
    for number, (first, last) in enumerate(pairwise(cuts)):
        paths.append(folder / f"part-{number}.{ending}")
        rw.write_queries(queries[int(first) : int(last)], paths[-1])
    return paths


def assert_learned_alike(learned, known):
    """Rankers that were trained on a cluster and in memory."""
    # Of a feature that is the same in all documents, the weight is rounding.
    found, expected = np.delete(learned.coef_, CONSTANT), np.delete(known.coef_, CONSTANT)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    if hasattr(known, "objective_"):
        assert learned.objective_ == pytest.approx(known.objective_, rel=1e-9)
    if hasattr(known, "selected_features_"):
        assert learned.selected_features_.tolist() == known.selected_features_.tolist()
    if hasattr(known, "alpha_"):
        assert learned.alpha_ == known.alpha_


def assert_judged_alike(queries, in_memory):
    """Scores, measures, comparisons, certificates and leave-query-out, on a cluster and in memory."""
    ranker, other = rw.RankRLS(1.0).fit(in_memory), rw.RankRLS(1e4).fit(in_memory)
    np.testing.assert_allclose(ranker.predict(queries), ranker.predict(in_memory), rtol=1e-12, atol=1e-13)
    found, known = (rw.evaluate(ranker, some, "err@10, wpd, map") for some in (queries, in_memory))
    assert_same_values(found, known)
    assert str(rw.compare({"a": ranker, "b": other}, queries)) == str(rw.compare({"a": ranker, "b": other}, in_memory))
    assert str(rw.theory.certificate(ranker, queries)) == str(rw.theory.certificate(ranker, in_memory))
    held_out = [rw.leave_query_out(rw.RankRLS(), some, [0.1, 10.0]).evaluate("map") for some in (queries, in_memory)]
    for found, known in zip(*held_out, strict=True):
        np.testing.assert_allclose(found.values[rw.AP], known.values[rw.AP], rtol=1e-12)


def assert_same_values(found, known):
    """Measures of each query, bit by bit."""
    assert found.query_ids.tolist() == known.query_ids.tolist()
    for measure, values in known.values.items():
        np.testing.assert_array_equal(found.values[measure], values)


def run(*words):
    """A command of the command line."""
    return main([str(word) for word in words])


def commands_told(engine, train, test, out, capsys, *, n_features, ranker=(), fit):
    """Train, predict, evaluate, select and fit by commands on an engine: what they print, and the scores."""
    on_engine = ("--engine", engine)
    assert run("train", train, *ranker, *on_engine, "--out", out / "model.json") == 0
    assert run("predict", out / "model.json", test, *on_engine, "--out", out / "scores.txt") == 0
    capsys.readouterr()
    assert run("evaluate", out / "scores.txt", test, *on_engine, "--measures", "map,err@5") == 0
    assert run("select", train, "--valid", test, "--max-features", n_features, *on_engine) == 0
    told = capsys.readouterr().out
    assert run("fit", train, *on_engine, "--out", out / "fit", *fit) == 0
    return told, np.loadtxt(out / "scores.txt")
