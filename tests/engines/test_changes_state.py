"""Steps that change the states of parts say so: an engine may lose a part, and does these steps again."""

import pickle

import pytest

import rankwright as rw
from rankwright.engines import ENGINES
from rankwright.engines.stream import Stream
from tests.streaming import streamed


class Watched(Stream):
    """Looks at states before and after every step."""

    seen: set

    def _watching(self, step):
        def watched(target, *sent):
            state = getattr(target, "state", target)
            before = pickle.dumps(sorted(state.items(), key=str))
            result = step(target, *sent)
            has_changed = pickle.dumps(sorted(state.items(), key=str)) != before
            assert not has_changed or getattr(step, "changes_state", False), f"{step.__name__} does not say so"
            self.seen.add((step.__name__, has_changed))
            return result

        return watched

    def _results(self, step, sent):
        return super()._results(self._watching(step) if is_plain(step) else step, sent)

    def _state_results(self, step, sent):
        return super()._state_results(self._watching(step) if is_plain(step) else step, sent)

    def in_turn(self, step, carried, *sent, states_only=False):
        return super().in_turn(self._watching(step), carried, *sent, states_only=states_only)


def is_plain(step):
    """Not one that hands on what the part before has returned: it is watched as such."""
    return hasattr(step, "__name__") and step.__name__ != "watched"


@pytest.mark.parametrize(
    "learner",
    [
        rw.StructuredRanker("ndcg@10", alpha=1.0),
        rw.GreedyRankRLS(n_features=4),
        rw.RankSVM(alpha=1.0),
        rw.RankRLS(alpha=rw.search(0.1, 1.0)),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_steps_say_that_they_change_states(learner, monkeypatch):
    seen = set()
    monkeypatch.setattr(Watched, "seen", seen, raising=False)
    monkeypatch.setitem(ENGINES, rw.StreamedQueries, Watched)
    learner.fit(streamed(rw.datasets.make_queries(n_queries=60, documents=12, n_features=12, seed=2).queries, 3))
    has_states = isinstance(learner, rw.StructuredRanker | rw.GreedyRankRLS)
    assert any(changed for _, changed in seen) == has_states
    assert seen
