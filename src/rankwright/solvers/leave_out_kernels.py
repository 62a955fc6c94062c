"""Compiled loops of leave-query-out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.machine.compile import summing_kernel

Floats = npt.NDArray[Any]

MOST_TERMS = 100  # longer series are not begun


@summing_kernel
def solve_shifted(
    diagonal: Floats, beside: Floats, reflections: Floats, factors: Floats, shifts: Floats, right: Floats, out: Floats
) -> None:
    """(QTQᵀ + λ_l I)x_l = right for every λ_l, into out[l], with T and Q as `tridiagonalise` gives them."""
    n = len(diagonal)
    turned = right.copy()
    for k in range(n - 1):
        _reflect(reflections[k], factors[k], k + 1, turned)
    pivots = np.empty(n)
    for l in range(len(shifts)):
        x = out[l]
        pivots[0] = diagonal[0] + shifts[l]
        x[0] = turned[0]
        for i in range(1, n):
            factor = beside[i - 1] / pivots[i - 1]
            pivots[i] = diagonal[i] + shifts[l] - factor * beside[i - 1]
            x[i] = turned[i] - factor * x[i - 1]
        x[n - 1] /= pivots[n - 1]
        for i in range(n - 2, -1, -1):
            x[i] = (x[i] - beside[i] * x[i + 1]) / pivots[i]
        for k in range(n - 2, -1, -1):
            _reflect(reflections[k], factors[k], k + 1, x)


@summing_kernel
def _reflect(reflection: Floats, factor: float, start: int, x: Floats) -> None:
    """x − f v (vᵀx), where v is 0 before ``start``, 1 there, and as in ``reflection`` after it."""
    product = x[start]
    for i in range(start + 1, len(x)):
        product += reflection[i] * x[i]
    product *= factor
    x[start] -= product
    for i in range(start + 1, len(x)):
        x[i] -= product * reflection[i]


@summing_kernel
def solve_by_series(turned: Floats, target: Floats, inverses: Floats, products: Floats, out: Floats) -> None:
    """D(β − Zᵀr) with r = Σ_t (ZDZᵀ)ᵗ(t − ZDβ), for every diagonal D in ``inverses``, into out[l].

    The terms shrink at least as fast as the powers of trace(ZDZᵀ), which must be below 1; it ends when one no longer
    counts beside the first. Each term is one walk over Z: a row gives its entry of the term, and adds to Zᵀ times it.
    """
    size, n = turned.shape
    n_shifts = len(inverses)
    factor, product, total = inverses * products, np.empty((n_shifts, n)), np.zeros((n_shifts, n))
    first, norm = np.empty(n_shifts), np.empty(n_shifts)
    for number in range(MOST_TERMS):
        product[:] = 0
        norm[:] = 0
        for d in range(size):
            for l in range(n_shifts):
                entry = 0.0
                for i in range(n):
                    entry += turned[d, i] * factor[l, i]
                if number == 0:
                    entry = target[d] - entry
                norm[l] += entry * entry
                for i in range(n):
                    product[l, i] += entry * turned[d, i]
        if number == 0:
            first[:] = norm
        negligible = True
        for l in range(n_shifts):
            negligible &= norm[l] <= 1e-32 * first[l]
            for i in range(n):
                total[l, i] += product[l, i]
                factor[l, i] = inverses[l, i] * product[l, i]
        if negligible:
            break
    for l in range(n_shifts):
        for i in range(n):
            out[l, i] = inverses[l, i] * (products[i] - total[l, i])


@summing_kernel
def solve_by_query(turned: Floats, target: Floats, inverses: Floats, products: Floats, out: Floats) -> None:
    """D(β − Zᵀr) with r = (I − ZDZᵀ)⁻¹(t − ZDβ), for every diagonal D in ``inverses``, into out[l].

    Z is ``turned``, t ``target`` and β ``products``. Raises LinAlgError where leaving out leaves nothing.
    """
    size, n = turned.shape
    scaled = np.empty((size, n))
    residual = np.empty(size)
    for l in range(len(inverses)):
        inverse = inverses[l]
        for d in range(size):
            residual[d] = target[d]
            for i in range(n):
                scaled[d, i] = turned[d, i] * inverse[i]
                residual[d] -= scaled[d, i] * products[i]
        system = np.dot(scaled, turned.T)
        for d in range(size):
            for e in range(size):
                system[d, e] = -system[d, e]
            system[d, d] += 1
        _solve_lower_then_upper(np.linalg.cholesky(system), residual)
        for i in range(n):
            out[l, i] = inverse[i] * products[i]
        for d in range(size):
            for i in range(n):
                out[l, i] -= scaled[d, i] * residual[d]


@summing_kernel
def _solve_lower_then_upper(factor: Floats, x: Floats) -> None:
    """(FFᵀ)⁻¹x in place, F lower triangular."""
    for d in range(len(x)):
        total = x[d]
        for e in range(d):
            total -= factor[d, e] * x[e]
        x[d] = total / factor[d, d]
    for d in range(len(x) - 1, -1, -1):
        x[d] /= factor[d, d]
        for e in range(d):
            x[e] -= factor[d, e] * x[d]


@summing_kernel
def backward_errors(
    gram: Floats, products: Floats, centred: Floats, remaining: Floats, alphas: Floats, weights: Floats, out: Floats
) -> None:
    """How far each row w of ``weights`` is from (gram − centredᵀcentred + λI)w = remaining, into out[l].

    The largest |residual_i| / (√a_i Σ_j √a_j |w_j| + |products_i|), where a is the diagonal of gram + λI: the
    componentwise backward error, with |a_ij| ≤ √(a_i a_j) in place of |a_ij|. No query that makes up most of a has
    been subtracted, so that gram is as good a scale as what is left of it.
    """
    n = len(remaining)
    whole = np.dot(weights, gram)
    part = np.dot(np.dot(weights, centred.T), centred)
    for l in range(len(alphas)):
        total = 0.0
        for i in range(n):
            total += np.sqrt(gram[i, i] + alphas[l]) * abs(weights[l, i])
        worst = 0.0
        for i in range(n):
            residual = remaining[i] - whole[l, i] + part[l, i] - alphas[l] * weights[l, i]
            scale = np.sqrt(gram[i, i] + alphas[l]) * total + abs(products[i])
            error = abs(residual) / scale if residual != 0 else 0.0
            if not error <= worst:  # also where it is not a number
                worst = error
        out[l] = worst
