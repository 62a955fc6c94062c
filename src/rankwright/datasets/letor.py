"""Find and read one fold of a LETOR, MSLR or Yahoo collection, however its folders and files are named."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal, NamedTuple

import numpy.typing as npt

from rankwright.checks import check_whole
from rankwright.data.queries import Queries
from rankwright.errors import DataError

_STEMS = {
    "train": ("train", "trainingset"),
    "vali": ("vali", "valid", "validationset"),
    "test": ("test", "testset"),
}
_SUFFIXES = (".txt", ".txt.gz")
_FOLD_OR_SET = re.compile(r"fold\d+|set\d+\..*")


class LetorFold(NamedTuple):
    """The three parts of one fold, all with the same features."""

    train: Queries
    vali: Queries
    test: Queries


def load_letor(
    root: str | os.PathLike[str],
    fold: int = 1,
    *,
    dtype: npt.DTypeLike | None = None,
    missing: Literal["zero", "nan"] = "zero",
) -> LetorFold:
    """The training, validation and test queries of one fold of a collection on disk.

    Parameters
    ----------
    root : path
        The folder of the collection, as it was unpacked:

        - LETOR 2 to 4 and MSLR-WEB10K or 30K: it holds ``Fold1``, ``Fold2``, …, each with ``train.txt``,
          ``vali.txt`` and ``test.txt``, or ``trainingset.txt``, ``validationset.txt`` and ``testset.txt``.
          The folds may lie one folder deeper, as in ``QueryLevelNorm/Fold1``, if only one such folder
          holds them.
        - Yahoo: it holds ``set1.train.txt``, ``set1.valid.txt`` and ``set1.test.txt``.

        Files may end in ``.gz``, and upper and lower case do not matter.
    fold : int
        Which fold, counted from 1; of Yahoo's collection, which set.
    dtype : float32, float64 or None
        The type of the features. None: float32 if that loses nothing that matters within queries, else float64.
    missing : "zero" or "nan"
        The value of features that a line does not mention. ``NULL`` and other spellings of a missing value are NaN
        in either case.

    Returns
    -------
    LetorFold
        ``train``, ``vali`` and ``test``. All three have the number of features of the widest, all are dense or
        all are CSR, as suits the training part, and if one numbers its features from 0, all do.

    Examples
    --------
    ::

        train, vali, test = rw.datasets.load_letor("MQ2008", fold=1)
    """
    from rankwright.data.svmlight.reader import read_parts

    check_whole("fold", fold, 1)
    folder, prefix = _folder_of_fold(Path(root), int(fold))
    paths = [_file_of_part(folder, prefix, part) for part in LetorFold._fields]
    return LetorFold(*read_parts(paths, dtype=dtype, missing=missing))


def _folder_of_fold(root: Path, fold: int) -> tuple[Path, str]:
    """The folder that holds the three files of a fold, and what their names begin with."""
    if not root.is_dir():
        raise DataError(f"{root} is {'not a folder' if root.exists() else 'not there'}: give the collection's folder")
    here = _fold_in(root, fold)
    if here is not None:
        return here
    deeper = [(name, _fold_in(path, fold)) for name, path in _entries(root).items() if path.is_dir()]
    found = [(name, place) for name, place in deeper if place is not None]
    if not found:
        raise DataError(
            f"{root} has no fold {fold}: looked in it and in its folders for a folder Fold{fold} and for "
            f"files like set{fold}.train.txt. {_what_is_there(root)}"
        )
    if len(found) > 1:
        names = ", ".join(_entries(root)[name].name for name, _ in found)
        raise DataError(f"{root}: several of its folders hold fold {fold} ({names}): give one of them as root")
    return found[0][1]


def _fold_in(folder: Path, fold: int) -> tuple[Path, str] | None:
    entries = _entries(folder)
    inner = entries.get(f"fold{fold}")
    if inner is not None and inner.is_dir():
        return inner, ""
    prefix = f"set{fold}."
    if any(name in entries for part in _STEMS for name in _names_of_part(prefix, part)):
        return folder, prefix
    return None


def _file_of_part(folder: Path, prefix: str, part: str) -> Path:
    """The one file of a part, the plain one if it is there both plain and compressed."""
    entries = _entries(folder)
    names = _names_of_part(prefix, part)
    found = [entries[name] for name in names if name in entries and entries[name].is_file()]
    if not found:
        raise DataError(f"{folder} has no {part} part: tried {', '.join(names)}. {_what_is_there(folder)}")
    stems = {path.name.lower().removesuffix(".gz") for path in found}
    if len(stems) > 1:
        told = ", ".join(path.name for path in found)
        raise DataError(f"{folder}: which is the {part} part, {told}? Keep only one of them there")
    return found[0]


def _names_of_part(prefix: str, part: str) -> list[str]:
    return [f"{prefix}{stem}{suffix}" for stem in _STEMS[part] for suffix in _SUFFIXES]


def _entries(folder: Path) -> dict[str, Path]:
    """What a folder holds by lower-case name, without what macOS leaves (``.DS_Store``, ``__MACOSX``)."""
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "__")))
    return {path.name.lower(): path for path in paths}


def _what_is_there(folder: Path, most: int = 20) -> str:
    """A sentence for errors: the folds in a folder or one folder deeper, or else whatever it holds."""
    entries = _entries(folder)
    deeper = [path for entry in entries.values() if entry.is_dir() for path in _entries(entry).values()]
    folds = [path for path in [*entries.values(), *deeper] if _FOLD_OR_SET.fullmatch(path.name.lower())]
    told = [path.relative_to(folder).as_posix() for path in folds or entries.values()]
    if not told:
        return "It is empty"
    return f"It holds {', '.join(told[:most])}{', …' if len(told) > most else ''}"
