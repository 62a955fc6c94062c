"""`risk_bound`: every term against plain loops on small data, what it refuses, and what it prints."""

import io
import json
import math
from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import rankwright as rw
from rankwright.theory import risk_bound
from tests.theory import plain_bounds as plain

NAMES = ["length", "words", "links"]
WEIGHTS = [0.75, -0.5, 0.25]
DELTA = 0.1
# Unsorted, with one document ("d"), no relevant document ("c"), one grade ("f") and one score only ("e").
QID = np.array(["b", "a", "a", "c", "b", "b", "d", "a", "b", "c", "e", "e", "e", "f", "a", "f"])
GRADES = np.array([2, 0, 1, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0, 1, 2, 1])
FORMS = ["dense", "csr", "float32", "renamed", "intercept", "sorted"]


def features(qid=QID, seed=0):
    """Eighths, which float32 holds exactly, so that all forms have the same scores."""
    X = np.random.default_rng(seed).integers(-12, 13, (len(qid), 3)) / 8
    X[qid == "e"] = X[qid == "e"][:1]
    return X


def model_and_queries(form, X, worth, qid, weights):
    """The same ranker and the same queries, given in several ways; an intercept changes no difference of scores."""
    if form == "renamed":
        names = [NAMES[2], NAMES[0], NAMES[1]]
        return plain.linear_model(weights, names=NAMES), rw.Queries(X[:, [2, 0, 1]], worth, qid, feature_names=names)
    if form == "csr":
        X = sp.csr_array(X)
    elif form == "float32":
        X = X.astype(np.float32)
    elif form == "sorted":  # stable, so queries only appear in another order
        order = np.argsort(qid, kind="stable")
        X, worth, qid = X[order], worth[order], qid[order]
    return plain.linear_model(weights, 3.5 if form == "intercept" else 0.0), rw.Queries(X, worth, qid)


def small_data(form="dense", worth=GRADES, weights=WEIGHTS):
    """The ranker, its queries, and the same plainly."""
    X = features()
    return *model_and_queries(form, X, np.asarray(worth), QID, weights), plain.queries_of(X, worth, QID, weights)


def assert_terms(bound, empirical, complexity, confidence, factor=1.0):
    assert bound.empirical == pytest.approx(empirical, rel=1e-11, abs=1e-300)
    assert bound.complexity == pytest.approx(complexity, rel=1e-11, abs=1e-300)
    assert bound.confidence == pytest.approx(confidence, rel=1e-11, abs=1e-300)
    assert bound.surrogate == pytest.approx(empirical + complexity + confidence, rel=1e-11)
    assert bound.total == pytest.approx(factor * (empirical + complexity + confidence), rel=1e-11)
    assert bound.factor == factor


def radius(weights, B):
    """B, the factor that brings w into the class, and the share of δ."""
    size = plain.length(weights)
    if B is None:
        k = plain.least_power(size)
        return 2.0**k, 1.0, plain.share(k)
    return B, min(1.0, B / size) if size > 0 else 1.0, 1.0


# Pairs


def full_rankings():
    """Grades that differ within each query."""
    worth = np.empty(len(QID))
    for q, name in enumerate("abcdef"):
        own = np.flatnonzero(name == QID)
        worth[own] = np.random.default_rng(q).permutation(len(own))
    return worth


def expected_pairwise(every, weights, B, M, count, largest_margin):
    B, scale, share = radius(weights, B)
    M, n = plain.longest_document(every) if M is None else M, len(every)
    return (
        sum(plain.pairwise_hinge(query, scale) for query in every) / n,
        count * 4 * B * M / math.sqrt(n),
        count * (largest_margin + 2 * B * M) * math.sqrt(8 * math.log(2 / (DELTA * share)) / n),
    )


@pytest.mark.parametrize(("B", "M"), [(None, None), (0.125, None), (7.0, 40.0)])
@pytest.mark.parametrize("form", FORMS)
def test_theorem_3(form, B, M):
    ranker, queries, every = small_data(form, full_rankings())
    bound = risk_bound(ranker, queries, DELTA, "theorem3", B=B, M=M)
    assert_terms(bound, *expected_pairwise(every, WEIGHTS, B, M, 6, 3), factor=3)  # m = 4
    assert bound.constant("m") == 4
    assert bound.constant("pairs") == 6


