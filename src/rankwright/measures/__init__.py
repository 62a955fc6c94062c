"""Measures of rankings: what they are, how they are computed, and the conventions that tools compute them by."""

from rankwright.measures.conventions import CONVENTIONS, Convention
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
    new_measure,
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
    "Convention",
    "KendallTau",
    "MeanNDCG",
    "Measure",
    "P",
    "PairwiseError",
    "Recall",
    "ZeroOne",
    "nDCG",
    "new_measure",
    "parse_measures",
]
