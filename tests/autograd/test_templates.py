"""Backward by templates (``autograd.templates``) gives what the derivative rules give, bit for bit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given

import flambeau as torch
from flambeau.autograd import templates
from flambeau.tensor import tape
from flambeau.tensor.recording import tape_plans
from tests.properties.program import Program
from tests.properties.test_programs import observe, programs, thorough


@pytest.fixture(autouse=True, scope="module")
def one_tier() -> Iterator[None]:
    """One executor throughout: another may round otherwise, and graphs change tiers as they come back."""
    with torch.config.executor("interpreter"):
        yield


def by_rules(run: Callable[[], Any]) -> Any:
    """What ``run`` gives when every derivative rule runs."""
    with torch.config.backward_templates(False):
        return run()


@thorough
@given(program=programs)
def test_random_programs(program: Program) -> None:
    want = repr(by_rules(lambda: observe(torch, program)))
    for _ in range(5):      # runs the rules, makes templates, uses them, makes a route, follows it
        assert repr(observe(torch, program)) == want


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The GradFns whose rules ran in template walks, as if no shape had come before."""
    for kind in tape_plans._kinds.values():
        kind.patience = kind.patience or tape.PATIENCE
    seen: list[Any] = []
    plain = templates.TemplateWalk._trace

    def counting(self: Any, fn: Any, *rest: Any) -> None:
        seen.append(fn.name())
        plain(self, fn, *rest)
    monkeypatch.setattr(templates.TemplateWalk, "_trace", counting)
    return seen


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float32, requires_grad=True)


def gradient(function: Callable[..., Any], *leaves: Any) -> Any:
    for x in leaves:
        x.grad = None
    function(*leaves).sum().backward()
    return [None if x.grad is None else x.grad.tolist() for x in leaves]


def test_the_third_time_no_rule_runs(traced: list[Any]) -> None:
    def f(x: Any, w: Any) -> Any:
        return torch.tanh(x * w + 1.5).relu()
    first = gradient(f, leaf(1, 2), leaf(3, 4))
    assert gradient(f, leaf(1, 2), leaf(3, 4)) == first
    del traced[:]
    assert gradient(f, leaf(1, 2), leaf(3, 4)) == first
    assert traced == []


def test_nothing_is_made_for_what_comes_once(traced: list[Any]) -> None:
    def f(x: Any) -> Any:
        return torch.sinh(torch.sinh(torch.sinh(x)))    # that they are alike in one pass does not count
    shape = [float(k) for k in range(23)]
    first = gradient(f, leaf(*shape))
    assert "SinhBackward0" not in traced
    assert gradient(f, leaf(*shape)) == first
    assert traced.count("SinhBackward0") == 2   # one for ``sum``'s gradient, one for both others


def test_an_operand_used_twice_is_not_taken_for_two() -> None:
    for _ in range(3):
        assert gradient(lambda x, z: x * x, leaf(3), leaf(5)) == [[6], None]
        assert gradient(lambda x, z: x * z, leaf(3), leaf(5)) == [[5], [3]]


def test_one_gradient_of_two_results_is_not_taken_for_two() -> None:
    for factor in (1.0, 1.0, 1.0, 2.0, 3.0):
        x = torch.arange(4.0, requires_grad=True)
        a, b = x.chunk(2)
        (a + b * factor if factor > 1 else a + b).exp().sum().backward()
        first, second = (torch.arange(2.0) + factor * torch.arange(2.0, 4.0)).exp().repeat(2, 1)
        assert torch.allclose(x.grad, torch.cat([first, factor * second]))


@pytest.mark.parametrize("exponents", [(2, 3), (0.5, 2.0), (0.0, -0.0), (1, 1.0), (True, 1)])
def test_numbers_are_told_apart(exponents: Any) -> None:
    for number in (*exponents, *exponents, *exponents):
        for f in (lambda x, n=number: x ** n, lambda x, n=number: x / (n + 2), lambda x, n=number: x * n + n):
            want = by_rules(lambda f=f: gradient(f, leaf(1, 2, 3)))
            assert repr(gradient(f, leaf(1, 2, 3))) == repr(want)


def test_a_number_that_changes_every_time() -> None:
    for i in range(200):
        assert gradient(lambda x, i=i: x * (i + 0.5), leaf(1, 2)) == [[i + 0.5, i + 0.5]]


def test_saved_tensors_written_since_are_refused() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        z = y * y
        y.add_(1)
        return z
    for _ in range(2):
        gradient(lambda x: (x * 2) * (x * 2), leaf(1, 2))
        gradient(lambda x: (x * 2).square(), leaf(1, 2))
    for _ in range(3):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            gradient(f, leaf(1, 2))


