"""Tables read batch by batch are what `read_queries` reads as a whole."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.streams import csv_tables, parquet_tables
from rankwright.errors import ParseError
from tests.data.streams.alike import assert_same, assert_streams_as, grouped

SMALL = "1MB"


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """So that a small file has many batches, and queries go on from one to the next."""
    monkeypatch.setattr(csv_tables, "_BLOCK", 3000)
    monkeypatch.setattr(parquet_tables, "_BATCH_BYTES", 10_000)


def _frame(seed=0, n_queries=300):
    """Numbers, whole numbers, holes, a constant, texts, dates and a column whose first blocks are empty or whole."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 20, n_queries)
    rows = int(sizes.sum())
    late = [None] * (rows // 2) + rng.integers(0, 9, rows // 4).tolist()
    late += rng.random(rows - len(late)).tolist()
    return pa.table(
        {
            "doc_id": [f"d{i}" for i in range(rows)],
            "qid": np.repeat([f"q{i:03}" for i in rng.permutation(n_queries)], sizes),
            "bm25": rng.standard_normal(rows),
            "clicks": rng.integers(0, 50, rows),
            "late": pa.array([None if x is None else float(x) for x in late], pa.float64()),
            "label": rng.integers(0, 3, rows),
            "nothing": pa.nulls(rows, pa.float64()),
            "colour": rng.choice(["red", "green", "blue"], rows),
            "same": np.full(rows, 2.5, np.float32),
            "when": pa.array(rng.integers(0, 10**9, rows), pa.timestamp("s")),
        }
    )


def _csv(path, table, delimiter=",", decimal="."):
    lines = [delimiter.join(table.column_names)]
    for row in table.to_pylist():
        cells = (
            "" if v is None else str(v).replace(".", decimal) if isinstance(v, float) else str(v) for v in row.values()
        )
        lines.append(delimiter.join(cells))
    path.write_text("\n".join(lines) + "\n")
    return path


OPTIONS = [
    {},
    {"features": ["bm25", "c*"]},
    {"one_hot": ["colour"]},
    {"features": ["colour=red", "same"]},
    {"doc": "when"},
]


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_table_is_what_read_queries_gives(tmp_path, ending, options):
    path = tmp_path / f"data.{ending}"
    if ending == "parquet":
        pq.write_table(_frame(), path, row_group_size=997)
    else:
        _csv(path, _frame())
    if ending == "csv.gz":
        path.write_bytes(gzip.compress(path.read_bytes()))
    expected = rw.read_queries(path, **options)
    for _ in range(2):
        assert_streams_as(rw.open_queries(path, memory=SMALL, **options), expected)


@pytest.mark.filterwarnings("ignore:.*left out")
def test_columns_that_are_left_out_are_told(tmp_path):
    path = _csv(tmp_path / "data.csv", _frame())
    with pytest.warns(UserWarning, match="left out 2 columns that are not numeric: 'colour'.*, 'when'"):
        rw.open_queries(path)
    pq.write_table(_frame(), tmp_path / "data.parquet")
    with pytest.warns(UserWarning, match="left out 2 columns that are not numeric: 'colour'"):
        rw.open_queries(tmp_path / "data.parquet")


def test_decimal_commas(tmp_path):
    table = _frame().select(["qid", "label", "bm25", "clicks", "same"])
    path = _csv(tmp_path / "data.csv", table, ";", ",")
    assert_streams_as(rw.open_queries(path, memory=SMALL), rw.read_queries(path))
    assert rw.open_queries(path).in_memory().X[0, 0] == np.float32(table["bm25"][0].as_py())


def test_numbers_that_need_double(tmp_path):
    table = _frame().select(["qid", "label", "bm25"])
    exact = pa.array(1.7e9 + np.arange(len(table)) % 60, pa.float64())
    path = _csv(tmp_path / "data.csv", table.append_column("time", exact))
    assert rw.read_queries(path).X.dtype == np.float64
    assert_streams_as(rw.open_queries(path, memory=SMALL), rw.read_queries(path))


def test_line_breaks_in_quotes(tmp_path):
    rows = "".join(f'q{i // 3},{i % 3},"a ""name""\nof two lines, {i}",{i / 7}\n' for i in range(900))
    (tmp_path / "data.csv").write_text("qid,label,doc_id,f\n" + rows)
    path = tmp_path / "data.csv"
    assert_streams_as(rw.open_queries(path, memory=SMALL), rw.read_queries(path))


@pytest.mark.parametrize("qid", [lambda i: i, lambda i: i if i < 500 else f"x{i}", lambda i: f"{i:04}"])
def test_query_ids_are_numbers_or_text_as_in_the_whole_file(tmp_path, qid):
    (tmp_path / "data.csv").write_text("qid,label,f\n" + "".join(f"{qid(i // 2)},{i % 2},{i}\n" for i in range(2000)))
    path = tmp_path / "data.csv"
    assert_streams_as(rw.open_queries(path, memory=SMALL), rw.read_queries(path))


@pytest.mark.parametrize(
    "line",
    ["q1,1,oh", "q1,x,2.5", "q1,,2.5", ",1,2.5", "q1,1", "q1,-1,2.5"],
    ids=["number", "grade", "-", "qid", "short", "neg"],
)
def test_a_faulty_row_is_told_with_its_line(tmp_path, line):
    lines = ["qid,label,f", *(f"q{i // 2},{i % 2},{i}.5" for i in range(1000))]
    lines.insert(700, line)
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(rw.DataError) as whole:
        rw.read_queries(path)
    with pytest.raises(rw.DataError) as streamed:
        rw.open_queries(path)
    if line != "q1,-1,2.5":  # there the row is counted in what is read together
        assert str(streamed.value) == str(whole.value)
        assert "line 701" in str(streamed.value)
    assert "data.csv" in str(streamed.value)
    assert [file.name for file in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize("kind", ["dense", "csr", "ranking", "graph", "times"])
def test_what_write_parquet_writes(tmp_path, kind):
    rng = np.random.default_rng(1)
    made = rw.datasets.make_queries(n_queries=200, documents=15, n_features=12, seed=3).queries
    x, qid = np.where(made.X > 0.7, made.X, 0), made.qid
    y = made.y
    if kind == "csr":
        x = sp.csr_array(x)
    elif kind == "ranking":
        y = rw.FullRanking(np.concatenate([rng.permutation(size) + 1 for size in made.sizes]))
    elif kind == "graph":
        inside = np.flatnonzero(np.diff(qid, append=-1) == 0)
        y = rw.PreferenceGraph(len(qid), inside, inside + 1, rng.random(len(inside)))
    elif kind == "times":
        qid = np.datetime64("2024-01-01", "ns") + qid.astype("m8[ns]")
    rw.write_parquet(rw.Queries(x, y, qid, doc_ids=[f"é{i}" for i in range(len(qid))]), tmp_path / "data.parquet")
    expected = rw.read_queries(tmp_path / "data.parquet")
    assert_streams_as(rw.open_queries(tmp_path / "data.parquet", memory=SMALL), expected)


def test_some_csr_features_by_name(tmp_path):
    x = sp.random_array((400, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    rw.write_parquet(rw.Queries(x, np.arange(400) % 3, np.arange(400) // 7), tmp_path / "data.parquet")
    expected = rw.read_queries(tmp_path / "data.parquet", features=["f3", "f2*"])
    assert_streams_as(rw.open_queries(tmp_path / "data.parquet", features=["f3", "f2*"]), expected)


@pytest.mark.filterwarnings("ignore:.*left out")
def test_several_tables_are_read_as_one(tmp_path):
    whole = _frame()
    cuts = [0, 700, 701, len(whole)]
    for i in range(3):
        pq.write_table(whole.slice(cuts[i], cuts[i + 1] - cuts[i]), tmp_path / f"part-{i}.parquet")
    expected = rw.from_frame(whole, one_hot=["colour"])
    streamed = rw.open_queries(tmp_path / "part-*.parquet", memory=SMALL, one_hot=["colour"])
    assert_streams_as(streamed, expected)


def test_tables_with_other_features_are_refused(tmp_path):
    _csv(tmp_path / "a.csv", _frame().select(["qid", "label", "bm25"]))
    _csv(tmp_path / "b.csv", _frame().select(["qid", "label", "clicks"]))
    with pytest.raises(rw.DataError, match=r"b\.csv: its features are not .*'bm25', 'clicks'"):
        rw.open_queries([tmp_path / "a.csv", tmp_path / "b.csv"], sort=True)


def test_sorting(tmp_path):
    table = _frame().select(["qid", "label", "doc_id", "bm25", "clicks"])
    shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
    path = _csv(tmp_path / "data.csv", shuffled)
    with pytest.raises(rw.DataError, match="do not stand together"):
        rw.open_queries(path)
    assert_streams_as(rw.open_queries(path, memory=SMALL, sort=True), grouped(rw.read_queries(path)))


def test_json_lines_as_far_as_they_fit(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text("".join(f'{{"qid": "q{i // 3}", "label": {i % 2}, "f": {i / 7}}}\n' for i in range(3000)))
    assert_streams_as(rw.open_queries(path, memory="50MB"), rw.read_queries(path))
    with pytest.raises(rw.DataError, match=r"data\.jsonl: JSON lines are read as a whole.*Parquet"):
        rw.open_queries(path, memory=SMALL, cache=tmp_path / "other")


def test_a_column_description(tmp_path):
    path = tmp_path / "data.tsv"
    path.write_text("".join(f"{i % 3}\t{i // 5}\t{i / 3:.6f}\t{i * i}\n" for i in range(1000)))
    (tmp_path / "data.cd").write_text("0\tLabel\n1\tGroupId\n3\tNum\tsquare\n")
    assert_streams_as(rw.open_queries(path, memory=SMALL), rw.read_queries(path))
    (tmp_path / "data.cd").write_text("0\tLabel\n1\tGroupId\n3\tNum\tarea\n")  # what it says is kept only while it does
    assert rw.open_queries(path).feature_names == ("f1", "area")


def test_for_a_model(tmp_path):
    path = _csv(tmp_path / "data.csv", _frame().select(["qid", "bm25", "clicks", "same"]))
    train = rw.read_queries(path, for_model=object())
    model = rw.RankRLS().fit(
        rw.Queries(train.X[:, :2], np.arange(train.n_documents) % 3, train.qid, feature_names=["clicks", "bm25"])
    )
    streamed = rw.open_queries(path, for_model=model)
    assert_same(streamed.in_memory(), rw.read_queries(path, for_model=model))
    assert streamed.feature_names == ("clicks", "bm25")


def test_formats_are_not_mixed(tmp_path):
    _csv(tmp_path / "a.csv", _frame())
    (tmp_path / "b.txt").write_text("1 qid:1 1:2\n")
    with pytest.raises(rw.DataError, match=r"one format, but .*a\.csv is csv and .*b\.txt is text"):
        rw.open_queries(tmp_path)
    with pytest.raises(ParseError):
        rw.open_queries(_csv(tmp_path / "empty.csv", _frame().slice(0, 0)))
