"""Scatter with a reduction: scatter_reduce and index_reduce (sum, prod, mean, amax, amin)."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor, check_dim, record
from ...tensor.warned import warn_once
from ..calls.out import EXACT
from ..declaration.definition import dense_as_first, operator
from ..declaration.prices import per_element
from ..declaration.registry import api
from ..pointwise.comparison import where
from . import bounds
from .indexing import check_source, check_vector
from .scattering import check_grid, check_src, cut, gather, into_shape, positions, require_grid

_FUNCTIONS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum",
              "max": "maximum", "min": "minimum"}
_WITHOUT_GRADIENT = ("max", "min")      # names that ``scatter_reduce`` takes, too


def _start(m: Any, dtype: Any, reduce: str) -> Any:
    """What a reduction starts from where the input does not count."""
    if reduce in ("amax", "amin", "max", "min"):
        largest = reduce in ("amax", "max")
        if dtype.kind == "f":
            return -m.inf if largest else m.inf
        if dtype.kind == "b":
            return not largest
        limits = m.iinfo(dtype)
        return limits.min if largest else limits.max
    return 1 if reduce == "prod" else 0


def _scattered(m: Any, input: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool) -> Any:
    require_grid(index, input, dim)
    where = positions(m, index, input.shape, dim).reshape(-1)
    values = m.wide(cut(src, index)).reshape(-1)
    result = m.wide(m.array(input, order="C")).reshape(-1)
    if not include_self:
        result[where] = _start(m, result.dtype, reduce)
    getattr(m, _FUNCTIONS[reduce]).at(result, where, values)
    if reduce == "mean":
        count = m.bincount(where, minlength=result.size) + (1 if include_self else 0)
        count = m.maximum(count, 1).astype(result.real.dtype)
        result = m.floor_divide(result, count) if result.dtype.kind in "iu" else result / count
    return result.reshape(input.shape)


SCATTER_REDUCE = operator("scatter_reduce", dense_as_first, price=per_element(5.0))(_scattered)
# Means, whose gradients need no values.
SCATTER_MEANS = operator("scatter_means", dense_as_first, price=per_element(5.0),
                         grad_name="ScatterReduceBackward0")(_scattered)


def _gradients(
    ctx: Any, grad: Tensor, input: Tensor, index: Tensor, src: Tensor, output: Tensor
) -> tuple[Any, Any]:
    """Gradients by the input and by the part of the source that the index uses."""
    dim, reduce, include_self = ctx.attributes
    if reduce in _WITHOUT_GRADIENT:
        raise RuntimeError("Expected 'reduce' to be one of 'sum', 'prod', 'mean', 'amax', 'amin' but got "
                           f"{reduce}.")
    used = src if src.shape == index.shape else _corner(src, index)
    if reduce in ("amax", "amin"):
        by_input, by_src = _extremum(grad, input, index, used, output, dim)
    elif reduce == "prod":
        by_input, by_src = _product(grad, input, index, used, output, dim, include_self)
    else:
        by_input, by_src = grad, gather(grad, dim, index)
    if not include_self:
        by_input = by_input.scatter(dim, index, 0)
    return by_input, into_shape(by_src, ctx.operand_geometry(2).shape)


def _corner(src: Tensor, index: Tensor) -> Tensor:
    for d, n in enumerate(index.shape):
        src = src.narrow(d, 0, n)
    return src


def _extremum(
    grad: Tensor, input: Tensor, index: Tensor, src: Tensor, output: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Gradients of amax and amin, which equal candidates share."""
    ours = (input == output).to(grad.dtype)
    theirs = (src == gather(output, dim, index)).to(grad.dtype)
    shared = grad / ours.scatter_add(dim, index, theirs)
    return ours * shared, theirs * gather(shared, dim, index)


