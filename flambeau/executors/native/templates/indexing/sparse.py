"""Entries of sparse tensors: spread over a dense one, picked from it, times a dense matrix.

In a product each entry adds its multiple of a row to a row of the result. Entries may lie in any order and
come several times, so a task takes them all, for some columns of the result. Columns that fit into one vector
wait there while entries of the same row follow one another, as those of sorted entries do: the way through
memory costs several times the addition.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.build import Function, Module, vector
from ...llvm.compiling.code import kernel
from ...llvm.compiling.machine import machine
from ...llvm.emitter import FLOAT32, FLOAT64, INT64, Dtype, register_type
from ...movement.indexed import Index, Side, walked
from ...plan import Call, Plan, Words
from .indexing import added, reading, usable

RESULT, VALUES, INDICES, DENSE, STATUS = range(5)
# How many entries, rows and columns of the result, rows of the dense matrix; strides in elements; columns
# of a task.
ENTRIES, ROWS, WIDTH, INNER, VALUE_STEP, SIDE_STEP, INDEX_STEP, DENSE_STEP, BLOCK = range(5, 14)
_COLUMNS = 64       # of a task
_WORTH = 1 << 15    # multiplications from which columns are shared among tasks


def _product(signature: Signature) -> Plan | None:
    values, indices, dense = signature.geometries
    assert isinstance(values, Geometry) and isinstance(indices, Geometry) and isinstance(dense, Geometry)
    dtype, (inner, width), entries = values.dtype.numpy, dense.shape, values.numel
    if dtype not in (FLOAT32, FLOAT64) or indices.dtype.numpy != INT64 \
            or (width > 1 and dense.strides[1] != 1):
        return None
    block = _COLUMNS if entries * width >= _WORTH else max(width, 1)
    words = Words()
    words.output(0)
    words.input(0, values)
    words.input(1, indices)
    words.input(2, dense)
    words.status()
    words.constant(entries, signature.attributes[0], width, inner, values.strides[0], *indices.strides,
                   dense.strides[0], block)
    narrow = width <= machine().lanes(dtype.itemsize)
    call = Call(_narrow(dtype) if narrow else _kernel(dtype), words, -(-width // block))
    return Plan([call], flops=2.0 * entries * width, traffic=12.0 * entries * width)


@kernel("sparse_product")
def _kernel(dtype: Dtype) -> str:
    module = Module()
    with module.kernel("sparse_product") as f, f.loop(f.begin, f.end) as task:
        columns = _Columns(f, dtype, f.mul(task, f.word(BLOCK)))
        result, width = f.word(RESULT, "ptr"), f.word(WIDTH)
        with f.loop(0, f.word(ROWS)) as row:
            columns.clear(result, f.mul(row, width))
        with _entries(f, columns) as (row, value, source):
            columns.add(result, f.mul(row, width), value, source)
    return module.text()


@kernel("sparse_product_narrow")
def _narrow(dtype: Dtype) -> str:
    """All columns at once: the sum of a row is written where another row follows."""
    module = Module()
    with module.kernel("sparse_product_narrow") as f, f.loop(f.begin, f.end):
        columns = _Columns(f, dtype, "0")
        result, width = f.word(RESULT, "ptr"), f.word(WIDTH)
        kind, size, mask = columns.kind, dtype.itemsize, f.first_lanes(width, columns.lanes)
        with f.loop(0, f.word(ROWS)) as row:
            to = f.at(result, f.mul(row, width), columns.element)
            f.write_masked(kind, "zeroinitializer", to, mask, size)
        held, total = f.variable("i64", 0), f.variable(kind, "zeroinitializer")

        def put() -> None:
            to = f.at(result, f.mul(held.get(), width), columns.element)
            there = f.emit(f"fadd {kind} {f.read_masked(kind, to, mask, size)}, {total.get()}")
            f.write_masked(kind, there, to, mask, size)

        with _entries(f, columns) as (row, value, source):
            with f.when(f.compare("ne", row, held.get())):
                put()
                held.set(row)
                total.set("zeroinitializer")
            x = f.read_masked(kind, f.at(f.word(DENSE, "ptr"), source, columns.element), mask, size)
            total.set(f.fma(kind, f.splat(value, columns.lanes, columns.element), x, total.get()))
        with f.when(f.compare("ne", f.word(ROWS), 0)):
            put()
    return module.text()


@contextmanager
def _entries(f: Function, columns: _Columns) -> Iterator[tuple[str, str, str]]:
    """For each entry its row, its value and how many elements of the dense matrix precede the row of its
    column; one that lies outside sets the status."""
    rows, inner = f.word(ROWS), f.word(INNER)
    with f.loop(0, f.word(ENTRIES)) as entry:
        place = f.at(f.word(INDICES, "ptr"), f.mul(entry, f.word(INDEX_STEP)), "i64")
        row = f.read("i64", place, 8)
        column = f.read("i64", f.at(place, f.word(SIDE_STEP), "i64"), 8)
        right = f.emit(f"and i1 {f.compare('ult', row, rows)}, {f.compare('ult', column, inner)}")
        with f.when(right):
            at = f.at(f.word(VALUES, "ptr"), f.mul(entry, f.word(VALUE_STEP)), columns.element)
            yield row, f.read(columns.element, at, columns.size), f.mul(column, f.word(DENSE_STEP))
        with f.otherwise(right):
            f.write("i64", 1, f.word(STATUS, "ptr"), 8)


class _Columns:
    """The columns of one task, from ``first`` on: whole vectors of them, and what is left."""

    def __init__(self, f: Function, dtype: Dtype, first: str) -> None:
        self.f, self.size, self.first = f, dtype.itemsize, first
        self.element = register_type(dtype)
        self.lanes = machine().lanes(dtype.itemsize)
        self.kind = vector(self.lanes, self.element)
        count = f.least(f.sub(f.word(WIDTH), first), f.word(BLOCK))
        self.whole = f.emit(f"and i64 {count}, {-self.lanes}")
        self.rest = f.sub(count, self.whole)
        self.mask = f.first_lanes(self.rest, self.lanes)

    def _at(self, pointer: str, row: str, column: str) -> str:
        return self.f.at(pointer, self.f.add(row, self.f.add(self.first, column)), self.element)

    def clear(self, result: str, row: str) -> None:
        """Zeros in a row of the result; ``row``: how many elements precede it."""
        f, zero = self.f, "zeroinitializer"
        with f.loop(0, self.whole, self.lanes) as c:
            f.write(self.kind, zero, self._at(result, row, c), self.size)
        f.write_masked(self.kind, zero, self._at(result, row, self.whole), self.mask, self.size)

    def add(self, result: str, row: str, value: str, source: str) -> None:
        """Add ``value`` times a row of the dense matrix."""
        f, dense = self.f, self.f.word(DENSE, "ptr")
        factor = f.splat(value, self.lanes, self.element)
        with f.loop(0, self.whole, self.lanes) as c:
            to = self._at(result, row, c)
            x = f.read(self.kind, self._at(dense, source, c), self.size)
            f.write(self.kind, f.fma(self.kind, factor, x, f.read(self.kind, to, self.size)), to, self.size)
        with f.when(f.compare("ne", self.rest, 0)):
            to = self._at(result, row, self.whole)
            x = f.read_masked(self.kind, self._at(dense, source, self.whole), self.mask, self.size)
            total = f.fma(self.kind, factor, x, f.read_masked(self.kind, to, self.mask, self.size))
            f.write_masked(self.kind, total, to, self.mask, self.size)


# --- entries and elements -----------------------------------------------------------------------------------

def _coordinates(signature: Signature, places: Geometry, dense: Geometry) -> list[Index] | None:
    """Coordinates (D, N) in a dense tensor (..., *) as indices over (N, *); None where there are none."""
    count = places.shape[0]
    if not count or not usable(signature, places):
        return None
    (row, step), trailing = places.strides, dense.ndim - count
    return [Index(1, places, (step, *[0] * trailing), dense.shape[d], dense.strides[d], d * row)
            for d in range(count)]


def _spread(signature: Signature) -> Plan | None:
    """Entries (N, *) added up at coordinates (D, N)."""
    values, places = signature.geometries
    out = signature.outputs[0]
    indices = _coordinates(signature, places, out)
    if indices is None:
        return None
    return added(signature, values.shape, Side(values.strides, 0, values),
                 (0, *out.strides[len(indices):]), indices)


def _pick(signature: Signature) -> Plan | None:
    """The elements at coordinates (D, N): (N, *)."""
    x, places = signature.geometries
    out = signature.outputs[0]
    indices = _coordinates(signature, places, x)
    if indices is None:
        return None
    source = Side((0, *x.strides[len(indices):]), 0, x)
    return reading(signature, out.shape,
                   walked("read", out.shape, Side(out.strides), source, indices, out.dtype))


TEMPLATES = {"sparse_product": _product, "sparse_spread": _spread, "sparse_pick": _pick}
