"""Helpers of PyTorch's optimizers, which optimizers written after them import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..autograd import set_grad_enabled
from ..operators.pointwise.complex_numbers import as_reals
from ..tensor import Tensor

Method = Callable[..., Any]


def _use_grad_for_differentiable(func: Method) -> Method:
    """A ``step`` that records gradients if the optimizer is ``differentiable``, and none otherwise."""
    @wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults["differentiable"])):
            return func(self, *args, **kwargs)
    return step


def _disable_dynamo_if_unsupported(single_tensor_fn: Method | None = None) -> Callable[[Method], Method]:
    """A decorator that changes nothing: no step is traced."""
    return lambda func: func


def _default_to_fused_or_foreach(params: Sequence[Tensor], differentiable: bool,
                                 use_fused: bool = False) -> tuple[bool, bool]:
    """Whether steps are fused, and whether they go by lists, where nobody says: on CPUs only if asked for."""
    return use_fused and not differentiable, False


def _get_value(x: Any) -> Any:
    """A tensor's number; numbers as they are."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """As it is: nothing is traced."""
    return x


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Put pairs of real numbers in place of complex tensors, in all lists."""
    for i, p in enumerate(params):
        if p.is_complex():
            for column in (params, *state_and_grads):
                column[i] = as_reals(column[i])
