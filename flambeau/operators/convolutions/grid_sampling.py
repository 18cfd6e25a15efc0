"""Sampling at a grid of points (spatial transformers, Jaderberg et al. 2015)."""

from __future__ import annotations

import itertools
from typing import Any

from ... import dtypes
from ...dtypes import FLOATING, SCALAR_NAMES
from ...tensor import Tensor, record, state
from ...tensor.warned import warn
from ..calls.arguments import type_in_words
from ..creation.creation import ones_like, zeros
from ..creation.ranges import linspace
from ..declaration.definition import arithmetic_dtype
from ..declaration.domain import not_implemented
from ..declaration.registry import api
from ..indexing.combining import meshgrid
from ..pointwise.comparison import where
from ..shapes.joining import stack
from .grid_points import GRID_SAMPLE, GRID_SAMPLE_GRID, GRID_SAMPLE_INPUT, Sampling, cubic_factors


def _unnormalize(x: Tensor, n: int, dims: int, align_corners: bool) -> Tensor:
    if align_corners:
        return (x + 1) / 2 * (n - 1)
    shifted = (x + 1).to(dtypes.float64 if dims == 2 else x.dtype)      # the product is not rounded
    return (shifted * n - 1).to(x.dtype) / 2


def _reflect(x: Tensor, low: float, high: float) -> Tensor:
    """x folded back into [low, high]."""
    if high == low:
        return x * 0
    span = high - low
    shifted = (x - low).abs()
    extra = shifted.fmod(span)
    flips = (shifted / span).detach().floor()
    even = flips.remainder(2) == 0
    return even.to(x.dtype) * (extra + low) + (~even).to(x.dtype) * (span - extra + low)


def _placed(x: Tensor, n: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Positions among n elements, brought inside where the padding says so: there they do not change."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        x = _reflect(x, 0, n - 1) if align_corners else _reflect(x, -0.5, n - 0.5)
    return where((x > 0) & (x < n - 1), x, x.detach().clamp(0, n - 1))


def _pick(flat: Tensor, index: list[Tensor], space: list[int]) -> Tensor:
    """Values (N, C, *) at integer positions, zero outside: flat is (N, C, space)."""
    inside: Any = None
    linear: Any = None
    for i, n in zip(index, space):
        good = (i >= 0) & (i <= n - 1)
        inside = good if inside is None else inside & good
        place = i.detach().nan_to_num(0).clamp(0, n - 1).to(dtypes.int64)
        linear = place if linear is None else linear * n + place
    batch, channels = flat.shape[:2]
    where = linear.reshape(batch, 1, -1).expand(batch, channels, -1)
    values = flat.gather(2, where).reshape(batch, channels, *linear.shape[1:])
    return values * inside.unsqueeze(1).to(flat.dtype)


def _linear(flat: Tensor, points: list[Tensor], space: list[int]) -> Tensor:
    lows = [p.detach().floor() for p in points]
    total: Any = None
    for corner in itertools.product((0, 1), repeat=len(points)):
        weight: Any = None
        for p, low, c in zip(points, lows, corner):
            w = p - low if c else low + 1 - p
            weight = w if weight is None else weight * w
        part = _pick(flat, [low + c for low, c in zip(lows, corner)], space) * weight.unsqueeze(1)
        total = part if total is None else total + part
    return total


def _bicubic(flat: Tensor, points: list[Tensor], space: list[int], padding_mode: str,
             align_corners: bool) -> Tensor:
    lows = [p.detach().floor() for p in points]
    taps = [[factor for factor, _ in cubic_factors(p - low)] for p, low in zip(points, lows)]
    total: Any = None
    for i, j in itertools.product(range(4), range(4)):
        index = [_placed(low + k - 1, n, padding_mode, align_corners)
                 for low, k, n in zip(lows, (i, j), space)]
        part = _pick(flat, index, space) * (taps[0][i] * taps[1][j]).unsqueeze(1)
        total = part if total is None else total + part
    return total


@api("nn.functional")
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """Values of (N, C, H, W) at points (N, OH, OW, 2) of [-1, 1], x before y; five dimensions likewise.

    >>> import flambeau as torch
    >>> F = torch.nn.functional
    >>> F.grid_sample(torch.arange(4.).reshape(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), align_corners=True)
    tensor([[[[1.5000]]]])
    """
    if mode not in _MODES:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or "
                         f"'bicubic', but got: '{mode}'")
    if padding_mode not in _PADDINGS:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
                         f"'reflection', but got: '{padding_mode}'")
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since "
             "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
             "documentation of grid_sample for details.")
        align_corners = False
    elif align_corners.__class__ is not bool:
        raise TypeError("grid_sampler(): argument 'align_corners' (position 5) must be bool, not "
                        f"{type_in_words(align_corners)}")
    return _sample(input, grid, mode, padding_mode, align_corners)


