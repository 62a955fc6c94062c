"""`evaluate`: the values of measures for every query, their means, and how far the means can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from rankwright.data.parts import each_part, judgments_of
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError
from rankwright.evaluation.judged import judged_queries
from rankwright.evaluation.per_query import measure_values
from rankwright.evaluation.significance import bootstrap_interval
from rankwright.evaluation.tables import Tabled, interval, number
from rankwright.html import Block
from rankwright.judgments.judgments import Judgments
from rankwright.judgments.supervision import Supervision
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure, Values, measures_of

if TYPE_CHECKING:
    from rankwright.data.frames import Backend


@runtime_checkable
class Ranker(Protocol):
    """Anything that scores documents."""

    def predict(self, X: Any) -> npt.ArrayLike:
        """One score per row of X."""


def evaluate(
    scores_or_ranker: npt.ArrayLike | Ranker,
    queries: AnyQueries | Supervision | npt.ArrayLike,
    measures: str | Measure | Iterable[str | Measure] = "ndcg@10, map",
    convention: str | Convention = "default",
    *,
    qid: npt.ArrayLike | None = None,
    group: npt.ArrayLike | None = None,
) -> Evaluation:
    """Measure how well scores, or a ranker's predictions, rank the documents of every query.

    Parameters
    ----------
    scores_or_ranker : array with one score per row of ``queries``, or an object with ``predict(X)``
        A higher score is a better place. Infinite scores are allowed, NaN is not. A ranker needs Queries.
    queries : Queries, in memory or read from files, or the grades of all documents
        Arrays, lists and columns of frames are taken by position: row i of each is the same document.
    measures : such as ``[nDCG @ 10, AP]`` or ``"ndcg@10, map"``
    convention : a name from ``CONVENTIONS`` or a Convention
        How ties, empty queries, short lists and the like are counted.
    qid : array, with grades
        The query of each row, in any order.
    group : array, with grades, instead of qid
        How many rows each query has, one query after the other, as LightGBM takes them.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.Queries(None, y=[2, 0, 1, 0, 1], qid=[1, 1, 1, 2, 2])
    >>> evaluation = rw.evaluate([3.0, 2.0, 1.0, 0.5, 0.5], queries, [rw.nDCG @ 10, rw.AP])
    >>> evaluation.values[rw.AP]
    array([0.83333333, 0.75      ])
    >>> rw.evaluate([3.0, 2.0, 1.0, 0.5, 0.5], [2, 0, 1, 0, 1], "map", qid=[1, 1, 1, 2, 2]).values[rw.AP]
    array([0.83333333, 0.75      ])
    """
    judged = judged_queries([scores_or_ranker], queries, qid, group)
    if not isinstance(scores_or_ranker, Ranker):
        return evaluate_parts(_scored(scores_or_ranker, judged), judged.query_ids, measures, convention)
    wanted, chosen = measures_of(measures), convention_of(convention)
    return _evaluation(judged.query_ids, each_part(judged, _measured, scores_or_ranker, wanted, chosen), wanted, chosen)


def evaluate_parts(
    scored: Iterable[tuple[npt.ArrayLike, Judgments]],
    query_ids: npt.NDArray[Any],
    measures: str | Measure | Iterable[str | Measure],
    convention: str | Convention,
) -> Evaluation:
    """The same of judgments that come in parts, each with the scores of its documents, one part at a time."""
    wanted, chosen = measures_of(measures), convention_of(convention)
    values = (measure_values(scores, judgments, wanted, chosen) for scores, judgments in scored)
    return _evaluation(query_ids, values, wanted, chosen)


def _evaluation(
    query_ids: npt.NDArray[Any],
    values: Iterable[Mapping[Measure, Values]],
    measures: Sequence[Measure],
    convention: Convention,
) -> Evaluation:
    """What the values of parts are together."""
    if len(query_ids) == 0:
        raise DataError("there are no queries to evaluate")
    parts = list(values)
    joined = {measure: np.concatenate([part[measure] for part in parts]) for measure in measures}
    return Evaluation(query_ids, joined, convention)


def _scored(scores: npt.ArrayLike, queries: AnyQueries) -> Iterator[tuple[npt.ArrayLike, Judgments]]:
    """The judgments of parts with their scores."""
    if isinstance(queries, Queries):
        yield scores, queries.judgments
        return
    scores = np.asarray(scores)
    if len(scores) != queries.n_documents:
        raise DataError(f"there are {len(scores):,} scores for {queries.n_documents:,} documents")
    first = 0
    for judgments in queries.each(judgments_of):
        yield scores[first : first + judgments.n_documents], judgments
        first += judgments.n_documents


def _measured(
    queries: Queries, ranker: Ranker, measures: Sequence[Measure], convention: Convention
) -> dict[Measure, Values]:
    return measure_values(_predicted(ranker, queries), queries.judgments, measures, convention)


def _predicted(ranker: Ranker, queries: Queries) -> npt.ArrayLike:
    by_name = getattr(ranker, "predicts_queries", False)
    return ranker.predict(queries if by_name else queries.X)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Tabled):
    """The value of each measure for each query. NaN marks a query that is left out of the mean."""

    query_ids: npt.NDArray[Any]
    values: dict[Measure, Values]
    convention: Convention

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order asked for."""
        return tuple(self.values)

    @cached_property
    def counted(self) -> dict[Measure, Values]:
        """The values of the queries that count."""
        return {measure: values[~np.isnan(values)] for measure, values in self.values.items()}

    @cached_property
    def means(self) -> dict[Measure, float]:
        """The mean over the queries that count; NaN if none does."""
        return {m: float(values.mean()) if len(values) else float("nan") for m, values in self.counted.items()}

    @cached_property
    def intervals(self) -> dict[Measure, tuple[float, float]]:
        """A 95 % bootstrap confidence interval for each mean."""
        return {measure: bootstrap_interval(values) for measure, values in self.counted.items()}

    def to_dict(self) -> dict[str, Any]:
        """Means, intervals and counts, ready for JSON."""
        return {
            "convention": self.convention.name,
            "queries": len(self.query_ids),
            "measures": [
                {
                    "measure": str(measure),
                    "mean": json_number(self.means[measure]),
                    "interval": [json_number(bound) for bound in self.intervals[measure]],
                    "queries": len(self.counted[measure]),
                }
                for measure in self.measures
            ],
        }

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A frame with a row for each query: its id, and its value of each measure."""
        import pyarrow as pa

        from rankwright.data.frames import as_backend
        from rankwright.data.to_columns import id_type

        ids = pa.array(self.query_ids, id_type(self.query_ids))
        columns = {"qid": ids, **{str(measure): values for measure, values in self.values.items()}}
        return as_backend(pa.table(columns), backend)

    def _blocks(self) -> list[Block]:
        rows = []
        for measure, counted in self.counted.items():
            told = (number(self.means[measure]), interval(self.intervals[measure]), f"{len(counted):,}")
            rows.append((str(measure), *told))
        return [Block(f"convention: {self.convention.name}", ("measure", "mean", "95 % interval", "queries"), rows)]


def json_number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(value) else value
