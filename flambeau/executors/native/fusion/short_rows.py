"""Short rows that are reduced, sixteen at a time.

Each row's elements are the lanes of a vector, what lies behind the row's end being what adds nothing. Sixteen
such vectors become one of sixteen results in four steps, each of which halves both the vectors and the lanes
that a row has. Every row goes the same way wherever it is, so its result does not depend on how rows are
shared between tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..llvm.build import Function, vector
from ..llvm.compiling.machine import machine
from ..llvm.emitter import FLOAT32, memory_type
from . import accumulate
from .body import REGISTER, Accumulation, Body
from .frame import Frame, splice
from .structure import ADJACENT, ELEMENT, FLAT, ROW, SHORT, UNIFORM

TOGETHER = SHORT    # so many rows
AHEAD = 128         # rows between what is read and what is fetched
_KIND = vector(TOGETHER)


def fits(frame: Frame) -> bool:
    """Whether rows are all passed over once, to be reduced in single precision, and a vector holds a row."""
    body, *later = frame.bodies
    return bool(machine().lanes(4) == TOGETHER and body.accumulations
                and all(x.dtype == FLOAT32 for x in body.accumulations)
                and not any(line.result is None for line in body.code)
                and not any(other.has_elements for other in later))


def write_short(frame: Frame, f: Function) -> None:
    """The code of tasks ``%begin`` to ``%end``."""
    body, last = frame.bodies[0], frame.bodies[-1]
    places, totals = ({x.number: f.variable(vector(size), None).slot for x in body.accumulations}
                      for size in (TOGETHER * TOGETHER, TOGETHER))
    with f.loop(f.begin, f.end, TOGETHER) as first:
        count = f.least(f.sub(f.end, first), TOGETHER)
        with f.loop(0, TOGETHER) as r:
            row = f.add(first, f.least(r, f.sub(count, 1)))
            own = frame.outer(f, row)
            frame.mid(f, body, [], own)
            _splice_rows(f, body, row)
            _fetch(frame, f, body)
            _lanes(frame, f, body, {n: f.at(at, f.mul(r, TOGETHER)) for n, at in places.items()})
        for x in body.accumulations:
            f.write(_KIND, _totals(f, x, places[x.number]), totals[x.number], 64)
        with f.loop(0, count, hint=frame.hint(1)) as r:
            begun = len(f.lines)
            row = f.add(first, r)
            frame.outer(f, row)
            for x in body.accumulations:
                f.lines.append(f"  %r{x.number} = load float, ptr {f.at(totals[x.number], r)}, align 4")
            if last is not body:
                _splice_rows(f, last, row)
            pointers = {f"%b{i}": f"%again{i}" for i in frame.strided}
            f.lines[begun:] = [REGISTER.sub(lambda match: pointers.get(match[0], match[0]), line)
                               for line in f.lines[begun:]]


def _splice_rows(f: Function, body: Body, row: str) -> None:
    f.lines.append(f"  {body.prefix}row = add i64 {row}, 0")
    splice(f, body.at(UNIFORM) + body.at(ROW))


def _fetch(frame: Frame, f: Function, body: Body) -> None:
    """Bring later rows into the first cache: loads of some lanes do not tell a processor what follows."""
    last = frame.structure.outer - 1
    for i, x in enumerate(frame.structure.inputs):
        if x.level == ELEMENT and x.access == FLAT:
            place = f.at(f"%i{i}", f"{body.prefix}seg", memory_type(x.dtype))
            f.prefetch(f.at(place, f.mul(f"%own_{last}", AHEAD), memory_type(x.dtype)), 1)
        elif x.level == ELEMENT and x.access == ADJACENT:
            place = f.mul(f"%stride_{i}_{last}", AHEAD)
            f.prefetch(f.at(f"{body.prefix}m{i}", place, memory_type(x.dtype)), 1)


def _lanes(frame: Frame, f: Function, body: Body, places: dict[int, str]) -> None:
    """A row's elements, and what adds nothing, in the lanes of its vectors."""
    prefix = body.prefix
    with f.loop(0, TOGETHER, hint=frame.hint(1)) as j:
        values = {x.number: f.variable("float", accumulate.identity(x.kind, x.dtype))
                  for x in body.accumulations}
        with f.when(f.compare("slt", j, "%inner")):
            f.lines.append(f"  {prefix}j = add nsw i64 0, {j}")
            f.lines.append(f"  {prefix}at = add nsw i64 {prefix}seg, {j}")
            f.lines.append(f"  {prefix}place = add nsw i64 0, {j}")
            f.lines.append(f"  {prefix}slot = add nsw i64 0, {j}")
            splice(f, body.at(ELEMENT))
            for x in body.accumulations:
                values[x.number].set(x.register)
        for number, value in values.items():
            f.write("float", value.get(), f.at(places[number], j))


def _totals(f: Function, x: Accumulation, place: str) -> str:
    """A vector of sixteen rows' results. Rows are taken in such an order that the results are in theirs."""
    order = [quarter + 4 * part for quarter in range(4) for part in range(4)]
    held = [f.read(_KIND, f.at(place, TOGETHER * row), 64) for row in order]
    for low, high in ((_halves(0), _halves(8)), (_quarters(0), _quarters(4)), (_pairs(0, 1), _pairs(2, 3)),
                      (_pairs(0, 2), _pairs(1, 3))):
        held = [_combined(f, x, a, b, low, high) for a, b in zip(held[::2], held[1::2])]
    return held[0]


def _combined(f: Function, x: Accumulation, a: str, b: str, low: Sequence[int], high: Sequence[int]) -> str:
    parts = []
    for lanes in (low, high):
        order = ", ".join(f"i32 {lane}" for lane in lanes)
        parts.append(f.emit(f"shufflevector {_KIND} {a}, {_KIND} {b}, <{TOGETHER} x i32> <{order}>"))
    if x.kind in ("sum", "prod"):
        return f.emit(f"{'fadd' if x.kind == 'sum' else 'fmul'} {_KIND} {parts[0]}, {parts[1]}")
    name = "llvm.maximum.v16f32" if x.kind == "max" else "llvm.minimum.v16f32"
    return f.call(name, _KIND, [_KIND, _KIND], parts, flags="nsz")


def _halves(start: int) -> list[int]:
    """Eight lanes of each of two vectors."""
    return [*range(start, start + 8), *range(TOGETHER + start, TOGETHER + start + 8)]


def _quarters(start: int) -> list[int]:
    """Four lanes of each half of two vectors."""
    return [half + lane for half in (0, 8, TOGETHER, TOGETHER + 8) for lane in range(start, start + 4)]


def _pairs(one: int, other: int) -> list[int]:
    """Two lanes of each quarter of two vectors, side by side within the quarter."""
    return [start + quarter + lane for quarter in range(0, TOGETHER, 4)
            for start in (0, TOGETHER) for lane in (one, other)]
