"""float32 where it loses nothing that matters within queries, float64 elsewhere: the rule, against brute force."""

import csv
import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from rankwright.data import precision
from rankwright.data.svmlight import blocks, reader
from rankwright.judgments.grouping import Grouping

RNG = np.random.default_rng(0)
ROWS, PER_QUERY = 600, 12
QID = np.repeat(np.arange(ROWS // PER_QUERY), PER_QUERY)


def text_of(columns, qid=QID):
    """LETOR lines with these columns, given as texts or numbers; None is absent."""
    rows = zip(*(map(str, column) for column in columns), strict=True)
    cells = (" ".join(f"{j}:{cell}" for j, cell in enumerate(row, 1) if cell != "None") for row in rows)
    return "".join(f"{i % 3} qid:{q} {row}\n" for i, (q, row) in enumerate(zip(qid, cells, strict=True)))


def times(spread):
    return 1_700_000_000 + RNG.integers(0, spread, ROWS)


def sometimes(column, missing="None", share=0.5):
    return np.where(RNG.random(ROWS) < share, missing, column.astype(str))


ORDINARY = {
    "six decimals": [f"{v:.6f}" for v in RNG.random(ROWS)],
    "near one": [f"{1 - v:.6f}" for v in RNG.integers(0, 4, ROWS) * 1e-6],
    "all digits": RNG.random(ROWS),
    "normal": RNG.standard_normal(ROWS) * 30,
    "counts": RNG.integers(0, 10**7, ROWS),
    "large even numbers": RNG.integers(0, 2**23, ROWS) * 2**20,
    "of the query": np.repeat(RNG.random(ROWS // PER_QUERY) * 1e9, PER_QUERY),
    "constant": np.full(ROWS, 0.1),
    "far apart": 10.0 ** RNG.uniform(-30, 30, ROWS),
    "times over years": times(10**9),
    "half missing": sometimes(RNG.random(ROWS), "NULL"),
    "missing in whole queries": np.where(QID % 2, "?", RNG.random(ROWS).astype(str)),
    "missing throughout": np.full(ROWS, "n/a"),
    "with NaN and infinity": np.where(RNG.random(ROWS) < 0.1, np.nan, np.where(RNG.random(ROWS) < 0.1, np.inf, 0.3)),
}
EXACTING = {
    "times": times(1000),
    "times of a day": times(86_400),
    "some without a time": sometimes(times(1000), share=0.9),
    "some with a missing time": sometimes(times(1000), "NULL", share=0.9),
    "alternately without": np.where(np.arange(ROWS) % 2, "0", times(1000).astype(str)),
    "alternately without, the other way": np.where(np.arange(ROWS) % 2, times(1000).astype(str), "-1"),
    "identifiers": RNG.integers(2**60, 2**60 + 2**20, ROWS) * 4,
    "offset": 1e6 + RNG.random(ROWS) * 1e-3,
    "small": RNG.random(ROWS) * 1e-44,
    "in one query": np.where(QID == 7, times(1000), 1_700_000_000),
    "too large": np.where(np.arange(ROWS) == 17, 1e39, 1.0),
}


@pytest.fixture(params=[None, 500], ids=["one block", "many blocks"])
def block_size(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(blocks, "BLOCK", request.param)
        monkeypatch.setattr(blocks, "SAMPLE", 300)


def expected_dtype(columns):
    return np.float64 if any(column is EXACTING[name] for name in EXACTING for column in columns) else np.float32


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "CSR"])
@pytest.mark.parametrize("name", [*ORDINARY, *EXACTING])
def test_the_type_of_text(tmp_path, block_size, name, sparse):
    columns = [ORDINARY["six decimals"], {**ORDINARY, **EXACTING}[name]]
    (tmp_path / "data.txt").write_text(text_of(columns))
    read = rw.read_svmlight(tmp_path / "data.txt", sparse=sparse)
    assert read.X.dtype == expected_dtype(columns)
    exact = rw.read_svmlight(tmp_path / "data.txt", sparse=sparse, dtype=np.float64)
    values, exact_values = (part.X.toarray() if sparse else part.X for part in (read, exact))
    np.testing.assert_array_equal(values, exact_values.astype(read.X.dtype))
    asked = rw.read_svmlight(tmp_path / "data.txt", sparse=sparse, dtype=np.float64)
    assert asked.X.dtype == np.float64
    if name != "too large":
        assert rw.read_svmlight(tmp_path / "data.txt", sparse=sparse, dtype="float32").X.dtype == np.float32


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "CSR"])
@pytest.mark.parametrize("name", ["six decimals", "times"])
def test_documents_of_a_query_that_do_not_stand_together(tmp_path, block_size, name, sparse):
    columns = [ORDINARY["all digits"], {**ORDINARY, **EXACTING}[name]]
    (tmp_path / "data.txt").write_text(text_of(columns, qid=np.arange(ROWS) % 50))
    read = rw.read_svmlight(tmp_path / "data.txt", sparse=sparse)
    assert read.X.dtype == expected_dtype(columns)
    exact = rw.read_svmlight(tmp_path / "data.txt", sparse=sparse, dtype=np.float64)
    assert (abs(read.X - exact.X) > 1e-6).sum() == 0 or read.X.dtype == np.float64
    assert read.qid.tolist() == exact.qid.tolist()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "CSR"])
