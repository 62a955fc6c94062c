"""What can be asked of queries that are read part by part, and that nothing is left behind."""

import os
import re
import threading
import warnings

import numpy as np
import pytest

import rankwright as rw
from rankwright.data.streams.chained import chained
from rankwright.data.streams.joining import joined_ids
from rankwright.data.streams.sizes import memory_limit
from tests.data.streams.alike import assert_same, assert_streams_as


@pytest.fixture
def file(tmp_path):
    made = rw.datasets.make_queries(n_queries=400, documents=20, n_features=12, seed=5).queries
    rw.write_queries(made, tmp_path / "data.txt")
    return tmp_path / "data.txt"


@pytest.fixture
def streamed(file):
    return rw.open_queries(file, memory="1MB")


@pytest.fixture
def whole(file):
    return rw.read_queries(file)


# Some of them


@pytest.mark.parametrize(
    "which",
    [
        slice(None),
        slice(10, 20),
        slice(None, -5),
        slice(3, None, 7),
        slice(5, 5),
        [3],
        [0, 1, 250, 399],
        [-2, -1],
        np.arange(400) % 3 == 0,
        np.zeros(400, bool),
        [],
    ],
    ids=str,
)
def test_some_queries(streamed, whole, which):
    expected = whole[which]
    assert_streams_as(streamed[which], expected, least_parts=min(1, expected.n_queries))


def test_a_selection_of_a_selection(streamed, whole):
    assert_streams_as(streamed[100:300][::2][[0, 5, 99]], whole[100:300][::2][[0, 5, 99]])


def test_runs_of_chosen_queries_are_read_within_the_limit(streamed, whole, monkeypatch):
    """What lies between them is read, too: part by part, not at one go."""
    source, reads = type(streamed._source), []
    read = source.read

    def noted(self, first, last, **options):
        found = read(self, first, last, **options)
        reads.append(found.n_documents)
        return found

    monkeypatch.setattr(source, "read", noted)
    some = streamed[5::10].mapped(lambda queries: queries, same_judgments=True)
    assert_same(some.run(3, 30), whole[5::10][3:30])
    assert_same(some.run(0, 40), whole[5::10])
    assert some.run(7, 7).n_queries == 0
    assert sum(reads) > 5000
    assert max(reads) * some.row_bytes <= some.memory / 4
    reads.clear()
    joined = chained(some, streamed[::7])
    assert joined.n_parts == 1  # so few are chosen
    np.testing.assert_array_equal(joined.in_memory().X, np.vstack([whole[5::10].X, whole[::7].X]))
    assert max(reads) * streamed.row_bytes <= some.memory / 4


def test_one_query(streamed, whole):
    assert_streams_as(streamed[7], whole[7])
    assert_streams_as(streamed[-1], whole[-1])


def test_they_are_no_array_and_end(streamed):
    for wrong in (np.asarray, rw.GlobalStandardScaler().fit):
        with pytest.raises(TypeError, match=r"part by part.*in_memory\(\)"):
            wrong(streamed)
    for beyond in (streamed.n_queries, -streamed.n_queries - 1):
        with pytest.raises(IndexError):
            streamed[beyond]
    assert sum(one.n_queries for one in streamed) == streamed.n_queries


@pytest.mark.parametrize("which", [[3, 1], [1, 1], slice(None, None, -1)], ids=str)
def test_queries_keep_their_order(streamed, which):
    with pytest.raises(rw.DataError, match="give positions that ascend, each once"):
        streamed[which]


@pytest.mark.parametrize("which", [[True, False], [400]], ids=str)
def test_queries_that_are_not_there(streamed, which):
    with pytest.raises(IndexError):
        streamed[which]


# With other features


def _squared(queries):
    return rw.Queries(
        np.hstack([queries.X, queries.X**2]).astype(np.float64),
        queries.y,
        queries.qid,
        feature_names=[*queries.feature_names, *(f"{name}^2" for name in queries.feature_names)],
    )


def test_mapped(streamed, whole):
    mapped = streamed.mapped(_squared)
    assert_streams_as(mapped, _squared(whole), least_parts=len(list(streamed.parts())) + 1)  # since they are larger
    assert mapped.feature_name(12) == "f1^2"
    assert_streams_as(mapped[::3], _squared(whole)[::3])
    assert_streams_as(streamed[5:].mapped(_squared).mapped(lambda part: part), _squared(whole)[5:])


def test_a_function_must_keep_the_documents(streamed):
    with pytest.raises(rw.DataError, match="must keep the queries and their documents"):
        list(streamed.mapped(lambda part: part[:1]).parts())


# How it is read


def test_parts_are_always_cut_alike_and_hold_whole_queries(streamed, whole):
    once, again = ([part.n_queries for part in streamed.parts()] for _ in range(2))
    assert once == again
    assert len(once) > 2
    assert sum(once) == whole.n_queries


