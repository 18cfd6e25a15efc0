"""Symmetric indefinite systems: A = P L D L^T P^T with blocks of 1 and 2 in D (Bunch and Kaufman 1977).

Note: pivots. They follow LAPACK: a positive k at place i says that D has a block of 1 there and that rows i
and k (from 1) were exchanged; the same negative -k at two places says that D has a block of 2 and that the
second row went to k.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ... import dtypes, return_types
from ...dtypes import SCALAR_NAMES
from ...executors.interpreter import lapack
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record
from ..calls.out import EXACT
from ..declaration.definition import broadcast_shapes, operator
from ..declaration.registry import api
from ..declaration.undifferentiable import refuse_derivative
from .support import (
    by_columns,
    failure,
    require_rows_of_matrix,
    require_square,
    require_type_of_matrix,
    same_by_columns,
)

_GROWTH = (1 + sqrt(17)) / 8  # the threshold that bounds the growth of elements


def _modulus(x: Any) -> Any:
    """|re| + |im|, which stands for the absolute value in LAPACK."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def _pivot(A: Any, k: int, hermitian: bool) -> tuple[int, int]:
    """The row to exchange and the block's size for step k; size 0 where the column is zero."""
    n = len(A)
    diagonal = abs(A[k, k].real) if hermitian else _modulus(A[k, k])
    column = _modulus(A[k + 1 :, k])
    largest = column.max(initial=0)
    if max(diagonal, largest) == 0 or diagonal != diagonal:
        return k, 0
    if diagonal >= _GROWTH * largest:
        return k, 1
    r = k + 1 + int(column.argmax())
    row = max(_modulus(A[r, k:r]).max(initial=0), _modulus(A[r + 1 :, r]).max(initial=0) if r + 1 < n else 0)
    if diagonal >= _GROWTH * largest * (largest / row):
        return k, 1
    own = abs(A[r, r].real) if hermitian else _modulus(A[r, r])
    return (r, 1) if own >= _GROWTH * row else (r, 2)


def _exchange(A: Any, k: int, p: int, hermitian: bool) -> None:
    """Exchange rows and columns k < p of the trailing lower triangle."""
    A[p + 1 :, [k, p]] = A[p + 1 :, [p, k]]
    middle = A[k + 1 : p, k].copy()
    A[k + 1 : p, k] = A[p, k + 1 : p].conj() if hermitian else A[p, k + 1 : p]
    A[p, k + 1 : p] = middle.conj() if hermitian else middle
    if hermitian:
        A[p, k] = A[p, k].conj()
    A[k, k], A[p, p] = A[p, p], A[k, k]


def _factor(A: Any, hermitian: bool) -> tuple[Any, int]:
    """Factor one matrix in its lower triangle, in place; pivots and LAPACK's code."""
    n = len(A)
    pivots, info, k = np.zeros(n, np.int32), 0, 0
    while k < n:
        p, size = _pivot(A, k, hermitian)
        if size == 0:
            info = info or k + 1
            pivots[k] = k + 1
            if hermitian:
                A[k, k] = A[k, k].real
            k += 1
            continue
        place = k + size - 1
        if p != place:
            _exchange(A, place, p, hermitian)
            if size == 2:
                A[[place, p], k] = A[[p, place], k]
        if hermitian:
            for d in range(k, k + size):
                A[d, d] = A[d, d].real
        rest = slice(k + size, n)
        block = A[k : k + size, k : k + size].copy()
        if size == 2:
            block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
        columns = A[rest, k : k + size].copy()
        with np.errstate(all="ignore"):
            lower = columns / block[0, 0] if size == 1 else np.linalg.solve(block.T, columns.T).T
        update = lower @ (columns.conj().T if hermitian else columns.T)
        A[rest, rest] -= np.tril(update)
        A[rest, k : k + size] = lower
        if hermitian:
            for d in range(k + size, n):
                A[d, d] = A[d, d].real
        pivots[k : k + size] = p + 1 if size == 1 else -(p + 1)
        k += size
    return pivots, info


def _factor_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    g = operands[0]
    return (
        same_by_columns(g),
        contiguous(g.shape[:-1], dtypes.int32, g.device),
        contiguous(g.shape[:-2], dtypes.int32, g.device),
    )


@operator("linalg_ldl_factor_ex", _factor_geometry)
def LDL_FACTOR(m: Any, A: Any, hermitian: bool) -> Any:
    """L and D in the lower triangle, pivots, and the number of the first zero block of D."""
    hermitian = hermitian and A.dtype.kind == "c"
    LD = np.tril(A)
    batch = A.shape[:-2]
    if lapack.has("hetrf" if hermitian else "sytrf", A):
        packed = lapack.columns_of(LD)
        exchanges, failed = lapack.sytrf(packed, hermitian)
        return lapack.matrices(packed, batch), exchanges.reshape(A.shape[:-1]), failed.reshape(batch)
    pivots, info = np.zeros(A.shape[:-1], np.int32), np.zeros(batch, np.int32)
    for place in np.ndindex(*batch):
        pivots[place], info[place] = _factor(LD[place], hermitian)
    return LD, pivots, info


