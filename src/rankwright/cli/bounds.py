"""``rankwright bounds``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.data import DATA_HELP, DataReader, read_model, reads_data
from rankwright.cli.options import argument, check_one_of, flag, option
from rankwright.cli.output import print_json, print_lines, print_table, working
from rankwright.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.data.streams.streamed import StreamedQueries
    from rankwright.models.model import Model


@reads_data
def bounds(
    model: Path = argument("MODEL", "A model file of a linear ranker."),
    data: Path = argument("DATA", f"The queries it was trained on: {DATA_HELP}."),
    kind: str = option(
        "LIST",
        "The bounds to compute, separated by commas: theorem3, corollary1, corollary2, theorem4, corollary3, "
        "argmax, softmax, ndcg; or all that apply to DATA.",
        default="ndcg",
    ),
    delta: float = option("P", "The probability that a bound does not hold.", default=0.05),
    measure: str | None = option("NAME", "The measure, for all kinds except those for pairs: ndcg, ndcg@K or map."),
    radius: float | None = option(
        "NUMBER", "The largest allowed norm of the weights, if it was fixed before training.", "--B"
    ),
    length: float | None = option("NUMBER", "The largest norm that a document's feature vector can have.", "--M"),
    constants: str | None = option("NAME", "data or largest: how document norms enter argmax, softmax and ndcg."),
    temperature: float | None = option("NUMBER", "The temperature of softmax."),
    as_json: bool = flag("--json", "Print JSON instead of tables."),
    *,
    reader: DataReader,
) -> None:
    """Bound the risk on new queries from training queries alone.

    Risk is the expected loss on a new query, such as 1 - nDCG. Prints each bound term by term, with its constants
    and where they come from, and whether the bound is vacuous: no better than the worst possible ranking. If you
    have judged queries that were not used in training, `rankwright certify` gives a much tighter bound.

    \b
    Examples:
      rankwright bounds model.json train.txt
      rankwright bounds model.json train.txt --kind corollary1,theorem4,ndcg --delta 0.01
      rankwright bounds model.json train.txt --kind argmax --measure map --json
    """
    from rankwright.theory.risk_bounds import risk_bound

    options = {"measure": measure, "temperature": temperature, "constants": constants, "M": length}
    given = {name: value for name, value in options.items() if value is not None}
    kinds, is_every = _parse_kinds(kind)
    _check(kinds, given, delta)
    ranker = read_model(model)
    queries = reader.read_for_models(data, ranker)
    ranker, queries = _of_same_features(ranker, queries)
    found, left_out = [], {}
    with working("bounding"):
        for each in kinds:
            try:
                found.append(risk_bound(ranker, queries, delta, B=radius, **_options_for(each, given)))
            except (DataError, ParameterError) as error:
                if not is_every or not isinstance(error, DataError):
                    raise type(error)(f"{data}: {error}" if isinstance(error, DataError) else str(error)) from None
                left_out[each] = str(error)
    if as_json:
        print_json({"bounds": [bound.to_dict() for bound in found], "left_out": left_out})
        return
    for bound in found:
        print_table(bound)
    for name, reason in left_out.items():
        print_lines(f"left out: {name}: {reason}")


def _of_same_features(model: Model, queries: Queries | StreamedQueries) -> tuple[Model, Any]:
    """Model and queries as they are, or where the queries lack features: text does not tell of those that are 0.

    New queries may have them, so their weights count. As a bound asks only how long all weights are, one more feature,
    0 in all documents, stands for all that are lacking.
    """
    from dataclasses import replace

    import numpy as np

    from rankwright.data.as_queries import widened
    from rankwright.models.linear_model import LinearModel

    n = queries.n_features
    formula = model.formula()
    if formula is None or n >= model.n_features_in_ or queries.has_feature_names:
        return model, queries
    weights = np.append(formula.weights[:n], np.linalg.norm(formula.weights[n:]))
    same = LinearModel.of(replace(formula.cut_to(n + 1), weights=weights), **model.about(n + 1))
    return same, widened(queries, n + 1)


def _parse_kinds(text: str) -> tuple[tuple[str, ...], bool]:
    """The option --kind, and whether it is all: then without ndcg, which is argmax for nDCG."""
    from rankwright.theory.risk_bounds import KINDS

    if text.strip().lower() == "all":
        return tuple(kind for kind in KINDS if kind != "ndcg"), True
    kinds = tuple(word.strip() for word in text.split(","))
    unknown = next((word for word in kinds if word not in KINDS), None)
    if unknown is not None:
        raise ParameterError(f"--kind: {unknown!r} is not one of {', '.join(KINDS)}, all")
    return kinds, False


def _options_for(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that play a part in this kind."""
    from rankwright.theory.risk_bounds import options_of

    known = options_of(kind, given.get("constants"))
    return {"kind": kind, **{name: value for name, value in given.items() if name in known}}


def _check(kinds: Sequence[str], given: Mapping[str, Any], delta: float) -> None:
    """Refuse, before anything is read, what no kind can have."""
    from rankwright.checks import check_probability
    from rankwright.losses.structured import checked_measure
    from rankwright.theory.risk_bounds import CONSTANTS

    check_probability("delta", delta)
    if "measure" in given:
        checked_measure(given["measure"])
    if "constants" in given:
        check_one_of(CONSTANTS, constants=given["constants"])
    for name in given:
        if not any(name in _options_for(kind, given) for kind in kinds):
            raise ParameterError(f"--{name} has no effect with --kind {','.join(kinds)}: leave it out")
