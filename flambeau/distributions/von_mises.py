"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import operators as ops
from ..autograd.grad_mode import no_grad
from ..dtypes import float64
from ..size import Size
from ..special import i0e, i1e
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles around ``loc``: p(x) = exp(k cos(x - loc)) / (2 pi I0(k)), k the concentration.

    >>> import flambeau as torch
    >>> torch.distributions.VonMises(torch.tensor(0.0), torch.tensor(1.0)).mean
    tensor(0.)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def _log_i0(self) -> Tensor:
        return i0e(self.concentration).log() + self.concentration

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.concentration * ops.cos(value - self.loc) - math.log(2 * math.pi) - self._log_i0()

    @lazy_property
    def _proposal_r(self) -> Tensor:
        k = self.concentration.to(float64)
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        exact = (1 + rho**2) / (2 * rho)
        return ops.where(k < 1e-5, 1 / k + k, exact)    # rho cancels where k is small

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Rejection from a wrapped Cauchy distribution (Best and Fisher 1979), in double precision.

        >>> import flambeau as torch
        >>> torch.distributions.VonMises(torch.zeros(2), torch.ones(2)).sample((3,)).shape
        torch.Size([3, 2])
        """
        shape = self._extended_shape(sample_shape)
        with no_grad():
            k, r = self.concentration.to(float64).expand(shape), self._proposal_r.expand(shape)
            x = ops.zeros(shape, dtype=float64, device=self.loc.device)
            done = ops.zeros(shape, dtype=x.eq(x).dtype, device=self.loc.device)
            while not done.all():
                u1, u2, u3 = ops.rand((3, *shape), dtype=float64, device=self.loc.device).unbind()
                z = ops.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = ops.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            angle = (x + math.pi + self.loc.to(float64)) % (2 * math.pi) - math.pi
            return angle.to(self.loc.dtype)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        if _instance is None:
            return type(self)(self.loc.expand(batch_shape), self.concentration.expand(batch_shape),
                              validate_args=self._validate_args)
        return self._expanded(VonMises, batch_shape, _instance, loc=0, concentration=0)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance 1 - I1(k) / I0(k).

        >>> import flambeau as torch
        >>> torch.distributions.VonMises(torch.tensor(0.0), torch.tensor(1.0)).variance
        tensor(0.5536)
        """
        return 1 - i1e(self.concentration) / i0e(self.concentration)
