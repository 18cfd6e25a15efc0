"""A tensor in several parts along a dimension, each a view: split, chunk, unbind and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.node import Signature
from ...graph.operator import Operator
from ...graph.recent import Recent
from ...tensor import INFERENCE, Tensor, check_dim, state, view
from ...tensor.aliasing.views import chain_of
from ...tensor.batching import BatchedTensor, plain
from ...tensor.recording.history import attach
from ..calls.arguments import invalid_combination, is_integer, whole
from ..calls.complaints import FAILURES
from ..creation.creation import filled
from ..declaration.registry import api, failed
from .joining import cat, stack
from .slicing import SELECT, SLICE

_new = object.__new__


def _split_operator(name: str) -> Operator:
    op = Operator(name, lambda m, *_: None, lambda operands, attributes: (), ("input",), kind="view")

    @op.derivative("input")
    def _(ctx: Any, grads: tuple[Any, ...]) -> Tensor:
        return _joined(ctx, grads, ctx.attributes[0])
    return op


SPLIT = _split_operator("split")
SPLIT_WITH_SIZES = _split_operator("split_with_sizes")
UNSAFE_SPLIT = _split_operator("unsafe_split")
UNSAFE_SPLIT_WITH_SIZES = _split_operator("unsafe_split_with_sizes")
_UNSAFE = (UNSAFE_SPLIT, UNSAFE_SPLIT_WITH_SIZES)
UNBIND = Operator("unbind", lambda m, *_: None, lambda operands, attributes: (), ("input",), kind="view")


@UNBIND.derivative("input")
def _(ctx: Any, grads: tuple[Any, ...]) -> Tensor:
    return stack(_with_zeros(ctx, grads), ctx.attributes[0])


def _joined(ctx: Any, grads: tuple[Any, ...], dim: int) -> Tensor:
    return cat(_with_zeros(ctx, grads), dim)


def _with_zeros(ctx: Any, grads: tuple[Any, ...]) -> list[Tensor]:
    return [filled(_plain(g), 0) if grad is None else grad for grad, g in zip(grads, ctx.output_geometries)]


def _plain(g: Geometry) -> Geometry:
    return contiguous(g.shape, g.dtype, g.device)


Part = tuple[Operator, tuple[Any, ...]]
# What is known of splitting a geometry so: the signature of the history, and how each part is a view.
_several: Recent[Any, tuple[Signature, list[Part]]] = Recent(1 << 10)


def views_of(operator: Operator, input: Tensor, dim: int, sizes: Sequence[int] | None) -> tuple[Tensor, ...]:
    """Several views of a tensor, with one history that ``operator`` describes.

    They are slices of the given ``sizes`` along ``dim``, or without any its positions.
    """
    if input.__class__ is BatchedTensor:
        _, ways = _planned(operator, plain(input._geometry), dim, sizes)
        return tuple([view(part, input, arguments) for part, arguments in ways])
    geometry = input._geometry
    key = (operator, geometry, dim, None if sizes is None else tuple(sizes))
    found = _several.get(key)
    if found is None:
        found = _several.recall(key) or _several.keep(key, _planned(operator, geometry, dim, sizes))
    signature, parts = found
    storage, base, enabled = input._storage, input._base, state.enabled
    chain = () if base is None else chain_of(input)
    needs_grad = enabled and input.requires_grad
    several = (enabled and signature.operator not in _UNSAFE) or (input._multiple and not needs_grad)
    counter = input._counter
    version = storage.version if counter is None else counter.version
    if counter is not None and counter.inference:
        counter = INFERENCE
    outs: list[Tensor] = []
    for part, how in zip(signature.outputs, parts):
        out = _new(Tensor)
        out._storage = storage
        out._geometry = part
        out._base = input if base is None else base
        out._base_version = version
        out._counter = counter
        out._view = (*chain, how) if enabled and chain is not None else None
        out._requires_grad = False
        out._grad_fn = None
        if several:
            out._multiple = True
        outs.append(out)
    views = tuple(outs)
    if needs_grad and views:
        attach(operator, signature, (input,), views)
    return views


def _planned(operator: Operator, g: Geometry, dim: int, sizes: Sequence[int] | None,
             ) -> tuple[Signature, list[Part]]:
    parts: list[Part] = []
    start = 0
    for n in sizes or ():
        parts.append((SLICE, (dim, start, start + n, 1)))
        start += n
    if sizes is None:
        parts = [(SELECT, (dim, i)) for i in range(g.shape[dim])]
    geometries = tuple([op.infer((g,), attributes) for op, attributes in parts])
    return Signature(operator, (dim,), (g,), geometries, False, None), parts  # type: ignore[arg-type]


def _equal(extent: int, size: int) -> list[int]:
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0:
        if extent:
            raise RuntimeError("split_size can only be 0 if dimension size is 0, but got dimension size of "
                               f"{extent}")
        return [0]
    count = max(-(-extent // size), 1)
    return [size] * (count - 1) + [extent - size * (count - 1)]


_FORMS = ("Tensor input, int split_size, int dim = 0", "Tensor input, tuple of ints split_size, int dim = 0")


@api("torch", "Tensor", judge="never", as_is=("dim",))
def split(
    tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None
) -> tuple[Tensor, ...]:
    """Parts of equal size (the last may be smaller), or of the given sizes.

    >>> import flambeau as torch
    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    sections = split_size if split_size_or_sections is None else split_size_or_sections
    try:
        if isinstance(sections, (list, tuple)):
            return views_of(SPLIT_WITH_SIZES, tensor, *_checked_sizes(tensor, sections, dim))
        if tensor.ndim == 0:
            raise RuntimeError("split expects at least a 1-dimensional tensor")
        d = check_dim(dim, tensor.ndim)
        size = sections if sections.__class__ is int and sections < 1 << 63 else whole(sections)
        return views_of(SPLIT, tensor, d, _equal(tensor.shape[d], size))
    except FAILURES:
        if isinstance(tensor, Tensor) and is_integer(sections) and not is_integer(dim):
            raise invalid_combination("split", _FORMS, (tensor, sections, dim), {}) from None
        return failed("torch", "split", tensor, sections, dim)


