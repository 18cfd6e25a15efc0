"""Factors, inverses and solutions by the LAPACK that NumPy is linked with, for single and for large matrices.

Vectors that hold an element of each matrix (``matrices``) are faster where many are small. A kernel copies
each matrix of a batch to where the routine wants it, mostly the result itself, and calls the routine on it.
Where one is irregular the interpreter computes the node again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .....graph.node import Signature
from ....interpreter import blas, lapack
from ...arguments import Argument, registers, result, words
from ...llvm.build import Module
from ...llvm.compiling.code import kernel
from ...llvm.expressions import functions
from ...llvm.expressions.expression import Expression
from ...plan import Call, Plan
from . import library
from .library import Form, Writer, thread_setters

if TYPE_CHECKING:
    from .matrices import Operand

POINTERS = (*library.POINTERS, "pivots")
NUMBERS = library.NUMBERS
# Working memory for a block of columns, which is as much as the inverse from LU factors asks for.
_COLUMNS = 64
_OTHER = {"L": "U", "U": "L"}


def _cholesky(w: Writer) -> Callable[[str], None]:
    """``flag``: the triangle that the routine sees; the upper one where the factor is wanted by rows."""
    f, a, triangle = w.f, w.a, w.form.flag
    letter, size = w.letter(triangle), w.form.dtype.itemsize
    row, column = (a.a_row, a.a_column) if triangle == "L" else (a.a_column, a.a_row)

    def each(b: str) -> None:
        source, to = w.matrix(a.a, b, a.a_batch), w.result(a.first, b, a.rows, a.rows)
        with f.loop(0, a.rows) as j:
            start, into = f.at(source, f.mul(j, column), w.element), f.at(to, f.mul(j, a.rows), w.element)
            held = (j, a.rows) if triangle == "L" else (0, f.add(j, 1))
            for first, last in ((0, held[0]), (held[1], a.rows)):
                with f.loop(first, last) as i:
                    f.write(w.element, "0.0", f.at(into, i, w.element), size)
            with f.loop(*held) as i:
                w.copy(f.at(start, f.mul(i, row), w.element), f.at(into, i, w.element))
        w.call(a.routine, letter, w.rows, to, w.rows, letters=1)
        total = f.variable(w.element, "0.0")
        with f.loop(0, a.rows) as i:
            total.set(f.emit(f"fadd {w.element} {total.get()}, {w.read(to, f.mul(i, f.add(a.rows, 1)))}"))
        with f.when(f.emit(f"fcmp uno {w.element} {total.get()}, 0.0")):   # some routines let NaN pass
            f.write("i64", 1, a.status, 8)
        f.write("i32", 0, f.at(a.second, b, "i32"))
    return each


def _inverse(w: Writer) -> Callable[[str], None]:
    f, a = w.f, w.a
    pivots, work = w.room(a.at_more), w.room(a.at_work)

    def each(b: str) -> None:
        x = w.load(b, w.result(a.first, b, a.rows, a.rows))
        w.call(a.routine, w.rows, w.rows, x, w.rows, pivots)
        w.call(a.finish, w.rows, x, w.rows, pivots, work, w.size)
        f.write("i32", 0, f.at(a.second, b, "i32"))
    return each


def _sides(w: Writer, b: str) -> str:
    """Right-hand sides, where the solution will be."""
    a, to = w.a, w.result(w.a.first, b, w.a.rows, w.a.right)
    w.turn(w.matrix(a.b, b, a.b_batch), a.b_row, a.b_column, a.right, a.rows, to, a.rows)
    return to


def _solve(w: Writer) -> Callable[[str], None]:
    f, a = w.f, w.a
    copy, pivots, right = w.room(a.at_copy), w.room(a.at_more), w.refer(a.right)

    def each(b: str) -> None:
        w.call(a.routine, w.rows, right, w.load(b, copy), w.rows, pivots, _sides(w, b), w.rows)
        f.write("i32", 0, f.at(a.second, b, "i32"))
    return each


def _given(w: Writer, layout: str) -> tuple[Callable[[str], str], str]:
    """Matrices as they are, or copies, and how far their columns, or rows, lie apart."""
    a = w.a
    if layout == "copied":
        copy = w.room(a.at_copy)
        return lambda b: w.load(b, copy), w.rows
    return lambda b: w.matrix(a.a, b, a.a_batch), w.refer(a.a_row if layout == "rows" else a.a_column)


def _triangular(w: Writer) -> Callable[[str], None]:
    """``flag``: triangle, whether its diagonal counts as ones (U) or not (N), and how the matrices lie."""
    a, (triangle, unit, layout) = w.a, w.form.flag.split(" ")
    turned = layout == "rows"
    letters = [w.letter(x) for x in ("L", _OTHER[triangle] if turned else triangle, "T" if turned else "N",
                                     unit)]
    right, one, (matrix, apart) = w.refer(a.right), w.number("1.0"), _given(w, layout)

    def each(b: str) -> None:
        w.call(a.routine, *letters, w.rows, right, one, matrix(b), apart, _sides(w, b), w.rows, letters=4,
               fails=False)
    return each


def _from_cholesky(w: Writer) -> Callable[[str], None]:
    a, (triangle, layout) = w.a, w.form.flag.split(" ")
    letter = w.letter(_OTHER[triangle] if layout == "rows" else triangle)
    right, (matrix, apart) = w.refer(a.right), _given(w, layout)

    def each(b: str) -> None:
        w.call(a.routine, letter, w.rows, right, matrix(b), apart, _sides(w, b), w.rows, letters=1)
    return each


def _cholesky_inverse(w: Writer) -> Callable[[str], None]:
    f, a, triangle = w.f, w.a, w.form.flag
    letter = w.letter(triangle)

    def each(b: str) -> None:
        x = w.load(b, w.result(a.first, b, a.rows, a.rows))
        w.call(a.routine, letter, w.rows, x, w.rows, letters=1)
        with f.loop(0, a.rows) as j, f.loop(0, j) as i:     # what is above the diagonal, and its mirror
            above, below = (f.at(x, f.add(f.mul(column, a.rows), row), w.element)
                            for row, column in ((i, j), (j, i)))
            w.copy(above, below) if triangle == "U" else w.copy(below, above)
    return each


def _narrowed(w: Writer, pivots: str, to: str, count: str) -> None:
    """The library's integers as those of 32 bits."""
    f = w.f
    with f.loop(0, count) as k:
        found = f.read(w.integer, f.at(pivots, k, w.integer))
        found = f.emit(f"trunc i64 {found} to i32") if w.integer == "i64" else found
        f.write("i32", found, f.at(to, k, "i32"))


