"""What learners would take for a billion documents on a cluster of Dask, from what they take here.

``python -m benchmarks.scale`` measures messages, work, bytes and the driver's own seconds with one worker of one
thread, predicts runs of other sizes and with two workers from them, measures these too, and then prints what the same
arithmetic says of 10, 100 and 1,000 workers. ``--write docs/scale.md`` puts the tables into the page; ``--only
ranksvm`` takes one learner, and ``--gbits`` says how fast the network of the driver is.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import rankwright as rw
from benchmarks import cluster as engines
from benchmarks.collections import mslr_sized
from benchmarks.local_clusters import dask_client, on_spark
from benchmarks.pages import markdown, written
from benchmarks.scale_costs import seconds_of_job, size_of, transport, watched
from benchmarks.scale_model import LearnerCost, Predicted, Run, Size, Transport, learner_cost
from rankwright.data.streams.sizes import told_bytes

_SMALL, _LARGE, _MANY_PARTS = 750, 2250, 8  # queries that costs are measured with
_OTHERS = (1500, 3000)  # that they are checked with
_BILLION = 1_000_000_000
_WORKERS = (10, 100, 1000)
_BOTTLENECKS = {
    "work": "work on parts",
    "in_turn": "parts in turn",
    "messages": "messages",
    "bytes": "bytes",
    "driver": "driver",
}


class Checked(NamedTuple):
    """A learner on some data: predicted and measured seconds, and messages."""

    learner: str
    size: Size
    predicted: float
    measured: float
    predicted_messages: float
    messages: int


def learners(queries: rw.Queries) -> dict[str, Callable[[Any], Any]]:
    """What is measured: those of the benchmark of clusters, and what is done with a model."""
    model = rw.RankRLS(alpha=1.0).fit(queries)
    return {
        **engines.LEARNERS,
        "evaluate": lambda given: rw.evaluate(model, given, "ndcg@10, map").means,
        "predict": model.predict,
    }


def measured(names: Sequence[str], repeats: int) -> tuple[Transport, dict[str, LearnerCost], list[Checked]]:
    """What messages take, what learners take, and how well that predicts further runs."""
    collection = mslr_sized()
    known = learners(collection[:_SMALL])
    chosen = {name: known[name] for name in names}
    with TemporaryDirectory() as folder, mock.patch.dict(os.environ, RANKWRIGHT_THREADS="1"):
        files = {}
        for count in (_SMALL, _LARGE, *_OTHERS):
            files[count] = Path(folder) / f"{count}.parquet"
            rw.write_queries(collection[:count], files[count])
        carried = transport(files[_SMALL])
        with dask_client(1) as client:
            given = [rw.dask.queries(files[count], client=client, parts=1) for count in (_SMALL, _LARGE)]
            given.append(rw.dask.queries(files[_LARGE], client=client, parts=_MANY_PARTS))
            costs = {name: learner_cost(dict(_runs(learn, given, repeats))) for name, learn in chosen.items()}
        checked = []
        for workers in (1, 2):
            with dask_client(workers) as client:
                given = [rw.dask.queries(files[count], client=client, parts=workers) for count in _OTHERS]
                for name, learn in chosen.items():
                    checked += [_checked(name, costs[name], carried, *found) for found in _runs(learn, given, repeats)]
    return carried, costs, checked


def _runs(learn: Callable[[Any], Any], given: Sequence[Any], repeats: int) -> Iterator[tuple[Size, list[Run]]]:
    """Runs on each of some queries, in turns so that a slow spell of the machine hits all alike."""
    for queries in given:
        learn(queries)  # compiles, loads and warms up
    found = [[watched(learn, queries) for queries in given] for _ in range(repeats)]
    for queries, runs in zip(given, zip(*found, strict=True), strict=True):
        yield size_of(queries), list(runs)


def _checked(name: str, cost: LearnerCost, carried: Transport, size: Size, runs: list[Run]) -> Checked:
    seconds = statistics.median(run.seconds for run in runs)
    predicted = cost.predicted(size, carried).seconds
    return Checked(name, size, predicted, seconds, cost.n_messages(size), len(runs[-1].messages))


def spark_table(names: Sequence[str]) -> str:
    """How many jobs fits take on Spark, and what these take besides their work, in Markdown."""
    collection = mslr_sized()[:_SMALL]
    known = learners(collection)
    with TemporaryDirectory() as folder:
        rw.write_queries(collection, Path(folder) / "queries.parquet")
        queries = on_spark([Path(folder) / "queries.parquet"], 1)
        job = seconds_of_job(queries)
        rows = []
        for name in names:
            n_jobs = len(watched(known[name], queries).messages)
            rows.append((name, str(n_jobs), f"{n_jobs * job:.2g} s"))
    return markdown(("", "jobs", f"at {_told_ms(job)} each"), rows)


# Tables


def tables(carried: Transport, costs: dict[str, LearnerCost], checked: list[Checked], gbits: float) -> dict[str, str]:
    """The tables of the page by their names, in Markdown."""
    return {
        "messages": _of_messages(carried),
        "learners": _of_learners(costs),
        "steps": _of_steps(costs),
        "checked": _of_checked(checked),
        "billion": _of_billion(costs, replace(carried, wire=8 / (gbits * 1e9))),
    }


def _of_messages(carried: Transport) -> str:
    ways = {"a message to all": carried.message, "a message in turn": carried.turn, "tasks": carried.task}
    rows = [(name, *map(_told_ms, (way.fixed, way.each))) for name, way in ways.items()]
    rows += [
        (f"a megabyte in {name}", *(_told_ms(1e6 * taken) for taken in (way.byte_once, way.byte_each)))
        for name, way in ways.items()
    ]
    rows.append(("a megabyte back", _told_ms(1e6 * carried.byte_back), ""))
    return markdown(("", "once", "and for each worker it goes to"), rows)


def _of_learners(costs: dict[str, LearnerCost]) -> str:
    rows = []
    for name, cost in costs.items():
        steps = cost.steps.values()
        side, turn = (
            1e6 * sum(step.times * step.work_document for step in steps if step.in_turn is in_turn)
            for in_turn in (False, True)
        )
        per_pass = (side + turn) / cost.passes if cost.passes else side + turn
        turns = sum(step.times for step in steps if step.in_turn)
        rows.append(
            (
                name,
                str(cost.passes or 1),
                f"{side:.2f} s",
                f"{turn:.2f} s" if turns else "–",
                f"{per_pass:.3f} s",
                f"{sum(step.times for step in steps if not step.in_turn):.0f}",
                f"{turns:.0f} × parts" if turns else "–",
                _told_ms(cost.driver_fixed),
                _told_ms(1e6 * cost.driver_document),
            )
        )
    head = ("", "passes", "work per million documents", "in turn", "per pass", "messages", "in turn", "driver")
    return markdown((*head, "and per million documents"), rows)


def _of_steps(costs: dict[str, LearnerCost]) -> str:
    rows = []
    for name, cost in costs.items():
        for step, found in cost.steps.items():
            sent = _told_line(found.sent_fixed, (found.sent_query, "query"), (found.sent_part, "part"))
            back = _told_line(found.back_fixed, (found.back_query, "query"))
            work = f"{1e6 * found.work_document:.3f} s"
            times = f"{found.times:.0f}{' × parts' if found.in_turn else ''}"
            rows.append((name, f"`{step}`", times, work, sent, back))
    return markdown(("", "step", "times", "per million documents", "sent to each worker", "back from each part"), rows)


def _of_checked(checked: list[Checked]) -> str:
    rows = [
        (
            each.learner,
            f"{each.size.documents:,}",
            str(each.size.parts),
            f"{each.predicted:.3f} s",
            f"{each.measured:.3f} s",
            f"{each.predicted / each.measured:.2f}",
            f"{each.predicted_messages:.0f}, {each.messages}",
        )
        for each in sorted(
            checked, key=lambda each: list(dict.fromkeys(c.learner for c in checked)).index(each.learner)
        )
    ]
    head = ("", "documents", "workers", "predicted", "measured", "ratio", "messages, predicted and found")
    return markdown(head, rows)


def _of_billion(costs: dict[str, LearnerCost], carried: Transport) -> str:
    rows = []
    for name, cost in costs.items():
        for workers in _WORKERS:
            size = Size(_BILLION, round(_BILLION / 120), workers)
            found = cost.predicted(size, carried)
            rows.append((name, f"{workers:,}", f"**{_told_time(found.seconds)}**", *_parts_of(found)))
            rows[-1] += (f"{_BOTTLENECKS[found.bottleneck]}", told_bytes(cost.travelling(size, carried)))
    return markdown(("", "workers", "time", *_BOTTLENECKS.values(), "bottleneck", "travels"), rows)


def _parts_of(found: Predicted) -> tuple[str, ...]:
    return tuple(_told_time(getattr(found, name)) for name in _BOTTLENECKS)


def _told_line(fixed: float, *rises: tuple[float, str]) -> str:
    return " + ".join([told_bytes(fixed), *(f"{told_bytes(rise)} per {what}" for rise, what in rises if rise)])


def _told_ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f} ms"


def _told_time(seconds: float) -> str:
    if seconds < 0.05:
        return "0 s"
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds:.2g} s"


def main() -> None:
    """Measure, check, and tell."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    names = (*engines.LEARNERS, "evaluate", "predict")
    parser.add_argument("--only", choices=names, action="append", help="this learner alone; may be given again")
    parser.add_argument("--repeats", type=int, default=3, help="how often each is timed (default: 3)")
    parser.add_argument("--gbits", type=float, default=10.0, help="network of the driver in Gbit/s (default: 10)")
    parser.add_argument("--spark", action="store_true", help="count jobs on Spark instead")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into this page of the documentation")
    arguments = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    chosen = arguments.only or names
    if arguments.spark:
        found = {"spark": spark_table([name for name in chosen if name in engines.LEARNERS])}
    else:
        found = tables(*measured(chosen, arguments.repeats), arguments.gbits)
    print(f"load of the machine after: {os.getloadavg()[0]:.1f} (of which this is about one)")
    for name, content in found.items():
        print(f"\n{name}\n\n{content}")
    if arguments.write:
        arguments.write.write_text(written(arguments.write.read_text(), found))


if __name__ == "__main__":
    main()
