"""The consistency laboratory (paper O, sections 2 to 5): a few items, any distribution of supervision, every order."""

from rankwright.theory.consistency.demonstrations import Demonstration, demonstrations
from rankwright.theory.consistency.laboratory import Laboratory, SurrogateGap
from rankwright.theory.consistency.orders import SupervisionSet, all_grades, all_graphs, all_rankings
from rankwright.theory.consistency.spaces import (
    is_low_noise,
    is_order_preserving,
    mallows,
    order_preserving_chain,
    plackett_luce,
)
from rankwright.theory.consistency.standardisation import Standardization, has_standardization
from rankwright.theory.consistency.surrogates import Minimum

__all__ = [
    "Demonstration",
    "Laboratory",
    "Minimum",
    "Standardization",
    "SupervisionSet",
    "SurrogateGap",
    "all_grades",
    "all_graphs",
    "all_rankings",
    "demonstrations",
    "has_standardization",
    "is_low_noise",
    "is_order_preserving",
    "mallows",
    "order_preserving_chain",
    "plackett_luce",
]
