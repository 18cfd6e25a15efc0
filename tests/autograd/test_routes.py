"""Backward passes that are recorded at once give what passes by the rules give."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

import flambeau as torch
from flambeau import config
from flambeau.autograd import routes, templates
from flambeau.executors import native

F = torch.nn.functional


@pytest.fixture(autouse=True, params=["python", "native"])
def no_routes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins with no route known, and has one executor: another may round otherwise.

    Routes that were followed once are followed by Python's code, or by native code.
    """
    routes._starts.clear()
    if request.param == "native":
        pytest.importorskip("llvmlite")
        native._executor()
    else:
        monkeypatch.setattr(native, "recorder", lambda steps, first: None)
    monkeypatch.setattr(templates, "swapped", [])
    with config.executor("interpreter"):
        yield
    routes._starts.clear()


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each pass that was compared with a route, whether it followed it."""
    found: list[bool] = []
    follow = routes.Route.follow

    def watched(*args: Any) -> Any:
        reached = follow(*args)
        found.append(reached is not None)
        return reached
    monkeypatch.setattr(routes.Route, "follow", watched)
    return found


class Model:
    """Four weights, two of which a step may take for each other, and one input."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.a, self.b, self.c, self.d = [torch.randn(4, 4, requires_grad=True) for _ in range(4)]
        self.x = torch.randn(3, 4)
        self.number = 2.0

    def loss(self) -> Any:
        h = torch.tanh(self.x @ self.a) * self.number
        return ((h @ self.b + h @ self.c).chunk(2, 1)[0] ** 2).sum() + F.mse_loss(h @ self.d, self.x)

    def gradients(self) -> list[Any]:
        leaves = [self.a, self.b, self.c, self.d]
        found = [p.grad.tolist() if p.is_leaf and p.grad is not None else None for p in leaves]
        for p in leaves:
            if p.is_leaf:
                p.grad = None
        return found


def _another_leaf(m: Model) -> None:
    m.b = torch.ones(4, 4, requires_grad=True)


def _same_leaf_twice(m: Model) -> None:
    m.c = m.b


def _number(m: Model) -> None:
    m.number = 3.0


def _negative_zero(m: Model) -> None:
    m.number = -0.0


def _no_gradient(m: Model) -> None:
    m.b = m.b.detach()


def _leaf_is_computed(m: Model) -> None:
    m.b = m.b * 1.0


def _leaf_is_a_view(m: Model) -> None:
    m.b = (torch.arange(16.0).view(4, 4) / 16).requires_grad_().t()


def _input_wants_gradient(m: Model) -> None:
    m.x.requires_grad_()


def _hook(m: Model) -> None:
    m.a.register_hook(lambda grad: grad * 10)


def _other_order(m: Model) -> None:
    def loss() -> Any:
        other = F.mse_loss(torch.tanh(m.x @ m.a) * m.number @ m.d, m.x)
        h = torch.tanh(m.x @ m.a) * m.number
        return ((h @ m.b + h @ m.c).chunk(2, 1)[0] ** 2).sum() + other
    m.loss = loss  # type: ignore[method-assign]


def _other_output(m: Model) -> None:
    def loss() -> Any:
        h = torch.tanh(m.x @ m.a) * m.number
        return ((h @ m.b + h @ m.c).chunk(2, 1)[1] ** 2).sum() + F.mse_loss(h @ m.d, m.x)
    m.loss = loss  # type: ignore[method-assign]


def _operands_exchanged(m: Model) -> None:
    m.b, m.c = m.c, m.b


def _nothing(m: Model) -> None:
    pass


CHANGES: list[tuple[Callable[[Model], None], bool]] = [
    (_nothing, True), (_another_leaf, True), (_operands_exchanged, True), (_hook, True),
    (_same_leaf_twice, False), (_number, False), (_negative_zero, False), (_no_gradient, False),
    (_leaf_is_computed, False), (_leaf_is_a_view, False), (_input_wants_gradient, False),
    (_other_order, False), (_other_output, False)]


