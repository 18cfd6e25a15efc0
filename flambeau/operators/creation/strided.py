"""Tensors without particular values whose dimensions lie in memory in a given order."""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry, contiguous, intern
from ...layouts import strides_in
from ...size import Size
from ...tensor import Tensor
from ...tensor.construct import empty_geometry
from ..calls.extents import sizes_of
from ..declaration.registry import api
from .creation import factory_geometry, leaf, unset


def _strided_geometry(size: Any, stride: Any, dtype: Any, device: Any, name: str) -> Geometry:
    g = factory_geometry(sizes_of((size,), name), dtype, device, name)
    stride = tuple(stride)
    if len(stride) != g.ndim:
        raise RuntimeError(f"dimensionality of sizes ({g.ndim}) must match dimensionality of strides "
                           f"({len(stride)})")
    return intern(g.shape, stride, 0, g.dtype, g.device)


@api("torch")
def empty_strided(size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor with given strides.

    >>> import flambeau as torch
    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    g = _strided_geometry(size, stride, dtype, device, "empty_strided")
    if g.is_dense:
        return unset(g, requires_grad)
    whole = empty_geometry(contiguous((g.extent,), g.dtype, g.device))
    made = whole.as_strided(g.shape, g.strides, 0)
    made._base = made._view = None
    return leaf(made) if requires_grad else made


@api("Tensor")
def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of this one's dtype and device with given strides.

    >>> import flambeau as torch
    >>> torch.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return empty_strided(
        size,
        stride,
        dtype=dtype or self.dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


@api("torch", judge="first")
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A dense tensor whose dimensions lie in memory in the order ``physical_layout``, outermost first.

    >>> import flambeau as torch
    >>> torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    shape = sizes_of((size,), "empty_permuted")
    order = tuple(physical_layout)
    if len(order) != len(shape):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; "
                           f"i.e. len(size) = {len(shape)} is not equal to len(physical_layout) = "
                           f"{len(order)}")
    for d in order:
        if not 0 <= d < len(shape):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but "
                               f"got {d} at index {order.index(d)}).  NB: negative dims not currently "
                               "supported; file an issue if you want it.")
        if order.count(d) > 1:
            raise RuntimeError("Duplicate dim not allowed")
    g = factory_geometry(shape, dtype, device, "empty_permuted")
    return unset(intern(Size(shape), strides_in(shape, order[::-1]), 0, g.dtype, g.device), requires_grad)
