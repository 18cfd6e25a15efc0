"""The native forms of random operators: values and the state after them from the state before.

A stream of random words is sequential, so each operator has two tasks at most (Note: two parts of a stream).
Normal numbers in float64, which need the C library's functions in all bits, stay with the
interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....random_streams.integers import limit_of
from ...draws import streams as draws
from ...draws import tosses
from ...draws.mersenne import COUNT, PARTS, SCRATCH, STATE_BYTES, Draw, Formula, draw_kernel
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.compiling.effort import Effort
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT64, Dtype, memory_type
from ...llvm.expressions.expression import Expression
from ...plan import Call, Plan, Words
from ...products.choosing import get_threads
from ...products.following import Follower
from ...quantity import whole
from .normal_groups import GROUP, normal_in_double

_BOOL = np.dtype(np.bool_)
_FLOATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
_LONGEST = ((1 << 32) - 1) // 20  # permutations from here on take words of 64 bits
_CHUNK = 1 << 16
_SHARED = 1 << 15   # elements, from which on two threads make them
_COST = {"normal": 1.0, "exponential": 3.0, "randperm": 4.0, "geometric": 10.0, "cauchy": 20.0,
         "log_normal": 25.0}  # nanoseconds for one element; others: 0.5


def _dense(signature: Signature) -> Geometry | None:
    """The result's geometry where its elements are drawn in the order of memory."""
    output = signature.outputs[0]
    state = signature.geometries[0]
    usable = output.is_dense and output.offset == 0 and isinstance(state, Geometry) \
        and state.is_contiguous and state.numel == STATE_BYTES
    return output if usable else None


@kernel("draw")
def _kernel(make: Callable[..., Formula], arguments: tuple[Any, ...], dtype: Dtype,
            per: int | Callable[[Function], str]) -> str:
    module = Module()
    width = per if callable(per) else lambda f: per
    draw_kernel(module, "draw", Draw(make(*arguments), width, memory_type(dtype)))
    return module.text()


@kernel("toss", effort=Effort.SOME)
def _tosses(dtype: Dtype) -> str:
    module = Module()
    draw_kernel(module, "toss", tosses.draw(dtype))
    return module.text()


@kernel("toss_followed", effort=Effort.SOME)
def _followed(dtype: Dtype) -> str:
    module = Module()
    draw_kernel(module, "toss_followed", tosses.followed(dtype))
    return module.text()


def _call(signature: Signature, address: SupportsIndex, numbers: list[tuple[int, Any]], count: int,
          lost: int = 0, last: int = 0, chances: Geometry | None = None, parted: bool = True,
          behind: Use | None = None) -> Call:
    words = Words()
    words.input(0, signature.geometries[0])
    words.output(1)
    words.output(0)
    words.constant(count, lost, last, signature.outputs[0].numel - last)
    for operand, kind in numbers:
        words.number(operand, kind)
    if chances is not None:
        words.input(1, chances)
        words.status()
    if behind is not None:
        behind.fill(words)
    tasks = PARTS if parted else 1
    return Call(address, words, tasks, _grain(count) if parted else 1, scratch=SCRATCH + 8)


@whole
def _grain(count: int) -> int:
    """How many parts are made at once: both, where there are few elements."""
    return 1 if count >= _SHARED else PARTS


def _plan(signature: Signature, *calls: Call, workspace: int = 0) -> Plan:
    output = signature.outputs[0]
    cost = _COST.get(signature.operator.name, 0.5)
    return Plan(calls, workspace=workspace, nanoseconds=500 + cost * output.numel,
                traffic=1.0 * signature.nbytes)


def _simple(make: Callable[[Dtype], Formula], dtypes: tuple[Dtype, ...], per: Callable[[Dtype], int],
            numbers: int) -> Callable[[Signature], Plan | None]:
    """A template of elements that are drawn one like the other."""
    def template(signature: Signature) -> Plan | None:
        output = _dense(signature)
        if output is None or output.dtype.numpy not in dtypes:
            return None
        dtype = output.dtype.numpy
        address = _kernel(make, (dtype,), dtype, per(dtype))
        operands = [(1 + k, FLOAT64) for k in range(numbers)]
        return _plan(signature, _call(signature, address, operands, output.numel))
    return template


