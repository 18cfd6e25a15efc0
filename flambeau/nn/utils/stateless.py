"""Calling a module with other parameters than its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]


def _members(module: Module) -> dict[str, Tensor]:
    """Return every parameter and buffer under each of its names."""
    members: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    members.update(module.named_buffers(remove_duplicate=False))
    return members


def _with_tied(members: dict[str, Tensor], given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Extend what is given for one name of a shared tensor to its other names."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in members.items():
        names_of.setdefault(id(tensor), []).append(name)
    complete = dict(given)
    for names in names_of.values():
        values = {id(given[name]): given[name] for name in names if name in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(set(names) & set(given))}, which are "
                "tied. Consider using tie_weights=False"
            )
        for name in names:
            for value in values.values():
                complete[name] = value
    return complete


def _check_strict(module: Module, members: dict[str, Tensor], given: dict[str, Tensor]) -> None:
    missing = sorted(set(members) - set(given))
    unexpected = sorted(set(given) - set(members))
    problems = []
    if unexpected:
        problems.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
    if missing:
        problems.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
    if problems:
        details = "\n\t".join(problems)
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t{details}")


def _swap(module: Module, name: str, value: Tensor) -> tuple[Any, str, Any] | None:
    """Put `value` in the table that holds `name`; return what restores it, or None if there is no such
    name."""
    path, _, attribute = name.rpartition(".")
    owner = module.get_submodule(path)
    if not isinstance(value, Tensor):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    if attribute in owner._modules:
        raise TypeError(f"attribute `{name}`: {owner._modules[attribute]} is not an instance of torch.Tensor")
    for table in (owner._parameters, owner._buffers):
        if attribute in table:
            previous = table[attribute]
            table[attribute] = value
            return table, attribute, previous
    return None


@contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Let a module have other parameters and buffers for the time of a `with` block."""
    members = _members(module)
    given = _with_tied(members, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        _check_strict(module, members, given)
    swapped: list[tuple[Any, str, Any]] = []
    try:
        for name, value in given.items():
            restore = _swap(module, name, value)
            if restore is not None:
                swapped.append(restore)
        yield
    finally:
        for table, attribute, previous in reversed(swapped):
            table[attribute] = previous


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any | tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `module(*args, **kwargs)` with the given tensors in place of its parameters and buffers.

    With `tie_weights` a tensor given for one name of a shared parameter stands for all its names; with
    `strict` every
    parameter and buffer must be given.

    ``torch.func.functional_call`` is the same without the warning.

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> torch.nn.utils.stateless.functional_call(layer, {"weight": torch.full((1, 1), 3.0)}, torch.ones(1, 1))
    tensor([[3.]])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
        "future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
        "replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_with(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def call_with(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any,
    kwargs: dict[str, Any] | None,
    *,
    tie_weights: bool,
    strict: bool,
) -> Any:
    """What both functions called ``functional_call`` do."""
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
