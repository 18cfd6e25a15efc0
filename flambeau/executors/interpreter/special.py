"""Special functions in NumPy alone (SciPy is not a dependency): the error function's family and gamma's.

Float32 arguments are computed in double precision and rounded, except for ``erf``, which is hot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from . import coefficients as table
from .blocks import Array, blockwise, clip, horner

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "gammainc",
    "gammaincc",
    "horner",
    "lgamma",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "polygamma",
    "trigamma",
    "zeta",
]

SQRT_HALF = math.sqrt(0.5)
SQRT_2 = math.sqrt(2)
SQRT_PI = math.sqrt(math.pi)


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute in double precision, block by block; the result in the arguments' type."""
    def step(out: Array, *arrays: Array) -> None:
        out[...] = function(*[np.asarray(a, np.float64) for a in arrays])

    @wraps(function)
    def wrapper(x: Any, *others: Any) -> Any:
        if not others:
            return blockwise(step, x)
        wanted = np.result_type(x, *others)
        return blockwise(step, *[np.ascontiguousarray(a, wanted) for a in np.broadcast_arrays(x, *others)])
    return wrapper


# --- the error function -------------------------------------------------------------------------------------

def erf(x: Any) -> Any:
    """2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    return blockwise(_erf32_step, x) if x.dtype == np.float32 else _erf64(x)


def _erf32_step(out: Array, x: Array) -> None:
    clipped = clip(x, np.float32(-3.92), np.float32(3.92))  # beyond, erf is 1 in single precision
    square = clipped * clipped
    horner(table.ERF32_TOP, square, out)
    out *= clipped
    out /= horner(table.ERF32_BOTTOM, square)
    clip(out, np.float32(-1), np.float32(1), out)


@in_double
def _erf64(x: Array) -> Array:
    size = np.abs(x)
    small = size < 1
    square = np.minimum(size, 1) ** 2
    near = x * horner(table.ERF_SMALL, 2 * square - 1)
    far = 1 - _scaled_tail(size) * _gaussian(size)
    return np.where(small, near, np.copysign(far, x))


def _gaussian(x: Array) -> Array:
    """exp(-x^2); the square is split so that its rounding does not grow in the exponential."""
    x = np.minimum(x, 30)       # from there on it is 0
    head = np.rint(x * 16) / 16
    return np.exp(-head * head) * np.exp(-(x - head) * (x + head))


def _scaled_tail(x: Array) -> Array:
    """erfcx(x) = exp(x^2) erfc(x) for x >= 0: (1 + 2x) erfcx(x) is smooth in (x - 3.75) / (x + 3.75)."""
    finite = np.minimum(x, 1e300)
    return horner(table.ERFCX, (finite - 3.75) / (finite + 3.75)) / (1 + 2 * x)


@in_double
def erfc(x: Array) -> Array:
    """1 - erf(x), accurate where it is small."""
    size = np.abs(x)
    tail = np.where(size < 27.3, _scaled_tail(size) * _gaussian(np.minimum(size, 27.3)), 0)
    near = 1 - x * horner(table.ERF_SMALL, 2 * np.minimum(size, 1) ** 2 - 1)
    result = np.where(size < 0.5, near, np.where(x < 0, 2 - tail, tail))
    return np.where(np.isnan(x), x, result)


@in_double
def erfcx(x: Array) -> Array:
    """exp(x^2) erfc(x)."""
    positive = _scaled_tail(np.abs(x))
    near = 2 * np.exp(np.minimum(x * x, 720)) - positive
    found = np.where(x >= 0, positive, np.where(x < -26.7, np.inf, near))
    return np.where(np.isnan(x), x, found)


def erfinv(x: Any) -> Any:
    """The inverse of erf: a polynomial in log(1 - x^2) or its root; double precision by Halley's method."""
    return _erfinv32(x) if x.dtype == np.float32 else _erfinv64(x)


def _erfinv_estimate(x: Array) -> Array:
    """To 1e-9."""
    with np.errstate(divide="ignore", invalid="ignore"):
        w = -np.log((1 - x) * (1 + x))
    near = horner(table.ERFINV_NEAR, np.clip(w, 0, 6.25) / 3.125 - 1)
    far = w >= 6.25
    if far.any():
        near[far] = horner(table.ERFINV_FAR, (np.sqrt(np.clip(w[far], 6.25, 37.21)) - 2.5) / 1.8 - 1)
    return x * near


def _erfinv_ends(x: Array, result: Array) -> Array:
    size = np.abs(x)
    return np.where(size < 1, result, np.copysign(np.where(size == 1, np.inf, np.nan), x))


@in_double
def _erfinv32(x: Array) -> Array:
    return _erfinv_ends(x, _erfinv_estimate(x))


