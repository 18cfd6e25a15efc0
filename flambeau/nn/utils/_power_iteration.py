"""The largest singular value of a matrix, by iteration."""

from __future__ import annotations

from ... import operators as ops
from ...tensor import Tensor
from .. import functional as F
from ..modules.conv import _ConvTransposeNd


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return `weight` with dimension `dim` first and all others joined."""
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.reshape(weight.size(0), -1)


def default_dim(module: object) -> int:
    """Return the dimension of the outputs in a layer's weight."""
    return 1 if isinstance(module, _ConvTransposeNd) else 0


def iterate(matrix: Tensor, u: Tensor, v: Tensor, times: int, eps: float, u_first: bool = False) -> None:
    """Improve the singular vectors in place: v = normalized W^T u, u = normalized W v, or u first."""
    matrix = matrix.detach()
    for i in range(2 * times):
        if (i % 2 == 0) == u_first:
            u.copy_(F.normalize(ops.mv(matrix, v), dim=0, eps=eps))
        else:
            v.copy_(F.normalize(ops.mv(matrix.t(), u), dim=0, eps=eps))
