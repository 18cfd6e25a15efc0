"""The kernels: factorizations, determinants, inverses and solutions of groups of small matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..arguments import Registers, registers
from ..llvm.build import Function, Module, Variable, suffix
from ..llvm.expressions import functions
from ..llvm.expressions.expression import Expression
from ..vectors import Elements
from .blocks import OPERAND, Block, Group, groups, report
from .elimination import eliminate, exchange, factor, magnitude, substitute

MATRIX = ("a", "b")
POINTERS = ("a", "b", "pivots", "first", "second", "third", "status")
# ``sides``: how many right-hand sides. Rooms in scratch memory, in vectors: of the matrices, the right-hand
# sides, results and of what is read before it is transposed.
NUMBERS = ("batch", "sides", "size", "at_b", "at_result", "at_staging",
           *[f"{matrix}_{name}" for matrix in MATRIX for name in OPERAND])


class Form(NamedTuple):
    """What code depends on; ``dense``: which operands' elements lie close together."""

    dtype: str
    dense: tuple[bool, ...]
    flags: tuple[bool, ...] = ()


class Work:
    """What a kernel works with: its arguments, the matrices of a group and rooms for them."""

    def __init__(self, f: Function, a: Registers, e: Elements, group: Group, bad: Variable,
                 dense: tuple[bool, ...]) -> None:
        self.f, self.a, self.e, self.group, self.bad, self.dense = f, a, e, group, bad, dense
        self.rows, self.columns = a.a_rows, a.a_columns
        self.x = Block(f, e, f.scratch, (self.columns, 1))
        self.load(0, self.x)

    def room(self, at: str) -> str:
        """A place in scratch memory."""
        return self.f.at(self.f.scratch, at, self.e.kind)

    def load(self, number: int, block: Block) -> None:
        """Read an operand."""
        a = self.a
        pointer = (a.a, a.b)[number]
        self.group.load(block, pointer, a.named(f"{MATRIX[number]}_"), self.room(a.at_staging),
                        self.dense[number])

    def sides(self, *, of_a: bool = False) -> Block:
        """Room for right-hand sides, and with them the solution, by columns; or identity matrices."""
        b = Block(self.f, self.e, self.room(self.a.at_b), (1, self.rows))
        if not of_a:
            self.load(1, b)
            return b
        f, e = self.f, self.e
        with f.loop(0, self.rows) as i:
            with f.loop(0, self.rows) as j:
                b.set(i, j, "zeroinitializer")
            b.set(i, i, f.splat("1.0", e.lanes, e.element))
        return b

    def deliver(self, block: Block, pointer: str, size: str) -> None:
        """Write a block by columns."""
        self.group.store(block.place, pointer, size)

    def solve(self, b: Block) -> None:
        """Solutions in place of right-hand sides."""
        eliminate(self.x, self.rows, self.rows, self.bad, lambda *_: None, (b, self.a.sides))
        substitute(self.x, b, self.rows, self.a.sides, False, False)

    def new(self, kind: str, value: str) -> Variable:
        """A vector that changes."""
        return self.f.variable(kind, value)


@contextmanager
def _kernel(module: Module, title: str, e: Elements, form: Form) -> Iterator[Work]:
    with module.kernel(title) as f:
        a = registers(f, POINTERS, NUMBERS)
        with groups(f, e, a.batch) as (group, bad):
            work = Work(f, a, e, group, bad, form.dense)
            yield work
            report(group, bad, a.status)


def lu(work: Work, form: Form) -> None:
    """Packed L and U by columns, row exchanges from 1, and zeros for what never failed."""
    f, a, e = work.f, work.a, work.e
    steps, ints = f.least(work.rows, work.columns), f"<{e.lanes} x i32>"
    pivots = work.room(a.at_b)

    def note(k: str, which: str, _: str) -> None:
        f.write(ints, which, f.at(pivots, k, e.kind), 4)
    eliminate(work.x, work.rows, work.columns, work.bad, note)
    result = Block(f, e, work.room(a.at_result), (1, work.rows))
    result.copy(work.x, work.rows, work.columns)
    work.deliver(result, a.first, a.size)
    with f.loop(0, work.group.held) as lane, f.loop(0, steps) as k:
        which = f.read("i32", f.at(f.at(pivots, k, e.kind), lane, "i32"))
        at = f.add(f.mul(f.add(work.group.first, lane), steps), k)
        f.write("i32", f.emit(f"add i32 {which}, 1"), f.at(a.second, at, "i32"))
    _no_failure(work, a.third)


def _no_failure(work: Work, pointer: str) -> None:
    work.group.store_numbers(pointer, "zeroinitializer", f"<{work.e.lanes} x i32>", 4)


def inverse(work: Work, form: Form) -> None:
    """Inverses by columns."""
    b = work.sides(of_a=True)
    work.solve(b)
    work.deliver(b, work.a.first, work.a.size)
    _no_failure(work, work.a.second)


def solve(work: Work, form: Form) -> None:
    """Solutions by columns."""
    b = work.sides()
    work.solve(b)
    work.deliver(b, work.a.first, work.a.size)
    _no_failure(work, work.a.second)


def determinant(work: Work, form: Form) -> None:
    """Products of pivots, the sign changing with each exchange."""
    product = work.new(work.e.kind, work.f.splat("1.0", work.e.lanes, work.e.element))

    def multiply(k: str, which: str, pivot: str) -> None:
        turned = _with_sign(work, k, which, pivot)
        product.set(work.f.emit(f"fmul {work.e.kind} {product.get()}, {turned}"))
    eliminate(work.x, work.rows, work.rows, work.bad, multiply)
    work.group.store_numbers(work.a.first, product.get(), work.e.kind, work.e.width)