@pytest.mark.parametrize(("change", "follows"), CHANGES, ids=[c.__name__[1:] for c, _ in CHANGES])
def test_changed_pass(change: Callable[[Model], None], follows: bool, followed: list[bool]) -> None:
    m, expected = Model(), Model()
    for _ in range(6):
        m.loss().backward()
        m.gradients()
    assert followed and all(followed)
    change(m)
    change(expected)
    followed.clear()
    m.loss().backward()
    assert followed == [follows]
    with config.backward_templates(False):
        expected.loss().backward()
    assert m.gradients() == expected.gradients()


def _followed_model() -> Model:
    m = Model()
    for _ in range(6):
        m.loss().backward()
        m.gradients()
    return m


def test_references_are_counted(followed: list[bool]) -> None:
    m = _followed_model()
    kept = [None, (), m.x._geometry, m.a._storage.node, m.x._storage.node, m.loss().grad_fn.plan]

    def counts() -> list[int]:
        gc.collect()
        return [*map(sys.getrefcount, kept), len(gc.get_objects())]

    def steps() -> list[int]:
        for k in range(300):
            m.number = 2.0 + k % 3    # which differs, for Python's code to walk
            m.loss().backward()
            m.gradients()
        return counts()

    rounds = [steps() for _ in range(4)]
    assert True in followed and False in followed
    # What is remembered, or forgotten, changes a count once; one that is wrong changes in every round.
    for column in zip(*rounds):
        assert min(abs(b - a) for a, b in pairwise(column)) < 250, rounds


def test_gradients_of_all_leaves(followed: list[bool]) -> None:
    m = Model()
    leaves = [m.a, m.b, m.c, m.d]
    found = [[g.tolist() for g in torch.autograd.grad(m.loss(), leaves)] for _ in range(7)]
    assert followed and all(followed)
    assert found == [found[0]] * 7 and all(p.grad is None for p in leaves)


def test_gradients_of_some_leaves(followed: list[bool]) -> None:
    m = _followed_model()
    with config.backward_templates(False):
        expected = [g.tolist() for g in torch.autograd.grad(m.loss(), [m.b, m.d])]
    followed.clear()
    assert [g.tolist() for g in torch.autograd.grad(m.loss(), [m.b, m.d])] == expected
    assert followed == [False]
    unused = torch.ones(2, requires_grad=True)
    gradients = torch.autograd.grad(m.loss(), [m.a, m.b, m.c, m.d, unused], allow_unused=True)
    assert followed == [False, True] and gradients[4] is None and gradients[1].tolist() == expected[0]
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        torch.autograd.grad(m.loss(), [m.a, m.b, m.c, m.d, unused])


def test_inputs_however_they_are_given(followed: list[bool]) -> None:
    m = _followed_model()
    leaves = [m.a, m.b, m.c, m.d]
    with config.backward_templates(False):
        expected = [g.tolist() for g in torch.autograd.grad(m.loss(), leaves)]
    followed.clear()
    again = torch.autograd.grad(m.loss(), (x for x in [*leaves[::-1], m.a]))
    assert [g.tolist() for g in again] == [*expected[::-1], expected[0]]
    again[0].add_(1)
    again[3].add_(1)    # of the two of one input each has its own
    assert again[4].tolist() == expected[0]
    handle = m.b.register_hook(lambda g: g * 2)
    hooked = torch.autograd.grad((m.loss(),), tuple(leaves), (torch.tensor(1.0),))
    handle.remove()
    assert [hooked[0].tolist(), (hooked[1] / 2).tolist(), hooked[3].tolist()] \
        == [expected[0], expected[1], expected[3]]
    assert followed == [True, True]
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.grad(m.loss(), leaves, torch.ones(1))
    scaled = torch.autograd.grad(m.loss(), m.d, torch.tensor(1.0, dtype=torch.float64))
    assert scaled[0].dtype is torch.float32


def test_leaf_that_is_an_output(followed: list[bool]) -> None:
    x, y = torch.ones((), requires_grad=True), torch.ones(2, requires_grad=True)
    for _ in range(6):
        torch.autograd.grad((x * 3), [x])
    assert followed[-1]
    gradients = torch.autograd.grad([x * 3, y], [x, y], [torch.ones(()), torch.ones(2)])
    assert [g.tolist() for g in gradients] == [3.0, [1.0, 1.0]]
    torch.autograd.backward([x * 3, x])
    assert x.grad.tolist() == 4.0