def test_a_graph_is_used_up() -> None:
    for _ in range(4):
        x = leaf(1, 2)
        y = torch.sin(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward()


@pytest.mark.parametrize("f", [lambda x: x * 2, lambda x: 2 * x, lambda x: x / 2, lambda x: (x + 0).mul_(2)])
def test_a_product_with_a_number_is_used_up(f: Any) -> None:
    for _ in range(4):      # by its rule, then by its template
        y = f(leaf(1, 2)).sum()
        y.backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward()
    y = (leaf(1, 2) + 1).sum()
    y.backward()
    y.backward()


def test_hooks_and_functions_in_between() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    def f(x: Any) -> Any:
        y = torch.exp(x)
        y.register_hook(lambda grad: grad * 10)
        y.retain_grad()
        kept.append(y)
        return Double.apply(y) * y.detach()
    kept: list[Any] = []
    want = by_rules(lambda: gradient(f, leaf(0, 1)))
    for _ in range(4):
        assert gradient(f, leaf(0, 1)) == want
    assert all(y.grad.tolist() == kept[0].grad.tolist() for y in kept)


def test_saved_tensor_hooks() -> None:
    for _ in range(2):
        gradient(lambda x: x * x, leaf(3))
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach(), lambda x: x * 10):
        x = leaf(3)
        y = x * x
    y.backward()
    assert x.grad.tolist() == [60]


def test_gradients_accumulate_in_place() -> None:
    for _ in range(4):
        x = leaf(1, 2)
        (x * 3).sum().backward()
        held = x.grad
        (x * 4).sum().backward()
        assert x.grad is held and held.tolist() == [7, 7]


def test_leaves_reached_by_one_gradient_do_not_share_memory() -> None:
    for _ in range(4):
        x, y = leaf(1, 2), leaf(3, 4)
        (x + y).sum().backward()
        x.grad.mul_(5)
        assert (x.grad.tolist(), y.grad.tolist()) == ([5, 5], [1, 1])


def test_memory_seen_from_outside() -> None:
    for _ in range(4):
        x = leaf(1, 2)
        y = torch.exp(x.detach())
        seen = y.numpy()
        z = (x * y).sum()
        z.backward()
        assert x.grad.tolist() == y.tolist()
        del seen


def test_grad_for_inputs_in_the_middle() -> None:
    for _ in range(4):
        x = leaf(1, 2)
        y = x * 3
        z = y * y
        by_x, by_y = torch.autograd.grad(z.sum(), (x, y))
        assert (by_x.tolist(), by_y.tolist()) == ([18, 36], [6, 12])


def test_second_derivatives_are_left_to_the_rules() -> None:
    for _ in range(4):
        x = leaf(2, 3)
        (first,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
        first.sum().backward()
        assert x.grad.tolist() == [12, 18]


def test_a_loop_s_first_pass_runs_rules_a_few_times(traced: list[Any]) -> None:
    def f(x: Any) -> Any:
        for _ in range(12):
            x = torch.asinh(x)
        return x
    x = torch.rand(17, 3, requires_grad=True)   # a shape of which no other test differentiates asinh
    got = gradient(f, x)
    assert traced == ["AsinhBackward0"]     # once, after a few that were not watched
    assert got == by_rules(lambda: gradient(f, x))


def test_shapes_that_follow_a_loop_have_templates_at_once(traced: list[Any]) -> None:
    weight = leaf(0.5, 0.25)

    def run(length: int) -> Any:
        x = torch.ones(length, 2)
        for _ in range(8):
            x = (x * weight).t().asinh().t()
        return gradient(lambda w: x, weight)

    assert run(3) == by_rules(lambda: run(3))
    assert traced.count("AsinhBackward0") == 1
    for length in (5, 7, 4):
        traced.clear()
        assert run(length) == by_rules(lambda length=length: run(length))
        assert traced.count("AsinhBackward0") == 2      # one for ``sum``'s gradient, one for all others
        assert "TBackward0" not in traced


def test_loops_of_any_length_whose_results_are_stacked(traced: list[Any]) -> None:
    """A step's gradient is a part of the stack's, each of another place, and of another stack each time."""
    weight = leaf(0.5, -0.2)

    def loop(steps: int) -> Any:
        state, found = torch.ones(2), []
        for _ in range(steps):
            state = torch.tanh(state * weight)
            found.append(state.exp().view(1, 2).squeeze(0))
        return gradient(lambda w: torch.stack(found).square() * torch.arange(1.0, steps + 1)[:, None], weight)

    for steps in range(3, 40):
        loop(steps)
    traced.clear()
    assert loop(41) == by_rules(lambda: loop(41))
    assert len(traced) < 41 + 10    # a copy of each part, and what has this length


def test_another_default_type() -> None:
    def f(x: Any) -> Any:
        return torch.nn.functional.gelu(x).prod()
    gradient(f, leaf(1, 2))
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        for _ in range(3):
            assert gradient(f, leaf(1, 2)) == by_rules(lambda: gradient(f, leaf(1, 2)))
    finally:
        torch.set_default_dtype(before)


def test_templates_hold_no_values() -> None:
    import weakref
    x = leaf(1, 2)
    for _ in range(3):
        storage = weakref.ref((y := torch.exp(x))._storage)
        y.sum().backward()
        x.grad.tolist()
    del x, y
    gc.collect()
    assert storage() is None