def test_theorem_3_of_a_full_ranking_is_that_of_grades():
    worth = full_rankings()
    ranks = np.array([1 + sum(worth[QID[i] == QID] > worth[i]) for i in range(len(QID))])
    ranker, graded, _ = small_data("dense", worth)
    ranked = rw.Queries(graded.X, rw.FullRanking(ranks), QID)
    of_grades, of_ranks = (risk_bound(ranker, queries, kind="theorem3") for queries in (graded, ranked))
    assert of_grades.to_dict() == of_ranks.to_dict()


@pytest.mark.parametrize(("B", "M"), [(None, None), (0.125, None), (7.0, 40.0)])
@pytest.mark.parametrize("form", FORMS)
def test_corollary_1(form, B, M):
    ranker, queries, every = small_data(form)
    bound = risk_bound(ranker, queries, DELTA, "corollary1", B=B, M=M)
    most = max(map(plain.n_pairs, every))
    assert_terms(bound, *expected_pairwise(every, WEIGHTS, B, M, most, 2), factor=2)
    assert bound.constant("r") == 3 == max(map(plain.n_levels, every))
    assert math.exp(bound.log_worst) == pytest.approx(sum(map(plain.n_pairs, every)) / len(every), rel=1e-12)
    assert any("1/2" in note for note in bound.notes)  # the correction of the paper is told


@pytest.mark.parametrize("B", [None, 0.125])
@pytest.mark.parametrize("form", FORMS)
def test_corollary_2(form, B):
    ranker, queries, every = small_data(form, GRADES > 0)
    bound = risk_bound(ranker, queries, DELTA, "corollary2", B=B)
    assert_terms(bound, *expected_pairwise(every, WEIGHTS, B, None, 4, 1))
    assert (bound.constant("rel"), bound.constant("nrel")) in ((2, 2), (1, 4), (4, 1))
    same = risk_bound(ranker, queries, DELTA, "corollary1", B=B)
    assert bound.log_total == pytest.approx(same.log_total, rel=1e-14)


@pytest.mark.parametrize("kind", ["corollary1", "theorem4", "argmax"])
def test_weights_of_0_rank_nothing(kind):
    ranker, queries, every = small_data(weights=[0.0, 0.0, 0.0])
    bound = risk_bound(ranker, queries, kind=kind)
    if kind == "corollary1":
        assert bound.empirical == pytest.approx(sum(map(plain.pairwise_hinge, every)) / len(every), rel=1e-12)
        assert bound.constant("B") == 2.0**-64
    else:
        assert bound.empirical >= math.exp(bound.log_worst) * (1 - 1e-12)
    assert bound.is_vacuous


def test_one_document_is_no_pair():
    X = features()
    bound = risk_bound(plain.linear_model(WEIGHTS), rw.Queries(X, GRADES, np.arange(len(X))), kind="theorem3")
    assert bound.total == 0
    assert bound.is_vacuous
    assert bound.to_dict()["bound"] == {"value": 0.0, "log10": None}


# Sums over rankings


def expected_listwise(every, rankings, sums, B, M, count):
    B, scale, share = radius(WEIGHTS, B)
    M, n = plain.longest_document(every) if M is None else M, len(every)
    coefficients = max(
        plain.constants_of(own, len(query.X)).largest_sum for query, own in zip(every, rankings, strict=True)
    )
    return (
        math.fsum(sums(query, own, scale) for query, own in zip(every, rankings, strict=True)) / n,
        count * 4 * B * coefficients * M / math.sqrt(n),
        count * (1 + 2 * B * coefficients * M) * math.sqrt(8 * math.log(2 / (DELTA * share)) / n),
    )


