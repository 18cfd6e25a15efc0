"""Orthogonal factors: qr, geqrf, householder_product, ormqr."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, return_types
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record
from ...tensor.construct import from_array
from ...tensor.dims import extent_of
from ..calls.out import EXACT, Out
from ..declaration.definition import operator
from ..declaration.registry import api
from ..declaration.undifferentiable import refuse_formula
from ..shapes.joining import cat
from .solve import SOLVE_TRIANGULAR, solve_triangular
from .support import adjoint, by_columns, conj, require_kernel, require_matrix, same_by_columns


def _qr_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    g = operands[0]
    mode = attributes[0]
    rows, columns = g.shape[-2:]
    batch = g.shape[:-2]
    k = rows if mode == "complete" else min(rows, columns)
    q = (0,) if mode == "r" else (*batch, rows, k)
    found = contiguous(q, g.dtype, g.device) if mode == "r" else by_columns(q, g.dtype, g.device)
    return found, by_columns((*batch, k, columns), g.dtype, g.device)


@operator("linalg_qr", _qr_geometry)
def QR(m: Any, A: Any, mode: str) -> Any:
    if mode == "r":
        return m.zeros(0, A.dtype), m.linalg.qr(A, mode="r")
    return tuple(m.linalg.qr(A, mode=mode))


@QR.derivative("A", keeps="output output1")
def _(ctx: Any, grads: Any, Q: Tensor, R: Tensor) -> Any:
    """(gQ + Q herm(R gR^H - gQ^H Q)) R^-H, herm(M) mirroring the lower triangle (Walter and Lehmann,
    2010)."""
    if ctx.attributes[0] == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients through linalg.qr."
        )
    rows, columns = Q.shape[-2], R.shape[-1]
    if ctx.attributes[0] == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    to_q, to_r = grads
    if columns <= rows:
        return _qr_gradient(Q, R, to_q, to_r)
    # A = [X Y], R = [U V]: Y = Q V
    square = R[..., :, :rows]
    v = R[..., :, rows:]
    if to_r is None:
        x, y = _qr_gradient(Q, square, to_q, None), v.new_zeros(v.shape)
    else:
        to_v = to_r[..., :, rows:]
        through = (Q @ v) @ adjoint(to_v)  # V = Q^H Y adds Y gV^H to the gradient of Q
        x = _qr_gradient(Q, square, through if to_q is None else to_q + through, to_r[..., :, :rows])
        y = Q @ to_v

    return cat([x, y], -1)


def _qr_gradient(Q: Tensor, R: Tensor, to_q: Tensor | None, to_r: Tensor | None) -> Tensor:
    inner = None
    if to_r is not None:
        inner = R @ adjoint(to_r)
    if to_q is not None:
        inner = -(adjoint(to_q) @ Q) if inner is None else inner - adjoint(to_q) @ Q
    assert inner is not None
    lower = inner.tril(-1)
    diagonal = inner.diagonal(dim1=-2, dim2=-1)
    if inner.is_complex():
        diagonal = diagonal.real.to(inner.dtype)
    mirrored = Q @ (lower + adjoint(lower) + diagonal.diag_embed())
    total = mirrored if to_q is None else to_q + mirrored
    # X R^H = total is R X^H = total^H
    return adjoint(record(SOLVE_TRIANGULAR, (R, adjoint(total)), (True, False)))


@api("linalg", out=EXACT, judge="first")
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and the upper triangular R, A = Q R; modes 'reduced', 'complete' and 'r'.

    >>> import flambeau as torch
    >>> torch.linalg.qr(torch.tensor([[3., 1.], [4., 1.]])).R.shape
    torch.Size([2, 2])
    """
    require_matrix(A, "linalg.qr", kernel="geqrf_cpu")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
            "'complete'"
        )
    return return_types.TYPES["linalg_qr"](*record(QR, (A,), (mode,)))


@api("torch", "Tensor", out=EXACT, name="qr", judge="first")
def _qr(input: Tensor, some: bool = True) -> Any:
    """Deprecated: see ``linalg.qr``."""
    return return_types.TYPES["qr"](*qr(input, "reduced" if some else "complete"))


# --- Householder reflections --------------------------------------------------------------------------------


def _geqrf_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    g = operands[0]
    return same_by_columns(g), contiguous((*g.shape[:-2], min(g.shape[-2:])), g.dtype, g.device)


@operator("geqrf", _geqrf_geometry)
def GEQRF(m: Any, input: Any) -> Any:
    h, tau = m.linalg.qr(input, mode="raw")
    return m.swapaxes(h, -1, -2), tau


refuse_formula(GEQRF, "geqrf", "input")


