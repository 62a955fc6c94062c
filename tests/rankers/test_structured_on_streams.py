"""Structured losses on queries that are read part by part, against the same queries in memory."""

import tempfile

import numpy as np
import pytest

import rankwright as rw
from rankwright.engines import states, stream
from rankwright.machine import threads
from rankwright.solvers import structured_objective
from tests.rankers.test_closed_forms_on_streams import dirty
from tests.streaming import query_by_query, streamed

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def assert_same_fit(ours, theirs):
    """To the last bit: long line searches make percents out of anything else."""
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    certificate = ("objective_", "lower_bound_", "gain_", "gap_", "argmax_gap_")
    for name in (*certificate, "alpha_", "n_iter_", "argmax_calls_", "converged_", "stays_at_center_"):
        assert getattr(ours, name) == getattr(theirs, name), name
    np.testing.assert_array_equal(getattr(ours, "position_weights_", 0), getattr(theirs, "position_weights_", 0))


@pytest.mark.parametrize("layout", ["dense", "float32", "csr"])
@pytest.mark.parametrize("measure", ["ndcg@3", "ndcg", "map"])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_weights_and_certificate_are_those_of_memory(layout, measure, alpha):
    """Without a cutoff, A depends on the longest query of all, which is in one part only."""
    queries = query_by_query(dirty(layout))
    theirs = rw.StructuredRanker(measure, alpha).fit(queries)
    for n_parts in (1, 7):
        ours = rw.StructuredRanker(measure, alpha).fit(streamed(queries, n_parts))
        assert_same_fit(ours, theirs)
        assert ours.passes_ == theirs.passes_ + 1  # the grades, for the losses at w = 0


@pytest.mark.parametrize("missing", ["mean", "query-mean"])
@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
def test_missing_values(measure, missing):
    """Dual ascent makes much of the last digit of what stands for them: it is the same for every cut."""
    queries = query_by_query(dirty("missing"))
    theirs, *ours = (
        rw.StructuredRanker(measure, 0.1, tol=1e-6, missing=missing).fit(data)
        for data in (queries, streamed(queries, 1), streamed(queries, 7))
    )
    for one in ours:
        assert_same_fit(one, theirs)


@pytest.mark.parametrize(
    "options", [{"rescale": "slack"}, {"center": np.linspace(-0.2, 0.3, 8)}], ids=["slack", "centre"]
)
def test_other_options(options):
    queries = query_by_query(dirty("dense"))
    theirs = rw.StructuredRanker("ndcg@5", 1.0, **options).fit(queries)
    ours = rw.StructuredRanker("ndcg@5", 1.0, **options).fit(streamed(queries, 5))
    assert_same_fit(ours, theirs)
    assert ours.passes_ == theirs.passes_ + ("center" not in options)


@pytest.fixture(scope="module")
def many():
    """So many documents that there are groups of them, which parts cut in two."""
    return rw.datasets.make_queries(n_queries=400, documents=30, n_features=12, noise=1.0, seed=3).queries


@pytest.mark.parametrize("in_files", [False, True])
@pytest.mark.parametrize("n_parts", [3, 11])
def test_groups_that_parts_cut(many, n_parts, in_files, monkeypatch):
    if in_files:
        monkeypatch.setattr(stream, "_STATES", 10**9)
    theirs = rw.StructuredRanker("ndcg@10", 30.0, tol=1e-4).fit(many)
    assert len(structured_objective.StructuredObjective.groups(_Sized(many))) > 11
    ours = rw.StructuredRanker("ndcg@10", 30.0, tol=1e-4).fit(streamed(many, n_parts))
    assert_same_fit(ours, theirs)