def test_rows_longer_than_blocks_are_compared_too(tmp_path, monkeypatch, sparse):
    monkeypatch.setattr(blocks, "BLOCK", 20)
    (tmp_path / "data.txt").write_text(text_of([EXACTING["times"], ORDINARY["counts"]]))
    assert rw.read_svmlight(tmp_path / "data.txt", sparse=sparse).X.dtype == np.float64


def test_what_samples_do_not_show(tmp_path, monkeypatch):
    """A column that is exacting in the middle of the file alone, or in its samples alone."""
    monkeypatch.setattr(blocks, "SAMPLE", 100)
    monkeypatch.setattr(blocks, "SAMPLES", 1)
    middle = np.where(QID == 25, times(100), 1_700_000_000)
    (tmp_path / "data.txt").write_text(text_of([middle]))
    assert rw.read_svmlight(tmp_path / "data.txt").X.dtype == np.float64
    many = np.arange(60_000)
    first = np.where(many < 2, 1_700_000_000 + many, 1_700_000_000 + 1_000_000 * RNG.integers(0, 1000, len(many)))
    (tmp_path / "data.txt").write_text(text_of([first], qid=many // 12))
    read = rw.read_svmlight(tmp_path / "data.txt").X
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read[:, 0], first.astype(np.float32))


def by_brute_force(x, qid):
    """The rule as it is written down, pair by pair."""
    if np.any(np.isfinite(x) & (np.abs(x) > np.finfo(np.float32).max)):
        return np.float64
    for column in x.T:
        blurred = differing = 0
        for q in dict.fromkeys(qid):
            values = [float(v) for v, own in zip(column, qid, strict=True) if own == q]
            for i in range(1, len(values)):
                exact = values[i] - values[i // 2]
                rounded = float(np.float32(values[i])) - float(np.float32(values[i // 2]))
                differing += exact != 0
                blurred += abs(rounded - exact) > abs(exact) / 16
        if blurred > differing / 1000:
            return np.float64
    return np.float32


numbers = st.one_of(
    st.sampled_from([0.0, 1.0, 1e39, 1e-46, 0.1, 16777217.0]),
    st.integers(0, 300).map(lambda k: 1.7e9 + k),
    st.floats(-1e3, 1e3, width=64),
)


@given(st.lists(st.tuples(st.integers(0, 3), numbers, numbers), min_size=1, max_size=25))
def test_the_rule_is_what_it_says(rows):
    qid = np.array([row[0] for row in rows])
    x = np.array([row[1:] for row in rows])
    expected = by_brute_force(x, qid.tolist())
    with np.errstate(over="ignore"):
        for features in (x, sp.csr_array(x)):
            found = precision.as_the_rule_says(features, Grouping(qid, len(qid)))
            assert found.dtype == expected
            np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, x.astype(expected))


@given(st.lists(st.tuples(st.integers(0, 3), numbers, numbers), min_size=1, max_size=25), st.booleans())
def test_text_follows_the_rule(tmp_path_factory, rows, sparse):
    rows = sorted(rows)
    path = tmp_path_factory.mktemp("rule") / "data.txt"
    path.write_text(text_of([[row[1] for row in rows], [row[2] for row in rows]], qid=[row[0] for row in rows])[:])
    x = np.array([row[1:] for row in rows])
    assert rw.read_svmlight(path, sparse=sparse).X.dtype == by_brute_force(x, [row[0] for row in rows])


def test_csv_follows_the_rule_and_typed_data_keep_their_types(tmp_path):
    for column, expected in ((ORDINARY["six decimals"], np.float32), (EXACTING["times"], np.float64)):
        path = tmp_path / "data.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["qid", "label", "a", "b"])
            table.writerows(zip(QID, np.arange(ROWS) % 3, column, ORDINARY["all digits"], strict=True))
        queries = rw.read_queries(path)
        assert queries.X.dtype == expected
        exact = np.array(column, dtype=np.float64)
        np.testing.assert_array_equal(queries.X[:, 0], exact.astype(expected))
        typed = rw.Queries(exact[:, None], queries.y, queries.qid, feature_names=["a"])
        assert rw.from_frame(typed.to_frame("pyarrow")).X.dtype == np.float64
        rw.write_parquet(typed, tmp_path / "data.parquet")
        assert rw.read_queries(tmp_path / "data.parquet").X.dtype == np.float64


def test_parts_of_a_collection_have_one_type(tmp_path):
    ordinary, exacting = text_of([ORDINARY["six decimals"]]), text_of([EXACTING["times"]])
    for texts in ((ordinary, exacting, ordinary), (exacting, ordinary), (ordinary, ordinary)):
        paths = [tmp_path / f"{i}.txt" for i in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        parts = reader.read_parts(paths, dtype=None, missing="zero")
        assert {part.X.dtype for part in parts} == {np.dtype(np.float64 if exacting in texts else np.float32)}
        for part, text in zip(parts, texts, strict=True):
            column = EXACTING["times"] if text is exacting else np.array(ORDINARY["six decimals"], float)
            np.testing.assert_array_equal(part.X[:, 0], column.astype(part.X.dtype))


def test_all_commands_read_alike(tmp_path, monkeypatch):
    """A time decides which document is best: every command sees it."""
    from rankwright.cli.main import main
    from rankwright.data import files

    when = times(1000)
    grades = [int(2 * r // PER_QUERY) for q in range(ROWS // PER_QUERY) for r in np.argsort(np.argsort(when[q == QID]))]
    lines = [f"{y} qid:{q} 1:{t} 2:{v}\n" for y, q, t, v in zip(grades, QID, when, RNG.random(ROWS), strict=True)]
    data, model, scores = (str(tmp_path / name) for name in ("data.txt.gz", "model.json", "scores.txt"))
    (tmp_path / "data.txt.gz").write_bytes(gzip.compress("".join(lines).encode()))
    read, original = [], files.read_asked
    monkeypatch.setattr(files, "read_asked", lambda *given, **named: read.append(original(*given, **named)) or read[-1])
    for command in (
        ["train", data, "--out", model],
        ["select", data, "--max-features", "1"],
        ["predict", model, data, "--out", scores],
        ["evaluate", scores, data],
        ["inspect", data],
        ["explain", model, data, "--query", "3"],
        ["fit", data, "--out", str(tmp_path / "fitted"), "--ranker", "rankrls", "--folds", "2"],
    ):
        before = len(read)
        assert main(command) == 0, command
        assert len(read) > before, command
        assert {queries.X.dtype for queries in read[before:]} == {np.dtype(np.float64)}, command
    exact = rw.read_queries(data, dtype=np.float64)
    best = rw.evaluate(np.loadtxt(scores), exact, "ndcg@10")
    assert next(iter(best.means.values())) > 0.999
