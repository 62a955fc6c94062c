"""Workers that are killed while learners work."""

import os
import signal
from contextlib import suppress

import rankwright as rw

LEARNERS = {
    "rankrls": lambda: rw.RankRLS(alpha=rw.search(0.1, 1.0, 10.0)),
    "ranksvm": lambda: rw.RankSVM(alpha=1.0),
    "greedy": lambda: rw.GreedyRankRLS(n_features=4),
    "structured": lambda: rw.StructuredRanker("ndcg@10", alpha=10.0),
}


class Deadly:
    """A step after which the first worker that has done it is killed, before it can answer."""

    def __init__(self, step, mark):
        self.step, self.mark = step, mark
        self.changes_state = getattr(step, "changes_state", False)

    def __call__(self, part, *sent):
        result = self.step(part, *sent)
        with suppress(FileExistsError):
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
        return result


class Disturbed:
    """Counts the messages of engines; one of them is deadly, or comes after a worker was killed."""

    def __init__(self, monkeypatch, engine):
        import cloudpickle

        self.count, self.at, self.disturb = 0, None, None
        plain = engine._message

        def message(of_engine, call, changes, **how):
            self.count += 1
            if self.count - 1 == self.at:
                call = cloudpickle.dumps(self.disturb(cloudpickle.loads(call)))
            return plain(of_engine, call, changes, **how)

        monkeypatch.setattr(engine, "_message", message)

    def during(self, at, disturb, learn):
        self.count, self.at, self.disturb = 0, at, disturb
        learned = learn()
        self.at = None
        return learned
