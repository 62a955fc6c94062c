"""``rankwright export``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rankwright.cli.data import read_model
from rankwright.cli.options import argument, check_one_of, option, option_of
from rankwright.cli.output import Exit, Failure, check_output, print_code, reading, writing
from rankwright.errors import ParameterError, ParseError

# Parameters of the library that are options of the same name.
_OPTIONS = ("name", "store", "feature_set", "table", "dialect", "nulls", "query_column", "dtype")


def export(
    model: Path = argument("MODEL", "A model file, as `rankwright train` writes it."),
    to: str = option(
        "TARGET",
        "The target format: solr, elasticsearch, opensearch, vespa, sql, onnx, ranklib or python.",
        default=...,
    ),
    out: Path | None = option("FILE", "Write to this file instead of standard output."),
    name: str | None = option("NAME", "The name of the model or rank profile; rankwright by default."),
    features_map: Path | None = option(
        "FILE", "A JSON object that maps feature names to those of the target (vespa: expressions, ranklib: numbers)."
    ),
    store: str | None = option("NAME", "solr: the name of the feature store."),
    feature_set: str | None = option(
        "NAME", "elasticsearch, opensearch: start with the request line for this feature set."
    ),
    table: str | None = option("NAME", "sql: the table or alias to put before column names."),
    dialect: str | None = option("ansi|mysql", "sql: how to quote names; ansi by default."),
    nulls: str | None = option(
        "model|zero|null",
        "sql: treat NULL as a missing value (model, the default), as 0 (zero), or make the score NULL (null).",
    ),
    query_column: str | None = option(
        "NAME", "sql: the column with query ids; needed if the model replaces missing values by query means."
    ),
    dtype: str | None = option("float32|float64", "onnx: the number type; float32 by default."),
) -> None:
    """Export a model to a search engine, a database or a runtime.

    The export contains only features with a nonzero weight. Features without names are called f1, f2, …

    \b
    Examples:
      rankwright export model.json --to elasticsearch --name my_model --out body.json
      rankwright export model.json --to vespa --features-map features.json --out my_model.profile
      rankwright export model.json --to sql --table docs
      rankwright export model.json --to sql --table docs --query-column query_id
      rankwright export model.json --to onnx --out model.onnx
    """
    from rankwright.export import export_model
    from rankwright.export.exporting import TARGETS, takers_of

    check_one_of(TARGETS, to=to)
    values = (name, store, feature_set, table, dialect, nulls, query_column, dtype)
    options: dict[str, Any] = {
        parameter: value for parameter, value in zip(_OPTIONS, values, strict=True) if value is not None
    }
    for parameter in options:
        if to not in takers_of(parameter):
            raise ParameterError(f"{option_of(parameter)} is for {', '.join(takers_of(parameter))}, not for {to}")
    if to == "onnx" and out is None:
        raise ParameterError("--to onnx writes a binary file: add --out FILE")
    if out is not None:
        check_output(out, *(path for path in (model, features_map) if path is not None))
    exported = export_model(read_model(model), to, features=_names(features_map), **options)
    if out is not None:
        with writing(out):
            _write(exported, out)
    else:
        _print(exported)


def _names(path: Path | None) -> Any:
    """The map of features in a file; the library looks at what is in it."""
    if path is None:
        return None

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = dict(pairs)
        if len(names) < len(pairs):
            twice = next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place]))
            raise ParseError(path, f"the feature {twice!r} is given twice")
        return names

    with reading(path):
        try:
            return json.loads(path.read_bytes(), object_pairs_hook=unique)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ParseError(path, f"the feature map is not valid JSON: {error}") from None


def _write(exported: str | bytes, out: Path) -> None:
    from rankwright.data.paths import atomic_path

    with atomic_path(out) as temporary:
        temporary.write_bytes(exported.encode() if isinstance(exported, str) else exported)


def _print(exported: Any) -> None:
    """Nothing that is to be run may have a letter replaced."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        exported.encode(encoding)
    except UnicodeEncodeError:
        raise Failure(
            f"cannot write to standard output: {encoding} cannot encode all characters of the model: use --out FILE",
            Exit.CANNOT_CREATE,
        ) from None
    print_code(exported.removesuffix("\n"))
