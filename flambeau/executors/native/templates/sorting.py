"""Sorting along a dimension: sort and topk.

An element becomes an unsigned integer, its key, of the same order: the sign bit of an integer is turned over;
the bits of a negative floating number are, too; NaN is the largest; for descending order all bits are turned
over. All ways of sorting keep equal elements in their order:

* a *network* (sorting_network.py): for short rows with keys of 32 bits.
* *insertion*: the k smallest keys so far, in order; most elements are larger than the last one, and done with
  after one comparison, of many at once. For other short rows, and for topk with a small k.
* *radix*: a counting sort by each byte of the key, the last byte first. The bytes are all counted in one
  pass, and a byte that is the same in all keys costs nothing more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ....graph.node import Signature
from ..llvm.build import Function, Module, vector
from ..llvm.code import kernel
from ..llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Dtype, register_type
from ..llvm.machine import machine
from ..plan import Call, Plan, Words
from .copying import element
from .movement import Template
from .nest import Nest, Space, fused, rank_for, split
from .sorting_network import Network, scratch_for, size_for

SHORT = 32      # rows up to this are sorted by insertion
RADIX = 10.0    # nanoseconds for each element
DIGITS = 256
VALUES, PLACES, INPUT, LENGTH, WANTED, STEP = 0, 1, 2, 3, 4, 5   # words; STEP: one for each side
WALK = 8


class Form(NamedTuple):
    """What the code depends on. ``network``: its size, if there is one."""

    rank: int
    dtype: Dtype
    descending: bool
    radix: bool
    network: int
    scanned: bool   # elements that follow one another are compared with the last one chosen, many at once

    @property
    def key(self) -> int:
        """Bytes of a key."""
        return max(self.dtype.itemsize, 4)


# --- plans --------------------------------------------------------------------------------------------------

def _sort(signature: Signature) -> Plan | None:
    dim, descending = signature.attributes
    return _planned(signature, dim, descending, None)


def _topk(signature: Signature) -> Plan | None:
    k, dim, largest = signature.attributes
    return _planned(signature, dim, largest, k)


def _planned(signature: Signature, dim: int, descending: bool, k: int | None) -> Plan | None:
    g, out = signature.geometries[0], signature.outputs[0]
    dtype = np.dtype(g.dtype.numpy)
    if not g.ndim or not out.numel or (dtype.kind not in "biu" and dtype not in (
            FLOAT16, BFLOAT16, FLOAT32, FLOAT64)):
        return None
    n = g.shape[dim]
    if n >= 1 << 31:
        return None
    wanted = n if k is None else k
    others = [d for d in range(g.ndim) if d != dim]
    sides = [(out.strides, dtype.itemsize), (signature.outputs[1].strides, 8), (g.strides, dtype.itemsize)]
    space = fused([g.shape[d] for d in others], [[own[d] * size for d in others] for own, size in sides],
                  ordered=False)
    space = Space((*space.extents, 1), tuple([(*own, 0) for own in space.strides]))
    # Nanoseconds of a row: about wanted log(n / wanted) elements are smaller than the last one so far.
    inserting = 0.2 * n + wanted * (1 + math.log(n / wanted)) * (20.0 + wanted)
    radix = n > SHORT and RADIX * n < inserting
    network = size_for(n) if dtype.itemsize <= 4 else 0
    scanned = not radix and not network and sides[2][0][dim] == 1 and dtype.itemsize >= 4 and n >= 2 * SHORT
    form = Form(rank_for(space), dtype, descending, radix, network, scanned)
    words = Words()
    words.output(0)
    words.output(1)
    words.input(0, g)
    words.constant(n, wanted, *[own[dim] * size for own, size in sides])
    each = RADIX * n if radix else 2.5 * n if network else inserting
    cut = split(space, 20.0 * each)
    Nest(form.rank, 3, WALK).place(words, space, cut)
    held = n if radix else wanted
    scratch = scratch_for(network) if network else \
        2 * _aligned(held * form.key) + 2 * _aligned(held * 4) + 4 * DIGITS * form.key
    call = Call(_kernel(form), words, cut.tasks, cut.grain, scratch)
    return Plan([call], nanoseconds=each * space.size)


def _aligned(size: int) -> int:
    return -(-size // 64) * 64


# --- keys ---------------------------------------------------------------------------------------------------

def _key(f: Function, form: Form, x: str) -> str:
    """The unsigned integer of an element's order."""
    kind = element(form.key)
    held = register_type(form.dtype)
    top = -1 << (form.key * 8 - 1)
    if held in ("float", "double"):
        bits = f.emit(f"bitcast {held} {f.emit(f'fadd {held} {x}, 0.0')} to {kind}")    # one zero, not two
        sign = f.emit(f"ashr {kind} {bits}, {form.key * 8 - 1}")
        turned = f.emit(f"xor {kind} {bits}, {f.emit(f'or {kind} {sign}, {top}')}")
        none = f.emit(f"fcmp uno {held} {x}, {x}")
        key = f.choose(none, kind, "-1", turned)
    else:
        signed = form.dtype.kind == "i"
        key = x if held == kind else f.emit(f"{'sext' if signed else 'zext'} {held} {x} to {kind}")
        key = f.emit(f"xor {kind} {key}, {top}") if signed else key
    return f.emit(f"xor {kind} {key}, -1") if form.descending else key


