"""Exchanging two tensors in place."""

from __future__ import annotations

import weakref

from .attributes import become, contents
from .tape import next_sequence
from .tensor import Tensor

# Filled by the first exchange: before it nobody needs to ask whether a tensor was exchanged.
swapped: list[int] = []


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Make each of two tensors be what the other was: values, class, history, hooks and attributes.

    Whoever holds one of them keeps the same object, so that a module or an optimizer that was given a
    parameter sees the new values, of whatever shape or dtype. What was computed from them before cannot be
    differentiated any more.

    >>> import flambeau as torch
    >>> a, b = torch.zeros(2), torch.ones(3)
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    if not (isinstance(t1, Tensor) and isinstance(t2, Tensor)):
        wrong = t2 if isinstance(t1, Tensor) else t1
        raise TypeError(f"swap_tensors exchanges two tensors, but got a value of type {type(wrong).__name__}")
    for name, tensor in (("t1", t1), ("t2", t2)):
        # A weak reference would afterwards stand for another tensor than the one that it was made of.
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if _slots(t1) != _slots(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    first, second = contents(t1), contents(t2)
    at = next_sequence()
    swapped[:] = [at]
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    for tensor, found in ((t1, second), (t2, first)):
        become(tensor, *found)
        tensor._swapped = at
        if tensor._accumulate is not None:
            tensor._accumulate.variable = tensor


def _slots(tensor: Tensor) -> set[str]:
    found = {name for kind in type(tensor).__mro__ for name in getattr(kind, "__slots__", ())}
    return found - set(vars(Tensor))
