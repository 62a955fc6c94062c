"""A proof by cases that there is no standardisation function, in words and for JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rankwright.theory.consistency.cases import Cases, Refutation, Sum, Term
from rankwright.theory.consistency.orders import Distribution, OrderTable
from rankwright.theory.consistency.weak_orders import Levels, Place, allowed_at, levels_text

_MOST_ORDERS = 8


def refutation_lines(
    refutation: Refutation, places: Sequence[Place], table: OrderTable, name: Callable[[Distribution], str]
) -> Iterator[str]:
    """The rankings that E r can have at each place, then the cases."""
    yield "Suppose r were one. All arrangements of the ties of E r are optimal then; and if a little of another"
    yield "distribution is mixed in, some of them still are."
    numbers = {place.p: k + 1 for k, place in enumerate(places)}
    for place in places:
        yield f"  Y{numbers[place.p]}: {name(place.p)}."
        if place.towards:
            yield f"    Mixed in: {'; or '.join(map(name, place.towards))}."
        yield f"    E r can rank the items {_orders_text(allowed_at(place, table))}."
    yield from _case_lines(refutation, numbers, "")


def _orders_text(allowed: Sequence[Levels]) -> str:
    if not allowed:
        return "in no way"
    more = f", or in {len(allowed) - _MOST_ORDERS} other ways" if len(allowed) > _MOST_ORDERS else ""
    return " or ".join(map(levels_text, allowed[:_MOST_ORDERS])) + more


def _case_lines(refutation: Refutation, numbers: dict[Distribution, int], indent: str) -> Iterator[str]:
    if isinstance(refutation, Sum):
        total = " + ".join(_term_text(term, numbers) for term in refutation.terms)
        yield f"{indent}{total} = 0 for any r, but no difference is below 0 here, and one is above."
        return
    if not refutation.groups:
        yield f"{indent}So there is no E r for Y{numbers[refutation.p]}."
    for group, reason in refutation.groups:
        yield f"{indent}Case Y{numbers[refutation.p]} is ranked {_orders_text(group)}:"
        yield from _case_lines(reason, numbers, indent + "  ")


def _term_text(term: Term, numbers: dict[Distribution, int]) -> str:
    factor = "" if term.factor == 1 else f"{term.factor}·"
    return f"{factor}E[r_{term.upper + 1} − r_{term.lower + 1}](Y{numbers[term.p]})"


def refutation_data(refutation: Refutation, numbers: dict[Distribution, int]) -> dict[str, Any]:
    """The cases, ready for JSON; places by number."""
    if isinstance(refutation, Cases):
        cases = [
            {"orders": list(map(levels_text, group)), "refuted": refutation_data(reason, numbers)}
            for group, reason in refutation.groups
        ]
        return {"place": numbers[refutation.p], "cases": cases}
    terms = [
        {
            "place": numbers[term.p],
            "upper": term.upper + 1,
            "lower": term.lower + 1,
            "factor": str(term.factor),
        }
        for term in refutation.terms
    ]
    return {"sum": terms}