@pytest.mark.parametrize(("B", "M"), [(None, None), (0.125, 40.0)])
@pytest.mark.parametrize(
    ("measure", "weights"), [("ndcg@2", "discount"), ("ndcg@10", "linear"), ("map", None)], ids=str
)
@pytest.mark.parametrize("form", FORMS)
def test_theorem_4(form, measure, weights, B, M):
    ranker, queries, every = small_data(form)
    rankings = [plain.rankings_of(query, measure, weights) for query in every]
    bound = risk_bound(ranker, queries, DELTA, "theorem4", measure=measure, position_weights=weights, B=B, M=M)
    assert_terms(bound, *expected_listwise(every, rankings, plain.sum_of_hinges, B, M, math.factorial(4)))
    worst = math.fsum(own.losses.max() for own in rankings if own is not None) / len(every)
    assert math.exp(bound.log_worst) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize(("B", "M"), [(None, None), (0.125, 40.0)])
@pytest.mark.parametrize("form", FORMS)
def test_corollary_3(form, B, M):
    ranker, queries, every = small_data(form)
    rankings = [plain.rankings_of(query, "map", None) for query in every]
    bound = risk_bound(ranker, queries, DELTA, "corollary3", B=B, M=M)
    assert_terms(bound, *expected_listwise(every, rankings, plain.sum_over_classes, B, M, math.comb(4, 2)))
    assert any("not proved" in note for note in bound.notes)


def long_query(m, relevant, seed=0):
    """One list too long for its orders to be gone through, beside a short one."""
    rng = np.random.default_rng(seed)
    grades = np.concatenate([np.arange(m) < relevant, [1, 0]]).astype(float)
    queries = rw.Queries(rng.standard_normal((m + 2, 3)), grades, np.repeat([7, 3], [m, 2]))
    return plain.linear_model(WEIGHTS), queries


def test_the_sum_over_all_orders_of_a_long_list_is_bounded_by_its_largest_hinge():
    ranker, queries = long_query(9, 3)
    bound = risk_bound(ranker, queries, kind="theorem4", measure="map", B=1.0)
    scale = 1 / plain.length(WEIGHTS) if plain.length(WEIGHTS) > 1 else 1.0
    largest = rw.losses.StructuredHinge("map").on(queries).at(scale * ranker.predict(queries)).values
    expected = ((math.factorial(9) - 1) * largest[0] + (math.factorial(2) - 1) * largest[1]) / 2
    assert bound.empirical == pytest.approx(expected, rel=1e-11)
    assert "at most" in bound.terms[0].formula


def test_classes_of_long_lists_are_summed_where_they_are_few():
    ranker, queries = long_query(3000, 1)
    summed = risk_bound(ranker, queries, kind="corollary3")
    assert "at most" not in summed.terms[0].formula
    assert summed.empirical < 3000
    ranker, queries = long_query(300, 150)
    assert "at most" in risk_bound(ranker, queries, kind="corollary3").terms[0].formula


# The arg-max, the soft-max and NDCG


def expected_vector(every, rankings, hinges, scale, B, share, constants, M=None):
    n = len(every)
    found = [plain.constants_of(own, len(query.X)) for query, own in zip(every, rankings, strict=True)]
    empirical = math.fsum(min(hinges(query, own, scale), 1.0) for query, own in zip(every, rankings, strict=True)) / n
    confidence = math.sqrt(math.log(1 / (DELTA * share)) / (2 * n))
    if constants == "data":
        spread = [plain.spread(query) for query in every]
        products = [
            plain.length((query.X - query.X.mean(axis=0)).T @ own.target) ** 2
            for query, own in zip(every, found, strict=True)
        ]
        contraction = (
            math.sqrt(math.pi / 2 * sum(own.farthest**2 * s for own, s in zip(found, spread, strict=True))) / n
        )
        comparison = math.sqrt(math.pi / 2 * sum(own.radius**2 * s for own, s in zip(found, spread, strict=True))) / n
        comparison += math.sqrt(sum(products)) / n
        return empirical, 2 * B * min(contraction, comparison), 3 * confidence
    M = plain.longest_document(every) if M is None else M
    m = max(len(query.X) for query in every)
    contraction = math.sqrt(math.pi / 2) * max(own.farthest for own in found) * math.sqrt(m)
    comparison = math.sqrt(math.pi / 2) * max(own.radius for own in found) * math.sqrt(m)
    comparison += max(own.largest_sum for own in found)
    return empirical, 2 * B * M * min(contraction, comparison) / math.sqrt(n), confidence


