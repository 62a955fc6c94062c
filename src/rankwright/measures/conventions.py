"""Conventions: what tools disagree about when they compute the same measure, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice, check_number, check_positive
from rankwright.errors import DataError, ParameterError
from rankwright.judgments.judgments import Judgments

Gain = Literal["exponential", "linear"]
Discount = Literal["log2", "letor"]
Ties = Literal["expected", "input", "best", "worst", "doc_id", "unbroken"]
ShortNDCG = Literal["as is", "zero"]
ShortPrecision = Literal["as is", "pad"]
APDivisor = Literal["relevant", "reachable"]
ScoreType = Literal["float64", "float32"]

_CHOICES = {
    "gain": get_args(Gain),
    "discount": get_args(Discount),
    "ties": get_args(Ties),
    "short_ndcg": get_args(ShortNDCG),
    "short_precision": get_args(ShortPrecision),
    "ap_divisor": get_args(APDivisor),
    "score_type": get_args(ScoreType),
}


@dataclass(frozen=True)
class Convention:
    """How measures are computed.

    Parameters
    ----------
    gain : "exponential" (2^y − 1) or "linear" (y)
    discount : "log2" (1 / log2(p + 1)) or "letor" (1 at positions 1 and 2, then 1 / log2(p))
    ties : what tied scores count
        "expected": the mean over all orders of the tied documents; "input": as the rows stand;
        "best" and "worst": by grade; "doc_id": by document id, descending (by row, if there are no ids);
        "unbroken": tied documents stay tied, as in scikit-learn and SciPy (AP takes the precision below
        the whole tie, Kendall's τ is τ_b, and the other measures are as with "expected").
    empty : 0, 1 or None
        What a query without relevant documents counts for nDCG, AP and recall; None leaves it out of
        the mean of every measure.
    short_ndcg : "as is" or "zero"
        nDCG@k of a query with fewer than k documents.
    short_precision : "as is" (divide by the documents there are) or "pad" (divide by k)
        P@k of a query with fewer than k documents.
    relevant_from : float
        The least grade that is relevant to P, AP, recall and reciprocal rank.
    max_grade : float or None
        The greatest possible grade in ERR; None: the greatest in the data.
    ap_divisor : "relevant" (R) or "reachable" (min(R, k))
        What AP@k is divided by.
    score_type : "float64" or "float32"
        The precision in which scores are compared: in float32 more of them are tied.
    """

    name: str
    gain: Gain = "exponential"
    discount: Discount = "log2"
    ties: Ties = "expected"
    empty: float | None = 0.0
    short_ndcg: ShortNDCG = "as is"
    short_precision: ShortPrecision = "as is"
    relevant_from: float = 1.0
    max_grade: float | None = None
    ap_divisor: APDivisor = "relevant"
    score_type: ScoreType = "float64"

    def __post_init__(self) -> None:
        for field, choices in _CHOICES.items():
            check_choice(field, getattr(self, field), choices)
        if self.empty not in (0, 1, None):
            raise ParameterError(f"empty must be 0, 1 or None (left out), not {self.empty!r}")
        check_positive("relevant_from", self.relevant_from)
        if self.max_grade is not None:
            check_number("max_grade", self.max_grade, 0, LARGEST_GRADE)

    def but(self, **changes: Any) -> Convention:
        """This convention with some choices changed.

        >>> CONVENTIONS["letor4"].but(ties="expected").ties
        'expected'
        """
        return replace(self, **changes)

    def discounts(self, length: int) -> npt.NDArray[np.float64]:
        """The discount of positions 1, …, length."""
        position = np.arange(1, length + 1)
        return 1 / np.log2(np.maximum(position, 2) if self.discount == "letor" else position + 1)


# 2^grade must stay finite, also when the gains of millions of documents are added.
LARGEST_GRADE = 1000


def check_greatest_grade(judgments: Judgments, limit: float, problem: str) -> None:
    """Raise an error that names the query with the greatest grade of all if that is above the limit."""
    whole = judgments.whole
    if whole.greatest_grade > limit:
        raise DataError(
            f"query {whole.greatest_in!r} has a document of grade {whole.greatest_grade:g}, above {limit:g}: {problem}"
        )


_LETOR = Convention("letor4", discount="letor", ties="input", short_ndcg="zero", short_precision="pad")
_BOOSTED = Convention("lightgbm", ties="input", empty=1.0, ap_divisor="reachable")

CONVENTIONS = MappingProxyType(
    {
        convention.name: convention
        for convention in (
            Convention("default"),
            _LETOR,
            _LETOR.but(name="mslr", relevant_from=2.0),
            Convention("trec_eval", gain="linear", ties="doc_id", short_precision="pad", score_type="float32"),
            Convention("sklearn", gain="linear", ties="unbroken"),
            _BOOSTED,
            _BOOSTED.but(name="xgboost", score_type="float32"),
        )
    }
)


def convention_of(convention: str | Convention) -> Convention:
    """A convention by its name, or as it is."""
    if isinstance(convention, Convention):
        return convention
    check_choice("convention", convention, CONVENTIONS)
    return CONVENTIONS[convention]
