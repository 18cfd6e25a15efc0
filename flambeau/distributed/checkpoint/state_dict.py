"""State of models and optimizers under parameters' names, independent of wrappers and of order.

``get_*`` gives dictionaries whose optimizer part is keyed by names instead of numbers, so that it can be
loaded into an optimizer whose groups list the parameters otherwise; ``set_*`` loads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...nn import Module
from ...operators.creation.creation import zeros_like
from ...optim import Optimizer
from ...tensor import Tensor
from ...utils._pytree import tree_map_only
from ..groups import require_group

# What torch.compile's wrapper puts before the names of the module it holds.
_WRAPPER = "_orig_mod."


@dataclass
class StateDictOptions:
    """What ``get_*`` and ``set_*`` do: of one process, every state dict is a full one.

    >>> import flambeau as torch
    >>> from flambeau.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
    >>> list(get_model_state_dict(torch.nn.Linear(1, 1), options=StateDictOptions(full_state_dict=True)))
    ['weight', 'bias']
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _options(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _plain(name: str) -> str:
    return name.replace(_WRAPPER, "")


def _listed(optimizers: Any) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _offloaded(state: Any, options: StateDictOptions) -> Any:
    return tree_map_only(Tensor, lambda x: x.detach().cpu(), state) if options.cpu_offload else state


def _names(model: Module) -> dict[int, str]:
    return {id(parameter): _plain(name) for name, parameter in model.named_parameters()}


# -- models


def get_model_state_dict(model: Module, *, submodules: set[Module] | None = None,
                         options: StateDictOptions | None = None) -> dict[str, Any]:
    """The model's state dict, of some submodules alone if given.

    >>> import flambeau as torch
    >>> from flambeau.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(torch.compile(torch.nn.Linear(1, 1))))
    ['weight', 'bias']
    """
    options, state = _options(options), model.state_dict()
    frozen = {_plain(name) for name, x in model.named_parameters() if not x.requires_grad}
    for name in list(state):
        value = state.pop(name)
        if not (options.ignore_frozen_params and _plain(name) in frozen):
            state[_plain(name)] = value
    if submodules:
        state = _parts(model, submodules, state, options)
    found: dict[str, Any] = _offloaded(state, options)
    return found


def _parts(model: Module, submodules: set[Module], state: Mapping[str, Any],
           options: StateDictOptions) -> dict[str, Any]:
    found = {}
    for path, module in model.named_modules():
        prefix = _plain(path) + "."
        if module in submodules:
            found.update({name if options.keep_submodule_prefixes else name[len(prefix):]: value
                          for name, value in state.items() if name.startswith(prefix)})
    return found


def set_model_state_dict(model: Module, model_state_dict: Mapping[Any, Any], *,
                         options: StateDictOptions | None = None) -> Any:
    """Load a model's state dict, or one for each of some submodules (``{model.head: state}``).

    >>> import flambeau as torch
    >>> from flambeau.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
    >>> layer = torch.nn.Linear(1, 1)
    >>> set_model_state_dict(layer, get_model_state_dict(layer))
    <All keys matched successfully>
    """
    options, paths = _options(options), {module: path for path, module in model.named_modules()}
    if options.broadcast_from_rank0:
        require_group()
    given: dict[str, Any] = {}
    for key, value in model_state_dict.items():
        if isinstance(key, Module):
            given.update({f"{_plain(paths[key])}.{name}": x for name, x in value.items()})
        else:
            given[key] = value
    own = {_plain(name): name for name in model.state_dict()}
    return model.load_state_dict({own.get(name, name): x for name, x in given.items()}, strict=options.strict)


# -- optimizers


def _with_state(optimizer: Optimizer) -> Optimizer:
    """The optimizer; one that has no state yet gets it by a step that changes nothing."""
    parameters = [x for group in optimizer.param_groups for x in group["params"] if x.requires_grad]
    if optimizer.state or any(x.grad is not None for x in parameters):
        return optimizer
    for x in parameters:
        x.grad = zeros_like(x)
    rates = [group.get("lr") for group in optimizer.param_groups]
    try:
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            if rate is not None:
                group["lr"] = zeros_like(rate) if isinstance(rate, Tensor) else 0.0
        optimizer.step(closure=None)
    finally:
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            if rate is not None:
                group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)
    return optimizer


