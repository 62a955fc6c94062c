"""How files and frames get onto a Dask cluster."""

import gzip

import numpy as np
import pytest

import rankwright as rw
from tests.clusters.made import commands_told, dirty_queries, run, written
from tests.needed import needs_dask

pytestmark = pytest.mark.peers


def assert_same(queries, known):
    """On the cluster what is known in memory, rows of queries together."""
    known = known[np.arange(known.n_queries)]
    found = queries.in_memory()
    assert found.query_ids.tolist() == known.query_ids.tolist()
    assert found.feature_names == known.feature_names
    assert found.X.dtype == known.X.dtype
    for array, expected in [(found.X, known.X), (found.y, known.y), (found.grouping.offsets, known.grouping.offsets)]:
        dense = array.toarray() if hasattr(array, "toarray") else array
        np.testing.assert_array_equal(dense, expected.toarray() if hasattr(expected, "toarray") else expected)


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "parquet"])
@pytest.mark.parametrize("n_files", [1, 3])
def test_files_and_folders(client, tmp_path, ending, n_files):
    known = dirty_queries()
    paths = written(known, tmp_path, n_files, ending)
    in_memory = rw.open_queries(paths, cache=tmp_path.parent).in_memory()
    for given in (paths, tmp_path, str(tmp_path / f"*.{ending}")):
        queries = rw.dask.queries(given, client=client)
        assert queries.n_parts == max(2, n_files)
        assert_same(queries, in_memory)
    assert rw.dask.queries(paths, client=client, parts=6).n_parts == 6


def test_parts_of_one_file_are_dealt_to_all_workers(client, tmp_path):
    queries = rw.dask.queries(written(dirty_queries(), tmp_path, 1), client=client)
    where = client.who_has(queries.partitions.futures)
    assert len({worker for workers in where.values() for worker in workers}) == 2


def test_text_that_is_alike_only_as_a_whole(client, tmp_path):
    """Files of different widths, one numbered from 0, one with numbers that float32 would blur."""
    (tmp_path / "a.txt").write_text("1 qid:1 1:1 2:2\n0 qid:1 1:3\n")
    (tmp_path / "b.txt").write_text("1 qid:2 0:5 3:1.5\n0 qid:2 1:1 2:1 3:7\n2 qid:2 0:1 1:1 2:1\n")
    lines = [f"{grade} qid:3 1:{1_700_000_000 + grade} 2:1\n" for grade in (0, 1, 2)]
    (tmp_path / "c.txt").write_text("".join(lines))
    known = rw.open_queries(tmp_path, cache=tmp_path.parent).in_memory()
    assert (known.n_features, known.X.dtype) == (4, np.float64)
    assert_same(rw.dask.queries(tmp_path, client=client), known)


def test_features_that_a_file_does_not_know_are_missing_if_asked_for(client, tmp_path):
    paths = [tmp_path / "wide.txt", tmp_path / "narrow.txt"]
    paths[0].write_text("1 qid:1 1:1 2:2 3:3\n0 qid:1 1:1 2:1\n")
    paths[1].write_text("1 qid:2 1:1 2:2\n0 qid:2 1:4\n")
    for missing in ("nan", "zero"):
        found = rw.dask.queries(paths, client=client, missing=missing).in_memory()
        np.testing.assert_array_equal(found.X, rw.open_queries(paths, missing=missing).in_memory().X)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"parts": 0}, "parts must be at least 1, not 0"),
        ({"parts": "many"}, "parts must be at least 1, not 'many'"),
        ({"client": "nowhere"}, "client: there is no Dask scheduler at 'nowhere': missing port number"),
        ({"client": "http://x:1"}, "client: there is no Dask scheduler at 'http://x:1': unknown address scheme"),
    ],
)
def test_bad_parameters(client, tmp_path, parameters, told):
    paths = written(dirty_queries(5), tmp_path, 1)
    with pytest.raises(rw.ParameterError, match=told):
        rw.dask.queries(paths, **{"client": client, **parameters})


def test_data_in_memory_are_refused(client):
    known = dirty_queries(5)
    for data in (known, known.X, known.to_frame()):
        with pytest.raises(rw.ParameterError, match=r"data must be a Dask DataFrame, or files; .* is in memory here"):
            rw.dask.queries(data, client=client)


