"""Kullback-Leibler divergences of multivariate normal distributions, of full and of low rank."""

from __future__ import annotations

from typing import Any

from .. import linalg
from ..tensor import Tensor
from .kl import register_kl
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis


def _factor(p: Any) -> Tensor:
    return p._unbroadcasted_scale_tril if isinstance(p, MultivariateNormal) else p.scale_tril


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate(p: Any, q: Any) -> Tensor:
    """(tr(Cq⁻¹ Cp) + distance² - N) / 2 + log det Lq - log det Lp, from the Cholesky factors."""
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {type(p).__name__} and {type(q).__name__} with "
                         "different event shapes cannot be computed")
    lower_p, lower_q = _factor(p), _factor(q)
    half = (lower_q.diagonal(dim1=-2, dim2=-1).log().sum(-1)
            - lower_p.diagonal(dim1=-2, dim2=-1).log().sum(-1))
    trace = linalg.solve_triangular(lower_q, lower_p, upper=False).pow(2).sum((-2, -1))
    distance = _batch_mahalanobis(lower_q, q.loc - p.loc)
    return half + 0.5 * (trace + distance - p.event_shape[0])
