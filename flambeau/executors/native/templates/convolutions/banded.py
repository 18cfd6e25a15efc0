"""Products with banded matrices: sums of a few neighbours, whose places and weights a table gives.

A task has rows of the result. Where the matrix is applied along the columns, each lane of a vector gathers
its neighbours; else a row is the weighted sum of a few rows. More than ``MOST`` taps are added in several
goes, while the row is in the first cache. Where a column has many neighbours that lie side by side, it is a
product of two lines of memory: the weights are turned beforehand, so that a column's follow one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .....graph.node import Signature
from ...llvm.build import Function, Module, suffix, vector
from ...llvm.compiling.code import kernel
from ...llvm.compiling.effort import Effort
from ...llvm.compiling.machine import machine
from ...llvm.emitter import FLOAT32, FLOAT64, Dtype, register_type
from ...movement.spaces import Nest, Row, Space, fused, rank_for, split
from ...plan import Call, Plan, Template, Words
from ...quantity import at_once, held

MOST = 4            # taps of one go
WIDE = 8            # taps that are worth a product of lines
STRIP = 2048        # columns of a row that stay in the first cache
RESULT, INPUT, TABLE, ROWS, COUNT, TAPS, STEP, WALK = range(8)     # words; STEP: bytes between rows

Part = Callable[[str, str], Iterator[tuple[str, str]]]     # of a column and a mask: weights and elements


class Form(NamedTuple):
    """What the code depends on."""

    rank: int
    dtype: Dtype
    along: bool     # the matrix is applied along the columns
    unit: bool      # the operand's elements follow one another there
    first: int      # taps of the first go
    more: bool      # and there are others


# --- plans --------------------------------------------------------------------------------------------------

def _banded(signature: Signature) -> Plan | None:
    x, table = signature.geometries[:2]
    out, count, dim = signature.outputs[0], signature.attributes[0], held(signature.attributes[1])
    dtype = np.dtype(out.dtype.numpy)
    if not out.numel or not x.numel or dtype not in (FLOAT32, FLOAT64) or not table.is_contiguous \
            or x.dtype is not out.dtype:
        return None
    size, taps = dtype.itemsize, table.numel // count - 1
    n, step = x.shape[dim], x.strides[dim] * size
    own = dim + out.ndim
    axes = [d for d in out.order if d == own or out.shape[d] != 1]
    along = axes[-1] == own
    # The result, the operand, and the column of the matrix.
    strides = [[out.strides[d] * size for d in axes], [0 if d == own else x.strides[d] * size for d in axes],
               [int(d == own) for d in axes]]
    space = fused([out.shape[d] for d in axes], strides, ordered=False)
    if along and count == 1:
        space = Space((*space.extents, 1), tuple([(*s, 0) for s in space.strides]))
    unit = (step if along else space.strides[1][-1]) == size
    if along and unit and taps >= WIDE and len(space.extents) < 3 and out.strides[dim] == 1:
        return _wide(signature, dtype, taps, space)
    form = Form(rank_for(space), dtype, along, unit, held((taps - 1) % MOST + 1), taps > MOST)
    words = Words()
    words.output(0)
    words.input(0, x)
    words.input(1, table)
    words.constant(n, count, taps, step)
    cut = split(space, (8 if along else 3) * size * taps, widest=STRIP)
    Nest(form.rank, 3, WALK).place(words, space, cut)
    each = taps * (0.5 if along else 0.1) * (size / 4) + 0.1
    return Plan([Call(_kernel(form), words, cut.tasks, cut.grain)], nanoseconds=each * out.numel)


def _wide(signature: Signature, dtype: Dtype, taps: int, space: Space) -> Plan:
    """``space``: rows, unless there is one, and columns."""
    x, table = signature.geometries[:2]
    out, count, dim = signature.outputs[0], signature.attributes[0], held(signature.attributes[1])
    rows = out.numel // count
    words = Words()
    words.output(0)
    words.input(0, x)
    words.input(1, table)
    words.workspace(0)
    words.constant(x.shape[dim], count, taps)
    apart = [own[0] if len(space.extents) > 1 else 0 for own in space.strides[:2]]
    words.constant(*apart)
    turned = Words()
    turned.input(1, table)
    turned.workspace(0)
    turned.constant(count, taps)
    each = count * (taps * 0.05 + 5.0)
    calls = [Call(_turning(dtype), turned, 1),
             Call(_lines(dtype), words, rows, at_once(20e3, each))]
    return Plan(calls, workspace=count * taps * dtype.itemsize, nanoseconds=each * rows)


# --- code ---------------------------------------------------------------------------------------------------

@kernel("banded")
def _kernel(form: Form) -> str:
    module = Module()
    with module.kernel("banded") as f:
        band = _Band(f, form, Nest(form.rank, 3, WALK))
        with band.nest.rows(f) as row:
            band.go(row, "0", form.first, fresh=True)
            if form.more:
                with f.loop(form.first, f.word(TAPS), MOST) as tap:
                    band.go(row, tap, MOST, fresh=False)
    return module.text()


@kernel("turn_weights")
def _turning(dtype: Dtype) -> str:
    """Weights (taps, count) as (count, taps)."""
    module, element = Module(), register_type(dtype)
    with module.kernel("turn_weights") as f:
        table, turned = f.word(0, "ptr"), f.word(1, "ptr")
        count, taps = f.word(2), f.word(3)
        with f.loop(0, taps) as k, f.loop(0, count) as column:
            held = f.read(element, f.at(table, f.add(f.mul(f.add(k, 1), count), column), element))
            f.write(element, held, f.at(turned, f.add(f.mul(column, taps), k), element))
    return module.text()


@kernel("banded_lines", effort=Effort.SOME)
def _lines(dtype: Dtype) -> str:
    """Each column's neighbours times its weights; the table begins with where they start."""
    module, element, lanes = Module(), register_type(dtype), machine().vector // dtype.itemsize
    kind, integer = vector(lanes, element), f"i{dtype.itemsize * 8}"
    with module.kernel("banded_lines") as f:
        result, source, table, weights = (f.word(k, "ptr") for k in range(4))
        n, count, taps, to_step, from_step = (f.word(k) for k in range(4, 9))
        with f.loop(f.begin, f.end) as row, f.loop(0, count) as column:
            held = f.read(integer, f.at(table, column, integer))
            start = held if integer == "i64" else f.emit(f"sext {integer} {held} to i64")
            line = f.at(f.at(source, f.mul(row, from_step), "i8"), start, element)
            own = f.at(weights, f.mul(column, taps), element)
            end, total = f.least(taps, f.sub(n, start)), f.variable(kind, "zeroinitializer")
            with f.loop(0, end, lanes) as k:
                mask = f.first_lanes(f.sub(end, k), lanes)
                x, weight = (f.read_masked(kind, f.at(p, k, element), mask) for p in (line, own))
                total.set(f.fma(kind, weight, x, total.get()))
            to = f.at(f.at(result, f.mul(row, to_step), "i8"), column, element)
            f.write(element, f.total(kind, total.get()), to)
    return module.text()


