"""Recurrent networks: LSTM, GRU and plain RNN, cells and whole sequences.

    LSTM  i, f, g, o = x W_i + h W_h + b;  c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' = sigmoid(o) tanh(c')
    GRU   r, z from x W_i + h W_h + b;  n = tanh(x W_in + b_in + r (h W_hn + b_hn));  h' = (1 - z) n + z h
    RNN   h' = tanh(x W_i + h W_h + b), or relu

Each layer and direction is one operator (``recurrent_sequence.py``), which computes all steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import dtypes
from ...graph.operator import Operator
from ...tensor import Tensor, record
from ...tensor.recording import casting
from ...tensor.tape import state
from ..declaration.registry import api
from ..random.dropout import dropout as _dropout
from ..shapes.joining import cat, stack
from . import recurrent_sequence as sequence
from .recurrent_steps import Step, gru_step, lstm_step, relu_step, tanh_step, unrolled


class _Kind(NamedTuple):
    """A kind of layer: its step, the operators that compute all steps, and how many states it has."""

    step: Step
    padded: Operator
    packed: Operator
    cell: Operator
    states: int
    attributes: tuple[bool, ...] = ()


_LSTM = _Kind(lstm_step, sequence.LSTM_PADDED, sequence.LSTM_PACKED, sequence.LSTM_CELL, 2)
_GRU = _Kind(gru_step, sequence.GRU_PADDED, sequence.GRU_PACKED, sequence.GRU_CELL, 1)
_TANH = _Kind(tanh_step, sequence.RNN_PADDED, sequence.RNN_PACKED, sequence.TANH_CELL, 1, (False,))
_RELU = _Kind(relu_step, sequence.RNN_PADDED, sequence.RNN_PACKED, sequence.RELU_CELL, 1, (True,))


def _direction(kind: _Kind, x: Tensor, sizes: Tensor | None, hidden: tuple[Any, ...],
               weights: tuple[Any, ...], reverse: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """One layer in one direction: outputs and the last hidden state."""
    if casting.active and casting.state.target is not None:
        if kind is not _LSTM or sizes is not None or x._geometry.ndim == 2 or weights[-1] is not None:
            counts = None if sizes is None else sizes.tolist()
            weights = casting.lowered(weights, casting.state.target)    # once, not in each step
            return unrolled(kind.step, x, counts, hidden, weights, reverse)
        x, hidden, weights = casting.lowered((x, hidden, weights), casting.state.target)
    dtype = x._geometry.dtype
    if dtype.category != dtypes.FLOATING:
        counts = None if sizes is None else sizes.tolist()
        return unrolled(kind.step, x, counts, hidden, weights, reverse)
    chosen = kind.cell if x._geometry.ndim == 2 else kind.padded
    if sizes is not None:
        chosen = kind.packed
    elif chosen is sequence.LSTM_PADDED and weights[-1] is None and dtype is not dtypes.float64:
        chosen = sequence.LSTM_FUSED
    if kind.states == 1:
        weights = weights[:-1]
    operands = (x, sizes, *hidden, *weights)
    keeps = state.enabled and any([each is not None and each.requires_grad for each in operands])  # noqa: C419
    results = record(chosen, operands, (reverse, keeps, *kind.attributes), 1 + kind.states)
    return results[0], results[1:1 + kind.states]


# --- whole sequences ----------------------------------------------------------------------------------------

def _grouped(params: Any, has_biases: bool, layers: int, directions: int, projected: bool) -> list[Any]:
    """Flat weights as (w_ih, w_hh, b_ih, b_hh, w_hr) per layer and direction."""
    each = 2 + 2 * bool(has_biases) + projected
    if len(params) != each * layers * directions:
        raise RuntimeError("got an incorrect number of RNN parameters")
    groups = []
    for i in range(layers * directions):
        part = list(params[i * each:(i + 1) * each])
        b_ih, b_hh = (part[2], part[3]) if has_biases else (None, None)
        groups.append((part[0], part[1], b_ih, b_hh, part[-1] if projected else None))
    return groups


def _run(kind: _Kind, x: Tensor, hidden: tuple[Any, ...], params: Any, has_biases: bool, layers: int,
         dropout: float, train: bool, bidirectional: bool, sizes: Tensor | None,
         projected: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """All layers: x (T, N, C) or packed; hidden states (layers * directions, N, H), or None for zeros."""
    directions = 2 if bidirectional else 1
    groups = _grouped(params, has_biases, layers, directions, projected)
    last: list[tuple[Tensor, ...]] = []
    for layer in range(layers):
        outputs = []
        for d in range(directions):
            i = layer * directions + d
            start = tuple([None if h is None else h[i] for h in hidden])
            out, end = _direction(kind, x, sizes, start, groups[i], d == 1)
            outputs.append(out)
            last.append(end)
        x = outputs[0] if directions == 1 else cat(outputs, -1)
        if dropout and train and layer < layers - 1:
            x = _dropout(x, dropout, True)
    return x, tuple([stack([end[k] for end in last], 0) for k in range(len(hidden))])


def _sequence(kind: _Kind, args: tuple[Any, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Both call forms: (input, hx, params, ..., batch_first) and (data, batch_sizes, hx, params, ...)."""
    states = kind.states
    packed = isinstance(args[1], Tensor) and isinstance(args[3], (list, tuple)) \
        and not isinstance(args[2], bool) and (states == 1 or isinstance(args[2], (list, tuple))) \
        and args[1].ndim == 1
    if packed:
        data, batch_sizes, hx, params, has_biases, layers, dropout, train, bidirectional = args
        hidden = tuple(hx) if states == 2 else (hx,)
        return _run(kind, data, hidden, params, has_biases, layers, dropout, train, bidirectional,
                    batch_sizes, _is_projected(params, states))
    x, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first = args
    if bidirectional.__class__ is not bool:
        raise TypeError("bidirectional must be bool")       # worded by what judges the arguments
    hidden = (None,) * states if hx is None else tuple(hx) if states == 2 else (hx,)
    if batch_first:
        x = x.transpose(0, 1)
    if x.shape[0] == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    if not x._geometry.is_contiguous:
        x = x.contiguous()  # steps under each other, once for the products of forward and backward
    out, last = _run(kind, x, hidden, params, has_biases, layers, dropout, train, bidirectional, None,
                     _is_projected(params, states))
    return (out.transpose(0, 1) if batch_first else out), last