@pytest.mark.parametrize("memory", ["1MB", "2MB", "100MB"])
def test_two_parts_stay_within_the_limit(file, memory):
    queries = rw.open_queries(file, memory=memory)
    taken = [part.X.nbytes + part.y.nbytes + part.qid.nbytes for part in queries.parts()]
    assert 2 * max(taken) <= queries.memory
    assert queries.memory == memory_limit(memory)


def test_progress_is_told(streamed):
    told = []
    for _ in streamed.parts(told.append):
        pass
    assert all(each.in_bytes for each in told)
    done, total = zip(*((each.done, each.total) for each in told), strict=True)
    assert len(set(total)) == 1
    assert list(done) == sorted(done)
    assert done[-1] == pytest.approx(total[0])


def test_the_first_reading_tells_of_bytes(file):
    told = []
    rw.open_queries(file, progress=told.append)
    size = file.stat().st_size
    assert (told[-1].done, told[-1].total, told[-1].in_bytes) == (size, size, True)


def _threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("rankwright-reads-ahead")]


def test_leaving_early_leaves_no_thread(streamed):
    for _ in streamed.parts():
        break
    assert not _threads()
    parts = streamed.parts()
    next(parts)
    assert len(_threads()) == 1
    parts.close()
    assert not _threads()


def _each(queries, work):
    for part in queries.parts():
        work(part)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_error_in_between_leaves_no_thread(streamed, error):
    def fails(part):
        raise error("now")

    with pytest.raises(error):
        _each(streamed, fails)
    assert not _threads()


def test_an_error_while_reading_ahead_is_told(streamed):
    calls = []

    def fails(part):
        calls.append(part)
        if len(calls) > 2:
            raise ArithmeticError("in the third part")
        return part

    with pytest.raises(ArithmeticError, match="third"):
        list(streamed.mapped(fails).parts())
    assert not _threads()


def test_only_one_part_is_read_ahead(streamed):
    read = []
    queries = streamed.mapped(lambda part: read.append(part.n_queries) or part)
    queries.n_features  # noqa: B018 (looks at the first queries)
    read.clear()
    for number, _ in enumerate(queries.parts(), start=1):
        assert len(read) <= number + 1


def test_an_interruption_of_the_first_reading_leaves_nothing(file):
    def interrupts(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rw.open_queries(file, progress=interrupts)
    assert [found.name for found in file.parent.iterdir()] == ["data.txt"]


# As text, and as one


def test_repr(streamed):
    told = (
        r"StreamedQueries\(400 queries, 8,000 documents, 12 features; 576 kB in \d parts from data.txt, memory 1 MB\)"
    )
    assert re.fullmatch(told, repr(streamed))


def test_judgments(streamed, whole):
    np.testing.assert_array_equal(streamed.judgments.y, whole.y)
    np.testing.assert_array_equal(streamed[::3].judgments.y, whole[::3].y)
    doubled = streamed.mapped(lambda part: rw.Queries(part.X, 2 * part.y, part.qid))
    np.testing.assert_array_equal(doubled.judgments.y, 2 * whole.y)


def test_without_feature_names(streamed):
    assert not streamed.has_feature_names
    assert streamed.feature_names[-1] == "f12"
    assert len(streamed) == streamed.shape[0] == 400


# Limits of memory


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ("4GB", 4 * 10**9),
        ("500MB", 5 * 10**8),
        ("2GiB", 2**31),
        ("1.5 gb", 15 * 10**8),
        ("64M", 64 * 10**6),
        (10**7, 10**7),
    ],
)
def test_limits(told, limit):
    assert memory_limit(told) == limit


@pytest.mark.parametrize("told", ["lots", "4", "-3GB", "", 12, 4.5, True, None, "4GBB"])
def test_limits_that_are_none(told, file):
    with pytest.raises(rw.ParameterError, match=r"^memory must"):
        rw.open_queries(file, memory=told)


def test_a_query_that_is_larger_than_the_limit(tmp_path):
    (tmp_path / "one.txt").write_text("".join(f"1 qid:7 1:{i} 2:{i} 30:1\n" for i in range(20_000)))
    streamed = rw.open_queries(tmp_path / "one.txt", memory="1MB", dtype="float64", missing="nan")
    with pytest.raises(rw.DataError, match=r"query number 1 has 20,000 documents.*memory='\d+MB' or more"):
        list(streamed.parts())


# Files that are not there


def test_paths(tmp_path, file):
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "none.txt", tmp_path / "*.svm", tmp_path / "empty"):
        with pytest.raises(FileNotFoundError, match=re.escape(str(path))):
            rw.open_queries(path)
    with pytest.raises(rw.ParameterError, match="at least one file"):
        rw.open_queries([])
    with pytest.raises(rw.ParameterError, match="named twice"):
        rw.open_queries([file, file])
    with pytest.raises(rw.ParameterError, match="no column 'grade'"):
        rw.open_queries(file, label="grade")


# What is kept


def _kept(folder):
    return sorted(folder.glob("*.rankwright"))


