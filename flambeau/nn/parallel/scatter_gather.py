"""``scatter`` and ``gather``: pieces of a batch for several devices, and back. Here there is one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import operators as ops
from ...tensor import Tensor
from ...utils import _pytree as pytree


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """One copy of the structure for each device, its tensors cut along ``dim``.

    >>> import flambeau as torch
    >>> from flambeau.nn.parallel.scatter_gather import scatter
    >>> [part["x"].tolist() for part in scatter({"x": torch.arange(4)}, ["cpu", "cpu"])]
    [[0, 1], [2, 3]]
    """
    leaves, structure = pytree.tree_flatten(inputs)
    count = len(target_gpus)
    pieces = [_cut(leaf, count, dim) if isinstance(leaf, Tensor) else [leaf] * count for leaf in leaves]
    parts = min((len(p) for p in pieces), default=count)
    return [pytree.tree_unflatten([p[i] for p in pieces], structure) for i in range(parts)]


def _cut(x: Tensor, count: int, dim: int) -> list[Tensor]:
    return list(ops.chunk(x, count, dim))


def scatter_kwargs(inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any],
                   dim: int = 0) -> tuple[Any, Any]:
    """``scatter`` of positional and keyword arguments, as many of each."""
    several = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    several += [()] * (len(named) - len(several))
    named += [{}] * (len(several) - len(named))
    return tuple(several), tuple(named)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """The structures' tensors joined along ``dim``; scalars become a vector."""
    first, structure = pytree.tree_flatten(outputs[0])
    columns = zip(*[pytree.tree_leaves(output) for output in outputs])
    joined = [_join(column, dim) if isinstance(column[0], Tensor) else list(column) for column in columns]
    return pytree.tree_unflatten(joined, structure) if first else outputs[0]


def _join(column: Sequence[Tensor], dim: int) -> Any:
    return ops.stack(list(column)) if column[0].dim() == 0 else ops.cat(list(column), dim)


__all__ = ["gather", "scatter", "scatter_kwargs"]
