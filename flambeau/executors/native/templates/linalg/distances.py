"""Distances between rows, and their gradients: cdist, pdist.

A task is a row of the first operand: it goes over the rows of the second one, or of pairs within one operand
over those behind it. A distance is accumulated in a vector along the rows; a gradient, which is a row, where
it belongs, pair after pair.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.build import Function, Module, vector
from ...llvm.compiling.code import kernel
from ...llvm.compiling.machine import machine
from ...llvm.emitter import FLOAT32, FLOAT64, Dtype, register_type
from ...plan import Call, Plan, Template, Words
from ...quantity import at_once

WORDS = ("first", "second", "rows", "others", "width", "first_row", "second_row", "first_batch",
         "second_batch", "result", "grad", "distances")
NORMS = {1.0: "sum", 2.0: "length", math.inf: "largest"}


class Form(NamedTuple):
    """What the code depends on. ``pairs``: within one operand, each once; ``back``: the first's gradients."""

    dtype: Dtype
    norm: str
    pairs: bool
    back: bool


# --- plans --------------------------------------------------------------------------------------------------

def _rows_of(g: Geometry) -> tuple[int, int] | None:
    """The strides from row to row and from matrix to matrix; None where rows do not lie so."""
    if g.ndim > 3 or (g.strides[-1] != 1 and g.shape[-1] > 1):
        return None
    return g.strides[-2], g.strides[0] if g.ndim == 3 else 0


def _planned(signature: Signature, first: int, second: int, p: float, pairs: bool, back: bool) -> Plan | None:
    """``first``, ``second``: the operands between whose rows there are distances; gradients come before."""
    a, b = signature.geometries[first], signature.geometries[second]
    out, dtype = signature.outputs[0], np.dtype(signature.outputs[0].dtype.numpy)
    strides = _rows_of(a), _rows_of(b)
    if p not in NORMS or dtype not in (FLOAT32, FLOAT64) or strides[0] is None or strides[1] is None \
            or not out.numel or not a.shape[-1] or a.ndim != b.ndim or a.shape[:-2] != b.shape[:-2]:
        return None
    given = (signature.geometries[0], signature.geometries[-1]) if back else ()
    if not all(g.is_contiguous for g in given):
        return None
    rows, others, width = a.shape[-2], b.shape[-2], a.shape[-1]
    words = Words()
    words.input(first, a)
    words.input(second, b)
    words.constant(rows, others, width, strides[0][0], strides[1][0], strides[0][1], strides[1][1])
    words.output(0)
    for operand, g in zip((0, len(signature.geometries) - 1), given):
        words.input(operand, g)
    tasks = a.numel // width
    work = tasks * others * (width * 0.06 + 2)
    grain = at_once(tasks * 20e3, work + 1)
    scratch = 2 * others * dtype.itemsize if back else 0
    call = Call(_kernel(Form(dtype, NORMS[p], pairs, back)), words, tasks, grain, scratch)
    return Plan([call], nanoseconds=work)


def _cdist(signature: Signature) -> Plan | None:
    return _planned(signature, 0, 1, signature.attributes[0], False, False)


TEMPLATES: dict[str, Template] = {
    "cdist": _cdist,
    "pdist": lambda signature: _planned(signature, 0, 0, signature.attributes[0], True, False),
    "cdist_backward": lambda signature: _planned(signature, 1, 2, signature.attributes[0], False, True),
    "pdist_backward": lambda signature: _planned(signature, 1, 1, signature.attributes[0], True, True),
}


# --- code ---------------------------------------------------------------------------------------------------

@kernel("distances")
def _kernel(form: Form) -> str:
    module = Module()
    with module.kernel("distances") as f:
        _Writer(f, form).write()
    return module.text()


