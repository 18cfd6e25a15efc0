"""Eigenvalues: eigh, eigvalsh, eig, eigvals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import return_types
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...tensor import Tensor, record
from ..calls.out import EXACT
from ..declaration.definition import operator
from ..declaration.registry import api
from ..interop.looking import look
from .solve import SOLVE
from .support import (
    LinAlgError,
    adjoint,
    by_columns,
    conj,
    identity,
    require_square,
    same_by_columns,
    will_differentiate,
)


def _eigh_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    g = operands[0]
    return contiguous(g.shape[:-1], g.dtype.to_real(), g.device), same_by_columns(g)


@operator("linalg_eigh", _eigh_geometry)
def EIGH(m: Any, A: Any, uplo: str) -> Any:
    return tuple(m.linalg.eigh(A, UPLO=uplo))


@EIGH.derivative("A", keeps="output output1")
def _(ctx: Any, grads: Any, values: Tensor, V: Tensor) -> Any:
    """The Hermitian part of V (diag(gL) + V^H gV / E) V^H with E[i, j] = L[j] - L[i] (Magnus, 1985)."""
    to_values, to_vectors = grads
    if to_vectors is None:
        return None if to_values is None else (V * to_values.unsqueeze(-2).to(V.dtype)) @ adjoint(V)
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    one = identity(values.shape[-1], values)
    inner = (adjoint(V) @ to_vectors) / (gaps + one) * (1 - one)
    if to_values is not None:
        inner = inner + to_values.to(V.dtype).diag_embed()
    result = V @ inner @ adjoint(V)
    return (result + adjoint(result)) * 0.5


@operator("linalg_eigvalsh", lambda operands, attributes: _eigh_geometry(operands, attributes)[0])
def EIGVALSH(m: Any, A: Any, uplo: str) -> Any:
    return m.linalg.eigvalsh(A, UPLO=uplo)


@EIGVALSH.derivative("A", keeps="A")
def _(ctx: Any, grad: Tensor, A: Tensor) -> Any:
    """The vectors are computed only now."""
    V = record(EIGH, (A,), ctx.attributes)[1]
    return (V * grad.unsqueeze(-2).to(V.dtype)) @ adjoint(V)


def _eig_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    g = operands[0]
    dtype = g.dtype.to_complex()
    return contiguous(g.shape[:-1], dtype, g.device), by_columns(g.shape, dtype, g.device)


@operator("linalg_eig", _eig_geometry)
def EIG(m: Any, A: Any) -> Any:
    return tuple(m.linalg.eig(A))


@EIG.derivative("A", keeps="output output1")
def _(ctx: Any, grads: Any, values: Tensor, V: Tensor) -> Any:
    """V^-H (diag(gL) + (V^H gV - V^H V diag(Re(V^H gV))) / conj(E)) V^H."""
    to_values, to_vectors = grads
    inner = None if to_values is None else to_values.diag_embed()
    if to_vectors is not None:
        one = identity(values.shape[-1], values)
        gaps = conj(values.unsqueeze(-2) - values.unsqueeze(-1)) + one
        mixed = adjoint(V) @ to_vectors
        scale = mixed.diagonal(dim1=-2, dim2=-1).real.to(mixed.dtype)
        part = (mixed - (adjoint(V) @ V) * scale.unsqueeze(-2)) / gaps * (1 - one)
        inner = part if inner is None else inner + part
    return None if inner is None else record(SOLVE, (adjoint(V), inner @ adjoint(V)))[0]


@operator("linalg_eigvals", lambda operands, attributes: _eig_geometry(operands, attributes)[0])
def EIGVALS(m: Any, A: Any) -> Any:
    """For what no gradient is asked for: these may come in another order than those of vectors."""
    return m.linalg.eigvals(A)


def _converged(results: Any, name: str) -> Any:
    """The results, once it is known that the iteration converged; a look."""
    try:
        look(results if isinstance(results, Tensor) else results[0], name, only_checks=True)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            f"linalg.{name}: The algorithm failed to converge because the input matrix is ill-conditioned or "
            "has too many repeated eigenvalues (error code: 1)."
        ) from None
    return results


def _hermitian(A: Tensor, uplo: str, name: str, kind: Operator = EIGH) -> Any:
    require_square(A, f"linalg.{name}", kernel="linalg_eigh_cpu", integers_too=True)
    if uplo.upper() not in ("L", "U") or len(uplo) != 1:
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return _converged(record(kind, (A,), (uplo.upper(),)), name)


@api("linalg", out=EXACT)
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices (one triangle is read).

    >>> import flambeau as torch
    >>> torch.linalg.eigh(torch.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    return return_types.TYPES["linalg_eigh"](*_hermitian(A, UPLO, "eigh"))


@api("linalg", out=EXACT)
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices in ascending order.

    >>> import flambeau as torch
    >>> torch.linalg.eigvalsh(torch.tensor([[2., 0.], [0., 1.]]))
    tensor([1., 2.])
    """
    if will_differentiate(A):
        return _hermitian(A, UPLO, "eigvalsh")[0]
    return _hermitian(A, UPLO, "eigvalsh", EIGVALSH)


def _general(A: Tensor, name: str, kind: Operator = EIG) -> Any:
    require_square(A, f"linalg.{name}", kernel="linalg_eig_out_cpu")
    if A.numel() and not np.isfinite(look(A, name, only_checks=True)).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return _converged(record(kind, (A,)), name)


@api("linalg", out=True)
def eig(A: Tensor) -> Any:
    """Complex eigenvalues and eigenvectors of square matrices.

    >>> import flambeau as torch
    >>> torch.linalg.eig(torch.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([2.+0.j, 1.+0.j])
    """
    return return_types.TYPES["linalg_eig"](*_general(A, "eig"))


@api("linalg", out=True)
def eigvals(A: Tensor) -> Tensor:
    """The complex eigenvalues of square matrices.

    >>> import flambeau as torch
    >>> torch.linalg.eigvals(torch.tensor([[0., -1.], [1., 0.]])).abs()
    tensor([1., 1.])
    """
    if will_differentiate(A):
        return _general(A, "eigvals")[0]
    return _general(A, "eigvals", EIGVALS)
