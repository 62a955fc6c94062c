"""How commands tell what they take; the options that several share, checked; every error names the option."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from rankwright.errors import ParameterError


def option(metavar: str, help: str, *names: str, default: Any = None) -> Any:
    """An option of a command with a value, as the default of the parameter that takes it; ``...``: it must be given."""
    return typer.Option(default, *names, metavar=metavar, help=help)


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(False, name, help=help)


def argument(metavar: str, help: str, *, default: Any = ...) -> Any:
    """An argument of a command, as the default of the parameter that takes it."""
    return typer.Argument(default, metavar=metavar, help=help)


def takes(name: str, of: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options that are parameters of a function, in the place of its own parameter of this name.

    The command is called with what the function makes of them. It may itself be a function that makes something.
    """
    declared = inspect.signature(of, eval_str=True).parameters

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_options(**options: Any) -> Any:
            made = of(**{option: options.pop(option) for option in declared})
            return command(**{name: made}, **options)

        own = inspect.signature(command, eval_str=True)
        parameters = [
            parameter
            for one in own.parameters.values()
            for parameter in (declared.values() if one.name == name else [one])
        ]
        with_options.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return with_options

    return decorate


SCALES = ("spread", "none")
SCALE = option(
    "spread|none",
    "spread (the default) trains on features divided by their spread within queries; none trains on the features as "
    "they are, as papers do. In both cases the model takes unscaled features.",
)
FILLING = option(
    "mean|query-mean",
    "Replace a missing value by the feature's mean over all documents (mean, the default) or over the documents of its "
    "query (query-mean).",
)
ABSENT = option(
    "zero|nan",
    "The value of features that a line of text leaves out. NULL is always missing (NaN).",
    default="zero",
)
CONVENTION = option(
    "NAME", "The tool whose definition of measures to use, as in `rankwright evaluate`.", default="default"
)


def check_one_of(known: Iterable[str], **options: str | None) -> None:
    """Refuse an option, named as in Python, that is given and none of these.

    >>> check_one_of(SCALES, scale="unit")
    Traceback (most recent call last):
    rankwright.errors.ParameterError: --scale must be one of 'spread', 'none', not 'unit'
    """
    from rankwright.checks import check_choice

    for name, value in options.items():
        if value is not None:
            check_choice(option_of(name), value, known)


def parse_alphas(text: str, option: str = "--alpha") -> tuple[float, ...]:
    """An option such as --alpha: ``1,2,4``, ``2^3`` or ``2^0..2^10``; nothing for ``auto``.

    >>> parse_alphas("0.5, 2^0..2^3")
    (0.5, 1.0, 2.0, 4.0, 8.0)
    """
    if text.strip().lower() == "auto":
        return ()
    return tuple(alpha for word in text.split(",") for alpha in _alphas(word.strip(), option))


def _alphas(word: str, option: str) -> list[float]:
    first, dots, last = word.partition("..")
    try:
        if not dots:
            return [_checked_alpha(math.pow(*_power(word)) if "^" in word else float(word))]
        (base, low), (other_base, high) = _power(first), _power(last)
        if base == other_base > 1 and low <= high:
            return [_checked_alpha(math.pow(base, exponent)) for exponent in range(low, high + 1)]
    except (ValueError, OverflowError):
        pass
    raise ParameterError(
        f"{option}: {word!r} is not a number above 0, a power such as 2^3, or a range such as 2^0..2^10"
    )


def _checked_alpha(value: float) -> float:
    if not 0 < value < math.inf:
        raise ValueError
    return value


def _power(text: str) -> tuple[float, int]:
    base, _, exponent = text.partition("^")
    return float(base), int(exponent)


@contextmanager
def naming_options(*names: str, **others: str) -> Iterator[None]:
    """While the library is called: what it says of one of these parameters is said of the option.

    ``others`` are parameters whose options have another name.

    >>> with naming_options("rule", measures="measure"):
    ...     raise ParameterError("measures: 'speed' is not a measure")
    Traceback (most recent call last):
    rankwright.errors.ParameterError: --measure: 'speed' is not a measure
    """
    options = {**{name: name for name in names}, **others}
    try:
        yield
    except ParameterError as error:
        parameter = re.split(r"\W", str(error), maxsplit=1)[0]
        if parameter in options:
            raise ParameterError(f"{option_of(options[parameter])}{str(error)[len(parameter) :]}") from error
        raise


def check_at_least(least: int, **options: int | None) -> None:
    """Refuse an option, named as in Python, that is given and lower than that.

    >>> check_at_least(1, max_features=0)
    Traceback (most recent call last):
    rankwright.errors.ParameterError: --max-features must be a whole number of at least 1, not 0
    """
    from rankwright.checks import check_whole

    for name, value in options.items():
        if value is not None:
            check_whole(option_of(name), value, least)


def option_of(name: str) -> str:
    """How an option is typed.

    >>> option_of("max_features")
    '--max-features'
    """
    return "--" + name.replace("_", "-")
