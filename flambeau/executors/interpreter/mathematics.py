"""The namespace ``m`` of kernels in the interpreter: NumPy's functions, and what it lacks."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from numpy import *  # noqa: F403
    from numpy import abs, all, any, fft, max, min, round  # noqa: F401
else:
    # What a star imports, except for NumPy's modules: a star would load each, down to its Fortran compiler.
    globals().update({name: value for name in set(np.__all__).intersection(vars(np))
                      if not isinstance(value := getattr(np, name), ModuleType)})

    def __getattr__(name: str) -> Any:
        """NumPy's fft, which few programs want."""
        if name == "fft":
            return np.fft
        raise AttributeError(f"the namespace of kernels has no {name}")

from . import linalg  # type: ignore[no-redef]  # noqa: F401
from .activations import *  # noqa: F403
from .arrays import rounded, strided  # noqa: F401
from .bessel import *  # type: ignore[no-redef,assignment,unused-ignore]  # noqa: F403
from .choice import *  # type: ignore[assignment,no-redef,unused-ignore]  # noqa: F403
from .polynomials import *  # noqa: F403
from .products import linear, matmul  # type: ignore[assignment]  # noqa: F401
from .reductions import (  # type: ignore[no-redef,assignment]  # noqa: F401
    all,
    any,
    count_of,
    logsumexp,
    max,
    max_along,
    min,
    min_along,
    prod,
    sum,
    without_dims,
)
from .scatter import (  # type: ignore[no-redef,assignment]  # noqa: F401
    add_at,
    add_rows,
    grid_positions,
    put_along_axis,
    take,
    take_along_axis,
    wide,
)
from .special import *  # noqa: F403

Array = np.ndarray[Any, Any]


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    root = np.sqrt(x)
    return np.divide(1, root, out=root if isinstance(root, np.ndarray) and root.dtype == x.dtype else None)


def cast(x: Any, numpy_type: Any) -> Any:
    """The elements of x converted to another type, as C converts them; of complex numbers the real part."""
    if x.dtype.kind == "c" and np.dtype(numpy_type).kind not in "cb":
        x = x.real
    if numpy_type == ml_dtypes.float8_e4m3fn and x.dtype.kind not in "iub":
        return np.clip(x.astype(np.float32), -448, 448).astype(numpy_type)  # saturates: it has no infinity
    if numpy_type == np.uint8 and x.dtype.kind not in "iub":
        return x.astype(np.int64).astype(numpy_type)  # wraps around
    if numpy_type == np.float16 and x.dtype == np.float64:
        x = x.astype(np.float32)    # rounds twice, as conversions to bfloat16 do
    return x.astype(numpy_type)


def reinterpret(flat: Array, numpy_type: Any) -> Array:
    """The bytes of a flat array as elements of another type."""
    return flat if flat.dtype == numpy_type else flat.view(np.uint8).view(numpy_type)


def alike(first: Any, second: Any) -> tuple[Any, Any]:
    """Two arrays or numbers in one type."""
    a, b = getattr(first, "dtype", None), getattr(second, "dtype", None)
    if a is not None and a == b:
        return first, second
    if a is None and b is None:
        return first, second
    if b is None and a is not None:
        return first, _number_like(second, a)
    if a is None:
        return _number_like(first, b), second
    try:
        common = np.result_type(a, b)
    except TypeError:  # two kinds of 16-bit numbers
        common = np.dtype(np.float32)
    return first.astype(common, copy=False), second.astype(common, copy=False)


def _number_like(number: Any, numpy_type: Any) -> Any:
    kind = numpy_type.kind
    if isinstance(number, complex) and kind != "c":
        return np.complex128(number)
    if isinstance(number, float) and kind in "iub":
        return np.float64(number)
    if isinstance(number, int) and not isinstance(number, bool) and kind == "b":
        return np.int64(number)
    return np.array(number).astype(numpy_type)


# --- integers -----------------------------------------------------------------------------------------------

def _refuse_zero(x: Any, y: Any) -> None:
    kind = y.dtype.kind if isinstance(y, (np.ndarray, np.generic)) else np.result_type(y).kind
    if kind in "iu" and not all(y) and np.size(x):
        raise RuntimeError("ZeroDivisionError")


def floored_quotient(x: Any, y: Any) -> Any:
    """x / y rounded down."""
    _refuse_zero(x, y)
    return np.floor_divide(x, y)


def truncated_quotient(x: Any, y: Any) -> Any:
    """x / y rounded towards zero."""
    _refuse_zero(x, y)
    if np.result_type(x, y).kind == "f":
        return np.trunc(np.divide(x, y))
    quotient = np.floor_divide(x, y)
    inexact = np.multiply(quotient, y) != x
    return quotient + (inexact & ((np.less(x, 0)) != np.less(y, 0)))


def floored_remainder(x: Any, y: Any) -> Any:
    """The remainder with the sign of y; a zero has the sign of x."""
    _refuse_zero(x, y)
    if np.result_type(x, y).kind != "f":
        return _integer_remainder(x, y)
    rest = np.fmod(x, y)
    return np.where((rest != 0) & (np.less(y, 0) != np.less(rest, 0)), rest + y, rest)


def quotient_by_number(x: Any, y: Any) -> Any:
    """``floored_quotient`` by a number, which is not zero."""
    return floored_quotient(x, y) if isinstance(y, np.ndarray) else np.floor_divide(x, y)


