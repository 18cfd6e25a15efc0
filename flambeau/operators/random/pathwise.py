"""Derivatives of gamma and Dirichlet samples with respect to their parameters.

Note: pathwise derivatives. A sample x of a distribution F(x; a) moves with a along its quantile:
dx/da = -(dF/da) / p(x) (Figurnov, Mohamed and Mnih 2018, "Implicit reparameterization gradients"). With
t = x exp(w) for the gamma distribution, and w the log-odds from those of x for the beta distribution, that is

    dx/da = ± scale * integral over w >= 0 of exp(-h(w)) (log t(w) - E[log t]) dw

over the side of x away from the mode, where h is convex and increasing from 0. It is computed by the
Gauss-Legendre rule up to where h is 40. Of K shares, the one whose concentration changes moves as a beta
variable does, and the others keep their ratios (Jankowiak and Obermeyer 2018, "Pathwise derivatives").
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...executors.interpreter.special import digamma
from ...graph.geometry import Geometry, contiguous
from ...random_streams.gammas import shares_of
from ...tensor import Tensor, record
from ..declaration.definition import operator
from ..declaration.registry import api
from .distributions import STANDARD_GAMMA
from .random import drawn

_DEPTH = 40.0   # of h, where exp(-h) no longer counts


@functools.cache
def _quadrature() -> tuple[Any, Any]:
    """Nodes and weights of Gauss and Legendre on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return (nodes + 1) / 2, weights / 2


def _integral(h: Callable[[Any], Any], factor: Callable[[Any], Any], count: int) -> Any:
    """The integral of exp(-h(w)) factor(w) over w >= 0, for ``count`` elements at once."""
    low, high = np.full((count, 1), -30.0), np.full((count, 1), 30.0)
    for _ in range(24):     # the end of the range, by halving its logarithm
        middle = (low + high) / 2
        beyond = h(np.exp(middle)) > _DEPTH
        high, low = np.where(beyond, middle, high), np.where(beyond, low, middle)
    end = np.exp(high)
    nodes, weights = _quadrature()
    w = end * nodes
    return (end * weights * np.exp(-h(w)) * factor(w)).sum(-1)


def gamma_slope(shapes: Any, values: Any) -> Any:
    """dx/da of a gamma value x with shape a (see Note: pathwise derivatives)."""
    a = shapes.astype(np.float64).reshape(-1, 1)
    x = np.maximum(values.astype(np.float64).reshape(-1, 1), np.finfo(np.float64).tiny)
    above = np.where(x > a, 1.0, -1.0)
    center, log_x = digamma(a), np.log(x)
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = x[:, 0] * above[:, 0] * _integral(
            lambda w: x * np.expm1(above * w) - a * above * w, lambda w: log_x + above * w - center, len(a))
    return slopes.reshape(shapes.shape).astype(shapes.dtype)


def beta_slope(x: Any, a: Any, b: Any) -> Any:
    """dx/da of beta values x (N) with concentrations a and b (see Note: pathwise derivatives)."""
    x, a, b = (v.reshape(-1, 1) for v in (x, a, b))
    above = np.where(x > a / (a + b), 1.0, -1.0)
    center = digamma(a) - digamma(a + b)
    log_x, odds = np.log(x), np.log(x) - np.log1p(-x)

    def log_t(w: Any) -> Any:
        return -np.logaddexp(0.0, -(odds + above * w))

    def h(w: Any) -> Any:
        return -a * (log_t(w) - log_x) + b * (np.logaddexp(0.0, odds + above * w) + np.log1p(-x))

    with np.errstate(over="ignore", invalid="ignore"):
        integral = _integral(h, lambda w: log_t(w) - center, len(x))
    return x[:, 0] * (1 - x[:, 0]) * above[:, 0] * integral


def _like_first(operands: Any, attributes: Any) -> Geometry:
    first = operands[0]
    return contiguous(first.shape, first.dtype, first.device)


@operator("standard_gamma_grad", _like_first)
def STANDARD_GAMMA_GRAD(m: Any, shapes: Any, values: Any) -> Any:
    return gamma_slope(np.asarray(shapes, order="C"), np.asarray(values, order="C"))


@operator("dirichlet_grad", _like_first)
def DIRICHLET_GRAD(m: Any, x: Any, alpha: Any, total: Any) -> Any:
    single = np.finfo(x.dtype)
    inside = np.clip(x.astype(np.float64), single.tiny, 1 - single.epsneg).reshape(-1)
    a = alpha.astype(np.float64).reshape(-1)
    b = np.broadcast_to(total, x.shape).astype(np.float64).reshape(-1) - a
    return (beta_slope(inside, a, b) / (1 - inside)).reshape(x.shape).astype(x.dtype)


@operator("standard_gamma_value", _like_first, grad_name="StandardGammaBackward0")
def STANDARD_GAMMA_VALUE(m: Any, shapes: Any, values: Any) -> Any:
    return np.array(values)


@STANDARD_GAMMA_VALUE.derivative("shapes", keeps="shapes values")
def _(ctx: Any, grad: Tensor, shapes: Tensor, values: Tensor) -> Tensor:
    return grad * record(STANDARD_GAMMA_GRAD, (shapes, values))


@operator("dirichlet_value", _like_first, grad_name="DirichletBackward")
def DIRICHLET_VALUE(m: Any, alpha: Any, x: Any) -> Any:
    return np.array(x)


@DIRICHLET_VALUE.derivative("alpha", keeps="alpha x")
def _(ctx: Any, grad: Tensor, alpha: Tensor, x: Tensor) -> Tensor:
    total = alpha.sum(-1, True).expand(alpha.shape)
    slope = record(DIRICHLET_GRAD, (x, alpha, total))
    return slope * (grad - (x * grad).sum(-1, True))


@operator("dirichlet_shares", lambda operands, attributes: contiguous(
    operands[0].shape, attributes[0], operands[0].device))
def DIRICHLET_SHARES(m: Any, drawn: Any, dtype: Any) -> Any:
    return shares_of(np.asarray(drawn, order="C"), np.dtype(dtype.numpy))


@api("torch")
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Numbers of the gamma distribution of rate 1 with the shapes of a tensor, differentiable in them."""
    geometry = contiguous(input.shape, input.dtype, input.device)
    values = drawn(STANDARD_GAMMA, generator, (input.detach(),), geometry)
    return record(STANDARD_GAMMA_VALUE, (input, values)) if input.requires_grad else values


@api("torch")
def _standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """How gamma values ``output`` move with their shapes ``self``."""
    return record(STANDARD_GAMMA_GRAD, (self, output))


@api("torch")
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Shares (..., K) of the Dirichlet distribution with concentrations (..., K), differentiable in them."""
    geometry = contiguous(input.shape, dtypes.float64, input.device)
    gammas = drawn(STANDARD_GAMMA, generator, (input.detach().to(dtypes.float64),), geometry)
    values = record(DIRICHLET_SHARES, (gammas,), (input.dtype,))
    return record(DIRICHLET_VALUE, (input, values)) if input.requires_grad else values


@api("torch")
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """How a share x moves with its concentration alpha of ``total``, over 1 - x."""
    return record(DIRICHLET_GRAD, (x, alpha, total))
