"""Hooks around ``Optimizer.step``: those of one optimizer, and those of all optimizers."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..engine import look_at_step_end
from ..tensor.handle import RemovableHandle

if TYPE_CHECKING:
    from .optimizer import Optimizer

Hook = Callable[..., Any]

_global_pre_hooks: dict[int, Hook] = OrderedDict()
_global_post_hooks: dict[int, Hook] = OrderedDict()


def add_hook(hooks: dict[int, Hook], hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Register a hook, first or last of its kind; the handle takes it away again."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend and isinstance(hooks, OrderedDict):
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer.

    A pair ``(args, kwargs)`` that it returns replaces the arguments of the step.

    >>> import flambeau as torch
    >>> from flambeau.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("steps now"))
    >>> w = torch.ones(1, requires_grad=True)
    >>> w.grad = torch.ones(1)
    >>> torch.optim.SGD([w], lr=0.1).step()
    steps now
    >>> handle.remove()
    """
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer.

    >>> import flambeau as torch
    >>> from flambeau.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("stepped"))
    >>> w = torch.ones(1, requires_grad=True)
    >>> w.grad = torch.ones(1)
    >>> torch.optim.SGD([w], lr=0.1).step()
    stepped
    >>> handle.remove()
    """
    return add_hook(_global_post_hooks, hook)


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the ``step`` of an optimizer class: hooks before and after, then compute what is pending."""

    @functools.wraps(step)
    def hooked_step(*args: Any, **kwargs: Any) -> Any:
        self: Optimizer = args[0]
        if _global_pre_hooks or self._optimizer_step_pre_hooks:
            for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                result = hook(self, args, kwargs)
                if result is None:
                    continue
                if not (isinstance(result, tuple) and len(result) == 2):
                    named = f"<function {type(self).__name__}.step at {id(step):#x}>"
                    raise RuntimeError(
                        f"{named} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                    )
                args, kwargs = result
        outcome = step(*args, **kwargs)
        if _global_post_hooks or self._optimizer_step_post_hooks:
            for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
                hook(self, args, kwargs)
        look_at_step_end()
        return outcome

    hooked_step.hooked = True  # type: ignore[attr-defined]
    return hooked_step
