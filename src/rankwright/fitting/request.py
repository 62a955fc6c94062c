"""What a fit was asked for: the queries as given, and the options. It tells the same fit from any other."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright._version import __version__
from rankwright.clusters.queries import ClusterQueries
from rankwright.data.parts import parts_of
from rankwright.data.streams.streamed import AnyQueries
from rankwright.fitting.work import fingerprint
from rankwright.measures.conventions import CONVENTIONS, Convention
from rankwright.measures.measure import Measure

# What was trained does not depend on these: more time goes on from what is finished, and the rest only compares.
NOT_IN_WORK = ("budget", "baseline", "delta")


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `fit`: queries by their role ("train", "valid", "test"), and all other options by name."""

    queries: Mapping[str, AnyQueries]
    options: Mapping[str, Any]

    @cached_property
    def data(self) -> list[dict[str, Any]]:
        """What to remember of the queries, as of files: role, name, SHA-256 of their content, and sizes."""
        return [
            {
                "role": role,
                "name": role,
                "sha256": _content_digest(queries),
                "queries": queries.n_queries,
                "documents": queries.n_documents,
            }
            for role, queries in self.queries.items()
        ]

    @cached_property
    def fingerprint(self) -> str:
        """A name for what is trained: the same for the same queries, options and version, and for no other."""
        options = {name: value for name, value in self.options.items() if name not in NOT_IN_WORK}
        digests = {part["role"]: part["sha256"] for part in self.data}
        told = {name: _told(value) for name, value in options.items()}
        return fingerprint({"version": __version__, "data": digests, **told})

    @property
    def call(self) -> str:
        """The call, as one would type it with queries of these names."""
        parts = ["train", *(f"{role}={role}" for role in self.queries if role != "train")]
        options = {name: value for name, value in self.options.items() if value is not None}
        parts += [f"{name}={'costs' if name == 'costs' else _told(value)}" for name, value in options.items()]
        return f"rankwright.fit({', '.join(parts)})"


def _told(value: Any) -> str:
    """An option as text; measures and conventions by their names, unless these are changed, sequences as lists."""
    if isinstance(value, Convention):
        return repr(value.name if CONVENTIONS.get(value.name) == value else value)
    if isinstance(value, Measure):
        return repr(str(value))
    if isinstance(value, np.generic):
        value = value.item()
    is_several = isinstance(value, Iterable) and not isinstance(value, str)
    return f"[{', '.join(map(_told, value))}]" if is_several else repr(value)


def _content_digest(queries: AnyQueries) -> str:
    """SHA-256 of features, grades, the queries of rows, and names of features: the same in memory and part by part.

    Of queries on a cluster it is that of their parts.
    """
    if isinstance(queries, ClusterQueries):  # whose features stay where they are
        return hashlib.sha256("".join(queries.each(_content_digest)).encode()).hexdigest()
    names = queries.feature_names if queries.has_feature_names else ()
    of_arrays: dict[str, Any] = defaultdict(hashlib.sha256)
    n_queries = 0
    for part in parts_of(queries):
        x: Any = part.X
        arrays = {"features": x.data if sp.issparse(x) else x}
        if sp.issparse(x):
            arrays |= {"columns": x.indices.astype(np.int64), "stored": np.diff(x.indptr).astype(np.int64)}
        for name, array in {**arrays, "grades": part.y, "queries": part.grouping.codes + n_queries}.items():
            of_arrays[name].update(array.dtype.str.encode() if n_queries == 0 else b"")
            of_arrays[name].update(np.ascontiguousarray(array).data)
        n_queries += part.n_queries
    digest = hashlib.sha256(repr((queries.n_documents, queries.n_features, names)).encode())
    for name, of_array in sorted(of_arrays.items()):
        digest.update(name.encode() + of_array.digest())
    return digest.hexdigest()
