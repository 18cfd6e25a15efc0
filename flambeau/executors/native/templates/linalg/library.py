"""Factorizations by the LAPACK that NumPy is linked with: QR, eigenvalues, singular values, least squares,
pseudoinverses.

Of small matrices the routine is a part of the time that it takes to get there. A kernel copies each matrix
of a batch, column by column, and calls the routine on it; where one fails, the interpreter computes the node
again to report the error. It sets the library's number of threads meanwhile (Note: waiting threads): one
task.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from .....graph.node import Signature
from ....interpreter import blas, lapack
from ...arguments import Argument, Registers, registers, result, words
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.emitter import FLOAT32, FLOAT64, Dtype, memory_type
from ...movement.spaces import fused
from ...plan import Call, Plan, Template, Words

LARGEST = 256   # an extent, from which on what leads to the routine hardly counts
POINTERS = ("a", "b", "first", "second", "third", "status", "routine", "finish", "get_threads", "set_threads")
# ``low``, ``high``: the lesser and the greater extent; ``wide``, ``deep``: columns of the first and rows of
# the last factor; ``bound``: a number's bits. Sizes and places in scratch memory are in numbers of the
# matrices' type.
NUMBERS = ("batch", "a_batch", "a_row", "a_column", "rows", "columns", "low", "wide", "deep", "size",
           "at_copy", "at_more", "at_work", "b_batch", "b_row", "b_column", "right", "high", "bound", "at_b")
SLOTS = 16      # of 8 bytes: what routines take by reference


class Form(NamedTuple):
    """What code depends on. ``integers``: those of the library have 64 bits."""

    name: str
    dtype: Dtype
    integers: bool
    flag: str


class Writer:
    """A kernel under construction; ``refer`` and ``letter`` put arguments where a routine finds them."""

    def __init__(self, f: Function, form: Form, a: Registers) -> None:
        self.f, self.form, self.a = f, form, a
        self.element = memory_type(form.dtype)
        self.integer = "i64" if form.integers else "i32"
        self._slots = 0
        self.info = self.refer("0")
        self.rows, self.columns, self.low, self.wide, self.deep, self.size = (
            self.refer(x) for x in (a.rows, a.columns, a.low, a.wide, a.deep, a.size))

    def _slot(self) -> str:
        self._slots += 1
        return self.f.at(self.f.scratch, self._slots - 1, "i64")

    def refer(self, value: str) -> str:
        place = self._slot()
        if self.integer == "i32" and value.startswith("%"):
            value = self.f.emit(f"trunc i64 {value} to i32")
        self.f.write(self.integer, value, place)
        return place

    def bits(self, value: str) -> str:
        """A word as it is."""
        place = self._slot()
        self.f.write("i64", value, place)
        return place

    def letter(self, letter: str) -> str:
        place = self._slot()
        self.f.write("i8", ord(letter), place, 1)
        return place

    def room(self, at: str) -> str:
        return self.f.at(self.f.at(self.f.scratch, SLOTS, "i64"), at, self.element)

    def number(self, value: str) -> str:
        """A constant of the matrices' type."""
        place = self._slot()
        self.f.write(self.element, value, place, self.form.dtype.itemsize)
        return place

    def read(self, matrix: str, at: str) -> str:
        return self.f.read(self.element, self.f.at(matrix, at, self.element), self.form.dtype.itemsize)

    def matrix(self, pointer: str, b: str, step: str) -> str:
        """Where the b-th of matrices that lie so far apart begins."""
        return self.f.at(pointer, self.f.mul(b, step), self.element)

    def result(self, pointer: str, b: str, *extents: str) -> str:
        """Where the b-th of results of these extents begins."""
        for n in extents:
            b = self.f.mul(b, n)
        return self.f.at(pointer, b, self.element)

    def load(self, b: str, to: str) -> str:
        """Copy matrix b, column by column."""
        a = self.a
        self.turn(self.matrix(a.a, b, a.a_batch), a.a_row, a.a_column, a.columns, a.rows, to, a.rows)
        return to

    def turn(self, first: str, row: str, column: str, columns: str, rows: str, to: str, apart: str) -> None:
        """Copy a matrix of these strides, column by column, each ``apart`` from the one before."""
        f = self.f
        with f.loop(0, columns) as j:
            source = f.at(first, f.mul(j, column), self.element)
            into = f.at(to, f.mul(j, apart), self.element)
            with f.loop(0, rows) as i:
                self.copy(f.at(source, f.mul(i, row), self.element), f.at(into, i, self.element))

    def copy(self, source: str, to: str) -> None:
        size = self.form.dtype.itemsize
        self.f.write(self.element, self.f.read(self.element, source, size), to, size)

    def call(self, routine: str, *arguments: str, letters: int = 0, fails: bool = True) -> None:
        """Call a routine; Fortran's compilers pass the lengths of its letters behind all else.

        ``fails``: it says whether it could do what it was asked for.
        """
        given = (*arguments, self.info) if fails else arguments
        self.f.effect(f"call void {routine}({', '.join([f'ptr {x}' for x in given] + ['i64 1'] * letters)})")
        if not fails:
            return
        with self.f.when(self.f.emit(f"icmp ne {self.integer} {self.f.read(self.integer, self.info)}, 0")):
            self.f.write("i64", 1, self.a.status, 8)


