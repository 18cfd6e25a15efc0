"""Distances between rows, cdist and pdist, and the renormalization of slices by their norm.

Note: gradient of a distance. With d = x - y and r = ||d||_p the derivative is sign(d) (|d| / r)^(p-1); where
it is not defined it is 0, and where several elements attain the maximum norm each gets the whole.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import SCALAR_NAMES
from ...graph.geometry import Geometry, contiguous
from ...graph.node import Signature
from ...graph.operator import Rows
from ...tensor import Tensor, check_dim, record, record_one, record_pair
from ...tensor.construct import from_array
from ...tensor.tape import state
from ..calls.out import EXACT_APART
from ..declaration.definition import arithmetic_dtype, broadcast_shapes, operand_dtype, operator
from ..declaration.domain import not_implemented
from ..declaration.prices import distance_gradients, distances
from ..declaration.registry import NAMESPACES, api
from .norms import norm_of
from .support import conj

_PRODUCT_MODES = {
    "use_mm_for_euclid_dist_if_necessary": 25,  # more rows than this make a matrix product worth while
    "use_mm_for_euclid_dist": 0,
    "donot_use_mm_for_euclid_dist": None,
}
_BLOCK = 1 << 22  # elements of differences held at a time


def _norm(difference: Any, p: float) -> Any:
    """p-norms along the last axis; p = 0 counts the elements that are not zero."""
    if p == 2:
        return np.sqrt(np.einsum("...i,...i->...", difference, difference))
    if p == 0:
        return np.count_nonzero(difference, axis=-1).astype(difference.dtype)
    size = np.abs(difference)
    if p == 1:
        return size.sum(-1)
    if p == inf:
        return size.max(-1, initial=0)
    return (size**p).sum(-1) ** (1 / p)


def _towards(difference: Tensor, distance: Tensor, p: float) -> Tensor:
    """The derivative of norms (..., 1) by differences (..., M)."""
    if p == 0:
        return difference * 0
    if p == 1:
        return difference.sign()
    if p == inf:
        return difference.sign() * (difference.abs() == distance)
    where: Any = NAMESPACES["torch"]["where"]
    there = distance != 0
    safe = where(there, distance, 1)
    if p == 2:
        return difference / safe * there
    moved = difference != 0
    size = where(moved, difference.abs(), 1)
    return difference.sign() * (size / safe) ** (p - 1) * moved


# --- all pairs ----------------------------------------------------------------------------------------------


def _cdist_geometry(operands: Any, attributes: Any) -> Geometry:
    x1, x2 = operands
    batch = broadcast_shapes([x1.shape[:-2], x2.shape[:-2]])
    return contiguous((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype, x1.device)


@operator("cdist", _cdist_geometry, price=distances)
def CDIST(m: Any, x1: Any, x2: Any, p: float) -> Any:
    """Distances of the rows of (..., P, M) and (..., R, M): (..., P, R)."""
    rows = x1.shape[-2]
    step = max(1, _BLOCK // max(1, prod(x2.shape) * prod(x1.shape[:-2])))
    parts = [
        _norm(x1[..., i : i + step, None, :] - x2[..., None, :, :], p) for i in range(0, max(rows, 1), step)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, -2)


@CDIST.derivative("x1", "x2", keeps="x1 x2 output")
def _(ctx: Any, grad: Tensor, x1: Tensor, x2: Tensor, output: Tensor) -> Any:
    p, = ctx.attributes
    if state.enabled or x1.shape[:-2] != x2.shape[:-2]:     # to be differentiated again
        difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
        weighted = grad.unsqueeze(-1) * _towards(difference, output.unsqueeze(-1), p)
        return (weighted.sum(-2) if ctx.needs[0] else None, -weighted.sum(-3) if ctx.needs[1] else None)
    grad, x1, x2 = grad.contiguous(), x1.contiguous(), x2.contiguous()
    first = record(CDIST_BACKWARD, (grad, x1, x2, output), (p,)) if ctx.needs[0] else None
    if not ctx.needs[1]:
        return first, None
    turned = [x.transpose(-2, -1).contiguous() for x in (grad, output)]
    return first, record(CDIST_BACKWARD, (turned[0], x2, x1, turned[1]), (p,))


def _of_found(operands: Any, attributes: Any) -> Geometry:
    found: Geometry = operands[0]
    return found


@operator("distances_by_product", _of_found, grad_name="EuclideanDistBackward0")
def BY_PRODUCT(m: Any, found: Any, x1: Any, x2: Any) -> Any:
    """What a product found (..., P, R), as the distances of rows (..., P, M) and (..., R, M)."""
    return found


@BY_PRODUCT.derivative("x1", "x2", keeps="x1 x2 output")
def _(ctx: Any, grad: Tensor, x1: Tensor, x2: Tensor, output: Tensor) -> Any:
    where: Any = NAMESPACES["torch"]["where"]
    share = where(output == 0, 0.0, grad / output)
    return (x1 * share.sum(-1, keepdim=True) - share @ x2 if ctx.needs[1] else None,
            x2 * share.sum(-2).unsqueeze(-1) - share.mT @ x1 if ctx.needs[2] else None)


def _by_product(x1: Tensor, x2: Tensor) -> Tensor:
    """Euclidean distances with |x - y|^2 as x^2 - 2 x y + y^2.

    Recorded as what they are made of, but their derivative is not theirs: a root of 0 would have none.
    """
    a, b = x1.detach(), x2.detach()
    square = (-2 * a) @ b.mT + (a * a).sum(-1, keepdim=True) + (b * b).sum(-1).unsqueeze(-2)
    found = square.clamp_min(0).sqrt()
    return record(BY_PRODUCT, (found, x1, x2)) if x1.requires_grad or x2.requires_grad else found


def _slope(difference: Any, distance: Any, p: float) -> Any:
    """The derivative of norms (..., 1) by differences (..., M)."""
    if p == 0:
        return np.zeros_like(difference)
    if p == 1:
        return np.sign(difference)
    if p == inf:
        return np.sign(difference) * (np.abs(difference) == distance)
    found = np.divide(difference, distance, out=np.zeros_like(difference), where=distance != 0)
    if p == 2:
        return found
    moved = difference != 0
    power = np.power(np.abs(found), p - 1, out=np.zeros_like(difference), where=moved)
    return np.sign(difference) * power


def _first_geometry(operands: Any, attributes: Any) -> Geometry:
    x = operands[1]
    return contiguous(x.shape, x.dtype, x.device)


@operator("cdist_backward", _first_geometry, price=distance_gradients)
def CDIST_BACKWARD(m: Any, grad: Any, x1: Any, x2: Any, distance: Any, p: float) -> Any:
    """The gradient by the first rows (..., P, M)."""
    rows = x1.shape[-2]
    step = max(1, _BLOCK // max(1, prod(x2.shape)))
    result = np.empty(x1.shape, x1.dtype)
    for i in range(0, rows, step):
        part = (..., slice(i, i + step), slice(None))
        difference = x1[part][..., None, :] - x2[..., None, :, :]
        slope = _slope(difference, distance[part][..., None], p)
        result[part] = np.matmul(grad[part][..., None, :], slope)[..., 0, :]
    return result


@api("torch")
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The p-norm distance of every row of (..., P, M) to every row of (..., R, M): (..., P, R).

    >>> import flambeau as torch
    >>> torch.cdist(torch.tensor([[0., 0.]]), torch.tensor([[3., 4.], [6., 8.]]))
    tensor([[ 5., 10.]])
    """
    if compute_mode not in _PRODUCT_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {SCALAR_NAMES[x.dtype]}"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype is not x2.dtype:
        wanted, found = SCALAR_NAMES[x1.dtype], SCALAR_NAMES[x2.dtype]
        raise RuntimeError(f"expected scalar type {wanted} but found {found}")
    if x1.dtype in dtypes.LOW_PRECISION:
        raise not_implemented("cdist", x1.dtype)
    rows = _PRODUCT_MODES[compute_mode]
    by_product = p == 2 and rows is not None and max(x1.shape[-2], x2.shape[-2]) > rows
    return _by_product(x1, x2) if by_product else record_pair(CDIST, x1, x2, (float(p),))


