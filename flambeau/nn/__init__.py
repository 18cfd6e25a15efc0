"""Neural network layers and what belongs to them (`torch.nn`)."""

from . import attention, functional, init, modules, parallel, parameter, utils
from .modules import *  # noqa: F403
from .modules import __all__ as _layers
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [  # noqa: PLE0604
    *_layers,
    "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "attention",
    "functional",
    "init", "modules", "parallel", "parameter", "utils",
]  # fmt: skip
