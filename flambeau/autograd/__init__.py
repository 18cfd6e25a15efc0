"""Automatic differentiation (``torch.autograd``).

``loss.backward()`` goes through ``backward`` (what is asked for, with ``starting``) to ``engine``, which
walks the tape and runs derivative rules; ``accumulating`` adds what reaches leaves to their ``.grad``. A
pass that comes again skips most of that: ``templates`` (made by ``tracing``) record what rules recorded,
``routes`` what a whole pass did (``comparing`` is native code for that), and gradients travel as
``readings``. The other modules are PyTorch's, and what they are made of.
"""

import importlib
from typing import Any

from . import (
    anomaly_mode,
    forward_ad,
    function,
    functional,
    grad_mode,
    graph,
    saved_values,
    tensor_hooks,
    variable,
)
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .backward import _is_checkpoint_valid as _is_checkpoint_valid
from .backward import backward, grad
from .function import Function
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable


def __getattr__(name: str) -> Any:
    """The profiler's module, imported when first asked for."""
    if name == "profiler":
        return importlib.import_module(".profiler", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Function", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "forward_ad",
    "function", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph",
    "inference_mode", "is_grad_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled", "tensor_hooks", "variable",
]
