"""`NeuralRanker`: a network of fully connected layers, trained by PyTorch on any loss of `rankwright.losses`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice, check_number, check_positive, check_seed, check_whole
from rankwright.data.finite import check_features
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, in_memory
from rankwright.errors import DataError, ParameterError
from rankwright.losses.loss import Loss, counting_weights
from rankwright.losses.named import loss_of
from rankwright.measures.conventions import convention_of
from rankwright.measures.measure import Measure
from rankwright.models.model import about
from rankwright.models.network import ACTIVATIONS, Layer, mean_of_networks
from rankwright.models.network_model import NetworkModel, NetworkScorer
from rankwright.preparation.heavy_tails import heavy_tailed, transforms_of
from rankwright.preparation.missing import MISSING, MissingName
from rankwright.preparation.preparation import Preparation, filled_preparation
from rankwright.preparation.transforms import Transforms
from rankwright.progress import Progress, Tell
from rankwright.rankers.base import Ranker
from rankwright.rankers.judged_rounds import JudgedRounds, held_out_queries, rounds_frame
from rankwright.rankers.network_inputs import NetworkInputs, Scaling
from rankwright.selection.search import Estimate, optional_measures
from rankwright.types import Array

if TYPE_CHECKING:
    from rankwright.data.frames import Backend
    from rankwright.torch.training import Settings

ScalingName = Literal["standard", "log", "quantile", "within-query"]
ScoresOf = Callable[[NetworkInputs], Array]  # what a network that is being trained scores documents by
SCALINGS: tuple[ScalingName, ...] = get_args(ScalingName)
_INSTEAD = ("NeuralRanker", "RankSVM or another linear ranker")


@dataclass(frozen=True, eq=False)
class TrainingPath:
    """Every epoch of a network: the mean loss of a query in it, and what measures say of it on held-out queries.

    Attributes
    ----------
    kept : the epoch whose weights were kept, counted from 1
    losses : of each epoch, the mean over queries, each at the weights that its batch was given
    valid : of each measure, an Estimate after each epoch; empty if no queries were held out
    """

    kept: int
    losses: Array
    valid: dict[Measure, list[Estimate]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.losses)

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A row for each epoch: epoch, loss, ``valid nDCG @ 10``, its error."""
        return rounds_frame({"epoch": np.arange(1, len(self) + 1), "loss": self.losses}, self.valid, backend)


