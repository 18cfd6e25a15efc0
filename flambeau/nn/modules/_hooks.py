"""Forward and backward hooks: the tables, for one module and for all, and the call that serves them."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ...tensor.handle import RemovableHandle
from ._backward_hooks import BackwardHook, warn_if_not_single_node
from ._loading import ModuleLoading, WrappedHook

Hook = Callable[..., Any]
HookTable = OrderedDict[int, Hook]

# Process-wide state: hooks on every module, changed only by the register_module_* functions below.
_global_backward_pre_hooks: HookTable = OrderedDict()
_global_backward_hooks: HookTable = OrderedDict()
_global_forward_pre_hooks: HookTable = OrderedDict()
_global_forward_hooks: HookTable = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_full_backward: OrderedDict[str, bool] = OrderedDict()
# Holds the id of every global hook, whatever its kind, so that a call has one table to ask.
active_global_hooks: OrderedDict[int, bool] = OrderedDict()


def _add(
    table: HookTable, hook: Hook, flags: dict[str, Any] | None = None, *, prepend: bool = False
) -> RemovableHandle:
    """Put a hook in its table, and its id in every table of `flags` whose flag is set."""
    flag_tables = [flag_table for flag_table, wanted in (flags or {}).values() if wanted]
    handle = RemovableHandle(table, extra_dict=flag_tables)
    table[handle.id] = hook
    for flag_table in flag_tables:
        flag_table[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module.

    >>> import flambeau as torch
    >>> hook = torch.nn.modules.module.register_module_forward_pre_hook(
    ...     lambda module, args: print(type(module).__name__))
    >>> _ = torch.nn.ReLU()(torch.ones(1))
    ReLU
    >>> hook.remove()
    """
    return _add(_global_forward_pre_hooks, hook, {"active": (active_global_hooks, True)})


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module.

    >>> import flambeau as torch
    >>> hook = torch.nn.modules.module.register_module_forward_hook(
    ...     lambda module, args, output: print(tuple(output.shape)))
    >>> _ = torch.nn.Linear(2, 3)(torch.ones(4, 2))
    (4, 3)
    >>> hook.remove()
    """
    flags = {
        "active": (active_global_hooks, True),
        "with_kwargs": (_global_forward_hooks_with_kwargs, with_kwargs),
        "always_call": (_global_forward_hooks_always_called, always_call),
    }
    return _add(_global_forward_hooks, hook, flags)


def _check_global_kind(full: bool) -> None:
    if _global_backward_hooks and _global_full_backward.get("full", full) is not full:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please "
            "use only one of them."
        )
    _global_full_backward["full"] = full


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` in every module's backward; the full hook is
    preferable."""
    _check_global_kind(full=False)
    return _add(_global_backward_hooks, hook, {"active": (active_global_hooks, True)})


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module.

    >>> import flambeau as torch
    >>> from flambeau.nn.modules.module import register_module_full_backward_pre_hook
    >>> handle = register_module_full_backward_pre_hook(lambda module, grad_output: print(grad_output))
    >>> torch.nn.Linear(1, 1)(torch.ones(1, 1, requires_grad=True)).sum().backward()
    (tensor([[1.]]),)
    >>> handle.remove()
    """
    return _add(_global_backward_pre_hooks, hook, {"active": (active_global_hooks, True)})


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module.

    >>> import flambeau as torch
    >>> from flambeau.nn.modules.module import register_module_full_backward_hook
    >>> handle = register_module_full_backward_hook(lambda module, inputs, outputs: print(outputs))
    >>> torch.nn.Linear(1, 1)(torch.ones(1, 1, requires_grad=True)).sum().backward()
    (tensor([[1.]]),)
    >>> handle.remove()
    """
    _check_global_kind(full=True)
    return _add(_global_backward_hooks, hook, {"active": (active_global_hooks, True)})


