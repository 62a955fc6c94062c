"""Where a model can go: asked of the export itself."""

import numpy as np
import pytest

import rankwright as rw
from rankwright import export
from rankwright.errors import ParameterError
from rankwright.export.exporting import TARGETS
from rankwright.export.takers import targets_for


@pytest.fixture(name="queries")
def made_queries():
    made = rw.datasets.make_queries(20, 8, 4, n_informative=2, n_correlated=1, seed=1, dtype=np.float64).queries
    names = ["bm25", "a name with spaces", "c", "d"]
    return rw.Queries(made.X, made.y, made.qid, feature_names=names)


def test_whoever_adds_a_target_finds_every_kind_of_content():
    own = (kind for kind in export.Content.__subclasses__() if kind.__module__.startswith("rankwright."))
    kinds = {kind.__name__ for kind in own}
    assert kinds <= set(export.__all__)
    assert {kind.__name__ for target in TARGETS.values() for kind in target.writers} <= set(export.__all__)


def test_plain_weights_go_everywhere_whatever_features_are_called(queries):
    assert targets_for(rw.RankRLS().fit(queries).model()) == tuple(TARGETS)


def test_targets_are_those_that_do_not_refuse(queries):
    X = queries.X.copy()
    X[3, 1] = np.nan
    missing = rw.Queries(X, queries.y, queries.qid, feature_names=queries.feature_names)
    model = rw.fit(missing, rankers=["rankrls"], missing="query-mean", folds=2).model
    found = targets_for(model)
    assert "sql" in found  # which has to be told the column of query ids
    assert "solr" not in found
    with pytest.raises(ParameterError):
        rw.export_model(model, "solr")


def test_a_model_that_cannot_rank_goes_nowhere(queries):
    flat = rw.Queries(np.ones_like(queries.X), queries.y, queries.qid)
    model = rw.RankRLS().fit(flat).model()
    assert targets_for(model) == ()
