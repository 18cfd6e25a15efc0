"""Spread: var, std, var_mean, std_mean, cov, corrcoef."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import OnStacks, Operator, Rows
from ...tensor import Tensor, record
from ...tensor.batching import by_example
from ...tensor.warned import warn
from ..calls.axes import normalize_dims, reduced_shape
from ..declaration.definition import operand_dtype
from ..declaration.registry import api
from ..pointwise.arithmetic import conjugate
from .reduction import count_of, kept, mean_gradient

_MISSING: Any = object()


def _var_geometry(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    dims, keepdim, _ = attributes
    return contiguous(reduced_shape(g.shape, dims, keepdim), g.dtype.to_real(), g.device)


def _moments_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    g = operands[0]
    var = _var_geometry(operands, attributes)
    return var, contiguous(var.shape, g.dtype, g.device)


def _moments(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, correction: float) -> Any:
    """Variance and mean, in two passes."""
    mean = m.sum(input, axis=dims, keepdims=True) / m.count_of(input, dims)
    deviation = input - mean
    if deviation.dtype.kind == "c":
        deviation = deviation.real * deviation.real + deviation.imag * deviation.imag
    else:
        deviation *= deviation
    total = m.sum(deviation, axis=dims, keepdims=keepdim)
    if not keepdim:
        mean = m.without_dims(mean, dims)
    return total / m.count_of(input, dims, correction), mean


def _var_kernel(m: Any, *args: Any) -> Any:
    return _moments(m, *args)[0]


def _std_kernel(m: Any, *args: Any) -> Any:
    return m.sqrt(_moments(m, *args)[0])


def _std_mean_kernel(m: Any, *args: Any) -> Any:
    var, mean = _moments(m, *args)
    return m.sqrt(var), mean


def _operator(name: str, infer: Any, kernel: Any) -> Operator:
    return Operator(name, kernel, infer, ("input",), compute=operand_dtype, rows=Rows(passes=2))


VAR = _operator("var", _var_geometry, _var_kernel)
STD = _operator("std", _var_geometry, _std_kernel)
VAR.on_stacks = STD.on_stacks = OnStacks(dims=0, reduces=True)
VAR_MEAN = _operator("var_mean", _moments_geometry, _moments)
STD_MEAN = _operator("std_mean", _moments_geometry, _std_mean_kernel)


def _var_gradient(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    """d var / dx = 2 (x - mean) / (n - correction)."""
    dims, keepdim, correction = ctx.attributes
    divisor = count_of(input.shape, dims) - correction
    scale = 2 / divisor if divisor > 0 else float("inf")
    return kept(grad, dims, keepdim, input.shape) * scale * (input - input.mean(dims, True))


def _std_gradient(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    """Through the variance: d std = d var / (2 std), and nothing where std is zero."""
    grad = (grad / (output * 2)).masked_fill(output.eq(0), 0)
    return _var_gradient(ctx, grad, input)


def _together(spread_part: Any, grads: Any, ctx: Any) -> Any:
    mean_part = None if grads[1] is None else mean_gradient(ctx, grads[1])
    if spread_part is None or mean_part is None:
        return mean_part if spread_part is None else spread_part
    return spread_part + mean_part


VAR.derivative("input", keeps="input")(_var_gradient)
STD.derivative("input", keeps="input output")(_std_gradient)


@VAR_MEAN.derivative("input", keeps="input")
def _(ctx: Any, grads: Any, input: Tensor) -> Any:
    return _together(None if grads[0] is None else _var_gradient(ctx, grads[0], input), grads, ctx)


@STD_MEAN.derivative("input", keeps="input output")
def _(ctx: Any, grads: Any, input: Tensor, output: Tensor) -> Any:
    return _together(None if grads[0] is None else _std_gradient(ctx, grads[0], input, output), grads, ctx)


# --- the public functions -----------------------------------------------------------------------------------


def _record(op: Operator, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    """Sort out the overloads (unbiased), (dim, unbiased, keepdim) and (dim, *, correction, keepdim)."""
    g = input._geometry
    if g.dtype.category < dtypes.FLOATING:
        names = "std and var" if op.name in ("std", "var") else op.name
        raise RuntimeError(f"{names} only support floating point and complex dtypes")
    if dim.__class__ is bool:
        dim, unbiased = None, dim
    if correction is _MISSING or correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    dims = normalize_dims(dim, g.ndim, keepdim)
    if (
        count_of(g.shape, dims) - correction <= 0
        and contiguous(reduced_shape(g.shape, dims, False), g.dtype).numel
    ):
        warn(
            f"{op.name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
            "factor (input numel divided by output numel).")
    return record(op, (input,), (dims, keepdim, correction))


@api("torch", "Tensor", out=True, judge="first")
def var(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = _MISSING
) -> Tensor:
    r"""The variance :math:`\frac{1}{N - c} \sum_i (x_i - \bar x)^2`, with the correction c = 1 by default.

    >>> import flambeau as torch
    >>> torch.var(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """
    return _record(VAR, input, dim, unbiased, keepdim, correction)


@api("torch", "Tensor", out=True, judge="first")
def std(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = _MISSING
) -> Tensor:
    """The standard deviation: the root of the variance.

    >>> import flambeau as torch
    >>> torch.std(torch.tensor([1., 3.]), correction=0)
    tensor(1.)
    """
    return _record(STD, input, dim, unbiased, keepdim, correction)


@api("torch", out=True, judge="first")
def var_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = _MISSING
) -> tuple[Tensor, Tensor]:
    """Variance and mean, computed together.

    >>> import flambeau as torch
    >>> torch.var_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
    """
    return _record(VAR_MEAN, input, dim, unbiased, keepdim, correction)


@api("torch", out=True, judge="first")
def std_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = _MISSING
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean, computed together.

    >>> import flambeau as torch
    >>> torch.std_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
    """
    return _record(STD_MEAN, input, dim, unbiased, keepdim, correction)


@api("torch", "Tensor", judge="first")
@by_example
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of variables (rows) over observations (columns): (V, N) gives (V, V).

    >>> import flambeau as torch
    >>> torch.cov(torch.tensor([[0., 2.], [2., 0.]]))
    tensor([[ 2., -2.],
            [-2.,  2.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    if input.dtype.category == dtypes.BOOL:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.ndim == 2 else input.reshape(1, -1)
    count = x.shape[1]
    weights = _weights(count, fweights, aweights)
    if x.dtype.category < dtypes.FLOATING:
        x = x.to(dtypes.get_default_dtype())
    if weights is None:
        total: Any = count
        mean = x.sum(1, True) / count
        norm: Any = max(count - correction, 0)
    else:
        total = weights.sum()
        mean = (x * weights).sum(1, True) / total
        if aweights is None or correction == 0:
            norm = total - correction if correction else total
        else:
            norm = total - correction * (weights * aweights).sum() / total
        norm = norm.clamp(min=0)
    if count and count - correction <= 0 and weights is None:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
            "observations.")
    deviation = x - mean
    weighted = deviation if weights is None else deviation * weights
    right = conjugate(weighted.t())
    return (deviation.matmul(right) / norm).squeeze()


def _weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    for name, w, integral in (("fweights", fweights, True), ("aweights", aweights, False)):
        if w is None:
            continue
        if w.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} "
                "dimensions"
            )
        if (w.dtype.category < dtypes.FLOATING) is not integral:
            kind = "integral" if integral else "floating point"
            raise RuntimeError(
                f"cov(): expected {name} to have {kind} dtype but got {name} with "
                f"{dtypes.SCALAR_NAMES[w.dtype]} dtype"
            )
        if w.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but "
                f"got {w.numel()} != {count}"
            )
        if w.numel() and bool((w < 0).any()):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


@api("torch", "Tensor")
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlation coefficients of variables (rows) over observations (columns): (V, N) gives (V,
    V).

    >>> import flambeau as torch
    >>> torch.corrcoef(torch.tensor([[0., 1., 2.], [4., 2., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    c = cov(input)
    if c.ndim == 0:
        return c / c
    deviation = c.diagonal().real.sqrt() if c.is_complex() else c.diagonal().sqrt()
    c = c / deviation.reshape(-1, 1) / deviation.reshape(1, -1)
    return c if c.is_complex() else c.clamp(-1, 1)
