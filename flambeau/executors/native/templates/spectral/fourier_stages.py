"""Fourier transforms of vectors of signals: Stockham's passes, a signal in each lane.

A pass of radix r takes n = r m elements that lie s apart (Stockham's sorting form, Cochran et al. 1967):

    y[q + s (r p + k)] = w^(p k) sum_j x[q + s (p + m j)] exp(-2 pi i j k / r),    w = exp(-2 pi i / n)

for p < m and q < s; the next one has n = m and s r in the place of s. An element is two vectors, its real and
its imaginary part, one behind the other.
"""

from __future__ import annotations

import math

from ...draws.one_by_one import library
from ...llvm.build import Function, Module
from ...llvm.emitter import FLOAT64, Dtype, register_type
from ...llvm.expressions.expression import Expression, convert
from ...llvm.floats import Floats

RADICES = (4, 2, 3, 5)
GREATEST = 127  # a prime radix that is not one of those
EACH = 3        # numbers that tell a pass: radix, m, s
MOST = 10       # passes
FINE = 128      # entries of a table that are computed with the C library, and as many of its multiples

Complex = tuple[str, str]


def passes(n: int) -> list[int] | None:
    """The radix, m and s of each pass, and zeros up to a length for all n; None if none do."""
    told: list[int] = []
    m, s = n, 1
    for radix in (*RADICES, *range(7, GREATEST + 1, 2)):
        while m % radix == 0:
            m //= radix
            told += [radix, m, s]
            s *= radix
    room = EACH * MOST + 1 - len(told)
    return [*told, *[0] * room] if m == 1 and room > 0 else None


def write_table(f: Function, dtype: Dtype, table: str, n: str, end: str) -> None:
    """exp(-2 pi i k / n) for k below end, the products of two: of a multiple of FINE and of what is left."""
    step = Expression(f, f.emit(f"sitofp i64 {n} to double"), FLOAT64)
    coarse = f.at(f.scratch, 2 * FINE, "double")
    for place, unit, count in ((f.scratch, 1, str(FINE)), (coarse, FINE, f.add(f.div(end, FINE), 1))):
        with f.loop(0, count) as k:
            turns = Expression(f, f.emit(f"sitofp i64 {f.mul(k, unit)} to double"), FLOAT64)
            angle = turns * (2 * math.pi) / step
            for part, value in enumerate((library("cos", angle), -library("sin", angle))):
                f.write("double", value.register, f.at(place, f.add(f.mul(k, 2), part), "double"), 8)
    with f.loop(0, end) as k:
        high = f.div(k, FINE)
        low = f.sub(k, f.mul(high, FINE))
        a, b = [[Expression(f, f.read("double", f.at(place, f.add(f.mul(at, 2), part), "double"), 8), FLOAT64)
                 for part in (0, 1)] for place, at in ((coarse, high), (f.scratch, low))]
        for part, value in enumerate((a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])):
            at = f.at(table, f.add(f.mul(k, 2), part), register_type(dtype))
            f.write(register_type(dtype), convert(value, dtype).register, at)


def define_transform(module: Module, dtype: Dtype) -> Function:
    """``transform(x, y, told, table) -> ptr``: all passes, to and fro between two buffers; where they end."""
    stages = {radix: _define_stage(module, dtype, radix) for radix in RADICES}
    other = _define_any_stage(module, dtype)
    with module.helper("transform", [("ptr", "%x"), ("ptr", "%y"), ("ptr", "%told"), ("ptr", "%table")],
                       "ptr") as f:
        source, target, told = f.variable("ptr", "%x"), f.variable("ptr", "%y"), f.variable("ptr", "%told")
        with f.forever() as leave:
            now = told.get()
            radix = f.read("i64", now, 8)
            leave(f.compare("eq", radix, 0))
            m, s = [f.read("i64", f.at(now, k, "i64"), 8) for k in (1, 2)]
            before, after = source.get(), target.get()
            for own, stage in stages.items():
                with f.when(f.compare("eq", radix, own)):
                    f.run(stage, before, after, "%table", m, s)
            with f.when(f.compare("sgt", radix, max(RADICES))):
                f.run(other, before, after, "%table", m, s, radix)
            source.set(after)
            target.set(before)
            told.set(f.at(now, EACH, "i64"))
        f.give(source.get())
    return f


