"""The next number that a type has."""

from __future__ import annotations

import numpy as np

from ..expressions.expression import Expression, bits_of, compare, constant, select
from ..expressions.functions import copysign, format_of


def nextafter(x: Expression, y: Expression) -> Expression:
    """From x towards y: numbers of one sign are as far from 0 as their bits, read as integers, say."""
    integer = format_of(x).integer
    bits = bits_of(x, integer)
    outwards = compare("<", x, y) ^ compare("<", x, 0)
    moved = bits_of(bits + select(outwards, constant(bits, 1), constant(bits, -1)), x.dtype)
    smallest = copysign(constant(x, float(np.finfo(x.dtype).smallest_subnormal)), y)
    moved = select(compare("==", x, 0), smallest, moved)
    moved = select(compare("==", x, y), y, moved)
    return select(compare("!=", x, x) | compare("!=", y, y), x + y, moved)
