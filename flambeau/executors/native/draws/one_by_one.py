"""Uniform and normal numbers one by one, for algorithms that do not know how many they need.

They are ``random_streams.readers.Reader``'s: the words of a block are tempered at once into the thread's
scratch memory, and handed out in order. Logarithms, powers, sines and cosines are the C library's, as there.
"""

from __future__ import annotations

import math

from ..llvm.build import Function, Module
from ..llvm.emitter import FLOAT64, INT64
from ..llvm.expressions.expression import Expression, compare, constant, convert
from .mersenne import (
    BLOCK,
    IS_KEPT,
    KEPT,
    define_following,
    define_load,
    define_save,
    define_temper_rest,
)

_BUFFER = BLOCK + 32                    # words of the block, padded
_HELD = 4 * 2 * _BUFFER                 # bytes before what follows
# Of the reader, 8 bytes each: words handed out of the buffer, words in it, words drawn in all, a kept normal
# number, whether there is one, whether that has changed.
_USED, _THERE, _DRAWN, _NORMAL, _KEPT, _CHANGED = range(6)
SCRATCH = _HELD + 64

BEFORE, AFTER, RESULT, COUNT, NUMBERS = range(5)    # words of every call


class Reader:
    """Functions of a module that hand out numbers of one stream."""

    def __init__(self, module: Module) -> None:
        self._load, self._temper = define_load(module), define_temper_rest(module)
        self._following, self._save = define_following(module), define_save(module)
        self._word = self._define_word(module)
        self._uniform = self._define_uniform(module)
        self._normal = self._define_normal(module)

    def uniform(self, f: Function) -> Expression:
        """The next float64 of [0, 1)."""
        return Expression(f, f.run(self._uniform, f.scratch) or "", FLOAT64)

    def normal(self, f: Function) -> Expression:
        """The next standard normal number."""
        return Expression(f, f.run(self._normal, f.scratch) or "", FLOAT64)

    def start(self, f: Function) -> None:
        """Read the state."""
        before = f.word(BEFORE, "ptr")
        position = f.run(self._load, before, f.scratch)
        assert position is not None
        there = f.sub(BLOCK, position)
        f.run(self._temper, f.at(f.scratch, position, "i32"), there, _buffer(f))
        for k, value in ((_USED, "0"), (_THERE, there), (_DRAWN, "0"), (_CHANGED, "0")):
            f.write("i64", value, _field(f, k), 8)
        f.write("i64", f.read("i64", f.at(before, KEPT, "i8"), 8), _field(f, _NORMAL), 8)
        kept = f.read("i32", f.at(before, IS_KEPT, "i8"))
        f.write("i64", f.emit(f"zext i32 {kept} to i64"), _field(f, _KEPT), 8)

    def finish(self, f: Function) -> None:
        """Write the state after what was handed out."""
        after = f.word(AFTER, "ptr")
        unused = f.sub(_get(f, _THERE), _get(f, _USED))
        f.run(self._save, f.word(BEFORE, "ptr"), f.scratch, f.sub(BLOCK, unused), _get(f, _DRAWN), after)
        with f.when(f.compare("ne", _get(f, _CHANGED), 0)):
            kept = _get(f, _KEPT)
            none = f.compare("eq", kept, 0)
            f.write("i32", f.emit(f"trunc i64 {kept} to i32"), f.at(after, IS_KEPT, "i8"))
            f.write("i64", f.choose(none, "i64", "0", _get(f, _NORMAL)), f.at(after, KEPT, "i8"), 8)

    def _define_word(self, module: Module) -> Function:
        with module.helper("next_word", [("ptr", "%scratch")], "i64") as f:
            with f.when(f.compare("eq", _get(f, _USED), _get(f, _THERE))):
                f.run(self._following, f.scratch, _buffer(f))
                f.write("i64", 0, _field(f, _USED), 8)
                f.write("i64", BLOCK, _field(f, _THERE), 8)
            used = _get(f, _USED)
            for k in (_USED, _DRAWN):
                f.write("i64", f.add(_get(f, k), 1), _field(f, k), 8)
            f.give(f.emit(f"zext i32 {f.read('i32', f.at(_buffer(f), used, 'i32'))} to i64"))
        return f

    def _define_uniform(self, module: Module) -> Function:
        """The low 53 bits of two words, the high half first."""
        with module.helper("next_uniform", [("ptr", "%scratch")], "double") as f:
            high, low = f.run(self._word, f.scratch), f.run(self._word, f.scratch)
            both = Expression(f, f.emit(f"or i64 {f.emit(f'shl i64 {high}, 32')}, {low}"), INT64)
            f.give((convert(both & ((1 << 53) - 1), FLOAT64) * 2.0 ** -53).register)
        return f

    def _define_normal(self, module: Module) -> Function:
        """Box and Muller's pairs, of which the second one is kept."""
        with module.helper("next_normal", [("ptr", "%scratch")], "double") as f:
            f.write("i64", 1, _field(f, _CHANGED), 8)
            with f.when(f.compare("ne", _get(f, _KEPT), 0)):
                f.write("i64", 0, _field(f, _KEPT), 8)
                f.give(f.read("double", _field(f, _NORMAL), 8))
            angle = self.uniform(f) * (2.0 * math.pi)
            radius = (library("log1p", -self.uniform(f)) * -2.0).intrinsic("sqrt")
            f.write("double", (radius * library("sin", angle)).register, _field(f, _NORMAL), 8)
            f.write("i64", 1, _field(f, _KEPT), 8)
            f.give((radius * library("cos", angle)).register)
        return f


def _buffer(f: Function) -> str:
    return f.at(f.scratch, _BUFFER, "i32")


def _field(f: Function, k: int) -> str:
    return f.at(f.scratch, _HELD + 8 * k, "i8")


def _get(f: Function, k: int) -> str:
    return f.read("i64", _field(f, k), 8)


def library(name: str, *operands: Expression) -> Expression:
    """A function of the C library, in double precision."""
    x = operands[0]
    arguments = [y.register for y in operands]
    return Expression(x.emitter, x.emitter.call(name, "double", ["double"] * len(arguments), arguments),
                      FLOAT64)


def log_or_infinite(x: Expression) -> Expression:
    """log(x), minus infinity of what is not positive."""
    safe = compare(">", x, 0)
    f = x.emitter
    kept = Expression(f, f.emit(f"select i1 {safe.register}, double {x.register}, double 1.0"), FLOAT64)
    none = constant(x, -math.inf).register
    return Expression(f, f.emit(f"select i1 {safe.register}, double {library('log', kept).register}, "
                                f"double {none}"), FLOAT64)
