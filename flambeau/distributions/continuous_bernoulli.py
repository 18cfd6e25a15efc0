"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import operators as ops
from ..nn import functional as F
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .parameters import BinaryParameters
from .utils import broadcast_all, clamp_probs, one_of

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryParameters, ExponentialFamily):
    """Numbers of [0, 1]: p(x) = C(probs) probs^x (1 - probs)^(1 - x) (Loaiza-Ganem and Cunningham 2019).

    Between ``lims`` the closed forms cancel and a Taylor expansion around 1/2 takes their place.

    >>> import flambeau as torch
    >>> torch.distributions.ContinuousBernoulli(torch.tensor(0.5)).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None) -> None:
        one_of(probs=probs, logits=logits)
        shape = self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self._keep("probs", clamp_probs(self.probs))
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ContinuousBernoulli, _instance)
        new._lims = self._lims
        return self._expanded(ContinuousBernoulli, batch_shape, new, probs=0, logits=0, _param=0)

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The probabilities, with the unstable ones moved to the lower limit."""
        return ops.where(self._outside_unstable_region(), self.probs,
                         ops.full_like(self.probs, self._lims[0]))

    def _cont_bern_log_norm(self) -> Tensor:
        """log C = log |2 artanh(1 - 2 p)| - log |1 - 2 p|."""
        p = self._cut_probs()
        below = ops.where(p <= 0.5, p, ops.zeros_like(p))
        above = ops.where(p >= 0.5, p, ops.ones_like(p))
        exact = (ops.log(ops.abs(ops.log1p(-p) - ops.log(p)))
                 - ops.where(p <= 0.5, ops.log1p(-2.0 * below), ops.log(2.0 * above - 1.0)))
        x = ops.pow(self.probs - 0.5, 2)
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return ops.where(self._outside_unstable_region(), exact, taylor)

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        exact = p / (2.0 * p - 1.0) + 1.0 / (ops.log1p(-p) - ops.log(p))
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * ops.pow(x, 2)) * x
        return ops.where(self._outside_unstable_region(), exact, taylor)

    @property
    def stddev(self) -> Tensor:
        return ops.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        exact = p * (p - 1.0) / ops.pow(1.0 - 2.0 * p, 2) + 1.0 / ops.pow(ops.log1p(-p) - ops.log(p), 2)
        x = ops.pow(self.probs - 0.5, 2)
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return ops.where(self._outside_unstable_region(), exact, taylor)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        u = ops.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        return self.icdf(u)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return (-F.binary_cross_entropy_with_logits(logits, value, reduction="none")
                + self._cont_bern_log_norm())

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        exact = (ops.pow(p, value) * ops.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = ops.where(self._outside_unstable_region(), exact, value)
        inside = ops.where(value <= 0.0, ops.zeros_like(inside), inside)
        return ops.where(value >= 1.0, ops.ones_like(inside), inside)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        exact = ((ops.log1p(-p + value * (2.0 * p - 1.0)) - ops.log1p(-p)) / (ops.log(p) - ops.log1p(-p)))
        return ops.where(self._outside_unstable_region(), exact, value)

    def entropy(self) -> Tensor:
        rest, own = ops.log1p(-self.probs), ops.log(self.probs)
        return self.mean * (rest - own) - self._cont_bern_log_norm() - rest

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """log((e^x - 1) / x), by its Taylor expansion near zero."""
        near = (x > self._lims[0] - 0.5) & (x < self._lims[1] - 0.5)
        cut = ops.where(near, ops.full_like(x, self._lims[0] - 0.5), x)
        exact = ops.log(ops.abs(ops.expm1(cut))) - ops.log(ops.abs(cut))
        return ops.where(near, 0.5 * x + ops.pow(x, 2) / 24.0 - ops.pow(x, 4) / 2880.0, exact)
