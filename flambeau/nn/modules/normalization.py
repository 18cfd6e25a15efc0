"""Normalization layers that keep no running statistics."""

from __future__ import annotations

import numbers
from typing import Any

from ... import operators as ops
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .cross_map_lrn import CrossMapLRN2d
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _as_shape(normalized_shape: Any) -> tuple[int, ...]:
    if isinstance(normalized_shape, numbers.Integral):
        return (int(normalized_shape),)
    return tuple(normalized_shape)


class _ScaledNorm(Module):
    """A normalization with an optional scale `weight` and shift `bias`."""

    weight: Tensor | None
    bias: Tensor | None

    def _register_affine(self, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            parameter = Parameter(ops.empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to 1 and the shift to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_ScaledNorm):
    """y = (x - mean) / sqrt(var + eps) weight + bias over the last dimensions (Ba et al., 2016); shape
    unchanged.

    >>> import flambeau as torch
    >>> torch.nn.LayerNorm(10)(torch.randn(20, 5, 10)).shape
    torch.Size([20, 5, 10])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine
        self._register_affine(self.normalized_shape, affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        if self.__class__ is LayerNorm:  # no descriptors are needed: only the tables can hold its parameters
            own = self._parameters
            if "weight" in own and "bias" in own:
                return F.layer_norm(input, self.normalized_shape, own["weight"], own["bias"], self.eps)
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_ScaledNorm):
    """Normalization over groups of channels of (N, C, ...) (Wu and He, 2018); shape unchanged.

    >>> import flambeau as torch
    >>> torch.nn.GroupNorm(3, 6)(torch.randn(2, 6, 4, 4)).shape
    torch.Size([2, 6, 4, 4])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._register_affine(num_channels, affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """y = x / sqrt(mean(x^2) + eps) weight over the last dimensions (Zhang and Sennrich, 2019); shape
    unchanged.

    Without `eps`, the machine precision of the input's dtype is used.

    >>> import flambeau as torch
    >>> torch.nn.RMSNorm(2)(torch.tensor([3.0, 3.0])).tolist()
    [1.0, 1.0]
    """

    weight: Tensor | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(ops.empty(self.normalized_shape, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to 1.

        >>> import flambeau as torch
        >>> layer = torch.nn.RMSNorm(2)
        >>> _ = torch.nn.init.zeros_(layer.weight)
        >>> layer.reset_parameters(); layer.weight
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
        """
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """Divide by (k + alpha mean of x^2 over `size` neighbouring channels)^beta (Krizhevsky et al., 2012).

    >>> import flambeau as torch
    >>> torch.nn.LocalResponseNorm(2)(torch.randn(2, 5, 4, 4)).shape
    torch.Size([2, 5, 4, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
