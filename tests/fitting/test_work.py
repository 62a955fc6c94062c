"""Finished parts of a fit: read back if they are whole and of this part, computed again if not."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest

import rankwright as rw
from rankwright.fitting.fit import fit
from rankwright.fitting.work import Work, fingerprint

JOB, OTHER_JOB = fingerprint({"job": 1}), fingerprint({"job": 2})


@pytest.fixture(scope="module", name="queries")
def made_queries():
    return rw.datasets.make_queries(30, 8, 5, n_informative=2, n_correlated=1, seed=3, dtype=np.float64).queries


def test_finished_work_is_not_done_again(queries, tmp_path):
    calls = []
    work = Work(tmp_path, JOB)
    first = fit(queries, rankers=["rankrls"], folds=3, work=work, progress=lambda told: calls.append(told[:3]))
    assert work.n_finished == 3 + 1 + 3
    again = fit(queries, rankers=["rankrls"], folds=3, work=Work(tmp_path, JOB))
    np.testing.assert_array_equal(first.model.coef_, again.model.coef_)
    np.testing.assert_array_equal(first.held_out_scores, again.held_out_scores)
    np.testing.assert_array_equal(first.held_out_weights, again.held_out_weights)
    assert calls == [
        *((f"RankRLS, fold {fold} of 3", fold - 1, 7) for fold in (1, 2, 3)),
        ("RankRLS, all queries", 3, 7),
        *((f"RankRLS, scores, fold {fold} of 3", fold + 3, 7) for fold in (1, 2, 3)),
    ]
    work.clear()
    assert not list(tmp_path.iterdir())


def test_progress_names_the_steps_of_long_training(queries):
    """Of greedy selection how many features it has, of iterative rankers which λ; shares of a part only grow."""
    calls = []
    families = ["greedy-rankrls", "ranksvm", "structured"]
    fit(queries, rankers=families, folds=2, progress=lambda told: calls.append(told[:3]))
    whats = [what for what, _, _ in calls]
    assert {f"greedy RankRLS, fold 1 of 2, feature {k} of 5" for k in range(1, 6)} <= set(whats)
    assert any(what.startswith("RankSVM, fold 2 of 2, λ = 2^") and ", step " in what for what in whats)
    assert any(what.startswith("structured, all queries, λ = 2^") for what in whats)
    done = [done for _, done, _ in calls]
    assert done == sorted(done)
    assert all(done <= total for _, done, total in calls)
    assert calls[-1][2] - 1 <= done[-1]


def test_progress_counts_what_is_left_out_no_more(queries):
    calls = []
    fit(
        queries,
        rankers=["regression", "rankrls", "greedy-rankrls"],
        folds=2,
        budget=1e-9,
        progress=lambda now: calls.append(now[:3]),
    )
    assert calls[-1][1:] == (4, 5)  # two folds, the model, and the scores of two folds


def never():
    raise AssertionError("computed again")


def test_a_part_is_read_back_not_computed(tmp_path):
    Work(tmp_path, JOB).once("part", lambda: {"x": np.arange(3.0)})
    np.testing.assert_array_equal(Work(tmp_path, JOB).once("part", never)["x"], [0, 1, 2])
    with pytest.raises(AssertionError, match="again"):
        Work(tmp_path, OTHER_JOB).once("part", never)


def archive(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def damages(whole):
    """What may become of a file: cut, one bit changed anywhere, something else altogether."""
    yield from (whole[:length] for length in (0, 1, 31, 32, 33, len(whole) // 2, len(whole) - 1))
    for place in range(0, len(whole), 7):
        yield whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    yield from (whole + b"\0", b"no archive", archive(x=np.zeros(2)), archive(y=np.zeros(1)))
    other = archive(x=np.full(1, 7.0))
    yield other + hashlib.sha256(other).digest()


def test_a_damaged_part_is_computed_again(tmp_path):
    work = Work(tmp_path, JOB)
    work.once("part", lambda: {"x": np.zeros(1)})
    (path,) = tmp_path.rglob("part.rankwright-part")
    for content in list(damages(path.read_bytes())):
        path.write_bytes(content)
        assert work.n_finished == 0
        np.testing.assert_array_equal(work.once("part", lambda: {"x": np.ones(1)})["x"], [1.0])
        np.testing.assert_array_equal(work.once("part", never)["x"], [1.0])


def test_a_part_is_not_taken_for_another(tmp_path):
    work = Work(tmp_path, JOB)
    work.once("part", lambda: {"x": np.zeros(1)})
    (path,) = tmp_path.rglob("part.rankwright-part")
    other = tmp_path / ".rankwright-fit" / OTHER_JOB / "part.rankwright-part"
    other.parent.mkdir()
    for copy, of in ((path.with_name("second.rankwright-part"), work), (other, Work(tmp_path, OTHER_JOB))):
        copy.write_bytes(path.read_bytes())
        with pytest.raises(AssertionError, match="again"):
            of.once(copy.stem, never)


def test_jobs_differ_by_anything():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
