"""Convolutions in all three directions give what the interpreter gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from flambeau.executors.native.convolution import forward as convolution
from flambeau.executors.native.convolution import point_plan
from flambeau.executors.native.convolution import weight as convolution_weight
from flambeau.executors.native.llvm.compiling.machine import machine
from tests.executors.native.agreement import TEXTS, check, check_other_processor, forget, results

F = flambeau.nn.functional
FUNCTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
# input, weight, and stride, padding, dilation, groups where they are not 1, 0, 1, 1
CASES: list[tuple[Any, ...]] = [
    ((2, 32, 8, 8), (32, 32, 3, 3), 1, 1),                  # Winograd, F(2, 3)
    ((3, 16, 12, 12), (24, 16, 3, 3)),
    ((40, 64, 4, 4), (64, 64, 3, 3), 1, 1),                 # several images in a task
    ((2, 33, 31, 29), (65, 33, 3, 3), 1, 1),                # tails everywhere
    ((2, 256, 10, 10), (40, 256, 3, 3), 1, (1, 2)),         # several blocks of channels
    ((1, 17, 3, 1), (17, 17, 3, 3), 1, (1, 3)),
    ((2, 20, 9, 7), (40, 20, 3, 3), 2, 1),                  # taps
    ((2, 130, 9, 9), (20, 130, 3, 3), 2, 1, 2),
    ((5, 70, 5, 5), (33, 70, 1, 1), 2),
    ((2, 64, 6, 6), (70, 64, 1, 1)),
    ((3, 20, 17, 17), (7, 20, 5, 5), 1, 2),                 # more taps than a vector has lanes
    ((2, 16, 9, 20), (16, 16, 2, 3), (3, 2), (0, 1), (1, 2)),
    ((2, 18, 4, 4), (18, 18, 2, 2), 5, 3),                  # windows without any element
    ((2, 3, 10, 10), (16, 3, 3, 3), 1, 1),                  # few channels
    ((4, 3, 33, 33), (10, 3, 7, 7), 2, 3),
    ((1, 1, 28, 28), (32, 1, 3, 3)),
    ((2, 64, 9), (48, 32, 5), 3, 2, 1, 2),                  # one dimension, groups
    ((1, 20, 200), (20, 20, 4), 1, 0, 3),
    ((2, 17, 5, 6, 7), (19, 17, 3, 2, 3), (1, 2, 1), 1),    # three dimensions
    ((2, 6, 9, 9), (6, 1, 3, 3), 1, 1, 1, 6),               # depthwise
    ((2, 35, 12, 11), (35, 1, 5, 5), 2, 2, 1, 35),
    ((2, 6, 9, 40), (12, 1, 3, 3), 1, 1, 2, 6),
    ((2, 18, 9, 75), (20, 18, 1, 1), 2),                    # every other pixel
    ((3, 40, 6, 38), (24, 40, 3, 1), 2, (1, 0)),            # and zeros in a gradient between them
    ((2, 3, 40, 37), (13, 3, 3, 5), (3, 2), (1, 2), (2, 1)),    # few channels, pixels as columns
    ((3, 6, 12, 12), (10, 3, 3, 3), 1, 1, 1, 2),
    ((2, 2, 301), (5, 2, 7), 2, 3),
    ((1, 2, 7, 9, 18), (4, 2, 3, 3, 3), (1, 2, 1), (1, 1, 3)),
    ((2, 1, 30, 90), (1, 1, 5, 5)),
    ((2, 3, 20, 24), (64, 3, 3, 3), 1, 1),                  # lines not much longer than vectors: copied,
    ((2, 4, 11, 44), (28, 4, 3, 5), 1, (1, 2)),             # or read where they lie, two at a time,
    ((2, 3, 9, 64), (12, 3, 7, 7), 2, 3),                   # and whole vectors of them
    ((5, 33, 17, 18), (35, 33, 3, 3), 1, 1),                # Winograd, F(4, 3)
]
# Taps that are read where pixels are staged: lines fill tiles.
DIRECT: list[tuple[Any, ...]] = [
    ((2, 20, 4, 6, 16), (40, 20, 3, 3, 3), 1, 1),
    ((2, 130, 9, 20), (35, 130, 5, 5), 1, 2),
    ((2, 40, 3, 9, 24), (24, 40, 3, 3, 3), (1, 2, 2), 1),   # every other pixel
    ((2, 20, 12, 26), (33, 20, 5, 5), 1, (5, 3)),           # lines that no tap meets
    ((1, 36, 30), (40, 18, 7), 1, 2, 1, 2),
]
# Winograd with stride 2, where there are many pixels: also odd extents, several blocks and shares.
HALVED: list[tuple[Any, ...]] = [
    ((32, 33, 16, 15), (40, 33, 3, 3), 2, 1),
    ((40, 16, 15, 18), (20, 16, 3, 3), 2),
    ((8, 32, 33, 31), (72, 16, 3, 3), 2, 2, 1, 2),
    ((16, 130, 16, 16), (70, 130, 3, 3), 2, 1),
    ((32, 64, 17, 14), (80, 32, 3, 3), 2, 3, 1, 2),
]
# Kernels that are planes, of several planes: not for Winograd's tiles.
PLANES: list[tuple[Any, ...]] = [
    ((2, 16, 9, 3, 10), (17, 16, 3, 1, 3), 1, (1, 0, 1)),
    ((16, 32, 16, 3, 15), (32, 32, 3, 1, 3), (2, 1, 2), (1, 0, 1)),
]
# Blocks of channels have a whole vector behind the last image, where there may be no memory to read.
BEHIND = ((64, 40, 16, 15), (72, 40, 3, 3), 1, 1)
# A single tap: pixels of lines, and of images, go on in the same vectors.
POINTS: list[tuple[Any, ...]] = [
    ((3, 40, 14, 14), (37, 40, 1, 1)),
    ((3, 40, 29, 27), (24, 40, 1, 1), 2),                   # zeros between the pixels, and lines of them
    ((3, 40, 28, 28), (24, 40, 1, 1), (3, 2)),
    ((2, 20, 30, 30), (33, 20, 1, 1), (1, 2)),
    ((2, 300, 8, 8), (33, 300, 1, 1)),                      # so many channels that sums are added to
    ((2, 33, 16, 16), (300, 33, 1, 1), 2),
    ((3, 24, 33), (40, 24, 1), 2),
    ((9, 40, 9, 9), (48, 20, 1, 1), 1, 0, 1, 2),
    ((2, 18, 70, 70), (130, 18, 1, 1)),                     # several units of an image
    ((3, 37, 64, 64), (29, 37, 1, 1), 2),                   # whole vectors are read where they lie, and
    ((2, 270, 32, 32), (160, 270, 1, 1), 2),                # zeros between them are written later
    ((2, 16, 16, 16), (16, 16, 1, 1)),
    ((1, 20, 3, 5, 32), (20, 20, 1, 1, 1)),
    ((2, 100, 59, 29), (300, 100, 1, 1), 2),                # so many channels that pixels are transposed,
    ((2, 120, 24, 24), (240, 120, 1, 1), 2),                # and zeros and lines of them between,
    ((5, 150, 10, 11), (300, 150, 1, 1), 2),                # of several images in a task,
    ((2, 120, 5, 6, 9), (240, 120, 1, 1, 1), (2, 1, 2)),    # planes,
    ((2, 120, 3, 7, 10), (240, 120, 1, 1, 1), (1, 2, 2)),
    ((2, 120, 5, 7, 9), (240, 120, 1, 1, 1), 2),
    ((2, 120, 70), (240, 120, 1), 2),                       # or none
]
# Few results for each pixel: forward, or of the gradient by the input.
FEW: list[tuple[Any, ...]] = [
    ((2, 24, 12, 12), (3, 24, 3, 3), 1, 1),
    ((2, 3, 33, 30), (20, 3, 7, 7), 2, 3),                  # four grids, every other pixel
    ((2, 40, 9, 70), (1, 40, 3, 5), 1, (1, 2)),
    ((2, 4, 20, 20), (20, 4, 3, 3), 3, 1),                  # grids of a third of the pixels
    ((2, 3, 12, 12), (20, 3, 3, 3), 1, 4),                  # the gradient's border is not read
    ((2, 20, 300), (5, 20, 7), 1, 3, 2),
    ((1, 17, 5, 7, 9), (4, 17, 3, 3, 3), 1, 1),
    ((3, 40, 9, 9), (20, 20, 3, 3), 1, 1, 1, 2),            # groups
    ((1, 300, 40, 20), (13, 300, 5, 5), 1, 2),              # several units of an image
    ((4, 130, 7, 7), (16, 130, 1, 1)),
    ((2, 18, 12, 12), (2, 18, 2, 2), 4, 1),                 # grids without taps
    ((2, 16, 37, 19), (11, 16, 3, 4), 1, (3, 0), (2, 3)),   # tiles of all heights, lines far apart
    ((1, 600, 30, 21), (5, 600, 1, 3), 1, (0, 1)),          # some channels at a time
    ((2, 20, 3, 8, 6), (6, 20, 2, 1, 1), 1, (1, 0, 0)),     # whole planes as one line
    ((1, 3, 3000), (24, 3, 4), 2, 1),                       # a signal, every other result
    ((2, 4, 42, 3), (20, 4, 3, 3)),                         # the gradient is a pixel wide,
    ((2, 4, 40, 1), (20, 4, 3, 3), 1, 1),                   # and the result, though not the kernel
    ((2, 4, 80, 1), (20, 4, 3, 1), (2, 1), (1, 0)),         # or all are
    ((1, 6, 21, 5), (10, 6, 1, 3), (2, 1), (0, 3)),         # every other line
]
DEPTHWISE: list[tuple[Any, ...]] = [
    ((2, 6, 11, 37), (6, 1, 3, 3), 1, 1, 1, 6),
    ((2, 6, 14, 33), (12, 1, 5, 5), 2, 2, 1, 6),
    ((2, 5, 9, 20), (5, 1, 7, 7), 1, 3, 1, 5),
    ((2, 5, 23, 9), (5, 1, 2, 4), (2, 1), (0, 1), (3, 1), 5),
    ((1, 2, 300, 150), (2, 1, 3, 3), 1, 1, 1, 2),           # several parts of a plane
    ((2, 3, 17, 17), (3, 1, 9, 9), 1, 4, 1, 3),             # too tall a kernel
    ((2, 3, 12, 15), (3, 1, 3, 3), (3, 2), 1, 1, 3),
    ((3, 8, 50), (8, 1, 4), 1, 3, 1, 8),
    ((2, 4, 8, 8), (4, 1, 1, 1), 2, 0, 1, 4),
    ((1, 16, 8, 1, 8), (16, 1, 1, 3, 3), (1, 3, 1), (0, 3, 0), (1, 2, 1), 16),  # all taps in the padding
]
# Of bfloat16, whose channels are multiplied in pairs: also odd numbers of them, and several blocks.
PAIRS: list[tuple[Any, ...]] = [
    ((2, 64, 14, 14), (64, 64, 1, 1)),
    ((2, 33, 9, 9), (40, 33, 1, 1)),
    ((2, 17, 9, 9), (40, 17, 5, 5), 1, 2),
    ((3, 80, 7, 7), (70, 80, 3, 3), 2, 1),
    ((2, 64, 40), (64, 64, 5)),
    ((2, 32, 8, 8), (64, 16, 3, 3), 2, 1, 1, 2),
    ((1, 20, 5, 6, 7), (24, 20, 3, 3, 3), 1, 1),
    ((2, 130, 6, 6), (48, 130, 2, 2), 2),
    ((3, 70, 15, 13), (48, 70, 1, 1), 2),
    ((2, 96, 12, 12), (64, 96, 3, 3), 1, 2, 2),
    ((9, 130, 7, 7), (70, 130, 5, 5), 1, 2),                # shares of the panels
    ((2, 3, 33, 30), (40, 3, 7, 7), 2, 3),                  # few channels: pairs of taps
    ((2, 3, 16, 16), (64, 3, 3, 3), 1, 1),
    ((2, 1, 12, 12), (40, 1, 5, 5)),
    ((3, 13, 9, 9), (40, 13, 3, 3), 2),
    ((2, 4, 50), (40, 4, 7), 1, 3),
    ((1, 2, 7, 9, 8), (24, 2, 3, 3, 3)),
]
# The error of a product of unit variance in single precision.
TOLERANCE = 8e-6


def options(case: Any) -> dict[str, Any]:
    """The arguments of a case after input and weight."""
    return dict(zip(("stride", "padding", "dilation", "groups"), case[2:]))


def operands(case: Any, dtype: Any = flambeau.float32) -> list[Tensor]:
    """Input, weight, bias, and the gradient of the result."""
    flambeau.manual_seed(sum(case[0]))
    x, w = (flambeau.randn(*shape) for shape in case[:2])
    bias = flambeau.randn(case[1][0])
    g = flambeau.randn(*convolved(case)(x, w, bias, None).shape)
    return [t.to(dtype) for t in (x, w, bias, g)]


def convolved(case: Any) -> Callable[..., Any]:
    function = FUNCTIONS[len(case[0]) - 2]
    return lambda x, w, bias, g: function(x, w, bias, **options(case))


def gradient(case: Any, which: int) -> Callable[..., Any]:
    """A function of the operands: the gradient by the input (0) or the weight (1)."""
    def run(*arrays: Any) -> Any:
        leaf = arrays[which].detach().requires_grad_()
        given = [leaf if i == which else x for i, x in enumerate(arrays)]
        return flambeau.autograd.grad(convolved(case)(*given), leaf, arrays[3])
    return run


def check_all(case: Any, arrays: list[Tensor], tolerance: float) -> None:
    # Sums of K products of unit variance: their size, and so their rounding errors, grow with its root.
    taps = math.prod(case[1][2:])
    forward, back = (tolerance * math.sqrt(taps * n) for n in (case[1][1], case[1][0]))
    check(convolved(case), arrays, "convolution", forward)
    check(gradient(case, 0), arrays, "convolution_input", back)
    pixels = arrays[3].numel() / arrays[3].shape[1]
    check(gradient(case, 1), arrays, "convolution_weight", tolerance * math.sqrt(pixels))


@pytest.mark.parametrize("case", [*CASES, *DIRECT, *HALVED, *PLANES, BEHIND, *POINTS, *FEW, *DEPTHWISE],
                         ids=str)
def test_shapes(case: Any) -> None:
    check_all(case, operands(case), TOLERANCE)


@pytest.mark.parametrize(("dtype", "tolerance"), [(flambeau.float64, 1e-13), (flambeau.bfloat16, 1e-2),
                                                  (flambeau.float16, 2e-3)], ids=str)
@pytest.mark.parametrize("case", [CASES[0], CASES[3], CASES[6], CASES[13], CASES[19], CASES[-1], DIRECT[1],
                                  HALVED[0], POINTS[1], *FEW[:2], *DEPTHWISE[:2]], ids=str)
def test_element_types(case: Any, dtype: Any, tolerance: float) -> None:
    check_all(case, operands(case, dtype), tolerance)


@pytest.mark.parametrize("case", [CASES[1], CASES[6], CASES[13], CASES[20], CASES[-1], DIRECT[1], HALVED[0],
                                  *POINTS[:2], *FEW[:2], DEPTHWISE[0]], ids=str)
def test_views(case: Any) -> None:
    x, w, bias, g = operands(case)
    last = [t.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2) for t in (x, w, g)]  # channels last
    check_all(case, [last[0], last[1], bias, last[2]], TOLERANCE)
    across = [t.mT.contiguous().mT for t in (x, w, g)]
    check_all(case, [across[0], across[1], bias, across[2]], TOLERANCE)
    apart = flambeau.randn(*x.shape, 2)[..., 1]
    check_all(case, [apart, w, bias, g[:, :1].expand(g.shape)], TOLERANCE)
    cut = [flambeau.randn(*t.shape[:-1], t.shape[-1] + 3)[..., 2:-1] for t in (x, g)]
    check_all(case, [cut[0], w, bias, cut[1]], TOLERANCE)


# Vectors are lines: images whole, lines of one, several images; with zeros between pixels, two blocks of W.
WHOLE_LINES = [((2, 40, 8, 16), (50, 40, 1, 1)), ((3, 20, 40, 16), (64, 20, 1, 1)),
               ((9, 20, 4, 12), (30, 20, 1, 1)), ((5, 64, 32, 32), (24, 64, 1, 1), 2),
               ((5, 32, 16, 16), (300, 32, 1, 1), 2), ((2, 128, 28, 28), (40, 128, 1, 1))]


@pytest.mark.parametrize("case", WHOLE_LINES, ids=str)
def test_results_written_past_the_caches(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found, decide = [], point_plan._goes_past
    monkeypatch.setattr(point_plan, "LAST_CACHE", 0)
    monkeypatch.setattr(point_plan, "_goes_past", lambda *args: found.append(decide(*args)) or found[-1])
    for dtype, tolerance in ((flambeau.float32, TOLERANCE), (flambeau.float64, 1e-13)):
        forget()
        check_all(case, operands(case, dtype), tolerance)
    assert any(found) or not machine().passes
    forget()


@pytest.mark.parametrize("case", PAIRS, ids=str)
def test_pairs(case: Any) -> None:
    arrays = operands(case, flambeau.bfloat16)
    check_all(case, arrays, 1e-2)
    if len(case[0]) == 4:
        x, w, bias, g = (t.contiguous(memory_format=flambeau.channels_last) if t.ndim == 4 else t
                         for t in arrays)
        check_all(case, [x, w, bias, g], 1e-2)
        check_all(case, [x, w.mT.contiguous().mT, bias, g.mT.contiguous().mT], 1e-2)


def test_transposed_convolutions() -> None:
    flambeau.manual_seed(0)
    x, w, bias = flambeau.randn(2, 18, 7, 6), flambeau.randn(18, 10, 3, 3), flambeau.randn(20)
    for kwargs in ({"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}, {"stride": 3, "groups": 2},
                   {"padding": 2, "groups": 2, "dilation": 2}):
        check(lambda x, w, b, kwargs=kwargs: F.conv_transpose2d(x, w, b, **kwargs), [x, w, bias],
              "convolution_input", 2e-5)


# Where a NaN and an infinity are in the input, and a negative one in the gradient.
NOT_FINITE = [
    (CASES[6], (0, 3, 4, 4), (1, 2, 0, 0), (1, 2, 1, 1)),
    (CASES[14], (0, 2, 4, 4), (3, 2, 32, 32), (1, 2, 16, 16)),
    (FEW[0], (0, 3, 4, 4), (1, 2, 0, 11), (1, 2, 11, 11)),
    (DEPTHWISE[0], (0, 2, 10, 36), (1, 4, 0, 33), (1, 2, 5, 20)),
]


@pytest.mark.parametrize(("case", "nan", "infinity", "negative"), NOT_FINITE, ids=str)
def test_numbers_that_are_not_finite(case: Any, nan: Any, infinity: Any, negative: Any) -> None:
    arrays = operands(case)
    arrays[0][nan] = float("nan")
    arrays[0][infinity] = float("inf")
    arrays[3][negative] = float("-inf")
    check_all(case, arrays, TOLERANCE)


def test_another_shape_compiles_nothing() -> None:
    def run(case: Any) -> set[str]:
        arrays = operands(case)
        for function in (convolved(case), gradient(case, 0), gradient(case, 1)):
            results(function, arrays, "native")
        return {text for text in TEXTS if "@convolve" in text or "@pack_weights" in text
                or "@add_up" in text or "@finish" in text or "@depthwise" in text}
    # One of each way: Winograd's three, taps of strides 1 and 2 (in V, or where they are staged), single taps
    # (also of every other pixel, of small images, and of few output channels), few channels (in planes, or
    # gathered), more taps than a vector has lanes, few results.
    for case in (CASES[0], CASES[-1], HALVED[0], CASES[6], ((2, 20, 4, 3), (20, 20, 3, 3)), CASES[9],
                 ((2, 20, 13, 13), (40, 20, 3, 3), 2, 1), DIRECT[0], DIRECT[2],
                 ((4, 66, 5, 5), (35, 66, 1, 1), 2), ((3, 100, 9, 9), (16, 100, 1, 1)), *CASES[13:15],
                 CASES[-4], CASES[10], CASES[22], *POINTS[:2], *FEW[:2], *DEPTHWISE[:2]):
        known = run(case)
    for case in (*CASES[1:6], CASES[7], CASES[8], CASES[15], CASES[-2], CASES[-6], *HALVED[1:], *POINTS[2:6],
                 FEW[2], FEW[4], FEW[9], ((1, 3, 29, 50), (3, 1, 3, 9), 1, 1, 1, 3)):
        assert run(case) == known, case


@pytest.mark.parametrize("case", [CASES[2], CASES[4], CASES[7], CASES[14], CASES[20], CASES[-5], CASES[-1],
                                  DIRECT[0], HALVED[0], *POINTS[:2], *FEW[:2], *DEPTHWISE[:2]], ids=str)
def test_the_same_bits_for_any_number_of_threads(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.config import settings
    arrays = operands(case)
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(settings, "threads", count)
        forget()
        found.append([results(f, arrays, "native")[0][1]
                      for f in (convolved(case), gradient(case, 0), gradient(case, 1))])
    for other in found[1:]:
        for x, y in zip(found[0], other):
            np.testing.assert_array_equal(x, y)


def test_large_work_is_divided() -> None:
    x, w = flambeau.empty(8, 64, 16, 16), flambeau.empty(64, 64, 3, 3)
    e = convolution.elements(np.dtype(np.float32))
    from flambeau.executors.native.convolution.problem import forward_problem
    y = flambeau.empty(8, 64, 16, 16)
    problem = forward_problem(x._geometry, w._geometry, y._geometry, ((1, 1), (1, 1), (1, 1), 1))
    tile = convolution.tile_for(e)
    assert convolution.Blocking(problem, e, tile, "winograd4").tasks >= 4
    assert convolution_weight.Blocking(problem, e, tile, "winograd4").tasks >= 4


@pytest.mark.parametrize(("channels", "size"), [(128, 28), (512, 28), (64, 56), (512, 16)])
def test_lines_of_a_task_fill_tiles(channels: int, size: int) -> None:
    from flambeau.executors.native.convolution.problem import forward_problem
    x, w = flambeau.empty(2, channels, size, size), flambeau.empty(channels, channels, 1, 1)
    e = convolution.elements(np.dtype(np.float32))
    problem = forward_problem(x._geometry, w._geometry, x._geometry, ((1, 1), (0, 0), (1, 1), 1))
    share = point_plan._share(problem, e)
    assert share.lines < size and share.lines * size % convolution.tile_for(e).columns == 0
    assert sum(min(share.lines, size - first) for first in range(0, size, share.lines)) == size


def test_other_processors() -> None:
    check_other_processor(
        __file__, "test_views or test_transposed_convolutions or test_numbers_that_are_not_finite or past")
