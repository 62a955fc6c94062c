"""What is fuzzed: how input is made, and what must be true of it.

The contract is one for all: only Rankwright's own errors may leave, and what is read is what the reference reads.
"""

from __future__ import annotations

import gzip
import io
import random
import warnings
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import rankwright as rw
from rankwright.data.csv import read_csv
from rankwright.data.json_lines import read_json_lines
from rankwright.data.normalise import GlobalStandardScaler
from rankwright.data.scores import read_scores
from rankwright.data.svmlight import blocks
from rankwright.data.table_columns import TableColumns
from rankwright.models.model_file import model_text
from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import Filling
from rankwright.preparation.transforms import Log, Quantile
from tests.fuzz import arrays, reference
from tests.fuzz.mutations import mutated, mutated_json
from tests.trees import made

CORPUS = Path(__file__).parent / "corpus"

# Feature numbers up to here must be read; above, a file may be refused for the memory that it would take.
_SMALL_INDEX = 10_000


class Broken(Exception):
    """The contract is broken."""


class Target(ABC):
    """Something that reads bytes from anywhere."""

    name: ClassVar[str]
    file_name: ClassVar[str]  # what the bytes are called on disk

    def seeds(self) -> list[bytes]:
        """Good input, and bad input of old."""
        kept = [path.read_bytes() for path in sorted((CORPUS / self.name).glob("*"))]
        return [*self.good(), *kept]

    @abstractmethod
    def good(self) -> list[bytes]:
        """Some input as it should be."""

    def make(self, rng: random.Random, seeds: list[bytes]) -> bytes:
        """New input."""
        return mutated(rng, rng.choice(seeds), seeds)

    @abstractmethod
    def check(self, path: Path) -> None:
        """Use the input in a file; errors of Rankwright may leave, others may not."""


