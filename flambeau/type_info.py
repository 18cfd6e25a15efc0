"""``finfo`` and ``iinfo``: the limits of data types."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from .dtypes import INTEGER, bool_, dtype, float8_e5m2fnuz, get_default_dtype, given


class finfo:
    """Limits of a floating-point type.

    >>> import flambeau as torch
    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any = get_default_dtype) -> None:
        chosen = get_default_dtype() if type is get_default_dtype else given(type, "finfo", "type", 1)
        if chosen.is_complex:
            chosen = chosen.to_real()
        if not chosen.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        limits = ml_dtypes.finfo(chosen.numpy)
        self.dtype = chosen.name
        self.bits = chosen.itemsize * 8
        self.eps = 0.125 if chosen is float8_e5m2fnuz else float(limits.eps)  # as PyTorch has it
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = 10.0 ** math.ceil(math.log10(self.eps))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:.6g}, min={self.min:.6g}, max={self.max:.6g}, "
            f"eps={self.eps:.6g}, smallest_normal={self.smallest_normal:.6g}, tiny={self.tiny:.6g}, "
            f"dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(("finfo", self.dtype))


class iinfo:
    """Limits of an integer type.

    >>> import flambeau as torch
    >>> torch.iinfo(torch.int8).max
    127
    """

    def __init__(self, type: dtype) -> None:
        type = given(type, "iinfo", "type", 1)
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != INTEGER:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
            )
        limits = np.iinfo(type.numpy)
        self.dtype = type.name
        self.bits = type.itemsize * 8
        self.min = int(limits.min)
        self.max = int(limits.max)

    def __repr__(self) -> str:
        return f"iinfo(min={float(self.min):g}, max={float(self.max):g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(("iinfo", self.dtype))
