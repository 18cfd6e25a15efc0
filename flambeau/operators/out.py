"""``out=``: results written to tensors of the caller's."""

from __future__ import annotations

import warnings
from typing import Any

from .. import dtypes
from ..graph.geometry import dense_like
from ..tensor import Tensor, state
from ..tensor.inplace import write


def store(result: Any, out: Any, name: str) -> Any:
    """Let ``out`` (one tensor, or one for each result) take ``result``; returns ``out``."""
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
        for one, value in zip(out, result):
            _store_one(one, value, name)
        return type(result)(*out) if hasattr(result, "_fields") else tuple(out)
    return _store_one(out, result, name)


def _store_one(out: Any, result: Tensor, name: str) -> Tensor:
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if state.enabled and (out.requires_grad or result.requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad.")
    if result.device != out.device:
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {out.device} "
                           "instead")
    if not dtypes.can_cast(result.dtype, out.dtype):
        raise RuntimeError(f"result type {dtypes.SCALAR_NAMES[result.dtype]} can't be cast to the desired "
                           f"output type {dtypes.SCALAR_NAMES[out.dtype]}")
    if out.shape != result.shape:
        if out.numel() != 0:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, "
                f"which does not match the required output shape {list(result.shape)}. This behavior is "
                "deprecated, and in a future PyTorch release outputs will not be resized unless they have "
                "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
                "elements with t.resize_(0).", UserWarning,
                stacklevel=4)
        out.resize_(result.shape)
        if not result._geometry.is_contiguous:
            out._geometry = dense_like(result.shape, result._geometry, out.dtype)
    write(out, result.detach().to(out.dtype))
    return out
