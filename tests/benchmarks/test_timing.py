"""What the benchmarks print, and the choice of threads that gives every peer its best."""

import mmap
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from benchmarks import timing
from benchmarks.timing import Row, fastest_threads, memory, table, with_blas_threads


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_a_row_carries_its_ratio_and_its_unit():
    row = Row("job", "peer", 2.0, 5.0, 2, "note", "GB")
    assert row.to_dict() == {
        "name": "job",
        "against": "peer",
        "ours": 2.0,
        "peer": 5.0,
        "target": 2,
        "note": "note",
        "unit": "GB",
        "ratio": 2.5,
    }


def test_the_table_has_a_line_for_each_row():
    header, seconds, gigabytes = table([Row("a", "b", 1, 3, 2), Row("memory", "c", 4, 2, 1, unit="GB")]).splitlines()
    assert header.split() == ["name", "against", "ours", "peer", "unit", "ratio", "target", "note"]
    assert seconds.split() == ["a", "b", "1.0000", "3.0000", "s", "3.00", "≥", "2"]
    assert gigabytes.split() == ["memory", "c", "4.0000", "2.0000", "GB", "0.50", "≥", "1"]


def test_the_limit_on_threads_lasts_as_long_as_the_work():
    before = blas_threads()
    assert with_blas_threads(1, blas_threads)() == {1}
    assert blas_threads() == before


@pytest.mark.parametrize("fastest", [1, 2])
def test_the_faster_number_of_threads_is_taken(monkeypatch, fastest):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "2")
    monkeypatch.setattr(timing, "seconds", lambda work: 1.0 if work() == {fastest} else 5.0)
    assert fastest_threads(blas_threads) == fastest


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read as Linux tells it")
def test_memory_rises_by_what_is_filled():
    before = memory("VmRSS")
    room = mmap.mmap(-1, 64_000_000)  # new pages: an array may be given memory that the process has already
    room.write(bytes([1]) * len(room))
    assert memory("VmRSS") - before > 0.9 * len(room)
    assert memory("VmHWM") >= memory("VmRSS")
