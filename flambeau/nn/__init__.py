"""Neural network layers and what belongs to them (`torch.nn`)."""

from typing import TYPE_CHECKING

from .._later import submodules
from . import attention, functional, grad, init, modules, parallel, parameter, utils
from ._factory_kwargs import factory_kwargs
from .modules import *  # noqa: F403
from .modules import __all__ as _layers
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [  # noqa: PLE0604
    *_layers,
    "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "attention",
    "factory_kwargs", "functional", "grad", "init", "modules", "parallel", "parameter", "utils",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = submodules(__name__, "_reduction", "common_types")
