"""Arithmetic of sparse tensors: sums, products, and functions that are 0 at 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from .. import operators as ops
from ..operators.declaration.definition import NUMBERS
from ..tensor import Tensor, assign
from ..tensor.aliasing.inplace import check_writable
from ..tensor.construct import from_array
from .compressed import CompressedTensor, compressed
from .construct import empty_coo, positions
from .conversions import coalesce, dense_dim, like_layout, sampled, sparse_dim, to_dense, to_sparse
from .kernels import named, pick, spread
from .tensor import CooTensor, SparseTensor, coo, handles, unsupported

# --- sums ---------------------------------------------------------------------------------------------------


def _scaled(x: Tensor, alpha: Any) -> Tensor:
    return x if isinstance(alpha, NUMBERS) and alpha == 1 else x * alpha


@handles("add")
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """Sparse + sparse is sparse, dense + sparse is dense."""
    if not isinstance(input, SparseTensor):
        if not isinstance(input, Tensor):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return input + _scaled(to_dense(other), alpha)
    if not isinstance(other, SparseTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    return _sum(input, other, alpha, "Add")


@handles("sub", "subtract")
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """As ``add``, of the negative."""
    if isinstance(input, SparseTensor) and isinstance(other, SparseTensor):
        return _sum(input, other, -alpha, "Sub")
    if isinstance(input, SparseTensor) or not isinstance(input, Tensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    return input - _scaled(to_dense(other), alpha)


def _sum(a: SparseTensor, b: SparseTensor, alpha: Any, name: str) -> Any:
    if a.shape != b.shape:
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != "
                           f"{list(b.shape)}")
    if isinstance(a, CompressedTensor):
        total = _sum(coalesce(to_sparse(a)), coalesce(to_sparse(b)), alpha, name)
        return like_layout(total, a)
    first, second = to_sparse(a), to_sparse(b)
    if dense_dim(first) != dense_dim(second):
        raise RuntimeError(f"add: expected 'self' and 'other' to have same number of sparse dimensions, but "
                           f"{sparse_dim(first)} != {sparse_dim(second)}")
    entries, others = first._entries, _scaled(second._entries, alpha)
    dtype = dtypes.promote_types(entries.dtype, others.dtype)
    both = ops.cat([entries.to(dtype), others.to(dtype)])
    places = ops.cat([first._indices_, second._indices_], 1)
    if not _is_merged(first, second):
        return coo(places, named(both, name), first.shape)
    here, there = positions(first._indices_, first.shape), positions(second._indices_, first.shape)
    sorted_ = first._coalesced and second._coalesced
    take, target = _united(here, there) if sorted_ else _merged(here.tolist(), there.tolist())
    summed = spread(both, from_array(target.reshape(1, -1)), (take.size, *both.shape[1:]))
    return coo(places.index_select(1, from_array(take)), named(summed, name), first.shape, sorted_)


def _is_merged(a: SparseTensor, b: SparseTensor) -> bool:
    """Whether a sum joins entries of the same place (as PyTorch's does, unless entries are expanded)."""
    return a._entries.is_contiguous() and b._entries.is_contiguous()


Places = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def _united(here: np.ndarray[Any, Any], there: np.ndarray[Any, Any]) -> Places:
    """Of two ascending lists: for each place one entry that has it, and the place of each entry."""
    _, first, group = np.unique(np.concatenate((here, there)), return_index=True, return_inverse=True)
    return first, group.reshape(-1)


def _merged(here: list[int], there: list[int]) -> Places:
    """Of two lists in any order, merged by taking the smaller head: heads that are equal become one."""
    count = len(here)
    take: list[int] = []
    target = [0] * (count + len(there))
    end = 1 + max(*here, *there, 0, 0)     # behind both lists, so that neither's length is asked for
    here, there = [*here, end], [*there, end]
    i = j = 0
    left, right = here[0], there[0]
    while left != end or right != end:
        if left <= right:
            target[i] = len(take)
            if left == right:
                target[count + j] = len(take)
                j += 1
            take.append(i)
            i += 1
        else:
            target[count + j] = len(take)
            take.append(count + j)
            j += 1
        left, right = here[i], there[j]
    return np.array(take, np.int64), np.array(target, np.int64)


# --- products -----------------------------------------------------------------------------------------------


@handles("mul", "multiply")
def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """A product has entries where a sparse factor has them."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if isinstance(other, SparseTensor):
        return _product(input, other)
    if not isinstance(other, Tensor) or other.ndim == 0:
        return input._with(input._entries * other)
    if other.shape != input.shape:
        other = other.expand(input.shape)
    return input._with(input._entries * pick(other, input._places()).reshape(input._entries.shape))


def _product(a: SparseTensor, b: SparseTensor) -> Any:
    if a.shape != b.shape:
        raise RuntimeError(f"mul: expected 'self' and 'other' to have same sizes, but {list(a.shape)} != "
                           f"{list(b.shape)}")
    if isinstance(a, CompressedTensor):
        return like_layout(_product(coalesce(to_sparse(a)), coalesce(to_sparse(b))), a)
    first, second = to_sparse(a), to_sparse(b)
    if not (first._coalesced and second._coalesced):
        if second._coalesced:
            first, second = second, first
        return second._with(named(second._entries * sampled(coalesce(first), second._indices_), "Mul"))
    _, at, other = np.intersect1d(positions(first._indices_, first.shape),
                                  positions(second._indices_, first.shape), True, True)
    left, right = from_array(at), from_array(other)
    entries = first._entries.index_select(0, left) * second._entries.index_select(0, right)
    return coo(first._indices_.index_select(1, left), entries, first.shape, True)


@handles("div", "divide", "true_divide")
def div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    """A sparse tensor by a number."""
    if isinstance(other, SparseTensor) or not isinstance(input, SparseTensor):
        raise RuntimeError("Sparse division requires a dense divisor, but got a sparse one"
                           if isinstance(input, SparseTensor) else "div(dense, sparse) is not supported")
    if isinstance(other, Tensor) and other.ndim:
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                           f"{list(other.shape)} for divisor)")
    if rounding_mode is not None:
        input = coalesce(input) if isinstance(input, CooTensor) else input
    return input._with(ops.div(input._entries, other, rounding_mode=rounding_mode))


@handles("floor_divide", "__floordiv__")
def floor_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """A sparse tensor by a number, rounded down."""
    return div(input, other, rounding_mode="floor")


@handles("pow")
def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """The power of each element; the exponent is a number other than 0."""
    if isinstance(exponent, Tensor):
        raise unsupported("pow.Tensor_Tensor_out")
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result "
                           "tensor dense")
    return _coalesced(input)._with(_coalesced(input)._entries ** exponent)


# --- functions that are 0 at 0 ------------------------------------------------------------------------------

_LINEAR = ("neg", "negative", "positive", "conj", "conj_physical", "resolve_conj", "resolve_neg")
_ZERO_AT_ZERO = (
    "abs", "absolute", "sqrt", "sin", "tan", "asin", "arcsin", "atan", "arctan", "sinh", "tanh",
    "asinh", "arcsinh", "atanh", "arctanh", "expm1", "log1p", "ceil", "floor", "round", "trunc", "fix",
    "frac", "sign", "sgn", "relu", "erf", "erfinv", "deg2rad", "rad2deg", "square", "isnan", "isinf",
    "isposinf", "isneginf", "signbit", "nan_to_num", "angle")


def _coalesced(x: Any) -> Any:
    return coalesce(x) if isinstance(x, CooTensor) else x


def _elementwise(name: str, prepare: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function on entries, which are first added up by place unless the function is linear."""
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        x = prepare(input)
        kwargs.pop("inplace", None)
        return x._with(getattr(ops, name)(x._entries, *args, **kwargs))
    function.__name__ = name
    return function


def _in_place(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The method that writes the result to ``self``, sparse or dense."""
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self, SparseTensor):
            return assign(self, to_dense(function(self, *args, **kwargs)), name)
        check_writable(self._entries)
        result = function(self, *args, **kwargs)
        if result.dtype is not self.dtype:
            result = result._with(result._entries.to(self.dtype))
        self._become(result)
        return self
    method.__name__ = name
    return method


for _name in (*_LINEAR, *_ZERO_AT_ZERO):
    if hasattr(ops, _name):
        _function = _elementwise(_name, _coalesced if _name in _ZERO_AT_ZERO else lambda x: x)
        handles(_name)(_function)
        handles(_name + "_")(_in_place(_function, _name + "_"))
for _name, _function in (("sub", sub), ("mul", mul), ("div", div), ("pow", pow)):
    handles(_name + "_")(_in_place(_function, _name + "_"))
handles("__imul__")(_in_place(mul, "mul_"))
handles("__itruediv__")(_in_place(div, "div_"))


@handles("add_", "__iadd__")
def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Add in place; to a dense tensor at the entries' places only."""
    if isinstance(self, SparseTensor):
        listed = isinstance(self, CooTensor) and other._sparse and not _is_merged(self, other)
        _in_place(add, "add_")(self, other, alpha=alpha)
        if listed and self._nnz() > self.numel():  # so that it cannot grow without bound
            small = coalesce(self)
            self._become(coo(small._indices_, small._entries, self.shape))
        return self
    if self.shape != other.shape:
        raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size "
                           f"{list(self.shape)} while other has size {list(other.shape)} (FYI: dense-sparse "
                           "addition does not currently support broadcasting)")
    places, entries = other._places(), _scaled(other._elements(), alpha).to(self.dtype)
    if places.shape[0] == 1:
        return self.index_add_(0, places[0], entries)
    return self.index_put_(tuple(places), entries, accumulate=True)


@handles("sub_", "__isub__")
def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Subtract in place."""
    return add_(self, other, alpha=-alpha)


# --- copies and types ---------------------------------------------------------------------------------------


@handles("clone")
def clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy with memory of its own."""
    return input._with(input._entries.clone())


@handles("zero_")
def zero_(self: Any) -> Any:
    """Drop all entries."""
    check_writable(self._entries)
    if isinstance(self, CompressedTensor):
        self._entries.zero_()
        return self
    empty = empty_coo(self.shape, self.dtype, self.device, dense_dim=dense_dim(self))
    empty._entries.requires_grad_(self.requires_grad)
    self._become(empty)
    return self


@handles("copy_")
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take over the elements of another tensor of the same layout."""
    if self.layout is not src.layout:
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{self.type()} and src type = {src.type()}")
    check_writable(self._entries)
    self._become(src._with(src._entries.to(self.dtype).clone()))
    return self


@handles("zeros_like", "empty_like")
def zeros_like(input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
               pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None) -> Any:
    """A tensor of zeros: without entries where coordinates are stored."""
    dtype = dtype or input.dtype
    if isinstance(input, CooTensor):
        return empty_coo(input.shape, dtype, device or input.device, requires_grad, dense_dim(input))
    lead = input._plain.ndim - 1
    shape = (*input._entries.shape[:lead], 0, *input._entries.shape[lead + 1:])
    entries = input._entries.new_zeros(shape, dtype=dtype, requires_grad=requires_grad)
    return compressed(ops.zeros_like(input._compressed), input._plain[..., :0], entries, input.shape,
                      input.layout)


@handles("new_zeros", "new_empty")
def new_zeros(self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
              layout: Any = None, pin_memory: bool = False) -> Any:
    """A tensor of zeros without entries, of this type."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    return empty_coo(shape, dtype or self.dtype, device or self.device, requires_grad)


@handles("to")
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor with entries of another type, or on another device."""
    entries = self._entries.to(*args, **kwargs)
    if entries is self._entries:
        return self
    if entries.device != self.device and isinstance(self, CooTensor):
        if entries.device.type == "meta":
            return empty_coo(self.shape, entries.dtype, entries.device, dense_dim=dense_dim(self))
        return coo(self._indices_.to(entries.device), entries, self.shape, self._coalesced)
    return self._with(entries)


def _conversion(name: str) -> Callable[..., Any]:
    def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
        entries = getattr(self._entries, name)(*args, **kwargs)
        return self if entries is self._entries else self._with(entries)
    convert.__name__ = name
    return convert


for _name in ("double", "float", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool", "cpu",
              "contiguous", "cfloat", "cdouble"):
    handles(_name)(_conversion(_name))


# --- Python's operators -------------------------------------------------------------------------------------


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self)


_T: Any = SparseTensor
_T.__add__, _T.__radd__ = add, _reflected(add)
_T.__sub__, _T.__rsub__ = sub, _reflected(sub)
_T.__mul__, _T.__rmul__ = mul, _reflected(mul)
_T.__truediv__, _T.__pow__ = div, pow
_T.__neg__ = lambda self: self._with(-self._entries)
