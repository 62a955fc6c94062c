"""Some of the features of queries that have been read: of LETOR text by their numbers, else by their names."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.data.table_columns import TableColumns, chosen_features
from rankwright.data.width import check_width, n_values
from rankwright.errors import DataError

_NUMBERED = re.compile(r"f([1-9][0-9]{0,9})")
_NUMBER = re.compile(r"([-!]?)([1-9][0-9]{0,9})")


def of_numbers(queries: Queries, asked: TableColumns, path: str | os.PathLike[str]) -> Queries:
    """The queries with the features that were asked for, which keep their numbers as names; all if none were.

    Those of a model or of training data are all there: text does not tell of features that are 0 in all its lines. If
    they have other names than numbers, they are not of text, and the queries stay as they are.
    """
    if asked.features is None:
        return queries
    if asked.exact:
        numbers = [_NUMBERED.fullmatch(name) for name in asked.features]
        if not all(numbers):
            return queries
        columns = [int(number[1]) - 1 for number in numbers if number is not None]
        return _with(queries, columns)
    words = tuple(_NUMBER.sub(r"\1f\2", word) if _NUMBER.fullmatch(word) else word for word in asked.features)
    try:
        return of_names(queries, replace(asked, features=words))
    except DataError as error:
        raise DataError(f"{os.fspath(path)}: {error}") from None


def of_names(queries: Queries, asked: TableColumns) -> Queries:
    """The queries with the features that were asked for by names and patterns; all if none were."""
    if asked.features is None:
        return queries
    if not asked.features:
        return _with(queries, [])
    check_width(queries, n_values(queries.X))  # before each of them gets a name
    place = {name: column for column, name in enumerate(queries.feature_names)}
    chosen = chosen_features(tuple(place), replace(asked, one_hot=()), ())
    return _with(queries, [place[each.column] for each in chosen])


def _with(queries: Queries, columns: list[int]) -> Queries:
    """The queries with these columns; those beyond the last are 0."""
    x: Any = queries.X
    width = max([queries.n_features, *(column + 1 for column in columns)])
    if sp.issparse(x):
        x = sp.csr_array((x.data, x.indices, x.indptr), shape=(queries.n_documents, width))[:, columns]
    else:
        chosen = np.array(columns, np.intp)
        inside = chosen < queries.n_features
        x = np.zeros((queries.n_documents, len(columns)), x.dtype)
        x[:, inside] = queries.X[:, chosen[inside]]
    names = [queries.feature_name(column) for column in columns]
    return Queries(x, queries.supervision, queries.qid, feature_names=names, doc_ids=queries.doc_ids)
