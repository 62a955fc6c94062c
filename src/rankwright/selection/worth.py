"""What candidates are compared by where features have costs."""

from __future__ import annotations

import numpy as np

from rankwright.types import Array


def worth(gains: Array, per_cost: Array) -> Array:
    """Gains for their cost, where there are any; else just gains, so that the least loss is best."""
    return np.where(gains > 0, gains * per_cost, -np.inf) if (gains > 0).any() else gains
