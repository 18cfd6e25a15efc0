"""Elementary and special functions, as kernels name them: each is computed once for each element."""

from __future__ import annotations

from typing import Any

from ..expressions import functions as exact
from ..expressions.elements import maximum, minimum, unordered
from ..expressions.expression import Expression, compare, constant, pair, select
from . import bessel, circle, error_function, incomplete_gamma, inverses, neighbours
from . import gamma as gamma_functions


def _expensive(function: Any) -> Any:
    """A function that is computed once for each element, however many passes a kernel has."""
    def wrapper(*operands: Expression) -> Expression:
        return operands[0].emitter.costly(function, *operands)
    return wrapper


def _of_pair(function: Any) -> Any:
    """The same, of two operands in their common type."""
    def wrapper(x: Any, y: Any) -> Expression:
        first, second = pair(x, y)
        return first.emitter.costly(function, first, second)
    return wrapper


cos, cosh, exp, exp2, expm1 = map(_expensive, (circle.cos, exact.cosh, exact.exp, exact.exp2, exact.expm1))
log, log1p, log2, log10_of = map(_expensive, (exact.log, exact.log1p, exact.log2, exact.log10))
sigmoid, sin, sinh, tanh, _power = map(_expensive, (exact.sigmoid, circle.sin, exact.sinh, exact.tanh,
                                                    exact.power))
erf, erfc, erfinv = map(_expensive, (error_function.erf, error_function.erfc, error_function.erfinv))
times_normal, normal_slope = map(_expensive, (error_function.times_normal, error_function.normal_slope))
arccos, arccosh, arcsin, arcsinh, arctan, arctanh = map(_expensive, (
    inverses.acos, inverses.acosh, inverses.asin, inverses.asinh, inverses.atan, inverses.atanh))
tan = _expensive(inverses.tan)
sinc_of = _expensive(circle.sinc)
digamma, lgamma, trigamma = map(_expensive, (gamma_functions.digamma, gamma_functions.lgamma,
                                             gamma_functions.trigamma))
log_ndtr, ndtr, ndtri = map(_expensive, (error_function.log_ndtr, error_function.ndtr,
                                         error_function.ndtri))
i0, i0e, i1, i1e, k0, k0e, k1, k1e = map(_expensive, (bessel.i0, bessel.i0e, bessel.i1, bessel.i1e, bessel.k0,
                                                      bessel.k0e, bessel.k1, bessel.k1e))
bessel_j0, bessel_j1, bessel_y0, bessel_y1, spherical_j0 = map(_expensive, (
    bessel.bessel_j0, bessel.bessel_j1, bessel.bessel_y0, bessel.bessel_y1, bessel.spherical_j0))
arctan2, hypot, log_of_sum, logaddexp2, nextafter = map(_of_pair, (
    inverses.atan2, inverses.hypot, inverses.log_of_sum, inverses.log2_of_sum, neighbours.nextafter))
gammainc, gammaincc = map(_of_pair, (incomplete_gamma.gammainc, incomplete_gamma.gammaincc))


def copysign(x: Any, y: Any) -> Expression:
    """x with the sign of y."""
    first, second = pair(x, y)
    return exact.copysign(first, second)


def integer_safe_power(x: Any, y: Any) -> Expression:
    """x ** y, of floating numbers."""
    first, second = pair(x, y)
    return _power(first, second)


def x_times(function: Any, x: Any, y: Any) -> Expression:
    """x * function(y), where 0 times anything but NaN is 0."""
    x, y = pair(x, y)
    zero = compare("==", x, 0) & ~unordered(y)
    return select(zero, constant(x, 0), x * function(y))


def clamped_logit(x: Expression, eps: Any) -> Expression:
    """log(x / (1 - x)) of x in [eps, 1 - eps]."""
    x = minimum(maximum(x, eps), 1 - eps)
    return log(x / (1 - x))
