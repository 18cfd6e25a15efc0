"""Random operators in native code: the interpreter's numbers and states, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import config
from flambeau.executors.native.templates import plan_of
from tests.executors.native.agreement import TEXTS, forget, is_native

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
# Around the group of 16, batches of 64, the block of 624 words, four blocks at a time, and larger.
SIZES = [0, 1, 15, 16, 17, 63, 65, 312, 623, 624, 625, 1249, 2497, 10007, 40000]
# Words drawn before: the stream stands at the start, within or at the end of a block.
POSITIONS = [0, 5, 619, 624]

Draw = Callable[[], Any]


def drawn(tier: str, before: int, draw: Draw) -> tuple[bytes, bytes]:
    """Values and the state after them."""
    with config.executor(tier):
        torch.manual_seed(11)
        if before:
            torch.rand(before).tolist()
        values = draw()
        values = values.float() if values.dtype is torch.bfloat16 else values
        return values.numpy().tobytes(), torch.get_rng_state().numpy().tobytes()


def check(draw: Draw) -> None:
    """Both tiers draw the same."""
    for before in POSITIONS:
        assert drawn("native", before, draw) == drawn("interpreter", before, draw)


def of_floats(n: int, dtype: Any) -> dict[str, Draw]:
    return {
        "rand": lambda: torch.rand(n, dtype=dtype),
        "uniform_": lambda: torch.empty(n, dtype=dtype).uniform_(-0.7, 2.3),
        "randn": lambda: torch.randn(n, dtype=dtype),
        "normal_": lambda: torch.empty(n, dtype=dtype).normal_(0.1, 0.3),
        "exponential_": lambda: torch.empty(n, dtype=dtype).exponential_(1.5),
        "geometric_": lambda: torch.empty(n, dtype=dtype).geometric_(0.2),
        "cauchy_": lambda: torch.empty(n, dtype=dtype).cauchy_(0.1, 0.3),
        "log_normal_": lambda: torch.empty(n, dtype=dtype).log_normal_(0.1, 0.3),
        "dropout": lambda: torch.nn.functional.dropout(torch.ones(n, dtype=dtype), 0.3),
        "bernoulli": lambda: torch.bernoulli(torch.linspace(0, 1, n).to(dtype)),
    }


def of_all(n: int, dtype: Any) -> dict[str, Draw]:
    cases: dict[str, Draw] = {
        "bernoulli_": lambda: torch.empty(n, dtype=dtype).bernoulli_(0.3),
        "random_": lambda: torch.empty(n, dtype=dtype).random_(),
        "randint": lambda: torch.randint(2, 100, (n,), dtype=dtype),
    }
    if n <= 127 or dtype in (torch.int64, torch.int32, torch.float32, torch.float64):
        cases["randperm"] = lambda: torch.randperm(n, dtype=dtype)
    return cases


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats(dtype: Any) -> None:
    for n in SIZES:
        for draw in of_floats(n, dtype).values():
            check(draw)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_discrete(dtype: Any) -> None:
    for n in SIZES:
        for draw in of_all(n, dtype).values():
            check(draw)


@pytest.mark.parametrize("name", [*of_floats(1, torch.float32), *of_all(1, torch.int64)])
def test_by_two_threads(name: str) -> None:
    """What another thread draws begins within the stream."""
    n = 300_007
    draw = {**of_floats(n, torch.float32), **of_all(n, torch.int64)}[name]
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for _ in range(3):
            check(draw)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("low, high", [(0, 1), (0, 7), (-5, (1 << 28) - 6), (0, 1 << 28), (-5, 1 << 40),
                                       (-(1 << 63), (1 << 63) - 1)])
def test_widths(low: int, high: int) -> None:
    check(lambda: torch.randint(low, high, (10007,)))


@pytest.mark.parametrize("shape", [(30, 50), (2, 3, 5, 7)])
def test_order_of_memory(shape: tuple[int, ...]) -> None:
    check(lambda: torch.empty(shape).transpose(0, 1).bernoulli_(0.3))
    check(lambda: torch.empty(shape).transpose(0, 1).uniform_())
    check(lambda: torch.empty(shape).transpose(0, 1).normal_())
    check(lambda: torch.empty(shape)[..., ::2].uniform_())
    check(lambda: torch.nn.functional.dropout(torch.ones(shape).transpose(0, 1), 0.1))


def test_probabilities() -> None:
    for p in (0.0, 1.0, 2.0 ** -53, 0.5):
        check(lambda p=p: torch.empty(1000).bernoulli_(p))  # type: ignore[misc]
    check(lambda: torch.bernoulli(torch.rand(30, 40).t()))
    check(lambda: torch.bernoulli(torch.rand(40)[::2]))


@pytest.mark.parametrize("before", POSITIONS)
def test_a_probability_that_is_just_drawn(before: int) -> None:
    """The first of an element's two words is then that of the threshold, and the second one decides."""
    def drawn_after(draw: Callable[[], Any]) -> Any:
        torch.manual_seed(11)
        torch.rand(before).tolist()
        return draw().tolist()

    n = 700
    with config.executor("native"):
        numbers = drawn_after(lambda: torch.rand(n, dtype=torch.float64))
        for k in (0, 7, 16, 333, 690, n - 1):
            for p in (numbers[k], numbers[k] + 2.0 ** -53):
                tosses = drawn_after(lambda p=p: torch.empty(n, dtype=torch.bool).bernoulli_(p))  # type: ignore
                assert tosses == [x < p for x in numbers]
                assert tosses[k] == (p > numbers[k])


