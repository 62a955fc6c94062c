"""The non-linear rankers that `fit` can try beside the linear ones. Their settings are drawn by a random search."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from rankwright.data.streams.streamed import AnyQueries
from rankwright.fitting.data import FitData, Sides
from rankwright.fitting.families import bounded_measure
from rankwright.fitting.family import BLACK_BOX, FORMULA, AnySetting, Drawn, Family
from rankwright.fitting.learned import Models
from rankwright.fitting.work import Arrays
from rankwright.maps.kernel_map import KernelMap
from rankwright.models.model import Model
from rankwright.models.tree_model import TreeModel
from rankwright.preparation.missing import MissingName
from rankwright.progress import Tell
from rankwright.rankers.basis_ranker import BasisRanker
from rankwright.rankers.boosted import BoostedRanker
from rankwright.rankers.mapped import MappedRanker
from rankwright.rankers.neural import NeuralRanker
from rankwright.rankers.order_preserving import OrderPreservingRanker
from rankwright.rankers.rankrls import RankRLS
from rankwright.rankers.structured import StructuredRanker
from rankwright.selection.search import search

SEARCH_SECONDS = 300.0  # for the search of all non-linear rankers together, where no budget is given
_MOST_DRAWS = 12
_SEEDS = 2**32  # rankers take no larger ones


@dataclass(frozen=True)
class NonlinearFamily(Family):
    """A ranker whose settings are drawn at random from a space. It is trained on features as they are given.

    ``seed`` is that of the draws and of all that a ranker draws itself, ``missing`` what stands for a missing value in
    rankers that can fill it in either way.
    """

    seed: int = 0
    missing: MissingName = "mean"

    complexity = BLACK_BOX
    extra: ClassVar[str | None] = None  # the library that it needs, which is also the name of the extra
    space: ClassVar[Mapping[str, Sequence[Any]]]  # values of each option, those of the first draw in front

    def why_not(self) -> str | None:
        """Why it cannot be tried, and what to do; None if it can."""
        if self.extra is None or find_spec(self.extra) is not None:
            return None
        return f"{self.extra} is not installed: pip install 'rankwright[{self.extra}]'"

    @property
    def n_settings(self) -> int:
        """How many points its space has."""
        return prod(len(values) for values in self.space.values())

    @property
    def most_draws(self) -> int:
        """How often settings are drawn at most."""
        return min(_MOST_DRAWS, self.n_settings)

    def draw(self, number: int) -> list[AnySetting]:
        """The settings of a draw, counted from 0: none is drawn twice, and the first is always the usual one."""
        usual, *others = product(*self.space.values())
        shuffled = np.random.default_rng([self.seed, crc32(self.name.encode())]).permutation(len(others))
        options = usual if number == 0 else others[shuffled[number - 1]]
        return [Drawn(tuple(zip(self.space, options, strict=True)))]

    @abstractmethod
    def trained(self, queries: AnyQueries, setting: Mapping[str, Any], progress: Tell | None) -> Model:
        """The model that queries give with a setting."""

    # As the steps of a fit ask for it

    def side_of(self, data: FitData) -> Sides:
        """Features as they are given."""
        return data.given

    def learn(
        self, data: FitData, queries: AnyQueries, settings: Sequence[AnySetting], progress: Tell | None = None
    ) -> Models:
        """A model for each setting."""
        return Models([self.trained(queries, setting.told, progress) for setting in settings])

    def restored(self, data: FitData, arrays: Arrays) -> Models:
        """The model that was kept."""
        return Models.restored(arrays)


@dataclass(frozen=True)
class KernelMaps(NonlinearFamily):
    """A linear ranker behind random features of a Gaussian kernel, whose bandwidth is chosen with λ."""

    name, title, ranker_name = "kernel-map", "kernel map", "MappedRanker"
    space = MappingProxyType(
        {
            "components": (1000, 500, 2000),
            "loss": ("rankrls", "order-preserving", "structured"),
            "scaling": ("standard", "quantile", "within-query-spread"),
            "kind": ("orthogonal", "nystroem"),
        }
    )

    def trained(self, queries: AnyQueries, setting: Mapping[str, Any], progress: Tell | None) -> Model:
        """λ and the bandwidth are chosen by these queries alone."""
        told: dict[str, Any] = {"measures": self.measure, "convention": self.convention}
        own = {"scaling": setting["scaling"], "missing": self.missing, "random_state": self.seed % _SEEDS}
        kernel = KernelMap(setting["kind"], setting["components"], **own)
        if setting["loss"] == "structured":
            linear = StructuredRanker(bounded_measure(self.measure), search(), **told)
        else:
            linear = {"rankrls": RankRLS, "order-preserving": OrderPreservingRanker}[setting["loss"]](search(), **told)
        ranker = MappedRanker(kernel, linear)
        return ranker.fit(queries, progress=progress).model()


@dataclass(frozen=True)
class Formulas(NonlinearFamily):
    """A short formula of hinges, products and logarithms; how many terms it has is chosen by leave-query-out."""

    name, title, ranker_name = "basis", "formula", "BasisRanker"
    complexity = FORMULA
    space = MappingProxyType(
        {"hinges": (8, 4, 0), "products": (True, False), "rule": ("one-standard-error", "best")},
    )

    def trained(self, queries: AnyQueries, setting: Mapping[str, Any], progress: Tell | None) -> Model:
        """λ and the number of terms are chosen by these queries alone."""
        told: dict[str, Any] = {"measures": self.measure, "convention": self.convention}
        ranker = BasisRanker(search(), search(), **setting, **told)
        return ranker.fit(queries, progress=progress).model()


_LEAST_LEAVES = 20  # that there are documents for
_TREES = (50, 100, 200, 400)
_FIRST_TREES = (50, 100)  # so that every family has had its turn soon


@dataclass(frozen=True)
class _Trees(NonlinearFamily):
    """Boosted trees. The first trees of a model are one with fewer trees: all their numbers are trained at once."""

    extra = "lightgbm"
    loss: ClassVar[str | None]  # None: drawn
    ranker_name = "BoostedRanker"
    space = MappingProxyType(
        {
            "leaves": (15, 31, 7),
            "learning_rate": (0.1, 0.05),
            "min_documents": (50, 20, 200),
            "feature_share": (1.0, 0.5),
        }
    )

    def draw(self, number: int) -> list[AnySetting]:
        """Each draw with several numbers of trees."""
        (drawn,) = super().draw(number)
        return [Drawn((*drawn.told.items(), ("trees", trees))) for trees in (_TREES if number else _FIRST_TREES)]

    def learn(
        self, data: FitData, queries: AnyQueries, settings: Sequence[AnySetting], progress: Tell | None = None
    ) -> Models:
        """As many trees as any of the settings has, and for each setting the first of them."""
        (options,) = {tuple(item for item in setting.told.items() if item[0] != "trees") for setting in settings}
        most = max(setting.told["trees"] for setting in settings)
        model = self.trained(queries, {**dict(options), "trees": most}, progress)
        return Models([_first_trees(model, setting.told["trees"]) for setting in settings])

    def trained(self, queries: AnyQueries, setting: Mapping[str, Any], progress: Tell | None) -> Model:
        """All trees that are asked for: held-out queries of the fit tell how many are best."""
        options = {"loss": self.loss, **setting}
        # Few documents cannot fill large leaves.
        options["min_documents"] = min(options["min_documents"], max(1, queries.n_documents // _LEAST_LEAVES))
        ranker = BoostedRanker(
            library="lightgbm",
            n_trees=options.pop("trees"),
            measures=self.measure,
            convention=self.convention,
            random_state=self.seed % _SEEDS,
            **options,
        )
        return ranker.fit(queries, progress=progress).model()


class BoostedTrees(_Trees):
    """Trees that are boosted on losses of ours."""

    name, title, loss = "boosted", "boosted trees", None
    space = MappingProxyType(
        {
            "loss": ("preorder", "order-preserving", "structured-softmax"),
            **_Trees.space,
            "query_share": (1.0, 0.7),  # the libraries' own losses cannot be trained on some of the queries
        }
    )


class LambdaRank(_Trees):
    """LightGBM's LambdaMART."""

    name, title, loss = "lambdarank", "LambdaMART", "lambdarank"