def _qr(w: Writer) -> Callable[[str], None]:
    f, a = w.f, w.a
    copy, tau, work = w.room(a.at_copy), w.room(a.at_more), w.room(a.at_work)

    def each(b: str) -> None:
        w.call(a.routine, w.rows, w.columns, w.load(b, copy), w.rows, tau, work, w.size)
        r = w.result(a.second, b, a.deep, a.columns)
        with f.loop(0, a.columns) as j:
            column, into = f.at(copy, f.mul(j, a.rows), w.element), f.at(r, f.mul(j, a.deep), w.element)
            above = f.least(f.add(j, 1), a.low)
            with f.loop(0, above) as i:
                w.copy(f.at(column, i, w.element), f.at(into, i, w.element))
            with f.loop(above, a.deep) as i:
                f.write(w.element, "0.0", f.at(into, i, w.element), w.form.dtype.itemsize)
        if w.form.flag == "r":
            return
        q = w.result(a.first, b, a.rows, a.wide)
        with f.loop(0, f.mul(a.rows, a.low)) as i:
            w.copy(f.at(copy, i, w.element), f.at(q, i, w.element))
        w.call(a.finish, w.rows, w.wide, w.low, q, w.rows, tau, work, w.size)
    return each


def _eigh(w: Writer) -> Callable[[str], None]:
    a, vectors = w.a, w.form.name == "linalg_eigh"
    job, triangle = w.letter("V" if vectors else "N"), w.letter(w.form.flag)
    more, work = w.room(a.at_more), w.room(a.at_work)
    integers = w.refer(w.f.add(w.f.mul(a.rows, 5), 3))

    def each(b: str) -> None:
        x = w.load(b, w.result(a.second, b, a.rows, a.rows) if vectors else w.room(a.at_copy))
        w.call(a.routine, job, triangle, w.rows, x, w.rows, w.result(a.first, b, a.rows), work, w.size, more,
               integers, letters=2)
    return each


def _svd(w: Writer) -> Callable[[str], None]:
    a, vectors = w.a, w.form.name == "linalg_svd"
    job = w.letter(w.form.flag)
    copy, more, work = w.room(a.at_copy), w.room(a.at_more), w.room(a.at_work)

    def each(b: str) -> None:
        values = w.result(a.second if vectors else a.first, b, a.low)
        u = w.result(a.first, b, a.rows, a.wide) if vectors else work
        v = w.result(a.third, b, a.deep, a.columns) if vectors else work
        w.call(a.routine, job, w.rows, w.columns, w.load(b, copy), w.rows, values, u, w.rows, v, w.deep, work,
               w.size, more, letters=1)
    return each


