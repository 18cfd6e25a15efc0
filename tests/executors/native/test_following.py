"""Pointwise operators that follow a matrix product, against the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config

pytest.importorskip("llvmlite")

from flambeau.executors.native.fusion import blocks, following
from flambeau.executors.native.llvm.compiling import code, notes
from flambeau.executors.native.programs import known
from flambeau.executors.native.programs.patterns import kept as notes_of_plans
from tests.executors.native.agreement import TEXTS, check_threads, results

F = flambeau.nn.functional


def matrix(*shape: int) -> flambeau.Tensor:
    generator = flambeau.Generator().manual_seed(sum(shape))
    return flambeau.randn(*shape, generator=generator)


def gated(x: Any, w: Any, b: Any) -> Any:
    return F.silu(F.linear(x, w)) * F.linear(x, w, b)


def with_hidden(x: Any, w: Any, b: Any) -> Any:
    h = F.linear(x, w, b)
    return h, F.gelu(h)


def added(x: Any, w: Any, b: Any) -> Any:
    h = F.linear(x, w)
    return flambeau.tanh(h) * b + h.new_ones(h.shape[-1]) - 0.5, h > 0


# function, and how many of its products are followed
CASES: dict[str, tuple[Callable[..., Any], int]] = {
    "relu": (lambda x, w, b: F.relu(F.linear(x, w, b)), 1),
    "the product is kept": (with_hidden, 1),
    "numbers and vectors": (added, 1),
    "only of another type": (lambda x, w, b: F.linear(x, w, b) > 0.25, 1),
    "two products": (gated, 1),
    "mm": (lambda x, w, b: flambeau.sigmoid(x.reshape(-1, x.shape[-1]) @ w.t()) + b, 1),
    "addmm": (lambda x, w, b: flambeau.addmm(b, x.reshape(-1, x.shape[-1]), w.t(), alpha=2).exp(), 1),
    "a derivative": (lambda x, w, b: (x * 2).cos() * (F.linear(x, w.t()[:x.shape[-1], :x.shape[-1]])), 1),
    "transposed": (lambda x, w, b: F.relu((w @ x.reshape(-1, x.shape[-1]).t()).t()), 1),
    "a sum besides": (lambda x, w, b: F.relu(F.linear(x, w, b)).sum(0), 0),
    "read in another order": (lambda x, w, b: F.linear(x, w, b).transpose(0, 1).contiguous().relu(), 0),
    "a batch of products": (lambda x, w, b: F.relu(x @ x.transpose(-1, -2)), 0),
}
SHAPES = [(1, 1, 40, 30), (2, 3, 17, 33), (5, 20, 96, 200), (130, 8, 64, 100)]


def followed() -> int:
    """How many products of the latest program other operators follow."""
    assert known._latest is not None and known._latest.family.pattern is not None
    pattern = known._latest.family.pattern
    names = [[pattern.signatures[k].operator.name for k in members] for members in pattern.stages]
    return sum(own[0] in ("linear", "matmul", "mm", "addmm") and len(own) > 1 for own in names)


def operands(case: tuple[int, ...]) -> tuple[flambeau.Tensor, ...]:
    batch, length, depth, width = case
    found = matrix(batch, length, depth), matrix(width, depth), matrix(width)
    flambeau.synchronize()
    return found


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_the_interpreter(name: str, shape: tuple[int, ...]) -> None:
    function, expected = CASES[name]
    if name == "a derivative":
        shape = (*shape[:2], *sorted(shape[2:]))
    given = operands(shape)
    want = results(function, given, "interpreter")
    known.clear()
    found = results(function, given, "native")
    assert followed() == expected or shape[0] == 1
    for (strides, x), (other, y) in zip(found, want, strict=True):
        assert strides == other and x.dtype == y.dtype
        np.testing.assert_allclose(x, y, 2e-4, 2e-4)


def test_the_product_lies_where_the_result_does_unless_it_is_read() -> None:
    for name, kept in (("relu", False), ("the product is kept", True), ("only of another type", True)):
        known.clear()
        results(CASES[name][0], operands((5, 20, 96, 200)), "native")
        assert known._latest is not None and known._latest.program is not None
        pattern, plans = known._latest.family.pattern, known._latest.family.arrangements[0].plans
        assert pattern is not None
        written = [m for plan in plans if plan is not None for call in plan.calls
                   for _, m, _ in call.words.outputs]
        assert (0 in written) == kept, name


@pytest.mark.parametrize("dtype", [flambeau.float64, flambeau.bfloat16, flambeau.float16])
def test_other_types(dtype: flambeau.dtype) -> None:
    given = [x.to(dtype) for x in operands((3, 20, 64, 100))]
    function = CASES["relu"][0]
    tolerance = 1e-12 if dtype is flambeau.float64 else 0.1
    for (_, x), (_, y) in zip(results(function, given, "native"), results(function, given, "interpreter")):
        np.testing.assert_allclose(x, y, tolerance, tolerance)


@pytest.mark.parametrize("name", ["relu", "the product is kept", "numbers and vectors", "two products"])
def test_other_shapes_compile_nothing_and_threads_change_nothing(name: str) -> None:
    function = CASES[name][0]
    known.clear()
    for shape in ((5, 20, 96, 200), (3, 30, 64, 100), (2, 150, 1500, 90)):
        results(function, operands(shape), "native")
    before = len(TEXTS)
    given = operands((7, 41, 100, 130))
    results(function, given, "native")
    assert len(TEXTS) == before
    check_threads(function, given)


def test_a_follower_waits_for_its_other_operands() -> None:
    """What reads the product earlier keeps the kernel from following it; what reads it later does not."""
    def earlier(x: Any, w: Any, b: Any) -> Any:
        h = F.linear(x, w, b)
        return F.relu(h) * F.linear(h, h.new_ones((h.shape[-1], h.shape[-1])) * 0.1)

    def later(x: Any, w: Any, b: Any) -> Any:
        h = F.linear(x, w, b)
        return F.linear(F.relu(h), w.t()) + F.linear(h, w.t())

    for function in (earlier, later):
        given = operands((5, 20, 96, 200))
        want = results(function, given, "interpreter")
        known.clear()
        found = results(function, given, "native")
        for (_, x), (_, y) in zip(found, want):
            np.testing.assert_allclose(x, y, 2e-3, 2e-3)


def test_the_product_in_a_training_step() -> None:
    """Gradients through followers, whose pre-activations are kept for the backward pass."""
    def run(tier: str) -> list[Any]:
        with config.executor(tier):
            x, w, b = (t.clone().requires_grad_() for t in operands((4, 30, 48, 64)))
            F.gelu(F.linear(x, w, b)).square().mean().backward()
            return [leaf.grad.numpy() for leaf in (x, w, b)]
    for one, other in zip(run("native"), run("interpreter")):
        np.testing.assert_allclose(one, other, 1e-4, 1e-5)


def test_code_is_one_object_before_and_after_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or no formula would be found where nothing lies on disk: plans would be compared, and differ."""
    asked: list[Any] = []
    follower = blocks.follower
    monkeypatch.setattr(following, "follower", lambda block: asked.append(block) or follower(block))
    monkeypatch.setattr(notes_of_plans, "key_of", lambda *arguments: None)
    known.clear()
    following._plans.clear()
    with config.executor("native"):
        F.relu(F.linear(matrix(9, 5), matrix(7, 5))).tolist()
    monkeypatch.setattr(code, "_functions", {})
    monkeypatch.setattr(code, "_kept", lambda entry, names: None)
    monkeypatch.setattr(notes, "find", lambda key: None)
    follower.cache_clear()
    first, = {follower(block) for block in asked}
    assert first is not None
    index(first[0])     # compiles it
    second = follower(asked[0])
    assert second is not None and second[0] is first[0]
