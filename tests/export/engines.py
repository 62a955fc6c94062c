"""What engines do with an exported model, written from their rules: each takes the text and features by name.

Solr and the plugin of Elasticsearch compute in float32, operation by operation. RankLib keeps features as float32, and
computes in float64. Vespa computes in float64.
"""

from __future__ import annotations

import json
import math
import operator
import re
from itertools import accumulate
from typing import ClassVar

import numpy as np

F = np.float32


def strict_json(text):
    """JSON without NaN, infinity or repeated keys."""

    def unique(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), f"repeated keys among {keys}"
        return dict(pairs)

    def no_constant(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)


def elasticsearch(text, document):
    """The score by the plugin; a feature that is not in the feature set is an error."""
    model = strict_json(text)["model"]["model"]
    assert set(model) <= {"type", "feature_normalizers", "definition"}
    values = {name: F(value) for name, value in document.items()}
    for name, normaliser in model.get("feature_normalizers", {}).items():
        (kind,) = normaliser
        assert kind == "standard"
        mean, deviation = (F(normaliser[kind][part]) for part in ("mean", "standard_deviation"))
        assert deviation > 0
        values[name] = (values[name] - mean) / deviation
    definition = strict_json(model["definition"])
    total = F(0)
    if model["type"] == "model/linear":
        for name in values:
            total = F(total + values[name] * F(definition.get(name, 0)))
        assert set(definition) <= set(values)
        return total
    assert model["type"] == "model/xgboost+json"
    for tree in definition:
        node = tree
        while "leaf" not in node:
            assert (node["yes"], node["no"]) == tuple(child["nodeid"] for child in node["children"])
            node = node["children"][0 if F(node["split_condition"]) > values[node["split"]] else 1]
        total = F(total + F(node["leaf"]))
    return total


def solr(text, document):
    """The score by Solr; every feature that is listed must be in the store, and have a weight."""
    model = strict_json(text)
    values = {}
    for feature in model["features"]:
        value = F(document[feature["name"]])
        if "norm" in feature:
            assert feature["norm"]["class"] == "org.apache.solr.ltr.norm.StandardNormalizer"
            average, deviation = (F(float(feature["norm"]["params"][part])) for part in ("avg", "std"))
            assert deviation > 0
            value = (value - average) / deviation
        values[feature["name"]] = value
    total = F(0)
    if model["class"] == "org.apache.solr.ltr.model.LinearModel":
        weights = model["params"]["weights"]
        assert all(isinstance(weights[name], float) for name in values)
        for name, value in values.items():
            total = F(total + value * F(weights[name]))
        return total
    assert model["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    for tree in model["params"]["trees"]:
        node = tree["root"]
        while "feature" in node:
            threshold = F(float(node["threshold"])) + F(1e-6)
            node = node["left" if values[node["feature"]] <= threshold else "right"]
        total = F(total + F(float(tree["weight"])) * F(float(node["value"])))
    return total


def ranklib(text, row):
    """The score by RankLib of a row of all features, which it counts from 1."""
    head, *lines = text.splitlines()
    if head == "## LambdaMART":
        return _ranklib_ensemble(lines, row)
    (content,) = (line for line in lines if line and not line.startswith("##"))
    if head == "## RankBoost":
        stumps = (word.split(":") for word in content.split(" "))
        return sum(
            float(weight) * (float(F(row[int(number) - 1])) > float(threshold)) for number, threshold, weight in stumps
        )
    assert head == "## Linear Regression"
    pairs = [word.split(":") for word in content.split(" ")]
    total, n_features = 0.0, len(pairs) - 1
    for number, weight in pairs:
        total += float(weight) * (1.0 if number == "0" else float(F(row[int(number) - 1])))
    assert sum(number != "0" for number, _ in pairs) == n_features
    return total


def _ranklib_ensemble(lines, row):
    """RankLib strips every line, and takes the children of a node by their places."""
    from xml.etree import ElementTree

    ensemble = ElementTree.fromstring("".join(line.strip() for line in lines if not line.startswith("##")))
    total = F(0)
    for tree in ensemble:
        node = tree[0]
        while node[0].tag == "feature":
            number, threshold = int(node[0].text), F(float(node[1].text))
            assert [child.get("pos") for child in node[2:]] == ["left", "right"]
            node = node[2 if F(row[number - 1]) <= threshold else 3]
        total = F(total + F(float(node[0].text)) * F(float(tree.get("weight"))))
    return total


_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)(?![\w(])"
    r"|(?P<function>(?:isNan|log|abs)(?=\())|(?P<feature>[A-Za-z_]\w*(?:\([^()]*\))?(?:\.\w+)*)"
    r"|(?P<mark><=|>=|\|\||&&|[-+*/<>,()!]))"
)


