"""Results take the arrays of operands that nobody sees any more, and of no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config
from flambeau.tensor import Tensor

N = 96
ROUNDS = 5      # at first a graph is new, then it is found again, then glanced at


def filled(*shape: int, dtype: Any = flambeau.float32) -> Tensor:
    count = flambeau.Size(shape).numel()
    x = (flambeau.arange(count) % 7 - 3).to(dtype).reshape(shape)
    flambeau.synchronize()
    return x


def address(x: Tensor) -> int:
    flambeau.synchronize()
    found: int = x._storage.node.value.__array_interface__["data"][0]
    return found


IN_PLACE: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "mul_": lambda x, y: x.mul_(2),
    "add_": lambda x, y: x.add_(y, alpha=2),
    "ema": lambda x, y: x.mul_(0.5).add_(y, alpha=0.25),
    "sgd": lambda x, y: x.sub_(y * 2),
    "relu_": lambda x, y: flambeau.relu_(x),
    "square": lambda x, y: x.mul_(x),
    "a row": lambda x, y: x.add_(y[0]),
    "a column": lambda x, y: x.mul_(y[:, :1]),
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16], ids=str)
def test_one_array_is_changed(name: str, dtype: Any) -> None:
    found = {}
    for tier in ("interpreter", "native"):
        with config.executor(tier):
            x, y = filled(N, N, dtype=dtype), filled(N, N, dtype=dtype)
            places = set()
            for _ in range(ROUNDS):
                IN_PLACE[name](x, y)
                places.add(address(x))
            found[tier] = x.double().numpy()
            assert tier == "interpreter" or len(places) == 1
    np.testing.assert_array_equal(found["native"], found["interpreter"])


def _held(x: Tensor) -> Any:
    return x.detach()


def _view(x: Tensor) -> Any:
    return x[1:, 3]


def _copy(x: Tensor) -> Any:
    return x.clone()


def _array(x: Tensor) -> Any:
    return x.detach().numpy()


def _later(x: Tensor) -> Any:
    return x.t() + 1


KEPT: dict[str, Callable[[Tensor], Any]] = {
    "copy": _copy,
    "pending": _later,
    "pending sum": lambda x: x.sum(0),
    "pending rows": lambda x: x[:1] * flambeau.ones(N, N),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_others_see_stays(name: str) -> None:
    with config.executor("native"):
        for _ in range(ROUNDS):
            x = filled(N, N)
            kept, want = KEPT[name](x), KEPT[name](filled(N, N)).numpy().copy()
            x.mul_(3)
            flambeau.synchronize()
            np.testing.assert_array_equal(kept.numpy(), want)
            np.testing.assert_array_equal(x.numpy(), 3 * filled(N, N).numpy())


@pytest.mark.parametrize("see", [_held, _view, _array])
def test_what_shares_memory_changes(see: Callable[[Tensor], Any]) -> None:
    with config.executor("native"):
        x = filled(N, N)
        seen = see(x)
        for _ in range(ROUNDS):
            x.mul_(2)
            flambeau.synchronize()
            want = see(x)
            np.testing.assert_array_equal(np.asarray(seen), np.asarray(want))
        np.testing.assert_array_equal(x.numpy(), 2**ROUNDS * filled(N, N).numpy())


def test_operands_that_stay() -> None:
    with config.executor("native"):
        x = filled(N, N)
        for _ in range(ROUNDS):
            y = x * 2
            assert address(y) != address(x)
        np.testing.assert_array_equal(x.numpy(), filled(N, N).numpy())
        weight = filled(N, N).requires_grad_()
        for _ in range(ROUNDS):
            z = filled(N, N)
            product = z * weight        # keeps z
            flambeau.synchronize()
            w = z * 5
            del z
            flambeau.synchronize()
            (grad,) = flambeau.autograd.grad(product.sum(), weight)
            np.testing.assert_array_equal(grad.numpy(), filled(N, N).numpy())
            np.testing.assert_array_equal(w.numpy(), 5 * filled(N, N).numpy())


def test_rows_that_are_read_again() -> None:
    """An operand of one row, which each row of a larger result reads, is not overwritten meanwhile."""
    big = filled(64, 8192)
    with config.executor("native"):
        for _ in range(ROUNDS):
            x = filled(1, 8192)
            x.mul_(3)
            y = x + big
            flambeau.synchronize()
            np.testing.assert_array_equal(x.numpy(), 3 * filled(1, 8192).numpy())
            np.testing.assert_array_equal(y.numpy(), 3 * filled(1, 8192).numpy() + big.numpy())


def test_two_results_of_one_operand() -> None:
    with config.executor("native"):
        for _ in range(ROUNDS):
            x = filled(N, N)
            y, z = x * 2, x + 1
            del x
            flambeau.synchronize()
            np.testing.assert_array_equal(y.numpy(), 2 * filled(N, N).numpy())
            np.testing.assert_array_equal(z.numpy(), 1 + filled(N, N).numpy())


def test_a_kernel_that_fails_afterwards() -> None:
    table = filled(4, 4)
    with config.executor("native"):
        for k in range(ROUNDS):
            x, index = filled(N, N), flambeau.arange(4) + (3 if k == ROUNDS - 1 else 0)
            x.mul_(2)
            rows = table[index]
            if k == ROUNDS - 1:
                with pytest.raises(IndexError):
                    flambeau.synchronize()
            else:
                flambeau.synchronize()
            del rows
            np.testing.assert_array_equal(x.numpy(), 2 * filled(N, N).numpy())
