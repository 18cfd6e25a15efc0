"""Reading and writing by a grid of positions along one dimension: gather, scatter and their kin.

``gather`` along dimension 0 of a matrix is ``output[i][j] = input[index[i][j]][j]``; ``scatter`` inverts it.
"""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, check_dim, record, record_pair
from ...tensor.warned import warn_once
from ..calls.number_range import number_for
from ..calls.out import EXACT
from ..declaration.definition import broadcast_shapes, contiguous_as_first, operator
from ..declaration.registry import api
from ..declaration.undifferentiable import refuse_derivative
from ..shapes.slicing import SLICE
from ..shapes.view_backward import embed
from . import bounds


def check_grid(name: str, x: Tensor, dim: int, index: Tensor) -> int:
    """The dimension along which a grid of indices goes over a tensor; raise where they do not fit."""
    g, given = x._geometry, index._geometry
    if given.dtype is not dtypes.int64 and given.dtype is not dtypes.int32 and given.numel:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    d = check_dim(dim, g.ndim)
    if (given.ndim or 1) != (g.ndim or 1) and given.numel:
        raise RuntimeError("Index tensor must have the same number of dimensions as "
                           f"{'input' if name == 'gather' else 'self'} tensor")
    n = _extent(g.shape, d) if g.ndim else 1
    limits = bounds.known_range(index)
    if limits is not None and (limits[0] < 0 or limits[1] >= n):
        bounds.check_index(index, 0, n, RuntimeError, bounds.out_of_bounds(d, n))
    return d


_extent = tuple.__getitem__     # of a Size, whose own method looks for slices


def require_grid(index: Any, x: Any, dim: int) -> None:
    """In a kernel: raise where an index is out of range."""
    n = x.shape[dim] if x.ndim else 1
    bounds.require(index, 0, n, RuntimeError, bounds.out_of_bounds(dim, n))


def positions(m: Any, index: Any, shape: tuple[int, ...], dim: int) -> Any:
    """Where the elements that a grid of indices names lie in memory of a shape."""
    return m.grid_positions(index.reshape(index.shape or (1,)), shape or (1,), dim)


# --- gather -------------------------------------------------------------------------------------------------


def _gather_geometry(operands: Any, attributes: Any) -> Geometry:
    g, index = operands
    return contiguous(index.shape, g.dtype, g.device)


@operator("gather", _gather_geometry)
def GATHER(m: Any, input: Any, index: Any, dim: int) -> Any:
    require_grid(index, input, dim)
    if index.size == 0:
        return m.empty(index.shape, input.dtype)
    return m.take(input.reshape(-1), positions(m, index, input.shape, dim)).reshape(index.shape)


def _gather_backward_kernel(m: Any, grad: Any, index: Any, dim: int, shape: tuple[int, ...]) -> Any:
    grad = m.wide(grad)
    result = m.zeros(shape, grad.dtype)
    if index.size == 0:
        return result
    m.add.at(result.reshape(-1), positions(m, index, shape, dim).reshape(-1), grad.reshape(-1))
    return result


GATHER_BACKWARD = operator("gather_backward", lambda operands, attributes: contiguous(
    attributes[1], operands[0].dtype, operands[0].device))(_gather_backward_kernel)


@GATHER.derivative("input", keeps="index", holds="input")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record_pair(GATHER_BACKWARD, grad, index, (ctx.attributes[0], ctx.operand_geometry(0).shape))


@GATHER_BACKWARD.derivative("grad", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record_pair(GATHER, grad, index, (ctx.attributes[0],))


@api("torch", "Tensor", out=EXACT.but_apart())
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Elements of ``input`` at positions of one dimension; the result has the shape of ``index``.

    >>> import flambeau as torch
    >>> torch.tensor([[1, 2], [3, 4]]).gather(1, torch.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    d = check_grid("gather", input, dim, index)
    given = index._geometry
    if given.shape != input._geometry.shape and given.numel and given.ndim:
        for k, (n, most) in enumerate(zip(given.shape, input._geometry.shape)):
            if n > most and k != d:
                raise RuntimeError(f"Size does not match at dimension {k} expected index {list(index.shape)} "
                                   f"to be no larger than self {list(input.shape)} apart from dimension {d}")
    return record_pair(GATHER, input, index, (d,))


@api("torch", "Tensor", out=EXACT.but_apart())
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """``gather`` whose operands are broadcast outside ``dim``; the flattened tensor without one.

    >>> import flambeau as torch
    >>> x = torch.tensor([[30, 10], [20, 40]])
    >>> torch.take_along_dim(x, x.argmax(1, keepdim=True), 1)
    tensor([[30],
            [40]])
    """
    if indices.dtype.name != "int64":
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long but got "
                           f"{dtypes.SCALAR_NAMES[indices.dtype]}")
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of "
                           f"dimensions, but got {input.ndim} dimensions for input, and {indices.ndim} "
                           "dimensions for indices")
    d = check_dim(dim, input.ndim)
    if input.ndim == 0:
        return gather(input, 0, indices)
    rest = [(*x.shape[:d], 1, *x.shape[d + 1:]) for x in (input, indices)]
    shape = broadcast_shapes(rest)
    if 0 not in shape:
        indices = indices % input.shape[d]      # unlike in gather, positions are taken modulo the extent
    wide = input.expand(*shape[:d], input.shape[d], *shape[d + 1:])
    return gather(wide, d, indices.expand(*shape[:d], indices.shape[d], *shape[d + 1:]))