def _lu(w: Writer) -> Callable[[str], None]:
    f, a = w.f, w.a
    pivots = w.room(a.at_more)

    def each(b: str) -> None:
        w.call(a.routine, w.rows, w.columns, w.load(b, w.result(a.first, b, a.rows, a.columns)), w.rows,
               pivots)
        _narrowed(w, pivots, f.at(a.second, f.mul(b, a.low), "i32"), a.low)
        f.write("i32", 0, f.at(a.third, b, "i32"))
    return each


def _from_lu(w: Writer) -> Callable[[str], None]:
    """``flag``: whether the transposed systems are solved (T) or not (N), and how the factors lie."""
    f, a, (turned, layout) = w.f, w.a, w.form.flag.split(" ")
    letter, right, pivots = w.letter(turned), w.refer(a.right), w.room(a.at_more)
    matrix, apart = _given(w, layout)

    def each(b: str) -> None:
        with f.loop(0, a.rows) as k:
            found = f.read("i32", f.at(a.pivots, f.add(f.mul(b, a.rows), k), "i32"))
            found = f.emit(f"sext i32 {found} to i64") if w.integer == "i64" else found
            f.write(w.integer, found, f.at(pivots, k, w.integer))
        w.call(a.routine, letter, w.rows, right, matrix(b), apart, pivots, _sides(w, b), w.rows, letters=1)
    return each


