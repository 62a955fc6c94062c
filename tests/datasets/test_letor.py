"""Folds found under every layout that users have, and errors that tell what is there instead."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from rankwright.datasets import load_letor
from rankwright.errors import DataError, ParameterError

LETOR4 = ("train.txt", "vali.txt", "test.txt")
LETOR2 = ("trainingset.txt", "validationset.txt", "testset.txt")
PLAIN = ("train.txt", "valid.txt", "test.txt")
YAHOO = ("set1.train.txt", "set1.valid.txt", "set1.test.txt")


def lay_out(folder: Path, names: tuple[str, ...] = LETOR4, shift: int = 0, widths: tuple[int, ...] = (3, 3, 3)) -> None:
    """Files of 3, 2 and 1 queries with two documents each; feature j is 10 · query + j + shift."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, n_queries, width in zip(names, (3, 2, 1), widths, strict=True):
        lines = [
            f"{grade} qid:{query} " + " ".join(f"{j}:{10 * query + j + shift}" for j in range(1, width + 1))
            for query in range(1, n_queries + 1)
            for grade in (0, 2)
        ]
        text = ("\n".join(lines) + "\n").encode()
        (folder / name).write_bytes(gzip.compress(text) if name.lower().endswith(".gz") else text)


@pytest.mark.parametrize(
    ("folder", "names"),
    [
        ("Fold1", LETOR4),
        ("Fold1", LETOR2),
        ("Fold1", PLAIN),
        ("fold1", ("Train.txt", "VALI.txt", "test.TXT")),
        ("Fold1", tuple(name + ".gz" for name in LETOR2)),
        ("QueryLevelNorm/Fold1", LETOR2),
        (".", YAHOO),
        (".", tuple(name + ".gz" for name in YAHOO)),
        ("ltrc_yahoo", YAHOO),
    ],
)
def test_every_layout(tmp_path, folder, names):
    lay_out(tmp_path / folder, names)
    fold = load_letor(tmp_path)
    assert [part.n_queries for part in fold] == [3, 2, 1]
    assert fold.vali.X.dtype == np.float32
    np.testing.assert_array_equal(fold.vali.X, [[11, 12, 13], [11, 12, 13], [21, 22, 23], [21, 22, 23]])
    np.testing.assert_array_equal(fold.test.y, [0, 2])


@pytest.mark.parametrize("layout", ["Fold{}", "set{}"])
def test_the_fold_that_is_asked_for(tmp_path, layout):
    for number in (1, 2):
        if layout == "Fold{}":
            lay_out(tmp_path / f"Fold{number}", shift=100 * number)
        else:
            lay_out(tmp_path, tuple(name.replace("set1", f"set{number}") for name in YAHOO), shift=100 * number)
    assert load_letor(str(tmp_path), fold=2).train.X[0, 0] == 211
    assert load_letor(tmp_path, 1).train.X[0, 0] == 111


def test_plain_text_is_read_when_there_is_a_compressed_copy_too(tmp_path):
    lay_out(tmp_path / "Fold1")
    lay_out(tmp_path / "Fold1", tuple(name + ".gz" for name in LETOR4), shift=100)
    assert load_letor(tmp_path).train.X[0, 0] == 11


@pytest.mark.parametrize("widths", [(3, 5, 2), (5, 3, 3), (2, 2, 4)])
def test_all_parts_are_as_wide_as_the_widest(tmp_path, widths):
    lay_out(tmp_path / "Fold1", widths=widths)
    fold = load_letor(tmp_path, dtype=np.float64)
    assert {part.X.shape[1] for part in fold} == {max(widths)}
    for part, width in zip(fold, widths, strict=True):
        assert part.X.dtype == np.float64
        np.testing.assert_array_equal(part.X[0, :width], np.arange(11, 11 + width))
        assert not part.X[:, width:].any()
    missing = load_letor(tmp_path, missing="nan")
    for part, width in zip(missing, widths, strict=True):
        assert np.isnan(part.X[:, width:]).all()
        assert not np.isnan(part.X[:, :width]).any()


def test_all_parts_are_stored_like_the_training_part(tmp_path):
    """By itself the test part would be dense: every one of its cells is there."""
    folder = tmp_path / "Fold1"
    folder.mkdir()
    (folder / "train.txt").write_text("".join(f"1 qid:{j} {j}:1\n" for j in range(1, 30)))
    (folder / "vali.txt").write_text("1 qid:1 7:2\n")
    (folder / "test.txt").write_text("1 qid:1 1:11 2:12\n")
    fold = load_letor(tmp_path)
    assert all(sp.issparse(part.X) and part.X.shape[1] == 29 for part in fold)
    np.testing.assert_array_equal(fold.test.X.toarray()[0, :3], [11, 12, 0])


