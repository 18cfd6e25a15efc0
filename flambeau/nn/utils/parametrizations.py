"""Ready-made parametrizations: orthogonal matrices, spectral norm and weight norm."""

from __future__ import annotations

from typing import Any

from ... import operators as ops
from ...autograd import no_grad
from ...tensor import Tensor
from .. import functional as F
from ..modules.module import Module
from ._orthogonal import orthogonal
from ._power_iteration import as_matrix, default_dim, iterate
from .parametrize import register_parametrization
from .weight_norm import norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """weight = g v / |v|, with the norm over all dimensions but one."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return length and direction of a weight."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Keep a parameter as its length and its direction (Salimans and Kingma, 2016).

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *unused: Any) -> None:
        # Checkpoints of the hook-based version have other names.
        old_g, old_v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if old_g in state_dict and old_v in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(old_g)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(old_v)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """weight / sigma(weight), with sigma from power iteration on the buffers `_u` and `_v`."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        dimensions = weight.ndim
        if not -dimensions <= dim < dimensions:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{dimensions}, {dimensions - 1}] but "
                f"got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + dimensions
        self.eps = eps
        if dimensions > 1:
            self.n_power_iterations = n_power_iterations
            self._start(as_matrix(weight, self.dim))

    def _start(self, matrix: Tensor) -> None:
        rows, columns = matrix.size()
        u = matrix.new_empty(rows).normal_(0, 1)
        v = matrix.new_empty(columns).normal_(0, 1)
        self.register_buffer("_u", F.normalize(u, dim=0, eps=self.eps))
        self.register_buffer("_v", F.normalize(v, dim=0, eps=self.eps))
        with no_grad():
            iterate(matrix, self._u, self._v, 15, self.eps, u_first=True)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            with no_grad():
                iterate(matrix, self._u, self._v, self.n_power_iterations, self.eps, u_first=True)
        # Copies, since a second forward before the backward changes u and v in place.
        u, v = self._u.clone(), self._v.clone()
        return weight / ops.vdot(u, ops.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Accept any value; its norm is divided out when it is used."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a parameter by its largest singular value (Miyato et al., 2018).

    >>> import flambeau as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> bool(torch.linalg.matrix_norm(layer.weight, 2) < 1.1)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = default_dim(module) if dim is None else dim
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
