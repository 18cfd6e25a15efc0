"""Update rules of the optimizers: small functions on arrays, applied to lists of tensors as one operator.

A rule is ``rule(m, param, grad, *state, *numbers, **flags)``:

* `m` is the array namespace (NumPy's in the interpreter);
* `param`, `grad` and the state are arrays of one shape; a state that the configuration does not use is
  ``None``;
* the numbers (learning rate, decay rates, bias corrections, ...) are run-time values: a schedule that changes
  them gives the same graph;
* the flags are structure: they change which arithmetic is done.

It returns the new values of ``(param, *state)``, ``None`` for what is absent or not written. What depends
only on the numbers is computed by the caller in double precision, once for all parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Array = Any
Number = Any
Rule = Callable[..., tuple[Any, ...]]

__all__ = ["adadelta", "adagrad", "adam", "adamax", "asgd", "moving_average", "nadam", "radam", "rmsprop",
           "rprop", "sgd"]


def _oriented(param: Array, grad: Array, weight_decay: Number, maximize: bool, decay: bool) -> Array:
    """The gradient to descend along: sign turned to maximize, the L2 penalty's gradient added."""
    if maximize:
        grad = -grad
    if decay:
        grad = grad + param * weight_decay
    return grad


def sgd(
    m: Any,
    param: Array,
    grad: Array,
    momentum_buffer: Array | None,
    lr: Number,
    weight_decay: Number,
    momentum: Number,
    gain: Number,
    *,
    maximize: bool,
    decay: bool,
    nesterov: bool,
) -> tuple[Array, ...]:
    """buffer = momentum buffer + gain g;  param -= lr (buffer, or g + momentum buffer for Nesterov)."""
    grad = _oriented(param, grad, weight_decay, maximize, decay)
    if momentum_buffer is None:
        return param - grad * lr, None
    momentum_buffer = momentum_buffer * momentum + grad * gain
    direction = grad + momentum_buffer * momentum if nesterov else momentum_buffer
    return param - direction * lr, momentum_buffer


def adam(
    m: Any,
    param: Array,
    grad: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    max_exp_avg_sq: Array | None,
    step_size: Number,
    weight_decay: Number,
    shrink: Number,
    one_minus_beta1: Number,
    beta2: Number,
    one_minus_beta2: Number,
    root_correction2: Number,
    eps: Number,
    *,
    maximize: bool,
    decay: bool,
    decoupled: bool,
) -> tuple[Array, ...]:
    """param -= step_size exp_avg / (sqrt(exp_avg_sq) / root_correction2 + eps)."""
    grad = _oriented(param, grad, weight_decay, maximize, decay and not decoupled)
    if decay and decoupled:
        param = param * shrink
    exp_avg = exp_avg + (grad - exp_avg) * one_minus_beta1
    exp_avg_sq = exp_avg_sq * beta2 + grad * grad * one_minus_beta2
    second = exp_avg_sq
    if max_exp_avg_sq is not None:
        second = max_exp_avg_sq = m.maximum(max_exp_avg_sq, exp_avg_sq)
    denominator = m.sqrt(second) / root_correction2 + eps
    return param - exp_avg * step_size / denominator, exp_avg, exp_avg_sq, max_exp_avg_sq


def adamax(
    m: Any,
    param: Array,
    grad: Array,
    exp_avg: Array,
    exp_inf: Array,
    step_size: Number,
    weight_decay: Number,
    one_minus_beta1: Number,
    beta2: Number,
    eps: Number,
    *,
    maximize: bool,
    decay: bool,
) -> tuple[Array, ...]:
    """param -= step_size exp_avg / exp_inf, where exp_inf = max(beta2 exp_inf, abs(g) + eps)."""
    grad = _oriented(param, grad, weight_decay, maximize, decay)
    exp_avg = exp_avg + (grad - exp_avg) * one_minus_beta1
    exp_inf = m.maximum(exp_inf * beta2, m.abs(grad) + eps)
    return param - exp_avg * step_size / exp_inf, exp_avg, exp_inf


def nadam(
    m: Any,
    param: Array,
    grad: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    grad_size: Number,
    momentum_size: Number,
    weight_decay: Number,
    shrink: Number,
    one_minus_beta1: Number,
    beta2: Number,
    one_minus_beta2: Number,
    correction2: Number,
    eps: Number,
    *,
    maximize: bool,
    decay: bool,
    decoupled: bool,
) -> tuple[Array, ...]:
    """param -= (grad_size g + momentum_size exp_avg) / (sqrt(exp_avg_sq / correction2) + eps)."""
    grad = _oriented(param, grad, weight_decay, maximize, decay and not decoupled)
    if decay and decoupled:
        param = param * shrink
    exp_avg = exp_avg + (grad - exp_avg) * one_minus_beta1
    exp_avg_sq = exp_avg_sq * beta2 + grad * grad * one_minus_beta2
    denominator = m.sqrt(exp_avg_sq / correction2) + eps
    param = param - grad * grad_size / denominator
    return param - exp_avg * momentum_size / denominator, exp_avg, exp_avg_sq


