"""The operator that applies an optimizer's rule (``optimizer.py``) to lists of tensors at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from ...dtypes import float32, float64
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...tensor import Tensor
from ...tensor.aliasing.inplace_many import record_in_place
from .optimizer import Array, Number, Rule


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
