"""Levels of differentiation: inputs that start one, and results that leave it.

Note: levels. A transform differentiates with respect to fresh variables. An input that requires no gradient
is detached and becomes a leaf; one that does (of an enclosing transform, or of the caller) becomes a view of
itself, so gradients flow on to where it came from. On the way out a result is detached when everything it
depends on is a leaf that the transform made, or one inside it that has ended: then no one outside can ask for
its gradient; and always where the transform was called without gradients.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tensor import Tensor
from ..tensor.batching import batched
from ..tensor.batching import levels as vmaps
from ..tensor.tape import GradFn, state
from ..utils import _pytree as pytree
from .batching import bottom, front, strip


class Level:
    """One transform's variables."""

    def __init__(self, forward: bool = False) -> None:
        self.forward = forward
        self.leaves: set[int] = set()
        self.kept: list[Tensor] = []
        self.running = [True]   # shared with the leaves, which know by it whether their level has ended

    def __enter__(self) -> Level:
        self.before = state.forward
        # One tape serves all levels: what no_grad hides from a gradient is hidden from tangents around it.
        state.forward = self.forward and not state.transforms
        state.transforms += 1
        return self

    def __exit__(self, *exc: object) -> None:
        state.transforms -= 1
        state.forward = self.before

    def enter(self, tree: Any) -> Any:
        """The tree with fresh variables for its tensors."""
        return pytree.tree_map_only(Tensor, self._fresh, tree)

    def _fresh(self, x: Tensor) -> Tensor:
        if not (x.is_floating_point() or x.is_complex()):
            return x
        x = _own(x, len(vmaps))
        if x.requires_grad:
            return x.view_as(x)
        leaf = x.detach()
        variable = bottom(leaf).requires_grad_()
        variable.__dict__["_running"] = self.running
        self.leaves.add(id(variable))
        self.kept.append(leaf)
        return leaf

    def leave(self, tree: Any) -> Any:
        """The tree with results that depend on nothing outside detached (Note: levels)."""
        self.running[0] = False
        # Gradients share most of what they were computed from, so they are first asked all together.
        results = [bottom(x) for x in pytree.tree_leaves(tree) if isinstance(x, Tensor) and x.requires_grad]
        some = state.enabled and self._reach_outside(*results)

        def released(x: Tensor) -> Tensor:
            if not x.requires_grad or (some and self._reach_outside(bottom(x))):
                return x
            return x.detach()
        return pytree.tree_map_only(Tensor, released, tree)

    def _reach_outside(self, *results: Tensor) -> bool:
        return any(self._outside(leaf) for leaf in _leaves_below(*results))

    def _outside(self, leaf: Tensor) -> bool:
        running = leaf.__dict__.get("_running")
        return id(leaf) not in self.leaves and (running is None or running[0])


def _own(x: Tensor, depth: int) -> Tensor:
    """x for a variable: inside ``depth`` levels of vmap every example of each has one of its own."""
    if not depth:
        return x
    value, has = strip(x, depth)
    inner = _own(value, depth - 1) if has else _own(front(x, depth), depth - 1)
    return x if has and inner is value else batched(inner, depth)


def _leaves_below(*results: Tensor) -> Iterable[Tensor]:
    """The leaves that tensors were computed from."""
    yield from [x for x in results if x.grad_fn is None]
    pending: list[Any] = [x.grad_fn for x in results if x.grad_fn is not None]
    seen: set[int] = set()
    while pending:
        fn = pending.pop()
        if id(fn) in seen:
            continue
        seen.add(id(fn))
        for edge in fn.edges:
            target = edge[0] if edge.__class__ is tuple else edge
            if isinstance(target, Tensor):
                yield target
            elif isinstance(target, GradFn):
                pending.append(target)
            elif target is not None and hasattr(target, "variable"):
                yield target.variable
