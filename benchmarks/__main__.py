"""``python -m benchmarks NAME [--json FILE]``: run one comparison and print a row for each peer."""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path

from benchmarks.timing import Row, table

NAMES = (
    "measures",
    "read_svmlight",
    "rankrls",
    "kernel-map",
    "lqo",
    "greedy",
    "growth",
    "ranksvm",
    "order_preserving",
    "position",
    "argmax",
    "structured",
    "stream",
    "cluster",
    "choose",
    "boosting",
    "nonlinear",
)


def main() -> None:
    """Run the benchmark named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to this file")
    parser.add_argument("--repeats", type=int, default=5, help="how often each side is timed (default: 5)")
    arguments = parser.parse_args()
    rows: list[Row] = import_module(f"benchmarks.{arguments.name.replace('-', '_')}").run(arguments.repeats)
    print(table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps([row.to_dict() for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
