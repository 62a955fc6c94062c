"""``rankwright bounds``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rankwright.cli.output import print_json, print_lines, print_table, reading, working
from rankwright.cli.predict import for_features_of
from rankwright.errors import DataError, ParameterError

_WITH_MEASURE = ("theorem4", "argmax", "softmax")


def bounds(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file of a linear ranker.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="The queries it was trained on: text, gzipped text or Parquet.")
    ],
    kind: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="theorem3, corollary1, corollary2, theorem4, corollary3, argmax, softmax, ndcg, separated by "
            "commas; or all, for those that fit DATA.",
        ),
    ] = "ndcg",
    delta: Annotated[float, typer.Option(metavar="P", help="A bound may fail with this probability.")] = 0.05,
    measure: Annotated[
        str | None, typer.Option(metavar="NAME", help="For theorem4, argmax and softmax: ndcg, ndcg@K or map.")
    ] = None,
    radius: Annotated[
        float | None, typer.Option("--B", metavar="NUMBER", help="The length of w at most, if fixed before training.")
    ] = None,
    length: Annotated[
        float | None, typer.Option("--M", metavar="NUMBER", help="The length of a document's features at most.")
    ] = None,
    constants: Annotated[
        str, typer.Option(metavar="NAME", help="data or largest: how lengths enter argmax, softmax and ndcg.")
    ] = "data",
    temperature: Annotated[float, typer.Option(metavar="NUMBER", help="Of softmax.")] = 0.01,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Bound the risk on new queries by what training queries tell.

    Prints each bound term by term, with its constants and where they came from, and whether it says anything.
    For queries that were not used in training, `rankwright certify` tells much more.

    \b
    Examples:
      rankwright bounds model.json train.txt
      rankwright bounds model.json train.txt --kind corollary1,theorem4,ndcg --delta 0.01
      rankwright bounds model.json train.txt --kind argmax --measure map --json
    """
    from rankwright.data.files import read_queries
    from rankwright.rankers.model_file import load_model
    from rankwright.theory.risk_bound import KINDS, risk_bound, uses_length

    every = kind.strip().lower() == "all"
    wanted = KINDS if every else tuple(word.strip() for word in kind.split(","))
    for word in wanted:
        if word not in KINDS:
            raise ParameterError(f"--kind: {word!r} is none of {', '.join(KINDS)}, all")
    with reading(model):
        ranker = load_model(model)
    with reading(data):
        queries = read_queries(data, dtype="float64")
    ranker = for_features_of(ranker, queries)
    found, left_out = [], {}
    with working("bounding"):
        for each in wanted:
            options: dict[str, Any] = {"kind": each, "measure": measure if each in _WITH_MEASURE else None}
            options |= {"temperature": temperature, "constants": constants, "B": radius}
            if len(wanted) == 1 or uses_length(each, constants):
                options["M"] = length
            try:
                found.append(risk_bound(ranker, queries, delta, **options))
            except DataError as error:
                if not every:
                    raise DataError(f"{data}: {error}") from None
                left_out[each] = str(error)
    if as_json:
        print_json({"bounds": [bound.to_dict() for bound in found], "left_out": left_out})
        return
    for bound in found:
        print_table(bound)
    for name, reason in left_out.items():
        print_lines(f"left out: {name}: {reason}")
