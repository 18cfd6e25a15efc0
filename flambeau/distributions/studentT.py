"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import operators as ops
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t: a normal variable over the root of an independent Chi2 / df, scaled and shifted.

    >>> import flambeau as torch
    >>> torch.distributions.StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return ops.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        heavy = ops.where(self.df <= 1, math.nan, ops.full_like(self.df, math.inf))
        return ops.where(self.df > 2, finite, heavy)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(StudentT, _instance)
        new._chi2 = self._chi2.expand(Size(batch_shape))
        return self._expanded(StudentT, batch_shape, new, df=0, loc=0, scale=0)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        x = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * ops.rsqrt(z / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normalizer = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
                      + ops.lgamma(0.5 * self.df) - ops.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * ops.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        log_beta = ops.lgamma(0.5 * self.df) + math.lgamma(0.5) - ops.lgamma(0.5 * (self.df + 1))
        slope = ops.digamma(0.5 * (self.df + 1)) - ops.digamma(0.5 * self.df)
        return self.scale.log() + 0.5 * (self.df + 1) * slope + 0.5 * self.df.log() + log_beta
