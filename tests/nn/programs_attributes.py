"""Attributes, traversal, conversion, modes, copies and printing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from .program import attempt, net, program, values


@program
def refuses_bad_attributes(torch: Any) -> Any:
    nn = torch.nn
    layer, outer = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))
    layer.register_buffer("b", torch.zeros(2))

    class Uninitialised(nn.Module):
        def __init__(self) -> None:
            pass

    bare = Uninitialised()
    return [
        attempt(action)
        for action in (
            lambda: layer.foo,
            lambda: setattr(layer, "weight", 3),
            lambda: setattr(layer, "weight", torch.zeros(2)),
            lambda: setattr(outer, "0", 3),
            lambda: setattr(layer, "b", "x"),
            lambda: layer.register_buffer("b.c", None),
            lambda: layer.register_buffer("", None),
            lambda: layer.register_buffer("weight", None),
            lambda: layer.register_buffer(3, None),
            lambda: layer.register_buffer("k", 3),
            lambda: layer.register_parameter("b.c", None),
            lambda: layer.register_parameter("in_features", None),
            lambda: layer.register_parameter("k", torch.zeros(2)),
            lambda: layer.register_parameter("k", 3),
            lambda: layer.add_module("a", 3),
            lambda: layer.add_module(3, outer),
            lambda: layer.add_module("weight", outer),
            lambda: layer.add_module("a.b", outer),
            lambda: layer.add_module("", outer),
            lambda: delattr(layer, "zz"),
            lambda: setattr(bare, "a", nn.Parameter(torch.zeros(1))),
            lambda: setattr(bare, "a", layer),
            lambda: setattr(bare, "a", nn.Buffer(torch.zeros(1))),
            lambda: bare.register_buffer("a", None),
            lambda: bare.register_parameter("a", None),
            lambda: bare.x,
            lambda: bare(1),
            lambda: nn.Module()(1),
            lambda: nn.Module(1),
            lambda: nn.Module(a=1),
            lambda: layer.train(3),
            lambda: layer.get_extra_state(),
            lambda: layer.to(torch.int32),
            lambda: layer.to(1, 2, 3),
        )
    ]


@program
def attributes_move_between_tables(torch: Any) -> Any:
    nn = torch.nn
    layer = nn.Module()
    log = []

    def show() -> None:
        log.append(
            [list(layer._parameters), list(layer._buffers), list(layer._modules), sorted(layer.state_dict())]
        )

    layer.x = 3
    layer.x = nn.Parameter(torch.zeros(1))
    show()
    log.append(attempt(lambda: setattr(layer, "x", nn.Linear(1, 1))))
    del layer.x
    layer.x = nn.Linear(1, 1)
    show()
    log.append(attempt(lambda: setattr(layer, "x", nn.Buffer(torch.zeros(1)))))
    layer.y = nn.Buffer(torch.zeros(1), persistent=False)
    layer.z = nn.Buffer(torch.ones(1))
    show()
    layer.y = torch.ones(1)
    layer.z = None
    show()
    layer.y = nn.Parameter(torch.zeros(1))
    del layer.x
    show()
    log.append([name for name in dir(layer) if name in ("x", "y", "z", "training")])
    return log


@program
def walks(torch: Any) -> Any:
    model = net(torch)
    model.shared = model.a
    model.lonely = None
    return [
        [name for name, _ in model.named_modules()],
        [name for name, _ in model.named_modules(remove_duplicate=False)],
        [name for name, _ in model.named_modules(prefix="p")],
        [name for name, _ in model.named_children()],
        [name for name, _ in model.named_parameters()],
        [name for name, _ in model.named_parameters("p", recurse=False)],
        [name for name, _ in model.named_parameters(remove_duplicate=False)],
        [name for name, _ in model.named_buffers()],
        len(list(model.modules())),
        len(list(model.children())),
        len(list(model.buffers(recurse=False))),
    ]


@program
def reaches_by_path(torch: Any) -> Any:
    model = net(torch)
    layer = torch.nn.ReLU()
    return [
        repr(attempt(action))
        for action in (
            lambda: model.get_submodule("b.0"),
            lambda: model.get_submodule("") is model,
            lambda: model.get_submodule("a.b"),
            lambda: model.get_submodule("a.weight"),
            lambda: model.get_parameter("a.weight").shape,
            lambda: model.get_parameter("a.bb"),
            lambda: model.get_parameter("n.running_mean"),
            lambda: model.get_buffer("n.running_mean"),
            lambda: model.get_buffer("a.weight"),
            lambda: model.get_buffer("a.zz"),
            lambda: model.set_submodule("", layer),
            lambda: model.set_submodule("q.r", layer),
            lambda: model.set_submodule("a", 3),
            lambda: model.set_submodule("q", layer, strict=True),
            lambda: model.set_submodule("a.weight", layer),
            lambda: model.set_submodule("b.0", layer),
            lambda: model.set_submodule("b.new", layer),
            lambda: model,
        )
    ]


@program
def converts(torch: Any) -> Any:
    model = net(torch)
    weight = model.a.weight
    model(torch.ones(4, 2)).sum().backward()
    log = []
    for change in (
        lambda: model.double(),
        lambda: model.float(),
        lambda: model.half(),
        lambda: model.bfloat16(),
        lambda: model.to(torch.float64),
        lambda: model.to("cpu", torch.float32),
        lambda: model.to(device="cpu"),
        lambda: model.to(torch.zeros(1).double()),
        lambda: model.cpu(),
        lambda: model.type(torch.float32),
    ):
        assert change() is model
        log.append(
            [
                str(t.dtype)
                for t in (
                    model.a.weight,
                    model.a.weight.grad,
                    model.n.running_mean,
                    model.n.num_batches_tracked,
                )
            ]
        )
    log.append(model.a.weight is weight)
    log.append([str(p.dtype) for p in model.to_empty(device="cpu").parameters()][:2])
    return log


@program
def modes_and_gradients(torch: Any) -> Any:
    model = net(torch)
    log = [model.eval().training, model.b[0].training, model.train() is model, model.n.training]
    log.append([p.requires_grad for p in model.requires_grad_(False).parameters()][:2])
    model.requires_grad_()
    model(torch.ones(4, 2)).sum().backward()
    model.zero_grad(set_to_none=False)
    log.append(model.a.weight.grad.tolist())
    model.zero_grad()
    log.append(model.a.weight.grad)
    seen: list[str] = []
    log.append(model.apply(lambda module: seen.append(type(module).__name__)) is model)
    return [*log, seen]


@program
def copies(torch: Any) -> Any:
    model = net(torch)
    model.b[0].weight.requires_grad_(False)
    model.shared = model.a
    log = []
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        log.append(
            [
                repr(other),
                values(other.state_dict()),
                other.shared is other.a,
                other.a is model.a,
                type(other.a.weight).__name__,
                other.b[0].weight.requires_grad,
            ]
        )
    lazy = copy.deepcopy(torch.nn.LazyLinear(2))
    log.append([lazy(torch.ones(1, 3)).shape == (1, 2), repr(lazy)])
    return log


@program
def lazy_layers(torch: Any) -> Any:
    nn = torch.nn
    lazy, log = nn.LazyLinear(3), []
    log.append([repr(lazy), [repr(p) for p in lazy.parameters()], lazy.has_uninitialized_params()])
    log.append([repr(v) for v in lazy.state_dict().values()])
    log.append(attempt(lambda: lazy.share_memory()))
    log.append(attempt(lambda: nn.Linear(2, 3).load_state_dict(lazy.state_dict())))
    log.append(repr(lazy.load_state_dict(nn.Linear(2, 3).state_dict())))
    log.append([tuple(lazy.weight.shape), type(lazy).__name__, type(lazy.weight).__name__])
    log.append(attempt(lambda: lazy(torch.zeros(1, 4))))
    log.append([tuple(lazy(torch.zeros(1, 2)).shape), repr(lazy)])
    lazy = nn.LazyBatchNorm2d(affine=False)
    log.append([list(lazy.state_dict()), repr(lazy)])
    lazy.load_state_dict(nn.BatchNorm2d(2, affine=False).state_dict())
    log.append(tuple(lazy.running_mean.shape))
    log.append(nn.LazyLinear(2).double().weight.dtype == torch.float64)
    return log


@program
def prints(torch: Any) -> Any:
    nn = torch.nn
    layer = nn.Linear(2, 2)
    layer.bias = None
    layer.extra = nn.Module()
    return [
        repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Sequential(nn.ReLU())])),
        repr(nn.ModuleList()),
        repr(nn.ModuleDict({"a": nn.ReLU()})),
        repr(nn.ModuleDict()),
        repr(layer),
        repr(nn.ParameterList([torch.zeros(2), 3, nn.Parameter(torch.zeros(1, 2).double())])),
        repr(nn.ParameterDict({"b": torch.zeros(2), "a": 3})),
        repr(nn.ParameterList()),
        repr(net(torch)),
        repr(nn.Parameter(torch.zeros(2))),
        repr(nn.Buffer(torch.zeros(1))),
        repr(nn.UninitializedParameter()),
    ]


@program
def parameters(torch: Any) -> Any:
    nn = torch.nn
    data = torch.zeros(2)
    parameter = nn.Parameter(data)
    parameter.tag = "mine"
    duplicate = copy.deepcopy(parameter)
    with torch.no_grad():
        parameter += 1
    buffer = nn.Buffer(torch.zeros(1), persistent=False)
    return [
        data.tolist(),
        parameter.is_leaf,
        type(parameter).__name__,
        type(parameter * 2).__name__,
        type(parameter.data).__name__,
        type(parameter.detach()).__name__,
        type(duplicate).__name__,
        duplicate.tolist(),
        isinstance(parameter, torch.Tensor),
        isinstance(data, nn.Parameter),
        isinstance(buffer, nn.Buffer),
        isinstance(data, nn.Buffer),
        buffer.persistent,
        nn.Parameter().shape == (0,),
        nn.Parameter(parameter).requires_grad,
        nn.Parameter(data, requires_grad=False).requires_grad,
        attempt(lambda: nn.Parameter(torch.zeros(2, dtype=torch.int32))),
        attempt(lambda: nn.Parameter([1])),
        pickle.loads(pickle.dumps(parameter)).tolist(),
        type(pickle.loads(pickle.dumps(parameter))).__name__,
        len({parameter, duplicate}),
    ]
