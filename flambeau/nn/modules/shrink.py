"""Activations that are nearly linear away from zero: soft and hard shrinkage, softplus."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from ._own_constructor import OwnConstructor
from .module import Module


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; linear where beta x > threshold.

    >>> import flambeau as torch
    >>> torch.nn.Softplus()(torch.tensor(0.0))
    tensor(0.6931)
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(OwnConstructor, Module):
    """A threshold that sets |x| <= lambd to zero."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(_Shrink):
    """x moved towards zero by lambd, and zero where |x| <= lambd.

    >>> import flambeau as torch
    >>> torch.nn.Softshrink()(torch.tensor([0.25, 1.0]))
    tensor([0.0000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Hardshrink(_Shrink):
    """x where |x| > lambd, elsewhere zero.

    >>> import flambeau as torch
    >>> torch.nn.Hardshrink()(torch.tensor([0.25, 1.0]))
    tensor([0., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)
