"""Collections laid out as LETOR 4.0 is: folders Fold1 to Fold5, each with three files."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import rankwright as rw


def write_folds(folder: Path, parts: Sequence[bytes]) -> None:
    """Fold f trains on the parts f, f + 1 and f + 2, validates on f + 3 and tests on f + 4, cyclically."""
    for fold in range(5):
        cyclic = [*parts[fold:], *parts[:fold]]
        inner = folder / f"Fold{fold + 1}"
        inner.mkdir(parents=True)
        for name, content in zip(("train", "vali", "test"), (b"".join(cyclic[:3]), *cyclic[3:]), strict=True):
            (inner / f"{name}.txt").write_bytes(content)


def write_real_folds(folder: Path, real_data: Path) -> None:
    """MQ2008 from its five parts."""
    write_folds(folder, [gzip.decompress((real_data / "MQ2008" / f"S{i}.txt.gz").read_bytes()) for i in range(1, 6)])


def write_synthetic_folds(folder: Path, *, seed: int = 0) -> None:
    """Thirty small queries with five features."""
    drawn = rw.datasets.make_queries(
        30, 8, 5, n_informative=2, n_correlated=2, noise=0.5, seed=seed, dtype=np.float64
    ).queries
    parts = []
    for i in range(5):
        folder.mkdir(parents=True, exist_ok=True)
        rw.write_svmlight(drawn[6 * i : 6 * i + 6], folder / "part.txt")
        parts.append((folder / "part.txt").read_bytes())
        (folder / "part.txt").unlink()
    write_folds(folder, parts)


def write_synthetic_yahoo(folder: Path, *, seed: int = 0) -> None:
    """Thirty small queries with grades 0 to 4, as Yahoo's set 1 is laid out."""
    folder.mkdir(parents=True, exist_ok=True)
    mix = (0.3, 0.3, 0.2, 0.1, 0.1)
    drawn = rw.datasets.make_queries(30, 8, 5, n_informative=2, n_correlated=2, grade_mix=mix, seed=seed).queries
    for name, part in (("train", drawn[:18]), ("valid", drawn[18:24]), ("test", drawn[24:])):
        rw.write_svmlight(part, folder / f"set1.{name}.txt")
