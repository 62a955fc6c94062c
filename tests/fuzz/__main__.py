"""`make fuzz`: broken files and awkward arrays for a given time. Ends with 1 if the contract was broken.

    python -m tests.fuzz --seconds 300 --seed 7 --targets letor arrays
    python -m tests.fuzz --replay fuzz-findings/letor-0123456789ab

The contract: whatever the input, only Rankwright's own errors leave; there is no crash, no hang, and no use of
gigabytes; and what is read is what a plain reader reads. Kernels are compiled with checks of their bounds. What breaks
it is saved in a folder: put it into tests/fuzz/corpus/ once it is mended. Compiling comes on top of the time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGETS = ("letor", "gzip", "groups", "csv", "jsonl", "parquet", "model", "scores", "arrays")

_LONGEST_CASE = 240.0  # seconds, in which kernels may have to be compiled
_LONGEST_END = 10.0


class Findings:
    """What broke the contract, each kind of problem once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self._kinds: set[tuple[str, str]] = set()

    def add(self, target: str, problem: str, content: bytes) -> None:
        """Save the input, and tell."""
        kind = (target, "".join(letter for letter in problem if not letter.isdigit())[:60])
        if kind in self._kinds:
            return
        self._kinds.add(kind)
        self.problems.append(problem)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{target}-{hashlib.sha256(content).hexdigest()[:12]}"
        path.write_bytes(content)
        print(f"BROKEN {target}: {problem}\n  input: {path}", flush=True)

    def __len__(self) -> int:
        return len(self.problems)


def environment() -> dict[str, str]:
    """Kernels with checks of bounds are kept apart from those without."""
    kept = ROOT / ".numba-cache" / "bounds-checked"
    return {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(kept), "RANKWRIGHT_THREADS": "2"}


def run_worker(folder: Path, seconds: float, seed: int, targets: list[str], findings: Findings) -> tuple[int, float]:
    """One process until the time is over or it dies: how many inputs it tried, and the time that is left."""
    command = [sys.executable, "-m", "tests.fuzz.worker", "--folder", str(folder), "--seconds", str(seconds)]
    command += ["--seed", str(seed), "--targets", *targets]
    with (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=errors, text=True
        )
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_pass_on, args=(process, lines), daemon=True).start()
    tried, target, started = 0, "", time.monotonic()
    try:
        while (line := _next(lines)) is not None:
            told = json.loads(line)
            if "begins" in told:
                tried, target = tried + 1, told["begins"]
            else:
                findings.add(told["target"], told["problem"], bytes.fromhex(told["content"]))
        if process.poll() is None and not _ends(process):
            findings.add(target or "start", f"no answer for {_LONGEST_CASE:g} seconds", _read(folder / "current"))
    finally:
        process.kill()
        process.wait()
    if process.returncode not in (0, -9):
        told_last = (folder / "stderr").read_text(errors="replace").strip().splitlines()[-1:]
        problem = f"the process died: code {process.returncode} {''.join(told_last)}"
        findings.add(target or "start", problem, _read(folder / "current"))
    return tried, seconds - (time.monotonic() - started) if process.returncode else 0.0


def _pass_on(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    for line in process.stdout or ():
        lines.put(line)
    lines.put(None)


def _next(lines: queue.Queue[str | None]) -> str | None:
    """The next line; None at the end, or if there is none for too long."""
    try:
        return lines.get(timeout=_LONGEST_CASE)
    except queue.Empty:
        return None


def _ends(process: subprocess.Popen[str]) -> bool:
    """Whether a process that has closed its output ends in a moment."""
    try:
        process.wait(timeout=_LONGEST_END)
    except subprocess.TimeoutExpired:
        return False
    return True


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def replay(path: Path, target: str) -> int:
    """Try one input again, in this process."""
    from tests.fuzz.targets import TARGETS as ALL
    from tests.fuzz.worker import problem_with

    with tempfile.TemporaryDirectory() as folder:
        problem = problem_with(ALL[target], path.read_bytes(), Path(folder))
    print(problem or "the contract is kept")
    return int(problem is not None)


def main() -> int:
    """Fuzz, and tell what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=None, help="another one each time by default")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--findings", type=Path, default=ROOT / "fuzz-findings")
    parser.add_argument("--replay", type=Path, help="an input of which the name begins with its target")
    asked = parser.parse_args()
    if asked.replay:
        return replay(asked.replay, asked.replay.name.partition("-")[0])
    seed = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    print(f"fuzzing {', '.join(asked.targets)} for {asked.seconds:g} seconds, seed {seed}", flush=True)
    findings, tried, left = Findings(asked.findings), 0, asked.seconds
    with tempfile.TemporaryDirectory() as folder:
        more = 1
        while left > 1 and len(findings) < 20 and more:
            more, left = run_worker(Path(folder), left, seed + tried, asked.targets, findings)
            tried += more
    print(f"{tried:,} inputs tried, {len(findings)} kinds of problems found")
    return int(len(findings) > 0)


if __name__ == "__main__":
    sys.exit(main())