def remainder_by_number(x: Any, y: Any) -> Any:
    """``floored_remainder`` by a number, which is not zero."""
    return floored_remainder(x, y) if isinstance(y, np.ndarray) or x.size > _FEW else np.remainder(x, y)


_FEW = 1 << 10      # elements, for which it takes longer to call NumPy than to divide


def _integer_remainder(x: Any, y: Any) -> Any:
    """NumPy's own takes twice as long, and seven times by a number, whose quotients it finds quickly."""
    if not np.ndim(x):
        return np.remainder(x, y)
    if not np.ndim(y):
        quotient = np.floor_divide(x, y)
        return np.subtract(x, np.multiply(quotient, y, out=quotient), out=quotient)
    rest = np.fmod(x, y)
    signs = np.bitwise_xor(rest, y)
    wrong = np.less(signs, 0)
    np.logical_and(wrong, rest, out=wrong)
    return np.add(rest, np.multiply(wrong, y, out=signs), out=rest)


def truncated_remainder(x: Any, y: Any) -> Any:
    """The remainder with the sign of x."""
    _refuse_zero(x, y)
    return np.fmod(x, y)


truncated_by_number, rest_by_number = truncated_quotient, truncated_remainder


def integer_safe_power(x: Any, y: Any) -> Any:
    """x ** y; of integers, negative exponents give what truncating the exact result gives."""
    kind = np.result_type(x, y).kind
    if kind == "b":
        return np.logical_or(x, np.logical_not(y))
    if kind != "i" or np.all(np.greater_equal(y, 0)):
        if kind == "c":
            return _complex_power(x, y)
        return np.power(x, y)
    negative = np.less(y, 0)
    result = np.power(x, np.where(negative, 0, y))
    sign = np.where(np.bitwise_and(y, 1) != 0, -1, 1)
    return np.where(negative, np.where(np.equal(x, 1), 1, np.where(np.equal(x, -1), sign, 0)), result)


def _complex_power(x: Any, y: Any) -> Any:
    """NumPy gives NaN for powers of 0 where a factor of 0 decides."""
    result = np.power(x, y)
    return np.where(np.equal(x, 0) & (np.real(y) > 0), 0, result) if not np.all(x) else result


def _shift_width(x: Any) -> int:
    return int(np.result_type(x).itemsize) * 8


def shifted_left(x: Any, y: Any) -> Any:
    """x << y; 0 where y is negative or as large as the type is wide."""
    valid = np.greater_equal(y, 0) & np.less(y, _shift_width(x))
    return np.where(valid, np.left_shift(x, np.where(valid, y, 0)), 0)


def shifted_right(x: Any, y: Any) -> Any:
    """x >> y, keeping the sign; by all bits where y is negative or too large."""
    width = _shift_width(x)
    valid = np.greater_equal(y, 0) & np.less(y, width)
    return np.right_shift(x, np.where(valid, y, width - 1).astype(np.result_type(x)))


# --- signs, angles, rounding --------------------------------------------------------------------------------

def sign_of(x: Any) -> Any:
    """-1, 0 or 1; 0 for NaN."""
    if x.dtype.kind in "bu":
        return (x > 0).astype(x.dtype)
    return np.subtract(x > 0, x < 0, dtype=np.int8, casting="unsafe").astype(x.dtype)


def angle_of(x: Any) -> Any:
    """The angle of complex numbers; of real ones 0, pi, or NaN."""
    if x.dtype.kind == "c":
        return np.angle(x)
    result = np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0))
    return np.where(np.isnan(x), x, result)


def complex_of(real: Any, imag: Any) -> Any:
    """real + i imag, without arithmetic that would spoil infinities."""
    shape = np.broadcast_shapes(np.shape(real), np.shape(imag))
    result = np.empty(shape, np.complex64 if np.result_type(real, imag) == np.float32 else np.complex128)
    result.real = real
    result.imag = imag
    return result


def rounded_to(x: Any, decimals: int) -> Any:
    """Rounded to a number of decimals, by scaling."""
    scale = x.dtype.type(10.0 ** np.abs(decimals))
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


def sinc_of(x: Any) -> Any:
    """sin(pi x) / (pi x)."""
    turn = x * x.dtype.type(np.pi)
    return np.where(x == 0, x.dtype.type(1), np.sin(turn) / np.where(x == 0, x.dtype.type(1), turn))


def log10_of(x: Any) -> Any:
    """log10, exact at powers of 10 in single precision too."""
    return np.log10(x, dtype=np.float64).astype(x.dtype) if x.dtype == np.float32 else np.log10(x)


# --- logarithms ---------------------------------------------------------------------------------------------

def log_of_sum(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y))."""
    if np.result_type(x, y).kind != "c":
        return np.logaddexp(x, y)
    larger = np.where(np.real(x) >= np.real(y), x, y)
    smaller = np.where(np.real(x) >= np.real(y), y, x)
    return np.where(np.equal(x, y), x + np.log(2), larger + np.log1p(np.exp(smaller - larger)))


def x_times(function: Any, x: Any, y: Any) -> Any:
    """x * function(y), where 0 times anything but NaN is 0."""
    product = np.multiply(x, function(y))
    return np.where(np.equal(x, 0) & ~np.isnan(y), product.dtype.type(0), product)


def clamped_logit(x: Any, eps: Any) -> Any:
    """log(x / (1 - x)) of x in [eps, 1 - eps]."""
    x = np.minimum(np.maximum(x, eps), 1 - eps)
    return np.log(x / (1 - x))