def _lstsq(w: Writer) -> Callable[[str], None]:
    f, a = w.f, w.a
    copy, pivots, work, sides = (w.room(x) for x in (a.at_copy, a.at_more, a.at_work, a.at_b))
    right, high, rank, bound = w.refer(a.right), w.refer(a.high), w.refer("0"), w.bits(a.bound)

    def each(b: str) -> None:
        w.turn(w.matrix(a.b, b, a.b_batch), a.b_row, a.b_column, a.right, a.rows, sides, a.high)
        with f.loop(0, a.columns) as j:
            f.write(w.integer, 0, f.at(pivots, j, w.integer))
        w.call(a.routine, w.rows, w.columns, right, w.load(b, copy), w.rows, sides, high, pivots, bound, rank,
               work, w.size)
        w.turn(sides, "1", a.high, a.right, a.columns, w.result(a.first, b, a.columns, a.right), a.columns)
        found = f.read(w.integer, rank)
        found = found if w.integer == "i64" else f.emit(f"sext i32 {found} to i64")
        f.write("i64", found, f.at(a.second, b, "i64"), 8)
        values = w.result(a.third, b, a.low)
        with f.loop(0, a.low) as i:
            f.write(w.element, "0.0", f.at(values, i, w.element), w.form.dtype.itemsize)
    return each


def _pinv(w: Writer) -> Callable[[str], None]:
    """V D^+ U^T by rows, which is U D^+ V^T by columns; a product is the second routine."""
    f, a = w.f, w.a
    job, plain, one, zero = w.letter("S"), w.letter("N"), w.number("1.0"), w.number("0.0")
    copy, more, work, values = (w.room(x) for x in (a.at_copy, a.at_more, a.at_work, a.at_b))
    u = f.at(values, a.low, w.element)
    v = f.at(u, f.mul(a.rows, a.low), w.element)
    bound = f.read(w.element, w.bits(a.bound), w.form.dtype.itemsize)

    def each(b: str) -> None:
        w.call(a.routine, job, w.rows, w.columns, w.load(b, copy), w.rows, values, u, w.rows, v, w.low, work,
               w.size, more, letters=1)
        least = f.emit(f"fmul {w.element} {bound}, {w.read(values, '0')}")
        with f.loop(0, a.low) as k:
            value = w.read(values, k)
            counts = f.emit(f"fcmp ogt {w.element} {value}, {least}")
            inverse = f.emit(f"fdiv {w.element} 1.0, {value}")
            factor = f.emit(f"select i1 {counts}, {w.element} {inverse}, {w.element} 0.0")
            column = f.at(u, f.mul(k, a.rows), w.element)
            with f.loop(0, a.rows) as i:
                scaled = f.emit(f"fmul {w.element} {w.read(column, i)}, {factor}")
                f.write(w.element, scaled, f.at(column, i, w.element), w.form.dtype.itemsize)
        w.call(a.finish, plain, plain, w.rows, w.columns, w.low, one, u, w.rows, v, w.low, zero,
               w.result(a.first, b, a.rows, a.columns), w.rows, letters=2, fails=False)
    return each


_WRITERS = {"linalg_lstsq": _lstsq, "linalg_qr": _qr, "linalg_eigh": _eigh, "linalg_eigvalsh": _eigh,
            "linalg_svd": _svd, "linalg_svdvals": _svd, "linalg_pinv": _pinv}


@kernel("library")
def _code(form: Form) -> str:
    module = Module()
    with module.kernel("library") as f:
        over_batch(f, form, registers(f, POINTERS, NUMBERS), _WRITERS[form.name])
    return module.text()


