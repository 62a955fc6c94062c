"""``rankwright certify``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.data import DataReader, about, for_features_of, read_model, reads_data
from rankwright.cli.options import CONVENTION, argument, flag, option
from rankwright.cli.output import print_json, print_table, working
from rankwright.cli.training_record import file_digest

if TYPE_CHECKING:
    from rankwright.models.model import Model

_USES = {"train": "trained on", "valid": "chosen by"}


@reads_data
def certify(
    model: Path = argument("MODEL", "A model file, as `rankwright train` writes it."),
    data: Path = argument("DATA", "Judged queries that were used neither to train nor to choose the model."),
    measure: str = option("NAME", "Such as ndcg@10, map or p@1.", default="ndcg@10"),
    delta: float = option("P", "The probability that the bound does not hold.", default=0.05),
    baseline: Path | None = option("MODEL", "Bound the gain over this model instead of the measure itself."),
    method: str = option("NAME", "auto, betting, clopper-pearson, bernstein or hoeffding.", default="auto"),
    convention: str = CONVENTION,
    as_json: bool = flag("--json", "Print JSON instead of a table."),
    *,
    reader: DataReader,
) -> None:
    """Certify how well a model ranks new queries.

    Prints a certificate: a lower bound for the average of the measure over new queries (an upper bound if lower is
    better). The bound is wrong with probability --delta at most, provided that the queries in DATA are a random
    sample of the queries to come, and were used neither to train nor to choose the model.

    \b
    Examples:
      rankwright certify model.json test.txt
      rankwright certify model.json test.txt --measure map --delta 0.01
      rankwright certify model.json test.txt --baseline old.json --json
    """
    from rankwright.measures import parse_measures
    from rankwright.measures.conventions import convention_of
    from rankwright.theory.certificates import certificate

    parse_measures(measure)  # a slip of the pen need not wait for the data
    convention_of(convention)
    ranker = read_model(model)
    other = None if baseline is None else read_model(baseline)
    queries = reader.read_for_models(data, ranker, *([] if other is None else [other]))
    options: dict[str, Any] = {"method": method, "convention": convention}
    with working("certifying"), about(data):
        if other is not None:
            options["baseline"] = for_features_of(other, queries)
        result = certificate(for_features_of(ranker, queries), queries, measure, delta, **options)
    if result.guaranteed:  # by what is known of the queries; the file may be known
        result = result.doubted(*_noted_uses(model, ranker, data))
        if baseline is not None and other is not None:
            result = result.doubted(*_noted_uses(baseline, other, data))
    for doubt in result.doubts:
        warnings.warn(
            f"{doubt}: the bound is only an estimate. Use judged queries that the model has not seen", stacklevel=1
        )
    if as_json:
        print_json(result.to_dict())
    else:
        print_table(result)


def _noted_uses(path: Path, model: Model, data: Path) -> list[str]:
    """What the model's training record has to do with this file: by its hash, or by its name where it has no hash."""
    doubts = []
    for use, noted in _records(model.training_):
        digest = noted.get("sha256")
        if digest is not None and data.is_file():  # a pipe has been read already
            seen, which = digest == file_digest(data), "these data"
        else:
            name = noted.get("name")
            seen, which = isinstance(name, str) and Path(name).name == data.name, f"data named {data.name}"
        if seen:
            doubts.append(f"{path} was {use} {which}")
    return doubts


def _records(training: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What the model was trained on or chosen by; earlier versions and people note it in fields of their own."""
    if isinstance(training.get("data"), list):
        for noted in training["data"]:
            if isinstance(noted, Mapping) and noted.get("role") in ("train", "valid"):
                yield _USES[noted["role"]], noted
        return
    for field, role in (("data", "train"), ("valid", "valid")):
        record = training.get(field)
        if isinstance(record, Mapping):
            yield _USES[role], {"name": record.get("file"), "sha256": record.get("sha256")}
        else:
            yield _USES[role], {"name": record}
