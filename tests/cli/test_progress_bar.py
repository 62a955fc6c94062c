"""The bar on a terminal: what is at work, how much is done, and that it moves."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import rankwright as rw

WIDTH = 80


def seen_on_a_terminal(arguments, *, cwd):
    """Every line that a command shows, as often as it is drawn."""
    pty, termios, fcntl = (pytest.importorskip(name) for name in ("pty", "termios", "fcntl"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, np.array([24, WIDTH, 0, 0], np.uint16).tobytes())
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, cwd=cwd, env=environment
    ) as process:
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
    assert process.returncode == 0, seen.getvalue()
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.getvalue().decode()))


def test_a_fit_names_the_ranker_and_the_fold_at_work(tmp_path):
    queries = rw.datasets.make_queries(200, 30, 20, seed=1).queries
    rw.write_svmlight(queries, tmp_path / "train.txt")
    arguments = ["-m", "rankwright", "fit", "train.txt", "--ranker", "greedy-rankrls,ranksvm", "--out", "out"]
    lines = seen_on_a_terminal(arguments, cwd=tmp_path)
    bars = [line for line in lines if "━" in line]
    assert max(map(len, bars)) <= WIDTH
    at_work = [re.fullmatch(r". (.*?) +[━╸╺]+ +(\d+)/(\d+|\?) 0:\d\d:\d\d *", bar) for bar in bars]
    assert all(at_work), [bar for bar, found in zip(bars, at_work, strict=True) if not found]
    assert any(re.match(r"(greedy RankRLS|RankSVM), fold \d of 5", found[1]) for found in at_work)
    done = [int(found[2]) for found in at_work]
    assert done == sorted(done)


def test_it_moves_while_nothing_is_told(tmp_path):
    """The spinner turns in one long step that does not call back."""
    script = (
        "import time; from rankwright.cli.progress import progress_bar\n"
        "from rankwright.progress import Progress\n"
        "with progress_bar('reading [bold]all[/]') as bar:\n"
        "    bar(Progress('training [red]one[/]', 1, 3))\n"
        "    time.sleep(1)\n"
        "    bar(Progress('training [red]one[/]', 2.5, 3))\n"
        "    time.sleep(0.3)\n"
    )
    lines = [line for line in seen_on_a_terminal(["-c", script], cwd=tmp_path) if "━" in line]
    spinners = {line[0] for line in lines if "training [red]one[/]" in line and "1/3" in line}
    assert len(spinners) > 3
    assert any("training [red]one[/]" in line and "2/3" in line for line in lines)


def test_elsewhere_there_is_no_bar(tmp_path):
    queries = rw.datasets.make_queries(20, 8, 4, n_informative=2, n_correlated=0, seed=1).queries
    rw.write_svmlight(queries, tmp_path / "train.txt")
    command = [sys.executable, "-m", "rankwright", "fit", "train.txt", "--ranker", "rankrls", "--out", "out"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