def test_group_files_beside_text(client, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("1 1:1\n0 1:2\n2 1:3\n1 1:4\n")
    (tmp_path / "a.txt.query").write_text("2\n2\n")
    (tmp_path / "b.txt.query").write_text("1\n3\n")
    known = rw.open_queries(tmp_path, cache=tmp_path.parent).in_memory()
    queries = rw.dask.queries(tmp_path, client=client)
    assert queries.sizes.tolist() == [2, 2, 1, 3]
    assert_same(queries, known)


def test_columns_of_tables_and_text_encoded_alike(client, tmp_path):
    (tmp_path / "a.csv").write_text("grade,query,price,shop\n1,x,3,b\n0,x,4,a\n")
    (tmp_path / "b.csv").write_text("grade,query,price,shop\n1,y,5,c\n2,y,6,a\n")
    columns = {"label": "grade", "qid": "query", "one_hot": ["shop"]}
    queries = rw.dask.queries(tmp_path, client=client, **columns)
    assert queries.feature_names == ("price", "shop=a", "shop=b", "shop=c")
    assert_same(queries, rw.open_queries(tmp_path, cache=tmp_path.parent, **columns).in_memory())
    model = rw.RankRLS().fit(queries).model()
    ungraded = tmp_path / "new" / "c.csv"
    ungraded.parent.mkdir()
    ungraded.write_text("query,price,shop\nz,5,c\nz,6,d\n")
    known = rw.read_queries(ungraded, qid="query", for_model=model)
    np.testing.assert_array_equal(
        model.predict(rw.dask.queries(ungraded, client=client, qid="query", for_model=model)), model.predict(known)
    )


def test_files_with_other_columns_are_refused(client, tmp_path):
    (tmp_path / "a.csv").write_text("label,qid,price\n1,1,3\n0,1,4\n")
    (tmp_path / "b.csv").write_text("label,qid,cost\n1,2,5\n2,2,6\n")
    with pytest.raises(rw.DataError, match=r"b\.csv has other features than a\.csv: column 'cost' is in one of them"):
        rw.dask.queries(tmp_path, client=client)


def test_errors_of_readers_are_told(client, tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:oops\n")
    with pytest.raises(rw.ParseError, match=r"a\.txt, line 2, column \d+: "):
        rw.dask.queries(tmp_path, client=client)
    with pytest.raises(FileNotFoundError):
        rw.dask.queries(tmp_path / "none.txt", client=client)


def test_rows_without_queries_are_one_and_a_warning_says_so(client, tmp_path):
    (tmp_path / "a.txt").write_text("1 1:1\n0 1:2\n")
    with pytest.warns(rw.errors.OneQueryWarning):
        assert rw.dask.queries(tmp_path, client=client).n_queries == 1


# Queries in several places


def split_frame():
    """Rows in no order, so that nearly every query is in every partition."""
    known = dirty_queries(40)
    frame = known.to_frame().sample(frac=1.0, random_state=1).reset_index(drop=True)
    return known, frame


def test_a_query_in_two_files_is_refused_by_name(client, tmp_path):
    known = dirty_queries(30)
    paths = written(known, tmp_path, 2, "txt")
    first_line = paths[0].read_text().splitlines()[0]
    with paths[1].open("a") as file:
        file.write(first_line + "\n")
    with pytest.raises(rw.DataError) as told:
        rw.dask.queries(paths, client=client)
    query = known.query_ids[0]
    assert f"query {query!r}".replace("np.str_(", "").rstrip(")") in str(told.value)
    assert "some of its rows are in part-0.txt and some in part-1.txt" in str(told.value)
    with pytest.warns(UserWarning, match=r"1 query was split over partitions: \d+ rows .* were moved"):
        mended = rw.dask.queries(paths, client=client, shuffle=True)
    assert mended.n_queries == 30
    assert mended.sizes[mended.query_ids.tolist().index(query)] == known.sizes[0] + 1


def test_a_shuffle_brings_scattered_rows_together(client):
    dd = pytest.importorskip("dask.dataframe")
    known, frame = split_frame()
    frames = dd.from_pandas(frame, npartitions=4)
    with pytest.raises(rw.DataError, match=r"query '.*' is split: some of its rows are in partition \d and some in"):
        rw.dask.queries(frames, client=client)
    with pytest.warns(UserWarning, match=r"quer(y was|ies were) split over partitions"):
        queries = rw.dask.queries(frames, client=client, shuffle=True)
    assert queries.n_parts == 4
    assert sorted(queries.query_ids.tolist()) == sorted(known.query_ids.tolist())
    parts = [part.n_documents for part in queries.parts()]
    assert max(parts) < 2 * min(parts)
    learned, expected = rw.RankRLS().fit(queries), rw.RankRLS().fit(known)
    np.testing.assert_allclose(learned.coef_, expected.coef_, rtol=1e-9, atol=1e-12)


def test_partitions_that_a_shuffle_empties_are_no_parts(client, tmp_path):
    """All rows of the second partition go to the first one; those of the third are still asked for."""
    made = dirty_queries(30)
    is_one = made.qid == made.query_ids[3]
    order = np.concatenate([np.flatnonzero(is_one)[::2], np.flatnonzero(is_one)[1::2], np.flatnonzero(~is_one)])
    ends = np.cumsum([0, -(-is_one.sum() // 2), is_one.sum() // 2, (~is_one).sum()])
    paths = [tmp_path / f"part-{number}.parquet" for number in range(3)]
    for path, begin, end in zip(paths, ends[:-1], ends[1:], strict=True):
        rows = order[begin:end]
        rw.write_queries(rw.Queries(made.X[rows], made.y[rows], made.qid[rows]), path)
    with pytest.warns(UserWarning, match="1 query was split"):
        queries = rw.dask.queries(paths, client=client, shuffle=True)
    assert queries.n_parts == 2
    known = queries.in_memory()
    assert sorted(known.y.tolist()) == sorted(made.y.tolist())
    for ranker in (rw.RankRLS(), rw.RankSVM(alpha=1.0)):
        expected = ranker.fit(rw.Queries(made.X[order], made.y[order], made.qid[order])).coef_
        np.testing.assert_allclose(ranker.fit(queries).coef_, expected, rtol=1e-8, atol=1e-10)


def test_frames_that_were_shuffled_by_query(client):
    """The usual way to have queries in one partition each: text ids then are several Arrow arrays."""
    dd = pytest.importorskip("dask.dataframe")
    known = dirty_queries(40)
    frame = dd.from_pandas(known.to_frame(), npartitions=4, sort=False).shuffle("qid", npartitions=3)
    queries = rw.dask.queries(frame, client=client)
    assert sorted(queries.query_ids.tolist()) == sorted(known.query_ids.tolist())
    np.testing.assert_allclose(rw.RankRLS().fit(queries).coef_, rw.RankRLS().fit(known).coef_, rtol=1e-9, atol=1e-12)


def test_text_that_is_left_out_may_have_no_values_in_a_partition(client):
    """It is told once, and not by what a partition has."""
    dd = pytest.importorskip("dask.dataframe")
    frame = dirty_queries(8).to_frame()
    frame["site"] = np.where(frame["qid"] == frame["qid"].iloc[0], "a", None)
    frame["site"] = frame["site"].astype("str")
    parts = dd.concat([dd.from_pandas(frame[:0], npartitions=1), dd.from_pandas(frame, npartitions=1)])
    with pytest.warns(UserWarning, match=r"left out 1 column that is not numeric: 'site'") as told:
        queries = rw.dask.queries(parts, client=client)
    assert len(told) == 1
    assert "site" not in queries.feature_names
    assert queries.n_queries == 8


def test_partitions_of_a_frame(client):
    dd = pytest.importorskip("dask.dataframe")
    known = dirty_queries(40)
    frame = known.to_frame()
    cut = int(known.grouping.offsets[17])
    empty = frame.iloc[:0]
    pieces = [dd.from_pandas(piece, npartitions=1) for piece in (frame.iloc[:cut], empty, frame.iloc[cut:])]
    queries = rw.dask.queries(dd.concat(pieces), client=client)
    assert queries.n_parts == 2
    assert_same(queries, known)
    with pytest.raises(rw.DataError, match="a Dask DataFrame: there are no documents"):
        rw.dask.queries(pieces[1], client=client)


def test_rows_that_stand_apart_in_a_part_come_together(client, tmp_path):
    known, frame = split_frame()
    frame.to_parquet(tmp_path / "rows.parquet")
    queries = rw.dask.queries(tmp_path, client=client)
    assert queries.moved is not None
    assert_same(queries, rw.read_queries(tmp_path / "rows.parquet"))
    expected = rw.RankSVM().fit(known)
    assert rw.RankSVM().fit(queries).objective_ == pytest.approx(expected.objective_, rel=1e-9)


# On the command line


@pytest.fixture
def address(client):
    return f"dask={client.scheduler.address}"


def test_commands_do_on_a_cluster_what_they_do_here(address, tmp_path, capsys):
    known = dirty_queries(150)
    train, test = tmp_path / "train", tmp_path / "test.txt"
    train.mkdir()
    written(known[:100], train, 3, "txt")
    rw.write_queries(known[100:], test)
    found = []
    for engine in ("local", address):
        out = tmp_path / engine[:4]
        out.mkdir()
        fit = ("--test", test, "--ranker", "rankrls,ranksvm", "--folds", "3")
        found.append(commands_told(engine, train, test, out, capsys, n_features=3, fit=fit))
    (told, scores), (told_on_dask, scores_on_dask) = found
    assert told_on_dask == told
    np.testing.assert_allclose(scores_on_dask, scores, rtol=1e-9)
    boards = [(tmp_path / name / "fit" / "leaderboard.csv").read_text() for name in ("dask", "loca")]
    assert [line.split(",")[:3] for line in boards[0].splitlines()] == [
        line.split(",")[:3] for line in boards[1].splitlines()
    ]


def test_scores_need_rows_in_order(address, tmp_path, capsys):
    rw.save_model(rw.RankRLS().fit(dirty_queries(20)), tmp_path / "model.json")
    file = tmp_path / "rows.txt.gz"
    file.write_bytes(gzip.compress(b"1 qid:1 8:1\n0 qid:2 1:2\n0 qid:1 1:2\n"))
    assert run("predict", tmp_path / "model.json", file, "--engine", address) == 65
    assert "the rows of query 1 do not stand together" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ("sparc", "--engine must be one of local, dask, dask=ADDRESS, spark, spark=MASTER, not 'sparc'"),
        ("dask=", "is empty"),
        ("local=1", "--engine must be one of"),
        ("dask=127.0.0.1:1", "there is no Dask scheduler at '127.0.0.1:1'"),
    ],
)
def test_engines_that_are_none(tmp_path, capsys, engine, told):
    needs_dask()
    (path,) = written(dirty_queries(5), tmp_path, 1, "txt")
    assert run("train", path, f"--engine={engine}", "--out", tmp_path / "model.json") == 2
    assert told in capsys.readouterr().err
