"""JSON lines: flat objects, features of their own, missing values, and errors that name the line."""

import gzip
import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.errors import DataError, ParseError


def written(path, rows):
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["data.jsonl", "data.ndjson", "data.json", "data"])
@pytest.mark.parametrize("compressed", [False, True])
def test_three_ways_to_write_features(tmp_path, name, compressed):
    values = [[0.5, 3], [None, 4], [2, -1e300]]
    flat = [{"qid": q, "label": q % 2, "f1": a, "f2": b} for q, (a, b) in enumerate(values)]
    objects = [{"qid": q, "label": q % 2, "features": {"f1": a, "f2": b}} for q, (a, b) in enumerate(values)]
    lists = [{"qid": q, "label": q % 2, "features": row} for q, row in enumerate(values)]
    for rows in (flat, objects, lists):
        path = written(tmp_path / name, rows)
        if compressed:
            path.write_bytes(gzip.compress(path.read_bytes()))
        queries = rw.read_queries(path)
        assert queries.feature_names == ("f1", "f2")
        np.testing.assert_array_equal(queries.X, np.array(values, float))
        assert (queries.qid.tolist(), queries.y.tolist()) == ([0, 1, 2], [0, 1, 0])


def test_what_is_missing_nested_or_text(tmp_path):
    rows = [
        {"qid": "a", "label": 1, "doc_id": 7, "price": {"net": 1.5, "gross": "2"}, "new": True, "title": "x"},
        "\n",
        {"qid": "a", "label": 0, "doc_id": "d", "price": {"net": None, "gross": "N/A"}, "title": "y", "late": 3},
    ]
    path = written(tmp_path / "data.jsonl", rows)
    with pytest.warns(UserWarning, match=r"data.jsonl: left out 1 column .* 'title' \(text, 2 distinct values\)"):
        queries = rw.read_queries(path)
    assert queries.feature_names == ("price.net", "price.gross", "new", "late")
    np.testing.assert_array_equal(queries.X, [[1.5, 2, 1, np.nan], [np.nan, np.nan, np.nan, 3]])
    assert queries.doc_ids.tolist() == ["7", "d"]


def test_ids_of_many_digits(tmp_path):
    ids = [10**24, 10**24 + 1]
    queries = rw.read_queries(written(tmp_path / "data.jsonl", [{"qid": i, "label": 0, "a": 10**24} for i in ids]))
    assert queries.query_ids.tolist() == list(map(str, ids))
    np.testing.assert_allclose(queries.X[:, 0], 1e24, rtol=1e-7)


@pytest.mark.parametrize(
    ("second", "line", "told"),
    [
        ('{"qid": 1, "label": 0, "a": }\n', 2, "each line must hold one JSON object"),
        ('\n\n["qid"]\n', 4, "expected a JSON object"),
        ('{"qid": 1, "label": 0, "a": [1]}\n', 2, "column 'a' holds a list"),
        ('{"qid": 1, "label": null, "a": 1}\n', 2, "there is no value in column 'label'"),
        ('{"qid": 1, "label": "good", "a": 1}\n', 2, "column 'label' is 'good'"),
        ('{"qid": 1, "label": 0, "a": "x"}\n{"qid": 1, "label": 0, "a": 2}\n', 2, "column 'a' is 'x', which is not"),
        ('{"qid": 1, "label": 0, "a": 1, "features": {"a": 2}}\n', 2, "two values for 'a'"),
        ('{"qid": 1, "label": 0, "a": %s.5}\n' % ("9" * 5000), 2, None),
        ('{"qid": "\\uD800", "label": 0, "a": 1}\n', 2, "not UTF-8"),
        ('{"qid": "x", "label": 0, "a\\udfff": 1}\n', 2, "not UTF-8"),
        ("[" * 100_000 + "\n", 2, "cannot be read as JSON|each line must hold"),
    ],
)  # fmt: skip
def test_faults_name_the_line(tmp_path, second, line, told):
    path = written(tmp_path / "data.jsonl", [{"qid": 1, "label": 1, "a": 1}, second])
    if told is None:  # infinity, as Python reads it
        assert np.isinf(rw.read_queries(path).X[1, 0])
        return
    with pytest.raises(ParseError, match=told) as raised:
        rw.read_queries(path)
    assert (raised.value.line, raised.value.path) == (line, str(path))


def test_no_rows_and_no_columns(tmp_path):
    (tmp_path / "data.jsonl").write_text("\n \n")
    with pytest.raises(ParseError, match="no documents"):
        rw.read_queries(tmp_path / "data.jsonl")
    with pytest.raises(DataError, match=r"data.jsonl: there is no column 'qid'"):
        rw.read_queries(written(tmp_path / "data.jsonl", [{"label": 1}]))
