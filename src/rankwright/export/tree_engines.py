"""Trees for search engines, which compare and add up in float32: Elasticsearch, OpenSearch, Solr and RankLib."""

from __future__ import annotations

import json
from typing import Any

from rankwright.export.content import check_distinct
from rankwright.export.elasticsearch import request_body
from rankwright.export.ranklib import feature_number
from rankwright.export.single import above, at_most, reached_by_adding, single_or_zero
from rankwright.export.solr import SLACK, model_body
from rankwright.export.trees import Split, Tree, Trees, check_thresholds_suffice


def trees_to_elasticsearch(content: Trees, name: str, feature_set: str | None = None) -> str:
    """The body of ``_createmodel`` with trees of ``model/xgboost+json``, and its request line if there is a set."""
    check_thresholds_suffice(content, "the plugin of Elasticsearch and OpenSearch")
    trees = json.dumps([_numbered(tree) for tree in content.trees], allow_nan=False)
    return request_body({"type": "model/xgboost+json", "definition": trees}, name, feature_set)


def _numbered(tree: Tree) -> dict[str, Any]:
    """Nodes with numbers; they go to "yes" where x < split_condition."""
    nodes: list[dict[str, Any]] = [{"nodeid": number} for number in range(len(tree.nodes))]
    depths = [0] * len(nodes)
    for number, node in enumerate(tree.nodes):
        if not isinstance(node, Split):
            nodes[number]["leaf"] = single_or_zero(node, "a leaf")
            continue
        left, right = number + 1, node.right
        depths[left] = depths[right] = depths[number] + 1
        nodes[number] |= {
            "depth": depths[number],
            "split": node.feature.name,
            "split_condition": above(node.threshold, _threshold_of(node)),
            "yes": left,
            "no": right,
            "missing": left if node.missing_left else right,
            "children": [nodes[left], nodes[right]],
        }
    return nodes[0]


def trees_to_solr(content: Trees, name: str, store: str | None = None) -> str:
    """A ``MultipleAdditiveTreesModel``."""
    check_thresholds_suffice(content, "Solr")
    roots: list[dict[str, Any]] = [tree.folded(_solr_leaf, _solr_split) for tree in content.trees]
    trees = [{"weight": "1", "root": root} for root in roots]
    return model_body("MultipleAdditiveTreesModel", content, name, store, {"trees": trees})


def _solr_leaf(value: float) -> dict[str, Any]:
    return {"value": repr(single_or_zero(value, "a leaf"))}


def _solr_split(split: Split, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Trees go left where x ≤ threshold + slack."""
    threshold = reached_by_adding(SLACK, split.threshold, _threshold_of(split))
    return {"feature": split.feature.name, "threshold": repr(threshold), "left": left, "right": right}


def trees_to_ranklib(content: Trees, mapped: frozenset[str] = frozenset()) -> str:
    """RankLib's "LambdaMART": an ensemble in XML, with features by number, counted from 1."""
    check_thresholds_suffice(content, "RankLib")
    numbers = {feature: feature_number(feature, mapped) for feature in content.features}
    check_distinct(map(str, numbers.values()))

    def leaf(value: float) -> list[str]:
        return [f"<output> {single_or_zero(value, 'a leaf')!r} </output>"]

    def split(node: Split, left: list[str], right: list[str]) -> list[str]:
        return [
            f"<feature> {numbers[node.feature]} </feature>",
            f"<threshold> {at_most(node.threshold, _threshold_of(node))!r} </threshold>",
            *('<split pos="left">', *left, "</split>"),
            *('<split pos="right">', *right, "</split>"),
        ]

    lines = ["## LambdaMART", f"## No. of trees = {len(content.trees)}", "", "<ensemble>"]
    for number, tree in enumerate(content.trees, start=1):
        lines += [f'<tree id="{number}" weight="1.0">', "<split>", *tree.folded(leaf, split), "</split>", "</tree>"]
    return "\n".join([*lines, "</ensemble>", ""])


def _threshold_of(split: Split) -> str:
    return f"a threshold of feature {split.feature.name!r}"
