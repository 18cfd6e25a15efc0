"""The Kumaraswamy distribution."""

from __future__ import annotations

from typing import Any

from .. import operators as ops
from ..tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    """E[x^n] = b B(1 + n / a, b)."""
    first = 1 + n / a
    return ops.exp(b.log() + ops.lgamma(first) + ops.lgamma(b) - ops.lgamma(first + b))


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution: F(x) = 1 - (1 - x^a)^b, a ``concentration1``, b ``concentration0``.

    >>> import flambeau as torch
    >>> torch.distributions.Kumaraswamy(torch.tensor(1.0), torch.tensor(1.0)).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zero, one = ops.zeros_like(self.concentration0), ops.ones_like(self.concentration0)
        base = Uniform(zero, one, validate_args=validate_args)
        steps = [PowerTransform(exponent=self.concentration0.reciprocal()),
                 AffineTransform(loc=1.0, scale=-1.0),
                 PowerTransform(exponent=self.concentration1.reciprocal())]
        super().__init__(base, steps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = ((a - 1) / (a * b - 1)).log() / a
        log_mode = log_mode.masked_fill((a < 1) | (b < 1), float("nan"))
        return log_mode.exp()

    @property
    def variance(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        t1 = 1 - self.concentration1.reciprocal()
        t0 = 1 - self.concentration0.reciprocal()
        harmonic = ops.digamma(self.concentration0 + 1) + euler_constant
        return t0 + t1 * harmonic - ops.log(self.concentration1) - ops.log(self.concentration0)
