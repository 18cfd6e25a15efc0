"""Tosses: whether random numbers are below probabilities.

Note: half of the words. A toss with a probability that all elements share compares 53 bits, the low 21 of one
word and all 32 of the next. The first word alone decides, unless its bits are just those of the threshold,
which they are once in two million times: only then are the second words looked at. So the words come as the
engine made them, and half of them are never tempered.
"""

from __future__ import annotations

from collections.abc import Callable

from ..llvm.build import Function, vector
from ..llvm.compiling.machine import LINE
from ..llvm.emitter import BFLOAT16, FLOAT64, INT64, Dtype, literal, memory_type
from ..llvm.expressions.expression import Expression, compare, constant
from ..products.following import follow
from ..quantity import whole
from .mersenne import NUMBERS, Draw, Formula, tempered, words_at_once
from .streams import double, number, single

WORDS = 2       # of a toss
_HIGH = 21      # bits of the first one

# Words behind the probability, of tosses that are used at once.
_SHARE, _COLUMNS, _OPERAND, _FOLLOWER = NUMBERS + 1, NUMBERS + 2, NUMBERS + 3, NUMBERS + 5
_BLOCKS = 2     # made at a time, where elements and results have to stay in the first cache besides
_TOSS, _PASS = 0.3, 0.16    # nanoseconds for a toss, and for passing over its words


def draw(dtype: Dtype) -> Draw:
    """Tosses of one probability (Note: half of the words).

    As they cost little more than to pass over their words, the first part is the larger one.
    """
    return Draw(_bernoulli(dtype), lambda f: WORDS, memory_type(dtype), tempers=False, share=lambda f: 44)


def followed(dtype: Dtype) -> Draw:
    """Tosses of one probability, each batch of which is used at once by a follower.

    The words behind the probability: the first part's share; how many elements are a row; where an operand
    lies that is read element by element, which is fetched while words are made, and how large its elements
    are; the follower's address and its own words.
    """
    def ahead(f: Function, first: str, count: str) -> None:
        size = f.word(_OPERAND + 1)
        at, end = f.mul(first, size), f.mul(f.add(first, count), size)
        with f.loop(at, end, LINE) as byte:
            f.prefetch(f.at(f.word(_OPERAND, "ptr"), byte, "i8"), 1)

    def use(f: Function, first: str, count: str) -> None:
        _by_rows(f, f.word(_COLUMNS), first, f.add(first, count), lambda *block: follow(
            f, _FOLLOWER, _FOLLOWER + 1, *block))
    return draw(dtype)._replace(share=lambda f: f.word(_SHARE), blocks=_BLOCKS, ahead=ahead, use=use)


@whole
def share(nanoseconds: float) -> int:
    """The first part's 64ths, so that both take as long: what follows takes so long for each element."""
    each = _TOSS + nanoseconds
    return round(64 * each / (2 * each - _PASS))


def _by_rows(f: Function, columns: str, first: str, end: str,
             use: Callable[[str, str, str, str], None]) -> None:
    """Use adjacent elements of a matrix as blocks: (row, how many, column, how many)."""
    done = f.variable("i64", first)
    with f.forever() as leave:
        leave(f.compare("sge", done.get(), end))
        row, column = f.div(done.get(), columns), f.rem(done.get(), columns)
        left = f.sub(end, done.get())
        whole = f.choose(f.compare("eq", column, 0), "i64", f.div(left, columns), 0)
        several = f.compare("ne", whole, 0)
        rows = f.choose(several, "i64", whole, 1)
        width = f.choose(several, "i64", columns, f.least(left, f.sub(columns, column)))
        use(row, rows, column, width)
        done.set(f.add(done.get(), f.mul(rows, width)))


