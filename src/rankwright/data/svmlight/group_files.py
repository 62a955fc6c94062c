"""Files of group sizes beside text without ``qid:``, as LightGBM (``.query``) and XGBoost (``.group``) read them.

``rank.train.query`` says of the lines of ``rank.train`` how many belong to the first query, to the second, and so on:
one number on each line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.changes import told_if_changed
from rankwright.data.paths import group_files
from rankwright.data.svmlight.blocks import open_text
from rankwright.errors import ParseError
from rankwright.judgments.grouping import query_numbers, run_sizes

_MOST_DIGITS = 18


@dataclass(frozen=True, eq=False)
class GroupFile:
    """How many rows each query has, one query after the other, and the file that says so."""

    path: Path
    sizes: npt.NDArray[np.int64]

    def query_ids(self, data: Path, qid: npt.NDArray[Any] | None, rows: int) -> npt.NDArray[Any]:
        """The query of each row of the data: its ``qid`` if it has them, else 1, 2, …, the lines of this file."""
        self.check_total(data, rows)
        if qid is None:
            return query_numbers(self.sizes)
        found = run_sizes(qid)
        self.check_runs(data, qid[np.cumsum(found) - found], found)
        return qid

    def check_total(self, data: Path, rows: int) -> None:
        """A :class:`ParseError` if the data have another number of rows than all queries together."""
        total = sum(self.sizes.tolist())
        if total != rows:
            told = f"its sizes of {len(self.sizes):,} queries add up to {total:,} rows"
            raise ParseError(self.path, f"{told}, but {os.fspath(data)} has {rows:,}")

    def check_runs(self, data: Path, ids: npt.NDArray[Any], found: npt.NDArray[np.int64]) -> None:
        """A :class:`ParseError` if the runs of rows with the same ``qid`` are not those of this file."""
        together = min(len(found), len(self.sizes))
        other = np.flatnonzero(found[:together] != self.sizes[:together])
        if len(other):
            line = int(other[0]) + 1
            raise ParseError(
                self.path,
                f"expected {found[line - 1]:,}, the rows of query {ids[line - 1]} by its qid: in "
                f"{os.fspath(data)}, found {self.sizes[line - 1]:,}: correct this file, or remove it",
                line=line,
            )
        if len(np.unique(ids)) < len(found):
            told = f"{os.fspath(data)} has a qid: whose rows do not stand together"
            raise ParseError(self.path, f"{told}, which sizes cannot say: remove this file")


@contextmanager
def group_file_of(path: Path) -> Iterator[GroupFile | None]:
    """The file of group sizes beside a data file, if there is one; refused if it changes until the block ends.

    If there are several, as ``.query`` and ``.group``, they must say the same.
    """
    with ExitStack() as watched:
        found = []
        for beside in group_files(path):
            watched.enter_context(told_if_changed(beside))
            found.append(GroupFile(beside, _sizes(beside)))
        for one in found[1:]:
            if not np.array_equal(one.sizes, found[0].sizes):
                raise ParseError(one.path, f"has other sizes than {os.fspath(found[0].path)}: keep the right one")
        yield found[0] if found else None


def _sizes(path: Path) -> npt.NDArray[np.int64]:
    """The number on each line; blank lines may follow."""
    sizes: list[int] = []
    blank = 0
    with open_text(path) as source:
        for block in source.blocks():
            for text in bytes(block.text[block.start : block.stop]).split(b"\n")[:-1]:
                word = text.strip()
                if not word:
                    blank += 1
                    continue
                if blank or not word.isdigit() or len(word) > _MOST_DIGITS or int(word) == 0:
                    told = "a blank line" if blank else repr(word[:40].decode("utf-8", "backslashreplace"))
                    raise ParseError(
                        path,
                        f"expected how many rows a query has, a whole number of at least 1, found {told}",
                        line=len(sizes) + 1,
                    )
                sizes.append(int(word))
            block.release()
    return np.array(sizes, np.int64)
