"""What singular values say of a matrix: its rank and its condition."""

from __future__ import annotations

from math import inf
from typing import Any

from ... import dtypes
from ...tensor import Tensor
from ..declaration.registry import api
from .eigen import eigvalsh
from .norms import matrix_norm
from .solve import inv_ex
from .support import require_matrix
from .svd import svdvals, tensor_cutoff


@api("linalg", out=True, judge="first")
def matrix_rank(
    A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The number of singular values above a tolerance.

    >>> import flambeau as torch
    >>> torch.linalg.matrix_rank(torch.tensor([[1., 1.], [1., 1.]]))
    tensor(1)
    """
    require_matrix(A, "linalg.matrix_rank")
    if tol is not None:
        atol, rtol = tol, 0.0
    A = A.detach()
    if not A.numel():
        return A.new_zeros(A.shape[:-2], dtype=dtypes.int64)
    if hermitian:
        S = eigvalsh(A).abs()
    else:
        S = svdvals(A)
    atol = S.new_full((), atol) if isinstance(atol, (int, float)) else atol
    rtol = S.new_full((), rtol) if isinstance(rtol, (int, float)) else rtol
    return (S > tensor_cutoff(A, S, atol, rtol)).sum(-1)


@api("linalg", out=True)
def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number in a matrix norm (2 by default): infinite for singular matrices.

    >>> import flambeau as torch
    >>> torch.linalg.cond(torch.tensor([[4., 0.], [0., 2.]]))
    tensor(2.)
    """
    require_matrix(A, "linalg.cond", kernel="linalg_svd_cpu")
    if not A.numel() and (p is None or p in (2, -2)):
        return A.new_zeros(A.shape[:-2], dtype=A.dtype.to_real())
    if p is None or p in (2, -2):
        S = svdvals(A)
        return S[..., -1] / S[..., 0] if p == -2 else S[..., 0] / S[..., -1]
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    if p == "nuc" or p in ("fro", 1, -1, inf, -inf):
        inverse, info = inv_ex(A)
        singular = info != 0
        product = matrix_norm(A, p) * matrix_norm(inverse.masked_fill(singular[..., None, None], 0), p)
        return product.masked_fill(singular, inf)
    raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
