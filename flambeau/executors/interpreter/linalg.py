"""NumPy's factorizations; those of matrices that are not large by one thread (Note: waiting threads).

Note: single precision. NumPy computes in float64 whatever the type. That takes twice as long, and the signs
of singular and of eigenvectors are not those that LAPACK finds for float32, as PyTorch and native code have
them: here it is asked itself. Small matrices with two rows alike are found singular more often in float64:
where ``ROUNDED`` rows and more are eliminated that is luck in either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from . import blas, lapack

ROUNDED = 20

F = TypeVar("F", bound=Callable[..., Any])


def _by_one_thread(function: F) -> F:
    @wraps(function)
    def call(a: Any, *arguments: Any, **options: Any) -> Any:
        rows, columns = a.shape[-2:]
        threads = blas.one_thread(rows * columns * min(rows, columns))
        try:
            return function(a, *arguments, **options)
        finally:
            blas.restore(threads)
    return call  # type: ignore[return-value]


Array = np.ndarray[Any, Any]


def _is_single(a: Array, *routines: str) -> bool:
    return bool(a.dtype == np.float32 and a.size) and all(lapack.has(name, a) for name in routines)


@_by_one_thread
def qr(a: Array, mode: str = "reduced") -> Any:
    """Orthogonal and triangular factors; ``raw``: as LAPACK has them, turned."""
    if not _is_single(a, "geqrf", "orgqr"):
        return np.linalg.qr(a, mode)  # type: ignore[call-overload]
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    low, x = min(rows, columns), lapack.columns_of(a)
    factors = lapack.geqrf(x)
    if mode == "raw":
        return x.reshape(*batch, columns, rows), factors.reshape(*batch, low)
    wide = rows if mode == "complete" else low
    r = np.triu(lapack.matrices(x, batch)[..., :wide, :])
    if mode == "r":
        return r
    q = np.zeros((math.prod(batch), wide, rows), a.dtype)
    q[:, :low] = x[:, :low]
    lapack.orgqr(q, factors)
    return lapack.matrices(q, batch), r


@_by_one_thread
def eigh(a: Array, UPLO: str = "L") -> Any:
    """Eigenvalues and vectors of Hermitian matrices."""
    if not _is_single(a, "syevd"):
        return np.linalg.eigh(a, UPLO)  # type: ignore[call-overload]
    x = lapack.columns_of(a)
    values = lapack.syevd(x, UPLO, True)
    return values.reshape(a.shape[:-1]), lapack.matrices(x, a.shape[:-2])


@_by_one_thread
def eigvalsh(a: Array, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices."""
    if not _is_single(a, "syevd"):
        return np.linalg.eigvalsh(a, UPLO)  # type: ignore[call-overload]
    return lapack.syevd(lapack.columns_of(a), UPLO, False).reshape(a.shape[:-1])


@_by_one_thread
def svd(a: Array, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular values between vectors, or alone."""
    if not _is_single(a, "gesdd"):
        return np.linalg.svd(a, full_matrices, compute_uv)  # type: ignore[call-overload]
    batch = a.shape[:-2]
    u, values, v = lapack.gesdd(lapack.columns_of(a), ("A" if full_matrices else "S") if compute_uv else "N")
    values = values.reshape(*batch, min(a.shape[-2:]))
    return (lapack.matrices(u, batch), values, lapack.matrices(v, batch)) if compute_uv else values


@_by_one_thread
def cholesky(a: Array) -> Array:
    """Lower factors of Hermitian matrices."""
    if not _is_single(a, "potrf") or _are_many(a):
        return np.linalg.cholesky(a)
    x = lapack.columns_of(a)
    _require(lapack.potrf(x))
    return np.tril(lapack.matrices(x, a.shape[:-2]))


@_by_one_thread
def inv(a: Array) -> Array:
    """Inverses."""
    if not _is_single(a, "getrf", "getri") or a.shape[-1] < ROUNDED or _are_many(a):
        return np.linalg.inv(a)
    x = lapack.columns_of(a)
    _require(lapack.getri(x))
    return lapack.matrices(x, a.shape[:-2])


@_by_one_thread
def solve(a: Array, b: Array) -> Array:
    """Solutions of systems of equations; b are matrices."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not _is_single(a, "gesv") or a.shape[-1] < ROUNDED or _are_many(a) or not b.size \
            or b.dtype != a.dtype:
        return np.linalg.solve(a, b)
    x, sides = (lapack.columns_of(np.broadcast_to(m, (*batch, *m.shape[-2:]))) for m in (a, b))
    _require(lapack.gesv(x, sides))
    return lapack.matrices(sides, batch)


def _are_many(a: Array) -> bool:
    """Whether so many small matrices that a call for each takes longer than float64 does."""
    return math.prod(a.shape[:-2]) > a.shape[-1] ** 2 // 4 + 4


def _require(info: Array) -> None:
    if info.any():
        raise np.linalg.LinAlgError("singular")


det = _by_one_thread(np.linalg.det)
eig = _by_one_thread(np.linalg.eig)
eigvals = _by_one_thread(np.linalg.eigvals)
slogdet = _by_one_thread(np.linalg.slogdet)
