"""Training of networks: batches of whole queries, our losses, AdamW, and the weights of the best epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.judgments import Judgments
from rankwright.losses.loss import Loss
from rankwright.types import Array, Columns

_ROWS_AT_ONCE = 8192  # that are scored together
_MODULES = {"relu": torch.nn.ReLU, "silu": torch.nn.SiLU, "tanh": torch.nn.Tanh}


class Inputs(Protocol):
    """What a network is trained on: a row of float32 numbers for each document, about 0 and of spread 1."""

    shape: tuple[int, int]

    def rows(self, which: Columns | slice) -> npt.NDArray[np.float32]:
        """Some of the rows."""


@dataclass(frozen=True)
class Settings:
    """How a network is built and trained; `NeuralRanker` tells what they are."""

    hidden: tuple[int, ...]
    activation: str
    dropout: float
    learning_rate: float
    weight_decay: float
    batch_size: int
    epochs: int
    seed: int


# Told after each epoch how to get the scores of documents, and the mean loss: whether to keep its weights, and to stop.
Judge = Callable[[Callable[[Inputs], Array], float], tuple[bool, bool]]


def trained_layers(
    inputs: Inputs, judgments: Judgments, loss: Loss, of_query: Array, settings: Settings, judge: Judge
) -> list[tuple[Array, Array]]:
    """Weights (inputs × outputs) and biases of each layer, in float64, as they were when the judge kept them last.

    ``inputs`` has a row for each document of ``judgments``, and ``of_query`` a weight for each query.
    """
    with _one_thread(), torch.random.fork_rng(devices=[]):  # nobody else's random numbers change
        torch.manual_seed(settings.seed)
        network = _network(inputs.shape[1], settings)
        kept = _copied(network)
        for mean_loss in _epochs(network, inputs, judgments, loss, of_query, settings):
            is_kept, is_last = judge(lambda other: _scores(network, other), mean_loss)
            if is_kept:
                kept = _copied(network)
            if is_last:
                break
    return kept


@contextmanager
def _one_thread() -> Iterator[None]:
    """Batches are so small that threads would mostly wait for each other; and results do not depend on their number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _network(n_inputs: int, settings: Settings) -> torch.nn.Sequential:
    modules: list[torch.nn.Module] = []
    for width in settings.hidden:
        modules += [torch.nn.Linear(n_inputs, width), _MODULES[settings.activation]()]
        if settings.dropout:
            modules.append(torch.nn.Dropout(settings.dropout))
        n_inputs = width
    return torch.nn.Sequential(*modules, torch.nn.Linear(n_inputs, 1))


def _copied(network: torch.nn.Sequential) -> list[tuple[Array, Array]]:
    linear = [module for module in network if isinstance(module, torch.nn.Linear)]
    return [(_doubles(one.weight.T), _doubles(one.bias)) for one in linear]


def _doubles(values: Any) -> Array:
    array: Array = values.detach().numpy().astype(np.float64)
    return array


def _scores(network: torch.nn.Sequential, inputs: Inputs) -> Array:
    """The scores of all rows."""
    network.eval()
    scores = np.empty(inputs.shape[0])
    with torch.no_grad():
        for start in range(0, len(scores), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            scores[rows] = network(torch.from_numpy(inputs.rows(rows)))[:, 0].numpy()
    network.train()
    return scores


def _epochs(
    network: torch.nn.Sequential,
    inputs: Inputs,
    judgments: Judgments,
    loss: Loss,
    of_query: Array,
    settings: Settings,
) -> Iterator[float]:
    """Train, and give the mean loss of each epoch, in which every query with a weight is seen once.

    In each epoch the queries stand in another random order, and batches are runs of them: so the loss is prepared once
    for all batches, and its kernels are given a run of queries, never a query at a time.
    """
    rng = np.random.default_rng(settings.seed)
    counted = np.flatnonzero(of_query > 0)
    mean_weight = float(of_query[counted].mean())
    n_batches = -(-len(counted) // settings.batch_size)
    optimiser = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.learning_rate, total_steps=n_batches * settings.epochs + 1
    )
    for epoch in range(settings.epochs):
        order = rng.permutation(counted)
        rows, dealt = _reordered(judgments, order)
        losses = loss.on(dealt, of_query[order])
        point, scores = losses.point(), np.zeros(len(rows))
        for first, last in pairwise(np.linspace(0, len(order), n_batches + 1).astype(int).tolist()):
            run = slice(int(losses.offsets[first]), int(losses.offsets[last]))
            given = network(torch.from_numpy(inputs.rows(rows[run])))[:, 0]
            scores[run] = given.detach().numpy()
            if not np.isfinite(scores[run]).all():
                raise DataError(
                    f"training diverged in epoch {epoch + 1}: scores are no longer finite; lower learning_rate"
                )
            losses.evaluate(first, last, scores, point)
            gradient = point.gradient[run] / ((last - first) * mean_weight)
            optimiser.zero_grad()
            given.backward(torch.from_numpy(gradient.astype(np.float32)))
            optimiser.step()
            schedule.step()
        yield float(point.values.sum()) / float(of_query[counted].sum())


def _reordered(judgments: Judgments, queries: Columns) -> tuple[Columns, Judgments]:
    """The rows of these queries, query by query, and their judgments in this order."""
    grouping = judgments.grouping
    sizes, starts = np.diff(grouping.offsets)[queries], grouping.offsets[queries]
    ends = np.cumsum(sizes)
    rows = np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1])
    if grouping.order is not None:
        rows = grouping.order[rows]
    taken = Grouping.of_sizes(grouping.query_ids[queries], sizes)
    return rows, Judgments(judgments.supervision.take(rows), taken).within(judgments.whole)
