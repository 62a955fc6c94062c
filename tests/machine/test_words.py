"""Text kernels eight bytes at a time, against what bytes can do by themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwright.machine import words

BEHIND = bytes(16)


def address(text: bytes) -> tuple[int, np.ndarray]:
    """Where the text stands in memory, and the array that keeps it there."""
    array = np.frombuffer(text + BEHIND, dtype=np.uint8)
    return array.ctypes.data, array


texts = st.binary(max_size=60) | st.text("0123456789\n :.", max_size=60).map(str.encode)


@given(text=texts, byte=st.sampled_from(b"\n0:\x00\xff\x0b"), start=st.integers(0, 70), stop=st.integers(0, 70))
def test_counting_and_finding_a_byte(text, byte, start, stop):
    start, stop = min(start, len(text)), min(stop, len(text))
    place, _keep = address(text)
    if start <= stop:
        assert words.count_byte(place, start, stop, np.uint64(byte)) == text[start:stop].count(byte)
        found = text.find(bytes([byte]), start, stop)
        assert words.find_byte(place, start, stop, np.uint64(byte)) == (found if found >= 0 else stop)


@given(texts)
def test_digits_at_the_start(text):
    word = np.uint64(int.from_bytes(text[:8].ljust(8, b"\0"), "little"))
    count = 0
    while count < min(8, len(text)) and text[count] in b"0123456789":
        count += 1
    assert words.digits_at_start(word) == count
    for length in range(count + 1):
        assert words.digits_value(word, length) == int(text[:length] or b"0")
