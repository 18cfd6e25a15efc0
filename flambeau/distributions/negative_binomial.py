"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from .. import operators as ops
from ..autograd.grad_mode import no_grad
from ..nn import functional as F
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .parameters import BinaryParameters
from .utils import broadcast_all, lazy_property, one_of

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryParameters, Distribution):
    """The number of successes of probability ``probs`` before ``total_count`` failures.

    A Poisson distribution whose rate is gamma distributed, so ``total_count`` need not be whole.

    >>> import flambeau as torch
    >>> torch.distributions.NegativeBinomial(4.0, torch.tensor(0.5)).mean
    tensor(4.)
    """

    arg_constraints = {"total_count": constraints.greater_than_eq(0),
                       "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        one_of(probs=probs, logits=logits)
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        self.total_count, parameter = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(parameter)
        self._keep(name, parameter)
        super().__init__(parameter.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(NegativeBinomial, batch_shape, _instance, total_count=0, probs=0, logits=0,
                              _param=0)

    @property
    def mean(self) -> Tensor:
        return self.total_count * ops.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / ops.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(concentration=self.total_count, rate=ops.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            return ops.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        unnormalized = self.total_count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        normalization = (-ops.lgamma(self.total_count + value) + ops.lgamma(1.0 + value)
                         + ops.lgamma(self.total_count))
        # No failure to wait for: the count is 0 for sure, where the two infinities cancel.
        nothing = self.total_count + value == 0.0
        return unnormalized - normalization.masked_fill(nothing, 0.0)
