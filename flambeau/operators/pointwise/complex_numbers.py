"""Complex numbers: parts, conjugates, angles, and making them from reals."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, intern
from ...size import Size
from ...tensor import Tensor, record_one, record_pair, view, view_operator
from ...tensor.aliasing.turned import CONJ_VIEW, NEG_VIEW, is_turned, turned_view
from ..calls.out import UNCONVERTED, Out
from ..declaration.definition import pointwise_geometry, pointwise_operator
from ..declaration.domain import FLOATING, require_tensor
from ..declaration.registry import api
from .arithmetic import conjugate
from .comparison import where

# --- views --------------------------------------------------------------------------------------------------


def _as_real_rule(g: Geometry) -> Geometry:
    if not g.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return intern(
        Size((*g.shape, 2)), (*[2 * s for s in g.strides], 1), 2 * g.offset, g.dtype.to_real(), g.device
    )


def _as_complex_rule(g: Geometry) -> Geometry:
    if g.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of "
            f"scalar type: {dtypes.SCALAR_NAMES[g.dtype]}"
        )
    if g.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if g.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if g.strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    for s in g.strides[:-1]:
        if s % 2:
            raise RuntimeError(
                f"Tensor must have a stride divisible by 2 for all but last dimension but got {s}"
            )
    if g.offset % 2:
        raise RuntimeError(f"Tensor must have a storage_offset divisible by 2, but got {g.offset}")
    return intern(
        Size(g.shape[:-1]),
        tuple(s // 2 for s in g.strides[:-1]),
        g.offset // 2,
        g.dtype.to_complex(),
        g.device,
    )


def _part_rule(g: Geometry, index: int) -> Geometry:
    return intern(g.shape, tuple(2 * s for s in g.strides), 2 * g.offset + index, g.dtype.to_real(), g.device)


VIEW_AS_REAL = view_operator("view_as_real", _as_real_rule)
VIEW_AS_COMPLEX = view_operator("view_as_complex", _as_complex_rule)
PART = view_operator("part", _part_rule, grad_name="SelectBackward0")


@VIEW_AS_REAL.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view_as_complex(grad.contiguous())


@VIEW_AS_COMPLEX.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view_as_real(grad.resolve_conj())


@PART.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    zero = grad * 0
    return complex(*((zero, grad) if ctx.attributes[0] else (grad, zero)))


@api("torch")
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor (...) seen as a real one (..., 2) of real and imaginary parts.

    >>> import flambeau as torch
    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if is_turned(input)[0]:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so "
            "you can view it as real, use self.resolve_conj(); however, be warned that the resulting tensor "
            "will NOT alias the original.")
    return as_reals(input)


def as_reals(input: Tensor) -> Tensor:
    """``view_as_real``, also of conjugate views."""
    return view(VIEW_AS_REAL, input)


@api("torch")
def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor (..., 2) seen as a complex one (...).

    >>> import flambeau as torch
    >>> torch.view_as_complex(torch.tensor([[1., 2.]]))
    tensor([1.+2.j])
    """
    return view(VIEW_AS_COMPLEX, input)


@api("torch")
def real(input: Tensor) -> Tensor:
    """The real parts: a view; a real tensor itself.

    >>> import flambeau as torch
    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    if not input._geometry.dtype.is_complex:
        return input
    return view(PART, conj(input) if is_turned(input)[0] else input, (0,))


@api("torch")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts: a view.

    >>> import flambeau as torch
    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input._geometry.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if is_turned(input)[0]:     # Im(conj(z)) = Im(-z)
        input = turned_view(NEG_VIEW, conj(input))
    return view(PART, input, (1,))


def _set_real(self: Tensor, value: Any) -> None:
    real(self).copy_(value if isinstance(value, Tensor) else self.new_tensor(value))


def _set_imag(self: Tensor, value: Any) -> None:
    imag(self).copy_(value if isinstance(value, Tensor) else self.new_tensor(value))


Tensor.real = property(real, _set_real)  # type: ignore[attr-defined]
Tensor.imag = property(imag, _set_imag)  # type: ignore[attr-defined]


# --- conjugates ---------------------------------------------------------------------------------------------


@CONJ_VIEW.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return conjugate(grad)


@NEG_VIEW.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return -grad


@api("torch", "Tensor", judge="function")
def conj(input: Tensor) -> Tensor:
    """The complex conjugate: a view (Note: turned storages); a real tensor itself.

    >>> import flambeau as torch
    >>> x = torch.tensor([1 + 2j]); y = torch.conj(x); _ = x.mul_(2); y
    tensor([2.-4.j])
    """
    if not input._geometry.dtype.is_complex:
        return input
    return turned_view(CONJ_VIEW, input)


@api("torch", "Tensor", judge="first")
def _neg_view(input: Tensor) -> Tensor:
    """``-input``: a view."""
    return turned_view(NEG_VIEW, input)


CONJ_PHYSICAL = pointwise_operator("conj_physical", lambda m, input: m.conj(input))


@CONJ_PHYSICAL.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return conj_physical(grad)


@api("torch", "Tensor", out=UNCONVERTED, inplace=True)
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate.

    >>> import flambeau as torch
    >>> torch.conj_physical(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return record_one(CONJ_PHYSICAL, input) if input._geometry.dtype.is_complex else input


@api("torch", "Tensor", judge="function")
def resolve_conj(input: Tensor) -> Tensor:
    """A copy in which conjugates are computed; a tensor that is no conjugate view itself.

    >>> import flambeau as torch
    >>> torch.resolve_conj(torch.tensor([1 + 1j]).conj())
    tensor([1.-1.j])
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"must be Tensor, not {type(input).__name__}")  # worded where it is judged
    return input.clone() if is_turned(input)[0] else input


