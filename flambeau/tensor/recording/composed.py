"""One ``grad_fn`` for a function that is recorded as several operators.

A loss is elementary operators and a reduction here, which fuse with what is around them; users who print
``loss.grad_fn``, walk its ``next_functions`` or draw the graph expect one function per loss. So the last node
of such a function is shown as if it were the whole: it has the function's name, and leads to the function's
operands. The gradients run through the nodes that were recorded.
"""

from __future__ import annotations

from typing import Any

from ..tape import GradFn, next_function
from ..tensor import Tensor
from .history import edge


class _Composed(GradFn):
    """The last node of several. ``operands``: where the edges of the whole lead."""

    __slots__ = ("operands",)

    operands: tuple[Any, ...]

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """What the whole leads to."""
        return tuple(next_function(target) for target in self.operands)


_new = object.__new__
_CLASSES: dict[str, type[_Composed]] = {}


def composed(name: str, result: Tensor, *operands: Any) -> Tensor:
    """``result``, whose ``grad_fn`` now stands for all that was computed from the operands."""
    if not result._requires_grad or result.__class__ is not Tensor:
        return result
    found = result._grad_fn
    if found is None:
        return result
    kind = _CLASSES.get(name)
    if kind is None:
        kind = _CLASSES[name] = type(name, (_Composed,), {"__slots__": (), "__module__": "torch.autograd"})
    made = _new(kind)
    made.signature, made.plan, made.numbers = found.signature, found.plan, found.numbers
    made.edges, made.saved, made.sequence = found.edges, found.saved, found.sequence
    made.hooks, made.trace = found.hooks, found.trace
    made.operands = tuple([edge(x) if isinstance(x, Tensor) and x.requires_grad else None for x in operands])
    result._grad_fn = made
    return result
