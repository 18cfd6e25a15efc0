"""Rounding to the numbers that a quantized type would have, with gradients that pass through it."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...dtypes import FLOATING, SCALAR_NAMES
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record
from ..declaration.definition import operand_dtype, operator
from ..declaration.registry import api


def _geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    x = operands[0]
    return contiguous(x.shape, x.dtype, x.device), contiguous(x.shape, dtypes.bool_, x.device)


@operator("fake_quantize_per_tensor_affine_cachemask", _geometry, compute=operand_dtype,
          non_differentiable_outputs=(1,))
def FAKE_QUANTIZE(m: Any, input: Any, scale: Any, zero_point: Any, low: Any, high: Any) -> Any:
    """(clamp(round(x / scale) + zero, low, high) - zero) scale, and whether nothing was clamped."""
    kind = input.dtype.type
    zero_point = m.rint(m.asarray(zero_point, dtype=input.dtype))
    level = m.rint(input * (kind(1) / m.asarray(scale, dtype=input.dtype))) + zero_point
    inside = (level >= low) & (level <= high)
    level = m.minimum(m.maximum(m.where(m.isnan(level), kind(low), level), kind(low)), kind(high))
    return (level - zero_point) * m.asarray(scale, dtype=input.dtype), inside


@FAKE_QUANTIZE.derivative("input", keeps="output1")
def _(ctx: Any, grads: Any, inside: Tensor) -> Any:
    return None if grads[0] is None else grads[0] * inside


def _check(input: Tensor, low: int, high: int) -> None:
    if low > high:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
    if input.dtype.category != FLOATING:
        raise NotImplementedError("\"fake_quantize_tensor_cachemask_kernel_type_handling\" not implemented "
                                  f"for '{SCALAR_NAMES[input.dtype]}'")


@api("torch", judge="first")
def fake_quantize_per_tensor_affine(input: Tensor, scale: Any, zero_point: Any, quant_min: int,
                                    quant_max: int) -> Tensor:
    """The nearest of the numbers ``(q - zero_point) * scale``, q from ``quant_min`` to ``quant_max``.

    Its gradient is that of the identity where nothing was clamped (Jacob et al. 2018).

    >>> import flambeau as torch
    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.12, 5.]), 0.1, 0, -10, 10)
    tensor([0.1000, 1.0000])
    """
    _check(input, quant_min, quant_max)
    if not isinstance(zero_point, Tensor) and not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    return _quantized(input, scale, zero_point, quant_min, quant_max)


def _quantized(input: Tensor, scale: Any, zero_point: Any, low: int, high: int) -> Tensor:
    found: Tensor = record(FAKE_QUANTIZE, (input, scale, zero_point, low, high))[0]
    return found


@api("torch")
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int,
                                     quant_min: int, quant_max: int) -> Tensor:
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point (C) for each index of ``axis``.

    >>> import flambeau as torch
    >>> scale, zero = torch.tensor([0.1, 1.]), torch.zeros(2, dtype=torch.int32)
    >>> torch.fake_quantize_per_channel_affine(torch.full((2, 1), 0.62), scale, zero, 0, -10, 10)
    tensor([[0.6000],
            [1.0000]])
    """
    _check(input, quant_min, quant_max)
    if zero_point.dtype not in (dtypes.int32, dtypes.float32, dtypes.float16):
        raise RuntimeError("Zero-point must be Int32, Float or Half, found "
                           f"{SCALAR_NAMES[zero_point.dtype]}")
    if scale.ndim != 1 or zero_point.ndim != 1:
        raise RuntimeError(f"{'scale' if scale.ndim != 1 else 'zero point'} should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if not 0 <= axis < input.ndim:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if scale.numel() != input.shape[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    shape = [1] * input.ndim
    shape[axis] = -1
    return _quantized(input, scale.detach().reshape(shape), zero_point.detach().reshape(shape), quant_min,
                      quant_max)
