"""Exponential families: entropy and divergence from the log normalizer."""

from __future__ import annotations

from typing import Any

from ..autograd import grad
from ..autograd.grad_mode import enable_grad
from ..tensor import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    r"""Densities of the form ``exp(<t(x), theta> - F(theta) + k(x))``.

    theta are the natural parameters, t the sufficient statistic, F the log normalizer and k the carrier
    measure, each known in closed form. The gradient of F is the mean of t, which gives entropy and
    Kullback-Leibler divergence (Nielsen and Nock 2010, "Entropies and cross-entropies of exponential
    families").

    >>> import flambeau as torch
    >>> normal = torch.distributions.Normal(0.0, 1.0)
    >>> isinstance(normal, torch.distributions.ExponentialFamily), normal.entropy()
    (True, tensor(1.4189))
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """F(theta) - <theta, grad F(theta)> - E[k(x)].

        >>> import flambeau as torch
        >>> torch.distributions.Bernoulli(torch.tensor(0.5)).entropy()
        tensor(0.6931)
        """
        result: Any = -self._mean_carrier_measure
        with enable_grad():
            parameters = [p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*parameters)
            slopes = grad(normalizer.sum(), parameters, create_graph=True)
        result = result + normalizer
        for parameter, slope in zip(parameters, slopes, strict=True):
            product = parameter * slope
            result = result - product.reshape((*self._batch_shape, -1)).sum(-1)
        return result