class Vespa:
    """The grammar of ranking expressions, as far as sums, products, comparisons, brackets, ``if``, isNan, log and abs
    go, and !, && and || of comparisons.

    As in Vespa, what cannot be computed is NaN, and a comparison with NaN is false. ``depth`` tells how brackets nest.
    """

    _COMPARED: ClassVar = {">": operator.gt, "<": operator.lt, "<=": operator.le, ">=": operator.ge}

    def __init__(self, profile, features):
        found = re.fullmatch(
            r"rank-profile (?P<name>[\w-]+) \{\s*first-phase \{\s*expression \{(?P<expression>[^{}]*)\}\s*\}\s*\}\s*",
            profile,
        )
        assert found, profile
        self.name = found["name"]
        self._features = features
        self._tokens = []
        text, place = found["expression"].strip(), 0
        while place < len(text):
            token = _TOKEN.match(text, place)
            assert token, text[place:]
            word = token[token.lastgroup]
            self._tokens.append(("if" if word == "if" else token.lastgroup, word))
            place = token.end()
        self._tokens.append(("end", ""))
        marks = [word for kind, word in self._tokens if kind == "mark"]
        self.depth = max(accumulate((mark == "(") - (mark == ")") for mark in marks), default=0)
        self._tokens.reverse()  # the next is the last

    def score(self):
        value = self._comparison()
        assert self._tokens == [("end", "")]
        return float(value)

    def _take(self, *marks):
        if self._tokens[-1][1] in marks and self._tokens[-1][0] in ("mark", "if", "function"):
            return self._tokens.pop()[1]
        return None

    def _expect(self, mark):
        assert self._take(mark), self._tokens[-3:]

    def _condition(self):
        value = self._comparison()
        while sign := self._take("||", "&&"):
            other = self._comparison()
            value = value or other if sign == "||" else value and other
        return value

    def _comparison(self):
        left = self._sum()
        sign = self._take(*self._COMPARED)
        return self._COMPARED[sign](left, self._sum()) if sign else left

    def _sum(self):
        total = self._product()
        while sign := self._take("+", "-"):
            term = self._product()
            total = total + term if sign == "+" else total - term
        return total

    def _product(self):
        product = self._value()
        while sign := self._take("*", "/"):
            factor = self._value()
            product = product * factor if sign == "*" else product / factor
        return product

    def _value(self):
        if self._take("-"):
            return -self._value()
        if self._take("!"):
            return not self._value()
        if self._take("("):
            value = self._comparison()
            self._expect(")")
            return value
        if self._take("if"):
            self._expect("(")
            parts = [self._condition()]
            for _ in range(2):
                self._expect(",")
                parts.append(self._comparison())
            self._expect(")")
            return parts[1] if parts[0] else parts[2]
        if function := self._take("isNan", "log", "abs"):
            self._expect("(")
            value = self._comparison()
            self._expect(")")
            if function == "abs":
                return abs(value)
            return math.isnan(value) if function == "isNan" else math.log(value) if value > 0 else math.nan
        kind, text = self._tokens.pop()
        assert kind in ("number", "feature"), text
        return float(text) if kind == "number" else self._features[text]


def vespa(text, document):
    return Vespa(text, document).score()


def python(text, document):
    namespace = {}
    exec(compile(text, "model.py", "exec"), namespace)
    return namespace["score"](document)


def sqlite(expression, columns, rows, table="docs", n_texts=0):
    """The value of an expression for each row of a table with these columns, of which the first hold texts."""
    import sqlite3

    def quoted(name):
        return '"' + name.replace('"', '""') + '"'

    base = sqlite3.connect(":memory:")
    kinds = (f"{quoted(name)} {'TEXT' if place < n_texts else 'REAL'}" for place, name in enumerate(columns))
    base.execute(f"CREATE TABLE {quoted(table)} ({', '.join(kinds)})")
    base.executemany(f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(columns))})", rows)
    return [row[0] for row in base.execute(f"SELECT {expression} FROM {quoted(table)} ORDER BY rowid")]
