"""Recurrent layers as single operators: values, first and second gradients, names, errors.

The facts come from the same layers written out step by step in elementary operators and, where PyTorch is
importable, from PyTorch.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.operators.sequences import recurrent, recurrent_steps

KINDS = ["lstm", "gru", "rnn_tanh", "rnn_relu"]
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
OPTIONS: list[dict[str, Any]] = [
    {}, {"bias": False}, {"layers": 2, "bidirectional": True}, {"batch_first": True}, {"packed": True},
    {"packed": True, "bidirectional": True, "bias": False}, {"projection": 2, "bidirectional": True},
    {"packed": True, "projection": 3},
]
CASES = [pytest.param(kind, options, id=f"{kind}-{options}")
         for kind, options in itertools.product(KINDS, OPTIONS)
         if kind == "lstm" or "projection" not in options]
N, T, FEATURES, HIDDEN = 3, 4, 3, 4


def arguments(torch: Any, kind: str, options: dict[str, Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """Leaves, and the arguments of ``torch.<kind>`` made of them."""
    rng = np.random.default_rng(0)

    def leaf(*shape: int) -> Any:
        return torch.tensor(rng.standard_normal(shape).tolist(), dtype=torch.float64, requires_grad=True)

    layers, directions = options.get("layers", 1), 1 + options.get("bidirectional", False)
    bias, projection = options.get("bias", True), options.get("projection", 0)
    width = projection or HIDDEN
    if options.get("packed"):
        data, sizes = leaf(9, FEATURES), [torch.tensor([3, 3, 2, 1])]
    else:
        data, sizes = leaf(*((N, T) if options.get("batch_first") else (T, N)), FEATURES), []
    h, c = leaf(layers * directions, N, width), leaf(layers * directions, N, HIDDEN)
    weights = []
    for layer, _ in itertools.product(range(layers), range(directions)):
        rows = GATES[kind] * HIDDEN
        weights += [leaf(rows, width * directions if layer else FEATURES), leaf(rows, width)]
        weights += [leaf(rows), leaf(rows)] * bias
        weights += [leaf(width, HIDDEN)] * (projection > 0)
    hx = (h, c) if kind == "lstm" else h
    last = () if sizes else (options.get("batch_first", False),)
    leaves = [data, h, *[c] * (kind == "lstm"), *weights]
    return leaves, (data, *sizes, hx, weights, bias, layers, 0.0, True, directions == 2, *last)


def outcome(torch: Any, kind: str, options: dict[str, Any]) -> list[Any]:
    """Results, their gradients, and the gradients of these."""
    leaves, given = arguments(torch, kind, options)
    found = getattr(torch, kind)(*given)
    loss = sum((part * part.cos()).sum() for part in found)
    first = torch.autograd.grad(loss, leaves, retain_graph=True)
    again = torch.autograd.grad(loss, leaves, create_graph=True)
    second = torch.autograd.grad(sum((g * g).sum() for g in again), leaves)
    return [np.array(x.detach().tolist()) for x in (*found, *first, *again, *second)]


def _close(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for x, y in zip(found, expected):
        np.testing.assert_allclose(x, y, 1e-8, 1e-10)


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_as_step_by_step(kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome(flambeau, kind, options)

    def by_steps(kind: Any, x: Any, sizes: Any, hidden: Any, weights: Any, reverse: bool) -> Any:
        counts = None if sizes is None else sizes.tolist()
        return recurrent_steps.unrolled(kind.step, x, counts, hidden, weights, reverse)

    monkeypatch.setattr(recurrent, "_direction", by_steps)
    _close(found, outcome(flambeau, kind, options))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(("kind", "options"), CASES)
def test_beside_pytorch(kind: str, options: dict[str, Any], oracle: Any) -> None:
    _close(outcome(flambeau, kind, options), outcome(oracle, kind, options))


def test_a_state_made_from_the_input() -> None:
    """Second gradients do not count the way through the other operand twice."""
    torch = flambeau
    torch.manual_seed(0)
    layer = torch.nn.GRU(3, 3).double()
    x = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: layer(x, x[:1].tanh())[0], (x,))
    assert torch.autograd.gradgradcheck(lambda x: layer(x, x[:1].tanh())[0], (x,))


def test_only_what_is_asked_for() -> None:
    """Frozen parameters and results that nobody uses have no gradient."""
    torch = flambeau
    layer = torch.nn.LSTM(3, 4)
    layer.weight_ih_l0.requires_grad_(False)
    x = torch.randn(5, 2, 3)
    _, (_, c) = layer(x)
    c.sum().backward()
    assert layer.weight_ih_l0.grad is None and x.grad is None
    assert layer.weight_hh_l0.grad.abs().sum() > 0
    layer.requires_grad_(False)
    assert not layer(x)[0].requires_grad


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_the_output_may_be_written(kind: str) -> None:
    torch = flambeau
    torch.manual_seed(0)
    layer, x = getattr(torch.nn, kind)(3, 4), torch.randn(5, 2, 3)
    expected = torch.autograd.grad((layer(x)[0] * 2).sum(), list(layer.parameters()))
    found = torch.autograd.grad(layer(x)[0].mul_(2).sum(), list(layer.parameters()))
    for y, z in zip(found, expected):
        np.testing.assert_allclose(y.numpy(), z.numpy(), 1e-6, 1e-6)


def test_one_node_a_layer() -> None:
    """A layer is one operator whatever the number of steps, and its grad_fn has PyTorch's name."""
    torch = flambeau
    names = {"LSTM": "MkldnnRnnLayerBackward0", "GRU": "StackBackward0", "RNN": "StackBackward0"}
    for kind, name in names.items():
        assert type(getattr(torch.nn, kind)(3, 4)(torch.randn(20, 2, 3))[0].grad_fn).__name__ == name