class CrossEntropyNDCG(_Trees):
    """LightGBM's rank_xendcg."""

    name, title, loss = "xendcg", "XE-NDCG trees", "xendcg"


@dataclass(frozen=True)
class Networks(NonlinearFamily):
    """A network of fully connected layers; it holds out some queries to choose an epoch."""

    name, title, ranker_name, extra = "neural", "neural network", "NeuralRanker", "torch"
    space = MappingProxyType(
        {
            "hidden": ((128, 64, 32), (64, 32), (32,)),
            "loss": ("order-preserving", "structured-softmax", "preorder"),
            "scaling": ("log", "standard", "quantile", "within-query"),
            "weight_decay": (0.3, 1.0, 0.03),
            "learning_rate": (0.003, 0.01, 0.001),
            "epochs": (10, 30),
            "members": (1, 5),
        }
    )

    def trained(self, queries: AnyQueries, setting: Mapping[str, Any], progress: Tell | None) -> Model:
        """The epoch is chosen by queries that are held out of these."""
        told: dict[str, Any] = {"measures": self.measure, "convention": self.convention}
        ranker = NeuralRanker(missing=self.missing, random_state=self.seed % _SEEDS, **setting, **told)
        return ranker.fit(queries, progress=progress).model()


# In the order of their turns: a short budget goes to those that take little time first.
NONLINEAR: tuple[type[NonlinearFamily], ...] = (
    BoostedTrees,
    LambdaRank,
    CrossEntropyNDCG,
    Networks,
    Formulas,
    KernelMaps,
)


def _first_trees(model: Model, n_trees: int) -> TreeModel:
    """The same model without its last trees; there may have been no more to grow."""
    assert isinstance(model, TreeModel)
    import lightgbm

    booster = lightgbm.Booster(model_str=model.text_)
    if booster.num_trees() <= n_trees:
        return model
    told = model.about()
    parameters = {**told["parameters"], "n_trees": n_trees}
    text = booster.model_to_string(num_iteration=n_trees)
    return TreeModel.of_lightgbm(text, **{**told, "parameters": parameters}).with_memory_of(model)
