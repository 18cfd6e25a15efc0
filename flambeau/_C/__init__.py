"""``torch._C``: the few names of PyTorch's compiled part that libraries call."""

from __future__ import annotations

from typing import Any

from ..__config__ import show
from ..devices import get_default_device
from ..jit.tracing import is_tracing
from ..library.dispatch_keys import DispatchKey, DispatchKeySet, ExcludedKeys
from ..tensor import Tensor
from ..tensor.aliasing.turned import shares_memory
from ..tensor.batching import levels
from ..tensor.generator import Generator as Generator
from ..tensor.overrides import DisableTorchFunction, disabled_torch_function, has_torch_function, modes
from . import _nn as _nn

DisableTorchFunctionSubclass = DisableTorchFunction
_disabled_torch_function_impl = disabled_torch_function
_ExcludeDispatchKeyGuard = ExcludedKeys
_has_xpu = _has_cuda = _has_mps = False


def _log_api_usage_once(event: str) -> None:
    """Accepted: nothing is logged."""


def _get_tracing_state() -> Any:
    """What says that ``torch.jit.trace`` runs this code: True, or None."""
    return is_tracing() or None


def _is_tracing() -> bool:
    """Whether ``torch.jit.trace`` runs this code."""
    return is_tracing()


class _Unmade(type):
    """The class of what only PyTorch's compiled part makes: for annotations and ``isinstance``."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"torch._C.{cls.__name__}: No constructor defined!")


class Value(metaclass=_Unmade):
    """A value in a TorchScript graph. There are no such graphs here."""


class Node(metaclass=_Unmade):
    """An operation in a TorchScript graph."""


class Block(metaclass=_Unmade):
    """A sequence of operations in a TorchScript graph."""


class Graph(metaclass=_Unmade):
    """A TorchScript graph."""


class ScriptMethod(metaclass=_Unmade):
    """A method of a compiled TorchScript module."""


def _is_alias_of(tensor: Tensor, other: Tensor) -> bool:
    """Whether two tensors share storage."""
    return shares_memory(tensor, other)


def _show_config() -> str:
    """How this library was put together."""
    return show()


def _has_torch_function(args: Any) -> bool:
    """Whether one of the arguments overrides ``__torch_function__``."""
    return has_torch_function(args)


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode sees every call."""
    return bool(modes)


def _are_functorch_transforms_active() -> bool:
    """Whether code runs under ``vmap`` or another transform of ``torch.func``."""
    return bool(levels)


def _get_default_device() -> str:
    """The type of device of new tensors."""
    return get_default_device().type


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """Accepted: TorchScript's executor is not there. Gives back what was set before."""
    return True


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_set_profiling_executor
_jit_set_nvfuser_enabled = _jit_set_profiling_executor
_jit_override_can_fuse_on_gpu = _jit_override_can_fuse_on_cpu = _jit_set_profiling_executor


_TensorMeta = type(Tensor)
