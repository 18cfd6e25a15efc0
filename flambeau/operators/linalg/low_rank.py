"""Approximate factorizations of low rank: svd_lowrank, pca_lowrank (Halko, Martinsson and Tropp 2009)."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor
from ..declaration.registry import NAMESPACES, api
from ..random.random import randn
from .support import adjoint


def _range_basis(A: Tensor, q: int, rounds: int, M: Tensor | None) -> Tensor:
    """Orthonormal columns (..., m, q) that nearly span the range of A - M.

    They come from a random image, sharpened by power iterations.
    """
    qr = NAMESPACES["linalg"]["qr"]
    if M is not None:
        A = A - M
    Q = qr(A @ randn(A.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(rounds):
        Q = qr(adjoint(A) @ Q).Q
        Q = qr(A @ Q).Q
    return Q


@api("torch")
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U (..., m, q), S (..., q), V (..., n, q) with A - M nearly U diag(S) V^H: algorithm 5.1 of Halko et al.

    >>> import flambeau as torch
    >>> A = torch.outer(torch.tensor([1., 2.]), torch.tensor([2., 0., 1.]))
    >>> torch.svd_lowrank(A, 1)[1].round(decimals=4)
    tensor([5.])
    """
    rank, rounds = 6 if q is None else q, 2 if niter is None else niter
    if M is not None:
        M = M.expand(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, M = adjoint(A), None if M is None else adjoint(M)
    Q = _range_basis(A, rank, rounds, M)
    small = adjoint(Q) @ (A if M is None else A - M)
    U, S, Vh = NAMESPACES["linalg"]["svd"](small, full_matrices=False)
    left, right = Q @ U, adjoint(Vh)
    return (right, S, left) if wide else (left, S, right)


@api("torch")
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The first q principal components of rows: ``svd_lowrank`` of A less the mean of each column.

    >>> import flambeau as torch
    >>> torch.pca_lowrank(torch.tensor([[0., 0.], [3., 4.], [6., 8.]]), 1)[1]
    tensor([7.0711])
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if A.dtype.category < dtypes.FLOATING:
        raise ValueError(f"input must be a floating point tensor, got {A.dtype}")
    if not center:
        return svd_lowrank(A, q, niter=niter)
    mean: Any = A.mean(-2, keepdim=True)
    return svd_lowrank(A - mean, q, niter=niter)
