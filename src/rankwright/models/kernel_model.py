"""Sums of kernels as scores, and `KernelModel`: the documents and weights that a ranker with a kernel has learned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.judgments.grouping import Grouping
from rankwright.models.kernels import KERNELS, Kernel, blocks, plain
from rankwright.models.learned import Unfitted, checked_dual
from rankwright.models.model import Model, NoModel, about
from rankwright.models.scorer import Scorer
from rankwright.models.standardisation import Standardisation
from rankwright.preparation.formula import Formula
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.models.model_reader import ModelReader

# Documents of a file are kept dense if at least one in so many of their values is not 0: so a few bytes of a file never
# ask for much memory.
_LEAST_FILLED = 4


class KernelSum(NamedTuple):
    """Scores are Σ_i weights_i k(document_i, x), of features behind a standardisation if there is one."""

    kernel: Kernel
    documents: Any
    weights: Array
    standardisation: Standardisation | None = None


class KernelScorer(Scorer):
    """Scores are Σ_i a_i k(x_i, x) over some of the training documents."""

    X_fit_: Any
    dual_coef_: Array

    @abstractmethod
    def _kernel(self) -> Kernel:
        """What documents are compared by."""

    def _standardisation(self) -> Standardisation | None:
        return None

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """Scores of rows whose number of features has been checked; NaN for those with a feature that is not finite."""
        weights = checked_dual(self)
        is_bad = ~np.isfinite(x.data if sp.issparse(x) else x)
        if is_bad.any():
            rows = np.flatnonzero(~np.isfinite(x.toarray() if sp.issparse(x) else x).all(axis=1))
            scores = np.zeros(x.shape[0])
            scores[rows] = np.nan
            return scores
        kernel, by, width = self._kernel(), self._standardisation(), max(*self.X_fit_.shape)
        runs = blocks(x.shape[0], width)
        found = [kernel.sums(_columns(x[first:last], by, self.X_fit_), self.X_fit_, weights) for first, last in runs]
        return np.concatenate([np.zeros(0), *found])

    def model(self) -> KernelModel:
        """What it has learned: the kernel, and the training documents that have a weight."""
        if not hasattr(self, "dual_coef_"):
            raise Unfitted(f"ranker: this {type(self).__name__} is not fitted yet: call fit first")
        kernel, weights = self._kernel(), checked_dual(self)
        if kernel.name is None:
            raise NoModel(f"its kernel is a function of yours, which no file can hold; use one of {', '.join(KERNELS)}")
        counts = np.flatnonzero(weights)
        learned = KernelSum(kernel, self.X_fit_[counts], weights[counts])
        return KernelModel.made_of(learned, self.n_features_in_, **about(self)).with_memory_of(self)


class KernelModel(Model, KernelScorer):
    """A trained ranker with a kernel as `load_model` reads it: scores are Σ_i dual_coef_i k(X_fit_i, x).

    It predicts, ranks and is measured as the ranker that was saved; it cannot be trained. Only the training documents
    that have a weight are part of it.

    Parameters
    ----------
    measures : such as "ndcg@10, map"
        The first one is what ``score`` tells.
    convention : name of a Convention

    Attributes
    ----------
    kernel_ : Kernel, its name and its parameters
    X_fit_, dual_coef_ : documents and their weights
    standardisation_ : mean and scale of each feature, which x goes through first, or None
    n_features_in_, feature_names_in_
        ``feature_names_in_`` is there only if the training data named their features.
    ranker_ : the name of the class that was trained, such as "KernelRankRLS"
    parameters_ : its parameters; those that JSON cannot hold as text
    training_ : what was noted when the model was saved, such as the data and the measures

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, documents=5, seed=0).queries
    >>> rw.save_model(rw.KernelRankRLS(kernel="rbf").fit(queries), "model.json")
    >>> rw.load_model("model.json")
    KernelModel(KernelRankRLS, 20 features, kernel rbf of 100 documents)
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, ...]]] = {4: ("kernel", "standardisation", "documents")}

    kernel_: Kernel
    standardisation_: Standardisation | None

    @classmethod
    def made_of(cls, learned: KernelSum, n_features: int, **told: Any) -> Self:
        """The model of this sum; the rest is ``told`` as `Model.new` takes it."""
        model = cls.new(n_features, **told)
        model.kernel_, model.X_fit_, model.dual_coef_, model.standardisation_ = learned
        return model

    def _kernel(self) -> Kernel:
        return self.kernel_

    def _standardisation(self) -> Standardisation | None:
        return self.standardisation_

    def kernel_sum(self) -> KernelSum:
        """What it computes."""
        weights = checked_dual(self)
        return KernelSum(self.kernel_, self.X_fit_, weights, self.standardisation_)

    def scaled_by(self, by: Standardisation) -> KernelModel:
        """The model of features that go through a scaler first, for one that was trained on what it gives."""
        if self.standardisation_ is not None:
            raise ParameterError("scaler: this model has a scaler of its own, so leave it out")
        learned = self.kernel_sum()._replace(standardisation=by)
        return KernelModel.made_of(learned, self.n_features_in_, **self.about()).with_memory_of(self)

    def model(self) -> Self:
        """Itself."""
        return self

    def cut_to(self, n_features: int) -> KernelModel:
        """The model for data whose features after the first n are all 0, and not there: documents keep theirs."""
        return KernelModel.made_of(self.kernel_sum(), n_features, **self.about(n_features)).with_memory_of(self)

    def formula(self) -> Formula | None:
        """Σ_i a_i x_i as weights, if the kernel is linear."""
        kernel, documents, weights, by = self.kernel_sum()
        if kernel.name != "linear":
            return None
        formula = Formula(np.asarray(documents.T @ weights).ravel(), 0.0)
        return (formula if by is None else by.folded_into(formula)).cut_to(self.n_features_in_)

    def used_features(self) -> Columns:
        """Those of the formula; with other kernels all, as any can make a document more or less like another."""
        formula = self.formula()
        return np.arange(self.n_features_in_) if formula is None else formula.used

    def _columns_trained_on(self, queries: Queries) -> Any:
        x = self._columns_of(queries)
        return x if self.standardisation_ is None else self.standardisation_.of(x)

    def _why_missing_is_refused(self) -> str:
        return f"{self.ranker_} does not take missing values: fill them in first"

    # Its file

    def fields(self) -> dict[str, Any]:
        """The kernel, mean and scale of each feature, and of each document its weight, features and their values."""
        learned = self.kernel_sum()
        if learned.documents.shape[1] != self.n_features_in_:
            raise ParameterError("ranker: a model that was cut to the features of some data cannot be saved")
        by, rows = learned.standardisation, sp.csr_matrix(learned.documents)
        rows.eliminate_zeros()
        rows.sort_indices()
        bounds = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
        documents = [
            [weight, (rows.indices[first:last] + 1).tolist(), rows.data[first:last].tolist()]
            for weight, (first, last) in zip(learned.weights.tolist(), bounds, strict=True)
        ]
        scales = None if by is None else [np.asarray(each, np.float64).tolist() for each in by]
        return {
            "kernel": {"name": learned.kernel.name, **learned.kernel.parameters},
            "standardisation": scales,
            "documents": documents,
        }

    @classmethod
    def read(cls, file: ModelReader, **told: Any) -> Self:
        """The model whose fields a file has."""
        kernel, by, (documents, weights) = _read_kernel(file), _read_standardisation(file), _read_documents(file)
        return cls.made_of(KernelSum(kernel, documents, weights, by), file.n_features, **told)

    def __repr__(self) -> str:
        if not hasattr(self, "dual_coef_"):
            return "KernelModel(not read from a file yet)"
        n = len(self.dual_coef_)
        return self._described(f"kernel {self.kernel_.name} of {n:,} document{'s' * (n != 1)}")


