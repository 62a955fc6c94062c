"""The demonstration behind `make demo`: from a collection of judged documents to a report on three rankers.

It makes a collection whose best ranker is known, keeps it as LETOR text and as Parquet, looks it over,
scores it with three linear rankers, and says which differences between them are more than chance.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import rankwright as rw


def main(folder: Path) -> None:
    """Write everything into the folder and say where the report is."""
    folder.mkdir(parents=True, exist_ok=True)
    made = rw.datasets.make_queries(300, 40, 20, seed=7)
    train, test = made.queries[:200], made.queries[200:]
    rw.write_svmlight(test, folder / "test.txt")
    rankers = {
        "the best there is": made.best_weights,
        "regression on grades": np.linalg.lstsq(train.X - train.X.mean(0), train.y - train.y.mean(), rcond=None)[0],
        "first feature alone": np.eye(train.n_features)[0],
    }
    scores = {name: test.X @ weights for name, weights in rankers.items()}
    for name, values in scores.items():
        np.savetxt(folder / f"{name.replace(' ', '-')}.txt", values)

    command("convert", folder / "test.txt", folder / "test.parquet")
    command("inspect", folder / "test.parquet")
    command("evaluate", folder / "regression-on-grades.txt", folder / "test.txt", "--measures", "ndcg@10,map,err")
    command(
        "evaluate",
        *(folder / "regression-on-grades.txt", folder / "test.txt"),
        *("--measures", "ndcg@10,map,p@10", "--convention", "letor4"),
        *("--per-query", folder / "per-query.csv"),
    )
    comparison = rw.compare(scores, test, rw.nDCG @ 10)
    print(f"\nThree rankers compared query by query:\n\n{comparison}")
    report = folder / "report.md"
    report.write_text(as_report(test, scores, comparison), encoding="utf-8")
    print(f"\nThe report is in {report}; the values for each query are in {folder / 'per-query.csv'}.")


def command(*words: object) -> None:
    """Show a rankwright command and run it."""
    print("\n$ rankwright", *words, flush=True)
    subprocess.run([sys.executable, "-m", "rankwright", *map(str, words)], check=True)


def as_report(test: rw.Queries, scores: dict[str, np.ndarray], comparison: rw.Comparison) -> str:
    """What was found, as Markdown."""
    sections = ["# Rankwright demonstration", "## The data", f"```\n{rw.inspect(test)}\n```"]
    sections += ["## Three rankers, NDCG@10", f"```\n{comparison}\n```", "▼ is significantly worse than the best."]
    for convention in ("default", "letor4"):
        evaluation = rw.evaluate(scores["regression on grades"], test, "ndcg@10, map, err", convention)
        sections += [f"## Regression on grades, convention {convention}", f"```\n{evaluation}\n```"]
    return "\n\n".join(sections) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-output"))
