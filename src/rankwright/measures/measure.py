"""Measures as objects: what is measured, apart from how it is computed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice, check_whole
from rankwright.errors import ParameterError
from rankwright.measures.conventions import Convention
from rankwright.measures.of_function import OfFunction, OfRankedGrades
from rankwright.measures.ranked import RankedQueries

Values = npt.NDArray[np.float64]
Compute = Callable[[RankedQueries, int | None, Convention], Values]
Cutoff = Literal["none", "optional", "required"]

_LARGEST_CUTOFF = 2**31 - 1  # kernels count positions in 32 bits


@dataclass(frozen=True)
class _Definition:
    """What all variants of a measure share."""

    name: str
    compute: Compute
    options: frozenset[str]
    cutoff: Cutoff
    lower_is_better: bool


@dataclass(frozen=True)
class Measure:
    """A quality of a ranking, such as ``nDCG @ 10``: hashable, and it prints as it is typed.

    ``measure @ k`` looks at the first k documents only; ``measure(option=…)`` fixes a choice that would
    otherwise come from the convention.

    >>> import rankwright as rw
    >>> rw.nDCG(gain="linear") @ 10
    nDCG(gain='linear') @ 10
    >>> rw.nDCG @ 5 == rw.nDCG @ 5
    True
    """

    name: str
    cutoff: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    _definition: _Definition = field(repr=False, compare=False, default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self._definition is None:
            raise ParameterError(
                f"measures cannot be created directly: use rankwright.{self.name}, parse_measures or new_measure"
            )

    def __matmul__(self, cutoff: int) -> Measure:
        if self._definition.cutoff == "none":
            raise ParameterError(f"{self.name} takes no cutoff")
        check_whole(f"the cutoff of {self.name}", cutoff, 1, _LARGEST_CUTOFF)
        return replace(self, cutoff=int(cutoff))

    def __call__(self, **options: Any) -> Measure:
        """This measure with some choices fixed."""
        for option in options:
            if option not in self._definition.options:
                known = ", ".join(sorted(self._definition.options)) or "none"
                raise ParameterError(f"{self.name} has no option {option!r} (it has: {known})")
        options = {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}
        Convention("check", **options)
        return replace(self, options=tuple(sorted({**dict(self.options), **options}.items())))

    @property
    def lower_is_better(self) -> bool:
        """Whether the measure is an error."""
        return self._definition.lower_is_better

    def compute(self, ranked: RankedQueries, convention: Convention) -> Values:
        """One value per query; NaN where the query is left out."""
        if self._definition.cutoff == "required" and self.cutoff is None:
            raise ParameterError(f"{self.name} needs a cutoff: {self.name} @ 10")
        chosen = convention.but(**dict(self.options))
        values = self._definition.compute(ranked, self.cutoff, chosen)
        if chosen.empty is None and ranked.has_grades:
            values[~ranked.any_relevant(chosen.relevant_from)] = np.nan
        return values

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options)
        called = f"{self.name}({options})" if options else self.name
        return called if self.cutoff is None else f"{called} @ {self.cutoff}"

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (self.name, self.cutoff, self.options))


def _restore(name: str, cutoff: int | None, options: tuple[tuple[str, Any], ...]) -> Measure:
    if name.lower() not in _ALIASES:
        raise ParameterError(f"measure {name!r} is not known here: define it with new_measure first")
    return replace(_ALIASES[name.lower()], cutoff=cutoff, options=options)


def _measure(
    name: str,
    compute: Compute,
    *options: str,
    cutoff: Cutoff = "optional",
    lower_is_better: bool = False,
) -> Measure:
    known = frozenset({*options, "ties", "score_type", "empty"})
    return Measure(name, _definition=_Definition(name, compute, known, cutoff, lower_is_better))


DCG = _measure("DCG", RankedQueries.dcg, "gain", "discount")
nDCG = _measure("nDCG", RankedQueries.ndcg, "gain", "discount", "short_ndcg")
MeanNDCG = _measure("MeanNDCG", RankedQueries.mean_ndcg, "gain", "discount", cutoff="none")
P = _measure("P", RankedQueries.precision, "relevant_from", "short_precision", cutoff="required")
Recall = _measure("Recall", RankedQueries.recall, "relevant_from", cutoff="required")
AP = _measure("AP", RankedQueries.average_precision, "relevant_from", "ap_divisor")
RR = _measure("RR", RankedQueries.reciprocal_rank, "relevant_from")
ERR = _measure("ERR", RankedQueries.err, "max_grade")
PairwiseError = _measure("PairwiseError", RankedQueries.pairwise_error, cutoff="none", lower_is_better=True)
WPD = _measure("WPD", RankedQueries.wpd, cutoff="none", lower_is_better=True)
ZeroOne = _measure("ZeroOne", RankedQueries.zero_one, cutoff="none", lower_is_better=True)
KendallTau = _measure("KendallTau", RankedQueries.kendall_tau, cutoff="none")

MEASURES = (DCG, nDCG, MeanNDCG, P, Recall, AP, RR, ERR, PairwiseError, WPD, ZeroOne, KendallTau)

_ALIASES = {measure.name.lower(): measure for measure in MEASURES}
_ALIASES |= {"map": AP, "mrr": RR, "precision": P, "kendall": KendallTau, "tau": KendallTau}
_OWN = frozenset(_ALIASES)
_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_SPELLING = re.compile(rf"\s*({_NAME})\s*(?:\(([^()]*)\))?\s*(?:@\s*(\d{{1,9}}))?\s*")
_BETWEEN_MEASURES = re.compile(r",(?![^(]*\))")  # a comma that is not within parentheses


def new_measure(
    name: str, function: OfRankedGrades, *, cutoff: Cutoff = "optional", lower_is_better: bool = False
) -> Measure:
    """A measure of your own, for everything that takes a measure, by its name too; it takes part in conventions.

    A query whose scores are tied counts the mean over all orders of the tied documents, as long as these are at most
    120 that differ, else the mean over 120 that are drawn, always the same ones. (Conventions that break ties leave
    one order.) Defining a measure again replaces it.

    Parameters
    ----------
    name : letters, digits and underscores; upper and lower case are alike
    function : of the grades of one query's documents, from the first place to the last, and of the cutoff
        It gives a number, or NaN for a query that does not count. The cutoff is None where none was asked for.
    cutoff : "optional", "required", or "none"
        Whether ``measure @ k`` must be asked for, or may not.
    lower_is_better : whether it is an error

    Examples
    --------
    >>> import rankwright as rw
    >>> Success = rw.new_measure("Success", lambda grades, cutoff: float(grades[:cutoff].max() >= 1))
    >>> rw.evaluate([0.3, 0.2, 0.1, 0.9, 0.5], [0, 1, 0, 2, 0], "success@1", qid=[1, 1, 1, 2, 2]).values[Success @ 1]
    array([0., 1.])
    """
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        raise ParameterError(f"name must be letters, digits and underscores, beginning with a letter, not {name!r}")
    if name.lower() in _OWN:
        raise ParameterError(f"name: {name!r} is a measure of Rankwright: choose another")
    if not callable(function):
        raise ParameterError(f"function must be a function of grades and a cutoff, not {function!r}")
    check_choice("cutoff", cutoff, get_args(Cutoff))
    measure = _measure(name, OfFunction(name, function), cutoff=cutoff, lower_is_better=lower_is_better)
    _ALIASES[name.lower()] = measure
    return measure


def parse_measures(text: str) -> tuple[Measure, ...]:
    """Measures from text such as ``"ndcg@10, map"``: names in any case, and options as measures print them.

    >>> parse_measures("ndcg@10, map, err(max_grade=4)")
    (nDCG @ 10, AP, ERR(max_grade=4))
    """
    return tuple(_parse_measure(word.strip()) for word in _BETWEEN_MEASURES.split(text))


def _parse_measure(word: str) -> Measure:
    spelled = _SPELLING.fullmatch(word)
    if spelled is None or spelled[1].lower() not in _ALIASES:
        raise ParameterError(
            f"measures: {word!r} is not a measure; there are {', '.join(sorted(_ALIASES))}, "
            "some of them with a cutoff, as in ndcg@10"
        )
    measure = _ALIASES[spelled[1].lower()]
    if spelled[2] is not None:
        measure = measure(**_parse_options(spelled[2], word))
    if spelled[3] is not None:
        return measure @ int(spelled[3])
    if measure._definition.cutoff == "required":
        raise ParameterError(f"measures: {word!r} needs a cutoff, as in {word}@10")
    return measure


def _parse_options(text: str, word: str) -> dict[str, Any]:
    """``gain='linear', empty=None`` as a dictionary: literals alone, nothing is evaluated."""
    try:
        call = ast.parse(f"options({text})", mode="eval").body
        if isinstance(call, ast.Call) and not call.args:
            options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            if None not in options and len(options) == len(call.keywords):
                return {str(name): value for name, value in options.items()}
    except (SyntaxError, ValueError, TypeError):
        pass
    raise ParameterError(f"measures: the options of {word!r} are not name=value, with text in quotes")


def measures_of(measures: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Measures given as text, objects or a mixture of both."""
    if isinstance(measures, Measure):
        return (measures,)
    if isinstance(measures, str):
        return parse_measures(measures)
    chosen = tuple(m for item in measures for m in ((item,) if isinstance(item, Measure) else parse_measures(item)))
    if not chosen:
        raise ParameterError("measures: name at least one, such as ndcg@10")
    return tuple(dict.fromkeys(chosen))


def one_measure(measure: str | Measure) -> Measure:
    """A single measure, given as text or as it is."""
    chosen = measures_of(measure)
    if len(chosen) != 1:
        raise ParameterError(f"measure: give one measure, not {len(chosen)} ({', '.join(map(str, chosen))})")
    return chosen[0]
