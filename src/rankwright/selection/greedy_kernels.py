"""Compiled loops of greedy selection; `rankwright.selection.greedy` has the mathematics.

The last index of every array is a problem: the training set without query q, for each q, and at the end without
nothing. So all loops run along problems, in the order of memory.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from rankwright.machine.compile import kernel, summing_kernel

Floats = npt.NDArray[Any]
Indices = npt.NDArray[Any]

# The numbers that tell all about a candidate: d and r in training, v and f on the held-out query.
PIVOT, COVARIANCE, NORM, RESIDUAL = range(4)

# Problems worked on together: what is known of the selected features there stays in a core's cache for all candidates.
_TOGETHER = 1024


@summing_kernel
def bring_up(
    lagging: Indices,
    done: Indices,
    squares: Floats,
    products: Floats,
    rows: Floats,
    slots: Indices,
    alpha: float,
    histories_b: Floats,
    places_b: Indices,
    moments_b: Floats,
    history: Floats,
    moments: Floats,
    changes: Floats,
    first: int,
    last: int,
) -> None:
    """Take the selected features out of candidates c = lagging[first], …, lagging[last − 1], from step done[c] on.

    Row b of H of query q is rows[slots[step], q], for the feature b that was selected at ``step``; its β and ρ with
    those before it are histories_b[places_b[step]], its d, r, v, f moments_b[step]. ``history`` and ``moments`` are
    those of candidates. changes[c] is what adding candidate c changes in the held-out squared error.
    """
    for at in range(first, last):
        c = lagging[at]
        if done[c] < 0:
            _start(squares, products, c, alpha, moments[c])
            done[c] = 0
        for step in range(done[c], len(slots)):
            _column(rows[slots[step]], c, history[c, step, 1])
            _sum_over_others(history[c, step, 1], history[c, step, 0])
    for begin in range(0, moments.shape[2], _TOGETHER):
        end = min(begin + _TOGETHER, moments.shape[2])
        for at in range(first, last):
            c = lagging[at]
            for step in range(done[c], len(slots)):
                for l in range(step):
                    _take_out(histories_b[places_b[step], l], moments_b[l], history[c, l], history[c, step], begin, end)
                _update(moments_b[step], alpha, history[c, step], moments[c], begin, end)
    for at in range(first, last):
        c = lagging[at]
        done[c] = len(slots)
        changes[c] = _change(moments[c])


@kernel
def _column(of_queries: Floats, c: int, out: Floats) -> None:
    """Column c of what is known of queries, and 0 for the problem that leaves out none."""
    for q in range(len(of_queries)):
        out[q] = of_queries[q, c]
    out[len(of_queries)] = 0.0


@kernel
def _sum_over_others(values: Floats, out: Floats) -> None:
    """out[q] = Σ_{p≠q} values[p] by sums from both ends: a query that outweighs all others is not subtracted."""
    running = 0.0
    for q in range(len(values)):
        out[q] = running
        running += values[q]
    running = 0.0
    for q in range(len(values) - 1, -1, -1):
        out[q] += running
        running += values[q]


@kernel
def _start(squares: Floats, products: Floats, c: int, alpha: float, moments: Floats) -> None:
    """v = H_cc and f = h_c on the query, d = Σ H_cc + λ and r = Σ h_c over the others."""
    _column(squares, c, moments[NORM])
    _column(products, c, moments[RESIDUAL])
    _sum_over_others(moments[NORM], moments[PIVOT])
    _sum_over_others(moments[RESIDUAL], moments[COVARIANCE])
    for q in range(moments.shape[1]):
        moments[PIVOT, q] += alpha


# Loops over whole arrays of which one is written to are compiled to vector instructions; with more, the compiler would
# have to make sure that none of them overlaps any other.


@summing_kernel
def _take_out(history_b: Floats, moments_l: Floats, history_l: Floats, inner: Floats, begin: int, end: int) -> None:
    """Take the part that feature l has in both b and a candidate off x̃_bᵀx̃, in training and on the query."""
    beta_b, rho_b, joint = history_b[0, begin:end], history_b[1, begin:end], inner[0, begin:end]
    beta, rho, held = history_l[0, begin:end], history_l[1, begin:end], inner[1, begin:end]
    pivot, norm = moments_l[PIVOT, begin:end], moments_l[NORM, begin:end]
    for q in range(len(joint)):
        joint[q] -= beta_b[q] * pivot[q] * beta[q]
    for q in range(len(held)):
        held[q] -= beta_b[q] * rho[q] + (rho_b[q] - beta_b[q] * norm[q]) * beta[q]


@summing_kernel
def _update(moments_b: Floats, least_pivot: float, history: Floats, moments: Floats, begin: int, end: int) -> None:
    """Bring d, r, v, f of one candidate up to date, given d_b β and ρ, and make β of the former."""
    d_b, r_b = moments_b[PIVOT, begin:end], moments_b[COVARIANCE, begin:end]
    v_b, f_b = moments_b[NORM, begin:end], moments_b[RESIDUAL, begin:end]
    d, r = moments[PIVOT, begin:end], moments[COVARIANCE, begin:end]
    v, f = moments[NORM, begin:end], moments[RESIDUAL, begin:end]
    beta, rho = history[0, begin:end], history[1, begin:end]
    for q in range(len(beta)):
        beta[q] /= d_b[q]
    for q in range(len(beta)):
        d[q] = max(d[q] - beta[q] * beta[q] * d_b[q], least_pivot)
    for q in range(len(beta)):
        r[q] -= beta[q] * r_b[q]
    for q in range(len(beta)):
        v[q] = max(v[q] - beta[q] * (2 * rho[q] - beta[q] * v_b[q]), 0.0)
    for q in range(len(beta)):
        f[q] -= beta[q] * f_b[q] + r_b[q] / d_b[q] * (rho[q] - beta[q] * v_b[q])


@summing_kernel
def _change(moments: Floats) -> float:
    """Σ g(g v − 2f) over all problems, with g = r/d."""
    change = 0.0
    for q in range(moments.shape[1]):
        gain = moments[COVARIANCE, q] / moments[PIVOT, q]
        change += gain * (gain * moments[NORM, q] - 2 * moments[RESIDUAL, q])
    return change


@kernel
def back_substitute(histories: Floats, places: Indices, values: Floats, first: int, last: int) -> None:
    """Solve x_j + Σ_{l>j} β_lj x_l = values[j] in place, for problems first … last − 1.

    β_lj = histories[places[l], j, 0].
    """
    for l in range(len(values) - 1, 0, -1):
        for j in range(l):
            coefficients = histories[places[l], j, 0]
            for q in range(first, last):
                values[j, q] -= coefficients[q] * values[l, q]