@api("torch", "Tensor", out=True)
def geqrf(input: Tensor) -> Any:
    """The QR factorization as LAPACK keeps it: R above, the reflections' vectors below the diagonal, and
    their factors.

    >>> import flambeau as torch
    >>> factored, tau = torch.geqrf(torch.tensor([[3.0], [4.0]]))
    >>> factored[0], tau
    (tensor([-5.]), tensor([1.6000]))
    """
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    require_kernel(input.dtype, "geqrf_cpu")
    return return_types.TYPES["geqrf"](*record(GEQRF, (input,)))


@api("linalg", out=True)
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections that ``geqrf`` gives: (..., M, N) and (..., K).

    >>> import flambeau as torch
    >>> torch.linalg.householder_product(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    name = "torch.linalg.householder_product"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if A.shape[-1] < extent_of(tau.shape, -1):
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if tau.ndim != A.ndim - 1:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim "
                           f"equal to {tau.ndim} and input.ndim is equal to {A.ndim}")
    if tau.shape[:-1] != A.shape[:-2]:
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but "
                           f"got {list(tau.shape[:-1])}")
    if A.dtype is not tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {dtypes.SCALAR_NAMES[tau.dtype]} does not match input "
                           f"dtype {dtypes.SCALAR_NAMES[A.dtype]}")
    require_kernel(A.dtype, "orgqr_cpu")
    rows, columns = A.shape[-2:]
    start = A.new_ones(rows).diag_embed()[:, :columns].expand(*A.shape[:-2], rows, columns)
    if not tau.shape[-1]:
        return start + A * 0  # no reflection, but a result that depends on A
    return _reflect(A, tau, start, conjugated=False)


def _reflect(A: Tensor, tau: Tensor, x: Tensor, conjugated: bool) -> Tensor:
    """The product of all reflections 1 - tau v v^H (or its adjoint) applied to x.

    It is 1 - V T V^H with the vectors as columns of V. With D = diag(tau) and U what stands above the
    diagonal of V^H V, T = D (1 + U D)^-1 (Schreiber and Van Loan 1989): a few products instead of as many as
    there are reflections.
    """
    count = tau.shape[-1]
    one = from_array(np.eye(A.shape[-2], count, dtype=A.dtype.numpy))
    V = A[..., :, :count].tril(-1) + one
    U = (adjoint(V) @ V).triu(1) * tau.unsqueeze(-2)
    scale = tau.unsqueeze(-1)
    if conjugated:
        inner = conj(scale) * (adjoint(V) @ x)
        return x - V @ solve_triangular(adjoint(U), inner, upper=False, unitriangular=True)
    return x - V @ (scale * solve_triangular(U, adjoint(V) @ x, upper=True, unitriangular=True))


@api("torch", "Tensor", out=True)
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """See ``linalg.householder_product``.

    >>> import flambeau as torch
    >>> torch.orgqr(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    return householder_product(input, input2)


_ORMQR = Out("torch.ormqr: Expected input and result to have the same dtype, but input has dtype{Result} and "
             "result has dtype {Out}")


@api("torch", "Tensor", out=_ORMQR, judge="first")
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True,
          transpose: bool = False) -> Tensor:
    """The product of the orthogonal matrix of ``geqrf`` (or its adjoint) with another matrix.

    >>> import flambeau as torch
    >>> A = torch.tensor([[3.0], [4.0]])
    >>> factored, tau = torch.geqrf(A)
    >>> torch.ormqr(factored, tau, torch.eye(2), left=True, transpose=True) @ A
    tensor([[-5.],
            [ 0.]])
    """
    tau, other = input2, input3
    for name, x in (("input", input), ("other", other)):
        if x.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    for name, x in (("tau", tau), ("other", other)):
        if x.dtype is not input.dtype:
            raise RuntimeError("torch.ormqr: Expected input and "
                               f"{name} to have the same dtype, but input has dtype"
                               f"{dtypes.SCALAR_NAMES[input.dtype]} and {name} has dtype "
                               f"{dtypes.SCALAR_NAMES[x.dtype]}")
    side = -2 if left else -1
    if tau.ndim and min(other.shape[side], input.shape[-1]) != tau.shape[-1]:
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        )
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.ndim != input.ndim - 1 or other.ndim != input.ndim:
        raise RuntimeError("torch.ormqr: Expected tau and other to have as many batch dimensions as input")
    require_kernel(input.dtype, "ormqr_cpu")
    if left:
        return _reflect(input, tau, other, conjugated=transpose)
    turned = _reflect(input, tau, adjoint(other), conjugated=not transpose)
    return adjoint(turned)
