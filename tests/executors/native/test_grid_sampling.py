"""Sampling at points gives in all forms what the formula gives that is written out on tensors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.operators.convolutions.grid_points import GRID_SAMPLE_GRID, GRID_SAMPLE_INPUT, Sampling
from flambeau.operators.convolutions.grid_sampling import written_out
from flambeau.tensor import record

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import check, compiled

SHAPES = [((2, 3, 5, 7), (4, 6)), ((1, 1, 4, 4), (1, 1)), ((3, 9, 6, 1), (5, 19)),
          ((1, 2, 3, 4, 5), (2, 3, 9)), ((2, 1, 1, 2, 3), (4, 1, 5)), ((3, 2, 4, 5), (1, 1)),
          ((2, 2, 2, 3, 4), (1, 1, 1))]
MODES = list(itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"),
                               (False, True)))


def points(shape: tuple[int, ...], out: tuple[int, ...], dtype: Any = flambeau.float32) -> Tensor:
    return (flambeau.rand(shape[0], *out, len(out), dtype=dtype) * 2 - 1) * 1.7


@pytest.mark.parametrize(("shape", "out"), SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64], ids=str)
def test_sampling_and_gradients(shape: tuple[int, ...], out: tuple[int, ...], dtype: Any) -> None:
    flambeau.manual_seed(3)
    x, grid = flambeau.randn(shape, dtype=dtype), points(shape, out, dtype)
    modes = MODES if dtype is flambeau.float32 and shape == SHAPES[0] else MODES[:12:4]
    for mode, padding, align in modes:
        how = Sampling(mode, padding, align)
        check(lambda x, g, m=mode, p=padding, a=align: F.grid_sample(x, g, m, p, a), [x, grid],
              "grid_sample", 1e-5)
        want = written_out(x, grid, mode, padding, align)
        np.testing.assert_allclose(F.grid_sample(x, grid, mode, padding, align).numpy(), want.numpy(),
                                   1e-4, 1e-5)
        grad = flambeau.randn(shape[:2] + out, dtype=dtype)
        for given in (grad, grad[:, :1, ...].sum().expand(shape[:2] + out)):
            check(lambda g, p, how=how: record(GRID_SAMPLE_INPUT, (g, p), (shape[2:], how)), [given, grid],
                  "grid_sample_input", 1e-4)
            check(lambda g, x, p, how=how: record(GRID_SAMPLE_GRID, (g, x, p), (how,)), [given, x, grid],
                  "grid_sample_grid", 1e-3)


def test_views_are_read_where_they_lie() -> None:
    x, grid = flambeau.randn(2, 7, 3, 6), points((2, 3, 6, 7), (4, 5))
    wide = flambeau.zeros(2, 5, 4, 4)
    wide[..., 1:3] = grid.transpose(1, 2)
    check(lambda x, g: F.grid_sample(x.permute(0, 2, 3, 1), g[..., 1:3].transpose(1, 2), align_corners=False),
          [x, wide], "grid_sample", 1e-5)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_gradients_of_both_orders(mode: tuple[str, str, bool]) -> None:
    flambeau.manual_seed(1)
    x = flambeau.randn(1, 2, 4, 3, dtype=flambeau.float64, requires_grad=True)
    grid = points((1, 2, 4, 3), (2, 3), flambeau.float64).requires_grad_()
    assert flambeau.autograd.gradcheck(lambda x, g: F.grid_sample(x, g, *mode), (x, grid))
    if mode[0] != "nearest":
        assert flambeau.autograd.gradgradcheck(lambda x, g: F.grid_sample(x, g, *mode), (x, grid))


def test_points_that_are_no_numbers() -> None:
    """PyTorch's values: at the border what is no number is the first element, outside it weighs NaN."""
    nan = float("nan")
    x = flambeau.arange(16.0).reshape(1, 1, 4, 4) + 1
    grid = flambeau.tensor([[[[nan, 0.0], [0.0, nan], [1e30, 0.0], [-1e30, 0.1]]]])
    for tier in ("interpreter", "native"):
        with flambeau.config.executor(tier):
            zeros, border = [F.grid_sample(x, grid, "bilinear", p, False).flatten().tolist()
                             for p in ("zeros", "border")]
            nearest = F.grid_sample(x, grid, "nearest", "zeros", False).flatten().tolist()
        assert np.isnan(zeros[:2]).all() and zeros[2:] == [0, 0]
        assert border[:3] == [7.0, 2.5, 10.0]
        assert nearest == [0, 0, 0, 0]


def test_no_gradient_at_the_border() -> None:
    for tier in ("interpreter", "native"):
        with flambeau.config.executor(tier):
            x, grid = flambeau.randn(1, 1, 4, 4), flambeau.tensor([[[[-1.0, 0.1], [1.0, 0.1], [1.5, 0.1]]]])
            grid.requires_grad_()
            F.grid_sample(x, grid, padding_mode="border", align_corners=True).sum().backward()
            assert grid.grad is not None and (grid.grad[..., 0] == 0).all()


def test_another_size_compiles_nothing() -> None:
    how = Sampling("bilinear", "zeros", False)
    for sizes in ((3, 5, 6), (4, 9, 7)):
        before = compiled()
        channels, height, width = sizes
        x, grid = flambeau.randn(2, channels, height, width), points((2, channels, 5, 6), (height, 4))
        grad = flambeau.randn(2, channels, height, 4)
        check(lambda x, g: F.grid_sample(x, g, align_corners=False), [x, grid], "grid_sample", 1e-5)
        check(lambda g, p: record(GRID_SAMPLE_INPUT, (g, p), ((7, 8), how)), [grad, grid],
              "grid_sample_input", 1e-4)
        check(lambda g, x, p: record(GRID_SAMPLE_GRID, (g, x, p), (how,)), [grad, x, grid],
              "grid_sample_grid", 1e-4)
    assert compiled() == before
