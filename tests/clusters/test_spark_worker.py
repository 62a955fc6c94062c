"""States of parts in files, which several Python workers of Spark go on with."""

from threading import Thread

import cloudpickle
import numpy as np
import pytest

from rankwright.data.part import Part
from rankwright.data.state import changes_state
from tests.clusters.made import dirty_queries

pytestmark = pytest.mark.peers


@pytest.fixture
def workers(tmp_path):
    """Two workers of a machine, with a part each that is the same."""
    pytest.importorskip("pyspark", reason="needs rankwright[spark]")
    from rankwright.spark.worker import _FiledPart

    queries = dirty_queries(5)
    return [_FiledPart(Part(queries), tmp_path / "engine" / "0") for _ in range(2)]


def packed(step, *sent):
    from rankwright.clusters.held import Call

    return cloudpickle.loads(cloudpickle.dumps(Call(step, sent, on_state=True)))


@changes_state
def begin(state):
    state["some"] = np.arange(12.0).reshape(3, 4)[:, ::2]  # neither in the order of C nor of Fortran
    state["none"] = np.zeros((0, 2))
    state["one"] = np.array(3)


@changes_state
def add(state, number):
    state["some"] += number
    return state["some"].sum()


@changes_state
def fail(state):
    state["some"] += 1.0
    raise ValueError("half of it")


def total(state):
    return state["some"].sum(), state["none"].shape, int(state["one"])


def test_any_worker_goes_on_with_what_another_has_changed(workers, tmp_path):
    one, other = workers
    assert not one.answer(packed(begin), 0, []).is_behind
    assert other.answer(packed(add, 1.0), 1, []).result == 36.0
    assert one.answer(packed(add, 1.0), 2, []).result == 42.0
    assert other.answer(packed(total), 3, []).result == (42.0, (0, 2), 3)
    assert one.answer(packed(total), 3, []).result == (42.0, (0, 2), 3)
    assert [path.name for path in (tmp_path / "engine").iterdir()] == ["0.3"]


def test_a_call_that_is_made_twice_begins_anew(workers):
    """The first attempt was lost after its work: its state is not that which the call should find."""
    one, other = workers
    one.answer(packed(begin), 0, [])
    assert one.answer(packed(add, 1.0), 1, []).result == 36.0
    for again in (one, other):
        assert again.answer(packed(add, 1.0), 1, []).is_behind
        assert again.answer(packed(add, 1.0), 1, [cloudpickle.dumps(packed(begin))]).result == 36.0


def test_a_state_that_is_half_changed_is_none(workers):
    one, other = workers
    one.answer(packed(begin), 0, [])
    with pytest.raises(ValueError, match="half"):
        one.answer(packed(fail), 1, [])
    for worker in (one, other):
        assert worker.answer(packed(total), 1, []).is_behind


def test_programs_of_an_application_leave_each_other_what_they_have(tmp_path, monkeypatch):
    """Both count from 1; the first has given its 1 up, and the second has not."""
    pytest.importorskip("pyspark", reason="needs rankwright[spark]")
    from rankwright.spark import worker
    from rankwright.spark.packing import packed as pieces_of

    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'first'},{tmp_path / 'second'}")
    monkeypatch.setattr(worker, "_queries", {})
    monkeypatch.setattr(worker, "_parts", {})

    def found(run, used, number, pieces):
        name, names = worker.Name(run, number), worker.Names(run, frozenset(used), max(used))
        return worker.of_partition(0, pieces, name, names, lambda content: content, {0: ()})

    assert found("one", {1}, 1, pieces_of("of one"))[0] == "of one"
    assert found("two", {1}, 1, None) is None
    assert found("two", {1}, 1, pieces_of("of two"))[0] == "of two"
    assert found("one", {2}, 2, pieces_of("more of one"))[0] == "more of one"
    worker._queries.clear()
    assert found("two", {1}, 1, None)[0] == "of two"
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"first/rankwright/one/2/0", "first/rankwright/two/1/0"}


def test_names_of_several_threads_are_all_in_use():
    pytest.importorskip("pyspark", reason="needs rankwright[spark]")
    from rankwright.spark.jobs import names, new_name

    class Owner:
        pass

    owners = [Owner() for _ in range(400)]
    found = []
    threads = [
        Thread(target=lambda some=owners[begin::8]: found.extend([new_name(owner) for owner in some]))
        for begin in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 400
    assert not any(names().are_without(name) for name in found)
    owners.clear()
    assert all(names().are_without(name) for name in found)