def test_draws_that_follow_each_other() -> None:
    def draw() -> Any:
        parts = [torch.rand(7), torch.randn(20), torch.randn(3), torch.empty(9).bernoulli_(0.5),
                 torch.randperm(10).float(), torch.randn(700)]
        return torch.cat(parts)
    check(draw)


def test_another_size_compiles_nothing() -> None:
    def draw(n: int) -> None:
        with config.executor("native"):
            for case in (of_floats(n, torch.float32), of_all(n, torch.int64)):
                for one in case.values():
                    one().numpy()
    draw(100)
    before = len(TEXTS)
    draw(1003)
    assert len(TEXTS) == before


@pytest.mark.parametrize("n", [3, 100])
def test_they_are_native(n: int) -> None:
    before = torch.randn(100)       # pending: from a state that is known a few numbers are drawn at once
    x = torch.randn(n)
    node = x._storage.node.operands[0]
    assert node.signature is not None
    assert plan_of(node.signature) is not None
    assert np.isfinite(x.numpy()).all() and np.isfinite(before.numpy()).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_number_of_a_pair_is_kept_for_the_next_draw(dtype: Any) -> None:
    def draw() -> Any:
        parts = [torch.empty(n, dtype=dtype).normal_(0.3, 2.5) for n in (1, 1, 3, 15, 16, 2, 1, 40, 7, 4)]
        return torch.cat(parts)

    check(draw)


def by_rejection(n: int, dtype: Any) -> dict[str, Draw]:
    """Shapes, rates and trials on both sides of where the formulas change."""
    spread = torch.linspace(-6, 6, n, dtype=torch.float64).exp()
    chances = torch.linspace(-0.05, 1.05, n, dtype=torch.float64)
    trials = (spread * 3).floor()
    x, p, count = (v.to(dtype) for v in (spread, chances, trials))
    return {
        "gamma": lambda: torch._standard_gamma(x),
        "poisson": lambda: torch.poisson(x),
        "binomial": lambda: torch.binomial(count, p),
        "dirichlet": lambda: torch._sample_dirichlet(x[:n // 3 * 3].reshape(-1, 3)),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_by_rejection(dtype: Any) -> None:
    for n in (1, 3, 100, 311, 624, 5000):
        for name, draw in by_rejection(n, dtype).items():
            if name != "dirichlet" or n >= 3:
                check(draw)
                if n == 100:    # a normal number is kept before
                    check(lambda d=draw: torch.cat([  # type: ignore[misc]
                        torch.empty(1, dtype=dtype).normal_(), d().flatten(), torch.rand(1, dtype=dtype)]))


def test_parameters_at_their_ends() -> None:
    ends = torch.tensor([0.0, -1.0, float("nan"), 1e-45, 1e-30, 1e30, float("inf")])
    check(lambda: torch._standard_gamma(ends[[0, 1, 3, 4, 5]]))
    check(lambda: torch.poisson(torch.tensor([0.0, 1e-30, 9.99, 10.0, 1e18, 1e19, float("inf")])))
    check(lambda: torch.binomial(torch.tensor([0.0, 5, 5, 5, 5, 1e6, 1e6]),
                                 torch.tensor([0.5, 0, 1, 1e-30, 0.5, 0.7, 1e-5])))
    for tier in ("native", "interpreter"):
        with config.executor(tier), pytest.raises(RuntimeError, match="invalid Poisson rate"):
            torch.poisson(ends).tolist()


def test_samplers_are_native() -> None:
    forget()
    with config.executor("native"):
        for draw in by_rejection(100, torch.float32).values():
            draw().tolist()
    assert all(map(is_native, ("standard_gamma", "poisson", "binomial")))
