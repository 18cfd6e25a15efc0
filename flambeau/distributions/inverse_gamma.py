"""The inverse gamma distribution."""

from __future__ import annotations

from typing import Any

from .. import operators as ops
from ..tensor import Tensor
from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma variable.

    >>> import flambeau as torch
    >>> torch.distributions.InverseGamma(torch.tensor(3.0), torch.tensor(4.0)).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        exponent = -base.rate.new_ones(())
        super().__init__(base, PowerTransform(exponent), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self) -> Tensor:
        """The shape.

        >>> import flambeau as torch
        >>> torch.distributions.InverseGamma(2.0, 3.0).concentration
        tensor(2.)
        """
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the reciprocal.

        >>> import flambeau as torch
        >>> torch.distributions.InverseGamma(2.0, 3.0).rate
        tensor(3.)
        """
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        result = self.rate / (self.concentration - 1)
        return ops.where(self.concentration > 1, result, float("inf"))

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        result = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return ops.where(self.concentration > 2, result, float("inf"))

    def entropy(self) -> Tensor:
        return (self.concentration + self.rate.log() + self.concentration.lgamma()
                - (1 + self.concentration) * self.concentration.digamma())
