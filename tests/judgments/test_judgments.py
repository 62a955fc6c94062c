"""Judgments without features: runs of queries, and what these still know of all."""

import pickle

import numpy as np
import pytest

import rankwright as rw
from rankwright.judgments.judgments import Judgments, judgments_of
from rankwright.judgments.whole import Whole
from rankwright.machine.threads import split_by_size

QID = ["b", "a", "b", "c", "a", "b", "d"]
GRADES = [0.0, 2.5, 1.0, 0.0, 7.0, 7.0, 3.0]


def graded(**more):
    return rw.Queries(None, GRADES, QID, **more).judgments


def test_a_run_has_its_queries_rows_together():
    run = graded(doc_ids=list("tuvwxyz")).run(1, 3)
    assert run.grouping.query_ids.tolist() == ["a", "c"]
    assert run.grouping.qid.tolist() == ["a", "a", "c"]
    assert run.y.tolist() == [2.5, 7.0, 0.0]
    assert run.doc_ids.tolist() == ["u", "x", "w"]
    assert run.sizes.tolist() == [2, 1]
    with pytest.raises(ValueError, match="read-only"):
        run.y[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        run.grouping.qid[0] = "z"


def test_a_run_knows_of_all_queries():
    judgments = graded()
    expected = Whole(longest_query=3, greatest_grade=7.0, greatest_in="b")  # queries stand by their first rows
    assert judgments.whole == expected
    assert judgments.run(3, 4).whole == expected
    assert pickle.loads(pickle.dumps(judgments.run(3, 4))).whole == expected
    assert judgments.run(1, 4).run(1, 2).whole == expected
    alone = rw.Queries(None, GRADES, QID)[3].judgments
    assert alone.whole == Whole(1, 3.0, "d")
    assert alone.within(expected).whole == expected
    assert alone.whole == Whole(1, 3.0, "d")


def test_extremes_of_parts_make_those_of_all():
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(30), rng.integers(1, 9, 30)))
    queries = rw.Queries(None, rng.integers(0, 5, len(qid)), qid)
    for parts in (1, 2, 7, 30):
        cut = split_by_size(queries.grouping.offsets, parts)
        told = [queries[first:last].judgments.whole for first, last in cut]
        assert Whole.of_parts(told) == queries.judgments.whole
    assert Whole.of_parts([]) == Whole()
    unranked = rw.Queries(None, [0, 0], ["a", "b"]).judgments.whole
    assert Whole.of_parts([unranked, Whole(1, 0.0, "c")]).greatest_in == "a"


def test_the_greatest_preference_adds_up_edges_between_two_documents():
    graph = rw.PreferenceGraph(4, [0, 0, 1, 3], [1, 1, 0, 2], [1.0, 2.0, 2.5, 0.5])
    judgments = rw.Queries(None, graph, ["a", "a", "b", "b"]).judgments
    assert judgments.whole == Whole(2, greatest_preference=3.0)
    assert judgments.run(1, 2).whole.greatest_preference == 3.0
    assert judgments.run(1, 2).supervision.preferred.tolist() == [1]
    assert rw.Queries(None, rw.FullRanking([2, 1]), ["a", "a"]).judgments.whole == Whole(2)


def test_judgments_are_taken_as_they_are_or_from_queries():
    queries = rw.Queries([[1.0], [2.0]], [1, 0])
    judgments = queries.judgments
    assert isinstance(judgments, Judgments)
    assert judgments_of(judgments) is judgments
    assert judgments_of(queries).y.tolist() == [1, 0]
    with pytest.raises(rw.ParameterError, match=r"give Queries, .* not list"):
        rw.losses.PreorderLoss().on([1, 0])
