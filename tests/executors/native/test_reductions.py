"""Reductions over any dimensions, fused with what they read and what reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config

pytest.importorskip("llvmlite")

from flambeau.executors.native.fusion import compile, nest, traits
from flambeau.graph.operator import Rows
from flambeau.operators.declaration.definition import operator
from flambeau.operators.reductions.reduction import reduction_geometry
from flambeau.tensor import record_one
from tests.executors.native.agreement import TEXTS

Tensor = Any


def both(compute: Callable[[], list[Tensor]]) -> tuple[list[Any], list[Any]]:
    """The tensors that ``compute()`` returns, by both tiers."""
    results = []
    for tier in ("interpreter", "native"):
        with config.executor(tier):
            flambeau.manual_seed(0)
            results.append([x.detach().double().numpy() for x in compute()])
    return results[0], results[1]


def check(compute: Callable[[], list[Tensor]], tolerance: float = 2e-5) -> None:
    """Both tiers agree, and no reduction was left to the interpreter."""
    traits._traits.clear()
    for want, found in zip(*both(compute)):
        assert want.shape == found.shape
        np.testing.assert_allclose(found, want, tolerance, tolerance)
    left = [s for s, t in traits._traits.items() if traits.dims_of(s) is not None and not t.fusible]
    assert not left


# Rows, columns, middle dimensions, channels; tails; extents of 1; few long rows and many short ones.
CASES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((7, 33), (-1,)), ((40, 33), (0,)), ((8, 5, 70), (0, 1)), ((8, 5, 70), (1,)), ((6, 5, 7, 9), (0, 2, 3)),
    ((40, 33), (0, 1)), ((8, 16, 4, 4), (0, 2, 3)), ((4, 1), (1,)), ((5, 1, 7), (1,)), ((2, 70000), (1,)),
    ((70000, 3), (0,)), ((300_000,), (0,)), ((300, 400), (0,)), ((1, 17), (1,)),
    ((30, 28), (1,)), ((9, 100), (1,)), ((64, 64, 100), (0, 2)), ((700, 10), (1,)), ((20, 30, 16), (-1,)),
    ((257, 1), (1,)),
]


def test_columns_that_are_folded_are_cut_into_few_parts() -> None:
    _, chunks, block, *_ = nest._cuts(rows=1, mid=64, inner=6400, first=64, count=6400, tail=100,
                                        has_mid=True, columns=True, reduces=True, passes=1)
    assert (chunks, block) == (2, 1000)


@pytest.mark.parametrize(("shape", "dims"), CASES, ids=str)
def test_agrees(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    def compute() -> list[Tensor]:
        x = flambeau.randn(shape)
        y = flambeau.tanh(x) * 2
        norm = flambeau.linalg.vector_norm
        whole = (x * 3).to(flambeau.int32)
        return [
            y, y.sum(dims), x.mean(dims, keepdim=True), x.amax(dims), x.amin(dims, keepdim=True),
            (x > 0).all(dims), (x > 3).any(dims), norm(x, 2, dims), norm(x, 1, dims), norm(x, 3, dims),
            norm(x, float("inf"), dims), flambeau.logsumexp(x, dims), x.std(dims, correction=0),
            whole.sum(dims), whole.amax(dims),
            (x * 0.01 + 1).prod(dims[0]), x.double().sum(dims), flambeau.count_nonzero(x > 0, dims),
        ]
    check(compute)


@pytest.mark.parametrize(("shape", "dims"), CASES, ids=str)
def test_places(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    def compute() -> list[Tensor]:
        x, d = flambeau.randn(shape), dims[-1]
        i = (x * 2).to(flambeau.int64)
        return [x.argmax(d), x.argmin(d, keepdim=True), *x.max(d), *i.min(d, keepdim=True), x.argmax(),
                *flambeau.aminmax(x, dim=d)]
    check(compute)


def test_several_in_one_program() -> None:
    def compute() -> list[Tensor]:
        x = flambeau.randn(50, 60)
        y = flambeau.tanh(x)
        return [y.sum(), y.sum(0), y.sum(1), y.mean(), y.amax(1), y / y.sum(), y.sum(1) * 2 + x[:, 0],
                (y - y.mean(1, keepdim=True)).square().mean(), (y.sum(0) + 1).abs().sqrt() * y]
    check(compute)


def test_strided_and_expanded_operands() -> None:
    def compute() -> list[Tensor]:
        x = flambeau.randn(20, 30, 10)
        y, z = x.permute(2, 0, 1), x[::2, 3:, 1:]
        return [y.sum(0), y.sum(1), y.sum((0, 2)), z.sum(-1), z.sum((0, 1)), y.mean(), z.amax(), y.argmax(),
                x.expand(3, 20, 30, 10).sum(0), x[:, :, :1].expand(20, 30, 10).sum(-1), z.var(1),
                y.amax((1, 2))]
    check(compute)


@pytest.mark.parametrize("shape", [(5, 5, 5, 2), (6, 5, 7, 3), (3, 40, 3, 2), (8, 4, 4, 2)], ids=str)
def test_short_rows_of_strided_elements(shape: tuple[int, ...]) -> None:
    def compute() -> list[Tensor]:
        x, y = flambeau.randn(shape)[..., 0], flambeau.randn(shape)[..., 1]
        total = x.sum((0, 2), keepdim=True)
        return [total, x * total, (x * y).sum((0, 2), keepdim=True) + total,
                x / (1 + x.var((0, 2), keepdim=True))]
    check(compute, 2e-4)


@pytest.mark.parametrize("length", [2, 10, 16])
def test_many_short_rows(length: int) -> None:
    def compute() -> list[Tensor]:
        x, y, scale = flambeau.randn(1003, length), flambeau.randn(length, 1003).t(), flambeau.randn(1003, 1)
        part = flambeau.randn(1003, 20)[:, 1:1 + length]
        x[7, 0], x[16, length - 1], x[1002] = float("nan"), float("inf"), -float("inf")
        return [x.sum(1), x.amax(1), x.amin(1), x.mean(1, keepdim=True) + scale, part.prod(1), (y * y).sum(1),
                (part * scale).sum(1, keepdim=True) * scale, (y + part).amax(1), *part.aminmax(dim=1),
                part.bfloat16().sum(1), part.double().sum(1), part.argmax(1), part.softmax(1)]
    check(compute, 1e-2)


def test_special_values() -> None:
    def compute() -> list[Tensor]:
        x = flambeau.randn(10, 100)
        x[2, 5] = float("nan")
        x[3, 7] = float("inf")
        x[4] = -float("inf")
        return [x.amax(1), x.amin(0), x.argmax(1), x.argmin(0), flambeau.logsumexp(x, 1), x.sum(1), *x.max(0),
                x.amax(), x.mean(0)]
    check(compute)


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16], ids=str)
def test_low_precision(dtype: Any) -> None:
    def compute() -> list[Tensor]:
        x = flambeau.randn(40, 300).to(dtype)
        return [x.sum(0), x.sum(), x.mean(1), x.amax(1), x.float().sum(1), x.norm(), flambeau.logsumexp(x, 1)]
    check(compute, 1e-2)


def test_sums_keep_their_accuracy() -> None:
    with config.executor("native"):
        x = flambeau.full((1 << 18, 5), 0.1)
        assert x.sum(0).tolist() == pytest.approx([0.1 * 2 ** 18] * 5, rel=1e-6)
        assert x.sum().item() == pytest.approx(0.5 * 2 ** 18, rel=1e-6)


def test_gradient_norm() -> None:
    def compute() -> list[Tensor]:
        parameters = [flambeau.randn(30, 20, requires_grad=True), flambeau.randn(7, requires_grad=True)]
        (parameters[0].square().sum() + parameters[1].exp().sum()).backward()
        norm = flambeau.nn.utils.clip_grad_norm_(parameters, 1.0)
        return [norm, *[p.grad for p in parameters]]
    check(compute)


def test_another_shape_compiles_nothing() -> None:
    def step(rows: int, columns: int) -> None:
        x = flambeau.ones(rows, columns)
        flambeau.synchronize()
        float((flambeau.tanh(x).sum(0).sum() + (x * 2).amax(1).mean()).item())

    with config.executor("native"):
        for shape in ((4, 3), (5, 7), (300, 400), (1000, 300)):
            step(*shape)
        kernels, codes = len(compile._kernels), len(TEXTS)
        for n in range(6, 20):
            step(n, n + 3)
        step(700, 500)
        assert (len(compile._kernels), len(TEXTS)) == (kernels, codes)


def test_the_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x, short = flambeau.randn(700, 1000), flambeau.randn(30_001, 10)
    flambeau.synchronize()
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(config.settings, "threads", threads)
        with config.executor("native"):
            found.append([y.numpy().tobytes() for y in
                          (x.sum(), x.sum(0), x.sum(1), x.var(), x.softmax(0), short.sum(1))])
    assert found[0] == found[1] == found[2]


@operator("root_mean_square", reduction_geometry, rows=Rows(passes=1))
def RMS(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.sqrt(m.mean(input * input, axis=dims, keepdims=keepdim))


@pytest.mark.parametrize(("shape", "dims"), CASES, ids=str)
def test_a_definition_that_tells_its_rows_is_a_kernel(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    def compute() -> list[Tensor]:
        x = flambeau.randn(shape)
        along = tuple(d % len(shape) for d in dims)
        found = record_one(RMS, x * 2, (along, True, x.dtype))
        return [found, x / found]

    check(compute)
    assert not [s for s, t in traits._traits.items() if s.operator is RMS and not t.fusible]


def test_a_conversion_is_planned_by_the_type_that_it_gives() -> None:
    x = flambeau.randn(64, 64)
    with config.executor("native"), config.kernel_times():
        for dtype in (flambeau.int64, flambeau.float16):    # the first has no native form
            x.to(dtype)
            y = x.to(dtype)
            flambeau.synchronize()
        shown = str(flambeau.explain(last=1, kernels=True))
    assert y.dtype is flambeau.float16 and "interpreter" not in shown
