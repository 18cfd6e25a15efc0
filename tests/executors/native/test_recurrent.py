"""Recurrent layers and their gradients give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import TEXTS, check, forget, is_native, results

KINDS: list[tuple[str, dict[str, Any], str]] = [
    ("LSTM", {}, "lstm_sequence"), ("GRU", {}, "gru_sequence"), ("RNN", {}, "rnn_sequence"),
    ("RNN", {"nonlinearity": "relu"}, "rnn_sequence"),
]
# sequences, steps, features, hidden state
SHAPES = [(1, 1, 1, 1), (3, 5, 7, 4), (7, 3, 16, 17), (17, 4, 33, 33), (40, 6, 20, 64), (33, 2, 5, 31)]
OPTIONS: list[dict[str, Any]] = [{"bias": False}, {"bidirectional": True},
                                 {"batch_first": True, "num_layers": 2}]
WIDE = (9, 3, 600, 40)  # weights that do not stay in the cache: the input is multiplied before the walk


def training(kind: str, shape: tuple[int, ...], dtype: Any, packed: bool = False, state: bool = False,
             **options: Any) -> tuple[Callable[..., Any], list[Tensor]]:
    """A function that gives output, states and all gradients, and its operands."""
    n, steps, features, hidden = shape
    flambeau.manual_seed(n + hidden)
    layer = getattr(nn, kind)(features, hidden, **options).to(dtype)
    lengths = flambeau.randint(1, steps + 1, (n,)).tolist()
    first, second = (n, steps) if options.get("batch_first") else (steps, n)
    data = [flambeau.randn(k, features, dtype=dtype) for k in lengths] if packed \
        else [flambeau.randn(first, second, features, dtype=dtype)]
    states = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    hx = [flambeau.randn(states, n, hidden, dtype=dtype) for _ in range(1 + (kind == "LSTM"))] * state

    def run(*operands: Tensor) -> Any:
        leaves = [x.detach().requires_grad_() for x in operands]
        values, start = leaves[:len(data)], leaves[len(data):]
        given = nn.utils.rnn.pack_sequence(values, enforce_sorted=False) if packed else values[0]
        output, last = layer(given, *([start[0] if kind != "LSTM" else tuple(start)] if start else []))
        output = output.data if packed else output
        last = last if isinstance(last, tuple) else (last,)
        loss = (output * output.detach().cos()).sum() + sum((h * h).sum() for h in last)
        return output, last, flambeau.autograd.grad(loss, [*leaves, *layer.parameters()])

    return run, [*data, *hx]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("kind", "options", "name"), KINDS)
def test_shapes(kind: str, options: dict[str, Any], name: str, shape: tuple[int, ...]) -> None:
    for k, others in enumerate(OPTIONS):
        run, operands = training(kind, shape, flambeau.float32, state=k % 2 == 1, **options, **others)
        check(run, operands, name, 1e-4)
        assert is_native(name + "_backward")


@pytest.mark.parametrize("shape", [*SHAPES[1:4], WIDE], ids=str)
@pytest.mark.parametrize(("kind", "options", "name"), KINDS)
def test_packed_sequences_in_double_precision(kind: str, options: dict[str, Any], name: str,
                                              shape: tuple[int, ...]) -> None:
    for state in (False, True):
        run, operands = training(kind, shape, flambeau.float64, packed=True, state=state, bidirectional=True,
                                 **options)
        check(run, operands, name, 1e-10)


@pytest.mark.parametrize(("kind", "options", "name"), KINDS)
def test_inference_of_views(kind: str, options: dict[str, Any], name: str) -> None:
    flambeau.manual_seed(0)
    layer = getattr(nn, kind)(5, 12, **options)
    x = flambeau.randn(4, 8, 20)[:, :, ::4]
    with flambeau.no_grad():
        layer.weight_hh_l0.copy_(flambeau.randn(12, layer.weight_hh_l0.shape[0]).T)
        check(lambda x: layer(x), [x], name, 1e-5)
        check(lambda x: layer(x.transpose(0, 1)), [x], name, 1e-5)


@pytest.mark.parametrize("cell", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells(cell: str) -> None:
    flambeau.manual_seed(0)
    made = getattr(nn, cell)(6, 10)

    def run(x: Tensor) -> Any:
        leaf = x.detach().requires_grad_()
        state = made(leaf)
        state = made(leaf, state)
        first = state[0] if isinstance(state, tuple) else state
        return state, flambeau.autograd.grad((first * first).sum(), [leaf, *made.parameters()])

    check(run, [flambeau.randn(9, 6)], {"L": "lstm", "G": "gru", "R": "rnn"}[cell[0]] + "_sequence", 1e-5)


def test_values_that_are_not_finite() -> None:
    flambeau.manual_seed(0)
    layer = nn.LSTM(4, 8)
    x = flambeau.randn(5, 3, 4)
    x[1, 0, 0], x[2, 1, 0], x[0, 2] = flambeau.nan, flambeau.inf, 1e30
    with flambeau.no_grad():
        check(lambda x: layer(x), [x], "lstm_sequence", 1e-5)


def test_another_shape_compiles_nothing() -> None:
    def compiled(shape: tuple[int, ...]) -> set[str]:
        for kind, options, _ in KINDS:
            run, operands = training(kind, shape, flambeau.float32, **options)
            results(run, operands, "native")
        return {text for text in TEXTS if "@project" in text or "@tile_8" in text}

    known = compiled(SHAPES[0])
    for shape in (*SHAPES, WIDE):
        assert compiled(shape) == known


@pytest.mark.parametrize(("kind", "options", "name"), KINDS[:3])
def test_the_same_bits_for_any_number_of_threads(kind: str, options: dict[str, Any], name: str,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.config import settings
    run, operands = training(kind, (50, 3, 10, 20), flambeau.float32, **options)
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(settings, "threads", count)
        forget()
        found.append(results(run, operands, "native"))
        assert is_native(name)
    for other in found[1:]:
        for (_, x), (_, y) in zip(found[0], other):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16], ids=str)
@pytest.mark.parametrize(("kind", "options", "name"), KINDS)
def test_short_types(kind: str, options: dict[str, Any], name: str, dtype: Any) -> None:
    """Single precision within, as in the interpreter: only what comes out is rounded."""
    for k, others in enumerate(OPTIONS):
        run, operands = training(kind, (17, 4, 33, 24), dtype, k == 0, k % 2 == 1, **options, **others)
        check(run, operands, name, 0.02)
        assert is_native(name + "_backward")