# --- code ---------------------------------------------------------------------------------------------------

class _Row:
    """Where a row's elements come from and go to, and the scratch memory."""

    def __init__(self, f: Function, form: Form) -> None:
        self.form = form
        self.kind = element(form.key)
        self.count, self.wanted = f.word(LENGTH), f.word(WANTED)
        self.steps = [f.word(STEP + k) for k in range(3)]
        held = self.count if form.radix else self.wanted
        keys, places = [f.emit(f"and i64 {f.add(f.mul(held, size), 63)}, -64") for size in (form.key, 4)]
        self.keys = [f.scratch, f.at(f.scratch, keys, "i8")]
        first = f.at(self.keys[1], keys, "i8")
        self.places = [first, f.at(first, places, "i8")]
        self.counts = f.at(self.places[1], places, "i8")

    def load(self, f: Function, pointer: str, i: str) -> str:
        """The key of element i."""
        return _key(f, self.form, f.load(f.at(pointer, f.mul(i, self.steps[2]), "i8"), self.form.dtype))


@kernel("sort_rows")
def _kernel(form: Form) -> str:
    module = Module()
    if form.network:
        _write_network(module, form)
        return module.text()
    insert = None if form.radix else _define_insert(module, form)
    with module.kernel("sort_rows") as f:
        sides = [f.word(k, "ptr") for k in range(3)]
        own = _Row(f, form)
        with Nest(form.rank, 3, WALK).rows(f) as row:
            pointers = [f.at(p, offset, "i8") for p, offset in zip(sides, row.offsets)]
            found = _by_radix(f, own, pointers[2]) if insert is None else \
                _by_insertion(f, own, pointers[2], insert)
            with f.loop(0, own.wanted) as j:
                place = f.emit(f"zext i32 {f.read('i32', f.at(found, j, 'i32'))} to i64")
                _give(f, form, own.steps, pointers, place, j)
    return module.text()


def _give(f: Function, form: Form, steps: list[str], pointers: list[str], place: str, j: str) -> None:
    """Write the j-th element in order, which was at a place of its row."""
    values, places, source = pointers
    raw, size = element(form.dtype.itemsize), form.dtype.itemsize
    f.write("i64", place, f.at(places, f.mul(j, steps[1]), "i8"), 8)
    x = f.read(raw, f.at(source, f.mul(place, steps[2]), "i8"), size)
    f.write(raw, x, f.at(values, f.mul(j, steps[0]), "i8"), size)


def _write_network(module: Module, form: Form) -> None:
    def give(f: Function, pointers: list[str], place: str, j: str) -> None:
        _give(f, form, [f.word(STEP + k) for k in range(3)], pointers, place, j)

    with module.kernel("sort_rows") as f:
        sides = [f.word(k, "ptr") for k in range(3)]
        network = Network(module, f, form.network, f.word(LENGTH), f.word(WANTED), give)
        step = f.word(STEP + 2)
        with Nest(form.rank, 3, WALK).rows(f) as row:
            pointers = [f.at(p, offset, "i8") for p, offset in zip(sides, row.offsets)]
            network.add(pointers, lambda i: _key(
                f, form, f.load(f.at(pointers[2], f.mul(i, step), "i8"), form.dtype)))
        network.finish()


# --- insertion ----------------------------------------------------------------------------------------------

def _define_insert(module: Module, form: Form) -> Function:
    """``insert(keys, places, count, key, place)``: behind all keys that are not larger, of ``count``."""
    kind = element(form.key)
    with module.helper("insert", [("ptr noalias", "%keys"), ("ptr noalias", "%places"), ("i64", "%count"),
                                  (kind, "%key"), ("i64", "%place")]) as f:
        smaller = f.variable("i64", 0)
        with f.loop(0, "%count") as j:
            before = f.emit(f"icmp ule {kind} {f.read(kind, f.at('%keys', j, kind), form.key)}, %key")
            smaller.set(f.add(smaller.get(), f.emit(f"zext i1 {before} to i64")))
        at = smaller.get()
        with f.loop(at, "%count") as t:
            j = f.sub(f.add("%count", at), t)       # from the last one down
            for pointer, own in (("%keys", kind), ("%places", "i32")):
                x = f.read(own, f.at(pointer, f.sub(j, 1), own), 4)
                f.write(own, x, f.at(pointer, j, own), 4)
        f.write(kind, "%key", f.at("%keys", at, kind), form.key)
        f.write("i32", f.emit("trunc i64 %place to i32"), f.at("%places", at, "i32"))
    return f


