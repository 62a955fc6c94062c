"""A bar on standard error while something takes long, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rankwright.cli.output import safe_console
from rankwright.progress import Progress, Tell
from rankwright.text import shown

_readings: list[Tell] = []  # of the bars that are shown


@contextmanager
def progress_bar(what: str) -> Iterator[Tell | None]:
    """Give a function to move the bar; None where nobody would see it.

    A spinner and a clock move several times a second, whether or not the function is called.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[amount]}", style="progress.download", markup=False),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=safe_console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None, amount=Progress(what, 0, None).amount)

        def move(now: Progress) -> None:
            bars.update(task, completed=now.done, total=now.total, description=now.what, amount=now.amount)

        reading = bars.add_task("", total=None, amount="", visible=False)

        def move_reading(now: Progress) -> None:
            bars.update(reading, completed=now.done, total=now.total, description=now.what, amount=now.amount)
            bars.update(reading, visible=True)

        _readings.append(move_reading)
        try:
            yield move
        finally:
            _readings.remove(move_reading)


def tell_reading(now: Progress) -> None:
    """Show how far a reading of data larger than memory is: below the bar of the moment, or in a line of its own."""
    if _readings:
        _readings[-1](now)
    elif sys.stderr.isatty():
        is_over = now.total is not None and now.done >= now.total
        print(f"\r\x1b[2K{'' if is_over else shown(str(now))}", end="", file=sys.stderr, flush=True)
