"""Learners on a Dask cluster find what they find in memory."""

import gc
import time
import warnings
from contextlib import nullcontext
from weakref import WeakKeyDictionary

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from tests.clusters.made import (
    assert_judged_alike,
    assert_learned_alike,
    assert_same_values,
    dirty_queries,
    written,
)
from tests.needed import needs_dask

pytestmark = pytest.mark.peers

THREE = rw.search(0.1, 1.0, 10.0)
LEARNERS = {
    "rankrls": lambda: rw.RankRLS(alpha=THREE, measures="ndcg@5, err@10"),
    "regression": lambda: rw.RegressionRanker(alpha=THREE),
    "greedy": lambda: rw.GreedyRankRLS(n_features=4),
    "greedy-gram": lambda: rw.GreedyRankRLS(n_features=3, method="gram"),
    "ranksvm": lambda: rw.RankSVM(alpha=1.0),
    "ranksvm-cv": lambda: rw.RankSVM(alpha=rw.search(0.1, 10.0), measures="ndcg@5"),
    "order-preserving": lambda: rw.OrderPreservingRanker(alpha=1.0),
    "structured": lambda: rw.StructuredRanker("ndcg@10", alpha=10.0),
}


def with_missing(queries):
    x = queries.X.copy()
    x[::7, 1] = np.nan
    return rw.Queries(x, queries.y, queries.qid)


KINDS = {
    "dense": lambda queries: queries,
    "float32": lambda queries: rw.Queries(queries.X.astype(np.float32), queries.y, queries.qid),
    "csr": lambda queries: rw.Queries(sp.csr_array(np.where(queries.X > 1, queries.X, 0)), queries.y, queries.qid),
    "missing": with_missing,
}


def loaded(queries, folder, client, **options):
    """On the cluster, and the same in memory."""
    return rw.dask.queries(written(queries, folder, **options), client=client), queries


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_find_what_they_find_in_memory(client, tmp_path, name, kind):
    queries, in_memory = loaded(KINDS[kind](dirty_queries()), tmp_path, client)
    assert queries.n_parts == 3
    learned, known = LEARNERS[name]().fit(queries), LEARNERS[name]().fit(in_memory)
    assert_learned_alike(learned, known)


@pytest.mark.parametrize("name", ["rankrls", "ranksvm", "greedy", "structured"])
def test_equal_parts_give_equal_bits_on_any_cluster(client, tmp_path, name):
    needs_dask()
    import distributed

    paths = written(dirty_queries(), tmp_path, n_files=5)
    one = {"n_workers": 1, "threads_per_worker": 3, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**one) as cluster, distributed.Client(cluster, set_as_default=False) as other:
        elsewhere = LEARNERS[name]().fit(rw.dask.queries(paths, client=other)).coef_
    queries = rw.dask.queries(paths, client=client)
    for _ in range(2):
        np.testing.assert_array_equal(LEARNERS[name]().fit(queries).coef_, elsewhere)


def test_workers_that_cannot_be_reached_are_asked_through_the_scheduler(client, tmp_path, monkeypatch):
    from rankwright.dask import messages

    paths = written(dirty_queries(), tmp_path)
    known = rw.StructuredRanker(alpha=10.0).fit(rw.dask.queries(paths, client=client)).coef_

    class Unreachable:
        async def identity(self):
            raise OSError("no route")

    monkeypatch.setattr(client, "rpc", lambda worker: Unreachable())
    monkeypatch.setattr(messages, "_reached", WeakKeyDictionary())
    found = rw.StructuredRanker(alpha=10.0).fit(rw.dask.queries(paths, client=client)).coef_
    np.testing.assert_array_equal(found, known)


def test_models_and_measures(client, tmp_path):
    queries, in_memory = loaded(dirty_queries(), tmp_path, client)
    assert_judged_alike(queries, in_memory)
    ranker = rw.RankRLS(1.0).fit(in_memory)
    np.testing.assert_array_equal(ranker.rank(queries), ranker.rank(in_memory))
    scores = ranker.predict(in_memory)
    assert_same_values(*(rw.evaluate(scores, some, "ndcg@3", "trec_eval") for some in (queries, in_memory)))
    bound, known_bound = (rw.theory.risk_bound(ranker, some) for some in (queries, in_memory))
    assert str(bound) == str(known_bound)