# --- pairs of one set ---------------------------------------------------------------------------------------


def _pairs(rows: int) -> tuple[Any, Any]:
    """The pairs i < j of row numbers, in order."""
    return np.triu_indices(rows, 1)


def _pdist_geometry(operands: Any, attributes: Any) -> Geometry:
    rows = operands[0].shape[0]
    return contiguous((rows * (rows - 1) // 2,), operands[0].dtype, operands[0].device)


@operator("pdist", _pdist_geometry, price=distances)
def PDIST(m: Any, input: Any, p: float) -> Any:
    """Distances of all pairs of rows of (N, M): (N (N - 1) / 2)."""
    first, second = _pairs(len(input))
    return _norm(input[first] - input[second], p)


@PDIST.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    if not state.enabled:
        return record(PDIST_BACKWARD, (grad.contiguous(), input.contiguous(), output), ctx.attributes)
    first, second = (from_array(np.asarray(i, np.int64)) for i in _pairs(input.shape[0]))
    difference = input.index_select(0, first) - input.index_select(0, second)
    weighted = grad.unsqueeze(-1) * _towards(difference, output.unsqueeze(-1), ctx.attributes[0])
    zero = weighted.new_zeros(input.shape)
    return zero.index_add(0, first, weighted).index_add(0, second, -weighted)


@operator("pdist_backward", _first_geometry, price=distance_gradients)
def PDIST_BACKWARD(m: Any, grad: Any, input: Any, distance: Any, p: float) -> Any:
    """The gradient by the rows (N, M): each pair's goes to one of them, and reversed to the other."""
    rows = len(input)
    result = np.zeros(input.shape, input.dtype)
    start = 0
    for i in range(rows - 1):
        pairs = slice(start, start + rows - 1 - i)
        slope = grad[pairs, None] * _slope(input[i] - input[i + 1:], distance[pairs, None], p)
        result[i] += slope.sum(0)
        result[i + 1:] -= slope
        start = pairs.stop
    return result


@api("torch", "nn.functional")
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances of all pairs of rows of (N, M), in the order (0, 1), (0, 2), ..., (N - 2, N - 1).

    >>> import flambeau as torch
    >>> torch.nn.functional.pdist(torch.tensor([[0., 0.], [3., 4.], [6., 8.]]))
    tensor([ 5., 10.,  5.])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input.dtype in dtypes.LOW_PRECISION:
        raise not_implemented("pdist", input.dtype)
    return record_one(PDIST, input, (float(p),))


# --- renorm -------------------------------------------------------------------------------------------------

_TINY = 1e-7    # as PyTorch adds to norms


def _others(signature: Signature) -> list[int]:
    """The dimensions that a slice has."""
    return [d for d in range(signature.geometries[0].ndim) if d != signature.attributes[1]]


@operator(
    "renorm",
    lambda operands, _: contiguous(operands[0].shape, operands[0].dtype, operands[0].device),
    compute=operand_dtype,
    rows=Rows(passes=2, dims=_others),
)
def RENORM(m: Any, input: Any, maxnorm: Any, p: float, dim: int) -> Any:
    """Slices whose norm is above ``maxnorm`` scaled down to it."""
    norm = norm_of(m, input, p, tuple([d for d in range(input.ndim) if d != dim]), True)
    return input * m.where(norm > maxnorm, maxnorm / (norm + _TINY), 1).astype(norm.dtype)


@RENORM.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    p, dim = ctx.attributes
    maxnorm = ctx.numbers[1]
    wide = input.to(arithmetic_dtype(input.dtype))
    others = [d for d in range(input.ndim) if d != dim]
    norm = NAMESPACES["linalg"]["vector_norm"](wide, p, others, True)
    scale = maxnorm / (norm + _TINY)
    where: Any = NAMESPACES["torch"]["where"]
    scaled = _scaled_gradient(grad, wide, norm, scale, p, others)
    return where(norm > maxnorm, scaled, grad)


def _scaled_gradient(
    grad: Tensor, x: Tensor, norm: Tensor, scale: Tensor, p: float, others: list[int]
) -> Tensor:
    """The gradient through x maxnorm / (||x|| + tiny)."""
    along = grad * conj(x)
    along = (along.real if along.is_complex() else along).sum(others, keepdim=True)
    size = x.abs()
    where: Any = NAMESPACES["torch"]["where"]
    if p == inf:
        extreme = size == norm
        return scale * (grad - along / (norm + _TINY) * x.sgn() * extreme / extreme.sum(others, True))
    safe = where(norm == 0, 1, norm)
    power = x.sgn() if p == 1 else x * where(size == 0, 1, size) ** (p - 2)
    return scale * (grad - along / (norm + _TINY) * power / safe ** (p - 1))


@api("torch", "Tensor", out=EXACT_APART, inplace=True, judge="first")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Each slice input[..., i, ...] at index i of ``dim``, scaled to have a p-norm of at most ``maxnorm``.

    >>> import flambeau as torch
    >>> torch.renorm(torch.tensor([[3., 4.], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    dim = check_dim(dim, input.ndim)
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{SCALAR_NAMES[input.dtype]}"
        )
    if p == float("inf") and 0 in input.shape and input.shape[dim]:
        empty = next(d for d, n in enumerate(input.shape) if not n)
        raise RuntimeError(f"linalg.vector_norm cannot compute the inf norm on the dimension {empty}because "
                           "this dimension is empty and the operation does not have an identity")
    p = float(p) if input.numel() else 1.0      # nothing has no greatest element
    return record(RENORM, (input, float(maxnorm)), (p, dim))
