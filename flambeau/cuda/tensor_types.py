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


def _absent(name: str, of: dtype) -> _AbsentType:
    return _AbsentType(name, (), {"__module__": __name__, "dtype": of,
                                  "__doc__": f"{str(of).removeprefix('torch.')} on a device."})


BFloat16Tensor = _absent("BFloat16Tensor", dtypes.bfloat16)
BoolTensor = _absent("BoolTensor", dtypes.bool_)
ByteTensor = _absent("ByteTensor", dtypes.uint8)
CharTensor = _absent("CharTensor", dtypes.int8)
DoubleTensor = _absent("DoubleTensor", dtypes.float64)
FloatTensor = _absent("FloatTensor", dtypes.float32)
HalfTensor = _absent("HalfTensor", dtypes.float16)
IntTensor = _absent("IntTensor", dtypes.int32)
LongTensor = _absent("LongTensor", dtypes.int64)
ShortTensor = _absent("ShortTensor", dtypes.int16)
