"""Which collections are found, and how folds are gone through."""

from __future__ import annotations

import pytest

import rankwright as rw
from rankwright.progress import Progress
from rankwright.reproduce.folds import find_collections, folds_of, on_every_fold
from tests.reproduce.layout import write_synthetic_folds, write_synthetic_yahoo

ALL = ("MQ2007", "MQ2008", "Yahoo")


def test_collections_are_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="MQ2007 and MQ2008"):
        find_collections(tmp_path)
    (tmp_path / "mq2007").mkdir()
    (tmp_path / "MQ2008").mkdir()
    (tmp_path / "OHSUMED").mkdir()
    assert find_collections(tmp_path) == {"MQ2007": tmp_path / "mq2007", "MQ2008": tmp_path / "MQ2008"}
    assert find_collections(tmp_path / "MQ2008") == {"MQ2008": tmp_path / "MQ2008"}


def test_yahoo_is_found_by_its_files_where_it_is_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"set1\.train\.txt"):
        find_collections(tmp_path, ALL)
    (tmp_path / "MQ2008").mkdir()
    (tmp_path / "ltrc").mkdir()
    (tmp_path / "ltrc" / "Set1.train.txt.gz").touch()
    assert find_collections(tmp_path) == {"MQ2008": tmp_path / "MQ2008"}
    assert find_collections(tmp_path, ALL) == {"MQ2008": tmp_path / "MQ2008", "Yahoo": tmp_path / "ltrc"}
    assert find_collections(tmp_path / "ltrc", ALL) == {"Yahoo": tmp_path / "ltrc"}
    (tmp_path / "set1.train.txt").touch()
    assert find_collections(tmp_path, ALL)["Yahoo"] == tmp_path


def test_every_fold_is_run_once_in_order(tmp_path):
    write_synthetic_folds(tmp_path / "MQ2008", seed=2)
    write_synthetic_yahoo(tmp_path)
    collections = find_collections(tmp_path, ALL)
    told = []

    def run_fold(dataset, parts, progress):
        progress(Progress("half", 1, 2))
        return dataset, parts.test.n_queries

    results = on_every_fold(collections, run_fold, lambda now: told.append((now.done, now.total)))
    assert results == {"MQ2008": (("MQ2008", 6),) * 5, "Yahoo": (("Yahoo", 6),)}
    assert told == [(0.5, 6), (1.5, 6), (2.5, 6), (3.5, 6), (4.5, 6), (5.5, 6), (6, 6)]
    assert [folds_of(dataset) for dataset in results] == [(1, 2, 3, 4, 5), (1,)]


def test_a_fold_with_other_features_is_refused_before_it_is_run(tmp_path):
    write_synthetic_folds(tmp_path / "MQ2008", seed=2)
    with (tmp_path / "MQ2008" / "Fold2" / "vali.txt").open("a") as file:
        file.write("0 qid:999 1:1 7:1\n")
    ran = []
    with pytest.raises(rw.DataError, match="fold 2 has 7 features, but fold 1 has 5"):
        on_every_fold(find_collections(tmp_path), lambda *arguments: ran.append(1), None)
    assert ran == [1]
