"""Lists of tensors sorted into groups that one multi-tensor operator can take."""

from __future__ import annotations

from typing import Any


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False,
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """The lists' items by device and dtype of the first list's, with their positions on request."""
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for position, tensors in enumerate(zip(*tensorlistlist)):
        key = (tensors[0].device, tensors[0].dtype)
        lists, positions = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for each, x in zip(lists, tensors):
            each.append(x)
        if with_indices:
            positions.append(position)
    return groups
