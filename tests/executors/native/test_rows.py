"""Softmax, normalizations and their gradients as passes over rows: what the interpreter gives."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import config
from flambeau.executors.native.fusion import past
from flambeau.nn import functional as F

from .test_reductions import check

pytest.importorskip("llvmlite")


Tensor = Any


def leaves(*shapes: tuple[int, ...]) -> list[Tensor]:
    """Tensors that want gradients."""
    return [flambeau.randn(shape, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize(("shape", "dim"), [((40, 33), 1), ((40, 33), 0), ((3, 50, 20), 1), ((100_000,), 0),
                                            ((2, 3, 5000), -1), ((20, 1), 1), ((3000, 12), 0)], ids=str)
def test_softmax(shape: tuple[int, ...], dim: int) -> None:
    def compute() -> list[Tensor]:
        x, y = leaves(shape, shape)
        scaled = F.softmax(x * 3 + 1, dim)
        logs = F.log_softmax(y, dim)
        ((scaled * flambeau.randn(shape)).sum() + (logs * flambeau.randn(shape)).sum()).backward()
        return [scaled, logs, x.grad, y.grad]
    check(compute, 5e-5)


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16], ids=str)
@pytest.mark.parametrize("read", [lambda x: x, lambda x: x[..., 3:], lambda x: x.transpose(0, 1),
                                  lambda x: x[:, :1].expand(-1, 4, -1), lambda x: x[:, ::2]],
                         ids=["whole", "a part", "in another order", "repeated", "every other"])
@pytest.mark.parametrize("length", [515, 1200, 70_000])
def test_rows_that_are_fetched_ahead(length: int, read: Any, dtype: Any) -> None:
    def compute() -> list[Tensor]:
        x = read(flambeau.randn(2, 3, length).to(dtype))
        # At the end of its memory, where there is no next row.
        return [F.softmax(x, -1), F.layer_norm(x, x.shape[-1:]), x.var(-1), F.log_softmax(x[-1:, -1:], -1)]
    check(compute, 5e-5 if dtype != flambeau.bfloat16 else 0.04)


@pytest.mark.parametrize("shape", [(7, 1088), (5, 1107), (11_003,), (3, 2, 5, 16), (2, 3, 4160)], ids=str)
def test_results_that_are_written_past_the_caches(shape: tuple[int, ...],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "LAST_CACHE", 0)

    def compute() -> list[Tensor]:
        x, y = flambeau.randn(shape), flambeau.randn(shape[-1:])
        z = flambeau.randn(shape)
        z += y
        return [x.relu(), x + y, x > y, (x * y).double(), x.bfloat16(), F.softmax(x, -1), F.silu(z), z,
                F.layer_norm(x, shape[-1:]),
                F.batch_norm(flambeau.stack([x, z]).reshape(2, 1, -1), None, None, training=True)]
    check(compute, 5e-5)


@pytest.mark.parametrize(("shape", "normalized"), [((8, 33, 40), (40,)), ((8, 33, 40), (33, 40)),
                                                   ((64, 256), (256,)), ((5, 1), (1,))], ids=str)
def test_layer_norm(shape: tuple[int, ...], normalized: tuple[int, ...]) -> None:
    def compute() -> list[Tensor]:
        x, weight, bias = leaves(shape, normalized, normalized)
        y = F.layer_norm(x * 2 + 1, normalized, weight, bias)
        (y * flambeau.randn(shape)).sum().backward()
        plain = flambeau.native_layer_norm(x, normalized, None, None, 1e-5)
        return [y, x.grad, weight.grad, bias.grad, *plain]
    check(compute, 5e-5)


@pytest.mark.parametrize("shape", [(6, 5, 7, 9), (40, 8), (4, 3, 20), (8, 16, 4, 4), (300, 130),
                                   (2, 1, 300, 300), (9, 33, 1, 1)], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape: tuple[int, ...], training: bool) -> None:
    def compute() -> list[Tensor]:
        channels = shape[1]
        x, weight, bias = leaves(shape, (channels,), (channels,))
        mean, variance = flambeau.zeros(channels), flambeau.ones(channels)
        y = F.relu(F.batch_norm(x + 1, mean, variance, weight, bias, training))
        (y * flambeau.randn(shape)).sum().backward()
        return [y, x.grad, weight.grad, bias.grad, mean, variance]
    check(compute, 5e-5)


def test_other_norms() -> None:
    def compute() -> list[Tensor]:
        x, z, weight, scale = leaves((4, 6, 5, 5), (16, 50), (6,), (50,))
        y = F.group_norm(x, 2, weight, None)
        r = F.rms_norm(z, (50,), scale)
        (y.square().sum() + (r * flambeau.randn(16, 50)).sum()).backward()
        return [y, r, x.grad, z.grad, weight.grad, scale.grad, F.instance_norm(x), F.normalize(z)]
    check(compute, 1e-4)


def test_cross_entropy() -> None:
    def compute() -> list[Tensor]:
        (x,) = leaves((64, 10))
        target = flambeau.randint(0, 10, (64,))
        loss = F.cross_entropy(x, target)
        loss.backward()
        return [loss, x.grad, F.cross_entropy(x.detach(), target, label_smoothing=0.1)]
    check(compute)


def test_rows_keep_results_that_are_held() -> None:
    def compute() -> list[Tensor]:
        x = flambeau.randn(30, 40)
        shifted = x - x.amax(1, keepdim=True)
        e = shifted.exp()
        total = e.sum(1, keepdim=True)
        return [e / total, total, e, shifted + total]
    check(compute)


def test_a_row_operator_is_one_kernel_with_its_neighbours() -> None:
    from flambeau.executors.native.fusion import schedule
    from flambeau.graph import pending

    flambeau.synchronize()
    with config.executor("native"):
        x, mask = flambeau.ones(8, 16), flambeau.zeros(8, 16)
        flambeau.synchronize()
        y = F.softmax(x * 0.5 + mask, -1) * 2
        nodes: list[Any] = []
        with pending.lock:
            pending.take_live(nodes)
            units = schedule.schedule(nodes)
            pending.nodes[:0] = nodes[::-1]
        assert [len(unit.members) for unit in units] == [4]
        nodes.clear()
        assert y.sum().item() == pytest.approx(16)