def _product(
    grad: Tensor,
    input: Tensor,
    index: Tensor,
    src: Tensor,
    output: Tensor,
    dim: int,
    include_self: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of products; where factors are zero, nothing is divided by them."""
    by_input = grad * _reduced(input.new_ones(input.shape), dim, index, src, "prod", True)
    # Where one factor is zero, its gradient is the product of the others; where several are, all vanish.
    zeros = (src == 0)
    count = src.new_zeros(input.shape).scatter_add(dim, index, zeros.to(src.dtype))
    if include_self:
        count = count + (input == 0).to(src.dtype)
    lone = zeros & (gather(count, dim, index) == 1)
    others = _reduced(input, dim, index, src.masked_fill(lone, 1), "prod", include_self)
    by_src = gather(grad * output, dim, index) / src.masked_fill(zeros, 1)
    alone = gather(grad * others, dim, index)
    return by_input, where(lone, alone, by_src.masked_fill(zeros, 0))


def _counts(values: Tensor, dim: int, index: Tensor, include_self: bool) -> Tensor:
    """How many elements each mean is of, 1 at least: of an index that was expanded, as many everywhere."""
    narrow, shape = index, list(values.shape)
    for d, (n, stride) in enumerate(zip(index.shape, index.stride(), strict=True)):
        if d != dim and not stride and n == shape[d]:
            narrow, shape[d] = narrow.narrow(d, 0, 1), 1
    count = (values.new_ones if include_self else values.new_zeros)(shape)
    count = count.scatter_add(dim, narrow, values.new_ones(()).expand(narrow.shape))
    return count if include_self else count.clamp_min(1)


@SCATTER_MEANS.derivative("input", "src", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> tuple[Any, Any]:
    dim, _, include_self = ctx.attributes
    wide = grad.float() if grad.dtype.itemsize < 4 else grad    # in 16 bits there are no counts above 256
    each = (wide / _counts(wide, dim, index, include_self)).to(grad.dtype)
    by_src = into_shape(gather(each, dim, index), ctx.operand_geometry(2).shape)
    return each if include_self else each.scatter(dim, index, 0), by_src


def _reduced(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    """Record the reduction."""
    kind = SCATTER_MEANS if reduce == "mean" else SCATTER_REDUCE
    return record(kind, (input, index, src), (dim, reduce, include_self))


@SCATTER_REDUCE.derivative("input", "src", keeps="input index src output")
def _(ctx: Any, grad: Tensor, input: Tensor, index: Tensor, src: Tensor, output: Tensor) -> tuple[Any, Any]:
    return _gradients(ctx, grad, input, index, src, output)


@api("torch", "Tensor", out=EXACT, inplace="apart", judge="first")
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``input`` with the elements of ``src`` reduced into positions of one dimension.

    >>> import flambeau as torch
    >>> torch.zeros(2).scatter_reduce(0, torch.tensor([0, 0, 1]), torch.tensor([1., 5., 2.]), "amax")
    tensor([5., 2.])
    """
    if reduce not in _FUNCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    d = check_grid("scatter", input, dim, index)
    check_src("scatter", input, d, index, src)
    return _reduced(input, d, index, src, reduce, bool(include_self))


@api("torch", "Tensor", out=EXACT, inplace=True, judge="first")
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``input`` with slices of ``source`` reduced into the positions ``index`` of a dimension.

    >>> import flambeau as torch
    >>> torch.ones(2).index_reduce(0, torch.tensor([0, 0]), torch.tensor([3., 4.]), "prod")
    tensor([12.,  1.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError("index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
                           f"{reduce}.")
    warn_once("index_reduce() is in beta and the API may change at any time.")
    return reduced_slices(input, dim, index, source, reduce, include_self=include_self)


def reduced_slices(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
                   include_self: bool = True) -> Tensor:
    """``index_reduce`` of a reduction that there is."""
    check_vector("index_reduce_", index)
    d = check_dim(dim, input.ndim)
    index = index if index.ndim else index.reshape(1)
    check_source("index_reduce", input, d, index, source)
    n = input.shape[d] if input.ndim else 1
    if not n and input.ndim > 1 and index.numel():
        raise IndexError(f"select(): index 0 out of range for tensor of size {list(input.shape)} at "
                         f"dimension {d}")
    bounds.check_index(index, 0, n, IndexError, "index out of range in self")
    if input.ndim == 0:
        return _reduced(input.reshape(1), 0, index, source.reshape(-1), reduce, bool(include_self)).reshape(
            ()
        )
    grid = index.reshape([-1 if k == d else 1 for k in range(input.ndim)]).expand(source.shape)
    return _reduced(input, d, grid, source, reduce, bool(include_self))
