"""``rankwright consistency``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankwright.cli.options import argument, flag, option
from rankwright.cli.output import print_json, print_lines, working
from rankwright.errors import ParameterError

if TYPE_CHECKING:
    from rankwright.theory.consistency import SupervisionSet


def consistency(
    name: str | None = argument(
        "NAME",
        "Show only this demonstration: theorem-3, preorder, binary, squared, low-noise or zero-one.",
        default=None,
    ),
    measure: str | None = option("MEASURE", "Decide whether this measure has a standardisation function."),
    labels: str | None = option(
        "LIST", "The possible grades, such as 0,1,2; or rankings; or graphs. The default is 0,1."
    ),
    items: int | None = option("N", "The number of items, at most 6. The default is 3."),
    as_json: bool = flag("--json", "Print JSON instead of text."),
) -> None:
    """Show which losses are consistent with which measures.

    A loss is consistent with a measure if minimising it, with unlimited data, leads to the best ranking by that
    measure. Without options, this command enumerates all orders of a few items and reproduces the results of Buffoni
    et al. (2011). With --measure, it decides whether that measure has a standardisation function, which an
    order-preserving loss needs to be consistent with it, and prints the proof.

    \b
    Examples:
      rankwright consistency
      rankwright consistency preorder
      rankwright consistency --measure ap --labels 0,1 --items 4
      rankwright consistency --measure wpd --labels graphs --json
    """
    if measure is None:
        if labels is not None or items is not None:
            raise ParameterError("--labels and --items have an effect only with --measure: add --measure")
        _demonstrate(name, as_json)
        return
    if name is not None:
        raise ParameterError(f"give a demonstration ({name}) or --measure, not both")
    from rankwright.theory.consistency import has_standardization

    supervisions = _supervisions("0,1" if labels is None else labels, 3 if items is None else items)
    with working("looking for a proof"):
        answer = has_standardization(measure, supervisions)
        is_proved = answer.verify()
    if as_json:
        print_json({**answer.to_dict(), "verified": is_proved})
    else:
        print_lines(f"{answer}\n{'The proof was checked.' if is_proved else ''}".rstrip())


def _demonstrate(name: str | None, as_json: bool) -> None:
    from rankwright.theory.consistency.demonstrations import demonstrations

    with working("going through all orders"):
        shown = demonstrations(name)
    if as_json:
        print_json({"demonstrations": [one.to_dict() for one in shown]})
        return
    print_lines("\n\n".join(map(str, shown)))


def _supervisions(labels: str, items: int) -> SupervisionSet:
    from rankwright.theory.consistency import all_grades, all_graphs, all_rankings

    if labels == "rankings":
        return all_rankings(items)
    if labels == "graphs":
        return all_graphs(items)
    return all_grades(_numbers(labels), items)


def _numbers(labels: str) -> list[Any]:
    try:
        grades = [float(word) for word in labels.split(",")]
    except ValueError:
        grades = []
    if not grades or not all(0 <= grade < math.inf for grade in grades):
        raise ParameterError(
            f"--labels must be numbers separated by commas, none below 0, as in 0,1,2; or rankings; or graphs; "
            f"not {labels!r}"
        )
    return grades
