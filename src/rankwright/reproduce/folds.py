"""What reproductions share: the collections in a user's folder, and a protocol run on each of their folds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from rankwright.datasets import LetorFold, load_letor
from rankwright.errors import DataError
from rankwright.progress import Progress, Tell, part_of
from rankwright.reproduce.published import FOLDS, YAHOO

LETOR = ("MQ2007", "MQ2008")
_YAHOO_FILES = ("set1.train.txt", "set1.train.txt.gz")

Result = TypeVar("Result")


def find_collections(root: str | os.PathLike[str], names: tuple[str, ...] = LETOR) -> dict[str, Path]:
    """The folders of collections by name: those in a folder, or the folder itself if it is one of them."""
    folder = Path(root)
    inside = {path.name.upper(): path for path in sorted(folder.iterdir()) if path.is_dir()}
    folders = [name for name in names if name != YAHOO]
    found = {name: inside[name] for name in folders if name in inside}
    yahoo = [path for path in (folder, *inside.values()) if YAHOO in names and _holds_yahoo(path)]
    if yahoo:
        found[YAHOO] = yahoo[0]
    own_name = folder.resolve().name.upper()
    found = found or {name: folder for name in folders if name in own_name}
    if not found:
        raise FileNotFoundError(_looked_for(names))
    return found


def _holds_yahoo(folder: Path) -> bool:
    """Whether the first of Yahoo's two sets is in a folder; one that may not be looked into does not hold it."""
    try:
        return any(path.name.lower() in _YAHOO_FILES for path in folder.iterdir())
    except OSError:
        return False


def _looked_for(names: tuple[str, ...]) -> str:
    folders = " and ".join(name for name in names if name != YAHOO)
    sought = f"looked for the folders {folders} in it, with Fold1 to Fold5 in each"
    if YAHOO in names:
        return f"{sought}, and for Yahoo's set1.train.txt, and found none of them"
    return f"{sought}, and found neither"


def folds_of(dataset: str) -> tuple[int, ...]:
    """The folds of a collection: five of LETOR's, one of Yahoo's."""
    return (1,) if dataset == YAHOO else FOLDS


def on_every_fold(
    collections: Mapping[str, str | os.PathLike[str]],
    run_fold: Callable[[str, LetorFold, Tell | None], Result],
    progress: Tell | None,
) -> dict[str, tuple[Result, ...]]:
    """What ``run_fold`` gives for each fold of each collection; ``progress`` is told the folds done, in fractions."""
    total = sum(len(folds_of(dataset)) for dataset in collections)
    results: dict[str, tuple[Result, ...]] = {}
    done = 0
    for dataset, root in collections.items():
        width: int | None = None
        for fold in folds_of(dataset):
            parts = load_letor(root, fold, dtype=np.float64)
            width = _same_width(parts, width, f"{os.fspath(root)}: fold {fold}")
            result = run_fold(dataset, parts, part_of(progress, f"{dataset}, fold {fold}", done, total))
            results[dataset] = (*results.get(dataset, ()), result)
            done += 1
    if progress is not None:
        progress(Progress("all folds", total, total))
    return results


def _same_width(parts: LetorFold, width: int | None, place: str) -> int:
    """The number of features, which must be that of the first fold."""
    own = parts.train.n_features
    if width is not None and own != width:
        raise DataError(f"{place} has {own} features, but fold 1 has {width}")
    return own
