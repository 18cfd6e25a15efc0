"""Products with banded matrices give what the interpreter gives, and what whole matrices give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F
from flambeau.operators.convolutions.banded import Band, band_of, banded_product

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import check, compiled

SIZES = [(1, 1), (1, 7), (5, 1), (7, 17), (33, 16), (40, 3), (100, 129)]


def band(n: int, count: int, taps: int) -> Band:
    rng = np.random.default_rng(n + count)
    rows = np.sort(rng.integers(-1, n + 1, count)) + np.arange(taps)[:, None]
    return band_of(n, rows, rng.standard_normal((taps, count)) * (rng.random((taps, count)) < 0.8))


def matrix(b: Band) -> Any:
    found = np.zeros((b.n, b.count))
    for k, row in enumerate(b.weights):
        np.add.at(found, (np.minimum(b.starts + k, b.n - 1), np.arange(b.count)), row)
    return found


@pytest.mark.parametrize("taps", [1, 2, 4, 5, 11, 40])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64], ids=str)
def test_products(taps: int, dtype: Any) -> None:
    for n, count in SIZES:
        b = band(n, count, taps)
        wide = flambeau.randn(3, n, 2, 19, dtype=dtype)
        for x in (wide, wide.transpose(0, 3), flambeau.randn(2, 1, n, dtype=dtype),
                  flambeau.randn(n, dtype=dtype), wide[:, :, :, ::2], wide[:1].expand(3, n, 2, 19)):
            dim = next(d for d in range(x.ndim) if x.shape[d] == n)
            check(lambda v, d=dim, b=b: banded_product(v, d, b), [x], "banded_product", 1e-5)
            want = np.moveaxis(np.moveaxis(x.numpy(), dim, -1) @ matrix(b), -1, dim)
            np.testing.assert_allclose(banded_product(x, dim, b).numpy(), want, 1e-4, 1e-4)


def test_the_gradient_is_the_product_with_the_transpose() -> None:
    for n, count in SIZES:
        b = band(n, count, 3)
        x, grad = flambeau.randn(2, n, requires_grad=True), flambeau.randn(2, count)
        banded_product(x, 1, b).backward(grad)
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), grad.numpy() @ matrix(b).T, 1e-4, 1e-4)


def test_gradients_of_resampling() -> None:
    x = flambeau.randn(1, 2, 5, 6, dtype=flambeau.float64, requires_grad=True)
    for mode in ("bilinear", "bicubic"):
        for size in ((9, 4), (5, 13)):
            for antialias in (False, True):
                def resized(v: Tensor, mode: str = mode, size: Any = size, aa: bool = antialias) -> Tensor:
                    return F.interpolate(v, size, mode=mode, antialias=aa)
                assert flambeau.autograd.gradcheck(resized, (x,))
                assert flambeau.autograd.gradgradcheck(resized, (x,))


def test_another_size_compiles_nothing() -> None:
    for dim in (1, 2):
        x = flambeau.randn(2, 30, 40)
        check(lambda v, d=dim: banded_product(v, d, band(v.shape[d], 20, 3)), [x], "banded_product", 1e-5)
        before = compiled()
        x = flambeau.randn(3, 50, 70)
        check(lambda v, d=dim: banded_product(v, d, band(v.shape[d], 90, 3)), [x], "banded_product", 1e-5)
        assert compiled() == before


def test_sizes_are_known_without_values() -> None:
    x = flambeau.randn(1, 2, 4, 4, device="meta")
    for mode in ("nearest", "bilinear", "bicubic"):
        y = F.interpolate(x, scale_factor=2, mode=mode)
        assert y.shape == (1, 2, 8, 8) and y.is_meta


def test_adaptive_averages() -> None:
    x = flambeau.randn(2, 3, 12, 10)
    for sizes in ((5, 4), (4, 5), (24, 3), (12, 7)):
        found = F.adaptive_avg_pool2d(x, sizes)
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                rows = slice(i * 12 // sizes[0], -(-(i + 1) * 12 // sizes[0]))
                columns = slice(j * 10 // sizes[1], -(-(j + 1) * 10 // sizes[1]))
                want = x[:, :, rows, columns].mean((2, 3))
                np.testing.assert_allclose(found[:, :, i, j].numpy(), want.numpy(), 1e-5, 1e-6)
    same = F.adaptive_avg_pool2d(x, (12, 10))
    assert same.data_ptr() != x.data_ptr() and same.equal(x)
    with pytest.raises(NotImplementedError, match="\"adaptive_avg_pool2d\" not implemented for 'Int'"):
        F.adaptive_avg_pool2d(x.int(), (4, 5))
