"""`BoostedRanker`: gradient boosted trees of LightGBM or XGBoost, with the losses of this library or theirs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwright.boosting.growing import Growth
from rankwright.boosting.named_losses import LIBRARIES, LIBRARY_LOSSES, Library, loss_in
from rankwright.checks import check_choice, check_number, check_positive, check_seed, check_whole
from rankwright.data.fingerprints import Fingerprints, query_fingerprints
from rankwright.data.finite import check_not_infinite
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import in_memory
from rankwright.errors import DataError, ParameterError
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.supervision import Grades
from rankwright.losses.loss import Loss, counting_weights
from rankwright.measures.conventions import convention_of
from rankwright.models.model import about
from rankwright.models.tree_model import TreeModel
from rankwright.progress import Tell
from rankwright.rankers.base import Ranker
from rankwright.rankers.tree_boosting import TreeBoosting
from rankwright.selection.search import optional_measures
from rankwright.trees.trees import Trees
from rankwright.types import Array

# Numbers that the libraries keep in 32 bits.
_MOST = 2**31 - 1
# The libraries' own losses have gains 2^y − 1 for grades up to this one.
_HIGHEST_GRADE = 30
_NO_QUERY_SHARE = (
    "query_share={} needs a loss of ours, such as 'preorder', but {!r} is the library's: XGBoost draws rows and not "
    "queries, and LightGBM 4.7 loses count of the scores when it draws queries (bagging_by_query); set query_share=1"
)


class BoostedRanker(Ranker):
    """Scores are sums of regression trees, each grown along the gradient of a loss (functional gradient boosting).

    The trees are LightGBM's or XGBoost's, which must be installed to train and to nothing else. Features need no
    scaling, and missing values (NaN) are taken as they are: each node learns which way they go. Losses of ours take
    grades, full rankings and preference graphs; those of the libraries take grades that are whole numbers.

    Parameters
    ----------
    loss : name or loss of `rankwright.losses`
        "preorder" (the default: pairs weighed by their difference in gain), "order-preserving" (consistent with NDCG),
        "structured" (a bound of 1 − NDCG @ 10) and others of `rankwright.losses.LOSSES`; LightGBM's own "lambdarank"
        and "xendcg"; XGBoost's own "rank:ndcg".
    library : "lightgbm" or "xgboost"
    n_trees : int
        Trees at most. With validation queries, the number with the best first measure is kept, the least of equals.
    learning_rate : float
        Which part of each tree counts.
    leaves, depth : int
        Of a tree at most; None: any depth.
    min_documents : int
        That a leaf must have at least. XGBoost counts their curvature, which is 1 on average to begin with.
    query_share, feature_share : float
        Which part of the queries and of the features each tree is grown on, drawn anew for each. ``query_share`` is for
        losses of ours: the libraries' own cannot be trained on some of the queries.
    l2 : float
        Shrinks leaves, as so many documents with no gradient would.
    patience : int, optional
        End after so many trees that ranked the validation queries no better than before.
    validation_share : float
        Without validation queries: hold out this part of the training queries, drawn at random among those with a
        weight, to choose the number of trees, and then grow so many on all queries. 0, the default, or a share of fewer
        than 10 queries: grow ``n_trees``. (`NeuralRanker` holds out a tenth by default, and does not train on it.)
    measures : such as "ndcg@10, map"
        What to tell of every tree in ``path_``; the first one decides.
    convention : name of a Convention
    random_state : int or None
        Equal numbers give equal trees. None: others each time.

    Attributes
    ----------
    n_trees_ : how many were kept
    path_ : TreePath, what measures said after each
    text_ : the trees as the library writes them, which it can load again
    n_features_in_, feature_names_in_
    """

    def __init__(
        self,
        loss: str | Loss = "preorder",
        library: Library = "lightgbm",
        *,
        n_trees: int = 300,
        learning_rate: float = 0.1,
        leaves: int = 31,
        depth: int | None = None,
        min_documents: int = 50,
        query_share: float = 1.0,
        feature_share: float = 1.0,
        l2: float = 1.0,
        patience: int | None = None,
        validation_share: float = 0.0,
        measures: Any = "ndcg@10",
        convention: Any = "default",
        random_state: int | None = 0,
    ) -> None:
        self.loss = loss
        self.library = library
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.depth = depth
        self.min_documents = min_documents
        self.query_share = query_share
        self.feature_share = feature_share
        self.l2 = l2
        self.patience = patience
        self.validation_share = validation_share
        self.measures = measures
        self.convention = convention
        self.random_state = random_state

    _trees: Trees

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: npt.ArrayLike | None = None,
        *,
        group: npt.ArrayLike | None = None,
        valid: Queries | None = None,
        sample_weight: npt.ArrayLike | None = None,
        progress: Tell | None = None,
    ) -> Self:
        """Grow the trees. X may be `Queries`, which bring y and qid with them.

        ``group`` is how many rows each query has, instead of qid. ``sample_weight`` weighs queries: a number for each
        of them, in the order of their first rows, or one for each row. ``progress`` is called with `Progress` after
        each tree.
        """
        boosting = self._boosting(progress)
        why = ("BoostedRanker", "a linear ranker")
        queries = in_memory(self._training_queries(in_memory(X, *why), y, qid, group), *why)
        valid_queries = None if valid is None else self._validation_queries(in_memory(valid, *why))
        held_out = None if valid_queries is None else in_memory(valid_queries, *why)
        self._check_learnable(queries)
        weights = None if sample_weight is None else counting_weights(queries.judgments, sample_weight)
        if held_out is None and self.validation_share > 0 and boosting.measures:
            grown = boosting.grown_by_share(queries, weights, self.validation_share, self.n_trees)
        else:
            grown = boosting.grown(queries, weights, held_out if boosting.measures else None, self.n_trees)
        self.text_, self.n_trees_, self.path_ = grown
        self._trees = self._model_of_text().trees()
        return self

    def _boosting(self, progress: Tell | None) -> TreeBoosting:
        """The parameters, checked."""
        check_choice("library", self.library, LIBRARIES)
        for name, least in (("n_trees", 1), ("leaves", 2), ("min_documents", 1)):
            check_whole(name, getattr(self, name), least, _MOST)
        for name in ("depth", "patience"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1, _MOST, or_else="None")
        for name in ("learning_rate", "query_share", "feature_share"):
            check_positive(name, getattr(self, name))
        for name in ("query_share", "feature_share"):
            check_number(name, getattr(self, name), 0, 1)
        check_number("l2", self.l2, 0)
        check_number("validation_share", self.validation_share, 0, 0.9)
        check_seed("random_state", self.random_state)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        growth = Growth(
            float(self.learning_rate),
            int(self.leaves),
            self.depth,
            int(self.min_documents),
            float(self.query_share),
            float(self.feature_share),
            float(self.l2),
            seed,
        )
        measures, convention = optional_measures(self.measures), convention_of(self.convention)
        loss = loss_in(self.loss, self.library)
        if isinstance(loss, str) and self.query_share < 1:
            raise ParameterError(_NO_QUERY_SHARE.format(self.query_share, self.loss))
        return TreeBoosting(loss, self.library, growth, measures, convention, self.patience, progress)

    def _check_learnable(self, queries: Queries) -> None:
        is_judged = self._seen_queries["valid"] or self.validation_share > 0
        if self.patience is not None and not (is_judged and optional_measures(self.measures)):
            raise ParameterError("patience needs a measure and validation queries: fit(…, valid=…) or validation_share")
        if queries.n_documents == 0 or queries.n_features == 0:
            raise DataError(f"there are no {'features' if queries.n_documents else 'documents'} to learn from")
        self._check_finite(queries, "")
        if isinstance(self.loss, str) and self.loss in LIBRARY_LOSSES:
            _check_grades(queries, self.loss)

    def _check_finite(self, queries: Queries, what: str) -> None:
        check_not_infinite(queries, what, as_float32=self.library == "xgboost")

    def _checked_fingerprints(self, valid: Queries) -> Fingerprints:
        self._check_finite(valid, "valid: ")
        return query_fingerprints(valid)

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """Scores of rows whose number of features has been checked."""
        return self._trees.scores(x)

    def _check_scores(self, scores: Array, x: Any) -> None:
        infinite = np.isinf(x.data if sp.issparse(x) else x)
        if infinite.any():
            row = int(np.argwhere(np.isinf(x.toarray() if sp.issparse(x) else x))[0][0])
            raise DataError(f"row {row}: a feature is infinite, but scores need finite numbers, or NaN if missing")

    def model(self) -> TreeModel:
        """What it has learned, apart from how it was trained."""
        check_is_fitted(self)
        return self._model_of_text().with_memory_of(self)

    def _model_of_text(self) -> TreeModel:
        made = TreeModel.of_lightgbm if self.library == "lightgbm" else TreeModel.of_xgboost
        return made(self.text_, **about(self))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _check_grades(queries: Queries, loss: str) -> None:
    """Whole numbers, as the libraries' own losses want them."""
    if not isinstance(queries.supervision, Grades):
        told = f"loss {loss!r} takes grades, but the queries have a {queries.supervision.kind}"
        raise DataError(f"{told}: choose a loss of ours, such as 'preorder'")
    y = queries.y
    odd = (y != np.floor(y)) | (y > _HIGHEST_GRADE)
    if odd.any():
        row = int(np.argmax(odd))
        raise DataError(
            f"row {row}: the grade is {y[row]:g}, but loss {loss!r} takes whole numbers up to {_HIGHEST_GRADE}: "
            "choose a loss of ours, such as 'preorder', which takes any grades"
        )
