"""`KernelMap`: a Gaussian kernel as columns in front of a linear ranker."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.base import clone

from rankwright.checks import check_bool, check_choice, check_positive, check_whole
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import ParameterError
from rankwright.maps.feature_map import FeatureMap
from rankwright.maps.kernel_columns import FourierColumns, KernelColumns, NystroemColumns, gaussian
from rankwright.maps.standardised import SCALINGS, ScalingName, Standardised, standardise
from rankwright.preparation.missing import MISSING, MissingName
from rankwright.selection.search import Search, search
from rankwright.types import Array

KindName = Literal["fourier", "orthogonal", "nystroem"]
KINDS: tuple[KindName, ...] = get_args(KindName)

# gamma · (the median squared distance of documents) is chosen from these.
_WIDTHS = (0.125, 0.25, 0.5, 1.0)
_USUAL_WIDTH = 0.5
_DISTANT_DOCUMENTS = 1000  # whose distances tell the median
_MOST_SAMPLED = 20  # documents for each landmark that it is drawn from
_NEGLIGIBLE = 1e-7  # of the largest eigenvalue of the landmarks' kernel matrix


class KernelMap(FeatureMap):
    r"""Columns whose inner products are a Gaussian kernel, or nearly so (paper L, section 6).

        k(z, z') = exp(−γ‖z − z'‖²)

    A linear ranker behind it is a kernel ranker, whose cost grows with the number of columns instead of the square of
    the number of documents. Give it to `MappedRanker`, which makes the columns while documents are read, or use it as a
    scikit-learn transformer. z are the features on one scale, with missing values filled in and indicated.

    Parameters
    ----------
    kind : "fourier", "orthogonal" or "nystroem"
        Random Fourier features; the same with frequencies that are orthogonal to each other, which takes off some of
        the randomness; or projections on the kernel functions of some of the documents (landmarks).
    n_components : int
        How many columns the kernel has: the more, the nearer it is to the kernel. Of landmarks there are no more than
        different documents.
    gamma : float or search(), by default search()
        γ. `search()` lets `MappedRanker` choose it from multiples of 1 / (the median squared distance of documents),
        `search(0.01, 0.1)` from these; a transformer of its own takes half of 1 / (the median) for ``search()``.
    scaling : "standard", "quantile", "within-query-spread" or search(), by default search()
        How features are put on one scale: mean 0 and standard deviation 1 over all documents; the same of their places
        among the values of all documents; or divided by the standard deviation within queries. `search()` lets
        `MappedRanker` choose among the three; a transformer of its own takes "standard".
    linear : bool
        Whether z are columns too, in front of those of the kernel: what is linear then needs no kernel.
    missing : "mean" or "query-mean"
        What stands for a missing value.
    random_state : int
        Of frequencies and landmarks.

    Attributes
    ----------
    map_ : what it has become
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, documents=10, n_features=20, seed=0).queries
    >>> rw.KernelMap(n_components=100).fit(queries).transform(queries.X).shape
    (200, 120)
    """

    def __init__(
        self,
        kind: KindName = "fourier",
        n_components: int = 1000,
        *,
        gamma: float | Search | None = None,
        scaling: ScalingName | Search | None = None,
        linear: bool = True,
        missing: MissingName = "mean",
        random_state: int = 0,
    ) -> None:
        self.kind = kind
        self.n_components = n_components
        self.gamma = gamma
        self.scaling = scaling
        self.linear = linear
        self.missing = missing
        self.random_state = random_state

    _known: tuple[AnyQueries, Standardised] | None = None  # the scale of some queries, which settings share

    def _check(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_whole("n_components", self.n_components, 1)
        check_bool("linear", self.linear)
        check_choice("missing", self.missing, MISSING)
        check_whole("random_state", self.random_state, 0)
        gamma = self._gamma()
        for value in gamma.values or () if isinstance(gamma, Search) else (gamma,):
            check_positive("gamma", value, or_else="search(…)")
        for scaling in self._scalings():
            check_choice("scaling", scaling, SCALINGS, or_else="search(…)")

    def _gamma(self) -> float | Search:
        return search() if self.gamma is None else self.gamma

    def _scalings(self) -> tuple[Any, ...]:
        if self.scaling is None:
            return SCALINGS
        return self.scaling.values or SCALINGS if isinstance(self.scaling, Search) else (self.scaling,)

    def settings(self, queries: AnyQueries) -> list[Self]:
        """Every scaling with every γ; those of the first scaling first, and of a scaling the smallest γ first."""
        self._check()
        found: list[Self] = []
        for scaling in self._scalings():
            standardised = standardise(queries, scaling, self.missing)
            for gamma in self._gammas(queries, standardised):
                setting = clone(self).set_params(gamma=gamma, scaling=scaling)
                setting._known = (queries, standardised)
                found.append(setting)
        return found

    def _gammas(self, queries: AnyQueries, standardised: Standardised) -> list[float]:
        """Those to choose from, ascending."""
        gamma = self._gamma()
        if not isinstance(gamma, Search):
            return [float(gamma)]
        if gamma.values is not None:
            return sorted(map(float, gamma.values))
        near = 1 / _median_distance(queries, standardised, self.random_state)
        return [width * near for width in _WIDTHS]

    def told(self) -> dict[str, Any]:
        """γ and the scaling."""
        return {"gamma": self.gamma, "scaling": self.scaling}

    def column_map(self, queries: AnyQueries) -> KernelColumns:
        """One or two readings for the scale, and a sample of documents for landmarks."""
        self._check()
        known_on, standardised = self._known or (None, None)
        if standardised is None or known_on is not queries:
            standardised = standardise(queries, self._own_scaling(), self.missing)
        gamma = self._own_gamma(queries, standardised)
        if self.kind == "nystroem":
            return self._nystroem(queries, standardised, gamma)
        turns = np.sqrt(2 * gamma) / (2 * np.pi) * self._directions(standardised.n_columns)
        # Rounded to float32, they are the same in training and prediction, and short in a file.
        turns = turns.astype(np.float32).astype(np.float64)
        return FourierColumns(standardised, self.linear, turns, self.n_components)

    def _own_scaling(self) -> ScalingName:
        if self.scaling is None:
            return SCALINGS[0]
        if not isinstance(self.scaling, Search):
            return self.scaling
        if self.scaling.values is not None:
            raise ParameterError(f"scaling={self.scaling!r} is for MappedRanker to choose: give one of them")
        return SCALINGS[0]

    def _own_gamma(self, queries: AnyQueries, standardised: Standardised) -> float:
        gamma = self._gamma()
        if not isinstance(gamma, Search):
            return float(gamma)
        if gamma.values is not None:
            raise ParameterError(f"gamma={self.gamma!r} is for MappedRanker to choose: give one of them")
        return _USUAL_WIDTH / _median_distance(queries, standardised, self.random_state)

    def _directions(self, n: int) -> Array:
        """Frequencies of a Gaussian kernel with γ = ½, one in each column."""
        random, n_frequencies = np.random.default_rng(self.random_state), -(-self.n_components // 2)
        if self.kind == "fourier" or n == 0:
            return random.standard_normal((n, n_frequencies))
        blocks = [_orthogonal(n, random) for _ in range(-(-n_frequencies // n))]
        return np.concatenate(blocks, axis=1)[:, :n_frequencies]

    def _nystroem(self, queries: AnyQueries, standardised: Standardised, gamma: float) -> NystroemColumns:
        documents = _documents(queries, standardised, _MOST_SAMPLED * self.n_components)
        distinct = np.unique(documents.astype(np.float32), axis=0)
        random = np.random.default_rng(self.random_state)
        chosen = np.sort(random.permutation(len(distinct))[: self.n_components])
        landmarks = distinct[chosen].astype(np.float64)
        values, vectors = scipy.linalg.eigh(gaussian(landmarks, landmarks, gamma))
        counts = values > _NEGLIGIBLE * values[-1]
        whitening = vectors[:, counts] / np.sqrt(values[counts])
        return NystroemColumns(standardised, self.linear, landmarks, gamma, whitening)


def _orthogonal(n: int, random: np.random.Generator) -> Array:
    """n directions that are orthogonal to each other, as long as those of independent numbers are."""
    q, r = scipy.linalg.qr(random.standard_normal((n, n)))
    lengths = np.linalg.norm(random.standard_normal((n, n)), axis=0)
    directions: Array = q * np.sign(np.diag(r)) * lengths
    return directions


def _documents(queries: AnyQueries, standardised: Standardised, most: int) -> Array:
    """About so many documents at most, on one scale: those of queries that are evenly spaced."""
    step = max(1, -(-queries.n_documents // most))
    some = queries[::step] if step > 1 else queries
    sample = some if isinstance(some, Queries) else some.in_memory()
    return standardised.rows(sample.X, sample.grouping, np.float64)


def _median_distance(queries: AnyQueries, standardised: Standardised, seed: int) -> float:
    """The median of squared distances between documents that differ; 1 if none do."""
    documents = _documents(queries, standardised, 20 * _DISTANT_DOCUMENTS)
    random = np.random.default_rng(seed)
    some = documents[np.sort(random.permutation(len(documents))[:_DISTANT_DOCUMENTS])]
    norms = np.einsum("ij,ij->i", some, some)
    distances: npt.NDArray[Any] = norms[:, None] + norms - 2 * (some @ some.T)
    apart = distances[np.triu_indices(len(some), 1)]
    apart = apart[apart > 1e-9 * norms.max(initial=0.0)]
    return float(np.median(apart)) if len(apart) else 1.0
