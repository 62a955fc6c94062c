"""Numbers and rows as LETOR / SVMlight text, inside compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.svmlight.decimals import LEAST_POWER, NUMBER, POWERS_OF_FIVE, WHOLE_POWERS_OF_TEN, scaled
from rankwright.machine.compile import kernel
from rankwright.machine.words import U64, float_bits, high_product, leading_zeros

LONGEST_CELL = 40  # " 2147483646:" and " -1.2345678901234567e-308"

_SPACE, _COLON, _MINUS, _POINT, _ZERO, _NEWLINE, _SMALL_E = 32, 58, 45, 46, 48, 10, 101
_NAN_TEXT = np.frombuffer(b"nan", dtype=np.uint8)
_INFINITE_TEXT = np.frombuffer(b"inf", dtype=np.uint8)
_WHOLE_SINGLES, _WHOLE_DOUBLES = 2.0**24, 2.0**53  # below, all digits of a whole number count
_LEAST_NORMAL_SINGLE = 2.0**-126
_LARGEST_PLAIN, _SMALLEST_PLAIN = 17, -3  # decimal exponents written without an e


@kernel
def _put(out: Any, at: int, text: Any) -> int:
    for byte in text:
        out[at] = byte
        at += 1
    return at


@kernel
def put_whole(out: Any, at: int, number: Any) -> int:
    """Write a whole number at ``out[at:]`` and return where it ends."""
    length = 1
    while length < 20 and number >= WHOLE_POWERS_OF_TEN[length]:
        length += 1
    for place in range(at + length - 1, at - 1, -1):
        out[place] = _ZERO + np.int64(number % U64(10))
        number //= U64(10)
    return at + length


@kernel
def _rounded(mantissa: Any, exponent: int, digits: int) -> tuple[Any, int]:
    """(m, q) with m of that many digits and m·10^q nearest to mantissa·2^exponent, but for the last unit.

    The product of the 64-bit mantissa with the leading 64 bits of 5^−q has the digits in its high word.
    """
    shift = leading_zeros(mantissa)
    mantissa <<= shift
    exponent -= np.int64(shift)
    q = (((exponent + 63) * 78913) >> 18) + 1 - digits  # 78913 / 2^18 = log10 2
    m = U64(0)
    for _ in range(2):
        high = high_product(mantissa, POWERS_OF_FIVE[-q - LEAST_POWER, 0])
        drop = U64(-(1 + ((-q * 152170) >> 16) + exponent - q))  # 152170 / 2^16 = log2 5
        m = (high + (U64(1) << (drop - U64(1)))) >> drop
        if m < WHOLE_POWERS_OF_TEN[digits]:
            break
        q += 1
    return m, q


@kernel
def _shortest(value: float, single: bool) -> tuple[Any, int]:
    """The fewest digits m·10^q that read back as the value (in float32 if ``single``); m = 0 if none is found."""
    bits = float_bits(value)
    mantissa = (bits & U64(0xFFFFFFFFFFFFF)) | U64(0x10000000000000)
    exponent = np.int64((bits >> U64(52)) & U64(0x7FF)) - 1075
    if exponent < -1000 or exponent > 900:
        return U64(0), 0
    # Up to 6 (or 15) digits every decimal is a number of its own, so that fewer are found by dropping zeros;
    # subnormal numbers have fewer.
    safe = 1 if single and value < _LEAST_NORMAL_SINGLE else 6 if single else 15
    for digits in range(safe, 10 if single else 18):
        nearest, q = _rounded(mantissa, exponent, digits)
        for m in (nearest, nearest - U64(1), nearest + U64(1)):
            status, back = scaled(m, q)
            if status == NUMBER and (np.float32(back) == np.float32(value) if single else back == value):
                while m % U64(10) == U64(0):
                    m //= U64(10)
                    q += 1
                return m, q
    return U64(0), 0


@kernel
def put_number(out: Any, at: int, value: float, single: bool) -> int:
    """Write a number at ``out[at:]`` and return where it ends, or −1 if this kernel cannot write it."""
    if np.isnan(value):
        return _put(out, at, _NAN_TEXT)
    if np.signbit(value):
        out[at] = _MINUS
        at += 1
        value = -value
    if value == np.inf:
        return _put(out, at, _INFINITE_TEXT)
    if value < (_WHOLE_SINGLES if single else _WHOLE_DOUBLES) and value == np.floor(value):
        return put_whole(out, at, U64(value))
    m, q = _shortest(value, single)
    if m == U64(0):
        return -1
    end = put_whole(out, at, m)
    length = end - at
    top = length + q  # the number is 0.m × 10^top
    if top > _LARGEST_PLAIN or top < _SMALLEST_PLAIN:
        return _with_exponent(out, at, end, top - 1)
    if q >= 0:
        for _ in range(q):
            out[end] = _ZERO
            end += 1
        return end
    if top > 0:
        for place in range(end, at + top, -1):
            out[place] = out[place - 1]
        out[at + top] = _POINT
        return end + 1
    for place in range(end - 1, at - 1, -1):
        out[place + 2 - top] = out[place]
    for place in range(at, at + 2 - top):
        out[place] = _ZERO
    out[at + 1] = _POINT
    return end + 2 - top


@kernel
def _with_exponent(out: Any, at: int, end: int, exponent: int) -> int:
    """Turn the digits at out[at:end] into d.ddd e±exponent."""
    if end - at > 1:
        for place in range(end, at + 1, -1):
            out[place] = out[place - 1]
        out[at + 1] = _POINT
        end += 1
    out[end] = _SMALL_E
    end += 1
    if exponent < 0:
        out[end] = _MINUS
        end += 1
    return put_whole(out, end, U64(abs(exponent)))


@kernel
def format_rows(
    first: int, next_row: int, last: int, numbers: Any, heads: Any, tails: Any, out: Any, at: int
) -> tuple[int, int]:
    """Write rows next_row … last − 1 at ``out[at:]`` as lines: head, " index:value" for each cell, tail, newline.

    ``numbers`` are cells, columns and starts of rows of CSR, the number of columns of dense cells, or −1 for CSR, the
    first index, and whether cells are float32. Heads and tails are those of rows first … last − 1: all their text, and
    where each begins and ends. Returns where it stopped writing, and the row at which it stopped: before ``last`` if
    that row holds a number that this kernel cannot write.
    """
    cells, columns, row_starts, width, first_index, single = numbers
    head_text, head_ends = heads
    tail_text, tail_ends = tails
    for row in range(next_row, last):
        line = at
        r = row - first
        at = _put(out, at, head_text[head_ends[r] : head_ends[r + 1]])
        start = row * width if width >= 0 else row_starts[row]
        stop = start + width if width >= 0 else row_starts[row + 1]
        for place in range(start, stop):
            out[at] = _SPACE
            column = place - start if width >= 0 else np.int64(columns[place])
            at = put_whole(out, at + 1, U64(column + first_index))
            out[at] = _COLON
            at = put_number(out, at + 1, np.float64(cells[place]), single)
            if at < 0:
                return line, row
        at = _put(out, at, tail_text[tail_ends[r] : tail_ends[r + 1]])
        out[at] = _NEWLINE
        at += 1
    return at, last
