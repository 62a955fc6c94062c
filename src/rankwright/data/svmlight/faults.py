"""What is wrong with a line, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.data.svmlight import parsing
from rankwright.data.svmlight.blocks import Block

GRADE_RANGE = "expected a grade that is finite and at least 0, found {found}"

PROBLEMS = {
    parsing.BAD_GRADE: "expected a grade (a number), found {found}",
    parsing.GRADE_OUT_OF_RANGE: GRADE_RANGE,
    parsing.NO_QID: "expected qid:<id>, as on the first line, found {found}",
    parsing.UNEXPECTED_QID: "expected <index>:<value>, found {found}: the first line names no query",
    parsing.EMPTY_QID: "expected a query id after qid:, found nothing",
    parsing.LONG_QID: f"expected a query id of at most {parsing.LONGEST_ID} bytes",
    parsing.LONG_DOC_ID: f"expected a document id of at most {parsing.LONGEST_ID} bytes",
    parsing.BAD_INDEX: "expected <index>:<value>, found {found}",
    parsing.INDEX_ZERO: "expected a feature number of at least 1, found {found} (zero_based=False)",
    parsing.INDEX_NOT_RISING: "expected feature numbers that rise along the line, found {found}",
    parsing.INDEX_TOO_LARGE: f"expected a feature number up to {parsing.LARGEST_INDEX}, found {{found}}: "
    "number the features 1, 2, 3, …; if the numbers are hashes, keep fewer bits of them",
    parsing.VALUE_TOO_LARGE: "expected a number that fits {dtype}, found {found}",
    parsing.NO_ROOM: "found more than was there a moment ago: the text was changed while being read",
    parsing.BAD_VALUE: "expected a number or NULL, found {found}",
}


@dataclass(frozen=True)
class Fault:
    """A malformed line: its number within the block, the column, and what is wrong."""

    line: int
    column: int
    problem: str


def fault_at(block: Block, position: int, problem: str, dtype: np.dtype[Any]) -> Fault:
    """The fault at a position of a block; ``{found}`` in the problem becomes what stands there."""
    before = bytes(block.text[block.start : position])
    line_start = before.rfind(b"\n") + 1
    found = _found(bytes(block.text[position : min(position + 200, block.stop)]))
    told = problem.replace("{found}", found).replace("{dtype}", str(dtype))
    return Fault(before.count(b"\n") + 1, len(before) - line_start + 1, told)


def _found(text: bytes) -> str:
    """What stands where something else was expected."""
    if text.startswith((b"\n", b"\r\n", b"#")) or not text:
        return "the end of the line"
    if text.startswith(b"\r"):
        return "a carriage return within the line"
    return repr((text.split(maxsplit=1) or [text])[0][:40].decode("utf-8", "backslashreplace"))
