"""Which rows belong to which query, for query ids of any type in any order."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.arrays import refuse_masked
from rankwright.errors import DataError, ParameterError
from rankwright.judgments.ids import text_array


class Grouping:
    """The rows of each query: query ``q`` has the rows ``order[offsets[q]:offsets[q + 1]]``.

    Queries stand in the order of their first rows, and a query's rows in the order they came.
    ``order`` is None when the rows of every query already stand together: then no gathering is needed.
    ``why_one_query`` says why all rows are one query where nobody has said which query they belong to, else it is None.
    """

    why_one_query: str | None = None

    def __init__(self, qid: npt.ArrayLike | None, n_rows: int) -> None:
        if qid is None:
            self.why_one_query = (
                f"No qid was given, so all {n_rows:,} rows are taken as one query. Name the query of each row with "
                "qid=, or say how many rows each query has with group=."
            )
        self.qid = _query_ids(qid, n_rows)
        self.qid.setflags(write=False)
        starts = _run_starts(self.qid)
        run_codes, first_runs = _codes_by_first_appearance(self.qid[starts])
        self.query_ids: npt.NDArray[Any] = self.qid[starts[first_runs]]
        lengths = np.diff(np.append(starts, n_rows))
        sizes = np.bincount(run_codes, weights=lengths, minlength=len(first_runs)).astype(np.int64)
        self.offsets: npt.NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.order: npt.NDArray[np.intp] | None = None
        if len(starts) > len(first_runs):
            self.order = np.argsort(np.repeat(run_codes, lengths), kind="stable")
        self._freeze()

    @classmethod
    def of_sizes(cls, query_ids: npt.NDArray[Any], sizes: npt.NDArray[np.int64]) -> Grouping:
        """Queries whose rows stand together, each id distinct: nothing is left to find out."""
        grouping = cls.__new__(cls)
        grouping.query_ids = query_ids
        grouping.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        grouping.order = None
        grouping._freeze()
        return grouping

    @classmethod
    def of_group(cls, group: npt.ArrayLike, n_rows: int) -> Grouping:
        """Queries 1, 2, … of these sizes, whose rows stand one query after the other."""
        sizes = _checked_group(group, n_rows)
        return cls.of_sizes(np.arange(1, len(sizes) + 1), sizes)

    def _freeze(self) -> None:
        """Kernels take these for bounds: nobody may change them."""
        for array in (self.query_ids, self.offsets, self.order):
            if array is not None:
                array.setflags(write=False)

    @cached_property
    def qid(self) -> npt.NDArray[Any]:
        """The query id of each row."""
        qid = np.repeat(self.query_ids, np.diff(self.offsets))
        qid.setflags(write=False)
        return qid

    @cached_property
    def codes(self) -> npt.NDArray[np.intp]:
        """The position of each row's query among ``query_ids``."""
        codes = self.scatter(np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets)))
        codes.setflags(write=False)
        return codes

    def gather(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values in row order → values with each query's rows together (the same array if they already are)."""
        return values if self.order is None else values[self.order]

    def scatter(self, grouped: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The way back from :meth:`gather`."""
        if self.order is None:
            return grouped
        values = np.empty_like(grouped)
        values[self.order] = grouped
        return values

    def query_of_row(self, row: int) -> Any:
        """The id of the query that a row belongs to, as a plain Python value."""
        return plain_values(self.qid[row : row + 1])[0]

    def query_id(self, q: int) -> Any:
        """The id of the q-th query, as a plain Python value."""
        return plain_values(self.query_ids[q : q + 1])[0]


def own_and_frozen(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array if it is read-only memory of its own, else a read-only copy.

    A read-only view is not enough: pandas hands such views out, and then changes what they show.
    """
    own = values if values.flags.owndata and not values.flags.writeable else values.copy()
    own.setflags(write=False)
    return own


def plain_values(ids: npt.NDArray[Any]) -> list[Any]:
    """Ids as plain Python values; NumPy would turn times in nanoseconds into whole numbers."""
    return list(ids.astype("M8[us]").tolist() if ids.dtype.kind == "M" else ids.tolist())


def _query_ids(qid: npt.ArrayLike | None, n_rows: int) -> npt.NDArray[Any]:
    """One id per row as an array that can be compared: no id at all means one query."""
    if qid is None:
        return np.zeros(n_rows, dtype=np.int64)
    ids = _as_array(qid)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids[:, 0]
    if ids.ndim != 1 or len(ids) != n_rows:
        raise DataError(f"qid must give one query id for each of the {n_rows} rows, not an array of shape {ids.shape}")
    if ids.dtype.kind == "c" or (ids.dtype.kind == "O" and any(isinstance(value, complex) for value in ids)):
        raise DataError("query ids must not be complex numbers: give whole numbers or names")
    if ids.dtype.kind == "f":
        missing = np.isnan(ids)
    elif ids.dtype.kind == "O":
        missing = np.fromiter(map(_is_missing, ids), bool, len(ids))
        if n_rows and not missing.any() and all(type(value) is str and "\0" not in value for value in ids):
            ids = text_array(ids.tolist())
    elif ids.dtype.kind in "Mm":
        missing = np.isnat(ids)
    else:
        missing = np.zeros(0, dtype=bool)
    if missing.any():
        raise DataError(f"row {int(np.argmax(missing))} has no query id")
    return own_and_frozen(ids)


def _as_array(qid: npt.ArrayLike) -> npt.NDArray[Any]:
    """Ids as an array in which different ones stay different, and none costs its length in every row."""
    if isinstance(qid, list | tuple) and qid and all(type(value) is str and "\0" not in value for value in qid):
        return text_array(qid)
    ids = np.asarray(_unmasked(qid, "query ids", "single values"))
    if isinstance(qid, list | tuple) and _numpy_would_merge(qid, ids):
        ids = np.empty(len(qid), dtype=object)
        ids[:] = qid
    return ids


def _unmasked(values: npt.ArrayLike, name: str, expected: str) -> npt.NDArray[Any]:
    try:
        given = np.asanyarray(values)
    except ValueError as error:  # lists of several lengths
        raise DataError(f"{name} must be {expected}: {error}") from None
    refuse_masked(given, name)
    return given


def _numpy_would_merge(qid: list[Any] | tuple[Any, ...], ids: npt.NDArray[Any]) -> bool:
    """Whether different ids may be the same in the array that NumPy makes of them: 7 and "7", or "a" and "a" + NUL."""
    types = set(map(type, qid))
    if len(types) > 1 or (types == {int} and ids.dtype.kind == "f"):
        return True
    return ids.dtype.kind in "US" and any(("\0" if isinstance(v, str) else b"\0") in v for v in qid)


def query_numbers(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The query of each row, 1, 2, …, of queries of these sizes whose rows stand one query after the other."""
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)


def _checked_group(group: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.int64]:
    """How many rows each query has."""
    given = _unmasked(group, "group", "a list of whole numbers")
    are_numbers = given.ndim == 1 and given.dtype.kind in "iuf"
    if not are_numbers or not np.isfinite(given).all() or not np.all(given == np.floor(given)):
        raise DataError("group must be a list of whole numbers: how many rows each query has, one after the other")
    hint = "; to name the query of each row, pass qid" if len(given) == n_rows else ""
    if len(given) and given.min() < 1:
        place = int(np.argmin(given)) + 1
        raise DataError(f"group: query {place} has {given.min():g} rows: leave out queries without rows{hint}")
    total = int(sum(given.tolist()))
    if total != n_rows:
        told = f"group: the sizes of {len(given):,} queries add up to {total:,} rows"
        raise DataError(f"{told}, but there are {n_rows:,}{hint}")
    return given.astype(np.int64)


def check_qid_or_group(qid: Any, group: Any) -> None:
    """Refuse both."""
    if qid is not None and group is not None:
        raise ParameterError("give qid (the query of each row) or group (how many rows each query has), not both")


def run_sizes(ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """How many rows each run of equal ids has."""
    return np.diff(np.append(_run_starts(ids), len(ids))).astype(np.int64)


def _is_missing(value: Any) -> bool:
    """None, NaN, or a value such as pandas.NA that will not even say whether it equals itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _run_starts(ids: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The first row of each run of equal ids."""
    if len(ids) == 0:
        return np.zeros(0, dtype=np.intp)
    return np.concatenate([[0], np.flatnonzero(ids[1:] != ids[:-1]) + 1])


def _codes_by_first_appearance(ids: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Number the distinct ids 0, 1, … as they first appear; also where each first appears."""
    if ids.dtype.kind == "O":  # ids that may not be comparable with each other, such as 7 and "7"
        seen: dict[Any, int] = {}
        try:
            codes = np.fromiter((seen.setdefault(value, len(seen)) for value in ids), np.intp, len(ids))
        except TypeError as error:
            raise DataError(f"query ids must be single values that can be compared: {error}") from None
        return codes, np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1))
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    code_of_sorted = np.empty_like(by_appearance)
    code_of_sorted[by_appearance] = np.arange(len(first))
    return code_of_sorted[inverse.reshape(-1)], first[by_appearance]