def test_queries_have_what_queries_in_memory_have(client, tmp_path):
    queries, in_memory = loaded(dirty_queries(), tmp_path, client)
    assert queries.query_ids.tolist() == in_memory.query_ids.tolist()
    assert queries.sizes.tolist() == in_memory.sizes.tolist()
    assert queries.feature_names == in_memory.feature_names
    np.testing.assert_array_equal(queries.judgments.y, in_memory.y)
    np.testing.assert_array_equal(queries.in_memory().X, in_memory.X)
    assert queries.whole == in_memory.judgments.whole
    taken = queries[np.arange(120) % 3 == 0]
    np.testing.assert_array_equal(taken.in_memory().X, in_memory[np.arange(120) % 3 == 0].X)
    assert taken[5:9].query_ids.tolist() == in_memory[::3][5:9].query_ids.tolist()
    np.testing.assert_array_equal(queries.run(38, 45).X, in_memory[38:45].X)  # over the end of a part
    twice = queries.mapped(doubled, same_judgments=True)
    np.testing.assert_array_equal(twice[70:].in_memory().X, 2 * in_memory[70:].X)
    assert repr(queries).startswith("DaskQueries(120 queries, ")
    assert "in 3 parts from part-0.parquet and 2 more" in repr(queries)


def doubled(part):
    return rw.Queries(2 * part.X, part.supervision, part.qid)


@pytest.mark.parametrize("with_valid", [False, True])
def test_fit_finds_what_it_finds_in_memory(client, tmp_path, with_valid):
    given = with_missing(dirty_queries(200))
    (tmp_path / "test").mkdir()
    queries, in_memory = loaded(given[:150], tmp_path, client)
    test, known_test = loaded(given[150:], tmp_path / "test", client, n_files=2)
    options = {"rankers": ["rankrls", "ranksvm", "greedy-rankrls"], "folds": 3, "transform": "none"}
    valid = {"valid": test} if with_valid else {}
    result = rw.fit(queries, test=None if with_valid else test, **valid, **options)
    if with_valid:
        known = rw.fit(in_memory, valid=known_test, **options)
    else:
        known = rw.fit(in_memory, test=known_test, **options)
    assert str(result) == str(known)
    np.testing.assert_allclose(result.model.coef_, known.model.coef_, rtol=1e-7, atol=1e-10)


def test_validation_queries_in_memory_go_to_the_cluster_for_the_last_training(client, tmp_path):
    given = dirty_queries(150)
    queries, in_memory = loaded(given[:100], tmp_path, client)
    result = rw.fit(queries, valid=given[100:], rankers=["rankrls"])
    known = rw.fit(in_memory, valid=given[100:], rankers=["rankrls"])
    np.testing.assert_allclose(result.model.coef_, known.model.coef_, rtol=1e-9, atol=1e-12)


def test_features_do_not_travel(client, tmp_path, monkeypatch):
    from rankwright.dask.partitions import DaskPartitions

    queries, _ = loaded(dirty_queries(), tmp_path, client)
    asked, plain = [], DaskPartitions.results

    def noted(self, what, *rest, **only):
        asked.append(what)
        return plain(self, what, *rest, **only)

    monkeypatch.setattr(DaskPartitions, "results", noted)
    for learner in LEARNERS.values():
        learner().fit(queries)
    rw.evaluate(rw.RankRLS().fit(queries, valid=queries), queries)
    assert "bring" not in asked


@pytest.mark.parametrize(
    "learner",
    [
        lambda: rw.KernelRankRLS(),
        lambda: rw.RankBoost(),
        lambda: rw.RankSVM(solver="sgd"),
        lambda: rw.GreedyRankRLS(n_features=2, criterion="ndcg@10"),
        lambda: rw.StructuredRanker("ndcg@10", bound="tight"),
    ],
)
def test_who_needs_all_documents_at_once_says_so(client, tmp_path, learner):
    queries, _ = loaded(dirty_queries(), tmp_path, client)
    with pytest.raises(rw.ParameterError, match="memory"):
        learner().fit(queries)


def test_errors_of_steps_are_those_of_memory(client, tmp_path):
    given = dirty_queries()
    x = given.X.copy()
    x[-3, 2] = np.inf
    given = rw.Queries(x, given.y, given.qid)
    queries, in_memory = loaded(given, tmp_path, client)
    for learner in (rw.RankSVM(), rw.RankRLS()):
        with pytest.raises(rw.DataError) as known:
            learner.fit(in_memory)
        with pytest.raises(rw.DataError) as told:
            learner.fit(queries)
        assert str(told.value).partition(" (query ")[2] == str(known.value).partition(" (query ")[2] != ""


def test_passes_are_told(client, tmp_path):
    queries, _ = loaded(dirty_queries(), tmp_path, client)
    told = []
    ranker = rw.RankSVM(alpha=1.0).fit(queries.watched(told.append))
    assert len(told) == 2 * (ranker.passes_ + 1)  # the begin and the end of each, and of the first look
    assert {now.what for now in told[4:6]} == {"pass 3 over part-0.parquet and 2 more"}
    assert [now.share for now in told[4:6]] == [0.0, 1.0]


