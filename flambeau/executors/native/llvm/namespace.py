"""The namespace ``m`` of kernels in native code: the functions that kernels use, on expressions.

A name that is missing here has no native form. Formulas follow the interpreter's, so that both tiers agree.
"""

from __future__ import annotations

import math
from typing import Any

from .emitter import BOOL
from .expressions.elements import (
    abs,
    between,
    bounded,
    cast,
    ceil,
    conj,
    divide,
    floor,
    fmax,
    fmin,
    iscomplexobj,
    isfinite,
    isinf,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    nan_to_num,
    ones_like,
    rint,
    rounded,
    rsqrt,
    sign_of,
    signbit,
    sqrt,
    square,
    true_divide,
    trunc,
    where,
)
from .expressions.expression import by_comparison, by_operator, invert, negative, pair
from .expressions.quotients import (
    floored_quotient,
    floored_remainder,
    quotient_by_number,
    remainder_by_number,
    rest_by_number,
    shifted_left,
    shifted_right,
    truncated_by_number,
    truncated_quotient,
    truncated_remainder,
)
from .expressions.reductions import (
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
from .special.activations import (
    gelu,
    gelu_gradient,
    gelu_tanh,
    gelu_tanh_gradient,
    leaky,
    mish,
    rectified_gradient,
    rectify,
    sigmoid_gradient,
    silu,
    silu_gradient,
    softplus,
    tanh_gradient,
)
from .special.elementary import (
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    clamped_logit,
    copysign,
    cos,
    cosh,
    digamma,
    erf,
    erfc,
    erfinv,
    exp,
    exp2,
    expm1,
    gammainc,
    gammaincc,
    hypot,
    i0,
    i0e,
    i1,
    i1e,
    integer_safe_power,
    k0,
    k0e,
    k1,
    k1e,
    lgamma,
    log,
    log1p,
    log2,
    log10_of,
    log_ndtr,
    log_of_sum,
    logaddexp2,
    ndtr,
    ndtri,
    nextafter,
    sigmoid,
    sin,
    sinc_of,
    sinh,
    spherical_j0,
    tan,
    tanh,
    trigamma,
    x_times,
)
from .special.polynomials import orthogonal

pi, inf, nan, e = math.pi, math.inf, math.nan, math.e
bool_ = BOOL
alike = pair    # in one type

add, subtract, multiply = by_operator("+"), by_operator("-"), by_operator("*")
equal, not_equal = by_comparison("=="), by_comparison("!=")
less, less_equal, greater, greater_equal = map(by_comparison, ("<", "<=", ">", ">="))
bitwise_and, bitwise_or, bitwise_xor = map(by_operator, "&|^")


def asarray(x: Any) -> Any:
    """x, which is an element already."""
    return x


def __getattr__(name: str) -> Any:
    raise AttributeError(f"the function {name} has no native form")  # ``lower`` makes it Unsupported


__all__ = [
    "all", "any", "argmax", "argmin", "count_nonzero", "count_of", "floored_quotient",
    "floored_remainder", "invert", "log_softmax", "log_softmax_gradient", "logsumexp", "max",
    "max_along", "mean", "min", "min_along", "negative", "prod", "quotient_by_number",
    "remainder_by_number", "reshape", "rest_by_number", "shifted_left", "shifted_right", "softmax",
    "softmax_gradient", "sum", "truncated_by_number", "truncated_quotient", "truncated_remainder",
    "without_dims",
    "gelu", "gelu_gradient", "gelu_tanh", "gelu_tanh_gradient", "leaky", "mish", "rectified_gradient",
    "rectify", "sigmoid_gradient", "silu", "silu_gradient", "softplus", "tanh_gradient",
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "bessel_j0", "bessel_j1",
    "bessel_y0", "bessel_y1", "clamped_logit", "copysign", "cos", "cosh", "digamma", "erf", "erfc", "erfinv",
    "exp", "exp2", "expm1", "gammainc", "gammaincc", "hypot", "i0", "i0e", "i1", "i1e", "integer_safe_power",
    "k0", "k0e", "k1", "k1e", "lgamma", "log", "log10_of", "log1p", "log2", "log_ndtr", "log_of_sum",
    "logaddexp2", "ndtr", "ndtri", "nextafter", "orthogonal", "sigmoid", "sin", "sinc_of", "sinh",
    "spherical_j0", "tan", "tanh", "trigamma", "x_times",
    "abs", "between", "bounded", "cast", "ceil", "conj", "divide", "floor", "fmax", "fmin",
    "iscomplexobj", "isfinite", "isinf", "isnan", "logical_and", "logical_not", "logical_or",
    "logical_xor", "maximum", "minimum", "nan_to_num", "ones_like", "rint", "rounded", "rsqrt", "sign_of",
    "signbit", "sqrt", "square", "true_divide", "trunc", "where",
]