@in_double
def _erfinv64(x: Array) -> Array:
    size = np.abs(x)
    z = np.abs(_erfinv_estimate(np.where(size < 1, x, 0.5)))
    wrong = np.where(size < 0.5, _erf64(z) - size, (1 - size) - erfc(z))
    step = wrong * SQRT_PI / 2 / _gaussian(z)
    return _erfinv_ends(x, np.copysign(z - step / (1 + z * step), x))


@in_double
def ndtr(x: Array) -> Array:
    """The normal distribution function."""
    return 0.5 * erfc(-x * SQRT_HALF)


@in_double
def log_ndtr(x: Array) -> Array:
    """Its logarithm."""
    below = np.minimum(x, -1.0)
    z = -below * SQRT_HALF
    return np.where(
        x < -1, np.log(_scaled_tail(z) / 2) - z * z, np.log1p(-0.5 * erfc(np.maximum(x, -1) * SQRT_HALF))
    )


def _ndtri_estimate(tail: Array) -> Array:
    """-ndtri to 1e-9, for numbers between 0 and 1/2."""
    w = -np.log(tail * (1 - tail) * 4)
    near = horner(table.ERFINV_NEAR, np.minimum(w, 6.25) / 3.125 - 1) * (1 - 2 * tail) * SQRT_2
    low, high = table.NDTRI_ENDS
    root = np.sqrt(w)
    far = root * horner(table.NDTRI_FAR, (2 / (root + 1) - low - high) / (high - low))
    return np.where(w < 6.25, near, far)


@in_double
def ndtri(p: Array) -> Array:
    """The inverse of ndtr: an estimate, and a step of Newton's method on the logarithm of the tail."""
    tail = np.minimum(p, 1 - p)
    inside = np.where(tail > 0, tail, 0.25)
    z = _ndtri_estimate(inside)     # ndtr(-z) = inside
    scaled = _scaled_tail(z * SQRT_HALF) / 2
    z = z + (np.log(scaled) - z * z / 2 - np.log(inside)) * scaled * math.sqrt(2 * math.pi)
    middle = SQRT_2 * erfinv(2 * p - 1)
    result = np.where(np.abs(p - 0.5) < 0.3, middle, np.where(p < 0.5, -z, z))
    result = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, result))
    return np.where((p >= 0) & (p <= 1), result, np.nan)


# --- gamma's logarithm and its derivatives ------------------------------------------------------------------

# B(2k) / (2k (2k - 1)) for Stirling's series, B(2k) / (2k) for digamma's, B(2k) / (2k)! for Euler-Maclaurin.
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
    854513 / 138,
    -236364091 / 2730,
)
STIRLING = tuple(b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(_BERNOULLI[:8]))[::-1]
TRIGAMMA = _BERNOULLI[:8][::-1]
DIGAMMA = tuple(b / (2 * k + 2) for k, b in enumerate(_BERNOULLI[:8]))[::-1]
_MACLAURIN = tuple(b / math.factorial(2 * k + 2) for k, b in enumerate(_BERNOULLI))


@in_double
def lgamma(x: Array) -> Array:
    """log |gamma(x)|; below 1/2 by reflection."""
    reflected = x < 0.5
    turn = np.abs(np.sin(math.pi * (x - np.rint(x))))
    values = _lgamma_positive(np.where(reflected, 1 - x, x))
    result = np.where(reflected, math.log(math.pi) - np.log(turn) - values, values)
    return np.where(np.isinf(x), np.inf, np.where((x <= 0) & (x == np.floor(x)), np.inf, result))


def _lgamma_positive(x: Array) -> Array:
    """For x >= 1/2."""
    low = horner(table.LGAMMA_LOW, np.clip(2 * x - 2, -1, 1))
    high = horner(table.LGAMMA_HIGH, np.clip((x - 1.5) / 0.75 - 1, -1, 1))
    product, shifted = np.ones_like(x), x.copy()
    for _ in range(5):
        below = shifted < 8
        product = np.where(below, product * shifted, product)
        shifted = np.where(below, shifted + 1, shifted)
    inverse = 1 / shifted
    series = inverse * horner(STIRLING, inverse * inverse)
    stirling = (
        (shifted - 0.5) * np.log(shifted) - shifted + (0.5 * math.log(2 * math.pi) + series) - np.log(product)
    )
    return np.where(x < 3, (x - 1) * (x - 2) * np.where(x < 1.5, low, high), stirling) + 0.0


@in_double
def digamma(x: Array) -> Array:
    """The derivative of log gamma: recurrence up to 8, then the asymptotic series."""
    negative = x < 0
    y = np.where(negative, 1 - x, x)
    total, shifted = np.zeros_like(x), y.copy()
    for _ in range(9):
        below = shifted < 8
        total = np.where(below, total - 1 / shifted, total)
        shifted = np.where(below, shifted + 1, shifted)
    inverse = 1 / (shifted * shifted)
    value = np.log(shifted) - 0.5 / shifted - inverse * horner(DIGAMMA, inverse) + total
    reflected = value - math.pi / np.tan(math.pi * (x - np.rint(x)))
    result = np.where(negative, np.where(x == np.floor(x), np.nan, reflected), value)
    return np.where(x == 0, -np.copysign(np.inf, x), np.where(np.isposinf(x), x, result))


