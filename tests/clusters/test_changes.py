"""What has changed states can be had again, however much it is."""

import numpy as np
import pytest


@pytest.mark.peers
def test_a_long_log_is_in_a_file():
    pytest.importorskip("cloudpickle")
    from rankwright.clusters import changes

    log, rng = changes.Changes(3), np.random.default_rng(0)
    added = [[], [], []]
    for number in range(40):
        packed = rng.bytes(changes._IN_MEMORY // 20)
        parts = range(3) if number % 2 else [number % 3]
        log.add(packed, parts)
        for part in parts:
            added[part].append(packed)
        assert log.since({1: 0})[1][-1:] == added[1][-1:]
    assert log._file._rolled
    for part in range(3):
        assert log.count(part) == len(added[part])
        assert log.since({part: 0})[part] == added[part]
        assert log.since({part: 7})[part] == added[part][7:]
