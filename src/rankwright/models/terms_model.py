"""`TermsModel`: a short formula that a ranker has learned, c + Σ weight · factor (· factor)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankwright.judgments.grouping import Grouping
from rankwright.maps.terms import FACTORS, Factor, Term, Terms
from rankwright.models.model import Model
from rankwright.models.scorer import Scorer
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.models.model_reader import ModelReader

_MOST_FACTORS = 2
_MOST_TERMS = 1 << 22
_FORM = "[weight, [factor, feature, number], …]"


class TermsScorer(Scorer):
    """Scores are those of `Terms`."""

    @abstractmethod
    def terms(self) -> Terms:
        """What the scores of features are computed by, as `predict` takes them."""

    def formula_text(self) -> str:
        """The formula with the names of features, such as ``0.7·bm25 + 0.2·max(0, ctr − 0.1)``.

        A logarithm is written ``slog(x / unit)``, where slog(x) = sign(x) · log(1 + |x|).
        """
        return self.terms().text(self._name_of)

    def _name_of(self, column: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"f{column + 1}" if names is None else str(names[column])

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """Scores of rows whose number of features has been checked."""
        return self.terms().scores(x)

    def _why_missing_is_refused(self) -> str:
        return "The training data had none missing, so nothing is known to put in its place: fill it in first"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class TermsModel(Model, TermsScorer):
    """A formula of few terms as `load_model` reads it from a file: c + Σ weight · factor (· factor).

    A factor is a feature less a number, a hinge max(0, x − t) or max(0, t − x), a logarithm, or 1 where the feature is
    missing. The model predicts, ranks and is measured as the ranker that was saved; it cannot be trained.

    Parameters
    ----------
    measures : such as "ndcg@10, map"
        The first one is what ``score`` tells.
    convention : name of a Convention

    Attributes
    ----------
    terms_ : the terms
    n_features_in_, feature_names_in_
        ``feature_names_in_`` is there only if the training data named their features.
    ranker_ : the name of the class that was trained, "BasisRanker"
    parameters_ : its parameters; those that JSON cannot hold as text
    training_ : what was noted when the model was saved, such as the data and the measures

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    >>> rw.save_model(rw.BasisRanker(n_terms=3).fit(queries), "model.json")
    >>> rw.load_model("model.json")
    TermsModel(BasisRanker, 20 features, 3 terms)
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, ...]]] = {4: ("intercept", "terms", "missing")}
    why_no_scaler: ClassVar[str] = (
        "computes hinges and products of features as they are, so train it on the features as they are"
    )

    terms_: Terms

    @classmethod
    def of(cls, terms: Terms, *, n_features: int, **told: Any) -> Self:
        """The model that computes these terms; the rest is ``told`` as `Model.new` takes it."""
        model = cls.new(n_features, **told)
        model.terms_ = terms
        return model

    def terms(self) -> Terms:
        """What it computes from features as they are."""
        return self.terms_

    def used_features(self) -> Columns:
        """The features that terms are made of."""
        return self.terms_.used

    def cut_to(self, n_features: int) -> TermsModel:
        """The model for data whose features after the first n are all 0, and not there."""
        cut = TermsModel.of(self.terms_.cut_to(n_features), n_features=n_features, **self.about(n_features))
        return cut.with_memory_of(self)

    # Its file

    def fields(self) -> dict[str, Any]:
        """Of each term its weight and factors, with features from 1; and what stands for missing values, if known."""
        fill = self.terms_.fill
        return {
            "intercept": self.terms_.intercept,
            "terms": [[term.weight, *map(_listed, term.factors)] for term in self.terms_.terms],
            "missing": None if fill is None else [[column + 1, value] for column, value in sorted(fill.items())],
        }

    @classmethod
    def read(cls, file: ModelReader, **told: Any) -> Self:
        """The model whose fields a file has."""
        entries = file.listed("terms", f"of {_FORM}")
        if len(entries) > _MOST_TERMS:
            file.refuse(f"terms: there are {len(entries):,}, but at most {_MOST_TERMS:,} can be read")
        terms = Terms(
            tuple(_read_term(file, entry, f"terms, entry {place}") for place, entry in enumerate(entries, start=1)),
            file.number(file.content["intercept"], "intercept"),
        )
        if file.content["missing"] is not None:
            fill = {feature - 1: value for _, feature, (value,) in file.entries("missing", ("value",))}
            lacking = next((column for column in terms.used.tolist() if column not in fill), None)
            if lacking is not None:
                file.refuse(f"missing must have a value for each feature that is used, but has none for {lacking + 1}")
            terms = Terms(terms.terms, terms.intercept, fill)
        return cls.of(terms, n_features=file.n_features, **told)

    def __str__(self) -> str:
        return self.formula_text() if hasattr(self, "terms_") else repr(self)

    def __repr__(self) -> str:
        if not hasattr(self, "terms_"):
            return "TermsModel(not read from a file yet)"
        number = len(self.terms_.terms)
        return self._described(f"{number:,} term{'s' * (number != 1)}")


def _listed(factor: Factor) -> list[Any]:
    return [factor.kind, factor.column + 1, factor.number]


def _read_term(file: ModelReader, entry: Any, what: str) -> Term:
    if not isinstance(entry, list) or not 2 <= len(entry) <= 1 + _MOST_FACTORS:
        file.refuse(f"{what} must be a list {_FORM} with one or two factors")
    factors = tuple(_read_factor(file, factor, what) for factor in entry[1:])
    return Term(file.number(entry[0], f"{what}: the weight"), factors)


def _read_factor(file: ModelReader, entry: Any, what: str) -> Factor:
    if not isinstance(entry, list) or len(entry) != 3:
        file.refuse(f"{what}: a factor must be a list [factor, feature, number]")
    kind, feature, number = entry
    name = next((one for one in FACTORS if one == kind), None)
    if name is None:
        file.refuse(f"{what}: a factor must be one of {', '.join(FACTORS)}, not {file.shown(kind)}")
    column, value = file.feature(feature, what) - 1, file.number(number, f"{what}: the number of a factor")
    if name == "log" and value <= 0:
        file.refuse(f"{what}: the unit of a logarithm must be above 0, not {value:g}")
    return Factor(column, name, value)
