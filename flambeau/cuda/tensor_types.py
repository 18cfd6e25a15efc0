"""The old classes of tensors on a device, by dtype: no tensor is of them, and none can be made."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import dtypes
from ..dtypes import dtype
from .absence import NONE


class _AbsentType(type):
    """``isinstance(x, torch.cuda.FloatTensor)`` is false; calling it is refused."""

    dtype: dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    def __call__(cls, *data: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. {NONE}.")


class BFloat16Tensor(metaclass=_AbsentType):
    """bfloat16 on a device."""

    dtype = dtypes.bfloat16


class BoolTensor(metaclass=_AbsentType):
    """bool on a device."""

    dtype = dtypes.bool_


class ByteTensor(metaclass=_AbsentType):
    """uint8 on a device."""

    dtype = dtypes.uint8


class CharTensor(metaclass=_AbsentType):
    """int8 on a device."""

    dtype = dtypes.int8


class DoubleTensor(metaclass=_AbsentType):
    """float64 on a device."""

    dtype = dtypes.float64


class FloatTensor(metaclass=_AbsentType):
    """float32 on a device."""

    dtype = dtypes.float32


class HalfTensor(metaclass=_AbsentType):
    """float16 on a device."""

    dtype = dtypes.float16


class IntTensor(metaclass=_AbsentType):
    """int32 on a device."""

    dtype = dtypes.int32


class LongTensor(metaclass=_AbsentType):
    """int64 on a device."""

    dtype = dtypes.int64


class ShortTensor(metaclass=_AbsentType):
    """int16 on a device."""

    dtype = dtypes.int16