def _is_projected(params: Any, states: int) -> bool:
    """Whether an LSTM has projections: then its recurrent weight reads fewer features than it has cells."""
    return states == 2 and params[1].shape[0] != 4 * params[1].shape[1]


@api("torch")
def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """LSTM over sequences.

    Arguments: (input, (h, c), params, has_biases, num_layers, dropout, train, bidirectional, batch_first);
    packed: (data, batch_sizes, (h, c), params, has_biases, num_layers, dropout, train, bidirectional).

    >>> import flambeau as torch
    >>> layer = torch.nn.LSTM(3, 4)
    >>> x, h = torch.ones(5, 2, 3), torch.zeros(1, 2, 4)
    >>> out, h, c = torch.lstm(x, (h, h), layer._flat_weights, True, 1, 0.0, False, False, False)
    >>> out.shape, c.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """
    out, (h, c) = _sequence(_LSTM, args)
    return out, h, c


@api("torch")
def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """GRU over sequences; arguments as for ``lstm`` with one hidden state.

    >>> import flambeau as torch
    >>> layer = torch.nn.GRU(3, 4)
    >>> x, h = torch.ones(5, 2, 3), torch.zeros(1, 2, 4)
    >>> torch.gru(x, h, layer._flat_weights, True, 1, 0.0, False, False, False)[0].shape
    torch.Size([5, 2, 4])
    """
    out, (h,) = _sequence(_GRU, args)
    return out, h


