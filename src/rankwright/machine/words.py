"""Eight bytes at a time: the machine words that text kernels are made of.

Every function takes little-endian words, so that the first character of the text is the lowest byte.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rankwright.machine.compile import kernel

U64 = np.uint64

_BIG_ENDIAN = sys.byteorder == "big"
_ONES = U64(0x0101010101010101)
HIGH_BITS = U64(0x8080808080808080)
_LOW_BITS = ~HIGH_BITS
_ASCII_ZEROS = U64(0x3030303030303030)
_ABOVE_NINE = U64(0x7676767676767676)


@intrinsic
def load8(typing_context: Any, text: Any, position: Any) -> Any:
    """Eight bytes of the text at address ``text``, from ``position`` on, as one word.

    Kernels hand texts to each other as addresses: an array would be reference-counted at every call.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = builder.inttoptr(builder.add(*arguments), ir.PointerType(ir.IntType(64)))
        word = builder.load(start, align=1)
        return builder.bswap(word) if _BIG_ENDIAN else word

    return types.uint64(types.int64, types.int64), generate


def _emitted(build: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """What Numba asks for the instructions of a function of one word."""
    return lambda context, builder, signature, arguments: build(builder, *arguments)


@intrinsic
def float_bits(typing_context: Any, value: Any) -> Any:
    """The sign, exponent and mantissa bits of a float64, as a word."""
    return types.uint64(types.float64), _emitted(lambda builder, value: builder.bitcast(value, ir.IntType(64)))


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """How many zero bits a word ends with: 64 for zero."""
    return types.uint64(types.uint64), _emitted(lambda builder, word: builder.cttz(word, ir.IntType(1)(0)))


@intrinsic
def leading_zeros(typing_context: Any, word: Any) -> Any:
    """How many zero bits a word begins with: 64 for zero."""
    return types.uint64(types.uint64), _emitted(lambda builder, word: builder.ctlz(word, ir.IntType(1)(0)))


@intrinsic
def one_bits(typing_context: Any, word: Any) -> Any:
    """How many bits of a word are set."""
    return types.uint64(types.uint64), _emitted(lambda builder, word: builder.ctpop(word))


@intrinsic
def high_product(typing_context: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of the 128-bit product of two words."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        a, b = (builder.zext(argument, wide) for argument in arguments)
        return builder.trunc(builder.lshr(builder.mul(a, b), ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@kernel
def byte_at(text: int, position: int) -> Any:
    """One character, as a number."""
    return load8(text, position) & U64(0xFF)


@kernel
def non_digits(word: Any) -> Any:
    """The high bit of the first byte that is not a decimal digit; what later bytes hold means nothing.

    A digit's byte is at most 9 after the exclusive or; adding 0x76 carries into the high bit exactly
    when it is not. A carry out of a byte can only disturb bytes behind the first non-digit.
    """
    distance = word ^ _ASCII_ZEROS
    return ((distance + _ABOVE_NINE) | distance) & HIGH_BITS


@kernel
def digits_at_start(word: Any) -> int:
    """With how many decimal digits, 0 to 8, the word begins."""
    return np.int64(trailing_zeros(non_digits(word)) >> U64(3))


@kernel
def digits_value(word: Any, count: int) -> Any:
    """The number that the first ``count`` (0 to 8) digits of the word spell: three multiplications, no loop."""
    half_shift = U64(32 - 4 * count)  # in two halves, as a shift by 64 is not defined
    digits = ((word ^ _ASCII_ZEROS) << half_shift) << half_shift
    pairs = ((digits & U64(0x0F0F0F0F0F0F0F0F)) * U64(2561)) >> U64(8)
    fours = ((pairs & U64(0x00FF00FF00FF00FF)) * U64(6553601)) >> U64(16)
    return ((fours & U64(0x0000FFFF0000FFFF)) * U64(42949672960001)) >> U64(32)


@kernel
def find_byte(text: int, position: int, stop: int, byte: Any) -> int:
    """The first position ≥ ``position`` that holds the byte, or ``stop``; eight bytes behind ``stop`` must exist."""
    pattern = _ONES * byte
    while position < stop:
        difference = load8(text, position) ^ pattern
        hits = (difference - _ONES) & ~difference & HIGH_BITS
        if hits != U64(0):
            return min(position + np.int64(trailing_zeros(hits) >> U64(3)), stop)
        position += 8
    return stop


@kernel
def count_byte(text: int, start: int, stop: int, byte: Any) -> int:
    """How often the byte occurs between two positions; eight bytes behind ``stop`` must exist."""
    pattern = _ONES * byte
    total = U64(0)
    position = start
    while position + 8 <= stop:
        difference = load8(text, position) ^ pattern
        # The high bit of each byte of `others` is set exactly where the byte is not the one looked for.
        others = ((difference & _LOW_BITS) + _LOW_BITS) | difference
        total += one_bits(~others & HIGH_BITS)
        position += 8
    while position < stop:
        total += U64(byte_at(text, position) == byte)
        position += 1
    return np.int64(total)