def _by_insertion(f: Function, row: _Row, source: str, insert: Function) -> str:
    """The first ``wanted`` places in order."""
    keys, places = row.keys[0], row.places[0]
    with f.loop(0, row.wanted) as i:
        f.run(insert, keys, places, i, row.load(f, source, i), i)
    last = f.sub(row.wanted, 1)

    def take(first: str, end: str) -> None:
        with f.loop(first, end) as i:
            key = row.load(f, source, i)
            smaller = f.emit(f"icmp ult {row.kind} {key}, {f.read(row.kind, f.at(keys, last, row.kind), 4)}")
            with f.when(smaller):
                f.run(insert, keys, places, last, key, i)

    if not row.form.scanned:
        take(row.wanted, row.count)
        return places
    lanes = 2 * machine().vector // row.form.dtype.itemsize
    left = f.rem(f.sub(row.count, row.wanted), lanes)
    start = f.add(row.wanted, left)
    take(row.wanted, start)
    with f.loop(start, row.count, lanes) as i:
        with f.when(_some_precede(f, row, source, i, f.at(places, last, "i32"), lanes)):
            take(i, f.add(i, lanes))
    return places


def _some_precede(f: Function, row: _Row, source: str, i: str, place: str, lanes: int) -> str:
    """Whether one of the elements from i on comes before the one at a place, or may: one is not a number."""
    form, element_type = row.form, register_type(row.form.dtype)
    kind = vector(lanes, element_type)
    size = form.dtype.itemsize
    chosen = f.read(element_type, f.at(source, f.emit(f"zext i32 {f.read('i32', place)} to i64"),
                                       element_type), size)
    order = "gt" if form.descending else "lt"
    compare = {"f": f"fcmp u{order}", "i": f"icmp s{order}", "u": f"icmp u{order}"}[form.dtype.kind]
    mask = f.emit(f"{compare} {kind} {f.read(kind, f.at(source, i, element_type), size)}, "
                  f"{f.splat(chosen, lanes, element_type)}")
    return f.call(f"llvm.vector.reduce.or.v{lanes}i1", "i1", [vector(lanes, "i1")], [mask])


# --- radix --------------------------------------------------------------------------------------------------

def _by_radix(f: Function, row: _Row, source: str) -> str:
    """All places in order."""
    kind, size = row.kind, row.form.key
    with f.loop(0, DIGITS * size) as d:
        f.write("i32", 0, f.at(row.counts, d, "i32"))
    with f.loop(0, row.count) as i:
        key = row.load(f, source, i)
        f.write(kind, key, f.at(row.keys[0], i, kind), size)
        f.write("i32", f.emit(f"trunc i64 {i} to i32"), f.at(row.places[0], i, "i32"))
        for byte in range(size):
            _next(f, f.at(row.counts, byte * DIGITS, "i32"), _digit(f, kind, key, byte))
    keys = [f.variable("ptr", p) for p in row.keys]
    places = [f.variable("ptr", p) for p in row.places]
    for byte in range(size):
        counts = f.at(row.counts, byte * DIGITS, "i32")
        first = _digit(f, kind, f.read(kind, keys[0].get(), size), byte)
        same = f.read("i32", f.at(counts, first, "i32"))
        different = f.compare("ne", f.emit(f"zext i32 {same} to i64"), row.count)
        with f.when(different):
            _starts(f, counts)
            held = [x.get() for x in (*keys, *places)]
            with f.loop(0, row.count) as i:
                key = f.read(kind, f.at(held[0], i, kind), size)
                place = f.read("i32", f.at(held[2], i, "i32"))
                to = _next(f, counts, _digit(f, kind, key, byte))
                f.write(kind, key, f.at(held[1], to, kind), size)
                f.write("i32", place, f.at(held[3], to, "i32"))
            for variable, pointer in zip((*keys, *places), (held[1], held[0], held[3], held[2])):
                variable.set(pointer)
    return places[0].get()


def _digit(f: Function, kind: str, key: str, byte: int) -> str:
    shifted = f.emit(f"and {kind} {f.emit(f'lshr {kind} {key}, {8 * byte}')}, {DIGITS - 1}")
    return shifted if kind == "i64" else f.emit(f"zext {kind} {shifted} to i64")


def _next(f: Function, counts: str, digit: str) -> str:
    """Count one more of a digit; how many there were."""
    at = f.at(counts, digit, "i32")
    have = f.read("i32", at)
    f.write("i32", f.emit(f"add i32 {have}, 1"), at)
    return f.emit(f"zext i32 {have} to i64")


def _starts(f: Function, counts: str) -> None:
    """From how many of each digit there are to where the first of them goes."""
    total = f.variable("i32", 0)
    with f.loop(0, DIGITS) as d:
        at = f.at(counts, d, "i32")
        have = f.read("i32", at)
        f.write("i32", total.get(), at)
        total.set(f.emit(f"add i32 {total.get()}, {have}"))


TEMPLATES: dict[str, Template] = {"sort": _sort, "topk": _topk}
