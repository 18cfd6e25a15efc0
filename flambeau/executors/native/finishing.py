"""The second call of a sum: rows of partial sums added up in their order."""

from __future__ import annotations

import functools

from .build import Function, Module
from .code import functions_of
from .emitter import FLOAT32, FLOAT64, Dtype, register_type
from .expression import Expression, convert
from .plan import Call, Words


@functools.lru_cache(512)
def _function(partial: Dtype, result: Dtype, divides: bool) -> int:
    module = Module()
    with module.kernel("finish") as f:
        source, target = f.word(0, "ptr"), f.word(1, "ptr")
        rows = f.word(2)
        kind = register_type(partial)
        with f.loop(f.begin, f.end) as i:
            first = f.mul(i, rows)
            total = f.variable(kind, "0" if kind == "i64" else "0.0")
            with f.loop(first, f.add(first, rows)) as j:
                x = f.read(kind, f.at(source, j, kind), 8)
                total.set(f.emit(f"{'add' if kind == 'i64' else 'fadd'} {kind} {total.get()}, {x}"))
            value = Expression(f, total.get(), partial)
            if divides:
                value = convert(value, FLOAT64) / Expression(f, f.word(3, "double"), FLOAT64)
            _store(f, value, result, target, i)
    return functions_of(module.text(), "finish")["finish"]


def _store(f: Function, value: Expression, result: Dtype, target: str, i: str) -> None:
    if value.dtype == FLOAT64 and result.itemsize < 4 and result.kind not in "biu":
        value = convert(value, FLOAT32)
    value = convert(value, result)
    at = f.emit(f"getelementptr inbounds i8, ptr {target}, i64 {f.mul(i, result.itemsize)}")
    f.store(value.register, at, result)


def finish(partial: Dtype, result: Dtype, workspace: int, rows: int, count: int, divisor: int,
           member: int) -> Call:
    """``count`` results, each the sum of ``rows`` partial sums, divided by ``divisor`` if that is not 0."""
    words = Words()
    words.workspace(workspace)
    words.output(0, member)
    words.constant(rows)
    words.real(float(divisor))
    return Call(_function(partial, result, divisor != 0), words, count, max(count, 1))


