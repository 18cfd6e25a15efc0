"""What kernels cost the interpreter beside a call and the bytes of its result, in modelled nanoseconds.

Note: rent or buy, which tells what the prices are for. An operator that has none costs no more than those.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...graph.geometry import Geometry

if TYPE_CHECKING:
    from ...graph.node import Signature
    from ...graph.operator import Price

FLOP = 0.01         # an operation of a product
STEP = 60e3         # a step along time: a dozen calls of NumPy, of a recurrent layer with their products
STREAM = 15e3       # to open a random stream, and to close it
MATRIX = 300.0      # a call of LAPACK for one of many small matrices,
CUBE = 0.4          # and for each element of a cube as large as that one is
CALLS = 40e3        # the dozen calls of NumPy around the factors of a pseudoinverse
SMALL = 32          # rows, beyond which a native program has nothing better
TIES = 20.0         # an element of rows that may have equal ones, which then are sorted step by step
REMAINDERS = 10.0   # a remainder, or a quotient by way of it
PAIR = 2.0          # an element of the difference of two rows


def per_element(each: float, start: float = 0.0) -> Price:
    """Of what NumPy has no function for, or what reads much for a small result: so much for an element.

    ``start``: of many calls, however few the elements.
    """
    return lambda signature: start + each * max(
        [g.numel for g in (*_operands(signature), *signature.outputs)])


def draws(each: float) -> Price:
    """Of numbers from a random stream, whose state is an operand, and goes with it for each call."""
    return lambda signature: STREAM + each * signature.outputs[0].numel


def product(signature: Signature) -> float:
    """Of a product of two matrices."""
    sizes = [g.numel for g in signature.geometries[:2] if isinstance(g, Geometry)]
    return FLOP * 2 * math.sqrt(math.prod(sizes) * max(signature.outputs[0].numel, 1))


def convolved(signature: Signature) -> float:
    """Of a convolution: its windows are laid out, and the products are long and narrow."""
    return 5 * product(signature)


def matrices(signature: Signature) -> float:
    """Of a factorization or a solution for each matrix of the largest batch among the operands."""
    shapes = [g.shape for g in _operands(signature) if g.ndim > 1]
    rows = min(max([n for shape in shapes for n in shape[-2:-1]], default=0), SMALL)
    return max([math.prod(shape[:-2]) for shape in shapes], default=0) * (MATRIX + CUBE * rows**3)


def pseudoinverses(signature: Signature) -> float:
    """Of pseudoinverses by way of singular values."""
    return CALLS + matrices(signature)


def stepwise(signature: Signature) -> float:
    """Of a recurrent layer, a loss along time: their first operand of 3 dimensions begins with steps."""
    x = next((g for g in _operands(signature) if g.ndim == 3), None)
    return STEP if x is None else STEP * x.shape[0]


def backward_steps(signature: Signature) -> float:
    """Of a recurrent layer's gradients, whose first attribute is the number of steps."""
    steps: int = signature.attributes[0]
    return STEP * max(steps, 1)


def distances(signature: Signature) -> float:
    """Of the distances between rows."""
    return PAIR * signature.outputs[0].numel * _operands(signature)[0].shape[-1]


def distance_gradients(signature: Signature) -> float:
    """Of the gradients of rows, whose distances are the last operand."""
    operands = _operands(signature)
    return PAIR * operands[-1].numel * operands[1].shape[-1]


def _operands(signature: Signature) -> list[Geometry]:
    return [g for g in signature.geometries if isinstance(g, Geometry)]
