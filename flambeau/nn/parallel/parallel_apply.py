"""``parallel_apply``: several modules, each on its own input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tensor import Tensor
from ...utils import _pytree as pytree
from ..modules.module import Module

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Any) -> Tensor | None:
    """The first tensor in a structure, None if it holds none."""
    return next((leaf for leaf in pytree.tree_leaves(obj) if isinstance(leaf, Tensor)), None)


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """``modules[i](*inputs[i], **kwargs_tup[i])`` for each i.

    Calls only record what is to be computed, so they come one after another; what they recorded is computed
    together.

    >>> import flambeau as torch
    >>> from flambeau.nn.parallel import parallel_apply
    >>> [y.item() for y in parallel_apply([torch.nn.ReLU(), torch.nn.Tanh()], [torch.tensor(-1.0)] * 2)]
    [0.0, -0.7615941762924194]
    """
    if len(modules) != len(inputs):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}"
        )
    options = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    if len(modules) != len(options):
        raise AssertionError(f"len(modules)={len(modules)} must equal len(kwargs_tup)={len(options)}")
    if devices is not None and len(modules) != len(devices):
        raise AssertionError(f"len(modules)={len(modules)} must equal len(devices)={len(devices)}")
    calls = zip(modules, inputs, options)
    return [module(*_positional(given), **named) for module, given, named in calls]


def _positional(given: Any) -> Any:
    return given if isinstance(given, (list, tuple)) else (given,)
