"""The expression languages of search engines: Painless, Lucene expressions, and function queries of Solr.

They know fields of documents, or features of a feature set, by name, and take any formula of few terms.
"""

from __future__ import annotations

import json
import re

from rankwright.errors import ParameterError
from rankwright.export.content import Feature, Linear
from rankwright.export.engine_defaults import tell_defaults
from rankwright.export.single import single_or_zero
from rankwright.export.terms import Syntax, TermSum, as_terms, refuse_missing

_MOST_CHARACTERS = 65_535  # of a script, unless the cluster is told otherwise
_WHERE = '"missing" of field_value_factor'
_VARIABLE = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*(?:\.[A-Za-z_$][A-Za-z0-9_$]*)*")


class _Painless(Syntax):
    def number(self, value: float) -> str:
        return repr(value)

    def value(self, feature: Feature, fill: float | None) -> str:
        field = _field(feature)
        return f"{field}.value" if fill is None else f"({field}.size() == 0 ? {fill!r} : {field}.value)"

    def missing(self, feature: Feature) -> str:
        return f"({_field(feature)}.size() == 0 ? 1.0 : 0.0)"

    def positive(self, left: str, right: str) -> str:
        return f"Math.max(0.0, {left} - {right})"

    def logarithm(self, value: str, unit: str) -> str:
        return f"Math.signum({value}) * Math.log(1.0 + Math.abs({value}) / {unit})"


def _field(feature: Feature) -> str:
    if not feature.name.isprintable():
        raise ParameterError(f"features: a script cannot name {feature.name!r}: rename it by the map of features")
    escaped = feature.name.replace("\\", "\\\\").replace("'", "\\'")
    return f"doc['{escaped}']"


def to_painless(content: Linear | TermSum) -> str:
    """A script of Elasticsearch and OpenSearch, for ``sort`` or, where no score is negative, for ``script_score``.

    Features are fields of documents.
    """
    source = " + ".join(_Painless().terms(as_terms(content, "Painless")))
    if len(source) > _MOST_CHARACTERS:
        raise ParameterError(
            f"the script has {len(source):,} characters, but Elasticsearch takes {_MOST_CHARACTERS:,}: train with "
            "fewer terms"
        )
    return json.dumps({"script": {"lang": "painless", "source": source}}, indent=2) + "\n"


class _Lucene(Syntax):
    def number(self, value: float) -> str:
        return repr(value)

    def value(self, feature: Feature, fill: float | None) -> str:
        if not _VARIABLE.fullmatch(feature.name):
            raise ParameterError(
                f"features: {feature.name!r} is no variable of a Lucene expression, of letters, digits and _: rename "
                "it by the map of features"
            )
        return feature.name

    def missing(self, feature: Feature) -> str:
        raise refuse_missing(feature, "a Lucene expression")

    def positive(self, left: str, right: str) -> str:
        return f"max(0, {left} - {right})"

    def logarithm(self, value: str, unit: str) -> str:
        return f"({value} < 0 ? -ln(1 - {value} / {unit}) : ln(1 + {value} / {unit}))"


def to_lucene(content: Linear | TermSum, name: str) -> str:
    """A derived feature of the Learning to Rank plugin, which knows the other features of its feature set by name."""
    terms = as_terms(content, "a Lucene expression")
    if terms.terms.fill is not None:
        tell_defaults({one.name: terms.fill_of(one) or 0.0 for one in terms.features}, "the plugin", _WHERE)
    expression = " + ".join(_Lucene().terms(terms))
    feature = {"name": name, "params": [], "template_language": "derived_expression", "template": expression}
    return json.dumps(feature, indent=2) + "\n"


class _SolrFunction(Syntax):
    def number(self, value: float) -> str:
        return repr(single_or_zero(value, "a number of the formula"))

    def value(self, feature: Feature, fill: float | None) -> str:
        return _solr_field(feature) if fill is None else f"def({_solr_field(feature)},{self.number(fill)})"

    def missing(self, feature: Feature) -> str:
        return f"if(exists({_solr_field(feature)}),0,1)"

    def minus(self, left: str, right: str) -> str:
        return f"sub({left},{right})"

    def plus(self, left: str, right: str) -> str:
        return f"sum({left},{right})"

    def times(self, left: str, right: str) -> str:
        return f"product({left},{right})"

    def positive(self, left: str, right: str) -> str:
        return f"max(sub({left},{right}),0)"

    def logarithm(self, value: str, unit: str) -> str:
        below, above = f"ln(sub(1,div({value},{unit})))", f"ln(sum(1,div({value},{unit})))"
        return f"if(lt({value},0),sub(0,{below}),{above})"


def _solr_field(feature: Feature) -> str:
    if not feature.name.isprintable():
        raise ParameterError(f"features: Solr cannot name {feature.name!r}: rename it by the map of features")
    escaped = feature.name.replace("\\", "\\\\").replace('"', '\\"')
    return f'field("{escaped}")'


def to_solr_function(content: Linear | TermSum) -> str:
    """A function query of Solr, for ``bf``, ``sort``, ``{!func}`` or a SolrFeature; it computes in float32."""
    terms = _SolrFunction().terms(as_terms(content, "a function query of Solr"))
    return (terms[0] if len(terms) == 1 else f"sum({','.join(terms)})") + "\n"
