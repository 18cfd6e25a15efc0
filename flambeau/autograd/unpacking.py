"""What hooks make of saved tensors has the history of what was saved: it can be differentiated again."""

from __future__ import annotations

from typing import Any

from ..tensor import GradFn, Tensor
from ..tensor.batching import BatchedTensor
from ..tensor.recording.history import detached
from ..tensor.tape import SavedTensor


class _ToLeaf(GradFn):
    """History of another tensor with a leaf's values: its gradient is the leaf's."""

    __slots__ = ()

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradient as it is."""
        return grads


def reconnected(fn: GradFn, saved: SavedTensor, found: Tensor, position: int) -> Tensor:
    """What was unpacked, as the operand of ``fn`` that was packed, or as its output ``~position``."""
    if found._overrides or isinstance(found, BatchedTensor):
        return found
    if saved.is_output:
        return _made_by(fn, ~position, found)
    to = saved.edge
    if to is None:
        return detached(found) if found.requires_grad else found
    if to.__class__ is tuple:
        maker, number = to
        return _made_by(maker, number, found)
    if isinstance(to, GradFn):
        return _made_by(to, 0, found)
    if found._storage is to._storage and found._geometry is to._geometry:
        leaf: Tensor = to
        return leaf
    through = _ToLeaf()
    through.signature = through.plan = through.numbers = through.saved = None
    through.edges = (to,)
    return _made_by(through, 0, found)


def _made_by(fn: GradFn, number: int, found: Tensor) -> Tensor:
    """The values as a result of a recorded operation."""
    out = detached(found)
    out._grad_fn, out._output_nr, out._requires_grad = fn, number, True
    return out
