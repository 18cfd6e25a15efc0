"""The namespace ``m`` of kernels in native code: the functions that kernels use, on expressions.

A name that is missing here has no native form. Formulas follow the interpreter's, so that both tiers agree.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import bessel, error_function, inverses, neighbours
from . import functions as exact
from . import gamma as gamma_functions
from .emitter import BOOL, Unsupported
from .expression import (
    Expression,
    arithmetic,
    by_comparison,
    by_operator,
    compare,
    constant,
    convert,
    invert,
    is_float,
    negative,
    pair,
    select,
)
from .functions import absolute, copysign
from .quotients import (
    floored_quotient,
    floored_remainder,
    shifted_left,
    shifted_right,
    truncated_quotient,
    truncated_remainder,
)
from .reductions import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    count_of,
    log_softmax,
    log_softmax_gradient,
    logsumexp,
    max,
    max_along,
    mean,
    min,
    min_along,
    prod,
    reshape,
    softmax,
    softmax_gradient,
    sum,
    without_dims,
)

pi, inf, nan, e = math.pi, math.inf, math.nan, math.e
bool_ = BOOL
alike = pair    # in one type


def asarray(x: Any) -> Any:
    """x, which is an element already."""
    return x


add, subtract, multiply = by_operator("+"), by_operator("-"), by_operator("*")
equal, not_equal = by_comparison("=="), by_comparison("!=")
less, less_equal, greater, greater_equal = map(by_comparison, ("<", "<=", ">", ">="))
bitwise_and, bitwise_or, bitwise_xor = map(by_operator, "&|^")


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


cos, cosh, exp, exp2, expm1 = map(_expensive, (exact.cos, exact.cosh, exact.exp, exact.exp2, exact.expm1))
log, log1p, log2, log10_of = map(_expensive, (exact.log, exact.log1p, exact.log2, exact.log10))
sigmoid, sin, sinh, tanh, _power = map(_expensive, (exact.sigmoid, exact.sin, exact.sinh, exact.tanh,
                                                    exact.power))
erf, erfc, erfinv, normal = map(_expensive, (error_function.erf, error_function.erfc, error_function.erfinv,
                                             error_function.normal))
arccos, arccosh, arcsin, arcsinh, arctan, arctanh = map(_expensive, (
    inverses.acos, inverses.acosh, inverses.asin, inverses.asinh, inverses.atan, inverses.atanh))
tan = _expensive(inverses.tan)
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


def __getattr__(name: str) -> Any:
    raise AttributeError(f"the function {name} has no native form")  # ``lower`` makes it Unsupported


def true_divide(x: Any, y: Any, dtype: Any = None) -> Expression:
    """x / y of floating numbers."""
    return arithmetic("/", x if dtype is None else cast(x, dtype), y)


divide = true_divide


def cast(x: Expression, numpy_type: Any) -> Expression:
    """x in another type."""
    return convert(x, np.dtype(numpy_type))


def where(condition: Any, x: Any, y: Any) -> Expression:
    """x where the condition holds, else y."""
    if not isinstance(condition, Expression) or not (isinstance(x, Expression) or isinstance(y, Expression)):
        raise Unsupported("a choice between numbers")
    x, y = pair(x, y)
    return select(convert(condition, BOOL), x, y)


def _unordered(x: Expression) -> Expression:
    return compare("!=", x, x)


def maximum(x: Any, y: Any) -> Expression:
    """The larger one; NaN where one is NaN."""
    return _extreme(x, y, ">")


def minimum(x: Any, y: Any) -> Expression:
    """The smaller one; NaN where one is NaN."""
    return _extreme(x, y, "<")


def _extreme(x: Any, y: Any, symbol: str) -> Expression:
    x, y = pair(x, y)
    chosen = compare(symbol, x, y)
    return select(chosen | _unordered(x) if is_float(x) else chosen, x, y)


def fmax(x: Any, y: Any) -> Expression:
    """The larger one; a number rather than NaN."""
    x, y = pair(x, y)
    chosen = compare(">", x, y)
    return select(chosen | _unordered(y) if is_float(x) else chosen, x, y)


def fmin(x: Any, y: Any) -> Expression:
    """The smaller one; a number rather than NaN."""
    x, y = pair(x, y)
    chosen = compare("<", x, y)
    return select(chosen | _unordered(y) if is_float(x) else chosen, x, y)


def bounded(x: Expression, low: Any, high: Any) -> Expression:
    """min(max(x, low), high), NaN staying NaN."""
    return minimum(maximum(x, low), high)


def rectify(x: Expression) -> Expression:
    """max(x, 0)."""
    return maximum(x, 0)


def leaky(x: Expression, slope: Any) -> Expression:
    """x where positive, else slope * x."""
    return where(compare(">", x, 0), x, x * slope)


def between(start: Any, end: Any, weight: Any) -> Expression:
    """The point between start and end, found from the nearer one, so that both are met exactly."""
    step = end - start
    return where(compare("<", absolute(weight), 0.5), start + weight * step, end - step * (1 - weight))


def abs(x: Expression) -> Expression:
    """The absolute value."""
    return x if x.dtype.kind in "bu" else absolute(x)


def sign_of(x: Expression) -> Expression:
    """-1, 0 or 1; 0 for NaN."""
    if x.dtype.kind == "b":
        return x
    below = constant(x, 0 if x.dtype.kind == "u" else -1)
    return select(compare(">", x, 0), constant(x, 1), select(compare("<", x, 0), below, constant(x, 0)))


def square(x: Expression) -> Expression:
    """x^2."""
    return x * x


def sqrt(x: Expression) -> Expression:
    """The square root."""
    return _floating(x).intrinsic("sqrt")


def rsqrt(x: Expression) -> Expression:
    """1 / sqrt(x)."""
    return 1 / sqrt(x)


def _floating(x: Expression) -> Expression:
    if not is_float(x):
        raise Unsupported(f"a function of {x.dtype}")
    return x


def floor(x: Expression) -> Expression:
    """Rounded down."""
    return _floating(x).intrinsic("floor")


def ceil(x: Expression) -> Expression:
    """Rounded up."""
    return _floating(x).intrinsic("ceil")


def trunc(x: Expression) -> Expression:
    """Rounded towards zero."""
    return _floating(x).intrinsic("trunc")


def rint(x: Expression) -> Expression:
    """Rounded to nearest, ties to even."""
    return _floating(x).intrinsic("rint")


def isnan(x: Expression) -> Expression:
    """Whether x is NaN."""
    return _unordered(x) if is_float(x) else constant(x, False, BOOL)


def isinf(x: Expression) -> Expression:
    """Whether x is infinite."""
    return compare("==", absolute(x), inf) if is_float(x) else constant(x, False, BOOL)


def isfinite(x: Expression) -> Expression:
    """Whether x is neither infinite nor NaN."""
    return compare("<", absolute(x), inf) if is_float(x) else constant(x, True, BOOL)


def nan_to_num(x: Expression, nan: Any, posinf: Any, neginf: Any) -> Expression:
    """x with what is not finite replaced."""
    finite = where(compare("==", x, inf), posinf, where(compare("==", x, -inf), neginf, x))
    return where(_unordered(x), nan, finite)


def signbit(x: Expression) -> Expression:
    """Whether the sign is negative."""
    return compare("<", copysign(constant(_floating(x), 1.0), x), 0)


def iscomplexobj(x: Expression) -> bool:
    """Complex elements have no native form."""
    return False


def conj(x: Expression) -> Expression:
    """x: elements are real."""
    return x


def ones_like(x: Expression) -> Expression:
    """1."""
    return constant(x, 1)


def _truth(x: Any) -> Expression:
    if not isinstance(x, Expression):
        raise Unsupported("the truth of a number")
    return convert(x, BOOL)


def logical_and(x: Any, y: Any) -> Expression:
    """Whether both hold."""
    return _truth(x) & _truth(y)


def logical_or(x: Any, y: Any) -> Expression:
    """Whether one holds."""
    return _truth(x) | _truth(y)


def logical_xor(x: Any, y: Any) -> Expression:
    """Whether exactly one holds."""
    return _truth(x) ^ _truth(y)


def logical_not(x: Any) -> Expression:
    """Whether x does not hold."""
    return ~_truth(x)


def integer_safe_power(x: Any, y: Any) -> Expression:
    """x ** y, of floating numbers."""
    first, second = pair(x, y)
    return _power(first, second)


# --- activations and their gradients ------------------------------------------------------------------------

_DENSITY = 1 / math.sqrt(2 * math.pi)
_SQRT_2_PI = math.sqrt(2 / math.pi)
_CUBE = 0.044715


def sigmoid_gradient(grad: Expression, output: Expression) -> Expression:
    """grad * output * (1 - output)."""
    return (1 - output) * output * grad


def tanh_gradient(grad: Expression, output: Expression) -> Expression:
    """grad * (1 - output^2)."""
    return (1 - output * output) * grad


def rectified_gradient(grad: Expression, output: Expression, threshold: Any) -> Expression:
    """grad where output is above the threshold (or NaN), else 0."""
    return where(compare("<=", output, threshold), constant(grad, 0), grad)


def silu(x: Expression) -> Expression:
    """x * sigmoid(x)."""
    return sigmoid(x) * x


def silu_gradient(grad: Expression, x: Expression) -> Expression:
    """The gradient of silu."""
    s = sigmoid(x)
    return ((1 - s) * x + 1) * s * grad


def softplus(x: Expression) -> Expression:
    """log(1 + exp(x)), without overflow."""
    return log1p(exp(-absolute(x))) + maximum(x, 0)


def mish(x: Expression) -> Expression:
    """x * tanh(softplus(x))."""
    return tanh(softplus(x)) * x


def gelu(x: Expression) -> Expression:
    """x times the normal distribution function of x."""
    return normal(x) * x


def gelu_gradient(grad: Expression, x: Expression) -> Expression:
    """The gradient of gelu."""
    density = exp(x * x * -0.5) * x * _DENSITY
    return (normal(x) + density) * grad


def _inner_tanh(x: Expression) -> Expression:
    return tanh((x * x * _CUBE + 1) * x * _SQRT_2_PI)


def gelu_tanh(x: Expression) -> Expression:
    """gelu with the distribution function approximated by tanh."""
    return (_inner_tanh(x) + 1) * x * 0.5


def gelu_tanh_gradient(grad: Expression, x: Expression) -> Expression:
    """Its gradient."""
    t = _inner_tanh(x)
    slope = (x * x * (3 * _CUBE) + 1) * x * _SQRT_2_PI
    return (((1 - t * t) * slope + t) + 1) * 0.5 * grad


def x_times(function: Any, x: Any, y: Any) -> Expression:
    """x * function(y), where 0 times anything but NaN is 0."""
    x, y = pair(x, y)
    zero = compare("==", x, 0) & ~_unordered(y)
    return select(zero, constant(x, 0), x * function(y))


def clamped_logit(x: Expression, eps: Any) -> Expression:
    """log(x / (1 - x)) of x in [eps, 1 - eps]."""
    x = minimum(maximum(x, eps), 1 - eps)
    return log(x / (1 - x))


__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "count_of", "floored_quotient",
           "floored_remainder", "invert", "log_softmax", "log_softmax_gradient", "logsumexp", "max",
           "max_along", "mean", "min", "min_along", "negative", "prod", "reshape", "shifted_left",
           "shifted_right", "softmax", "softmax_gradient", "sum", "truncated_quotient", "truncated_remainder",
           "without_dims"]
