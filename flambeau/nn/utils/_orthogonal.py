"""A parametrization of the matrices with orthonormal columns (or rows, where they are wide)."""

from __future__ import annotations

from typing import Any

from ... import linalg
from ... import operators as ops
from ...tensor import Tensor
from ...type_info import finfo
from ..modules.module import Module
from .parametrize import register_parametrization

MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(q: Tensor) -> bool:
    rows, columns = q.size(-2), q.size(-1)
    identity = ops.eye(columns, dtype=q.dtype, device=q.device)
    return ops.allclose(q.mH @ q, identity, atol=10.0 * rows * finfo(q.dtype).eps)


def _orthogonalized(a: Tensor) -> Tensor:
    """Return the Q of a QR decomposition whose R has a positive diagonal, which makes it unique."""
    reflectors, tau = ops.geqrf(a)
    q = linalg.householder_product(reflectors, tau)
    return q * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Maps matrices (..., N, K) to matrices with orthonormal columns, for N >= K; wide ones are transposed.

    `base`, if there is one, is an orthogonal matrix (..., N, N) that the result is multiplied by, so that
    every orthonormal matrix can be assigned and is the image of -I.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.size(-2) < x.size(-1)
        x = x.mT if wide else x
        q = self._by_reflections(x) if self.orthogonal_map == "householder" else self._by_skew_matrix(x)
        if hasattr(self, "base"):
            assert self.base is not None
            q = self.base @ q
        return q.mT if wide else q

    def _by_skew_matrix(self, x: Tensor) -> Tensor:
        """Return exp(A), or Cayley's (I - A / 2)^-1 (I + A / 2), for the skew A = tril(X) - tril(X)^H."""
        rows, columns = x.size(-2), x.size(-1)
        x = x.tril()
        if rows != columns:
            padding = x.new_zeros(rows, rows - columns).expand(*x.shape[:-2], -1, -1)
            x = ops.cat([x, padding], dim=-1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            q = ops.matrix_exp(skew)
        else:
            identity = ops.eye(rows, dtype=skew.dtype, device=skew.device)
            q = linalg.solve(ops.add(identity, skew, alpha=-0.5), ops.add(identity, skew, alpha=0.5))
        return q[..., :columns] if rows != columns else q

    def _by_reflections(self, x: Tensor) -> Tensor:
        """Return the product of reflections by the columns below the diagonal, with the diagonal's signs."""
        below = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
        q = linalg.householder_product(below, tau)
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def right_inverse(self, q: Tensor) -> Tensor:
        """Return what `forward` maps to the orthonormal `q`."""
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                f"{q.shape}."
            )
        wide = q.size(-2) < q.size(-1)
        tall = q.mT if wide else q
        x = self._rebased(tall) if hasattr(self, "base") else self._reflectors_of(tall)
        return x.mT if wide else x

    def _reflectors_of(self, q: Tensor) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        reflectors, tau = ops.geqrf(q)
        diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        # A column that needed no reflection is reflected by `forward` all the same, so its sign is turned.
        diagonal[tau == 0.0] *= -1
        return reflectors

    def _rebased(self, q: Tensor) -> Tensor:
        """Make `q`, completed to a square matrix, the base, and return what stands for the identity."""
        rows, columns = q.size(-2), q.size(-1)
        if rows != columns:
            # Random columns are made orthogonal to the given ones.
            extra = ops.randn(*q.shape[:-2], rows, rows - columns, dtype=q.dtype, device=q.device)
            self.base = _orthogonalized(ops.cat([q, extra], dim=-1))
        else:
            self.base = q.clone() if _is_orthogonal(q) else _orthogonalized(q)
        negative = ops.zeros_like(q)
        negative.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return negative


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix, or a batch of matrices, orthonormal (Lezcano-Casado and Martinez-Rubio, 2019).

    (..., N, K) has orthonormal columns if N >= K, else orthonormal rows. `orthogonal_map` is one of
    "matrix_exp", "cayley" and "householder"; by default the first for square and complex matrices, else the
    last.

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(20, 40))
    >>> torch.allclose(layer.weight.T @ layer.weight, torch.eye(20), atol=1e-5)
    True
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        is_square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization)
    register_parametrization(module, name, parametrization, unsafe=True)
    return module
