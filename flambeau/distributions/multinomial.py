"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

from .. import operators as ops
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """Counts (..., K) of the categories in ``total_count`` draws.

    >>> import flambeau as torch
    >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:],
                         validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(Size(batch_shape))
        new._binomial = self._binomial
        return self._expanded(Multinomial, batch_shape, new)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """Log-probabilities.

        >>> import flambeau as torch
        >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).logits
        tensor([-1.3863, -0.2877])
        """
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities.

        >>> import flambeau as torch
        >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500])
        """
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter.

        >>> import flambeau as torch
        >>> torch.distributions.Multinomial(5, torch.ones(2, 3)).param_shape
        torch.Size([2, 3])
        """
        return self._categorical.param_shape

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count, *sample_shape)))
        drawn = drawn.permute((*range(1, drawn.dim()), 0))
        counts = self.probs.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, drawn, ops.ones_like(drawn).type_as(counts))

    def entropy(self) -> Tensor:
        """Over binomial margins: n H(p) - log n! + the sum of E[log x_k!].

        >>> import flambeau as torch
        >>> torch.distributions.Multinomial(1, torch.tensor([0.5, 0.5])).entropy()
        tensor(0.6931)
        """
        n = ops.tensor(self.total_count)
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = ops.exp(self._binomial.log_prob(support))
        gain = (weights * ops.lgamma(support + 1)).sum((0, -1))
        return self.total_count * self._categorical.entropy() - ops.lgamma(n + 1) + gain

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        arrangements = ops.lgamma(value.sum(-1) + 1) - ops.lgamma(value + 1).sum(-1)
        return arrangements + (logits * value).sum(-1)