def _define_stage(module: Module, dtype: Dtype, radix: int) -> Function:
    parameters = [("ptr noalias readonly", "%x"), ("ptr noalias", "%y"), ("ptr noalias readonly", "%table"),
                  ("i64", "%m"), ("i64", "%s")]
    with module.helper(f"radix{radix}", parameters) as f:
        f.attributes = "noinline #0"
        v = Floats(f, dtype)
        apart = f.mul("%m", "%s")
        with f.loop(0, "%m") as p:
            turn = f.mul(f.mul(p, "%s"), 2)
            places = [[f.at("%table", f.add(f.mul(turn, k), part), v.element) for part in (0, 1)]
                      for k in range(1, radix)]
            factors = [tuple([f.splat(f.read(v.element, at), v.count, v.element) for at in own])
                       for own in places]
            first, to = f.mul(p, "%s"), f.mul(f.mul(p, radix), "%s")
            with f.loop(0, "%s") as q:
                taken = [read(v, "%x", f.add(f.add(first, q), f.mul(apart, j))) for j in range(radix)]
                for k, z in enumerate(_BUTTERFLIES[radix](v, taken)):
                    turned = multiplied(v, z, factors[k - 1]) if k else z  # type: ignore[arg-type]
                    write(v, turned, "%y", f.add(f.add(to, q), f.mul("%s", k)))
    return f


def _define_any_stage(module: Module, dtype: Dtype) -> Function:
    """A pass of an odd radix r: two results at a time, k and r - k.

    The sums of x_j and x_(r-j) times cosines are real and imaginary part of what both have, and their
    differences times sines, turned, that by which they differ.
    """
    parameters = [("ptr noalias readonly", "%x"), ("ptr noalias", "%y"), ("ptr noalias readonly", "%table"),
                  ("i64", "%m"), ("i64", "%s"), ("i64", "%radix")]
    with module.helper("any_radix", parameters) as f:
        f.attributes = "noinline #0"
        v = Floats(f, dtype)
        apart, after_half = f.mul("%m", "%s"), f.add(f.emit("lshr i64 %radix, 1"), 1)

        def root(number: str) -> Complex:
            """An entry of the table."""
            places = [f.at("%table", f.add(f.mul(number, 2), part), v.element) for part in (0, 1)]
            one, other = [f.splat(f.read(v.element, at), v.count, v.element) for at in places]
            return one, other

        def put(z: Complex, k: str) -> None:
            write(v, multiplied(v, z, root(f.mul(f.mul(p, "%s"), k))), "%y", f.add(to, f.mul("%s", k)))

        with f.loop(0, "%m") as p, f.loop(0, "%s") as q:
            first = f.add(f.mul(p, "%s"), q)
            to = f.add(f.mul(f.mul(p, "%radix"), "%s"), q)
            start = read(v, "%x", first)
            total = _Sum(v, start)
            with f.loop(1, "%radix") as j:
                total.set(add(v, total.get(), read(v, "%x", f.add(first, f.mul(apart, j)))))
            write(v, total.get(), "%y", to)
            with f.loop(1, after_half) as k:
                common, apart_from_it = _Sum(v, start), _Sum(v, (v.number(0.0), v.number(0.0)))
                number = f.variable("i64", "0")     # j k modulo r
                with f.loop(1, after_half) as j:
                    more = f.add(number.get(), k)
                    number.set(f.choose(f.compare("sge", more, "%radix"), "i64", f.sub(more, "%radix"), more))
                    cosine, sine = root(f.mul(number.get(), apart))
                    pair = [read(v, "%x", f.add(first, f.mul(apart, i))) for i in (j, f.sub("%radix", j))]
                    common.add_times(add(v, *pair), cosine)
                    apart_from_it.add_times(subtract(v, *pair), sine)
                mirrored, own = _beside(v, common.get(), apart_from_it.get())
                put(own, k)
                put(mirrored, f.sub("%radix", k))
    return f


