"""Kullback-Leibler divergences of distributions of different kinds: -H(p) - E[log q] under p."""

from __future__ import annotations

import math
from typing import Any

from .. import operators as ops
from ..tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant


def _infinite(p: Any, q: Any) -> Tensor:
    """p has mass where q has none."""
    some = next(value for value in p.__dict__.values() if isinstance(value, Tensor)) if not isinstance(
        p, Beta) else p.concentration1
    return ops.full_like(some, math.inf)


for _p in (Exponential, Gamma, Gumbel, Laplace, Normal, Pareto):
    for _q in (Beta, ContinuousBernoulli, Pareto, Uniform):
        if _p is not _q:
            register_kl(_p, _q)(_infinite)
for _p in (Gumbel, Laplace, Normal):
    for _q in (Exponential, Gamma):  # type: ignore[assignment]
        register_kl(_p, _q)(_infinite)
register_kl(Beta, Pareto)(_infinite)
register_kl(ContinuousBernoulli, Pareto)(_infinite)
register_kl(Poisson, Bernoulli)(_infinite)
register_kl(Poisson, Binomial)(_infinite)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _outside(p: Any, q: Any) -> Any:
    """Where p has mass (or no moments) such that the divergence is infinite; False for nowhere."""
    if isinstance(p, Uniform) and isinstance(q, (Exponential, Gamma)):
        return p.low < 0
    if isinstance(p, Pareto):
        return p.alpha <= (2 if isinstance(q, Normal) else 1)
    return False


def _finish(p: Any, q: Any, result: Tensor) -> Tensor:
    outside = _outside(p, q)
    return result if outside is False else ops.where(outside, math.inf, result)


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Pareto, Normal)
@register_kl(Uniform, Normal)
def _to_normal(p: Any, q: Any) -> Tensor:
    """Needs mean and variance alone."""
    variance = q.scale.pow(2)
    spread = (p.variance + (p.mean - q.loc).pow(2)) / (2 * variance)
    return _finish(p, q, -p.entropy() + 0.5 * (2 * math.pi * variance).log() + spread)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
@register_kl(Pareto, Exponential)
@register_kl(Uniform, Exponential)
def _to_exponential(p: Any, q: Any) -> Tensor:
    """Needs the mean alone."""
    return _finish(p, q, -p.entropy() - q.rate.log() + q.rate * p.mean)


def _x_log_x(x: Tensor) -> Tensor:
    return ops.xlogy(x, x)


def _mean_log(p: Any) -> Tensor:
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1


@register_kl(Beta, Gamma)
@register_kl(Exponential, Gamma)
@register_kl(Pareto, Gamma)
@register_kl(Uniform, Gamma)
def _to_gamma(p: Any, q: Any) -> Tensor:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return _finish(p, q, -p.entropy() + normalizer - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean)


def _laplace_transform(p: Any, s: Tensor) -> Tensor:
    """E[exp(-s x)]."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + s)
    if isinstance(p, Gamma):
        return (1 + s / p.rate).pow(-p.concentration)
    if isinstance(p, Normal):
        return ops.exp(-p.loc * s + 0.5 * (p.scale * s).pow(2))
    return (ops.exp(-p.low * s) - ops.exp(-p.high * s)) / (s * (p.high - p.low))


@register_kl(Exponential, Gumbel)
@register_kl(Gamma, Gumbel)
@register_kl(Normal, Gumbel)
@register_kl(Uniform, Gumbel)
def _to_gumbel(p: Any, q: Any) -> Tensor:
    s = q.scale.reciprocal()
    tail = (q.loc * s).exp() * _laplace_transform(p, s)
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) * s + tail


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    away = p.loc - q.loc
    scaled = away / p.scale
    distance = (math.sqrt(2 / math.pi) * p.scale * ops.exp(-0.5 * scaled.pow(2))
                + away * ops.erf(math.sqrt(0.5) * scaled))
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Tensor:
    return ops.where((q.high < 1) | (q.low > 0), math.inf, -p.entropy() + (q.high - q.low).log())


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    mean_log = _mean_log(p)
    mean_log_rest = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / width - 1
    normalizer = (q.concentration1.lgamma() + q.concentration0.lgamma()
                  - (q.concentration1 + q.concentration0).lgamma())
    result = (-p.entropy() - (q.concentration1 - 1) * mean_log - (q.concentration0 - 1) * mean_log_rest
              + normalizer)
    return ops.where((p.high > 1) | (p.low < 0), math.inf, result)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * _mean_log(p)
    return ops.where(p.low < q.scale, math.inf, result)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    """Infinite where p reaches an end of [0, 1], as in PyTorch."""
    result = _beta_continuous_bernoulli(p, q)
    return ops.where((p.high >= 1) | (p.low <= 0), math.inf, result)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    """Finite only where q reaches beyond both ends of [0, 1], as in PyTorch."""
    return ops.where((q.low >= 0) | (q.high <= 1), math.inf, -p.entropy() + (q.high - q.low).log())
