"""The arithmetic behind docs/scale.md: lines through what was measured, and what they say of other sizes."""

from dataclasses import replace

import pytest

from benchmarks.scale_model import LearnerCost, Run, Seen, Size, StepCost, Transport, Way, learner_cost

SMALL, LARGE, MANY = Size(1000, 10, 1), Size(3000, 30, 1), Size(3000, 30, 5)
TRANSPORT = Transport(
    message=Way(fixed=0.5, each=0.25, byte_once=0.0, byte_each=0.01),
    turn=Way(fixed=0.5, each=0.125, byte_once=0.002, byte_each=0.0),
    task=Way(fixed=10.0, each=1.0, byte_once=0.0, byte_each=0.0),
    byte_back=0.001,
)


def step_cost(**changed):
    nothing = dict.fromkeys(["sent_fixed", "sent_query", "sent_part", "back_fixed", "back_query"], 0.0)
    work = {"work_fixed": 0.0, "work_document": 0.0}
    return StepCost(**{"times": 1, "in_turn": False, "by_tasks": False, **work, **nothing, **changed})


def learner(*steps, driver=(0.0, 0.0, 0.0)):
    return LearnerCost(1, {str(place): step for place, step in enumerate(steps)}, *driver)


def run_of(size, in_turn=False):
    """A run as the true costs below make it: two messages a step, in turn one for each part."""
    each = size.documents / size.parts
    work = 0.1 + 0.002 * each
    sent = 100 + 8 * size.queries + 20 * size.parts
    back = (50 + 16 * size.queries / size.parts) * (1 if in_turn else size.parts)
    seen = Seen("step", in_turn, False, work + 1.0, work, sent, back)
    messages = [seen] * (2 * size.parts if in_turn else 2)
    driver = 0.5 + 0.001 * size.documents + 0.01 * (size.parts - 1)
    return Run(sum(message.seconds for message in messages) + driver + 0.75, driver, 3, messages)


@pytest.mark.parametrize("in_turn", [False, True])
def test_costs_that_are_lines_are_found_again(in_turn):
    cost = learner_cost({size: [run_of(size, in_turn)] * 3 for size in (SMALL, LARGE, MANY)})
    step = cost.steps["step"]
    assert (cost.passes, step.times, step.in_turn, step.by_tasks) == (3, 2, in_turn, False)
    assert (step.work_fixed, step.work_document) == pytest.approx((0.1, 0.002))
    assert (step.sent_fixed, step.sent_query, step.sent_part) == pytest.approx((100, 8, 20))
    assert (step.back_fixed, step.back_query) == pytest.approx((50, 16))
    assert (cost.driver_fixed, cost.driver_document, cost.driver_part) == pytest.approx((0.5, 0.001, 0.01))


def test_one_slow_run_of_three_changes_nothing():
    runs = {size: [run_of(size)] * 3 for size in (SMALL, LARGE, MANY)}
    slow = runs[LARGE][0]
    slow = Run(slow.seconds + 100, 60.0, slow.passes, [message._replace(work=50.0) for message in slow.messages])
    assert learner_cost({**runs, LARGE: [runs[LARGE][0], slow, runs[LARGE][0]]}) == learner_cost(runs)


def test_costs_are_never_negative_and_less_than_a_byte_for_each_query_is_chance():
    def run(work, sent):
        return [Run(work + 1, 1.0, 1, [Seen("step", False, False, work, work, sent, 7)])]

    falling = learner_cost({SMALL: run(0.3, 500), LARGE: run(0.2, 510), MANY: run(0.1, 490)}).steps["step"]
    assert (falling.work_fixed, falling.work_document) == (0.2, 0.0)
    assert (falling.sent_fixed, falling.sent_query, falling.sent_part) == (510, 0, 0)
    steep = learner_cost({SMALL: run(0.1, 1), LARGE: run(0.9, 1), MANY: run(0.1, 1)}).steps["step"]
    assert (steep.work_fixed, steep.work_document) == pytest.approx((0.0, 0.9 / 3000))


def test_parts_side_by_side_share_the_work_and_parts_in_turn_do_not():
    side, turn = (step_cost(times=3, in_turn=turn, work_fixed=0.1, work_document=0.01) for turn in (False, True))
    size = Size(1000, 10, 4)
    of_side, of_turn = (learner(step).predicted(size, TRANSPORT) for step in (side, turn))
    assert (of_side.work, of_side.in_turn) == pytest.approx((3 * (0.1 + 2.5), 0))
    assert (of_turn.work, of_turn.in_turn) == pytest.approx((0, 3 * (4 * 0.1 + 10)))
    assert (learner(side).n_messages(size), learner(turn).n_messages(size)) == (3, 12)
    assert of_side.messages == pytest.approx(3 * (0.5 + 4 * 0.25))
    assert of_turn.messages == pytest.approx(12 * (0.5 + 0.125))
    by_tasks = learner(replace(side, by_tasks=True)).predicted(size, TRANSPORT)
    assert by_tasks.messages == pytest.approx(3 * (10 + 4))


def test_bytes_go_to_each_worker_and_come_back_from_each_part():
    step = step_cost(times=2, sent_fixed=100, sent_query=8, sent_part=5, back_fixed=10, back_query=4)
    size, wired = Size(1000, 50, 10), replace(TRANSPORT, wire=0.1)
    sent, back = 100 + 8 * 50 + 5 * 10, 10 + 4 * 5
    cost = learner(step)
    assert cost.travelling(size, TRANSPORT) == 2 * 10 * (sent + back)
    assert cost.predicted(size, TRANSPORT).bytes == pytest.approx(2 * (10 * sent * 0.01 + 10 * back * 0.001))
    assert cost.predicted(size, wired).bytes == pytest.approx(2 * (10 * sent * 0.11 + 10 * back * 0.101))
    in_turn = learner(replace(step, in_turn=True))
    assert in_turn.travelling(size, TRANSPORT) == 2 * 10 * (sent + back)


def test_the_whole_is_its_parts_and_the_largest_is_the_bottleneck():
    cost = learner(step_cost(work_document=0.01), driver=(1.0, 0.001, 0.5))
    few, many = (cost.predicted(Size(10_000, 100, parts), TRANSPORT) for parts in (1, 100))
    assert few.driver == pytest.approx(1 + 10 + 0.5)
    assert few.seconds == pytest.approx(few.work + few.in_turn + few.messages + few.bytes + few.driver)
    assert (few.bottleneck, many.bottleneck) == ("work", "driver")
