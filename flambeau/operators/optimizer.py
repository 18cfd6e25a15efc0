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

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

from ..dtypes import float32, float64
from ..graph.geometry import Geometry, contiguous
from ..graph.operator import Operator
from ..tensor import Tensor
from ..tensor.inplace_many import record_in_place

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


# --- lists of tensors ---------------------------------------------------------------------------------------


def apply_rule(
    m: Any,
    rule: Rule,
    param: Array,
    grad: Array,
    state: Sequence[Array],
    present: tuple[bool, ...],
    numbers: Sequence[Number],
    flags: tuple[tuple[str, bool], ...],
) -> list[Array]:
    """New values of one parameter and of those of its states that are in use (`present`)."""
    states = iter(state)
    arguments = [next(states) if there else None for there in present]
    new = rule(m, param, grad, *arguments, *numbers, **dict(flags))
    return [value for value, there in zip(new, (True, *present)) if there]


def _outputs(geometries: Sequence[Any], attributes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The geometries of parameters and states. Checked here: a signature is checked once."""
    _, count, present, _, joined = attributes
    owned = count + sum(present) * (1 if joined else count)
    params, targets, grads = geometries[:count], geometries[:owned], geometries[owned : owned + count]
    states = [] if joined else targets[count:]
    for g, param in zip((*params, *states, *grads), cycle(params)):
        if g.shape != param.shape or g.dtype is not param.dtype:
            raise UnsuitableTensor
    if not all(map(suits, targets)) or (joined and any(g.dtype is not params[0].dtype for g in params)):
        raise UnsuitableTensor
    return tuple(contiguous(g.shape, g.dtype, g.device) for g in targets)


# Operands: parameters, states one after the other, gradients, numbers. A state is a tensor for each
# parameter, or (``joined``) one tensor with the elements of all of them in the parameters' order. The kernel
# is that of one parameter (or of a part of one, rules being elementwise): executors apply it to each.
MULTI_TENSOR = Operator("multi_tensor", apply_rule, _outputs, (), kind="multi_tensor")


class UnsuitableTensor(Exception):
    """A tensor for which :data:`MULTI_TENSOR` is not made; its rule is applied operator by operator."""


def suits(geometry: Geometry) -> bool:
    """Rules compute in 32 and 64 bits; in 16 bits each operation has to be rounded, as PyTorch does."""
    return geometry.is_contiguous and geometry.dtype in (float32, float64)


def multi_tensor(
    rule: Rule,
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    states: Sequence[Sequence[Tensor] | None],
    numbers: Sequence[float],
    flags: dict[str, bool],
    joined: bool = False,
) -> None:
    """Write ``rule``'s results into parameters and states, all of them by one operator.

    `states` has a tensor for each parameter, or (``joined``) one that holds the elements of all. Executors
    overwrite values in place where nobody else sees them: a step needs no memory of its own.
    """
    if _overlap(params):
        raise UnsuitableTensor
    targets = [*params, *[x for column in states if column is not None for x in column]]
    present = tuple([column is not None for column in states])
    attributes = (rule, len(params), present, tuple(flags.items()), joined)
    record_in_place(MULTI_TENSOR, attributes, targets, grads, list(map(float, numbers)))


def _overlap(params: Sequence[Tensor]) -> bool:
    """Whether parameters share elements (after ``a.data = b.data``): they are stepped one after the other."""
    storages = [p._storage for p in params]
    if len(set(storages)) == len(storages):
        return False
    ends: dict[Any, int] = {}
    for p in sorted(params, key=lambda p: p._geometry.offset):
        g = p._geometry
        if g.offset < ends.get(p._storage, 0):
            return True
        ends[p._storage] = g.offset + g.numel       # contiguous, or else it does not suit
    return False


def gradients(params: Sequence[Tensor]) -> list[Any]:
    """The parameters' gradients, ``None`` where there is none."""
    return [p._grad for p in params]


def forget_gradients(params: Sequence[Tensor]) -> None:
    """Leave the parameters without gradients."""
    for p in params:
        p._grad = None
