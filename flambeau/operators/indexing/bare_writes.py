"""What integers and slices cut out of a tensor, written where there is no history: ``x[1:-1, 0] = y``.

No view is made of it, which costs more than to record the write: simulations write borders and interiors in
every step.
"""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor, state
from ...tensor.aliasing.inplace import write_part
from ...tensor.aliasing.views import has_no_history
from .filling import fill_part
from .subscript_views import part_of


def write_bare(x: Tensor, items: tuple[Any, ...], value: Any, number: bool) -> bool:
    """Write a number or a tensor of the same shape; false, and nothing done, if that is not so simple."""
    g = x._geometry
    if len(items) > g.ndim or not has_no_history(x) or not (x._counter is None or state.inference):
        return False
    if number:
        part = part_of(g, items)
        if part is None or 0 in part.strides:
            return False
        fill_part(x, part, value)
        return True
    given = value._geometry
    if given.dtype is not g.dtype or given.device is not g.device or value._storage is x._storage \
            or (state.enabled and value.requires_grad):
        return False
    part = part_of(g, items)
    if part is None or part.shape != given.shape:
        return False
    write_part(x, part, value)
    return True
