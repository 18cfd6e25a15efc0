"""Special functions: the error function's family and gamma's."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...tensor import Tensor, record, record_one
from ..declaration.definition import pointwise, pointwise_operator
from ..declaration.domain import COMPLEX, not_implemented, of_tensors, operands, refuse
from ..declaration.prices import per_element
from ..declaration.registry import api
from ..declaration.undifferentiable import refuse_formula
from .comparison import where
from .exponential import exp, log

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
SQRT_2_PI = math.sqrt(2 * math.pi)


# --- the error function -------------------------------------------------------------------------------------

@pointwise("torch", "Tensor", "special", promotes="float")
def erf(m: Any, input: Any) -> Any:
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t^2)`` from 0 to ``input``.

    >>> import flambeau as torch
    >>> torch.erf(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8427])
    """
    return m.erf(input)


@erf.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * (exp(-input * input) * TWO_OVER_SQRT_PI)


@pointwise("torch", "Tensor", "special", promotes="float", price=per_element(50.0))
def erfc(m: Any, input: Any) -> Any:
    """``1 - erf(input)``, accurate where it is small.

    >>> import flambeau as torch
    >>> torch.special.erfc(torch.tensor([0., 1.]))
    tensor([1.0000, 0.1573])
    """
    return m.erfc(input)


@erfc.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * (exp(-input * input) * -TWO_OVER_SQRT_PI)


@pointwise("torch", "Tensor", "special", promotes="float", price=per_element(60.0))
def erfinv(m: Any, input: Any) -> Any:
    """The inverse of ``erf``.

    >>> import flambeau as torch
    >>> torch.erfinv(torch.tensor([0., 0.5]))
    tensor([0.0000, 0.4769])
    """
    return m.erfinv(input)


@erfinv.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    output = erfinv(input)
    return grad * (exp(output * output) / TWO_OVER_SQRT_PI)


@pointwise("special", promotes="float", inplace=False)
def erfcx(m: Any, input: Any) -> Any:
    """``exp(input^2) * erfc(input)``.

    >>> import flambeau as torch
    >>> torch.special.erfcx(torch.tensor([0., 10.]))
    tensor([1.0000, 0.0561])
    """
    return m.erfcx(input)


@erfcx.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    return grad * (2 * input * output - TWO_OVER_SQRT_PI)


# --- the normal distribution --------------------------------------------------------------------------------

@pointwise("special", promotes="float", inplace=False, price=per_element(35.0))
def ndtr(m: Any, input: Any) -> Any:
    """The distribution function of the standard normal distribution.

    >>> import flambeau as torch
    >>> torch.special.ndtr(torch.tensor([0., 1.]))
    tensor([0.5000, 0.8413])
    """
    return m.ndtr(input)


@ndtr.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * (exp(input * input * -0.5) / SQRT_2_PI)


@pointwise("special", promotes="float", inplace=False, price=per_element(400.0))
def ndtri(m: Any, input: Any) -> Any:
    """The quantile function of the standard normal distribution.

    >>> import flambeau as torch
    >>> torch.special.ndtri(torch.tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """
    return m.ndtri(input)


@ndtri.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return grad * (exp(output * output * 0.5) * SQRT_2_PI)


@pointwise("special", promotes="float", inplace=False, price=per_element(100.0))
def log_ndtr(m: Any, input: Any) -> Any:
    """``log(ndtr(input))``, without underflow.

    >>> import flambeau as torch
    >>> torch.special.log_ndtr(torch.tensor([0., -10.]))
    tensor([ -0.6931, -53.2313])
    """
    return m.log_ndtr(input)


@log_ndtr.derivative("input", keeps="input", holds="output")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad / erfcx(input * -math.sqrt(0.5)) * math.sqrt(2 / math.pi)


# --- gamma and its derivatives ------------------------------------------------------------------------------

@pointwise(promotes="float", price=per_element(90.0))
def lgamma(m: Any, input: Any) -> Any:
    """``log |gamma(input)|``.

    >>> import flambeau as torch
    >>> torch.lgamma(torch.tensor([1., 5.]))
    tensor([0.0000, 3.1781])
    """
    return m.lgamma(input)


@lgamma.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * digamma(input)


@pointwise("torch", "Tensor", "special", promotes="float", price=per_element(50.0))
def digamma(m: Any, input: Any) -> Any:
    """The derivative of ``lgamma``.

    >>> import flambeau as torch
    >>> torch.digamma(torch.tensor([1., 0.5]))
    tensor([-0.5772, -1.9635])
    """
    return m.digamma(input)


@digamma.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * polygamma(1, input)


api("special", name="gammaln")(lgamma)
api("special", name="psi")(digamma)

POLYGAMMA = pointwise_operator("polygamma", lambda m, input, n: m.polygamma(input, int(n)), "float",
                               price=per_element(100.0))
DIGAMMA = pointwise_operator("polygamma", lambda m, input: m.digamma(input), "float", price=per_element(50.0))
TRIGAMMA = pointwise_operator("polygamma", lambda m, input: m.trigamma(input), "float",
                              price=per_element(100.0))
_BY_ORDER = {0: DIGAMMA, 1: TRIGAMMA}
refuse(POLYGAMMA, "polygamma", COMPLEX)
refuse(TRIGAMMA, "trigamma", COMPLEX)


@DIGAMMA.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * polygamma(1, input)


