"""One block of LETOR / SVMlight text into arrays, in one sweep that never looks back.

    <grade> [qid:<id>] <index>:<value> … [# comment]

Two things make it fast: words of eight characters instead of single ones, and the guess that after
feature j comes " j+1:", which one masked comparison confirms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.svmlight.decimals import (
    HARD,
    MALFORMED,
    MISSING,
    NUMBER,
    POWERS_OF_TEN,
    WHOLE_POWERS_OF_TEN,
    ends_token,
    read_decimal,
    scaled,
)
from rankwright.machine.compile import inlined_kernel, kernel
from rankwright.machine.words import (
    HIGH_BITS,
    U64,
    byte_at,
    digits_at_start,
    digits_value,
    find_byte,
    load8,
    non_digits,
    trailing_zeros,
)

# What a sweep ends with.
DONE, TOO_WIDE, TOO_MANY_HARD, INDEX_ZERO = 0, 1, 2, 3
BAD_GRADE, GRADE_OUT_OF_RANGE, NO_QID, UNEXPECTED_QID, EMPTY_QID = 10, 11, 12, 13, 14
BAD_INDEX, INDEX_NOT_RISING, INDEX_TOO_LARGE, BAD_VALUE, VALUE_TOO_LARGE = 15, 16, 17, 18, 19
LONG_QID, LONG_DOC_ID, NO_ROOM = 20, 21, 22

# Where `report` holds what.
STATUS, POSITION, ROWS, CELLS, WIDTH, HARD_NUMBERS, WORDY_QIDS, DOC_IDS, BEYOND_SINGLE, WIDEST_AT = range(10)
REPORT_LENGTH = 10

LARGEST_INDEX = 2**31 - 2
LONGEST_ID = 1000  # bytes; ids are kept in arrays as wide as the longest of them

_NEWLINE, _RETURN, _TAB, _SPACE = U64(10), U64(13), U64(9), U64(32)
_HASH, _COLON, _ZERO, _POINT, _EQUALS, _MINUS = U64(35), U64(58), U64(48), U64(46), U64(61), U64(45)
_QID_WORD = U64(int.from_bytes(b"qid:", "little"))
_DOCID_WORD = U64(int.from_bytes(b"docid", "little"))
_FOUR_BYTES, _FIVE_BYTES = U64(0xFFFFFFFF), U64(0xFFFFFFFFFF)
_EXCLAMATION_MARKS = U64(0x2121212121212121)  # the first character that is not blank or control
_LOWER_CASE = U64(0x2020202020202020)
_SURELY_FITS = 1e38  # in a float32
_LARGEST_WHOLE = U64(2**63 - 1)
_GUESSED = 10_000  # feature numbers whose " j:" fits the guess: at most six of the eight bytes


def _next_feature_guesses() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """For j = 0, 1, …: the word " j:", the mask of its bytes, and their number."""
    texts = [f" {j}:".encode() for j in range(_GUESSED)]
    words = np.array([int.from_bytes(text, "little") for text in texts], dtype=np.uint64)
    masks = np.array([(1 << 8 * len(text)) - 1 for text in texts], dtype=np.uint64)
    return words, masks, np.array([len(text) for text in texts], dtype=np.int64)


_GUESS_WORDS, _GUESS_MASKS, _GUESS_LENGTHS = _next_feature_guesses()

_SIGNED_POWERS = np.concatenate([POWERS_OF_TEN[:16], -POWERS_OF_TEN[:16]])


@kernel
def _is_blank(byte: Any) -> bool:
    return byte == _SPACE or byte == _TAB


@kernel
def _skip_blanks(text: int, i: int) -> int:
    while _is_blank(byte_at(text, i)):
        i += 1
    return i


@kernel
def _ends_line(text: int, i: int) -> bool:
    """Whether nothing but a comment or the end of the line is at ``i``; a lone CR is not an end."""
    byte = byte_at(text, i)
    return byte == _NEWLINE or byte == _HASH or (byte == _RETURN and byte_at(text, i + 1) == _NEWLINE)


@inlined_kernel
def _read_short(text: int, i: int) -> tuple[float, int]:
    """A number of at most eight characters and its end, or (0, i) if it is not such a one.

    The end is found first and alone, so that the next number can be begun before this one is known. No
    branch depends on the number of digits, on the sign or on whether there is a point: such branches
    cannot be foretold, and one wrong guess costs as much as reading a whole number.
    """
    word = load8(text, i)
    bits = trailing_zeros((word - _EXCLAMATION_MARKS) & ~word & HIGH_BITS) & U64(0x78)  # up to a blank
    end = i + np.int64(bits >> U64(3))
    minus = U64(word & U64(0xFF) == _MINUS) << U64(3)
    word >>= minus
    whole = trailing_zeros(non_digits(word)) & U64(0x38)  # eight bits for each digit before the point
    pointed = U64((word >> whole) & U64(0xFF) == _POINT)
    kept = ((U64(1) << whole) - U64(1)) | (pointed - U64(1))  # all, if there is no point to squeeze out
    digits = (word & kept) | ((word >> U64(8)) & ~kept)
    bits -= minus + (pointed << U64(3))
    if bits == U64(0) or trailing_zeros(non_digits(digits)) < bits or byte_at(text, end) > _SPACE:
        return 0.0, i
    decimals = (bits - whole) * pointed
    whole_number = np.int64(digits_value(digits, np.int64(bits >> U64(3))))
    return whole_number / _SIGNED_POWERS[(decimals >> U64(3)) + (minus << U64(1))], end


@inlined_kernel
def _read_longer(text: int, i: int) -> tuple[float, int]:
    """A number with a point and at most 19 digits and its end, or (0, i) if it is not such a one."""
    minus = np.int64(byte_at(text, i) == _MINUS)
    word = load8(text, i + minus)
    whole = digits_at_start(word)
    point = i + minus + whole
    fraction = load8(text, point + 1)
    decimals = digits_at_start(fraction)
    w = digits_value(word, whole) * WHOLE_POWERS_OF_TEN[decimals] + digits_value(fraction, decimals)
    more = decimals
    while more == 8 and decimals <= 16:
        fraction = load8(text, point + 1 + decimals)
        more = digits_at_start(fraction)
        w = w * WHOLE_POWERS_OF_TEN[more] + digits_value(fraction, more)
        decimals += more
    end = point + 1 + decimals
    number = 0.0
    if decimals == 0 or whole + decimals > 19 or byte_at(text, point) != _POINT or byte_at(text, end) > _SPACE:
        end = i
    elif whole + decimals <= 15:
        number = np.int64(w) / _SIGNED_POWERS[U64(decimals + 16 * minus)]
    else:
        status, number = scaled(w, -decimals)
        if status != NUMBER:
            end = i
        if minus:
            number = -number
    return number, end


@kernel
def _read_run(text: int, i: int, index: int, stop: int, cells: Any, place: Any) -> tuple[int, int]:
    """Read " index:number" for index, index + 1, … into ``cells`` as long as the text is just that.

    Returns where it stopped and the index expected there: the rest is for the slower, general path.
    """
    while index < stop:
        if load8(text, i) & _GUESS_MASKS[index] != _GUESS_WORDS[index]:
            break
        start = i + _GUESS_LENGTHS[index]
        number, end = _read_short(text, start)
        if end == start:
            number, end = _read_longer(text, start)
        if end == start:
            kind, number, end = read_decimal(text, start)
            is_known = kind == MISSING or (kind == NUMBER and abs(number) < _SURELY_FITS)
            if not is_known or not ends_token(byte_at(text, end)):
                break
        cells[place] = number
        place += U64(1)
        index += 1
        i = end
    return i, index


@kernel
def _read_qid(text: int, i: int) -> tuple[bool, int, int]:
    """(is a whole number that prints back the same, its value, end of the token)."""
    negative = byte_at(text, i) == _MINUS
    start = i + 1 if negative else i
    i = start
    value = U64(0)
    count = 8
    while count == 8 and i - start < 24:
        word = load8(text, i)
        count = digits_at_start(word)
        if count > 0:
            for _ in range(count):
                value *= U64(10)
            value += digits_value(word, count)
            i += count
    length = i - start
    plain = byte_at(text, start) != _ZERO or (length == 1 and not negative)
    fits = 0 < length <= 18 or (length == 19 and value <= _LARGEST_WHOLE)  # 19 digits fit the word
    if ends_token(byte_at(text, i)) and fits and plain:
        return True, -np.int64(value) if negative else np.int64(value), i
    while not ends_token(byte_at(text, i)):
        i += 1
    return False, 0, i


@kernel
def _read_index(text: int, i: int) -> tuple[int, int]:
    """The feature number at ``i`` and where its value begins, or (0, i) if no number and colon are there."""
    start = i
    index = 0
    while digits_at_start(load8(text, i)) > 0:
        index = min(10 * index + np.int64(byte_at(text, i) - _ZERO), LARGEST_INDEX + 1)
        i += 1
    if i == start or byte_at(text, i) != _COLON:
        return 0, start
    return index, i + 1


@kernel
def _find_doc_id(text: int, i: int, end: int) -> tuple[int, int]:
    """The document id in the comment text[i:end]: what follows ``docid =``, or a comment of one word."""
    while end > i and (_is_blank(byte_at(text, end - 1)) or byte_at(text, end - 1) == _RETURN):
        end -= 1
    j = i
    while j + 5 < end:
        if (load8(text, j) | _LOWER_CASE) & _FIVE_BYTES == _DOCID_WORD:
            k = _skip_blanks(text, j + 5)
            if byte_at(text, k) == _EQUALS or byte_at(text, k) == _COLON:
                k = _skip_blanks(text, k + 1)
                start = k
                while k < end and not _is_blank(byte_at(text, k)):
                    k += 1
                return start, k
        j += 1
    start = _skip_blanks(text, i)
    if end - start > LONGEST_ID:
        return start, start
    for k in range(start, end):
        if _is_blank(byte_at(text, k)):
            return start, start
    return start, max(start, end)


@kernel
def parse_block(
    text: int,
    start: int,
    stop: int,
    with_qid: bool,
    first_index: int,
    sparse: bool,
    width: int,
    width_is_fixed: bool,
    fill: float,
    cells: Any,
    columns: Any,
    row_ends: Any,
    grades: Any,
    qids: Any,
    qid_spans: Any,
    doc_spans: Any,
    hard: Any,
    report: Any,
) -> None:
    """Parse the whole lines text[start:stop] into ``cells`` (dense rows of ``width``, or CSR with ``columns``).

    ``hard`` collects (place in cells or −1 − row for a grade, start, end) of numbers left to Python.
    If a feature does not fit ``width``, the sweep goes on without storing, to report the width needed.
    """
    i = start
    row = 0
    stored = 0
    seen = 0
    widest = 0
    widest_at = index_at = start
    hard_numbers = 0
    wordy = 0
    docs = 0
    beyond_single = 0
    status = DONE
    position = start
    guessed = min(width + first_index, _GUESSED)
    while i < stop:
        i = _skip_blanks(text, i)
        if _ends_line(text, i):
            i = find_byte(text, i, stop, _NEWLINE) + 1
            continue
        if row == len(grades):
            status, position = NO_ROOM, i
            break

        kind, grade, end = read_decimal(text, i)
        if kind == MALFORMED or kind == MISSING or not ends_token(byte_at(text, end)):
            status, position = BAD_GRADE, i
            break
        if kind == HARD:
            if hard_numbers < len(hard):
                hard[hard_numbers, 0], hard[hard_numbers, 1], hard[hard_numbers, 2] = -1 - row, i, end
            hard_numbers += 1
        elif not (grade >= 0.0 and grade < np.inf):
            status, position = GRADE_OUT_OF_RANGE, i
            break
        grades[row] = grade
        i = _skip_blanks(text, end)

        if load8(text, i) & _FOUR_BYTES == _QID_WORD:
            if not with_qid:
                status, position = UNEXPECTED_QID, i
                break
            i += 4
            whole, value, end = _read_qid(text, i)
            if end == i or end - i > LONGEST_ID:
                status, position = EMPTY_QID if end == i else LONG_QID, i
                break
            qids[row] = value
            qid_spans[row, 0], qid_spans[row, 1] = i, end
            if not whole:
                wordy += 1
            i = end
        elif with_qid:
            status, position = NO_QID, i
            break
        elif i > start and not _ends_line(text, i):
            i -= 1  # back onto a blank, so that the guess can match

        base = row * width
        previous = first_index - 1
        while True:
            if not sparse:
                run_start = previous
                i, previous = _read_run(text, i, previous + 1, guessed, cells, U64(base + previous + 1 - first_index))
                previous -= 1
                seen += previous - run_start
            i = _skip_blanks(text, i)
            if _ends_line(text, i):
                break
            index_at = i
            index, end = _read_index(text, i)
            if end == i:
                status, position = BAD_INDEX, i
                break
            if index > LARGEST_INDEX:
                status, position = INDEX_TOO_LARGE, i
                break
            if index < first_index:
                status, position = INDEX_ZERO, i
                break
            if index <= previous:
                status, position = INDEX_NOT_RISING, i
                break
            if width_is_fixed and index - first_index >= width:
                status, position, widest = TOO_WIDE, i, index
                break
            i = end
            kind, number, end = read_decimal(text, i)
            if kind == MALFORMED or not ends_token(byte_at(text, end)):
                status, position = BAD_VALUE, i
                break
            column = index - first_index
            seen += 1
            overflows = False
            if np.isinf(np.float32(number)) and not np.isinf(number):
                beyond_single += 1
            if sparse:
                if stored == len(columns):
                    status, position = NO_ROOM, i
                    break
                columns[stored] = column
                cells[stored] = number
                overflows = np.isinf(cells[stored]) and not np.isinf(number)
                stored += 1
            elif column < width:
                for absent in range(base + previous + 1 - first_index, base + column):
                    cells[absent] = fill
                cells[base + column] = number
                overflows = np.isinf(cells[base + column]) and not np.isinf(number)
            if overflows:
                status, position = VALUE_TOO_LARGE, i
                break
            if kind == HARD:
                if hard_numbers < len(hard):
                    hard[hard_numbers, 0] = stored - 1 if sparse else base + min(column, width - 1)
                    hard[hard_numbers, 1], hard[hard_numbers, 2] = i, end
                hard_numbers += 1
            previous = index
            i = end
        if not sparse:
            for absent in range(base + previous + 1 - first_index, base + width):
                cells[absent] = fill
        if status != DONE:
            break
        if previous - first_index + 1 > widest:
            widest, widest_at = previous - first_index + 1, index_at

        if byte_at(text, i) == _HASH:
            end = find_byte(text, i, stop, _NEWLINE)
            doc_spans[row, 0], doc_spans[row, 1] = _find_doc_id(text, i + 1, end)
            if doc_spans[row, 1] - doc_spans[row, 0] > LONGEST_ID:
                status, position = LONG_DOC_ID, doc_spans[row, 0]
                break
            if doc_spans[row, 1] > doc_spans[row, 0]:
                docs += 1
            i = end + 1
        else:
            doc_spans[row, 0], doc_spans[row, 1] = i, i
            i = find_byte(text, i, stop, _NEWLINE) + 1
        row_ends[row] = stored
        row += 1

    if status == DONE and widest > width:
        status = TOO_WIDE
    if status == DONE and hard_numbers > len(hard):
        status = TOO_MANY_HARD
    report[STATUS], report[POSITION] = status, position
    report[ROWS], report[CELLS], report[WIDTH] = row, seen, widest
    report[HARD_NUMBERS], report[WORDY_QIDS], report[DOC_IDS] = hard_numbers, wordy, docs
    report[BEYOND_SINGLE], report[WIDEST_AT] = beyond_single, widest_at


@kernel
def first_row(text: int, start: int, stop: int) -> int:
    """Where the first line of text[start:stop] begins that is neither blank nor a comment; ``stop`` if none is."""
    while start < stop and _ends_line(text, _skip_blanks(text, start)):
        start = find_byte(text, start, stop, _NEWLINE) + 1
    return start


@kernel
def count_rows(text: int, start: int, stop: int) -> int:
    """The lines of text[start:stop] that are neither blank nor a comment."""
    rows = 0
    while start < stop:
        start = _skip_blanks(text, start)
        rows += 0 if _ends_line(text, start) else 1
        start = find_byte(text, start, stop, _NEWLINE) + 1
    return rows


@kernel
def copy_spans(text: Any, spans: Any, characters: Any) -> bool:
    """Copy text[spans[r, 0]:spans[r, 1]] into row r of a matrix of code points; False if not all is ASCII, or NUL."""
    plain = True
    for row in range(len(spans)):
        start = spans[row, 0]
        for k in range(spans[row, 1] - start):
            byte = text[start + k]
            plain &= 0 < byte < 128
            characters[row, k] = byte
    return plain
