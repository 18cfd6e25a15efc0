"""Layers that multiply by a matrix."""

from __future__ import annotations

import math
from typing import Any

from ... import operators as ops
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Return the input; takes any arguments, so that it can stand in for another layer.

    >>> import flambeau as torch
    >>> torch.nn.Identity(54, unused=True)(torch.tensor(1.0))
    tensor(1.)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """y = x A^T + b; (*, in_features) -> (*, out_features).

    Initial values are uniform in ±1/sqrt(in_features).

    >>> import flambeau as torch
    >>> torch.nn.Linear(20, 30)(torch.randn(128, 20)).shape
    torch.Size([128, 30])
    """

    in_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(ops.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(ops.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values.

        >>> import flambeau as torch
        >>> layer = torch.nn.Linear(4, 4)
        >>> before = layer.weight.clone()
        >>> layer.reset_parameters()
        >>> torch.equal(layer.weight, before), bool((layer.weight.abs() <= 0.5).all())
        (False, True)
        """
        # With a = sqrt(5), Kaiming's bound sqrt(6 / ((1 + a^2) fan_in)) is 1 / sqrt(fan_in).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.size(1)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        if self.__class__ is Linear:  # nothing but the tables can hold its parameters: no descriptors needed
            own = self._parameters
            if "weight" in own and "bias" in own:
                return F.linear(input, own["weight"], own["bias"])
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """The output projection of attention; a class of its own so that tools can tell it apart."""


class Bilinear(Module):
    """y = x1^T A x2 + b; (*, in1_features), (*, in2_features) -> (*, out_features).

    >>> import flambeau as torch
    >>> torch.nn.Bilinear(2, 3, 4)(torch.randn(5, 2), torch.randn(5, 3)).shape
    torch.Size([5, 4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(
            ops.empty((out_features, in1_features, in2_features), device=device, dtype=dtype)
        )
        if bias:
            self.bias = Parameter(ops.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose `in_features` is learned from the first input.

    >>> import flambeau as torch
    >>> layer = torch.nn.LazyLinear(3)
    >>> layer(torch.zeros(1, 2)).shape, layer
    (torch.Size([1, 3]), Linear(in_features=2, out_features=3, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        # The bias is created below: with no input features there is nothing to initialise yet.
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new initial values once the shapes are known."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the number of input features from `input`.

        >>> import flambeau as torch
        >>> layer = torch.nn.LazyLinear(3)
        >>> layer.initialize_parameters(torch.ones(4, 2))
        >>> layer.weight.shape
        torch.Size([3, 2])
        """
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:
            self._check_loaded_weight(input)

    def _check_loaded_weight(self, input: Tensor) -> None:
        if input.shape[-1] != self.weight.shape[-1]:
            raise AssertionError(
                f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                f"self.weight: {self.weight.shape[-1]}"
            )
        self.in_features = input.shape[-1]
