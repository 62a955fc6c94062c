"""Frames and files for a model: its features, encoded as for training, with or without grades."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rankwright as rw


@pytest.fixture(scope="module", name="frame")
def drawn_frame():
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "q": np.repeat([f"q{i}" for i in range(12)], 10),
            "title": [f"title {i}" for i in range(n)],
            "kind": rng.choice(["a", "b", "c"], n),
            "bm25": rng.standard_normal(n),
            "age": np.where(rng.random(n) < 0.3, np.nan, rng.random(n)),
        }
    )
    return frame.assign(grade=np.digitize(frame["bm25"] + (frame["kind"] == "a"), [0, 1]))


@pytest.fixture(scope="module", name="model")
def fitted_model(frame):
    queries = rw.from_frame(frame.drop(columns="title"), label="grade", qid="q", one_hot=["kind"])
    return rw.RankRLS(1.0).fit(queries)


def by_hand(model, frame):
    """Means in place of missing ages, and what their absence adds."""
    formula = model.formula()
    weights = dict(zip(model.feature_names_in_, formula.weights, strict=True))
    age = list(model.feature_names_in_).index("age")
    missing = frame["age"].isna()
    scores = weights["bm25"] * frame["bm25"] + weights["age"] * frame["age"].fillna(formula.filling.values[age])
    scores += missing * formula.extra[age]
    return scores + sum(weights[f"kind={kind}"] * (frame["kind"] == kind) for kind in "abc")


@pytest.mark.parametrize("with_grades", [True, False])
@pytest.mark.parametrize("reads", ["frame", "csv", "jsonl"])
def test_new_rows_are_scored(frame, model, tmp_path, reads, with_grades):
    new = frame[frame["kind"] != "c"]  # a category of training is not there
    new = new[["age", "title", "kind", "bm25", "q", *(["grade"] if with_grades else [])]]
    label = {"label": "grade"} if with_grades else {}
    if reads == "frame":
        queries = rw.from_frame(new, qid="q", for_model=model, **label)
    else:
        path = tmp_path / f"new.{reads}"
        new.to_csv(path, index=False) if reads == "csv" else new.to_json(path, orient="records", lines=True)
        queries = rw.read_queries(path, qid="q", for_model=model, **label)
    assert queries.feature_names == tuple(model.feature_names_in_)
    np.testing.assert_allclose(model.predict(queries), by_hand(model, new), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(queries.y, new["grade"] if with_grades else np.zeros(len(new)))


def test_what_cannot_be_asked_for(frame, model):
    with pytest.raises(rw.ParameterError, match="for_model: the model tells which features"):
        rw.from_frame(frame, qid="q", for_model=model, one_hot=["kind"])
    with pytest.raises(rw.DataError, match="there is no column 'stars'"):
        rw.from_frame(frame, qid="q", label="stars", for_model=model)
    lacking = rw.from_frame(frame.drop(columns=["bm25", "title"]), label="grade", qid="q", one_hot=["kind"])
    with pytest.raises(rw.DataError, match=r"there is no feature 'bm25', which the model needs: .* for_model="):
        model.predict(lacking)
