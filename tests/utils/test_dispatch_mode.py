"""Modes that see every operator: what they hear of, what they can give instead, and that nothing stays on."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau.nn import functional as F
from flambeau.utils._python_dispatch import TorchDispatchMode


class Names(TorchDispatchMode):
    """Writes down what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


X = torch.arange(6.0).reshape(2, 3)
IMAGE = torch.ones(1, 3, 4, 4)

# What PyTorch's dispatcher is asked for, less the detached copies that its tape keeps.
CALLS: list[tuple[Any, str]] = [
    (lambda: F.linear(X, torch.ones(4, 3)), "t.default mm.default"),
    (lambda: F.linear(X, torch.ones(4, 3), torch.ones(4)), "ones t.default addmm.default"),
    (lambda: X @ X.t(), "t.default mm.default"),
    (lambda: torch.stack([X, X]) @ torch.stack([X.t(), X.t()]),
     "stack.default t.default t.default stack.default view.default view.default bmm.default "
     "_unsafe_view.default"),
    (lambda: X + 1, "add.Tensor"),
    (lambda: X ** 2, "pow.Tensor_Scalar"),
    (lambda: X.sum(1), "sum.dim_IntList"),
    (lambda: X.sum(), "sum.default"),
    (lambda: X > 0, "gt.Scalar"),
    (lambda: X.softmax(-1), "_softmax.default"),
    (lambda: F.layer_norm(X, (3,)), "native_layer_norm.default"),
    (lambda: F.conv2d(IMAGE, IMAGE), "convolution.default"),
    (lambda: F.max_pool2d(IMAGE, 2), "max_pool2d_with_indices.default"),
    (lambda: F.dropout(X, 0.5), "empty_like.default bernoulli_.float div_.Scalar mul.Tensor"),
    (lambda: F.dropout(X, 0.5, training=False), ""),
    (lambda: X.reshape(6), "view.default"),
    (lambda: X.contiguous(), ""),
    (lambda: X.chunk(3, 1), "split.Tensor"),
    (lambda: X.to(torch.float64), "_to_copy.default"),
    (lambda: F.embedding(torch.zeros(1, dtype=torch.int64), X), "zeros.default embedding.default"),
    (lambda: X.shape, ""),
]


@pytest.mark.parametrize("call, wanted", CALLS)
def test_public_calls_are_heard_of_as_the_dispatchers_operators(call: Any, wanted: str) -> None:
    with Names() as mode:
        call()
    names = [name.removeprefix("aten.") for name in mode.seen]
    listed = [name for name in names if not name.startswith("ones")]
    assert " ".join(listed) == wanted.removeprefix("ones ")


@pytest.mark.parametrize("call", [call for call, _ in CALLS if call is not CALLS[13][0]])
def test_a_mode_that_changes_nothing_changes_nothing(call: Any) -> None:
    wanted = call()
    with Names():
        found = call()
    torch.testing.assert_close(found, wanted)


def test_backward_and_updates_are_seen_too() -> None:
    layer, plain = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    plain.load_state_dict(layer.state_dict())
    for each in (layer, plain):
        optimizer = torch.optim.SGD(each.parameters(), 0.1)
        loss = each(X).relu().sum()
        with Names() as mode:
            if each is layer:
                loss.backward()
                optimizer.step()
        if each is plain:
            loss.backward()
            optimizer.step()
            assert mode.seen == []
        else:
            assert {"aten.mm.default", "aten.sum.default",
                    "flambeau.threshold_backward.default"} <= set(mode.seen)
            assert mode.seen[-1] == "flambeau.multi_tensor.default"
    assert layer.weight.tolist() == plain.weight.tolist()


def test_operators_are_keys_of_tables() -> None:
    found = []

    class Looks(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            table = {torch.ops.aten.mm.default: "product", torch.ops.aten.relu: "positive"}
            found.append(table.get(func) or table.get(func.overloadpacket))
            return func(*args, **(kwargs or {}))
    w = torch.ones(3, 3, requires_grad=True)
    with Looks():
        torch.mm(X, w).relu().sum().backward()
    assert found[:2] == ["product", "positive"] and found.count("product") >= 2


def test_a_mode_may_give_something_else_and_modes_around_it_see_that() -> None:
    class Zeros(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return torch.zeros_like(args[0])
    with Names() as outer:
        with Zeros():
            y = X.exp()
        with pytest.raises(ZeroDivisionError), Zeros():
            raise ZeroDivisionError
        z = X.exp()
    assert not y.any() and torch.allclose(z, X.exp())
    assert outer.seen == ["aten.zeros_like.default", "aten.exp.default"]


def test_modes_of_functions_come_first() -> None:
    order: list[str] = []

    class Functions(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            order.append(func.__name__)
            return func(*args, **(kwargs or {}))
    with Functions(), Names() as mode:
        torch.nn.functional.linear(X, X)
    assert order == ["linear"] and mode.seen == ["aten.t.default", "aten.mm.default"]