@api("torch", "Tensor", judge="first")
def resolve_neg(input: Tensor) -> Tensor:
    """A copy in which negations are computed; a tensor that is no negative view itself.

    >>> import flambeau as torch
    >>> torch.tensor([1j]).conj().imag.resolve_neg()
    tensor([-1.])
    """
    return input.clone() if is_turned(input)[1] else input


@api("torch", "Tensor", judge="first")
def is_conj(input: Tensor) -> bool:
    """Whether the tensor is a conjugate view.

    >>> import flambeau as torch
    >>> torch.is_conj(torch.tensor([1j]).conj())
    True
    """
    return is_turned(input)[0]


@api("torch", "Tensor", judge="first")
def is_neg(input: Tensor) -> bool:
    """Whether the tensor is a negative view, such as the imaginary part of a conjugate one.

    >>> import flambeau as torch
    >>> torch.is_neg(torch.tensor([1j]).conj().imag)
    True
    """
    return is_turned(input)[1]


# --- angles and composition ---------------------------------------------------------------------------------

ANGLE = pointwise_operator("angle", lambda m, input: m.angle_of(input), "float")
_infer_angle = ANGLE.infer


def _angle_geometry(operands: Any, attributes: Any) -> Geometry:
    g: Geometry = _infer_angle(operands, attributes)  # type: ignore[assignment]
    return pointwise_geometry(operands, g.dtype.to_real())


ANGLE.infer = _angle_geometry


@ANGLE.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    if not input.is_complex():
        return grad * 0
    # d arg(z) = (x dy - y dx) / |z|^2
    x, y = real(input), imag(input)
    square = x * x + y * y
    nonzero = square != 0
    scale = where(nonzero, grad / where(nonzero, square, 1), 0)
    return complex(-y * scale, x * scale)


@api("torch", "Tensor", out=True)
def angle(input: Tensor) -> Tensor:
    """The angle of complex numbers; of real ones 0, or pi where negative.

    >>> import flambeau as torch
    >>> torch.angle(torch.tensor([1j, -1.]))
    tensor([1.5708, 3.1416])
    """
    return record_one(ANGLE, input)


def _complex_geometry(operands: Any, attributes: Any) -> Geometry:
    return pointwise_geometry(operands, operands[0].dtype.to_complex())


COMPLEX_OF = pointwise_operator("complex", lambda m, real, imag: m.complex_of(real, imag))
POLAR = pointwise_operator(
    "polar", lambda m, abs, angle: m.complex_of(abs * m.cos(angle), abs * m.sin(angle))
)
COMPLEX_OF.infer = POLAR.infer = _complex_geometry


@COMPLEX_OF.derivative("real", holds="real")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return real(grad)


@COMPLEX_OF.derivative("imag", holds="imag")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return imag(grad)


@POLAR.derivative("abs", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return real(conjugate(grad) * output.sgn())


@POLAR.derivative("angle", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return real(conjugate(grad) * (output * 1j))


def _check_parts(first: Any, second: Any, function: str, names: tuple[str, str]) -> None:
    require_tensor(first, function, names[0], 1)
    require_tensor(second, function, names[1], 2)
    a, b = first._geometry.dtype, second._geometry.dtype
    if a.category != FLOATING or b.category != FLOATING or dtypes.bfloat16 in (a, b):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {dtypes.SCALAR_NAMES[a]} and "
            f"{dtypes.SCALAR_NAMES[b]}"
        )
    if a is not b:
        raise RuntimeError(f"Expected object of scalar type {dtypes.SCALAR_NAMES[a]} but got scalar type "
                           f"{dtypes.SCALAR_NAMES[b]} for second argument")


_OF_SCALAR_TYPE = Out("Expected object of scalar type {Result} but got scalar type {Out} for argument 'out'")


@api("torch", out=_OF_SCALAR_TYPE)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from real and imaginary parts.

    >>> import flambeau as torch
    >>> torch.complex(torch.tensor([1.]), torch.tensor([2.]))
    tensor([1.+2.j])
    """
    _check_parts(real, imag, "complex", ("real", "imag"))
    return record_pair(COMPLEX_OF, real, imag)


@api("torch", out=_OF_SCALAR_TYPE)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers from absolute values and angles.

    >>> import flambeau as torch
    >>> torch.polar(torch.tensor([2.]), torch.tensor([0.]))
    tensor([2.+0.j])
    """
    _check_parts(abs, angle, "polar", ("abs", "angle"))
    return record_pair(POLAR, abs, angle)


