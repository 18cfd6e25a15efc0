"""The LAPACK that NumPy is linked with, for the routines that NumPy does not pass on.

A Fortran routine takes everything by reference and matrices column by column. Functions here therefore work
in place on batches (count, columns, rows) in C order, each matrix turned; ``columns_of`` makes such a batch.
NumPy's wheels bring their own library, whose names have a prefix and whose integers have 64 bits; other
builds have the plain names. Where a name is not found, ``has`` says so, and callers do without.
"""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.linalg import _umath_linalg

from . import blas

Array = np.ndarray[Any, Any]

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


class Each:
    """Of an array along whose first dimension a batch runs: the part that a call is about."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array


class Routine:
    """A routine for one type of numbers; ``integer``: the type of its integers."""

    __slots__ = ("_call", "integer")

    def __init__(self, call: Any, integer: Any) -> None:
        self._call = call
        self.integer = integer

    def __call__(self, *arguments: Any) -> None:
        """``arguments``: letters, integers, and arrays in C order, whose numbers are read and written."""
        self._call(*[self._reference(x) for x in arguments])

    def of_each(self, count: int, *arguments: Any) -> None:
        """A call for each of a batch. Arguments are made once, which takes longer than a small system."""
        made = [self._reference(x.array if x.__class__ is Each else x) for x in arguments]
        moved = [(place, x.array.strides[0]) for place, x in zip(made, arguments) if x.__class__ is Each]
        call = self._call
        for _ in range(count):
            call(*made)
            for place, step in moved:
                place.value += step

    def _reference(self, x: Any) -> Any:
        if x.__class__ is np.ndarray:
            return ctypes.c_void_p(x.__array_interface__["data"][0])
        if x.__class__ is str:
            return ctypes.c_char_p(x.encode())
        return ctypes.byref((ctypes.c_int64 if self.integer is np.int64 else ctypes.c_int32)(x))


@cache
def _library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(_umath_linalg.__file__)  # names of the libraries it needs are found through it
    except OSError:
        return None


@cache
def _routine(name: str, kind: str) -> Routine | None:
    found = symbol_of(name, kind)
    if found is None:
        return None
    call = getattr(_library(), found[0].name)
    call.restype = None
    return Routine(call, np.int64 if found[1] else np.int32)


class Address:
    """Where a function of the library lies: an integer when one is wanted, and a name for other processes."""

    __slots__ = ("name", "_place")

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self._place = place

    def __index__(self) -> int:
        return self._place


@cache
def address(name: str) -> Address | None:
    """The address of a symbol, such as ``scipy_ssyevd_64_``, if the library has it."""
    found = getattr(_library(), name, None)
    return None if found is None else Address(name, ctypes.cast(found, ctypes.c_void_p).value or 0)


def symbol_of(name: str, kind: str) -> tuple[Address, bool] | None:
    """A routine for a type of numbers, and whether its integers have 64 bits; None where it is not there."""
    name = _LETTERS[kind] + name
    for symbol, wide in ((f"scipy_{name}_64_", True), (f"{name}_64_", True), (f"{name}_", False)):
        found = address(symbol)
        if found is not None:
            return found, wide
    return None


def has(name: str, x: Array) -> bool:
    """Whether there is a routine of this name (without the letter of its type) for the numbers of ``x``."""
    return x.dtype.char in _LETTERS and _routine(name, x.dtype.char) is not None


def _of(name: str, x: Array) -> Routine:
    found = _routine(name, x.dtype.char)
    assert found is not None
    return found


def columns_of(a: Array) -> Array:
    """A copy of matrices (..., rows, columns) as a batch (count, columns, rows)."""
    count, (rows, columns) = math.prod(a.shape[:-2]), a.shape[-2:]
    turned = np.array(np.swapaxes(a, -1, -2), order="C")
    return turned.reshape(count, columns, rows)


def matrices(x: Array, batch: tuple[int, ...]) -> Array:
    """A batch (count, columns, rows) as matrices (*batch, rows, columns); a view."""
    return np.swapaxes(x.reshape(*batch, *x.shape[-2:]), -1, -2)


def _workspace(query: Any, x: Array) -> Array:
    """Working memory as large as a routine asks for, when it is called with a size of -1."""
    asked = np.zeros(1, x.dtype)
    query(asked, -1)
    return np.empty(max(1, int(asked[0].real)), x.dtype)


def work_size(name: str, kind: str, *arguments: Any) -> int:
    """How many numbers of working memory a routine asks for; ``arguments`` end before that memory."""
    none = np.zeros(1, kind)
    run = _of(name, none)
    info, integers = np.zeros(1, run.integer), np.zeros(1, run.integer)
    more = (integers, -1, info) if name == "syevd" else (integers, info) if name == "gesdd" else (info,)
    given = [none if x is None else x for x in arguments]
    return len(_workspace(lambda asked, size: run(*given, asked, size, *more), none))


def getrf(x: Array) -> tuple[Array, Array]:
    """L and U in place of matrices: row exchanges (from 1), and the first zero pivot of each (or 0)."""
    run = _of("getrf", x)
    count, columns, rows = x.shape
    pivots, info = np.zeros((count, min(rows, columns)), run.integer), np.zeros(count, run.integer)
    run.of_each(count, rows, columns, Each(x), max(1, rows), Each(pivots), Each(info))
    return pivots.astype(np.int32), info.astype(np.int32)


def potrf(x: Array) -> Array:
    """Cholesky factors in place of the lower triangles; the first minor of each that is not positive (or
    0)."""
    run = _of("potrf", x)
    count, n, _ = x.shape
    info = np.zeros(count, run.integer)
    run.of_each(count, "L", n, Each(x), max(1, n), Each(info))
    return info


def gesv(x: Array, b: Array) -> Array:
    """Solutions in place of right-hand sides, and LU factors in place of matrices; the first zero pivot of
    each (or 0)."""
    run = _of("gesv", x)
    _, right, n = b.shape
    pivots, info = np.zeros(n, run.integer), np.zeros(len(b), run.integer)
    run.of_each(len(b), n, right, Each(x), max(1, n), pivots, Each(b), max(1, n), Each(info))
    return info


def getri(x: Array) -> Array:
    """Inverses in place of matrices; the first zero pivot of each (or 0)."""
    run, factor = _of("getri", x), _of("getrf", x)
    count, n, _ = x.shape
    pivots, info = np.zeros((count, n), run.integer), np.zeros(count, run.integer)
    work = np.empty(64 * n, x.dtype)
    factor.of_each(count, n, n, Each(x), max(1, n), Each(pivots), Each(info))
    if not info.any():
        run.of_each(count, n, Each(x), max(1, n), Each(pivots), work, len(work), Each(info))
    return info


def trsm(a: Array, b: Array, lower: bool, turned: bool, unit: bool) -> None:
    """Triangular systems A X = B, or A^T X = B if ``turned``; X takes B's place.

    ``lower``: which triangle of the matrices, as they lie by columns, holds A.
    """
    run, one = _of("trsm", b), np.ones(1, b.dtype)
    _, right, rows = b.shape
    threads = blas.one_thread(rows * rows * right)
    run.of_each(len(b), "L", "L" if lower else "U", "T" if turned else "N", "U" if unit else "N",
                rows, right, one, Each(a), max(1, rows), Each(b), max(1, rows))
    blas.restore(threads)


def sytrf(x: Array, hermitian: bool) -> tuple[Array, Array]:
    """L and D in place of the lower triangles: LAPACK's pivots, and the first zero block of each (or 0)."""
    run = _of("hetrf" if hermitian else "sytrf", x)
    count, n, _ = x.shape
    pivots, info = np.zeros((count, n), run.integer), np.zeros(count, run.integer)
    if count and n:
        work = _workspace(lambda asked, size: run("L", n, x[0], n, pivots[0], asked, size, info[:1]), x)
        run.of_each(count, "L", n, Each(x), n, Each(pivots), work, len(work), Each(info))
    return pivots.astype(np.int32), info.astype(np.int32)


