"""The folder that `rankwright fit` works in: one run at a time, no other fit lost, work to go on from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rankwright.cli.output import Exit, Failure, writing_into
from rankwright.cli.termination import Terminated

if TYPE_CHECKING:
    from rankwright.fitting.work import Work


def check_free(out: Path, fingerprint: str) -> None:
    """Refuse a folder with the results of another fit, before any work is done."""
    from rankwright.fitting.folder import AnotherFit, check_not_another

    with writing_into(out):
        try:
            check_not_another(out, fingerprint)
        except AnotherFit as error:
            problem = f"{out} {error.content}: add --overwrite to replace it, or give --out another folder"
            raise Failure(problem, Exit.CANNOT_CREATE) from None


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
        print(f"continuing an interrupted run: {work.n_finished} parts are finished", file=sys.stderr)
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        print(f"{work.n_finished} parts are finished: run the same command again to continue", file=sys.stderr)
        raise
