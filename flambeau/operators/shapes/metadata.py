"""In-place changes of how a storage is read: squeeze_, t_, resize_, set_ and their kin."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ... import dtypes, layouts
from ...devices import META
from ...engine import value_of
from ...graph.geometry import Geometry, contiguous, intern
from ...graph.node import constant
from ...graph.storage import Storage, VersionCounter
from ...graph.strides import row_major_strides
from ...size import Size
from ...tensor import INFERENCE, GradFn, Tensor, check_writable, record, state
from ...tensor.aliasing.turned import is_turned, root, turn, untie
from ...tensor.aliasing.views import chain_of
from ...tensor.batching import BatchedTensor
from ...tensor.recording.history import detached, edge
from ...tensor.uninitialized import unset_value
from ...tensor.warned import warn
from ..calls.extents import sizes_of
from ..creation.copying import formatted_geometry
from ..declaration.registry import api
from ..declaration.undifferentiable import finding, refuse_in_words
from . import expanding, transposing
from .strided_views import as_strided


def _adopt(x: Tensor, viewed: Tensor) -> Tensor:
    """Let x be the view of itself that ``viewed`` is, with its history."""
    check_writable(x)
    (x._counter or x._storage).version += 1
    before, x._geometry = x._geometry, viewed._geometry
    if x._base is not None:
        if state.enabled:
            x._view = viewed._view
        elif x._view is not None:
            x._view = [x._view, chain_of(viewed)]
        if state.enabled or not x._base._requires_grad:     # else its history is made anew
            x._base_version = (x._counter or x._storage).version
    if viewed._requires_grad and viewed._grad_fn is not None:
        x._grad_fn, x._output_nr, x._requires_grad = viewed._grad_fn, viewed._output_nr, True
    elif x._base is None and x._grad_fn is not None and before.shape != x._geometry.shape:
        x._grad_fn, x._output_nr = _summed_to_shape(x._grad_fn.name())(edge(x), before.shape), 0
    return x


def _viewed(function: Callable[..., Tensor], x: Tensor, args: tuple[Any, ...],
            kwargs: dict[str, Any]) -> Tensor:
    """The view of x; where nothing is recorded one of its memory, which says how a view is made of a view."""
    if state.enabled or x._base is None or x._view is None or x.__class__ is BatchedTensor:
        return function(x, *args, **kwargs)
    state.enabled = True
    try:
        return function(detached(x), *args, **kwargs)
    finally:
        state.enabled = False


class SummedToShape(GradFn):
    """History of a result that got dimensions unrecorded: gradients are summed to the shape it had."""

    __slots__ = ("shape",)

    def __init__(self, before: Any, shape: Size) -> None:
        super().__init__()
        self.shape = shape
        self.signature, self.plan, self.numbers, self.saved = None, None, (), ()
        self.edges = (before,)

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The sum."""
        return (None if grads[0] is None else grads[0].sum_to_size(self.shape),)


@lru_cache(256)
def _summed_to_shape(name: str) -> type[SummedToShape]:
    """The class under the name of what the result was computed by, which users see."""
    return type(name, (SummedToShape,), {"__slots__": (), "__module__": "torch.autograd"})


def _in_place(name: str, function: Callable[..., Tensor]) -> None:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        try:
            viewed = _viewed(function, self, args, kwargs)
        except (IndexError, RuntimeError):
            check_writable(self)
            raise
        return _adopt(self, viewed)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of ``{name[:-1]}``."
    api("Tensor", name=name)(method)


for _name, _function in (
        ("squeeze_", expanding.squeeze), ("unsqueeze_", expanding.unsqueeze), ("t_", transposing.t),
        ("transpose_", transposing.transpose), ("swapdims_", transposing.transpose),
        ("swapaxes_", transposing.swapaxes)):
    _in_place(_name, _function)


