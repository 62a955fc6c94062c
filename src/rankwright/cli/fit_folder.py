"""The folder that `rankwright fit` writes into: one run at a time, results all or none, work to go on from."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.output import Exit, Failure, writing_into
from rankwright.text import spreadsheet_cell

if TYPE_CHECKING:
    from rankwright.fitting.result import FitResult
    from rankwright.fitting.work import Work

FILES = ("model.json", "leaderboard.csv", "report.html")


@contextmanager
def own_folder(out: Path, work: Work) -> Iterator[None]:
    """The folder for one run, made if need be. If the run fails, what it made goes again; interrupted work stays."""
    with writing_into(out):
        is_new = _made(out)
        had_work = work.is_there
        with _alone_in(out):
            try:
                yield
            except Exception:
                if not had_work:
                    work.clear()
                raise
            finally:
                if is_new:
                    with suppress(OSError):
                        out.rmdir()  # which is refused where there is anything to go on from


def _made(out: Path) -> bool:
    """Whether the folder was made, and not there before."""
    try:
        out.mkdir()
    except FileExistsError:
        return False
    return True


@contextmanager
def _alone_in(out: Path) -> Iterator[None]:
    """Refuse a second run into the same folder; the lock goes with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    folder = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(f"cannot write {out}: another run is at work in this folder", Exit.CANNOT_CREATE) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(folder)


@contextmanager
def going_on(work: Work) -> Iterator[None]:
    """Tell what is finished already, and what will be if the run is interrupted."""
    if work.n_finished:
        print(f"going on: {work.n_finished} parts are finished", file=sys.stderr)
    try:
        yield
    except KeyboardInterrupt:
        print(f"{work.n_finished} parts are finished: the same command goes on from there", file=sys.stderr)
        raise


def write_results(out: Path, result: FitResult, report: Mapping[str, Any], training: Mapping[str, Any]) -> None:
    """The three files, all or none; the model takes its name last, so that it is never without its report."""
    from rankwright.data.paths import atomic_path
    from rankwright.rankers.model_file import model_text
    from rankwright.report.page import render_report

    contents = {
        "model.json": model_text(result.model, training=training),
        "report.html": render_report(report),
        "leaderboard.csv": leaderboard_csv(report),
    }
    with ExitStack() as files:  # which is left in reverse order
        for name, content in contents.items():
            temporary = files.enter_context(atomic_path(out / name))
            temporary.write_text(content, encoding="utf-8", newline="")


def leaderboard_csv(report: Mapping[str, Any]) -> str:
    """A line for each ranker, best first."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    figures = ("mean", "low", "high", "standard_error")
    held_out, on_test = ([f"{part}_{name}" for name in figures] for part in ("held_out", "test"))
    table.writerow(["ranker", "setting", "features", *held_out, "p_value", *on_test, "chosen"])
    for row in report["leaderboard"]:
        about = map(spreadsheet_cell, (row["ranker"], row["setting"], row["features"]))
        chosen = "yes" if row["is_chosen"] else ""
        table.writerow([*about, *_flat(row["held_out"]), row["p_value"], *_flat(row["test"]), chosen])
    return text.getvalue()


def _flat(figures: Mapping[str, Any] | None) -> list[Any]:
    return [""] * 4 if figures is None else [figures["mean"], *figures["interval"], figures["standard_error"]]
