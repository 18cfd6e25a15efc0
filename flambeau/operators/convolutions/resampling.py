"""Resampling: interpolation to another size, of each dimension by a banded matrix of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ... import dtypes
from ...tensor import Tensor, record
from ...tensor.construct import from_array
from ...tensor.warned import warn
from ..calls.arguments import is_integer, whole
from ..creation.memory_formats import contiguous_gradient, in_format_of
from ..declaration.definition import arithmetic_dtype
from ..declaration.registry import api
from ..indexing.index_formats import SELECT_IN_FORMAT
from .adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .banded import Band, band_of, banded_product

_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
_MODES = (*_LINEAR, "bicubic", "lanczos", "area", "nearest", "nearest-exact")


def source_positions(n: int, count: int, scale: float | None, align_corners: bool) -> Any:
    """Where the centres of ``count`` new elements lie among n old ones."""
    i = np.arange(count, dtype=np.float64)
    if align_corners:
        return i * ((n - 1) / (count - 1)) if count > 1 else i * 0
    return (i + 0.5) * (1 / scale if scale else n / count) - 0.5


def _linear_weights(n: int, count: int, scale: float | None, align_corners: bool) -> Band:
    position = source_positions(n, count, scale, align_corners)
    if not align_corners:
        position = np.maximum(position, 0)
    low = np.minimum(np.floor(position).astype(np.int64), n - 1)
    fraction = np.clip(position - low, 0, 1)
    return band_of(n, np.stack((low, low + 1)), np.stack((1 - fraction, fraction)))


def cubic(t: Any, a: float) -> Any:
    """Keys' convolution kernel (Keys 1981)."""
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def _cubic_weights(n: int, count: int, scale: float | None, align_corners: bool) -> Band:
    position = source_positions(n, count, scale, align_corners)
    rows = np.floor(position).astype(np.int64) + np.arange(-1, 3)[:, None]
    return band_of(n, rows, cubic(position - rows, -0.75))


# Kernels with which shrinking averages, and how far they reach in steps: those of PIL.
_KERNELS: dict[str, tuple[float, Callable[[Any], Any]]] = {
    "bilinear": (1.0, lambda t: np.maximum(1 - np.abs(t), 0)),
    "bicubic": (2.0, lambda t: cubic(t, -0.5)),
    "lanczos": (3.0, lambda t: np.where(np.abs(t) < 3, np.sinc(t) * np.sinc(t / 3), 0)),
}


def _antialias_weights(n: int, count: int, scale: float | None, align_corners: bool, mode: str) -> Band:
    """Weights of a kernel widened to the step, so that shrinking averages."""
    if align_corners:
        step = (n - 1) / (count - 1) if count > 1 else 0.0
    else:
        step = 1 / scale if scale else n / count
    width = max(step, 1.0)
    reach, kernel = _KERNELS[mode]
    support = reach * width
    centre = step * (np.arange(count) + 0.5)
    first = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + support + 0.5).astype(np.int64), n)
    rows = first + np.arange(int((last - first).max()))[:, None]
    t = (rows - centre + 0.5) / width
    weights = np.where(rows < last, kernel(t), 0)
    total = weights.sum(0)
    return band_of(n, rows, weights / np.where(total == 0, 1, total))


def _fixed_point(matrix: Any) -> Any:
    """Weights with as many binary places as leave the largest one within 16 bits, as for images of bytes."""
    places, largest = 0, float(np.abs(matrix).max())
    while places < 22 and int(0.5 + largest * (1 << (places + 1))) < 1 << 15:
        places += 1
    return np.trunc(matrix * (1 << places) + np.copysign(0.5, matrix)) / (1 << places)


@lru_cache(maxsize=256)
def _band(mode: str, n: int, count: int, scale: float | None, align_corners: bool, antialias: bool,
          in_bytes: bool) -> Band:
    """The matrix that resamples one dimension."""
    if antialias:
        band = _antialias_weights(n, count, scale, align_corners, mode)
    else:
        band = (_cubic_weights if mode == "bicubic" else _linear_weights)(n, count, scale, align_corners)
    return Band(n, band.starts, _fixed_point(band.weights)) if in_bytes else band


def _nearest(x: Tensor, sizes: list[int], scales: list[float | None], exact: bool) -> Tensor:
    if x.ndim == 5:
        x = contiguous_gradient(x)
    for d, (count, scale) in enumerate(zip(sizes, scales)):
        n = x.shape[2 + d]
        index = from_array(_nearest_places(n, count, scale, exact), device=x.device)
        x = record(SELECT_IN_FORMAT, (x, index), (2 + d,))
    return x


@lru_cache(maxsize=256)
def _nearest_places(n: int, count: int, scale: float | None, exact: bool) -> Any:
    step = np.float32(1 / scale if scale else n / count)
    i = np.arange(count, dtype=np.float32)
    places = np.floor((i + np.float32(0.5)) * step if exact else i * step).astype(np.int64)
    places = np.minimum(places, n - 1)
    places.flags.writeable = False
    return places