def bernoulli(signature: Signature) -> Plan | None:
    """Tosses of one probability; or, under the same name, draws as a result of their probabilities."""
    output = _dense(signature) if len(signature.outputs) == 2 else None
    if output is None or not _any_real(output.dtype.numpy):
        return None
    dtype = output.dtype.numpy
    return _plan(signature, _call(signature, _tosses(dtype), [(1, FLOAT64)], output.numel))


def is_followed(signature: Signature) -> bool:
    """Whether something can follow these tosses: of one probability, a byte each.

    Two threads share all that follows, so more of them make it faster by themselves.
    """
    output = _dense(signature)
    return signature.operator.name == "bernoulli" and len(signature.outputs) == 2 and output is not None \
        and output.dtype.numpy == _BOOL and get_threads() <= PARTS


class Use(NamedTuple):
    """What follows tosses: by rows of so many columns, in so many nanoseconds for each element.

    ``operand``: what it reads element by element (member, operand, geometry).
    """

    follower: Follower
    columns: int
    nanoseconds: float
    operand: tuple[int, int, Geometry]

    def fill(self, words: Words) -> None:
        """Append the arguments."""
        member, position, geometry = self.operand
        words.constant(tosses.share(self.nanoseconds), self.columns)
        words.input(position, geometry, member)
        words.constant(geometry.dtype.itemsize)
        words.function(self.follower.address)
        self.follower.fill(words)


def followed_plan(signature: Signature, use: Use) -> Plan:
    """Tosses and what follows them."""
    output = signature.outputs[0]
    call = _call(signature, _followed(output.dtype.numpy), [(1, FLOAT64)], output.numel, behind=use)
    return _plan(signature, call)


def _any_real(dtype: Dtype) -> bool:
    return dtype.kind in "biu" or dtype in _FLOATS


def bernoulli_each(signature: Signature) -> Plan | None:
    """Tosses, each of its own probability, in the order of the elements."""
    output, chances = _dense(signature), signature.geometries[1]
    if output is None or not output.is_contiguous:
        return None
    if not chances.is_contiguous or chances.shape != output.shape:
        return None
    dtype, kind = output.dtype.numpy, chances.dtype.numpy
    if not _any_real(dtype) or kind not in _FLOATS:
        return None
    address = _kernel(tosses.bernoulli_each, (dtype, kind), dtype, 2 if kind == FLOAT64 else 1)
    return _plan(signature, _call(signature, address, [], output.numel, chances=chances))


def randint(signature: Signature) -> Plan | None:
    """Integers of [low, high) of an integer type; bounds of floating types are moved, by the interpreter."""
    output = _dense(signature)
    if output is None or output.dtype.numpy.kind not in "biu":
        return None
    dtype = output.dtype.numpy
    address = _kernel(draws.integers, (dtype,), dtype, draws.integer_words)
    return _plan(signature, _call(signature, address, [(1, INT64), (2, INT64)], output.numel))


def random_full(signature: Signature) -> Plan | None:
    """Integers of a type's whole range."""
    output = _dense(signature)
    if output is None or not _any_real(output.dtype.numpy):
        return None
    dtype = output.dtype.numpy
    wide = dtype in (FLOAT64, INT64)
    if dtype.itemsize == 8 and not wide:
        return None
    address = _kernel(draws.full_range, (dtype, limit_of(dtype)), dtype, 2 if wide else 1)
    return _plan(signature, _call(signature, address, [], output.numel))


def normal(signature: Signature) -> Plan | None:
    """Normal numbers in groups; an incomplete group's are lost, and the last 16 made anew. Few: in pairs."""
    output = _dense(signature)
    if output is None or output.dtype.numpy not in _FLOATS:
        return None
    dtype = output.dtype.numpy
    if dtype == FLOAT64:
        return normal_in_double(signature) if signature.attributes[0] and output.numel >= GROUP else None
    if not output.numel:
        return None
    one_by_one = not signature.attributes[0]
    if one_by_one or output.numel < GROUP:
        return _one_by_one(signature, False)
    address = _kernel(draws.normal, (dtype,), dtype, 1)
    rest = output.numel % GROUP
    return _plan(signature, _call(signature, address, [(1, FLOAT64), (2, FLOAT64)], output.numel - rest,
                                  lost=rest if dtype == FLOAT32 else 0, last=_last(rest)))


