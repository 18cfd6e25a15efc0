"""Dimensions added, dropped and repeated without copying: squeeze, unsqueeze, expand, broadcasting."""

from __future__ import annotations

from operator import index
from typing import Any

from ...graph.geometry import Geometry
from ...size import Size
from ...tensor import Tensor, check_dim, view, view_operator
from ..calls.arguments import invalid_combination, whole
from ..calls.extents import sizes_of, type_in_checks
from ..declaration import definition
from ..declaration.registry import NAMESPACES, api


def _expand_rule(g: Geometry, shape: tuple[int, ...]) -> Geometry:
    lead = len(shape) - g.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand({type_in_checks(g)}{{{list(g.shape)}}}, size={list(shape)}): the number of sizes "
            f"provided ({len(shape)}) must be greater or equal to the number of dimensions in the tensor "
            f"({g.ndim})")
    sizes, strides, own = list(shape), [0] * len(shape), tuple(g.shape)
    for d in reversed(range(len(shape))):
        if d < lead:
            if shape[d] < 0:
                raise RuntimeError(f"The expanded size of the tensor ({shape[d]}) isn't allowed in a "
                                   f"leading, non-existing dimension {d}")
            if shape[d] == 1:  # not repeated: the stride of a contiguous dimension
                strides[d] = sizes[d + 1] * strides[d + 1] if d + 1 < len(shape) else 0
            continue
        n, s = own[d - lead], g.strides[d - lead]
        if shape[d] == -1 or shape[d] == n:
            sizes[d], strides[d] = n, s
        elif n != 1 or shape[d] < 0:
            raise RuntimeError(f"The expanded size of the tensor ({shape[d]}) must match the existing size "
                               f"({n}) at non-singleton dimension {d}.  Target sizes: {list(shape)}.  Tensor "
                               f"sizes: {list(g.shape)}")
    return g.with_view(sizes, strides, g.offset)


EXPAND = view_operator("expand", _expand_rule, moves=True)


@EXPAND.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad.sum_to_size(ctx.operand_geometry(0).shape)