@pytest.mark.parametrize("with_zero", ["train.txt", "vali.txt", "test.txt"])
def test_if_one_part_numbers_features_from_zero_all_do(tmp_path, with_zero):
    folder = tmp_path / "Fold1"
    folder.mkdir()
    for name in ("train.txt", "vali.txt", "test.txt"):
        (folder / name).write_text("1 qid:1 0:5 1:6 2:7\n" if name == with_zero else "1 qid:1 1:6 2:7\n")
    for name, part in zip(("train.txt", "vali.txt", "test.txt"), load_letor(tmp_path), strict=True):
        assert part.X.tolist() == [[5 if name == with_zero else 0, 6, 7]]


def test_two_folders_that_hold_the_fold(tmp_path):
    for name in ("Feature_null", "Feature_min"):
        lay_out(tmp_path / name / "Fold1")
    with pytest.raises(DataError, match=r"Feature_min, Feature_null\): give one of them as root"):
        load_letor(tmp_path)
    assert load_letor(tmp_path / "Feature_null").train.n_queries == 3


def test_what_an_archive_from_a_mac_leaves_is_no_candidate(tmp_path):
    lay_out(tmp_path / "MQ2008" / "Fold1")
    lay_out(tmp_path / "__MACOSX" / "Fold1")
    (tmp_path / ".DS_Store").write_bytes(b"\0")
    assert load_letor(tmp_path).train.n_queries == 3


def test_a_fold_that_is_not_there(tmp_path):
    for number in (1, 2):
        lay_out(tmp_path / "QueryLevelNorm" / f"Fold{number}")
    expected = (
        f"{re.escape(str(tmp_path))} has no fold 6.*Fold6.*set6.train.txt.*"
        r"holds QueryLevelNorm/Fold1, QueryLevelNorm/Fold2$"
    )
    with pytest.raises(DataError, match=expected):
        load_letor(tmp_path, fold=6)


def test_a_part_that_is_not_there(tmp_path):
    lay_out(tmp_path / "Fold1")
    (tmp_path / "Fold1" / "vali.txt").unlink()
    with pytest.raises(
        DataError, match=r"Fold1 has no vali part: tried vali\.txt, vali\.txt\.gz, valid\.txt.*test\.txt"
    ):
        load_letor(tmp_path)


def test_two_files_for_one_part(tmp_path):
    lay_out(tmp_path / "Fold1")
    lay_out(tmp_path / "Fold1", LETOR2)
    with pytest.raises(DataError, match=r"which is the train part, train\.txt, trainingset\.txt"):
        load_letor(tmp_path)


def test_roots_that_are_none(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for root, told in (("nowhere", "is not there"), ("file", "is not a folder"), ("empty", "It is empty")):
        with pytest.raises(DataError, match=told):
            load_letor(tmp_path / root)


@pytest.mark.parametrize("fold", [0, -1, 1.0, "1", True])
def test_folds_that_are_none(tmp_path, fold):
    with pytest.raises(ParameterError, match="fold must be a whole number"):
        load_letor(tmp_path, fold)


@pytest.mark.parametrize(
    ("collection", "names", "documents", "queries", "features"),
    [("MQ2008", LETOR4, 15211, 784, 46), ("OHSUMED", LETOR2, 16140, 106, 25)],
)
def test_the_real_collections(tmp_path, real_data, collection, names, documents, queries, features):
    sources = [real_data / collection / f"S{number}.txt.gz" for number in range(1, 6)]
    parts = [gzip.decompress(path.read_bytes()) for path in sources]
    test_parts = []
    for number in range(1, 6):
        cyclic = parts[number - 1 :] + parts[: number - 1]
        folder = tmp_path / f"Fold{number}"
        folder.mkdir()
        for name, text in zip(names, (b"".join(cyclic[:3]), cyclic[3], cyclic[4]), strict=True):
            (folder / name).write_bytes(text)
        fold = load_letor(tmp_path, number)
        assert sum(part.n_documents for part in fold) == documents
        assert sum(part.n_queries for part in fold) == queries
        assert {part.n_features for part in fold} == {features}
        test_parts.append(fold.test)
    assert sum(part.n_documents for part in test_parts) == documents
    assert len({query for part in test_parts for query in part.query_ids.tolist()}) == queries
    assert set(np.concatenate([part.y for part in test_parts])) == {0, 1, 2}
