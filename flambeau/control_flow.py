"""``torch.cond`` and ``torch.while_loop``: control flow that depends on values, as functions.

Both look at their condition and run the branch in Python: what a trace would keep as one operator is recorded
as the operators of the branch that was taken, with their gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .tensor import Tensor
from .utils._pytree import tree_leaves


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """``true_fn(*operands)`` if ``pred`` is true, else ``false_fn(*operands)``; this looks at ``pred``.

    >>> import flambeau as torch
    >>> torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.zeros(1),))
    tensor([0.])
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    leaves = tree_leaves(operands)
    if not isinstance(operands, (tuple, list)) or any(not isinstance(x, (Tensor, int)) for x in leaves):
        raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only "
                           f"consists of tensor leaves, but got {operands}.")
    return (true_fn if bool(pred) else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Repeat ``body_fn`` on what it returns while ``cond_fn`` of it is true; this looks at each condition.

    >>> import flambeau as torch
    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, 2 * x), (torch.tensor(0), torch.ones(1)))
    (tensor(3), tensor([8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError("Expect carried_inputs to be a tuple or list of inputs, but got "
                           f"{type(carried_inputs)}.")
    carried = tuple(carried_inputs)
    while _holds(cond_fn(*carried)):
        found = body_fn(*carried)
        new = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if len(new) != len(carried):
            raise RuntimeError(f"body_fn should return as many values as it is given, {len(carried)}, but "
                               f"returned {len(new)}.")
        carried = new
    return carried[0] if len(carried) == 1 else carried


def _holds(condition: Any) -> bool:
    if isinstance(condition, Tensor) and condition.numel() != 1:
        raise RuntimeError("Expected cond_fn to return a scalar tensor or a bool but got "
                           f"{condition.shape}.")
    return bool(condition)
