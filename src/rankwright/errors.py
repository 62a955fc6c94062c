"""What can go wrong, told so that it can be mended: every message names the place and what was expected."""

from __future__ import annotations

import os


class RankwrightError(Exception):
    """Any error that Rankwright raises on purpose."""


class DataError(RankwrightError, ValueError):
    """The data are not what they should be: the message names the row, query, column or file."""


class ParameterError(RankwrightError, ValueError):
    """A parameter has a value that it cannot have: the message names the parameter."""


class ParseError(DataError):
    """A file that does not follow its format, with the place: ``data.txt, line 3, column 17: …``."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        problem: str,
        *,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.problem = problem
        self.line = line
        self.column = column
        place = self.path
        if line is not None:
            place += f", line {line}"
        if column is not None:
            place += f", column {column}"
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_parse_error, (self.path, self.problem, self.line, self.column))


class OneQueryWarning(UserWarning):
    """Nothing says which query each row belongs to, so all rows are taken as one query."""


class RowError(DataError):
    """A row of a table is not what it should be; whoever knows the file tells its line instead."""

    def __init__(self, row: int, problem: str) -> None:
        self.row = row
        self.problem = problem
        super().__init__(f"row {row}: {problem}")

    def __reduce__(self) -> tuple[object, ...]:
        return (RowError, (self.row, self.problem))


def _rebuild_parse_error(path: str, problem: str, line: int | None, column: int | None) -> ParseError:
    return ParseError(path, problem, line=line, column=column)
