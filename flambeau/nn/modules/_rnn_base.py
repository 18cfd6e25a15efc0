"""What the recurrent layers over whole sequences share."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from ... import operators as ops
from ...tensor import Tensor
from ...tensor.recording import casting
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["RNNBase", "apply_permutation"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Reorder a dimension."""
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What the recurrent layers share: parameters for each layer and direction, and the checks of the
    arguments.

    The parameters of layer k are weight_ih_lk (gates hidden, input), weight_hh_lk (gates hidden, hidden),
    bias_ih_lk, bias_hh_lk (gates hidden), and with projections weight_hr_lk (proj, hidden); those of the
    reverse
    direction end in _reverse. Initial values are uniform in ±1/sqrt(hidden_size).

    >>> import flambeau as torch
    >>> isinstance(torch.nn.GRU(2, 3), torch.nn.RNNBase)
    True
    """

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    # What follows the number of dimensions in the error for a wrong one.
    _dims_suffix: ClassVar[str] = "D"

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_options(dropout)
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                self._all_weights.append(self._create_parameters(layer, suffix, device, dtype))
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _check_options(self, dropout: Any) -> None:
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being "
                "zeroed"
            )
        if dropout > 0 and self.num_layers == 1:  # type: ignore[operator]
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: "
                                f"{type(getattr(self, name)).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    @property
    def _output_size(self) -> int:
        """The size of the hidden state, after the projection if there is one."""
        return self.proj_size if self.proj_size > 0 else self.hidden_size

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _create_parameters(self, layer: int, suffix: str, device: Any, dtype: Any) -> list[str]:
        """Register the empty parameters of one layer and direction; return their names."""
        rows = _GATES[self.mode] * self.hidden_size
        columns = self.input_size if layer == 0 else self._output_size * self._directions
        shapes: dict[str, tuple[int, ...]] = {
            f"weight_ih_l{layer}{suffix}": (rows, columns),
            f"weight_hh_l{layer}{suffix}": (rows, self._output_size),
        }
        if self.bias:
            shapes[f"bias_ih_l{layer}{suffix}"] = (rows,)
            shapes[f"bias_hh_l{layer}{suffix}"] = (rows,)
        if self.proj_size > 0:
            shapes[f"weight_hr_l{layer}{suffix}"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name, Parameter(ops.empty(shape, device=device, dtype=dtype)))
        return list(shapes)

    def reset_parameters(self) -> None:
        """Draw new initial values.

        >>> import flambeau as torch
        >>> layer = torch.nn.GRU(2, 4)
        >>> layer.reset_parameters()
        >>> bool((layer.weight_hh_l0.abs() <= 0.5).all())
        True
        """
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch keeps the list beside the parameters, and misses it in modules that it loads.
        return {**self.__dict__, "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if name != "_flat_weights"})

    @property
    def _flat_weights(self) -> list[Tensor]:
        """The parameters in the order in which the operators take them."""
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters, grouped by layer and direction.

        >>> import flambeau as torch
        >>> [list(x.shape) for x in torch.nn.LSTM(2, 3).all_weights[0]]
        [[12, 2], [12, 3], [12], [12]]
        """
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: where parameters lie in memory is the planner's business.

        >>> import flambeau as torch
        >>> torch.nn.LSTM(2, 3).flatten_parameters()
        """

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.proj_size != 0:
            parts.append(f"proj_size={self.proj_size}")
        if self.num_layers != 1:
            parts.append(f"num_layers={self.num_layers}")
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if self.batch_first is not False:
            parts.append(f"batch_first={self.batch_first}")
        if self.dropout != 0:
            parts.append(f"dropout={self.dropout}")
        if self.bidirectional is not False:
            parts.append(f"bidirectional={self.bidirectional}")
        return ", ".join(parts)

    # -- calling
    # -------------------------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        batched = self._check_dims(input)
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        if hx is not None:
            self._check_state_dims(hx, batched)
            if not batched:
                hx = self._each(hx, lambda state: state.unsqueeze(1))
        self.check_forward_args(input, hx, None)
        result = self._compute((input, hx), (self.batch_first,))
        output, hidden = result[0], self._pack_state(result[1:])
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            hidden = self._each(hidden, lambda state: state.squeeze(1))
        return output, hidden

    def _forward_packed(self, input: PackedSequence, hx: Any) -> Any:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        batch = int(batch_sizes[0])
        if hx is None:
            hx = self._zero_state(data, batch)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        result = self._compute((data, batch_sizes, hx), ())
        output = PackedSequence(result[0], batch_sizes, sorted_indices, unsorted_indices)
        return output, self.permute_hidden(self._pack_state(result[1:]), unsorted_indices)

    def _operator(self) -> Callable[..., Any]:
        if self.mode == "LSTM":
            return ops.lstm
        if self.mode == "GRU":
            return ops.gru
        return ops.rnn_tanh if self.mode == "RNN_TANH" else ops.rnn_relu

    def _compute(self, operands: tuple[Any, ...], last: tuple[Any, ...]) -> tuple[Tensor, ...]:
        """Call the operator; its arguments differ between padded and packed input at both ends."""
        return self._operator()(
            *operands,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            *last,
        )

    # The state is one tensor, except in LSTM, which overrides the following.

    def _each(self, state: Any, fn: Any) -> Any:
        return fn(state)

    def _pack_state(self, states: tuple[Tensor, ...]) -> Any:
        return states[0]

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Reorder the sequences of the state.

        >>> import flambeau as torch
        >>> layer = torch.nn.GRU(2, 1)
        >>> layer.permute_hidden(torch.tensor([[[1.0], [2.0]]]), torch.tensor([1, 0]))
        tensor([[[2.],
                 [1.]]])
        """
        if permutation is None:
            return hx
        return self._each(hx, lambda state: apply_permutation(state, permutation))

    def _zero_state(self, input: Tensor, batch: int) -> Any:
        shape = self.get_expected_hidden_size(input, None, batch)
        return ops.zeros(shape, dtype=input.dtype, device=input.device)

    # -- checks
    # --------------------------------------------------------------------------------------------------

    def _check_dims(self, input: Tensor) -> bool:
        """Tell whether the input is batched; refuse all but (L, N, H_in) and (L, H_in)."""
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}{self._dims_suffix} "
                "instead"
            )
        return input.dim() == 3

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        expected = 3 if batched else 2
        if hx.dim() != expected:
            kind = "batched" if batched else "unbatched"
            raise RuntimeError(
                f"For {kind} {expected}-D input, hx should also be {expected}-D but got {hx.dim()}-D tensor"
            )

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check the input and the state, where there is one: the operators take None for zeros."""
        self.check_input(input, batch_sizes)
        if hidden is not None:
            self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless `input` fits the weights: (L, N, H_in), or packed (rows, H_in) with `batch_sizes`.

        >>> import flambeau as torch
        >>> torch.nn.GRU(2, 3).check_input(torch.zeros(5, 4, 7), None)
        Traceback (most recent call last):
            ...
        RuntimeError: input.size(-1) must be equal to input_size. Expected 2, got 7
        """
        weight = getattr(self, self._flat_weights_names[0])
        if input.dtype != weight.dtype and casting.state.target is None:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert "
                f"input: input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None, batch: int | None = None
    ) -> tuple[int, int, int]:
        """Return the shape that the initial hidden state must have.

        >>> import flambeau as torch
        >>> torch.nn.GRU(2, 3, num_layers=2).get_expected_hidden_size(torch.zeros(5, 4, 2), None)
        (2, 4, 3)
        """
        if batch is None:
            if batch_sizes is not None:
                batch = int(batch_sizes[0])
            else:
                batch = input.size(0 if self.batch_first else 1)
        return self.num_layers * self._directions, batch, self._output_size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise unless `hx` has the expected shape.

        >>> import flambeau as torch
        >>> torch.nn.GRU(2, 3).check_hidden_size(torch.zeros(1, 4, 3), (1, 5, 3))
        Traceback (most recent call last):
        RuntimeError: Expected hidden size (1, 5, 3), got [1, 4, 3]
        """
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))
