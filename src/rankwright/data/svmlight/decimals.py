"""Decimal text to float64, correctly rounded, inside compiled kernels.

A number is w·10^q with a whole w. If w < 2^53 and |q| ≤ 22 both w and 10^|q| are exact doubles, and
one multiplication or division rounds correctly (Clinger 1990). Up to 19 digits and any q, 128 bits of
5^q decide the rounding in all but a sliver of cases (Eisel & Lemire; Lemire 2021, "Number parsing at a
gigabyte per second"). What is left is marked HARD, and the caller hands it to Python's own float().
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.missing import MISSING_SPELLINGS
from rankwright.machine.compile import inlined_kernel, kernel
from rankwright.machine.words import (
    U64,
    byte_at,
    digits_at_start,
    digits_value,
    high_product,
    leading_zeros,
    load8,
)

NUMBER, HARD, MISSING, MALFORMED = 0, 1, 2, 3

LEAST_POWER, _GREATEST_POWER = -342, 308
_LONGEST_EXACT = 19  # digits that always fit 64 bits

_PLUS, _MINUS, _POINT, _ZERO = U64(43), U64(45), U64(46), U64(48)
_NEWLINE, _RETURN, _TAB, _SPACE, _HASH = U64(10), U64(13), U64(9), U64(32), U64(35)
_SMALL_E = U64(ord("e"))
_LOWER_CASE = U64(0x2020202020202020)
_THREE_BYTES = U64(0xFFFFFF)
_NAN_WORD = U64(int.from_bytes(b"nan", "little"))
_INF_WORD = U64(int.from_bytes(b"inf", "little"))
_INFINITY_WORD = U64(int.from_bytes(b"infinity", "little"))

# A spelling in each row, and how long it is.
_SPELLINGS = np.array([np.frombuffer(word.encode().ljust(8, b"\0"), np.uint8) for word in MISSING_SPELLINGS])
_SPELLING_LENGTHS = np.array([len(word) for word in MISSING_SPELLINGS])


def _powers_of_five() -> npt.NDArray[np.uint64]:
    """The leading 128 bits of 5^q as (high, low) words for q = −342 … 308; reciprocals are rounded up."""
    table = np.empty((_GREATEST_POWER - LEAST_POWER + 1, 2), dtype=np.uint64)
    for row, q in enumerate(range(LEAST_POWER, _GREATEST_POWER + 1)):
        if q >= 0:
            power = 5**q
            bits = (
                power << (128 - power.bit_length())
                if power.bit_length() <= 128
                else power >> (power.bit_length() - 128)
            )
        else:
            power = 5**-q
            bits = (1 << (power.bit_length() + 127)) // power + 1
            if bits.bit_length() > 128:
                bits >>= bits.bit_length() - 128
        table[row] = bits >> 64, bits & 0xFFFFFFFFFFFFFFFF
    return table


POWERS_OF_FIVE = _powers_of_five()
POWERS_OF_TEN = np.array([float(10**i) for i in range(23)])
WHOLE_POWERS_OF_TEN = np.array([10**i for i in range(20)], dtype=np.uint64)


@kernel
def ends_token(byte: Any) -> bool:
    """Whether a number or a name has ended: by white space or a comment."""
    return byte == _SPACE or byte == _NEWLINE or byte == _TAB or byte == _RETURN or byte == _HASH


@kernel
def scaled(w: Any, q: int) -> tuple[int, float]:
    """(NUMBER, w·10^q correctly rounded) for w < 10^19, or (HARD, 0) where 128 bits cannot tell."""
    if w < U64(9007199254740992) and -22 <= q <= 22:
        return (NUMBER, float(w) * POWERS_OF_TEN[q]) if q >= 0 else (NUMBER, float(w) / POWERS_OF_TEN[-q])
    if w == U64(0):
        return NUMBER, 0.0
    if q < LEAST_POWER or q > _GREATEST_POWER:
        return HARD, 0.0
    shift = leading_zeros(w)
    w = w << shift
    high = high_product(w, POWERS_OF_FIVE[q - LEAST_POWER, 0])
    low = w * POWERS_OF_FIVE[q - LEAST_POWER, 0]
    if high & U64(0x1FF) == U64(0x1FF):
        more = high_product(w, POWERS_OF_FIVE[q - LEAST_POWER, 1])
        low += more
        if low < more:
            high += U64(1)
    if low == U64(0xFFFFFFFFFFFFFFFF) and (q < -27 or q > 55):
        return HARD, 0.0
    top = high >> U64(63)
    mantissa = high >> (top + U64(9))
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - np.int64(shift)
    if exponent <= -1022 or exponent >= 1023:  # subnormal, or near overflow
        return HARD, 0.0
    if low <= U64(1) and -4 <= q <= 23 and mantissa & U64(3) == U64(1) and mantissa << (top + U64(9)) == high:
        mantissa &= ~U64(1)  # exactly half way: round to even
    mantissa = (mantissa + (mantissa & U64(1))) >> U64(1)
    return NUMBER, math.ldexp(float(mantissa), exponent - 52)


@inlined_kernel
def _read_digits(text: int, i: int, w: Any) -> tuple[Any, int]:
    """The digits at ``i`` appended to the number w, which may overflow, and where they end."""
    count = 8
    while count == 8:
        word = load8(text, i)
        count = digits_at_start(word)
        w = w * WHOLE_POWERS_OF_TEN[count] + digits_value(word, count)
        i += count
    return w, i


@kernel
def _leading_digits(text: int, i: int) -> tuple[Any, int]:
    """The first 19 significant digits from ``i`` on, as one number, and how many digits follow them."""
    w = U64(0)
    kept = dropped = 0
    while True:
        byte = byte_at(text, i)
        if byte - _ZERO <= U64(9):
            if kept < _LONGEST_EXACT:
                w = w * U64(10) + (byte - _ZERO)
                kept += 1 if w != U64(0) else 0
            else:
                dropped += 1
        elif byte != _POINT:
            return w, dropped
        i += 1


@kernel
def read_decimal(text: int, start: int) -> tuple[int, float, int]:
    """Read a number, inf or a missing value at ``start``: (NUMBER | HARD | MISSING | MALFORMED, value, end)."""
    i = start
    sign = byte_at(text, i)
    if sign == _MINUS or sign == _PLUS:
        i += 1
    first = i
    w, end = _read_digits(text, i, U64(0))
    whole_digits = end - i
    # Leading zeros do not count; but more than 19 digits may have overflowed to zero.
    significant = 0 if w == U64(0) and whole_digits <= _LONGEST_EXACT else whole_digits
    i = end
    q = 0
    if byte_at(text, i) == _POINT:
        w, end = _read_digits(text, i + 1, w)
        q = i + 1 - end
        i = end
    if whole_digits - q == 0:
        return _read_word(text, start, first, sign == _MINUS)
    significant -= q
    if byte_at(text, i) | U64(0x20) == _SMALL_E:
        i += 1
        exponent_sign = byte_at(text, i)
        if exponent_sign == _MINUS or exponent_sign == _PLUS:
            i += 1
        count = digits_at_start(load8(text, i))
        if count == 0:
            return MALFORMED, 0.0, start
        exponent = np.int64(digits_value(load8(text, i), count))
        i += count
        if count == 8:  # as long as this, it is for Python to say what it means
            while digits_at_start(load8(text, i)) > 0:
                i += digits_at_start(load8(text, i))
            return HARD, 0.0, i
        q += -exponent if exponent_sign == _MINUS else exponent
    if significant > _LONGEST_EXACT:
        w, dropped = _leading_digits(text, first)
        status, value = scaled(w, q + dropped)
        above, next_value = scaled(w + U64(1), q + dropped)
        if status != NUMBER or above != NUMBER or value != next_value:
            return HARD, 0.0, i  # the digits left out decide the rounding
    else:
        status, value = scaled(w, q)
    return status, -value if sign == _MINUS else value, i


@kernel
def _read_word(text: int, start: int, i: int, negative: bool) -> tuple[int, float, int]:
    """What stands for a missing value; or, after the sign that ends at ``i`` if there is one, nan, inf or infinity."""
    if i == start:
        end = _end_of_spelling(text, start)
        if end >= start:
            return MISSING, np.nan, end
    word = load8(text, i) | _LOWER_CASE
    if word == _INFINITY_WORD:
        return NUMBER, -np.inf if negative else np.inf, i + 8
    if word & _THREE_BYTES == _INF_WORD:
        return NUMBER, -np.inf if negative else np.inf, i + 3
    if word & _THREE_BYTES == _NAN_WORD:
        return MISSING, np.nan, i + 3
    return MALFORMED, 0.0, start


@kernel
def _end_of_spelling(text: int, start: int) -> int:
    """Where a spelling of a missing value ends that begins at ``start`` and ends its word; −1 if there is none."""
    for k in range(len(_SPELLINGS)):
        length = _SPELLING_LENGTHS[k]
        i = 0
        while i < length and _lower(byte_at(text, start + i)) == _SPELLINGS[k, i]:
            i += 1
        if i == length and ends_token(byte_at(text, start + i)):
            return start + length
    return -1


@inlined_kernel
def _lower(byte: Any) -> Any:
    """A letter in lower case; anything else as it is."""
    return byte | U64(0x20) if U64(65) <= byte <= U64(90) else byte
