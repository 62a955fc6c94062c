"""Queries, frames and files are taken alike, and validation and test data get the features of the training data."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankwright as rw
from rankwright.errors import DataError, ParameterError

COLUMNS = {"label": "grade", "qid": "query", "doc": "url"}


def frame_of(seed, n_queries=30):
    rng = np.random.default_rng(seed)
    n = 8 * n_queries
    kinds = rng.choice(["book", "shoe", "toy"], n)
    bm25, clicks = rng.normal(size=n), rng.integers(0, 50, n)
    grade = np.clip(np.round(bm25 + (kinds == "book") + rng.normal(size=n) / 2), 0, 3)
    return pd.DataFrame(
        {"grade": grade, "query": np.repeat([f"q{i}" for i in range(n_queries)], 8), "url": [f"u{i}" for i in range(n)],
         "title": [f"t {i}" for i in range(n)], "kind": kinds, "bm25": bm25, "clicks": clicks}
    )  # fmt: skip


def fitted(train, **others):
    return rw.fit(train, **others, rankers=["rankrls"], folds=3)


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "jsonl", "parquet"])
def test_a_frame_or_a_file_fits_as_its_queries_do(tmp_path, kind):
    train, test = frame_of(1), frame_of(2)[frame_of(2).columns[::-1]]

    def given(frame, name):
        path = tmp_path / f"{name}.{kind}"
        match kind:
            case "pandas":
                return frame
            case "polars":
                return pl.from_pandas(frame)
            case "arrow":
                return pa.Table.from_pandas(frame)
            case "csv":
                frame.to_csv(path, index=False)
            case "jsonl":
                frame.to_json(path, orient="records", lines=True, double_precision=15)
            case "parquet":
                frame.to_parquet(path)
        return str(path)

    result = fitted(given(train, "train"), test=given(test, "test"), **COLUMNS, one_hot=["kind"])
    names = ["kind=book", "kind=shoe", "kind=toy", "bm25", "clicks"]
    assert result.model.feature_names_in_.tolist() == names

    def by_hand(frame):
        x = np.column_stack(
            [*(frame["kind"] == kind for kind in ("book", "shoe", "toy")), frame["bm25"], frame["clicks"]]
        )
        return rw.Queries(x, frame["grade"], frame["query"].to_numpy(), feature_names=names)

    expected = fitted(by_hand(train), test=by_hand(test))
    np.testing.assert_allclose(result.model.coef_, expected.model.coef_, rtol=1e-6)
    assert result.test.n_features == 5
    assert result.test.doc_ids.tolist() == test["url"].tolist()


def test_columns_of_queries_cannot_be_named():
    queries = rw.from_frame(frame_of(1).drop(columns=["title", "kind", "url"]), label="grade", qid="query")
    with pytest.raises(ParameterError, match="label: the training data are Queries"):
        fitted(queries, label="grade")
    assert fitted(queries).model.n_features_in_ == 2


@pytest.mark.filterwarnings("ignore:.*left out")
def test_errors_name_the_data():
    train = frame_of(1)
    with pytest.raises(DataError, match="the training data: there is no column 'qid'"):
        fitted(train, label="grade")
    with pytest.raises(DataError, match="the test data: there is no column 'grade'"):
        fitted(train, test=train.drop(columns="grade"), **COLUMNS)
    with pytest.raises(DataError, match="the test data have 1 features, but the training data have 2"):
        fitted(train, test=train.drop(columns="bm25"), **COLUMNS)
    with pytest.raises(DataError, match="expected a pandas or polars DataFrame"):
        fitted([1, 2, 3])


def test_text_among_numbers_of_a_frame_is_refused_with_its_row():
    frame = frame_of(1).astype({"clicks": object})
    frame["clicks"] = frame["clicks"].astype(str)
    assert "clicks" in rw.from_frame(frame, **COLUMNS, features=["clicks", "bm25"]).feature_names
    frame.loc[17, "clicks"] = "many"
    with pytest.raises(DataError, match="row 17: column 'clicks' is 'many', which is not a number"):
        rw.from_frame(frame, **COLUMNS, features=["clicks", "bm25"])
