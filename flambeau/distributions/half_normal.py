"""The half-normal distribution."""

from __future__ import annotations

import math

from ..tensor import Tensor
from .folded import Folded
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """The absolute value of a Normal variable around zero.

    >>> import flambeau as torch
    >>> torch.distributions.HalfNormal(torch.tensor(1.0)).mean
    tensor(0.7979)
    """

    symmetric = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
