"""NumPy's factorizations; those of matrices that are not large by one thread (Note: waiting threads).

Note: single precision. NumPy computes in float64 whatever the type. That takes twice as long, and the signs
of singular and of eigenvectors are not those that LAPACK finds for float32, as PyTorch and native code have
them: here it is asked itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from . import blas, lapack

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


cholesky = _by_one_thread(np.linalg.cholesky)
det = _by_one_thread(np.linalg.det)
eig = _by_one_thread(np.linalg.eig)
inv = _by_one_thread(np.linalg.inv)
slogdet = _by_one_thread(np.linalg.slogdet)
solve = _by_one_thread(np.linalg.solve)
