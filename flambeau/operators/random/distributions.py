"""Random numbers of further distributions: exponential, geometric, Cauchy, gamma, Poisson, multinomial."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...random_streams import continuous, counts, gammas
from ...random_streams.bernoulli import rrelu_slopes
from ...random_streams.multinomial import multinomial as draw_multinomial
from ...tensor import Tensor, record
from ...tensor.generator import draw_from, may_fail
from ..calls.out import Out
from ..creation.zero_gradients import draws_of
from ..declaration.definition import operator
from ..declaration.domain import not_implemented
from ..declaration.prices import draws
from ..declaration.registry import api
from ..declaration.undifferentiable import finding_without_derivative, found_in
from ..interop.looking import look
from ..shapes.expanding import broadcast_tensors
from .filling import fill_with
from .random import drawn, in_memory_order, require_floating, with_state


@operator("exponential", with_state, kind="draw")
def EXPONENTIAL(m: Any, state: Any, rate: Any, geometry: Geometry) -> Any:
    dtype = geometry.dtype.numpy
    return in_memory_order(geometry, lambda shape: continuous.exponential(state, shape, float(rate), dtype))


@operator("geometric", with_state, kind="draw")
def GEOMETRIC(m: Any, state: Any, p: Any, geometry: Geometry) -> Any:
    dtype = geometry.dtype.numpy
    return in_memory_order(geometry, lambda shape: continuous.geometric(state, shape, float(p), dtype))


@operator("cauchy", with_state, kind="draw")
def CAUCHY(m: Any, state: Any, median: Any, sigma: Any, geometry: Geometry) -> Any:
    dtype = geometry.dtype.numpy
    return in_memory_order(
        geometry, lambda shape: continuous.cauchy(state, shape, float(median), float(sigma), dtype))


@operator("log_normal", with_state, kind="draw")
def LOG_NORMAL(m: Any, state: Any, mean: Any, std: Any, geometry: Geometry) -> Any:
    dtype = geometry.dtype.numpy
    return in_memory_order(
        geometry, lambda shape: continuous.log_normal(state, shape, float(mean), float(std), dtype))


@operator("poisson", with_state, kind="draw", price=draws(1200.0))
def POISSON(m: Any, state: Any, rates: Any, geometry: Geometry) -> Any:
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return counts.poisson(state, np.asarray(rates, order="C"))


_OF_RATES = draws_of("poisson_of", "rates", grad_name="PoissonBackward0")


@operator("binomial", with_state, kind="draw", price=draws(4000.0))
def BINOMIAL(m: Any, state: Any, trials: Any, probabilities: Any, geometry: Geometry) -> Any:
    return counts.binomial(state, np.asarray(trials, order="C"), np.asarray(probabilities, order="C"))


_BINOMIAL_OF = finding_without_derivative("binomial")


@operator("standard_gamma", with_state, kind="draw", price=draws(1500.0))
def STANDARD_GAMMA(m: Any, state: Any, shapes: Any, geometry: Geometry) -> Any:
    return gammas.standard_gamma(state, np.asarray(shapes, order="C"))


@operator("multinomial", with_state)
def MULTINOMIAL(m: Any, state: Any, weights: Any, count: int, replacement: bool, geometry: Geometry) -> Any:
    return draw_multinomial(state, np.asarray(weights, order="C"), count, replacement)


@operator("rrelu_slopes", with_state)
def RRELU_SLOPES(m: Any, state: Any, values: Any, lower: Any, upper: Any, geometry: Geometry) -> Any:
    return rrelu_slopes(state, np.asarray(values, order="C"), float(lower), float(upper))


def _require_real(d: dtypes.dtype, name: str, shown: Callable[[dtypes.dtype], str]) -> None:
    if d.category != dtypes.FLOATING:
        raise RuntimeError(f"{name} distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {shown(d)}")


@api("Tensor")
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with numbers of the exponential distribution with rate ``lambd``.

    >>> import flambeau as torch
    >>> bool((torch.empty(100).exponential_(lambd=2) > 0).all())
    True
    """
    _require_real(self.dtype, "Exponential", dtypes.SCALAR_NAMES.__getitem__)
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return fill_with(self, EXPONENTIAL, (float(lambd),), generator, "exponential_")


