"""The presets against the tools they are named after, as installed: the same numbers on the same data."""

import numpy as np
import pytest

import rankwright as rw

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def collection():
    """Queries of 1 to 40 documents with ties, empty queries and short lists, and scores exact in float32."""
    rng = np.random.default_rng(7)
    sizes = np.concatenate([[1, 1, 2, 3], rng.integers(4, 41, 120)])
    qid = np.repeat(np.arange(len(sizes)), sizes)
    grades = rng.choice(5, len(qid), p=[0.6, 0.2, 0.1, 0.06, 0.04])
    grades[np.isin(qid, [0, 10, 20])] = 0
    scores = np.round(rng.standard_normal(len(qid)) + 0.3 * grades, 1).astype(np.float32).astype(np.float64)
    doc_ids = np.array([f"d{i}" for i in rng.permutation(len(qid))])
    return rw.Queries(None, grades, qid, doc_ids=doc_ids), scores


def _per_query(scores, queries, measure, convention):
    return rw.evaluate(scores, queries, measure, convention).values[measure]


def _each(queries, scores):
    for q in range(queries.n_queries):
        rows = slice(*queries.grouping.offsets[q : q + 2])
        yield q, queries.y[rows], scores[rows]


# scikit-learn and SciPy


@pytest.mark.parametrize("k", [None, 1, 5, 10])
def test_sklearn_ndcg_and_dcg(collection, k):
    from sklearn.metrics import dcg_score, ndcg_score

    queries, scores = collection
    cut = (lambda m: m) if k is None else (lambda m: m @ k)
    ndcg = _per_query(scores, queries, cut(rw.nDCG), "sklearn")
    dcg = _per_query(scores, queries, cut(rw.DCG), "sklearn")
    for q, y, s in _each(queries, scores):
        if len(y) > 1:  # scikit-learn refuses lists of one document
            assert ndcg[q] == pytest.approx(ndcg_score([y], [s], k=k), abs=1e-12)
            assert dcg[q] == pytest.approx(dcg_score([y], [s], k=k), abs=1e-12)


@pytest.mark.filterwarnings("ignore:No positive class")
def test_sklearn_average_precision_and_roc_auc(collection):
    from sklearn.metrics import average_precision_score, roc_auc_score

    queries, scores = collection
    ap = _per_query(scores, queries, rw.AP, "sklearn")
    binary = rw.Queries(None, queries.y >= 1, queries.qid)
    error = _per_query(scores, binary, rw.PairwiseError, "default")
    for q, y, s in _each(queries, scores):
        assert ap[q] == pytest.approx(average_precision_score(y >= 1, s), abs=1e-12)
        if len(set(y >= 1)) == 2:
            assert error[q] == pytest.approx(1 - roc_auc_score(y >= 1, s), abs=1e-12)
        else:
            assert np.isnan(error[q])


def test_scipy_kendall_tau(collection):
    from scipy.stats import kendalltau

    queries, scores = collection
    tau = _per_query(scores, queries, rw.KendallTau, "sklearn")
    for q, y, s in _each(queries, scores):
        assert tau[q] == pytest.approx(kendalltau(y, s).statistic, abs=1e-12, nan_ok=True)


# LightGBM and XGBoost


@pytest.mark.parametrize("k", [1, 3, 5, 10, 100])
def test_lightgbm_ndcg_and_map(collection, k):
    lightgbm = pytest.importorskip("lightgbm")
    queries, scores = collection
    features = np.zeros((queries.n_documents, 1))
    data = lightgbm.Dataset(features, queries.y, group=queries.sizes, init_score=scores, free_raw_data=False)
    seen: dict[str, dict[str, list[float]]] = {}
    lightgbm.train(
        {
            "objective": "lambdarank",
            "metric": ["ndcg", "map"],
            "eval_at": [k],
            "verbosity": -1,
            "learning_rate": 1e-300,
        },
        data,
        num_boost_round=1,
        valid_sets=[data],
        valid_names=["data"],
        callbacks=[lightgbm.record_evaluation(seen)],
    )
    ours = rw.evaluate(scores, queries, [rw.nDCG @ k, rw.AP @ k], "lightgbm").means
    assert ours[rw.nDCG @ k] == pytest.approx(seen["data"][f"ndcg@{k}"][0], abs=1e-9)
    assert ours[rw.AP @ k] == pytest.approx(seen["data"][f"map@{k}"][0], abs=1e-9)


