"""Where elements would be inserted into sorted rows: searchsorted, bucketize."""

from __future__ import annotations

from typing import NamedTuple

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...arguments import Argument, registers, words
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.emitter import FLOAT32, FLOAT64, INT32, INT64, Dtype, memory_type
from ...plan import Call, Plan, Template
from ...quantity import whole

POINTERS = ("sorted", "values", "result")
# ``length``: of a sorted row; ``each``: values of a row, or 0 where all have one row.
NUMBERS = ("length", "each", "count", "chunk")
_CHUNK = 1 << 12    # values of a task
_TOGETHER = 8   # bisections, none of which waits for what another one reads; the last one maybe repeatedly


class Form(NamedTuple):
    """What code depends on."""

    dtype: Dtype
    right: bool
    short: bool


def _searchsorted(signature: Signature) -> Plan | None:
    rows, values, sorter = signature.geometries
    out = signature.outputs[0]
    if not isinstance(values, Geometry) or isinstance(sorter, Geometry) or rows.dtype is not values.dtype \
            or rows.dtype.numpy not in (FLOAT32, FLOAT64, INT32, INT64) or not out.numel or not rows.numel \
            or not (rows.is_contiguous and values.is_contiguous):
        return None
    right, short = signature.attributes
    length = rows.shape[-1]
    given: dict[str, Argument] = {
        "sorted": lambda w: w.input(0, rows), "values": lambda w: w.input(1, values),
        "result": lambda w: w.output(), "length": length, "each": values.shape[-1] if rows.ndim > 1 else 0,
        "count": out.numel, "chunk": _CHUNK}
    code = _code(Form(rows.dtype.numpy, bool(right), bool(short)))
    work = out.numel * (2.0 + _bits(length))
    call = Call(code, words(POINTERS, NUMBERS, given), -(-out.numel // _CHUNK))
    return Plan([call], nanoseconds=work)


@whole
def _bits(length: int) -> int:
    """How many steps a bisection takes."""
    return length.bit_length()


@kernel("searching")
def _code(form: Form) -> str:
    module = Module()
    with module.kernel("searching") as f:
        a, element, size = registers(f, POINTERS, NUMBERS), memory_type(form.dtype), form.dtype.itemsize
        to = "i32" if form.short else "i64"
        apart = f.compare("ne", a.each, 0)
        each = f.choose(apart, "i64", a.each, 1)
        stop = f.least(f.mul(f.end, a.chunk), a.count)
        with f.loop(f.mul(f.begin, a.chunk), stop, _TOGETHER) as i:
            places = [f.least(f.add(i, k), f.sub(stop, 1)) for k in range(_TOGETHER)]
            values = [f.read(element, f.at(a.values, at, element), size) for at in places]
            rows = [f.at(a.sorted, f.choose(apart, "i64", f.mul(f.div(at, each), a.length), 0), element)
                    for at in places]
            found = [f.variable("i64", "0") for _ in places]    # so many of the row are known to come before
            left = f.variable("i64", a.length)

            def step(ahead: str) -> None:
                """Go so far where the element before that place comes before, too."""
                for x, row, known in zip(values, rows, found):
                    there = f.add(known.get(), ahead)
                    y = f.read(element, f.at(row, f.sub(there, 1), element), size)
                    known.set(f.choose(_before(f, form, x, y), "i64", there, known.get()))

            with f.forever() as leave:
                leave(f.compare("sle", left.get(), 1))
                half = f.emit(f"lshr i64 {left.get()}, 1")
                step(half)
                left.set(f.sub(left.get(), half))
            step("1")
            for at, known in zip(places, found):
                place = f.emit(f"trunc i64 {known.get()} to i32") if form.short else known.get()
                f.write(to, place, f.at(a.result, at, to), 4 if form.short else 8)
    return module.text()


def _before(f: Function, form: Form, x: str, y: str) -> str:
    """Whether y, an element of a row, comes before x: is smaller, or, ``right``, not greater. NaN is last."""
    kind = memory_type(form.dtype)
    if form.dtype.kind == "i":
        return f.emit(f"icmp {'sle' if form.right else 'slt'} {kind} {y}, {x}")
    unknown = f.emit(f"fcmp uno {kind} {x}, {x}")
    if not form.right:
        unknown = f.emit(f"and i1 {unknown}, {f.emit(f'fcmp ord {kind} {y}, {y}')}")
    smaller = f.emit(f"fcmp {'ole' if form.right else 'olt'} {kind} {y}, {x}")
    return f.emit(f"or i1 {smaller}, {unknown}")


TEMPLATES: dict[str, Template] = {"searchsorted": _searchsorted}
