"""Fourier transforms: the functions of torch.fft and their arguments."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor, check_dim
from ..declaration.registry import api
from ..pointwise.arithmetic import conjugate
from .fourier import OPPOSITE, resized, transformed

_NORMS = ("backward", "ortho", "forward")


# --- arguments ----------------------------------------------------------------------------------------------


def _floating(x: Tensor, name: str, real: bool, complex_: bool) -> Tensor:
    """The operand in a type that can be transformed."""
    d = x.dtype
    if d in dtypes.LOW_PRECISION:
        raise RuntimeError(f"Unsupported dtype {dtypes.SCALAR_NAMES[d]}")
    if real and d.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {dtypes.SCALAR_NAMES[d]}")
    if d.category < dtypes.FLOATING:
        d = dtypes.get_default_dtype()
    if complex_:
        d = d.to_complex()
    return x if d is x.dtype else x.to(d)


def _norm(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in _NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norm


def _extents(x: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int]]:
    """Dimensions and extents of a transform over several dimensions."""
    if dim is not None:
        dim = [dim] if isinstance(dim, int) else list(dim)
        if x.ndim and len({check_dim(d, x.ndim) for d in dim}) != len(dim):
            raise RuntimeError("FFT dims must be unique")
    if s is not None:
        s = [s] if isinstance(s, int) else list(s)
        if dim is not None and len(dim) != len(s):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if dim and not x.ndim:
            raise IndexError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
        if len(s) > x.ndim:
            raise RuntimeError(
                f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions."
            )
    if dim is None:
        dims = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    else:
        if dim and not x.ndim:
            raise IndexError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
        dims = tuple(check_dim(d, x.ndim) for d in dim)
    sizes = [x.shape[d] if n == -1 else n for d, n in zip(dims, s or [-1] * len(dims))]
    return dims, sizes


def _check(sizes: Any) -> None:
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _transform(x: Tensor, dims: tuple[int, ...], sizes: Any, kind: str, inverse: bool, norm: str) -> Tensor:
    _check(sizes)
    if not dims:
        return x
    if any(not n for d, n in enumerate(x.shape) if d not in dims):
        raise RuntimeError("MKL FFT error: Intel oneMKL DFTI ERROR: Inconsistent configuration parameters")
    if kind == "c2r":
        x = resized(x, dims, (*sizes[:-1], sizes[-1] // 2 + 1))
    else:
        x = resized(x, dims, tuple(sizes))
    return transformed(x, dims, tuple(sizes), kind, inverse, norm)


def _c2c(name: str, x: Tensor, s: Any, dim: Any, norm: Any, inverse: bool) -> Tensor:
    x = _floating(x, name, False, False)
    dims, sizes = _extents(x, s, dim)
    if not dims:
        x = x.to(x.dtype.to_complex())
    return _transform(x, dims, sizes, "c2c", inverse, _norm(norm))


def _r2c(name: str, x: Tensor, s: Any, dim: Any, norm: Any) -> Tensor:
    x = _floating(x, name, True, False)
    dims, sizes = _extents(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return _transform(x, dims, sizes, "r2c", False, _norm(norm))


def _c2r(name: str, x: Tensor, s: Any, dim: Any, norm: Any) -> Tensor:
    x = _floating(x, name, False, True)
    dims, sizes = _extents(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    if s is None or (s[-1] if isinstance(s, (list, tuple)) else s) == -1:
        sizes[-1] = 2 * (x.shape[dims[-1]] - 1)
    return _transform(x, dims, sizes, "c2r", True, _norm(norm))


def _flipped(x: Tensor, s: Any, dim: Any, norm: Any, name: str, forward: bool) -> Tensor:
    """hfft is the real transform of a conjugate spectrum, ihfft the conjugate of a real one."""
    if forward:
        x = _floating(x, name, False, True)
        return _c2r(name, conjugate(x), s, dim, OPPOSITE[_norm(norm)])
    return conjugate(_r2c(name, x, s, dim, OPPOSITE[_norm(norm)]))


def _one(n: int | None, dim: int) -> tuple[Any, Any]:
    if n == -1:     # which stands for the tensor's own extent where there are several
        raise RuntimeError("Invalid number of data points (-1) specified")
    return (None if n is None else [n]), [dim]


# --- one dimension ------------------------------------------------------------------------------------------


@api("fft", out=True)
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    r"""The discrete Fourier transform :math:`X_k = \sum_j x_j e^{-2 \pi i j k / n}` along one dimension.

    >>> import flambeau as torch
    >>> torch.fft.fft(torch.tensor([1., 0.]))
    tensor([1.+0.j, 1.+0.j])
    """
    return _c2c("fft", input, *_one(n, dim), norm, False)


@api("fft", out=True)
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``fft``.

    >>> import flambeau as torch
    >>> torch.fft.ifft(torch.fft.fft(torch.tensor([1., 2.])))
    tensor([1.+0.j, 2.+0.j])
    """
    return _c2c("ifft", input, *_one(n, dim), norm, True)


