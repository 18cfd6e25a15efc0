"""Relaxed Bernoulli variables."""

from __future__ import annotations

from typing import Any

from .. import operators as ops
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .parameters import BinaryParameters
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs, one_of

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryParameters, Distribution):
    """The log-odds of a relaxed Bernoulli variable (Maddison et al. 2017, "The concrete distribution").

    >>> import flambeau as torch
    >>> from flambeau.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.5, 0.5])).sample().shape
    torch.Size([2])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        self.temperature = temperature
        one_of(probs=probs, logits=logits)
        super().__init__(self._take(probs, logits), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogitRelaxedBernoulli, _instance)
        new.temperature = self.temperature
        return self._expanded(LogitRelaxedBernoulli, batch_shape, new, probs=0, logits=0, _param=0)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(ops.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers of (0, 1) that approach a Bernoulli variable as the temperature falls.

    >>> import flambeau as torch
    >>> sample = torch.distributions.RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.3, 0.7])).rsample()
    >>> sample.shape, bool(((sample > 0) & (sample < 1)).all())
    (torch.Size([2]), True)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Any:
        """How far from 0 and 1.

        >>> import flambeau as torch
        >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor(0.25)).temperature
        tensor(0.5000)
        """
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log-odds.

        >>> import flambeau as torch
        >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), torch.tensor(0.5)).logits
        tensor(0.)
        """
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities.

        >>> import flambeau as torch
        >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor(0.25)).probs
        tensor(0.2500)
        """
        return self.base_dist.probs
