"""The two-loop recursion of LBFGS (Nocedal, 1980; algorithm 7.4 in Nocedal and Wright) as one operator.

Its few hundred operations on short vectors would cost more to record than to compute, and every longer
history would be another graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.geometry import contiguous
from ..operators.declaration.definition import arithmetic_dtype, operator
from ..tensor import Tensor, record


def _geometry(operands: Any, attributes: Any) -> Any:
    grad, count = operands[0], (len(operands) - 2) // 3
    return contiguous(grad.shape, grad.dtype, grad.device), contiguous((count,), grad.dtype, grad.device)


@operator("two_loop_recursion", _geometry, compute=lambda operands: arithmetic_dtype(operands[0].dtype))
def TWO_LOOPS(m: Any, grad: Any, scale: Any, *history: Any) -> Any:
    """The direction -H g and the weights of the first loop; ``history``: changes y of gradients, steps s and
    1 / y s, the oldest first. ``scale``: of the initial inverse Hessian.
    """
    count = len(history) // 3
    changes, steps = history[:count], history[count:2 * count]
    inverses = [x[()] for x in history[2 * count:]]     # numbers: quicker to multiply than arrays of one
    direction, weights, dot = -grad, [grad.dtype.type(0)] * count, np.dot
    for i in reversed(range(count)):
        weights[i] = weight = dot(steps[i], direction) * inverses[i]
        direction -= changes[i] * weight
    direction = direction * scale
    for i in range(count):
        direction += steps[i] * (weights[i] - dot(changes[i], direction) * inverses[i])
    return direction, np.array(weights, grad.dtype)


def two_loops(grad: Tensor, scale: Any, changes: Sequence[Tensor], steps: Sequence[Tensor],
              inverses: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """See ``TWO_LOOPS``: (N) and (count)."""
    found: tuple[Tensor, Tensor] = record(TWO_LOOPS, (grad, scale, *changes, *steps, *inverses))
    return found
