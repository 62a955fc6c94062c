"""The λ path: weights and measures for every λ of a grid, and the choice of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.measures.measure import Measure
from rankwright.selection.search import Estimate, Rule, choose_by
from rankwright.types import Array

if TYPE_CHECKING:
    from rankwright.data.frames import Backend


# The grid of paper G's experiments.
ALPHAS: Array = 2.0 ** np.arange(-15.0, 16.0)


@dataclass(frozen=True, eq=False)
class AlphaPath:
    """Weights for every λ of a grid, and what measures say of each on held-out queries.

    Weights are λ × features; of a kernel, λ × training documents. ``lqo`` is by leave-query-out, ``folds`` by
    cross-validation, ``valid`` on validation queries. ``objectives`` and ``gaps``, for rankers that iterate, are the
    objective for every λ and how far it can be above the least.
    """

    alphas: Array
    weights: Array
    lqo: dict[Measure, list[Estimate]] = field(default_factory=dict)
    valid: dict[Measure, list[Estimate]] = field(default_factory=dict)
    folds: dict[Measure, list[Estimate]] = field(default_factory=dict)
    objectives: Array | None = None
    gaps: Array | None = None

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A row for each λ: columns alpha, ``lqo nDCG @ 10``, its standard error; likewise ``valid`` and ``folds``."""
        import pyarrow as pa

        from rankwright.data.frames import as_backend

        columns: dict[str, Any] = {"alpha": self.alphas}
        for kind, values in (("lqo", self.lqo), ("valid", self.valid), ("folds", self.folds)):
            for measure, told in values.items():
                columns[f"{kind} {measure}"] = [value.mean for value in told]
                columns[f"{kind} {measure} standard error"] = [value.standard_error for value in told]
        return as_backend(pa.table(columns), backend)


def choose_alpha(alphas: Array, values: Array, estimates: dict[Measure, list[Estimate]], rule: Rule) -> int:
    """The position of the best λ (the smallest of equals) by the first measure, or of the largest that is as good.

    ``values`` are those of held-out queries, queries × λ × measures, and ``estimates`` what they come to.
    """
    measure, told = next(iter(estimates.items()))
    return choose_by(rule, told, lambda at: values[:, at, 0], -alphas, measure.lower_is_better)
