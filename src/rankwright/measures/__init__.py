"""Measures of rankings: what they are, the conventions tools compute them by, and comparisons of systems."""

from rankwright.measures.comparison import Comparison, compare
from rankwright.measures.conventions import CONVENTIONS, Convention
from rankwright.measures.evaluation import Evaluation, evaluate
from rankwright.measures.measure import (
    AP,
    DCG,
    ERR,
    MEASURES,
    RR,
    WPD,
    KendallTau,
    MeanNDCG,
    Measure,
    P,
    PairwiseError,
    Recall,
    ZeroOne,
    nDCG,
    parse_measures,
)

__all__ = [
    "AP",
    "CONVENTIONS",
    "DCG",
    "ERR",
    "MEASURES",
    "RR",
    "WPD",
    "Comparison",
    "Convention",
    "Evaluation",
    "KendallTau",
    "MeanNDCG",
    "Measure",
    "P",
    "PairwiseError",
    "Recall",
    "ZeroOne",
    "compare",
    "evaluate",
    "nDCG",
    "parse_measures",
]
