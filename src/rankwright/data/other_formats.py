"""Files that are not read, told by how they begin: one line each that says what it is and what to do."""

from __future__ import annotations

import re

_BY_MAGIC = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook (.xls): save the sheet as CSV"),
    (b"ARROW1", "an Arrow or Feather file: write it as Parquet, or give the table to from_frame"),
    (b"FEA1", "a Feather file: write it as Parquet, or give the frame to from_frame"),
    (b"\xff\xff\xff\xff", "an Arrow stream: write it as Parquet, or give the table to from_frame"),
    (b"\x93NUMPY", "a NumPy array: give it to Queries(X, y, qid)"),
    (b"\x89HDF\r\n", "an HDF5 file: write the table as Parquet or CSV"),
    (b"SQLite format 3\0", "an SQLite database: write the query's result as CSV"),
    (b"Obj\x01", "an Avro file: write it as Parquet"),
    (b"ORC", "an ORC file: write it as Parquet"),
    (b"BZh", "compressed by bzip2: unpack it, or compress it by gzip"),
    (b"\xfd7zXZ\0", "compressed by xz: unpack it, or compress it by gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it, or compress it by gzip"),
    (b"%PDF", "a PDF document"),
    (b"\xff\xfe", "text in UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16: save it as UTF-8"),
)
_PICKLE = re.compile(rb"\x80[\x02-\x05][\x8c\x95cX}\]\(K\x58q]")
_MARKUP = re.compile(rb"\s*<(!doctype|html|head|body|\?xml|!--)", re.IGNORECASE)


def other_format(head: bytes) -> str | None:
    """What a file is that begins so, and what to do, if it is known and not read; else None."""
    found = next((told for magic, told in _BY_MAGIC if head.startswith(magic)), None)
    if found is not None:
        return found
    if head.startswith(b"PK\x03\x04"):
        if b"[Content_Types].xml" in head or b"xl/" in head or b"_rels/" in head:
            return "an Excel workbook (.xlsx): save the sheet as CSV"
        return "a zip archive: unpack it, or, if it holds NumPy arrays (.npz), give them to Queries(X, y, qid)"
    if _PICKLE.match(head):
        return "a Python pickle, which could run any code when it is opened: write the data as Parquet or CSV"
    if b"<ensemble>" in head:
        return "a RankLib model, not data"
    if _MARKUP.match(head):
        return "an HTML or XML page, not data: was it downloaded as it should be?"
    without_mark = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if without_mark.startswith(b"["):
        return "a JSON array: write one object per line (JSON lines, .jsonl), as `jq -c '.[]'` does"
    return None
