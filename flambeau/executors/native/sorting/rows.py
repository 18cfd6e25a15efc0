"""How a row's elements are put in order, equal ones in theirs: by insertion or by bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..llvm.build import Function, Module, Variable, vector
from ..llvm.compiling.machine import machine
from ..llvm.emitter import Dtype, element, register_type
from .network import scratch_for

DIGITS = 256
# Words; STEP: one for each side; MORE: how many are found, or the rank that is.
VALUES, PLACES, INPUT, LENGTH, WANTED, STEP, MORE = 0, 1, 2, 3, 4, 5, 8


class Form(NamedTuple):
    """What the code depends on. ``network``: its size, if there is one."""

    rank: int
    dtype: Dtype
    descending: bool
    radix: bool
    network: int
    scanned: bool   # elements that follow one another are compared with the last one chosen, many at once
    ties: str       # whose order equal elements have: "sort", "top", "pick", ..., "" if they keep theirs
    direct: bool    # all rows are given as that leaves them

    @property
    def has_nan(self) -> bool:
        """Whether an element may be no number."""
        return register_type(self.dtype) in ("float", "double")

    @property
    def key(self) -> int:
        """Bytes of a key."""
        return max(self.dtype.itemsize, 4)


# --- keys ---------------------------------------------------------------------------------------------------

def key_of(f: Function, form: Form, x: str) -> str:
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


# --- rows ---------------------------------------------------------------------------------------------------

class Row:
    """Where a row's elements come from and go to, and the scratch memory: of all items, then of the rest."""

    def __init__(self, f: Function, form: Form) -> None:
        self.form = form
        self.kind = element(form.key)
        self.count, self.wanted, self.more = f.word(LENGTH), f.word(WANTED), f.word(MORE)
        self.steps = [f.word(STEP + k) for k in range(3)]
        self.items = f.at(f.scratch, scratch_for(form.network) if form.network else 0, "i8")
        self.scratch = f.scratch
        if form.ties and not form.network:
            self.scratch = f.at(f.scratch, f.mul(_rounded(f, f.mul(self.count, form.key)), 2), "i8")

    def place(self, f: Function) -> None:
        """Where keys, places and counts lie."""
        form = self.form
        held = self.count if form.radix else self.more
        keys, places = [_rounded(f, f.mul(held, size)) for size in (form.key, 4)]
        self.keys = [self.scratch, f.at(self.scratch, keys, "i8")]
        first = f.at(self.keys[1], keys, "i8")
        self.places = [first, f.at(first, places, "i8")]
        self.counts = f.at(self.places[1], places, "i8")

    def load(self, f: Function, pointer: str, i: str) -> str:
        """The key of element i."""
        return key_of(f, self.form, f.load(f.at(pointer, f.mul(i, self.steps[2]), "i8"), self.form.dtype))


def _rounded(f: Function, size: str) -> str:
    return f.emit(f"and i64 {f.add(size, 63)}, -64")


# --- insertion ----------------------------------------------------------------------------------------------

def define_insert(module: Module, form: Form) -> Function:
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


def by_insertion(f: Function, row: Row, source: str, insert: Function) -> tuple[str, str]:
    """The first keys and places in order."""
    keys, places = row.keys[0], row.places[0]
    with f.loop(0, row.more) as i:
        f.run(insert, keys, places, i, row.load(f, source, i), i)
    last = f.sub(row.more, 1)

    def take(first: str, end: str) -> None:
        with f.loop(first, end) as i:
            key = row.load(f, source, i)
            smaller = f.emit(f"icmp ult {row.kind} {key}, {f.read(row.kind, f.at(keys, last, row.kind), 4)}")
            with f.when(smaller):
                f.run(insert, keys, places, last, key, i)

    scan(f, row, source, row.more, f.at(places, last, "i32"), take)
    return keys, places


def scan(f: Function, row: Row, source: str, start: str, place: str,
         take: Callable[[str, str], None]) -> None:
    """``take`` the elements from ``start`` on, maybe only where some precede the one at a place."""
    if not row.form.scanned:
        take(start, row.count)
        return
    lanes = 2 * machine().vector // row.form.dtype.itemsize
    even = f.add(start, f.rem(f.sub(row.count, start), lanes))
    take(start, even)
    with f.loop(even, row.count, lanes) as i:
        with f.when(_some_precede(f, row, source, i, place, lanes)):
            take(i, f.add(i, lanes))


def _some_precede(f: Function, row: Row, source: str, i: str, place: str, lanes: int) -> str:
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

def by_radix(f: Function, row: Row, source: str) -> tuple[str, str]:
    """All keys and places in order."""
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
    if row.form.ties:
        with f.when(_may_differ(f, row)):
            _pass_bytes(f, row, keys, places)
    else:
        _pass_bytes(f, row, keys, places)
    return keys[0].get(), places[0].get()


def _may_differ(f: Function, row: Row) -> str:
    """Whether digits leave so many keys that all may differ; if not, the first two are made equal."""
    possible = f.variable("i64", 1)
    for byte in range(row.form.key):
        used = f.variable("i64", 0)
        with f.loop(byte * DIGITS, (byte + 1) * DIGITS) as d:
            some = f.emit(f"icmp ne i32 {f.read('i32', f.at(row.counts, d, 'i32'))}, 0")
            used.set(f.add(used.get(), f.emit(f"zext i1 {some} to i64")))
        possible.set(f.least(f.mul(possible.get(), used.get()), row.count))
    enough = f.compare("sge", possible.get(), row.count)
    with f.otherwise(enough):
        first = f.read(row.kind, row.keys[0], row.form.key)
        f.write(row.kind, first, f.at(row.keys[0], 1, row.kind), row.form.key)
    return enough


def _pass_bytes(f: Function, row: Row, keys: list[Variable], places: list[Variable]) -> None:
    """Sort by one byte after the other; what is in order lies in the first of two arrays."""
    kind, size = row.kind, row.form.key
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
