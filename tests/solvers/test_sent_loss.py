"""What goes to the parts with a loss: weights of queries if there are any, of which each part takes its own."""

import pickle

import numpy as np
import pytest

import rankwright as rw
from rankwright.engines import Stream
from tests.streaming import query_by_query, streamed

RANKERS = [rw.RankSVM(1.0, tol=1e-9), rw.OrderPreservingRanker(1.0, tol=1e-9), rw.StructuredRanker("ndcg@5", 1.0)]


def dirty(n_queries, longest):
    """Text ids in no order, queries of different lengths, some of one document."""
    rng = np.random.default_rng(2)
    qid = rng.permutation(np.repeat([f"q{number}" for number in range(n_queries)], rng.integers(1, longest, n_queries)))
    x = rng.standard_normal((len(qid), 4))
    y = np.clip(np.round(x[:, 0] + rng.standard_normal(len(qid))), 0, 2)
    return query_by_query(rw.Queries(x, y, qid))


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_parts_take_the_weights_of_their_own_queries(ranker):
    queries = dirty(150, 30)
    weights = np.random.default_rng(5).integers(0, 4, queries.n_queries).astype(float)
    theirs = ranker.fit(queries, sample_weight=weights).coef_.copy()
    ours = ranker.fit(streamed(queries, 6), sample_weight=weights).coef_.copy()
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8 * np.abs(theirs).max())
    alike = ranker.fit(queries).coef_
    assert np.abs(alike - theirs).max() > 1e-3 * np.abs(theirs).max()


@pytest.mark.parametrize("ranker", RANKERS[:2], ids=lambda ranker: type(ranker).__name__)
def test_nothing_of_each_query_is_sent_without_weights(ranker, monkeypatch):
    queries = dirty(3000, 3)
    sent_bytes, results = [], Stream._results

    def noted(self, step, sent):
        sent_bytes.append(len(pickle.dumps(sent)))
        return results(self, step, sent)

    monkeypatch.setattr(Stream, "_results", noted)
    stream = streamed(queries, 6)
    ranker.fit(stream)
    assert max(sent_bytes) < 8 * queries.n_queries
    ranker.fit(stream, sample_weight=np.arange(1, queries.n_queries + 1))
    assert max(sent_bytes) > 8 * queries.n_queries