def test_tasks_have_names_for_the_dashboard(client, tmp_path):
    def names():
        return set(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes)))

    of_others = {name for name in names() if not name.startswith("rankwright_")}
    queries, _ = loaded(dirty_queries(), tmp_path, client)
    rw.evaluate(rw.RankRLS().fit(queries), queries[:100])
    ours = names() - of_others
    assert {"rankwright_read", "rankwright_part", "rankwright_hold", "rankwright_take"} <= ours
    assert all(name.startswith("rankwright_") for name in ours), ours


@pytest.mark.parametrize("fails", [False, True])
def test_parts_are_forgotten_with_their_engine(client, tmp_path, fails):
    given = dirty_queries()
    if fails:
        x = given.X.copy()
        x[-3, 2] = np.inf
        given = rw.Queries(x, given.y, given.qid)
    queries, _ = loaded(given, tmp_path, client)
    client.run(gc.collect)
    client.run(gc.disable)  # parts are large: they are not to wait until a worker looks for garbage
    try:
        learn(queries, fails)
        gc.collect()
        for _ in range(50):
            if not any(client.run(n_engines).values()):
                return
            time.sleep(0.1)
    finally:
        client.run(gc.enable)
    raise AssertionError("parts of an engine that is gone are still with the workers")


def learn(queries, fails):
    for learner in (rw.RankSVM(), rw.RankRLS()):
        with pytest.raises(rw.DataError) if fails else nullcontext():
            learner.fit(queries)


def n_engines():
    from rankwright.dask.engine import _parts

    return len(_parts)


def test_a_worker_with_another_version_is_refused_by_name(client, tmp_path, monkeypatch):
    from rankwright.dask import connecting

    monkeypatch.setattr(connecting, "__version__", "9.9")
    with pytest.raises(rw.ParameterError, match=r"worker tcp://127.0.0.1:\d+ has Rankwright .* this process has 9.9"):
        rw.dask.queries(written(dirty_queries(), tmp_path), client=client)


def test_a_worker_that_came_later_with_another_version_is_refused_by_name(client, tmp_path, monkeypatch):
    from rankwright.dask import partitions

    queries, _ = loaded(dirty_queries(), tmp_path, client)
    monkeypatch.setattr(partitions, "__version__", "9.9")
    with pytest.raises(rw.ParameterError, match=r"worker tcp://127.0.0.1:\d+ has Rankwright .* this process has 9.9"):
        rw.RankRLS().fit(queries)


def test_data_at_one_address_are_on_one_cluster(client, tmp_path):
    """For training and for validation, with one connection."""
    paths, address = written(dirty_queries(), tmp_path), client.scheduler.address
    train, valid = rw.dask.queries(paths[:2], client=address), rw.dask.queries(paths[2:], client=address)
    assert train.partitions.client is valid.partitions.client
    result = rw.fit(train, valid=valid, rankers=["rankrls"])
    made = dirty_queries()
    known = rw.fit(made[:80], valid=made[80:], rankers=["rankrls"])
    np.testing.assert_allclose(result.model.coef_, known.model.coef_, rtol=1e-8, atol=1e-12)


def test_dask_knows_how_large_partitions_are(client, tmp_path):
    queries, in_memory = loaded(dirty_queries(), tmp_path, client)
    keys = [future.key for future in queries.partitions.futures]
    sizes = client.run_on_scheduler(lambda dask_scheduler: [dask_scheduler.tasks[key].nbytes for key in keys])
    assert sum(sizes) >= in_memory.X.nbytes


def test_bad_clusters(tmp_path):
    needs_dask()
    paths = written(dirty_queries(10), tmp_path, n_files=1)
    with pytest.raises(rw.ParameterError, match="client: there is no Dask scheduler at 'somewhere'"):
        rw.dask.queries(paths, client="somewhere")
    with pytest.raises(rw.ParameterError, match=r"client must be a distributed\.Client or an address, not int"):
        rw.dask.queries(paths, client=3)


def test_the_own_cluster_listens_on_loopback_alone_and_ends(tmp_path):
    needs_dask()
    psutil = pytest.importorskip("psutil")
    before = listening(psutil)
    queries = rw.dask.queries(written(dirty_queries(20), tmp_path))
    try:
        assert queries.partitions.client.nthreads()
        assert set(queries.partitions.client.nthreads().values()) == {1}
        addresses = listening(psutil) - before
        assert addresses
        assert {address for address, _ in addresses} == {"127.0.0.1"}
    finally:
        rw.dask.shutdown()
    assert not psutil.Process().children(recursive=True) or listening(psutil) <= before


def listening(psutil):
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    found = set()
    for process in processes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            connections = process.net_connections(kind="inet")
        found |= {tuple(each.laddr) for each in connections if each.status == psutil.CONN_LISTEN}
    return found
