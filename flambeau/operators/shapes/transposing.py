"""Dimensions in another order: transpose, permute, movedim and the properties T, mT, H, mH."""

from __future__ import annotations

from operator import index
from typing import Any

from ...graph.geometry import Geometry
from ...tensor import Tensor, check_dim, view, view_operator
from ...tensor.warned import warn_once
from ..calls.arguments import is_integer
from ..calls.complaints import FAILURES
from ..calls.extents import alone, sizes_of
from ..declaration.registry import api, failed


def _transpose_rule(g: Geometry, dim0: int, dim1: int) -> Geometry:
    a, b = check_dim(dim0, g.ndim), check_dim(dim1, g.ndim)
    if g.ndim == 0:
        return g
    shape, strides = [*g.shape], [*g.strides]
    shape[a], shape[b] = shape[b], shape[a]
    strides[a], strides[b] = strides[b], strides[a]
    return g.with_view(shape, strides, g.offset)


TRANSPOSE = view_operator("transpose", _transpose_rule, moves=True)
T = view_operator("t", lambda g: _transpose_rule(g, 0, 1) if g.ndim == 2 else g)


def is_exchanged(g: Geometry) -> bool:
    """Whether (A, B, K) lies in memory as a contiguous (B, A, K) does."""
    if g.ndim != 3 or g.is_contiguous:
        return False
    rows, _, columns = g.shape
    return g.strides == (columns, rows * columns, 1)


@TRANSPOSE.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view(TRANSPOSE, grad, ctx.attributes)


@T.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view(T, grad)


@api("torch", "Tensor", aliases=("swapdims",), judge="function")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """The view with two dimensions exchanged.

    >>> import flambeau as torch
    >>> torch.zeros(2, 3, 4).transpose(0, 2).shape
    torch.Size([4, 3, 2])
    """
    try:
        return view(TRANSPOSE, input, (dim0, dim1))
    except FAILURES:
        found: Tensor = failed("Tensor", "transpose", input, dim0, dim1)
        return found


@api("torch", "Tensor")
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """``transpose`` by NumPy's name.

    >>> import flambeau as torch
    >>> torch.zeros(2, 3).swapaxes(axis0=0, axis1=1).shape
    torch.Size([3, 2])
    """
    return view(TRANSPOSE, input, (axis0, axis1))


@api("torch", "Tensor", judge="function")
def t(input: Tensor) -> Tensor:
    """The transposed view of a matrix; vectors and scalars as they are.

    >>> import flambeau as torch
    >>> torch.t(torch.ones(2, 3)).shape
    torch.Size([3, 2])
    """
    if input._geometry.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return view(T, input)