def _sample(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    _check(input, grid, mode)
    wide = arithmetic_dtype(input.dtype)
    found = record(GRID_SAMPLE, (input.to(wide), grid.to(wide)),
                   (Sampling(mode, padding_mode, align_corners),))
    return found.to(input.dtype)


@GRID_SAMPLE.derivative("input", "grid", keeps="input grid", formal="input grid")
def _(ctx: Any, grad: Tensor, input: Tensor, grid: Tensor) -> Any:
    (how,) = ctx.attributes
    by_input, by_grid = ctx.needs[:2]
    if state.enabled:
        return _differentiable(ctx.needs, grad, input, grid, how)
    return (record(GRID_SAMPLE_INPUT, (grad, grid), (tuple(input.shape[2:]), how)) if by_input else None,
            record(GRID_SAMPLE_GRID, (grad, input, grid), (how,)) if by_grid else None)


def _differentiable(needs: Any, grad: Tensor, input: Tensor, grid: Tensor, how: Sampling) -> list[Any]:
    """Gradients that can be differentiated: of the formula written out in elementary operators.

    The operands are replaced by views of themselves, for one of them may have been made from another.
    """
    from ...autograd import grad as gradients_of  # autograd is made of operators
    fresh = [input.view_as(input), grid.view_as(grid)]
    output = written_out(fresh[0], fresh[1], how.mode, how.padding, how.align_corners)
    wanted = [x for x, need in zip(fresh, needs) if need]
    if not output.requires_grad:    # the nearest of pixels that want no gradient
        return [x.new_zeros(x.shape) if need else None for x, need in zip(fresh, needs)]
    found = iter(gradients_of([output], wanted, [grad], create_graph=True, materialize_grads=True))
    return [next(found) if need else None for need in needs[:2]]


def written_out(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    """The formula on tensors."""
    space = list(input.shape[2:])
    flat = input.reshape(*input.shape[:2], -1)
    raw = [_unnormalize(grid[..., -1 - d], n, len(space), align_corners) for d, n in enumerate(space)]
    if mode == "bicubic":
        return _bicubic(flat, raw, space, padding_mode, align_corners)
    points = [_placed(p, n, padding_mode, align_corners) for p, n in zip(raw, space)]
    if mode == "nearest":
        return _pick(flat, [p.detach().round() for p in points], space)
    return _linear(flat, points, space)


_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _numbered(dims: int, input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    """The form in which modes are numbers, for one number of dimensions."""
    if input.ndim != dims + 2 or grid.ndim != dims + 2:
        raise RuntimeError(f"grid_sampler_{dims}d(): expected {dims + 2}D input and grid with same number of "
                           f"dimensions, but got input with sizes {list(input.shape)} and grid with sizes "
                           f"{list(grid.shape)}")
    return _sample(input, grid, _MODES[mode], _PADDINGS[padding], align_corners)


@api("torch", judge="first")
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                    align_corners: bool) -> Tensor:
    """``grid_sample`` of (N, C, H, W), the modes given as numbers in the order of its documentation.

    >>> import flambeau as torch
    >>> torch.grid_sampler_2d(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[1.]]]])
    """
    return _numbered(2, input, grid, interpolation_mode, padding_mode, align_corners)


@api("torch", judge="first")
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                    align_corners: bool) -> Tensor:
    """``grid_sample`` of (N, C, D, H, W), the modes given as numbers in the order of its documentation.

    >>> import flambeau as torch
    >>> torch.grid_sampler_3d(torch.ones(1, 1, 2, 2, 2), torch.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[1.]]]]])
    """
    return _numbered(3, input, grid, interpolation_mode, padding_mode, align_corners)


@api("torch", judge="first")
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                 align_corners: bool) -> Tensor:
    """``grid_sample`` with the modes given as numbers.

    >>> import flambeau as torch
    >>> torch.grid_sampler(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[1.]]]])
    """
    return _sample(input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


def _check(input: Tensor, grid: Tensor, mode: str) -> None:
    if input.shape[:1] != grid.shape[:1]:
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size, but got input "
                           f"with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
    if grid.shape[-1:] != (input.ndim - 2,):
        raise RuntimeError(f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, "
                           f"but got grid with sizes {list(grid.shape)}")
    if any(n == 0 for n in input.shape[2:]):
        raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                           f"has sizes {list(input.shape)} with dimension {list(input.shape).index(0)} being "
                           "empty")
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(f"grid_sampler(): expected {'5D' if input.ndim == 5 else '4D'} input and grid "
                           f"with same number of dimensions, but got input with sizes {list(input.shape)} "
                           f"and grid with sizes {list(grid.shape)}")
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype is not grid.dtype:
        if input.dtype.category != FLOATING:
            kernel = "grid_sampler3d_cpu" if input.ndim == 5 else "grid_sampler_2d_cpu_kernel_impl"
            raise not_implemented(kernel, input.dtype)
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[input.dtype]} but found "
                           f"{SCALAR_NAMES[grid.dtype]}")


def _centres(n: int, like: Tensor, align_corners: bool) -> Tensor:
    """Where n elements lie in [-1, 1]: each step rounded in the type, as PyTorch's are."""
    if n == 1:
        return zeros(1, dtype=like.dtype, device=like.device)
    line = linspace(-1, 1, n, dtype=like.dtype, device=like.device)
    return line if align_corners else line * (n - 1) / n


@api("nn.functional")
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Points of an affine transformation: (N, 2, 3) and a size (N, C, H, W) give (N, H, W, 2), or in 3-D.

    >>> import flambeau as torch
    >>> torch.nn.functional.affine_grid(torch.eye(2, 3).unsqueeze(0), (1, 1, 2, 2), align_corners=True).shape
    torch.Size([1, 2, 2, 2])
    """
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since "
             "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
             "documentation of grid_sample for details.")
        align_corners = False
    if theta.dtype.category != dtypes.FLOATING:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if tuple(theta.shape) != (size[0], dims, dims + 1) or dims not in (2, 3):
        raise ValueError(f"Expected a batch of {'2D' if dims == 2 else '3D'} affine matrices of shape "
                         f"Nx{dims}x{dims + 1} for size {tuple(size)}. Got {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and min(size[2:]) == 1:
        warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
             "align_corners=True. This is not an intended use case of affine_grid. See the documentation of "
             "affine_grid for details.")
    mesh = meshgrid(*[_centres(n, theta, align_corners) for n in size[2:]], indexing="ij")
    points = stack([*reversed(mesh), ones_like(mesh[0])], -1).reshape(1, -1, dims + 1)
    base = points.expand(size[0], -1, -1)
    return base.bmm(theta.transpose(1, 2)).reshape(size[0], *size[2:], dims)