def _target(input: Tensor, size: Any, scale_factor: Any,
            recompute: Any) -> tuple[list[int], list[float | None]]:
    dims = input.ndim - 2
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        sizes = list(size) if isinstance(size, (list, tuple)) else [size] * dims
        if len(sizes) != dims:
            raise ValueError("Input and output must have the same number of spatial dimensions, but got "
                             f"input with spatial dimensions of {list(input.shape[2:])} and output size of "
                             f"{size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                             "output size in (o1, o2, ...,oK) format.")
        return [whole(n) for n in sizes], [None] * dims
    factors = list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * dims
    if len(factors) != dims:
        raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got "
                         f"input with spatial dimensions of {list(input.shape[2:])} and scale_factor of "
                         f"shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                         "format and scale_factor in (s1, s2, ...,sK) format.")
    sizes = [math.floor(float(n) * f) for n, f in zip(input.shape[2:], factors)]
    return sizes, [None] * dims if recompute else [float(f) for f in factors]


def _named(extents: Sequence[int]) -> str:
    return f"({', '.join([f'{name}: {n}' for name, n in zip('DHW'[-len(extents):], extents)])})"


def _require_integers(size: Any) -> None:
    if isinstance(size, (list, tuple)) and not all(map(is_integer, size)):
        raise TypeError("expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, "
                        f"int], but got size with types {[type(n) for n in size]}")


def _check_options(mode: str, size: Any, scale_factor: Any, align_corners: Any, recompute: Any) -> None:
    """Raise for options of ``interpolate`` that exclude one another, whatever the input is."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | "
                             "bilinear | bicubic | trilinear")
    elif align_corners is not None and not isinstance(align_corners, bool):
        raise TypeError(f"align_corners must be bool, not {type(align_corners).__name__}")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if recompute and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")


@api("nn.functional")
def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """(N, C, *space) at another size.

    Modes: "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area", and with
    ``antialias`` "lanczos".

    >>> import flambeau as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1., 3.]]]), scale_factor=2.)
    tensor([[[1., 1., 3., 3.]]])
    """
    _check_options(mode, size, scale_factor, align_corners, recompute_scale_factor)
    dims = input.dim() - 2
    _require_integers(size)
    if isinstance(size, (list, tuple)):
        _target(input, size, scale_factor, recompute_scale_factor)      # raises first
    if dims not in (1, 2, 3) or (mode == "lanczos" and dims != 2 and not antialias) or mode not in _MODES:
        raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                                  f"{input.ndim}D) for the modes: nearest | linear | bilinear | bicubic | "
                                  f"trilinear | lanczos | area | nearest-exact (got {mode})")
    sizes, scales = _target(input, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in _KERNELS and input.ndim == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and "
                         "requires a 4-D tensor as input")
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError("Lanczos mode does not support align_corners=True" if align_corners else
                         "Lanczos mode requires antialias=True")
    if any(n <= 0 for n in (*sizes, *input.shape[1:])):
        raise RuntimeError("Input and output sizes should be greater than 0, but got input "
                           f"{_named(input.shape[2:])} {'and ' * (dims == 1)}output {_named(sizes)}")
    if mode in ("nearest", "nearest-exact"):
        if input.dtype.category != dtypes.FLOATING and input.dtype is not dtypes.uint8:
            raise NotImplementedError('"compute_indices_weights_nearest" not implemented for '
                                      f"'{dtypes.SCALAR_NAMES[input.dtype]}'")
        return _nearest(input, sizes, scales, mode == "nearest-exact")
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[dims - 1](input, sizes)
    if _LINEAR.get(mode, 2) != dims:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs "
                                  f"{_LINEAR.get(mode, 2) + 2}D input")
    return _weighted(input, sizes, scales, mode, bool(align_corners), antialias)


_KERNEL_NAMES = {"trilinear": "linear", "bicubic": "cubic"}


def _weighted(x: Tensor, sizes: list[int], scales: list[float | None], mode: str, align_corners: bool,
              antialias: bool) -> Tensor:
    if x.dtype.category != dtypes.FLOATING and (x.dtype is not dtypes.uint8 or x.ndim != 4):
        kernel = "upsample_bilinear2d_channels_last" if mode == "bilinear" else \
            f"compute_indices_weights_{_KERNEL_NAMES.get(mode, mode)}"
        raise NotImplementedError(f'"{kernel}" not implemented for '
                                  f'\'{dtypes.SCALAR_NAMES[x.dtype]}\'')
    in_bytes = x.dtype is dtypes.uint8
    source = contiguous_gradient(x) if mode in ("bicubic", "lanczos") else x
    wide = source.to(dtypes.float64 if in_bytes else arithmetic_dtype(x.dtype))
    bands = [_band(mode, n, count, scale, align_corners, antialias, in_bytes)
             for n, count, scale in zip(x.shape[2:], sizes, scales)]
    for d in _order(bands, in_bytes):
        if not (bands[d].is_identity() or (antialias and bands[d].n == bands[d].count)):
            wide = banded_product(wide, 2 + d, bands[d])
            if in_bytes:  # every pass gives bytes, halves rounded up
                wide = (wide + 0.5).floor().clamp(0, 255)
    return in_format_of(wide.to(x.dtype), x._geometry)


def _order(bands: list[Band], in_bytes: bool) -> list[int]:
    """Dimensions in the order of their passes: what shrinks most comes first, what grows last.

    The innermost one, whose neighbours have to be gathered, is passed while there is the least to pass.
    """
    inwards = list(range(len(bands)))
    if in_bytes:
        return inwards[::-1]
    return sorted(inwards, key=lambda d: (bands[d].count / bands[d].n,
                                          -d if bands[d].count > bands[d].n else d))


@api("nn.functional")
def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:
    """The older name of ``interpolate``.

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.nn.functional.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` "
         "instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@api("nn.functional")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate(mode="nearest")``.

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` "
         "instead.")
    return interpolate(input, size, scale_factor, "nearest")


@api("nn.functional")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate(mode="bilinear", align_corners=True)``.

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.nn.functional.upsample_bilinear(torch.eye(2)[None, None], size=(3, 3))
    tensor([[[[1.0000, 0.5000, 0.0000],
              [0.5000, 0.5000, 0.5000],
              [0.0000, 0.5000, 1.0000]]]])
    """
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` "
         "instead.")
    return interpolate(input, size, scale_factor, "bilinear", True)
