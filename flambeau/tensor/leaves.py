"""Leaves: their hooks, and the end of an edge that leads to one."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .handle import RemovableHandle, hooked

SAME_AS_LEAF: Any = object()    # the dtype of gradients where none was asked for


class LeafHooks:
    """Hooks of a leaf: on its gradient, and after the gradient was accumulated; the gradient's dtype."""

    __slots__ = ("before", "after", "dtype")

    def __init__(self) -> None:
        self.dtype: Any = SAME_AS_LEAF
        self.before: OrderedDict[int, Any] = OrderedDict()
        self.after: OrderedDict[int, Any] = OrderedDict()

    def run(self, grad: Any) -> Any:
        """The gradient after all hooks."""
        if self.dtype is not SAME_AS_LEAF and self.dtype is not None:
            grad = grad.to(self.dtype)
        for hook in list(self.before.values()):
            changed = hook(grad)
            if changed is not None:
                grad = changed
        return grad

    def after_accumulation(self, leaf: Any) -> None:
        """Tell the hooks that ``leaf.grad`` is there."""
        for hook in list(self.after.values()):
            if hook(leaf) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def leaf_hooks_of(leaf: Any) -> LeafHooks:
    """The hooks of a leaf, made on first use."""
    if leaf._hooks is None:
        leaf._hooks = LeafHooks()
    found: LeafHooks = leaf._hooks
    return found


class AccumulateGrad:
    """The end of an edge: adds the gradient to a leaf's ``.grad``."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.metadata: dict[str, Any] = {}

    next_functions: tuple[Any, ...] = ()

    def name(self) -> str:
        """The node's name."""
        return "torch::autograd::AccumulateGrad"

    def register_hook(self, fn: Any) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the gradient was accumulated."""
        def call(leaf: Any) -> None:
            fn((), (leaf.grad,))
        return hooked(leaf_hooks_of(self.variable).after, call)

    def register_prehook(self, fn: Any) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the gradient is accumulated."""
        def call(grad: Any) -> Any:
            changed = fn((grad,))
            return None if changed is None else changed[0]
        return hooked(leaf_hooks_of(self.variable).before, call)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"
