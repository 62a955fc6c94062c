"""Every ranker with every layout of features through every use: the same scores to rounding, or a refusal listed here.

A new ranker, layout or use is one more entry of RANKERS, LAYOUTS or USES; what is refused is a row of REFUSALS.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rankwright as rw
from rankwright.models.prepared import model_of_features
from rankwright.preparation.preparation import Preparation, prepare
from rankwright.rankers.base import LinearRanker
from tests.export.models import linear

# Iterative solvers go on until the way they add up numbers no longer shows.
RANKERS = {
    "RankRLS": rw.RankRLS(0.5),
    "GreedyRankRLS": rw.GreedyRankRLS(n_features=3),
    "KernelRankRLS": rw.KernelRankRLS(0.5, gamma=0.1),
    "RankSVM": rw.RankSVM(0.1, tol=1e-10),
    "OrderPreservingRanker": rw.OrderPreservingRanker(0.1, tol=1e-10),
    "StructuredRanker": rw.StructuredRanker("ndcg@10", 0.1, tol=1e-8),
    "RegressionRanker": rw.RegressionRanker(0.5),
    "RankBoost": rw.RankBoost(12),
    "BasisRanker": rw.BasisRanker(n_terms=4, hinges=2),
}
NAMES = ["bm25", 'title "tf"', "path/length", "constant", "age", "links"]


class Layout(NamedTuple):
    """Queries to train on, those to use the ranker on, and what it is trained behind: a scaler, or a preparation."""

    train: rw.Queries
    used: rw.Queries
    scaler: rw.GlobalStandardScaler | None = None
    preparation: Preparation | None = None


def dirty(stored: Callable[[Any], Any] = np.asarray, names: list[str] | None = None) -> rw.Queries:
    """Rows in no order, text ids, a query of one document, one without a relevant document, a constant column, ties.

    Features have few digits, so that float32 holds them exactly, and many zeros.
    """
    rng = np.random.default_rng(11)
    qid = rng.permutation(np.array([f"query {number}" for number in np.arange(48) % 6] + ["alone"] + ["none"] * 4))
    x = np.round(rng.standard_normal((len(qid), 6)) * 8) / 8 * (rng.random((len(qid), 6)) < 0.7)
    x[:, 3:5] = x[:, 3:5] * [0, 8] + [2, 40]
    first, second = np.flatnonzero(qid == "query 2")[:2]
    x[first] = x[second]
    y = np.clip(np.round(x[:, 0] - x[:, 5] + rng.standard_normal(len(qid)) / 2), 0, 2) * (qid != "none")
    return rw.Queries(stored(x), y, qid, feature_names=names)


def plain(train: rw.Queries, used: rw.Queries | None = None) -> Layout:
    return Layout(train, train if used is None else used)


def scaled(queries: rw.Queries, with_mean: bool = True) -> Layout:
    scaler = rw.GlobalStandardScaler(with_mean=with_mean)
    return Layout(scaler.fit_transform(queries), queries, scaler)


def holey(stored: Callable[[Any], Any] = np.asarray, names: list[str] | None = None) -> rw.Queries:
    """The same with values missing: in some rows, in a whole query, and of one feature in all rows."""
    complete = dirty(names=names)
    x, rng = np.array(complete.X), np.random.default_rng(5)
    x[rng.random(len(x)) < 0.4, 0] = np.nan
    x[(rng.random(len(x)) < 0.3) & (complete.y == 0), 5] = np.nan  # missing has a meaning
    x[complete.qid == "query 3", 1] = np.nan
    x[:, 2] = np.nan
    return rw.Queries(stored(x), complete.y, complete.qid, feature_names=names)


def prepared(queries: rw.Queries, **how: Any) -> Layout:
    """Trained as `fit` and the commands do: on columns that a preparation makes of the features."""
    by, columns = prepare(queries, **how)
    return Layout(columns, queries, preparation=by)


def heavy(stored: Callable[[Any], Any] = np.asarray, queries: rw.Queries | None = None) -> rw.Queries:
    """Features with heavy tails, of which one has negative values; so many documents that it can be told."""
    few = dirty() if queries is None else queries
    x = np.concatenate([few.X + 0.0 * part for part in range(3)])
    x[:, 0], x[:, 5] = np.exp(2 * x[:, 0]), np.sinh(3 * x[:, 5])
    spread = np.round(np.random.default_rng(3).standard_normal(x.shape), 2)
    x = np.where(x == 0, 0.0, x + spread)
    qid = np.concatenate([[f"{part or ''}{name}" for name in few.qid] for part in range(3)])
    return rw.Queries(stored(x), np.tile(few.y, 3), qid)


LAYOUTS: dict[str, Callable[[], Layout]] = {
    "dense": lambda: plain(dirty()),
    "float32": lambda: plain(dirty(np.float32)),
    "Fortran order": lambda: plain(dirty(np.asfortranarray)),
    "CSR": lambda: plain(dirty(sp.csr_array)),
    "CSR float32": lambda: plain(dirty(lambda x: sp.csr_array(x.astype(np.float32)))),
    "named": lambda: plain(dirty(names=NAMES)),
    "named CSR": lambda: plain(dirty(sp.csr_array, names=NAMES)),
    "named, used unnamed": lambda: plain(dirty(names=NAMES), dirty()),
    "unnamed, used named": lambda: plain(dirty(), dirty(names=NAMES)),
    "named, used in another order": lambda: plain(dirty(names=NAMES), dirty(np.fliplr, NAMES[::-1])),
    "scaled": lambda: scaled(dirty()),
    "scaled float32": lambda: scaled(dirty(np.float32)),
    "scaled without mean": lambda: scaled(dirty(), with_mean=False),
    "scaled CSR": lambda: scaled(dirty(sp.csr_array), with_mean=False),
    "scaled, named": lambda: scaled(dirty(names=NAMES)),
    "missing": lambda: plain(holey()),
    "missing, float32": lambda: plain(holey(np.float32)),
    "missing, CSR": lambda: plain(holey(sp.csr_array)),
    "missing, named": lambda: plain(holey(names=NAMES)),
    "missing, scaled": lambda: scaled(holey()),
    "missing, prepared": lambda: prepared(holey()),
    "missing, prepared CSR": lambda: prepared(holey(sp.csr_array)),
    "query means, prepared": lambda: prepared(holey(), missing="query-mean"),
    "query means, prepared CSR": lambda: prepared(holey(sp.csr_array), missing="query-mean"),
    "logarithms": lambda: prepared(heavy(), transform="log"),
    "logarithms, float32": lambda: prepared(heavy(np.float32), transform="log"),
    "logarithms, CSR": lambda: prepared(heavy(sp.csr_array), transform="log"),
    "quantiles": lambda: prepared(heavy(), transform="quantile"),
    "quantiles, CSR": lambda: prepared(heavy(sp.csr_array), transform="quantile"),
    "quantiles, missing": lambda: prepared(heavy(queries=holey()), transform="quantile"),
    "logarithms, query means": lambda: prepared(heavy(queries=holey()), transform="log", missing="query-mean"),
}


# What is refused: by which rankers, for layouts and uses that match, with which error. All else gives the scores.
REFUSALS = [
    ("KernelRankRLS|RankBoost", "missing(, (float32|CSR|named|scaled))?", ".*", rw.DataError, "the value is nan"),
    (
        "KernelRankRLS",
        ".*",
        "SQL",
        rw.ParameterError,
        "sql cannot compute kernels of documents: export to onnx or python",
    ),
    (
        "KernelRankRLS|RankBoost|BasisRanker",
        ".*",
        "bounds",
        rw.ParameterError,
        "the bounds are for classes of linear functions",
    ),
    ("BasisRanker", "(.*, )?scaled.*", "save|load", rw.ParameterError, "BasisRanker computes hinges and products"),
    ("RankBoost", "scaled.*", "save|load", rw.ParameterError, "RankBoost compares features with thresholds, whatever"),
]


def refusal(ranker: str, layout: str, use: str) -> tuple[type[Exception], str] | None:
    for *patterns, error, message in REFUSALS:
        if all(map(re.fullmatch, patterns, (ranker, layout, use))):
            return error, re.escape(message)
    return None


# A ranker that was trained on a layout


class Trained:
    """A ranker trained on a layout, and what its users have: with its scaler, read from a file, where it can be saved.

    Attributes
    ----------
    layout : its name
    ranker, scaler : as they were trained, the scaler if there is one
    model, queries : what is used, and on which queries
    x : their features in the order of training, as float64
    columns, scale : what the ranker computes with, each column divided by its scale
    scores, rounding : of these by the formula of the ranker, and how exact others must be, as a part of their range
    """

    def __init__(self, ranker: str, layout: str) -> None:
        train, used, self.scaler, preparation = LAYOUTS[layout]()
        self.layout, self.queries = layout, used
        self.ranker = self.model = clone(RANKERS[ranker]).fit(train)
        self.x = matrix(used, train)
        seen = self.x if self.scaler is None and preparation is None else matrix(train, train)
        self.columns = filled(seen, train.qid) if np.isnan(seen).any() else seen
        self.scale = np.ones(self.columns.shape[1])
        self.scores = (
            by_terms(self.ranker, seen) if hasattr(self.ranker, "terms_") else by_formula(self.ranker, self.columns)
        )
        is_exact = (self.scaler is None and preparation is None) or train.X.dtype == np.float64
        self.rounding = 1e-10 if is_exact else 1e-5
        if self.scaler is not None:
            self.scale[: len(self.scaler.scale_)] = self.scaler.scale_
        if preparation is not None and isinstance(self.ranker, LinearRanker):
            self.scale = preparation.scale
            self.ranker = model_of_features(self.ranker, preparation, used)
            self.model = saved_and_loaded(self.ranker, None)
        elif preparation is not None:  # then it takes columns as it was trained on
            self.queries, self.x = train, seen
        elif refusal(ranker, layout, "load") is None:
            self.model = saved_and_loaded(self.ranker, self.scaler)
        elif self.scaler is not None:  # then it takes features behind the scaler
            self.queries, self.x = train, seen

    @property
    def names(self) -> list[str]:
        """What the ranker calls its features."""
        return [str(name) for name in getattr(self.ranker, "feature_names_in_", [f"f{j}" for j in range(1, 7)])]

    @property
    def rows(self) -> list[dict[str, float]]:
        return [dict(zip(self.names, row, strict=True)) for row in self.x.tolist()]

    def check(self, scores: Any, rows: Any = slice(None)) -> None:
        """They are those of the formula, to rounding, which is that of float32 if it held standardised features."""
        np.testing.assert_allclose(scores, self.scores[rows], rtol=0, atol=self.rounding * np.ptp(self.scores))


def matrix(queries: rw.Queries, train: rw.Queries) -> np.ndarray:
    """The features, in the order of those of training, as float64."""
    x = queries.X.toarray() if sp.issparse(queries.X) else queries.X
    if queries.has_feature_names and train.has_feature_names:
        x = x[:, [queries.feature_names.index(name) for name in train.feature_names]]
    return x.astype(np.float64)


def filled(x: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Means in place of missing values, and a column for each feature that a query has and has not."""
    columns = [np.where(np.isnan(column), np.mean(column[~np.isnan(column)] if len(column[~np.isnan(column)]) else 0.0),
                        column) for column in x.T]  # fmt: skip
    for column in x.T:
        absent = np.isnan(column)
        if any(0 < absent[qid == query].sum() < (qid == query).sum() for query in set(qid)):
            columns.append(absent.astype(float))
    return np.column_stack(columns)


