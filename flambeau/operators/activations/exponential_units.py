"""Exponential linear units: elu, selu and celu."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor, record
from ..declaration.definition import pointwise_operator
from ..declaration.domain import NOT_FLOATING, refuse
from ..declaration.registry import api
from ..pointwise.comparison import where
from ..pointwise.exponential import exp
from .activation import done, factor, in_place

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def _elu_kernel(m: Any, input: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    return m.where(input > 0, input * scale, m.expm1(input * input_scale) * (alpha * scale))


def _elu_operator(grad_name: str) -> Any:
    op = pointwise_operator("elu", _elu_kernel, grad_name=grad_name)
    refuse(op, "elu_cpu", *NOT_FLOATING, first_only=True)

    @op.derivative("input", keeps="input alpha scale input_scale")
    def _(ctx: Any, grad: Tensor, input: Tensor, alpha: Any, scale: Any, input_scale: Any) -> Tensor:
        return record(ELU_BACKWARD, (grad, input, alpha, scale, input_scale))
    return op


ELU = _elu_operator("EluBackward0")
CELU = _elu_operator("CeluBackward0")
ELU_BACKWARD = pointwise_operator(
    "elu_backward",
    lambda m, grad, input, alpha, scale, input_scale: (
        grad
        * m.where(input <= 0, m.exp(m.minimum(input, 0) * input_scale) * (alpha * scale * input_scale), scale)
    ),
)


@ELU_BACKWARD.derivative("grad", keeps="input alpha scale input_scale")
def _(ctx: Any, grad: Tensor, input: Tensor, alpha: Any, scale: Any, input_scale: Any) -> Tensor:
    return record(ELU_BACKWARD, (grad, input, alpha, scale, input_scale))


@ELU_BACKWARD.derivative("input", keeps="grad input alpha scale input_scale")
def _(
    ctx: Any, grad: Tensor, inner: Tensor, input: Tensor, alpha: Any, scale: Any, input_scale: Any
) -> Tensor:
    curved = grad * inner * exp(input * input_scale) * (alpha * scale * input_scale * input_scale)
    return where(input <= 0, curved, 0)


@api("nn.functional")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input) - 1)``.

    >>> import flambeau as torch
    >>> torch.nn.functional.elu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return done(input, record(ELU, (input, float(factor(input, alpha)), 1.0, 1.0)), inplace, "elu_")


@api("torch", inplace=False)
def selu(input: Tensor) -> Tensor:
    """The self-normalizing exponential linear unit (Klambauer et al., 2017).

    >>> import flambeau as torch
    >>> torch.selu(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return record(ELU, (input, SELU_ALPHA, SELU_SCALE, 1.0))


@api("torch")
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``max(0, input) + min(0, alpha * (exp(input / alpha) - 1))``.

    >>> import flambeau as torch
    >>> torch.celu(torch.tensor([-1., 2.]), 2.)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    alpha = factor(input, alpha)
    return record(CELU, (input, float(alpha), 1.0, 1.0 / alpha))


@api("nn.functional", name="selu")
def _functional_selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalizing exponential linear unit (see ``torch.selu``).

    >>> import flambeau as torch
    >>> torch.nn.functional.selu(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return done(input, selu(input), inplace, "selu_")


@api("nn.functional", name="celu")
def _functional_celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The continuously differentiable exponential linear unit (see ``torch.celu``).

    >>> import flambeau as torch
    >>> torch.nn.functional.celu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return done(input, celu(input, alpha), inplace, "celu_")


in_place("elu_", elu)
in_place("selu_", selu, "torch")
in_place("celu_", celu, "torch")
