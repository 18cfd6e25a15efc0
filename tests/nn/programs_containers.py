"""Containers of modules and parameters."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .program import attempt, program


@program
def sequentials(torch: Any) -> Any:
    nn = torch.nn

    def new() -> Any:
        return nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())

    model = new()
    log: list[Any] = [
        repr(model[1]),
        repr(model[-1]),
        repr(model[:2]),
        len(model),
        [type(m).__name__ for m in model],
    ]
    model[1] = nn.GELU()
    del model[0]
    log.append(repr(model))
    model.append(nn.ELU()).insert(1, nn.SELU()).extend([nn.CELU()])
    log.append(repr(model))
    log.append([repr(model.pop(-1)), repr(model + new()), repr(model * 2), repr(2 * model)])
    model *= 2
    model += new()
    log.append(repr(model))
    del model[1:3]
    log.append([repr(model), list(model._modules)])
    model.insert(-1, nn.Mish())
    log.append(repr(model))
    for action in (
        lambda: model[30],
        lambda: model * "a",
        lambda: model * 0,
        lambda: model + 3,
        lambda: model.insert(30, nn.ReLU()),
        lambda: model.insert(0, 3),
        lambda: nn.Sequential(3),
        lambda: nn.Sequential(OrderedDict(a=nn.ReLU()))["a"],
        lambda: nn.Sequential()(3),
        lambda: nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))[1:]._modules.keys(),
    ):
        log.append(repr(attempt(action)))
    return log


@program
def module_lists(torch: Any) -> Any:
    nn = torch.nn
    modules = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    modules.append(nn.GELU()).extend(nn.ModuleList([nn.ELU()]))
    modules.insert(1, nn.SELU())
    modules += [nn.CELU()]
    log = [repr(modules), repr(modules + [nn.Mish()]), repr(modules[1:3]), len(modules), repr(modules[-2])]
    modules[0] = nn.Mish()
    del modules[1]
    del modules[-2:]
    log.append([repr(modules), repr(modules.pop(0)), list(modules._modules), nn.ReLU() in modules])
    for action in (
        lambda: nn.ModuleList(3),
        lambda: modules[9],
        lambda: modules.pop(9),
        lambda: modules.insert(-9, nn.ReLU()),
        lambda: modules(1),
        lambda: nn.ModuleList([3]),
    ):
        log.append(repr(attempt(action)))
    return log


@program
def module_dicts(torch: Any) -> Any:
    nn = torch.nn
    modules = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    modules["c"] = nn.GELU()
    modules.update([("d", nn.ELU()), ("a", nn.SELU())])
    modules.update(nn.ModuleDict({"e": nn.Mish()}))
    log = [repr(modules), list(modules), list(modules.keys()), [k for k, _ in modules.items()], len(modules)]
    log.append([type(m).__name__ for m in modules.values()])
    log.append(["a" in modules, repr(modules.pop("a")), "a" in modules])
    del modules["b"]
    log.append(list(modules))
    modules.clear()
    log.append(len(modules))
    for action in (
        lambda: nn.ModuleDict(3),
        lambda: nn.ModuleDict([3]),
        lambda: nn.ModuleDict([(1, 2, 3)]),
        lambda: modules["a"],
        lambda: nn.ModuleDict({"a": 3}),
        lambda: nn.ModuleDict({3: nn.ReLU()}),
    ):
        log.append(repr(attempt(action)))
    return log


@program
def parameter_containers(torch: Any) -> Any:
    nn = torch.nn
    plist = nn.ParameterList([torch.zeros(2)])
    plist.append(torch.ones(1)).extend([3])
    plist += [nn.Parameter(torch.ones(2, 2))]
    log: list[Any] = [
        repr(plist),
        [type(p).__name__ for p in plist],
        len(plist),
        list(plist.state_dict()),
        repr(plist[1:3]),
    ]
    plist[0] = torch.ones(3)
    log.append([plist[0].tolist(), plist[-1].tolist()])
    pdict = nn.ParameterDict({"b": torch.zeros(2), "a": torch.ones(1)})
    pdict["c"] = torch.zeros(1)
    pdict.update({"e": torch.zeros(1), "d": 5})
    log.append(
        [
            list(pdict),
            list(reversed(pdict)),
            list(pdict.state_dict()),
            len(pdict),
            "a" in pdict,
            pdict.get("zz", 4),
        ]
    )
    log.append(
        [
            pdict.setdefault("a", 3).tolist(),
            pdict.setdefault("n", torch.zeros(1)).tolist(),
            pdict.popitem()[0],
        ]
    )
    log.append([pdict.pop("d"), list(pdict.keys()), [k for k, _ in pdict.items()], len(list(pdict.values()))])
    other = nn.ParameterDict({"z": torch.zeros(1)})
    log.append([list(pdict | other), list(pdict.fromkeys(["k"], 1)), list(pdict.copy())])
    pdict |= other
    log.append(list(pdict))
    pdict.clear()
    log.append(list(pdict))
    for action in (
        lambda: nn.ParameterList(3),
        lambda: nn.ParameterList()[0],
        lambda: nn.ParameterList()(1),
        lambda: nn.ParameterDict({3: torch.zeros(1)}),
        lambda: nn.ParameterDict(3),
        lambda: nn.ParameterDict([3]),
        lambda: nn.ParameterDict([(1, 2, 3)]),
        lambda: nn.ParameterDict()["a"],
        lambda: nn.ParameterDict().popitem(),
    ):
        log.append(repr(attempt(action)))
    return log
