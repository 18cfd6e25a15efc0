"""Hooks run by a backward pass, and what they may return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor import Tensor
from ..tensor.tape import GradFn


def run_tensor_hooks(fn: GradFn, grads: list[Any]) -> list[Any]:
    """The gradients of a node's outputs after the hooks on these tensors; keeps those that are retained."""
    hooks = fn.hooks
    grads = list(grads)
    for number, table in hooks.tensor.items():
        for hook in list(table.values()):
            if grads[number] is not None:
                changed = hook(grads[number])
                if changed is not None:
                    grads[number] = changed
    for number, reference in hooks.retained.items():
        tensor = reference()
        if tensor is not None and grads[number] is not None:
            tensor._grad = grads[number].clone() if tensor._grad is None else tensor._grad + grads[number]
    return grads


def run_pre_hooks(fn: GradFn, grads: list[Any]) -> list[Any]:
    """The gradients of a node's outputs after ``register_prehook``'s functions."""
    for hook in list(fn.hooks.pre.values()):
        changed = hook(tuple(grads))
        if changed is not None:
            grads = list(_replacing(hook, grads, changed))
    return grads


def run_post_hooks(fn: GradFn, results: Sequence[Any], grads: list[Any]) -> Sequence[Any]:
    """The gradients of a node's operands after ``register_hook``'s functions, which see ``fn.shown``."""
    shown = fn.shown
    for hook in list(fn.hooks.post.values()):
        seen = [results[i] for i in shown]
        changed = hook(tuple(seen), tuple(grads))
        if changed is not None:
            results = [*results]
            for i, grad in zip(shown, _replacing(hook, seen, changed)):
                results[i] = grad
    return results


def _replacing(hook: Callable[..., Any], grads: Sequence[Any], changed: Any) -> tuple[Any, ...]:
    """What a hook gives instead of ``grads``.

    Raises TypeError unless it is a tuple of tensors and None, RuntimeError where their number or kinds
    differ.
    """
    if not isinstance(changed, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(changed).__name__}'")
    if len(changed) != len(grads):
        raise RuntimeError(f"hook '{_name(hook)}' has returned an incorrect number of values (got "
                           f"{len(changed)}, but expected {len(grads)})")
    for was, now in zip(grads, changed):
        if now is not None:
            require_same_kind(hook, was, now)
    return changed


def require_same_kind(hook: Callable[..., Any], was: Any, now: Any) -> None:
    """Refuse what a hook returned for the gradient ``was``: another type of thing, size or element type."""
    if was is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(now, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(now).__name__}'")
    if now.shape != was.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
    if now.dtype is not was.dtype:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {was.type()} "
                           f"got {now.type()})")


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", "<unknown>")
