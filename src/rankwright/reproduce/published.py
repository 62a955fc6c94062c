"""The published results that the reproductions are held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fold = int | Literal["avg"]

OHSUMED = "OHSUMED"
YAHOO = "Yahoo"  # the first of the two sets of Yahoo's challenge, which paper O calls YLTRC

FOLDS = (1, 2, 3, 4, 5)
FOLDS_AND_AVERAGE: tuple[Fold, ...] = (*FOLDS, "avg")


@dataclass(frozen=True)
class SelectionTable:
    """What greedy RankRLS chose on each of five folds (paper G, tables 1 and 2).

    ``log2_alpha`` is the binary logarithm of λ; ``selected`` holds the first ten features at most, counted from 1.
    """

    number: int
    dataset: str
    log2_alpha: tuple[int, ...]
    k: tuple[int, ...]
    selected: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class MeasureTable:
    """The test results of a measure (paper G, tables 3 to 10): by system, five folds and their average."""

    number: int
    dataset: str
    measure: str
    systems: dict[str, tuple[float, ...]]


@dataclass(frozen=True)
class OrderPreservingTable:
    """Test results of three systems (paper O, tables 1 and 2): by system, ERR, DCG and NDCG.

    ``worse`` holds what the paper marks as significantly worse than the best: pairs of system and measure.
    """

    number: int
    dataset: str
    systems: dict[str, tuple[float, float, float]]
    worse: frozenset[tuple[str, str]] = frozenset()


GREEDY_SELECTIONS = (
    SelectionTable(
        1,
        "MQ2007",
        log2_alpha=(8, 6, 9, 8, 7),
        k=(11, 40, 46, 44, 12),
        selected=(
            (39, 19, 25, 23, 32, 16, 43, 22, 5, 33),
            (39, 32, 19, 26, 23, 16, 5, 33, 18, 3),
            (39, 27, 23, 19, 13, 18, 42, 33, 16, 5),
            (39, 28, 45, 23, 43, 33, 13, 18, 22, 15),
            (39, 25, 19, 43, 23, 29, 22, 18, 5, 16),
        ),
    ),
    SelectionTable(
        2,
        "MQ2008",
        log2_alpha=(0, 10, 3, 6, 0),
        k=(1, 4, 7, 4, 1),
        selected=((39,), (39, 23, 37, 32), (39, 29, 25, 23, 46, 37, 19), (39, 29, 25, 23), (39,)),
    ),
)

# Tables 3 to 10 of paper G: for each system, five folds and their average.
_GREEDY_SYSTEMS = ("GRankRLS", "RankRLS", "RankSVM")
_GREEDY_FIGURES = {
    ("MQ2007", "MAP"): (
        (0.4859, 0.4571, 0.4655, 0.4423, 0.4709, 0.4643),
        (0.4912, 0.4573, 0.4655, 0.4425, 0.4687, 0.4650),
        (0.4894, 0.4573, 0.4676, 0.4401, 0.4680, 0.4645),
    ),
    ("MQ2007", "P@10"): (
        (0.3958, 0.3858, 0.3684, 0.3670, 0.3808, 0.3796),
        (0.3997, 0.3855, 0.3684, 0.3673, 0.3811, 0.3804),
        (0.4036, 0.3932, 0.3699, 0.3652, 0.3847, 0.3833),
    ),
    ("MQ2007", "MeanNDCG"): (
        (0.5228, 0.4840, 0.5056, 0.4757, 0.5033, 0.4983),
        (0.5281, 0.4841, 0.5056, 0.4754, 0.5003, 0.4987),
        (0.5278, 0.4810, 0.5042, 0.4699, 0.5003, 0.4966),
    ),
    ("MQ2007", "NDCG@10"): (
        (0.4735, 0.4247, 0.4466, 0.4221, 0.4487, 0.4431),
        (0.4784, 0.4246, 0.4466, 0.4221, 0.4460, 0.4435),
        (0.4818, 0.4266, 0.4461, 0.4163, 0.4485, 0.4439),
    ),
    ("MQ2008", "MAP"): (
        (0.4311, 0.4239, 0.4582, 0.5283, 0.5183, 0.4720),
        (0.4524, 0.4300, 0.4542, 0.5225, 0.5006, 0.4719),
        (0.4502, 0.4213, 0.4529, 0.5284, 0.4950, 0.4696),
    ),
    ("MQ2008", "P@10"): (
        (0.2333, 0.2178, 0.2363, 0.2975, 0.2484, 0.2467),
        (0.2391, 0.2217, 0.2325, 0.2949, 0.2503, 0.2477),
        (0.2423, 0.2229, 0.2357, 0.2981, 0.2465, 0.2491),
    ),
    ("MQ2008", "MeanNDCG"): (
        (0.4454, 0.4186, 0.4787, 0.5403, 0.5369, 0.4840),
        (0.4633, 0.4269, 0.4741, 0.5407, 0.5138, 0.4838),
        (0.4577, 0.4296, 0.4686, 0.5442, 0.5159, 0.4832),
    ),
    ("MQ2008", "NDCG@10"): (
        (0.1920, 0.1585, 0.2558, 0.2940, 0.2254, 0.2251),
        (0.2145, 0.1669, 0.2489, 0.2874, 0.2165, 0.2268),
        (0.2117, 0.1738, 0.2494, 0.2892, 0.2155, 0.2279),
    ),
}
GREEDY_RESULTS = tuple(
    MeasureTable(number, dataset, measure, dict(zip(_GREEDY_SYSTEMS, figures, strict=True)))
    for number, ((dataset, measure), figures) in enumerate(_GREEDY_FIGURES.items(), start=3)
)
GREEDY_TABLES: tuple[SelectionTable | MeasureTable, ...] = (*GREEDY_SELECTIONS, *GREEDY_RESULTS)

ORDER_PRESERVING_RESULTS = (
    OrderPreservingTable(
        1,
        YAHOO,
        {
            "PreOrder": (0.4392, 1.6894, 0.8332),
            "Consist^DCG": (0.4469, 1.7025, 0.8349),
            "Consist^NDCG": (0.4472, 1.7021, 0.8374),
        },
        worse=frozenset(
            {("PreOrder", "ERR"), ("PreOrder", "DCG"), ("PreOrder", "NDCG"), ("Consist^DCG", "NDCG")},
        ),
    ),
    OrderPreservingTable(
        1,
        "MQ2007",
        {
            "PreOrder": (0.31392, 1.7678, 0.66696),
            "Consist^DCG": (0.316, 1.76806, 0.66714),
            "Consist^NDCG": (0.3134, 1.76566, 0.66858),
        },
    ),
    OrderPreservingTable(
        2,
        YAHOO,
        {
            "PreOrder^Norm": (0.4458, 1.6988, 0.8370),
            "PreOrder^Norm+DCG": (0.4499, 1.7072, 0.8376),
            "Consist^Norm+DCG": (0.4511, 1.7082, 0.8370),
        },
        worse=frozenset({("PreOrder^Norm", "ERR"), ("PreOrder^Norm", "DCG")}),
    ),
    OrderPreservingTable(
        2,
        "MQ2007",
        {
            "PreOrder^Norm": (0.31278, 1.76412, 0.66794),
            "PreOrder^Norm+DCG": (0.31276, 1.77058, 0.6714),
            "Consist^Norm+DCG": (0.31746, 1.77124, 0.67032),
        },
    ),
)

# The baselines that came with LETOR 2.0, which paper L compares with: averages over five folds of OHSUMED.
LETOR_BASELINES: dict[str, dict[str, float]] = {
    "RankBoost": {"NDCG@1": 0.4977, "NDCG@3": 0.4726, "NDCG@5": 0.4502, "NDCG@10": 0.4356, "MAP": 0.4403},
    "RankSVM": {"NDCG@1": 0.4952, "NDCG@3": 0.4649, "NDCG@5": 0.4579, "NDCG@10": 0.4411, "MAP": 0.4469},
    "FRank": {"NDCG@1": 0.5449, "NDCG@3": 0.4995, "NDCG@5": 0.4688, "NDCG@10": 0.4423, "MAP": 0.4463},
    "ListNet": {"NDCG@1": 0.5231, "NDCG@3": 0.4777, "NDCG@5": 0.4662, "NDCG@10": 0.4489, "MAP": 0.4496},
    "AdaRank.MAP": {"NDCG@1": 0.5420, "NDCG@3": 0.4803, "NDCG@5": 0.4554, "NDCG@10": 0.4385, "MAP": 0.4419},
}
