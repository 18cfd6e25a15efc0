"""State dicts: saving, loading, errors, hooks, extra state."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .program import attempt, net, program, values


@program
def state_dicts(torch: Any) -> Any:
    model, other = net(torch), net(torch)
    with torch.no_grad():
        model.a.weight.fill_(2.0)
    state = model.state_dict()
    log = [list(state), {k: dict(v) for k, v in state._metadata.items()}, state["a.weight"].requires_grad]
    log.append(model.state_dict(keep_vars=True)["a.weight"].requires_grad)
    log.append(list(model.state_dict(prefix="p.")))
    log.append(repr(other.load_state_dict(state)))
    log.append(values(other.state_dict()))
    with torch.no_grad():
        model.a.weight.fill_(3.0)
    log.append(state["a.weight"].tolist())  # it shares memory
    return log


@program
def load_errors(torch: Any) -> Any:
    model, layer = net(torch), torch.nn.Linear(2, 2)
    good = layer.state_dict()
    old = OrderedDict(model.n.state_dict())
    del old["num_batches_tracked"]
    return [
        repr(attempt(action))
        for action in (
            lambda: layer.load_state_dict([]),
            lambda: layer.load_state_dict({}),
            lambda: layer.load_state_dict({"weight": torch.zeros(3), "x": 3, "y": 4, "bias": 3}),
            lambda: layer.load_state_dict({"x": 3}, strict=False),
            lambda: layer.load_state_dict({"weight": torch.zeros(3, 3)}, strict=False),
            lambda: layer.load_state_dict({**good, "_extra_state": 3}),
            lambda: model.load_state_dict(
                {"x.a": 3, "a.weight": torch.zeros(2, 3), "a.bias": torch.zeros(3)}
            ),
            lambda: model.n.load_state_dict(old),
            lambda: torch.nn.PReLU().load_state_dict({"weight": torch.tensor(3.0)}),
        )
    ]


@program
def assigning_load(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 1)
    layer.bias.requires_grad_(False)
    given = {"weight": torch.ones(1, 2).double(), "bias": torch.nn.Parameter(torch.zeros(1))}
    layer.load_state_dict(given, assign=True)
    return [
        str(layer.weight.dtype),
        type(layer.weight).__name__,
        layer.weight.requires_grad,
        layer.bias is given["bias"],
        layer.bias.requires_grad,
    ]


@program
def state_dict_hooks(torch: Any) -> Any:
    model, log = net(torch), []
    model.a.register_state_dict_pre_hook(lambda module, prefix, keep: log.append(("pre", prefix, keep)))
    model.a.register_state_dict_post_hook(
        lambda module, state, prefix, meta: state.__delitem__(prefix + "bias")
    )
    model._register_state_dict_hook(
        lambda module, state, prefix, meta: {k: v.sum().item() * 0 for k, v in state.items()}
    )
    log.append(model.state_dict())
    layer = torch.nn.Linear(1, 1)

    def rename(module: Any, state: Any, prefix: str, *rest: Any) -> None:
        log.append((type(module).__name__, prefix, len(rest)))
        state[prefix + "weight"] = state.pop(prefix + "old")

    handle = layer.register_load_state_dict_pre_hook(rename)
    layer.register_load_state_dict_post_hook(
        lambda module, keys: log.append((type(module).__name__, list(keys)))
    )
    log.append(repr(layer.load_state_dict({"old": torch.ones(1, 1), "bias": torch.ones(1)})))
    handle.remove()
    log.append(attempt(lambda: layer.load_state_dict({"bias": torch.ones(1)})))
    layer.register_load_state_dict_post_hook(lambda module, keys: 3)
    log.append(attempt(lambda: layer.load_state_dict(layer.state_dict())))
    return log


@program
def extra_state(torch: Any) -> Any:
    log = []

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 3
            self.register_buffer("gone", torch.zeros(1), persistent=False)
            self.fc = torch.nn.Linear(1, 1)

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            log.append(state)

    module = Counter()
    state = module.state_dict()
    log.append(list(state))
    module.load_state_dict(state)
    del state["_extra_state"]
    log.append(attempt(lambda: module.load_state_dict(state)))
    return log


@program
def states_of_tensors_without_dimensions(torch: Any) -> Any:
    """An old checkpoint has them with one; with more elements they are something else."""
    log = []
    for shape in ((), (1,), (0,), (7,), (1, 1)):
        module = torch.nn.Module()
        module.p = torch.nn.Parameter(torch.tensor(1.0))
        module.register_buffer("b", torch.tensor(0))
        for name in "pb":
            state = module.state_dict()
            state[name] = torch.full(shape, 3.0)
            log.append(repr(attempt(lambda module=module, state=state: module.load_state_dict(state))))
        log.append([module.p.item(), module.b.item()])
    return log
