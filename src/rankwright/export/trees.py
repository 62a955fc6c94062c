"""Trees as targets are written from them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, TypeVar

from rankwright.errors import ParameterError
from rankwright.export.content import Content, Feature, check_ranks, renamed
from rankwright.models.model import Model
from rankwright.trees.trees import Trees as TreeArrays

T = TypeVar("T")


@dataclass(frozen=True)
class Split:
    """Documents go left where x ≤ threshold, and where x is missing if ``missing_left``.

    ``zero_is_missing`` tells whether x of 0 goes where missing ones go.
    """

    feature: Feature
    threshold: float
    missing_left: bool
    zero_is_missing: bool
    right: int

    @property
    def tells_missing_from_zero(self) -> bool:
        """Whether a missing value goes elsewhere than 0 does."""
        return not self.zero_is_missing and self.missing_left != (self.threshold >= 0)

    @property
    def sends_zero_astray(self) -> bool:
        """Whether 0 goes to another side than its size would send it to."""
        return self.zero_is_missing and self.missing_left != (self.threshold >= 0)


@dataclass(frozen=True)
class Tree:
    """Splits, and leaves as numbers: the root first, and behind each split its left child."""

    nodes: tuple[Split | float, ...]

    def splits(self) -> Iterator[Split]:
        """All splits."""
        return (node for node in self.nodes if isinstance(node, Split))

    def folded(self, leaf: Callable[[float], T], split: Callable[[Split, T, T], T]) -> T:
        """What ``split`` makes of the root and of what has been made of its two children, and so on to the leaves."""
        made: dict[int, T] = {}
        for place in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[place]
            if isinstance(node, Split):
                made[place] = split(node, made.pop(place + 1), made.pop(node.right))
            else:
                made[place] = leaf(node)
        return made[0]

    def raised(self, by: float) -> Tree:
        """The tree with a number added to every leaf."""
        return Tree(tuple(node if isinstance(node, Split) else node + by for node in self.nodes))


@dataclass(frozen=True)
class Trees(Content):
    """Σ over trees of the leaf that a document comes to."""

    computes: ClassVar[str] = "sums of trees"

    trees: tuple[Tree, ...]

    def splits(self) -> Iterator[Split]:
        """Those of all trees."""
        return (split for tree in self.trees for split in tree.splits())


def trees_content(model: Model, learned: TreeArrays, names: Mapping[str, str] | None) -> Trees:
    """The trees with names of features. What all scores have in common is added to the leaves of the first."""
    used = learned.used_features().tolist()
    check_ranks(used)
    features = dict(zip(used, renamed(used, model, names), strict=True))
    starts = learned.starts.tolist()
    trees = [_tree(learned, first, last, features) for first, last in pairwise(starts)]
    constants = (tree.nodes[0] for tree in trees if len(tree.nodes) == 1)
    base = learned.base + sum(constant for constant in constants if isinstance(constant, float))
    first, *others = (tree for tree in trees if len(tree.nodes) > 1)
    return Trees(tuple(features.values()), (first.raised(base), *others))


def _tree(learned: TreeArrays, first: int, last: int, features: Mapping[int, Feature]) -> Tree:
    nodes: list[Split | float] = []
    for place in range(first, last):
        node = learned.node(place)
        if node is None:
            nodes.append(float(learned.values[place]))
        else:
            right = int(learned.rights[place]) - first
            nodes.append(Split(features[node.feature], node.threshold, node.missing_left, node.zero_is_missing, right))
    return Tree(tuple(nodes))


def check_thresholds_suffice(content: Trees, to: str) -> None:
    """Refuse what cannot be computed where missing values are not known, and tell that they are not."""
    astray = next((split for split in content.splits() if split.sends_zero_astray), None)
    if astray is not None:
        raise ParameterError(
            f"{to} cannot send a feature that is 0 where missing values go, as this model does with "
            f"{astray.feature.name!r}: export to vespa, sql, onnx or python, or train without zero_as_missing"
        )
    told = {split.feature.name for split in content.splits() if split.tells_missing_from_zero}
    if told:
        warnings.warn(
            f"trees of {to} have no place for missing values, which count as 0 there; this model sends them elsewhere "
            f"by {len(told):,} feature{'s' * (len(told) != 1)}, such as {min(told)!r}: scores are those of the model "
            "for documents that have all features",
            stacklevel=4,
        )
