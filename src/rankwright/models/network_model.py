"""Networks as scores, and `NetworkModel`: the network that a ranker has learned, without the library it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rankwright.judgments.grouping import Grouping
from rankwright.models.learned import Unfitted
from rankwright.models.linear_model import FILLINGS
from rankwright.models.model import Model
from rankwright.models.network import ACTIVATIONS, Layer, Network
from rankwright.models.scorer import Scorer
from rankwright.models.transform_fields import read_transforms, transform_entries
from rankwright.preparation.missing import Filling
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.models.model_reader import ModelReader


class NetworkScorer(Scorer):
    """Scores are those of a `Network`."""

    network_: Network

    def network(self) -> Network:
        """What the scores of features are computed by, as `predict` takes them."""
        try:
            check_is_fitted(self, "network_")
        except NotFittedError:
            raise Unfitted(f"ranker: this {type(self).__name__} is not fitted yet: call fit first") from None
        return self.network_

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """Scores of rows whose number of features has been checked, and whose queries may be known."""
        return self.network().scores(x, grouping)

    def _why_missing_is_refused(self) -> str:
        return "The training data had none missing, so nothing is known to put in its place: fill it in first"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class NetworkModel(NetworkScorer, Model):
    """A trained `NeuralRanker` as `load_model` reads it: a network of fully connected layers, computed by NumPy.

    It predicts, ranks and is measured as the ranker that was saved, and needs no PyTorch; it cannot be trained.
    Whatever was done to features before they were trained on is part of the network.

    Parameters
    ----------
    measures : such as "ndcg@10, map"
        The first one is what ``score`` tells.
    convention : name of a Convention

    Attributes
    ----------
    network_ : layers, activation, and what features go through before them
    n_features_in_, feature_names_in_
        ``feature_names_in_`` is there only if the training data named their features.
    ranker_ : the name of the class that was trained, "NeuralRanker"
    parameters_ : its parameters; those that JSON cannot hold as text
    training_ : what was noted when the model was saved, such as the data and the measures
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, ...]]] = {
        4: ("layers", "activation", "within_query", "transforms", "filling", "missing", "indicated")
    }
    why_no_scaler: ClassVar[str] = "scales features itself, so train it on the features as they are"

    @classmethod
    def of(cls, network: Network, **told: Any) -> Self:
        """The model with this network; the rest is ``told`` as `Model.new` takes it."""
        model = cls.new(network.n_features, **told)
        model.network_ = network
        return model

    def cut_to(self, n_features: int) -> NetworkModel:
        """The model for data whose features after the first n are all 0, and not there."""
        cut = NetworkModel.of(self.network().of_features(np.arange(n_features)), **self.about(n_features))
        return cut.with_memory_of(self)

    def used_features(self) -> Columns:
        """The features that have a weight in the first layer, by their value or by being missing."""
        return self.network().used

    # Its file

    def fields(self) -> dict[str, Any]:
        """Layers from the features to the score, and what features go through before them."""
        network = self.network()
        layers = [{"weights": weights.tolist(), "biases": biases.tolist()} for weights, biases in network.layers]
        filling = network.filling
        values = [] if filling is None else enumerate(filling.values.tolist(), start=1)
        return {
            "layers": layers,
            "activation": network.activation,
            "within_query": network.within_query,
            "transforms": transform_entries(network.transforms),
            "filling": None if filling is None else "query-mean" if filling.by_query else "mean",
            "missing": [list(entry) for entry in values],
            "indicated": (network.indicated + 1).tolist(),
        }

    @classmethod
    def read(cls, file: ModelReader, **told: Any) -> Self:
        """The model whose fields a file has."""
        activation, within_query = file.content["activation"], file.content["within_query"]
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            file.refuse(f"activation must be one of {', '.join(ACTIVATIONS)}, not {file.shown(activation)}")
        if not isinstance(within_query, bool):
            file.refuse(f"within_query must be true or false, not {file.shown(within_query)}")
        filling, indicated = _read_filling(file), _read_indicated(file)
        if len(indicated) and filling is None:
            file.refuse("indicated must be empty where filling is null: a missing value would have no input")
        layers = _read_layers(file, file.n_features + len(indicated))
        return cls.of(
            Network(
                read_transforms(file, file.content["transforms"]), filling, indicated, layers, activation, within_query
            ),
            **told,
        )

    def __repr__(self) -> str:
        if not hasattr(self, "network_"):
            return "NetworkModel(not read from a file yet)"
        widths = " → ".join(str(len(biases)) for _, biases in self.network_.layers)
        return self._described(f"layers {self.network_.n_features + len(self.network_.indicated)} → {widths}")


# Reading


def _read_layers(file: ModelReader, n_inputs: int) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    for position, entry in enumerate(file.listed("layers", "of objects with weights and biases"), start=1):
        what = f"layers, layer {position}"
        if not isinstance(entry, dict) or set(entry) != {"weights", "biases"}:
            file.refuse(f"{what} must be an object with weights and biases, and nothing else")
        biases = file.numbers(entry["biases"], f"{what}: biases")
        if not biases:
            file.refuse(f"{what}: there must be at least one output, with its bias")
        rows = entry["weights"]
        if not isinstance(rows, list) or len(rows) != n_inputs:
            count = len(rows) if isinstance(rows, list) else file.shown(rows)
            file.refuse(f"{what}: weights must have a list for each of its {n_inputs} inputs, not {count}")
        weights = np.empty((n_inputs, len(biases)))
        for place, row in enumerate(rows):
            numbers = file.numbers(row, f"{what}: weights")
            if len(numbers) != len(biases):
                told = f"input {place + 1} has {len(numbers)} weights for {len(biases)} outputs"
                file.refuse(f"{what}: {told}")
            weights[place] = numbers
        layers.append(Layer(weights, np.array(biases)))
        n_inputs = len(biases)
    if not layers or n_inputs != 1:
        file.refuse("layers: the last layer must have one output, the score")
    return tuple(layers)


def _read_filling(file: ModelReader) -> Filling | None:
    by = file.content["filling"]
    entries = {feature: value for _, feature, (value,) in file.entries("missing", ("value",))}
    if by is None and not entries:
        return None
    if not isinstance(by, str) or by not in FILLINGS:
        file.refuse(f"filling must be one of {', '.join(FILLINGS)}, or null if missing is empty, not {file.shown(by)}")
    return Filling(file.spread(entries), FILLINGS[by])


def _read_indicated(file: ModelReader) -> Columns:
    given = file.listed("indicated", "of features")
    features = [file.feature(value, f"indicated, entry {position}") for position, value in enumerate(given, start=1)]
    if features != sorted(set(features)):
        file.refuse("indicated must name features in ascending order, each once")
    return np.array(features, np.intp) - 1
