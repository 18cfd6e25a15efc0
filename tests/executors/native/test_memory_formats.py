"""Native kernels read and write images channels last as the interpreter does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch

pytest.importorskip("llvmlite")

from flambeau.executors.native.templates import plan_of
from flambeau.operators.convolutions.average_pooling import AVG_POOL_BACKWARD
from flambeau.tensor.recording.signing import sign
from tests.executors.native.agreement import TEXTS, check, check_threads, results

F = torch.nn.functional
LAST = torch.channels_last


def image(*shape: int) -> Any:
    """Numbers of that shape, channels last."""
    x = torch.arange(float(torch.Size(shape).numel())).mul(0.7).sin().reshape(shape)
    return x.contiguous(memory_format=LAST if len(shape) == 4 else torch.channels_last_3d)


def with_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function's result and the gradients of its operands, for a gradient that lies as the result."""
    def compute(*operands: Any) -> list[Any]:
        operands = tuple([x.detach().requires_grad_() for x in operands])
        y = function(*operands)
        g = torch.arange(float(y.numel())).cos().reshape(y.shape)
        return [y, *torch.autograd.grad(y, operands, torch.empty_like(y).copy_(g))]
    return compute


# Input, weight, then stride, padding and groups: Winograd's two, other taps, single ones (also of every other
# pixel), few channels on either side, many taps, groups, a channel for itself, results that are a pixel wide,
# three dimensions.
CONVOLUTIONS: list[Any] = [
    ((2, 64, 33, 30), (40, 64, 3, 3), 1, 1, 1), ((1, 20, 7, 5), (70, 20, 3, 3), 1, 1, 1),
    ((2, 512, 4, 4), (64, 512, 3, 3), 1, 1, 1), ((2, 36, 17, 19), (33, 36, 3, 3), 2, 1, 1),
    ((2, 36, 17, 19), (33, 36, 1, 1), 1, 0, 1), ((2, 36, 17, 19), (33, 36, 1, 1), 2, 0, 1),
    ((2, 3, 40, 40), (32, 3, 7, 7), 2, 3, 1), ((2, 33, 20, 20), (3, 33, 3, 3), 1, 1, 1),
    ((2, 16, 28, 28), (32, 16, 5, 5), 1, 2, 1), ((2, 40, 12, 12), (40, 20, 3, 3), 1, 1, 2),
    ((2, 24, 20, 21), (24, 1, 3, 3), 1, 1, 24), ((2, 24, 20, 21), (48, 1, 5, 5), 2, 2, 24),
    ((3, 17, 7, 4), (32, 17, 5, 5), 3, 1, 1), ((2, 24, 9, 1), (20, 24, 1, 1), 1, 0, 1),
    ((2, 20, 5, 9, 8), (24, 20, 3, 3, 3), 1, 1, 1)]


def convolved(case: Any) -> Callable[..., Any]:
    """Its function of input, weight and bias."""
    _, weight, stride, padding, groups = case
    function = F.conv2d if len(weight) == 4 else F.conv3d
    return with_gradients(lambda x, w, b: function(x, w, b, stride, padding, 1, groups))


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("weight_last", [False, True])
def test_convolutions(case: Any, weight_last: bool) -> None:
    x, w, b = image(*case[0]), image(*case[1]), image(*case[1][:1], 1, 1, 1).reshape(-1)
    operands = [x, w if weight_last else w.contiguous(), b]
    for name in ("convolution", "convolution_input", "convolution_weight"):
        check(convolved(case), operands, name, 2e-4)


@pytest.mark.parametrize("case", [CONVOLUTIONS[0], CONVOLUTIONS[3], CONVOLUTIONS[10]], ids=str)
def test_the_same_bits_for_any_number_of_threads(case: Any) -> None:
    check_threads(convolved(case), [image(*case[0]), image(*case[1]), torch.ones(case[1][0])])


def test_another_shape_compiles_nothing() -> None:
    def run(x: tuple[int, ...], w: tuple[int, ...]) -> set[str]:
        results(convolved((x, w, 1, 1, 1)), [image(*x), image(*w), torch.ones(w[0])], "native")
        # Others may still be compiled in the background.
        return {text for text in TEXTS if "@convolve" in text or "@pack_weights" in text}
    for x in ((2, 64, 16, 16), (3, 64, 21, 18)):    # each has kernels of its own
        known = run(x, (40, 64, 3, 3))
    for x in ((4, 64, 16, 12), (1, 64, 23, 18)):
        assert run(x, (56, 64, 3, 3)) == known


OTHERS: list[tuple[str, Callable[..., Any]]] = [
    ("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1)), ("avg_pool", lambda x: F.avg_pool2d(x, 2)),
    ("avg_pool_backward", lambda x: F.avg_pool2d(x, 3, 1, 1)),
    ("pool_scatter", lambda x: F.max_pool2d(x, 2)),
    ("adaptive_max_pool", lambda x: F.adaptive_max_pool2d(x, 3)),
    ("native_batch_norm", lambda x: F.batch_norm(x, None, None, training=True)),
    ("normalize_backward", lambda x: F.batch_norm(x, None, None, training=True)),
    ("native_group_norm", lambda x: F.group_norm(x, 2)),
    ("banded_product", lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear")),
    ("index_select", lambda x: F.interpolate(x, scale_factor=2)),
    ("constant_pad_nd", lambda x: F.pad(x, (1, 2, 0, 1))),
    ("border_pad", lambda x: F.pad(x, (1, 2, 0, 1), mode="reflect")),
    ("cat", lambda x: torch.cat([x, x[:, :3]], 1)), ("cat", lambda x: torch.cat([x, x], 2)),
    ("stack", lambda x: torch.stack([x, x], 1)), ("roll", lambda x: x.roll((1, 2), (1, 3))),
    ("slice_scatter", lambda x: x.slice_scatter(x[:, :1] * 2, 1, 1, 2)),
]


@pytest.mark.parametrize("number", range(len(OTHERS)))
@pytest.mark.parametrize("shape", [(2, 6, 9, 8), (3, 34, 5, 7), (1, 2, 16, 16)], ids=str)
def test_others(number: int, shape: tuple[int, ...]) -> None:
    name, function = OTHERS[number]
    check(with_gradients(function), [image(*shape)], name, 1e-4)
    wider = image(shape[0], 2 * shape[1], *shape[2:])
    check(with_gradients(function), [wider[:, :shape[1]]], name, 1e-4)     # with gaps


def test_what_calls_have_in_common_tells_what_goes_through_the_workspace() -> None:
    grad, attributes = image(2, 3, 4, 4), ((2, 3, 8, 8), (2, 2), (2, 2), (0, 0), (4, 4), True, None, True)
    plan = plan_of(sign(AVG_POOL_BACKWARD, (AVG_POOL_BACKWARD, attributes, grad._geometry), attributes))
    assert plan is not None and len(plan.calls) > 1
    for call in plan.calls:
        words = call.words
        assert words.places == (len(words.values), words.inputs, words.outputs, words.numbers,
                                words.workspaces, words.status_word)