def over_batch(f: Function, form: Form, a: Registers,
               write: Callable[[Writer], Callable[[str], None]]) -> None:
    """What is done with each matrix, while the library takes one thread."""
    before = f.emit(f"call i32 {a.get_threads}()")
    f.effect(f"call void {a.set_threads}(i32 1)")
    each = write(Writer(f, form, a))
    with f.loop(0, a.batch) as b:
        each(b)
    f.effect(f"call void {a.set_threads}(i32 {before})")


# --- plans --------------------------------------------------------------------------------------------------

@cache
def thread_setters() -> tuple[lapack.Address, lapack.Address] | None:
    """What gets and sets the library's number of threads."""
    for start, end in blas.SPELLINGS:
        found = [lapack.address(f"{start}openblas_{what}_num_threads{end}") for what in ("get", "set")]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    return None


@lru_cache(1 << 10)
def _work(name: str, kind: str, flag: str, rows: int, columns: int, wide: int) -> int:
    """How much working memory the routines of an operator ask for."""
    low, ask = min(rows, columns), lapack.work_size
    if name == "linalg_qr":
        finish = 0 if flag == "r" else ask("orgqr", kind, rows, wide, low, None, rows, None)
        return max(ask("geqrf", kind, rows, columns, None, rows, None), finish)
    if name == "linalg_lstsq":
        return ask("gelsy", kind, rows, columns, wide, None, rows, None, max(rows, columns), None, None, None)
    if "eig" in name:
        return ask("syevd", kind, "V" if name == "linalg_eigh" else "N", flag, rows, None, rows, None)
    deep = columns if flag == "A" else low
    return ask("gesdd", kind, flag, rows, columns, None, rows, None, None, rows, None, deep)


def _least_squares(signature: Signature) -> Plan | None:
    """By pivoted QR: the other drivers are the interpreter's."""
    g, sides = signature.geometries
    rcond, driver = signature.attributes
    dtype, right = g.dtype.numpy, sides.shape[-1]
    space = fused(g.shape[:-2], [g.strides[:-2], sides.strides[:-2]], ordered=False)
    setters = thread_setters()
    routine = lapack.symbol_of("gelsy", dtype.char) if dtype in (FLOAT32, FLOAT64) else None
    if driver not in ("gels", "gelsy") or setters is None or routine is None or not g.numel \
            or not sides.numel or max(*g.shape[-2:], right) > LARGEST or len(space.extents) > 1:
        return None
    rows, columns = (int(n) for n in g.shape[-2:])
    high = max(rows, columns)
    bound = float(np.finfo(dtype).eps) * high if rcond is None else float(rcond)
    size = _work("linalg_lstsq", dtype.char, "", rows, columns, right)
    form = Form("linalg_lstsq", dtype, routine[1], "")
    given: dict[str, Argument] = {x: function(at) for x, at in zip(POINTERS[6:], (
        routine[0], routine[0], *setters))}
    steps = [own[-1] for own in space.strides]
    given |= {"b": lambda w: w.input(1, sides), "b_batch": steps[1], "b_row": sides.strides[-2],
              "b_column": sides.strides[-1], "right": right, "high": high,
              "bound": lambda w: w.real(bound, dtype)}
    return _plan(signature, form, space.size, steps[0], given, size, high * int(right))


def _pseudoinverse(signature: Signature) -> Plan | None:
    """By singular values, where those count that are not small beside the largest."""
    g = signature.geometries[0]
    atol, rtol, hermitian = signature.attributes
    if atol or hermitian or g.dtype.numpy not in (FLOAT32, FLOAT64):
        return None
    rows, columns = (int(n) for n in g.shape[-2:])
    bound = float(np.finfo(g.dtype.numpy).eps) * max(rows, columns) if rtol is None else float(rtol)
    return _planned("gesdd", "gemm", lambda signature: "S", {"bound": lambda w: w.real(bound, g.dtype.numpy)},
                    min(rows, columns) * (1 + rows + columns))(signature)


