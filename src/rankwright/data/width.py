"""Data with more features than a ranker can have weights for."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.errors import DataError

MOST_FEATURES = 2**27  # weights of a gigabyte


def check_width(queries: Queries, what: str = "") -> None:
    """Raise a `DataError` if there are so many features that the weights of a ranker would take gigabytes.

    One feature with a huge number is enough for that, as in a file whose features are hashes.
    """
    n_features = queries.n_features
    if n_features > MOST_FEATURES:
        x = queries.X
        present = len(np.unique(x.indices)) if sp.issparse(x) else n_features
        raise DataError(
            f"{what}feature {n_features} makes {n_features:,} features, of which {present:,} occur; a ranker would "
            f"need {n_features:,} weights ({n_features * 8 / 1e9:,.1f} GB), and has at most {MOST_FEATURES:,}: "
            "number the features that occur 1, 2, 3, …; if the numbers are hashes, keep fewer bits of them"
        )
