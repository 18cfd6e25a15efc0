"""Hooks that see every parameter, buffer or submodule as it is registered with any module."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...tensor.handle import RemovableHandle, hooked

RegistrationHook = Callable[[Any, str, Any], Any]

# Process-wide state, changed only by the functions below.
parameter_registration_hooks: OrderedDict[int, RegistrationHook] = OrderedDict()
buffer_registration_hooks: OrderedDict[int, RegistrationHook] = OrderedDict()
module_registration_hooks: OrderedDict[int, RegistrationHook] = OrderedDict()


def run_registration_hooks(
    hooks: OrderedDict[int, RegistrationHook], owner: Any, name: str, value: Any
) -> Any:
    """Show `value` to each hook; what a hook returns, if anything, takes its place."""
    for hook in hooks.values():
        replacement = hook(owner, name, value)
        if replacement is not None:
            value = replacement
    return value


def register_module_parameter_registration_hook(hook: RegistrationHook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` at each `register_parameter` of any module.

    >>> import flambeau as torch
    >>> from flambeau.nn.modules.module import register_module_parameter_registration_hook
    >>> handle = register_module_parameter_registration_hook(lambda module, name, parameter: print(name))
    >>> layer = torch.nn.Linear(1, 1)
    weight
    bias
    >>> handle.remove()
    """
    return hooked(parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: RegistrationHook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` at each `register_buffer` of any module.

    >>> import flambeau as torch
    >>> from flambeau.nn.modules.module import register_module_buffer_registration_hook
    >>> handle = register_module_buffer_registration_hook(lambda module, name, buffer: print(name))
    >>> layer = torch.nn.BatchNorm1d(2)
    running_mean
    running_var
    num_batches_tracked
    >>> handle.remove()
    """
    return hooked(buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: RegistrationHook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` at each `add_module` of any module.

    >>> import flambeau as torch
    >>> from flambeau.nn.modules.module import register_module_module_registration_hook
    >>> handle = register_module_module_registration_hook(lambda module, name, child: print(name, child))
    >>> model = torch.nn.Sequential(torch.nn.ReLU())
    0 ReLU()
    >>> handle.remove()
    """
    return hooked(module_registration_hooks, hook)
