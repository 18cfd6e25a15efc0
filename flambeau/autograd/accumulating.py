"""``.grad`` of leaves: what the first gradient becomes, and what is added to it."""

from __future__ import annotations

from typing import Any

from ..graph.geometry import Geometry
from ..graph.storage import Storage
from ..layouts import format_of
from ..operators.declaration.definition import broadcast_shapes
from ..operators.pointwise.arithmetic import ADD
from ..tensor import Tensor, record_pair
from ..tensor.aliasing.inplace import write
from ..tensor.attributes import blank


def accumulate_grad(leaf: Tensor, grad: Tensor, create_graph: bool) -> None:
    """Add a gradient to ``leaf.grad``, after the leaf's hooks."""
    if leaf._hooks is not None:
        grad = leaf._hooks.run(grad)
    have = leaf._grad
    if have is None and grad._geometry is not leaf._geometry and not grad._sparse:
        grad = _as_lies(grad, leaf._geometry)
    if grad._sparse or (have is not None and have._sparse):
        _accumulate_sparse(leaf, have, grad, create_graph)
    elif have is None:
        if create_graph:
            leaf._grad = grad
        else:
            fresh = blank(Tensor)  # a storage of its own on the same value: copying costs nothing
            source = grad._storage
            if source.exposed:
                fresh._storage, fresh._geometry = grad.clone()._storage, grad._geometry
            else:
                fresh._storage = Storage(source.node, source.geometry)
                fresh._geometry = grad._geometry
            leaf._grad = fresh
    elif create_graph:
        leaf._grad = have + grad
    else:
        if have._geometry.shape != grad._geometry.shape and (
                broadcast_shapes([have.shape, grad.shape]) != have._geometry.shape):
            raise RuntimeError(f"output with shape {list(have.shape)} doesn't match the broadcast shape "
                               f"{list(grad.shape)}")
        total = record_pair(ADD, have, grad)
        have.copy_(total) if have._base is not None else write(have, total)
    if leaf._hooks is not None:
        leaf._hooks.after_accumulation(leaf)


def lies_as(g: Geometry, leaf: Geometry) -> bool:
    """Whether a gradient is dense, so that later ones can be added in place, and lies in memory as its leaf.

    Where the leaf has gaps or overlaps the gradient is contiguous.
    """
    return g.is_dense and g.steps == leaf.steps if _has_order(leaf, g) else g.is_contiguous


def _has_order(leaf: Geometry, g: Geometry) -> bool:
    return not leaf.is_contiguous and leaf.is_dense and leaf.ndim == g.ndim


def _as_lies(grad: Tensor, leaf: Geometry) -> Tensor:
    """A gradient, copied unless it ``lies_as`` its leaf."""
    g = grad._geometry
    if lies_as(g, leaf):
        return grad
    return grad.clone(memory_format=format_of(leaf.order[::-1])) if _has_order(leaf, g) else grad.contiguous()


def sum_with_sparse(have: Tensor, grad: Tensor) -> Tensor:
    """The sum of two gradients of which one or both are sparse: dense if one is."""
    total: Tensor = grad + have if have._sparse else have + grad
    return total


def _accumulate_sparse(leaf: Tensor, have: Any, grad: Tensor, create_graph: bool) -> None:
    """``accumulate_grad`` where the gradient, or what is there, is sparse; a dense one stays where it is."""
    if have is None:
        leaf._grad = grad if create_graph else grad.detach()
    elif create_graph or (have._sparse and not grad._sparse):
        leaf._grad = sum_with_sparse(have, grad)
    else:
        have.add_(grad)
