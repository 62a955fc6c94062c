"""Inspection, held against plain NumPy on data with planted problems."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankwright.data.inspection import inspect
from rankwright.data.inspection_features import Duplicate, Identifier, Infinite, Leak
from rankwright.data.queries import Queries
from rankwright.judgments.supervision import FullRanking, PreferenceGraph

AWKWARD = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, np.nan, np.inf, -np.inf])


def same(a, b):
    return a == b or (a != a and b != b)


def as_key(row):
    """A row as something that compares as the inspection compares: −0 is 0 and NaN is NaN."""
    return tuple("nan" if value != value else float(value) + 0.0 for value in row)


def brute_force(x, y, qid, sparse):
    """The plain statement of what :func:`inspect` finds, one value at a time."""
    n, missing = x.shape[1], np.isnan(x)
    absent = [sparse and not x[:, j].any() for j in range(n)]
    queries = {query: np.flatnonzero(qid == query) for query in dict.fromkeys(qid.tolist())}
    varies = [any(not same(x[i, j], x[rows[0], j]) for rows in queries.values() for i in rows) for j in range(n)]
    constant = [all(same(value, x[0, j]) for value in x[:, j]) for j in range(n)]
    columns = [as_key(x[:, j]) for j in range(n)]
    duplicate_rows = contradictory = 0
    for rows in queries.values():
        first = {}
        for i in rows:
            of = first.setdefault(as_key(x[i]), i)
            duplicate_rows += of != i
            contradictory += of != i and y[of] != y[i]
    names = [f"f{j + 1}" for j in range(n)]
    firsts = [next(k for k in range(n) if varies[k] and columns[k] == columns[j]) if varies[j] else j for j in range(n)]
    return {
        "absent": sum(absent),
        "constant": tuple(names[j] for j in range(n) if constant[j] and not absent[j] and not missing[:, j].all()),
        "missing_throughout": tuple(names[j] for j in range(n) if missing[:, j].all()),
        "missing": tuple(
            (
                names[j],
                int(missing[:, j].sum()),
                sum(missing[rows, j].any() for rows in queries.values()),
                sum(missing[rows, j].all() for rows in queries.values()),
            )
            for j in range(n)
            if missing[:, j].any() and not missing[:, j].all()
        ),
        "missing_values": int(missing.sum()),
        "within": tuple(names[j] for j in range(n) if not constant[j] and not varies[j]),
        "infinite": tuple(
            Infinite(names[j], int(np.isinf(x[:, j]).sum())) for j in range(n) if np.isinf(x[:, j]).any()
        ),
        "duplicates": tuple(Duplicate(names[j], names[firsts[j]]) for j in range(n) if firsts[j] != j),
        "duplicate_rows": duplicate_rows,
        "contradictory": contradictory,
        "one_document": sum(len(rows) == 1 for rows in queries.values()),
        "no_relevant": sum(y[rows].max() == 0 for rows in queries.values()),
        "one_grade": sum(len(set(y[rows])) == 1 for rows in queries.values()),
        "density": np.count_nonzero(np.nan_to_num(x)) / x.size,
    }


def found_of(found):
    return {
        "absent": found.features.absent,
        "constant": found.features.constant,
        "within": found.features.constant_within_queries,
        "missing_throughout": found.features.missing_throughout,
        "missing": tuple((it.feature, it.documents, it.queries, it.whole_queries) for it in found.features.missing),
        "missing_values": found.missing_values,
        "infinite": found.features.infinite,
        "duplicates": found.features.duplicates,
        "duplicate_rows": found.duplicate_rows,
        "contradictory": found.contradictory_rows,
        "one_document": found.one_document_queries,
        "no_relevant": found.grades.queries_without_relevant,
        "one_grade": found.grades.queries_with_one_grade,
        "density": found.density,
    }


@st.composite
def awkward_data(draw):
    m, n = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    x = draw(arrays(np.float64, (m, n), elements=AWKWARD))
    y = draw(arrays(np.float64, m, elements=st.sampled_from([0.0, 1.0, 2.0])))
    return x, y, draw(arrays(np.int64, m, elements=st.integers(0, 2)))


@given(awkward_data(), st.sampled_from([np.float32, np.float64]), st.sampled_from(["dense", "fortran", "CSR"]))
@settings(deadline=None, max_examples=200)
def test_agrees_with_brute_force(data, dtype, layout):
    x, y, qid = data
    made = {"dense": np.ascontiguousarray, "fortran": np.asfortranarray, "CSR": sp.csr_array}[layout](x.astype(dtype))
    found = inspect(Queries(made, y, qid))
    assert found_of(found) == brute_force(x, y, qid, layout == "CSR")
    assert found.layout == ("CSR" if layout == "CSR" else "dense")
    assert found.dtype == np.dtype(dtype).name


def test_millions_of_features_that_no_document_has():
    stored = sp.csr_array((np.array([1.0, 2.0]), np.array([5, 29_999_999]), np.array([0, 1, 2])), shape=(2, 30_000_000))
    found = inspect(Queries(stored, [0, 1]))
    assert found.features.absent == 29_999_998
    assert found.features.constant == ()
    assert "29,999,998" in str(found)


def test_stored_zeros_are_zeros():
    stored = sp.csr_array((np.zeros(3), np.array([0, 0, 0]), np.array([0, 1, 2, 3])), shape=(3, 2))
    found = inspect(Queries(stored, [0, 0, 1]))
    assert (found.features.constant, found.features.absent) == (("f1",), 1)
    assert found.density == 0
    assert (found.duplicate_rows, found.contradictory_rows) == (2, 1)


def pairwise_error(feature, y, qid):
    """The share of pairs of unequal grade that a feature orders wrongly; ties and NaN are half wrong."""
    wrong = pairs = 0
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        better, worse = np.nonzero(y[rows][:, None] > y[rows][None, :])
        difference = feature[rows][better] - feature[rows][worse]
        wrong += np.sum(difference < 0) + np.sum(~(difference < 0) & ~(difference > 0)) / 2
        pairs += len(better)
    return wrong / pairs


@pytest.fixture(name="planted")
def planted_problems():
    """2,000 documents in 50 interleaved queries; column by column a problem of its own."""
    rng = np.random.default_rng(7)
    m = 2000
    qid = rng.integers(0, 50, m)
    y = rng.integers(0, 4, m).astype(float)
    position = np.zeros(m)
    for query in range(50):
        position[qid == query] = np.arange(1, (qid == query).sum() + 1)
    nearly = y + 0.3 * rng.random(m)
    nearly[np.argmax(y == 1)] = -1
    columns = {
        "good": rng.normal(size=m),
        "noisy": y + rng.normal(size=m),
        "leak": 10.0**y + rng.random(m),
        "reversed": -nearly,
        "row": np.arange(m) * 3.0 + 5,
        "position": position,
        "id": rng.permutation(100_000)[:m].astype(float),
        "count": rng.poisson(3.0, m).astype(float),
        "outlier": np.where(np.arange(m) == 17, 1e6, rng.normal(size=m)),
        "with_nan": np.where(np.arange(m) % 10 == 0, np.nan, y),
    }
    return np.column_stack(list(columns.values())), y, qid, list(columns)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_planted_suspicious_features(planted, make):
    x, y, qid, names = planted
    found = inspect(Queries(make(x), y, qid, feature_names=names)).features
    assert [leak.feature for leak in found.leaks] == ["leak", "reversed"]
    assert [leak.direction for leak in found.leaks] == ["as the label", "against the label"]
    for leak, sign in zip(found.leaks, (1, -1), strict=True):
        expected = pairwise_error(sign * x[:, names.index(leak.feature)], y, qid)
        assert leak.pairwise_error == pytest.approx(expected, abs=1e-12)
    assert 0 < found.leaks[1].pairwise_error < 0.001
    assert found.identifiers == (
        Identifier("row", "row number"),
        Identifier("position", "position in its query"),
        Identifier("id", "all different whole numbers"),
    )
    (outlier,) = found.outliers
    quartiles = np.quantile(x[:, 8], [0.25, 0.75], method="lower")
    assert (outlier.feature, outlier.high) == ("outlier", 1e6)
    assert outlier.interquartile_range == pytest.approx(quartiles[1] - quartiles[0])
    assert [(it.feature, it.documents, it.share) for it in found.missing] == [("with_nan", 200, 0.1)]
    assert found.infinite == ()


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_a_leak_is_a_pairwise_error_under_a_thousandth(data):
    m = 40
    y = data.draw(arrays(np.float64, m, elements=st.integers(0, 3).map(float)))
    qid = data.draw(arrays(np.int64, m, elements=st.integers(0, 1)))
    swaps = data.draw(st.lists(st.integers(0, m - 1), max_size=2))
    feature = data.draw(st.sampled_from([1.0, -2.0])) * y
    feature[swaps] = data.draw(st.sampled_from([np.nan, 0.0, 9.0]))
    pairs = sum((y[qid == query][:, None] > y[qid == query]).sum() for query in (0, 1))
    found = inspect(Queries(feature[:, None], y, qid)).features.leaks
    if pairs < 100:
        assert found == ()
        return
    errors = {
        "as the label": pairwise_error(feature, y, qid),
        "against the label": pairwise_error(-feature, y, qid),
    }
    expected = [Leak("f1", error, direction) for direction, error in errors.items() if error < 0.001]
    assert list(found) == expected


def test_a_feature_that_is_mostly_zero_in_a_large_query_is_not_a_leak():
    y = np.repeat([0.0, 1.0], 5000)
    rare = sp.csr_array((np.ones(9), (np.arange(5000, 5009), np.zeros(9, int))), shape=(10_000, 1))
    assert inspect(Queries(rare, y)).features.leaks == ()
    full = sp.csr_array(np.repeat([0.0, 1.0], 5000)[:, None])
    assert [leak.feature for leak in inspect(Queries(full, y)).features.leaks] == ["f1"]


def test_sizes_and_grades():
    qid = ["a"] * 3 + ["b"] + ["c"] * 6
    y = [0, 0, 0, 2, 0.5, 0.5, 1, 1, 33, 40]
    found = inspect(Queries(np.arange(10.0)[:, None] ** 2, y, qid))
    assert (found.n_queries, found.n_documents, found.n_features) == (3, 10, 1)
    spread = found.documents_per_query
    assert (spread.least, spread.median, spread.mean, spread.most) == (1, 3, pytest.approx(10 / 3), 6)
    grades, counts = np.unique(y, return_counts=True)
    assert [(count.grade, count.documents) for count in found.grades.histogram] == list(
        zip(grades, counts, strict=True)
    )
    assert (found.grades.fractional, found.grades.above_31) == (2, 2)
    assert (found.grades.queries_without_relevant, found.grades.queries_with_one_grade) == (1, 2)


def test_other_supervision_leaves_grades_out(planted):
    x, y, qid, names = planted
    ranks = np.zeros(len(y), dtype=int)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        ranks[rows[np.argsort(-y[rows], kind="stable")]] = np.arange(1, len(rows) + 1)
    x = np.column_stack([x, -ranks])
    ranked = inspect(Queries(x, FullRanking(ranks), qid, feature_names=[*names, "rank"]))
    assert [leak.feature for leak in ranked.features.leaks] == ["rank"]
    graph = inspect(Queries(x, PreferenceGraph(len(y), [], []), qid, feature_names=[*names, "rank"]))
    assert graph.features.leaks == ()
    for found in (ranked, graph):
        assert found.grades is None
        assert found.contradictory_rows is None
        assert len(found.features.identifiers) >= 3
        assert "grade " not in str(found)
    assert ranked.supervision == "full ranking"


def test_no_features_and_no_documents():
    scores_only = inspect(Queries(None, [0, 1, 1], ["a", "a", "b"]))
    assert (scores_only.n_features, scores_only.density, scores_only.duplicate_rows) == (0, None, 0)
    empty = inspect(Queries(np.zeros((0, 2)), []))
    assert (empty.n_queries, empty.documents_per_query) == (0, None)
    assert str(empty)


def test_the_number_of_threads_changes_nothing(planted, monkeypatch):
    x, y, qid, names = planted
    queries = Queries(x, y, qid, feature_names=names)
    answers = []
    for threads in ("1", "3", "64"):
        monkeypatch.setenv("RANKWRIGHT_THREADS", threads)
        answers.append(inspect(queries))
    assert answers[0] == answers[1] == answers[2]


def test_prints_as_tables_of_80_columns(planted):
    x, y, qid, names = planted
    text = str(inspect(Queries(x, y, qid, feature_names=names)))
    assert max(map(len, text.splitlines())) <= 80
    for told in ("2,000", "outlier", "reversed (against the label)", "row (row number)", "with_nan (10.0%)"):
        assert told in " ".join(text.split())


def test_clean_data_have_nothing_wrong():
    rng = np.random.default_rng(3)
    found = inspect(Queries(rng.normal(size=(300, 3)), np.tile([0, 1, 2], 100), np.repeat(np.arange(30), 10)))
    assert "Nothing looks wrong." in str(found)


def test_to_dict_is_json(planted):
    x, y, qid, names = planted
    found = inspect(Queries(x, y, qid, feature_names=names))
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["n_documents"] == 2000
    assert told["features"]["identifiers"][0] == {"feature": "row", "kind": "row number"}
    assert told["grades"]["histogram"][0]["documents"] == int((y == 0).sum())


# Missing values


@pytest.fixture(name="with_missing")
def missing_in_many_ways():
    """3,000 documents of 60 interleaved queries; each column is missing in a way of its own."""
    rng = np.random.default_rng(11)
    m = 3000
    qid = rng.integers(0, 60, m)
    y = rng.integers(0, 3, m).astype(float) * (qid % 3 > 0)  # a third of the queries has nothing relevant
    columns = {
        "at random": np.where(rng.random(m) < 0.35, np.nan, rng.normal(size=m)),
        "by grade": np.where(rng.random(m) < np.where(y > 0, 0.1, 0.4), np.nan, rng.normal(size=m)),
        "by query": np.where(qid % 3 == 0, np.nan, rng.normal(size=m)),
        "never": rng.normal(size=m),
        "always": np.full(m, np.nan),
        "in few queries": np.where((qid < 5) & (y > 0), np.nan, rng.normal(size=m)),
    }
    return np.column_stack(list(columns.values())), y, qid, list(columns)


def mean_grades(missing, y, qid):
    """The mean grades without and with the value, query by query where there are both."""
    both = [query for query in np.unique(qid) if 0 < missing[qid == query].mean() < 1]
    without = [y[(qid == query) & missing].mean() for query in both]
    return without, [y[(qid == query) & ~missing].mean() for query in both]


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array])
def test_missing_values_and_the_grade(with_missing, make):
    x, y, qid, names = with_missing
    found = inspect(Queries(make(x), y, qid, feature_names=names)).features
    assert found.missing_throughout == ("always",)
    assert found.constant == ()
    told = {it.feature: it for it in found.missing}
    assert list(told) == ["at random", "by grade", "by query", "in few queries"]
    for name, it in told.items():
        without, given = mean_grades(np.isnan(x[:, names.index(name)]), y, qid)
        if name == "by query":
            assert (it.grade_if_missing, it.grade_if_given) == (None, None)
        else:
            assert it.grade_if_missing == pytest.approx(np.mean(without))
            assert it.grade_if_given == pytest.approx(np.mean(given))
    # All grades are 0 in the queries where "by query" is missing: no ranking within queries can use that.
    assert [name for name, it in told.items() if it.linked_to_grade] == ["by grade"]
    assert told["by query"].whole_queries == len(np.unique(qid[qid % 3 == 0]))


def test_missing_at_random_is_seldom_taken_for_more():
    """Under chance alone, 4 standard errors are passed by one feature in many thousands."""
    rng = np.random.default_rng(5)
    y, qid = rng.integers(0, 4, 4000).astype(float), np.repeat(np.arange(200), 20)
    x = np.where(rng.random((4000, 300)) < 0.3, np.nan, 1.0)
    assert not any(it.linked_to_grade for it in inspect(Queries(x, y, qid)).features.missing)


def test_missing_values_are_told_in_words(with_missing):
    x, y, qid, names = with_missing
    found = inspect(Queries(x, y, qid, feature_names=names))
    text = " ".join(str(found).split())
    assert f"{np.isnan(x).mean():.1%} missing" in text
    assert "missing in every document 1 always" in text
    assert "missing in whole queries 1 by query (20)" in text
    assert "missing is linked to the grade 1 by grade (mean grade" in text
    assert max(map(len, str(found).splitlines())) <= 80
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))["features"]["missing"]
    assert told[1]["linked_to_grade"] is True
    assert told[2]["grade_if_missing"] is None


def test_missing_values_without_grades(with_missing):
    x, y, qid, names = with_missing
    graph = PreferenceGraph(len(y), [], [])
    found = inspect(Queries(x, graph, qid, feature_names=names))
    assert {it.grade_if_missing for it in found.features.missing} == {None}
    assert "grade with" not in str(found)
    assert "at random" in str(found)
