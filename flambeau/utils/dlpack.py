"""``torch.utils.dlpack``: tensors exchanged with other libraries without a copy."""

from __future__ import annotations

import enum
from typing import Any

from ..operators.interop.exchange import from_dlpack
from ..tensor import Tensor


class DLDeviceType(enum.IntEnum):
    """The kinds of devices of the DLPack standard."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that other libraries' ``from_dlpack`` take, once.

    >>> import flambeau as torch
    >>> capsule = torch.utils.dlpack.to_dlpack(torch.ones(2))
    >>> torch.utils.dlpack.from_dlpack(capsule)
    tensor([1., 1.])
    """
    return tensor.__dlpack__()


__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
