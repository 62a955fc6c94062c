"""A bar on standard error while something takes long, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rankwright.cli.output import safe_console

Progress = Callable[[float, float], None]


@contextmanager
def progress_bar(what: str) -> Iterator[Progress | None]:
    """Give a function to call with what is done and what there is in all; None where nobody would see the bar."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.markup import escape
    from rich.progress import Progress as Bars

    with Bars(console=safe_console(stderr=True), transient=True) as bars:
        task = bars.add_task(escape(what), total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
