"""Softmax and its kin."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Rows
from ...tensor import Tensor, check_dim, record, record_one, record_pair
from ...tensor.warned import warn
from ..calls.out import EXACT
from ..creation.casting import cast
from ..declaration.definition import between_steps, operand_dtype, operator
from ..declaration.domain import not_implemented
from ..declaration.registry import api, called


def _geometry_of(name: str) -> Any:
    def infer(operands: Any, attributes: Any) -> Geometry:
        g: Geometry = operands[0]
        check_dim(attributes[0], g.ndim)
        if g.dtype.category != dtypes.FLOATING and g.numel:
            last = check_dim(attributes[0], g.ndim) == max(g.ndim - 1, 0)
            raise not_implemented(f"{name}_lastdim_kernel_impl" if last else f"{name}_kernel_impl", g.dtype)
        return contiguous(g.shape, g.dtype, g.device)
    return infer


def _backward_geometry(operands: Any, attributes: Any) -> Geometry:
    return contiguous(operands[0].shape, operands[0].dtype, operands[0].device)


@operator("softmax", _geometry_of("softmax"), compute=operand_dtype, rows=Rows(passes=3))
def SOFTMAX(m: Any, input: Any, dim: int) -> Any:
    return m.softmax(input, dim)


@operator("log_softmax", _geometry_of("log_softmax"), compute=operand_dtype, rows=Rows(passes=3))
def LOG_SOFTMAX(m: Any, input: Any, dim: int, narrow: Any = None) -> Any:
    """``narrow``: the 16-bit type to which the sum and its logarithm are rounded."""
    return m.log_softmax(input, dim, narrow)


@operator("softmax_backward", _backward_geometry, compute=operand_dtype, rows=Rows(passes=2))
def SOFTMAX_BACKWARD(m: Any, grad: Any, result: Any, dim: int) -> Any:
    return m.softmax_gradient(grad, result, dim)


@operator("log_softmax_backward", _backward_geometry, compute=operand_dtype, rows=Rows(passes=2))
def LOG_SOFTMAX_BACKWARD(m: Any, grad: Any, result: Any, dim: int) -> Any:
    return m.log_softmax_gradient(grad, result, dim)


@SOFTMAX.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return record_pair(SOFTMAX_BACKWARD, grad, output, ctx.attributes)


@LOG_SOFTMAX.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return record_pair(LOG_SOFTMAX_BACKWARD, grad, output, ctx.attributes[:1])


@SOFTMAX_BACKWARD.derivative("grad", keeps="result")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return record_pair(SOFTMAX_BACKWARD, grad, output, ctx.attributes)


@SOFTMAX_BACKWARD.derivative("result", keeps="grad result")
def _(ctx: Any, grad: Tensor, inner: Tensor, output: Tensor) -> Tensor:
    # y (g - sum(g y)) by y, with v the incoming gradient: v (g - sum(g y)) - g sum(v y)
    dim = ctx.attributes[0]
    return grad * (inner - (inner * output).sum(dim, True)) - inner * (grad * output).sum(dim, True)


@LOG_SOFTMAX_BACKWARD.derivative("grad", keeps="result")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return grad - (grad * output.exp()).sum(ctx.attributes[0], True)


@LOG_SOFTMAX_BACKWARD.derivative("result", keeps="grad result")
def _(ctx: Any, grad: Tensor, inner: Tensor, output: Tensor) -> Tensor:
    return -grad * output.exp() * inner.sum(ctx.attributes[0], True)


def _along(op: Any, input: Tensor, dim: int, dtype: Any) -> Tensor:
    if dtype is not None:
        input = cast(input, dtype)
    g = input._geometry
    axis = check_dim(dim, g.ndim)
    if op is LOG_SOFTMAX and axis == g.ndim - 1 and (narrow := between_steps(g.dtype)) is not None:
        return record_one(op, input, (axis, narrow))
    return record_one(op, input, (axis,))


@api("torch", "Tensor", "special", out=EXACT, as_is=("dtype",))
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along ``dim``, computed in ``dtype`` if given.

    >>> import flambeau as torch
    >>> torch.softmax(torch.tensor([0., 1.]), 0)
    tensor([0.2689, 0.7311])
    """
    return _along(SOFTMAX, input, dim, dtype)


@api("torch", "Tensor", "special", out=EXACT, as_is=("dtype",))
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``log(softmax(input))`` along ``dim``, without underflow.

    >>> import flambeau as torch
    >>> torch.log_softmax(torch.tensor([0., 1.]), 0)
    tensor([-1.3133, -0.3133])
    """
    return _along(LOG_SOFTMAX, input, dim, dtype)


def _backward_data(op: Any, grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    if grad_output.shape != output.shape:
        raise RuntimeError(
            "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'; "
            f"but {list(grad_output.shape)} does not equal {list(output.shape)} "
            f"(while checking arguments for {op.name})")
    if input_dtype != grad_output.dtype:
        names = dtypes.SCALAR_NAMES
        raise RuntimeError(f"expected scalar type {names[grad_output.dtype]} but found {names[input_dtype]}")
    result: Tensor = record(op, (grad_output, output), (check_dim(dim, output.ndim),))
    return result


@api("torch", judge="first")
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient by softmax's input, from its ``output``: programs call it in backward passes of their own.

    >>> import flambeau as torch
    >>> torch._softmax_backward_data(torch.tensor([1., 0.]), torch.tensor([0.5, 0.5]), 0, torch.float32)
    tensor([ 0.2500, -0.2500])
    """
    return _backward_data(SOFTMAX_BACKWARD, grad_output, output, dim, input_dtype)


@api("torch", judge="first")
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient by log_softmax's input, from its ``output``."""
    return _backward_data(LOG_SOFTMAX_BACKWARD, grad_output, output, dim, input_dtype)


def implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that old programs mean when they give none."""
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
        "argument.", beyond_layers=stacklevel > 3)
    return 0 if ndim in (0, 1, 3) else 1


@api("nn.functional", name="softmax", as_is=("dtype",))
@called("softmax")
def _functional_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Softmax along ``dim`` (see ``torch.softmax``).

    >>> import flambeau as torch
    >>> torch.nn.functional.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = implicit_dim("softmax", input.ndim, _stacklevel)
    return _along(SOFTMAX, input, dim, dtype)


@api("nn.functional", name="log_softmax", as_is=("dtype",))
@called("log_softmax")
def _functional_log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of softmax along ``dim`` (see ``torch.log_softmax``).

    >>> import flambeau as torch
    >>> torch.nn.functional.log_softmax(torch.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = implicit_dim("log_softmax", input.ndim, _stacklevel)
    return _along(LOG_SOFTMAX, input, dim, dtype)


@api("nn.functional")
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``softmax(-input)``.

    >>> import flambeau as torch
    >>> torch.nn.functional.softmin(torch.tensor([0., 1.]), 0)
    tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = implicit_dim("softmin", input.ndim, _stacklevel)
    return _along(SOFTMAX, -input, dim, dtype)


@api("nn.functional")
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax (Jang et al., 2016); ``hard``: one-hot, softly differentiated.

    >>> import flambeau as torch
    >>> torch.nn.functional.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(1)
    tensor([1., 1.])
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    gumbels = -logits.new_empty(logits.shape).exponential_().log()
    soft = softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().max(dim, keepdim=True)[1]
    one_hot = soft.new_zeros(soft.shape).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
