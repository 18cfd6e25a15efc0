"""Tensors from nothing: zeros, ones, full, arange and their kin. Nothing is allocated until a look."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any

import numpy as np

from ... import devices, dtypes
from ...graph.geometry import Geometry, contiguous, intern, known_contiguous
from ...graph.operator import Operator
from ...tensor import Tensor, record, record_numbers
from ...tensor.batching import BatchedTensor, rules
from ...tensor.overrides import modes
from ...tensor.uninitialized import determinism, unset_value
from ..calls.extents import sizes_of
from ..calls.number_range import number_for
from ..declaration.registry import api
from .copying import formatted_geometry

# How many zeros are written, and not left to the system: pages that it promises to be zero cost nothing until
# they are used, but eight times as much as others if they are read first, as an optimizer's states are.
_WRITTEN = range(1 << 14, 1 << 22)


def _full_kernel(m: Any, value: Any, geometry: Geometry) -> Any:
    numpy_type = geometry.dtype.numpy
    if value == 0 and geometry.numel not in _WRITTEN and copysign(1, value.real) > 0 \
            and copysign(1, value.imag) > 0:
        return m.zeros(geometry.shape, numpy_type)
    return m.full(geometry.shape, m.asarray(value).astype(numpy_type))


FULL = Operator("full", _full_kernel, lambda operands, attributes: attributes[0], ("value",))


def filled(geometry: Geometry, value: Any, requires_grad: bool = False) -> Tensor:
    """A tensor of one value, recorded: nothing is allocated until it is looked at."""
    out = record_numbers(FULL, (value,), (geometry,))
    return out if requires_grad is False or requires_grad is None else leaf(out, requires_grad)


def unset(geometry: Geometry, requires_grad: bool = False) -> Tensor:
    """A tensor without particular values."""
    return filled(geometry, unset_value(geometry.dtype), requires_grad)


def leaf(x: Tensor, requires_grad: Any = True) -> Tensor:
    """``x`` with ``requires_grad``, as factory functions set it."""
    if requires_grad is not True:
        raise TypeError("requires_grad must be bool")
    if x._geometry.dtype.category < dtypes.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return x.requires_grad_()


def factory_geometry(shape: tuple[int, ...], dtype: Any, device: Any, name: str = "zeros") -> Geometry:
    """The geometry of a new tensor from a factory function's arguments."""
    for n in shape:
        if n < 0:
            raise RuntimeError("zeros: Dimension size must be non-negative." if name == "zeros" else
                               f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return contiguous(shape, dtype or dtypes.get_default_dtype(), devices.resolve(device))


def usual_geometry(sizes: tuple[Any, ...], kwargs: dict[str, Any],
                   dtype: dtypes.dtype | None = None) -> Geometry | None:
    """What ``f(2, 3)`` and ``f((2, 3))`` make, of this type if no other is asked for; None if that is not
    known yet, or there is more to it (Note: hot functions, in ``recording/record.py``).
    """
    device = devices.resolve(None)
    if kwargs:
        for name, value in kwargs.items():
            if name == "dtype" and value.__class__ is dtypes.dtype:
                dtype = value
            elif name == "device" and (value is devices.CPU or value == "cpu"):
                device = devices.CPU
            elif value is not None:
                return None
    if not sizes:
        return None
    if len(sizes) == 1 and sizes[0].__class__ is tuple:
        sizes = sizes[0]
    for n in sizes:
        if n.__class__ is not int:
            return None
    return None if modes else known_contiguous(sizes, dtype or dtypes.get_default_dtype(), device)


def _filling(value: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A short way to make what is described so."""
    def shorten(function: Callable[..., Any]) -> Callable[..., Any]:
        def short(*sizes: Any, **kwargs: Any) -> Any:
            if (g := usual_geometry(sizes, kwargs)) is not None:
                return record_numbers(FULL, (value,), (g,))
            return function(*sizes, **kwargs)
        return short
    return shorten


def _filling_like(value: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A short way to make what is like a tensor whose elements lie in order."""
    def shorten(function: Callable[..., Any]) -> Callable[..., Any]:
        def short(*args: Any, **kwargs: Any) -> Any:
            if not kwargs and len(args) == 1 and (x := args[0]).__class__ is Tensor:
                g = x._geometry
                if g.is_contiguous and not g.offset and not modes:
                    return record_numbers(FULL, (value,), (g,))
            return function(*args, **kwargs)
        return short
    return shorten


def _are_extents(sizes: tuple[Any, ...]) -> bool:
    """Whether a factory, given these and nothing else, may make its tensor at once."""
    for n in sizes:
        if n.__class__ is not int or n < 0:
            return False
    return bool(sizes) and not modes


def _new_full(size: Any = None, value: Any = None, *more: Any) -> Tensor | None:
    """``full((2, 3), 1.5)``, mostly."""
    kind = value.__class__
    if more or size.__class__ is not tuple or (kind is not float and kind is not int) \
            or not _are_extents(size):
        return None
    g = contiguous(size, dtypes.get_default_dtype() if kind is float else dtypes.int64, devices.resolve(None))
    return record_numbers(FULL, (number_for(value, g.dtype),), (g,))


@api("torch", out=True, shorten=_filling(0))
def zeros(*sizes: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of zeros.

    >>> import flambeau as torch
    >>> torch.zeros(2)
    tensor([0., 0.])
    """
    shape = sizes_of(sizes, "zeros", "size", size)
    return filled(factory_geometry(shape, dtype, device, "zeros"), 0, requires_grad)


@api("torch", out=True, shorten=_filling(1))
def ones(*sizes: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of ones.

    >>> import flambeau as torch
    >>> torch.ones(2, dtype=torch.int64)
    tensor([1, 1])
    """
    shape = sizes_of(sizes, "ones", "size", size)
    return filled(factory_geometry(shape, dtype, device, "ones"), 1, requires_grad)


def _unset(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for ``empty``."""
    def short(*sizes: Any, **kwargs: Any) -> Any:
        if not determinism.asked and (g := usual_geometry(sizes, kwargs)) is not None:
            return record_numbers(FULL, (0,), (g,))
        return function(*sizes, **kwargs)
    return short


@api("torch", out=True, shorten=_unset)
def empty(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor without particular values: zeros, unless ``utils.deterministic`` asks for others.

    >>> import flambeau as torch
    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """
    g = factory_geometry(sizes_of(sizes, "empty", "size", size), dtype, device, "empty")
    return unset(g if memory_format is None else formatted_geometry(g, memory_format), requires_grad)


def value_dtype(value: Any) -> dtypes.dtype:
    """The dtype that ``full`` gives a number or 0-dim tensor."""
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, (int, float, complex)):
        return dtypes.number_dtype(type(value))
    return dtypes.number_dtype(int if isinstance(value, np.integer) else float)


@api("torch", out=True, judge="first", quick=_new_full)
def full(size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of one value; the dtype follows the value.

    >>> import flambeau as torch
    >>> torch.full((2,), 3)
    tensor([3, 3])
    """
    g = factory_geometry(sizes_of((size,), "full"), dtype or value_dtype(fill_value), device, "full")
    return of_value(g, fill_value, requires_grad)


def of_value(g: Geometry, value: Any, requires_grad: bool) -> Tensor:
    """A leaf filled with a number, or with the one value of a tensor."""
    if isinstance(value, Tensor):
        return filled(g, 0, requires_grad).fill_(value)
    return filled(g, number_for(value, g.dtype), requires_grad)


EYE = Operator("eye", lambda m, geometry: m.eye(*geometry.shape, dtype=geometry.dtype.numpy),
               lambda operands, attributes: attributes[0], ())


@api("torch", out=True, judge="first")
def eye(n: int, m: int | None = None, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """The identity matrix, (N, N) or (N, M).

    >>> import flambeau as torch
    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    if n < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {n}")
    columns = n if m is None else m
    if columns < 0:
        raise RuntimeError(f"m must be greater or equal to 0, got {columns}")
    out = record(EYE, (), (factory_geometry((n, columns), dtype, device, "eye"),))
    return leaf(out) if requires_grad else out


# --- like a tensor ------------------------------------------------------------------------------------------


def like_geometry(
    input: Tensor, dtype: Any, device: Any, memory_format: Any = None, name: str = "zeros_like"
) -> Geometry:
    """A fresh geometry like a tensor's, in memory too."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    g = input._geometry
    made = formatted_geometry(g, memory_format, dtype)
    return (
        made if device is None else intern(made.shape, made.strides, 0, made.dtype, devices.resolve(device))
    )


@api("torch", shorten=_filling_like(0))
def zeros_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """Zeros of a tensor's shape and type.

    >>> import flambeau as torch
    >>> torch.zeros_like(torch.ones(2))
    tensor([0., 0.])
    """
    made = filled(like_geometry(input, dtype, device, memory_format, "zeros_like"), 0, requires_grad)
    return made if input.__class__ is not BatchedTensor else rules.like(input, made)


@api("torch", shorten=_filling_like(1))
def ones_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """Ones of a tensor's shape and type.

    >>> import flambeau as torch
    >>> torch.ones_like(torch.zeros(2, dtype=torch.int64))
    tensor([1, 1])
    """
    made = filled(like_geometry(input, dtype, device, memory_format, "ones_like"), 1, requires_grad)
    return made if input.__class__ is not BatchedTensor else rules.like(input, made)


@api("torch")
def empty_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """A tensor of another's shape and type, without particular values.

    >>> import flambeau as torch
    >>> torch.empty_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    made = unset(like_geometry(input, dtype, device, memory_format, "empty_like"), requires_grad)
    return made if input.__class__ is not BatchedTensor else rules.like(input, made)


@api("torch", judge="first")
def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """One value in a tensor's shape and type.

    >>> import flambeau as torch
    >>> torch.full_like(torch.ones(2), 7)
    tensor([7., 7.])
    """
    made = of_value(
        like_geometry(input, dtype, device, memory_format, "full_like"), fill_value, requires_grad
    )
    return made if input.__class__ is not BatchedTensor else rules.like(input, made)
