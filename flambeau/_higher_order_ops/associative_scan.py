"""``associative_scan``: all prefixes of a sequence, combined, in a logarithmic number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import operators as ops
from ..func import vmap
from ..utils._pytree import tree_flatten, tree_unflatten


def associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False,
                     combine_mode: str = "pointwise") -> Any:
    """The running combination of ``xs`` along ``dim``: y[0] = x[0], y[i] = combine_fn(y[i - 1], x[i]).

    ``combine_fn`` takes and gives one element (``xs`` may be nested: one of each tensor in it), and has to be
    associative: each step combines what lies 1, 2, 4, ... places apart (Hillis and Steele, 1986).

    >>> import flambeau as torch
    >>> from flambeau._higher_order_ops import associative_scan
    >>> associative_scan(lambda a, b: a * b, torch.arange(1.0, 6.0), 0, combine_mode="generic")
    tensor([  1.,   2.,   6.,  24., 120.])
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, structure = tree_flatten(xs)
    if combine_mode == "pointwise" and any(x.device.type != "cuda" for x in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")

    def pairs(*both: Any) -> tuple[Any, ...]:
        half = len(both) // 2
        left, right = (tree_unflatten(list(part), structure) for part in (both[:half], both[half:]))
        return tuple(tree_flatten(combine_fn(left, right))[0])
    combine = vmap(pairs)
    found = [x.movedim(dim, 0) for x in leaves]
    found = [x.flip(0) for x in found] if reverse else found
    count, apart = found[0].shape[0], 1
    while apart < count:
        combined = combine(*(x[:-apart] for x in found), *(x[apart:] for x in found))
        found = [ops.cat((x[:apart], y)) for x, y in zip(found, combined, strict=True)]
        apart *= 2
    found = [x.flip(0) for x in found] if reverse else found
    return tree_unflatten([x.movedim(0, dim) for x in found], structure)


__all__ = ["associative_scan"]
