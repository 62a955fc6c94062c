"""Files that are not read: each is refused for what it is, whatever its name."""

import io
import pickle
import sqlite3
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.orc
import pytest

import rankwright as rw
from rankwright.errors import ParseError

TABLE = pa.table({"label": [1, 0], "qid": [1, 1], "a": [0.5, 2.0]})


def made(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def workbook(file):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")


def archive_of_text(file):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("train.txt", "1 qid:1 1:2\n")


def arrow_file(file):
    with pa.ipc.new_file(file, TABLE.schema) as writer:
        writer.write_table(TABLE)


def arrow_stream(file):
    with pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE)


def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table judged (qid, label)")
    return path.read_bytes()


FORMATS = {
    "Excel": made(workbook),
    "zip archive": made(archive_of_text),
    r"\.npz": made(lambda file: np.savez(file, x=np.zeros(2))),
    "NumPy array": made(lambda file: np.save(file, np.zeros(2))),
    "pickle": pickle.dumps(TABLE.to_pydict()),
    "Python pickle": pickle.dumps([1, 2], protocol=2),
    "pickle, which": made(lambda file: pd.DataFrame({"a": [1]}).to_pickle(file, compression=None)),
    "Feather": made(lambda file: pyarrow.feather.write_feather(TABLE, file)),
    "Arrow or": made(arrow_file),
    "Arrow stream": made(arrow_stream),
    "ORC": made(lambda file: pyarrow.orc.write_table(TABLE, file)),
    "JSON array": TABLE.to_pandas().to_json(orient="records").encode(),
    "HTML": b"\n<!DOCTYPE html>\n<html><body>404</body></html>",
    "XML": b'<?xml version="1.0"?><a/>',
    "RankLib model": b"## LambdaMART\n## No. of trees = 10\n\n<ensemble>\n\t<tree id='1'>",
    "UTF-16": "label,qid\n1,2\n".encode("utf-16"),
    "bzip2": b"BZh91AY&SY",
    "PDF": b"%PDF-1.7",
}


@pytest.mark.parametrize("told", FORMATS)
@pytest.mark.parametrize("name", ["data", "data.csv", "data.txt", "data.jsonl"])
def test_each_is_refused_for_what_it_is(tmp_path, told, name):
    path = tmp_path / name
    path.write_bytes(FORMATS[told])
    with pytest.raises(ParseError, match=rf"^{path}: this is .*{told}") as raised:
        rw.read_queries(path)
    assert "\n" not in str(raised.value)


def test_a_database(tmp_path):
    database(tmp_path / "data.csv")
    with pytest.raises(ParseError, match="SQLite database"):
        rw.read_queries(tmp_path / "data.csv")


@pytest.mark.parametrize("first", [b"# <html> is no comment\n", b"#[1]\n", b"0 qid:1 1:2 # {}\n"])
def test_text_that_has_such_letters_is_read(tmp_path, first):
    (tmp_path / "data.txt").write_bytes(first + b"1 qid:1 1:0.5 # a,b;c|d\n")
    assert rw.read_queries(tmp_path / "data.txt").n_documents == 1 + first.startswith(b"0")
