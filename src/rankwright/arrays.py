"""Arrays from outside, checked before anything computes with them: kernels take their numbers and indices on trust."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.errors import DataError, ParameterError


def real_numbers(values: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """Numbers as float64. Complex numbers, times and masked values are refused: NumPy would make other numbers of them.

    ``name`` says what they are, in the plural.
    """
    try:
        given = np.asanyarray(values)
        refuse_other_kinds(given.dtype, name)
        _refuse_times_among_objects(given, name)
        numbers = np.asarray(given, dtype=np.float64)
    except DataError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    refuse_masked(given, name)
    return numbers


def finite_numbers(
    name: str, values: npt.ArrayLike, length: int, for_each: str, *, above: float = -np.inf
) -> npt.NDArray[np.float64]:
    """A parameter that gives a finite number for each feature, or whatever there are so many of."""
    try:
        numbers = real_numbers(values, name)
    except DataError:
        numbers = np.array(np.nan)
    if numbers.shape != (length,) or not (np.isfinite(numbers) & (numbers > above)).all():
        limit = "" if above == -np.inf else f" above {above:g}"
        raise ParameterError(f"{name} must be {length} finite numbers{limit}, one for each {for_each}")
    return numbers


def checked_float_type(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """The type of floating-point numbers that was asked for: float32 or float64."""
    try:
        asked = np.dtype(dtype)
    except TypeError:
        asked = np.dtype(object)
    if asked not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ParameterError(f"dtype must be float32 or float64, not {dtype!r}")
    return asked


def refuse_other_kinds(dtype: np.dtype[Any], name: str) -> None:
    """Raise a :class:`DataError` for types of which NumPy makes real numbers that mean something else."""
    if dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} must be real numbers, not complex ones")
    if dtype.kind in "mM":
        raise _no_times(name)


def _refuse_times_among_objects(values: npt.NDArray[Any], name: str) -> None:
    """NumPy makes numbers of its own times, even of NaT, also where they stand in an array of objects."""
    if values.dtype.kind == "O" and any(isinstance(value, np.datetime64 | np.timedelta64) for value in values.flat):
        raise _no_times(name)


def _no_times(name: str) -> DataError:
    return DataError(f"{name} must be numbers, not times: give them as a number of seconds or days")


def refuse_masked(values: npt.NDArray[Any], name: str) -> None:
    """Raise a :class:`DataError` that names the first row with a masked value, which NumPy would show unmasked."""
    masked = np.ma.getmaskarray(values)
    if masked.any():
        row = int(np.argwhere(masked)[0][0])
        raise DataError(f"row {row}: {name} must not be masked: fill in a value, or drop the row")


def checked_features(X: Any) -> Any:
    """Features from outside, of which SciPy's and our own loops may believe what they say about themselves.

    Sparse matrices come back as CSR, with every row's indices ascending and each once (values of equal indices are
    added up), in float32 or float64. A masked value becomes NaN. The caller's arrays stay as they are.
    """
    if sp.issparse(X):
        return _checked_csr(X)
    if isinstance(X, list | tuple):
        with suppress(ValueError):  # rows of several lengths: scikit-learn tells what is wrong with them
            X = np.asarray(X)
    if isinstance(X, np.ndarray):
        refuse_other_kinds(X.dtype, "features")
        _refuse_times_among_objects(X, "features")
    if np.ma.isMaskedArray(X):
        return np.ma.filled(X.astype(X.dtype if X.dtype == np.float32 else np.float64), np.nan)
    return X


def validated_features(estimator: Any, X: Any, *, reset: bool, order: Literal["C"] | None = None) -> Any:
    """X as scikit-learn's estimators take it: a float array or checked CSR. NaN and infinity pass here.

    ``reset`` notes the number and names of the features; else they are compared with those that were noted.
    """
    from sklearn.utils.validation import validate_data

    X = checked_features(X)
    try:
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            order=order,
            ensure_all_finite=False,
        )
    except DataError:
        raise
    except np.exceptions.DTypePromotionError:
        raise DataError("features must be numbers: convert columns of times, or leave them out") from None
    except ValueError as error:  # other TypeErrors stay what they are, as scikit-learn's contract has it
        raise DataError(str(error)) from error


def _checked_csr(x: Any) -> Any:
    if x.ndim != 2:
        raise DataError(f"X must have two dimensions (documents × features), not {x.ndim}")
    refuse_other_kinds(x.dtype, "features")
    csr = _as_csr(x)
    if csr.dtype not in (np.float32, np.float64):
        try:
            csr = csr.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"features must be numbers: {error}") from None
    if not csr.has_canonical_format:
        csr = csr.copy()  # the caller's arrays stay as they are
        csr.sum_duplicates()
    return csr


def _as_csr(x: Any) -> Any:
    """The same matrix as CSR that knows nothing of itself yet: flags that the caller's has may be out of date."""
    kind = sp.csr_matrix if isinstance(x, sp.spmatrix) else sp.csr_array
    if x.format in ("csr", "csc", "bsr"):
        _check_compressed(x)
    if x.format == "csr":
        return kind((x.data, x.indices, x.indptr), shape=x.shape)
    if x.format in ("csc", "bsr"):
        return kind(x)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of coordinates that are no whole numbers
            entries = x.tocoo()  # by NumPy, which looks at bounds
            return kind(sp.coo_array((entries.data, entries.coords), shape=x.shape))
    except (TypeError, ValueError, IndexError) as error:
        raise DataError(f"X is not a valid sparse matrix: {error}") from None


