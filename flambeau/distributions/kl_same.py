"""Kullback-Leibler divergences of two distributions of one kind."""

from __future__ import annotations

import math
from typing import Any

from .. import operators as ops
from ..autograd import grad
from ..autograd.grad_mode import enable_grad
from ..nn import functional as F
from ..tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    t1 = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    t1 = ops.where(q.probs == 0, math.inf, t1)
    t1 = ops.where(p.probs == 0, 0.0, t1)
    t2 = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    t2 = ops.where(q.probs == 1, math.inf, t2)
    return t1 + ops.where(p.probs == 1, 0.0, t2)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    total_p = p.concentration1 + p.concentration0
    total_q = q.concentration1 + q.concentration0
    log_ratio = (q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
                 - p.concentration1.lgamma() - p.concentration0.lgamma() - total_q.lgamma())
    return (log_ratio + (p.concentration1 - q.concentration1) * p.concentration1.digamma()
            + (p.concentration0 - q.concentration0) * p.concentration0.digamma()
            + (total_q - total_p) * total_p.digamma())


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not "
                                  "implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return ops.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = ops.where((q.probs == 0).expand_as(t), math.inf, t)
    return ops.where((p.probs == 0).expand_as(t), 0.0, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    own, other = [d._cont_bern_log_norm() + (-d.probs).log1p() for d in (p, q)]
    return p.mean * (p.logits - q.logits) + own - other


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    log_ratio = (total_p.lgamma() - total_q.lgamma()
                 - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1))
    slope = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return log_ratio + ((p.concentration - q.concentration) * slope).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log normalizer, for two of one family."""
    if not type(p) == type(q):  # noqa: E721
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot "
                                  "                            be computed using Bregman divergences")
    with enable_grad():
        own = [x.detach().requires_grad_() for x in p._natural_params]
        normalizer = p._log_normalizer(*own)
        slopes = grad(normalizer.sum(), own, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for x, y, slope in zip(own, q._natural_params, slopes):
        result = result - _sum_rightmost((y - x) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    return (q.concentration * (p.rate / q.rate).log() + ops.lgamma(q.concentration)
            - ops.lgamma(p.concentration)
            + (p.concentration - q.concentration) * ops.digamma(p.concentration)
            + (q.rate - p.rate) * (p.concentration / p.rate))


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    at_p, at_q = p.loc / q.scale, q.loc / q.scale
    t1 = -ratio.log() + at_p - at_q
    t2 = ratio * euler_constant
    t3 = ops.exp(at_q + (1 + ratio).lgamma() - at_p)
    return t1 + t2 + t3 - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - ops.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * ops.exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    variances = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (variances + distance - 1 - variances.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    shapes = q.alpha / p.alpha
    result = q.alpha * ratio.log() - shapes.log() + shapes - 1
    return ops.where(p.support.lower_bound < q.support.lower_bound, math.inf, result)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    """That of the base distributions, where the maps are the same."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return ops.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    """log (((g + g')² + (x - x')²) / (4 g g')) (Chyzak and Nielsen 2019)."""
    top = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return top - (4 * p.scale * q.scale).log()