def by_formula(ranker: Any, x: np.ndarray) -> np.ndarray:
    """x · w + c, Σ_t α_t [x > θ_t], or Σ_i a_i e^{−γ‖x − x_i‖²}."""
    if hasattr(ranker, "coef_"):
        return x @ ranker.coef_ + getattr(ranker, "intercept_", 0.0)
    if hasattr(ranker, "stump_weights_"):
        return (x[:, ranker.stump_features_] > ranker.stump_thresholds_) @ ranker.stump_weights_
    known = ranker.X_fit_.toarray() if sp.issparse(ranker.X_fit_) else ranker.X_fit_
    return np.exp(-ranker.gamma * ((x[:, None] - known) ** 2).sum(axis=2)) @ ranker.dual_coef_


def by_terms(ranker: Any, x: np.ndarray) -> np.ndarray:
    """Each term written out, with means in place of missing values."""
    known = np.array([np.mean(column[~np.isnan(column)]) if (~np.isnan(column)).any() else 0.0 for column in x.T])
    full, total = np.where(np.isnan(x), known, x), np.zeros(len(x))
    for term in ranker.terms_.terms:
        value = np.full(len(x), term.weight)
        for factor in term.factors:
            own, t = full[:, factor.column], factor.number
            value = (
                value
                * {
                    "value": own - t,
                    "above": (own - t) * (own > t),
                    "below": (t - own) * (own < t),
                    "log": np.sign(own) * np.log(1 + np.abs(own) / (abs(t) or 1)),
                    "missing": np.isnan(x[:, factor.column]) * 1.0,
                }[factor.kind]
            )
        total += value
    return total


