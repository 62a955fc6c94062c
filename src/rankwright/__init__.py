"""Rankwright: learning to rank. Everything public is here; everything else is free to change.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwright._version import __version__

if TYPE_CHECKING:
    from rankwright import dask as dask  # not in __all__, as it needs an extra
    from rankwright import datasets, losses, theory
    from rankwright import lightgbm as lightgbm  # as well
    from rankwright import spark as spark  # as well
    from rankwright import torch as torch  # as well
    from rankwright import xgboost as xgboost  # as well
    from rankwright.data.files import read_queries, write_queries
    from rankwright.data.frames import from_frame
    from rankwright.data.inspection import Inspection, inspect
    from rankwright.data.normalise import GlobalStandardScaler, QueryMinMaxScaler, normalised
    from rankwright.data.parquet import read_parquet, write_parquet
    from rankwright.data.queries import Queries
    from rankwright.data.scores import read_scores
    from rankwright.data.streams.opening import open_queries, remove_cache
    from rankwright.data.streams.streamed import StreamedQueries
    from rankwright.data.svmlight import read_svmlight, write_svmlight
    from rankwright.errors import (
        DataError,
        OneQueryWarning,
        ParameterError,
        ParseError,
        RankwrightError,
    )
    from rankwright.evaluation.comparison import Comparison, compare
    from rankwright.evaluation.evaluation import Evaluation, evaluate
    from rankwright.explanation.explanation import Explanation, explain
    from rankwright.export import export_model
    from rankwright.fitting.fit import fit
    from rankwright.fitting.result import FitResult
    from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph
    from rankwright.maps.basis_map import BasisMap
    from rankwright.maps.kernel_map import KernelMap
    from rankwright.measures import (
        AP,
        CONVENTIONS,
        DCG,
        ERR,
        MEASURES,
        RR,
        WPD,
        Convention,
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
    from rankwright.models.kernel_model import KernelModel
    from rankwright.models.linear_model import LinearModel
    from rankwright.models.mapped_model import MappedModel
    from rankwright.models.model_file import load_model, save_model
    from rankwright.models.network_model import NetworkModel
    from rankwright.models.stump_model import StumpModel
    from rankwright.models.terms_model import TermsModel
    from rankwright.models.tree_model import TreeModel
    from rankwright.progress import Iteration, Progress
    from rankwright.rankers.basis_ranker import BasisRanker
    from rankwright.rankers.boosted import BoostedRanker
    from rankwright.rankers.greedy_rankrls import GreedyRankRLS
    from rankwright.rankers.kernel_rankrls import KernelRankRLS
    from rankwright.rankers.kernel_structured import KernelStructuredRanker
    from rankwright.rankers.leave_query_out import HeldOut, leave_query_out
    from rankwright.rankers.mapped import MappedRanker
    from rankwright.rankers.neural import NeuralRanker
    from rankwright.rankers.order_preserving import OrderPreservingRanker
    from rankwright.rankers.rankboost import RankBoost
    from rankwright.rankers.rankrls import RankRLS
    from rankwright.rankers.ranksvm import RankSVM
    from rankwright.rankers.regression import RegressionRanker
    from rankwright.rankers.structured import StructuredRanker
    from rankwright.selection.search import search

_NAMES = {
    "rankwright.data.files": ("read_queries", "write_queries"),
    "rankwright.data.frames": ("from_frame",),
    "rankwright.data.inspection": ("Inspection", "inspect"),
    "rankwright.data.normalise": ("GlobalStandardScaler", "QueryMinMaxScaler", "normalised"),
    "rankwright.data.parquet": ("read_parquet", "write_parquet"),
    "rankwright.data.queries": ("Queries",),
    "rankwright.data.scores": ("read_scores",),
    "rankwright.data.streams.opening": ("open_queries", "remove_cache"),
    "rankwright.data.streams.streamed": ("StreamedQueries",),
    "rankwright.judgments.supervision": ("FullRanking", "Grades", "PreferenceGraph"),
    "rankwright.data.svmlight": ("read_svmlight", "write_svmlight"),
    "rankwright.dask": ("dask",),
    "rankwright.datasets": ("datasets",),
    "rankwright.lightgbm": ("lightgbm",),
    "rankwright.losses": ("losses",),
    "rankwright.spark": ("spark",),
    "rankwright.theory": ("theory",),
    "rankwright.torch": ("torch",),
    "rankwright.xgboost": ("xgboost",),
    "rankwright.errors": ("DataError", "OneQueryWarning", "ParameterError", "ParseError", "RankwrightError"),
    "rankwright.evaluation.comparison": ("Comparison", "compare"),
    "rankwright.evaluation.evaluation": ("Evaluation", "evaluate"),
    "rankwright.explanation.explanation": ("Explanation", "explain"),
    "rankwright.export": ("export_model",),
    "rankwright.fitting.fit": ("fit",),
    "rankwright.fitting.result": ("FitResult",),
    "rankwright.maps.basis_map": ("BasisMap",),
    "rankwright.maps.kernel_map": ("KernelMap",),
    "rankwright.measures": (
        "AP",
        "CONVENTIONS",
        "Convention",
        "DCG",
        "ERR",
        "KendallTau",
        "MEASURES",
        "MeanNDCG",
        "Measure",
        "P",
        "PairwiseError",
        "RR",
        "Recall",
        "WPD",
        "ZeroOne",
        "nDCG",
        "new_measure",
        "parse_measures",
    ),
    "rankwright.models.kernel_model": ("KernelModel",),
    "rankwright.models.linear_model": ("LinearModel",),
    "rankwright.models.mapped_model": ("MappedModel",),
    "rankwright.models.model_file": ("load_model", "save_model"),
    "rankwright.models.network_model": ("NetworkModel",),
    "rankwright.models.stump_model": ("StumpModel",),
    "rankwright.models.tree_model": ("TreeModel",),
    "rankwright.models.terms_model": ("TermsModel",),
    "rankwright.rankers.basis_ranker": ("BasisRanker",),
    "rankwright.rankers.boosted": ("BoostedRanker",),
    "rankwright.rankers.greedy_rankrls": ("GreedyRankRLS",),
    "rankwright.rankers.kernel_rankrls": ("KernelRankRLS",),
    "rankwright.rankers.kernel_structured": ("KernelStructuredRanker",),
    "rankwright.rankers.leave_query_out": ("HeldOut", "leave_query_out"),
    "rankwright.rankers.neural": ("NeuralRanker",),
    "rankwright.rankers.mapped": ("MappedRanker",),
    "rankwright.rankers.order_preserving": ("OrderPreservingRanker",),
    "rankwright.rankers.rankboost": ("RankBoost",),
    "rankwright.rankers.rankrls": ("RankRLS",),
    "rankwright.rankers.ranksvm": ("RankSVM",),
    "rankwright.rankers.regression": ("RegressionRanker",),
    "rankwright.rankers.structured": ("StructuredRanker",),
    "rankwright.selection.search": ("search",),
    "rankwright.progress": ("Iteration", "Progress"),
}

_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "AP",
    "CONVENTIONS",
    "DCG",
    "ERR",
    "MEASURES",
    "RR",
    "WPD",
    "BasisMap",
    "BasisRanker",
    "BoostedRanker",
    "Comparison",
    "Convention",
    "DataError",
    "Evaluation",
    "Explanation",
    "FitResult",
    "FullRanking",
    "GlobalStandardScaler",
    "Grades",
    "GreedyRankRLS",
    "HeldOut",
    "Inspection",
    "Iteration",
    "KendallTau",
    "KernelMap",
    "KernelModel",
    "KernelRankRLS",
    "KernelStructuredRanker",
    "LinearModel",
    "MappedModel",
    "MappedRanker",
    "MeanNDCG",
    "Measure",
    "NetworkModel",
    "NeuralRanker",
    "OneQueryWarning",
    "OrderPreservingRanker",
    "P",
    "PairwiseError",
    "ParameterError",
    "ParseError",
    "PreferenceGraph",
    "Progress",
    "Queries",
    "QueryMinMaxScaler",
    "RankBoost",
    "RankRLS",
    "RankSVM",
    "RankwrightError",
    "Recall",
    "RegressionRanker",
    "StreamedQueries",
    "StructuredRanker",
    "StumpModel",
    "TermsModel",
    "TreeModel",
    "ZeroOne",
    "__version__",
    "compare",
    "datasets",
    "evaluate",
    "explain",
    "export_model",
    "fit",
    "from_frame",
    "inspect",
    "leave_query_out",
    "load_model",
    "losses",
    "nDCG",
    "new_measure",
    "normalised",
    "open_queries",
    "parse_measures",
    "read_parquet",
    "read_queries",
    "read_scores",
    "read_svmlight",
    "remove_cache",
    "save_model",
    "search",
    "theory",
    "write_parquet",
    "write_queries",
    "write_svmlight",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'rankwright' has no attribute {name!r}")
    module = import_module(home)
    value = module if home == f"rankwright.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