@api("torch")
def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]:
    """Plain RNN with tanh over sequences; arguments as for ``gru``.

    >>> import flambeau as torch
    >>> weights = (torch.ones(1, 1), torch.ones(1, 1))
    >>> x, h = torch.ones(2, 1, 1), torch.zeros(1, 1, 1)
    >>> y, h = torch.rnn_tanh(x, h, weights, False, 1, 0.0, False, False, False)
    >>> y.shape, h.shape
    (torch.Size([2, 1, 1]), torch.Size([1, 1, 1]))
    """
    out, (h,) = _sequence(_TANH, args)
    return out, h


@api("torch")
def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]:
    """Plain RNN with relu over sequences; arguments as for ``gru``.

    >>> import flambeau as torch
    >>> weights = (torch.ones(1, 1), torch.ones(1, 1))
    >>> x, h = torch.ones(2, 1, 1), torch.zeros(1, 1, 1)
    >>> y, h = torch.rnn_relu(x, h, weights, False, 1, 0.0, False, False, False)
    >>> y.flatten(), h.flatten()
    (tensor([1., 2.]), tensor([2.]))
    """
    out, (h,) = _sequence(_RELU, args)
    return out, h


# --- cells --------------------------------------------------------------------------------------------------

def _check_cell(input: Tensor, hidden: tuple[Tensor, ...], w_ih: Tensor, w_hh: Tensor) -> None:
    """Whether input (N, C) and states (N, H) fit the weights and one another."""
    batch, features = input.shape
    if features != w_ih.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {features} expected {w_ih.shape[1]}")
    width = w_hh.shape[1]
    for i, h in enumerate(hidden):
        if h.shape[0] != batch:
            raise RuntimeError(f"Input batch size {batch} doesn't match hidden{i} batch size {h.shape[0]}")
        if h.shape[1] != width:
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {h.shape[1]}, expected {width}")


def _cell(kind: _Kind, input: Tensor, hidden: tuple[Any, ...],
          weights: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The states after one step."""
    _check_cell(input, hidden, weights[0], weights[1])
    return _direction(kind, input, None, hidden, (*weights, None), False)[1]


@api("torch")
def lstm_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None,
              b_hh: Any = None) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: (N, C), ((N, H), (N, H)) give the new (h, c).

    >>> import flambeau as torch
    >>> x, h, c = torch.ones(2, 3), torch.zeros(2, 4), torch.zeros(2, 4)
    >>> h, c = torch.lstm_cell(x, (h, c), torch.zeros(16, 3), torch.zeros(16, 4))
    >>> h.shape, c.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))
    """
    if isinstance(hx, Tensor):
        raise TypeError("lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not "
                        f"{type(hx).__name__}")
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    h, c = _cell(_LSTM, input, tuple(hx), (w_ih, w_hh, b_ih, b_hh))
    return h, c


@api("torch")
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None,
             b_hh: Any = None) -> Tensor:
    """One step of a GRU.

    >>> import flambeau as torch
    >>> torch.gru_cell(torch.ones(2, 3), torch.zeros(2, 4), torch.zeros(12, 3), torch.zeros(12, 4)).shape
    torch.Size([2, 4])
    """
    return _cell(_GRU, input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]


@api("torch")
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None,
                  b_hh: Any = None) -> Tensor:
    """One step of a plain RNN with tanh.

    >>> import flambeau as torch
    >>> one = torch.ones(1, 1)
    >>> torch.rnn_tanh_cell(one, one, one, one)
    tensor([[0.9640]])
    """
    return _cell(_TANH, input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]


@api("torch")
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None,
                  b_hh: Any = None) -> Tensor:
    """One step of a plain RNN with relu.

    >>> import flambeau as torch
    >>> one = torch.ones(1, 1)
    >>> torch.rnn_relu_cell(one, one, one, -one)
    tensor([[0.]])
    """
    return _cell(_RELU, input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]
