"""Reading LETOR text: `read_svmlight` against XGBoost's text loader and scikit-learn's `load_svmlight_file`.

The file is synthetic and above 300 MB: 3,000 queries of 120 documents on average, 136 features with four
decimals, and a comment at its head. Every measurement runs in a Python of its own, after a warm-up on a small file.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from benchmarks.timing import Row, in_a_process

_QUERIES, _DOCUMENTS, _FEATURES = 3000, 120, 136

_OURS = """
import json, sys, time
from benchmarks.timing import memory
from rankwright import read_svmlight

read_svmlight(sys.argv[2])
before = memory("VmRSS")
start = time.perf_counter()
queries = read_svmlight(sys.argv[1])
seconds = time.perf_counter() - start
grown = memory("VmHWM") - before
returned = queries.X.nbytes + queries.y.nbytes + queries.qid.nbytes
print(json.dumps({"seconds": seconds, "memory": grown / returned}))
"""

_XGBOOST = """
import json, sys, time, warnings
import xgboost
warnings.simplefilter("ignore")
xgboost.set_config(verbosity=0)
xgboost.DMatrix(sys.argv[2] + "?format=libsvm")
start = time.perf_counter()
xgboost.DMatrix(sys.argv[1] + "?format=libsvm")
print(json.dumps({"seconds": time.perf_counter() - start}))
"""

_SKLEARN = """
import json, sys, time
from sklearn.datasets import load_svmlight_file
load_svmlight_file(sys.argv[2], query_id=True)
start = time.perf_counter()
load_svmlight_file(sys.argv[1], query_id=True)
print(json.dumps({"seconds": time.perf_counter() - start}))
"""


def run(repeats: int) -> list[Row]:
    """Time the three readers in turns; scikit-learn, which takes minutes, once."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = _write_files(Path(folder))
        size = Path(large).stat().st_size / 1e6
        ours, xgboost = [], []
        for _ in range(repeats):
            ours.append(in_a_process(_OURS, large, small))
            xgboost.append(in_a_process(_XGBOOST, large, small))
        sklearn = in_a_process(_SKLEARN, large, small)["seconds"]
    ours_s = statistics.median(measured["seconds"] for measured in ours)
    memory = max(measured["memory"] for measured in ours)
    note = f"{size:.0f} MB, {size / ours_s:.0f} MB/s, peak memory {memory:.2f} × the arrays"
    return [
        Row("read_svmlight", "xgboost", ours_s, statistics.median(m["seconds"] for m in xgboost), 3, note),
        Row("read_svmlight", "scikit-learn", ours_s, sklearn, 30, note),
    ]


def _write_files(folder: Path) -> tuple[str, str]:
    import numpy as np

    from rankwright import Queries, write_svmlight
    from rankwright.datasets import make_queries

    made = make_queries(_QUERIES, _DOCUMENTS, _FEATURES, dtype=np.float32, seed=1).queries
    rounded = Queries(np.round(made.X, 4), made.y, made.qid)
    large, small = folder / "large.txt", folder / "small.txt"
    write_svmlight(rounded, folder / "rows.txt")
    with (folder / "rows.txt").open("rb") as rows, large.open("wb") as file:
        file.write(b"# a line that is no row, as ordinary files have\n")
        shutil.copyfileobj(rows, file)
    (folder / "rows.txt").unlink()
    write_svmlight(rounded[:20], small)
    return str(large), str(small)
