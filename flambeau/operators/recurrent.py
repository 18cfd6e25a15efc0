"""Recurrent networks: LSTM, GRU and plain RNN, cells and whole sequences.

    LSTM  i, f, g, o = x W_i + h W_h + b;  c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' = sigmoid(o) tanh(c')
    GRU   r, z from x W_i + h W_h + b;  n = tanh(x W_in + b_in + r (h W_hn + b_hn));  h' = (1 - z) n + z h
    RNN   h' = tanh(x W_i + h W_h + b), or relu

The products of the inputs with their weights are one matrix product for the whole sequence; what is recurrent
is a Python loop that is recorded like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from .activation import relu
from .dropout import dropout as _dropout
from .exponential import sigmoid
from .joining import cat, stack
from .linear import linear
from .registry import api
from .trigonometric import tanh

# One step: (projected input, hidden state, recurrent weights) -> new hidden state, the output first.
Step = Callable[[Tensor, tuple[Tensor, ...], Any, Any, Any], tuple[Tensor, ...]]


def _lstm_step(gates_x: Tensor, hidden: tuple[Tensor, ...], w_hh: Tensor, b_hh: Any,
               w_hr: Any) -> tuple[Tensor, ...]:
    h, c = hidden
    i, f, g, o = (gates_x + linear(h, w_hh, b_hh)).chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return (h if w_hr is None else linear(h, w_hr)), c


def _gru_step(gates_x: Tensor, hidden: tuple[Tensor, ...], w_hh: Tensor, b_hh: Any,
              w_hr: Any) -> tuple[Tensor, ...]:
    (h,) = hidden
    r_x, z_x, n_x = gates_x.chunk(3, -1)
    r_h, z_h, n_h = linear(h, w_hh, b_hh).chunk(3, -1)
    z = sigmoid(z_x + z_h)
    n = tanh(n_x + sigmoid(r_x + r_h) * n_h)
    return ((h - n) * z + n,)


def _tanh_step(gates_x: Tensor, hidden: tuple[Tensor, ...], w_hh: Tensor, b_hh: Any,
               w_hr: Any) -> tuple[Tensor, ...]:
    return (tanh(gates_x + linear(hidden[0], w_hh, b_hh)),)


def _relu_step(gates_x: Tensor, hidden: tuple[Tensor, ...], w_hh: Tensor, b_hh: Any,
               w_hr: Any) -> tuple[Tensor, ...]:
    return (relu(gates_x + linear(hidden[0], w_hh, b_hh)),)


# --- whole sequences ----------------------------------------------------------------------------------------

def _direction(step: Step, x: Tensor, hidden: tuple[Tensor, ...], weights: Any,
               reverse: bool) -> tuple[Any, ...]:
    """One layer in one direction over x (T, N, C): outputs (T, N, H) and the last hidden state."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    parts = linear(x, w_ih, b_ih).unbind(0)
    outputs: list[Any] = [None] * len(parts)
    order = range(len(parts) - 1, -1, -1) if reverse else range(len(parts))
    for t in order:
        hidden = step(parts[t], hidden, w_hh, b_hh, w_hr)
        outputs[t] = hidden[0]
    return stack(outputs, 0), hidden


def _packed_direction(step: Step, x: Tensor, sizes: list[int], hidden: tuple[Tensor, ...], weights: Any,
                      reverse: bool) -> tuple[Any, ...]:
    """The same over packed steps: x (sum of sizes, C), the longest sequences first."""
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


def _grouped(params: Any, has_biases: bool, layers: int, directions: int, projected: bool) -> list[Any]:
    """Flat weights as (w_ih, w_hh, b_ih, b_hh, w_hr) per layer and direction."""
    each = 2 + 2 * bool(has_biases) + projected
    groups = []
    for i in range(layers * directions):
        part = list(params[i * each:(i + 1) * each])
        b_ih, b_hh = (part[2], part[3]) if has_biases else (None, None)
        groups.append((part[0], part[1], b_ih, b_hh, part[-1] if projected else None))
    return groups


