"""Hooks on tensors: ``register_hook``, ``retain_grad``, ``register_post_accumulate_grad_hook``."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from ..tensor.handle import RemovableHandle, hooked
from ..tensor.leaves import leaf_hooks_of
from ..tensor.tape import hooks_of
from .running_hooks import require_same_kind

Hook = Callable[[Tensor], Any]


def register_hook(self: Tensor, hook: Hook) -> RemovableHandle:
    """Call ``hook(grad)`` when the gradient of this tensor is there; what it returns replaces the gradient.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> x.sum().backward(); x.grad
    tensor([10., 10.])
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    fn = self.grad_fn
    checked = _same_kind(hook)
    if fn is None:
        return hooked(leaf_hooks_of(self).before, checked)
    table = hooks_of(fn).tensor.setdefault(self._output_nr, OrderedDict())
    return hooked(table, checked)


def _same_kind(hook: Hook) -> Hook:
    def checked(grad: Tensor) -> Any:
        changed = hook(grad)
        if changed is None:
            return None
        require_same_kind(hook, grad, changed)
        return changed
    checked.__wrapped__ = hook  # type: ignore[attr-defined]
    return checked


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call ``hook(leaf)`` after a backward pass has added to the ``.grad`` of this leaf.

    >>> import flambeau as torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> handle = w.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
    >>> (3 * w).sum().backward()
    tensor([3.])
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return hooked(leaf_hooks_of(self).after, hook)


def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf tensor in its ``.grad``.

    >>> import flambeau as torch
    >>> y = torch.ones(2, requires_grad=True) * 2
    >>> y.retain_grad()
    >>> (y * y).sum().backward()
    >>> y.grad
    tensor([4., 4.])
    """
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._base is not None and self._view is None and self._grad_fn is None:
        return      # a view that was made unrecorded
    fn = self.grad_fn
    if fn is None or self._retains_grad:
        return
    hooks_of(fn).retained[self._output_nr] = weakref.ref(self)
    self._retains_grad = True


def backward_hooks(self: Tensor) -> OrderedDict[int, Any] | None:
    """The hooks on this tensor's gradient, None where none was ever registered."""
    fn = self.grad_fn
    table: OrderedDict[int, Any] | None
    if fn is None:
        table = None if self._hooks is None else self._hooks.before
    else:
        table = None if fn.hooks is None else fn.hooks.tensor.get(self._output_nr)
    if table is None:
        return None
    return OrderedDict((key, getattr(hook, "__wrapped__", hook)) for key, hook in table.items()) or None


T: Any = Tensor
T._backward_hooks = property(backward_hooks)
T.register_hook = register_hook
T.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
T.retain_grad = retain_grad