@pytest.mark.parametrize(("dtype", "tolerance"), [("bfloat16", 0.05), ("float16", 0.01)])
def test_sixteen_bits(dtype: str, tolerance: float) -> None:
    torch = flambeau
    torch.manual_seed(0)
    layer, x = torch.nn.LSTM(5, 6, bidirectional=True), torch.randn(7, 3, 5)
    expected = layer(x)[0]
    expected.sum().backward()
    gradient = layer.weight_hh_l0.grad.clone()
    layer.zero_grad()
    narrow = layer.to(getattr(torch, dtype))
    output = narrow(x.to(getattr(torch, dtype)))[0]
    output.sum().backward()
    assert output.dtype is narrow.weight_hh_l0.grad.dtype is getattr(torch, dtype)
    np.testing.assert_allclose(output.detach().float().numpy(), expected.detach().numpy(), 0, tolerance)
    np.testing.assert_allclose(narrow.weight_hh_l0.grad.float().numpy(), gradient.numpy(), 0.1, tolerance * 5)


def test_complex_numbers() -> None:
    torch = flambeau
    rows = torch.randn(16, 4, dtype=torch.complex64)
    h = torch.zeros(1, 2, 4, dtype=torch.complex64)
    found = torch.lstm(rows[:6].reshape(3, 2, 4), (h, h), [rows, rows], False, 1, 0.0, False, False, False)
    assert found[0].dtype is torch.complex64


@pytest.mark.parametrize(("change", "message"), [
    ({0: (0, 2, 3)}, "Expected sequence length to be larger than 0"),
    ({0: (5, 2, 5)}, "mat1 and mat2 shapes cannot be multiplied \\(10x5 and 3x12\\)"),
    ({1: (1, 2, 5)}, "mat1 and mat2 shapes cannot be multiplied \\(2x5 and 4x12\\)"),
    ({1: (1, 3, 4)}, "The size of tensor a \\(3\\) must match the size of tensor b \\(2\\)"),
    ({2: 3}, "got an incorrect number of RNN parameters"),
])
def test_errors(change: dict[int, Any], message: str) -> None:
    zeros = flambeau.zeros
    weights = [zeros(12, 3), zeros(12, 4), zeros(12), zeros(12)][:change.get(2, 4)]
    with pytest.raises(RuntimeError, match=message):
        flambeau.gru(zeros(change.get(0, (5, 2, 3))), zeros(change.get(1, (1, 2, 4))), weights, True, 1, 0.0,
                     False, False, False)
