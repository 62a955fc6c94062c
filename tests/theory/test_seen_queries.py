"""A certificate is for queries that the ranker has not seen: those that it has make it an estimate, which says so."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.data import fingerprints
from rankwright.data.fingerprints import query_fingerprints, sketch_of, sketched
from rankwright.theory.certificates import certificate


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    return rw.datasets.make_queries(60, 8, 6, n_informative=3, n_correlated=2, seed=5, dtype=np.float64).queries


@pytest.fixture(scope="module", name="ranker")
def fitted_ranker(queries):
    return rw.RankRLS().fit(queries[:30])


def changed(queries, **parts):
    """The same queries with something else about them."""
    told = {"X": queries.X, "y": queries.y, "qid": queries.qid} | parts
    return rw.Queries(told["X"], told["y"], told["qid"])


def assert_is_estimate(found, *words):
    assert not found.guaranteed
    assert str(found).startswith("Estimate only: on new queries ")
    assert "◀ estimate" in str(found)
    assert "◀ certified" not in str(found)
    assert found.to_dict()["guaranteed"] is False
    for word in words:
        assert any(word in note for note in found.notes), found.notes


# Rankers


def test_training_queries_give_an_estimate(ranker, queries):
    assert certificate(ranker, queries[30:]).guaranteed
    assert_is_estimate(
        certificate(ranker, queries[:30]), "the ranker was trained on these queries (30 of 30 recognised)"
    )


def test_one_training_query_among_others_is_enough(ranker, queries):
    found = certificate(ranker, queries[29:])
    assert_is_estimate(found, "trained on these queries (1 of 31 recognised)")
    with_gain = certificate(np.zeros(queries[29:].n_documents), queries[29:], baseline=ranker)
    assert_is_estimate(with_gain, "the baseline was trained on these queries (1 of 31 recognised)")


@pytest.mark.parametrize(
    "change",
    [
        lambda q: changed(q, X=sp.csr_array(q.X)),
        lambda q: changed(q, X=q.X.astype(np.float32)),
        lambda q: changed(q, qid=[f"other {one}" for one in q.qid]),
        lambda q: q[np.arange(len(q))[::-1]],
        lambda q: changed(q, X=np.hstack([q.X, np.zeros((q.n_documents, 2))])),
    ],
    ids=["CSR", "float32", "renamed", "in another order", "features that are 0 added"],
)
def test_queries_are_known_again_in_another_form(queries, change):
    train = queries[:30]
    assert set(query_fingerprints(change(train))) == set(query_fingerprints(train))


@pytest.fixture(name="with_missing")
def queries_with_missing_values(queries):
    X = queries.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.35] = np.nan
    X[:, 2] = np.nan
    return changed(queries[:30], X=X[: queries[:30].n_documents])


def text_of(queries, spelling):
    """LETOR text, written plainly, with another spelling of missing values than our own."""
    rows = zip(queries.y.tolist(), queries.qid.tolist(), queries.X.tolist(), strict=True)
    cells = (
        (grade, query, " ".join(f"{j}:{spelling if x != x else repr(x)}" for j, x in enumerate(row, 1)))
        for grade, query, row in rows
    )
    return "".join(f"{grade} qid:{query} {told}\n" for grade, query, told in cells)


def test_missing_values_are_known_again_in_every_form(with_missing, tmp_path):
    """Whatever the bits of NaN are, and whichever file or array they come from."""
    expected = query_fingerprints(with_missing)
    assert len(expected) == len(with_missing)
    (tmp_path / "data.txt").write_text(text_of(with_missing, "N/A"))
    other_bits = np.where(np.isnan(with_missing.X), -np.float64(np.nan), with_missing.X)
    rw.write_parquet(with_missing, tmp_path / "data.parquet")
    forms = {
        "text": rw.read_svmlight(tmp_path / "data.txt", sparse=False),
        "text as CSR": rw.read_svmlight(tmp_path / "data.txt", sparse=True),
        "Parquet": rw.read_parquet(tmp_path / "data.parquet"),
        "frame": rw.from_frame(with_missing.to_frame("pandas")),
        "other bits": changed(with_missing, X=other_bits),
        "CSR": changed(with_missing, X=sp.csr_array(other_bits)),
        "in another order": changed(
            with_missing, X=with_missing.X[::-1], y=with_missing.y[::-1], qid=with_missing.qid[::-1]
        ),
    }
    for name, form in forms.items():
        np.testing.assert_array_equal(query_fingerprints(form), expected, err_msg=name)


def test_missing_values_are_not_zeros(with_missing):
    filled = changed(with_missing, X=np.nan_to_num(with_missing.X))
    assert not set(query_fingerprints(filled)) & set(query_fingerprints(with_missing))


def test_other_queries_are_not_taken_for_them(queries):
    train = queries[:30]
    y = train.y.copy()
    y[0] += 1  # of the first query
    assert np.isin(query_fingerprints(changed(train, y=y)), query_fingerprints(train)).sum() == 29
    moved = changed(train, X=train.X + 1e-3)
    assert not np.isin(query_fingerprints(moved), query_fingerprints(train)).any()


def test_documents_and_named_features_may_stand_in_another_order(queries):
    train, names = queries[:30], [f"feature {j}" for j in range(6)]
    mixed = np.random.default_rng(0).permutation(train.n_documents)
    shuffled = changed(train, X=train.X[mixed], y=train.y[mixed], qid=train.qid[mixed])
    assert set(query_fingerprints(shuffled)) == set(query_fingerprints(train))
    ranker = rw.RankRLS().fit(rw.Queries(train.X, train.y, train.qid, feature_names=names))
    turned = rw.Queries(train.X[:, ::-1], train.y, train.qid, feature_names=names[::-1])
    assert_is_estimate(certificate(ranker, turned), "(30 of 30 recognised)")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_features_that_are_not_finite_do_no_harm(queries, layout, bad):
    X = queries.X.copy()
    X[::5, 1] = bad
    assert len(query_fingerprints(changed(queries, X=layout(X)))) == len(queries)


def test_rows_of_a_query_need_not_stand_together(queries):
    mixed = np.argsort(np.arange(queries.n_documents) % 7, kind="stable")
    apart = changed(queries, X=queries.X[mixed], y=queries.y[mixed], qid=queries.qid[mixed])
    together = apart[np.arange(len(apart))]
    np.testing.assert_array_equal(query_fingerprints(apart), query_fingerprints(together))


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_it_does_not_matter_how_many_rows_are_looked_at_at_a_time(queries, layout, monkeypatch):
    stored = changed(queries, X=layout(queries.X))
    expected = query_fingerprints(stored)
    assert len(expected) == len(queries)
    monkeypatch.setattr(fingerprints, "_VALUES_AT_A_TIME", 40)
    np.testing.assert_array_equal(query_fingerprints(stored), expected)


def test_queries_whose_features_are_all_0_say_nothing():
    empty = rw.Queries(np.zeros((4, 3)), [0, 0, 1, 0], qid=[1, 1, 2, 2])
    assert len(query_fingerprints(empty)) == 0
    assert len(query_fingerprints(rw.Queries(None, [0, 1]))) == 0


def test_validation_queries_give_an_estimate(queries):
    ranker = rw.RankRLS(alpha=rw.search(0.1, 10.0)).fit(queries[:30], valid=queries[30:45])
    found = certificate(ranker, queries[30:45])
    assert_is_estimate(found, "the ranker was chosen by these queries (15 of 15 recognised)")
    assert certificate(ranker, queries[45:]).guaranteed


def test_a_ranker_fitted_again_forgets_and_a_stream_does_not(queries):
    ranker = rw.RankSVM(alpha=1.0).fit(queries[:30])
    ranker.fit(queries[30:])
    assert certificate(ranker, queries[:30]).guaranteed
    stream = rw.RankSVM(alpha=1.0).partial_fit(queries[:20]).partial_fit(queries[20:30])
    assert_is_estimate(certificate(stream, queries[:5]), "trained on these queries (5 of 5 ")
    assert certificate(stream, queries[30:]).guaranteed


def test_a_copy_remembers(ranker, queries):
    assert_is_estimate(certificate(pickle.loads(pickle.dumps(ranker)), queries[:30]))


@pytest.mark.parametrize("kind", [rw.RankBoost, rw.RegressionRanker, rw.KernelRankRLS, rw.GreedyRankRLS])
def test_every_kind_of_ranker_remembers(kind, queries):
    ranker = (kind(n_features=2) if kind is rw.GreedyRankRLS else kind()).fit(queries[:10])
    assert_is_estimate(certificate(ranker, queries[:10]), "trained on these queries (10 of 10 ")
    assert certificate(ranker, queries[10:]).guaranteed


# Pipelines and searches


@pytest.mark.parametrize("scaler", [StandardScaler, rw.GlobalStandardScaler])
def test_a_pipeline_is_looked_into(queries, scaler):
    X, y, qid = queries[:30].X, queries[:30].y, queries[:30].qid
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(scaler(), rw.RankRLS()).fit(X, y, qid=qid)
    assert_is_estimate(certificate(pipeline, queries[29:]), "trained on these queries (1 of 31 recognised)")
    assert certificate(pipeline, queries[30:]).guaranteed
    alone = make_pipeline(rw.RankRLS().fit(queries[:30]))
    assert_is_estimate(certificate(alone, queries[:30]), "(30 of 30 recognised)")


def test_a_search_over_parameters_is_looked_into(queries):
    X, y, qid = queries[:30].X, queries[:30].y, queries[:30].qid
    with config_context(enable_metadata_routing=True):
        found = GridSearchCV(rw.RankRLS(), {"alpha": [0.1, 1.0]}, cv=3).fit(X, y, qid=qid)
    assert_is_estimate(certificate(found, queries[:30]), "(30 of 30 recognised)")
    assert certificate(found, queries[30:]).guaranteed


# Model files


@pytest.mark.parametrize("kind", [rw.RankRLS, rw.RankBoost])
def test_a_model_file_remembers(kind, queries, tmp_path):
    ranker = kind().fit(queries[:30])
    rw.save_model(ranker, tmp_path / "model.json")
    rw.save_model(rw.load_model(tmp_path / "model.json"), tmp_path / "again.json")
    for name in ("model.json", "again.json"):
        model = rw.load_model(tmp_path / name)
        for seen in (model, model.cut_to(5).cut_to(4)):
            narrow = changed(queries, X=queries.X[:, : seen.n_features_in_])
            train = rw.Queries(queries[:30].X[:, : seen.n_features_in_], queries[:30].y, queries[:30].qid)
            if seen is model:
                assert_is_estimate(certificate(seen, train), "trained on these queries (30 of 30 recognised)")
            assert certificate(seen, narrow[30:]).guaranteed
        assert_is_estimate(certificate(model, queries[10:]), "the ranker was trained on these queries (")


def test_a_sample_of_many_queries_is_kept():
    queries = rw.datasets.make_queries(600, 3, 2, n_informative=1, n_correlated=0, seed=1).queries
    numbers = query_fingerprints(queries)
    kept = sketched(sketch_of(numbers))
    assert len(kept) == 256
    assert set(kept) == set(sorted(numbers)[:256])


@pytest.mark.parametrize("layout", [np.asarray, np.float32, sp.csr_array], ids=["float64", "float32", "CSR"])
def test_a_model_behind_a_scaler_knows_scaled_queries(queries, tmp_path, layout):
    scaler = rw.GlobalStandardScaler(with_mean=layout is not sp.csr_array)
    train, test = (changed(part, X=layout(part.X)) for part in (queries[:30], queries[30:]))
    ranker = rw.RankRLS().fit(scaler.fit(train).transform(train))
    rw.save_model(ranker, tmp_path / "model.json", scaler=scaler)
    model = rw.load_model(tmp_path / "model.json")
    assert_is_estimate(certificate(model, train), "trained on these queries (30 of 30 recognised)")
    assert certificate(model, test).guaranteed
    few = rw.GreedyRankRLS(n_features=2).fit(scaler.transform(train))
    rw.save_model(few, tmp_path / "few.json", scaler=scaler)
    assert "seen" not in json.loads((tmp_path / "few.json").read_text())  # it has the scale of two features only


@pytest.mark.parametrize(
    "seen",
    [None, 7, {"test": ""}, {"train": "no digits"}, {"train": "-00000000000000f"}, {"valid": "abc"}, {"train": 7}],
)
def test_a_file_that_says_it_otherwise_is_refused(ranker, tmp_path, seen):
    path = tmp_path / "model.json"
    rw.save_model(ranker, path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "seen": seen}))
    with pytest.raises(rw.ParseError, match="seen"):
        rw.load_model(path)


# fit


def test_without_test_queries_a_fit_gives_estimates(queries):
    for parts, reason in (({"folds": 3}, "cross-validation"), ({"valid": queries[40:]}, "used to choose the model")):
        result = rw.fit(queries[:40], rankers=["rankrls"], **parts)
        for found in result.certificates:
            assert_is_estimate(found, reason)
        assert "Estimate only: these queries were also used to choose the model. Pass test=…" in str(result)


def test_with_test_queries_a_fit_is_certified_unless_it_has_seen_them(queries):
    result = rw.fit(queries[:40], test=queries[40:], rankers=["rankrls"], folds=3)
    assert all(found.guaranteed for found in result.certificates)
    assert "Estimate" not in str(result)
    assert_is_estimate(certificate(result.model, queries[:40]), "trained on these queries (40 of 40 ")
    again = rw.fit(queries[:40], test=queries[30:], rankers=["rankrls"], folds=3)
    for found in again.certificates:
        assert_is_estimate(found, "trained on these queries (10 of 30 ")
    assert "Estimate only: the ranker was trained on these queries (10 of 30 recognised)." in str(again)
    chosen = rw.fit(queries[:30], valid=queries[30:40], test=queries[30:], rankers=["rankrls"])
    assert_is_estimate(chosen.certificates[0], "the ranker was chosen by these queries (10 of 30 recognised)")
