"""Fourier transforms give what NumPy's give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, fft

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import compiled, forget, is_native, results

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 7 * 4, 15, 16, 60, 100, 101, 131, 243, 256, 7 * 9 * 11, 625, 1000, 2048,
           127 * 17, 16384]


def numbers(*shape: int, real: bool = False) -> Tensor:
    flambeau.manual_seed(len(shape))
    x = flambeau.randn(*shape, 1 if real else 2)
    return x[..., 0].contiguous() if real else flambeau.view_as_complex(x)


def check(function: Any, x: Tensor, native: bool = True) -> None:
    """As the interpreter in both precisions, to a few units of the largest element."""
    for wide in (x, x.to(flambeau.complex128 if x.is_complex() else flambeau.float64)):
        _check(function, wide, native)


def _check(function: Any, x: Tensor, native: bool) -> None:
    (strides, want), = results(function, [x], "interpreter")
    forget()
    (found_strides, found), = results(function, [x], "native")
    assert is_native("fft") == native
    assert found_strides == strides and found.dtype == want.dtype
    unit = np.finfo(want.dtype).eps * np.abs(want).max(initial=1e-30)
    assert np.abs(found - want).max(initial=0) <= 20 * unit


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int) -> None:
    native = n != 131
    for signals in (4, 16, 21, 37):
        x, y = numbers(signals, n), numbers(signals, n, real=True)
        half = fft.rfft(numbers(signals, n, real=True))
        check(fft.fft, x, native)
        check(lambda v: fft.ifft(v, norm="ortho"), x, native)
        check(lambda v: fft.rfft(v, norm="forward"), y, native)
        check(fft.fft, y, native)
        check(fft.ifft, y, native)
        check(lambda v: fft.irfft(v, n), half, native)


def test_few_signals_are_transformed_natively_while_they_are_short() -> None:
    for n, native in ((10, True), (256, True), (1000, True), (4096, False)):
        check(fft.fft, numbers(n), native)
        check(fft.rfft, numbers(2, n, real=True), native)
        check(lambda v, n=n: fft.irfft(v, n), fft.rfft(numbers(n, real=True)), native)


def test_what_is_imaginary_of_a_real_mean_does_not_count() -> None:
    half = numbers(6, 9)
    for n in (16, 17):
        check(lambda v, n=n: fft.irfft(v, n), half, native=True)
    check(lambda v: fft.irfft(v, 15), numbers(6, 8))


@pytest.mark.parametrize("dims", [(0,), (1,), (-1,), (0, 1), (1, 2), (0, 2), (0, 1, 2)], ids=str)
def test_dimensions(dims: tuple[int, ...]) -> None:
    x, y = numbers(8, 12, 10), numbers(8, 12, 10, real=True)
    for norm in ("backward", "ortho", "forward"):
        check(lambda v, norm=norm: fft.fftn(v, dim=dims, norm=norm), x)
        check(lambda v, norm=norm: fft.ifftn(v, dim=dims, norm=norm), x)
        check(lambda v, norm=norm: fft.rfftn(v, dim=dims, norm=norm), y)
        check(lambda v, norm=norm: fft.fftn(v, dim=dims, norm=norm), y)
        check(lambda v, norm=norm: fft.ifftn(v, dim=dims, norm=norm), y)
        check(lambda v, norm=norm: fft.irfftn(v, dim=dims, norm=norm), x)
    check(lambda v: fft.fftn(v.transpose(0, 2), dim=dims), x)
    check(lambda v: fft.rfftn(v[::2].transpose(0, 1), dim=dims), y)


def test_short_time() -> None:
    x = numbers(2, 3000, real=True)
    window = flambeau.hann_window(100)
    check(lambda v: flambeau.stft(v, 100, window=window.to(v.dtype), return_complex=True), x)
    spectrum = flambeau.stft(x, 100, window=window, return_complex=True)
    check(lambda v: flambeau.istft(v, 100, window=window.to(v.dtype.to_real())), spectrum)


def test_gradients() -> None:
    x = numbers(4, 12, real=True).requires_grad_()
    weight = numbers(4, 7)
    with flambeau.config.executor("native"):
        (fft.rfft(x) * weight).real.sum().backward()
    turn = np.exp(2j * np.pi * np.outer(np.arange(12), np.arange(7)) / 12)
    want = (weight.numpy()[:, None] * turn.conj()).sum(-1).real
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), want, 1e-4, 1e-5)


def test_another_length_compiles_nothing() -> None:
    for n, signals in ((60, 8), (64, 30), (77, 5)):
        before = compiled()
        check(fft.fft, numbers(signals, n))
        check(fft.rfft, numbers(signals, n, real=True))
    assert compiled() == before


@pytest.mark.parametrize("n", [2, 45, 60, 64])
def test_a_real_signal_does_not_reach_another_one(n: int) -> None:
    signals = numbers(40, n, real=True).double().numpy()
    signals[3, 1] = np.nan
    signals[7, 1] = np.inf
    signals[11] *= 1e20
    signals[12] *= 1e-20
    signals[13] = 0
    x = flambeau.from_numpy(signals)
    with np.errstate(invalid="ignore"):
        half = fft.rfft(x).numpy()
        half[3], half[7] = half[3] * np.nan, half[7] * np.nan
        calls = [(fft.rfft, x), (fft.ifft, x), (lambda v: fft.irfft(v, n), flambeau.from_numpy(half))]
        for function, operand in calls:
            (_, want), = results(function, [operand], "interpreter")
            forget()
            (_, found), = results(function, [operand], "native")
            assert is_native("fft")
            finite = np.delete(np.arange(40), [3, 7])
            unit = np.finfo(np.float64).eps * np.abs(want[finite]).max(-1)
            assert (np.abs(found - want)[finite].max(-1) <= 20 * unit).all()
            assert not np.isfinite(found[[3, 7]]).any(-1).all()
