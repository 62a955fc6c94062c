"""Explanations of models that are no sums: Shapley values by their definition, and their sampling error."""

import itertools
import math

import numpy as np
import pytest

import rankwright as rw
from rankwright.explanation import sampled_parts
from rankwright.models.model import Model


class Product(Model):
    """A model with a score of its own, for tests: one that is not a sum over features."""

    FIELDS = {4: ("product",)}  # noqa: RUF012

    def scores(self, x, grouping):
        x = np.nan_to_num(np.asarray(x, dtype=float), nan=0.3)
        return np.tanh(x[:, 0] * x[:, 1] * x[:, 3]) + x[:, 2] ** 2 + 0.1 * x.sum(axis=1)

    def used_features(self):
        return np.arange(self.n_features_in_)

    def fields(self):
        raise NotImplementedError

    @classmethod
    def read(cls, file, **told):
        raise NotImplementedError

    def cut_to(self, n_features):
        raise NotImplementedError


class WithinQuery(Product):
    """Its scores depend on all documents of the query."""

    def scores(self, x, grouping):
        x = np.asarray(x, dtype=float)
        means = np.array([x[grouping.codes == code].mean(axis=0) for code in grouping.codes])
        return super().scores(x - means, grouping)


def model_of(kind, n):
    return kind.new(n, feature_names=None, ranker="Product", parameters={}, training={})


def queries_of(n, seed=0, n_rows=24):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n))
    x[:, n - 1] = 2.0  # the same for all
    x[4, 0] = np.nan
    return rw.Queries(x, rng.integers(0, 3, n_rows), qid=np.array(["b", "a"])[np.arange(n_rows) % 2])


def by_definition(model, x, n):
    """Σ over orders, of what a feature adds when it becomes known; unknown features are the mean of the query."""
    from rankwright.judgments.grouping import Grouping

    means, grouping = np.nanmean(x, axis=0), Grouping(np.zeros(len(x), int), len(x))

    def scores(known):
        return model.scores(np.where(np.isin(np.arange(n), list(known)), x, means), grouping)

    values = np.zeros(x.shape)
    for order in itertools.permutations(range(n)):
        for place, j in enumerate(order):
            values[:, j] += scores(order[: place + 1]) - scores(order[:place])
    return values / math.factorial(n)


@pytest.mark.parametrize("kind", [Product, WithinQuery])
def test_few_features_are_taken_in_all_orders(kind):
    queries = queries_of(5)
    x = queries.X[queries.qid == "a"] if kind is Product else np.nan_to_num(queries.X[queries.qid == "a"])
    queries = rw.Queries(x, queries.y[queries.qid == "a"], ["a"] * len(x))
    model = model_of(kind, 5)
    explanation = rw.explain(model, queries, "a")
    order = [document.row for document in explanation.documents]
    values = by_definition(model, x, 5)
    np.testing.assert_allclose(explanation.contributions, (values - values.mean(axis=0))[order], atol=1e-12)
    assert not explanation.contributions[:, 4].any()
    assert "all orders" in explanation.note
    scores = np.array([document.score for document in explanation.documents])
    np.testing.assert_allclose(explanation.contributions.sum(axis=1), scores - scores.mean(), atol=1e-12)
    why = explanation.why(1, 3)
    assert why.difference == pytest.approx(scores[0] - scores[2])


def test_of_many_features_some_orders_are_drawn_and_the_error_is_told(monkeypatch):
    queries, model = queries_of(6, n_rows=30), model_of(Product, 6)
    exact = rw.explain(model, queries, "a").contributions
    monkeypatch.setattr(sampled_parts, "_MOST_ENUMERATED", 2)
    drawn = rw.explain(model, queries, "a")
    scores = np.array([document.score for document in drawn.documents])
    np.testing.assert_allclose(drawn.contributions.sum(axis=1), scores - scores.mean(), atol=1e-12)
    error = float(drawn.note.split("at most ")[1].rstrip("."))
    assert 0 < np.abs(drawn.contributions - exact).max() < 5 * error
    assert "200 random orders" in drawn.note
    assert np.array_equal(drawn.contributions, rw.explain(model, queries, "a").contributions)
    assert "random orders" in str(drawn)


def test_moves_of_one_feature_are_searched_along_its_range():
    queries, model = queries_of(5, seed=3), model_of(Product, 5)
    explanation = rw.explain(model, queries, "a")
    found = 0
    for document in explanation.documents[1:]:
        rise = explanation.rise(document.rank)
        for change in rise.single:
            place = int(change.feature[1:]) - 1
            row = queries.X[document.row].copy()
            just_short = change.bound + 1e-6 * np.sign(change.value - change.bound)
            for value, passes in ((change.bound, True), (just_short, False)):
                row[place] = value
                assert (model.predict(row[None])[0] > rise.passed.score) == passes
            assert change.rank < document.rank
            found += 1
        assert rise.joint == ()
        assert "only where scores are sums over features" in str(rise)
    assert found > 5


def test_no_moves_are_told_where_they_would_move_other_documents():
    x = np.random.default_rng(0).normal(size=(12, 4))
    queries = rw.Queries(x, np.arange(12) % 3, ["a"] * 12)
    explanation = rw.explain(model_of(WithinQuery, 4), queries, "a")
    assert explanation.rise(2).single == ()


def test_queries_of_one_document_and_equal_documents():
    model = model_of(Product, 4)
    one = rw.explain(model, rw.Queries(np.ones((1, 4)), [1], ["a"]), "a")
    assert not one.contributions.any()
    same = rw.explain(model, rw.Queries(np.ones((3, 4)), [1, 0, 2], ["a"] * 3), "a")
    assert not same.contributions.any()
    assert same.rise(2).single == ()
