"""The demonstration behind `make demo`: from a collection of judged documents to a few features that rank them.

It makes a collection whose best ranker is known, keeps it as LETOR text and as Parquet, looks it over,
scores it with three linear rankers, and says which differences between them are more than chance. Then it
trains: RankRLS on all features, and greedy RankRLS, which shows how few of them are enough.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import rankwright as rw
from rankwright.report.chart import line_chart


def main(folder: Path) -> None:
    """Write everything into the folder and say where the report is."""
    folder.mkdir(parents=True, exist_ok=True)
    made = rw.datasets.make_queries(300, 40, 20, seed=7)
    train, test = made.queries[:200], made.queries[200:]
    rw.write_svmlight(train, folder / "train.txt")
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

    command("select", folder / "train.txt", "--measures", "ndcg@10", "--rule", "one-standard-error")
    whole, greedy = trained(train)
    print(f"\nRankRLS on all {train.n_features} features: λ = {whole.alpha_:g}, chosen by leave-query-out.")
    scores["RankRLS, all features"] = whole.predict(test.X)
    scores[f"greedy RankRLS, {len(greedy.selected_features_)} features"] = greedy.predict(test.X)
    with_learned = rw.compare(scores, test, rw.nDCG @ 10)
    print(f"\nAll rankers on the test queries:\n\n{with_learned}")
    chart = folder / "features.svg"
    chart.write_text(quality_by_features(whole, greedy, test), encoding="utf-8")

    report = folder / "report.md"
    report.write_text(as_report(test, scores, with_learned, chart), encoding="utf-8")
    print(f"\nThe report is in {report}; the values for each query are in {folder / 'per-query.csv'}.")
    print(f"The chart of quality against the number of features is in {chart}.")


def command(*words: object) -> None:
    """Show a rankwright command and run it."""
    print("\n$ rankwright", *words, flush=True)
    subprocess.run([sys.executable, "-m", "rankwright", *map(str, words)], check=True)


def trained(train: rw.Queries) -> tuple[rw.RankRLS, rw.GreedyRankRLS]:
    """RankRLS on all features, and on the few that do as well up to one standard error; λ by leave-query-out."""
    whole = rw.RankRLS(alpha=rw.search()).fit(train)
    greedy = rw.GreedyRankRLS(alpha=rw.search(), n_features=rw.search(), rule="one-standard-error").fit(train)
    return whole, greedy


def quality_by_features(whole: rw.RankRLS, greedy: rw.GreedyRankRLS, test: rw.Queries) -> str:
    """NDCG@10 of every step of the selection, on left-out and on test queries, as SVG."""
    measure = rw.nDCG @ 10
    sizes = [len(step.selected) for step in greedy.path_]
    left_out = [step.lqo[measure].mean for step in greedy.path_]
    models = [(test.X[:, step.selected], step.weights) for step in greedy.path_]
    tested = [rw.evaluate(features @ weights, test, measure).means[measure] for features, weights in models]
    all_features = rw.evaluate(whole, test, measure).means[measure]
    return line_chart(
        {
            "queries left out": (sizes, left_out),
            "test queries": (sizes, tested),
            "RankRLS, test queries": (sizes, [all_features] * len(sizes)),
        },
        title=f"Greedy RankRLS, λ = {greedy.alpha_:g}",
        x_label="features",
        y_label=str(measure),
    )


def as_report(test: rw.Queries, scores: dict[str, np.ndarray], comparison: rw.Comparison, chart: Path) -> str:
    """What was found, as Markdown."""
    sections = ["# Rankwright demonstration", "## The data", f"```\n{rw.inspect(test)}\n```"]
    sections += ["## Rankers, NDCG@10", f"```\n{comparison}\n```", "▼ is significantly worse than the best."]
    sections += ["## How many features it takes", f"![NDCG@10 against the number of features]({chart.name})"]
    for convention in ("default", "letor4"):
        evaluation = rw.evaluate(scores["regression on grades"], test, "ndcg@10, map, err", convention)
        sections += [f"## Regression on grades, convention {convention}", f"```\n{evaluation}\n```"]
    return "\n\n".join(sections) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-output"))
