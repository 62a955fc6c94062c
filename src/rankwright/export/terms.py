"""A formula of few terms, for targets that can compute arithmetic: one way through it, in the syntax of each target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rankwright.errors import ParameterError
from rankwright.export.content import Content, Feature, Linear, check_ranks, renamed
from rankwright.export.engine_defaults import refuse_query_means
from rankwright.maps.terms import Factor, Term, Terms
from rankwright.models.model import Model
from rankwright.preparation.transforms import Quantile


@dataclass(frozen=True)
class TermSum(Content):
    """c + Σ weight · factor (· factor); ``terms`` know features by their columns."""

    computes: ClassVar[str] = "products, hinges and logarithms of features"

    terms: Terms

    def of(self, factor: Factor) -> Feature:
        """The feature of a factor."""
        return next(feature for feature in self.features if feature.number == factor.column + 1)

    def fill_of(self, feature: Feature) -> float | None:
        """What stands for a missing value; None if the model refuses it."""
        return None if self.terms.fill is None else self.terms.fill[feature.number - 1]


def terms_content(model: Model, terms: Terms, names: Mapping[str, str] | None) -> TermSum:
    """What a formula of few terms computes; terms of weight 0 are left out."""
    counted = Terms(tuple(term for term in terms.terms if term.weight), terms.intercept, terms.fill)
    check_ranks(counted.terms)
    return TermSum(renamed(counted.used.tolist(), model, names), counted)


def as_terms(content: Linear | TermSum, to: str) -> TermSum:
    """A weighted sum as a formula of terms, for targets that know nothing else."""
    if isinstance(content, TermSum):
        return content
    refuse_query_means(content, to)
    terms, fill = [], {}
    for term in content.terms():
        column, transform = term.feature.number - 1, term.transform
        if isinstance(transform, Quantile):
            raise ParameterError(
                f"{to} cannot compute the quantile of feature {term.feature.name!r}: SQL, Vespa, ONNX and Python can"
            )
        terms.append(
            Term(term.weight, (Factor(column, "log", transform.unit) if transform else Factor(column, "value"),))
        )
        if term.missing is not None:
            fill[column] = float(transform.inverse(term.missing.value)) if transform else term.missing.value
            terms.append(Term(term.missing.score, (Factor(column, "missing"),)))
    counted = tuple(term for term in terms if term.weight)
    return TermSum(content.features, Terms(counted, content.folded.intercept, fill or None))


class Syntax(ABC):
    """How a target writes numbers, features and functions of them; a formula is written with these alone."""

    @abstractmethod
    def number(self, value: float) -> str:
        """A number."""

    @abstractmethod
    def value(self, feature: Feature, fill: float | None) -> str:
        """A feature, and what stands for it where it is missing."""

    @abstractmethod
    def missing(self, feature: Feature) -> str:
        """1 where a feature is missing, else 0."""

    def minus(self, left: str, right: str) -> str:
        """A difference, in brackets."""
        return f"({left} - {right})"

    def plus(self, left: str, right: str) -> str:
        """A sum, in brackets."""
        return f"({left} + {right})"

    def times(self, left: str, right: str) -> str:
        """A product."""
        return f"{left} * {right}"

    @abstractmethod
    def positive(self, left: str, right: str) -> str:
        """max(0, left − right), or nothing known if either is not."""

    @abstractmethod
    def logarithm(self, value: str, unit: str) -> str:
        """sign(x) · log(1 + |x| / unit)."""

    # What all write alike

    def terms(self, content: TermSum) -> list[str]:
        """Each term, and the intercept if there is one."""
        written = []
        for term in content.terms.terms:
            text = self.number(term.weight)
            for factor in term.factors:
                text = self.times(text, self.factor(content, factor))
            written.append(text)
        intercept = content.terms.intercept
        return [*written, *([self.number(intercept)] if intercept else [])]

    def factor(self, content: TermSum, factor: Factor) -> str:
        """A function of one feature."""
        feature = content.of(factor)
        if factor.kind == "missing":
            return self.missing(feature)
        value, number = self.value(feature, content.fill_of(feature)), self.number(factor.number)
        if factor.kind == "log":
            return self.logarithm(value, number)
        if factor.kind == "value":
            return self._shifted(value, factor.number)
        return self.positive(value, number) if factor.kind == "above" else self.positive(number, value)

    def _shifted(self, value: str, by: float) -> str:
        """x − t, without double signs."""
        if by == 0:
            return value
        return self.minus(value, self.number(by)) if by > 0 else self.plus(value, self.number(-by))


def refuse_missing(feature: Feature, to: str) -> ParameterError:
    """What to say of a term that tells whether a feature is missing, where that cannot be known."""
    return ParameterError(
        f"feature {feature.name!r} counts by being missing, which {to} cannot tell: SQL, Vespa, ONNX and Python can; "
        "or leave the feature out"
    )
