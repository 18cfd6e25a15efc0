"""The half-cauchy distribution."""

from __future__ import annotations

import math

from .. import operators as ops
from ..tensor import Tensor
from .cauchy import Cauchy
from .folded import Folded

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """The absolute value of a Cauchy variable around zero.

    >>> import flambeau as torch
    >>> torch.distributions.HalfCauchy(torch.tensor(1.0)).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    symmetric = Cauchy

    @property
    def mean(self) -> Tensor:
        return ops.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return super().log_prob(ops.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
