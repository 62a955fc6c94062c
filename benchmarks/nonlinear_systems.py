"""The rankers that `benchmarks.nonlinear` compares: how each is trained with settings drawn for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import rankwright as rw
from benchmarks.nonlinear_peers import MOST_TREES, PATIENCE, TREE_SPACE, Scores, lightgbm_scores, xgboost_scores
from rankwright.fitting.nonlinear import Formulas, KernelMaps, Networks, NonlinearFamily
from rankwright.losses import LOSSES
from rankwright.measures.measure import one_measure
from rankwright.preparation.preparation import prepare

MEASURE = "ndcg@10"
Drawn = Mapping[str, Any]


class System(NamedTuple):
    """A ranker: whose it is, the settings of a draw, and the scores after training, with queries to choose by."""

    name: str
    is_ours: bool
    draw: Callable[[int], Drawn]
    train: Callable[[rw.Queries, rw.Queries, Drawn], Scores]


def systems() -> list[System]:
    """All that are compared on the folds of real collections."""
    return [
        System("LightGBM lambdarank", False, draw_trees, partial(_lightgbm, "lambdarank")),
        System("LightGBM rank_xendcg", False, draw_trees, partial(_lightgbm, "rank_xendcg")),
        System("XGBoost rank:ndcg", False, draw_trees, _xgboost),
        System("linear", True, _draw_linear, _linear),
        System("formula (basis map)", True, partial(_draw_of, Formulas), partial(_of_family, Formulas)),
        System("kernel map", True, partial(_draw_of, KernelMaps), partial(_of_family, KernelMaps)),
        System("neural network", True, partial(_draw_of, Networks), partial(_of_family, Networks)),
        *(System(f"boosted, {loss}", True, draw_trees, partial(boosted, loss)) for loss in LOSSES),
    ]


# Draws: the same number has the same settings for every ranker of the same space


def draw_trees(number: int) -> Drawn:
    """Settings of trees: the usual ones first, then others at random, none twice."""
    usual, *others = product(*TREE_SPACE.values())
    shuffled = np.random.default_rng(0).permutation(len(others))
    return dict(zip(TREE_SPACE, usual if number == 0 else others[shuffled[number - 1]], strict=True))


def _draw_of(family: type[NonlinearFamily], number: int) -> Drawn:
    (drawn,) = _family(family).draw(number % _family(family).n_settings)
    return drawn.told


_LINEAR: Sequence[tuple[type[Any], str]] = (
    (rw.RankRLS, "RankRLS"),
    (rw.OrderPreservingRanker, "order-preserving"),
    (rw.RankSVM, "RankSVM"),
    (rw.StructuredRanker, "structured"),
    (rw.GreedyRankRLS, "greedy RankRLS"),
)


def _draw_linear(number: int) -> Drawn:
    return {"ranker": _LINEAR[number % len(_LINEAR)][1]}


# Training


def _lightgbm(objective: str, train: rw.Queries, valid: rw.Queries, drawn: Drawn) -> Scores:
    return lightgbm_scores(objective, train, valid, MOST_TREES, drawn)


def _xgboost(train: rw.Queries, valid: rw.Queries, drawn: Drawn) -> Scores:
    return xgboost_scores("rank:ndcg", train, valid, MOST_TREES, drawn)


def boosted(loss: str, train: rw.Queries, valid: rw.Queries, drawn: Drawn) -> Scores:
    """Trees of LightGBM on a loss of ours; as many as are best on the validation queries."""
    ranker = rw.BoostedRanker(loss, n_trees=MOST_TREES, patience=PATIENCE, measures=MEASURE, **drawn)
    return ranker.fit(train, valid=valid).predict


def _linear(train: rw.Queries, valid: rw.Queries, drawn: Drawn) -> Scores:
    """λ, and the number of features, by validation queries."""
    kind = next(kind for kind, name in _LINEAR if name == drawn["ranker"])
    options: dict[str, Any] = {"n_features": rw.search()} if kind is rw.GreedyRankRLS else {}
    by, columns = prepare(train, missing="mean", transform="none")
    ranker = kind(alpha=rw.search(), measures=MEASURE, **options).fit(columns, valid=by.prepared(valid))
    return lambda queries: ranker.predict(by.prepared(queries))


def _of_family(family: type[NonlinearFamily], train: rw.Queries, valid: rw.Queries, drawn: Drawn) -> Scores:
    """Whatever is chosen within a draw is chosen by training queries alone; validation queries choose among draws."""
    return _family(family).trained(train, drawn, None).predict


def _family(family: type[NonlinearFamily]) -> NonlinearFamily:
    return family(one_measure(MEASURE), "default")
