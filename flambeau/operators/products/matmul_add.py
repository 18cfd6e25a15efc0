"""Products added to a tensor: addmm, addmv, addr, addbmm, baddbmm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtypes import FLOATING, SCALAR_NAMES, bool_, c_name
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator, Price
from ...tensor import Tensor, assign, record
from ...tensor.dims import extent_of
from ..calls.number_range import number_for
from ..calls.older_signatures import scaled
from ..calls.out import EXACT
from ..declaration import prices
from ..declaration.definition import arithmetic_dtype, operand_dtype, operator, result_dtype
from ..declaration.registry import api
from ..pointwise.arithmetic import conjugate
from .linear import expandable, require_addable
from .matmul import BMM, MM
from .operands import (
    batched_shape,
    multiplied_shape,
    refuse_bool,
    require_scalar_type,
    require_tensor,
    transposed,
)
from .vector_products import MV

IGNORE, PLAIN, SCALED = range(3)


def _mode(beta: Any, alpha: Any) -> int:
    """How the summand enters: not at all (its NaNs do not either), as it is, or scaled."""
    return IGNORE if beta == 0 else PLAIN if beta == 1 and alpha == 1 else SCALED


def _fitting(x: Tensor, factor: Any) -> Any:
    return number_for(factor, arithmetic_dtype(x._geometry.dtype)) if isinstance(x, Tensor) else factor


def combine(product: Any, input: Any, beta: Any, alpha: Any, mode: int) -> Any:
    """``beta * input + alpha * product``."""
    if mode == PLAIN:
        return product + input
    return product * alpha if mode == IGNORE else product * alpha + input * beta


def _declare(name: str, infer: Callable[..., Geometry], kernel: Callable[..., Any],
             price: Price | None = None) -> Operator:
    op = operator(name, infer, compute=operand_dtype, price=price)(kernel)

    @op.derivative("input")
    def _(ctx: Any, grad: Tensor) -> Any:
        return grad if ctx.attributes[0] == PLAIN else _scaled(grad, ctx.numbers[3])

    return op


def _scaled(grad: Tensor, factor: Any) -> Tensor:
    """The gradient of ``factor * x``."""
    if factor.__class__ is complex:
        factor = factor.conjugate()
    return grad if factor == 1 else grad * factor


# --- addmm --------------------------------------------------------------------------------------------------


def _addmm_geometry(operands: Any, attributes: Any) -> Geometry:
    g, a, b = (
        require_tensor(x, "addmm", n, i + 1)
        for i, (x, n) in enumerate(zip(operands, ("input", "mat1", "mat2")))
    )
    for x, name in ((a, "mat1"), (b, "mat2")):
        if x.ndim != 2:
            require_addable(g, a, b)    # types are looked at first
            raise RuntimeError(f"{name} must be a matrix, got {x.ndim}-D tensor")
    shape = multiplied_shape(a, b)
    expandable(g, shape)
    require_addable(g, a, b)
    refuse_bool(a, "addmm_impl_cpu_")
    return contiguous(shape, a.dtype, a.device)


def _product_kernel(m: Any, input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any, mode: int) -> Any:
    return combine(m.matmul(mat1, mat2), input, beta, alpha, mode)


def _declare_product(name: str, infer: Callable[..., Geometry], product: Operator) -> Operator:
    """beta input + alpha A B with the gradients of the product, those of ``product`` scaled by alpha."""
    op = _declare(name, infer, _product_kernel, prices.product)

    @op.derivative("mat1", keeps="mat2")
    def _(ctx: Any, grad: Tensor, mat2: Tensor) -> Any:
        return _scaled(record(product, (grad, transposed(mat2))), ctx.numbers[4])

    @op.derivative("mat2", keeps="mat1")
    def _(ctx: Any, grad: Tensor, mat1: Tensor) -> Any:
        return _scaled(record(product, (transposed(mat1), grad)), ctx.numbers[4])

    return op


ADDMM = _declare_product("addmm", _addmm_geometry, MM)


@api("torch", "Tensor", out=EXACT._replace(apart="pointwise"), inplace=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *older: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``: (N, K) by (K, M), and an input that broadcasts to (N, M).

    >>> import flambeau as torch
    >>> torch.addmm(torch.ones(1), torch.ones(1, 2), torch.ones(2, 1), beta=3)
    tensor([[5.]])
    """
    if older:
        return scaled(addmm, (input, mat1, mat2, *older), "beta alpha")
    beta, alpha = _fitting(mat1, beta), _fitting(mat1, alpha)
    return record(ADDMM, (input, mat1, mat2, beta, alpha), (_mode(beta, alpha),))


