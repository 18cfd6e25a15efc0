"""How an update rule reaches its tensors: the one place where optimizers write parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import operators as ops
from ..autograd.grad_mode import is_grad_enabled
from ..dtypes import LOW_PRECISION
from ..operators.optimization.multi_tensor import UnsuitableTensor, multi_tensor
from ..tensor import Tensor

Column = Sequence[Tensor] | None
Rule = Callable[..., tuple[Any, ...]]


class _TensorNamespace:
    """What a rule calls on `m`, on tensors: recorded operator by operator, with derivatives."""

    sqrt: Any = staticmethod(ops.sqrt)
    abs: Any = staticmethod(ops.abs)
    sign: Any = staticmethod(ops.sign)
    where: Any = staticmethod(ops.where)

    @staticmethod
    def maximum(a: Any, b: Any) -> Tensor:
        return ops.maximum(a, b) if isinstance(b, Tensor) else a.clamp(min=b)

    @staticmethod
    def minimum(a: Any, b: Any) -> Tensor:
        return ops.minimum(a, b) if isinstance(b, Tensor) else a.clamp(max=b)


_tensors = _TensorNamespace()


def apply_rule(
    rule: Rule,
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    states: Sequence[Column],
    numbers: Sequence[Any],
    flags: dict[str, bool],
    joined: Sequence[Column] | None = None,
) -> None:
    """Write ``rule``'s results into the parameters and the states, in place.

    `states` holds one list per state of the rule, each as long as `params`, or ``None`` for a state that is
    not in use; `joined` the same states as one tensor each (Note: joined states). One operator does it all,
    unless the step is to be differentiated or the tensors are unsuitable.
    """
    if not is_grad_enabled():
        try:
            if joined is not None:
                return multi_tensor(rule, params, grads, joined, numbers, flags, True)
            return multi_tensor(rule, params, grads, states, numbers, flags)
        except UnsuitableTensor:
            pass
    for index, (param, grad) in enumerate(zip(params, grads, strict=True)):
        state = [None if column is None else column[index] for column in states]
        operands: list[Any] = [param, grad, *state]
        if param.dtype in LOW_PRECISION and not is_grad_enabled():
            # Rounded once, when it is written, and not after each of the rule's operations.
            operands = [None if x is None else x.float() for x in operands]
        new = rule(_tensors, *operands, *numbers, **flags)
        for target, value in zip((param, *state), new, strict=True):
            if target is not None:
                target.copy_(value)
