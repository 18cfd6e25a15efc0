"""Layers that drop values at random in training and do nothing in evaluation."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """What all dropout layers share: the probability `p` of dropping a value."""

    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Set each value to zero with probability p and scale the rest by 1 / (1 - p) (Hinton et al., 2012).

    >>> import flambeau as torch
    >>> torch.nn.Dropout(0.5).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Drop whole channels of (N, C, L) or (C, L) (Tompson et al., 2015).

    >>> import flambeau as torch
    >>> torch.nn.Dropout1d(0.5)(torch.ones(1, 2, 3)).shape
    torch.Size([1, 2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Drop whole channels of (N, C, H, W) or (N, C, L).

    >>> import flambeau as torch
    >>> torch.nn.Dropout2d(0.5)(torch.ones(1, 2, 3, 3)).shape
    torch.Size([1, 2, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Drop whole channels of (N, C, D, H, W) or (C, D, H, W).

    >>> import flambeau as torch
    >>> torch.nn.Dropout3d(0.5)(torch.ones(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Drop values to SELU's negative limit, keeping mean and variance (Klambauer et al., 2017).

    >>> import flambeau as torch
    >>> torch.nn.AlphaDropout(0.2)(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Drop whole channels of (N, C, D, H, W) as AlphaDropout drops values.

    >>> import flambeau as torch
    >>> torch.nn.FeatureAlphaDropout(0.2)(torch.ones(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