@in_double
def zeta(s: Array, q: Array) -> Array:
    """Hurwitz's zeta function, the sum of (k + q)^-s, by Euler's and Maclaurin's formula."""
    valid = (s > 1) & ((q > 0) | ((s == np.floor(s)) & (q != np.floor(q)) & ~np.isnan(q)))
    order, start = np.where(valid, s, 2.0), np.where(valid, q, 1.0)
    total, base = np.zeros_like(start), start.copy()
    for _ in range(10 + int(min(max(-start.min(initial=0.0), 0), 10_000))):
        below = base < 10
        total = np.where(below, total + np.power(base, -order), total)
        base = np.where(below, base + 1, base)
    power = np.power(base, -order)
    total = total + power * base / (order - 1) + power / 2
    factor, power = order.copy(), power / base
    for k, b in enumerate(_MACLAURIN):
        total = total + b * factor * power
        factor = factor * (order + 2 * k + 1) * (order + 2 * k + 2)
        power = power / (base * base)
    pole = (s == 1) | ((s > 1) & (q <= 0) & (q == np.floor(q)))
    return np.where(pole, np.inf, np.where(valid, total, np.nan))


def polygamma(x: Any, n: int) -> Any:
    """The n-th derivative of digamma."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return trigamma(x)
    scale = math.factorial(n) * (-1.0) ** (n + 1)
    wide = np.asarray(x, np.float64)
    return (scale * zeta(np.full_like(wide, n + 1.0), wide)).astype(x.dtype)


@in_double
def trigamma(x: Array) -> Array:
    """The derivative of digamma: recurrence up to 8, then the asymptotic series."""
    reflected = x < 0.5
    y = np.where(reflected, 1 - x, x)
    total, shifted = np.zeros_like(y), y.copy()
    for _ in range(8):
        below = shifted < 8
        total += np.where(below, 1 / (shifted * shifted), 0)
        shifted += below
    inverse = 1 / shifted
    square = inverse * inverse
    value = total + inverse + square / 2 + inverse * square * horner(TRIGAMMA, square)
    turn = np.sin(math.pi * (x - np.rint(x)))
    return np.where(reflected, (math.pi / turn) ** 2 - value, value)


# --- incomplete gamma functions -----------------------------------------------------------------------------

_TOGETHER = 8     # terms between two tests of whether that is enough


def _prefactor(a: Array, x: Array) -> Array:
    """x^a exp(-x) / gamma(a)."""
    return np.exp(a * np.log(x) - x - lgamma(a))


def _lower_series(a: Array, x: Array) -> Array:
    term = 1 / a
    total, n = term.copy(), a.copy()
    for i in range(1, 2000):
        n += 1
        term *= x
        term /= n
        total += term
        if i % _TOGETHER == 0 and np.all(term <= total * 1e-17):
            break
    return total * _prefactor(a, x)


def _upper_fraction(a: Array, x: Array) -> Array:
    """Legendre's continued fraction by Lentz's method."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = np.full_like(x, 1 / tiny), 1 / np.where(b == 0, tiny, b)
    h = d.copy()
    for i in range(1, 2000):
        an = i * (a - i)
        b += 2
        d *= an
        d += b
        np.divide(1, np.where(d == 0, tiny, d), d)
        c = b + np.divide(an, c, an)
        np.copyto(c, tiny, where=c == 0)
        change = c * d
        h *= change
        if i % _TOGETHER == 0 and np.all(np.abs(change - 1) <= 4e-16):
            break
    return h * _prefactor(a, x)


def _incomplete(a: Array, x: Array) -> tuple[Array, Array]:
    """The regularised lower and upper incomplete gamma functions."""
    regular = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    by_series = regular & (x < a + 1)
    by_fraction = regular & ~by_series
    lower, upper = np.full_like(x, np.nan), np.full_like(x, np.nan)
    lower[by_series] = _lower_series(a[by_series], x[by_series])
    upper[by_series] = 1 - lower[by_series]
    upper[by_fraction] = _upper_fraction(a[by_fraction], x[by_fraction])
    lower[by_fraction] = 1 - upper[by_fraction]
    for where, value in (
        ((x == 0) & (a > 0), 0.0),
        ((a == 0) & (x > 0), 1.0),
        (np.isposinf(x) & np.isfinite(a) & (a > 0), 1.0),
        (np.isposinf(a) & np.isfinite(x) & (x >= 0), 0.0),
    ):
        lower[where], upper[where] = value, 1 - value
    return lower, upper


@in_double
def gammainc(a: Array, x: Array) -> Array:
    """The regularised lower incomplete gamma function."""
    return _incomplete(a, x)[0]


@in_double
def gammaincc(a: Array, x: Array) -> Array:
    """The regularised upper incomplete gamma function."""
    return _incomplete(a, x)[1]