def saved_and_loaded(ranker: Any, scaler: Any) -> Any:
    with TemporaryDirectory() as folder:
        rw.save_model(ranker, Path(folder) / "model.json", scaler=scaler)
        return rw.load_model(Path(folder) / "model.json")


@cache
def trained(ranker: str, layout: str) -> Trained:
    return Trained(ranker, layout)


# What is done with it


def fit(case: Trained) -> None:
    """What was learned from this layout ranks as what is learned from the plainest one, scaled or not."""
    plainest = re.sub(",? (CSR|float32|named)$", "", case.layout)
    if not re.match("missing|query|log|quantile", case.layout):
        plainest = "dense" if case.scaler is None else "scaled" if case.scaler.with_mean else "scaled without mean"
    name = case.ranker.ranker_ if isinstance(case.ranker, rw.LinearModel) else type(case.ranker).__name__
    expected = trained(name, plainest).scores
    assert np.ptp(expected) > 0
    np.testing.assert_allclose(case.scores, expected, rtol=0, atol=1e-5 * np.ptp(expected))


def save(case: Trained) -> None:
    with TemporaryDirectory() as folder:
        rw.save_model(case.ranker, Path(folder) / "model.json", scaler=case.scaler)
        assert (Path(folder) / "model.json").stat().st_size > 0


