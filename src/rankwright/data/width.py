"""Data with more features than a ranker should have weights for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.errors import DataError

if TYPE_CHECKING:
    from rankwright.data.streams.streamed import StreamedQueries

MOST_FEATURES = 2**27  # weights of a gigabyte

# Solvers keep a dozen numbers for each feature. So many features cost them half a gigabyte, whatever the data; more of
# them are for data that are not small beside that.
_FREE_FEATURES, _FEATURES_PER_VALUE = 2**22, 64


def check_width(queries: Queries | StreamedQueries, what: str = "") -> None:
    """Raise a `DataError` if there are so many features that training would take gigabytes for little data.

    One feature with a huge number is enough for that, as in a file whose features are hashes.
    """
    if not isinstance(queries, Queries):
        return  # what is larger than memory is not little data
    x, n_features = queries.X, queries.n_features
    n_values = x.nnz if sp.issparse(x) else x.size
    most = min(MOST_FEATURES, max(_FREE_FEATURES, _FEATURES_PER_VALUE * n_values))
    if n_features > most:
        present = len(np.unique(x.indices)) if sp.issparse(x) else n_features
        raise DataError(
            f"{what}feature {n_features} makes {n_features:,} features, of which {present:,} occur; a ranker would "
            f"need {n_features:,} weights ({n_features * 8 / 1e9:,.1f} GB, and several times that while it is "
            f"trained). At most {most:,} are taken for data of {n_values:,} values: number the features that occur 1, "
            "2, 3, …; if the numbers are hashes, keep fewer bits of them"
        )