MEASURES = [("ndcg@2", "discount"), ("ndcg@10", "linear"), ("ndcg@1", [3.0, 2.0, 0.5]), ("map", None)]


@pytest.mark.parametrize(("constants", "M"), [("data", None), ("largest", None), ("largest", 40.0)])
@pytest.mark.parametrize(("measure", "weights"), MEASURES, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_argmax_with_given_radius(form, measure, weights, constants, M):
    ranker, queries, every = small_data(form)
    rankings = [plain.rankings_of(query, measure, weights) for query in every]
    for B in (0.0625, 0.5, 7.0):
        bound = risk_bound(
            ranker, queries, DELTA, "argmax", measure=measure, position_weights=weights, constants=constants, B=B, M=M
        )
        _, scale, _ = radius(WEIGHTS, B)
        assert_terms(bound, *expected_vector(every, rankings, plain.hinge, scale, B, 1.0, constants, M))
    # A radius below ‖w‖ scales w down, and says so.
    assert "scaled down" not in next(c.origin for c in bound.constants if c.symbol == "B")


@pytest.mark.parametrize("constants", ["data", "largest"])
@pytest.mark.parametrize(("measure", "weights"), MEASURES, ids=str)
def test_argmax_takes_the_power_of_2_that_gives_least(measure, weights, constants):
    ranker, queries, every = small_data()
    rankings = [plain.rankings_of(query, measure, weights) for query in every]
    bound = risk_bound(ranker, queries, DELTA, "argmax", measure=measure, position_weights=weights, constants=constants)
    terms = {}
    for k in range(-30, 10):
        scale = 2.0**k / plain.length(WEIGHTS)
        terms[k] = expected_vector(every, rankings, plain.hinge, scale, 2.0**k, plain.share(k), constants)
    chosen = math.log2(bound.constant("B"))
    assert_terms(bound, *terms[chosen])
    assert bound.constant("δ_B") == pytest.approx(DELTA * plain.share(int(chosen)), rel=1e-15)
    worth_a_look = [sum(of_k) for of_k in terms.values() if 2.0**-10 <= of_k[1] <= 1]
    assert bound.total <= min(worth_a_look) * (1 + 1e-12)


@pytest.mark.parametrize("constants", ["data", "largest"])
def test_where_the_target_is_better_not_taken_apart(constants):
    """With one feature, along the target; or with equal grades, so that the target's sum is far above what it is."""
    if constants == "data":
        grades, weights = np.array([1.0, 0, 0, 0, 0, 0]), [1.0]
        X = grades[:, None]
    else:
        grades, weights, X = np.ones(4), [1.0, 1.0], np.array([[1.0], [0.5], [0.25], [0.0]])
    queries, every = rw.Queries(X, grades), plain.queries_of(X, grades, ["q"] * len(X), [2.0])
    rankings = [plain.rankings_of(every[0], "ndcg@1", weights)]
    bound = risk_bound(
        plain.linear_model([2.0]),
        queries,
        DELTA,
        measure="ndcg@1",
        position_weights=weights,
        constants=constants,
        B=2.0,
    )
    assert_terms(bound, *expected_vector(every, rankings, plain.hinge, 1.0, 2.0, 1.0, constants))
    contraction = bound.complexity * math.sqrt(2 / (math.pi / 2))
    assert f"vector contraction would give a complexity of {contraction:.4g} instead" in bound.notes


@pytest.mark.parametrize("constants", ["data", "largest"])
@pytest.mark.parametrize("factor", [1e-9, 0.01, 1e6])
def test_the_length_of_the_weights_is_free_as_only_rankings_count(factor, constants):
    ranker, queries, _ = small_data()
    longer = plain.linear_model(factor * np.array(WEIGHTS))
    one, other = (risk_bound(of, queries, constants=constants) for of in (ranker, longer))
    assert other.constant("B") == one.constant("B")
    assert other.total == pytest.approx(one.total, rel=1e-9)


@pytest.mark.parametrize("temperature", [0.01, 0.5])
@pytest.mark.parametrize(("measure", "n_ranks"), [("ndcg@2", 2), ("map", 9)])
def test_softmax(measure, n_ranks, temperature):
    ranker, queries, every = small_data()
    rankings = [plain.rankings_of(query, measure, "discount") for query in every]

    def soft(query, own, scale):
        return plain.soft_hinge(
            query._replace(worth=np.minimum(query.worth, 1)) if measure == "map" else query,
            own,
            n_ranks,
            temperature,
            scale,
        )

    bound = risk_bound(ranker, queries, DELTA, "softmax", measure=measure, temperature=temperature, B=2.0)
    assert_terms(bound, *expected_vector(every, rankings, soft, 1.0, 2.0, 1.0, "data"))
    assert bound.total >= risk_bound(ranker, queries, DELTA, "argmax", measure=measure, B=2.0).total * (1 - 1e-12)


def test_ndcg_is_argmax_for_ndcg_at_10():
    ranker, queries, _ = small_data()
    as_argmax = risk_bound(ranker, queries, kind="argmax", measure="ndcg@10", position_weights="discount")
    assert {**risk_bound(ranker, queries).to_dict(), "kind": "argmax"} == as_argmax.to_dict()


@pytest.mark.parametrize("kind", ["argmax", "corollary1"])
def test_bounds_do_not_depend_on_the_unit_of_features_but_by_the_share_of_delta(kind):
    ranker, queries, _ = small_data()
    scaled = rw.Queries(queries.X * 4.0, queries.y, QID)
    one, other = (
        risk_bound(of, on, kind=kind, B=B)
        for of, on, B in ((ranker, queries, 1.0), (plain.linear_model(np.array(WEIGHTS) / 4), scaled, 0.25))
    )
    assert [one.empirical, one.complexity, one.confidence] == pytest.approx(
        [other.empirical, other.complexity, other.confidence], rel=1e-12
    )


def test_what_a_query_adds_to_its_features_does_not_change_data_bounds():
    ranker, queries, _ = small_data()
    offset = np.array([{name: 64.0 * q for q, name in enumerate("abcdef")}[name] for name in QID])
    moved = rw.Queries(queries.X + offset[:, None], queries.y, QID)
    assert risk_bound(ranker, moved, B=0.5).total == pytest.approx(risk_bound(ranker, queries, B=0.5).total, rel=1e-12)
    assert risk_bound(ranker, moved, B=0.5, constants="largest").total > 10


# The two together


@pytest.mark.parametrize("constants", ["data", "largest"])
@pytest.mark.parametrize("m", [2, 3, 4, 5, 6, 7, 8])
def test_argmax_is_below_theorem_4(m, constants):
    rng = np.random.default_rng(m)
    X, grades = rng.standard_normal((40 * m, 3)), np.concatenate([rng.permutation(m) for _ in range(40)]) / m
    queries, ranker = rw.Queries(X, grades, np.repeat(np.arange(40), m)), plain.linear_model(WEIGHTS)
    for options in ({"B": 1.0}, {"B": 0.01}, {}):
        ours = risk_bound(ranker, queries, kind="argmax", measure="ndcg@5", constants=constants, **options)
        theirs = risk_bound(ranker, queries, kind="theorem4", measure="ndcg@5", **options)
        assert ours.empirical <= theirs.empirical * (1 + 1e-12) or not options
        if options:
            assert ours.complexity < theirs.complexity
            assert ours.confidence < theirs.confidence
        assert ours.log_total < theirs.log_total - math.log(math.factorial(m)) / 2


def test_with_tied_grades_only_the_empirical_term_of_theorem_4_may_be_less():
    # The target is the mean of all ideal rankings, and each of these is in the maximum, but not in the sum.
    X, grades = np.array([[10.0], [0.0], [-1000.0]]), [1, 1, 0]
    ours, theirs = (
        risk_bound(plain.linear_model([1.0]), rw.Queries(X, grades), kind=kind, B=1.0)
        for kind in ("argmax", "theorem4")
    )
    assert (ours.empirical, theirs.empirical) == (1.0, 0.0)
    assert ours.complexity < theirs.complexity


# What is refused


def refused(error, match, ranker=None, queries=None, **options):
    own_ranker, own_queries, _ = small_data()
    with pytest.raises(error, match=match):
        risk_bound(own_ranker if ranker is None else ranker, own_queries if queries is None else queries, **options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"delta": "0.05"}, "delta"),
        ({"delta": True}, "delta"),
        ({"kind": "theorem5"}, "kind"),
        ({"kind": None}, "kind"),
        ({"kind": ["ndcg", "map"]}, "kind"),
        ({"constants": "largest ones"}, "constants"),
        ({"B": 0.0}, "^B must"),
        ({"B": -1.0}, "^B must"),
        ({"B": float("inf")}, "^B must"),
        ({"M": 0.0}, "^M must"),
        ({"M": float("nan")}, "^M must"),
        ({"M": 0.01, "constants": "largest"}, "M = 0.01 is less than the length of a document"),
        ({"M": 0.01, "kind": "corollary1"}, "M = 0.01 is less than the length of a document"),
        ({"M": 0.01, "kind": "theorem4"}, "M = 0.01 is less than the length of a document"),
        ({"temperature": 0.0, "kind": "softmax"}, "temperature"),
        ({"measure": "err", "kind": "argmax"}, "measure"),
        ({"measure": "map@3", "kind": "argmax"}, "cutoff"),
        ({"measure": "map"}, "kind='ndcg' is for nDCG"),
        ({"measure": "ndcg", "kind": "corollary3"}, "kind='corollary3' is for AP"),
        ({"position_weights": [1.0, 2.0]}, "position_weights"),
        ({"position_weights": "discount", "measure": "map", "kind": "argmax"}, "position_weights"),
        ({"convention": "none"}, "convention"),
    ],
    ids=str,
)
def test_parameters_are_checked(options, match):
    refused(rw.ParameterError, match, **options)