@whole
def _last(rest: int) -> int:
    """How many numbers are made anew."""
    return GROUP if rest else 0


def log_normal(signature: Signature) -> Plan | None:
    """Exponentials of normal numbers, which are drawn in pairs, however many."""
    output = _dense(signature)
    if output is None or not output.numel or output.dtype.numpy not in _FLOATS[:3]:
        return None
    return _one_by_one(signature, True)


def _one_by_one(signature: Signature, exponentials: bool) -> Plan:
    output = signature.outputs[0]
    address = _pairs(output.dtype.numpy, exponentials)
    return _plan(signature, _call(signature, address, [(1, FLOAT64), (2, FLOAT64)], output.numel,
                                  parted=False))


@kernel("pairs")
def _pairs(dtype: Dtype, exponentials: bool) -> str:
    module = Module()
    pairs = draws.normal_pairs(dtype, exponentials)
    draw_kernel(module, "pairs", Draw(pairs, lambda f: 4, memory_type(dtype), count_of=draws.pairs_of,
                                      finish=draws.keep_second))
    return module.text()


# --- permutations -------------------------------------------------------------------------------------------

def randperm(signature: Signature) -> Plan | None:
    """0 .. n - 1 in order, shuffled in 32 bits, then in the type that is wanted."""
    output = _dense(signature)
    if output is None or output.numel >= _LONGEST or not _any_real(output.dtype.numpy):
        return None
    n, dtype = output.numel, output.dtype.numpy
    order, widened = _in_order(), _widened(dtype)
    start = Words()
    start.constant(n, _CHUNK)
    start.workspace()
    shuffle = Words()
    shuffle.input(0, signature.geometries[0])
    shuffle.output(1)
    shuffle.workspace()
    shuffle.constant(max(n - 1, 0), 0, 0, 0, n)
    finish = Words()
    finish.constant(n, _CHUNK)
    finish.workspace()
    finish.output(0)
    tasks = -(-n // _CHUNK)
    return _plan(signature, Call(order, start, tasks), Call(_shuffle(), shuffle, 1, scratch=SCRATCH),
                 Call(widened, finish, tasks), workspace=4 * n)


@kernel("shuffle")
def _shuffle() -> str:
    module = Module()
    draw_kernel(module, "shuffle", Draw(draws.shuffle, lambda f: 1, "i32", count_of=lambda f: f.word(COUNT)))
    return module.text()


@kernel("order")
def _in_order() -> str:
    module = Module()
    with module.kernel("order") as f:
        order = f.word(2, "ptr")
        with f.loop(f.mul(f.begin, f.word(1)), f.least(f.mul(f.end, f.word(1)), f.word(0))) as i:
            f.write("i32", f.emit(f"trunc i64 {i} to i32"), f.at(order, i, "i32"))
    return module.text()


@kernel("widened")
def _widened(dtype: Dtype) -> str:
    module = Module()
    with module.kernel("widened") as f:
        order, result = f.word(2, "ptr"), f.word(3, "ptr")
        with f.loop(f.mul(f.begin, f.word(1)), f.least(f.mul(f.end, f.word(1)), f.word(0))) as i:
            number = f.emit(f"zext i32 {f.read('i32', f.at(order, i, 'i32'))} to i64")
            value = draws.element_of(Expression(f, number, INT64), dtype)
            f.store(value.register, f.at(result, i, memory_type(dtype)), dtype)
    return module.text()


def _words_of_float(dtype: Dtype) -> int:
    return 2 if dtype == FLOAT64 else 1


TEMPLATES = {
    "uniform": _simple(draws.uniform, _FLOATS, _words_of_float, 2),
    "normal": normal,
    "bernoulli": bernoulli,
    "bernoulli_each": bernoulli_each,
    "randint": randint,
    "random_full": random_full,
    "randperm": randperm,
    "exponential": _simple(draws.exponential, _FLOATS[:3], lambda dtype: 2, 1),
    "geometric": _simple(draws.geometric, _FLOATS, lambda dtype: 2, 1),
    "cauchy": _simple(draws.cauchy, _FLOATS, lambda dtype: 2, 2),
    "log_normal": log_normal,
}
