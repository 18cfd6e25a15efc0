"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Shares (..., K) from K - 1 normal variables by :class:`StickBreakingTransform`.

    >>> import flambeau as torch
    >>> torch.distributions.LogisticNormal(torch.zeros(3), torch.ones(3)).sample().shape
    torch.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(LogisticNormal, _instance))

    @property
    def loc(self) -> Tensor:
        """The means of the normal variables.

        >>> import flambeau as torch
        >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).loc
        tensor([0., 0.])
        """
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal variables.

        >>> import flambeau as torch
        >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).scale
        tensor([1., 1.])
        """
        return self.base_dist.base_dist.scale