def test_rankers_must_be_linear_and_fitted():
    _, queries, _ = small_data()
    for ranker in (rw.RankBoost(n_rounds=1).fit(queries), rw.KernelRankRLS().fit(queries), "RankSVM"):
        refused(rw.ParameterError, "ranker must be a fitted linear one", ranker)
    refused(Exception, "not fitted", rw.RankSVM())


def test_queries_must_be_queries():
    refused(rw.ParameterError, "queries must be Queries, not ndarray", queries=features())
    refused(rw.DataError, "there are no queries", queries=rw.Queries(np.zeros((0, 3)), [], []))


def test_features_must_be_those_of_the_ranker():
    refused(rw.DataError, "2 features, but the model has 3", queries=rw.Queries(features()[:, :2], GRADES, QID))
    refused(rw.DataError, "0 features", queries=rw.Queries(None, GRADES, QID))
    X = features()
    X[3, 1] = np.nan
    refused(rw.DataError, "row 3", queries=rw.Queries(X, GRADES, QID))
    # Where the feature has no weight, scores are finite, but lengths are not.
    refused(rw.DataError, "query 'c'", plain.linear_model([1.0, 0.0, 1.0]), rw.Queries(X, GRADES, QID))


def test_theorem_3_names_a_query_with_ties_and_corollary_2_one_with_three_levels():
    refused(rw.DataError, "query 'b' has documents of equal rank", kind="theorem3")
    worth = np.where(QID == "a", full_rankings(), GRADES > 0)
    refused(rw.DataError, "query 'a' has more than two levels", queries=small_data(worth=worth)[1], kind="corollary2")