def sytrs(x: Array, pivots: Array, b: Array, hermitian: bool) -> None:
    """Solutions in place of right-hand sides ``b``, from what ``sytrf`` left in ``x``."""
    run = _of("hetrs" if hermitian else "sytrs", x)
    _, right, n = b.shape
    places, info = pivots.astype(run.integer), np.zeros(1, run.integer)
    run.of_each(len(b), "L", n, right, Each(x), max(1, n), Each(places), Each(b), max(1, n), info)


def gelsy(a: Array, b: Array, rows: int, rcond: float) -> Array:
    """Least-squares solutions of least norm in place of ``b`` (as long as the longer side of ``a``); ranks.

    What is smaller than ``rcond`` times the largest singular value, as pivoted QR estimates it, counts as
    zero.
    """
    run = _of("gelsy", a)
    count, columns, _ = a.shape
    right, longest = b.shape[-2:]
    ranks, info = np.zeros(count, run.integer), np.zeros(1, run.integer)
    bound = np.full(1, rcond, a.real.dtype)
    more = (np.empty(2 * columns, a.real.dtype),) if a.dtype.kind == "c" else ()
    pivots = np.zeros((count, columns), run.integer)

    def call(systems: int, work: Array, size: int) -> None:
        run.of_each(systems, rows, columns, right, Each(a), max(1, rows), Each(b), max(1, longest),
                    Each(pivots), bound, Each(ranks), work, size, *more, info)

    if count:
        work = _workspace(lambda asked, size: call(1, asked, size), a)
        call(count, work, len(work))
    return ranks.astype(np.int64)


