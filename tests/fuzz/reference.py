"""LETOR text and files of scores, read so plainly that it is plainly right."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST_ID = 1000
LARGEST_INDEX = 2**31 - 2

_NUMBER = rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))"
_GRADE = re.compile(rb"(%s)(?=[ \t\r#]|$)" % _NUMBER)
_QID = re.compile(rb"qid:([^ \t\r#]*)")
_MISSING = rb"(?i:nan|null|na|n/a|none|missing|\?|)"
_FEATURE = re.compile(rb"([0-9]+):(%s|%s)(?=[ \t\r#]|$)" % (_NUMBER, _MISSING))
_DOC_ID = re.compile(rb"docid[ \t]*[=:][ \t]*([^ \t]*)", re.IGNORECASE)


class Malformed(Exception):
    """The text does not follow the format."""


class Row(NamedTuple):
    grade: float
    qid: str | None
    features: dict[int, float]
    doc_id: str


def read_letor(content: bytes) -> list[Row]:
    """The rows of a file; a missing value is NaN."""
    content = content.removeprefix(b"\xef\xbb\xbf")  # the byte order mark of UTF-8
    rows = [row for line in content.split(b"\n") if (row := _row(line)) is not None]
    if not rows:
        raise Malformed("the file is empty")
    if len({row.qid is None for row in rows}) > 1:
        raise Malformed("some lines have a qid, others have none")
    return rows


def _row(line: bytes) -> Row | None:
    rest = line.lstrip(b" \t")
    if _is_end(rest):
        return None
    found = _GRADE.match(rest)
    if not found or not 0 <= float(found[1]) < float("inf"):
        raise Malformed(f"no grade: {line!r}")
    grade, rest = float(found[1]), rest[found.end() :].lstrip(b" \t")
    qid = None
    if found := _QID.match(rest):
        if not 0 < len(found[1]) <= LONGEST_ID:
            raise Malformed(f"no query id: {line!r}")
        qid, rest = _utf8(found[1]), rest[found.end() :].lstrip(b" \t")
    features: dict[int, float] = {}
    while not _is_end(rest):
        found = _FEATURE.match(rest)
        if not found:
            raise Malformed(f"no feature: {rest!r}")
        index = int(found[1].lstrip(b"0")[:20] or b"0")
        if index > LARGEST_INDEX or index <= max(features, default=-1):
            raise Malformed(f"feature number {index}")
        features[index] = _value(found[2])
        rest = rest[found.end() :].lstrip(b" \t")
    return Row(grade, qid, features, _doc_id(rest))


def _is_end(rest: bytes) -> bool:
    return rest in (b"", b"\r") or rest.startswith(b"#")


def _value(text: bytes) -> float:
    if re.fullmatch(_MISSING, text):
        return float("nan")
    value = float(text)
    if value in (float("inf"), float("-inf")) and b"i" not in text.lower():
        raise Malformed(f"{text!r} is too large")
    return value


def _utf8(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise Malformed(f"query id {text!r} is not UTF-8") from None


def _doc_id(rest: bytes) -> str:
    comment = rest[1:].rstrip(b" \t\r") if rest.startswith(b"#") else b""
    if found := _DOC_ID.search(comment):
        if len(found[1]) > LONGEST_ID:
            raise Malformed("a long document id")
        return found[1].decode(errors="backslashreplace")
    word = comment.lstrip(b" \t")
    return "" if b" " in word or b"\t" in word or len(word) > LONGEST_ID else word.decode(errors="backslashreplace")


def read_sizes(content: bytes) -> list[int]:
    """How many rows each query has: a whole number on each line; blank lines may follow."""
    text = re.sub(rb"[ \t\n\r\x0b\x0c]+\Z", b"", content.removeprefix(b"\xef\xbb\xbf"))
    words = [line.strip() for line in text.split(b"\n")] if text else []
    if not all(re.fullmatch(rb"[0-9]{1,18}", word) and int(word) for word in words):
        raise Malformed("no sizes")
    return list(map(int, words))


def grouped_ids(rows: list[Row], sizes: list[int]) -> list[str]:
    """The query of each row: those that the rows name, which must be of these sizes, or else 1, 2, …"""
    if sum(sizes) != len(rows):
        raise Malformed("the sizes do not add up to the rows")
    numbers = [str(number) for number, size in enumerate(sizes, 1) for _ in range(size)]
    ids = [row.qid for row in rows if row.qid is not None]
    if ids and not len(set(zip(ids, numbers, strict=True))) == len(set(ids)) == len(sizes):
        raise Malformed("the sizes are not those of the queries that the rows name")
    return ids or numbers


def read_scores(content: bytes) -> list[float]:
    """One number in each line; blank lines may follow."""
    lines = re.sub(rb"[ \t\n\r\x0b\x0c]+\Z", b"", content).split(b"\n")
    try:
        scores = [float(line) for line in lines]
    except ValueError:
        raise Malformed("no number") from None
    if b"_" in content or any(score != score for score in scores):
        raise Malformed("no number")
    return scores
