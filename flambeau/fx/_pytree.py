"""Nested arguments of traced functions, as the code of their graphs takes them apart."""

from __future__ import annotations

from typing import Any

from ..utils._pytree import TreeSpec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """What stands where ``spec`` has its elements.

    >>> from flambeau.fx._pytree import tree_flatten_spec
    >>> from flambeau.utils._pytree import tree_structure
    >>> tree_flatten_spec([1, {"a": (2, 3)}], tree_structure([0, {"a": 0}]))
    [1, (2, 3)]
    """
    return spec.flatten_up_to(pytree)


__all__ = ["tree_flatten_spec"]