@api("torch", "Tensor")
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of the given sizes.

    >>> import flambeau as torch
    >>> [part.tolist() for part in torch.split_with_sizes(torch.arange(3), [1, 2])]
    [[0], [1, 2]]
    """
    return views_of(SPLIT_WITH_SIZES, input, *_checked_sizes(input, split_sizes, dim))


def _checked_sizes(input: Tensor, split_sizes: Any, dim: int) -> tuple[int, list[int]]:
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = check_dim(dim, input.ndim)
    sizes = [index(n) for n in split_sizes]
    if any(n < 0 for n in sizes):
        raise RuntimeError("split_with_sizes expects split_sizes have only non-negative entries, but got "
                           f"split_sizes={sizes}")
    if sum(sizes) != input.shape[d]:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {input.shape[d]} (input "
                           f"tensor's size at dimension {d}), but got split_sizes={sizes}")
    return d, sizes


def _chunk_sizes(input: Tensor, chunks: int, dim: int) -> tuple[int, Sequence[int]]:
    if chunks.__class__ is not int or dim.__class__ is not int or chunks >= 1 << 63:
        chunks, dim = whole(chunks), whole(dim)
    g = input._geometry
    known = _chunked.get((g, chunks, dim))
    if known is not None:
        return known
    if g.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = check_dim(dim, g.ndim)
    size = -(-g.shape[d] // chunks)
    found = d, tuple([0] * chunks if size == 0 else _equal(g.shape[d], size))
    return found if g.__class__ is not Geometry else _chunked.keep((g, chunks, dim), found)


_chunked: Recent[Any, tuple[int, tuple[int, ...]]] = Recent(1 << 10)


@api("torch", "Tensor")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of equal size (the last may be smaller).

    >>> import flambeau as torch
    >>> [x.tolist() for x in torch.arange(5).chunk(2)]
    [[0, 1, 2], [3, 4]]
    """
    return views_of(SPLIT, input, *_chunk_sizes(input, chunks, dim))