def _check_compressed(x: Any) -> None:
    """Raise a :class:`DataError` if rows (of CSC, columns) begin or end, or entries lie, where they cannot.

    Rows and columns of BSR are those of its blocks. SciPy's own check skips everything if the last row ends at 0.
    """
    problem = f"X is not a valid {x.format.upper()} matrix"
    block = x.data.shape[1:] if x.format == "bsr" else (1, 1)
    if len(block) != 2 or 0 in block or x.shape[0] % block[0] or x.shape[1] % block[1]:
        raise DataError(f"{problem}: blocks of shape {block} do not fit the shape {x.shape}")
    lines, width = x.shape[0] // block[0], x.shape[1] // block[1]
    line, across = "row", "column"
    if x.format == "csc":
        lines, width, line, across = width, lines, across, line
    ends, indices = np.asarray(x.indptr), np.asarray(x.indices)
    if ends.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise DataError(f"{problem}: indices and indptr must be whole numbers, not {indices.dtype} and {ends.dtype}")
    if ends.shape != (lines + 1,):
        raise DataError(f"{problem}: indptr must have {lines + 1} entries for {lines} {line}s, not {ends.shape}")
    if len(x.data) != indices.size or indices.ndim != 1 or x.data.ndim != (3 if x.format == "bsr" else 1):
        raise DataError(f"{problem}: there are {len(x.data)} values, but {indices.size} indices")
    if ends[0] != 0 or ends[-1] > len(indices):
        raise DataError(
            f"{problem}: indptr must begin with 0 and end with at most {len(indices)}, the number of stored values, "
            f"not with {ends[0]} and {ends[-1]}"
        )
    backwards = ends[1:] < ends[:-1]
    if backwards.any():
        raise DataError(f"{problem}: indptr decreases at {line} {int(np.argmax(backwards))}")
    stored = indices[: int(ends[-1])]
    if len(stored) and not (stored.min() >= 0 and stored.max() < width):
        place = int(np.argmax((stored < 0) | (stored >= width)))
        raise DataError(
            f"{problem}: {line} {int(np.searchsorted(ends, place, side='right')) - 1} has a value in {across} "
            f"{stored[place]}, but {across}s go from 0 to {width - 1}"
        )