# --- addmv --------------------------------------------------------------------------------------------------


def _addmv_geometry(operands: Any, attributes: Any) -> Geometry:
    g, a, b = (
        require_tensor(x, "addmv", n, i + 1)
        for i, (x, n) in enumerate(zip(operands, ("input", "mat", "vec")))
    )
    if a.ndim != 2 or b.ndim != 1 or g.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {g.ndim}, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0] or g.numel not in (1, a.shape[0]):
        raise RuntimeError(
            f"size mismatch, got input ({g.numel if g.numel != 1 else a.shape[0]}), mat "
            f"({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})"
        )
    if a.dtype is not b.dtype or g.dtype is not a.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {SCALAR_NAMES[g.dtype]}, "
            f"{SCALAR_NAMES[a.dtype]}, and {SCALAR_NAMES[b.dtype]}"
        )
    refuse_bool(a, "addmv_impl_cpu")
    return contiguous((a.shape[0],), a.dtype, a.device)


def _vector_kernel(m: Any, input: Any, mat: Any, vec: Any, beta: Any, alpha: Any, mode: int) -> Any:
    return combine(m.matmul(mat, vec), input, beta, alpha, mode)


ADDMV = _declare("addmv", _addmv_geometry, _vector_kernel)


@ADDMV.derivative("mat", keeps="vec")
def _(ctx: Any, grad: Tensor, vec: Tensor) -> Any:
    return _scaled(grad.reshape(-1, 1) * conjugate(vec), ctx.numbers[4])


@ADDMV.derivative("vec", keeps="mat")
def _(ctx: Any, grad: Tensor, mat: Tensor) -> Any:
    return _scaled(record(MV, (transposed(mat), grad)), ctx.numbers[4])