class Letor(Target):
    """LETOR text against the reference."""

    name, file_name = "letor", "data.txt"

    def good(self) -> list[bytes]:
        wide = " ".join(f"{j}:{j / 8}" for j in range(1, 60))
        return [
            b"2 qid:10 1:0.5 2:-1.5e-3 3:1 #docid = GX008 inc = 1\n0 qid:10 1:0.25 3:NULL # d2\n1 qid:7 2:1\n",
            b"1 qid:a 0:1 5:2\r\n\r\n# comment\r\n0 qid:b 1:3\r\n",
            b"1 1:1 2:3\n0 1:2\n0\n",
            b"1 qid:1 1:NaN 2:N/A 3: 4:?\n0 qid:1 1:na 2:None 3:missing 4:1\n0 qid:2 1:-nan 3:2 4:\n",
            f"1 qid:1 {wide}\n0 qid:1 {wide} # x\n".encode() * 20,
            b"".join(b"%d qid:%d %d:1 %d:0.5\n" % (i % 3, i // 4, i + 1, i + 200) for i in range(60)),
        ]

    def check(self, path: Path) -> None:
        compare_with_reference(path, path.read_bytes())


class GzippedLetor(Letor):
    """The same, compressed: text that was changed before, or bytes that were changed after."""

    name, file_name = "gzip", "data.txt.gz"

    def good(self) -> list[bytes]:
        return [gzip.compress(text, mtime=0) for text in super().good()]

    def make(self, rng: random.Random, seeds: list[bytes]) -> bytes:
        if rng.random() < 0.5:
            texts = super().good()
            return gzip.compress(mutated(rng, rng.choice(texts), texts), mtime=0)
        return super().make(rng, seeds)

    def check(self, path: Path) -> None:
        try:
            content = gzip.decompress(path.read_bytes())
        except Exception:  # what is no gzip may be refused, or be read as far as it is text
            _read(path, _options(path.read_bytes()))
        else:
            compare_with_reference(path, content)


def compare_with_reference(path: Path, content: bytes) -> None:
    """What is read is what the reference reads, and what is refused is refused by both."""
    options = _options(content)
    try:
        rows = reference.read_letor(content)
    except reference.Malformed as error:
        _read(path, options)
        raise Broken(f"it was read, but {error}") from None
    largest = max((index for row in rows for index in row.features), default=0)
    try:
        found = _read(path, options)
    except rw.DataError as error:
        if largest <= _SMALL_INDEX:
            raise Broken(f"refused, though it is right: {error}") from None
        raise
    first = 0 if any(0 in row.features for row in rows) else 1
    same(found.X.shape, (len(rows), largest + 1 - first if any(row.features for row in rows) else 0), "shape")
    same(found.y.tolist(), [row.grade for row in rows], "grades")
    if rows[0].qid is not None:
        same(_texts(found.qid.tolist()), _texts(row.qid for row in rows), "query ids")
    else:
        same(found.n_queries, 1, "queries")
    doc_ids = [""] * len(rows) if found.doc_ids is None else found.doc_ids.tolist()
    same(_texts(doc_ids), _texts(row.doc_id for row in rows), "document ids")
    if largest <= _SMALL_INDEX:
        fill = np.nan if options["missing"] == "nan" else 0.0
        expected = np.full(found.X.shape, fill)
        for r, row in enumerate(rows):
            for index, value in row.features.items():
                expected[r, index - first] = value
        x = found.X if isinstance(found.X, np.ndarray) else found.X.toarray()
        if not np.array_equal(x, expected.astype(x.dtype), equal_nan=True):
            raise Broken("other features than the reference reads")


class Groups(Target):
    """A file of group sizes and, behind a line of two dashes, the text that it stands beside."""

    name, file_name = "groups", "sizes-and-text"

    def good(self) -> list[bytes]:
        rows = b"2 1:0.5 2:1\n0 1:0.25\n1 2:?\n0 1:3\n\n1 2:4 # d\n"
        return [
            b"2\n1\n2\n\n--\n" + rows,
            b"5\r\n--\n" + rows,
            b"2\n3\n--\n" + b"".join(b"%d qid:%d 1:%d\n" % (i % 2, i // 2, i) for i in range(4)) + b"0 qid:1\n",
            b"30\n" * 3 + b"--\n" + b"".join(b"%d %d:1\n" % (i % 3, i + 1) for i in range(90)),
        ]

    def check(self, path: Path) -> None:
        sizes, _, content = path.read_bytes().partition(b"--\n")
        data, beside = path.with_name("grouped.txt"), path.with_name("grouped.txt.query")
        data.write_bytes(content)
        beside.write_bytes(sizes)
        try:
            rows = reference.read_letor(content)
            expected = reference.grouped_ids(rows, reference.read_sizes(sizes))
        except reference.Malformed as error:
            _read(data, _options(content))
            raise Broken(f"it was read, but {error}") from None
        try:
            found = _read(data, _options(content))
        except rw.DataError as error:
            if max((index for row in rows for index in row.features), default=0) <= _SMALL_INDEX:
                raise Broken(f"refused, though it is right: {error}") from None
            raise
        same(_texts(found.qid.tolist()), expected, "query ids")


def _options(content: bytes) -> dict[str, Any]:
    """How to read a file: always the same way for the same content."""
    ways = [(None, "zero"), (True, "zero"), (False, "zero"), (None, "nan"), (False, "nan")]
    dtype, (sparse, missing) = list(product([None, np.float64], ways))[zlib.crc32(content) % (2 * len(ways))]
    return {"dtype": dtype, "sparse": sparse, "missing": missing}


def _read(path: Path, options: dict[str, Any]) -> rw.Queries:
    """Read by blocks of a few lines, so that small files are read in many pieces."""
    with patch.object(blocks, "BLOCK", 300), patch.object(blocks, "SAMPLE", 200):
        return rw.read_svmlight(path, **options)


def _texts(ids: Iterable[Any]) -> list[str]:
    """Ids as text: some are read as whole numbers."""
    return list(map(str, ids))


def same(found: Any, expected: Any, what: str) -> None:
    """Both are equal."""
    if found != expected:
        raise Broken(f"{what}: {str(found)[:200]}, but the reference reads {str(expected)[:200]}")


class Csv(Target):
    """CSV with a line of names."""

    name, file_name = "csv", "data.csv"

    def good(self) -> list[bytes]:
        return [
            b"label,qid,a,b\n2,1,0.5,3\n0,1,0.25,1\n0,2,0.5,1\n1,2,1.5,3\n",
            b'label,qid,doc_id,"a ""x"""\r\n1,q1,d1,5\r\n0,"q,2",d2,\r\n',
            b"qid,label,f\n" + b"".join(b"%d,%d,%d\n" % (i // 3, i % 2, i) for i in range(50)),
            b"\xef\xbb\xbflabel;qid;a;title\n1;x;0,5;red\n0;x;NA;'blue\n2;y;-1e3;\n",
            b'label\tqid\ttitle\ta\n1\t7\t"two\nlines"\ttrue\n0\t7\t?\tfalse\n',
        ]

    def check(self, path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of columns that are left out
            check_queries(read_csv(path))
            check_queries(read_csv(path, TableColumns(one_hot=("a",))))


class JsonLines(Target):
    """JSON lines."""

    name, file_name = "jsonl", "data.jsonl"

    def good(self) -> list[bytes]:
        return [
            b'{"label": 2, "qid": 1, "a": 0.5}\n{"label": 0, "qid": 1, "a": null, "b": {"c": 3}}\n',
            b'{"label": 1, "qid": "x", "features": [1, 2.5]}\n\n{"label": 0, "qid": "y", "features": [NaN, -3]}\n',
            b'{"label": 1, "qid": "x", "features": {"u": true, "t": "w"}}\r\n{"qid": "x", "label": "0"}\r\n',
        ]

    def make(self, rng: random.Random, seeds: list[bytes]) -> bytes:
        if rng.random() < 0.3:
            lines = rng.choice(self.good()).splitlines()
            return b"\n".join(mutated_json(rng, line) if line else line for line in lines)
        return super().make(rng, seeds)

    def check(self, path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_queries(read_json_lines(path))


class Parquet(Target):
    """Parquet, of this library and of others."""

    name, file_name = "parquet", "data.parquet"

    def good(self) -> list[bytes]:
        table = pa.table({"label": [2.0, 0.0, 1.0], "qid": [1, 1, 2], "a": [0.5, 1.0, 2.0], "b": [1, 2, 3]})
        sparse = pa.table({
            "label": [1.0, 0.0], "qid": ["a", "b"], "indices": [[0, 2], [1]], "values": [[1.0, 2.0], [3.0]],
            "n_features": [3, 3],
        })  # fmt: skip
        contents = []
        for one, compression in ((table, "none"), (table, "snappy"), (sparse, "none")):
            file = io.BytesIO()
            pq.write_table(one, file, compression=compression)
            contents.append(file.getvalue())
        return contents

    def check(self, path: Path) -> None:
        check_queries(rw.read_parquet(path))


def check_queries(queries: rw.Queries) -> None:
    """They can be looked over and sliced."""
    str(rw.inspect(queries))
    same(sum(len(part.y) for part in queries[:50]), int(queries.sizes[:50].sum()), "documents")


def _with_transforms() -> rw.LinearModel:
    """A model with a logarithm, quantiles, and means of queries for missing values."""
    transforms = {1: Log(0.5), 3: Quantile((-1.0, 0.0, 2.0), (-0.5, 0.0, 0.25))}
    filling = Filling(np.array([1.0, 0.0, 0.5, 0.0]), by_query=True)
    formula = Formula(np.array([0.5, -1.0, 0.0, 2.0]), 0.25, transforms, filling, np.array([0.0, 0.25, 1.0, 0.0]))
    return rw.LinearModel.of(formula, feature_names=None, ranker="RankRLS", parameters={}, training={})


class Model(Target):
    """Model files, which must then predict."""

    name, file_name = "model", "model.json"

    def good(self) -> list[bytes]:
        X = np.random.default_rng(0).normal(size=(20, 4))
        y, qid = np.arange(20) % 3, np.arange(20) // 5
        queries, named = rw.Queries(X, y, qid), rw.Queries(X, y, qid, feature_names=list("abcd"))
        scaler = GlobalStandardScaler().fit(X)
        texts = [
            model_text(rw.RankRLS(1.0).fit(queries)),
            model_text(rw.RegressionRanker().fit(named), training={"data": "x"}),
            model_text(rw.RankRLS(1.0).fit(queries), scaler=scaler),
            model_text(rw.RankBoost(n_rounds=3).fit(named)),
            model_text(rw.RankRLS(1.0).fit(rw.Queries(np.where(X > 1, np.nan, X), y, qid))),
            model_text(_with_transforms()),
            model_text(made.lightgbm_model(made.trees(0, n_trees=2, n_leaves=5))),
            model_text(made.xgboost_model(made.trees(1, n_trees=2, n_leaves=5))),
        ]
        return [text.encode() for text in texts]

    def make(self, rng: random.Random, seeds: list[bytes]) -> bytes:
        if rng.random() < 0.6:
            return mutated_json(rng, rng.choice(self.good_once()))
        return super().make(rng, seeds)

    def good_once(self) -> list[bytes]:
        """Models take a while to train."""
        if not hasattr(self, "_good"):
            self._good = self.good()
        return self._good

    def check(self, path: Path) -> None:
        model = rw.load_model(path)
        if model.n_features_in_ <= _SMALL_INDEX:
            x = np.linspace(-1, 1, 3 * model.n_features_in_).reshape(3, -1)
            scores = model.predict(x)
            same(scores.shape, (3,), "shape of scores")
            if isinstance(model, rw.LinearModel) and model.filling_ is not None:
                model.predict(rw.Queries(np.where(np.eye(*x.shape) > 0, np.nan, x), [0, 1, 2], ["q"] * 3))
        str(model)


class Scores(Target):
    """Files of scores against the reference."""

    name, file_name = "scores", "scores.txt"

    def good(self) -> list[bytes]:
        return [b"1\n0.5\n-2e3\n", b"1\r\n2\r\n3\r\n\r\n", b" 1 \n\t2\ninf\n", gzip.compress(b"3\n2\n1\n", mtime=0)]

    def check(self, path: Path) -> None:
        content = path.read_bytes()
        try:
            scores = reference.read_scores(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
        except Exception:
            read_scores(path, rw.Queries(None, [0.0] * max(1, content.count(b"\n"))))
            raise Broken("it was read, but is no file of scores") from None
        found = read_scores(path, rw.Queries(None, [0.0] * len(scores)))
        same(found.tolist(), scores, "scores")


class Arrays(Target):
    """Arrays and CSR from memory: the bytes are a seed."""

    name, file_name = "arrays", "seed"

    def good(self) -> list[bytes]:
        return [b"0"]

    def make(self, rng: random.Random, seeds: list[bytes]) -> bytes:
        return b"%d" % rng.getrandbits(48)

    def check(self, path: Path) -> None:
        arrays.fit_and_score(int(path.read_bytes()))


_ALL = (Letor, GzippedLetor, Groups, Csv, JsonLines, Parquet, Model, Scores, Arrays)
TARGETS = {target.name: target() for target in _ALL}