@api("torch", "Tensor", judge="first")
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Let the tensor read its storage with another shape, strides and offset.

    >>> import flambeau as torch
    >>> torch.arange(4).as_strided_((2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    return _adopt(input, _viewed(as_strided, input, (size, stride, storage_offset), {}))


def _grow(storage: Storage, count: int, geometry: Geometry) -> None:
    """Make room for ``count`` elements, keeping what is there."""
    held = storage.geometry
    wanted = count * geometry.dtype.itemsize
    if wanted <= held.nbytes:
        return
    count = -(-wanted // held.dtype.itemsize)
    if geometry.device is not META:
        flat = np.full(count, unset_value(held.dtype), held.dtype.numpy)
        flat[:held.numel] = value_of(storage, "resize_").reshape(-1)
        storage.node = constant(flat)
        storage.exposed = False
        storage.owner = None
    storage.geometry = contiguous((count,), held.dtype, held.device)


@api("Tensor")
def resize_(self: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Let the tensor have another shape; the storage grows where it must, what is new is not initialised.

    >>> import flambeau as torch
    >>> torch.arange(4).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if not sizes and size is None:
        raise TypeError("size is missing")
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if self.__class__ is BatchedTensor:
        raise RuntimeError("vmap: resize_ is not supported, since all examples lie in one tensor")
    shape = sizes_of(sizes, "resize_", "size", size)
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    g = self._geometry
    if shape == g.shape and memory_format is None:
        return self
    strides = row_major_strides(shape)
    if memory_format is not None and memory_format.order is not None:
        strides = formatted_geometry(contiguous(shape, g.dtype, g.device), memory_format).strides
    made = intern(Size(shape), strides, g.offset, g.dtype, g.device)
    untie(self._storage)
    _grow(root(self._storage), made.extent, made)
    self._geometry = contiguous(shape, g.dtype, g.device) if made.is_contiguous and g.offset == 0 else made
    return self


@api("Tensor", judge="first")
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Let the tensor have another's shape.

    >>> import flambeau as torch
    >>> torch.arange(4).resize_as_(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    if memory_format is layouts.preserve_format:
        memory_format = layouts.channels_last if layouts.lies_in(
            the_template.shape, the_template.stride(), (1, 3, 2, 0)) else None
    return resize_(self, the_template.shape, memory_format=memory_format)


@api("Tensor")
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The same elements in another tensor's shape (deprecated in PyTorch: use ``view_as``).

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.arange(4).resize_as(torch.ones(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    warn("non-inplace resize_as is deprecated")
    if self.numel() != tensor.numel():
        wanted, have = ("x".join(map(str, x.shape)) for x in (tensor, self))
        raise RuntimeError(
            f"requested resize to {wanted} ({tensor.numel()} elements in total), but the given tensor has a "
            f"size of {have} ({self.numel()} elements). autograd's resize can only change the shape of a "
            "given tensor, while preserving the number of elements. ")
    return self.contiguous().view(tensor.shape)


@api("Tensor")
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """A tensor of another shape on the same storage (deprecated in PyTorch).

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.arange(4).resize(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    warn("non-inplace resize is deprecated")
    wanted = sizes_of(sizes, "resize")
    if prod(wanted) != self.numel():
        shape, have = ("x".join(map(str, x)) for x in (wanted, self.shape))
        raise RuntimeError(f"requested resize to {shape} ({prod(wanted)} elements in total), but the given "
                           f"tensor has a size of {have} ({self.numel()} elements). autograd's resize "
                           "can only change the shape of a given tensor, while preserving the number of "
                           "elements. ")
    return resize_(self.detach() if not self.requires_grad else self, *sizes)


@api("Tensor")
def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Let the tensor read another storage: a tensor's, or a storage object with shape, strides and offset.

    >>> import flambeau as torch
    >>> x = torch.arange(4)
    >>> torch.tensor([0]).set_(x)
    tensor([0, 1, 2, 3])
    """
    g = self._geometry
    check_writable(self)
    history = _refusing(self, source)
    if source is None:
        made = contiguous((0,), g.dtype, g.device)
        storage = Storage(constant(np.zeros(0, g.dtype.numpy)), made)
    elif isinstance(source, Tensor):
        if source.dtype is not g.dtype:
            raise RuntimeError("Could not set tensor of type "
                               f"{dtypes.c_name(source.dtype)} to a tensor of type {dtypes.c_name(g.dtype)}")
        storage, made = root(source._storage), source._geometry
    else:
        storage = source._storage
        count = storage.geometry.nbytes // g.dtype.itemsize
        made = contiguous((count,), g.dtype, g.device)
    if size is not None:
        shape = Size(sizes_of((size,), "set_"))
        made = intern(
            shape,
            row_major_strides(shape) if stride is None else tuple(stride),
            storage_offset,
            g.dtype,
            g.device,
        )
        _grow(storage, made.extent, made)
    turned = is_turned(self)
    version = (self._counter or self._storage).version
    self._storage, self._geometry = storage, made
    turn(self, *turned)
    self._base = self._view = None
    if self._counter is not INFERENCE:
        # Who saved it for backward is to be told. Parameters, set anew between steps, stay as quick.
        self._counter = None if self._requires_grad and self._grad_fn is None else VersionCounter(version + 1)
    if history is not None:
        self._grad_fn, self._output_nr, self._requires_grad = history, 0, True
    return self


_SET = finding("NotImplemented")
refuse_in_words(_SET, "derivative for set_ is not implemented", "source")


def _refusing(x: Tensor, source: Any) -> Any:
    """The history of a tensor that is set: none can lead on from what either requires a gradient for."""
    for each in (x, source):
        if state.enabled and isinstance(each, Tensor) and each.requires_grad:
            return record(_SET, (detached(x), each))._grad_fn
    return None