class ModuleHooks(ModuleLoading):
    """The part of `Module` that registers hooks and calls a forward that has some."""

    # Holds the id of every hook in the next four tables, so that a call has one table to ask.
    _active_hooks: OrderedDict[int, bool]
    _backward_pre_hooks: HookTable
    _backward_hooks: HookTable
    _is_full_backward_hook: bool | None
    _forward_hooks: HookTable
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: HookTable
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    forward: Callable[..., Any]

    # -- registration
    # --------------------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each forward; what it returns replaces the arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)` and returns both.

        >>> import flambeau as torch
        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> layer(torch.tensor(1))
        tensor(2)
        >>> handle.remove()
        """
        flags = {
            "active": (self._active_hooks, True),
            "with_kwargs": (self._forward_pre_hooks_with_kwargs, with_kwargs),
        }
        return _add(self._forward_pre_hooks, hook, flags, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after each forward; what it returns replaces the output.

        With `always_call` it runs even when the forward raised.

        >>> import flambeau as torch
        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output * 2)
        >>> layer(torch.tensor(1))
        tensor(2)
        """
        flags = {
            "active": (self._active_hooks, True),
            "with_kwargs": (self._forward_hooks_with_kwargs, with_kwargs),
            "always_call": (self._forward_hooks_always_called, always_call),
        }
        return _add(self._forward_hooks, hook, flags, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the gradients of this module are computed.

        What it returns replaces the gradients of the outputs.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(1, 1, bias=False)
        >>> handle = layer.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 10,))
        >>> layer(torch.ones(1, 1, requires_grad=True)).sum().backward()
        >>> layer.weight.grad.item()
        10.0
        """
        return _add(self._backward_pre_hooks, hook, {"active": (self._active_hooks, True)}, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_full_backward_hook(lambda module, grad_in, grad_out: print(grad_out))
        >>> layer(torch.ones(1, 1, requires_grad=True)).sum().backward()
        (tensor([[1.]]),)
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please "
                "use only one of them."
            )
        self._is_full_backward_hook = True
        return _add(self._backward_hooks, hook, {"active": (self._active_hooks, True)}, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Call the hook at the last operation of the forward; `register_full_backward_hook` supersedes it.

        >>> import flambeau as torch
        >>> layer = torch.nn.Tanh()
        >>> handle = layer.register_backward_hook(lambda module, inputs, outputs: print(outputs[0].tolist()))
        >>> layer(torch.zeros(2, requires_grad=True)).sum().backward()
        [1.0, 1.0]
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please "
                "use only one of them."
            )
        self._is_full_backward_hook = False
        return _add(self._backward_hooks, hook, {"active": (self._active_hooks, True)})

    # -- calling
    # -------------------------------------------------------------------------------------------------

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """Return the full and the older backward hooks that concern this module."""
        every = list(_global_backward_hooks.values())
        full, regular = (every, []) if _global_full_backward.get("full") else ([], every)
        (full if self._is_full_backward_hook else regular).extend(self._backward_hooks.values())
        return full, regular

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[int] = set()
        try:
            return self._call_between_hooks(args, kwargs, called)
        except Exception:
            self._run_always_called_hooks(args, kwargs, called)
            raise

    def _call_between_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> Any:
        full, regular = self._get_backward_hooks()
        pre = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        args, kwargs = self._run_forward_pre_hooks(args, kwargs)
        boundary = BackwardHook(self, full, pre) if full or pre else None
        if boundary is not None:
            args = boundary.setup_input_hook(args)
        result = self.forward(*args, **kwargs)
        for hook_id, hook in (*_global_forward_hooks.items(), *self._forward_hooks.items()):
            called.add(hook_id)
            replacement = self._run_forward_hook(hook_id, hook, args, kwargs, result)
            result = result if replacement is None else replacement
        if boundary is not None:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of "
                    f"Tensors but received {type(result)}",
                    stacklevel=4,
                )
            result = boundary.setup_output_hook(result)
        if regular:
            self._attach_regular_hooks(regular, args, result)
        return result

    def _run_forward_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for hook_id, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if hook_id in self._forward_pre_hooks_with_kwargs:
                both = hook(self, args, kwargs)
                if both is None:
                    continue
                if not isinstance(both, tuple) or len(both) != 2:
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{both}."
                    )
                args, kwargs = both
            else:
                replacement = hook(self, args)
                if replacement is not None:
                    args = replacement if isinstance(replacement, tuple) else (replacement,)
        return args, kwargs

    def _run_forward_hook(
        self, hook_id: int, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        if hook_id in self._forward_hooks_with_kwargs or hook_id in _global_forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_always_called_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]
    ) -> None:
        """After a failure, run the hooks that asked for it and have not run; their own failures only warn."""
        flagged = {**_global_forward_hooks_always_called, **self._forward_hooks_always_called}
        for hook_id, hook in (*_global_forward_hooks.items(), *self._forward_hooks.items()):
            if hook_id not in flagged or hook_id in called:
                continue
            where = "global module" if hook_id in _global_forward_hooks else "module"
            try:
                self._run_forward_hook(hook_id, hook, args, kwargs, None)
            except Exception as error:
                warnings.warn(
                    f"{where} forward hook with ``always_call=True`` raised an exception that was silenced "
                    f"as another error was raised in forward: {error}",
                    stacklevel=4,
                )

    def _attach_regular_hooks(self, hooks: list[Hook], args: tuple[Any, ...], result: Any) -> None:
        tensor = result
        while not isinstance(tensor, Tensor):
            if isinstance(tensor, dict):
                tensor = next(value for value in tensor.values() if isinstance(value, Tensor))
            else:
                tensor = tensor[0]
        if tensor.grad_fn is not None:
            for hook in hooks:
                tensor.grad_fn.register_hook(WrappedHook(hook, self))
            warn_if_not_single_node(args, result, tensor.grad_fn)
