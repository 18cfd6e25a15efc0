"""Memory formats of results: channels last where an operand suggests it.

Note: memory formats. PyTorch's operators on images hand on how their input lies in memory, so that a whole
network runs channels last once its input or its weights are. Pointwise operators keep the order of all
dimensions (``definition.pointwise_geometry``). The others know two orders only: that of the dimensions, and
channels last, which a tensor suggests by its strides (``layouts.reads_last``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import layouts
from ...devices import device
from ...dtypes import dtype
from ...graph.geometry import Geometry, contiguous, intern
from ...size import Size
from ...tensor import Tensor, view, view_operator
from .copying import contiguous_copy

_LAST = {4: layouts.channels_last, 5: layouts.channels_last_3d}


def suggests_last(g: Geometry) -> bool:
    """Whether results are channels last where this is what they are computed from."""
    return layouts.reads_last(g.shape, g.strides)


def channels_last(shape: Sequence[int], dtype: dtype, device: device) -> Geometry:
    """The geometry of a fresh result (N, C, H, W) or (N, C, D, H, W) with the channels innermost."""
    order = _LAST[len(shape)].order
    assert order is not None
    return intern(Size(shape), layouts.strides_in(shape, order), 0, dtype, device)


def result_geometry(shape: Sequence[int], last: bool, dtype: dtype, device: device) -> Geometry:
    """The geometry of a fresh result, channels last or contiguous."""
    return channels_last(shape, dtype, device) if last else contiguous(shape, dtype, device)


def suggested_geometry(shape: Sequence[int], g: Geometry, dtype: dtype | None = None) -> Geometry:
    """The geometry of a fresh result in the format that ``g`` suggests, if that has as many dimensions."""
    last = len(shape) == g.ndim and suggests_last(g)
    return result_geometry(shape, last, dtype or g.dtype, g.device)


def pooled_geometry(shape: Sequence[int], dims: int, g: Geometry, dtype: dtype | None = None) -> Geometry:
    """The same where windows have ``dims`` dimensions: lines (N, C, L) are images of one row."""
    if dims > 1 or g.ndim != 3:
        return suggested_geometry(shape, g, dtype)
    (batch, channels, length), (by_batch, by_channel, step) = g.shape, g.strides
    if not layouts.reads_last((batch, channels, 1, length), (by_batch, by_channel, length * step, step)):
        return contiguous(shape, dtype or g.dtype, g.device)
    return intern(Size(shape), (shape[1] * shape[2], 1, shape[1]), 0, dtype or g.dtype, g.device)


def suggested_format(g: Geometry) -> Any:
    """``channels_last`` or its three-dimensional kin where ``g`` suggests it, else ``contiguous_format``."""
    return _LAST[g.ndim] if suggests_last(g) else layouts.contiguous_format


def _same(g: Geometry, last: bool) -> Geometry:
    return g


GRADIENT_IN_FORMAT = view_operator("gradient_in_format", _same)


@GRADIENT_IN_FORMAT.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    formats = _LAST if ctx.attributes[0] else {}
    return contiguous_copy(grad, formats.get(grad.ndim, layouts.contiguous_format))


def gradient_like(x: Tensor) -> Tensor:
    """x, whose gradient is made channels last if x suggests it: for functions composed of others."""
    if not (x.requires_grad and suggests_last(x._geometry)):
        return x
    return view(GRADIENT_IN_FORMAT, x, (True,))


def contiguous_gradient(x: Tensor) -> Tensor:
    """x, whose gradient is made contiguous even if x suggests channels last."""
    if not (x.requires_grad and suggests_last(x._geometry)):
        return x
    return view(GRADIENT_IN_FORMAT, x, (False,))


def in_format_of(x: Tensor, g: Geometry) -> Tensor:
    """x, copied unless it lies in the format that ``g`` suggests."""
    return contiguous_copy(x, suggested_format(g) if x.ndim == g.ndim else layouts.contiguous_format)
