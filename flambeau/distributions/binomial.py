"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from .. import operators as ops
from ..autograd.grad_mode import no_grad
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .parameters import BinaryParameters
from .utils import broadcast_all, one_of

__all__ = ["Binomial"]


def _softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)) without overflow."""
    return x.clamp(min=0) + ops.log1p(ops.exp(-ops.abs(x)))


class Binomial(BinaryParameters, Distribution):
    """The number of successes in ``total_count`` independent trials.

    >>> import flambeau as torch
    >>> torch.distributions.Binomial(10, torch.tensor(0.5)).mean
    tensor(5.)
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        one_of(probs=probs, logits=logits)
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        self.total_count, parameter = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(parameter)
        self._keep(name, parameter)
        super().__init__(parameter.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Binomial, batch_shape, _instance, total_count=0, probs=0, logits=0, _param=0)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """log C(n, k) + k logits - n log(1 + exp(logits)).

        >>> import flambeau as torch
        >>> torch.distributions.Binomial(2, torch.tensor(0.5)).log_prob(torch.tensor(1.0)).exp()
        tensor(0.5000)
        """
        if self._validate_args:
            self._validate_sample(value)
        choose = (ops.lgamma(self.total_count + 1) - ops.lgamma(value + 1)
                  - ops.lgamma(self.total_count - value + 1))
        return value * self.logits - self.total_count * _softplus(self.logits) + choose

    def entropy(self) -> Tensor:
        """The sum over the support of -p log p, for equal counts.

        >>> import flambeau as torch
        >>> torch.distributions.Binomial(1, torch.tensor(0.5)).entropy()
        tensor(0.6931)
        """
        total_count = int(self.total_count.max())
        if not self.total_count.min() == total_count:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(ops.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total_count = int(self.total_count.max())
        if not self.total_count.min() == total_count:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = ops.arange(1 + total_count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