@api("fft", out=True, judge="first")
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The half of a real signal's transform that is not redundant.

    >>> import flambeau as torch
    >>> torch.fft.rfft(torch.tensor([1., 2., 3.]))
    tensor([ 6.0000+0.0000j, -1.5000+0.8660j])
    """
    return _r2c("rfft", input, *_one(n, dim), norm)


@api("fft", out=True)
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real signal of a half spectrum: the inverse of ``rfft``.

    >>> import flambeau as torch
    >>> torch.fft.irfft(torch.fft.rfft(torch.tensor([1., 2., 3., 4.])))
    tensor([1., 2., 3., 4.])
    """
    return _c2r("irfft", input, *_one(n, dim), norm)


@api("fft", out=True)
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of a signal that is Hermitian in time, of which half is given.

    >>> import flambeau as torch
    >>> torch.fft.hfft(torch.tensor([1., 0.])).shape
    torch.Size([2])
    """
    return _flipped(input, *_one(n, dim), norm, "hfft", True)


@api("fft", out=True, judge="first")
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``hfft``.

    >>> import flambeau as torch
    >>> torch.fft.ihfft(torch.tensor([1., 0.]))
    tensor([0.5000-0.j, 0.5000-0.j])
    """
    return _flipped(input, *_one(n, dim), norm, "ihfft", False)


# --- several dimensions -------------------------------------------------------------------------------------


@api("fft", out=True, judge="first")
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform over several dimensions.

    >>> import flambeau as torch
    >>> torch.fft.fftn(torch.ones(2, 2))[0, 0]
    tensor(4.+0.j)
    """
    return _c2c("fftn", input, s, dim, norm, False)


@api("fft", out=True, judge="first")
def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of ``fftn``.

    >>> import flambeau as torch
    >>> torch.fft.ifftn(torch.ones(2, 2, dtype=torch.complex64))
    tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _c2c("ifftn", input, s, dim, norm, True)


@api("fft", out=True, judge="first")
def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The transform of a real signal over several dimensions, halved along the last of them.

    >>> import flambeau as torch
    >>> torch.fft.rfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    return _r2c("rfftn", input, s, dim, norm)


@api("fft", out=True, judge="first")
def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of ``rfftn``.

    >>> import flambeau as torch
    >>> torch.fft.irfftn(torch.ones(2, 3, dtype=torch.complex64)).shape
    torch.Size([2, 4])
    """
    return _c2r("irfftn", input, s, dim, norm)


@api("fft", out=True, judge="first")
def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The real transform of a signal that is Hermitian in time, over several dimensions.

    >>> import flambeau as torch
    >>> torch.fft.hfftn(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """
    return _flipped(input, s, dim, norm, "hfftn", True)


@api("fft", out=True, judge="first")
def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of ``hfftn``.

    >>> import flambeau as torch
    >>> torch.fft.ihfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    return _flipped(input, s, dim, norm, "ihfftn", False)


def _two(function: Any, name: str) -> None:
    """The form of a transform over two dimensions."""

    def over_two(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
        return function(input, s, dim, norm)

    over_two.__name__ = over_two.__qualname__ = name
    over_two.__doc__ = f"""``{function.__name__}`` over two dimensions, by default the last.

    >>> import flambeau as torch
    >>> x = torch.arange(8.0).reshape(2, 4)
    >>> torch.equal(torch.fft.{name}(x), torch.fft.{function.__name__}(x, dim=(-2, -1)))
    True
    """
    api("fft", out=True, judge="first")(over_two)


_two(fftn, "fft2")
_two(ifftn, "ifft2")
_two(rfftn, "rfft2")
_two(irfftn, "irfft2")
_two(hfftn, "hfft2")
_two(ihfftn, "ihfft2")
