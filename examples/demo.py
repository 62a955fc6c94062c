"""The demonstration behind `make demo`: from judged documents to a ranker that is measured, explained and exported.

It makes a collection whose best ranker is known, looks it over, and lets `rankwright fit` try every linear ranker. Then
it asks why the worst query came out as it did, and writes the model as Elasticsearch and SQL take it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import rankwright as rw
from rankwright.cli.main import main as rankwright

# Kernels are compiled when they are first used, and kept. While this process compiles those that it needs first,
# another one compiles those of the iterative rankers.
_COMPILE_SIDE_BY_SIDE = """
import rankwright as rw
queries = rw.datasets.make_queries(12, 8, 6, n_informative=2, n_correlated=1, seed=0).queries
rw.StructuredRanker("ndcg@10", alpha=rw.search(1.0, 2.0), center=[0.1] * 6).fit(queries, valid=queries)
rw.OrderPreservingRanker(alpha=rw.search(1.0, 2.0), cutoff=10).fit(queries, valid=queries)
rw.RankSVM(alpha=rw.search(1.0, 2.0), weights="per-query").fit(queries, valid=queries)
"""


def main(folder: Path) -> None:
    """Write everything into the folder and say where the report is."""
    folder.mkdir(parents=True, exist_ok=True)
    compiling = subprocess.Popen([sys.executable, "-W", "ignore", "-c", _COMPILE_SIDE_BY_SIDE])
    made = rw.datasets.make_queries(300, 40, 20, seed=7)
    train, test = made.queries[:200], made.queries[200:]
    rw.write_svmlight(train, folder / "train.txt")
    rw.write_svmlight(test, folder / "test.txt")
    print(f"{train.n_queries} judged queries to learn from, {test.n_queries} to test on, {train.n_features} features.")

    command("inspect", folder / "train.txt")
    command("fit", folder / "train.txt", "--test", folder / "test.txt", "--out", folder / "ranker", "--overwrite")
    best = rw.evaluate(test.X @ made.best_weights, test, "ndcg@10").means[rw.nDCG @ 10]
    print(f"(The best ranker there can be, which made these data, has {best:.4f} on the test queries.)")

    model = folder / "ranker" / "model.json"
    command("explain", model, folder / "test.txt", "--query", worst_query(model, test), "--top", 5)
    for target, name in (("elasticsearch", "elasticsearch.json"), ("sql", "score.sql")):
        command("export", model, "--to", target, "--out", folder / name)
    print(f"\n{(folder / 'score.sql').read_text().strip()}")
    compiling.wait()
    print(f"\nThe report is in {folder / 'ranker' / 'report.html'}: open it in a browser.")


def command(*words: object) -> None:
    """Show a rankwright command and run it."""
    print("\n$ rankwright", *words, flush=True)
    code = rankwright(list(map(str, words)))
    if code:
        sys.exit(code)


def worst_query(model: Path, test: rw.Queries) -> object:
    """The id of the test query that the model ranks worst."""
    values = rw.evaluate(rw.load_model(model), test, "ndcg@10").values[rw.nDCG @ 10]
    return test.query_ids[int(np.argmin(values))]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output"))