def _pivots(w: Writer, b: str, take: Callable[[str, str], None]) -> None:
    """Factor a matrix and hand over each pivot, as a double, negative where two rows were exchanged, and the
    factor 1 or -1 of the exchange."""
    f, a = w.f, w.a
    x, pivots = w.room(a.at_copy), w.room(a.at_more)
    w.call(a.routine, w.rows, w.rows, w.load(b, x), w.rows, pivots)
    with f.loop(0, a.rows) as k:
        found = f.read(w.integer, f.at(pivots, k, w.integer))
        here = f.add(k, 1)
        here = here if w.integer == "i64" else f.emit(f"trunc i64 {here} to i32")
        other = f.emit(f"icmp ne {w.integer} {found}, {here}")
        sign = f.emit(f"select i1 {other}, double -1.0, double 1.0")
        pivot = w.read(x, f.mul(k, f.add(a.rows, 1)))
        take(pivot if w.element == "double" else f.emit(f"fpext float {pivot} to double"), sign)


def _store(w: Writer, x: str, pointer: str, b: str) -> None:
    """A double as a number of the matrices' type."""
    x = x if w.element == "double" else w.f.emit(f"fptrunc double {x} to float")
    w.f.write(w.element, x, w.f.at(pointer, b, w.element), w.form.dtype.itemsize)


def _determinant(w: Writer) -> Callable[[str], None]:
    f, a = w.f, w.a

    def each(b: str) -> None:
        product = f.variable("double", "1.0")

        def take(pivot: str, sign: str) -> None:
            product.set(f.emit(f"fmul double {product.get()}, {f.emit(f'fmul double {pivot}, {sign}')}"))
        _pivots(w, b, take)
        _store(w, product.get(), a.first, b)
    return each


def _sign_and_logarithm(w: Writer) -> Callable[[str], None]:
    f, a = w.f, w.a

    def each(b: str) -> None:
        product, total = f.variable("double", "1.0"), f.variable("double", "0.0")

        def take(pivot: str, sign: str) -> None:
            one = f.call("llvm.copysign.f64", "double", ["double"] * 2, ["1.0", pivot])
            product.set(f.emit(f"fmul double {product.get()}, {f.emit(f'fmul double {one}, {sign}')}"))
            size = f.call("llvm.fabs.f64", "double", ["double"], [pivot])
            logarithm = functions.log(Expression(f, size, np.dtype(np.float64))).register
            total.set(f.emit(f"fadd double {total.get()}, {logarithm}"))
        _pivots(w, b, take)
        _store(w, product.get(), a.first, b)
        _store(w, total.get(), a.second, b)
    return each


# What writes the code of each operator, and the routines that it calls.
_SYSTEMS: dict[str, tuple[Callable[[Writer], Callable[[str], None]], tuple[str, ...]]] = {
    "linalg_cholesky_ex": (_cholesky, ("potrf",)), "linalg_inv_ex": (_inverse, ("getrf", "getri")),
    "linalg_solve_ex": (_solve, ("gesv",)), "linalg_solve_triangular": (_triangular, ("trsm",)),
    "cholesky_solve": (_from_cholesky, ("potrs",)), "cholesky_inverse": (_cholesky_inverse, ("potri",)),
    "linalg_lu_factor_ex": (_lu, ("getrf",)), "linalg_lu_solve": (_from_lu, ("getrs",)),
    "linalg_det": (_determinant, ("getrf",)), "linalg_slogdet": (_sign_and_logarithm, ("getrf",)),
}


