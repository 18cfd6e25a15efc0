"""One step of a recurrent layer."""

from __future__ import annotations

import math
from typing import Any

from ... import operators as ops
from ...tensor import Tensor
from .. import init
from ..parameter import Parameter
from .module import Module


class RNNCellBase(Module):
    """What the cells share: weight_ih (gates hidden, input), weight_hh (gates hidden, hidden) and two
    biases."""

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(ops.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(ops.empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, Parameter(ops.empty(rows, device=device, dtype=dtype)) if bias else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values, uniform in ±1/sqrt(hidden_size).

        >>> import flambeau as torch
        >>> cell = torch.nn.GRUCell(2, 3)
        >>> cell.reset_parameters()
        >>> bool((cell.weight_ih.abs() <= 3 ** -0.5).all())
        True
        """
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _parameters_in_order(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _check_dims(self, tensor: Tensor, name: str) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"{self._get_name()}: Expected {name} to be 1D or 2D, got {tensor.dim()}D instead"
            )

    def _single_state_step(self, function: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """Check the arguments, add the batch dimension where absent, and compute the next state."""
        self._check_dims(input, "input")
        if hx is not None:
            self._check_dims(hx, "hidden")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = ops.zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
        elif not batched:
            hx = hx.unsqueeze(0)
        result = function(input, hx, *self._parameters_in_order())
        return result if batched else result.squeeze(0)


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu; (N, H_in), (N, H_out) -> (N, H_out), N may be
    absent.

    >>> import flambeau as torch
    >>> torch.nn.RNNCell(4, 3)(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity == "tanh":
            function = ops.rnn_tanh_cell
        elif self.nonlinearity == "relu":
            function = ops.rnn_relu_cell
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._single_state_step(function, input, hx)


class GRUCell(RNNCellBase):
    """One step of GRU; (N, H_in), (N, H_out) -> (N, H_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.GRUCell(4, 3)(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._single_state_step(ops.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of LSTM; (N, H_in), ((N, H_out), (N, H_out)) -> ((N, H_out), (N, H_out)), N may be absent.

    >>> import flambeau as torch
    >>> h, c = torch.nn.LSTMCell(4, 3)(torch.zeros(2, 4))
    >>> h.shape, c.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_dims(input, "input")
        for index, state in enumerate(hx if hx is not None else ()):
            self._check_dims(state, f"hx[{index}]")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = ops.zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
            hx = (zeros, zeros)
        elif not batched:
            hx = tuple(state.unsqueeze(0) for state in hx)
        h, c = ops.lstm_cell(input, hx, *self._parameters_in_order())
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))
