"""Eliminations and substitutions on blocks of small matrices.

Rows are exchanged lane by lane: for each row below, what lanes have their pivot there take it. What is no
number greater than zero where a pivot must be is noted.
"""

from __future__ import annotations

from collections.abc import Callable

from ..llvm.build import Function, Value, Variable, suffix
from .blocks import Block

Each = Callable[[str, str, str], None]     # step, the row of each lane's pivot (i32), and the pivot


def magnitude(f: Function, kind: str, x: str) -> str:
    """The absolute value."""
    return f.call(f"llvm.fabs.{suffix(kind)}", kind, [kind], [x])


def eliminate(x: Block, rows: Value, columns: Value, bad: Variable, each: Each,
              sides: tuple[Block, Value] | None = None) -> None:
    """P A = L U in place, for the smaller extent's steps (Golub and Van Loan, 3.4).

    ``sides``: right-hand sides B and how many; they become L^-1 P B. ``each``: what else a step does.
    """
    f, e = x.f, x.e
    bits = f"<{e.lanes} x i1>"
    with f.loop(0, f.least(rows, columns)) as k:
        which, size = _pivot(x, k, rows)
        fine = f.emit(f"fcmp ogt {e.kind} {size}, zeroinitializer")
        yes = "<" + ", ".join(["i1 true"] * e.lanes) + ">"
        bad.set(f.emit(f"or {bits} {bad.get()}, {f.emit(f'xor {bits} {fine}, {yes}')}"))
        exchange(x, k, which, rows, columns)
        if sides:
            exchange(sides[0], k, which, rows, sides[1])
        pivot = x.get(k, k)
        each(k, which, pivot)
        below = f.add(k, 1)
        with f.loop(below, rows) as i:
            factor = f.emit(f"fdiv {e.kind} {x.get(i, k)}, {pivot}")
            x.set(i, k, factor)
            less = f.emit(f"fneg {e.kind} {factor}")
            _add_row(x, i, k, less, below, columns)
            if sides:
                _add_row(sides[0], i, k, less, 0, sides[1])


def _pivot(x: Block, k: str, rows: Value) -> tuple[str, str]:
    """For each lane the row of the first largest element below, and its size."""
    f, e = x.f, x.e
    ints, bits = f"<{e.lanes} x i32>", f"<{e.lanes} x i1>"
    best = f.variable(e.kind, magnitude(f, e.kind, x.get(k, k)))
    which = f.variable(ints, _splat(f, e.lanes, k))
    with f.loop(f.add(k, 1), rows) as i:
        size = magnitude(f, e.kind, x.get(i, k))
        better = f.emit(f"fcmp ogt {e.kind} {size}, {best.get()}")
        best.set(f.emit(f"select {bits} {better}, {e.kind} {size}, {e.kind} {best.get()}"))
        here = _splat(f, e.lanes, i)
        which.set(f.emit(f"select {bits} {better}, {ints} {here}, {ints} {which.get()}"))
    return which.get(), best.get()


def _splat(f: Function, lanes: int, number: str) -> str:
    return f.splat(f.emit(f"trunc i64 {number} to i32"), lanes, "i32")


def exchange(x: Block, k: str, which: str, rows: Value, columns: Value) -> None:
    """Row k, and in each lane the row below that is named there, in each other's place."""
    f, e = x.f, x.e
    ints, bits = f"<{e.lanes} x i32>", f"<{e.lanes} x i1>"
    with f.loop(0, columns) as j:
        top = f.variable(e.kind, x.get(k, j))
        with f.loop(f.add(k, 1), rows) as i:
            mine = f.emit(f"icmp eq {ints} {which}, {_splat(f, e.lanes, i)}")
            held, upper = x.get(i, j), top.get()
            top.set(f.emit(f"select {bits} {mine}, {e.kind} {held}, {e.kind} {upper}"))
            x.set(i, j, f.emit(f"select {bits} {mine}, {e.kind} {upper}, {e.kind} {held}"))
        x.set(k, j, top.get())


def _add_row(x: Block, i: str, k: str, factor: str, first: Value, last: Value) -> None:
    """Row i plus a factor times row k."""
    f, e = x.f, x.e
    with f.loop(first, last) as j:
        x.set(i, j, f.fma(e.kind, factor, x.get(k, j), x.get(i, j)))


def substitute(x: Block, b: Block, rows: Value, sides: Value, lower: bool, unit: bool) -> None:
    """Solve triangular systems: the solution takes the place of the right-hand sides."""
    f, e = x.f, x.e
    with f.loop(0, rows) as step:
        k = step if lower else f.sub(f.sub(rows, 1), step)
        if not unit:
            pivot = x.get(k, k)
            with f.loop(0, sides) as j:
                b.set(k, j, f.emit(f"fdiv {e.kind} {b.get(k, j)}, {pivot}"))
        with f.loop(f.add(k, 1) if lower else 0, rows if lower else k) as i:
            _add_row(b, i, k, f.emit(f"fneg {e.kind} {x.get(i, k)}"), 0, sides)


def factor(x: Block, rows: Value, bad: Variable) -> None:
    """A = L L^T: L takes the place of the lower triangle (Golub and Van Loan, 4.2.5)."""
    f, e = x.f, x.e
    bits = f"<{e.lanes} x i1>"
    yes = "<" + ", ".join(["i1 true"] * e.lanes) + ">"
    with f.loop(0, rows) as k:
        square = x.get(k, k)
        fine = f.emit(f"fcmp ogt {e.kind} {square}, zeroinitializer")
        bad.set(f.emit(f"or {bits} {bad.get()}, {f.emit(f'xor {bits} {fine}, {yes}')}"))
        root = f.call(f"llvm.sqrt.{suffix(e.kind)}", e.kind, [e.kind], [square])
        x.set(k, k, root)
        below = f.add(k, 1)
        with f.loop(below, rows) as i:
            x.set(i, k, f.emit(f"fdiv {e.kind} {x.get(i, k)}, {root}"))
        with f.loop(below, rows) as j:
            less = f.emit(f"fneg {e.kind} {x.get(j, k)}")
            with f.loop(j, rows) as i:
                x.set(i, j, f.fma(e.kind, less, x.get(i, k), x.get(i, j)))
