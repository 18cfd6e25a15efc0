"""Operands from 16-bit types into single precision, and results back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ....graph.geometry import Geometry
from ..llvm.build import Function, Module
from ..llvm.compiling import code
from ..llvm.emitter import Dtype, memory_type
from ..plan import Call, Words
from .products import Arguments

# The arguments of the kernels, a word each.
WIDEN = ("source", "target", "rows", "width", "outer", "row", "step")
NARROW = ("source", "target", "count")
CLEAR = ("target", "count")
PIECE = 1 << 13     # elements that are worth a task of their own


@code.kernels("rounding")
def kernels(dtype: Dtype) -> str:
    """The addresses of ``widen`` and ``narrow`` of a 16-bit type, and of ``clear``, which makes zeros.

    ``spread`` widens what has no gaps.
    """
    module = Module()
    with module.kernel("widen") as f:
        _widen(f, Arguments(f, WIDEN), dtype)
    with module.kernel("clear") as f:
        given = Arguments(f, CLEAR)
        with _pieces(f, given.number("count")) as k:
            f.write("float", "0.0", f.at(given.pointer("target"), k, "float"), 4)
    with module.kernel("spread") as f:
        given = Arguments(f, NARROW)
        with _pieces(f, given.number("count")) as k:
            value = f.load(f.at(given.pointer("source"), k, memory_type(dtype)), dtype)
            f.write("float", value, f.at(given.pointer("target"), k, "float"), 4)
    with module.kernel("narrow") as f:
        given = Arguments(f, NARROW)
        with _pieces(f, given.number("count")) as k:
            value = f.read("float", f.at(given.pointer("source"), k, "float"), 4)
            f.store(value, f.at(given.pointer("target"), k, memory_type(dtype)), dtype)
    return module.text()


@contextmanager
def _pieces(f: Function, count: str) -> Iterator[str]:
    """The elements of all pieces of a task."""
    with f.loop(f.begin, f.end) as piece:
        start = f.mul(piece, PIECE)
        with f.loop(start, f.least(f.add(start, PIECE), count)) as k:
            yield k


def _widen(f: Function, given: Arguments, dtype: Dtype) -> None:
    """Rows of any strides, one under the other; a task is a row."""
    kind, width, step = memory_type(dtype), given.number("width"), given.number("step")
    with f.loop(f.begin, f.end) as row:
        outer, inner = f.div(row, given.number("rows")), f.rem(row, given.number("rows"))
        place = f.add(f.mul(outer, given.number("outer")), f.mul(inner, given.number("row")))
        source = f.at(given.pointer("source"), place, kind)
        target = f.at(given.pointer("target"), f.mul(row, width), "float")
        adjacent = f.compare("eq", step, 1)
        with f.when(adjacent), f.loop(0, width) as k:
            f.write("float", f.load(f.at(source, k, kind), dtype), f.at(target, k, "float"), 4)
        with f.otherwise(adjacent), f.loop(0, width) as k:
            value = f.load(f.at(source, f.mul(k, step), kind), dtype)
            f.write("float", value, f.at(target, k, "float"), 4)


def narrowed(dtype: Dtype, count: int, place: int, result: int = 0) -> Call:
    """The call that rounds numbers in the workspace into a result."""
    words = Words()
    words.workspace(place)
    words.output(result)
    words.constant(count)
    assert len(words.values) == len(NARROW)
    return Call(kernels(dtype)["narrow"], words, -(-count // PIECE))


def widened(dtype: Dtype, count: int, place: int, g: Geometry | None) -> Call:
    """The call that widens the first operand, or what the first result holds so far, into the workspace."""
    words = Words()
    if g is None:
        words.output(0)
    else:
        words.input(0, g)
    words.workspace(place)
    words.constant(count)
    assert len(words.values) == len(NARROW)
    return Call(kernels(dtype)["spread"], words, -(-count // PIECE))


def cleared(dtype: Dtype, count: int, place: int) -> Call:
    """The call that makes zeros in the workspace, for numbers of ``dtype`` to be added to."""
    words = Words()
    words.workspace(place)
    words.constant(count)
    assert len(words.values) == len(CLEAR)
    return Call(kernels(dtype)["clear"], words, -(-count // PIECE))
