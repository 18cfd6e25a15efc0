"""Tensors and submodules of a module put in each other's place by name, without the checks of assignments."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..modules.module import Module

_NOTHING = object()


def set_tensor(module: Module, name: str, tensor: Any) -> None:
    """Put a tensor in the place of a parameter or a buffer, or into an attribute, whatever that was."""
    _require_name(module, name)
    _require_tensor("", tensor)
    table = _table(module, name)
    if table is not None:
        table[name] = tensor
    else:
        setattr(module, name, tensor)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of a parameter, a buffer or an attribute; returns what was there.

    What was missing comes back as an object that takes the tensor away again.
    """
    _require_name(module, name)
    _require_tensor("", tensor)
    table = _table(module, name)
    if table is not None:
        before = table[name]
        if tensor is _NOTHING:
            del table[name]
        else:
            table[name] = tensor
        return before
    before = getattr(module, name, _NOTHING)
    if before is _NOTHING and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    _require_tensor(f"attribute `{name}`: ", before)
    if tensor is not _NOTHING:
        setattr(module, name, tensor)
    elif before is not _NOTHING:
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module in the place of a submodule; returns the one that was there."""
    _require_name(module, name, "submodule")
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before


def _table(module: Module, name: str) -> Any:
    """The module's parameters or buffers, whichever have that name."""
    return next((table for table in (module._parameters, module._buffers) if name in table), None)


def _require_name(module: Module, name: str, kind: str = "tensor") -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')


def _require_tensor(where: str, x: Any) -> None:
    if x is not _NOTHING and x is not None and not isinstance(x, Tensor):
        raise TypeError(f"{where}{x} is not an instance of torch.Tensor")