class _Sum:
    """A complex number that changes."""

    def __init__(self, v: Floats, z: Complex) -> None:
        self._v = v
        self._parts = [v.f.variable(v.kind, x) for x in z]

    def get(self) -> Complex:
        return self._parts[0].get(), self._parts[1].get()

    def set(self, z: Complex) -> None:
        for part, x in zip(self._parts, z):
            part.set(x)

    def add_times(self, z: Complex, x: str) -> None:
        """Add z times a real number."""
        for part, own in zip(self._parts, z):
            part.set(self._v.fma(own, x, part.get()))


def read(v: Floats, buffer: str, i: str) -> Complex:
    """Element i of a buffer."""
    at = v.f.at(buffer, i, f"[2 x {v.kind}]")
    return v.f.read(v.kind, at, 4), v.f.read(v.kind, v.f.at(at, 1, v.kind), 4)


def write(v: Floats, z: Complex, buffer: str, i: str) -> None:
    """Put element i into a buffer."""
    at = v.f.at(buffer, i, f"[2 x {v.kind}]")
    v.f.write(v.kind, z[0], at, 4)
    v.f.write(v.kind, z[1], v.f.at(at, 1, v.kind), 4)


# --- butterflies --------------------------------------------------------------------------------------------

def add(v: Floats, a: Complex, b: Complex) -> Complex:
    """a + b."""
    return v.do("fadd", a[0], b[0]), v.do("fadd", a[1], b[1])


def subtract(v: Floats, a: Complex, b: Complex) -> Complex:
    """a - b."""
    return v.do("fsub", a[0], b[0]), v.do("fsub", a[1], b[1])


def multiplied(v: Floats, z: Complex, w: Complex) -> Complex:
    """z w."""
    negative = v.do("fsub", v.number(-0.0), v.do("fmul", z[1], w[1]))
    return v.fma(z[0], w[0], negative), v.fma(z[0], w[1], v.do("fmul", z[1], w[0]))


def _times(v: Floats, z: Complex, x: float, added: Complex | None = None) -> Complex:
    """z times a real number, plus something."""
    number = v.number(x)
    if added is None:
        return v.do("fmul", z[0], number), v.do("fmul", z[1], number)
    return v.fma(z[0], number, added[0]), v.fma(z[1], number, added[1])


def _beside(v: Floats, a: Complex, b: Complex) -> tuple[Complex, Complex]:
    """a - i b and a + i b."""
    return ((v.do("fadd", a[0], b[1]), v.do("fsub", a[1], b[0])),
            (v.do("fsub", a[0], b[1]), v.do("fadd", a[1], b[0])))


def _two(v: Floats, x: list[Complex]) -> list[Complex]:
    return [add(v, x[0], x[1]), subtract(v, x[0], x[1])]


def _three(v: Floats, x: list[Complex]) -> list[Complex]:
    both, apart = add(v, x[1], x[2]), subtract(v, x[1], x[2])
    middle = _times(v, both, -0.5, x[0])
    return [add(v, x[0], both), *_beside(v, middle, _times(v, apart, math.sqrt(0.75)))]


def _four(v: Floats, x: list[Complex]) -> list[Complex]:
    even, odd = _two(v, [x[0], x[2]]), _two(v, [x[1], x[3]])
    first, third = _two(v, [even[0], odd[0]])
    second, fourth = _beside(v, even[1], odd[1])
    return [first, second, third, fourth]


def _five(v: Floats, x: list[Complex]) -> list[Complex]:
    near, far = _two(v, [x[1], x[4]]), _two(v, [x[2], x[3]])
    c1, c2, s1, s2 = [g(2 * math.pi * k / 5) for g in (math.cos, math.sin) for k in (1, 2)]
    middle = [_times(v, far[0], d, _times(v, near[0], c, x[0])) for c, d in ((c1, c2), (c2, c1))]
    side = [_times(v, far[1], d, _times(v, near[1], c)) for c, d in ((s1, s2), (s2, -s1))]
    first, fourth = _beside(v, middle[0], side[0])
    second, third = _beside(v, middle[1], side[1])
    return [add(v, x[0], add(v, near[0], far[0])), first, second, third, fourth]


_BUTTERFLIES = {2: _two, 3: _three, 4: _four, 5: _five}