@api("Tensor")
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of trials up to the first success of probability p.

    >>> import flambeau as torch
    >>> torch.empty(3).geometric_(1 - 1e-9)
    tensor([1., 1., 1.])
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    if self.is_complex() or self.dtype is dtypes.bool_:
        raise not_implemented("geometric_cpu", self.dtype)
    return fill_with(self, GEOMETRIC, (float(p),), generator, "geometric_")


@api("Tensor")
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with numbers of the Cauchy distribution.

    >>> import flambeau as torch
    >>> torch.empty(3).cauchy_(median=1, sigma=1e-9)
    tensor([1., 1., 1.])
    """
    _require_real(self.dtype, "Cauchy", dtypes.c_name)
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return fill_with(self, CAUCHY, (float(median), float(sigma)), generator, "cauchy_")


@api("Tensor")
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill with exponentials of normal numbers.

    >>> import flambeau as torch
    >>> torch.empty(3).log_normal_(mean=0, std=1e-9)
    tensor([1., 1., 1.])
    """
    if self.is_complex():
        raise not_implemented("log_normal_cpu", self.dtype)
    require_floating(self.dtype, "log_normal_cpu")
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return fill_with(self, LOG_NORMAL, (float(mean), float(std)), generator, "log_normal_")


@api("torch")
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Counts of the Poisson distribution with the rates of a tensor.

    >>> import flambeau as torch
    >>> torch.poisson(torch.zeros(2))
    tensor([0., 0.])
    """
    require_floating(input.dtype, "poisson_cpu")
    may_fail(generator)
    geometry = contiguous(input.shape, input.dtype, input.device)
    draws = drawn(POISSON, generator, (input.detach(),), geometry)
    return record(_OF_RATES, (draws, input)) if input.requires_grad else draws


@api("torch")
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Numbers of successes in ``count`` trials of probability ``prob``.

    >>> import flambeau as torch
    >>> torch.binomial(torch.tensor([4.]), torch.tensor([1.]))
    tensor([4.])
    """
    count, prob = broadcast_tensors(count, prob)
    draws = drawn(BINOMIAL, generator, (count.detach().to(prob.dtype), prob.detach()),
                  contiguous(prob.shape, prob.dtype, prob.device))
    return found_in(draws, _BINOMIAL_OF, count, prob)


@api("torch", "Tensor", out=Out("multinomial expects Long tensor out, got: {Out}"), judge="first")
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Any = None) -> Tensor:
    """Categories drawn with the weights of (K) or (N, K): (num_samples) or (N, num_samples).

    >>> import flambeau as torch
    >>> torch.multinomial(torch.tensor([0., 1.]), 2, replacement=True)
    tensor([1, 1])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if input.dtype.category != dtypes.FLOATING:
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{dtypes.SCALAR_NAMES[input.dtype]}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    weights = look(input, "multinomial", only_checks=True)
    if weights.size:
        _require_weights(weights.astype(np.float32) if input.dtype in dtypes.LOW_PRECISION else weights)
    if num_samples == 1:
        return _race(input.detach(), generator)
    geometry = contiguous((*input.shape[:-1], int(num_samples)), dtypes.int64, input.device)
    return draw_from(MULTINOMIAL, generator, (input.detach(),), (weights,),
                     (int(num_samples), bool(replacement), geometry))


def _race(weights: Tensor, generator: Any) -> Tensor:
    """The category that comes first of each row, if each comes after an exponential time of its own rate.

    One draw of ``random_streams.multinomial``, in operators that have native forms.
    """
    clocks = drawn(EXPONENTIAL, generator, (1.0,), contiguous(weights.shape, weights.dtype, weights.device))
    return (weights / clocks).argmax(-1, keepdim=True)


def _require_weights(weights: np.ndarray[Any, Any]) -> None:
    """Raise unless all are finite, none is negative and no row has zeros alone."""
    greatest = weights.item(weights.argmax())   # arguments of extrema are found sooner; NaN counts as both
    if not (weights.item(weights.argmin()) >= 0 and greatest < math.inf):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not greatest or (weights.ndim > 1 and len(weights) > 1 and not weights.any(-1).all()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
