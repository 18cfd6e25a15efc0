"""``torch.sparse.FloatTensor`` and its kin: the older names of sparse tensors by dtype."""

from __future__ import annotations

import warnings
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..tensor import Tensor
from .construct import sparse_coo_tensor
from .tensor import CooTensor


class _SparseType(type):
    """``isinstance(x, torch.sparse.FloatTensor)`` asks for layout and dtype; calling makes such a tensor."""

    wanted: dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, CooTensor) and instance.dtype is cls.wanted

    def __call__(cls, *arguments: Any, device: Any = None) -> Tensor:
        """From indices, values and a shape, from the first two, or from a shape alone."""
        warnings.warn("torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated.  Please "
                      "use torch.sparse_coo_tensor(indices, values, shape, dtype=, device=).", UserWarning,
                      stacklevel=2)
        if not arguments:
            arguments = (0,)
        if isinstance(arguments[0], Tensor):
            return sparse_coo_tensor(*arguments, dtype=cls.wanted, device=device)
        shape = arguments[0] if isinstance(arguments[0], (tuple, list)) else arguments
        return sparse_coo_tensor(tuple(shape), dtype=cls.wanted, device=device)


def _declare(name: str, wanted: dtype) -> Any:
    return _SparseType(name, (), {"wanted": wanted, "dtype": wanted, "__module__": "torch.sparse"})


FloatTensor = _declare("FloatTensor", dtypes.float32)
DoubleTensor = _declare("DoubleTensor", dtypes.float64)
HalfTensor = _declare("HalfTensor", dtypes.float16)
BFloat16Tensor = _declare("BFloat16Tensor", dtypes.bfloat16)
LongTensor = _declare("LongTensor", dtypes.int64)
IntTensor = _declare("IntTensor", dtypes.int32)
ShortTensor = _declare("ShortTensor", dtypes.int16)
CharTensor = _declare("CharTensor", dtypes.int8)
ByteTensor = _declare("ByteTensor", dtypes.uint8)

__all__ = ["BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
           "IntTensor", "LongTensor", "ShortTensor"]
