"""The exponential of matrices, by scaling, a Taylor polynomial and squaring.

Of a matrix of norm t the polynomial of degree m leaves out some t^(m+1) / (m+1)!, which, taken as an error of
the matrix itself, is t^m / (m+1)! of it (Higham, 2005). A polynomial of degree q r takes q + r - 2 products
(Paterson and Stockmeyer, 1973): q - 1 for powers up to x^q, and r - 1 for Horner's rule on x^q, whose
coefficients are polynomials of degree q - 1 (the first one's degree is q). All of these are one product, of
their coefficients and the powers. No system of equations is solved, as rational approximations need: that
takes as long as several products.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_FORMS = ((1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 4))    # q and r
_SINGLE, _DOUBLE = 2.0 ** -28, 2.0 ** -56   # what is left out: some bits below the types' own errors


def matrix_exp(a: Array) -> Array:
    """The exponential of matrices; NaN where one has an element that is not finite."""
    if not a.size:
        return a.copy()
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x = a.astype(wide)
    if a.shape[-1] == 1:
        return np.exp(x).astype(a.dtype)
    norm = np.abs(x).sum(axis=-2).max(axis=-1)
    known = np.isfinite(norm)
    largest = float(np.where(known, norm, 0).max())
    q, r, bound = _form(largest, a.dtype.itemsize <= (8 if a.dtype.kind == "c" else 4))
    if largest <= bound:
        result = _polynomial(x, q, r)
    else:
        powers = np.ceil(np.log2(np.maximum(np.where(known, norm, 0), bound) / bound)).astype(int)
        result = _squared(_polynomial(np.ldexp(1.0, -powers)[..., None, None] * x, q, r), powers)
    if not known.all():
        result[~known] = np.nan
    return result.astype(a.dtype)


def _form(norm: float, single: bool) -> tuple[int, int, float]:
    """What takes the fewest products, squarings among them, and up to which norm it is exact enough."""
    bounds = _bounds(single)
    costs = [q + r - 2 + max(math.ceil(math.log2(norm / bound)), 0) if norm else q + r - 2
             for (q, r), bound in zip(_FORMS, bounds)]
    best = costs.index(min(costs))
    return (*_FORMS[best], bounds[best])


@cache
def _bounds(single: bool) -> list[float]:
    """The largest norms of the forms."""
    rest = _SINGLE if single else _DOUBLE
    return [(rest * math.factorial(q * r + 1)) ** (1 / (q * r)) for q, r in _FORMS]


@cache
def _coefficients(q: int, r: int) -> tuple[Array, list[float]]:
    """Of x, ..., x^q in each step of Horner's rule, the last step first; and of 1."""
    found = np.zeros((r, q))
    for k in range(r):
        for j in range(1, q + (k == r - 1)):
            found[k, j - 1] = 1 / math.factorial(k * q + j)
    return found, [1 / math.factorial(k * q) for k in range(r)]


def _polynomial(x: Array, q: int, r: int) -> Array:
    """The Taylor polynomial of degree q r."""
    powers = np.empty((q, *x.shape), x.dtype)
    powers[0] = x
    for k in range(1, q):
        np.matmul(powers[k - 1], x, out=powers[k])
    coefficients, ones = _coefficients(q, r)
    steps = (coefficients @ powers.reshape(q, -1)).reshape(r, *x.shape)
    diagonal = np.arange(x.shape[-1])
    for step, one in zip(steps, ones):
        step[..., diagonal, diagonal] += one
    result = steps[-1]
    for step in steps[-2::-1]:
        step += result @ powers[-1]
        result = step
    return result


def _squared(result: Array, powers: Array) -> Array:
    """Each matrix squared so many times."""
    for step in range(int(powers.max())):
        again = powers > step
        result = result @ result if again.all() else np.where(again[..., None, None], result @ result, result)
    return result