def _reads(monkeypatch):
    """How often files are parsed."""
    from rankwright.data.streams import opening

    read, times = opening.text_to_store, []
    monkeypatch.setattr(opening, "text_to_store", lambda *args, **how: times.append(1) or read(*args, **how))
    return times


def test_text_is_parsed_once(file, monkeypatch):
    times = _reads(monkeypatch)
    for memory in ("1MB", "5MB", "1GB"):
        rw.open_queries(file, memory=memory)
    assert len(times) == 1
    assert len(_kept(file.parent)) == 1
    rw.open_queries(file, dtype="float64")
    assert len(_kept(file.parent)) == len(times) == 2


def test_what_is_kept_is_not_trusted_when_the_file_has_changed(file, monkeypatch):
    rw.open_queries(file)
    times = _reads(monkeypatch)
    changed = file.read_text().replace("qid:1 ", "qid:x ")
    for content in (changed, changed.replace("qid:2 ", "qid:3333 ")):
        state = file.stat()
        file.write_text(content)
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))  # of the same time, and the first of the same size
        assert_streams_as(rw.open_queries(file), rw.read_queries(file))
    assert len(times) == 2
    file.touch()
    assert_streams_as(rw.open_queries(file), rw.read_queries(file))
    assert len(times) == 3


@pytest.mark.parametrize("damage", ["cut", "other", "empty", "length", "note"])
def test_what_is_kept_is_not_trusted_when_it_is_damaged(file, damage):
    expected = rw.open_queries(file).in_memory()
    (kept,) = _kept(file.parent)
    content = kept.read_bytes()
    kept.write_bytes(
        {
            "cut": content[:-100],
            "other": b"x" * len(content),
            "empty": b"",
            "length": content[:-34] + (10**12).to_bytes(8, "little") + content[-26:],
            "note": content.replace(b'"rows": 8000', b'"rows": 8001'),
        }[damage]
    )
    assert_same(rw.open_queries(file).in_memory(), expected)
    assert kept.read_bytes() == content


def test_a_folder_for_it_and_its_removal(file, tmp_path):
    rw.open_queries(file, cache=tmp_path / "new" / "kept")
    assert not _kept(file.parent)
    assert len(_kept(tmp_path / "new" / "kept")) == 1
    rw.open_queries(file)
    streamed = rw.open_queries(file, dtype="float64")
    other = file.with_name("data.txt.2.txt")
    other.write_bytes(file.read_bytes())
    rw.open_queries(other)
    assert len(rw.remove_cache(file)) == 2
    assert len(_kept(file.parent)) == 1  # of the other file
    assert streamed.in_memory().n_documents == 8000  # what is open stays readable
    assert len(rw.remove_cache(file, cache=tmp_path / "new" / "kept")) == 1
    assert rw.remove_cache(file) == []


def test_a_folder_that_cannot_be_written_to(file, monkeypatch):
    from rankwright.data.streams import cache

    monkeypatch.setattr(cache.os, "access", lambda *_: False)
    with pytest.warns(UserWarning, match=r"cannot be written to.*cache="):
        streamed = rw.open_queries(file, memory="1MB")
    assert_streams_as(streamed, rw.read_queries(file))
    assert not _kept(file.parent)


def test_a_file_instead_of_a_folder(file):
    with pytest.raises(rw.ParameterError, match="cache must be a folder"):
        rw.open_queries(file, cache=file)


def test_nothing_is_told_where_all_is_well(file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rw.open_queries(file).in_memory()


def test_parts_know_the_extremes_of_all_queries(streamed, whole):
    """Also those that come before the greatest grade; a complete reading tells them, and a selection has its own."""
    for part in streamed.parts():
        assert part.judgments.whole == whole.judgments.whole
        assert part.judgments.run(0, 1).whole == whole.judgments.whole
    for which in (slice(3, 300, 2), slice(0, 200)):
        for one in (streamed[which], streamed[which].mapped(lambda part: part)):
            list(one.parts())
            assert one.whole == whole[which].judgments.whole
        assert streamed[which].whole == whole[which].judgments.whole


def test_a_watch_tells_of_every_pass(streamed):
    told = []
    watched = streamed.watched(told.append)
    for queries in (watched, watched[::2], watched.mapped(lambda part: part)):
        for _ in queries.parts():
            pass
    whats = list(dict.fromkeys(now.what for now in told))
    assert [what.split(" over ")[0] for what in whats] == ["pass 1", "pass 2", "pass 3"]
    assert all(now.in_bytes for now in told)
    for what in whats:
        last = [now for now in told if now.what == what][-1]
        assert last.done == pytest.approx(last.total)


def test_ids_that_numpy_would_round_together_stay_apart():
    """The least type of int64 and uint64 is float64, which has no 2⁵³ + 1."""
    first, second = np.array([2**53, 2**53 + 1]), np.array([2**63 + 1], np.uint64)
    assert joined_ids([first, second]).tolist() == [str(2**53), str(2**53 + 1), str(2**63 + 1)]
