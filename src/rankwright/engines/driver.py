"""Work on numbers that a learner keeps itself, beside those that are with the parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwright.machine.threads import for_query_ranges


def share(work: Callable[[int, int], None], count: int, size: int) -> None:
    """Call ``work(first, last)`` on runs of ``count`` items, side by side; each item is worth ``size`` documents."""
    for_query_ranges(work, np.arange(count + 1) * size)
