"""Patches of planes as columns, and columns added up to planes.

A task is a plane: what one sample has in one channel. Its columns are rows in memory, one for each element of
the kernel, in which the windows lie one after the other:

    columns:  out[k, o] = x[o * stride + k * dilation - padding]        or 0, beside the plane
    planes:   out[y]    = sum over k and o with o * stride + k * dilation - padding = y
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..arguments import Registers, registers
from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernel
from ..llvm.emitter import Dtype, element, memory_type, register_type

POINTERS = ("target", "source")
# Of planes ``inner`` have the same sample; strides, in elements, are those of the source: of samples, of
# channels (or of the columns' rows), of rows and of elements of a row (of columns: of windows).
NUMBERS = ("inner", "s_outer", "s_inner", "s_b", "s_w", "space_b", "space_w", "out_b", "out_w", "kernel_b",
           "kernel_w", "stride_b", "stride_w", "padding_b", "padding_w", "dilation_b", "dilation_w")


def _windows(f: Function, a: Registers, axis: str, k: str) -> tuple[str, str, str]:
    """The windows whose element k is inside, from the first one to behind the last one, and its shift.

    The element of window o lies at o * stride - shift.
    """
    given = a.named("stride_"), a.named("padding_"), a.named("dilation_"), a.named("space_"), a.named("out_")
    stride, padding, dilation, space, out = [getattr(x, axis) for x in given]
    shift, up = f.sub(padding, f.mul(k, dilation)), f.sub(stride, 1)
    first = f.div(f.add(f.most(shift, 0), up), stride)
    last = f.least(f.div(f.add(f.most(f.add(shift, space), 0), up), stride), out)
    return f.least(first, last), last, shift


@contextmanager
def _planes(f: Function, a: Registers) -> Iterator[tuple[str, str, str]]:
    """The planes of all tasks: number, sample and channel."""
    with f.loop(f.begin, f.end) as plane:
        outer = f.div(plane, a.inner)
        yield plane, outer, f.sub(plane, f.mul(outer, a.inner))


@contextmanager
def _taps(f: Function, a: Registers) -> Iterator[tuple[str, str, str]]:
    """The elements of the kernel: number, row and column."""
    with f.loop(0, a.kernel_b) as b, f.loop(0, a.kernel_w) as w:
        yield f.add(f.mul(b, a.kernel_w), w), b, w


@kernel("window_columns")
def columns_kernel(size: int) -> str:
    """Patches as columns, of elements of so many bytes."""
    module = Module()
    kind = element(size)
    with module.kernel("window_columns") as f:
        a = registers(f, POINTERS, NUMBERS)
        taps, windows = f.mul(a.kernel_b, a.kernel_w), f.mul(a.out_b, a.out_w)
        with _planes(f, a) as (plane, outer, inner):
            start = f.add(f.mul(outer, a.s_outer), f.mul(inner, a.s_inner))
            source = f.at(a.source, start, kind)
            target = f.at(a.target, f.mul(plane, f.mul(taps, windows)), kind)
            with _taps(f, a) as (tap, b, w):
                into = f.at(target, f.mul(tap, windows), kind)
                above, below, down = _windows(f, a, "b", b)
                left, right, along = _windows(f, a, "w", w)
                with f.loop(0, a.out_b) as row:
                    at = f.at(into, f.mul(row, a.out_w), kind)
                    inside = f.emit(f"and i1 {f.compare('sge', row, above)}, {f.compare('slt', row, below)}")
                    first, last = [f.choose(inside, "i64", x, a.out_w) for x in (left, right)]
                    with f.loop(0, first) as i:
                        f.write(kind, "0", f.at(at, i, kind), size)
                    y = f.sub(f.mul(row, a.stride_b), down)
                    # Where no window of a row is inside, nothing is read.
                    _copy(f, a, kind, size, at, f.at(source, f.mul(y, a.s_b), kind), along, first, last)
                    with f.loop(last, a.out_w) as i:
                        f.write(kind, "0", f.at(at, i, kind), size)
    return module.text()


def _copy(f: Function, a: Registers, kind: str, size: int, to: str, source: str, shift: str, first: str,
          last: str) -> None:
    """The windows of a row that are inside; a loop of its own where they are neighbours in memory."""
    step = f.mul(a.stride_w, a.s_w)
    adjacent = f.compare("eq", step, 1)
    start = f.at(source, f.mul(f.sub(0, shift), a.s_w), kind)
    with f.when(adjacent), f.loop(first, last) as i:
        f.write(kind, f.read(kind, f.at(start, i, kind), size), f.at(to, i, kind), size)
    with f.otherwise(adjacent), f.loop(first, last) as i:
        f.write(kind, f.read(kind, f.at(start, f.mul(i, step), kind), size), f.at(to, i, kind), size)


@kernel("window_planes")
def planes_kernel(dtype: Dtype) -> str:
    """Columns added up, tap by tap: each element's sum is taken in the order of the kernel's elements.

    Those of 16-bit types are added in single precision, which is what the target has.
    """
    module = Module()
    kind, stored = register_type(dtype), memory_type(dtype)
    size = 8 if kind == "double" else 4
    with module.kernel("window_planes") as f:
        a = registers(f, POINTERS, NUMBERS)
        taps, area = f.mul(a.kernel_b, a.kernel_w), f.mul(a.space_b, a.space_w)
        with _planes(f, a) as (plane, outer, inner):
            target = f.at(a.target, f.mul(plane, area), kind)
            with f.loop(0, area) as i:
                f.write(kind, "0.0", f.at(target, i, kind), size)
            start = f.add(f.mul(outer, a.s_outer), f.mul(f.mul(inner, taps), a.s_inner))
            with _taps(f, a) as (tap, b, w):
                source = f.at(a.source, f.add(start, f.mul(tap, a.s_inner)), stored)
                above, below, down = _windows(f, a, "b", b)
                left, right, along = _windows(f, a, "w", w)
                with f.loop(above, below) as row:
                    y = f.sub(f.mul(row, a.stride_b), down)
                    to = f.at(target, f.sub(f.mul(y, a.space_w), along), kind)
                    _add(f, a, dtype, to, f.at(source, f.mul(row, a.s_b), stored), left, right)
    return module.text()


def _add(f: Function, a: Registers, dtype: Dtype, to: str, source: str, first: str, last: str) -> None:
    """A row of columns added; a loop of its own where its windows are neighbours on both sides."""
    kind, stored = register_type(dtype), memory_type(dtype)
    adjacent = f.emit(f"and i1 {f.compare('eq', a.stride_w, 1)}, {f.compare('eq', a.s_w, 1)}")
    with f.when(adjacent), f.loop(first, last) as i:
        _add_one(f, dtype, f.at(to, i, kind), f.at(source, i, stored))
    with f.otherwise(adjacent), f.loop(first, last) as i:
        _add_one(f, dtype, f.at(to, f.mul(i, a.stride_w), kind), f.at(source, f.mul(i, a.s_w), stored))


def _add_one(f: Function, dtype: Dtype, to: str, source: str) -> None:
    kind = register_type(dtype)
    size = 8 if kind == "double" else 4
    f.write(kind, f.emit(f"fadd {kind} {f.read(kind, to, size)}, {f.load(source, dtype)}"), to, size)
