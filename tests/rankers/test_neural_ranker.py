"""NeuralRanker: what it learns, keeps, refuses and repeats; its model against its own scores."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwright as rw
from rankwright.losses import LOSSES, OrderPreservingLoss, PreorderLoss
from rankwright.models.network_model import NetworkModel

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch", reason="no PyTorch: pip install 'rankwright[torch]'")


def curved(seed=0, n_queries=150, size=12):
    """Relevance is a product of two features, in which no linear ranker sees anything."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_queries * size, 5))
    worth = x[:, 0] * x[:, 1] + 0.1 * rng.standard_normal(len(x))
    y = np.digitize(worth, [0.3, 1.0]).astype(float)
    return rw.Queries(x, y, np.repeat(np.arange(n_queries), size))


def dirty(seed=0, rows=240):
    """Mixed rows, text ids, a query of one document, one without relevant documents, a constant column, NaN."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 4)) * [1, 100, 1, 1e-3] + [0, 1e4, 0, 0]
    qid = rng.choice([f"q{number}" for number in range(12)], rows)
    qid[5] = "alone"
    y = np.clip(np.round(x[:, 0] + (x[:, 1] - 1e4) / 100), 0, 3)
    y[qid == "q3"] = 0
    x[:, 2] = 7.0
    x[rng.random(rows) < 0.2, 3] = np.nan
    x[rng.random(rows) < 0.1, 0] = np.nan
    return x, y, qid


def small(**changed):
    return rw.NeuralRanker(**{"hidden": (8,), "epochs": 3, **changed})


def test_it_learns_what_no_linear_ranker_can():
    train, test = curved(0), curved(1)
    linear = rw.RankSVM(1.0).fit(train).score(test)
    neural = rw.NeuralRanker(epochs=15).fit(train).score(test)
    assert linear < 0.7
    assert neural > 0.9


@pytest.mark.parametrize("loss", [*LOSSES, PreorderLoss("logistic", "gain-per-query")], ids=str)
def test_every_loss_trains(loss):
    train, test = curved(0), curved(1)
    ranker = small(loss=loss, hidden=(16,), epochs=10, learning_rate=0.01).fit(train)
    (path,) = ranker.paths_
    assert path.losses[-1] < path.losses[0]
    assert ranker.score(test) > rw.evaluate(np.zeros(test.n_documents), test, "ndcg@10").means[rw.nDCG @ 10] + 0.05


@pytest.mark.parametrize("scaling", ["standard", "log", "quantile", "within-query"])
@pytest.mark.parametrize("missing", ["mean", "query-mean"])
def test_every_scaling_on_dirty_data(scaling, missing, tmp_path):
    x, y, qid = dirty()
    dense, sparse = rw.Queries(x, y, qid), rw.Queries(sp.csr_array(x), y, qid)
    ranker = small(scaling=scaling, missing=missing).fit(dense)
    scores = ranker.predict(dense)
    assert np.isfinite(scores).all()
    assert 2 not in ranker.model().used_features()  # constant, so nothing is known of it
    np.testing.assert_allclose(ranker.predict(sparse), scores, rtol=1e-9, atol=1e-9)
    of_sparse = small(scaling=scaling, missing=missing).fit(sparse)
    np.testing.assert_allclose(of_sparse.predict(dense), scores, atol=1e-3 * np.abs(scores).max())
    rw.save_model(ranker, tmp_path / "model.json")
    read = rw.load_model(tmp_path / "model.json")
    assert isinstance(read, NetworkModel)
    np.testing.assert_array_equal(read.predict(dense), scores)


@pytest.mark.parametrize("scaling", ["standard", "log", "quantile", "within-query"])
def test_the_folded_network_is_the_one_that_was_trained(scaling):
    """What measures said of the kept epoch, by PyTorch on scaled columns, holds of NumPy on features as they are."""
    x, y, qid = dirty()
    queries = rw.Queries(x, y, qid)
    valid = rw.Queries(*dirty(1))
    ranker = small(scaling=scaling, measures="ndcg@10, map").fit(queries, valid=valid)
    (path,) = ranker.paths_
    for measure, told in ranker.valid_.items():
        assert told == path.valid[measure][path.kept - 1]
        assert rw.evaluate(ranker, valid, measure).means[measure] == pytest.approx(told.mean, abs=1e-3)


def test_the_best_epoch_is_kept():
    train, valid = curved(0), curved(1)
    ranker = rw.NeuralRanker((32,), epochs=12, learning_rate=0.05, measures="map").fit(train, valid=valid)
    (path,) = ranker.paths_
    (told,) = path.valid.values()
    assert path.kept == 1 + int(np.argmax([value.mean for value in told]))
    assert len(path) == 12
    assert ranker.score(valid) == pytest.approx(max(value.mean for value in told), abs=1e-6)
    frame = path.to_frame()
    assert list(frame.columns) == ["epoch", "loss", "valid AP", "valid AP standard error"]


def test_patience_ends_training():
    train, valid = curved(0), curved(1)
    ranker = rw.NeuralRanker((32,), epochs=60, learning_rate=0.05, patience=2).fit(train, valid=valid)
    (path,) = ranker.paths_
    assert len(path) == path.kept + 2 < 60


def test_queries_are_held_out_where_there_are_enough():
    ranker = small(validation_share=0.2).fit(curved())
    assert len(ranker.paths_[0].valid[rw.nDCG @ 10]) == 3
    few = small(validation_share=0.2).fit(curved(n_queries=20))
    assert few.valid_ == few.paths_[0].valid == {}
    assert few.paths_[0].kept == 3
    assert small(validation_share=0).fit(curved()).valid_ == {}


@pytest.mark.parametrize("hidden", [(), (8,), (8, 6, 4)])
def test_members_are_averaged(hidden):
    train, valid = curved(0, n_queries=40), curved(1, n_queries=20)
    told = []
    ranker = small(hidden=hidden, members=3).fit(train, valid=valid, progress=told.append)
    assert [one.done for one in told] == list(range(1, 10))
    assert len(ranker.paths_) == 3
    assert len({path.losses[0] for path in ranker.paths_}) == 3
    assert [len(biases) for _, biases in ranker.network_.layers] == [*(3 * width for width in hidden), 1]
    for measure, value in ranker.valid_.items():
        assert rw.evaluate(ranker, valid, measure).means[measure] == pytest.approx(value.mean, abs=1e-3)


def test_a_seed_decides_everything():
    queries, x = curved(), curved(1).X
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = small(dropout=0.2, random_state=3).fit(queries).predict(x)
    assert torch.equal(torch.random.get_rng_state(), before)  # nobody else's random numbers have changed
    torch.manual_seed(99)
    np.testing.assert_array_equal(small(dropout=0.2, random_state=3).fit(queries).predict(x), first)
    assert np.abs(small(dropout=0.2, random_state=4).fit(queries).predict(x) - first).max() > 1e-3


def test_without_a_seed_each_training_is_another():
    queries = curved(n_queries=20)
    first, second = (small(random_state=None).fit(queries).predict(queries) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3


def test_a_query_without_weight_is_not_there():
    queries = curved(n_queries=40)
    weights = np.ones(40)
    weights[::4] = 0
    weighed = small(validation_share=0, scaling="within-query").fit(queries, sample_weight=weights)
    noisy = np.array(queries.y)
    noisy[np.repeat(weights == 0, 12)] = 2 - noisy[np.repeat(weights == 0, 12)]
    other = rw.Queries(queries.X, noisy, queries.qid)
    same = small(validation_share=0, scaling="within-query").fit(other, sample_weight=weights)
    np.testing.assert_array_equal(same.predict(queries), weighed.predict(queries))
    scaled = small(validation_share=0, scaling="within-query").fit(queries, sample_weight=3 * weights)
    np.testing.assert_allclose(scaled.predict(queries), weighed.predict(queries), atol=1e-4)  # only ratios count


def test_rows_frames_and_names():
    import pandas as pd

    queries = curved(n_queries=30)
    frame = pd.DataFrame(queries.X, columns=list("abcde"))
    ranker = small().fit(frame, queries.y, queries.qid)
    assert ranker.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(ranker.predict(frame), small().fit(queries).predict(queries))
    assert small().fit(queries.X, queries.y, group=[12] * 30).n_features_in_ == 5
    assert pickle.loads(pickle.dumps(ranker)).predict(frame).tolist() == ranker.predict(frame).tolist()


def test_no_hidden_layer_is_a_linear_ranker():
    queries = rw.datasets.make_queries(60, seed=0).queries
    network = rw.NeuralRanker((), scaling="standard", epochs=5).fit(queries).network_
    assert len(network.layers) == 1
    assert network.layers[0].weights.shape == (queries.n_features, 1)


def test_rankings_and_graphs():
    queries = curved(n_queries=30)
    order = np.lexsort((-queries.X[:, 0], queries.qid))
    ranks = np.empty(len(order), int)
    ranks[order] = np.tile(np.arange(1, 13), 30)
    ranked = rw.Queries(queries.X, rw.FullRanking(ranks), queries.qid)
    loss = OrderPreservingLoss(standardize="zero-one")
    ranker = small(loss=loss, measures="kendalltau", epochs=10, learning_rate=0.05).fit(ranked)
    assert ranker.score(ranked) > 0.5
    fitted = small(loss="ranksvm", measures="wpd", epochs=30, learning_rate=0.05).fit(graphs(0))
    unseen = graphs(1)
    scores, edges = fitted.predict(unseen), unseen.supervision
    assert (scores[edges.preferred] > scores[edges.other]).mean() > 0.8


def graphs(seed):
    """In each query, one edge from the document with more of the first feature to its neighbour."""
    queries = curved(seed, n_queries=60)
    one = np.arange(0, queries.n_documents, 12)
    is_more = queries.X[one, 0] > queries.X[one + 1, 0]
    preferred, other = np.where(is_more, one, one + 1), np.where(is_more, one + 1, one)
    return rw.Queries(queries.X, rw.PreferenceGraph(queries.n_documents, preferred, other), queries.qid)


def test_progress_is_told():
    told = []
    small().fit(curved(n_queries=20), progress=told.append)
    assert [str(one) for one in told] == ["training, 1/3", "training, 2/3", "training, 3/3"]


def test_seen_queries_are_known_again():
    queries = curved(n_queries=40)
    ranker = small().fit(queries[:25])
    assert rw.theory.certificate(ranker, queries[25:]).guaranteed
    assert not rw.theory.certificate(ranker, queries[20:]).guaranteed


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"hidden": 64}, "hidden must be the widths"),
        ({"hidden": (0,)}, "hidden: a width must be a whole number of at least 1"),
        ({"loss": "lambdarank"}, "loss must be one of"),
        ({"activation": "gelu"}, "activation must be one of"),
        ({"scaling": "minmax"}, "scaling must be one of"),
        ({"missing": "zero"}, "missing must be one of"),
        ({"dropout": 1.0}, "dropout must be a number from 0 to 0.99"),
        ({"weight_decay": -1}, "weight_decay must be a finite number of at least 0"),
        ({"learning_rate": 0}, "learning_rate must be a finite number above 0"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"epochs": 1.5}, "epochs must be"),
        ({"random_state": -1}, "random_state must be a whole number from 0 to 4294967295, or None"),
        ({"validation_share": 1.0}, "validation_share must be"),
        ({"patience": 3}, "patience needs a measure"),
    ],
)
def test_bad_parameters(changed, problem):
    with pytest.raises(rw.ParameterError, match=problem):
        small(**changed).fit(curved(n_queries=3))


def test_bad_data(tmp_path):
    queries = curved(n_queries=20)
    rw.write_queries(queries, tmp_path / "train.txt")
    with pytest.raises(rw.ParameterError, match="NeuralRanker needs all documents in memory"):
        small().fit(rw.open_queries(tmp_path / "train.txt"))
    x = np.array(queries.X)
    x[7, 1] = np.inf
    with pytest.raises(rw.DataError, match=r"row 7 .*'f2'.* inf"):
        small().fit(x, queries.y, queries.qid)
    with pytest.raises(rw.DataError, match="training diverged in epoch"):
        small(learning_rate=1e30, hidden=(8, 8), validation_share=0).fit(queries)
    with pytest.raises(rw.DataError, match="no documents to learn from"):
        small().fit(queries[:0])


def test_a_ranker_that_is_not_fitted():
    with pytest.raises(rw.ParameterError, match="this NeuralRanker is not fitted yet"):
        rw.save_model(rw.NeuralRanker(), "never.json")


# scikit-learn's own checks

_ROW_WEIGHTS = "rows of one query have different weights, but a pair of documents has only one: whole queries weigh"
EXCEPTIONS = dict.fromkeys(
    [
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    _ROW_WEIGHTS,
)


@parametrize_with_checks(
    [rw.NeuralRanker((4,), epochs=2, batch_size=4)], expected_failed_checks=lambda estimator: EXCEPTIONS
)
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


def test_it_is_cloned():
    ranker = small(loss=PreorderLoss("logistic"))
    assert clone(ranker).get_params() == ranker.get_params()
