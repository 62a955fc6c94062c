"""Options that several commands share, checked; every error names the option."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rankwright.cli.output import reading
from rankwright.data.table_columns import TableColumns
from rankwright.errors import ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries

_COLUMNS = "In CSV, JSON lines or Parquet"
DATA_HELP = "text, CSV, JSON lines (all plain or gzip) or Parquet"


@dataclass(frozen=True)
class DataOptions:
    """Which columns of a table are what, as the options say; for LETOR text, which features to take."""

    columns: TableColumns
    description: Path | None = None

    def read(self, path: Path, *, dtype: str | None = None, missing: Literal["zero", "nan"] = "zero") -> Queries:
        """The queries in a file."""
        from rankwright.data.files import read_asked

        with reading(path), naming_options(*_DATA_OPTIONS):
            return read_asked(path, self.columns, dtype=dtype, missing=missing, column_description=self.description)

    def for_unjudged(self) -> DataOptions:
        """The same, of documents that may have no grades."""
        return replace(self, columns=replace(self.columns, must_be_judged=False))

    def with_features_of(self, names: Iterable[str]) -> DataOptions:
        """The same, but exactly these features, as far as a file has them; columns of text are encoded as they were."""
        return replace(self, columns=self.columns.for_features(names))


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for columns of tables. It is called with all of them as ``columns``."""

    @functools.wraps(command)
    def with_options(**options: Any) -> None:
        given = {name: options.pop(name) for name in _DATA_OPTIONS}
        columns = TableColumns.of(
            label=given["label"],
            qid=given["qid"],
            doc=given["doc"],
            features=_names("--features", given["features"]),
            one_hot=_names("--one-hot", given["one_hot"]),
        )
        command(columns=DataOptions(columns, given["column_description"]), **options)

    own = inspect.signature(command, eval_str=True)
    parameters = [parameter for name, parameter in own.parameters.items() if name != "columns"]
    parameters += inspect.signature(_data_options, eval_str=True).parameters.values()
    with_options.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options


def _data_options(
    *,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help=f"{_COLUMNS}: the column with the grades.")
    ] = None,
    qid: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with the query ids.")] = None,
    doc: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with the document ids.")] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="The feature columns: bm25,click* uses only these; -price uses all but price."
        ),
    ] = None,
    one_hot: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Text columns to encode: each distinct value becomes a 0/1 feature."),
    ] = None,
    column_description: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CatBoost's column description, for a table without a header line."),
    ] = None,
) -> None:
    """Only its signature counts."""


_DATA_OPTIONS = tuple(inspect.signature(_data_options).parameters)


def _names(option: str, text: str | None) -> tuple[str, ...] | None:
    """A list of names, separated by commas."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ParameterError(f"{option}: {text!r} contains an empty name")
    return names


Scale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="spread|none",
        help="spread (the default) trains on features divided by their spread within queries; none trains on the "
        "features as they are, as papers do. In both cases the model takes unscaled features.",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="mean|query-mean",
        help="Replace a missing value by the feature's mean over all documents (mean, the default) or over the "
        "documents of its query (query-mean).",
    ),
]
SCALES = ("spread", "none")


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


def number_type(name: str) -> str:
    """The option --dtype, checked."""
    check_one_of(("float32", "float64"), dtype=name)
    return name


def missing_value(name: str) -> Literal["zero", "nan"]:
    """The option --missing, checked."""
    check_one_of(("zero", "nan"), missing=name)
    return "nan" if name == "nan" else "zero"


def parse_alphas(text: str) -> tuple[float, ...]:
    """The option --alpha: ``1,2,4``, ``2^3`` or ``2^0..2^10``; nothing for ``auto``.

    >>> parse_alphas("0.5, 2^0..2^3")
    (0.5, 1.0, 2.0, 4.0, 8.0)
    """
    if text.strip().lower() == "auto":
        return ()
    return tuple(alpha for word in text.split(",") for alpha in _alphas(word.strip()))


def _alphas(word: str) -> list[float]:
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
        f"--alpha: {word!r} is not a number above 0, a power such as 2^3, or a range such as 2^0..2^10"
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
