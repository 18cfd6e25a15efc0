"""Parameter groups: their checks, and the messages of those that fail."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, TypeAlias

from ..tensor import Tensor

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


class _Required:
    """The default of an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def checked_params(params: ParamsT) -> list[dict[str, Any]]:
    """The constructor's first argument as a list of groups."""
    if isinstance(params, Tensor):
        raise TypeError(
            "params argument given to the optimizer should be an iterable of Tensors or dicts, "
            f"but got {params.type()}"
        )
    groups: list[Any] = list(params)
    if not groups:
        raise ValueError("optimizer got an empty parameter list")
    return groups if isinstance(groups[0], dict) else [{"params": groups}]


def append_group(groups: list[dict[str, Any]], group: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Complete `group` with the defaults, check it against the `groups` there are, and append it."""
    if not isinstance(group, dict):
        raise TypeError(f"param_group must be a dict, but got {type(group)}")
    _separate_names(group)
    _check_tensors(group["params"], retains_grad_allowed=bool(defaults.get("differentiable")))
    for name, default in defaults.items():
        if default is required and name not in group:
            raise ValueError(
                f"parameter group didn't specify a value of required optimization parameter {name}"
            )
        group.setdefault(name, default)
    params = group["params"]
    if len(params) != len(set(params)):
        warnings.warn(
            "optimizer contains a parameter group with duplicate parameters; in future, this will cause "
            "an error; see github.com/pytorch/pytorch/issues/40967 for more information",
            stacklevel=4,
        )
    _check_distinct(groups, group)
    groups.append(group)


def _separate_names(group: dict[str, Any]) -> None:
    """Make ``group["params"]`` a list of tensors, and ``group["param_names"]`` their names, if any."""
    params = group["params"]
    if isinstance(params, Tensor):
        group["params"] = [params]
        return
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead."
        )
    names: list[Any] = []
    tensors: list[Any] = []
    for entry in params:
        if isinstance(entry, tuple):
            names.append(entry[0])
            tensors.append(entry[1])
        else:
            tensors.append(entry)
    group["params"] = tensors
    if names:
        if len(names) != len(tensors):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        group["param_names"] = names


def _check_tensors(params: list[Any], retains_grad_allowed: bool) -> None:
    for param in params:
        if not isinstance(param, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {_type_name(param)}"
            )
        if not retains_grad_allowed and not (param.is_leaf or param.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _check_distinct(groups: list[dict[str, Any]], group: dict[str, Any]) -> None:
    named = "param_names" in group
    if groups and named != ("param_names" in groups[0]):
        raise ValueError(
            "all optimizer param groups should be with/without names. cannot add param group "
            f"{'with' if named else 'without'} names to the optimizer"
        )
    taken = {param for other in groups for param in other["params"]}
    if not taken.isdisjoint(group["params"]):
        raise ValueError("some parameters appear in more than one parameter group")
