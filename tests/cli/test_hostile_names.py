"""Names, ids and paths that terminals would obey, Rich would read as markup, and spreadsheets would calculate."""

import csv
import io
import os
import subprocess
import sys
import unicodedata

import numpy as np
import pytest

import rankwright as rw
from rankwright.text import shown, spreadsheet_cell

CLEAR, RED, TURN, TITLE = "\x1b[2J", "\x1b[31m", "\u202e", "\x9b31m\x1b]0;owned\x07"
NAMES = [f"a{CLEAR}", f"b{TURN}[bold]x[/]", f"c{TITLE}\u200b[/nothing]", "=cmd|'/c calc'!A1"]
FILE = f"data{RED}{TURN}[red].csv"


def rows():
    rng = np.random.default_rng(0)
    for query in ("=1+1", f"q{CLEAR}", "@sum", "-2+3", "+x", "\tq", "7", "-5"):
        for document in range(4):
            values = rng.random(len(NAMES))
            yield [int(values[0] > 0.5), query, f"{query}{document}{RED}", *values]


@pytest.fixture(name="folder")
def folder_of_hostile_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (tmp_path / FILE).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["label", "qid", "doc_id", *NAMES], *rows()])
    queries = rw.read_queries(tmp_path / FILE)
    rw.save_model(rw.RankRLS(1.0).fit(queries), tmp_path / f"model{RED}.json")
    (tmp_path / f"scores{RED}.txt").write_text("".join(f"{i % 5}\n" for i in range(queries.n_documents)))
    return tmp_path


def hidden(text):
    return [letter for letter in text if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp")]


MODEL, SCORES = f"model{RED}.json", f"scores{RED}.txt"
COMMANDS = {
    "inspect": ["inspect", FILE],
    "evaluate": ["evaluate", SCORES, FILE, "--per-query", f"values{RED}.csv"],
    "select": ["select", FILE, "--max-features", "3", "--out", f"path{RED}.csv"],
    "train": ["train", FILE, "--ranker", "rankrls", "--out", f"new{RED}.json"],
    "predict": ["predict", MODEL, FILE],
    "explain": ["explain", MODEL, FILE, "--query", f"q{CLEAR}"],
    "export": ["export", MODEL, "--to", "elasticsearch"],
    "bounds": ["bounds", MODEL, FILE],
    "certify": ["certify", MODEL, FILE],
    "convert": ["convert", FILE, f"new{RED}.parquet"],
    "fit": ["fit", FILE, "--ranker", "regression", "--out", f"out{RED}"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_nothing_is_obeyed(run, folder, command):
    ran = run(*command)
    assert ran.code == 0, ran.err
    assert hidden(ran.out + ran.err) == []


def test_names_are_shown_and_are_no_markup(run, folder):
    told = run(*COMMANDS["explain"]).out
    assert r"q\x1b[2J" in told
    assert r"b\u202e[bold]x[/]" in told
    told = run(*COMMANDS["select"]).out
    assert r"a\x1b[2J" in told


@pytest.mark.parametrize(
    "command",
    [
        ["inspect", f"missing{CLEAR}{TURN}.txt"],
        ["inspect", f"two\nlines{CLEAR}.txt"],
        ["predict", SCORES, FILE],
        ["evaluate", MODEL, FILE],
        ["evaluate", SCORES, MODEL],
        ["convert", FILE, f"new{RED}.odd"],
        ["convert", FILE, f"none{RED}/new.txt"],
        ["fit", FILE, "--out", f"out{RED}", "--label", f"grade{RED}"],
        ["fit", FILE, "--out", FILE],
        ["evaluate", SCORES, FILE, "--measures", f"ndcg{RED}"],
        ["inspect", FILE, f"--odd{RED}"],
        [f"odd{RED}"],
    ],
)
def test_no_error_is_obeyed(run, folder, command):
    ran = run(*command)
    assert ran.code > 0
    assert hidden(ran.err) == []
    assert "\\x1b" in ran.err


def test_bytes_that_are_no_text_in_a_path(run, folder):
    ran = run("inspect", os.fsdecode(b"missing\xff\x1b.txt"))
    assert ran.code == 66
    assert "missing\\udcff\\x1b.txt" in ran.err


def test_what_is_shown_on_a_terminal(folder):
    """Spinners and colours are Rich's own; nothing of the name gets through."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "rankwright", "inspect", f"a{TITLE}.csv"]
    (folder / FILE).rename(folder / f"a{TITLE}.csv")
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL) as process:
        os.close(theirs)
        seen = io.BytesIO()
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # as Linux tells the end
                break
            if not part:
                break
            seen.write(part)
    os.close(ours)
    assert process.returncode == 0
    told = seen.getvalue().decode()
    assert "\x1b[" in told  # so it was a terminal
    for harm in ("\x1b]0", "\x9b", CLEAR, TURN, "\u200b"):
        assert harm not in told


def test_cells_of_spreadsheets(run, folder):
    run(*COMMANDS["evaluate"])
    with (folder / f"values{RED}.csv").open(newline="", encoding="utf-8") as file:
        ids = [row["qid"] for row in csv.DictReader(file)]
    assert ids == ["'=1+1", f"q{CLEAR}", "'@sum", "'-2+3", "'+x", "'\tq", "7", "-5"]
    run(*COMMANDS["select"])
    with (folder / f"path{RED}.csv").open(newline="", encoding="utf-8") as file:
        names = {row["name"] for row in csv.DictReader(file)}
    assert names <= {f"'{name}" if name.startswith("=") else name for name in NAMES}


def test_the_leaderboard_too():
    from rankwright.fitting.folder import leaderboard_csv

    figures = {"mean": -0.5, "interval": [-1.0, 0.0], "standard_error": 0.1}
    row = {"ranker": "=baseline", "setting": "-a", "alpha": 0.125, "features": 1, "held_out": figures, "test": None}
    row |= {"p_value": None, "difference_from_baseline": None, "difference_from_best": -0.25, "is_chosen": True}
    _, line = csv.reader(leaderboard_csv([row]).splitlines())
    assert line[:8] == ["'=baseline", "yes", "'-a", "2^-3", "1", "-0.5", "-1.0", "0.0"]


@pytest.mark.parametrize(
    "cell", ["=1", "+a", "-a", "@a", "\ta", "\ra", "\na", "＝1", "＠a", "-1-1", "+1a", "-inf", "--1"]
)
def test_formulas_are_defused(cell):
    assert spreadsheet_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "a", "a=b", "-1", "+1.5e-7", "-.5", "'=1", -1.5, 3, None])
def test_all_else_stays(cell):
    assert spreadsheet_cell(cell) == cell


def test_letters_of_all_scripts_stay():
    text = "naïve 東京 Ελλάδα עברית 😀 x̂ 95 % –"
    assert shown(text) == text
    assert shown("a\nb\tc") == "a\nb\\tc"
