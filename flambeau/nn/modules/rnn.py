"""Recurrent layers over whole sequences: RNN, LSTM (Hochreiter and Schmidhuber, 1997) and GRU (Cho et al.,
2014)."""

from __future__ import annotations

from typing import Any

from ... import operators as ops
from ...tensor import Tensor
from ._constructor import own_forward
from ._rnn_base import RNNBase
from .rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]


@own_forward
class RNN(RNNBase):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or relu; (L, N, H_in) -> (L, N, D H_out), (D
    layers, N, H_out).

    With `batch_first` the input and output are (N, L, ...); N may be absent; D is 2 if bidirectional.

    >>> import flambeau as torch
    >>> output, hidden = torch.nn.RNN(4, 3, num_layers=2)(torch.zeros(5, 2, 4))
    >>> output.shape, hidden.shape
    (torch.Size([5, 2, 3]), torch.Size([2, 2, 3]))
    """

    _dims_suffix = "D tensor"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity == "tanh":
            mode = "RNN_TANH"
        elif self.nonlinearity == "relu":
            mode = "RNN_RELU"
        else:
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(mode, *args, **kwargs)


@own_forward
class GRU(RNNBase):
    """The gated recurrent unit; (L, N, H_in) -> (L, N, D H_out), (D layers, N, H_out).

    r = sigmoid(W_ir x + b_ir + W_hr h + b_hr), z likewise, n = tanh(W_in x + b_in + r (W_hn h + b_hn)),
    h' = (1 - z) n + z h.

    >>> import flambeau as torch
    >>> output, hidden = torch.nn.GRU(4, 3, bidirectional=True)(torch.zeros(5, 2, 4))
    >>> output.shape, hidden.shape
    (torch.Size([5, 2, 6]), torch.Size([2, 2, 3]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


@own_forward
class LSTM(RNNBase):
    """Long short-term memory; (L, N, H_in) -> (L, N, D H_out), ((D layers, N, H_out), (D layers, N, H_cell)).

    i, f, o = sigmoid(W x + b + W' h + b'), g = tanh(likewise), c' = f c + i g, h' = o tanh(c'), or with
    `proj_size`
    its projection W_hr h'.

    >>> import flambeau as torch
    >>> output, (h, c) = torch.nn.LSTM(4, 3, batch_first=True)(torch.zeros(2, 5, 4))
    >>> output.shape, h.shape, c.shape
    (torch.Size([2, 5, 3]), torch.Size([1, 2, 3]), torch.Size([1, 2, 3]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _each(self, state: Any, fn: Any) -> Any:
        return fn(state[0]), fn(state[1])

    def _pack_state(self, states: tuple[Tensor, ...]) -> Any:
        return tuple(states)

    def _zero_state(self, input: Tensor, batch: int) -> Any:
        hidden = super()._zero_state(input, batch)
        shape = self.get_expected_cell_size(input, None, batch)
        return hidden, ops.zeros(shape, dtype=input.dtype, device=input.device)

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        expected = 3 if batched else 2
        if hx[0].dim() != expected or hx[1].dim() != expected:
            kind = "batched" if batched else "unbatched"
            raise RuntimeError(
                f"For {kind} {expected}-D input, hx and cx should also be {expected}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None, batch: int | None = None
    ) -> tuple[int, int, int]:
        """Return the shape that the initial cell state must have.

        >>> import flambeau as torch
        >>> torch.nn.LSTM(2, 3, proj_size=1).get_expected_cell_size(torch.zeros(5, 4, 2), None)
        (1, 4, 3)
        """
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes, batch)
        return layers, batch, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check the input and, where they are given, both states."""
        self.check_input(input, batch_sizes)
        if hidden is None:
            return
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")