@pytest.mark.parametrize("k", [1, 3, 5, 10, 100])
def test_xgboost_ndcg_map_and_precision(collection, k):
    xgboost = pytest.importorskip("xgboost")
    queries, scores = collection
    binary = rw.Queries(None, queries.y >= 1, queries.qid)
    for data, measure, name in (
        (queries, rw.nDCG @ k, "ndcg"),
        (binary, rw.AP @ k, "map"),
        (binary, rw.P @ k, "pre"),
    ):
        matrix = xgboost.DMatrix(np.zeros((data.n_documents, 1)), data.y, qid=data.qid, base_margin=scores)
        booster = xgboost.train(
            {"objective": "rank:ndcg", "learning_rate": 0.0, "eval_metric": f"{name}@{k}", "verbosity": 0}, matrix, 1
        )
        peer = float(booster.eval(matrix).split(":")[-1])
        ours = rw.evaluate(scores, data, measure, "xgboost").means[measure]
        assert ours == pytest.approx(peer, abs=2e-6), (name, k)  # xgboost prints few digits


# trec_eval through pytrec_eval and ir_measures, and ranx


def _run_and_qrels(queries, scores):
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for qid, doc, y, s in zip(queries.qid, queries.doc_ids, queries.y, scores, strict=True):
        run.setdefault(f"q{qid}", {})[str(doc)] = float(s)
        qrels.setdefault(f"q{qid}", {})[str(doc)] = int(y)
    return run, qrels


TREC = {
    "ndcg": rw.nDCG,
    "ndcg_cut_5": rw.nDCG @ 5,
    "map": rw.AP,
    "map_cut_5": rw.AP @ 5,
    "P_5": rw.P @ 5,
    "P_10": rw.P @ 10,
    "recall_10": rw.Recall @ 10,
    "recip_rank": rw.RR,
}


def test_trec_eval_by_pytrec_eval(collection):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    queries, scores = collection
    run, qrels = _run_and_qrels(queries, scores)
    peer = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg", "ndcg_cut.5", "map", "map_cut.5", "P.5,10", "recall.10", "recip_rank"}
    ).evaluate(run)
    ours = rw.evaluate(scores, queries, list(TREC.values()), "trec_eval")
    for name, measure in TREC.items():
        for q, query in enumerate(queries.query_ids):
            assert ours.values[measure][q] == pytest.approx(peer[f"q{query}"][name], abs=1e-12), (name, query)


def test_trec_eval_compares_scores_in_float32():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    scores = np.array([1.0 + 1e-12, 1.0, 0.5])  # tied in float32, so that the greater id comes first
    queries = rw.Queries(None, [1, 0, 1], ["q0"] * 3, doc_ids=["a", "b", "c"])
    qrels = {"q0": {"a": 1, "b": 0, "c": 1}}
    run = {"q0": dict(zip("abc", scores.tolist(), strict=True))}
    peer = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)["q0"]["map"]
    assert _per_query(scores, queries, rw.AP, "trec_eval")[0] == pytest.approx(peer, abs=1e-12)
    assert _per_query(scores, queries, rw.AP, "default")[0] != pytest.approx(peer, abs=1e-3)


def test_ir_measures(collection):
    ir_measures = pytest.importorskip("ir_measures")
    queries, scores = collection
    run, qrels = _run_and_qrels(queries, scores)
    pairs = {
        ir_measures.nDCG @ 5: rw.nDCG @ 5,
        ir_measures.AP: rw.AP,
        ir_measures.AP(rel=2): rw.AP(relevant_from=2),
        ir_measures.P @ 5: rw.P @ 5,
        ir_measures.RR: rw.RR,
        ir_measures.R @ 10: rw.Recall @ 10,
    }
    peer = {(row.query_id, str(row.measure)): row.value for row in ir_measures.iter_calc(list(pairs), qrels, run)}
    ours = rw.evaluate(scores, queries, list(pairs.values()), "trec_eval")
    for theirs, measure in pairs.items():
        for q, query in enumerate(queries.query_ids):
            assert ours.values[measure][q] == pytest.approx(peer[f"q{query}", str(theirs)], abs=1e-12)


def test_ranx_where_nothing_is_tied(collection):
    ranx = pytest.importorskip("ranx")
    queries, _ = collection
    scores = np.random.default_rng(3).permutation(queries.n_documents) / 1000  # ranx leaves the order of ties open
    run, qrels = _run_and_qrels(queries, scores)
    ours = rw.evaluate(
        scores,
        queries,
        [rw.nDCG @ 5, rw.nDCG(gain="exponential") @ 5, rw.AP, rw.P @ 5, rw.RR, rw.Recall @ 10],
        "trec_eval",
    )
    names = ["ndcg@5", "ndcg_burges@5", "map", "precision@5", "mrr", "recall@10"]
    peer = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names, return_mean=False)
    order = [sorted(qrels).index(f"q{query}") for query in queries.query_ids]
    for name, measure in zip(names, ours.measures, strict=True):
        np.testing.assert_allclose(ours.values[measure], np.asarray(peer[name])[order], atol=1e-12, err_msg=name)