def geqrf(x: Array) -> Array:
    """R, and the reflections' vectors, in place of matrices; the reflections' factors."""
    run = _of("geqrf", x)
    count, columns, rows = x.shape
    factors, info = np.zeros((count, min(rows, columns)), x.dtype), np.zeros(1, run.integer)
    work = np.empty(work_size("geqrf", x.dtype.char, rows, columns, None, rows, None), x.dtype)
    run.of_each(count, rows, columns, Each(x), rows, Each(factors), work, len(work), info)
    return factors


def orgqr(x: Array, factors: Array) -> None:
    """The first columns of an orthogonal matrix in place of the vectors that ``geqrf`` left."""
    run = _of("orgqr", x)
    count, columns, rows = x.shape
    low, info = factors.shape[1], np.zeros(1, run.integer)
    work = np.empty(work_size("orgqr", x.dtype.char, rows, columns, low, None, rows, None), x.dtype)
    run.of_each(count, rows, columns, low, Each(x), rows, Each(factors), work, len(work), info)


def syevd(x: Array, triangle: str, vectors: bool) -> Array:
    """Eigenvalues of symmetric matrices, whose vectors take their place; an error where none are found."""
    run = _of("syevd", x)
    count, n, _ = x.shape
    values, info = np.zeros((count, n), x.dtype), np.zeros((count, 1), run.integer)
    job, integers = "V" if vectors else "N", np.empty(5 * n + 3, run.integer)
    work = np.empty(work_size("syevd", x.dtype.char, job, triangle, n, None, n, None), x.dtype)
    run.of_each(count, job, triangle, n, Each(x), n, Each(values), work, len(work), integers, len(integers),
                Each(info))
    _require_convergence(info)
    return values


def gesdd(x: Array, job: str) -> tuple[Array, Array, Array]:
    """Singular values of matrices, which are lost, between vectors: all (A), as many as values (S) or none
    (N)."""
    run = _of("gesdd", x)
    count, columns, rows = x.shape
    low, full = min(rows, columns), job == "A"
    values, info = np.zeros((count, low), x.dtype), np.zeros((count, 1), run.integer)
    u = np.zeros((count, rows if full else low, rows) if job != "N" else (count, 1, 1), x.dtype)
    deep = columns if full else low
    v = np.zeros((count, columns, deep) if job != "N" else (count, 1, 1), x.dtype)
    size = work_size("gesdd", x.dtype.char, job, rows, columns, None, rows, None, None, rows, None, deep)
    work, integers = np.empty(size, x.dtype), np.empty(8 * low, run.integer)
    run.of_each(count, job, rows, columns, Each(x), rows, Each(values), Each(u), rows, Each(v), deep, work,
                len(work), integers, Each(info))
    _require_convergence(info)
    return u, values, v


def _require_convergence(info: Array) -> None:
    if info.any():
        raise np.linalg.LinAlgError("did not converge")