def _with_sign(work: Work, k: str, which: str, pivot: str) -> str:
    """The pivot, negative where rows are exchanged."""
    f, e = work.f, work.e
    here = f.splat(f.emit(f"trunc i64 {k} to i32"), e.lanes, "i32")
    other = f.emit(f"icmp ne <{e.lanes} x i32> {which}, {here}")
    less = f.emit(f"fneg {e.kind} {pivot}")
    return f.emit(f"select <{e.lanes} x i1> {other}, {e.kind} {less}, {e.kind} {pivot}")


def sign_and_logarithm(work: Work, form: Form) -> None:
    """Signs, and sums of logarithms, of pivots."""
    f, a, e = work.f, work.a, work.e
    one = f.splat("1.0", e.lanes, e.element)
    sign, total = work.new(e.kind, one), work.new(e.kind, "zeroinitializer")
    sizes = work.room(a.at_b)

    def note(k: str, which: str, pivot: str) -> None:
        turned = _with_sign(work, k, which, one)
        own = f.call(f"llvm.copysign.{suffix(e.kind)}", e.kind, [e.kind] * 2, [turned, pivot])
        both = f.emit(f"fmul {e.kind} {turned}, {own}")
        sign.set(f.emit(f"fmul {e.kind} {sign.get()}, {both}"))
        f.write(e.kind, magnitude(f, e.kind, pivot), f.at(sizes, k, e.kind), e.width)
    eliminate(work.x, work.rows, work.rows, work.bad, note)
    with f.loop(0, f.mul(work.rows, e.lanes)) as i:
        at = f.at(sizes, i, e.element)
        x = Expression(f, f.read(e.element, at, e.width), e.dtype)
        f.write(e.element, functions.log(x).register, at, e.width)
    with f.loop(0, work.rows) as k:
        logarithm = f.read(e.kind, f.at(sizes, k, e.kind), e.width)
        total.set(f.emit(f"fadd {e.kind} {total.get()}, {logarithm}"))
    work.group.store_numbers(a.first, sign.get(), e.kind, e.width)
    work.group.store_numbers(a.second, total.get(), e.kind, e.width)


def cholesky(work: Work, form: Form) -> None:
    """Lower factors, by columns or, ``upper``, by rows: then it is their transposes that are wanted."""
    f, e, upper = work.f, work.e, form.flags[0]
    factor(work.x, work.rows, work.bad)
    result = Block(f, e, work.room(work.a.at_result), (work.rows, 1) if upper else (1, work.rows))
    with f.loop(0, work.rows) as i:
        with f.loop(0, f.add(i, 1)) as j:
            result.set(i, j, work.x.get(i, j))
        with f.loop(f.add(i, 1), work.rows) as j:
            result.set(i, j, "zeroinitializer")
    work.deliver(result, work.a.first, work.a.size)
    _no_failure(work, work.a.second)


def solve_triangular(work: Work, form: Form) -> None:
    """Substitution; a zero on the diagonal gives infinities."""
    upper, unit = form.flags
    b = work.sides()
    substitute(work.x, b, work.rows, work.a.sides, not upper, unit)
    work.deliver(b, work.a.first, work.a.size)


def cholesky_solve(work: Work, form: Form) -> None:
    """Solutions from factors: A = L L^T, or U^T U if ``upper``."""
    upper, = form.flags
    b, rows, sides = work.sides(), work.rows, work.a.sides
    substitute(work.x.turned() if upper else work.x, b, rows, sides, True, False)
    substitute(work.x if upper else work.x.turned(), b, rows, sides, False, False)
    work.deliver(b, work.a.first, work.a.size)


def cholesky_inverse(work: Work, form: Form) -> None:
    """Inverses from factors, by columns."""
    upper, = form.flags
    b, rows = work.sides(of_a=True), work.rows
    substitute(work.x.turned() if upper else work.x, b, rows, rows, True, False)
    substitute(work.x if upper else work.x.turned(), b, rows, rows, False, False)
    work.deliver(b, work.a.first, work.a.size)


def lu_solve(work: Work, form: Form) -> None:
    """Solutions from packed factors and row exchanges, or of the transposed systems if ``turned``."""
    turned, = form.flags
    b, f, rows, sides = work.sides(), work.f, work.rows, work.a.sides
    if turned:
        substitute(work.x.turned(), b, rows, sides, True, False)
        substitute(work.x.turned(), b, rows, sides, False, True)
    with f.loop(0, rows) as step:
        k = f.sub(f.sub(rows, 1), step) if turned else step
        exchange(b, k, _pivots(work, k), rows, sides)
    if not turned:
        substitute(work.x, b, rows, sides, True, True)
        substitute(work.x, b, rows, sides, False, False)
    work.deliver(b, work.a.first, work.a.size)


def _pivots(work: Work, k: str) -> str:
    """The row that each matrix exchanges with row k."""
    f, e, group = work.f, work.e, work.group
    ints, at = f"<{e.lanes} x i32>", work.room(work.a.at_staging)
    with f.loop(0, group.held) as lane:
        place = f.add(f.mul(f.add(group.first, lane), work.rows), k)
        f.write("i32", f.read("i32", f.at(work.a.pivots, place, "i32")), f.at(at, lane, "i32"))
    one = f.splat("1", e.lanes, "i32")
    return f.emit(f"sub {ints} {f.read(ints, at, 4)}, {one}")


def module_of(title: str, write: Callable[[Work, Form], None], e: Elements, form: Form) -> str:
    """Code of a kernel."""
    module = Module()
    with _kernel(module, title, e, form) as work:
        write(work, form)
    return module.text()