@pytest.mark.parametrize("kind", ["theorem3", "corollary1", "corollary2"])
def test_preference_graphs_have_no_ranks(kind):
    graph = rw.PreferenceGraph(len(QID), [1], [2])
    refused(rw.ParameterError, "preference graph", queries=rw.Queries(features(), graph, QID), kind=kind)


@pytest.mark.parametrize("kind", ["theorem4", "corollary3", "argmax", "softmax", "ndcg"])
def test_measures_need_grades(kind):
    queries = rw.Queries(features(), rw.PreferenceGraph(len(QID), [1], [2]), QID)
    refused(rw.DataError, "not grades", queries=queries, kind=kind)


# What is told


def test_short_lists_of_letor_are_said_to_count_as_they_are():
    ranker, queries, _ = small_data()
    told = "fewer than 10 documents as they are"
    assert told in risk_bound(ranker, queries, convention="letor4").risk
    assert told in risk_bound(ranker, queries, kind="theorem4", convention="letor4").risk
    assert told not in risk_bound(ranker, queries).risk


@pytest.mark.parametrize("kind", ["theorem3", "corollary1", "theorem4", "corollary3", "argmax"])
def test_ten_thousand_documents_overflow_nothing(kind):
    m = 10_000
    rng = np.random.default_rng(0)
    grades = rng.permutation(m) / m if kind == "theorem3" else (np.arange(m) < 4000).astype(float)
    queries = rw.Queries(rng.standard_normal((m + 2, 3)), [*grades, 1, 0], np.repeat([1, 2], [m, 2]))
    bound = risk_bound(plain.linear_model(WEIGHTS), queries, kind=kind, B=1.0)
    told = json.loads(json.dumps(bound.to_dict(), allow_nan=False))
    assert math.isfinite(bound.log_total)
    assert told["bound"]["log10"] == pytest.approx(bound.log_total / math.log(10), rel=1e-15)
    assert bound.is_vacuous or kind == "argmax"
    assert "nan" not in str(bound)
    assert "inf" not in str(bound)
    if kind in ("theorem4", "corollary3"):
        count = math.factorial(m) if kind == "theorem4" else math.comb(m, 4000)
        M = bound.constant("M")
        exact = +Decimal(count) * Decimal(4 * M / math.sqrt(2))
        assert bound.terms[1].log_value == pytest.approx(float(exact.ln()), abs=1e-9)
        assert bound.complexity == bound.total == math.inf
        assert told["bound"]["value"] is None
        assert f"·10^{exact.adjusted()}" in str(bound)