class _Writer:
    def __init__(self, f: Function, form: Form) -> None:
        self.f, self.form = f, form
        self.element = register_type(form.dtype)
        self.lanes = machine().vector // form.dtype.itemsize
        self.kind = vector(self.lanes, self.element)

    def word(self, name: str, kind: str = "i64") -> str:
        return self.f.word(WORDS.index(name), kind)

    def at(self, pointer: str, index: str) -> str:
        return self.f.at(pointer, index, self.element)

    def write(self) -> None:
        """The loops over rows and the rows they meet."""
        f, form = self.f, self.form
        rows = self.word("rows")
        with f.loop(f.begin, f.end) as task:
            batch, i = f.div(task, rows), f.rem(task, rows)
            a = self.at(self.word("first", "ptr"), f.add(f.mul(batch, self.word("first_batch")),
                                                         f.mul(i, self.word("first_row"))))
            b = self.at(self.word("second", "ptr"), f.mul(batch, self.word("second_batch")))
            if form.back:
                self._gradient(a, b, i, task)
            else:
                self._distances(a, b, i, task)

    def _distances(self, a: str, b: str, i: str, task: str) -> None:
        """Those of a row."""
        f = self.f
        with f.loop(f.add(i, 1) if self.form.pairs else "0", self.word("others")) as j:
            row = self.at(b, f.mul(j, self.word("second_row")))
            at = self.at(self.word("result", "ptr"), self._place(task, i, j))
            f.write(self.element, self._distance(a, row), at, self.form.dtype.itemsize)

    def _place(self, task: str, i: str, j: str) -> str:
        """The place of a distance."""
        if self.form.pairs:
            return self._pair(i, j)
        return self.f.add(self.f.mul(task, self.word("others")), j)

    def _pair(self, i: str, j: str) -> str:
        """The place of a pair among all: those of earlier rows, then those between."""
        f, rows = self.f, self.word("rows")
        low, high = f.least(i, j), f.most(i, j)
        before = f.div(f.mul(low, f.sub(f.sub(f.mul(rows, 2), low), 1)), 2)
        return f.sub(f.add(before, f.sub(high, low)), 1)

    # --- distances ------------------------------------------------------------------------------------------

    def _distance(self, a: str, b: str) -> str:
        f = self.f
        total = f.variable(self.kind, "zeroinitializer")
        width = self.word("width")
        whole = f.sub(width, f.rem(width, self.lanes))
        with f.loop(0, whole, self.lanes) as k:
            x, y = (f.read(self.kind, self.at(p, k), self.form.dtype.itemsize) for p in (a, b))
            total.set(self._joined(total.get(), f.emit(f"fsub {self.kind} {x}, {y}")))
        with f.when(f.compare("slt", whole, width)):
            mask = f.first_lanes(f.sub(width, whole), self.lanes)
            x, y = (f.read_masked(self.kind, self.at(p, whole), mask, self.form.dtype.itemsize)
                    for p in (a, b))
            total.set(self._joined(total.get(), f.emit(f"fsub {self.kind} {x}, {y}")))
        return self._finished(total.get())

    def _joined(self, total: str, d: str) -> str:
        f, kind = self.f, self.kind
        if self.form.norm == "length":
            return f.fma(kind, d, d, total)
        size = self._intrinsic("fabs", kind, d)
        if self.form.norm == "sum":
            return f.emit(f"fadd {kind} {total}, {size}")
        larger = f.emit(f"fcmp ugt {kind} {size}, {total}")     # what is not a number stays
        known = f.emit(f"fcmp uno {kind} {total}, {total}")
        return f.emit(f"select <{self.lanes} x i1> {known}, {kind} {total}, {kind} "
                      f"{f.emit(f'select <{self.lanes} x i1> {larger}, {kind} {size}, {kind} {total}')}")

    def _finished(self, total: str) -> str:
        f = self.f
        if self.form.norm != "largest":
            found = f.total(self.kind, total)
            return found if self.form.norm == "sum" else self._intrinsic("sqrt", self.element, found)
        none = f.emit(f"fcmp uno {self.kind} {total}, {total}")
        some = f.call(f"llvm.vector.reduce.or.v{self.lanes}i1", "i1", [f"<{self.lanes} x i1>"], [none])
        return f.choose(some, self.element, "0x7FF8000000000000", f.greatest(self.kind, total))

    def _intrinsic(self, name: str, kind: str, x: str) -> str:
        short = {"float": "f32", "double": "f64"}[self.element]
        suffix = short if kind == self.element else f"v{self.lanes}{short}"
        return self.f.call(f"llvm.{name}.{suffix}", kind, [kind], [x])

    # --- gradients ------------------------------------------------------------------------------------------

    def _gradient(self, a: str, b: str, i: str, task: str) -> None:
        """A row: first the weight of each difference, then their sum, some vectors of columns at a time."""
        f = self.f
        width, block = self.word("width"), 4 * self.lanes
        result = self.at(self.word("result", "ptr"), f.mul(task, width))
        for others in self._others(i):
            with f.loop(*others) as j:
                self._weigh(j, self._place(task, i, j))
        whole = f.sub(width, f.rem(width, block))
        with f.loop(0, whole, block) as k:
            self._columns(a, b, i, result, [f.add(k, n * self.lanes) for n in range(4)], "")
        with f.loop(whole, width, self.lanes) as k:
            self._columns(a, b, i, result, [k], f.first_lanes(f.sub(width, k), self.lanes))

    def _others(self, i: str) -> list[tuple[str, str]]:
        """The rows that row i is compared with."""
        others = self.word("others")
        return [("0", i), (self.f.add(i, 1), others)] if self.form.pairs else [("0", others)]

    def _weigh(self, j: str, place: str) -> None:
        """Into scratch memory: what the difference counts; behind all these, the distance."""
        f, size = self.f, self.form.dtype.itemsize
        weight = f.read(self.element, self.at(self.word("grad", "ptr"), place), size)
        distance = f.read(self.element, self.at(self.word("distances", "ptr"), place), size)
        if self.form.norm == "length":
            some = f.emit(f"fcmp une {self.element} {distance}, 0.0")
            weight = f.choose(some, self.element, f.emit(f"fdiv {self.element} {weight}, {distance}"), "0.0")
        f.write(self.element, weight, self.at(f.scratch, j), size)
        if self.form.norm == "largest":
            f.write(self.element, distance, self.at(f.scratch, f.add(self.word("others"), j)), size)

    def _columns(self, a: str, b: str, i: str, result: str, columns: list[str], mask: str) -> None:
        """The sum over all other rows, in registers."""
        f, kind, size = self.f, self.kind, self.form.dtype.itemsize

        def read(pointer: str, k: str) -> str:
            at = self.at(pointer, k)
            return f.read_masked(kind, at, mask, size) if mask else f.read(kind, at, size)

        own = [read(a, k) for k in columns]
        sums = [f.variable(kind, "zeroinitializer") for _ in columns]
        for others in self._others(i):
            with f.loop(*others) as j:
                row = self.at(b, f.mul(j, self.word("second_row")))
                weight = self._splat(self.at(f.scratch, j))
                limit = ""
                if self.form.norm == "largest":
                    limit = self._splat(self.at(f.scratch, f.add(self.word("others"), j)))
                for k, x, total in zip(columns, own, sums):
                    d = f.emit(f"fsub {kind} {x}, {read(row, k)}")
                    total.set(f.fma(kind, d, weight, total.get()) if self.form.norm == "length" else
                              f.emit(f"fadd {kind} {total.get()}, {self._signed(weight, d, limit)}"))
        for k, total in zip(columns, sums):
            if mask:
                f.write_masked(kind, total.get(), self.at(result, k), mask, size)
            else:
                f.write(kind, total.get(), self.at(result, k), size)

    def _splat(self, pointer: str) -> str:
        x = self.f.read(self.element, pointer, self.form.dtype.itemsize)
        return self.f.splat(x, self.lanes, self.element)

    def _signed(self, weight: str, d: str, limit: str) -> str:
        """The weight with the sign of a difference; 0 where it is 0, or does not attain the largest."""
        f, kind, bits = self.f, self.kind, f"<{self.lanes} x i1>"
        negative = f.emit(f"fneg {kind} {weight}")
        below = f.emit(f"fcmp olt {kind} {d}, zeroinitializer")
        above = f.emit(f"fcmp ogt {kind} {d}, zeroinitializer")
        found = f.emit(f"select {bits} {below}, {kind} {negative}, {kind} zeroinitializer")
        found = f.emit(f"select {bits} {above}, {kind} {weight}, {kind} {found}")
        if self.form.norm == "sum":
            return found
        attained = f.emit(f"fcmp oeq {kind} {self._intrinsic('fabs', kind, d)}, {limit}")
        return f.emit(f"select {bits} {attained}, {kind} {found}, {kind} zeroinitializer")