# --- scatter ------------------------------------------------------------------------------------------------


def cut(src: Any, index: Any) -> Any:
    """The part of ``src`` that an index uses."""
    return src[tuple([slice(n) for n in index.shape])] if src.shape != index.shape else src


def _scatter_kernel(m: Any, input: Any, index: Any, src: Any, dim: int, reduce: str | None) -> Any:
    require_grid(index, input, dim)
    where = positions(m, index, input.shape, dim).reshape(-1)
    if hasattr(src, "shape"):
        src = cut(src, index).reshape(-1)
    result = m.ascontiguousarray(input).reshape(-1)
    if reduce is None:
        result[where] = src
    else:
        result = m.wide(result)
        values = m.wide(src) if hasattr(src, "dtype") else result.dtype.type(src)
        (m.add if reduce == "add" else m.multiply).at(result, where, values)
    return result.reshape(input.shape)


SCATTER = operator("scatter", contiguous_as_first, owns=(0,))(_scatter_kernel)
SCATTER_VALUE = operator("scatter", contiguous_as_first, owns=(0,),
                         grad_name="ScatterBackward1")(_scatter_kernel)
SCATTER_REDUCED = operator("scatter", contiguous_as_first, owns=(0,))(_scatter_kernel)
refuse_derivative(SCATTER_REDUCED, "scatter", "input", "src")
SCATTER_ADD = operator("scatter_add", contiguous_as_first, owns=(0,))(_scatter_kernel)


@SCATTER.derivative("input", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record(SCATTER_VALUE, (grad, index, 0), (ctx.attributes[0], None))


@SCATTER.derivative("src", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return into_shape(gather(grad, ctx.attributes[0], index), ctx.operand_geometry(2).shape)


@SCATTER_VALUE.derivative("input", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record(SCATTER_VALUE, (grad, index, 0), (ctx.attributes[0], None))


@SCATTER_ADD.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@SCATTER_ADD.derivative("src", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return into_shape(gather(grad, ctx.attributes[0], index), ctx.operand_geometry(2).shape)


def into_shape(part: Tensor, shape: Any) -> Tensor:
    """``part`` in the corner of zeros of a larger shape."""
    if part.shape == shape:
        return part
    for d, n in enumerate(shape):
        if part.shape[d] != n:
            whole = (*part.shape[:d], n, *part.shape[d + 1:])
            part = embed(part, whole, SLICE, (d, 0, part.shape[d], 1))
    return part


def check_src(name: str, x: Tensor, dim: int, index: Tensor, src: Tensor) -> None:
    """Raise where positions ask for more than there is in the tensors."""
    g, given, source = x._geometry, index._geometry, src._geometry
    if g.dtype is not source.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if given.numel == 0 or given.shape == source.shape == g.shape:
        return
    if 0 < src.ndim < index.ndim:
        check_dim(src.ndim, src.ndim)     # beyond
    if (src.ndim or 1) != (index.ndim or 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for k in range(index.ndim if src.ndim and x.ndim else 0):
        if index.shape[k] > src.shape[k] or (k != dim and index.shape[k] > x.shape[k]):
            raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than self "
                               f"{list(x.shape)} apart from "
                               f"dimension {dim} and to be no larger size than src {list(src.shape)}")


_REDUCE_IS_DEPRECATED = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
    "PyTorch release. Use torch.scatter_reduce instead for more reduction options.")


@api("torch", "Tensor", out=EXACT, inplace="apart")
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """``input`` with the elements of ``src`` (or one ``value``) at positions of one dimension.

    >>> import flambeau as torch
    >>> torch.zeros(2, 3).scatter(1, torch.tensor([[0], [2]]), 1.)
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
    if value is not None:
        src = value
    d = check_grid("scatter", input, dim, index)
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    operator = SCATTER if isinstance(src, Tensor) and value is None else SCATTER_VALUE
    if operator is SCATTER:
        check_src("scatter", input, d, index, src)
        if reduce is not None:
            warn_once(_REDUCE_IS_DEPRECATED)
    else:
        for k in range(index.ndim if index.numel() and input.ndim else 0):
            if k != d and index.shape[k] > input.shape[k]:
                raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than self "
                                   f"{list(input.shape)} apart "
                                   f"from dimension {d}")
        src = number_for(src.item() if isinstance(src, Tensor) else src, input._geometry.dtype)
    if reduce is not None:
        operator = SCATTER_REDUCED
    return record(operator, (input, index, src), (d, reduce))


@api("torch", "Tensor", out=EXACT, inplace="apart")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``input`` with the elements of ``src`` added at positions of one dimension; positions may repeat.

    >>> import flambeau as torch
    >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.ones(3))
    tensor([2., 0., 1.])
    """
    d = check_grid("scatter", input, dim, index)
    check_src("scatter", input, d, index, src)
    return record(SCATTER_ADD, (input, index, src), (d, "add"))