@pytest.mark.parametrize(("n_queries", "documents", "n_features", "dtype"), [
    (1500, 3, 10, np.float64),
    (200, 60, 80, np.float32),
])  # fmt: skip
def test_long_line_searches_come_to_the_same(n_queries, documents, n_features, dtype, monkeypatch):
    made = rw.datasets.make_queries(n_queries, documents, n_features, n_informative=n_features // 2, dtype=dtype)
    monkeypatch.setattr(threads, "_DOCUMENTS_WORTH_A_THREAD", 100)
    theirs = rw.StructuredRanker("ndcg@10", 1.0).fit(made.queries)
    for n_threads, data in (("1", made.queries), ("3", made.queries), ("2", streamed(made.queries, 4))):
        monkeypatch.setenv("RANKWRIGHT_THREADS", n_threads)
        assert_same_fit(rw.StructuredRanker("ndcg@10", 1.0).fit(data), theirs)


class _Sized:
    """An objective as far as the cut into groups knows it."""

    def __init__(self, queries):
        self.engine = self
        self.n_documents, self.offsets = queries.n_documents, queries.grouping.offsets


def test_a_path_and_its_cross_validation(many):
    searching = rw.search(1.0, 30.0, 1000.0)
    theirs = rw.StructuredRanker("ndcg@5", searching, folds=3).fit(many)
    ours = rw.StructuredRanker("ndcg@5", searching, folds=3).fit(streamed(many, 4))
    assert_same_fit(ours, theirs)
    np.testing.assert_array_equal(ours.path_.weights, theirs.path_.weights)
    np.testing.assert_array_equal(ours.path_.gaps, theirs.path_.gaps)
    for one, other in zip(*(ranker.path_.folds.values() for ranker in (ours, theirs)), strict=True):
        assert [estimate.mean for estimate in one] == pytest.approx([estimate.mean for estimate in other], abs=1e-12)


def test_early_stopping_on_a_stream(many):
    ranker = rw.StructuredRanker("ndcg@5", 1.0, early_stopping=True, tol=1e-6)
    theirs, first, second = ranker.fit(many[:300], valid=many[300:]).coef_, many[:300], many[300:]
    ours = rw.StructuredRanker("ndcg@5", 1.0, early_stopping=True, tol=1e-6)
    np.testing.assert_array_equal(ours.fit(streamed(first, 4), valid=streamed(second, 2)).coef_, theirs)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"solver": "cutting-plane"}, "solver='cutting-plane'.*solver='bundle'"),
        ({"solver": "frank-wolfe"}, "solver='frank-wolfe'.*solver='bundle'"),
        ({"solver": "subgradient"}, "solver='subgradient'.*solver='bundle'"),
        ({"bound": "tight"}, "bound='tight'.*bound='convex'"),
        ({"position_weights": "learned"}, "position_weights='learned'.*'linear'"),
    ],
)
def test_what_needs_all_documents_is_refused_by_name(many, options, told):
    with pytest.raises(rw.ParameterError, match=told):
        rw.StructuredRanker("ndcg@5", 1.0, **options).fit(streamed(many, 3))


def test_wide_data_are_refused(many, monkeypatch):
    monkeypatch.setattr(structured_objective, "_MOST_FEATURES", 5)
    with pytest.raises(rw.ParameterError, match=r"12 features.*in memory"):
        rw.StructuredRanker("ndcg@5", 1.0).fit(streamed(many, 3))


class _Stopped(KeyboardInterrupt):
    """Somebody has pressed Ctrl-C."""


def test_no_file_is_left_behind(many, monkeypatch, tmp_path):
    monkeypatch.setattr(stream, "_STATES", 10**9)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []

    def look(progress):
        seen.append(len(list(tmp_path.glob("rankwright-*/*"))))

    rw.StructuredRanker("ndcg@5", 1.0).fit(streamed(many, 3), progress=look)
    assert max(seen) > 3 * 5
    assert not list(tmp_path.iterdir())

    def stop(progress):
        raise _Stopped

    with pytest.raises(_Stopped):
        rw.StructuredRanker("ndcg@5", 1.0).fit(streamed(many, 3), progress=stop)
    assert not list(tmp_path.iterdir())
    assert states.States(0)._folder is None