@kernel("systems")
def _code(form: Form) -> str:
    module = Module()
    with module.kernel("systems") as f:
        library.over_batch(f, form, registers(f, POINTERS, NUMBERS), _SYSTEMS[form.name][0])
    return module.text()


# --- plans --------------------------------------------------------------------------------------------------


def routines(name: str, kind: str) -> tuple[list[lapack.Address], bool] | None:
    """The routines of an operator, and whether their integers have 64 bits; None where one is missing."""
    found = [lapack.symbol_of(x, kind) for x in _SYSTEMS[name][1]]
    if thread_setters() is None or not all(found):
        return None
    return [x[0] for x in found if x], any(x[1] for x in found if x)


def _flag(signature: Signature, first: Operand) -> str:
    """What code depends on besides the operator."""
    name, attributes = signature.operator.name, signature.attributes
    triangle = "U" if attributes and attributes[0] else "L"
    if name in ("linalg_cholesky_ex", "cholesky_inverse"):
        return triangle
    layout = _layout(first)
    if name == "linalg_solve_triangular":
        return f"{triangle} {'U' if attributes[1] else 'N'} {layout}"
    if name == "cholesky_solve":
        return f"{triangle} {layout}"
    if name == "linalg_lu_solve":
        return f"T {_untransposed(layout)}" if attributes[0] else f"N {_untransposed(layout)}"
    return ""


def _layout(x: Operand) -> str:
    """How matrices that are only read lie; what lies otherwise is copied."""
    row, column = x.g.strides[-2:]
    if row == 1 and column >= x.rows:
        return "columns"
    return "rows" if column == 1 and row >= x.columns else "copied"


def _untransposed(layout: str) -> str:
    """Row exchanges belong to factors by columns."""
    return "copied" if layout == "rows" else layout


def plan(signature: Signature, count: int, operands: list[Operand], results: tuple[str, ...]) -> Plan | None:
    """``operands``: the matrices, and what lies on the right side."""
    first, name = operands[0], signature.operator.name
    rows, columns = int(first.rows), int(first.columns)
    low, dtype = min(rows, columns), first.g.dtype.numpy
    right = int(operands[1].columns) if len(operands) > 1 else columns
    found = routines(name, dtype.char)
    setters = thread_setters()
    if found is None or setters is None or rows * columns * max(low, right) >= blas.SMALL:
        return None
    addresses, wide = found
    form = Form(name, dtype, wide, _flag(signature, first))
    copied = -(-rows * columns // 16) * 16
    more, size = 2 * max(rows, columns) + 16, _COLUMNS * rows
    given: dict[str, Argument] = dict.fromkeys((*POINTERS, *NUMBERS), 0)
    given |= {x: library.function(at) for x, at in zip(library.POINTERS[6:], (
        addresses[0], addresses[-1], *setters))}
    given |= {x: result(k) for k, x in enumerate(results)}
    given |= {"a": lambda w: w.input(first.number, first.g), "status": lambda w: w.status(), "batch": count,
              "a_batch": first.step, "a_row": first.g.strides[-2], "a_column": first.g.strides[-1],
              "rows": rows, "columns": columns, "low": low, "wide": low, "deep": low, "size": size,
              "at_more": copied, "at_work": copied + more, "right": right, "high": max(rows, columns)}
    if len(operands) > 1:
        second = operands[1]
        given |= {"b": lambda w: w.input(second.number, second.g), "b_batch": second.step,
                  "b_row": second.g.strides[-2], "b_column": second.g.strides[-1]}
    if name == "linalg_lu_solve":
        given["pivots"] = lambda w: w.input(1, signature.geometries[1])
    work = count * (1000 + rows * columns * (low + right) / (200 if name == "linalg_cholesky_ex" else 40))
    scratch = 8 * library.SLOTS + (copied + more + size) * dtype.itemsize + 64
    return Plan([Call(_code(form), words(POINTERS, NUMBERS, given), 1, scratch=scratch)], nanoseconds=work)
