"""State dicts of optimizers: parameters become numbers on the way out, numbers parameters on the way in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ..tensor import Tensor

Groups = list[dict[str, Any]]


def pack(state: dict[Any, Any], groups: Groups) -> dict[str, Any]:
    """``{"state": ..., "param_groups": ...}`` with parameters numbered in their order."""
    numbers: dict[int, int] = {}
    packed_groups = []
    for group in groups:
        packed = {key: value for key, value in group.items() if key != "params"}
        numbers.update(
            {id(p): number for number, p in enumerate(group["params"], len(numbers)) if id(p) not in numbers}
        )
        packed["params"] = [numbers[id(p)] for p in group["params"]]
        packed_groups.append(packed)
    packed_state = {
        numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in state.items()
    }
    return {"state": packed_state, "param_groups": packed_groups}


def unpack(state_dict: dict[str, Any], groups: Groups) -> tuple[defaultdict[Any, Any], Groups]:
    """State keyed by parameters, and groups with them, from a state dict; nothing is changed in place."""
    saved_groups = [dict(group) for group in state_dict["param_groups"]]
    if len(groups) != len(saved_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(
        len(ours["params"]) != len(saved["params"]) for ours, saved in zip(groups, saved_groups, strict=True)
    ):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )
    params = {
        number: (param, saved)
        for ours, saved in zip(groups, saved_groups, strict=True)
        for number, param in zip(saved["params"], ours["params"], strict=True)
    }
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in state_dict["state"].items():
        if key in params:
            param, saved = params[key]
            state[param] = _fit(param, value, bool(saved.get("fused")))
        else:
            state[key] = value
    return state, [_restore_group(ours, saved) for ours, saved in zip(groups, saved_groups, strict=True)]


def _restore_group(ours: dict[str, Any], saved: dict[str, Any]) -> dict[str, Any]:
    saved["params"] = ours["params"]
    if "param_names" in ours and "param_names" not in saved:
        saved["param_names"] = ours["param_names"]
    return saved


def _fit(param: Tensor, value: Any, fused: bool, key: Any = None) -> Any:
    """A copy of the containers, with tensors brought to the parameter's dtype and device."""
    if isinstance(value, Tensor):
        # The step count belongs to no parameter: it stays the scalar that it is.
        if key == "step":
            return value.float() if fused else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {name: _fit(param, item, fused, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return type(value)(_fit(param, item, fused) for item in value)  # type: ignore[call-arg]
    return value
