"""Bad invocations and bad inputs: a line that names what is wrong, a documented exit code, and nothing left behind."""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import pickle
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.main

from rankwright.cli.main import main
from tests.cli.conftest import TEXT

resource = pytest.importorskip("resource", reason="pipes, links and limits as Unix has them")

CSV = "label,qid,a,b\n2,1,0.5,3\n0,1,0.25,1\n0,2,0.5,1\n1,2,1.5,3\n"
SCORES = "6\n5\n4\n3\n2\n1\n"
MODEL = {
    "format": "rankwright-model",
    "version": 1,
    "made_by": "rankwright 0",
    "ranker": "RankRLS",
    "parameters": {},
    "n_features": 3,
    "feature_names": None,
    "intercept": 0.0,
    "weights": [[1, 0.5], [2, -1.0]],
    "training": {},
}
LONG = "x" * 300
USAGE, DATA, NO_INPUT, CANNOT_CREATE = 2, 65, 66, 73


def parquet(**columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def model(**fields):
    return json.dumps({**MODEL, **fields})


PARQUET = parquet(label=[2.0, 0.0, 1.0, 0.0], qid=[1, 1, 2, 2], a=[0.5, 1.0, 2.0, 1.0], b=[1.0, 2.0, 3.0, 4.0])


class Case(NamedTuple):
    """A command, the exit code, what the error must name, and what stands in the file ``bad``, if any."""

    kind: str
    command: str
    code: int
    told: str
    bad: object = None


def fitted(kind, bad, told, *, name="bad.txt", code=DATA, options=""):
    return Case(kind, f"fit {name} --ranker regression --out new {options}", code, told, bad)


def loaded(kind, bad, told):
    return Case(kind, "predict bad.json data.txt --out new", DATA, told, bad)


def scored(kind, bad, told):
    return Case(kind, "evaluate bad data.txt --per-query new", DATA, told, bad)


def mapped(kind, bad, told, code=DATA):
    return Case(kind, "export model.json --to sql --features-map bad --out new", code, told, bad)


def priced(kind, bad, told):
    return Case(kind, "select data.txt --costs bad --out new.csv", DATA, told, bad)


def loop(path):
    path.symlink_to(path.name)


def link_to_nowhere(path):
    path.symlink_to("nowhere")


def link_into_nowhere(path):
    path.symlink_to("no/where.txt")


def link_to_data(path):
    path.symlink_to("data.txt")


def folder_with_folder(path):
    (path / "model.json").mkdir(parents=True)


def folder_with_data(path):
    path.mkdir()
    (path / "report.html").write_text(TEXT)


def folder_with_work_file(path):
    path.mkdir()
    (path / ".rankwright-fit").write_text("")


WRONG_WORDS = [
    Case("no such command", "frobnicate", USAGE, "frobnicate"),
    Case("no such option", "inspect data.txt --colour", USAGE, "--colour"),
    Case("no such short option", "inspect data.txt -x", USAGE, "-x"),
    Case("half an option", "inspect data.txt --js", USAGE, "--json"),
    Case("no such option before a command", "--verison", USAGE, "--version"),
    Case("an argument is missing", "inspect", USAGE, "'DATA'"),
    Case("the second argument is missing", "convert data.txt", USAGE, "'OUT'"),
    Case("an argument too many", "inspect data.txt data.csv", USAGE, "data.csv"),
    Case("an option is missing", "fit data.txt", USAGE, "--out"),
    Case("an option without its value", "fit data.txt --out", USAGE, "--out"),
    Case("a flag with a value", "inspect data.txt --json=yes", USAGE, "--json"),
    Case("words for a whole number", "fit data.txt --out new --folds many", USAGE, "--folds"),
    Case("a fraction for a whole number", "fit data.txt --out new --folds 2.5", USAGE, "--folds"),
    Case("words for a number", "fit data.txt --out new --delta little", USAGE, "--delta"),
    Case("an option twice: the last one counts", "fit data.txt --out new --delta 0.1 --delta 7", USAGE, "7"),
    Case("an option after --", "inspect -- --json", NO_INPUT, "--json"),
    Case("an empty argument", "inspect ''", USAGE, "argument 2"),
    Case("an empty output", "fit data.txt --out ''", USAGE, "argument 4"),
    Case("an empty value after =", "fit data.txt --out=", USAGE, "--out="),
    Case("a group without its command", "reproduce", USAGE, "Missing command"),
    Case("no such reproduction", "reproduce nothing --data . --out new", USAGE, "nothing"),
    Case("no such study", "study nothing", USAGE, "nothing"),
]

WRONG_PATHS = [
    Case("no such file", "fit no.txt --out new", NO_INPUT, "no.txt"),
    Case("no such validation file", "train data.txt --valid no.txt --out new", NO_INPUT, "no.txt"),
    Case("no such model", "predict no.json data.txt", NO_INPUT, "no.json"),
    Case("no such baseline", "certify model.json data.txt --baseline no.json", NO_INPUT, "no.json"),
    Case("no such map", "export model.json --to sql --features-map no.json", NO_INPUT, "no.json"),
    Case("no such costs", "select data.txt --costs no.csv", NO_INPUT, "no.csv"),
    Case("a folder for a file", "inspect empty", NO_INPUT, "empty"),
    Case("a file for a folder on the way", "inspect data.txt/x", NO_INPUT, "data.txt/x"),
    Case("a file for a folder of data", "reproduce order-preserving --data data.txt", NO_INPUT, "data.txt"),
    Case("a folder without collections", "reproduce greedy-rankrls --data empty --out new", NO_INPUT, "MQ2007"),
    Case("no such folder of data", "reproduce large-margin --data no --out new", NO_INPUT, "no"),
    Case("a name too long to read", f"inspect {LONG}", NO_INPUT, LONG),
    Case("a loop of links to read", "inspect bad", NO_INPUT, "bad", loop),
    Case("a link to nowhere to read", "inspect bad", NO_INPUT, "bad", link_to_nowhere),
    Case("a device that is empty", "inspect /dev/null", DATA, "/dev/null"),
    Case("a device to fit on", "fit /dev/null --out new", USAGE, "/dev/null"),
    Case("a pipe to fit on", "fit bad --out new", USAGE, "bad is a pipe", os.mkfifo),
    Case("a pipe of costs to fit with", "fit data.txt --costs bad --out new", USAGE, "bad is a pipe", os.mkfifo),
    Case("the output is the input", "train data.txt --out data.txt", USAGE, "data.txt is also an input"),
    Case("the output is the model", "predict model.json data.txt --out model.json", USAGE, "model.json is also"),
    Case("the output is the input by another way", "convert data.txt empty/../data.txt", USAGE, "also an input"),
    Case("the output is a link to the input", "convert data.txt bad.txt", USAGE, "also an input", link_to_data),
    Case("a result of the folder is the input", "fit bad/report.html --out bad", USAGE, "also", folder_with_data),
    Case("a folder where a file is to be", "train data.txt --out empty", CANNOT_CREATE, "empty"),
    Case("a file where a folder is to be", "fit data.txt --out data.csv", CANNOT_CREATE, "data.csv"),
    Case("a file where a study is to be", "study bounds data.txt --out data.csv", CANNOT_CREATE, "data.csv"),
    Case("a folder where a result is to be", "fit data.txt --out bad", CANNOT_CREATE, "model.json", folder_with_folder),
    Case("a file where work is to be kept", "fit data.txt --ranker regression --out bad", CANNOT_CREATE, "bad",
         folder_with_work_file),
    Case("no folder for the output file", "train data.txt --out no/new", CANNOT_CREATE, "no folder no"),
    Case("no folder for the output folder", "fit data.txt --out no/new", CANNOT_CREATE, "no folder no"),
    Case("a file for the output's folder", "export model.json --to sql --out data.txt/x", CANNOT_CREATE, "data.txt"),
    Case("a name too long for a file", f"convert data.txt {LONG}.txt", CANNOT_CREATE, LONG),
    Case("a name too long for a folder", f"fit data.txt --out {LONG}", CANNOT_CREATE, LONG),
    Case("a name too long for a study", f"study bounds --out {LONG}", CANNOT_CREATE, LONG),
    Case("a loop of links to a folder", "fit data.txt --out bad", CANNOT_CREATE, "bad", loop),
    Case("a link to a folder that is not there", "study bounds --out bad", CANNOT_CREATE, "bad", link_to_nowhere),
    Case("a link into a folder that is not there", "convert data.txt bad.txt", CANNOT_CREATE, "no folder",
         link_into_nowhere),
    Case("a full device", "predict model.json data.txt --out /dev/full", CANNOT_CREATE, "No space left"),
    Case("an ending that is no format", "convert data.txt new.xyz", USAGE, ".parquet"),
    Case("an ending that is no format for paths", "select data.txt --out new.xyz", USAGE, "--out"),
    Case("model and data exchanged", "predict data.txt model.json", DATA, "data.txt, line 1"),
]  # fmt: skip

WRONG_VALUES = [
    Case("no such measure", "evaluate scores.txt data.txt --measures speed", USAGE, "'speed'"),
    Case("a cutoff of 0", "evaluate scores.txt data.txt --measures ndcg@0", USAGE, "cutoff"),
    Case("a cutoff that is no number", "evaluate scores.txt data.txt --measures ndcg@x", USAGE, "'ndcg@x'"),
    Case("a measure without its cutoff", "evaluate scores.txt data.txt --measures p", USAGE, "p@10"),
    Case("a hole in a list", "evaluate scores.txt data.txt --measures ndcg,,map", USAGE, "measures"),
    Case("code for a measure", "evaluate scores.txt data.txt --measures 'ndcg(__import__)@3'", USAGE, "__import__"),
    Case("an option of a measure", "evaluate scores.txt data.txt --measures 'ndcg(gain=1)'", USAGE, "gain"),
    Case("no such convention", "evaluate scores.txt data.txt --convention mine", USAGE, "convention"),
    Case("two measures for one", "fit data.txt --out new --measure ndcg@10,map", USAGE, "--measure"),
    Case("no such ranker to fit", "fit data.txt --out new --ranker magic", USAGE, "--ranker"),
    Case("a budget that is no time", "fit data.txt --out new --budget soon", USAGE, "--budget"),
    Case("a budget of nothing", "fit data.txt --out new --budget 0s", USAGE, "--budget"),
    Case("one fold", "fit data.txt --out new --folds 1", USAGE, "--folds"),
    Case("no such rule", "fit data.txt --out new --rule any", USAGE, "rule"),
    Case("a probability above 1", "fit data.txt --out new --delta 7", USAGE, "delta"),
    Case("a probability of 0", "bounds model.json data.txt --delta 0", USAGE, "delta"),
    Case("a probability that is NaN", "bounds model.json data.txt --delta nan", USAGE, "delta"),
    Case("a seed below 0", "fit data.txt --out new --seed -1", USAGE, "--seed"),
    Case("no such baseline feature", "fit data.txt --ranker regression --out new --baseline bm25", USAGE, "'bm25'"),
    Case("the same, into a folder that is there", "fit data.txt --out empty --baseline bm25", USAGE, "'bm25'"),
    Case("columns of text", "fit data.txt --out new --label grade", USAGE, "label"),
    Case("no such column", "fit data.csv --out new --label grade", DATA, "'grade'"),
    Case("one column in two parts", "fit data.csv --out new --label qid", DATA, "named twice"),
    Case("no such type of number", "convert data.txt new.txt --dtype int8", USAGE, "--dtype"),
    Case("no such value for what is missing", "inspect data.txt --missing x", USAGE, "--missing"),
    Case("no features wanted", "select data.txt --max-features 0", USAGE, "--max-features"),
    Case("more features than there are", "select data.txt --max-features 99", USAGE, "--max-features"),
    Case("an alpha of 0", "select data.txt --alpha 0", USAGE, "--alpha"),
    Case("a range that falls", "select data.txt --alpha 2^5..2^0", USAGE, "--alpha"),
    Case("a range beyond all numbers", "select data.txt --alpha 2^0..2^99999999", USAGE, "--alpha"),
    Case("two criteria", "select data.txt --criterion ndcg,map", USAGE, "--criterion"),
    Case("no candidates", "select data.txt --candidates 0", USAGE, "candidates"),
    Case("no such ranker to train", "train data.txt --out new --ranker magic", USAGE, "--ranker"),
    Case("an option of another ranker", "train data.txt --out new --ranker rankrls --loss hinge", USAGE, "--loss"),
    Case("no such loss", "train data.txt --out new --loss magic", USAGE, "loss"),
    Case("stopping early by nothing", "train data.txt --out new --early-stopping", USAGE, "--valid"),
    Case("a gap below 0", "train data.txt --out new --tol -1", USAGE, "tol"),
    Case("no steps", "train data.txt --out new --max-iter 0", USAGE, "--max-iter"),
    Case("a measure that cannot be optimised", "train data.txt --out new --ranker structured --measure err@9", USAGE,
         "--measure"),
    Case("weights that rise", "train data.txt --out new --ranker structured --position-weights 1,2", USAGE,
         "position_weights"),
    Case("a loss that is not consistent", "train data.txt --out new --ranker order-preserving --standardize ap", USAGE,
         "theorem 3"),
    Case("no such target", "export model.json --to magic", USAGE, "--to"),
    Case("an option of another target", "export model.json --to sql --store x", USAGE, "--store"),
    Case("bytes to print", "export model.json --to onnx", USAGE, "--out"),
    Case("a name outside a grammar", "export model.json --to vespa --name 'a b'", USAGE, "'a b'"),
    Case("no such bound", "bounds model.json data.txt --kind x", USAGE, "--kind"),
    Case("a measure for bounds without one", "bounds model.json data.txt --measure map", USAGE, "measure AP"),
    Case("a length below 0", "bounds model.json data.txt --B -1", USAGE, "B must"),
    Case("an infinite length", "bounds model.json data.txt --B inf", USAGE, "B must"),
    Case("no such method", "certify model.json data.txt --method x", USAGE, "method"),
    Case("a measure without a greatest value", "certify model.json data.txt --measure dcg@3", USAGE, "DCG @ 3"),
    Case("no such query", "explain model.json data.txt --query 9", USAGE, "'9'"),
    Case("no such document", "explain model.json data.txt --query 1 --document row:99", USAGE, "row:99"),
    Case("a rise of nothing", "explain model.json data.txt --query 1 --to-rank 1", USAGE, "--document"),
    Case("a rise downwards", "explain model.json data.txt --query 1 --document 2 --to-rank 3", USAGE, "to_rank"),
    Case("no such demonstration", "consistency magic", USAGE, "'magic'"),
    Case("a demonstration and a measure", "consistency preorder --measure ap", USAGE, "not both"),
    Case("an option that waits for another", "consistency --items 4", USAGE, "--items"),
    Case("too many items", "consistency --measure ap --items 7", USAGE, "7"),
    Case("labels below 0", "consistency --measure ap --labels -1,0", USAGE, "--labels"),
    Case("sizes that are no numbers", "study bounds --sizes few", USAGE, "--sizes"),
    Case("more queries than there are", "study bounds data.txt --sizes 100", DATA, "2 queries"),
    Case("no repeats", "study bounds --repeats 0", USAGE, "--repeats"),
]  # fmt: skip

WRONG_TEXT = [
    fitted("an empty file", "", "bad.txt: the file is empty"),
    fitted("only comments", "\n# nothing\n", "bad.txt: the file holds no documents"),
    fitted("binary data", bytes(range(256)), "bad.txt, line 1"),
    fitted("other text", "once upon a time", "bad.txt, line 1"),
    fitted("a page", "<html>", "bad.txt: this is an HTML or XML page"),
    fitted("another encoding", TEXT.encode("utf-16"), "bad.txt: this is text in UTF-16"),
    fitted("CSV by the name of text", "grade,qid,a\n1,1,2\n", "bad.txt: there is no column 'label'"),
    fitted("gzip that is cut off", gzip.compress(TEXT.encode())[:-12], "bad.txt: the gzip stream ends too early"),
    fitted("garbage after gzip", gzip.compress(TEXT.encode()) + b"garbage", "bad.txt: the gzip stream is damaged"),
    fitted("a grade that is no number", "0 qid:1 1:2\nx qid:1 1:2\n", "bad.txt, line 2, column 1"),
    fitted("a grade below 0", "-1 qid:1 1:2\n", "at least 0"),
    fitted("a grade that is NaN", "nan qid:1 1:2\n", "expected a grade (a number), found 'nan'"),
    fitted("a grade too large", "1e999 qid:1 1:2\n", "finite"),
    fitted("a grade whose gain overflows", f"99999 qid:9 1:1\n{TEXT}", "query 9"),
    fitted("a feature that is no number", "1 qid:1 1:x\n", "line 1, column 11"),
    fitted("a feature with a sign alone", "1 qid:1 1:-\n", "expected a number or NULL, found '-'"),
    fitted("a feature without a value", "1 qid:1 1: 2:1\n0 qid:2 1:1\n", "bad.txt"),
    fitted("a feature without a number", "1 qid:1 :1\n", "line 1, column 9"),
    fitted("features that are infinite", f"1 qid:9 1:inf\n{TEXT}", "bad.txt: the data have infinite values"),
    fitted("a feature too large", "1 qid:1 1:1e999\n", "fits float64"),
    fitted("features out of order", "1 qid:1 2:2 1:1\n", "rise along the line"),
    fitted("a feature twice", "1 qid:1 1:2 1:1\n", "line 1, column 13"),
    fitted("a feature numbered 2^40", "1 qid:1 1099511627776:2\n", "1099511627776"),
    fitted("a feature numbered below 0", "1 qid:1 -1:2\n", "'-1:2'"),
    fitted("a line without its query", "1 qid:1 1:2\n0 1:3\n", "line 2, column 3"),
    fitted("a query after lines without one", "1 1:2\n0 qid:1 1:3\n", "line 2, column 3"),
    fitted("a query without a name", "1 qid: 1:2\n", "line 1, column 7"),
    fitted("a query whose name is too long", f"1 qid:{'a' * 5000} 1:1\n", "line 1, column 7"),
    fitted("a query's name in another encoding", b"1 qid:caf\xe9 1:1\n", "UTF-8"),
    fitted("lines that end as on old Macs", "1 qid:1 1:2\r0 qid:1 1:3\r", "carriage return"),
    fitted("one query", "1 qid:1 1:1\n0 qid:1 1:2\n", "validation data"),
    fitted("no features", "1 qid:1\n0 qid:1\n", "bad.txt: there are no features"),
    fitted("grades that teach nothing", "1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:2\n", "nothing to learn"),
    fitted("queries of one document", "1 qid:1 1:1\n0 qid:2 1:2\n", "nothing to learn: every row is"),
    Case("a ranker of queries of one document", "train bad.txt --out new", DATA, "is qid the right column",
         "1 qid:1 1:1\n0 qid:2 1:2\n"),
    Case("a selection from equal grades", "select bad.txt", DATA, "all documents have the same grade",
         "1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:2\n"),
    fitted("no query that counts", "0.5 qid:1 1:1\n0 qid:1 1:2\n0 qid:2 1:2\n", "0 of 2",
           options="--measure 'ndcg(empty=None)@9'"),
    Case("one validation query", "fit data.txt --valid bad.txt --ranker regression --out new", DATA, "1 of 1",
         "1 qid:1 1:1\n0 qid:1 1:2\n"),
    Case("infinite test data", "fit data.txt --test bad.txt --ranker regression --out new", DATA, "bad.txt: the",
         "1 qid:1 1:inf 3:4\n"),
    Case("too few features in named data", "predict model.json data.csv --out new", DATA, "data.csv: there are 2"),
    Case("too few queries to study", "study bounds data.txt --out new", DATA, "2 queries"),
]  # fmt: skip

WRONG_TABLES = [
    fitted("an empty table", "", "bad.csv", name="bad.csv"),
    fitted("names without rows", "label,qid,a\n", "no documents", name="bad.csv"),
    fitted("a row too short", "label,qid,a\n1,1,2\n0,1\n", "bad.csv, line 3", name="bad.csv"),
    fitted("a row too long", "label,qid,a\n1,1,2,3\n", "bad.csv, line 2", name="bad.csv"),
    fitted("two columns of a name", "label,qid,a,a\n1,1,2,3\n", "'a'", name="bad.csv"),
    fitted("a column without a name", "label,qid,,a\n1,1,2,3\n", "column 3", name="bad.csv"),
    fitted("no names", "1,2,3\n0,4,5\n", "bad.csv, line 1: the first line contains numbers", name="bad.csv"),
    fitted("no names, but ids", "1,q1,3\n0,q1,5\n", "bad.csv, line 1: the first line contains numbers", name="bad.csv"),
    fitted("no column of grades", "qid,a\n1,2\n", "'label'", name="bad.csv"),
    fitted("no column of queries", "label,a\n1,2\n", "'qid'", name="bad.csv"),
    fitted("a word among numbers", "label,qid,a\n1,1,2\n0,1,abc\n0,2,3\n", "bad.csv, line 3: column 'a' is 'abc'",
           name="bad.csv"),
    fitted("decimal points and commas", "label;qid;a;b\n1;1;0,5;2.5\n", "bad.csv, line 2: column 'b' is '2.5'",
           name="bad.csv"),
    fitted("commas in numbers", 'label,qid,a\n1,1,"1,200"\n', "line 2: column 'a' is '1,200'", name="bad.csv"),
    fitted("no such pattern", CSV, "'x*'", name="bad.csv", options="--features 'x*'"),
    fitted("nothing to leave out", CSV, "'-price'", name="bad.csv", options="--features -price"),
    fitted("a hole in the features", CSV, "--features", name="bad.csv", code=USAGE, options="--features a,,b"),
    fitted("no such column to encode", CSV, "'colour'", name="bad.csv", options="--one-hot colour"),
    fitted("grades to encode", CSV, "'label' is named twice", name="bad.csv", options="--one-hot label"),
    fitted("text to encode that has no columns", TEXT, "--one-hot", code=USAGE, options="--one-hot colour"),
    fitted("no such feature of text", TEXT, "bad.txt: there is no column 'f9'", options="--features f9"),
    fitted("too many values to encode", "label,qid,a\n" + "".join(f"1,1,v{i}\n" for i in range(1001)), "1,001 distinct",
           name="bad.csv", options="--one-hot a"),
    fitted("a column that is text by its name", "label,qid,a,t\n1,1,2,x\n", "column 't' is String", name="bad.csv",
           options="--features a,t"),
    fitted("an Excel workbook", b"PK\x03\x04..[Content_Types].xml", "Excel", name="bad.xlsx"),
    fitted("an Excel workbook by the name of CSV", b"PK\x03\x04..[Content_Types].xml", "Excel", name="bad.csv"),
    fitted("an old Excel workbook", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel", name="bad.xls"),
    fitted("a pickle", pickle.dumps({"a": [1]}), "pickle", name="bad.pkl"),
    fitted("a Feather file", b"ARROW1\0\0", "Feather", name="bad.feather"),
    fitted("an array", b"\x93NUMPY\x01", "NumPy", name="bad.npy"),
    fitted("a RankLib model", "## LambdaMART\n<ensemble>\n", "RankLib model"),
    fitted("a JSON array", '[{"qid": 1, "label": 0}]', "JSON array", name="bad.json"),
    fitted("JSON that is cut off", '{"qid": 1, "label": 0}\n{"qid": 1, ', "bad.jsonl, line 2", name="bad.jsonl"),
    fitted("a list in JSON lines", '{"qid": 1, "label": 0}\n[1, 2]\n', "bad.jsonl, line 2", name="bad.jsonl"),
    fitted("features of several lengths in JSON lines",
           '{"qid": 1, "label": 0, "features": [1]}\n{"qid": 1, "label": 0, "features": [1, 2]}\n',
           "bad.jsonl, line 2: there are 2 features, but 1 in line 1", name="bad.jsonl"),
    fitted("no grade in JSON lines", '{"qid": 1, "label": 0, "a": 1}\n{"qid": 1, "a": 2}\n', "bad.jsonl, line 2",
           name="bad.jsonl"),
    Case("no such column description", "fit data.csv --out new --column-description no.cd", NO_INPUT, "no.cd"),
    Case("a column description that is none", "fit data.csv --out new --column-description bad.cd", DATA,
         "bad.cd, line 1", "label\n"),
    Case("a column description without queries", "fit data.csv --out new --column-description bad.cd", DATA,
         "bad.cd: one column must be GroupId", "0\tLabel\n"),
    Case("a type of column that is none", "fit data.csv --out new --column-description bad.cd", DATA, "'Grade'",
         "0\tGrade\n"),
    Case("a column description of more columns", "fit data.csv --out new --column-description bad.cd", DATA,
         "bad.cd: there is a column 9", "0\tLabel\n1\tQueryId\n9\tNum\n"),
    fitted("grades that are words", "label,qid,a\ngood,1,2\n", "bad.csv, line 2: column 'label' is 'good'",
           name="bad.csv"),
    fitted("a grade below 0 in a table", "label,qid,a\n-1,1,2\n", "query 1", name="bad.csv"),
    fitted("a missing grade", "label,qid,a\n,1,2\n0,1,3\n", "bad.csv, line 2: there is no value in column 'label'",
           name="bad.csv"),
    fitted("a missing query", "label,qid,a\n1,NA,2\n0,1,3\n", "bad.csv, line 2: there is no value in column 'qid'",
           name="bad.csv"),
    fitted("a missing query among words", "label,qid,a\n1,x,2\n0,,3\n", "bad.csv, line 3", name="bad.csv"),
    fitted("an infinite feature", "label,qid,a\n1,1,inf\n0,1,3\n1,2,4\n", "infinite", name="bad.csv"),
    fitted("a feature of words", "label,qid,a\n1,1,x\n0,1,y\n", "bad.csv: there are no features", name="bad.csv"),
    fitted("a feature of dates", "label,qid,a\n1,1,2020-01-01\n", "there are no features", name="bad.csv"),
    fitted("a line break in quotes", 'label,qid,a\n1,1,"2\n3"\n', "there are no features", name="bad.csv"),
    fitted("quotes that do not close", 'label,qid,a\n1,1,"2\n', "there are no features", name="bad.csv"),
    fitted("names in another encoding", b"label,qid,caf\xe9\n1,1,2\n", "UTF-8", name="bad.csv"),
    fitted("values in another encoding", b"label,qid,a\n1,caf\xe9,2\n", "'qid'", name="bad.csv"),
    fitted("a table cut off in gzip", gzip.compress(CSV.encode())[:-5], "gzip", name="bad.csv.gz"),
    Case("fewer features than in training", "fit data.csv --test bad.csv --out new", DATA,
         "bad.csv does not have the same features as data.csv: 'b' is missing", "label,qid,a,c\n1,1,2,3\n"),
    Case("more features than text has names for", "fit data.txt --test bad.csv --out new", DATA,
         "bad.csv does not have the same features as data.txt: 'f1' is missing", "label,qid,a,b,c\n1,1,2,3,4\n"),
    Case("names in training only", "fit data.csv --test data.txt --out new", DATA,
         "data.txt does not have the same features"),
    fitted("Parquet that is cut off", PARQUET[: len(PARQUET) // 2], "bad.parquet", name="bad.parquet"),
    fitted("Parquet of nothing but its name", b"PAR1" + b"x" * 50 + b"PAR1", "bad.parquet", name="bad.parquet"),
    fitted("text by the name of Parquet", "label", "bad.parquet, line 1", name="bad.parquet"),
    fitted("Parquet without grades", parquet(qid=[1, 2], a=[1.0, 2.0]), "'label'", name="bad.parquet"),
    fitted("Parquet with null for a query", parquet(label=[1, 0], qid=[1, None], a=[1, 2]), "'qid'", name="bad.pq"),
]  # fmt: skip

WRONG_MODELS = [
    loaded("an empty model", "", "bad.json, line 1, column 1"),
    loaded("a model that is cut off", model()[:-1], "bad.json, line 1"),
    loaded("a model that is no text", b"\xff\xfe\x00", "UTF-8"),
    loaded("other JSON", "{}", '"format"'),
    loaded("a list for a model", "[]", "object"),
    loaded("JSON that is nested deeply", "[" * 100_000, "deeply"),
    loaded("text after a model", model() + "x", "Extra data"),
    loaded("a newer model", model(version=99), "newer"),
    loaded("no version", model(version=None), "version"),
    loaded("another format", model(format="other"), '"format"'),
    loaded("a field twice", model()[:-1] + ', "version": 1}', "'version' is given twice"),
    loaded("a field missing", json.dumps({k: v for k, v in MODEL.items() if k != "weights"}), "'weights' is missing"),
    loaded("a field too many", model(extra=1), "'extra'"),
    loaded("a weight that is NaN", model().replace("0.5", "NaN"), "NaN"),
    loaded("a weight too large", model().replace("0.5", "1e999"), "1e999"),
    loaded("a weight that is text", model(weights=[[1, "x"]]), "entry 1"),
    loaded("a weight of no feature", model(weights=[[4, 1.0]]), "no feature 4"),
    loaded("two weights of a feature", model(weights=[[1, 1.0], [1, 2.0]]), "entry 2"),
    loaded("a weight that is no pair", model(weights=[[1]]), "entry 1"),
    loaded("features below 0", model(n_features=-1), "n_features"),
    loaded("features beyond all numbers", model(n_features=10**12), "n_features"),
    loaded("names for some features", model(feature_names=["a"]), "feature_names"),
    loaded("two features of a name", model(feature_names=["a", "a", "b"]), "'a'"),
    loaded("a scale of 0", model(version=2, standardisation=[[1, 0, 0]]), "scale"),
    loaded("scores that overflow", model(weights=[[1, 1e308], [2, 1e308]]), "overflows"),
    Case("a model without the features", "explain bad.json data.csv --query 1", DATA, "data.csv", model(n_features=9)),
]

WRONG_COMPANIONS = [
    scored("no scores", "", "line 1"),
    scored("too few scores", "1\n2\n", "2 scores for 6"),
    scored("too many scores", SCORES + "0\n", "7 scores for 6"),
    scored("a score that is no number", SCORES.replace("3", "x"), "bad, line 4"),
    scored("a score that is NaN", SCORES.replace("5", "nan"), "bad, line 2"),
    scored("two scores in a line", SCORES.replace("6", "6 6"), "bad, line 1"),
    scored("a hole in the scores", SCORES.replace("4", ""), "bad, line 3"),
    scored("scores that are no text", b"\xff\xfe\x00", "bad, line 1"),
    scored("scores cut off in gzip", gzip.compress(SCORES.encode())[:-4], "gzip"),
    mapped("a map that is no JSON", "{", "bad"),
    mapped("a map nested deeply", "[" * 100_000, "bad"),
    mapped("a list for a map", "[]", "features", USAGE),
    mapped("a feature twice in a map", '{"f1": "a", "f1": "b"}', "'f1'"),
    mapped("a map of features that are not there", '{"f9": "a"}', "'f9'", USAGE),
    mapped("two features mapped to one", '{"f1": "a", "f2": "a"}', "'a'", USAGE),
    mapped("half a letter", '{"f1": "\\ud800"}', "feature 1", USAGE),
    priced("costs without names", "1,1\n", "bad, line 1"),
    priced("a cost missing", "feature,cost\n1,1\n", "feature 2"),
    priced("a cost below 0", "feature,cost\n1,-1\n", "bad, line 2"),
    priced("a cost twice", "feature,cost\n1,1\n1,2\n", "bad, line 3"),
    priced("a cost of no feature", "feature,cost\n9,1\n", "bad, line 2"),
    priced("a cost of a number of 5,000 digits", f"feature,cost\n{'9' * 5000},1\n", "bad, line 2"),
    priced("costs in another encoding", b"\xff\xff", "bad"),
    priced("a field of costs that is too long", f"feature,cost\n{'x' * 200_000},1\n", "bad"),
]

CASES = [
    *(*WRONG_WORDS, *WRONG_PATHS, *WRONG_VALUES, *WRONG_TEXT),
    *(*WRONG_TABLES, *WRONG_MODELS, *WRONG_COMPANIONS),
]


@pytest.fixture(autouse=True)
def command_built_once(monkeypatch):
    """Typer builds all commands anew for each call, which takes longer than most of these calls."""
    monkeypatch.setattr(typer.main, "get_command", BUILT)


BUILT = functools.cache(typer.main.get_command)


@pytest.fixture(name="folder")
def good_files(tmp_path, monkeypatch):
    """A folder with one good file of each kind, where the command runs; temporary files would be in it, too."""
    for name, content in {
        "data.txt": TEXT,
        "data.csv": CSV,
        "scores.txt": SCORES,
        "costs.csv": "feature,cost\n1,1\n2,1\n3,1\n",
        "model.json": model(),
    }.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def put(path, content):
    if callable(content):
        content(path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content)


def state(folder):
    """Every file with its content, link with its target, and folder."""
    found = {}
    for path in folder.rglob("*"):
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = content
    return found


def test_there_are_a_hundred_kinds():
    kinds = [case.kind for case in CASES]
    assert len(kinds) == len(set(kinds)) >= 100


@pytest.mark.parametrize("case", CASES, ids=[case.kind.replace(" ", "-") for case in CASES])
def test_one_line_says_what_is_wrong_and_nothing_is_left(run, folder, case):
    words = shlex.split(case.command)
    name = next((word.partition("/")[0] for word in words if word.startswith("bad")), "bad")
    put(folder / name, case.bad)
    before = state(folder)
    ran = run(*words)
    assert (ran.code, ran.out) == (case.code, "")
    assert case.told in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err
    assert state(folder) == before


# Names that no shell would mind


@pytest.mark.parametrize(
    ("name", "told"), [("two words", "two words"), ("two\nlines", "two lines"), ("caf\udce9", "caf"), ("ключ", "ключ")]
)
def test_names_of_any_letters_are_told_in_one_line(run, folder, name, told):
    (folder / name).write_text("x qid:1 1:1\n")
    before = state(folder)
    ran = run("inspect", name)
    assert ran.code == DATA
    assert told in ran.err
    assert state(folder) == before


# Folders without permission, for users whom permissions bind


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("command", ["train data.txt --out closed/new", "fit data.txt --out closed/new",
                                     "fit data.txt --out closed", "study bounds --out closed/new"])  # fmt: skip
def test_a_folder_without_permission(run, folder, command):
    (folder / "closed").mkdir(mode=0o500)
    ran = run(*shlex.split(command))
    assert ran.code == CANNOT_CREATE
    assert "closed" in ran.err
    assert not list((folder / "closed").iterdir())


def test_a_folder_without_permission_as_told_by_the_system(run, folder, monkeypatch):
    """The same for root, who is refused nothing."""
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "empty" or not mode & os.W_OK)
    before = state(folder)
    for command in ("train data.txt --out empty/new", "fit data.txt --out empty", "study bounds --out empty/new"):
        ran = run(*shlex.split(command))
        assert ran.code == CANNOT_CREATE
        assert "no permission in folder empty" in ran.err
    assert state(folder) == before


@pytest.mark.parametrize(
    "command", ["inspect data.txt", "fit data.txt --out new", "select data.csv --costs data.txt", "predict data.txt x"]
)
def test_a_file_that_may_not_be_read(run, folder, command, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "data.txt" or not mode & os.R_OK)
    before = state(folder)
    ran = run(*shlex.split(command))
    assert ran.code == NO_INPUT
    assert "'data.txt' is not readable" in ran.err
    assert state(folder) == before


# A disk that is full, and an interruption, while results are written

WRITING = {
    "fit": "fit data.txt --ranker regression --out new",
    "fit into a folder": "fit data.txt --ranker regression --out empty",
    "train": "train data.txt --ranker regression --out new",
    "predict": "predict model.json data.txt --out new",
    "export": "export model.json --to python --out new",
    "evaluate": "evaluate scores.txt data.txt --per-query new",
    "convert to text": "convert data.txt new.txt",
    "convert to gzip": "convert data.txt new.txt.gz",
    "convert to Parquet": "convert data.txt new.parquet",
    "select": "select data.txt --alpha 1 --max-features 1 --out new.csv",
}


def remove_results(folder, before):
    for name in sorted(state(folder).keys() - before.keys(), reverse=True):
        path = folder / name
        path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize("command", WRITING.values(), ids=[name.replace(" ", "-") for name in WRITING])
def test_a_disk_that_is_full(run, folder, command):
    """No file may grow beyond ten bytes; the command has run before, as kernels are kept in files, too."""
    before = state(folder)
    assert run(*shlex.split(command)).code == 0
    assert state(folder) != before
    remove_results(folder, before)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        ran = run(*shlex.split(command))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ran.code == CANNOT_CREATE
    assert "too large" in ran.err
    assert state(folder) == before


@pytest.mark.parametrize("command", WRITING.values(), ids=[name.replace(" ", "-") for name in WRITING])
def test_an_interruption_just_before_a_result_is_there(folder, command, monkeypatch, capsys):
    def interrupted(path, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    before = state(folder)
    assert main(shlex.split(command)) == 130
    assert capsys.readouterr().err.endswith("error: interrupted\n")
    kept = {name for name in state(folder) if Path(name).parts[1:2] == (".rankwright-fit",)}
    assert {name: content for name, content in state(folder).items() if name not in kept and name != "new"} == before
    assert not any((folder / name).is_file() for name in kept)


def test_not_enough_memory(run, folder, monkeypatch):
    def exhausted(path, columns, **options):
        raise MemoryError("Unable to allocate 16 GiB")

    monkeypatch.setattr("rankwright.data.files.read_asked", exhausted)
    ran = run("inspect", "data.txt")
    assert (ran.code, ran.err) == (71, "error: not enough memory: Unable to allocate 16 GiB\n")


# As a process of its own


def process(*words, **options):
    return subprocess.run([sys.executable, "-m", "rankwright", *words], capture_output=True, **options)


def test_a_process_tells_the_same(folder):
    before = state(folder)
    ran = process(b"inspect", b"caf\xe9.txt")
    assert (ran.returncode, ran.stdout) == (NO_INPUT, b"")
    assert ran.stderr.startswith(b"error: cannot read caf")
    assert ran.stderr.count(b"\n") == 1
    assert state(folder) == before


@pytest.mark.parametrize(
    ("closed", "told"),
    [(">&-", b"error: cannot write to standard output: it is closed\n"), ("2>&-", b"")],
    ids=["output", "error"],
)
def test_streams_that_are_closed(folder, closed, told):
    command = f"{sys.executable} -m rankwright export model.json --to sql {closed}"
    ran = subprocess.run(command, shell=True, capture_output=True)
    assert (ran.returncode, ran.stderr) == (CANNOT_CREATE if told else 0, told)


def test_control_c_while_it_waits_for_a_pipe(folder):
    os.mkfifo(folder / "pipe")
    waiting = subprocess.Popen(
        [sys.executable, "-m", "rankwright", "predict", "model.json", "pipe", "--out", "new"], stderr=subprocess.PIPE
    )
    with (folder / "pipe").open("w") as pipe:  # which is opened when the command reads
        pipe.write("1 qid:1 1:1")
        pipe.flush()
        waiting.send_signal(signal.SIGINT)
    _, told = waiting.communicate(timeout=60)
    assert (waiting.returncode, told) == (130, b"error: interrupted\n")
    assert not (folder / "new").exists()
