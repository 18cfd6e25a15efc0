"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from .. import operators as ops
from ..autograd.grad_mode import no_grad
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A categorical choice among the last batch dimension of a distribution.

    >>> import flambeau as torch
    >>> from flambeau.distributions import Categorical, MixtureSameFamily, Normal
    >>> MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([0.0, 4.0]), 1.0)).mean
    tensor(2.)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of "
                             "torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of "
                             "torch.distributions.Distribution")
        own, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for size1, size2 in zip(reversed(own), reversed(batch), strict=False):
            if size1 != 1 and size2 != 1 and size1 != size2:
                raise ValueError(f"`mixture_distribution.batch_shape` ({own}) is not compatible with "
                                 f"`component_distribution.batch_shape`({batch})")
        km = mixture_distribution.logits.shape[-1]
        kc = component_distribution.batch_shape[-1]
        if km != kc:
            raise ValueError(f"`mixture_distribution component` ({km}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({kc})")
        self._num_component = km
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return self._expanded(MixtureSameFamily, batch_shape, new)

    @constraints.dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The choice.

        >>> import flambeau as torch
        >>> mixture = torch.distributions.MixtureSameFamily(
        ...     torch.distributions.Categorical(torch.tensor([1.0, 3.0])),
        ...     torch.distributions.Normal(torch.tensor([-1.0, 1.0]), torch.ones(2)))
        >>> mixture.mixture_distribution.probs, mixture.component_distribution.mean
        (tensor([0.2500, 0.7500]), tensor([-1.,  1.]))
        """
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """What is chosen from, along the last batch dimension.

        >>> import flambeau as torch
        >>> D = torch.distributions
        >>> parts = D.Normal(torch.tensor([-1.0, 1.0]), torch.ones(2))
        >>> mixture = D.MixtureSameFamily(D.Categorical(torch.ones(2)), parts)
        >>> mixture.component_distribution
        Normal(loc: torch.Size([2]), scale: torch.Size([2]))
        """
        return self._component_distribution

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return ops.sum(self._weights() * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances and the variance of the means.

        >>> import flambeau as torch
        >>> mixture = torch.distributions.MixtureSameFamily(
        ...     torch.distributions.Categorical(torch.ones(2)),
        ...     torch.distributions.Normal(torch.tensor([-1.0, 1.0]), torch.ones(2)))
        >>> mixture.variance
        tensor(2.)
        """
        dim, weights = -1 - self._event_ndims, self._weights()
        within = ops.sum(weights * self.component_distribution.variance, dim=dim)
        apart = self.component_distribution.mean - self.mean.unsqueeze(dim)
        return within + ops.sum(weights * apart.pow(2.0), dim=dim)

    def cdf(self, x: Tensor) -> Tensor:
        cdf = self.component_distribution.cdf(x.unsqueeze(-1 - self._event_ndims))
        return ops.sum(cdf * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self.component_distribution.log_prob(x.unsqueeze(-1 - self._event_ndims))
        log_weights = ops.log_softmax(self.mixture_distribution.logits, dim=-1)
        return ops.logsumexp(log_prob + log_weights, dim=-1)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            choice = self.mixture_distribution.sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            extra = dim - choice.dim()      # the components may have more batch dimensions
            choice = choice.reshape(choice.shape[:len(sample_shape)] + (1,) * extra
                                    + choice.shape[len(sample_shape):])
            choice = choice.reshape(choice.shape + (1,) * (1 + self._event_ndims))
            size = list(values.shape)
            size[dim] = 1
            return ops.gather(values, dim, choice.expand(size)).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
