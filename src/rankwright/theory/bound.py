"""`RiskBound`: a bound of an expected loss, term by term, with the constants it is made of and where they came from."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor, inf, log, log10
from typing import Any

from rankwright.errors import ParameterError
from rankwright.evaluation.tables import Tabled
from rankwright.html import Block
from rankwright.theory.formulas import log_sum

_LARGEST_LOG = 709.0  # e^709 is a float64
_TEXTS = (0, 2)


@dataclass(frozen=True)
class Constant:
    """A number that a bound depends on: its letter, its value, and where it came from."""

    symbol: str
    value: float
    origin: str


@dataclass(frozen=True)
class Term:
    """A part of a bound, as a natural logarithm, and its formula."""

    name: str
    log_value: float
    formula: str

    @property
    def value(self) -> float:
        """The number itself; infinity where float64 ends."""
        return value_of(self.log_value)


@dataclass(frozen=True, repr=False)
class RiskBound(Tabled):
    """With probability 1 − δ over the draw of the queries: risk ≤ factor · (empirical + complexity + confidence).

    Attributes
    ----------
    kind : str
        Such as "theorem3" or "ndcg".
    risk : str
        What is bounded, for a query drawn as those given were.
    terms : (empirical, complexity, confidence)
    factor : float
        From a bound for the hinge to one for the 0-1 error: r − 1 (1 in the paper, which is wrong if r > 2); else 1.
    log_worst : float
        The logarithm of the mean loss of the worst ranking of each query: a bound that reaches it says nothing.
    delta, n_queries : the probability to be wrong, and how many queries the bound is from
    constants : what the terms are made of
    notes : what the bound assumes
    """

    kind: str
    risk: str
    terms: tuple[Term, Term, Term]
    factor: float
    log_worst: float
    delta: float
    n_queries: int
    constants: tuple[Constant, ...]
    notes: tuple[str, ...] = ()

    @property
    def log_surrogate(self) -> float:
        """The logarithm of empirical + complexity + confidence."""
        return log_sum([term.log_value for term in self.terms])

    @property
    def log_total(self) -> float:
        """The logarithm of the bound; finite where the bound itself is not."""
        return self.log_surrogate + log(self.factor)

    @property
    def total(self) -> float:
        """The bound; infinity where float64 ends."""
        return value_of(self.log_total)

    @property
    def surrogate(self) -> float:
        """The bound for the hinge loss, before ``factor``."""
        return value_of(self.log_surrogate)

    @property
    def empirical(self) -> float:
        """The mean loss on the queries given."""
        return self.terms[0].value

    @property
    def complexity(self) -> float:
        """What the class of rankers adds."""
        return self.terms[1].value

    @property
    def confidence(self) -> float:
        """What the draw of the queries adds."""
        return self.terms[2].value

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound is no less than the mean loss of the worst rankings: then it says nothing of the ranker."""
        return self.log_total >= self.log_worst

    def constant(self, symbol: str) -> float:
        """The value of a constant by its letter."""
        for constant in self.constants:
            if constant.symbol == symbol:
                return constant.value
        known = ", ".join(constant.symbol for constant in self.constants)
        raise ParameterError(f"symbol: this bound has the constants {known}, not {symbol!r}")

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; a number beyond float64 has its base-10 logarithm only."""
        return {
            "kind": self.kind,
            "risk": self.risk,
            "delta": self.delta,
            "queries": self.n_queries,
            "terms": [{"name": term.name, **_both(term.log_value), "formula": term.formula} for term in self.terms],
            "factor": self.factor,
            "bound": _both(self.log_total),
            "worst": _both(self.log_worst),
            "vacuous": self.is_vacuous,
            "constants": [vars(constant) for constant in self.constants],
            "notes": list(self.notes),
        }

    # For people

    def _blocks(self) -> list[Block]:
        title = f"{self.kind}: with probability {1 - self.delta:g} over {self.n_queries:,} queries"
        constants = [(constant.symbol, f"{constant.value:.6g}", constant.origin) for constant in self.constants]
        side = "vacuous: the bound is not below" if self.is_vacuous else "not vacuous: the bound is below"
        verdict = f"{side} {shown(self.log_worst)}, the mean loss of the worst possible rankings"
        return [
            Block(title, ("term", "value", "formula"), self._terms(), _TEXTS),
            Block("", ("constant", "value", "from"), constants, _TEXTS),
            Block(notes=[f"risk: the {self.risk}", verdict, *(f"note: {note}" for note in self.notes)]),
        ]

    def _terms(self) -> list[tuple[str, str, str]]:
        rows = [(term.name, shown(term.log_value), term.formula) for term in self.terms]
        total = shown(self.log_total)
        if self.factor == 1:
            return [*rows, ("risk, at most", total, "the sum")]
        rows.append(("sum, for the hinge", shown(self.log_surrogate), ""))
        return [*rows, ("0-1 risk, at most", total, f"the sum times {self.factor:g}")]


def value_of(log_value: float) -> float:
    """e^l; infinity where float64 ends."""
    return exp(log_value) if log_value <= _LARGEST_LOG else inf


def shown(log_value: float) -> str:
    """A number by its logarithm: ``0.1234``, ``12,345``, ``1.2·10^45``."""
    if log_value < log(1e7):
        value = value_of(log_value)
        return f"{value:,.0f}" if value >= 1e4 else f"{value:.4g}"
    if log_value == inf:
        return "∞"
    exponent = floor(log_value / log(10) - log10(0.995))  # 9.95 and more is shown as 1.0 of the next power
    digits = 10 ** (log_value / log(10) - exponent)
    return f"{digits:.1f}·10^{exponent}"


def _both(log_value: float) -> dict[str, float | None]:
    value = value_of(log_value)
    return {"value": value if value < inf else None, "log10": log_value / log(10) if -inf < log_value < inf else None}