class NeuralRanker(NetworkScorer, Ranker):
    r"""A network of fully connected layers whose loss is any of `rankwright.losses`; needs ``rankwright[torch]``.

    Batches are whole queries. The learning rate rises and falls once over all epochs (one cycle), the optimiser is
    AdamW, and the weights of the epoch that ranks held-out queries best are kept. It trains on one thread, and the same
    data and parameters give the same weights. A trained network scores without PyTorch.

    Parameters
    ----------
    hidden : widths of the hidden layers
        None at all, ``()``, is a linear ranker.
    loss : name or Loss
        A name in `rankwright.losses.LOSSES`, such as "order-preserving" or "structured-softmax", or an object of
        `rankwright.losses`, such as ``PreorderLoss("logistic", "unit")``.
    activation : "silu", "relu" or "tanh"
    scaling : "log", "standard", "quantile" or "within-query"
        What happens to features first. "standard" divides their distance from the mean by the standard deviation. "log"
        takes logarithms of those with heavy tails before that, and "quantile" the quantiles of all. "within-query"
        divides the distance from the mean of the query by the spread within queries; `predict` then needs queries.
    missing : "mean" or "query-mean"
        What stands for a missing value; an input of its own tells the network where it was.
    dropout : share of the outputs of hidden layers that are 0 in a step
    weight_decay : by which part of itself, times the learning rate, a weight shrinks in a step
    learning_rate : the greatest of the cycle
    batch_size : queries in a step
    epochs : how often each query is seen
    members : int
        How many networks are trained, from other first weights each; the score is the mean of theirs, and depends less
        on the seed.
    validation_share : float
        Where ``fit`` is given no validation queries, this part of the training queries, drawn at random among those
        with a weight, judges epochs and is not trained on. 0, or a share of fewer than 10 queries: none, and the last
        epoch is kept. The default is a tenth, as networks need to be stopped; that of `BoostedRanker` is 0.
    patience : int, optional
        End after so many epochs in which the held-out queries were ranked no better than before.
    measures : such as "ndcg@10, map"
        What to tell of every epoch in ``paths_``; the first one decides.
    convention : name of a Convention
    random_state : int or None
        Decides the first weights, the order of queries, dropout, and which queries are held out. None: others each
        time.

    Attributes
    ----------
    network_ : Network, what features go through
    paths_ : a TrainingPath for each member: every epoch, and which one was kept
    valid_ : of each measure, an Estimate on the held-out queries; empty if there were none
    n_features_in_, feature_names_in_
    """

    _takes_powers = True

    preparation_: Preparation

    def __init__(
        self,
        hidden: tuple[int, ...] = (128, 64, 32),
        *,
        loss: str | Loss = "order-preserving",
        activation: str = "silu",
        scaling: ScalingName = "log",
        missing: MissingName = "mean",
        dropout: float = 0.0,
        weight_decay: float = 0.3,
        learning_rate: float = 0.003,
        batch_size: int = 8,
        epochs: int = 10,
        members: int = 1,
        validation_share: float = 0.1,
        patience: int | None = None,
        measures: Any = "ndcg@10",
        convention: Any = "default",
        random_state: int | None = 0,
    ) -> None:
        self.hidden = hidden
        self.loss = loss
        self.activation = activation
        self.scaling = scaling
        self.missing = missing
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.members = members
        self.validation_share = validation_share
        self.patience = patience
        self.measures = measures
        self.convention = convention
        self.random_state = random_state

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
        """Train the network. X may be `Queries`, which bring y and qid with them.

        ``group`` is how many rows each query has, instead of qid. ``sample_weight`` weighs queries: a number for each
        of them, in the order of their first rows, or one for each row. ``progress`` is called with `Progress` after
        each epoch.
        """
        self._check_parameters()
        loss, measures = loss_of(self.loss), optional_measures(self.measures)
        queries = in_memory(self._training_queries(in_memory(X, *_INSTEAD), y, qid, group), *_INSTEAD)
        given = None if valid is None else self._validation_queries(in_memory(valid, *_INSTEAD))
        if queries.n_documents == 0 or queries.n_features == 0:
            raise DataError(f"there are no {'features' if queries.n_documents else 'documents'} to learn from")
        check_features(queries)
        weights = counting_weights(queries.judgments, sample_weight)
        held_out = None if given is None else in_memory(given, *_INSTEAD)
        seeds = np.random.SeedSequence(self.random_state)  # None: from the system
        if held_out is None and measures:
            is_held_out = held_out_queries(queries.n_queries, weights, self.validation_share, seeds)
            if is_held_out is not None:
                queries, weights, held_out = queries[~is_held_out], weights[~is_held_out], queries[is_held_out]
        if self.patience is not None and (held_out is None or not measures):
            raise ParameterError("patience needs a measure, and validation queries or enough training queries to spare")
        self._train(queries, weights, loss, held_out if measures else None, measures, seeds, progress)
        return self

    def _train(
        self,
        queries: Queries,
        weights: Array,
        loss: Loss,
        held_out: Queries | None,
        measures: tuple[Measure, ...],
        seeds: np.random.SeedSequence,
        progress: Tell | None,
    ) -> None:
        from rankwright.torch.training import trained_layers

        scaling = Scaling.of(queries, within_query=self.scaling == "within-query")
        inputs = NetworkInputs(queries, scaling)
        watched = None if held_out is None else NetworkInputs(held_out, scaling)
        judges = [
            None if held_out is None else JudgedRounds(held_out.judgments, measures, convention_of(self.convention))
            for _ in range(self.members)
        ]
        followers = [_Follower(judge, watched, self.patience) for judge in judges]
        members: list[list[Layer]] = []
        for follower, seed in zip(followers, seeds.generate_state(self.members).tolist(), strict=True):

            def after_epoch(scores_of: ScoresOf, mean_loss: float, follower: _Follower = follower) -> tuple[bool, bool]:
                told = follower.hear(scores_of, mean_loss)
                if progress is not None:
                    done = len(members) * self.epochs + len(follower.losses)
                    progress(Progress("training", done, self.members * self.epochs))
                return told

            layers = trained_layers(inputs, queries.judgments, loss, weights, self._settings(seed), after_epoch)
            members.append([Layer(*layer) for layer in layers])
        self.network_ = scaling.folded(mean_of_networks(members), self.preparation_, self.activation)
        self.paths_ = tuple(follower.path() for follower in followers)
        scores = np.mean([follower.scores for follower in followers], axis=0)
        self.valid_ = {} if judges[0] is None else judges[0].estimates(scores)

    def _settings(self, seed: int) -> Settings:
        from rankwright.torch.training import Settings

        return Settings(
            tuple(self.hidden),
            self.activation,
            float(self.dropout),
            float(self.learning_rate),
            float(self.weight_decay),
            int(self.batch_size),
            int(self.epochs),
            seed,
        )

    def _check_parameters(self) -> None:
        if not isinstance(self.hidden, tuple | list):
            raise ParameterError(f"hidden must be the widths of hidden layers, such as (64, 32), not {self.hidden!r}")
        for width in self.hidden:
            check_whole("hidden: a width", width, 1)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("scaling", self.scaling, SCALINGS)
        check_choice("missing", self.missing, MISSING)
        check_number("dropout", self.dropout, 0, 0.99)
        check_number("weight_decay", self.weight_decay, 0)
        check_positive("learning_rate", self.learning_rate)
        check_number("validation_share", self.validation_share, 0, 0.9)
        for name, least in (("batch_size", 1), ("epochs", 1), ("members", 1)):
            check_whole(name, getattr(self, name), least)
        if self.patience is not None:
            check_whole("patience", self.patience, 1, or_else="None")
        check_seed("random_state", self.random_state)
        try:
            import rankwright.torch  # noqa: F401 - names the extra
        except ImportError as error:
            raise ParameterError(f"NeuralRanker is trained by PyTorch: {error}") from None

    def _note_preparation(self, queries: AnyQueries, *, has_missing: bool) -> None:
        transforms: Transforms = {}
        if self.scaling == "log":
            transforms = transforms_of(queries, heavy_tailed(queries), "log")
        elif self.scaling == "quantile":
            transforms = transforms_of(queries, np.arange(queries.n_features), "quantile")
        if has_missing:
            self.preparation_ = filled_preparation(queries, transforms, missing=self.missing)
        else:
            self.preparation_ = Preparation(queries.n_features, transforms, None, np.zeros(0, np.intp), None)

    def _prepared(self, queries: AnyQueries) -> AnyQueries:
        return self.preparation_.prepared(queries)

    def model(self) -> NetworkModel:
        """What it has learned, apart from how it was trained."""
        return NetworkModel.of(self.network(), **about(self)).with_memory_of(self)


class _Follower:
    """Hears of the epochs of a network, and tells which one to keep: without held-out queries, the last."""

    def __init__(self, judge: JudgedRounds | None, watched: NetworkInputs | None, patience: int | None) -> None:
        self._judge, self._watched, self._patience = judge, watched, patience
        self.losses: list[float] = []
        self.scores: Array = np.zeros(0)  # of the held-out queries, by the epoch that is kept

    def hear(self, scores_of: ScoresOf, mean_loss: float) -> tuple[bool, bool]:
        """One more epoch: whether it is the best so far, and whether to stop."""
        self.losses.append(mean_loss)
        if self._judge is None or self._watched is None:
            return True, False
        scores = scores_of(self._watched)
        self._judge.hear(scores)
        is_best = self._judge.best == len(self.losses)
        if is_best:
            self.scores = scores
        return is_best, self._judge.has_waited(self._patience)

    def path(self) -> TrainingPath:
        """All epochs."""
        if self._judge is None:
            return TrainingPath(len(self.losses), np.array(self.losses))
        return TrainingPath(self._judge.best, np.array(self.losses), self._judge.told)