def load(case: Trained) -> None:
    loaded = saved_and_loaded(case.ranker, case.scaler)
    case.check(loaded.predict(case.queries))
    case.check(saved_and_loaded(loaded, None).predict(case.queries))


def predict(case: Trained) -> None:
    case.check(case.model.predict(case.queries))
    one = np.flatnonzero(case.queries.qid == "alone")
    case.check(case.model.predict(case.queries.select(["alone"])), one)
    if case.scaler is None:
        case.check(case.ranker.predict(case.queries))


def explain(case: Trained) -> None:
    """Contributions add up to differences of scores, in every query."""
    for query_id in ("query 2", "alone", "none"):
        told = rw.explain(case.model, case.queries, query_id)
        scores = np.array([document.score for document in told.documents])
        case.check(scores, [document.row for document in told.documents])
        atol = 1e-9 * np.ptp(case.scores)
        np.testing.assert_allclose(told.contributions.sum(axis=1), scores - scores.mean(), rtol=0, atol=atol)
        assert set(told.used_features) | set(told.unused_features) == set(told_names(case))


def told_names(case: Trained) -> list[str]:
    """The names in an explanation: those of the ranker, or of the data if it has none."""
    return case.names if hasattr(case.ranker, "feature_names_in_") else list(case.queries.feature_names)


