"""Recurrent networks written out step by step in elementary operators.

This is the definition that the sequence operators of ``recurrent_sequence.py`` fulfil as one: they come back
to it where a gradient is to be differentiated again, and for element types that they do not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ..activations.activation import relu
from ..creation.creation import zeros
from ..pointwise.exponential import sigmoid
from ..pointwise.trigonometric import tanh
from ..products.linear import linear
from ..shapes.joining import cat, stack

# One step: (projected input, hidden state, w_hh, b_hh, w_hr) -> new hidden state, the output first.
Step = Callable[[Tensor, tuple[Tensor, ...], Any, Any, Any], tuple[Tensor, ...]]


def lstm_step(gates_x: Tensor, hidden: tuple[Tensor, ...], w_hh: Tensor, b_hh: Any,
              w_hr: Any) -> tuple[Tensor, ...]:
    """h = o tanh(c), c = f c + i g, with the gates' parts of the input (N, 4 hidden); (h, c)."""
    h, c = hidden
    i, f, g, o = (gates_x + linear(h, w_hh, b_hh)).chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return (h if w_hr is None else linear(h, w_hr)), c


def gru_step(gates_x: Tensor, hidden: tuple[Tensor, ...], w_hh: Tensor, b_hh: Any,
             w_hr: Any) -> tuple[Tensor, ...]:
    """h = (1 - z) n + z h, with the gates' parts of the input (N, 3 hidden); (h,)."""
    (h,) = hidden
    r_x, z_x, n_x = gates_x.chunk(3, -1)
    r_h, z_h, n_h = linear(h, w_hh, b_hh).chunk(3, -1)
    z = sigmoid(z_x + z_h)
    n = tanh(n_x + sigmoid(r_x + r_h) * n_h)
    return ((h - n) * z + n,)


def tanh_step(gates_x: Tensor, hidden: tuple[Tensor, ...], w_hh: Tensor, b_hh: Any,
              w_hr: Any) -> tuple[Tensor, ...]:
    """h = tanh(x + h W^T + b); (h,)."""
    return (tanh(gates_x + linear(hidden[0], w_hh, b_hh)),)


def relu_step(gates_x: Tensor, hidden: tuple[Tensor, ...], w_hh: Tensor, b_hh: Any,
              w_hr: Any) -> tuple[Tensor, ...]:
    """h = max(x + h W^T + b, 0); (h,)."""
    return (relu(gates_x + linear(hidden[0], w_hh, b_hh)),)


def unrolled(step: Step, x: Tensor, sizes: list[int] | None, hidden: tuple[Any, ...], weights: Any,
             reverse: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """One layer in one direction; an absent hidden state is zero. See ``padded``, ``packed`` and a cell."""
    w_ih, w_hh, _, _, w_hr = weights
    if any(h is None for h in hidden):
        rows = x.shape[-2]
        widths = (w_hh.shape[1], w_hh.shape[0] // 4 if w_hr is None else w_hr.shape[1])
        hidden = tuple(zeros((rows, n), dtype=x.dtype, device=x.device) if h is None else h
                       for h, n in zip(hidden, widths))
    if sizes is not None:
        return packed(step, x, sizes, hidden, weights, reverse)
    if x.ndim == 2:
        last = step(linear(x, w_ih, weights[2]), hidden, w_hh, weights[3], w_hr)
        return last[0], last
    return padded(step, x, hidden, weights, reverse)


def padded(step: Step, x: Tensor, hidden: tuple[Tensor, ...], weights: Any,
           reverse: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Over x (T, N, C): outputs (T, N, H) and the last hidden state."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    parts = linear(x, w_ih, b_ih).unbind(0)
    outputs: list[Any] = [None] * len(parts)
    order = range(len(parts) - 1, -1, -1) if reverse else range(len(parts))
    for t in order:
        hidden = step(parts[t], hidden, w_hh, b_hh, w_hr)
        outputs[t] = hidden[0]
    return stack(outputs, 0), hidden


def packed(step: Step, x: Tensor, sizes: list[int], hidden: tuple[Tensor, ...], weights: Any,
           reverse: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Over packed steps: x (sum of sizes, C), the longest sequences first."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    parts = linear(x, w_ih, b_ih).split(sizes, 0)
    outputs: list[Any] = [None] * len(sizes)
    full = hidden
    order = range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes))
    finished: list[tuple[Tensor, ...]] = []
    current = tuple(h.narrow(0, 0, sizes[order[0]]) for h in full)
    for t in order:
        size, have = sizes[t], current[0].shape[0]
        if size < have:  # sequences that have ended, the last ones
            finished.append(tuple(h.narrow(0, size, have - size) for h in current))
            current = tuple(h.narrow(0, 0, size) for h in current)
        elif size > have:  # sequences that begin, in the reverse direction
            current = tuple(cat([h, f.narrow(0, have, size - have)], 0) for h, f in zip(current, full))
        current = step(parts[t], current, w_hh, b_hh, w_hr)
        outputs[t] = current[0]
    last = tuple(cat([h, *(f[i] for f in reversed(finished))], 0) for i, h in enumerate(current))
    return cat(outputs, 0), last