@api("torch", "Tensor", judge="first")
def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As ``split``.

    >>> import flambeau as torch
    >>> torch.unsafe_split(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    if tensor.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = check_dim(dim, tensor.ndim)
    return views_of(UNSAFE_SPLIT, tensor, d, _equal(tensor.shape[d], index(split_size)))


@api("torch", "Tensor")
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """As ``split_with_sizes``.

    >>> import flambeau as torch
    >>> torch.arange(4).unsafe_split_with_sizes([1, 3])
    (tensor([0]), tensor([1, 2, 3]))
    """
    return views_of(UNSAFE_SPLIT_WITH_SIZES, input, *_checked_sizes(input, split_sizes, dim))


@api("torch", "Tensor", judge="first")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As ``chunk``.

    >>> import flambeau as torch
    >>> torch.arange(4).unsafe_chunk(2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    return views_of(UNSAFE_SPLIT, input, *_chunk_sizes(input, chunks, dim))


@api("torch", "Tensor")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The views at each position of a dimension, without that dimension.

    >>> import flambeau as torch
    >>> torch.tensor([[1, 2], [3, 4]]).unbind()
    (tensor([1, 2]), tensor([3, 4]))
    """
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = check_dim(dim, input.ndim)
    return views_of(UNBIND, input, d, None)


# --- tensor_split and its short forms -----------------------------------------------------------------------


@api("torch", "Tensor", judge="first")
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None,
                 sections: Any = None) -> tuple[Tensor, ...]:
    """So many parts, as equal as can be, or parts that begin at the given positions.

    >>> import flambeau as torch
    >>> torch.arange(5).tensor_split(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    where = next((x for x in (indices_or_sections, indices, sections) if x is not None), None)
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 "
                           "dims")
    d = check_dim(dim, input.ndim)
    if isinstance(where, Tensor):
        if where.dtype.name != "int64":
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but "
                               f"got {dtypes.SCALAR_NAMES[where.dtype]}")
        if where.ndim > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                               f"one-dimensional tensor, but got a tensor with {where.ndim} dims")
        where = where.tolist()
    extent = input.shape[d]
    if isinstance(where, (list, tuple)):
        starts = [0, *[index(i) for i in where]]
        ends: list[int | None] = [*starts[1:], None]
    else:
        if where is None or where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        small, extra = divmod(extent, where)
        starts = [i * small + min(i, extra) for i in range(where)]
        ends = [*starts[1:], extent]
    return tuple([view(SLICE, input, (d, start, end, 1)) for start, end in zip(starts, ends)])


def _short_form(input: Tensor, where: Any, dim: int, name: str, at_least: int) -> tuple[Tensor, ...]:
    if input.ndim < at_least:
        raise RuntimeError(f"torch.{name} requires a tensor with at least {at_least} dimension, but got a "
                           f"tensor with {input.ndim} dimensions!")
    if isinstance(where, int):
        extent = input.shape[dim]
        if where <= 0 or extent % where:
            raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the "
                               f"dimension {extent} is not divisible by the split_size {where}!")
    return tensor_split(input, where, dim)


@api("torch", "Tensor", judge="first")
def hsplit(
    input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None
) -> Any:
    """``tensor_split`` along the columns (of a vector: its elements).

    >>> import flambeau as torch
    >>> [part.shape for part in torch.hsplit(torch.ones(2, 4), 2)]
    [torch.Size([2, 2]), torch.Size([2, 2])]
    """
    where = next(x for x in (indices_or_sections, indices, sections) if x is not None)
    return _short_form(input, where, 0 if input.ndim == 1 else 1, "hsplit", 1)


@api("torch", "Tensor", judge="first")
def vsplit(
    input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None
) -> Any:
    """``tensor_split`` along the rows.

    >>> import flambeau as torch
    >>> [part.shape for part in torch.vsplit(torch.ones(4, 2), 2)]
    [torch.Size([2, 2]), torch.Size([2, 2])]
    """
    where = next(x for x in (indices_or_sections, indices, sections) if x is not None)
    return _short_form(input, where, 0, "vsplit", 2)


@api("torch", "Tensor", judge="first")
def dsplit(
    input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None
) -> Any:
    """``tensor_split`` along the third dimension.

    >>> import flambeau as torch
    >>> [part.shape for part in torch.dsplit(torch.ones(1, 2, 4), 2)]
    [torch.Size([1, 2, 2]), torch.Size([1, 2, 2])]
    """
    where = next(x for x in (indices_or_sections, indices, sections) if x is not None)
    return _short_form(input, where, 2, "dsplit", 3)
