"""A bar on standard error while something takes long, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rankwright.cli.output import safe_console


class Progress(Protocol):
    """Told what is done and what there is in all, and what is being done if that changes."""

    def __call__(self, done: float, total: float, what: str | None = None, /) -> None:
        """Move the bar."""


@contextmanager
def progress_bar(what: str) -> Iterator[Progress | None]:
    """Give a function to move the bar; None where nobody would see it.

    A spinner and a clock move several times a second, whether or not the function is called.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=safe_console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None)

        def move(done: float, total: float, now: str | None = None, /) -> None:
            bars.update(task, completed=done, total=total, description=now)

        yield move