def _bernoulli(dtype: Dtype) -> Formula:
    """Whether 53 bits are below p."""
    lanes, _ = words_at_once()
    kind = memory_type(dtype)
    several = vector(lanes, kind)

    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        threshold = _threshold(number(f, 0)).register
        high, low = [f.splat(f.emit(f"trunc i64 {x} to i32"), lanes, "i32")
                     for x in (f.emit(f"lshr i64 {threshold}, 32"), threshold)]

        def tossed(i: str) -> str:
            heads = _below(f, f.at(queue, f.mul(i, WORDS), "i32"), high, low)
            one, zero = (f"{several} <{', '.join([f'{kind} {x}'] * lanes)}>" for x in _sides(dtype))
            return f.emit(f"select <{lanes} x i1> {heads}, {one}, {zero}")

        whole = f.emit(f"and i64 {count}, {-lanes}")
        with f.loop(0, whole, lanes) as i:
            f.write(several, tossed(i), f.at(result, i, kind), dtype.itemsize)
        with f.when(f.compare("ne", whole, count)):
            last = f.variable(several, tossed(whole))
            with f.loop(whole, count) as i:
                x = f.read(kind, f.at(last.slot, f.sub(i, whole), kind), dtype.itemsize)
                f.write(kind, x, f.at(result, i, kind), dtype.itemsize)
    return formula


def _threshold(p: Expression) -> Expression:
    """Of all numbers of 53 bits, the share p lies below."""
    scaled = (p * 2.0 ** 53).intrinsic("ceil")
    return scaled.emit(f"fptosi double {scaled.register} to i64", INT64)


def _below(f: Function, words: str, high: str, low: str) -> str:
    """Of a vector of tosses, which come up heads: two vectors of words, the threshold's two words."""
    lanes, kind = words_at_once()
    pairs = [f.read(kind, f.at(words, k * lanes, "i32")) for k in range(WORDS)]

    def every_other(start: int) -> str:
        order = ", ".join(f"i32 {k}" for k in range(start, WORDS * lanes, WORDS))
        return tempered(f, f.emit(f"shufflevector {kind} {pairs[0]}, {kind} {pairs[1]}, "
                                  f"<{lanes} x i32> <{order}>"))

    mask = ", ".join([f"i32 {(1 << _HIGH) - 1}"] * lanes)
    bits = f.emit(f"and {kind} {every_other(0)}, <{mask}>")
    heads = f.variable(f"<{lanes} x i1>", f.emit(f"icmp ult {kind} {bits}, {high}"))
    equal = f.emit(f"icmp eq {kind} {bits}, {high}")
    some = f.emit(f"icmp ne i{lanes} {f.emit(f'bitcast <{lanes} x i1> {equal} to i{lanes}')}, 0")
    with f.when(some):
        below = f.emit(f"icmp ult {kind} {every_other(1)}, {low}")
        both = f.emit(f"and <{lanes} x i1> {equal}, {below}")
        heads.set(f.emit(f"or <{lanes} x i1> {heads.get()}, {both}"))
    return heads.get()


def bernoulli_each(dtype: Dtype, chances: Dtype) -> Formula:
    """Whether a uniform number is below the probability at the element's place; what is none is reported."""
    kind = memory_type(dtype)
    one, zero = _sides(dtype)

    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        p = f.at(f.word(NUMBERS, "ptr"), first, memory_type(chances))
        right = f.variable("i1", "true")
        with f.loop(0, count) as i:
            u = double(f, queue, i) if chances == FLOAT64 else single(f, queue, i)
            chance = Expression(f, f.load(f.at(p, i, memory_type(chances)), chances), u.dtype)
            least = compare("<=", constant(chance, 0), chance)
            most = compare("<=", chance, constant(chance, 1))
            within = f.emit(f"and i1 {least.register}, {most.register}")
            right.set(f.emit(f"and i1 {right.get()}, {within}"))
            heads = compare("<", u, chance).register
            f.write(kind, f.emit(f"select i1 {heads}, {kind} {one}, {kind} {zero}"), f.at(result, i, kind),
                    dtype.itemsize)
        with f.otherwise(right.get()):
            f.write("i64", 1, f.word(NUMBERS + 1, "ptr"), 8)
    return formula


def _sides(dtype: Dtype) -> tuple[str, str]:
    """One and zero, as constants of the type in memory."""
    kind = memory_type(dtype)
    if kind in ("float", "double"):
        return literal(1, dtype), literal(0, dtype)
    if kind == "half":
        return "0xH3C00", "0xH0000"
    return ("16256" if dtype == BFLOAT16 else "1"), "0"     # bfloat16's bits
