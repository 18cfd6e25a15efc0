"""Functions of elements that need loops: each is a function in generated code, called for an element.

Their formulas are written with expressions, as others are, on the emitter of that function; what an iteration
changes is a ``Variable``. A kernel that calls one is not computed in vectors: a formula without branches is
better where it is short.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..build import Function, Variable
from ..emitter import FLOAT64
from .expression import Expression, compare, select
from .functions import absolute, fma

Iteration = Callable[..., Expression]   # the function under construction, its operands -> its result


def called(name: str, iteration: Iteration, *operands: Expression) -> Expression:
    """The result of a function with loops, whose operands and result are of one type, double precision."""
    parameters = [("double", f"%x{k}") for k in range(len(operands))]
    f = Function(name, parameters, "double", True)
    f.give(iteration(f, *[Expression(f, register, FLOAT64) for _, register in parameters]).register)
    emitter = operands[0].emitter
    emitter.declarations |= f.declarations
    emitter.declarations[f.text()] = None
    passed = ", ".join(f"double {x.register}" for x in operands)
    return Expression(emitter, emitter.emit(f"call double @{name}({passed})"), FLOAT64)


def value(variable: Variable) -> Expression:
    """What a variable holds now."""
    return Expression(variable.function, variable.get(), FLOAT64)


def remainder(f: Function, x: Expression, y: Expression) -> Expression:
    """The remainder of x by y, both not negative; NaN of infinite x, and where y is 0.

    What a quotient, rounded, leaves of x is exact, as fma gives it: the quotient has 53 bits, and what is
    left is a multiple of the last place of the product with less than 53. It may be below 0. Most quotients
    have no more than 53 bits before the point: one step, and no branch that is hard to foresee.
    """
    quotient = x / y
    once = fma(-quotient.intrinsic("trunc"), y, x)
    left = f.variable("double", select(compare("<", x, y), x, once).register)
    with f.when((compare(">=", quotient, 2.0 ** 53) & compare(">", y, 0)).register):
        left.set(x.register)
        _reduce(f, left, y)
    rest = value(left)
    return select(compare("<", rest, 0), rest + y, rest)


def _reduce(f: Function, left: Variable, y: Expression) -> None:
    """Take multiples of y off what is left until it is smaller."""
    divisor = f.variable("double")
    with f.forever() as leave:
        rest = value(left)
        leave((~compare(">=", absolute(rest), y)).register)
        divisor.set(y.register)
        with f.forever() as leave_scaling:  # until the quotient is finite
            leave_scaling((~compare("==", absolute(rest / value(divisor)), math.inf)).register)
            divisor.set((value(divisor) * 2.0 ** 512).register)
        by = value(divisor)
        left.set(fma(-(rest / by).intrinsic("trunc"), by, rest).register)


__all__ = ["called", "remainder", "value"]
