"""Orthogonal polynomials in generated code, each element with a degree of its own."""

from __future__ import annotations

from functools import partial
from typing import Any

from ....interpreter.polynomials import HIGHEST, family_of
from ..build import Function
from ..emitter import FLOAT32, FLOAT64, Unsupported
from ..expressions.called import called, value
from ..expressions.expression import Expression, compare, constant, convert, pair, select


def orthogonal(x: Any, n: Any, family: str) -> Expression:
    """The polynomial of degree n at x, by the recurrence of its family, in double precision."""
    first, second = pair(x, n)
    if first.dtype not in (FLOAT32, FLOAT64):
        raise Unsupported(f"polynomials of {first.dtype}")
    wide = [convert(operand, FLOAT64) for operand in (first, second)]
    return convert(called(family, partial(_recurrence, family=family), *wide), first.dtype)


def _recurrence(f: Function, x: Expression, n: Expression, family: str) -> Expression:
    start, step, x = family_of(family, x)
    degree = n.intrinsic("trunc")
    before, last = f.variable("double", constant(x, 1.0).register), f.variable("double", start(x).register)
    k = f.variable("double", constant(x, 1.0).register)
    end = select(compare("<", degree, HIGHEST), degree, constant(x, 0.0))
    with f.forever() as leave:
        leave((~compare("<", value(k), end)).register)
        following = step(x, value(last), value(before), value(k))
        before.set(last.get())
        last.set(following.register)
        k.set((value(k) + 1).register)
    return select(compare(">=", end, 1), value(last),
                  select(compare("==", degree, 0), constant(x, 1.0), constant(x, 0.0)))


__all__ = ["orthogonal"]
