"""`explain`: why the documents of a query are where a ranker puts them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from rankwright.checks import is_whole
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.evaluation.evaluation import evaluate, json_number
from rankwright.explanation.given import (
    WANTED,
    check_values,
    dense,
    grades_of,
    mean_of_known,
    measure_of,
    names_of,
    parts_of,
    query_of,
    scores_of,
    those_there_are,
)
from rankwright.explanation.moves import Moves, Places
from rankwright.explanation.parts import Parts
from rankwright.explanation.pulls import Pairs, Pull, worth_of, wrong_and_right
from rankwright.explanation.ranges import Ranges, ranges_of
from rankwright.explanation.rise import RankedDocument, Rise, Why
from rankwright.explanation.tables import Section, Told, explanation_sections
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure
from rankwright.models.model_of import model_of
from rankwright.models.scorer import Scorer
from rankwright.types import Array

if TYPE_CHECKING:
    from rankwright.data.frames import Backend


def explain(
    ranker: Scorer | Pipeline,
    queries: Queries,
    query_id: Any,
    *,
    measure: str | Measure | None = None,
    convention: str | Convention = "default",
) -> Explanation:
    """Tell what each feature contributes to the score of each document of a query, and what would make it rise.

    Parameters
    ----------
    ranker : a fitted ranker that has a model, such as RankSVM or RankBoost, or a model that was read from a file
        Or a fitted scikit-learn Pipeline of scalers, SimpleImputer and a linear ranker.
    queries : Queries
        The query, and others beside it: how far features range is learned from all of them.
    query_id : as in the queries
    measure : such as "ndcg@10", optional
        What is told of the query, now and with a document risen; by default nDCG @ 10, or WPD without grades.
    convention : a name from ``CONVENTIONS`` or a Convention

    Examples
    --------
    >>> import rankwright as rw
    >>> x = [[1.0, 5.0], [4.0, 1.0], [2.0, 2.0]]
    >>> queries = rw.Queries(x, [0, 2, 1], ["a"] * 3, feature_names=["bm25", "age"])
    >>> explanation = rw.explain(rw.RankRLS().fit(queries), queries, "a")
    >>> [document.row for document in explanation.documents]
    [1, 2, 0]
    >>> change = explanation.rise(2).cheapest
    >>> change.feature, change.goes_up, change.seen
    ('age', False, 'never')
    """
    model = model_of(ranker, None, WANTED)
    chosen, rules = measure_of(measure, queries), convention_of(convention)
    query = query_of(queries, query_id)
    x = model._columns_of(query)
    parts = parts_of(model, x, queries)
    names = names_of(model, queries)
    rows = np.flatnonzero(queries.qid == query.query_ids[0])
    features = [names(column) for column in parts.columns.tolist()]
    values = dense(x, parts.columns)
    check_values(values, parts.takes_missing, query, features, rows)
    scores = scores_of(model, query)
    unused = np.setdiff1d(np.arange(x.shape[1]), parts.columns)
    return Explanation(
        query_id=query.grouping.query_id(0),
        ranker=model.ranker_,
        features=tuple(features),
        unused_features=tuple(names(column) for column in unused.tolist()),
        measure=chosen,
        convention=rules,
        _parts=parts,
        _query=query,
        _rows=rows,
        _scores=scores,
        _values=values,
        _of_data=ranges_of(model._columns_of(queries), queries.grouping, parts.columns),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Told):
    """Why the documents of a query are where they are. Contributions say how a document differs from the mean.

    Attributes
    ----------
    query_id : which query
    ranker : the name of the class that was trained
    features, unused_features : names of features that the model uses, and of those that cannot change any score
    measure, convention, value : what the measure says of the query
    documents : by score
    values, contributions : of each document, in that order, and each feature used: its value, and what it adds to the
        score beyond the mean of the query: w_j (x_ij − x̄_j), the same for stumps, or Shapley values where scores are
        no sums over features. Each row adds up to the score minus the mean score.
    note : how contributions were found, if they are Shapley values
    n_wrong_pairs, n_pairs : pairs that the supervision orders, and among them those whose better document is not
        scored above the worse
    pulls : a Pull for each feature, those that pull good documents down most first
    """

    query_id: Any
    ranker: str
    features: tuple[str, ...]
    unused_features: tuple[str, ...]
    measure: Measure
    convention: Convention
    _parts: Parts
    _query: Queries
    _rows: Places
    _scores: Array
    _values: Array
    _of_data: Ranges

    # The ranking

    @cached_property
    def _order(self) -> Places:
        return np.argsort(-self._scores, kind="stable")

    @cached_property
    def documents(self) -> tuple[RankedDocument, ...]:
        """The documents, by score; of equal scores, the first row comes first."""
        ids = self._query.doc_ids
        grades = grades_of(self._query.supervision)
        worth = worth_of(self._query.supervision)
        return tuple(
            RankedDocument(
                rank=rank,
                row=int(self._rows[i]),
                doc_id=None if ids is None else str(ids[i]),
                grade=None if grades is None else float(grades[i]),
                ideal=None if worth is None else (1 + int((worth > worth[i]).sum()), int((worth >= worth[i]).sum())),
                score=float(self._scores[i]),
            )
            for rank, i in enumerate(self._order.tolist(), start=1)
        )

    @property
    def mean_score(self) -> float:
        """Of the documents: what contributions are relative to."""
        return float(self._scores.mean())

    @cached_property
    def values(self) -> Array:
        """The features used, of each document by rank."""
        return self._values[self._order]

    @cached_property
    def contributions(self) -> Array:
        """What each feature adds to the score beyond the mean of the query, of each document by rank."""
        return self._parts.from_mean(self._values)[self._order]

    @property
    def note(self) -> str:
        """How contributions were found, if they are more than differences of sums; else empty."""
        return self._parts.note

    @cached_property
    def value(self) -> float:
        """What the measure says of the query; NaN if its convention leaves the query out."""
        return self._measured(self._scores)

    def _measured(self, scores: Array) -> float:
        return float(evaluate(scores, self._query, self.measure, self.convention).values[self.measure][0])

    # Pairs in the wrong order

    @cached_property
    def _pairs(self) -> tuple[Pairs, Pairs]:
        return wrong_and_right(self._query.supervision, self._scores)

    @property
    def n_wrong_pairs(self) -> int:
        """Pairs whose better document is not scored above the worse."""
        return self._pairs[0].n

    @property
    def n_pairs(self) -> int:
        """All pairs that the supervision orders."""
        return self._pairs[0].n + self._pairs[1].n

    @cached_property
    def pulls(self) -> tuple[Pull, ...]:
        """What each feature does to pairs in the wrong order, and to the others; the worst first."""
        contributions = self._parts.from_mean(self._values)
        wrong, right = (pairs.mean_difference(contributions).tolist() for pairs in self._pairs)
        pulls = [Pull(*told) for told in zip(self.features, wrong, right, strict=True)]
        return tuple(sorted(pulls, key=lambda pull: pull.wrong))

    # One document

    def why(self, document: int | str, other: int | str | None = None) -> Why:
        """What puts a document above or below another one, or the mean of the query.

        Documents are named by their rank, from 1, by their id, or as "rank:3" or "row:17", with the row in the data.
        """
        a = self.find(document) - 1
        if other is None:
            return self._why(a, None, self.contributions[a], mean_of_known(self.values))
        b = self.find(other) - 1
        return self._why(a, b, self._parts.between(self.values[a], self.values[b]), self.values[b])

    def _why(self, a: int, b: int | None, contributions: Array, other_values: Array) -> Why:
        other = None if b is None else self.documents[b]
        return Why(self.documents[a], other, self.features, contributions, self.values[a], other_values)

    def rise(self, document: int | str, to_rank: int | None = None) -> Rise:
        """What would have to change for a document to come to a rank, by default one place up.

        Documents are named as in ``why``.
        """
        rank = self.find(document)
        if rank == 1:
            raise ParameterError(f"document {self.documents[0].name!r} is the first already: it cannot rise")
        asked = rank - 1 if to_rank is None else to_rank
        if not is_whole(asked) or not 1 <= asked < rank:
            where = f"document {self.documents[rank - 1].name!r} is at rank {rank}"
            raise ParameterError(f"to_rank must be a whole number from 1 to {rank - 1}, as {where}, not {to_rank!r}")
        return self._rise(rank - 1, int(asked) - 1)

    def _rise(self, low: int, high: int) -> Rise:
        risen, passed = self.documents[low], self.documents[high]
        place = int(self._order[low])
        return Rise(
            document=risen,
            passed=passed,
            rank=1 + int((self._scores > passed.score).sum()),
            gap=passed.score - risen.score,
            measure=self.measure,
            before=self.value,
            after=self._measured(_just_above(self._scores, place, passed.score)),
            why=self.why(passed.rank, risen.rank),
            _parts=self._parts,
            _of_query=self._of_query,
            _of_data=self._of_data,
            _rank_after=lambda moves: self._rank_after(moves, place, int(self._order[high])),
        )

    def _rank_after(self, moves: Moves, place: int, passed: int) -> int:
        """The rank of a document that has passed another by moves of its features."""
        values = self._values[place]
        scores = self._scores + self._parts.shifts(values, moves)
        after = self._parts.score_after(values, moves, float(self._scores[place]), scores, passed)
        return _rank_at(scores, place, after)

    @cached_property
    def _of_query(self) -> Ranges:
        columns = np.arange(len(self.features))
        return ranges_of(self._values, self._query.grouping, columns)

    def find(self, document: int | str) -> int:
        """The rank of a document that is named as in ``why``."""
        if isinstance(document, str):
            return self._find_text(document)
        if not is_whole(document):
            raise ParameterError(f"document must be a rank or an id, not {document!r}")
        if not 1 <= document <= len(self.documents):
            raise ParameterError(f"query {self.query_id!r} has no rank {document}: it has 1 to {len(self.documents)}")
        return int(document)

    def _find_text(self, text: str) -> int:
        ranks = [document.rank for document in self.documents if document.doc_id == text]
        if len(ranks) > 1:
            raise ParameterError(
                f"query {self.query_id!r} has {len(ranks)} documents {text!r}: name one by its rank, as rank:{ranks[0]}"
            )
        if ranks:
            return ranks[0]
        kind, _, number = text.rpartition(":")
        if kind in ("", "rank") and number.isdecimal():
            return self.find(int(number))
        if kind == "row" and number.isdecimal():
            of_row = {document.row: document.rank for document in self.documents}
            if int(number) in of_row:
                return of_row[int(number)]
        known = [document.name.replace(" ", ":") for document in self.documents]
        raise ParameterError(f"query {self.query_id!r} has no document {text!r}: {those_there_are(text, known)}")

    # The way out

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; of each document also the cheapest change of one feature for one place up."""
        return {
            "query": json_id(self.query_id),
            "ranker": self.ranker,
            "measure": str(self.measure),
            "convention": self.convention.name,
            "value": json_number(self.value),
            "mean_score": self.mean_score,
            "documents": [self._document_dict(place) for place in range(len(self.documents))],
            "pairs": self.n_pairs,
            "wrong_pairs": self.n_wrong_pairs,
            "pulls": [{"feature": it.feature, "wrong": it.wrong, "right": it.right} for it in self.pulls],
            "unused_features": list(self.unused_features),
            "note": self.note,
        }

    def _document_dict(self, place: int) -> dict[str, Any]:
        told = self.documents[place].to_dict()
        told["contributions"] = dict(zip(self.features, self.contributions[place].tolist(), strict=True))
        told["rise"] = None
        if place > 0:
            rise = self._rise(place, place - 1)
            change = rise.cheapest
            told["rise"] = {
                "rank": rise.rank,
                "gap": rise.gap,
                "after": json_number(rise.after),
                "change": None if change is None else change.to_dict(),
            }
        return told

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A row for each document and feature: rank, row, doc_id, grade, score, feature, value, contribution."""
        import pyarrow as pa

        from rankwright.data.frames import as_backend

        n, documents = len(self.features), self.documents
        types = {"rank": pa.int64(), "row": pa.int64(), "doc_id": pa.string(), "grade": pa.float64()}
        types["score"] = pa.float64()
        columns = {
            name: pa.array([getattr(document, name) for document in documents for _ in range(n)], kind)
            for name, kind in types.items()
        }
        columns["feature"] = pa.array(list(self.features) * len(documents), pa.string())
        columns["value"] = self.values.ravel()
        columns["contribution"] = self.contributions.ravel()
        return as_backend(pa.table(columns), backend)

    def _sections(self) -> list[Section]:
        return explanation_sections(self)


def json_id(query_id: Any) -> int | float | str:
    """A query id as it is, if JSON has a word for it, else as text."""
    return query_id if isinstance(query_id, int | float | str) else str(query_id)


# One document risen


def _just_above(scores: Array, place: int, passed: float) -> Array:
    """The scores with one of them between that which it passes and the next higher one."""
    risen, higher = scores.copy(), scores[scores > passed]
    top = higher.min() if len(higher) else passed + 2 * max(1.0, abs(passed))
    between = passed + (top - passed) / 2
    risen[place] = between if between > passed else np.nextafter(passed, np.inf)
    return risen


def _rank_at(scores: Array, place: int, score: float) -> int:
    """The rank of a document if its score were another one; of equal scores, the first row comes first."""
    others_above = (scores > score) | ((scores == score) & (np.arange(len(scores)) < place))
    others_above[place] = False
    return 1 + int(others_above.sum())