@TRIGAMMA.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * polygamma(2, input)


@POLYGAMMA.derivative("input", keeps="input n")
def _(ctx: Any, grad: Tensor, input: Tensor, n: int) -> Tensor:
    return grad * polygamma(int(n) + 1, input)


@api("torch", "special", out=True, judge="first")
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of ``digamma``.

    >>> import flambeau as torch
    >>> torch.polygamma(1, torch.tensor([1., 0.5]))
    tensor([1.6449, 4.9348])
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0 and input.is_complex():
        raise not_implemented("digamma", input.dtype)
    simple = _BY_ORDER.get(n)
    return record_one(simple, input) if simple is not None else record(POLYGAMMA, (input, n))


@api("Tensor", name="polygamma", inplace=True, judge="first")
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of ``digamma`` (see ``torch.polygamma``).

    >>> import flambeau as torch
    >>> torch.tensor([1.0]).polygamma(1)
    tensor([1.6449])
    """
    return polygamma(n, self)


@api("torch", "Tensor", out=True, inplace=True, judge="first")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p.

    >>> import flambeau as torch
    >>> torch.mvlgamma(torch.tensor([2., 3.]), 2)
    tensor([0.4516, 1.5502])
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input.dtype is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if input.dtype.category < dtypes.FLOATING:
        input = input.to(dtypes.get_default_dtype())
    total = lgamma(input)
    for j in range(1, p):
        total = total + lgamma(input - j / 2)
    return total + p * (p - 1) * 0.25 * math.log(math.pi)


api("special", name="multigammaln", out=True, judge="first")(mvlgamma)

ZETA = pointwise_operator("special_zeta", lambda m, input, other: m.zeta(input, other), "float")


@ZETA.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Any, other: Tensor) -> Tensor:
    return grad * (-input * zeta(input + 1, other))


refuse_formula(ZETA, "zeta", "input")


refuse(ZETA, "zeta_cpu", COMPLEX, types=dtypes.LOW_PRECISION)


@api("special", out=True)
def zeta(input: Any, other: Any) -> Tensor:
    """Hurwitz's zeta function: the sum of ``(k + other)^-input`` over k = 0, 1, ...

    >>> import flambeau as torch
    >>> torch.special.zeta(torch.tensor([2., 4.]), 1)
    tensor([1.6449, 1.0823])
    """
    return record(ZETA, operands("special_zeta", input, other))


def _gamma_density(input: Tensor, other: Tensor) -> Tensor:
    """The derivative of gammainc by its second argument."""
    return exp((input - 1) * log(other) - other - lgamma(input))


@of_tensors("torch", "Tensor", promotes="float", price=per_element(1000.0, 300e3))
def igamma(m: Any, input: Any, other: Any) -> Any:
    """The regularized lower incomplete gamma function of order ``input`` at ``other``.

    >>> import flambeau as torch
    >>> torch.igamma(torch.tensor([4.]), torch.tensor([3.]))
    tensor([0.3528])
    """
    return m.gammainc(input, other)


@of_tensors("torch", "Tensor", promotes="float", price=per_element(1000.0, 300e3))
def igammac(m: Any, input: Any, other: Any) -> Any:
    """The regularized upper incomplete gamma function of order ``input`` at ``other``.

    >>> import flambeau as torch
    >>> torch.igammac(torch.tensor([4.]), torch.tensor([3.]))
    tensor([0.6472])
    """
    return m.gammaincc(input, other)


for _function, _kernel in ((igamma, "igamma"), (igammac, "igammac")):
    refuse(_function.operator, _kernel, dtypes.BOOL, dtypes.INTEGER, COMPLEX)


@igamma.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return grad * _gamma_density(input, other)


@igammac.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return -grad * _gamma_density(input, other)


for _function in (igamma, igammac):
    refuse_formula(_function.operator, "igamma: input", "input")
api("special", name="gammainc")(igamma)
api("special", name="gammaincc")(igammac)


# --- entropy ------------------------------------------------------------------------------------------------

@pointwise("special", promotes="float", inplace=False)
def entr(m: Any, input: Any) -> Any:
    """``-input * log(input)``; 0 at 0, and minus infinity below.

    >>> import flambeau as torch
    >>> torch.special.entr(torch.tensor([0., 0.5, 1.]))
    tensor([0.0000, 0.3466, -0.0000])
    """
    value = -input * m.log(m.where(input > 0, input, input.dtype.type(1)))
    return m.where(
        input > 0, value, m.where(input == 0, input * 0, m.where(input < 0, input.dtype.type(-m.inf), input))
    )


@entr.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * where(input < 0, float("nan"), -log(input) - 1)


_KERNELS = {"erf": "erf_vml_cpu", "erfc": "erfc_vml_cpu", "erfinv": "erfinv_vml_cpu", "ndtr": "erf_vml_cpu",
            "lgamma": "lgamma_vml_cpu", "digamma": "digamma"}
for _function in (erf, erfc, erfinv, erfcx, ndtr, ndtri, log_ndtr, lgamma, digamma, entr):
    refuse(_function.operator, _KERNELS.get(_function.__name__, f"{_function.__name__}_cpu"), COMPLEX,
           types=dtypes.LOW_PRECISION if _function in (erfcx, ndtri, log_ndtr) else frozenset())
refuse(ZETA, "zeta", COMPLEX)
