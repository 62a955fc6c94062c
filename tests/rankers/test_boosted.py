"""`BoostedRanker`: trees of both libraries on awkward data, early stopping, weights, scikit-learn's checks, files."""

import pickle
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwright as rw
from rankwright.boosting.named_losses import LIBRARY_LOSSES
from rankwright.losses import LOSSES

SMALL = {"n_trees": 12, "leaves": 6, "min_documents": 5, "learning_rate": 0.3}
OF_LIBRARY = [(name, library) for name, (library, _) in LIBRARY_LOSSES.items()]
BOTH = ("lightgbm", "xgboost")


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "1")


def collection(seed=0, n_queries=40, *, missing=True):
    """Mixed rows, text ids; a query with one document, one without a relevant one; a constant column, zeros, NaN."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 25, n_queries)
    sizes[3] = 1
    X = rng.standard_normal((sizes.sum(), 5))
    X[np.abs(X) < 0.2] = 0
    worth = np.abs(X[:, 0]) - X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X))
    y = np.digitize(worth, [0.3, 1.2, 2.2]).astype(float)
    qid = np.repeat([f"q{number}" for number in range(n_queries)], sizes)
    y[qid == "q5"] = 0
    X[:, 4] = 7
    if missing:
        X[::11, 1] = np.nan
    mixed = rng.permutation(len(y))
    names = ["bm25", "age", "clicks", "length", "one"]
    return rw.Queries(X[mixed], y[mixed], qid[mixed], feature_names=names)


TRAIN, VALID = collection(0), collection(1)


def ndcg(scores, queries=VALID):
    return next(iter(rw.evaluate(scores, queries, "ndcg@10").means.values()))


@pytest.mark.peers
@pytest.mark.parametrize("loss", [*LOSSES, rw.losses.PreorderLoss("logistic", "unit")], ids=str)
@pytest.mark.parametrize("library", BOTH)
def test_losses_of_ours_are_learned_by_both(loss, library):
    ranker = rw.BoostedRanker(loss, library, **SMALL).fit(TRAIN)
    assert ranker.n_trees_ == 12
    assert ndcg(ranker.predict(VALID)) > ndcg(np.zeros(VALID.n_documents)) + 0.1


@pytest.mark.peers
@pytest.mark.parametrize(("loss", "library"), OF_LIBRARY)
def test_losses_of_the_libraries(loss, library):
    ranker = rw.BoostedRanker(loss, library, **SMALL).fit(TRAIN)
    assert ndcg(ranker.predict(VALID)) > ndcg(np.zeros(VALID.n_documents)) + 0.1


@pytest.mark.peers
def test_lambdarank_is_what_lightgbm_learns_itself():
    import lightgbm

    order = TRAIN.grouping.order
    options = {"num_leaves": 6, "min_data_in_leaf": 5, "learning_rate": 0.3, "lambda_l2": 1.0, "num_threads": 1}
    data = lightgbm.Dataset(TRAIN.X[order], TRAIN.y[order], group=TRAIN.sizes)
    options |= {"deterministic": True, "force_col_wise": True, "verbosity": -1}
    booster = lightgbm.train({"objective": "lambdarank", **options}, data, 12)
    ranker = rw.BoostedRanker("lambdarank", **SMALL).fit(TRAIN)
    np.testing.assert_allclose(ranker.predict(VALID), booster.predict(VALID.X), rtol=1e-12, atol=1e-12)
    again = lightgbm.Booster(model_str=ranker.text_)  # the text is LightGBM's own
    np.testing.assert_allclose(again.predict(VALID.X), ranker.predict(VALID), rtol=1e-12, atol=1e-12)


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_sparse_features_are_zeros_and_float32_is_taken(library):
    train, valid = collection(0, missing=False), collection(1, missing=False)
    names = train.feature_names
    as_csr = [
        rw.Queries(sp.csr_array(each.X), each.y, each.qid, feature_names=names) for each in (train, valid)
    ]  # fmt: skip
    dense = rw.BoostedRanker(library=library, **SMALL).fit(train, valid=valid)
    sparse = rw.BoostedRanker(library=library, **SMALL).fit(as_csr[0], valid=as_csr[1])
    np.testing.assert_allclose(sparse.predict(as_csr[1]), dense.predict(valid), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(dense.predict(as_csr[1]), dense.predict(valid), rtol=1e-12)
    single = rw.BoostedRanker(library=library, **SMALL).fit(train.X.astype(np.float32), train.y, train.qid)
    assert ndcg(single.predict(valid.X.astype(np.float32)), valid) > 0.8


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_blocks_of_sparse_rows_do_not_matter(library, monkeypatch):
    from rankwright.boosting import xgboost_rounds

    queries = rw.Queries(sp.csr_array(np.nan_to_num(TRAIN.X)), TRAIN.y, TRAIN.qid)
    at_once = rw.BoostedRanker(library=library, **SMALL).fit(queries)
    monkeypatch.setattr(xgboost_rounds, "_VALUES_PER_BLOCK", 500)
    in_blocks = rw.BoostedRanker(library=library, **SMALL).fit(queries)
    np.testing.assert_allclose(in_blocks.predict(queries), at_once.predict(queries), rtol=1e-4, atol=1e-4)


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_the_best_number_of_trees_is_kept(library):
    ranker = rw.BoostedRanker(library=library, measures="map, ndcg@5", **{**SMALL, "n_trees": 40})
    ranker.fit(TRAIN, valid=VALID)
    told = [value.mean for value in ranker.path_.valid[rw.AP]]
    assert len(ranker.path_) == len(told) == 40
    assert ranker.n_trees_ == int(np.argmax(told)) + 1
    (mean,) = rw.evaluate(ranker, VALID, "map").means.values()
    assert mean == pytest.approx(told[ranker.n_trees_ - 1], abs=1e-6)
    frame = ranker.path_.to_frame()
    assert list(frame.columns)[:2] == ["trees", "valid AP"]
    short = clone(ranker).set_params(patience=3).fit(TRAIN, valid=VALID)
    assert len(short.path_) <= 40
    assert len(short.path_) == 40 or len(short.path_) - short.n_trees_ == 3
    worst = clone(ranker).set_params(measures="pairwiseerror").fit(TRAIN, valid=VALID)
    errors = [value.mean for value in worst.path_.valid[rw.PairwiseError]]
    assert worst.n_trees_ == int(np.argmin(errors)) + 1


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_a_share_of_queries_chooses_and_all_are_learned_from(library):
    ranker = rw.BoostedRanker(library=library, validation_share=0.25, patience=4, **{**SMALL, "n_trees": 30})
    ranker.fit(TRAIN)
    assert ranker.n_trees_ <= len(ranker.path_) <= 30
    told = [value.mean for value in ranker.path_.valid[rw.nDCG @ 10]]
    assert ranker.n_trees_ == int(np.argmax(told)) + 1
    all_at_once = rw.BoostedRanker(library=library, **{**SMALL, "n_trees": ranker.n_trees_}).fit(TRAIN)
    np.testing.assert_array_equal(ranker.predict(VALID), all_at_once.predict(VALID))


@pytest.mark.peers
def test_queries_without_weight_do_not_choose_the_number_of_trees():
    made = collection(3, 60)
    weights = (np.arange(60) % 3 > 0).astype(float)
    opposite = np.where(np.repeat(weights == 0, made.sizes)[np.argsort(made.grouping.order)], 3 - made.y, made.y)
    other = rw.Queries(made.X, opposite, made.qid)
    ranker = rw.BoostedRanker(validation_share=0.3, **SMALL)
    one, another = (clone(ranker).fit(queries, sample_weight=weights) for queries in (made, other))
    assert one.path_.valid == another.path_.valid
    assert clone(ranker).set_params(validation_share=0.2).fit(made, sample_weight=weights).path_.valid == {}  # too few
    with pytest.raises(rw.ParameterError, match="validation_share holds out fewer than 10"):
        clone(ranker).set_params(validation_share=0.2, patience=2).fit(made, sample_weight=weights)


@pytest.mark.peers
def test_without_a_seed_each_forest_is_another():
    ranker = rw.BoostedRanker(feature_share=0.4, random_state=None, **SMALL)
    first, second = (clone(ranker).fit(TRAIN).predict(VALID) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_equal_seeds_give_equal_trees_whatever_the_threads(library, monkeypatch):
    drawn = rw.BoostedRanker(library=library, query_share=0.5, feature_share=0.5, random_state=3, **SMALL)
    first = clone(drawn).fit(TRAIN)
    monkeypatch.setenv("RANKWRIGHT_THREADS", "2")
    np.testing.assert_array_equal(clone(drawn).fit(TRAIN).predict(VALID), first.predict(VALID))
    other = clone(drawn).set_params(random_state=4).fit(TRAIN)
    assert np.abs(other.predict(VALID) - first.predict(VALID)).max() > 1e-3
    assert ndcg(first.predict(VALID)) > ndcg(np.zeros(VALID.n_documents)) + 0.1


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_a_weight_is_a_number_of_copies(library):
    made = collection(2)
    rounded = np.clip(np.round(2 * made.X), -4, 4) / 2  # so that bins of features do not depend on copies
    queries = rw.Queries(rounded, made.y, made.qid)
    copies = np.arange(queries.n_queries) % 3
    ranker = rw.BoostedRanker("preorder", library, n_trees=5, leaves=4, min_documents=1, l2=0.0)
    weighed = clone(ranker).fit(queries, sample_weight=copies)
    order, offsets = queries.grouping.order, queries.grouping.offsets
    rows = np.concatenate([np.tile(order[offsets[q] : offsets[q + 1]], n) for q, n in enumerate(copies.tolist())])
    repeated = clone(ranker).fit(queries.X[rows], queries.y[rows], group=np.repeat(queries.sizes, copies))
    unweighed = clone(ranker).fit(queries)
    np.testing.assert_allclose(weighed.predict(rounded), repeated.predict(rounded), rtol=1e-3, atol=1e-3)
    assert np.abs(unweighed.predict(rounded) - repeated.predict(rounded)).max() > 0.01


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_other_supervision(library):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    places = np.concatenate([np.argsort(np.argsort(-X[start : start + 10, 0])) + 1 for start in range(0, 60, 10)])
    ranking = rw.Queries(X, rw.FullRanking(places), group=[10] * 6)
    options = {**SMALL, "min_documents": 2}
    by_ranking = rw.BoostedRanker("ranksvm", library, measures=None, **options).fit(ranking)
    graph = rw.PreferenceGraph(60, preferred=np.argsort(-X[:10, 0])[:9], other=np.argsort(-X[:10, 0])[1:])
    by_graph = rw.BoostedRanker("ranksvm", library, measures=None, **options)
    by_graph.fit(rw.Queries(X, graph, group=[10] * 6))
    for ranker in (by_ranking, by_graph):
        assert np.corrcoef(ranker.predict(X[:10]), X[:10, 0])[0, 1] > 0.6
    name = "lambdarank" if library == "lightgbm" else "rank:ndcg"
    with pytest.raises(rw.DataError, match=f"loss '{name}' takes grades, but the queries have a full ranking"):
        rw.BoostedRanker(name, library).fit(ranking)
    with pytest.raises(rw.DataError, match=r"row 1: the grade is 0\.5, but loss '.*' takes whole numbers up to 30"):
        rw.BoostedRanker(name, library).fit(X[:2], [1, 0.5])


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_files_are_read_and_predicted_without_the_library(library, tmp_path, monkeypatch):
    ranker = rw.BoostedRanker(library=library, **SMALL).fit(TRAIN, valid=VALID)
    rw.save_model(ranker, tmp_path / "model.json")
    monkeypatch.setitem(sys.modules, library, None)
    model = rw.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(model.predict(VALID), ranker.predict(VALID))
    assert model.ranker_ == "BoostedRanker"
    assert set(model.used_features()) <= {0, 1, 2, 3}
    copied = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(copied.predict(VALID), ranker.predict(VALID))
    with pytest.raises(NotFittedError):
        clone(ranker).model()


@pytest.mark.peers
def test_progress_and_data_that_leave_nothing_to_split():
    told = []
    rw.BoostedRanker(**SMALL).fit(TRAIN, progress=told.append)
    assert [now.done for now in told] == list(range(1, 13))
    assert {now.total for now in told} == {12}
    for library in BOTH:
        constant = rw.BoostedRanker(library=library, **SMALL).fit(
            np.ones((30, 2)), np.arange(30) % 3, np.arange(30) % 4
        )
        assert np.ptp(constant.predict(np.random.default_rng(0).standard_normal((9, 2)))) == 0


@pytest.mark.peers
def test_leaves_that_lightgbm_cannot_fill_are_told(monkeypatch):
    from rankwright.boosting import lightgbm_rounds

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 3, 60)
    ranker = rw.BoostedRanker("structured", n_trees=5, min_documents=1, query_share=0.5)
    assert ranker.fit(X, y, group=[15] * 4).n_trees_ == 5
    monkeypatch.setattr(lightgbm_rounds, "_LEAST_CURVATURE", 0.0)
    with pytest.raises(rw.ParameterError, match="min_documents does not suit these data: lightgbm made a leaf"):
        ranker.fit(X, y, group=[15] * 4)


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_errors_of_a_library_have_its_message(library):
    module = pytest.importorskip(library)
    raised = module.basic.LightGBMError if library == "lightgbm" else module.core.XGBoostError
    options = {"leaves": 200_000} if library == "lightgbm" else {"l2": 1e300}
    with pytest.raises(rw.RankwrightError, match=f"{library} could not grow trees: ") as told:
        rw.BoostedRanker(library=library, **options).fit(TRAIN)
    assert isinstance(told.value.__cause__, raised)


@pytest.mark.peers
@pytest.mark.parametrize("library", BOTH)
def test_errors_of_a_callback_are_left_alone(library):
    def stop(_):
        raise ValueError("enough")

    with pytest.raises(ValueError, match=r"^enough$"):
        rw.BoostedRanker(library=library, **SMALL).fit(TRAIN, progress=stop)


def test_what_is_refused():
    X, y = np.ones((4, 2)), [0, 1, 0, 2]
    for parameters, message in (
        ({"library": "catboost"}, "library must be one of 'lightgbm', 'xgboost', not 'catboost'"),
        ({"loss": "ndcg"}, "loss must be one of 'squared'"),
        ({"loss": "rank:ndcg"}, "set library='xgboost'"),
        ({"n_trees": 0}, "n_trees must be a whole number"),
        ({"leaves": 1}, "leaves must be a whole number from 2"),
        ({"depth": 0}, "depth must be a whole number"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0"),
        ({"query_share": 1.5}, "query_share must be a number from 0 to 1"),
        ({"query_share": 0.5, "loss": "lambdarank"}, "query_share=0.5 needs a loss of ours, such as 'preorder'"),
        ({"query_share": 0.5, "loss": "rank:ndcg", "library": "xgboost"}, "query_share=0.5 needs a loss of ours"),
        ({"feature_share": 0}, "feature_share must be a finite number above 0"),
        ({"l2": -1}, "l2 must be a finite number of at least 0"),
        ({"validation_share": 1}, "validation_share must be a number from 0 to 0.9"),
        ({"random_state": "x"}, "random_state must be a whole number from 0 to 4294967295, or None"),
        ({"patience": 5}, "patience needs a measure and validation queries"),
    ):
        with pytest.raises(rw.ParameterError, match=message.replace("(", r"\(")):
            rw.BoostedRanker(**parameters).fit(X, y, group=[2, 2])
    with pytest.raises(rw.DataError, match=r"row 2 .*feature 'f2': the value is inf, but trees need finite numbers"):
        rw.BoostedRanker().fit(np.where(np.arange(8).reshape(4, 2) == 5, np.inf, 1.0), y, group=[2, 2])
    with pytest.raises(rw.DataError, match=r"the value is 1e\+300, but XGBoost's trees need numbers of float32"):
        rw.BoostedRanker(library="xgboost").fit(np.where(np.arange(8).reshape(4, 2) == 5, 1e300, 1.0), y, group=[2, 2])


@pytest.mark.parametrize("library", BOTH)
def test_a_library_that_is_not_installed_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(rw.ParameterError, match=rf"library='{library}' is not installed: pip install 'rankwright\["):
        rw.BoostedRanker(library=library).fit(TRAIN)


# Weighing rows is no weighing of pairs; the checks give every row a weight of its own.
EXCEPTIONS = dict.fromkeys(
    [
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "rows of one query have different weights, but a pair of documents has only one: whole queries weigh",
)


@pytest.mark.peers
@parametrize_with_checks(
    [rw.BoostedRanker(library=library, n_trees=3, min_documents=2) for library in BOTH],
    expected_failed_checks=lambda _: EXCEPTIONS,
)
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tiny data may leave nothing to learn
        check(estimator)