def _planned(routine: str, finish: str, flag_of: Callable[[Signature], str],
             more: dict[str, Argument] | None = None, room: int = 0) -> Template:
    """``finish``: the routine that comes second, or the first one again.

    ``more``, ``room``: further arguments, and numbers behind the working memory.
    """
    def find(signature: Signature) -> Plan | None:
        g, name = signature.geometries[0], signature.operator.name
        space = fused(g.shape[:-2], [g.strides[:-2]], ordered=False)
        setters, dtype = thread_setters(), g.dtype.numpy
        if not g.numel or dtype not in (FLOAT32, FLOAT64) or max(g.shape[-2:]) > LARGEST \
                or len(space.extents) > 1 or setters is None:
            return None
        routines = [lapack.symbol_of(x, dtype.char) for x in (routine, finish)]
        if routines[0] is None or routines[1] is None:
            return None
        form = Form(name, dtype, routines[0][1], flag_of(signature))
        given: dict[str, Argument] = {x: function(at) for x, at in zip(POINTERS[6:], (
            routines[0][0], routines[1][0], *setters))}
        given |= {**dict.fromkeys(("b", *NUMBERS[NUMBERS.index("b_batch"):]), 0), **(more or {})}
        rows, columns = (int(n) for n in g.shape[-2:])
        size = _work(name, dtype.char, form.flag, rows, columns, _wide(form, rows, columns))
        return _plan(signature, form, space.size, space.strides[0][-1], given, size, room)
    return find


def _wide(form: Form, rows: int, columns: int) -> int:
    return rows if form.flag in ("complete", "A") else min(rows, columns)


def _plan(signature: Signature, form: Form, batch: int, step: int, given: dict[str, Argument], size: int,
          more_room: int) -> Plan:
    """``size``: numbers of working memory; ``more_room``: of what lies behind it."""
    g = signature.geometries[0]
    rows, columns = (int(n) for n in g.shape[-2:])
    low, wide = min(rows, columns), _wide(form, rows, columns)
    deep = rows if form.flag == "complete" else columns if form.flag == "A" else low
    more = 16 * (rows + columns) + 16   # integers of working memory, or the reflections' factors
    place = -(-rows * columns // 16) * 16
    outputs = range(len(signature.outputs))
    given |= {name: result(k) if k in outputs else 0 for k, name in enumerate(POINTERS[2:5])}
    given |= {"a": lambda w: w.input(0, g), "status": lambda w: w.status(), "batch": batch, "a_batch": step,
              "a_row": g.strides[-2], "a_column": g.strides[-1], "rows": rows, "columns": columns, "low": low,
              "wide": wide, "deep": deep, "size": size, "at_copy": 0, "at_more": place,
              "at_work": place + more, "at_b": place + more + size}
    work = batch * (2000 + rows * columns * low * (2 if "qr" in form.name else 10))
    call = Call(_code(form), words(POINTERS, NUMBERS, given), 1,
                scratch=8 * SLOTS + (place + more + size + more_room) * form.dtype.itemsize + 64)
    return Plan([call], nanoseconds=work)


def function(address: lapack.Address) -> Callable[[Words], int]:
    return lambda w: w.function(address)


def _job(signature: Signature) -> str:
    return "N" if signature.operator.name == "linalg_svdvals" else "A" if signature.attributes[0] else "S"


def _first_attribute(signature: Signature) -> str:
    return str(signature.attributes[0])


TEMPLATES: dict[str, Template] = {
    "linalg_lstsq": _least_squares,
    "linalg_qr": _planned("geqrf", "orgqr", _first_attribute),
    "linalg_eigh": _planned("syevd", "syevd", _first_attribute),
    "linalg_eigvalsh": _planned("syevd", "syevd", _first_attribute),
    "linalg_svd": _planned("gesdd", "gesdd", _job),
    "linalg_svdvals": _planned("gesdd", "gesdd", _job),
    "linalg_pinv": _pseudoinverse,
}
