"""What half distributions have in common."""

from __future__ import annotations

import math
from typing import Any

from .. import operators as ops
from ..tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["Folded"]


class Folded(TransformedDistribution):
    """The absolute value of a variable whose distribution, of a location and a scale, is symmetric.

    The density is twice the symmetric one's at values from zero on.
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Any  # what is folded has a scale
    symmetric: Any  # and this class

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self.symmetric(0, scale, validate_args=False), AbsTransform(),
                         validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        public = next(cls for cls in type(self).__mro__ if "symmetric" in vars(cls))
        return super().expand(batch_shape, _instance=self._get_checked_instance(public, _instance))

    @property
    def scale(self) -> Tensor:
        """The scale of the distribution that is folded."""
        scale: Tensor = self.base_dist.scale
        return scale

    @property
    def mode(self) -> Tensor:
        return ops.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ops.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
