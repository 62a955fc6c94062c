"""Changes of bytes, of which some make a file that is nearly right."""

from __future__ import annotations

import json
import random
import re
from typing import Any

NUMBERS = (
    b"0", b"-0", b"1", b"-1", b"00", b"1.", b".5", b"+2", b"1e5", b"1e", b"1e999", b"-1e999", b"1e-999", b"nan", b"NaN",
    b"NULL", b"null", b"N/A", b"na", b"None", b"missing", b"?", b"",
    b"inf", b"-Infinity", b"0x10", b"1_0", b"2147483646", b"2147483647", b"4294967296", b"65536",
    b"9223372036854775807", b"9223372036854775808", b"123456789012345678", b"18446744073709551616", b"3.4028236e38",
    b"0.1", b"1234567.8", b"123456789.123456789", b"0.30000000000000004", b"9007199254740993", b"1e22", b"1e23",
    b"5e-324", b"2.2250738585072011e-308", b"1" * 40, b"0." + b"0" * 60 + b"7", b"9" * 400,
)  # fmt: skip
WORDS = (
    b" ", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"#", b":", b"=", b",", b'"', b"qid:", b" qid:1 ", b"# docid = a",
    b"#docid:b", b"\xef\xbb\xbf", b"\xff", b"\xc3\xa9", b"\xe2\x80\xae", b"\x1b[2J", b"\x1a", b"[", b"]", b"{", b"}",
    b"null", b"true", b"PAR1", b"\x1f\x8b",
)  # fmt: skip
_NUMBER = re.compile(rb"[-+]?[0-9][0-9.eE+-]*")


def mutated(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """The content with one to eight changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        content = rng.choice(_CHANGES)(rng, content, others)
    return content[:100_000]


def _place(rng: random.Random, content: bytes) -> int:
    return rng.randrange(len(content) + 1)


def _flip(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 4))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    place = _place(rng, content)
    put = rng.choice((bytes([rng.randrange(256)]), bytes(8), b"\xff" * 4, rng.randbytes(4)))
    return content[:place] + put + content[place + len(put) :]


def _insert(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    place = _place(rng, content)
    return content[:place] + rng.choice(rng.choice((WORDS, NUMBERS))) * rng.choice((1, 1, 1, 2, 50)) + content[place:]


def _remove(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    place = _place(rng, content)
    return content[:place] + content[place + rng.choice((1, 1, 2, 10, 1000)) :]


def _cut(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    return content[: _place(rng, content)]


def _repeat(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    start = _place(rng, content)
    part = content[start : start + rng.choice((1, 5, 30, 300))]
    return content[:start] + part * rng.choice((2, 3, 40)) + content[start:]


def _splice(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    other = rng.choice(others)
    return content[: _place(rng, content)] + other[_place(rng, other) :]


def _other_number(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    numbers = list(_NUMBER.finditer(content))
    if not numbers:
        return content
    found = rng.choice(numbers)
    return content[: found.start()] + rng.choice(NUMBERS) + content[found.end() :]


def _shuffle_lines(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    lines = content.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


_CHANGES = (
    _flip, _overwrite, _insert, _insert, _remove, _cut, _repeat, _splice, _other_number, _other_number, _shuffle_lines,
)  # fmt: skip

_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2, 3, 2**31 - 2, 2**31, 2**63, 10**400, 1.5, -0.0, 1e308, "", "x", "1", "NaN", [], {}, [[]],
    [1], [[1, 2]], [[1, 2, 3]], {"a": 1}, [None], "\ud800", "a\x1b[2J",
)  # fmt: skip


def mutated_json(rng: random.Random, content: bytes) -> bytes:
    """JSON that still is JSON, with some of its values others."""
    value = json.loads(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        value = _changed(rng, value)
    return json.dumps(value).encode()


def _changed(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: _changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        put = rng.choice(([], [value[place]] * 2, [_changed(rng, value[place])]))
        return [*value[:place], *put, *value[place + 1 :]]
    return rng.choice(_VALUES)
