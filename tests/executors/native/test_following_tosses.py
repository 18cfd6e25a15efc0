"""What drops elements, behind the tosses that decide on them: the interpreter's values, masks and states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau import config

pytest.importorskip("llvmlite")

from flambeau.executors.native.fusion import past
from flambeau.executors.native.programs import known

F = torch.nn.functional

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
# Batches, rows that end within them, two parts, and results that go past the caches.
SHAPES = [(1, 1), (3, 7), (33, 65), (700, 1), (5, 1249), (130, 513), (257, 1024)]


def trained(x: Any, b: Any) -> Any:
    leaf = x.detach().requires_grad_()
    y = F.dropout(leaf, 0.4)
    (y * y).sum().backward()
    return y.detach(), leaf.grad


def twice(x: Any, b: Any) -> Any:
    return F.dropout(x, 0.25), F.dropout(x, 0.75)


# function, and how many of its tosses are followed
CASES: dict[str, tuple[Callable[..., Any], int]] = {
    "alone": (lambda x, b: F.dropout(x, 0.1), 1),
    "a residual": (lambda x, b: F.dropout(x.tanh(), 0.3) + x, 1),
    "a bias for each column": (lambda x, b: F.dropout(x + b, 0.5), 1),
    "and a comparison": (lambda x, b: (lambda y: (y, y > 0))(F.dropout(x, 0.5)), 1),
    "two of them": (twice, 2),
    "in another order": (lambda x, b: F.dropout(x.t(), 0.5), 1),
    "every second row": (lambda x, b: F.dropout(x[::2], 0.5), 0),
    "a mask that is kept": (trained, 1),
    "its mask is a result": (lambda x, b: torch.native_dropout(x, 0.5, True), 1),
    "of a row for all": (lambda x, b: F.dropout(b, 0.5) * x, 1),
    "whole channels": (lambda x, b: F.dropout1d(x[None], 0.5), 0),
    "a sum besides": (lambda x, b: F.dropout(x, 0.5).sum(), 0),
}


def followed() -> int:
    """How many tosses of the latest program something follows."""
    assert known._latest is not None and known._latest.family.pattern is not None
    pattern = known._latest.family.pattern
    names = [[pattern.signatures[k].operator.name for k in members] for members in pattern.stages]
    return sum(own[0] == "bernoulli" and len(own) > 1 for own in names)


def found(tier: str, function: Callable[..., Any], shape: tuple[int, int], dtype: Any, before: int) -> Any:
    generator = torch.Generator().manual_seed(sum(shape))
    with config.executor(tier):
        x = torch.randn(*shape, generator=generator).to(dtype)
        b = torch.randn(shape[1], generator=generator).to(dtype)
        torch.manual_seed(5)
        torch.rand(before)
        torch.synchronize()
        results = function(x, b)
        torch.synchronize()
        results = results if isinstance(results, tuple) else (results,)
        return [(y.dtype, y.stride(), y.double().tolist()) for y in results], torch.get_rng_state().tolist()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_agrees_with_the_interpreter(name: str, dtype: Any) -> None:
    function, _ = CASES[name]
    for shape, before in zip(SHAPES, (0, 1, 5, 619, 624, 3, 2)):
        native, expected = (found(tier, function, shape, dtype, before) for tier in ("native", "interpreter"))
        assert native[1] == expected[1]
        for own, other in zip(native[0], expected[0]):
            assert own[:2] == other[:2]
            if name in ("a residual", "a sum besides"):     # tanh and sums differ in the last bits
                assert_near(own[2], other[2])
            else:
                assert own[2] == other[2]


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("a residual", "a sum besides")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_results_that_go_past_the_caches(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "LAST_CACHE", 0)
    for shape in ((34, 64), (9, 1312), (66, 1024), (5, 1251)):
        native = found("native", CASES[name][0], shape, dtype, 7)
        assert native == found("interpreter", CASES[name][0], shape, dtype, 7)


def assert_near(own: Any, other: Any) -> None:
    a, b = torch.as_tensor(own, dtype=torch.float64), torch.as_tensor(other, dtype=torch.float64)
    assert torch.allclose(a, b, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", CASES)
def test_what_follows(name: str) -> None:
    function, expected = CASES[name]
    x, b = torch.randn(130, 513), torch.randn(513)
    torch.synchronize()
    with config.executor("native"):
        results = function(x, b)
        torch.synchronize()
    assert results is not None
    assert followed() == (expected if torch.get_num_threads() <= 2 else 0)


def test_a_product_is_followed_rather() -> None:
    x, w = torch.randn(64, 32), torch.randn(48, 32)
    torch.synchronize()
    with config.executor("native"):
        y = F.dropout(F.linear(x, w), 0.5)
        torch.synchronize()
        assert y.shape == (64, 48)
        assert followed() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_past_the_caches(dtype: Any) -> None:
    """Also where a batch ends within a line."""
    for shape in ((2100, 2048), (1, 4_300_001)):
        x = torch.ones(*shape, dtype=dtype)
        torch.synchronize()
        results = []
        for tier in ("native", "interpreter"):
            with config.executor(tier):
                torch.manual_seed(1)
                results.append(F.dropout(x, 0.1))
                torch.synchronize()
        assert bool((results[0] == results[1]).all())


def test_by_one_thread() -> None:
    threads = torch.get_num_threads()
    x = torch.ones(300, 1000)
    torch.synchronize()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            with config.executor("native"):
                torch.manual_seed(1)
                results.append((F.dropout(x, 0.1).tolist(), torch.get_rng_state().tolist()))
    finally:
        torch.set_num_threads(threads)
    assert results[0] == results[1] == results[2]
