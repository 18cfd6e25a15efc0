"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from typing import Any

from ..nn import functional as F
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """One-hot vectors (..., K), one for each category of :class:`Categorical`.

    >>> import flambeau as torch
    >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0])).mode
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:],
                         validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(Size(batch_shape))
        return self._expanded(OneHotCategorical, batch_shape, new)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """Probabilities.

        >>> import flambeau as torch
        >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500])
        """
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Log-probabilities.

        >>> import flambeau as torch
        >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0])).logits
        tensor([-1.3863, -0.2877])
        """
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        mode = self._categorical.mode
        return F.one_hot(mode, num_classes=self._event_shape[-1]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter.

        >>> import flambeau as torch
        >>> torch.distributions.OneHotCategorical(torch.ones(2, 3)).param_shape
        torch.Size([2, 3])
        """
        return self._categorical.param_shape

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        indices = self._categorical.sample(Size(sample_shape))
        return F.one_hot(indices, self._event_shape[-1]).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = F.one_hot(self._categorical.enumerate_support(expand=False), n).to(self._param)
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples whose gradient is that of the probabilities (Bengio et al. 2013, straight-through).

    >>> import flambeau as torch
    >>> probs = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> sample = torch.distributions.OneHotCategoricalStraightThrough(probs).rsample()
    >>> sample.requires_grad, sample.tolist()
    (True, [0.0, 1.0])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        samples = self.sample(sample_shape)
        probs = self._categorical.probs
        return samples + (probs - probs.detach())