@api("Tensor", judge="never")
def expand(input: Tensor, *sizes: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """The view with dimensions of extent 1 repeated without copying.

    >>> import flambeau as torch
    >>> torch.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if not sizes and size is None:
        raise TypeError('expand() missing 1 required positional arguments: "size"')
    return view(EXPAND, input, (sizes_of(sizes, "expand", "size", size),))


@api("Tensor")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """``self`` expanded to the shape of another tensor.

    >>> import flambeau as torch
    >>> torch.tensor([[1], [2]]).expand_as(torch.ones(2, 2))
    tensor([[1, 1],
            [2, 2]])
    """
    return view(EXPAND, self, (other._geometry.shape,))


@api("torch")
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """``input`` expanded to a shape.

    >>> import flambeau as torch
    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return view(EXPAND, input, (sizes_of((), "broadcast_to", "size", size),))


def _broadcast_to(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """The same tensor expanded to a shape, given as numbers or as a tuple.

    >>> import flambeau as torch
    >>> torch.tensor([1, 2]).broadcast_to(2, 2)
    tensor([[1, 2],
            [1, 2]])
    """
    if not sizes and size is None:
        raise TypeError('broadcast_to() missing 1 required positional arguments: "size"')
    return broadcast_to(self, sizes_of(sizes, "broadcast_to", "size", size))


_broadcast_to.__name__ = "broadcast_to"
api("Tensor")(_broadcast_to)


@api("torch")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors expanded to their common shape; one that has it is returned as it is.

    >>> import flambeau as torch
    >>> a, b = torch.broadcast_tensors(torch.zeros(3), torch.zeros(2, 1))
    >>> a.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if not tensors:
        return ()
    shape = definition.broadcast_shapes([x._geometry.shape for x in tensors])
    return tuple([x if x._geometry.shape == shape else view(EXPAND, x, (shape,)) for x in tensors])


def broadcast_shapes(*shapes: Any) -> Size:
    """The common shape of shapes.

    >>> import flambeau as torch
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    result: list[int] = []
    for number, shape in enumerate(shapes):
        if shape is None:
            continue
        if isinstance(shape, str):
            raise TypeError("'<' not supported between instances of 'str' and 'int'")
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError("Input shapes should be of type ints, a tuple of ints, or a list of ints, got "
                               f"{shape}")
        shape = (shape,) if isinstance(shape, int) else tuple([index(n) for n in shape])
        result = [1] * (len(shape) - len(result)) + result
        for back in range(1, len(shape) + 1):
            n = shape[-back]
            if n == result[-back] or n == 1:
                continue
            if result[-back] != 1 or n < 0:
                raise RuntimeError(f"Attempting to broadcast a dimension of length {n} at {-back}! "
                                   "Mismatching argument at "
                                   f"index {number} had {shape}; but expected shape should be broadcastable "
                                   f"to {result}")
            result[-back] = n
    return Size(result)


NAMESPACES["torch"]["broadcast_shapes"] = broadcast_shapes


# --- squeeze and unsqueeze ----------------------------------------------------------------------------------


def _squeeze_rule(g: Geometry, dims: tuple[int, ...] | None = None) -> Geometry:
    if dims is not None:
        found = [check_dim(d, g.ndim) for d in dims]
        for position, d in enumerate(found):
            if d in found[:position]:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        dims = tuple(found)
    kept = [d for d in range(g.ndim) if g.shape[d] != 1 or (dims is not None and d not in dims)]
    return g.with_view([g.shape[d] for d in kept], [g.strides[d] for d in kept], g.offset)


SQUEEZE = view_operator("squeeze", _squeeze_rule, moves=True)
SQUEEZE_DIM = view_operator("squeeze", lambda g, dim: _squeeze_rule(g, (dim,)), grad_name="SqueezeBackward1")
SQUEEZE_DIMS = view_operator("squeeze", _squeeze_rule, grad_name="SqueezeBackward2")
for _operator in (SQUEEZE, SQUEEZE_DIM, SQUEEZE_DIMS):
    @_operator.derivative("input")
    def _(ctx: Any, grad: Tensor) -> Tensor:
        return grad.reshape(ctx.operand_geometry(0).shape)


_ABSENT: Any = object()     # None is no dimension


@api("torch", "Tensor")
def squeeze(input: Tensor, dim: Any = _ABSENT) -> Tensor:
    """The view without (all, or the given) dimensions of extent 1.

    >>> import flambeau as torch
    >>> torch.zeros(1, 2, 1).squeeze(0).shape
    torch.Size([2, 1])
    """
    if dim is _ABSENT:
        return view(SQUEEZE, input)
    if isinstance(dim, (tuple, list)):
        return view(SQUEEZE_DIMS, input, (tuple(dim),))
    return view(SQUEEZE_DIM, input, (dim if dim.__class__ is int else whole(dim),))


def _unsqueeze_rule(g: Geometry, dim: int) -> Geometry:
    d = check_dim(dim, g.ndim + 1)
    shape, strides = [*g.shape], [*g.strides]
    strides.insert(d, shape[d] * strides[d] if d < g.ndim else 1)
    shape.insert(d, 1)
    return g.with_view(shape, strides, g.offset)


UNSQUEEZE = view_operator("unsqueeze", _unsqueeze_rule, moves=True)


@UNSQUEEZE.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view(SQUEEZE_DIM, grad, ctx.attributes)


@api("torch", "Tensor")
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """The view with a dimension of extent 1 at ``dim``.

    >>> import flambeau as torch
    >>> torch.zeros(2, 3).unsqueeze(1).shape
    torch.Size([2, 1, 3])
    """
    return view(UNSQUEEZE, input, (dim if dim.__class__ is int else whole(dim),))


# --- at least so many dimensions ----------------------------------------------------------------------------


def _each(name: str, tensors: tuple[Any, ...], function: Any) -> Any:
    if len(tensors) == 1:
        if isinstance(tensors[0], Tensor):
            return function(tensors[0])
        if not isinstance(tensors[0], (tuple, list)):
            raise invalid_combination(name, ("Tensor input", "tuple of Tensors tensors"), tensors, {})
        tensors = tuple(tensors[0])
    for x in tensors:
        if not isinstance(x, Tensor):
            raise TypeError(f"must be Tensor, not {type(x).__name__}")     # worded where it is judged
    return tuple([function(x) for x in tensors])


@api("torch")
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension.

    >>> import flambeau as torch
    >>> torch.atleast_1d(torch.tensor(2.))
    tensor([2.])
    """
    return _each("atleast_1d", tensors, lambda x: x.reshape(1) if x.ndim == 0 else x)


@api("torch")
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions; a vector becomes a row.

    >>> import flambeau as torch
    >>> torch.atleast_2d(torch.tensor([1., 2.]))
    tensor([[1., 2.]])
    """
    return _each("atleast_2d", tensors,
                 lambda x: x.reshape(1, 1) if x.ndim == 0 else x.unsqueeze(0) if x.ndim == 1 else x)


@api("torch")
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions; (N,) becomes (1, N, 1) and (N, M) becomes (N, M, 1).

    >>> import flambeau as torch
    >>> torch.atleast_3d(torch.tensor([1., 2.])).shape
    torch.Size([1, 2, 1])
    """
    def three(x: Tensor) -> Tensor:
        if x.ndim == 0:
            return x.reshape(1, 1, 1)
        if x.ndim == 1:
            return x.unsqueeze(0).unsqueeze(-1)
        return x.unsqueeze(-1) if x.ndim == 2 else x
    return _each("atleast_3d", tensors, three)