def radam(
    m: Any,
    param: Array,
    grad: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    lr: Number,
    weight_decay: Number,
    shrink: Number,
    one_minus_beta1: Number,
    beta2: Number,
    one_minus_beta2: Number,
    correction1: Number,
    root_correction2: Number,
    rectification: Number,
    eps: Number,
    *,
    maximize: bool,
    decay: bool,
    decoupled: bool,
    rectify: bool,
) -> tuple[Array, ...]:
    """Adam with a rectified step; plain momentum while there are too few samples (`rectify` false)."""
    grad = _oriented(param, grad, weight_decay, maximize, decay and not decoupled)
    if decay and decoupled:
        param = param * shrink
    exp_avg = exp_avg + (grad - exp_avg) * one_minus_beta1
    exp_avg_sq = exp_avg_sq * beta2 + grad * grad * one_minus_beta2
    change = exp_avg / correction1 * lr
    if rectify:
        change = change * (root_correction2 / (m.sqrt(exp_avg_sq) + eps)) * rectification
    return param - change, exp_avg, exp_avg_sq


def rmsprop(
    m: Any,
    param: Array,
    grad: Array,
    square_avg: Array,
    momentum_buffer: Array | None,
    grad_avg: Array | None,
    lr: Number,
    weight_decay: Number,
    momentum: Number,
    alpha: Number,
    one_minus_alpha: Number,
    eps: Number,
    *,
    maximize: bool,
    decay: bool,
) -> tuple[Array, ...]:
    """param -= lr g / (sqrt(square_avg [- grad_avg^2]) + eps), through momentum where there is one."""
    grad = _oriented(param, grad, weight_decay, maximize, decay)
    square_avg = square_avg * alpha + grad * grad * one_minus_alpha
    second = square_avg
    if grad_avg is not None:
        grad_avg = grad_avg + (grad - grad_avg) * one_minus_alpha
        second = square_avg - grad_avg * grad_avg
    root = m.sqrt(second) + eps
    if momentum_buffer is None:
        return param - grad * lr / root, square_avg, None, grad_avg
    momentum_buffer = momentum_buffer * momentum + grad / root
    return param - momentum_buffer * lr, square_avg, momentum_buffer, grad_avg


def adagrad(
    m: Any,
    param: Array,
    grad: Array,
    sum: Array,
    step_size: Number,
    weight_decay: Number,
    eps: Number,
    *,
    maximize: bool,
    decay: bool,
) -> tuple[Array, ...]:
    """sum += g^2;  param -= step_size g / (sqrt(sum) + eps)."""
    grad = _oriented(param, grad, weight_decay, maximize, decay)
    sum = sum + grad * grad
    return param - grad * step_size / (m.sqrt(sum) + eps), sum


def adadelta(
    m: Any,
    param: Array,
    grad: Array,
    square_avg: Array,
    acc_delta: Array,
    lr: Number,
    weight_decay: Number,
    rho: Number,
    one_minus_rho: Number,
    eps: Number,
    *,
    maximize: bool,
    decay: bool,
) -> tuple[Array, ...]:
    """delta = g sqrt(acc_delta + eps) / sqrt(square_avg + eps);  param -= lr delta."""
    grad = _oriented(param, grad, weight_decay, maximize, decay)
    square_avg = square_avg * rho + grad * grad * one_minus_rho
    delta = m.sqrt(acc_delta + eps) / m.sqrt(square_avg + eps) * grad
    acc_delta = acc_delta * rho + delta * delta * one_minus_rho
    return param - delta * lr, square_avg, acc_delta


def rprop(
    m: Any,
    param: Array,
    grad: Array,
    prev: Array,
    step_size: Array,
    eta_minus: Number,
    eta_plus: Number,
    smallest: Number,
    largest: Number,
    *,
    maximize: bool,
) -> tuple[Array, ...]:
    """Only the sign of the gradient counts: the step grows while it stays, shrinks where it turned."""
    if maximize:
        grad = -grad
    agreement = grad * prev
    grown = m.where(agreement > 0, step_size * eta_plus, step_size)
    step_size = m.where(agreement < 0, step_size * eta_minus, grown)
    step_size = m.minimum(m.maximum(step_size, smallest), largest)
    grad = m.where(agreement < 0, grad * 0, grad)
    return param - m.sign(grad) * step_size, grad, step_size


def asgd(
    m: Any,
    param: Array,
    grad: Array,
    ax: Array,
    eta: Number,
    weight_decay: Number,
    shrink: Number,
    mu: Number,
    *,
    maximize: bool,
    decay: bool,
    averaging: bool,
) -> tuple[Array, ...]:
    """param = shrink param - eta g;  `ax` is the running average of param once averaging has begun."""
    grad = _oriented(param, grad, weight_decay, maximize, decay)
    param = param * shrink - grad * eta
    return param, ax + (param - ax) * mu if averaging else param


def moving_average(m: Any, param: Array, grad: Array, weight: Number) -> tuple[Array, ...]:
    """param += weight (grad - param): what ``lerp`` computes for weights below 1/2, `grad` being the end."""
    return (param + (grad - param) * weight,)
