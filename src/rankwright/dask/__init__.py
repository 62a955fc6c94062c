"""Queries on a Dask cluster: parts live in the memory of its workers, and learners send steps to them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

try:
    import distributed
except ImportError as error:
    raise ImportError("rankwright.dask needs Dask: pip install 'rankwright[dask]'") from error

from rankwright.clusters.loading import Given, Reading, loaded
from rankwright.dask.connecting import connect, shutdown
from rankwright.dask.engine import DaskEngine, DaskQueries
from rankwright.dask.partitions import DaskPartitions, tasks
from rankwright.data.columns import choose_columns
from rankwright.data.frames import as_narwhals
from rankwright.data.queries import Queries
from rankwright.data.table_columns import TableColumns
from rankwright.data.table_features import table_features, tell_left_out
from rankwright.engines import ENGINES
from rankwright.errors import ParameterError

__all__ = ["DaskQueries", "queries", "shutdown"]

ENGINES[DaskQueries] = DaskEngine


def queries(
    data: Any,
    *,
    client: distributed.Client | str | None = None,
    parts: int | None = None,
    shuffle: bool = False,
    label: str | None = None,
    qid: str | None = None,
    doc: str | None = None,
    features: Sequence[str] | None = None,
    one_hot: Sequence[str] | None = None,
    dtype: Any = None,
    missing: Literal["zero", "nan"] = "zero",
    column_description: str | os.PathLike[str] | None = None,
    for_model: Any = None,
    memory: int | str = "4GB",
) -> DaskQueries:
    """Queries in the memory of a Dask cluster, read by its workers.

    Parameters
    ----------
    data : Dask DataFrame, path, folder, pattern such as ``"part-*.txt"``, or several of them
        Files are read by the workers, so all of them must find them under the same path.
    client : distributed.Client or str, optional
        The cluster, or the address of its scheduler. By default that of the current client; if there is none, a
        worker with one thread is started for each processor of this machine, which listen on 127.0.0.1 only.
    parts : int, optional
        Into how many parts files are cut, at least: by default as many as the workers have threads, as each part is
        worked on by one thread. Equal parts give equal results, to the last bit. Those of a Dask DataFrame are its
        partitions.
    shuffle : bool
        Bring the rows of queries together that are in several files or partitions, and tell how many rows that moved;
        otherwise such a query is an error.
    label, qid, doc, features, one_hot, dtype, missing, column_description, for_model
        As :func:`~rankwright.read_queries` takes them.
    memory : int or str
        How much memory learners may use in this process; parts have that of the workers.
    """
    asked = TableColumns.of(label=label, qid=qid, doc=doc, features=features, one_hot=one_hot)
    if for_model is not None:
        asked = asked.for_model(for_model)
    return load(
        data, Reading(asked, dtype, missing, column_description), client, parts=parts, shuffle=shuffle, memory=memory
    )


def load(
    data: Any, reading: Reading, client: Any, *, parts: int | None, shuffle: bool, memory: int | str
) -> DaskQueries:
    """The same, of columns that are asked for by one object."""
    if isinstance(data, Queries) or (hasattr(data, "shape") and not hasattr(data, "to_delayed")):
        raise ParameterError(f"data must be a Dask DataFrame, or files; {type(data).__name__} is in memory here")
    connected = connect(client)
    if hasattr(data, "to_delayed"):
        given = Given.frame(connected.compute(data.to_delayed()), "a Dask DataFrame")
        reading, wanted = replace(reading, asked=_decided(data, reading.asked, given.name)), 0
    else:
        if parts is not None and (not isinstance(parts, int) or parts < 1):
            raise ParameterError(f"parts must be at least 1, not {parts!r}")
        given = Given.files(data)
        wanted = parts or sum(connected.nthreads().values())

    def read(way: Reading) -> DaskPartitions:
        each = [(way, data, name) for data, name in zip(given.data, given.told, strict=True)]
        return DaskPartitions(connected, tasks(connected, "read", Reading.of, each))

    return DaskQueries(loaded(read, reading, given, wanted, shuffle=shuffle), memory)


def _decided(frame: Any, asked: TableColumns, name: str) -> TableColumns:
    """With the columns that are features by their types, where these say so: partitions may have no values to go by."""
    if asked.features is not None or asked.one_hot or "object" in map(str, frame.dtypes):
        return asked
    from dask.dataframe.utils import meta_nonempty

    table = as_narwhals(meta_nonempty(frame._meta)[:1])
    columns, chosen = choose_columns(table.schema, asked)
    if columns.sparse:
        return asked
    found = table_features(table, chosen)
    tell_left_out({column: str(frame.dtypes[column]) for column in found.left_out}, f"{name}: ")
    return asked.for_features(found.names)
