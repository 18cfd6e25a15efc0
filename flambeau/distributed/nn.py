"""``torch.distributed.nn``: collectives that gradients flow through. They need a process group as well."""

from __future__ import annotations

from typing import Any

from .groups import ReduceOp, group, require_group


def all_gather(tensor: Any, group: Any = group.WORLD) -> Any:
    """Collect the tensors of all processes on all."""
    require_group(group)


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = group.WORLD) -> Any:
    """Combine a tensor of all processes."""
    require_group(group)


def all_to_all(output_tensor_list: list[Any], input_tensor_list: list[Any], group: Any = group.WORLD) -> Any:
    """Exchange tensors, each process with each."""
    require_group(group)


def broadcast(tensor: Any, src: int, group: Any = group.WORLD) -> Any:
    """Give a tensor of one process to all."""
    require_group(group)


def gather(tensor: Any, dst: int = 0, group: Any = group.WORLD) -> Any:
    """Collect the tensors of all processes on one."""
    require_group(group)


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = group.WORLD) -> Any:
    """Combine a tensor of all processes on one."""
    require_group(group)


def reduce_scatter(output: Any, input_list: list[Any], op: Any = ReduceOp.SUM,
                   group: Any = group.WORLD) -> Any:
    """Combine lists of tensors and hand the results out."""
    require_group(group)


def scatter(tensors: list[Any], src: int = 0, group: Any = group.WORLD) -> Any:
    """Hand a list's tensors out, one to each process."""
    require_group(group)


__all__ = ["ReduceOp", "all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "group", "reduce",
           "reduce_scatter", "scatter"]
