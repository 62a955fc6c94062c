"""A ranker that was trained on Dask is used like one trained in memory: files, scores, exports, explanations."""

import pytest

import rankwright as rw
from tests.clusters.made import written
from tests.models import test_trained_on_streams as on_streams
from tests.models.test_trained_on_streams import LAYOUTS, RANKERS, dirty, ranker_of
from tests.streaming import query_by_query

pytestmark = pytest.mark.peers

# Each ranker once and each layout once: with every layout, rankers are tested on streams.
PAIRS = list(zip(RANKERS, LAYOUTS, strict=True))


@pytest.fixture(scope="module", params=PAIRS, ids=" ".join)
def case(request, client, tmp_path_factory):
    """Trained on Dask and in memory, and the data of both."""
    name, layout = request.param
    whole = query_by_query(dirty(layout))
    queries = rw.dask.queries(written(whole, tmp_path_factory.mktemp("queries")), client=client)
    assert queries.n_parts == 3
    if queries.has_feature_names:  # files of dense features name them
        whole = rw.Queries(whole.X, whole.y, whole.qid, feature_names=queries.feature_names)
    return ranker_of(name, layout, queries), ranker_of(name, layout, whole), queries, whole


test_files_and_scores = on_streams.test_files_and_scores
test_exports = on_streams.test_exports
test_onnx = on_streams.test_onnx
test_explanations = on_streams.test_explanations
test_certificates_and_bounds = on_streams.test_certificates_and_bounds
