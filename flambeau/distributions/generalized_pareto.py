"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import operators as ops
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import all_numbers, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over a threshold: F(x) = 1 - (1 + c z)^(-1/c), z = (x - loc) / scale, c the concentration.

    For c = 0 it is the exponential distribution, F(x) = 1 - exp(-z).

    >>> import flambeau as torch
    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive,
                       "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        shape = Size() if all_numbers(loc, scale, concentration) else self.loc.size()
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(GeneralizedPareto, batch_shape, _instance, loc=0, scale=0, concentration=0)

    def _exponential(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is zero, and the concentration with ones there."""
        zero = ops.isclose(self.concentration, ops.zeros_like(self.concentration))
        return zero, ops.where(zero, ops.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(ops.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def log_survival_function(self, value: Tensor) -> Tensor:
        """log P(X > x).

        >>> import flambeau as torch
        >>> d = torch.distributions.GeneralizedPareto(torch.tensor(0.0), torch.tensor(1.0), torch.tensor(0.0))
        >>> d.log_survival_function(torch.tensor(2.0))
        tensor(-2.)
        """
        zero, c = self._exponential()
        z = self._z(value)
        return ops.where(zero, -z, -ops.log1p(c * z) / c)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        zero, c = self._exponential()
        z = self._z(value)
        return -self.scale.log() + ops.where(zero, -z, -(1 + 1 / c) * ops.log1p(c * z))

    def log_cdf(self, value: Tensor) -> Tensor:
        """log P(X <= x).

        >>> import flambeau as torch
        >>> d = torch.distributions.GeneralizedPareto(torch.tensor(0.0), torch.tensor(1.0), torch.tensor(0.0))
        >>> d.log_cdf(torch.tensor(1.0)).exp()
        tensor(0.6321)
        """
        return ops.log1p(-ops.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ops.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._exponential()
        log_rest = ops.log1p(-value)
        return ops.where(zero, self.loc - self.scale * log_rest,
                         self.loc + self.scale * ops.expm1(-c * log_rest) / c)

    @property
    def mean(self) -> Tensor:
        mean = self.loc + self.scale / (1 - self.concentration)
        return ops.where(self.concentration < 1, mean, math.inf)

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return ops.where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.inf)

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = ops.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)