def test_second_backward_is_refused(followed: list[bool]) -> None:
    m = _followed_model()
    loss = m.loss()
    loss.backward()
    assert followed[-1]
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_retained_graph_accumulates(followed: list[bool]) -> None:
    m = _followed_model()
    loss = m.loss()
    loss.backward(retain_graph=True)
    loss.backward()
    assert followed[-2:] == [True, True]
    twice = m.gradients()
    m.loss().backward()
    assert twice == [(2 * torch.tensor(once)).tolist() for once in m.gradients()]


def test_number_lets_go_of_its_graph() -> None:
    x = torch.ones(2, requires_grad=True)
    for _ in range(6):
        (x * 2).sum().backward()
    y = (x * 2).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_saved_tensor_that_was_written() -> None:
    w = torch.ones(3, requires_grad=True)
    for k in range(8):
        x = torch.ones(3)
        y = (w * x).sum()
        if k == 7:
            x.add_(1)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.backward()
        else:
            y.backward()


def test_lengths_that_differ_keep_no_route(followed: list[bool]) -> None:
    w = torch.eye(3, requires_grad=True)
    for n in (1, 2, 3, 1, 4, 2, 5, 3, 1, 6):
        x = torch.ones(3)
        for _ in range(n):
            x = torch.tanh(w @ x)
        w.grad = None
        x.sum().backward()
    assert not followed


def test_route_that_no_longer_fits_is_given_up(followed: list[bool]) -> None:
    m = _followed_model()
    m.a.register_hook(lambda grad: grad)
    m.number = 5.0
    for _ in range(40):
        m.loss().backward()
        m.gradients()
    assert followed[-1] and sum(not x for x in followed) < 20


def test_class_that_overrides_is_not_saved_unseen(followed: list[bool]) -> None:
    class Other(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    w = torch.ones(3, requires_grad=True)
    x = torch.ones(3)
    for _ in range(6):
        (w * x).sum().backward()
    assert followed[-1]
    (w * x.as_subclass(Other)).sum().backward()
    assert not followed[-1]
    assert w.grad.tolist() == [7.0] * 3


def test_many_passes_that_start_alike(followed: list[bool]) -> None:
    w = torch.ones(3, requires_grad=True)
    for n in range(1, 14):
        followed.clear()
        for _ in range(6):
            x = w
            for _ in range(n):
                x = x * 1.5
            x.sum().backward()
        assert followed[-1]


def test_custom_function_takes_no_route(followed: list[bool]) -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    for _ in range(8):
        x.grad = None
        Double.apply(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
    assert not followed


def _filled_in(w: Any, x: Any, order: list[int]) -> Any:
    """A buffer that is written step by step, overwritten, and read again."""
    out = torch.zeros(3, 6, 4)
    h = torch.zeros(3, 4)
    for t in order:
        h = torch.tanh(x[:, t] + h @ w)
        out[:, t] = h
        out[0, t, 1:-1] *= 2
        kept = out[:, t] * 1.0
        (kept * 3).sum()
        kept.copy_(h[0] * 2)
        h = h + kept
        kept.fill_(0.5)
    out[:, 0] = 0.5
    out[1:, 2:4] = x[1:, 2:4]
    return (out ** 2).sum() + out[2, 5].exp().sum()


def test_buffers_that_are_written_step_by_step(followed: list[bool]) -> None:
    torch.manual_seed(0)
    w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 6, 4)
    for order in [[*range(6)]] * 5 + [[5, 1, 2, 3, 4, 0]] + [[*range(6)]] * 2:
        w.grad = None
        _filled_in(w, x, order).backward()
        found = w.grad.tolist()
        w.grad = None
        with config.backward_templates(False):
            _filled_in(w, x, order).backward()
        assert found == w.grad.tolist()
    assert followed[-4:] == [True, False, True, True]
