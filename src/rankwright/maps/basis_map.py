"""`BasisMap`: hinges, logarithms and products of two features as columns in front of a linear ranker."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone

from rankwright.checks import check_bool, check_whole
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError
from rankwright.maps.basis import Basis
from rankwright.maps.basis_fitting import fitted_basis
from rankwright.maps.feature_map import FeatureMap


def check_basis(hinges: Any, products: Any, logarithms: Any) -> None:
    """The parameters that say which columns there are."""
    check_whole("hinges", hinges, 0)
    check_bool("products", products)
    check_bool("logarithms", logarithms)


def basis_of(queries: AnyQueries, hinges: int, products: bool, logarithms: bool) -> Basis:
    """The columns that tell documents of these queries apart; an error says if there are none."""
    basis = fitted_basis(queries, hinges=hinges, products=products, logarithms=logarithms)
    if basis.n_columns == 0:
        raise DataError(
            "no feature differs between documents of the same query, so there is nothing to rank by "
            f"(n_queries={queries.n_queries}, n_samples={queries.n_documents})"
        )
    return basis


class BasisMap(FeatureMap):
    """Functions of one or two features as columns: the features, hinges, logarithms and products of two.

    Give it to `MappedRanker`, which makes the columns while documents are read, or use it as a scikit-learn
    transformer. Every column is divided by its spread within queries, so λ means the same for all; a column that is the
    same for all documents of each query is left out. Missing values are filled in by the mean of the feature, and
    a column tells where they were missing. `BasisRanker` selects few of these columns, without storing any.

    Parameters
    ----------
    hinges : int
        How many knots t a feature has for hinges max(0, x − t) and max(0, t − x), at quantiles of its values. 0: none.
    products : bool
        Whether there are products of two features, and squares. Features are taken less their mean.
    logarithms : bool
        Whether there are sign(x) · log(1 + |x| / unit).

    Attributes
    ----------
    map_ : what it has become
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=50, n_features=10, seed=0).queries
    >>> rw.BasisMap(hinges=0, logarithms=False).fit_transform(queries.X, qid=queries.qid).shape[1]  # 10 + 55 products
    65
    """

    def __init__(self, hinges: int = 8, *, products: bool = True, logarithms: bool = True) -> None:
        self.hinges = hinges
        self.products = products
        self.logarithms = logarithms

    def settings(self, queries: AnyQueries) -> list[Self]:
        """Nothing is left to be chosen."""
        return [clone(self)]

    def column_map(self, queries: AnyQueries) -> Basis:
        """Three readings: of means, of spreads, and of spreads of columns; quantiles are those of a sample."""
        check_basis(self.hinges, self.products, self.logarithms)
        return basis_of(queries, self.hinges, self.products, self.logarithms)
