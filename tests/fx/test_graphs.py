"""Graphs are built, walked, changed, saved and run as PyTorch's are."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from typing import Any

import pytest

import flambeau as torch
from flambeau import fx, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.first(x))).sum(dim=-1)


def graph_of(*names: str) -> fx.Graph:
    graph = fx.Graph()
    x = graph.placeholder("x")
    for name in names:
        graph.create_node("call_function", torch.relu, (x,), name=name)
    return graph


@pytest.mark.parametrize(("wanted", "given"), [
    ("x", "x_1"), ("input", "input_1"), ("max", "max_1"), ("class", "class_1"), ("a.b", "a_b"), ("3a", "_3a"),
    ("x_1", "x_1"), ("self", "self"), ("foo_7", "foo_7")])
def test_names_are_legal_and_new(wanted: str, given: str) -> None:
    assert [node.name for node in graph_of(wanted).nodes] == ["x", given]


def test_nodes_are_a_ring_that_may_be_changed_while_it_is_walked() -> None:
    graph = graph_of("a", "b")
    x, a, b = graph.nodes
    assert (x.next, b.prev, b.next.op, x.prev.op, len(graph.nodes)) == (a, a, "root", "root", 3)
    assert x < a < b and list(reversed(graph.nodes)) == [b, a, x]
    with graph.inserting_after(x):
        graph.call_function(torch.neg, (x,))
        graph.call_function(torch.abs, (x,))
    with graph.inserting_before(b):
        graph.call_function(torch.sin, (x,))
    assert [node.name for node in graph.nodes] == ["x", "abs_1", "neg", "a", "sin", "b"]
    for node in graph.nodes:
        if node.op == "call_function":
            graph.erase_node(node)
    assert [node.name for node in graph.nodes] == ["x"]


ERRORS = [
    (lambda g: g.create_node("foo", "x"), AssertionError, "op 'foo' is not in _legal_ops"),
    (lambda g: g.erase_node(next(iter(g.nodes))), RuntimeError,
     "Tried to erase Node x but it still had 1 users"),
    (lambda g: g.call_function("relu"), ValueError, "target relu has type str but a Callable is expected"),
    (lambda g: fx.GraphModule({}, (g.get_attr("w"), g)[1]), RuntimeError,
     "Node w referenced target w but that target was not provided in ``root``!"),
    (lambda g: g.call_function(torch.relu, ([1],)).args[0].append(2), NotImplementedError,
     "'immutable_list' object does not support mutation"),
    (lambda g: fx.symbolic_trace(lambda x: 1 if x > 0 else 2), fx.proxy.TraceError,
     "symbolically traced variables cannot be used as inputs to control flow"),
    (lambda g: fx.symbolic_trace(lambda x: list(x)), fx.proxy.TraceError,
     "Proxy object cannot be iterated"),
    (lambda g: fx.symbolic_trace(lambda x: len(x)), RuntimeError,
     "'len' is not supported in symbolic tracing"),
    (lambda g: fx.Interpreter(fx.symbolic_trace(Net())).run(), RuntimeError,
     "Expected positional argument for parameter x, but one was not passed in!"),
]


@pytest.mark.parametrize(("do", "kind", "message"), ERRORS)
def test_errors_are_those_of_pytorch(do: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message.replace("(", r"\(").replace("[", r"\[")):
        do(graph_of("a"))


def test_lint_finds_use_before_definition() -> None:
    graph = graph_of("a")
    x, a = graph.nodes
    a.append(x)
    with pytest.raises(RuntimeError, match="Argument 'x' of Node 'a' was used before it has been defined!"):
        graph.lint()


def test_uses_are_replaced_and_dead_code_is_removed() -> None:
    traced = fx.symbolic_trace(Net())
    for node in traced.graph.find_nodes(op="call_function", target=torch.relu):
        with traced.graph.inserting_after(node):
            node.replace_all_uses_with(traced.graph.call_function(torch.tanh, node.args))
    assert traced.graph.eliminate_dead_code()
    traced.recompile()
    x = torch.ones(1, 2)
    assert "relu" not in traced.code
    assert torch.equal(traced(x), traced.second(torch.tanh(traced.first(x))).sum(-1))


def test_traced_modules_train_copy_and_pickle() -> None:
    torch.manual_seed(0)
    net = Net()
    traced = fx.symbolic_trace(net)
    assert type(traced).__name__ == "Net" and list(traced.state_dict()) == list(net.state_dict())
    traced(torch.ones(1, 2)).sum().backward()
    assert net.first.weight.grad is not None
    for again in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert again.code == traced.code and again.first is not traced.first
        assert torch.equal(again(torch.ones(1, 2)), net(torch.ones(1, 2)))


def test_tracers_choose_leaves_and_specialize() -> None:
    class Everything(fx.Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return False
    called = [node.op for node in Everything().trace(Net()).nodes]
    assert "call_module" not in called and called.count("get_attr") == 4
    traced = fx.symbolic_trace(lambda x, on=False: x + 1 if on else x, concrete_args={"on": True})
    assert torch.equal(traced(torch.zeros(1), True), torch.ones(1))
    with pytest.raises(AssertionError, match="on has been specialized to have value True"):
        traced(torch.zeros(1), False)


@fx.wrap
def opaque(x: Any, n: int) -> Any:
    return x * n if n > 0 else x


def test_wrapped_functions_are_not_looked_into() -> None:
    traced = fx.symbolic_trace(lambda x: opaque(x, 2))
    assert [node.target for node in traced.graph.nodes if node.op == "call_function"] == [opaque]
    assert torch.equal(traced(torch.ones(1)), torch.full((1,), 2.0))


def halved(x: Any) -> Any:
    return x / 2 if x.sum() > 0 else x


def test_a_tracer_can_be_told_which_functions_to_leave_whole() -> None:
    class Halves(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return halved(x) + math.sqrt(x.shape[0])
    graph = fx.Tracer(autowrap_functions=(halved,)).trace(torch.nn.Sequential(Halves()))
    called = [node.target for node in graph.nodes if node.op == "call_function"]
    assert halved in called and math.sqrt in called
    assert halved(torch.ones(2)).tolist() == [0.5, 0.5]
    assert math.sqrt(4) == 2


def test_the_class_of_a_graph_module_says_that_it_was_made() -> None:
    made = type(fx.symbolic_trace(torch.nn.Linear(1, 1)))
    assert made.__name__ == "Linear" and "GraphModuleImpl" in str(made)


def test_patterns_are_replaced() -> None:
    traced = fx.symbolic_trace(lambda x, w: torch.relu(x + w) + torch.relu(w + x).sum())
    matches = fx.replace_pattern(traced, lambda a, b: torch.relu(a + b), lambda a, b: torch.sigmoid(a * b))
    assert repr(matches) == ("[Match(anchor=relu, nodes_map={relu: relu, add: add, a: x, b: w}), "
                             "Match(anchor=relu, nodes_map={relu: relu_1, add: add_1, a: w, b: x})]")
    x, w = torch.rand(3), torch.rand(3)
    assert torch.allclose(traced(x, w), torch.sigmoid(x * w) + torch.sigmoid(w * x).sum())


def _both(x: Any, y: Any) -> Any:
    return torch.relu(x) * torch.sigmoid(y) + torch.sigmoid(x) * torch.relu(y)


def _of_one(x: Any) -> Any:
    return torch.relu(x), torch.sigmoid(x)


def test_patterns_of_several_results_are_replaced() -> None:
    traced = fx.symbolic_trace(_both)
    matches = fx.replace_pattern(traced, _of_one, lambda x: (torch.neg(x), torch.abs(x)))
    assert [[n.name for n in match.nodes_map.values()] for match in matches] == [
        ["relu", "x", "sigmoid_1"], ["relu_1", "y", "sigmoid"]]
    x, y = torch.randn(3), torch.randn(3)
    assert torch.equal(traced(x, y), -x * abs(y) + abs(x) * -y)
    with pytest.raises(AssertionError, match="Returning nodes count mismatch: 2 vs 1"):
        fx.replace_pattern(fx.symbolic_trace(_both), _of_one, lambda x: torch.abs(x))


def test_patterns_that_cannot_be_replaced_are_left() -> None:
    def chained(x: Any) -> Any:
        a = torch.relu(x)
        return a * torch.sigmoid(a + 1)     # what comes of the one result is given to the other

    def used_inside(x: Any, y: Any) -> Any:
        s = x + y
        return torch.relu(s) * s

    two = lambda x, y: (torch.relu(x), torch.sigmoid(y))    # noqa: E731
    assert not fx.replace_pattern(fx.symbolic_trace(chained), two, two)
    inner = lambda x, y: torch.relu(x + y)      # noqa: E731
    assert not fx.replace_pattern(fx.symbolic_trace(used_inside), inner, inner)


def test_matches_name_what_was_given_to_replacements() -> None:
    traced = fx.symbolic_trace(lambda x: torch.relu(torch.relu(x)))
    matches = fx.replace_pattern(traced, lambda x: torch.relu(x), lambda x: torch.neg(x))
    assert [[n.name for n in match.nodes_map.values()] for match in matches] == [
        ["relu", "x"], ["relu_1", "neg"]]


def nested_sum(x, t, flag):     # type: ignore[no-untyped-def]  # types would stand in the code
    y = x + t["a"][0] * 2 - t["a"][1]
    return {"sum": y, "both": (y, x)} if flag else y


def test_nested_arguments_are_specialized() -> None:
    traced = fx.symbolic_trace(nested_sum, concrete_args={"t": {"a": [fx.PH, 3]}, "flag": True})
    assert ("forward(self, x, t, flag):\n"
            "    x, t_1, t_2, flag_1, = fx_pytree.tree_flatten_spec([x, t, flag], self._in_spec)\n"
            "    eq = t_2 == 3;  t_2 = None\n") in traced.code
    assert "    return pytree.tree_unflatten([sub, sub, x], self._out_spec)" in traced.code
    assert [n.name for n in traced.graph.nodes if n.op == "placeholder"] == ["x", "t_1", "t_2", "flag_1"]
    for runs in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)),
                 fx.Interpreter(traced).run, fx.Transformer(traced).transform()):
        found = runs(torch.ones(2), {"a": [torch.ones(2), 3]}, True)
        assert found["sum"].tolist() == [0, 0] and found["both"][1].tolist() == [1, 1]
    for number, flag, told in ((4, True, "t has been specialized to have value 3 but got another value"),
                               (3, False, "flag has been specialized to have value True but got another")):
        with pytest.raises(AssertionError, match=told):
            traced(torch.ones(2), {"a": [torch.ones(2), number]}, flag)


def test_interpreters_and_transformers_are_overridden() -> None:
    class Doubled(fx.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            result = super().call_function(target, args, kwargs)
            return result * 2 if target is operator.add else result

    class Counting(fx.Interpreter):
        count = 0

        def run_node(self, n: fx.Node) -> Any:
            self.count += 1
            return super().run_node(n)
    changed = Doubled(fx.symbolic_trace(lambda x: x + 1)).transform()
    run = Counting(changed)
    assert torch.equal(run.run(torch.ones(1)), torch.full((1,), 4.0)) and run.count == 4