def _permute_rule(g: Geometry, dims: tuple[int, ...]) -> Geometry:
    if len(dims) != g.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {g.ndim} is not equal to len(dims) = "
            f"{len(dims)}")
    order = [check_dim(d, g.ndim) for d in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    shape, strides = tuple(g.shape), g.strides
    return g.with_view([shape[d] for d in order], [strides[d] for d in order], g.offset)


PERMUTE = view_operator("permute", _permute_rule, moves=True)


@PERMUTE.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    dims = ctx.attributes[0]
    inverse = [0] * len(dims)
    for position, d in enumerate(dims):
        inverse[d] = position
    return view(PERMUTE, grad, (tuple(inverse),))


@api("torch", "Tensor", judge="function")
def permute(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """The view with its dimensions in the order ``dims``.

    >>> import flambeau as torch
    >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    return view(PERMUTE, input, (sizes_of(dims, "permute", "dims", alone("dims", "permute", dims, named)),))


@api("torch", "Tensor", aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """The view with the dimensions ``source`` moved to the places ``destination``.

    >>> import flambeau as torch
    >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """
    one, other = is_integer(source), is_integer(destination)
    if one != other:
        raise TypeError("movedim() received an invalid combination of arguments - got "
                        f"({type(source).__name__}, {type(destination).__name__}), but expected one of:\n"
                        " * (int source, int destination)\n * (tuple of ints source, tuple of ints "
                        "destination)\n")
    ndim = input.ndim
    sources = [index(source)] if one else list(source)
    places = [index(destination)] if other else list(destination)
    if len(sources) != len(places):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({sources} dims) should "
                           f"contain the same number of dims as destination ({places} dims)")
    from_dims, to_dims = [check_dim(d, ndim) for d in sources], [check_dim(d, ndim) for d in places]
    for name, given, found in (("source", sources, from_dims), ("destination", places, to_dims)):
        if len(set(found)) != len(found):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({given})")
    if ndim == 0:
        return input.permute(())
    order: list[int] = [-1] * ndim
    for s, d in zip(from_dims, to_dims):
        order[d] = s
    rest = iter([d for d in range(ndim) if d not in from_dims])
    return input.permute([next(rest) if d < 0 else d for d in order])


@api("torch", "Tensor")
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of (a batch of) matrices.

    >>> import flambeau as torch
    >>> torch.adjoint(torch.tensor([[1, 2]]))
    tensor([[1],
            [2]])
    """
    return _adjoint(input, "adjoint()", "tensor.adjoint()")


def _adjoint(x: Tensor, name: str, full_name: str) -> Tensor:
    if x.ndim == 0:
        _warn_of_scalar(name, "Consider using x.conj().")
        return _conjugated(x)
    return _conjugated(_exchanged_last(x, full_name))


def _exchanged_last(x: Tensor, name: str) -> Tensor:
    if x.ndim < 2:
        raise RuntimeError(f"{name} is only supported on matrices or batches of matrices. Got {x.ndim}-D "
                           "tensor.")
    return view(TRANSPOSE, x, (-2, -1)) if x.__class__ is Tensor else x.transpose(-2, -1)


def _conjugated(x: Tensor) -> Tensor:
    return x.conj() if x.dtype.is_complex else x


def _warn_of_scalar(name: str, advice: str) -> None:
    warn_once(f"{name} is deprecated on 0-D tensors. {advice}")


_IDENTITY = "This function is the identity in these cases."


def _t_property(self: Tensor) -> Tensor:
    """The dimensions reversed.

    >>> import flambeau as torch
    >>> torch.ones(2, 3).T.shape
    torch.Size([3, 2])
    """
    ndim = self.ndim
    if ndim == 0:
        _warn_of_scalar("Tensor.T", _IDENTITY)
    elif ndim != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and "
            "it will throw an error in a future release. Consider `x.mT` to transpose batches of matrices "
            "or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.")
    return view(PERMUTE, self, (tuple(range(ndim))[::-1],))


def _mt_property(self: Tensor) -> Tensor:
    """The last two dimensions exchanged.

    >>> import flambeau as torch
    >>> torch.ones(4, 2, 3).mT.shape
    torch.Size([4, 3, 2])
    """
    if self.ndim == 0:
        _warn_of_scalar("Tensor.mT", _IDENTITY)
        return self
    return _exchanged_last(self, "tensor.mT")


def _h_property(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix.

    >>> import flambeau as torch
    >>> torch.tensor([[1j, 2.0]]).H
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    ndim = self.ndim
    if ndim == 0:
        _warn_of_scalar("Tensor.H", "Consider using x.conj().")
        return _conjugated(self)
    if ndim != 2:
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
                           + (" For batches of matrices, consider using tensor.mH" if ndim > 2 else ""))
    return _conjugated(self.transpose(0, 1))


def _mh_property(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix, or of each matrix of a batch.

    >>> import flambeau as torch
    >>> torch.ones(4, 2, 3).mH.shape
    torch.Size([4, 3, 2])
    """
    return _adjoint(self, "Tensor.mH", "tensor.mH")


_properties: Any = Tensor
_properties.T = property(_t_property)
_properties.mT = property(_mt_property)
_properties.H = property(_h_property)
_properties.mH = property(_mh_property)
