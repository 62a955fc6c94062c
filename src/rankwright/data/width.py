"""Data with more features than a ranker should have weights for."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rankwright.data.parts import each_part
from rankwright.data.queries import Features, Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError
from rankwright.types import Columns

MOST_FEATURES = 2**27  # weights of a gigabyte

# Solvers keep a dozen numbers for each feature. So many features cost them half a gigabyte, whatever the data; more of
# them are for data that are not small beside that.
_FREE_FEATURES, _FEATURES_PER_VALUE = 2**22, 64


def n_values(x: Features) -> int:
    """How many values features have: of CSR those that are stored."""
    return int(x.nnz if sp.issparse(x) else x.size)


def check_width(queries: AnyQueries, values: int, what: str = "") -> None:
    """Raise a `DataError` if there are so many features that training would take gigabytes for so few values.

    One feature with a huge number is enough for that, as in a file whose features are hashes.
    """
    n_features = queries.n_features
    most = min(MOST_FEATURES, max(_FREE_FEATURES, _FEATURES_PER_VALUE * values))
    if n_features > most:
        present = len(np.unique(np.concatenate([*each_part(queries, _columns_that_occur)])))
        raise DataError(
            f"{what}feature {n_features} makes {n_features:,} features, of which {present:,} occur; a ranker would "
            f"need {n_features:,} weights ({n_features * 8 / 1e9:,.1f} GB, and several times that while it is "
            f"trained). At most {most:,} are taken for data of {values:,} values: number the features that occur 1, "
            "2, 3, …; if the numbers are hashes, keep fewer bits of them"
        )


def _columns_that_occur(queries: Queries) -> Columns:
    x = queries.X
    return np.unique(x.indices) if sp.issparse(x) else np.arange(x.shape[1])
