"""Files that change while they are read: a clear error, in time, and never a crash of the process."""

import gzip
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import rankwright as rw
from rankwright.data.svmlight import blocks, parser, parsing

ROW = "1 qid:7 1:0.25 2:0.5 3:1\n"


def in_a_process(folder, code):
    """What a Python of its own prints, with the data file at ``path``; a signal ends it with a negative code."""
    script = "import os, sys\nimport rankwright as rw\nfrom rankwright.data.svmlight import parser\n"
    script += "path = sys.argv[1]\n" + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", script, str(folder / "data.txt")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "RANKWRIGHT_THREADS": "2"},
    )


def test_a_file_truncated_when_its_error_is_caught(tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 1:oops\n" + ROW * 2_000_000)
    done = in_a_process(
        tmp_path,
        """
        try:
            rw.read_svmlight(path)
        except rw.ParseError as error:
            os.truncate(path, 0)
            print(error)
        """,
    )
    assert done.returncode == 0, done.stderr
    assert "line 1, column 11: expected a number" in done.stdout


# What is done to the file as soon as the lines of its first block have been counted.
CHANGES = {
    "truncated": "os.truncate(path, 100)",
    "emptied": "os.truncate(path, 0)",
    "more and shorter rows": "open(path, 'r+b').write(b'1 qid:7\\n' * (os.path.getsize(path) // 8))",
    "appended to": "open(path, 'ab').write(b'1 qid:7 1:1\\n')",
    "wider rows": "open(path, 'r+b').write(b'1 qid:7 99:1\\n' * 100_000)",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_changed_while_it_is_read(tmp_path, change):
    (tmp_path / "data.txt").write_text(ROW * 400_000)
    done = in_a_process(
        tmp_path,
        f"""
        count, changed = parser.count_byte, []

        def count_and_change(text, start, stop, byte):
            lines = count(text, start, stop, byte)
            if stop - start > 1_000_000 and not changed:
                changed.append(True)
                {change}
            return lines

        parser.count_byte = count_and_change
        try:
            print(rw.read_svmlight(path))
        except rw.ParseError as error:
            print(error)
        assert changed
        """,
    )
    assert done.returncode == 0, done.stderr
    assert "data.txt: the file was changed while being read" in done.stdout


@pytest.fixture
def tiny_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 300)
    monkeypatch.setattr(blocks, "SAMPLE", 200)


def when_first_looked_at(monkeypatch, change):
    """Have the file changed after its samples have been parsed, and before its blocks are read."""
    original = parser.Parser.look_at

    def look_at(*arguments):
        original(*arguments)
        change()

    monkeypatch.setattr(parser.Parser, "look_at", look_at)


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_that_changes_between_two_looks(tmp_path, monkeypatch, tiny_blocks, compress):
    path = tmp_path / "data.txt"
    path.write_bytes(compress(ROW.encode() * 1000))
    later = time.time_ns() + 10**9

    def change():
        with path.open("r+b") as file:
            file.write(compress(b"0" + ROW.encode()[1:] * 999))
        os.utime(path, ns=(later, later))  # clocks of files tick slowly

    when_first_looked_at(monkeypatch, change)
    with pytest.raises(rw.ParseError, match=r"data\.txt: the file was changed while being read"):
        rw.read_svmlight(path)


def test_a_fault_in_a_file_that_has_changed_is_not_blamed_on_its_lines(tmp_path, monkeypatch, tiny_blocks):
    path = tmp_path / "data.txt"
    path.write_text(ROW * 1000)
    when_first_looked_at(monkeypatch, lambda: os.truncate(path, 1007))
    with pytest.raises(rw.ParseError, match="changed while being read") as caught:
        rw.read_svmlight(path)
    assert caught.value.line is None


def test_a_file_replaced_while_it_is_read_is_read_as_it_was(tmp_path, monkeypatch, tiny_blocks):
    path = tmp_path / "data.txt"
    wide = "1 qid:7 1:0.25 2:0.5 3:1 4:1\n"
    path.write_text(ROW * 500 + wide + ROW * 500)  # read twice, as most rows are narrower

    def replace():
        (tmp_path / "new.txt").write_text("1 qid:8 1:1\n")
        (tmp_path / "new.txt").replace(path)
        monkeypatch.undo()

    when_first_looked_at(monkeypatch, replace)
    assert rw.read_svmlight(path).X.shape == (1001, 4)


def test_the_kernel_stops_where_its_arrays_end():
    text = np.frombuffer(ROW.encode() * 10 + bytes(blocks.PADDING), np.uint8)
    room = 4
    spans = np.full((room + 1, 2), -1)
    report = np.zeros(parsing.REPORT_LENGTH, np.int64)
    cells = np.full(3 * room + 3, -1.0, np.float32)
    parsing.parse_block(
        text.ctypes.data,
        0,
        10 * len(ROW),
        True,
        1,
        False,
        3,
        False,
        0.0,
        cells,
        np.empty(0, np.int32),
        np.empty(room, np.int64),
        np.empty(room),
        np.empty(room, np.int64),
        spans[:room],
        np.empty((room, 2), np.int64),
        np.empty((8, 3), np.int64),
        report,
    )
    assert report[parsing.STATUS] == parsing.NO_ROOM
    assert report[parsing.ROWS] == room
    assert spans[room].tolist() == [-1, -1]
    assert cells[3 * room :].tolist() == [-1, -1, -1]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_no_thread_is_still_parsing_when_an_error_leaves(tmp_path, monkeypatch, tiny_blocks, threads):
    monkeypatch.setenv("RANKWRIGHT_THREADS", threads)
    path = tmp_path / "data.txt"
    path.write_text("1 qid:7 1:oops\n" + ROW * 1000)
    parse, running, lock = parser.Parser.parse, [0], threading.Lock()

    def slow_but_for_the_first(self, task):
        with lock:
            running[0] += 1
        if b"oops" not in bytes(task.block.text[task.block.start : task.block.stop]):
            time.sleep(0.05)
        try:
            return parse(self, task)
        finally:
            with lock:
                running[0] -= 1

    monkeypatch.setattr(parser.Parser, "parse", slow_but_for_the_first)
    with pytest.raises(rw.ParseError, match="line 1, column 11") as caught:
        rw.read_svmlight(path)
    assert running == [0], caught  # which holds on to the frames of the reader


def test_parquet_and_csv_that_change(tmp_path, monkeypatch):
    from rankwright.data import csv, parquet

    queries = rw.Queries(np.arange(12.0).reshape(6, 2), [0, 1, 2, 0, 1, 2], qid=[1, 1, 1, 2, 2, 2])
    path, table = tmp_path / "data.parquet", tmp_path / "data.csv"
    rw.write_parquet(queries, path)
    table.write_text("qid,label,f\n" + "1,0,2.5\n" * 5)

    def then(module, name, change):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, **named: (original(*given, **named), change())[0])

    then(parquet, "_read", lambda: rw.write_parquet(queries[:1], path))
    with pytest.raises(rw.ParseError, match=r"data\.parquet: the file was changed while being read"):
        rw.read_parquet(path)
    then(parquet, "_read", path.unlink)
    with pytest.raises(rw.ParseError, match=r"data\.parquet: the file was changed while being read"):
        rw.read_parquet(path)
    then(csv.CsvReader, "queries", lambda: table.write_text("qid,label,f\n1,0,2.5\n"))
    with pytest.raises(rw.ParseError, match=r"data\.csv: the file was changed while being read"):
        rw.read_queries(table)
