"""Values written into a whole tensor: fill_, zero_, copy_."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.geometry import Geometry, dense_like
from ...tensor import Tensor, assign, check_writable, record, view
from ...tensor.aliasing.inplace import FEW, write_number, write_part, write_whole, writes_few
from ...tensor.aliasing.overlap import require_apart
from ...tensor.construct import from_array
from ...tensor.samples.known import from_value
from ...tensor.warned import warn, warn_once
from ..calls.number_range import check_number, number_for
from ..creation.creation import FULL, filled
from ..declaration.definition import broadcast_shapes, operator
from ..declaration.registry import api
from ..shapes.expanding import EXPAND


def _copy_geometry(operands: Any, attributes: Any) -> Geometry:
    return attributes[0]


def _copy_kernel(m: Any, src: Any, geometry: Geometry) -> Any:
    return m.cast(src, geometry.dtype.numpy)


COPY = operator("copy", _copy_geometry, grad_name="CopyBackwards")(_copy_kernel)


@COPY.derivative("src")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad  # the engine undoes broadcasting and conversion


FILL = operator(
    "fill", lambda operands, attributes: dense_like(operands[0].shape, operands[0], operands[0].dtype)
)(lambda m, input, value: m.full(input.shape, m.asarray(value).astype(input.dtype)))


@FILL.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad.new_zeros(grad.shape)


@FILL.derivative("value")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad.sum()


@api("Tensor")
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of ``other``, broadcast and converted, into this tensor.

    >>> import flambeau as torch
    >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    if not isinstance(other, Tensor):
        if not isinstance(other, (int, float, bool, complex)):
            raise TypeError("copy_(): argument 'other' (position 1) must be Tensor, not "
                            f"{type(other).__name__}")
        if isinstance(other, int) and not -1 << 63 <= other < 1 << 64:
            raise OverflowError("int too big to convert")
        # Converted as an element is, where fill_ would refuse what does not fit.
        other = from_array(np.array(other)).to(self.device)
    g, source = self._geometry, other._geometry
    if source.device is not g.device and source.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if other._storage is self._storage:
        require_apart(self, (other,))
    if source.shape != g.shape:
        check_writable(self)
        if broadcast_shapes([g.shape, source.shape]) != g.shape:
            raise RuntimeError(f"output with shape {list(g.shape)} doesn't match the broadcast shape "
                               f"{list(broadcast_shapes([g.shape, source.shape]))}")
    elif source.dtype is g.dtype and source.device is g.device and not other.requires_grad:
        return assign(self, other, "copy_")
    if source.dtype.is_complex and not g.dtype.is_complex:
        warn_once("Casting complex values to real discards the imaginary part")
    if source.device is not g.device:
        other = other.to(g.device)
    if source.dtype is g.dtype and not other.requires_grad:
        return assign(self, view(EXPAND, other, (g.shape,)), "copy_")
    return assign(self, record(COPY, (other,), (dense_like(g.shape, g, g.dtype),)), "copy_")


@api("Tensor", "torch")
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value everywhere.

    >>> import flambeau as torch
    >>> torch.empty(2).fill_(3)
    tensor([3., 3.])
    """
    g = self._geometry
    if isinstance(value, Tensor):
        if value._geometry.ndim:
            raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                               f"{value._geometry.ndim} dimensions.")
        return assign(self, record(COPY, (value,), (dense_like(g.shape, g, g.dtype),)), "fill_")
    if not isinstance(value, (int, float, bool, complex)):
        item = getattr(value, "item", None)
        if item is None:
            raise TypeError("fill_() received an invalid combination of arguments - got "
                            f"({type(value).__name__}), but "
                            "expected one of:\n * (Tensor value)\n      didn't match because some of the "
                            "arguments have "
                            f"invalid types: (!{type(value).__name__}!)\n * (Number value)\n      didn't "
                            "match because some "
                            f"of the arguments have invalid types: (!{type(value).__name__}!)\n")
        value = item()
    return _fill(self, number_for(value, g.dtype), "fill_")


@api("Tensor", "torch")
def zero_(self: Tensor) -> Tensor:
    """Write zeros everywhere.

    >>> import flambeau as torch
    >>> torch.ones(3).zero_()
    tensor([0., 0., 0.])
    """
    return _fill(self, 0, "zero_")


def repeated_dims(x: Tensor) -> list[int]:
    """The dimensions along which an expanded tensor has the same elements again."""
    g = x._geometry
    return [d for d, (n, s) in enumerate(zip(g.shape, g.strides)) if s == 0 and n > 1] if g.numel else []


def once(x: Tensor, repeated: list[int]) -> Tensor:
    """Each element of an expanded tensor once."""
    for d in repeated:
        x = x.narrow(d, 0, 1)
    return x


def warn_expanded(name: str, subscript: str = "tensor[mask] = scalar") -> None:
    """What PyTorch says to those who fill expanded tensors."""
    warn(f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this "
         f"operation. This also applies to advanced indexing e.g. {subscript}")


def fill_subscript(x: Tensor, value: Any) -> None:
    """``x[key] = value`` of a number, for what the key chooses; its history tells it from ``fill_``."""
    _fill(x, number_for(value, x._geometry.dtype), "fill_subscript_")


def _fill(x: Tensor, value: Any, name: str) -> Tensor:
    g = x._geometry
    if write_whole(FULL, x, (value,), (g,)):
        return x
    if 0 in g.strides and (repeated := repeated_dims(x)):
        _fill(once(x, repeated), value, name)
        return x
    known = _known_number(x, value)
    return assign(x, filled(dense_like(g.shape, g, g.dtype), value) if known is None else known, name)


def fill_part(x: Tensor, g: Geometry, value: Any) -> None:
    """Write a number to a part of a tensor that has no history."""
    value = number_for(value, g.dtype)
    if not write_number(x, g, value):
        write_part(x, g, filled(dense_like(g.shape, g, g.dtype), value))


def _known_number(x: Tensor, value: Any) -> Tensor | None:
    """What to write to a few elements of a larger tensor whose value is known: then it is done at once."""
    g, storage = x._geometry, x._storage
    if x.__class__ is not Tensor or not 0 < g.numel <= FEW or g.numel == storage.size \
            or g.dtype.numpy.kind not in "biuf" or storage.node.value.__class__ is not np.ndarray \
            or not writes_few():
        return None
    return from_value(np.full(g.numel, value, g.dtype.numpy), dense_like(g.shape, g, g.dtype))


@api("torch")
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input`` with one value everywhere.

    >>> import flambeau as torch
    >>> torch.fill(torch.tensor([1, 2]), 7)
    tensor([7, 7])
    """
    g = input._geometry
    if not isinstance(value, Tensor):
        check_number(value, g.dtype)
    elif value.ndim:
        raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                           f"{value.ndim} dimensions.")
    return record(FILL, (input, value))