def _run(step: Step, x: Tensor, hidden: tuple[Tensor, ...], params: Any, has_biases: bool, layers: int,
         dropout: float, train: bool, bidirectional: bool, sizes: list[int] | None,
         projected: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """All layers: x (T, N, C) or packed; hidden states (layers * directions, N, H)."""
    directions = 2 if bidirectional else 1
    groups = _grouped(params, has_biases, layers, directions, projected)
    last: list[tuple[Tensor, ...]] = []
    for layer in range(layers):
        outputs = []
        for d in range(directions):
            i = layer * directions + d
            start = tuple(h[i] for h in hidden)
            if sizes is None:
                out, end = _direction(step, x, start, groups[i], d == 1)
            else:
                out, end = _packed_direction(step, x, sizes, start, groups[i], d == 1)
            outputs.append(out)
            last.append(end)
        x = outputs[0] if directions == 1 else cat(outputs, -1)
        if dropout and train and layer < layers - 1:
            x = _dropout(x, dropout, True)
    return x, tuple(stack([end[k] for end in last], 0) for k in range(len(hidden)))


def _sequence(step: Step, args: tuple[Any, ...], states: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Both call forms: (input, hx, params, ..., batch_first) and (data, batch_sizes, hx, params, ...)."""
    packed = isinstance(args[1], Tensor) and isinstance(args[3], (list, tuple)) \
        and not isinstance(args[2], bool) and (states == 1 or isinstance(args[2], (list, tuple))) \
        and args[1].ndim == 1
    if packed:
        data, batch_sizes, hx, params, has_biases, layers, dropout, train, bidirectional = args
        sizes = batch_sizes.tolist()
        hidden = tuple(hx) if states == 2 else (hx,)
        return _run(step, data, hidden, params, has_biases, layers, dropout, train, bidirectional, sizes,
                    _is_projected(params, has_biases, states))
    x, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first = args
    hidden = tuple(hx) if states == 2 else (hx,)
    if batch_first:
        x = x.transpose(0, 1)
    out, last = _run(step, x, hidden, params, has_biases, layers, dropout, train, bidirectional, None,
                     _is_projected(params, has_biases, states))
    return (out.transpose(0, 1) if batch_first else out), last


def _is_projected(params: Any, has_biases: bool, states: int) -> bool:
    """Whether an LSTM has projections: then its recurrent weight reads fewer features than it has cells."""
    return states == 2 and params[1].shape[0] != 4 * params[1].shape[1]


@api("torch")
def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """LSTM over sequences.

    Arguments: (input, (h, c), params, has_biases, num_layers, dropout, train, bidirectional, batch_first);
    packed: (data, batch_sizes, (h, c), params, has_biases, num_layers, dropout, train, bidirectional).
    """
    out, (h, c) = _sequence(_lstm_step, args, 2)
    return out, h, c


@api("torch")
def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """GRU over sequences; arguments as for ``lstm`` with one hidden state."""
    out, (h,) = _sequence(_gru_step, args, 1)
    return out, h


@api("torch")
def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]:
    """Plain RNN with tanh over sequences; arguments as for ``gru``."""
    out, (h,) = _sequence(_tanh_step, args, 1)
    return out, h


@api("torch")
def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]:
    """Plain RNN with relu over sequences; arguments as for ``gru``."""
    out, (h,) = _sequence(_relu_step, args, 1)
    return out, h


# --- cells --------------------------------------------------------------------------------------------------

@api("torch")
def lstm_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None,
              b_hh: Any = None) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: (N, C), ((N, H), (N, H)) give the new (h, c)."""
    h, c = _lstm_step(linear(input, w_ih, b_ih), tuple(hx), w_hh, b_hh, None)
    return h, c


@api("torch")
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None,
             b_hh: Any = None) -> Tensor:
    """One step of a GRU."""
    return _gru_step(linear(input, w_ih, b_ih), (hx,), w_hh, b_hh, None)[0]


@api("torch")
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None,
                  b_hh: Any = None) -> Tensor:
    """One step of a plain RNN with tanh."""
    return _tanh_step(linear(input, w_ih, b_ih), (hx,), w_hh, b_hh, None)[0]


@api("torch")
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None,
                  b_hh: Any = None) -> Tensor:
    """One step of a plain RNN with relu."""
    return _relu_step(linear(input, w_ih, b_ih), (hx,), w_hh, b_hh, None)[0]