def bounds(case: Trained) -> None:
    """As of the weights of features before scaling, folded by hand."""
    found = [rw.theory.risk_bound(case.model, case.queries, kind=kind) for kind in ("ndcg", "corollary1")]
    weights = by_columns(case)
    mean = case.scaler.mean_ if case.scaler is not None and case.scaler.with_mean else np.zeros(6)
    raw = case.columns * case.scale
    raw[:, :6] += mean
    raw = rw.Queries(raw, case.queries.y, case.queries.qid)
    for bound in found:
        expected = rw.theory.risk_bound(linear(weights), raw, kind=bound.kind)
        assert bound.log_total == pytest.approx(expected.log_total, rel=1e-7, abs=1e-7)


def by_columns(case: Trained) -> np.ndarray:
    """The weights of the columns before they were scaled."""
    if not isinstance(case.ranker, rw.LinearModel):
        return case.ranker.coef_ / case.scale
    formula = case.ranker.formula()
    lacking = np.isnan(case.x).sum(axis=0)
    varies = [j for j in range(6) if lacking[j] > 0 and j != 1 and j != 2]  # those are missing for whole queries
    return np.concatenate([formula.weights, formula.extra[varies]])


def certify(case: Trained) -> None:
    """As of the scores by the formula."""
    found, expected = (
        rw.theory.certificate(judged, case.queries, "ndcg@5") for judged in (case.model, np.round(case.scores, 9))
    )
    assert (found.mean, found.bound) == pytest.approx((expected.mean, expected.bound), rel=1e-9)


def run_sql(case: Trained) -> None:
    by_query = "query means" in case.layout and isinstance(case.model, rw.LinearModel)
    expression = rw.export_model(case.model, "sql", query_column="qid" if by_query else None)
    quoted = ['"' + name.replace('"', '""') + '"' for name in case.names]
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE docs (qid TEXT, {', '.join(f'{column} REAL' for column in quoted)})")
        rows = [(str(qid), *row) for qid, row in zip(case.queries.qid, case.x.tolist(), strict=True)]
        base.executemany(f"INSERT INTO docs VALUES (?, {', '.join('?' * len(quoted))})", rows)  # NaN becomes NULL
        case.check([score for (score,) in base.execute(f"SELECT {expression} FROM docs ORDER BY rowid")])


def run_python(case: Trained) -> None:
    module: dict[str, Any] = {}
    exec(rw.export_model(case.model, "python"), module)
    if "score" in module:
        case.check([module["score"](row) for row in case.rows])
        return
    for query in case.queries.query_ids:
        rows = np.flatnonzero(case.queries.qid == query)
        case.check(module["scores"]([case.rows[row] for row in rows]), rows)


USES = {
    "fit": fit,
    "save": save,
    "load": load,
    "predict": predict,
    "explain": explain,
    "bounds": bounds,
    "certify": certify,
    "SQL": run_sql,
    "Python": run_python,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ranker", RANKERS)
def test_scores_are_the_same_or_refused(ranker, layout, use):
    refused = refusal(ranker, layout, use)
    if refused is None:
        USES[use](trained(ranker, layout))
    else:
        error, message = refused
        with pytest.raises(error, match=message) as caught:
            USES[use](trained(ranker, layout))
        assert type(caught.value) is error


def test_every_refusal_is_of_something_that_is_tried():
    tried = [(ranker, layout, use) for ranker in RANKERS for layout in LAYOUTS for use in USES]
    for *patterns, _, _ in REFUSALS:
        assert any(all(map(re.fullmatch, patterns, names)) for names in tried)
