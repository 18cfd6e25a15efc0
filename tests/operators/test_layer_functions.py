"""The functions behind layers, distances, masked operations, windows and transforms, against PyTorch 2.13.

Values and gradients of each expression are compared with facts recorded by ``record_layers.py``, and
element by element where PyTorch is importable.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from tests.operators.layer_expressions import FAMILIES, names, outcome, summary

FACTS = json.loads((Path(__file__).parent / "layers.json").read_text())
EXPRESSIONS = [e for expressions in FAMILIES.values() for e in expressions]


def _close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_recorded(expression: str) -> None:
    found, fact = summary(outcome(flambeau, expression)), FACTS[expression]
    assert (found["dtype"], found["shape"]) == (fact["dtype"], fact["shape"])
    _close(found["value"], fact["value"])
    assert [g is None for g in found["gradients"]] == [g is None for g in fact["gradients"]]
    for ours, theirs in zip(found["gradients"], fact["gradients"]):
        if theirs is not None:
            _close(ours, theirs)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_beside_pytorch(expression: str, oracle: Any) -> None:
    found, expected = outcome(flambeau, expression), outcome(oracle, expression)
    _close(found["value"], expected["value"])
    for ours, theirs in zip(found["gradients"], expected["gradients"]):
        if theirs is not None:
            _close(ours, theirs)


ERRORS: list[tuple[str, type[Exception], str]] = [
    ("torch.segment_reduce(x(6), 'sum')", RuntimeError, "Either lengths or offsets must be defined."),
    ("torch.segment_reduce(x(6), 'x', lengths=k((1,), 2))", RuntimeError, "must be either sum, prod, mean,"),
    (
        "torch.segment_reduce(x(6), 'sum', lengths=torch.tensor([2]))",
        RuntimeError,
        "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.",
    ),
    (
        "torch.embedding_bag(x(3, 3), x(2), torch.tensor([0]))",
        RuntimeError,
        "have one of the following scalar types: Long, Int; but got torch.FloatTensor instead",
    ),
    (
        "torch.embedding_bag(x(3, 3), k((2,), 3), torch.tensor([0]), mode=3)",
        RuntimeError,
        "`mode` must be sum, mean, or max.",
    ),
    ("torch.fake_quantize_per_tensor_affine(x(2), 0.1, 0, 1, -1)", RuntimeError, "`quant_min` should be "
                                                                                 "less"),
    ("F.grouped_mm(x(2, 6, 4), x(4, 8))", RuntimeError, "Have to provide offsets if there is a 2d matrix"),
    ("F.grouped_mm(x(2, 3), x(3, 5), offs=k((1,), 2))", RuntimeError, "strides should be multiple of 16 "
                                                                      "bytes"),
    ("torch.lobpcg(c(5, 5), k=2)", ValueError, "LOBPCG algorithm is not applicable when the number of A "
                                               "rows"),
    ("torch.arange(0, 64, 0.5, dtype=torch.int64)", ValueError, "step must be nonzero"),
    ("torch.cond(3, 1, 2)", RuntimeError, "Expect both branches to be callable."),
    ("torch.cond('a', abs, abs)", RuntimeError, "Expected pred to be bool or tensor, but got a."),
    ("torch.eig(x(2, 2))", RuntimeError, "was deprecated since version 1.9 and is now removed."),
    ("x(2, 2).resize_as(x(3))", RuntimeError, "requested resize to 3 (3 elements in total), but the given"),
    ("F.group_norm(x(2, 4), 2, x(4).bfloat16())", RuntimeError, "mixed dtype (CPU): expect parameter"),
    ("F.layer_norm(x(2, 4), (4,), x(4).double())", RuntimeError, "mixed dtype (CPU): expect parameter"),
    (
        "torch.promote_types(torch.float8_e5m2, torch.float16)",
        RuntimeError,
        "Promotion for Float8 Types is not supported, attempted to promote Float8_e5m2 and Half",
    ),
    (
        "F.conv2d(x(1, 2, 4, 4), x(3, 3, 2, 2))",
        RuntimeError,
        "to have 3 channels, but got 2 channels instead",
    ),
    (
        "F.max_pool2d(x(1, 1, 4, 4), 2, padding=2)",
        RuntimeError,
        "pad should be at most half of effective kernel size",
    ),
    ("F.adaptive_avg_pool2d(x(2, 2), (2, 2))", ValueError, "Input dimension should be at least 3"),
    (
        "F.adaptive_max_pool1d(x(1, 1, 3), (-1,))",
        RuntimeError,
        "Trying to create tensor with negative dimension -1",
    ),
    (
        "F.layer_norm(x(2, 3), (2,))",
        RuntimeError,
        "Given normalized_shape=[2], expected input with shape [*, 2]",
    ),
    (
        "F.batch_norm(x(1, 3), None, None, training=True)",
        ValueError,
        "Expected more than 1 value per channel",
    ),
    ("F.cross_entropy(x(2, 3), torch.tensor([0, 3]))", IndexError, "Target 3 is out of bounds."),
    (
        "F.ctc_loss(x(3, 1, 4), torch.tensor([[1]]), (4,), (1,))",
        RuntimeError,
        "to have value at most 3, but got value 4",
    ),
    ("F.fractional_max_pool2d(x(1, 1, 4, 4), 2)", ValueError, "requires specifying either an output_size"),
    ("torch.cdist(x(2, 3), x(2, 4))", RuntimeError, "must have the same number of columns. X1: 3 X2: 4"),
    (
        "torch.stft(x(20), 8)",
        RuntimeError,
        "stft requires the return_complex parameter be given for real inputs",
    ),
    ("torch.signal.windows.kaiser(5, beta=-1)", ValueError, "beta must be non-negative, got: -1 instead."),
    ("torch.masked.mean(k((3,), 2))", ValueError, "Could not infer output dtype."),
    (
        "torch.gather(c(3), 0, k((2,), 2), out=c(2).double())",
        RuntimeError,
        "Expected out tensor to have dtype float, but got double instead",
    ),
    ("torch.zeros(2, layout='x')", TypeError, "argument 'layout' must be torch.layout, not str"),
]


@pytest.mark.filterwarnings("ignore:non-inplace")
@pytest.mark.parametrize(("expression", "kind", "message"), ERRORS, ids=[row[0] for row in ERRORS])
def test_errors(expression: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        _ = repr(eval(expression, names(flambeau)))
    assert message in str(caught.value)


def test_results_do_not_overwrite_what_is_read() -> None:
    x = flambeau.arange(4.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        flambeau.take(x, flambeau.tensor([1]), out=x)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        flambeau.add(x, 1, out=flambeau.zeros(1).expand(4))


def test_random_windows_differ_and_repeat_with_the_seed() -> None:
    x = flambeau.arange(81.0).reshape(1, 1, 9, 9)
    pooled = []
    for seed in (0, 1, 0):
        flambeau.manual_seed(seed)
        pooled.append(flambeau.nn.functional.fractional_max_pool2d(x, 2, output_size=5).tolist())
    assert pooled[0] == pooled[2] != pooled[1]


def test_ctc_loss_has_one_derivative() -> None:
    logits = flambeau.randn(4, 1, 3, requires_grad=True)
    loss = flambeau.nn.functional.ctc_loss(logits.log_softmax(2), flambeau.tensor([[1]]), (4,), (1,))
    (grad,) = flambeau.autograd.grad(loss, logits, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_ctc_loss_backward is not implemented"):
        flambeau.autograd.grad(grad.sum(), logits)


def test_fractional_windows_of_short_floats_begin_where_their_rounded_arithmetic_says() -> None:
    x = flambeau.arange(40 * 41.0, dtype=flambeau.bfloat16).reshape(1, 1, 40, 41)
    samples = flambeau.tensor([[[0.3, 0.9]]], dtype=flambeau.bfloat16)
    pool = flambeau.nn.functional.fractional_max_pool2d_with_indices
    _, places = pool(x, 2, output_size=(1, 17), _random_samples=samples)
    assert places[0, 0, 0].diff().tolist() == [3, 3, 2, 2, 3, 2, 2, 3, 2, 3, 2, 3, 2, 3, 3, 1]


def test_embedding_scales_only_rows_that_are_too_long() -> None:
    weight = flambeau.tensor([[1 - 3e-8], [1.0], [1 + 3e-8]], dtype=flambeau.float64)
    flambeau.nn.functional.embedding(flambeau.arange(3), weight, max_norm=1.0)
    assert weight[:2].flatten().tolist() == [1 - 3e-8, 1.0] and abs(weight[2].item() - (1 - 1e-7)) < 1e-12


@pytest.mark.parametrize(("bags", "gradient"), [
    ([[0, 1, 2], [2, 0, 1]], [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]),
    ([[2, 0], [0, 2]], [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]),
    ([[1, 1], [2, 2]], [[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]]),
])
def test_gradient_of_a_maximum_over_a_bag_goes_to_the_first_of_equal_rows(bags: Any, gradient: Any) -> None:
    weight = flambeau.tensor([[0.7, 0.7], [0.1, 0.2], [0.7, 0.7]], requires_grad=True)
    out = flambeau.nn.functional.embedding_bag(flambeau.tensor(bags), weight, mode="max")
    (out * flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert weight.grad.tolist() == gradient