@api("torch", "Tensor", out=EXACT, inplace=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *older: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``: (N, K) by (K), and an input that broadcasts to (N).

    >>> import flambeau as torch
    >>> torch.addmv(torch.zeros(2), torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if older:
        return scaled(addmv, (input, mat, vec, *older), "beta alpha")
    beta, alpha = _fitting(input, beta), _fitting(input, alpha)
    return record(ADDMV, (input, mat, vec, beta, alpha), (_mode(beta, alpha),))


# --- addr ---------------------------------------------------------------------------------------------------


def _addr_geometry(operands: Any, attributes: Any) -> Geometry:
    g, a, b = operands[:3]
    for x, name in ((a, "vec1"), (b, "vec2")):
        if x.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {x.ndim}-D")
    dtype = result_dtype(operands[:3])
    shape = (a.shape[0], b.shape[0])
    expandable(g, shape)
    return contiguous(shape, dtype, g.device)


@operator("addr", _addr_geometry, compute=lambda operands: arithmetic_dtype(result_dtype(operands[:3])))
def ADDR(m: Any, input: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any, mode: int) -> Any:
    product = vec1[:, None] * vec2
    if product.dtype == bool:
        return product & bool(alpha) | (input & bool(beta) if mode != IGNORE else False)
    return combine(product, input, beta, alpha, mode)


@ADDR.derivative("input")
def _(ctx: Any, grad: Tensor) -> Any:
    return grad if ctx.attributes[0] == PLAIN else _scaled(grad, ctx.numbers[3])


@ADDR.derivative("vec1", keeps="vec2")
def _(ctx: Any, grad: Tensor, vec2: Tensor) -> Any:
    return _scaled(record(MV, (grad, conjugate(vec2).to(grad.dtype))), ctx.numbers[4])


@ADDR.derivative("vec2", keeps="vec1")
def _(ctx: Any, grad: Tensor, vec1: Tensor) -> Any:
    return _scaled(record(MV, (grad.t(), conjugate(vec1).to(grad.dtype))), ctx.numbers[4])


@api("torch", "Tensor", out=True, inplace=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *older: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``: vectors (N) and (M), and an input that broadcasts to (N,
    M).

    >>> import flambeau as torch
    >>> torch.addr(torch.zeros(1, 2), torch.tensor([2.]), torch.tensor([3., 4.]))
    tensor([[6., 8.]])
    """
    if older:
        return scaled(addr, (input, vec1, vec2, *older), "beta alpha")
    dtype = result_dtype([x._geometry for x in (input, vec1, vec2)])
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and dtype is not bool_:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, float) and dtype.category < FLOATING:
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point "
                               "number.")
    beta, alpha = number_for(beta, arithmetic_dtype(dtype)), number_for(alpha, arithmetic_dtype(dtype))
    return record(ADDR, (input, vec1, vec2, beta, alpha), (_mode(beta, alpha),))


# --- batches ------------------------------------------------------------------------------------------------


def _baddbmm_geometry(operands: Any, attributes: Any) -> Geometry:
    g, a, b = operands[:3]
    expandable(g, (extent_of(a.shape, 0), extent_of(a.shape, 1), extent_of(b.shape, 2)))
    shape = batched_shape(a, b)
    if g.dtype is a.dtype is not b.dtype:
        refuse_bool(a, "baddbmm")
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[a.dtype]} but found {SCALAR_NAMES[b.dtype]}")
    if g.dtype is not a.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {c_name(g.dtype)}, batch1: {c_name(a.dtype)}, "
            f"batch2: {c_name(b.dtype)}"
        )
    refuse_bool(a, "baddbmm")
    return contiguous(shape, a.dtype, a.device)


BADDBMM = _declare_product("baddbmm", _baddbmm_geometry, BMM)


@api("torch", "Tensor", out=EXACT, inplace=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *older: Any, beta: Any = 1,
            alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``: (B, N, K) by (B, K, M).

    >>> import flambeau as torch
    >>> torch.baddbmm(torch.ones(1), torch.ones(1, 1, 2), torch.ones(1, 2, 1), alpha=2)
    tensor([[[5.]]])
    """
    if older:
        return scaled(baddbmm, (input, batch1, batch2, *older), "beta alpha")
    beta, alpha = _fitting(batch1, beta), _fitting(batch1, alpha)
    return record(BADDBMM, (input, batch1, batch2, beta, alpha), (_mode(beta, alpha),))


def _addbmm_geometry(operands: Any, attributes: Any) -> Geometry:
    g, a, b = operands[:3]
    expandable(g, (extent_of(a.shape, 1), extent_of(b.shape, 2)))
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError(f"batch{1 if a.ndim != 3 else 2} must be a 3D tensor")
    if a.shape[0] != b.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {a.shape[0]} and {b.shape[0]}"
        )
    if a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({a.shape[1]}x{a.shape[2]} and {b.shape[1]}x{b.shape[2]})"
        )
    shape = (a.shape[1], b.shape[2])
    require_scalar_type(a, b)
    require_scalar_type(g, a)
    refuse_bool(a, "addmm_impl_cpu_")
    return contiguous(shape, a.dtype, a.device)


def _addbmm_kernel(m: Any, input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any, mode: int) -> Any:
    batch, n, k = mat1.shape
    product = m.matmul(mat1.transpose(1, 0, 2).reshape(n, batch * k), mat2.reshape(batch * k, mat2.shape[2]))
    return combine(product, input, beta, alpha, mode)


ADDBMM = _declare("addbmm", _addbmm_geometry, _addbmm_kernel)


@ADDBMM.derivative("mat1", keeps="mat2")
def _(ctx: Any, grad: Tensor, mat2: Tensor) -> Any:
    return _scaled(grad.matmul(transposed(mat2)), ctx.numbers[4])


@ADDBMM.derivative("mat2", keeps="mat1")
def _(ctx: Any, grad: Tensor, mat1: Tensor) -> Any:
    return _scaled(transposed(mat1).matmul(grad), ctx.numbers[4])


@api("torch", "Tensor", out=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *older: Any, beta: Any = 1,
           alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``: (B, N, K) by (B, K, M) gives (N, M).

    >>> import flambeau as torch
    >>> torch.addbmm(torch.zeros(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    if older:
        return scaled(addbmm, (input, batch1, batch2, *older), "beta alpha")
    beta, alpha = _fitting(batch1, beta), _fitting(batch1, alpha)
    return record(ADDBMM, (input, batch1, batch2, beta, alpha), (_mode(beta, alpha),))


@api("Tensor")
def addbmm_(self: Tensor, batch1: Tensor, batch2: Tensor, *older: Any, beta: Any = 1,
            alpha: Any = 1) -> Tensor:
    """In-place version of ``addbmm``, which as an exception gives the tensor the result's shape.

    >>> import flambeau as torch
    >>> torch.zeros(1).addbmm_(torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    result = addbmm(self, batch1, batch2, *older, beta=beta, alpha=alpha)
    if result.shape != self.shape:
        self.resize_(result.shape)
    return assign(self, result, "addbmm_")
