"""Bessel functions, Airy's function and orthogonal polynomials (``torch.special``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtypes import LOW_PRECISION
from ...tensor import Tensor, record
from ..calls.out import NO_HISTORY
from ..declaration.definition import pointwise, pointwise_operator
from ..declaration.domain import COMPLEX, operands, refuse, require_tensor
from ..declaration.prices import per_element
from ..declaration.registry import api
from .comparison import where


@pointwise("torch", "Tensor", "special", promotes="float")
def i0(m: Any, input: Any) -> Any:
    """The modified Bessel function of the first kind, order 0.

    >>> import flambeau as torch
    >>> torch.i0(torch.tensor([0., 1.]))
    tensor([1.0000, 1.2661])
    """
    return m.i0(input)


@pointwise("special", promotes="float", inplace=False)
def i0e(m: Any, input: Any) -> Any:
    """``exp(-|input|) * i0(input)``.

    >>> import flambeau as torch
    >>> torch.special.i0e(torch.tensor([0., 1.]))
    tensor([1.0000, 0.4658])
    """
    return m.i0e(input)


@pointwise("special", promotes="float", inplace=False)
def i1(m: Any, input: Any) -> Any:
    """The modified Bessel function of the first kind, order 1.

    >>> import flambeau as torch
    >>> torch.special.i1(torch.tensor([0., 1.]))
    tensor([0.0000, 0.5652])
    """
    return m.i1(input)


@pointwise("special", promotes="float", inplace=False)
def i1e(m: Any, input: Any) -> Any:
    """``exp(-|input|) * i1(input)``.

    >>> import flambeau as torch
    >>> torch.special.i1e(torch.tensor([0., 1.]))
    tensor([0.0000, 0.2079])
    """
    return m.i1e(input)


@i0.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * i1(input)


@i0e.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    return grad * (i1e(input) - input.sgn() * output)


@i1.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    return grad * (i0(input) - where(input == 0, 0.5, output / where(input == 0, 1, input)))


@i1e.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    slope = i0e(input) - output * (input.sgn() + 1 / where(input == 0, 1, input))
    return grad * where(input == 0, 0.5, slope)


for _function in (i0, i0e, i1, i1e):
    refuse(_function.operator, f"{_function.__name__}{'_vml' if _function is i0 else ''}_cpu", COMPLEX)


def _bessel(name: str, kernel: str, text: str, example: str) -> Callable[..., Tensor]:
    """Declare a function of one tensor that is not differentiable."""
    op = pointwise_operator(f"special_{name}", lambda m, input: getattr(m, kernel)(input), "float")
    refuse(op, f"{name}_cpu", COMPLEX, types=LOW_PRECISION)

    def function(input: Tensor) -> Tensor:
        require_tensor(input, f"special_{name}", "input", 1)
        return record(op, (input,))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{text}\n\n    >>> import flambeau as torch\n    {example}\n    "
    return api("special", out=NO_HISTORY)(function)


airy_ai = _bessel("airy_ai", "airy_ai", "Airy's function Ai.",
                  ">>> torch.special.airy_ai(torch.tensor([0., 1.]))\n    tensor([0.3550, 0.1353])")
bessel_j0 = _bessel("bessel_j0", "bessel_j0", "The Bessel function of the first kind, order 0.",
                    ">>> torch.special.bessel_j0(torch.tensor([1.]))\n    tensor([0.7652])")
bessel_j1 = _bessel("bessel_j1", "bessel_j1", "The Bessel function of the first kind, order 1.",
                    ">>> torch.special.bessel_j1(torch.tensor([1.]))\n    tensor([0.4401])")
bessel_y0 = _bessel("bessel_y0", "bessel_y0", "The Bessel function of the second kind, order 0.",
                    ">>> torch.special.bessel_y0(torch.tensor([1.]))\n    tensor([0.0883])")
bessel_y1 = _bessel("bessel_y1", "bessel_y1", "The Bessel function of the second kind, order 1.",
                    ">>> torch.special.bessel_y1(torch.tensor([1.]))\n    tensor([-0.7812])")
modified_bessel_i0 = _bessel(
    "modified_bessel_i0",
    "i0",
    "The modified Bessel function of the first kind, order 0.",
    ">>> torch.special.modified_bessel_i0(torch.tensor([1.]))\n    tensor([1.2661])",
)
modified_bessel_i1 = _bessel(
    "modified_bessel_i1",
    "i1",
    "The modified Bessel function of the first kind, order 1.",
    ">>> torch.special.modified_bessel_i1(torch.tensor([1.]))\n    tensor([0.5652])",
)
modified_bessel_k0 = _bessel(
    "modified_bessel_k0",
    "k0",
    "The modified Bessel function of the second kind, order 0.",
    ">>> torch.special.modified_bessel_k0(torch.tensor([1.]))\n    tensor([0.4210])",
)
modified_bessel_k1 = _bessel(
    "modified_bessel_k1",
    "k1",
    "The modified Bessel function of the second kind, order 1.",
    ">>> torch.special.modified_bessel_k1(torch.tensor([1.]))\n    tensor([0.6019])",
)
scaled_modified_bessel_k0 = _bessel(
    "scaled_modified_bessel_k0", "k0e", "``exp(input)`` times the modified Bessel function of the second "
    "kind, order 0.",
    ">>> torch.special.scaled_modified_bessel_k0(torch.tensor([1.]))\n    tensor([1.1445])")
scaled_modified_bessel_k1 = _bessel(
    "scaled_modified_bessel_k1", "k1e", "``exp(input)`` times the modified Bessel function of the second "
    "kind, order 1.",
    ">>> torch.special.scaled_modified_bessel_k1(torch.tensor([1.]))\n    tensor([1.6362])")
spherical_bessel_j0 = _bessel("spherical_bessel_j0", "spherical_j0", "``sin(input) / input``, 1 at 0.",
                              ">>> torch.special.spherical_bessel_j0(torch.tensor([1.]))\n    "
                              "tensor([0.8415])")


# --- orthogonal polynomials ---------------------------------------------------------------------------------

def _polynomial(name: str, family: str, text: str, example: str) -> Callable[..., Tensor]:
    """Declare a family of polynomials: ``function(input, n)`` with the degree n a tensor or number."""
    op = pointwise_operator(f"special_{name}", lambda m, input, n: m.orthogonal(input, n, family), "float",
                            price=per_element(20.0, 20e3))
    refuse(op, f"{name}_cpu", COMPLEX, types=LOW_PRECISION)

    def function(input: Any, n: Any) -> Tensor:
        return record(op, operands(f"special_{name}", input, n, "n"))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{text}\n\n    >>> import flambeau as torch\n    {example}\n    "
    return api("special", out=NO_HISTORY)(function)


chebyshev_polynomial_t = _polynomial(
    "chebyshev_polynomial_t", "chebyshev_t", "Chebyshev's polynomial of the first kind, of degree n.",
    ">>> torch.special.chebyshev_polynomial_t(torch.tensor([0.5]), 2)\n    tensor([-0.5000])")
chebyshev_polynomial_u = _polynomial(
    "chebyshev_polynomial_u", "chebyshev_u", "Chebyshev's polynomial of the second kind, of degree n.",
    ">>> torch.special.chebyshev_polynomial_u(torch.tensor([0.5]), 1)\n    tensor([1.])")
chebyshev_polynomial_v = _polynomial(
    "chebyshev_polynomial_v", "chebyshev_v", "Chebyshev's polynomial of the third kind, of degree n.",
    ">>> torch.special.chebyshev_polynomial_v(torch.tensor([1.]), 3)\n    tensor([1.])")
chebyshev_polynomial_w = _polynomial(
    "chebyshev_polynomial_w", "chebyshev_w", "Chebyshev's polynomial of the fourth kind, of degree n.",
    ">>> torch.special.chebyshev_polynomial_w(torch.tensor([1.]), 3)\n    tensor([7.])")
shifted_chebyshev_polynomial_t = _polynomial(
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_t", "Chebyshev's polynomial of the first kind at 2 "
    "input - 1.",
    ">>> torch.special.shifted_chebyshev_polynomial_t(torch.tensor([0.75]), 2)\n    tensor([-0.5000])")
shifted_chebyshev_polynomial_u = _polynomial(
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_u", "Chebyshev's polynomial of the second kind at "
    "2 input - 1.",
    ">>> torch.special.shifted_chebyshev_polynomial_u(torch.tensor([0.75]), 1)\n    tensor([1.])")
shifted_chebyshev_polynomial_v = _polynomial(
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_v", "Chebyshev's polynomial of the third kind at 2 "
    "input - 1.",
    ">>> torch.special.shifted_chebyshev_polynomial_v(torch.tensor([1.]), 3)\n    tensor([1.])")
shifted_chebyshev_polynomial_w = _polynomial(
    "shifted_chebyshev_polynomial_w", "shifted_chebyshev_w", "Chebyshev's polynomial of the fourth kind at "
    "2 input - 1.",
    ">>> torch.special.shifted_chebyshev_polynomial_w(torch.tensor([1.]), 3)\n    tensor([7.])")
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h", "hermite_h", "The physicists' Hermite polynomial of degree n.",
    ">>> torch.special.hermite_polynomial_h(torch.tensor([1.]), 2)\n    tensor([2.])")
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he", "hermite_he", "The probabilists' Hermite polynomial of degree n.",
    ">>> torch.special.hermite_polynomial_he(torch.tensor([2.]), 2)\n    tensor([3.])")
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l", "laguerre_l", "Laguerre's polynomial of degree n.",
    ">>> torch.special.laguerre_polynomial_l(torch.tensor([1.]), 2)\n    tensor([-0.5000])")
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p", "legendre_p", "Legendre's polynomial of degree n.",
    ">>> torch.special.legendre_polynomial_p(torch.tensor([0.5]), 2)\n    tensor([-0.1250])")
