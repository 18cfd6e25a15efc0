"""Gradients that are functions of something in form alone.

What PyTorch's rule for ``relu`` gives is a function of its result, which is constant around almost every
point. So under ``create_graph`` it requires a gradient, and that gradient is zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tensor import GradFn, Tensor
from ..tensor.batching import BatchedTensor
from ..tensor.recording.history import detached


class FormalBackward0(GradFn):
    """History of a gradient that does not depend on what it is a function of."""

    __slots__ = ("geometries",)

    geometries: tuple[Any, ...]     # of what the edges lead to

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Zeros."""
        return tuple([grads[0].new_zeros(g.shape, dtype=g.dtype) for g in self.geometries])


def formally(grad: Any, fn: GradFn, operands: tuple[int, ...]) -> Any:
    """A gradient that ``fn`` gave, as a function of these operands of its operation."""
    found = [i for i in operands if fn.edges[i] is not None]
    if grad is None or grad.requires_grad or not found or grad.__class__ is BatchedTensor:
        return grad
    made = FormalBackward0()
    made.signature = made.plan = made.numbers = None
    made.saved = ()
    made.edges = tuple([fn.edges[i] for i in found])
    made.geometries = tuple([fn.signature.geometries[i] for i in found])
    result: Tensor = detached(grad)
    result._grad_fn, result._requires_grad = made, True
    return result


def reached_from(starts: Iterable[Any]) -> set[Any]:
    """What operations differentiate for, from these edges on: (GradFn, output number), and ids of leaves.

    Whatever of it gets no gradient has one that is zero (``formal_operand``). What a Function leads to is
    left out: it says itself where there is none.
    """
    reached: set[Any] = set()
    pending = list(starts)
    seen: set[GradFn] = set()
    while pending:
        target = pending.pop()
        fn = target[0] if target.__class__ is tuple else target
        if not isinstance(fn, GradFn) or fn.signature is None or fn in seen:
            continue
        seen.add(fn)
        for target, wanted in zip(fn.edges, fn.needs):
            if target is None or not wanted:
                continue
            reached.add(target if target.__class__ is tuple else (target, 0) if isinstance(target, GradFn)
                        else id(target))
            pending.append(target)
    return reached
