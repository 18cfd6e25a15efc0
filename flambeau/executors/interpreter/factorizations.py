"""Matrix factorizations that NumPy lacks, for batches of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import lapack, linalg

Array = np.ndarray[Any, Any]


def lu(a: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """Gaussian elimination: (..., M, N) as packed L and U, row exchanges (from 1) and the first zero pivot
    (or 0)."""
    batch = a.shape[:-2]
    rows, columns = a.shape[-2:]
    if pivot and lapack.has("getrf", a) and _pays_alone(math.prod(batch), rows):
        packed = lapack.columns_of(a)
        exchanges, failed = lapack.getrf(packed)
        pivots = exchanges.reshape(*batch, min(rows, columns))
        return lapack.matrices(packed, batch), pivots, failed.reshape(batch)
    x = a.reshape(math.prod(batch), rows, columns).copy()
    steps = min(rows, columns)
    count = len(x)
    pivots = np.tile(np.arange(1, steps + 1, dtype=np.int32), (count, 1))
    info = np.zeros(count, np.int32)
    each = np.arange(count)
    for k in range(steps):
        if pivot and count:
            chosen = k + np.argmax(_size(x[:, k:, k]), axis=1)
            pivots[:, k] = chosen + 1
            held = x[each, chosen].copy()
            x[each, chosen] = x[:, k]
            x[:, k] = held
        diagonal = x[:, k, k]
        zero = diagonal == 0
        info[zero & (info == 0)] = k + 1
        below = x[:, k + 1 :, k] / np.where(zero, 1, diagonal)[:, None]
        x[:, k + 1 :, k] = below
        x[:, k + 1 :, k + 1 :] -= below[:, :, None] * x[:, k, None, k + 1 :]
    return x.reshape(a.shape), pivots.reshape(*batch, steps), info.reshape(batch)


def _pays_alone(count: int, rows: int) -> bool:
    """Whether matrices are taken one by one; many small ones are stepped through together."""
    return count <= rows * rows // 4 + 4


def _size(x: Array) -> Array:
    """What a pivot is chosen by: for complex numbers LAPACK's cheap substitute of the absolute value."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def permutation(pivots: Array, rows: int) -> Array:
    """Row exchanges as an order of rows: row i of P^T A is row ``order[i]`` of A."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    if len(flat) < rows:
        orders = np.array([_order(exchanges, rows) for exchanges in (flat - 1).tolist()], np.int64)
        return orders.reshape(*pivots.shape[:-1], rows)
    order = np.tile(np.arange(rows), (len(flat), 1))
    each = np.arange(len(flat))
    for k in range(flat.shape[1]):
        other = flat[:, k] - 1
        held = order[each, other].copy()
        order[each, other] = order[:, k]
        order[:, k] = held
    return order.reshape(*pivots.shape[:-1], rows)


def _order(exchanges: list[int], rows: int) -> list[int]:
    order = list(range(rows))
    for k, other in enumerate(exchanges):
        order[k], order[other] = order[other], order[k]
    return order


def permutation_matrix(pivots: Array, rows: int, numpy_type: Any) -> Array:
    """The matrix P with A = P L U."""
    order = permutation(pivots, rows)
    return np.swapaxes(np.eye(rows, dtype=numpy_type)[order], -1, -2)


def lu_solve(packed: Array, pivots: Array, b: Array, conjugated: bool) -> Array:
    """X of P L U X = B from packed factors; with the conjugate transpose of P L U if ``conjugated``."""
    n = packed.shape[-1]
    order = permutation(pivots, n)
    if conjugated:
        turned = np.conj(np.swapaxes(packed, -1, -2))
        half = solve_triangular(turned, b, False, False)
        x = solve_triangular(turned, half, True, True)
        order = np.argsort(order, axis=-1)  # P itself
    else:
        x = b
    batch = np.broadcast_shapes(x.shape[:-2], order.shape[:-1])
    places = np.broadcast_to(order[..., None], (*batch, n, x.shape[-1]))
    x = np.take_along_axis(np.broadcast_to(x, (*batch, *x.shape[-2:])), places, -2)
    if conjugated:
        return x
    return solve_triangular(packed, solve_triangular(packed, x, False, True), True, False)


def cholesky(a: Array) -> tuple[Array, Array]:
    """The lower factor of Hermitian matrices (their lower triangles are read), and where each fails (or
    0)."""
    try:
        return _lower_factor(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        pass
    factors = np.tril(a).reshape(-1, *a.shape[-2:])
    info = np.zeros(len(factors), np.int32)
    for i, matrix in enumerate(a.reshape(factors.shape)):
        try:
            factors[i] = _lower_factor(matrix)
        except np.linalg.LinAlgError:
            info[i] = _first_bad_minor(matrix)
    return factors.reshape(a.shape), info.reshape(a.shape[:-2])


def _lower_factor(a: Array) -> Array:
    """NumPy's factor; its error also for what is not a number, which it lets pass."""
    factor: Array = linalg.cholesky(a)
    if np.isnan(np.diagonal(factor, axis1=-2, axis2=-1)).any():
        raise np.linalg.LinAlgError
    return factor