def test_numbers_beyond_float64_are_null_in_json():
    ranker, queries, _ = small_data()
    bound = risk_bound(ranker, queries, B=1e308, constants="largest", M=1e100)
    assert json.loads(json.dumps(bound.to_dict(), allow_nan=False))["bound"] == {"value": None, "log10": None}
    assert "∞" in str(bound)


def test_what_is_printed():
    ranker, queries, _ = small_data()
    bound = risk_bound(ranker, queries, 0.1, "corollary1")
    text = str(bound)
    assert text.startswith("corollary1: with probability 0.9 over 6 queries\n")
    for part in ("empirical risk", "sum, for the hinge", "the sum times 2", "0-1 risk, at most", "vacuous: "):
        assert part in text
    assert repr(bound) == text
    console = Console(width=200, file=io.StringIO())
    console.print(bound)
    printed = console.file.getvalue()
    assert "0-1 risk, at most" in printed
    assert "vacuous: " in printed
    told = bound.to_dict()
    assert [term["name"] for term in told["terms"]] == ["empirical risk", "complexity", "confidence"]
    assert told["factor"] == 2
    assert told["constants"][0]["symbol"] == "B"


def test_a_bound_that_says_something():
    made = rw.datasets.make_queries(2000, documents=10, n_features=5, n_correlated=0, noise=0.3, query_offset=0)
    ranker = rw.RankRLS().fit(made.queries)
    bound = risk_bound(ranker, made.queries)
    assert not bound.is_vacuous
    assert "not vacuous" in str(bound)
    fresh = rw.datasets.make_queries(
        1000, documents=10, n_features=5, n_correlated=0, noise=0.3, query_offset=0, seed=5
    )
    value = rw.evaluate(ranker, fresh.queries, "ndcg@10", convention=rw.Convention("ours", empty=1)).means
    assert 1 - next(iter(value.values())) < bound.total


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("corollary1", {"measure": "map"}),
        ("corollary1", {"position_weights": "linear"}),
        ("theorem4", {"constants": "largest"}),
        ("argmax", {"temperature": 0.1}),
        ("ndcg", {"M": 100.0}),
        ("softmax", {"M": 100.0, "constants": "data"}),
    ],
)
def test_an_option_that_plays_no_part_is_refused(kind, options):
    ranker, queries, _ = small_data()
    with pytest.raises(rw.ParameterError, match=f"{next(iter(options))} has no effect"):
        risk_bound(ranker, queries, kind=kind, **options)


def test_a_constant_that_is_not_there():
    ranker, queries, _ = small_data()
    with pytest.raises(rw.ParameterError, match="B, Λ"):
        risk_bound(ranker, queries).constant("rel")