class _Band:
    """Writes one go: the sum of a few taps, for the columns of a row."""

    def __init__(self, f: Function, form: Form, nest: Nest) -> None:
        self.f, self.form, self.nest = f, form, nest
        self.result, self.input, self.table = [f.word(k, "ptr") for k in (RESULT, INPUT, TABLE)]
        self.last = f.sub(f.word(ROWS), 1)
        self.count, self.step = f.word(COUNT), f.word(STEP)
        self.lanes = machine().vector // form.dtype.itemsize
        self.element = register_type(form.dtype)
        self.integer = f"i{form.dtype.itemsize * 8}"
        self.kind = vector(self.lanes, self.element)
        self.wide = vector(self.lanes, "i64")

    def go(self, row: Row, tap: str, taps: int, fresh: bool) -> None:
        """Taps from ``tap`` on; ``fresh``: what is there does not count."""
        f, form = self.f, self.form
        to, source = f.at(self.result, row.offsets[0], "i8"), f.at(self.input, row.offsets[1], "i8")
        weights = f.at(self.table, f.mul(f.add(tap, 1), self.count), self.element)
        read = self._along if form.along else self._across
        part = read(source, weights, row.offsets[2], tap, taps)
        width = row.width(f)
        with f.loop(0, width, self.lanes) as i:
            mask = f.first_lanes(f.sub(width, i), self.lanes)
            at = f.at(to, i, self.element)
            total = "" if fresh else f.read_masked(self.kind, at, mask)
            for weight, x in part(i, mask):
                total = f.fma(self.kind, weight, x, total) if total else \
                    f.emit(f"fmul {self.kind} {weight}, {x}")
            f.write_masked(self.kind, total, at, mask)

    def _along(self, source: str, weights: str, first: str, tap: str, taps: int) -> Part:
        """Lanes are columns of the matrix: each has rows and weights of its own."""
        f = self.f

        def part(i: str, mask: str) -> Iterator[tuple[str, str]]:
            column = f.add(first, i)
            start = self._extended(f.read_masked(vector(self.lanes, self.integer),
                                                 f.at(self.table, column, self.integer), mask))
            for k in range(taps):
                index = self._moved(start, f.add(tap, k)) if k or self.form.more else start
                at = f.at(f.at(weights, f.mul(self.count, k), self.element), column, self.element)
                yield f.read_masked(self.kind, at, mask), self._gathered(source, index, self.step, mask)
        return part

    def _across(self, source: str, weights: str, column: str, tap: str, taps: int) -> Part:
        """Lanes are elements of a row of the operand; all have the same rows and weights."""
        f = self.f
        held = f.read(self.integer, f.at(self.table, column, self.integer))
        start = held if self.integer == "i64" else f.emit(f"sext {self.integer} {held} to i64")
        taken = []
        for k in range(taps):
            index = f.least(f.add(f.add(start, tap), k), self.last)
            weight = f.read(self.element, f.at(f.at(weights, f.mul(self.count, k), self.element), column,
                                               self.element))
            taken.append((f.splat(weight, self.lanes, self.element),
                          f.at(source, f.mul(index, self.step), "i8")))
        numbers = f"<{', '.join(f'i64 {k}' for k in range(self.lanes))}>"
        stride = self.nest.step(f, 1)

        def part(i: str, mask: str) -> Iterator[tuple[str, str]]:
            for weight, pointer in taken:
                if self.form.unit:
                    yield weight, f.read_masked(self.kind, f.at(pointer, i, self.element), mask)
                else:
                    here = f.at(pointer, f.mul(i, stride), "i8")
                    yield weight, self._gathered(here, numbers, stride, mask)
        return part

    def _extended(self, held: str) -> str:
        if self.integer == "i64":
            return held
        return self.f.emit(f"sext {vector(self.lanes, self.integer)} {held} to {self.wide}")

    def _moved(self, start: str, tap: str) -> str:
        """Rows ``tap`` further on, the last one at most."""
        f = self.f
        index = f.emit(f"add nsw {self.wide} {start}, {f.splat(tap, self.lanes, 'i64')}")
        return f.call(f"llvm.smin.{suffix(self.wide)}", self.wide, [self.wide] * 2,
                      [index, f.splat(self.last, self.lanes, "i64")])

    def _gathered(self, base: str, index: str, step: str, mask: str) -> str:
        """Elements at an index each, ``step`` bytes apart."""
        f = self.f
        if self.form.unit:
            at = f.emit(f"getelementptr inbounds {self.element}, ptr {base}, {self.wide} {index}")
        else:
            offset = f.emit(f"mul nsw {self.wide} {index}, {f.splat(step, self.lanes, 'i64')}")
            at = f.emit(f"getelementptr inbounds i8, ptr {base}, {self.wide} {offset}")
        return f.gather(self.kind, at, mask, self.form.dtype.itemsize)


TEMPLATES: dict[str, Template] = {"banded_product": _banded}