def _first_bad_minor(matrix: Array) -> int:
    for order in range(1, len(matrix) + 1):
        try:
            _lower_factor(matrix[:order, :order])
        except np.linalg.LinAlgError:
            return order
    return len(matrix)


def solve_triangular(a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """Substitution, for batches; a zero on the diagonal gives infinities."""
    n = a.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = math.prod(batch)
    if n and a.dtype == b.dtype and lapack.has("trsm", b) and _pays_alone(count, n):
        # Matrices that lie by rows are their transposes by columns: the other triangle, turned.
        by_columns = a.strides[-2] == a.itemsize
        turned = np.swapaxes(a, -1, -2) if by_columns else a
        turned = np.ascontiguousarray(np.broadcast_to(turned, (*batch, n, n))).reshape(count, n, n)
        x = lapack.columns_of(np.broadcast_to(b, (*batch, *b.shape[-2:])))
        lapack.trsm(turned, x, upper is not by_columns, not by_columns, unit)
        return lapack.matrices(x, batch)
    return _substitute(a, b, batch, upper, unit)


def _substitute(a: Array, b: Array, batch: tuple[int, ...], upper: bool, unit: bool) -> Array:
    """Substitution row by row, in all matrices together, block by block."""
    n = a.shape[-1]
    a = np.triu(a) if upper else np.tril(a)
    if unit:
        a = a.copy()
        index = np.arange(n)
        a[..., index, index] = 1
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    a = np.broadcast_to(a, (*batch, n, n))
    blocks = range(0, n, 32)
    for start in reversed(blocks) if upper else blocks:
        stop = min(start + 32, n)
        rows = range(stop - 1, start - 1, -1) if upper else range(start, stop)
        for i in rows:
            done = slice(i + 1, stop) if upper else slice(start, i)
            if done.stop > done.start:
                x[..., i, :] -= np.matmul(a[..., i, None, done], x[..., done, :])[..., 0, :]
            if not unit:
                x[..., i, :] /= a[..., i, i, None]
        rest = slice(0, start) if upper else slice(stop, n)
        if rest.stop > rest.start:
            x[..., rest, :] -= np.matmul(a[..., rest, start:stop], x[..., start:stop, :])
    return x


def inverse(a: Array) -> tuple[Array, Array]:
    """Inverses, and the first zero pivot of each matrix (or 0)."""
    try:
        return linalg.inv(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        packed, _, info = lu(a)
        result = np.full(a.shape, np.nan, a.dtype)
        spoiled: Array = np.asarray(np.isnan(a).any((-2, -1)))  # OpenBLAS may find zero pivots beside NaN
        info[spoiled] = 0
        for i in np.ndindex(info.shape):
            if info[i] or spoiled[i]:
                continue
            try:
                result[i] = linalg.inv(a[i])
            except np.linalg.LinAlgError:  # in another order of rounding a pivot is zero
                info[i] = 1 + np.argmin(np.abs(np.diagonal(packed[i])))
        return result, info


def solve(a: Array, b: Array) -> tuple[Array, Array]:
    """Solutions of A X = B, and the first zero pivot of each A (or 0)."""
    try:
        return linalg.solve(a, b), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        inverses, info = inverse(a)
        return np.matmul(inverses, b), info


def least_squares(a: Array, b: Array, rcond: float | None) -> tuple[Array, Array, Array]:
    """Solutions of least norm by pivoted QR, ranks, and zeros in place of singular values."""
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    if rcond is None:
        rcond = float(np.finfo(a.dtype).eps) * max(rows, columns)
    longer = np.zeros((*batch, max(rows, columns), b.shape[-1]), a.dtype)
    longer[..., :rows, :] = b
    x = lapack.columns_of(longer)
    ranks = lapack.gelsy(lapack.columns_of(a), x, rows, rcond)
    values = np.zeros((*batch, min(rows, columns)), a.real.dtype)
    return lapack.matrices(x, batch)[..., :columns, :], ranks.reshape(batch), values
