"""The operator of Fourier transforms: its kernel, which is NumPy's, its strides and its derivative."""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry, intern
from ...graph.operator import Operator
from ...graph.strides import row_major_strides
from ...size import Size
from ...tensor import Tensor, record
from ..declaration.definition import operator
from ..declaration.prices import per_element
from ..shapes.joining import cat


def _geometry_of(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    dims, sizes, kind = attributes[:3]
    shape = list(g.shape)
    for d, n in zip(dims, sizes):
        shape[d] = n
    if kind == "r2c":
        shape[dims[-1]] = sizes[-1] // 2 + 1
    dtype = g.dtype.to_real() if kind == "c2r" else g.dtype.to_complex()
    # The other dimensions come first in memory, in their order, then those that are transformed.
    others = sorted((d for d in range(g.ndim) if d not in dims), key=lambda d: -g.strides[d])
    order = (*others, *dims)
    strides = [0] * g.ndim
    for d, stride in zip(order, row_major_strides([shape[d] for d in order])):
        strides[d] = stride
    return intern(Size(shape), tuple(strides), 0, dtype, g.device)


def _kernel(
    m: Any, input: Any, dims: tuple[int, ...], sizes: tuple[int, ...], kind: str, inverse: bool, norm: str
) -> Any:
    """``kind``: "c2c", "r2c" (half of the spectrum along the last of dims) or "c2r"."""
    if kind != "c2c":
        if len(dims) == 1:      # NumPy's forms for one dimension cost half as much to call
            return (m.fft.rfft if kind == "r2c" else m.fft.irfft)(input, sizes[0], dims[0], norm)
        return (m.fft.rfftn if kind == "r2c" else m.fft.irfftn)(input, sizes, dims, norm)
    if not m.iscomplexobj(input):
        input = _whole_spectrum(m, input, dims[-1], sizes[-1], inverse, norm)
        dims, sizes = dims[:-1], sizes[:-1]
    if len(dims) == 1:
        return (m.fft.ifft if inverse else m.fft.fft)(input, sizes[0], dims[0], norm)
    return (m.fft.ifftn if inverse else m.fft.fftn)(input, sizes, dims, norm) if dims else input


# Of a normalization, that of the transform in the other direction which is the adjoint.
OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _whole_spectrum(m: Any, x: Any, d: int, n: int, inverse: bool, norm: str) -> Any:
    """The transform of real numbers along one dimension, of which half is the conjugate of the other half."""
    half = m.fft.rfft(x, n, d, OPPOSITE[norm] if inverse else norm)
    if inverse:
        half = m.conj(half)
    if d != x.ndim - 1:
        half = m.moveaxis(half, d, -1)
    whole = m.empty((*half.shape[:-1], n), half.dtype)
    whole[..., :n // 2 + 1] = half
    m.conj(half[..., (n - 1) // 2:0:-1], out=whole[..., n // 2 + 1:])
    return whole if d == x.ndim - 1 else m.moveaxis(whole, -1, d)


def _gradient(ctx: Any, grad: Tensor) -> Tensor:
    """The adjoint of a transform is the transform in the other direction, with the other normalization."""
    dims, sizes, kind, inverse, norm = ctx.attributes
    shape = ctx.operand_geometry(0).shape
    other = OPPOSITE[norm]
    if kind == "c2c":
        back = transformed(grad, dims, sizes, "c2c", not inverse, other)
        back = back if ctx.operand_geometry(0).dtype.is_complex else back.real
    elif kind == "r2c":  # zeros for the half that was left out, then the real part
        whole = resized(grad, (dims[-1],), (sizes[-1],))
        back = transformed(whole, dims, sizes, "c2c", True, other).real
    else:
        back = _c2r_gradient(grad, dims, sizes, other)
    return resized(back, dims, tuple(shape[d] for d in dims))


def _operator(grad_name: str) -> Operator:
    op = operator("fft", _geometry_of, grad_name=grad_name, price=per_element(5.0))(_kernel)
    op.derivative("input", once=grad_name == "FftR2CBackward0")(_gradient)
    return op


_OPERATORS = {
    "c2c": _operator("FftC2CBackward0"),
    "r2c": _operator("FftR2CBackward0"),
    "c2r": _operator("FftC2RBackward0"),
}


def transformed(x: Tensor, *attributes: Any) -> Tensor:
    """Record a transform (dims, sizes, kind, inverse, norm)."""
    real = not x.dtype.is_complex and len(attributes[0]) == 1   # others are converted first, in PyTorch
    return record(_OPERATORS["r2c" if real else attributes[2]], (x,), attributes)


def _c2r_gradient(grad: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...], norm: str) -> Tensor:
    """Half of the spectrum of grad; the frequencies that stand for two count twice."""
    half = transformed(grad, dims, sizes, "r2c", False, norm)
    last, n = dims[-1], sizes[-1]
    doubled = n - half.shape[last]
    if doubled <= 0:
        return half

    tail = half.shape[last] - 1 - doubled
    parts = [half.narrow(last, 0, 1), half.narrow(last, 1, doubled) * 2, half.narrow(last, 1 + doubled, tail)]
    return cat([p for p in parts if p.shape[last]], last)


def resized(x: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Tensor:
    """x cut, or filled up with zeros, to given extents."""
    for d, n in zip(dims, sizes):
        have = x.shape[d]
        if have > n:
            x = x.narrow(d, 0, n)
        elif have < n:
            shape = list(x.shape)
            shape[d] = n - have
            x = cat([x, x.new_zeros(shape)], d)
    return x
