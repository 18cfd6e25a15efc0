"""Copies: clone, contiguous, and the memory formats they can produce."""

from __future__ import annotations

from typing import Any

from ... import layouts
from ...devices import META
from ...graph.geometry import Geometry, contiguous, dense_like, intern
from ...graph.node import Signature
from ...graph.operator import OnStacks
from ...graph.recent import Recent
from ...graph.storage import Storage
from ...graph.strides import row_major_strides
from ...tensor import INFERENCE, Tensor, record_one, state
from ...tensor.recording.history import attach
from ...tensor.tape import inferring
from ..calls.complaints import require
from ..declaration.definition import operator
from ..declaration.registry import NAMESPACES, api

for _format in layouts.FORMATS:
    NAMESPACES["torch"][_format.name] = _format  # type: ignore[assignment]
_names: Any = NAMESPACES["torch"]
_names.update(memory_format=layouts.memory_format, layout=layouts.layout, strided=layouts.strided)


def formatted_geometry(g: Geometry, memory_format: Any, dtype: Any = None) -> Geometry:
    """A fresh geometry of g's shape in a memory format (None and preserve_format: as g where g is dense)."""
    dtype = dtype or g.dtype
    if memory_format is None or memory_format is layouts.preserve_format:
        return dense_like(g.shape, g, dtype)
    order = memory_format.order
    if order is None:
        return contiguous(g.shape, dtype, g.device)
    if len(order) != g.ndim:
        raise RuntimeError(f"required rank {len(order)} tensor to use {memory_format.name} format")
    return intern(g.shape, layouts.strides_in(g.shape, order), 0, dtype, g.device)


def _clone_geometry(operands: Any, attributes: Any) -> Geometry:
    return formatted_geometry(operands[0], attributes[0] if attributes else layouts.contiguous_format)


CLONE = operator("clone", _clone_geometry, kind="conversion")(lambda m, input, *memory_format: input)
CLONE.on_stacks = OnStacks()


@CLONE.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


def clone_contiguous(input: Tensor) -> Tensor:
    """A contiguous copy."""
    return record_one(CLONE, input)


@api("torch", "Tensor", judge="function")
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own storage (free of cost until one of the two is written).

    >>> import flambeau as torch
    >>> x = torch.ones(2); y = x.clone(); _ = y.add_(1); x
    tensor([1., 1.])
    """
    g = input._geometry
    storage = input._storage
    if memory_format is not None and memory_format is not layouts.preserve_format \
            and not _lies_exactly(g, memory_format):
        return record_one(CLONE, input, (memory_format,))
    held = storage.geometry
    if (
        g.device is META
        or storage.exposed
        or g.offset != 0
        or g.numel != held.numel
        or g.dtype is not held.dtype
        or not g.is_dense
    ):
        return (
            record_one(CLONE, input)
            if g.strides == row_major_strides(g.shape)
            else record_one(CLONE, input, (layouts.preserve_format,))
        )
    out = object.__new__(Tensor)
    out._storage = Storage(storage.node, held)
    out._geometry = g
    out._requires_grad = False
    out._grad_fn = out._base = None
    out._counter = INFERENCE if inferring and state.inference else None
    if state.enabled and input.requires_grad:
        signature = _signatures.get(g)
        if signature is None:
            signature = _signatures.recall(g) or \
                _signatures.keep(g, Signature(CLONE, (), (g,), (g,), True, None))
        attach(CLONE, signature, (input,), (out,))
    return out


_signatures: Recent[Geometry, Signature] = Recent(1 << 12)


def _lies_exactly(g: Geometry, memory_format: Any) -> bool:
    """Whether a copy in a memory format has the very strides, those of extents of 1 included."""
    require("clone", 0, "torch.memory_format", "memory_format", memory_format)
    return formatted_geometry(g, memory_format).strides == g.strides


def has_format(g: Geometry, memory_format: Any) -> bool:
    """Whether the elements lie in a memory format."""
    if memory_format.order is None:
        return g.is_contiguous
    return layouts.lies_in(g.shape, g.strides, memory_format.order)


def contiguous_copy(input: Tensor, memory_format: Any = layouts.contiguous_format) -> Tensor:
    """This tensor if its elements lie contiguously (or in ``memory_format``), else a copy that does.

    >>> import flambeau as torch
    >>> torch.arange(6).reshape(2, 3).t().contiguous().stride()
    (2, 1)
    """
    g = input._geometry
    if memory_format is layouts.contiguous_format:
        return input if g.is_contiguous else record_one(CLONE, input)
    if memory_format is layouts.preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return input if has_format(g, memory_format) else record_one(CLONE, input, (memory_format,))


api("Tensor", name="contiguous")(contiguous_copy)


@api("Tensor")
def is_contiguous(self: Tensor, memory_format: Any = layouts.contiguous_format) -> bool:
    """Whether the elements lie in memory in the order of the dimensions (or of ``memory_format``).

    >>> import flambeau as torch
    >>> torch.ones(2, 3).is_contiguous(), torch.ones(2, 3).t().is_contiguous()
    (True, False)
    """
    return has_format(self._geometry, memory_format)


@api("torch", "Tensor", judge="first")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape.

    >>> import flambeau as torch
    >>> torch.is_same_size(torch.ones(2), torch.zeros(2))
    True
    """
    return bool(input.shape == other.shape)


Tensor.layout = property(lambda self: layouts.strided, doc="How the elements are stored: strided.")  # type: ignore[attr-defined]