def get_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
                             submodules: set[Module] | None = None,
                             options: StateDictOptions | None = None) -> dict[str, Any]:
    """The state dict of optimizers, by parameters' names.

    >>> import flambeau as torch
    >>> from flambeau.distributed.checkpoint.state_dict import get_optimizer_state_dict
    >>> layer = torch.nn.Linear(1, 1)
    >>> list(get_optimizer_state_dict(layer, torch.optim.Adam(layer.parameters()))["state"])
    ['weight', 'bias']
    """
    options, names = _options(options), _names(model)
    kept = None
    if submodules:
        kept = {id(x) for module in submodules for x in module.parameters()}
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _listed(optimizers):
        written = _with_state(optimizer).state_dict()
        numbers: dict[int, str] = {}
        for group, saved in zip(optimizer.param_groups, written["param_groups"], strict=True):
            here = {number: names[id(x)] for number, x in zip(saved["params"], group["params"], strict=True)
                    if kept is None or id(x) in kept}
            numbers.update(here)
            groups.append({**saved, "params": list(here.values())})
        state.update({numbers[number]: value for number, value in written["state"].items()
                      if number in numbers})
    found: dict[str, Any] = {"state": state, "param_groups": groups} if groups else {}
    found = _offloaded(found, options)
    return _flat(found) if options.flatten_optimizer_state_dict and found else found


def _flat(state: Mapping[str, Any]) -> dict[str, Any]:
    """``state.NAME.KEY`` and ``param_groups.NAME.KEY``, for each parameter."""
    flat = {f"state.{name}.{key}": x for name, kept in state["state"].items() for key, x in kept.items()}
    for group in state["param_groups"]:
        for name in group["params"]:
            flat.update({f"param_groups.{name}.{key}": x for key, x in group.items() if key != "params"})
    return flat


def _unflattened(flat: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    state: dict[str, Any] = {}
    groups = []
    for name in names:
        kept, said = f"state.{name}.", f"param_groups.{name}."
        found = {key[len(kept):]: x for key, x in flat.items() if key.startswith(kept)}
        if found:
            state[name] = found
        groups.append({"params": [name], **{key[len(said):]: x for key, x in flat.items()
                                            if key.startswith(said)}})
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer],
                             optim_state_dict: Mapping[str, Any], *,
                             options: StateDictOptions | None = None) -> None:
    """Load what ``get_optimizer_state_dict`` gave; parameters are found by their names.

    >>> import flambeau as torch
    >>> from flambeau.distributed.checkpoint import state_dict
    >>> layer = torch.nn.Linear(1, 1)
    >>> slow, fast = (torch.optim.SGD(layer.parameters(), lr=lr) for lr in (0.1, 0.5))
    >>> state_dict.set_optimizer_state_dict(layer, slow, state_dict.get_optimizer_state_dict(layer, fast))
    >>> slow.param_groups[0]["lr"]
    0.5
    """
    options, names = _options(options), _names(model)
    if options.broadcast_from_rank0:
        require_group()
    for optimizer in _listed(optimizers):
        own = [[names[id(x)] for x in group["params"]] for group in optimizer.param_groups]
        given = optim_state_dict
        if "param_groups" not in given:
            given = _unflattened(given, [name for group in own for name in group])
        said = {name: group for group in given["param_groups"] for name in group["params"]}
        written = optimizer.state_dict()
        number = 0
        state = {}
        for group, members in zip(written["param_groups"], own, strict=True):
            if members and members[0] in said:
                group.update({key: x for key, x in said[members[0]].items() if key != "params"})
            for name in members:
                if name in given["state"]:
                    state[number] = given["state"][name]
                number += 1
        optimizer.load_state_dict({"state": state, "param_groups": written["param_groups"]})


# -- both


def get_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
                   submodules: set[Module] | None = None,
                   options: StateDictOptions | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a model and of its optimizers."""
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options))


def set_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
                   model_state_dict: Mapping[Any, Any], optim_state_dict: Mapping[str, Any],
                   options: StateDictOptions | None = None) -> Any:
    """Load the state dicts of a model and of its optimizers."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
           "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"]