refuse_derivative(LDL_FACTOR, "linalg_ldl_factor_ex", "A")


@api("linalg", out=EXACT, judge="first")
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """``ldl_factor`` with a code for each matrix: 0, or the number of the first zero block of D.

    >>> import flambeau as torch
    >>> torch.linalg.ldl_factor_ex(torch.tensor([[4., 2.], [2., 3.]])).info
    tensor(0, dtype=torch.int32)
    """
    require_square(A, "torch.linalg.ldl_factor_ex", kernel="ldl_factor_kernel_cpu")
    found: Any = return_types.linalg_ldl_factor_ex(*record(LDL_FACTOR, (A,), (bool(hermitian),)))
    if check_errors:
        _refuse_singular(found.info, "torch.linalg.ldl_factor_ex")
    return found


@api("linalg", out=EXACT, judge="first")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """A symmetric (or Hermitian) matrix as L D L^T, packed, with LAPACK's pivots; reads the lower triangle.

    >>> import flambeau as torch
    >>> torch.linalg.ldl_factor(torch.tensor([[4., 2.], [2., 3.]])).LD
    tensor([[4.0000, 0.0000],
            [0.5000, 2.0000]])
    """
    LD, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    _refuse_singular(info, "torch.linalg.ldl_factor")
    return return_types.linalg_ldl_factor(LD, pivots)


def _refuse_singular(info: Tensor, function: str) -> None:
    found = failure(info, function)
    if found is not None:
        raise RuntimeError(f"{function}: {found[0]}D has a zero block at {found[1]}: the matrix is singular.")


# --- solving ------------------------------------------------------------------------------------------------


def _solve(LD: Any, pivots: Any, B: Any, hermitian: bool) -> Any:
    """Solve one system from its packed factors: P L D L^T P^T X = B."""
    n, X = len(LD), B.copy()
    steps = []
    k = 0
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        steps.append((k, size, abs(int(pivots[k])) - 1))
        k += size
    for k, size, p in steps:
        place = k + size - 1
        if p != place:
            X[[place, p]] = X[[p, place]]
        block = LD[k : k + size, k : k + size].copy()
        if size == 2:
            block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
        X[k + size :] -= LD[k + size :, k : k + size] @ X[k : k + size]
        with np.errstate(all="ignore"):
            X[k : k + size] = (
                X[k : k + size] / block[0, 0] if size == 1 else np.linalg.solve(block, X[k : k + size])
            )
    for k, size, p in reversed(steps):
        below = LD[k + size :, k : k + size]
        X[k : k + size] -= (below.conj().T if hermitian else below.T) @ X[k + size :]
        place = k + size - 1
        if p != place:
            X[[place, p]] = X[[p, place]]
    return X


def _solve_geometry(operands: Any, attributes: Any) -> Geometry:
    LD, _, B = operands
    batch = broadcast_shapes([LD.shape[:-2], B.shape[:-2]])
    return by_columns((*batch, *B.shape[-2:]), B.dtype, B.device)


@operator("linalg_ldl_solve", _solve_geometry)
def LDL_SOLVE(m: Any, LD: Any, pivots: Any, B: Any, hermitian: bool) -> Any:
    """Solutions of systems whose matrices are given by their factors."""
    hermitian = hermitian and LD.dtype.kind == "c"
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    n = LD.shape[-1]
    LD, pivots = np.broadcast_to(LD, (*batch, n, n)), np.broadcast_to(pivots, (*batch, n))
    B = np.broadcast_to(B, (*batch, *B.shape[-2:]))
    if lapack.has("hetrs" if hermitian else "sytrs", B):
        solved = lapack.columns_of(B)
        lapack.sytrs(lapack.columns_of(LD), pivots.reshape(len(solved), n), solved, hermitian)
        return lapack.matrices(solved, batch)
    X = np.array(B)
    for place in np.ndindex(*batch):
        X[place] = _solve(LD[place], pivots[place], X[place], hermitian)
    return X


refuse_derivative(LDL_SOLVE, "linalg_ldl_solve", "LD", "B")


@api("linalg", out=EXACT, judge="first")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution X of A X = B from ``ldl_factor(A)``; B is (..., n, k).

    >>> import flambeau as torch
    >>> LD, pivots = torch.linalg.ldl_factor(torch.tensor([[4., 2.], [2., 3.]]))
    >>> torch.linalg.ldl_solve(LD, pivots, torch.tensor([[6.], [5.]]))
    tensor([[1.],
            [1.]])
    """
    name = "torch.linalg.ldl_solve"
    if B.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead"
        )
    require_square(LD, name, kernel="ldl_solve_kernel_cpu" if LD.dtype is B.dtype else "")
    require_rows_of_matrix(B, LD, name)
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if pivots.dtype.category > dtypes.INTEGER or pivots.dtype is dtypes.bool_:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {SCALAR_NAMES[pivots.dtype]}")
    require_type_of_matrix(B, LD)
    return record(LDL_SOLVE, (LD, pivots, B), (bool(hermitian),))
