"""The process that tries input, one after the other; it may die of any of them.

It tells on standard output which input it begins with, and what was wrong with it. What it begins with is in a file,
so that nothing is lost with the process.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
import warnings
from pathlib import Path

from rankwright.errors import RankwrightError
from tests.fuzz.targets import TARGETS, Target

_GIGABYTES = 6  # of address space, most of which threads and libraries claim and never touch


def problem_with(target: Target, content: bytes, folder: Path) -> str | None:
    """What is wrong with how some input is taken, if anything is."""
    path = folder / target.file_name
    path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.check(path)
    except RankwrightError:
        return None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__module__}.{type(error).__name__}: {str(error)[:300]}"
    return None


def main() -> None:
    """Try input until the time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--targets", nargs="+", required=True)
    asked = parser.parse_args()
    limit = _GIGABYTES << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rng = random.Random(asked.seed)
    targets = [TARGETS[name] for name in asked.targets]
    seeds = {target.name: target.seeds() for target in targets}
    for target in targets:  # the kernels are compiled meanwhile
        for content in seeds[target.name]:
            _try(target, content, asked.folder)
    end = time.monotonic() + asked.seconds
    while time.monotonic() < end:
        target = rng.choice(targets)
        _try(target, target.make(rng, seeds[target.name]), asked.folder)


def _try(target: Target, content: bytes, folder: Path) -> None:
    (folder / "current").write_bytes(content)
    print(json.dumps({"begins": target.name}), flush=True)
    problem = problem_with(target, content, folder)
    if problem is not None:
        print(json.dumps({"target": target.name, "problem": problem, "content": content.hex()}), flush=True)


if __name__ == "__main__":
    main()
