"""The steps of ``vmap`` under the names at which libraries put their own.

Note: replaced steps. A library whose containers hold tensors (tensordict) writes functions of its own over
``_process_batched_inputs``, ``_create_batched_inputs`` and ``_unwrap_batched`` of this module. While they are
as they were, ``vmap`` does not come here; once one is replaced it takes all three from here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .._C._functorch import _add_batch_dim, _remove_batch_dim, is_batchedtensor
from ..func import vectorization
from ..func.vectorization import vmap
from ..tensor import Tensor
from ..utils import _pytree as pytree
from ..utils._pytree import tree_flatten, tree_unflatten

Process = tuple[int, list[Any], list[Any], pytree.TreeSpec]


def _get_name(func: Callable[..., Any]) -> str:
    """What messages call a function."""
    return getattr(func, "__name__", repr(func))


def _broadcast_to_and_flatten(tree: Any, treespec: pytree.TreeSpec) -> list[Any] | None:
    """The leaves of ``tree``, where None is one, repeated to fill ``treespec``; None if they do not fit."""
    return pytree._broadcast_to_and_flatten(tree, treespec, is_leaf=lambda x: x is None)


def _process_batched_inputs(in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]) -> Process:
    """How many examples there are, the batch dimension of each leaf, the leaves, and their structure."""
    leaves, spec = tree_flatten(args)
    dims = vectorization.dims_of(leaves, spec, in_dims, args, _get_name(func))
    return vectorization.batch_size(leaves, dims), dims, leaves, spec


def _create_batched_inputs(flat_in_dims: list[Any], flat_args: list[Any], vmap_level: int,
                           args_spec: pytree.TreeSpec) -> Any:
    """The arguments with tensors that stand for one example."""
    return tree_unflatten([x if dim is None else _add_batch_dim(x, dim, vmap_level)
                           for x, dim in zip(flat_args, flat_in_dims)], args_spec)


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: int, batch_size: int,
                            out_dim: int | None) -> Any:
    """All examples of a result, stacked at ``out_dim`` (None: a result that is the same for all)."""
    if out_dim is None:
        if is_batchedtensor(batched_output):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim "
                             "is None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type "
                         f"{type(batched_output)}. Did you mean to set out_dims= to None for output?")
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int,
                    func: Callable[..., Any]) -> Any:
    """The results with all examples."""
    results, _, spec = vectorization.unwrapped(batched_outputs, out_dims, vmap_level, _get_name(func))
    return tree_unflatten(results, spec)


_own = (_process_batched_inputs, _create_batched_inputs, _unwrap_batched)


def _replaced() -> tuple[Any, ...] | None:
    """The three steps if one of them is not what it was (Note: replaced steps)."""
    here = sys.modules[__name__]
    steps = tuple(getattr(here, step.__name__) for step in _own)
    return None if steps == _own else steps


vectorization.replaced_steps.append(_replaced)

__all__ = ["Tensor", "tree_flatten", "tree_unflatten", "vmap"]
