"""Measures are run over runs of whole queries: wherever these are cut, values and errors are the same."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.engines import driver
from rankwright.evaluation.per_query import measure_values
from rankwright.machine.threads import split_by_size
from rankwright.measures.conventions import convention_of

EVERY = [m if m._definition.cutoff == "none" else m @ 3 for m in rw.MEASURES]


@pytest.fixture(params=[2, 3, 8, 1000])
def cut(request, monkeypatch):
    """As if there were so many threads, however few documents."""

    def into(parts):
        monkeypatch.setattr(driver, "runs_for_threads", lambda offsets: split_by_size(offsets, parts))

    return lambda: into(request.param)


def values(queries, scores, measures, convention="default"):
    return measure_values(scores, queries.judgments, measures, convention_of(convention))


def scattered(grades, seed=0, doc_ids=None):
    """Queries of 1, 2, … documents under text ids, their rows anywhere."""
    rng = np.random.default_rng(seed)
    qid = np.repeat([f"q{q}" for q in range(40)], np.arange(40) % 9 + 1)
    qid = rng.permutation(qid)
    y = rng.choice(grades, len(qid))
    ids = None if doc_ids is None else rng.permutation([f"{doc_ids}{i}" for i in range(len(qid))])
    return rw.Queries(None, y, qid, doc_ids=ids), rng.integers(0, 5, len(qid)) / 4


@pytest.mark.parametrize("convention", list(rw.CONVENTIONS))
@pytest.mark.parametrize("doc_ids", [None, "d"])
def test_the_cut_changes_nothing_of_grades(convention, doc_ids, cut):
    queries, scores = scattered([0, 0.3, 0.7, 1, 2, 2.1], doc_ids=doc_ids)
    measures = [m for m in EVERY if m.name != "AP"] + [rw.AP]
    whole = values(queries, scores, measures, convention)
    cut()
    for measure, of_queries in values(queries, scores, measures, convention).items():
        np.testing.assert_array_equal(of_queries, whole[measure], err_msg=str(measure))


def test_the_cut_changes_nothing_of_rankings_and_graphs(cut):
    grouping = scattered([0])[0].grouping
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 3, len(grouping.qid)).astype(np.float32)
    ranks = grouping.scatter(np.concatenate([rng.permutation(n) + 1 for n in np.diff(grouping.offsets)]))
    rows = [grouping.order[a:b] for a, b in zip(grouping.offsets[:-1], grouping.offsets[1:], strict=True)]
    edges = [(i, j, 0.1 * (i % 7)) for of_query in rows for i in of_query for j in of_query if i % 3 < j % 3]
    graph = rw.PreferenceGraph(len(scores), *zip(*rng.permutation(edges), strict=True))
    cases = [
        (rw.Queries(None, rw.FullRanking(ranks), grouping.qid), [rw.WPD, rw.ZeroOne, rw.PairwiseError, rw.KendallTau]),
        (rw.Queries(None, graph, grouping.qid), [rw.WPD]),
    ]
    wholes = [values(queries, scores, measures) for queries, measures in cases]
    cut()
    for (queries, measures), whole in zip(cases, wholes, strict=True):
        for measure, of_queries in values(queries, scores, measures).items():
            np.testing.assert_array_equal(of_queries, whole[measure])


def test_the_greatest_grade_is_that_of_all_queries(cut):
    """ERR divides by 2 to the greatest grade in the data, also in runs that have lower ones only."""
    cut()
    queries = rw.Queries(None, [3, 0, 1, 0], ["a", "a", "b", "b"])
    assert values(queries, [2, 1, 2, 1], [rw.ERR])[rw.ERR].tolist() == [7 / 8, 1 / 8]


def test_errors_name_the_same_row_and_query(cut):
    cut()
    queries = rw.Queries(None, [1500, 0, 1, 2000, 0], ["a", "b", "a", "c", "b"])
    with pytest.raises(rw.DataError, match="query 'c' has a document of grade 2000, above 1000: 2"):
        values(queries, np.zeros(5), [rw.nDCG])
    with pytest.raises(rw.DataError, match="query 'c' has a document of grade 2000, above 3: ERR needs"):
        values(queries, np.zeros(5), [rw.ERR(max_grade=3)])
    with pytest.raises(rw.DataError, match=r"row 3 \(query 'c'\): the score is NaN"):
        values(queries, [0, 0, 0, np.nan, np.nan], [rw.AP])
    with pytest.raises(rw.DataError, match="there are 5 documents, but 4 scores"):
        values(queries, np.zeros(4), [rw.AP])


def test_no_queries_have_no_values():
    queries = rw.Queries(None, [1, 0])[:0]
    assert values(queries, [], [rw.AP, rw.nDCG @ 3])[rw.nDCG @ 3].tolist() == []
