"""flambeau: a deep-learning framework with PyTorch's programming model that records first and computes when looked at."""

from typing import Any

from . import autograd, config, devices, dtypes
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from .devices import device
from .dtypes import can_cast, dtype, finfo, get_default_dtype, iinfo, promote_types, set_default_dtype
from .engine import explain
from .operators import NAMESPACES
from .size import Size
from .tensor import Tensor

__version__ = "0.1.0"

for _d in dtypes.ALL:
    globals()[_d.name] = _d
globals().update(dtypes.ALIASES)
globals().update(NAMESPACES["torch"])


def __getattr__(name: str) -> Any:
    raise AttributeError(f"flambeau has no torch.{name} yet")
