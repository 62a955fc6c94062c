"""The thread pool: every query once, results in order, errors passed on, forked processes."""

import multiprocessing
import threading

import numpy as np
import pytest

from rankwright.errors import ParameterError
from rankwright.machine import threads


@pytest.mark.parametrize("count", ["1", "4"])
def test_results_come_in_order_and_few_are_in_flight(monkeypatch, count):
    monkeypatch.setenv("RANKWRIGHT_THREADS", count)
    drawn = []
    results = threads.map_in_order(lambda i: i * i, (drawn.append(i) or i for i in range(100)))
    assert next(results) == 0
    assert len(drawn) <= 2 * int(count) + 1
    assert list(results) == [i * i for i in range(1, 100)]


def test_errors_come_from_the_first_item_that_fails(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "3")

    def work(i):
        if i in (5, 9):
            raise ValueError(i)
        return i

    results = threads.map_in_order(work, range(20))
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="5"):
        next(results)


def test_an_error_in_any_range_is_raised(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "2")

    def work(first, last):
        if first > 0:
            raise RuntimeError("second half")

    with pytest.raises(RuntimeError, match="second half"):
        threads.for_query_ranges(work, np.arange(0, 100_001, 10))


def _sum_in_ranges():
    seen = []
    threads.for_query_ranges(lambda first, last: seen.append((first, last)), np.arange(0, 100_001, 10))
    return sum(last - first for first, last in seen)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_gets_threads_of_its_own(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "2")
    assert _sum_in_ranges() == 10_000
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_sum_in_ranges).get(timeout=60) == 10_000


def test_many_callers_at_once(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "2")
    results = []
    callers = [threading.Thread(target=lambda: results.append(_sum_in_ranges())) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert results == [10_000] * 8


def test_work_that_needs_the_pool_within_the_pool(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "2")
    finished = []
    caller = threading.Thread(
        target=lambda: finished.append(list(threads.map_in_order(lambda _: _sum_in_ranges(), range(8)))), daemon=True
    )
    caller.start()
    caller.join(60)
    assert finished == [[10_000] * 8]


@pytest.mark.parametrize("count", ["", "many", "0", "-1", "2.5", "1e3", "٣", "1025", "99999999999", "9" * 5000])
def test_numbers_of_threads_that_cannot_be(monkeypatch, count):
    monkeypatch.setenv("RANKWRIGHT_THREADS", count)
    with pytest.raises(ParameterError, match="RANKWRIGHT_THREADS must be a whole number from 1 to 1024") as told:
        threads.thread_count()
    assert len(str(told.value)) < 200


def test_the_most_threads_that_can_be(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "0001024")
    assert threads.thread_count() == 1024


@pytest.mark.parametrize(
    "run",
    [
        lambda work: threads.for_query_ranges(lambda first, last: first and work(), np.arange(0, 100_001, 10)),
        lambda work: list(threads.map_in_order(lambda _: work(), range(9))),
    ],
)
def test_threads_that_the_system_does_not_give(monkeypatch, run):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "7")
    threads._pool_of_process.cache_clear()
    start, started, refused = threading.Thread.start, [], threading.Event()

    def start_few(thread):
        if len(started) == 2:
            refused.set()
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_few)
    with pytest.raises(ParameterError, match="can't start new thread: set RANKWRIGHT_THREADS to less than 7"):
        run(lambda: refused.wait(60))  # so that no thread is free before the third is asked for
    threads._pool_of_process.cache_clear()
