"""What an explanation is made of, checked: a ranker, one of the queries, and the values of the features it uses."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.errors import DataError, ParameterError
from rankwright.explanation.moves import Places
from rankwright.explanation.parts import LinearParts, Parts, StumpParts
from rankwright.explanation.ranges import Ranges, ranges_of
from rankwright.explanation.sampled_parts import SampledParts
from rankwright.explanation.tree_parts import TreeParts
from rankwright.judgments.grouping import plain_values
from rankwright.judgments.supervision import FullRanking, Grades, Supervision
from rankwright.measures.measure import Measure, one_measure
from rankwright.models.model import Model
from rankwright.preparation.formula import Formula
from rankwright.types import Array

# Of ids that there are, so many are told where one is asked for that there is not.
_MOST_IDS = 5


WANTED = "ranker must be a linear one, RankBoost, trees, or another that has a model"


def parts_of(model: Model, x: Any, queries: Queries) -> Parts:
    """What features add to the scores of documents of one query, which is one of some."""
    formula, stumps, trees = model.formula(), model.stumps(), model.trees()
    if formula is not None:
        by_query = formula.filling is not None and formula.filling.by_query
        return LinearParts(formula, _fill_of(formula, x), np.isnan(dense(x, formula.used)) if by_query else None)
    if stumps is not None:
        return StumpParts(*stumps, x.shape[1])
    if trees is not None:
        return TreeParts(trees, x.shape[1])
    return SampledParts(model, x, _ranges_of_used(model, queries))


def _ranges_of_used(model: Model, queries: Queries) -> Ranges:
    used = np.asarray(model.used_features(), np.intp)
    return ranges_of(model._columns_of(queries), queries.grouping, used)


def _fill_of(formula: Formula, x: Any) -> Array | None:
    """What stands for missing values of the features used, in the query of these rows."""
    if formula.filling is None:
        return None
    used = formula.used
    fill: Array = formula.filling.values[used]
    if not formula.filling.by_query:
        return fill
    values = dense(x, used)
    for place, column in enumerate(used.tolist()):
        if column in formula.transforms:
            values[:, place] = formula.transforms[column](values[:, place])
    means = mean_of_known(values)
    return np.where(np.isnan(means), fill, means)


def mean_of_known(values: Array) -> Array:
    """The mean of each column over values that are not missing; NaN if all are."""
    known = ~np.isnan(values)
    sums = values.sum(axis=0, where=known)
    means: Array = np.divide(sums, known.sum(axis=0), out=np.full(values.shape[1], np.nan), where=known.any(axis=0))
    return means


def measure_of(measure: str | Measure | None, queries: Queries) -> Measure:
    """The measure as given, or one that suits the supervision."""
    if measure is None:
        measure = "ndcg@10" if isinstance(queries.supervision, Grades) else "wpd"
    return one_measure(measure)


def query_of(queries: Queries, query_id: Any) -> Queries:
    """The query of this id; an error names ids near it if there is none."""
    try:
        return queries.select([query_id])
    except (DataError, TypeError, ValueError):  # an id that cannot be compared with those of the queries is not there
        known = [str(known) for known in plain_values(queries.query_ids)]
        told = those_there_are(str(query_id), known) if known else "there are none at all"
        raise ParameterError(f"there is no query {query_id!r}: {told}") from None


def those_there_are(wanted: str, known: list[str]) -> str:
    """The ids nearest to one that there is not, or the first few."""
    near = difflib.get_close_matches(wanted, known, _MOST_IDS)
    if near:
        return f"near it are {', '.join(near)}"
    more = f" and {len(known) - _MOST_IDS:,} more" if len(known) > _MOST_IDS else ""
    return f"there are {', '.join(known[:_MOST_IDS])}{more}" if len(known) > 1 else f"there is {known[0]}"


def names_of(model: Model, queries: Queries) -> Any:
    """Names of features by their column in the model: its own if it has any, else those of the data."""
    own = getattr(model, "feature_names_in_", None)
    return queries.feature_name if own is None else lambda column: str(own[column])


def dense(x: Any, columns: Places) -> Array:
    """Some features in float64."""
    used = x[:, columns]
    values: Array = (used.toarray() if sp.issparse(used) else used).astype(np.float64)
    return values


def check_values(values: Array, takes_missing: bool, query: Queries, names: list[str], rows: Places) -> None:
    """Refuse values that are infinite, or missing in a model that cannot do without them."""
    bad = np.argwhere(np.isinf(values) if takes_missing else ~np.isfinite(values))
    if len(bad):
        i, place = bad[0].tolist()
        document = f"row {rows[i]}" if query.doc_ids is None else f"document {str(query.doc_ids[i])!r}"
        raise DataError(
            f"query {query.grouping.query_id(0)!r}, {document}: feature {names[place]!r} is {values[i, place]:g}, "
            "but scores need finite numbers: fill in missing values first"
        )


def scores_of(model: Model, query: Queries) -> Array:
    """The scores of a query's documents; an error names the query."""
    try:
        return model.predict(query)
    except DataError as error:
        raise DataError(f"query {query.grouping.query_id(0)!r}: {error}") from None


def grades_of(supervision: Supervision) -> Array | None:
    """Grades, or places in a full ranking; None of a preference graph."""
    if isinstance(supervision, Grades):
        return supervision.values
    return supervision.ranks.astype(np.float64) if isinstance(supervision, FullRanking) else None