def _columns(x: Any, by: Standardisation | None, documents: Any) -> Any:
    """Rows as documents are compared with them; features that a model was cut by are 0."""
    more = documents.shape[1] - x.shape[1]
    if more and sp.issparse(x):
        x = sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], documents.shape[1]))
    elif more:
        x = np.pad(x, ((0, 0), (0, more)))
    x = plain(x.toarray() if sp.issparse(x) and by is not None and by.mean.any() else x)  # a mean moves 0 elsewhere
    return x if by is None else plain(by.of(x))


# Reading


def _read_kernel(file: ModelReader) -> Kernel:
    told = file.content["kernel"]
    name = told.get("name") if isinstance(told, dict) else None
    if not isinstance(name, str) or name not in KERNELS:
        file.refuse(f"kernel must be an object with a name, one of {', '.join(KERNELS)}")
    wanted = KERNELS[name]
    if told.keys() != {"name", *wanted}:
        file.refuse(f"kernel: {name!r} has {', '.join(wanted) or 'no parameters'} beside its name, and nothing else")
    parameters = {parameter: file.number(told[parameter], f"kernel: {parameter}") for parameter in wanted}
    for parameter, value in parameters.items():
        if value < 0 or (value == 0 and parameter in Kernel.POSITIVE):
            above = "above 0" if parameter in Kernel.POSITIVE else "at least 0"
            file.refuse(f"kernel: {parameter} must be {above}, not {value:g}")
    return Kernel(name, parameters)


def _read_standardisation(file: ModelReader) -> Standardisation | None:
    told = file.content["standardisation"]
    if told is None:
        return None
    if not isinstance(told, list) or len(told) != 2:
        file.refuse("standardisation must be null, or a list of two: means and scales")
    mean, scale = (np.array(file.numbers(numbers, "standardisation")) for numbers in told)
    if mean.shape != (file.n_features,) or scale.shape != (file.n_features,):
        file.refuse(f"standardisation must have a mean and a scale for each of the {file.n_features} features")
    if not (scale > 0).all():
        file.refuse("standardisation: every scale must be above 0")
    return Standardisation(mean, scale)


def _read_documents(file: ModelReader) -> tuple[Any, Array]:
    """The documents, one to a row, and their weights."""
    form = "[weight, features, values]"
    weights: list[float] = []
    indices: list[int] = []
    values: list[float] = []
    ends = [0]
    for position, entry in enumerate(file.listed("documents", f"of {form}"), start=1):
        what = f"documents, entry {position}"
        if not isinstance(entry, list) or len(entry) != 3 or not isinstance(entry[1], list):
            file.refuse(f"{what} must be a list {form}")
        weights.append(file.number(entry[0], f"{what}: the weight"))
        features, own = [file.feature(feature, what) - 1 for feature in entry[1]], file.numbers(entry[2], what)
        if len(features) != len(own):
            file.refuse(f"{what} has {len(features)} features, but {len(own)} values")
        if any(one >= other for one, other in pairwise(features)):
            file.refuse(f"{what}: features must ascend")
        indices += features
        values += own
        ends.append(len(indices))
    shape = (len(weights), file.n_features)
    rows = sp.csr_matrix((np.array(values), np.array(indices, np.int32), np.array(ends, np.int64)), shape=shape)
    is_dense = _LEAST_FILLED * len(values) >= shape[0] * shape[1]
    return rows.toarray() if is_dense else rows, np.array(weights)
